"""Fits of integer counts against two other codes, which agreed (scipy from many starts, and grid + Newton)."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import levelkit as lk
from levelkit.games import Game

# the study's games whose matrices stand in the file of solutions under the same names
SAME = {
    "comp_BL": "competitive_base", "comp_HS": "competitive_high_stake", "comp_LS": "competitive_low_stake",
    "stag_BL": "stag_hunt_base", "stag_AP": "stag_hunt_asymmetric", "pd_BL": "prisoners_dilemma_base",
    "pd_HPun": "prisoners_dilemma_high_punishment", "signal": "signaling", "bayes_p50": "bayesian_p50",
}  # fmt: skip


@pytest.fixture(scope="module")
def cases(golden):
    return [c for c in golden("tqre_fits.json")["cases"] if c["convention"] == "proper"]


@pytest.fixture(scope="module")
def fitted(cases):
    cells, counts, games = [], [], {}
    width = max(lk.game(SAME[c["game"]]).n_counts for c in cases)
    for i, case in enumerate(cases):
        game = lk.game(SAME[case["game"]])
        games[game.name] = game
        row = np.concatenate([case["counts1"], case["counts2"]]).astype(float)
        counts.append(np.pad(row, (0, width - len(row))))
        cells.append({"case": i, "game": game.name})
    choices = lk.Choices.from_counts(pd.DataFrame(cells), np.array(counts), games)
    return lk.fit(choices, lk.TQRE(levels=10), by="case", sensitivity=False)


def test_the_games_are_the_same(golden, cases):
    solutions = golden("study_games_solutions.json")
    compared = 0
    for case in cases:
        entry = solutions.get(case["game"])
        if entry is not None:
            assert lk.game(SAME[case["game"]]).same_payoffs(Game.bimatrix("golden", entry["A"], entry["B"]))
            compared += 1
    assert compared >= 6


def test_every_proper_case(cases, fitted):
    assert len(cases) >= 8
    frame, stats = fitted.frame(), fitted.stats()
    for i, case in enumerate(cases):
        mine = frame[frame["case"] == i].set_index("parameter")
        here = (case["game"], case["counts1"], case["counts2"])
        assert case["agree_loglik"]
        assert mine["loglik"].iloc[0] >= case["loglik"] - 1e-6, here
        at_box = case["tau"] > 7.99 or case["gamma"] > 59.9
        if case["identified"] and not at_box:
            assert mine["loglik"].iloc[0] == pytest.approx(case["loglik"], abs=2e-6), here
            if case["agree_tau"]:
                assert mine.loc["tau", "estimate"] == pytest.approx(case["tau"], abs=5e-5), here
            if case["agree_gamma"]:
                assert mine.loc["gamma", "estimate"] == pytest.approx(case["gamma"], rel=1e-4), here
        if "NOT identified" in case["status"]:
            assert mine["status"].tolist() == ["flat", "flat"], here
            assert mine["estimate"].isna().all(), here
            assert "not identified" in stats["note"][i], here


def test_gamma_that_the_data_do_not_tell_is_not_a_number_out_of_the_blue(cases, fitted):
    """Where the two codes stopped at different gammas with the same likelihood, ours is the limit or missing."""
    frame = fitted.frame()
    found = 0
    for i, case in enumerate(cases):
        if "gamma flat above" in case["status"]:
            mine = frame[frame["case"] == i].set_index("parameter")
            assert not np.isfinite(mine.loc["gamma", "estimate"])
            assert mine.loc["gamma", "high"] == np.inf
            assert mine.loc["gamma", "status"] in ("boundary", "flat")
            found += 1
    assert found >= 2
