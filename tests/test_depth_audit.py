"""The printed numbers of the study of depth: counts, samples and bounds, against golden derivations."""

from __future__ import annotations

import json

import pandas as pd
import pytest

from levelkit.depth.sweep import read_sweep
from levelkit.errors import DataError, UsageError
from levelkit.report.studies import text
from levelkit.studies import depth2026 as study
from levelkit.studies.base import Request


@pytest.fixture(scope="module")
def audit():
    return study.run(simulations=400)


@pytest.fixture(scope="module")
def checks(golden):
    return golden("depth_published_checks.json")


def test_denominators():
    assert (study.DESIGN, study.COUNTED, study.COUNTED - study.RING_K10) == (12_800, 12_787, 12_467)


def test_counts_behind_every_percentage(audit, checks):
    short = {"recursive": "rec", "inductive": "ind10"}
    assert len(audit.entries) == len(checks["table2_counts"]) == 64
    for row in audit.entries.to_dict("records"):
        key = f"{row['model']}|{row['game']}|{short[row['condition']]}{'' if row['measure'] == 'exact' else '_w1'}"
        want = checks["table2_counts"][key]
        assert row["percent"] == want["pct"]
        assert row["counts"] == (want["count_at_full"] or [])
        assert row["options"] == {int(n): counts for n, counts in want["options"].items()}


def test_ring_with_and_without_its_ambiguous_depth(audit, checks):
    for row in audit.ring.to_dict("records"):
        want = checks["ring"][row["model"]]
        assert (row["n_excluding"], row["n_including"]) == (want["n_excl"], want["n_incl"])
        assert (row["x_excluding"], row["x_including"], row["gains"]) == (
            want["counts_excl"],
            want["counts_incl"],
            want["diffs"],
        )
    assert sum(gains[0] for gains in audit.ring["gains"]) == study.AMBIGUOUS_RIGHT


def test_sums_of_correct_trials(audit, checks):
    told = audit.bounds.set_index("part")
    spans = {
        "all, without ambiguous targets": "pooled_correct_excl",
        "recursive": "rec_correct",
        "inductive, lambda 10": "ind10_correct",
        "inductive, lambda 1 and 3": "lambda13_correct",
        "inductive, all": "inductive_correct_excl",
    }
    for part, key in spans.items():
        assert told.loc[part, ["right_least", "right_most"]].tolist() == checks["derived"][key]
    assert told.loc["inductive, lambda 1 and 3", "n"] == checks["derived"]["lambda13_n"]


def test_tables_2_and_3_rest_on_different_samples(audit, checks):
    want = checks["table3_robust"]
    out, with_ = audit.mentalizing.to_dict("records")
    assert [out["implied_least"], out["implied_most"]] == want["excluding_ring_k10"]
    assert [with_["implied_least"], with_["implied_most"]] == want["including_ring_k10"]
    assert [out["there_least"], out["there_most"]] == want["available_excluding"]
    assert out["implied_least"] > out["there_most"]


def test_the_two_inconsistencies_are_found(audit):
    text = " ".join(audit.findings)
    assert "Qwen 3.6 27B, ring, recursive: 86.0% is no whole number of 180" in text
    assert "table 3 cannot rest on the sample of table 2" in text
    assert "170 to 197 of them ambiguous" in text
    assert "4.47 times" in text
    assert "8.94 times" in text


def test_correlations_behind_the_printed_bootstrap_ratios():
    assert study.correlation(4.1, 20) == pytest.approx(0.83, abs=0.005)
    assert study.correlation(7.6, 80) == pytest.approx(0.72, abs=0.005)


def test_an_audit_of_a_changed_table_finds_the_change():
    table = study.published("table2")
    table.loc[0, "percent"] = "49.3"
    assert any("49.3% is no whole number of 200" in f for f in study._impossible(study._entries(table)))


def test_the_audit_as_text(audit):
    made = study.STUDY.run(Request(study.STUDY.default))
    said = text(made)
    assert "206/720" in said
    assert all(f in " ".join(said.replace("*", "").split()) for f in audit.findings[:1])
    assert len(made[0].frame) == 64


def test_the_sample_sweep_is_read(shared):
    sweep = read_sweep(shared / "golden" / "samples" / "lambda_sweep_example.csv")
    assert len(sweep.cells) == 240
    assert not sweep.assumed_n
    assert sweep.missing == ()
    told = sweep.accuracy(("model", "lambda"))
    assert (told["low"] <= told["accuracy"]).all()
    assert (told["accuracy"] <= told["high"]).all()
    assert (told["clusters"] == 39).all(), "the Ring at k = 10 is left out"
    raw = pd.read_csv(shared / "golden" / "samples" / "lambda_sweep_example.csv")
    kept = raw[~((raw["game"] == "ring") & (raw["k_target"] == 10))]
    want = (kept["accuracy"] * kept["n"]).groupby([kept["model"], kept["lambda"]]).sum()
    assert told["x"].sum() == pytest.approx(want.sum(), abs=1e-6)


GOOD = {"model": "m", "game": "nash", "k_target": 2, "lambda": 10, "accuracy": 0.85, "K_L": 2.0, "K_B": 2.0}


def sweep_of(*changes: dict) -> pd.DataFrame:
    return pd.DataFrame([{**GOOD, **change} for change in changes])


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"game": "chess"}, "E_GAME"),
        ({"k_target": 11}, "E_KRANGE"),
        ({"lambda": 0}, "E_LAMBDA"),
        ({"accuracy": -0.1}, "E_ACCURACY"),
        ({"accuracy": 85}, "E_PERCENT"),
        ({"accuracy": 0.83}, "E_COUNT"),
        ({"k_target": 3, "n": 0}, "E_N"),
        ({}, "E_DUP_CELL"),
    ],
)
def test_bad_rows_of_a_sweep_are_set_aside(change, code):
    table = sweep_of({}, change)
    if "n" in change:
        table["n"] = [20, 0]
    sweep = read_sweep(table)
    assert code in sweep.problems.codes
    assert len(sweep.cells) == 1


def test_what_a_sweep_lacks_is_told(tmp_path):
    sweep = read_sweep(sweep_of({}))
    assert sweep.assumed_n
    assert "20 trials a cell are assumed" in sweep.problems.text()
    assert len(sweep.missing) == 39
    with pytest.raises(DataError, match="39 of 40 cells of a full sweep are missing"):
        read_sweep(sweep_of({}), full=True)
    with pytest.raises(DataError, match="no column 'K_L'"):
        read_sweep(sweep_of({}).drop(columns="K_L"))
    with pytest.raises(DataError, match="no row can be used"):
        read_sweep(sweep_of({"game": "go"}))
    with pytest.raises(UsageError, match="by names 'colour'"):
        sweep.accuracy(("colour",))


def test_the_published_tables_are_shipped_as_printed():
    assert study.published("table2")["percent"].str.fullmatch(r"\d+\.\d").all()
    assert len(study.published("table3")) == len(study.published("ring")) == 4
    assert json.loads(study.published("table3").to_json(orient="records"))[0]["mentalizing"] == "6.0"
