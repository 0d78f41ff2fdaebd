"""Intervals of binomial shares, on arrays. n need not be whole; where n is 0 there is no interval (NaN)."""

from __future__ import annotations

import numpy as np
from scipy.stats import beta, norm

from levelkit.errors import UsageError

Array = np.ndarray
KINDS = ("wilson", "clopper-pearson", "wald")


def interval(x: Array | float, n: Array | float, kind: str = "wilson", level: float = 0.95) -> tuple[Array, Array]:
    """Lower and upper ends of the interval of x / n. Raises UsageError for an unknown kind.

    wald may leave [0, 1] and has no width at 0 and at n; it is there because studies report it.
    """
    x, n = np.asarray(x, float), np.asarray(n, float)
    if kind == "wilson":
        with np.errstate(divide="ignore", invalid="ignore"):
            return wilson(x / n, n, level)
    if kind == "clopper-pearson":
        return _clopper_pearson(x, n, level)
    if kind == "wald":
        with np.errstate(divide="ignore", invalid="ignore"):
            p = x / n
            half = float(norm.ppf(0.5 + level / 2)) * np.sqrt(p * (1 - p) / n)
        return p - half, p + half
    raise UsageError(f"interval = {kind!r}: choose {', '.join(KINDS)}")


def wilson(observed: Array, n: Array, level: float = 0.95) -> tuple[Array, Array]:
    """Wilson's score interval of an observed share."""
    z = float(norm.ppf(0.5 + level / 2))
    p, n = np.asarray(observed, float), np.asarray(n, float)
    with np.errstate(divide="ignore", invalid="ignore"):
        centre = (p + z**2 / (2 * n)) / (1 + z**2 / n)
        half = z / (1 + z**2 / n) * np.sqrt(p * (1 - p) / n + z**2 / (4 * n**2))
    nothing = n <= 0
    low, high = np.clip(centre - half, 0, 1), np.clip(centre + half, 0, 1)
    # at 0 and 1 the interval touches the observed share; rounding must not push it off
    low, high = np.where(p <= 0, 0.0, low), np.where(p >= 1, 1.0, high)
    return np.where(nothing, np.nan, low), np.where(nothing, np.nan, high)


def _clopper_pearson(x: Array, n: Array, level: float) -> tuple[Array, Array]:
    tail = (1 - level) / 2
    inside = n > 0
    low = np.where(x > 0, beta.ppf(tail, np.maximum(x, 0.5), n - x + 1), 0.0)
    high = np.where(x < n, beta.ppf(1 - tail, x + 1, np.maximum(n - x, 0.5)), 1.0)
    return np.where(inside, low, np.nan), np.where(inside, high, np.nan)
