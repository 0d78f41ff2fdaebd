"""People beside language models: ranks that intervals allow, and the pages and figures as a user gets them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import levelkit as lk
from levelkit.cli import main
from levelkit.report import studies as report
from levelkit.studies import humans, tqre_llm_design, tqre_llm_distribution, tqre_llm_features
from levelkit.studies.base import Request


def test_ranks_that_intervals_allow():
    low, high = np.array([5.0, 1.0, 2.0, 0.0, 0.0]), np.array([6.0, 3.0, np.inf, 0.5, np.inf])
    assert humans.ranks(low, high).tolist() == [[1, 3], [2, 4], [1, 4], [4, 5], [1, 5]]


def test_ranks_hold_by_simulation():
    """Bonferroni intervals of normal means: all true ranks lie in their ranges in at least 95% of draws."""
    rng = np.random.default_rng(0)
    truth = np.array([0.0, 0.5, 1.0, 3.0, 3.2])
    true_rank = (-truth).argsort().argsort() + 1
    z = 2.5758  # 1 - 0.05 / 5
    held = 0
    for _ in range(2000):
        x = truth + rng.normal(size=5)
        found = humans.ranks(x - z, x + z)
        held += bool(((found[:, 0] <= true_rank) & (true_rank <= found[:, 1])).all())
    assert held / 2000 >= 0.95


@pytest.fixture(scope="module")
def board() -> pd.DataFrame:
    return humans.board("eleven_twenty_basic")


def test_people_in_the_basic_game(board):
    """tau of people is the published 2.36 (Poisson-CH on 4, 0, 3, 6, 1, 7, 35, 32, 13, 7)."""
    people = board[board["who"] == "people"].iloc[0]
    assert people["n"] == 108
    assert people["low"] < 2.36 < people["high"]
    assert people["estimate"] == pytest.approx(2.36, abs=0.015)
    assert len(board) == 17
    assert people["rank_low"] <= 1 + (board["estimate"] > people["estimate"]).sum() <= people["rank_high"]


def test_verdicts_follow_from_intervals(board):
    people = board[board["who"] == "people"].iloc[0]
    for row in board[board["who"] != "people"].to_dict("records"):
        apart = row["low"] > people["high"] or row["high"] < people["low"]
        assert (row["verdict"] == "not told from people") == (not apart)
        assert 0 < row["p_max"] <= 1
        assert (row["above"] > 0.5) == (row["estimate"] > people["estimate"]) or not apart


def test_simultaneous_intervals_are_wider(board):
    choices = humans.together("eleven_twenty_basic")
    plain = lk.fit(choices, lk.PoissonCH(), "who", sensitivity=False).frame().set_index("who")
    wide = board.set_index("who").loc[plain.index]
    near = 1e-3  # ends at a jump of the likelihood are found to within this
    assert (wide["low"] <= plain["low"] + near).all()
    assert (wide["high"] >= plain["high"] - near).all()
    assert (wide["high"] - wide["low"]).sum() > (plain["high"] - plain["low"]).replace(np.inf, 0).sum()


def test_the_command_draws(capsys, tmp_path):
    code = main(["reproduce", "humans", "sw10", "--plots", str(tmp_path / "figures")])
    assert code == 0
    assert "four samples" in capsys.readouterr().out
    assert (tmp_path / "figures" / "humans.svg").read_text().startswith("<?xml")
    (tmp_path / "file").write_text("")
    assert main(["reproduce", "humans", "sw10", "--plots", str(tmp_path / "file")]) == 2
    assert "is a file" in capsys.readouterr().err


def test_distribution_beside_what_can_be_known():
    part = tqre_llm_distribution.part()
    table = part.frame.set_index("game")
    assert len(table) == 13
    assert {g for g, s in table["se"].items() if np.isinf(s)} == {
        "stag_hunt_base", "stag_hunt_high_payoff", "prisoners_dilemma_base", "prisoners_dilemma_low_punishment",
    }  # fmt: skip
    assert part.figure is not None
    part.figure()
    assert "cannot tell tau" in report.text([part])


def test_design_page(monkeypatch):
    monkeypatch.setattr(tqre_llm_design, "REPLICATES", 40)
    monkeypatch.setattr("levelkit.inference.power.MOST", 40)
    table = tqre_llm_design.table().set_index("game")
    assert (table.loc[["stag_hunt_base", "prisoners_dilemma_base"], "flat"] == 1).all()
    assert np.isnan(table.loc["stag_hunt_base", "needed"])
    np.testing.assert_allclose(table[["ok", "multimodal", "boundary", "flat"]].sum(axis=1), 1)
    assert table.loc["sequential", "se"] < table.loc["competitive_base", "se"]


def test_feature_means(shared, monkeypatch):
    """Means of the published taus against a plain groupby; Welch's test against scipy where there are two groups."""
    from scipy import stats

    from levelkit.readers.features import read_features
    from levelkit.studies.tqre_llm_personas import published_taus

    folder = shared / "data" / "jia_tqre_llm"
    table = tqre_llm_features.means(folder, models={"gpt-4o": "GPT-4o"})
    own = published_taus(folder, 0, models=["gpt-4o"]).set_index("persona")["estimate"].loc[:105]
    gender = read_features(folder / "Profile.csv")[0]["Gender"].iloc[:105].to_numpy()
    female, male = own[gender == "Female"], own[gender == "Male"]
    mine = table[(table["model"] == "GPT-4o") & (table["arm"] == "plain") & (table["feature"] == "Gender")]
    assert mine["mean"].tolist() == pytest.approx([female.mean(), male.mean()])
    assert mine["n"].tolist() == [len(female), len(male)]
    assert mine["p"].iloc[0] == pytest.approx(stats.ttest_ind(female, male, equal_var=False).pvalue)
    assert (table["p_holm"] >= table["p"] - 1e-12).all()
    monkeypatch.setattr(tqre_llm_features, "means", lambda *_: table)
    (part,) = tqre_llm_features.parts(Request(("features",), folder))
    assert part.figure is not None
    part.figure()
