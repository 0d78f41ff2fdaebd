"""Intervals from replicates: percentile, basic, and bias-corrected and accelerated (BCa; Efron 1987).

Replicates may be infinite (the estimate is at a limit) or missing (the data do not tell). An infinite one has its rank
like any other. A missing one could be anything, so it is counted below the lower end and above the upper one.
"""

from __future__ import annotations

import numpy as np
from scipy.stats import norm

from levelkit.inference.kernels import Array

KINDS = ("percentile", "basic", "bca")
_TIE = 1e-3


def ends(kind: str, draws: Array, point: float, level: float, acceleration: float = 0.0) -> tuple[float, float]:
    """Lower and upper end from draws (B,) of an estimate whose value is `point`, all in search coordinates."""
    tail = (1 - level) / 2
    if kind == "percentile":
        return order(draws, tail), order(draws, 1 - tail)
    if kind == "basic":
        low, high = order(draws, tail), order(draws, 1 - tail)
        with np.errstate(invalid="ignore"):
            ends = 2 * point - high, 2 * point - low
        # at a limit there is nothing to reflect about
        return (-np.inf if np.isnan(ends[0]) else ends[0]), (np.inf if np.isnan(ends[1]) else ends[1])
    told = draws[~np.isnan(draws)]
    # searches end within a hair of the same jump of best responses: those are ties
    with np.errstate(invalid="ignore"):
        tied = (told == point) | (np.abs(told - point) < _TIE)
    below = ((told < point) & ~tied).sum() / max(len(told), 1) + 0.5 * tied.mean() if len(told) else 0.5
    bias = norm.ppf(np.clip(below, 0.5 / (len(told) + 1), 1 - 0.5 / (len(told) + 1)))
    tails = []
    for z in norm.ppf([tail, 1 - tail]):
        room = 1 - acceleration * (bias + z)
        tails.append(norm.cdf(bias + (bias + z) / room) if room > 0 else float(z > 0))
    return order(draws, tails[0]), order(draws, tails[1])


def order(draws: Array, probability: float) -> float:
    """The order statistic at (B + 1) * probability; missing draws lie outside on both sides."""
    missing = np.isnan(draws)
    filled = np.where(missing, -np.inf if probability < 0.5 else np.inf, draws)
    place = (len(draws) + 1) * probability
    place = np.floor(place + 1e-9) if probability < 0.5 else np.ceil(place - 1e-9)
    if place < 1:
        return -np.inf
    if place > len(draws):
        return np.inf
    return float(np.partition(filled, int(place) - 1)[int(place) - 1])


def spread(draws: Array, cap: float = np.inf) -> float:
    """Half the width of the central 68.3% of draws: the standard error of a normal, infinite if that reaches a
    limit.
    """
    tail = float(norm.cdf(-1))
    values = np.where(draws >= cap, np.inf, draws)
    low, high = order(values, tail), order(values, 1 - tail)
    return (high - low) / 2 if np.isfinite([low, high]).all() else np.inf


def acceleration(times: Array, influence: Array) -> float:
    """Skewness of influences (m,), each standing for `times` choices or clusters, over six; 0 where there is none."""
    second = float((times * influence**2).sum())
    return float((times * influence**3).sum() / (6 * second**1.5)) if second > 0 else 0.0
