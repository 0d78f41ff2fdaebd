"""Profile intervals against brute force: lines and grids of the likelihood computed by other code."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest
from scipy.stats import chi2

import levelkit as lk
import reference as ref

DROP = chi2.ppf(0.95, 1) / 2
NAME = "competitive_base"
GAME = lk.game(NAME)
CAP = 10.0

# counts of player 1 | player 2: well told, one-sided, jumpy, nothing told, all the same, and truth near zero
COUNTS = {
    "many": [250, 180, 70, 90, 150, 260],
    "fifteen each": [12, 3, 0, 3, 10, 2],
    "sharp": [6, 9, 0, 0, 15, 0],
    "very sharp": [9, 6, 0, 0, 15, 0],
    "little": [6, 3, 6, 0, 7, 8],
    "nothing": [1, 6, 8, 0, 13, 2],
    "one action": [15, 0, 0, 0, 0, 15],
    "middling": [40, 25, 35, 28, 30, 42],
    "shallow": [120, 100, 90, 80, 85, 145],
    "odd": [15, 0, 0, 0, 4, 11],
}
TAU = np.concatenate([[0.0], np.geomspace(0.02, CAP, 160)])
GAMMA = np.concatenate([[0.0], np.geomspace(0.0005, 5000, 260), [np.inf]])
FINE_TAU = np.concatenate([[0.0], np.geomspace(1e-3, CAP, 3000)])
FINE_GAMMA = np.concatenate([[0.0], np.geomspace(1e-5, 1e5, 4000), [np.inf]])


def choices(counts: dict[str, list[float]]) -> lk.Choices:
    cells = pd.DataFrame({"unit_name": list(counts), "game": [NAME] * len(counts)})
    return lk.Choices.from_counts(cells, np.array(list(counts.values()), float), {NAME: GAME})


def frame_of(fits: lk.Fits) -> pd.DataFrame:
    return fits.frame().set_index(["unit_name", "parameter"])


@pytest.fixture(scope="module")
def fitted():
    return frame_of(lk.fit(choices(COUNTS), lk.TQRE(), by="unit_name", sensitivity=False))


@pytest.fixture(scope="module")
def surfaces():
    """Log-likelihood of every unit on the grid, (len(TAU), len(GAMMA))."""
    table = ref.log_table(ref.tqre(GAME, *ref.grid_2d(TAU, GAMMA)))
    return {n: (np.array(c, float) @ table).reshape(len(TAU), len(GAMMA)) for n, c in COUNTS.items()}


def highest_along(counts, tau, gamma) -> float:
    """Maximum over a fine line of points."""
    tau, gamma = np.broadcast_arrays(np.atleast_1d(tau), np.atleast_1d(gamma))
    return float((np.array(counts, float) @ ref.log_table(ref.tqre(GAME, tau, gamma))).max())


@pytest.mark.parametrize("name", COUNTS)
def test_no_point_of_a_fine_grid_is_better(fitted, surfaces, name):
    assert surfaces[name].max() <= fitted.loc[(name, "tau"), "loglik"] + 1e-6


@pytest.mark.parametrize("name", COUNTS)
def test_the_interval_holds_every_point_of_the_profile_set(fitted, surfaces, name):
    surface = surfaces[name]
    for parameter, values, profile in (("tau", TAU, surface.max(axis=1)), ("gamma", GAMMA, surface.max(axis=0))):
        row = fitted.loc[(name, parameter)]
        inside = values[profile >= row["loglik"] - DROP + 1e-6]
        high = np.inf if row["high"] >= CAP and parameter == "tau" else row["high"]
        assert row["low"] <= inside.min() * (1 + 1e-3), (parameter, row["low"], inside.min())
        assert high >= inside.max() * (1 - 1e-3), (parameter, high, inside.max())


@pytest.mark.parametrize("name", COUNTS)
def test_the_ends_belong_to_the_profile_set(fitted, name):
    for parameter in ("tau", "gamma"):
        row = fitted.loc[(name, parameter)]
        for end in (row["low"], row["high"]):
            if parameter == "tau":
                value = highest_along(COUNTS[name], min(end, CAP), FINE_GAMMA)
            else:
                value = highest_along(COUNTS[name], FINE_TAU, end)
            # inside the set, and at its edge unless the edge is an end of the range
            assert value >= row["loglik"] - DROP - 0.01, (parameter, end)
            if 0 < end < np.inf and not np.isinf(fitted.loc[(name, "gamma"), "estimate"]):
                assert value <= row["loglik"] - DROP + 0.05, (parameter, end)


def test_one_sided_intervals(fitted):
    for name in ("sharp", "very sharp", "one action"):
        assert fitted.loc[(name, "gamma"), "high"] == np.inf
        assert fitted.loc[(name, "gamma"), "low"] > 0
        assert fitted.loc[(name, "gamma"), "status"] == "boundary"
    assert (fitted.loc["nothing", "low"] == 0).all()
    assert (fitted.loc["nothing", "high"] == np.inf).all()
    assert fitted.loc["nothing", "estimate"].isna().all()
    for n in COUNTS:
        for p in ("tau", "gamma"):
            row = fitted.loc[(n, p)]
            assert row["low"] <= row["high"]
            if not np.isnan(row["estimate"]):
                assert row["low"] <= row["estimate"] <= row["high"]


@pytest.mark.parametrize("gamma", [0.15, np.inf])
def test_one_parameter(gamma):
    fits = lk.fit(choices(COUNTS), lk.TQRE(), by="unit_name", fixed={"gamma": gamma}, sensitivity=False)
    _check_line(fits, ref.log_table(ref.tqre(GAME, LINE, np.full(len(LINE), gamma))), jumps=np.isinf(gamma))


def test_one_parameter_that_jumps():
    fits = lk.fit(choices(COUNTS), lk.PoissonCH(), by="unit_name", sensitivity=False)
    _check_line(fits, ref.log_table(ref.poisson_ch(GAME, LINE)), jumps=True)


LINE = np.concatenate([[0.0], np.geomspace(1e-3, CAP, 20_001)])


def _check_line(fits: lk.Fits, table: np.ndarray, jumps: bool) -> None:
    frame = frame_of(fits)
    for name, counts in COUNTS.items():
        row = frame.loc[(name, "tau")]
        line = np.array(counts, float) @ table
        assert line.max() <= row["loglik"] + 1e-6, name
        assert line.max() >= row["loglik"] - (0.02 if jumps else 1e-4), name
        inside = LINE[line >= row["loglik"] - DROP]
        want_low, want_high = inside.min(), (np.inf if inside.max() == CAP else inside.max())
        assert row["low"] == pytest.approx(want_low, rel=2e-3, abs=1e-12), name
        assert row["high"] == pytest.approx(want_high, rel=2e-3), name


def test_intervals_widen_with_their_probability():
    part = choices({n: COUNTS[n] for n in ("many", "middling", "shallow", "fifteen each")})
    ends = []
    for probability in (0.5, 0.8, 0.95, 0.99):
        frame = frame_of(lk.fit(part, lk.TQRE(), by="unit_name", interval=probability, sensitivity=False))
        ends.append((frame["low"].to_numpy(), frame["high"].to_numpy()))
    for (low, high), (lower, higher) in itertools.pairwise(ends):
        assert (lower <= low).all()
        assert (higher >= high).all()
    assert (ends[0][0][:2] > ends[-1][0][:2]).all()


def test_wider_intervals_of_a_likelihood_with_pieces():
    """At 99% the set of tau has three pieces, the last at 7.1 to 7.3; the interval is their hull."""
    part = choices({"pieces": COUNTS["fifteen each"]})
    fits = lk.fit(part, lk.TQRE(), by="unit_name", interval=0.99, sensitivity=False)
    row = frame_of(fits).loc[("pieces", "tau")]
    tau, gamma = np.linspace(4.5, CAP, 111), FINE_GAMMA[::10]
    table = ref.log_table(ref.tqre(GAME, *ref.grid_2d(tau, gamma)))
    values = (np.array(COUNTS["fifteen each"]) @ table).reshape(len(tau), -1).max(axis=1)
    inside = tau[values >= row["loglik"] - chi2.ppf(0.99, 1) / 2]
    assert inside.max() > 7
    assert row["high"] >= inside.max() - 1e-6
    assert "gaps" in fits.stats()["note"][0]


def test_a_large_sample_has_the_interval_of_its_standard_error():
    play = ref.tqre(GAME, 1.4, 0.25)
    counts = {"exact": list(np.concatenate([40_000 * p[:, 0] for p in play]))}
    frame = frame_of(lk.fit(choices(counts), lk.TQRE(), by="unit_name", sensitivity=False))
    for parameter, truth in (("tau", 1.4), ("gamma", 0.25)):
        row = frame.loc[("exact", parameter)]
        assert row["estimate"] == pytest.approx(truth, rel=1e-4)
        assert row["high"] - row["estimate"] == pytest.approx(1.96 * row["se"], rel=0.1)
        assert row["estimate"] - row["low"] == pytest.approx(1.96 * row["se"], rel=0.1)
