"""What each level does in the depth games, against golden values from other code, closed forms and brute force."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as some

import levelkit as lk
from levelkit.depth.instruments import STUDY_GAMES, instrument
from levelkit.depth.maps import best_reply_maps, orbits
from levelkit.errors import DataError, UsageError
from levelkit.numerics import setup_jax


@pytest.fixture(scope="module")
def games(golden) -> dict:
    return golden("levelk.json")["games"]


@pytest.fixture(scope="session", params=STUDY_GAMES)
def name(request) -> str:
    return request.param


def test_sequences_reach_and_period_are_the_golden_ones(games, name):
    told, want = lk.depth.sequence(name, depth=12), games[name]
    assert list(told.actions) == want["idr_0_12"]
    assert (told.k_max, told.period) == (want["K_max"], want["period"])
    assert sorted(told.reach) == sorted(want["R"])
    assert len(told.reach) == want["R_size"] == told.k_max + 1, "lemma 1 holds with equality"
    assert told.first_repeat == (want["first_repeat_depth"], want["first_repeat_equals_depth"])
    assert told.actions[told.first_repeat[0]] == want["first_repeat_value"]
    assert told.ties == (), "the tie rule never binds along the sequence"
    assert lk.depth.sequence(name, 12, tie="last").actions == told.actions


def test_payoffs_and_best_replies_are_the_golden_ones(games, name):
    want = games[name]
    assert np.abs(lk.game(name).payoffs[0] - want["payoff"]).max() < 1e-12
    assert [str(s) for s in want["S"]] == list(lk.game(name).actions[0])
    for belief, replies in want["BR"].items():
        assert lk.depth.best_responses(name, int(belief)) == set(replies)
    found = lk.depth.check(name)
    assert list(found.tied_beliefs) == want["tied_beliefs"]
    assert list(found.image) == want["image"]


def test_anchors_by_four_rules(games, name):
    report = lk.depth.anchor_report(name).set_index("rule")
    rules = {"maximin": "maximin", "maximax": "maximax", "reply to uniform": "br_to_uniform"}
    for rule, key in rules.items():
        want = games[name]["anchor_rules"][key]
        assert list(report.loc[rule, "actions"]) == want["argmax"]
        assert report.loc[rule, "value"] == pytest.approx(want["value"], abs=1e-12)
    assert list(report.loc["bonuses granted", "actions"]) == games[name]["anchor_rules"]["bonuses_granted"]["argmax"]
    assert str(report.loc["bonuses granted", "anchor"]) == lk.depth.sequence(name).anchor


def test_maximin_is_no_substitute_for_bonuses_granted_in_nash_demand():
    report = lk.depth.anchor_report("nash").set_index("rule")
    assert (report.loc["maximin", "anchor"], report.loc["maximin", "k_max"]) == (10, 0)
    assert report.loc["bonuses granted", "k_max"] == 10


def test_k_max_from_every_anchor(games, name):
    for anchor, k_max in games[name]["K_max_by_anchor"].items():
        assert lk.depth.sequence(name, anchor=int(anchor)).k_max == k_max


def test_uniform_level_0(games, name):
    told, want = lk.depth.sequence(name, 11, anchor="uniform"), games[name]["uniform_L0"]
    assert told.actions[0] is None
    assert list(told.actions[1:]) == want["levels_1_to_11"]
    assert told.k_max == told.levels_told_apart == want["K_max_counting_from_L1"]


def test_window_matches_and_aliases(games, name):
    window, want = lk.depth.Window.of(name), games[name]
    for value, depths in want["match_window_0_10"].items():
        assert list(window.match(int(value))) == depths
    for value, (depth, status) in want["K_B"].items():
        assert window.resolve(int(value)) == (depth, status)
    for value, (depth, status) in want["K_L"].items():
        found, how = window.resolve(int(value))
        assert (None if found is None else found + 1, how) == (depth, status)
    assert window.beyond == want["overiteration_alias"]["a11"]
    assert [window.alias, "resolved"] == want["overiteration_alias"]["K_B_recorded_as"]


def test_the_arithmetic_shortcut(games, name):
    told, window = lk.depth.sequence(name, 12), lk.depth.Window.of(name)
    for row, guess in zip(games[name]["extrapolation"], told.extrapolated(11), strict=True):
        assert guess == row["extrapolated"]
        assert (guess == told.actions[row["k"]]) == row["agree"]
        inside = instrument(name).index(guess) is not None
        depth, status = window.resolve(guess)
        scored = "outside_S" if not inside else f"depth_{depth}" if status == "resolved" else status
        assert scored == row["scored_as"]
    assert told.shortcut_until == {"m1120": 10, "allpay": 10, "nash": 9, "ring": 3}[name]
    assert (
        told.direction
        == {"m1120": "decreasing", "allpay": "increasing", "nash": "decreasing", "ring": "non-monotone"}[name]
    )


def test_ring_closed_form(golden):
    want = golden("levelk.json")["ring_modular"]
    assert [11 + (9 - 3 * k) % 10 for k in range(13)] == want["values_k0_12"] == list(lk.depth.sequence("ring").actions)
    for a in range(11, 21):
        assert lk.depth.best_responses("ring", a) == {11 + (a - 14) % 10}


def test_ring_with_two_neighbours(golden):
    want = golden("levelk.json")["ring_two_neighbours"]
    for one in want["examples"]:
        assert lk.depth.best_responses("ring", one["left"], one["right"]) == set(one["BR"])
    pairs = list(product(range(1, 21), repeat=2))
    assert sum(len(lk.depth.best_responses("ring", *pair)) > 1 for pair in pairs) == want["n_pairs_with_tie"] == 31
    assert all(lk.depth.best_responses("ring", a, a) == lk.depth.best_responses("ring", a) for a in range(1, 21))


def test_the_rings_reduction_is_exact_against_neighbours_who_err():
    ring = instrument("ring")
    mix = np.random.default_rng(0).dirichlet(np.ones(20))
    assert np.allclose(ring.neighbours @ mix @ mix, ring.game.payoffs[0] @ mix)


def test_beliefs_with_weights(golden):
    for case in golden("levelk.json")["belief_support_cases"]:
        pairs = [tuple(pair) for pair in case["support"]]
        assert lk.depth.best_responses(case["game"], pairs) == set(case["BR"])


RANKS = {"m1120": "12 of 12", "nash": "12 of 12", "allpay": "11 of 12", "ring": "11 of 12"}


@pytest.mark.parametrize(("game", "ranks"), RANKS.items())
def test_rank_of_level_mixtures_with_noise(game, ranks):
    assert ranks in lk.depth.mixture_rank(game).text
    assert lk.depth.mixture_rank("ring", (0, 9)).identified


def test_any_game_each_player_and_labels():
    rps = lk.Game.symmetric("rps", [[0, -1, 1], [1, 0, -1], [-1, 1, 0]], actions=["rock", "paper", "scissors"])
    told = lk.depth.sequence(rps, 4, anchor="rock")
    assert told.actions == ("rock", "paper", "scissors", "rock", "paper")
    assert (told.k_max, told.period, told.direction, told.shortcut_until) == (2, 3, "unordered", None)
    # matching pennies: the matcher copies, the other turns, so that each plays a two-cycle of period four
    pennies = lk.Game.bimatrix("pennies", [[1, -1], [-1, 1]], [[-1, 1], [1, -1]])
    assert lk.depth.sequence(pennies, 5, anchor=0, player=1).actions == (0, 0, 1, 1, 0, 0)
    assert lk.depth.sequence(pennies, 5, anchor=0, player=2).actions == (0, 1, 1, 0, 0, 1)
    assert lk.depth.sequence(pennies, 5, anchor=0).period == 4
    three = lk.Game.normal_form("three", [np.arange(8.0).reshape(2, 2, 2)] * 3)
    assert lk.depth.sequence(three, 2, anchor=[0, 0, 0]).actions == (0, 1, 1)


def test_ties_go_to_the_first_or_the_last():
    assert lk.depth.sequence("ring", 1, anchor=10).actions == (10, 17)
    assert lk.depth.sequence("ring", 1, anchor=10, tie="last").actions == (10, 20)


@given(some.integers(0, 10**6), some.integers(3, 8))
def test_sequences_of_random_games_by_brute_force(seed, size):
    rng = np.random.default_rng(seed)
    game = lk.Game.symmetric("random", rng.integers(0, 9, (size, size)))
    told = lk.depth.sequence(game, 2 * size, anchor=0)
    walk = [0]
    for _ in range(2 * size):
        walk.append(int(game.payoffs[0][:, walk[-1]].argmax()))
    assert list(told.actions) == walk
    deepest = max(k for k in range(2 * size + 1) if len(set(walk[: k + 1])) == k + 1)
    assert told.k_max == deepest
    assert walk[told.first_repeat[0]] == walk[told.first_repeat[1]]
    assert walk[-told.period - 1] == walk[-1]


def test_batched_maps_agree_with_single_games():
    setup_jax()
    rng = np.random.default_rng(3)
    tables = rng.integers(0, 30, (9, 9, 50)).astype(float)
    maps = best_reply_maps(tables)
    found = orbits(maps, np.zeros(50, int), 5)
    for g in range(50):
        game = lk.Game.symmetric("one", tables[:, :, g], level0="0")
        told = lk.depth.sequence(game, 5)
        assert int(found.depth[g]) == told.k_max
        assert tuple(int(a) for a in found.sequence[:, g]) == told.actions
        report = lk.depth.anchor_report(game).set_index("rule")
        anchors = [report.loc[rule, "anchor"] for rule in ("maximin", "maximax", "reply to uniform")]
        assert [int(a) for a in maps.anchors[:, g]] == anchors


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: lk.depth.sequence("rinf"), "Did you mean"),
        (lambda: lk.depth.sequence("ring", anchor=21), "21 is no action of ring; the actions are 1..20"),
        (lambda: lk.depth.sequence("ring", 0), "depth = 0"),
        (lambda: lk.depth.sequence("ring", tie="odd"), "choose first or last"),
        (lambda: lk.depth.sequence("ring", anchor=[1]), "1 given for 2 players"),
        (lambda: lk.depth.best_responses("nash", 1, 2), "give one belief for all others"),
        (lambda: lk.depth.best_responses("nash", [(1, -1.0), (2, 1.0)]), "must be positive"),
        (lambda: lk.depth.best_responses("nash", True), "True is no action"),
        (lambda: lk.depth.Window.of("ring", 3, 2), "two depths"),
        (lambda: lk.depth.Window.of("sw10"), "begin the window at 1"),
        (lambda: lk.depth.sequence("sw10").extrapolated(3), "nothing to extrapolate from"),
        (lambda: instrument("nash").neighbours, "no two neighbours"),
    ],
)
def test_mistakes_are_told(call, words):
    with pytest.raises((UsageError, DataError), match=words):
        call()
