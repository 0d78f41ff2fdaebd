"""What must hold for every game and every parameter: symmetries and units of the models and of their fits."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

import levelkit as lk
import reference as ref
from levelkit.games import Game

MODELS = {
    "tqre": (lk.TQRE(levels=4), "gamma"),
    "quantal-ch": (lk.QuantalCH(levels=4, belief="step"), "lam"),
    "poisson-ch": (lk.PoissonCH(levels=4), None),
}
SHAPE = (2, 3)

whole = st.integers(-9, 9)
taus = st.sampled_from([0.0, 1e-9, 0.3, 1.5, 8.0, 10.0])
precisions = st.sampled_from([0.0, 1e-9, 0.05, 1.0, 30.0, 1e9, float("inf")])
names = st.sampled_from(sorted(MODELS))


def tables(shape: tuple[int, ...] = SHAPE):
    n = int(np.prod(shape))
    one = st.lists(whole, min_size=n, max_size=n).map(lambda v: np.array(v, float).reshape(shape))
    return st.tuples(*[one] * len(shape))


def play(name: str, game: Game, tau: float, precision: float) -> list[np.ndarray]:
    model, precise = MODELS[name]
    return list(model.predict(game, tau=tau, **({precise: precision} if precise else {})).values())


def at_stake(payoffs) -> bool:
    return max(p.max() for p in payoffs) > min(p.min() for p in payoffs)


@settings(max_examples=60)
@given(names, tables(), st.sampled_from([1e-8, 1e-3, 1.0, 1e3, 1e8]), taus, precisions)
def test_probabilities_are_probabilities(name, payoffs, size, tau, precision):
    if not at_stake(payoffs):
        payoffs = (payoffs[0] + np.eye(2, 3), payoffs[1])
    for p in play(name, Game.normal_form("g", [u * size for u in payoffs]), tau, precision):
        assert np.isfinite(p).all()
        assert (p >= 0).all()
        assert p.sum() == pytest.approx(1, abs=1e-12)


@given(tables((2, 2, 2)), taus, precisions)
def test_probabilities_are_probabilities_with_three_players(payoffs, tau, precision):
    if not at_stake(payoffs):
        payoffs = (payoffs[0] + np.arange(8.0).reshape(2, 2, 2), *payoffs[1:])
    for p in play("tqre", Game.normal_form("g", payoffs), tau, precision):
        assert np.isfinite(p).all()
        assert p.sum() == pytest.approx(1, abs=1e-12)


@settings(max_examples=30)
@given(names, tables(), st.permutations(range(2)), st.permutations(range(3)), taus, precisions)
def test_new_names_for_actions_change_nothing_else(name, payoffs, rows, columns, tau, precision):
    if not at_stake(payoffs):
        return
    before = play(name, Game.normal_form("g", payoffs), tau, precision)
    after = play(name, Game.normal_form("g", [u[np.ix_(rows, columns)] for u in payoffs]), tau, precision)
    assert_allclose(after[0], before[0][list(rows)], atol=1e-9)
    assert_allclose(after[1], before[1][list(columns)], atol=1e-9)


@settings(max_examples=30)
@given(names, tables(), st.integers(-50, 50), st.integers(-50, 50), taus, precisions)
def test_a_constant_added_to_payoffs_changes_nothing(name, payoffs, first, second, tau, precision):
    if not at_stake(payoffs):
        return
    moved = Game.normal_form("g", [payoffs[0] + first, payoffs[1] + second])
    for a, b in zip(
        play(name, Game.normal_form("g", payoffs), tau, precision),
        play(name, moved, tau, precision),
        strict=True,
    ):
        assert_allclose(b, a, atol=1e-9)


@settings(max_examples=30)
@given(names, tables(), st.sampled_from([1e-6, 0.3, 7.0, 1e6]), taus, precisions)
def test_precision_is_per_unit_of_payoff(name, payoffs, size, tau, precision):
    if not at_stake(payoffs):
        return
    scaled = Game.normal_form("g", payoffs).scaled(size)
    for a, b in zip(
        play(name, Game.normal_form("g", payoffs), tau, precision),
        play(name, scaled, tau, precision / size),
        strict=True,
    ):
        assert_allclose(b, a, atol=1e-9)


@settings(max_examples=30)
@given(names, tables((3, 3)), taus, precisions)
def test_players_may_change_places(name, payoffs, tau, precision):
    if not at_stake(payoffs):
        return
    before = play(name, Game.normal_form("g", payoffs), tau, precision)
    after = play(name, Game.normal_form("g", [payoffs[1].T, payoffs[0].T]), tau, precision)
    assert_allclose(after[0], before[1], atol=1e-9)
    assert_allclose(after[1], before[0], atol=1e-9)


# fits

WELL = ("competitive_base", "competitive_high_stake")


@settings(max_examples=30)
@given(names, tables(), st.integers(0, 2), taus, precisions)
def test_a_bystander_with_one_action_changes_nothing(name, payoffs, place, tau, precision):
    if not at_stake(payoffs):
        return
    plain = play(name, Game.normal_form("g", payoffs), tau, precision)
    wider = [np.expand_dims(u, place) for u in payoffs]
    wider.insert(place, np.expand_dims(payoffs[0], place))
    seen = play(name, Game.normal_form("g", wider), tau, precision)
    assert seen.pop(place).tolist() == [1.0]
    for mine, other in zip(seen, plain, strict=True):
        assert_allclose(mine, other, atol=1e-12)


def simulated(seed: int, tau: float, gamma: float, n: int, size: float = 1.0) -> lk.Choices:
    """Choices by a TQRE population in two games with payoffs times `size`, on which the counts do not depend."""
    rng = np.random.default_rng(seed)
    games = {name: lk.game(name).scaled(size) for name in WELL}
    counts = [
        np.concatenate([rng.multinomial(n, p[:, 0]) for p in ref.tqre(lk.game(name), tau, gamma)]) for name in WELL
    ]
    return lk.Choices.from_counts(pd.DataFrame({"game": list(WELL)}), np.array(counts, float), games)


@pytest.fixture(scope="module")
def plain():
    return {seed: lk.fit(simulated(seed, 1.4, 0.2, 300), lk.TQRE()).frame() for seed in range(3)}


@pytest.mark.parametrize("size", [1e-6, 0.37, 1e5])
def test_estimates_follow_the_unit_of_payoffs(plain, size):
    for seed, before in plain.items():
        after = lk.fit(simulated(seed, 1.4, 0.2, 300, size), lk.TQRE()).frame()
        unit = np.array([1.0, size])
        assert after["status"].tolist() == before["status"].tolist()
        assert_allclose(after["loglik"], before["loglik"], atol=1e-7)
        for column, close in (("estimate", 1e-5), ("se", 1e-4), ("low", 1e-3), ("high", 1e-3)):
            assert_allclose(after[column] * unit, before[column], rtol=close)


def test_estimates_per_range_do_not_know_the_unit(plain):
    first = lk.fit(simulated(0, 1.4, 0.2, 300), lk.TQRE(), scale="range").frame()
    second = lk.fit(simulated(0, 1.4, 0.2, 300, 250.0), lk.TQRE(), scale="range").frame()
    assert set(first["unit"]) == {"levels", "1/range"}
    pd.testing.assert_frame_equal(first, second, rtol=1e-6)


def test_twice_the_choices_twice_the_likelihood(plain):
    for seed, before in plain.items():
        data = simulated(seed, 1.4, 0.2, 300)
        twice = lk.Choices.from_counts(data.cells, 2 * data.counts, data.games)
        after = lk.fit(twice, lk.TQRE()).frame()
        assert_allclose(after["loglik"], 2 * before["loglik"], rtol=1e-10)
        assert_allclose(after["estimate"], before["estimate"], rtol=1e-6)
        assert_allclose(after["se"], before["se"] / np.sqrt(2), rtol=1e-5)
        assert (after["high"] - after["low"] < before["high"] - before["low"]).all()


def test_estimates_do_not_know_which_player_is_first():
    data = simulated(7, 1.4, 0.2, 300)
    turned = {name: Game.normal_form(name, [g.payoffs[1].T, g.payoffs[0].T]) for name, g in data.games.items()}
    other = lk.Choices.from_counts(data.cells, np.roll(data.counts, 3, axis=1), turned)
    one, two = lk.fit(data, lk.TQRE()).frame(), lk.fit(other, lk.TQRE()).frame()
    pd.testing.assert_frame_equal(one, two, rtol=1e-5)
