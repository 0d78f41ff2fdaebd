"""The trial log: every code with the line that earns it, and trials scored as in the worked samples."""

from __future__ import annotations

import copy
import json

import numpy as np
import pandas as pd
import pytest

import levelkit as lk
from levelkit.depth.instruments import instrument
from levelkit.depth.quotes import grounded
from levelkit.depth.scoring import coerce_action, score
from levelkit.depth.trialrules import CODES, SCHEMA
from levelkit.depth.trials import read_trials, write_trials
from levelkit.errors import DataError

RECURSIVE = {
    "schema": SCHEMA, "trial_id": "r", "model": "m", "game": "m1120", "condition": "recursive", "k_target": 2,
    "lambda": None, "rep": 0, "status": "ok", "action": 66, "cot": "L0 plays 70, L1 plays 68, so 66",
    "judge": {
        "final_belief_point": 68,
        "chain": [{"value": 70, "quote": "L0 plays 70"}, {"value": 68, "quote": "L1 plays 68"}],
    },
}  # fmt: skip
INDUCTIVE = {
    **RECURSIVE, "trial_id": "i", "game": "allpay", "condition": "inductive", "k_target": 6, "lambda": 10, "action": 7,
    "history": [5] * 29 + [6], "payoff_scale": "belief_range", "judge": {"final_belief_point": 5},
}  # fmt: skip


def record(base=RECURSIVE, judge=None, drop=(), **changes) -> dict:
    made = copy.deepcopy({**base, **changes})
    if judge is not None:
        made["judge"] = {**made["judge"], **judge}
    return {name: value for name, value in made.items() if name not in drop}


CASES = {
    "E_SCHEMA": record(schema="levelk-trial/9"),
    "E_MISSING": record(drop=["model"]),
    "E_TYPE": record(rep=-1),
    "E_GAME": record(game="beauty"),
    "E_CONDITION": record(condition="both"),
    "E_KTYPE": record(k_target=2.0),
    "E_KRANGE": record(k_target=11),
    "E_LEVEL_MISMATCH": record(opponent_level=2),
    "E_LAMBDA": record(INDUCTIVE, **{"lambda": 0}),
    "E_STATUS": record(status="fine"),
    "E_ACTION_BOOL": record(action=False),
    "E_HISTORY_LEN": record(INDUCTIVE, history=[5] * 31),
    "E_HISTORY_VALUE": record(INDUCTIVE, history=[5] * 29 + [5.5]),
    "E_SUPPORT_WEIGHT": record(INDUCTIVE, judge={"belief_support": [{"value": 5, "weight": "much"}]}),
    "E_SUPPORT_ZERO": record(INDUCTIVE, judge={"belief_support": [{"value": 5, "weight": 0.0}]}),
    "W_ACTION_ON_ERROR": record(status="refusal"),
    "W_ACTION_NULL": record(action=None),
    "W_HISTORY_MISSING": record(INDUCTIVE, drop=["history"]),
    "W_SCALE_MISSING": record(INDUCTIVE, drop=["payoff_scale"]),
    "W_QUOTE_UNGROUNDED": record(judge={"chain": [{"value": 70, "quote": "l0 plays 70"}]}),
    "W_QUOTE_EMPTY": record(judge={"chain": [{"value": 70, "quote": "\n"}]}),
    "W_MENTALIZING_FIELD": record(judge={"spurious_recursion": True}),
    "W_UNKNOWN_FIELD": record(mood="good"),
}


@pytest.mark.parametrize("code", CASES)
def test_each_code_has_a_line_that_earns_it(code):
    trials = read_trials([CASES[code]])
    assert code in trials.codes(1)
    assert len(trials) == (0 if code.startswith("E_") else 1)
    assert code in trials.problems.codes
    assert CODES[code] in trials.problems.text()


def test_codes_of_the_whole_file(tmp_path):
    lines = [
        json.dumps(RECURSIVE).encode(),
        json.dumps(record(action=64)).encode(),  # the same id
        json.dumps(record(trial_id="r2")).encode(),  # the same trial under another id
        json.dumps(record(trial_id="r3", action=64)).encode(),  # the same number, another answer
        b'{"schema": "levelk-trial/1", ',
        b"[1, 2]",
        b'{"a": "\xff"}',
        json.dumps(RECURSIVE).replace("66", "Infinity").encode(),
        b"",
        json.dumps(record(INDUCTIVE)).encode(),
    ]
    path = tmp_path / "log.jsonl"
    path.write_bytes(b"\n".join(lines) + b"\n")
    trials = read_trials(path)
    want = ["OK", "E_DUP_ID", "E_DUP_CELL_REP", "W_REP_REUSED", "E_JSON", "E_JSON", "E_ENCODING", "E_NONFINITE"]
    assert [trials.codes(i)[0] for i in range(1, 11)] == [*want, "W_EMPTY_LINE", "OK"]
    assert [r["trial_id"] for r in trials.records] == ["r", "r3", "i"]
    assert read_trials(path, unique_reps=True).codes(4) == ["E_DUP_CELL_REP"]
    assert dict(trials.counts)["E_JSON"] == 2
    earned = {code for i in range(1, 11) for code in trials.codes(i)} | set(CASES)
    assert set(CODES) <= earned, "every code is tested"


def test_a_bad_record_does_not_count_for_duplicates():
    trials = read_trials([record(k_target=99), RECURSIVE])
    assert [r["trial_id"] for r in trials.records] == ["r"]


def test_strict_stops_at_the_first_bad_line():
    with pytest.raises(DataError, match=r"line 2: E_KRANGE in k_target"):
        read_trials([RECURSIVE, CASES["E_KRANGE"]], strict=True)


def test_no_such_file_and_no_text(tmp_path):
    with pytest.raises(DataError, match="no such file"):
        read_trials(tmp_path / "none.jsonl")
    (tmp_path / "z.jsonl").write_bytes(b"PK\x03\x04zip")
    with pytest.raises(DataError, match="zip file"):
        read_trials(tmp_path / "z.jsonl")


def test_the_bad_sample_earns_its_codes(shared):
    folder = shared / "golden" / "samples"
    trials = read_trials(folder / "levelk_bad.jsonl")
    for want in json.loads((folder / "levelk_bad_expected.json").read_text()):
        codes = trials.codes(want["line"])
        assert want["code"] in codes
        assert any(code.startswith("E_") for code in codes) == (want["severity"] == "error")


NAMES = {"K_B": "k_b", "K_B_status": "k_b_status", "K_L": "k_l", "K_L_status": "k_l_status"}


def test_the_valid_sample_is_scored_as_worked_out(shared):
    folder = shared / "golden" / "samples"
    frame = lk.depth.score(folder / "levelk_valid.jsonl").set_index("trial_id")
    wanted = json.loads((folder / "levelk_valid_expected.json").read_text())
    assert [one["trial_id"] for one in wanted] == list(frame.index)
    for one in wanted:
        row = frame.loc[one.pop("trial_id")]
        for field, want in one.items():
            found = row[NAMES.get(field, field)]
            if want is None:
                assert found is None or pd.isna(found), field
            else:
                assert found == want, field


def test_a_log_is_read_back_as_it_was_written(tmp_path):
    path = tmp_path / "log.jsonl"
    path.write_text(write_trials([RECURSIVE, INDUCTIVE]))
    assert list(read_trials(path).records) == [RECURSIVE, INDUCTIVE]


def test_submissions(golden):
    for case in golden("levelk.json")["coercion_cases"]:
        assert coerce_action(case["raw"], instrument(case["game"])) == (case["value"], case["status"])
    nash = instrument("nash")
    assert coerce_action(" 7 ", nash) == (7, "ok_string_integer")
    assert coerce_action("7.5", nash) == (None, "non_integer")
    assert coerce_action(7.0, nash) == (7, "ok")
    assert coerce_action("0", nash) == (0, "out_of_range")


def test_chains(golden):
    for case in golden("levelk.json")["chain_cases"]:
        chain = [{"value": v, "quote": "x"} for v in case["chain"]]
        row = score(
            [record(game=case["game"], k_target=1, action=None, status="refusal", judge={"chain": chain})]
        ).iloc[0]
        assert (row["chain_m"], row["chain_steps"], row["chain_ok"]) == (case["m"], case["steps"], case["ok"])
        assert row["starts_at_anchor"] == case["starts_at_anchor"]


def test_quotes(golden):
    want = golden("levelk.json")["quote_cases"]
    for case in want["cases"]:
        assert grounded(case["quote"], want["text"]) == case["grounded"]


def test_distributions_are_weighed_not_counted(golden):
    for case in golden("levelk.json")["belief_support_cases"]:
        support = [{"value": v, "weight": w * 7} for v, w in case["support"]]
        base = record(
            INDUCTIVE, game=case["game"], history=None, judge={"belief_support": support, "final_belief_point": None}
        )
        for action in instrument(case["game"]).values[0]:
            row = score([{**base, "action": action}]).iloc[0]
            assert row["br_support"] == (action in case["BR"])
            assert row["br_used"] == "support"


def test_published_and_proper_differ_where_they_should():
    ring = record(game="ring", k_target=1, action=17, judge={"final_belief_point": 20, "chain": []})
    row = score([ring]).iloc[0]
    assert (row["k_l_status"], row["k_l"] is pd.NA, row["k_l_proper"]) == ("ambiguous", True, 1)
    # the Ring's 20 at k = 9 is depth 0 or 10: no credit in the study, one off as a set
    row = score([record(game="ring", k_target=9, action=20)]).iloc[0]
    assert (row["within_one"], row["within_one_set"]) == (False, True)
    # 70 at k = 10 reads as depth 0 and is what level 11 does
    row = score([record(k_target=10, action=70)]).iloc[0]
    assert (row["k_b"], row["alias_11"]) == (0, True)
    uniform = score([record(INDUCTIVE, k_target=1, action=1)]).iloc[0]
    assert (uniform["counted"], uniform["counted_proper"]) == (True, False)
    torn = {"final_belief_point": None, "final_belief_ambiguous": True, "final_belief_candidates": [68, 70]}
    row = score([record(judge=torn)]).iloc[0]
    assert (row["br_any"], row["br_all"], row["br_point"] is pd.NA) == (True, False, True)


def test_games_of_ones_own_can_be_scored():
    mine = lk.Game.symmetric("mine", np.roll(np.eye(12), 1, axis=0) * 10, actions=list(range(12)), level0="0")
    row = score([record(game="mine", k_target=3, action=3, judge={"final_belief_point": 2, "chain": []})], [mine]).iloc[
        0
    ]
    assert (row["k_b"], row["accurate"], row["k_l"], row["br_point"]) == (3, True, 3, True)
