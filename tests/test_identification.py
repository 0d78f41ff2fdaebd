"""What choices can tell about parameters: ranks by finite differences, and fits that say so."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize_scalar

import levelkit as lk
import reference as ref

STUDY = [
    "competitive_base", "competitive_high_stake", "competitive_low_stake", "stag_hunt_base", "stag_hunt_high_payoff",
    "stag_hunt_asymmetric", "prisoners_dilemma_base", "prisoners_dilemma_high_punishment",
    "prisoners_dilemma_low_punishment", "bayesian_p50", "bayesian_p90", "sw10",
]  # fmt: skip
DILEMMAS = ["prisoners_dilemma_base", "prisoners_dilemma_low_punishment", "stag_hunt_base"]


@pytest.mark.parametrize("name", STUDY)
def test_rank_by_differences(name):
    game = lk.game(name)
    both = lk.identification(game)
    assert both.rank == ref.rank_by_differences([game], None)
    assert both.identified == (both.rank == 2)
    alone = lk.identification(game, observed=(game.players[0],))
    assert alone.rank == ref.rank_by_differences([game], [0])
    assert alone.freedoms == game.shape[0] - 1


def test_two_by_two_games_in_words():
    game = lk.game("prisoners_dilemma_base")
    verdict = lk.identification(game)
    assert (verdict.rank, verdict.parameters, verdict.identified) == (1, 2, False)
    assert "NOT identified" in verdict.text
    assert "pool games, or fix a parameter" in verdict.text
    one = lk.identification(lk.game("competitive_base"))
    assert one.identified
    assert "are identified" in one.text


@pytest.mark.parametrize("name", ["sequential", "signaling"])
def test_games_in_agent_form(name):
    game = lk.game(name)
    assert lk.identification(game).rank == ref.rank_by_differences([game], None, points=5)
    assert lk.identification(game, observed=(game.players[0],)).rank == ref.rank_by_differences([game], [0], points=5)


def test_other_models():
    game = lk.game("prisoners_dilemma_base")
    assert not lk.identification(game, lk.QuantalCH()).identified
    # shares of four levels and eps are five numbers, four of them free; a 2x2 game shows two at most
    shares = lk.identification(lk.game("stag_hunt_asymmetric"), lk.LevelK())
    assert shares.parameters == 4
    assert not shares.identified
    assert shares.rank <= 2


@pytest.mark.parametrize("name", ["stag_hunt_base", "prisoners_dilemma_base"])
@pytest.mark.parametrize("counts", [((8, 22), (8, 22)), ((9, 21), (12, 18)), ((600, 1400), (650, 1350))])
def test_one_symmetric_two_by_two_game_tells_nothing(name, counts):
    fits = lk.fit(ref.cell(lk.game(name), *counts), lk.TQRE(), sensitivity=False)
    frame = fits.frame()
    assert frame["status"].tolist() == ["flat", "flat"]
    assert frame["estimate"].isna().all()
    assert frame["se"].isna().all()
    assert "not identified" in fits.stats()["note"][0]


def test_a_pooled_population_of_one_role_tells_nothing():
    fits = lk.fit(ref.cell(lk.game("stag_hunt_asymmetric"), [9, 21], [0, 0]), lk.TQRE(), sensitivity=False)
    assert fits.frame()["status"].tolist() == ["flat", "flat"]


def pooled(names: list[str], tau: float, gamma: float, n: int, seed: int) -> lk.Choices:
    rng = np.random.default_rng(seed)
    counts = [np.concatenate([rng.multinomial(n, p[:, 0]) for p in ref.tqre(lk.game(g), tau, gamma)]) for g in names]
    games = {g: lk.game(g) for g in names}
    return lk.Choices.from_counts(pd.DataFrame({"game": names}), np.array(counts, float), games)


def test_three_such_games_together_do_tell():
    games = [lk.game(name) for name in DILEMMAS]
    assert [ref.rank_by_differences([g], None) for g in games] == [1, 1, 1]
    assert ref.rank_by_differences(games, None) == 2
    # and by simulation: with very many choices the truth comes back, and its error bars fit
    for seed in range(3):
        fits = lk.fit(pooled(DILEMMAS, 1.5, 0.4, 50_000, seed), lk.TQRE(), sensitivity=False)
        frame = fits.frame().set_index("parameter")
        assert "not identified" not in fits.stats()["note"][0]
        assert set(frame["status"]) <= {"ok", "multimodal"}
        assert abs(frame.loc["tau", "estimate"] - 1.5) < 4 * frame.loc["tau", "se"]
        assert abs(frame.loc["gamma", "estimate"] - 0.4) < 4 * frame.loc["gamma", "se"]
        assert frame.loc["tau", "se"] < 0.2


def test_the_same_game_three_times_does_not():
    data = lk.Choices.from_counts(
        pd.DataFrame({"round": [1, 2, 3], "game": ["stag_hunt_base"] * 3}),
        np.array([[8.0, 22, 9, 21], [11, 19, 10, 20], [7, 23, 9, 21]]),
        {"stag_hunt_base": lk.game("stag_hunt_base")},
    )
    assert lk.fit(data, lk.TQRE(), sensitivity=False).frame()["status"].tolist() == ["flat", "flat"]


@pytest.mark.parametrize("name", ["stag_hunt_base", "prisoners_dilemma_base"])
def test_fixing_gamma_identifies_tau(name):
    data = ref.cell(lk.game(name), [200, 400], [190, 410])
    frame = lk.fit(data, lk.TQRE(), fixed={"gamma": 0.3}, sensitivity=False).frame()
    assert frame["parameter"].tolist() == ["tau"]
    assert frame["status"].tolist() == ["ok"]

    def minus(tau: float) -> float:
        return -ref.loglik(data, lambda g: ref.tqre(g, tau, 0.3))[0]

    best = minimize_scalar(minus, bounds=(0.01, 9.9), method="bounded", options={"xatol": 1e-9})
    assert frame["loglik"][0] == pytest.approx(-best.fun, abs=1e-8)
    assert frame["estimate"][0] == pytest.approx(best.x, abs=1e-4)
    step = 1e-3
    curvature = (minus(best.x + step) - 2 * best.fun + minus(best.x - step)) / step**2
    assert frame["se"][0] == pytest.approx(curvature**-0.5, rel=1e-3)
