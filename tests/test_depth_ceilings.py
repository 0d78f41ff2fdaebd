"""What an ideal reasoner and a payoff maximiser score, against simulation by other code (golden facts)."""

from __future__ import annotations

import numpy as np
import pytest

import levelkit as lk
from levelkit.depth.draws import histories
from levelkit.errors import DataError, UsageError

SIMULATIONS = 1500

# P(level found), mean over depths, 20,000 histories a cell in other code: scale, lambda -> m1120, allpay, nash, ring
IDENTIFIED = {
    ("belief_range", 1.0): (0.36, 0.45, 0.45, 0.28),
    ("belief_range", 3.0): (0.96, 0.94, 0.95, 0.80),
    ("belief_range", 10.0): (1.00, 1.00, 1.00, 1.00),
    ("game_range", 1.0): (0.30, 0.25, 0.29, 0.25),
    ("game_range", 3.0): (0.87, 0.63, 0.77, 0.71),
    ("raw", 1.0): (1.00, 1.00, 1.00, 1.00),
}


@pytest.fixture(scope="module")
def told():
    return lk.depth.ceiling(simulations=SIMULATIONS, seed=4)


@pytest.mark.parametrize(("scale", "lam"), IDENTIFIED)
def test_how_often_the_level_is_found(scale, lam):
    found = lk.depth.ceiling(lam=lam, scale=scale, simulations=SIMULATIONS, seed=4)
    means = found.groupby("game", sort=False)["identified"].mean()
    error = 4 * 0.5 / np.sqrt(10 * SIMULATIONS) + 0.005  # of the mean of ten cells, and of rounding
    assert means.to_numpy() == pytest.approx(IDENTIFIED[scale, lam], abs=error)


def test_the_ends_are_harder_to_tell(told):
    at = told.set_index(["game", "k_target", "lambda"])["identified"]
    assert at["allpay", 1, 1.0] == pytest.approx(0.19, abs=0.05)
    assert at["ring", 1, 1.0] == pytest.approx(0.58, abs=0.06)
    assert at["nash", 10, 1.0] == pytest.approx(0.62, abs=0.06)


def test_a_payoff_maximiser_scores_what_the_study_reports_as_degradation(told):
    kept = told[told["counted"] & (told["lambda"] == 10)]
    means = 100 * kept.groupby("game")[["empirical", "empirical_within_one", "mode"]].mean()
    want = {"m1120": (83, 90, 90), "allpay": (12, 79, 90), "nash": (4, 8, 85), "ring": (47, 47, 86)}
    for game, numbers in want.items():
        assert means.loc[game].to_numpy() == pytest.approx(numbers, abs=2.5)
    low = told[told["counted"] & (told["lambda"] < 10)]
    assert 100 * low["empirical"].mean() == pytest.approx(4.7, abs=0.7)


def test_aligned_cells(told):
    kept = told[told["counted"]]
    assert kept.loc[kept["lambda"] == 10, "aligned"].agg(["sum", "size"]).tolist() == [13, 39]
    assert kept["aligned"].agg(["sum", "size"]).tolist() == [16, 117]


def test_not_knowing_the_precision_costs_little(told):
    blind = lk.depth.ceiling(known_lam=False, simulations=300, seed=4)
    gap = (told["identified"] - blind["identified"]).groupby(told["lambda"]).mean()
    assert gap.between(-0.02, 0.06).all()


def test_ceilings_on_a_logs_own_histories_by_hand():
    drawn = histories(["allpay"], [6], 10.0, seed=9)
    found = lk.depth.ceiling(drawn)
    assert len(found) == 1
    row, history = found.iloc[0], drawn["history"][0]
    table = lk.game("allpay").payoffs[0]
    paying = int((table @ np.bincount(history, minlength=11)).argmax())
    assert row["empirical"] == (paying == 6)
    logs = [np.log(lk.depth.opponent("allpay", level, 10.0))[history].sum() for level in range(10)]
    assert row["identified"] == (int(np.argmax(logs)) == 5)
    assert (row["target"], row["draws"], row["histories"]) == (6, 30, 1)


def test_ties_may_be_split():
    split = lk.depth.ceiling(games=["allpay"], lam=10.0, ties="split", simulations=400)
    first = lk.depth.ceiling(games=["allpay"], lam=10.0, simulations=400)
    assert split["empirical"].mean() != first["empirical"].mean()
    assert split["plugin"].equals(first["plugin"])


def test_same_seed_same_table():
    make = lambda seed: lk.depth.ceiling(games=["nash"], k_targets=[4], simulations=50, seed=seed)  # noqa: E731
    assert make(1).equals(make(1))
    assert not make(1).equals(make(2))


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: lk.depth.ceiling(scale="nope"), "choose belief_range"),
        (lambda: lk.depth.ceiling(simulations=0), "simulations = 0"),
        (lambda: lk.depth.ceiling(ties="odd"), "choose first or split"),
        (lambda: lk.depth.ceiling(histories(["nash"], [2], 1.0).drop(columns="history")), "no trial has a history"),
    ],
)
def test_mistakes_are_told(call, words):
    with pytest.raises((UsageError, DataError), match=words):
        call()
