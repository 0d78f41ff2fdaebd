"""Every code of the log schema has a file that brings it about; good records survive it."""

import json
from pathlib import Path

import numpy as np
import pytest

import levelkit as lk
from levelkit.observer.logrules import CODES

FOLDER = Path(__file__).parents[1] / "bad_logs"
CASES = json.loads((FOLDER / "expected.json").read_text())
NEEDS_A_SHEET = {"W_LOSS_MISMATCH"}


@pytest.mark.parametrize("case", CASES, ids=[case["file"] for case in CASES])
def test_a_bad_log_is_read_as_far_as_it_goes(case):
    path = FOLDER / case["file"]
    if "error" in case:
        with pytest.raises(lk.DataError, match=case["error"]) as caught:
            lk.observer.read_log(path)
        assert all(part in str(caught.value) for part in [*case["message"], *case["codes"]])
        return
    log = lk.observer.read_log(path)
    said = log.problems.text()
    assert set(log.problems.codes) == set(case["codes"])
    assert all(part in said for part in case["message"]), said
    assert log.has_errors == any(code.startswith("E_") for code in case["codes"])
    match = log.matches[0]
    assert match.correct.sum() == case["correct"]
    assert case.get("statuses", list(match.statuses)) == list(match.statuses)
    scored = lk.observer.score_matches(log).iloc[0]
    assert (scored["rate"], scored["rate_scored"]) == (case["correct"] / 4, case["correct"] / 3)


def test_every_code_has_a_file():
    assert {code for case in CASES for code in case["codes"]} == set(CODES) - NEEDS_A_SHEET


def test_an_error_in_the_guess_keeps_the_moves_and_one_in_the_moves_does_not():
    for name, known in (("E_CONFIDENCE", True), ("E_GUESS_CODE", True), ("E_ROUND_GAP", False), ("E_MOVE", False)):
        assert lk.observer.read_log(FOLDER / f"{name}.jsonl").matches[0].complete == known
    gap = lk.observer.read_log(FOLDER / "E_ROUND_GAP.jsonl").matches[0]
    np.testing.assert_array_equal(gap.moves, [[0, 1], [1, 1], [-1, -1], [0, 1]])


def test_a_record_is_set_aside_once():
    log = lk.observer.read_log(FOLDER / "E_JSON.jsonl")
    assert log.problems.n_set_aside == 2
    assert log.problems.rows_read == 4  # the line that is not JSON is no record


def test_strict_refuses_errors_and_lets_warnings_pass():
    with pytest.raises(lk.DataError, match="E_CONFIDENCE"):
        lk.observer.read_log(FOLDER / "E_CONFIDENCE.jsonl", strict=True)
    assert len(lk.observer.read_log(FOLDER / "W_GUESS_CASE.jsonl", strict=True)) == 1


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("log.txt", "x", "A log ends in"),
        ("log.jsonl", "", "the file is empty"),
        ("log.csv", "PK\x03\x04 and so on", "Excel"),
        ("log.jsonl", '{"schema": "rps-observer/1", "type": "match", "match_id": ["m"], "s1": ["H"], "s2": {}, '
         '"rounds": 1e9, "warmup": true}', "E_STRATEGY"),
        ("log.jsonl", '{"schema": "rps-observer/1", "type": "match", "match_id": "m", "s1": "H", "s2": "C", '
         '"rounds": 999999999999, "warmup": 0}', "rounds 999999999999"),
    ],
)  # fmt: skip
def test_hopeless_files_are_refused_in_words(tmp_path, name, content, said):
    path = tmp_path / name
    path.write_text(content)
    with pytest.raises(lk.DataError, match=said):
        lk.observer.read_log(path)


def test_odd_types_anywhere_never_break_the_reader(tmp_path):
    lines = (FOLDER / "W_EMPTY_LINE.jsonl").read_text().splitlines()
    good = [json.loads(line) for line in lines if line]
    odd = [None, [], {}, "x", -1, 1.5, True, [1, 2], {"A": []}]
    for at, record in enumerate(good):
        for field in record:
            for value in odd:
                changed = [dict(r) for r in good]
                changed[at][field] = value
                path = tmp_path / "odd.jsonl"
                path.write_text("".join(json.dumps(r) + "\n" for r in changed))
                try:
                    log = lk.observer.read_log(path)
                except lk.DataError:
                    continue
                lk.observer.score_matches(log)
                lk.observer.audit(log)
