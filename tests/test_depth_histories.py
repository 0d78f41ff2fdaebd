"""Quantal opponents against golden probabilities, and histories drawn from them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import levelkit as lk
from levelkit.depth.certificates import aligned
from levelkit.depth.draws import histories, infer_scale
from levelkit.depth.instruments import STUDY_GAMES, instrument
from levelkit.depth.sequences import best
from levelkit.errors import DataError, UsageError


@pytest.mark.parametrize("name", STUDY_GAMES)
def test_probabilities_are_the_golden_ones_to_1e_12(golden, name):
    many = 0
    for scale, by_lam in golden("levelk.json")["games"][name]["quantal"].items():
        for lam, by_level in by_lam.items():
            for level, want in by_level.items():
                found = lk.depth.opponent(name, int(level), float(lam), scale)
                assert np.abs(found - np.array(want)).max() < 1e-12
                assert found.sum() == pytest.approx(1)
                many += 1
    assert many >= 54


@pytest.mark.parametrize("name", STUDY_GAMES)
def test_what_pays_best_against_them_is_as_in_golden(golden, name):
    own = instrument(name)
    for scale, by_lam in golden("levelk.json")["games"][name]["eu_optimal"].items():
        for lam, by_level in by_lam.items():
            for level, want in by_level.items():
                utility = own.game.payoffs[0] @ lk.depth.opponent(name, int(level), float(lam), scale)
                assert [own.values[0][a] for a in best(utility, own.tolerance)] == want["eu_best"]
                assert utility.max() == pytest.approx(want["eu_best_value"], abs=1e-8)
                assert aligned(own, int(level) + 1, float(lam), scale) == want["aligned"]


def test_limits():
    assert np.allclose(lk.depth.opponent("nash", 3, 0.0), 1 / 20)
    sure = lk.depth.opponent("nash", 3, np.inf)
    assert sure[16] == 1.0, "level 3 demands 17"
    # a tie is split: against 10 the Ring's best replies are 17 and 20
    ring = lk.Game.symmetric("tie", lk.game("ring").payoffs[0], actions=lk.game("ring").actions[0], level0="10")
    assert np.flatnonzero(lk.depth.opponent(ring, 1, np.inf)).tolist() == [16, 19]


def test_histories_are_seeded_each_by_what_it_is():
    whole = histories(seed=5)
    part = histories(["ring"], [4], 10, seed=5)
    assert len(whole) == 4 * 10 * 3
    mine = whole[whole["history_id"] == part["history_id"][0]].iloc[0]
    assert mine["history"] == part["history"][0]
    assert histories(["ring"], [4], 10, seed=6)["history"][0] != part["history"][0]
    assert whole["opponent_level"].equals(whole["k_target"] - 1)
    assert {len(h) for h in whole["history"]} == {30}


def test_histories_follow_their_law():
    drawn = histories(["allpay"], [5], 3.0, draws=20000, seed=1)["history"][0]
    share = np.bincount(drawn, minlength=11) / 20000
    want = lk.depth.opponent("allpay", 4, 3.0)
    assert np.abs(share - want).max() < 4 * np.sqrt(0.25 / 20000)


@pytest.mark.parametrize("scale", ["belief_range", "game_range", "raw"])
def test_the_scale_is_found_again(scale):
    told = infer_scale(histories(scale=scale, seed=2))
    assert told.best == scale
    assert told.lead > 10
    assert told.n == 108, "opponents of level 0 cannot tell"
    assert scale in told.text


def test_one_history_seldom_tells_belief_from_game_range():
    one = infer_scale(histories(["m1120"], [6], 3.0, seed=2))
    assert abs(one.loglik["belief_range"] - one.loglik["game_range"]) < 10
    assert one.loglik["belief_range"] - one.loglik["raw"] > 50


def test_nothing_to_tell():
    assert "no history can tell" in infer_scale(histories(k_targets=[1])).text


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: lk.depth.opponent("ring", -1, 1.0), "level = -1"),
        (lambda: lk.depth.opponent("ring", 1, -1.0), "lam = -1.0"),
        (lambda: lk.depth.opponent("ring", 1, 1.0, "rangy"), "choose belief_range"),
        (lambda: histories(k_targets=[0]), "one level below"),
        (lambda: histories(draws=0), "draws = 0"),
        (lambda: infer_scale(pd.DataFrame({"game": ["ring"]})), "no column 'lambda'"),
        (
            lambda: infer_scale([{"game": "ring", "k_target": 3, "lambda": 1.0, "history": [99]}]),
            "99 is no action of ring",
        ),
    ],
)
def test_mistakes_are_told(call, words):
    with pytest.raises((UsageError, DataError), match=words):
        call()
