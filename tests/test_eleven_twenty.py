"""A cognitive hierarchy of its own kind in the 11-20 game, against its authors' estimates and an exhaustive search."""

from __future__ import annotations

import numpy as np
import pytest

import levelkit as lk
from levelkit.cli import main
from levelkit.studies import eleven_twenty as study


@pytest.fixture(scope="module")
def found():
    return study.run(replicates=200)


def row(found, game, model, temperature):
    mine = found[(found["game"] == f"eleven_twenty_{game}") & (found["model"] == model)]
    return mine[np.isclose(mine["temperature"].astype(float), temperature)].iloc[0]


def test_the_counts_are_those_released():
    told = lk.shipped_choices("llm_eleven_twenty")
    assert len(told) == 32
    assert told.n.sum() == 3193
    assert set(told.n) == {100, 99, 94}
    gpt = told.filter(model="chatgpt4", temperature=0.25, game="eleven_twenty_basic")
    assert gpt.counts_for(0)[0].tolist() == [0, 1, 0, 0, 0, 0, 0, 0, 2, 97]


def test_probabilities_are_a_distribution_and_level_one_asks_for_twenty():
    tau = np.linspace(0, 8, 400)
    assert np.allclose(study.probabilities(tau).sum(axis=0), 1)
    assert (study.requests(tau)[0] == 20).all()
    assert (study.requests(tau)[1] == 19).all()
    assert study.requests(np.array([0.99, 1.01]))[2].tolist() == [19, 18]  # the jump at one


@pytest.mark.parametrize(
    ("game", "model", "temperature", "tau", "loglik"),
    [
        ("basic", "chatgpt4", 0.25, 0.911841, None),
        ("basic", "chatgpt4", 0.5, 0.914711, None),
        ("basic", "chatgpt4", 0.75, 0.829473, None),
        ("basic", "chatgpto1", 1.0, 1.000, -119.658),
        ("basic", "gemini2", 0.25, 1.000, -165.864),
        ("basic", "claude2", 0.25, 4.367, None),
        ("basic", "claude2", 0.5, 3.646, None),
        ("basic", "claude2", 0.75, 0.497, None),
    ],
)
def test_best_fits_are_those_of_an_exhaustive_search(found, game, model, temperature, tau, loglik):
    mine = row(found, game, model, temperature)
    assert mine["best"] == pytest.approx(tau, abs=0.0011)
    if loglik is not None:
        assert mine["loglik_best"] == pytest.approx(loglik, abs=0.01)
        assert mine["at_jump"]


def test_published_likelihoods(found):
    assert row(found, "basic", "chatgpto1", 1.0)["loglik_published"] == pytest.approx(-128.042, abs=1e-3)
    assert row(found, "basic", "gemini2", 0.25)["loglik_published"] == pytest.approx(-178.569, abs=1e-3)
    assert (found["loglik_best"] >= found["loglik_published"] - 5e-3).all()  # the grid's step beside a jump


def test_how_many_published_taus_are_the_best_fit(found):
    assert len(found) == 34
    assert found["agrees"].sum() == 24
    assert found["verdict"].value_counts().to_dict() == {"global optimum": 24, "local optimum": 7, "no optimum": 3}
    people = found[found["model"] == "people"]
    assert people["agrees"].all()
    assert people.loc[people["game"] == "eleven_twenty_basic", "ch_estimate"].item() == pytest.approx(2.36, abs=0.02)


def test_intervals_are_explained_only_where_the_explanation_gives_them(found):
    off = found[found["agrees"] & ~found["best_interval_agrees"]]
    explained = off[off["piece_interval_agrees"]]
    assert set(explained["model"]) == {"chatgpt4"}
    assert {"gemini2", "people"} <= set(off.loc[~off["piece_interval_agrees"], "model"])


def test_the_command(capsys):
    assert main(["reproduce", "eleven-twenty"]) == 0
    text = capsys.readouterr().out
    assert "24 of 34 taus agree" in text
    assert "not explained" in text
    assert "-0.00" not in text
