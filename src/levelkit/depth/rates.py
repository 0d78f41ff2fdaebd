"""Shares of trials with honest intervals: trials of one cell share a prompt and a history, so that they cluster.

A share is sum of successes over sum of trials. The cell-cluster bootstrap draws whole cells with replacement, never
trials within them; where it is wider than the binomial interval, the wider one counts (Zhang & Sarkar 2026, D.4).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.stats import norm

from levelkit import binomial

Array = np.ndarray
CLUSTER = ("game", "condition", "k_target", "lambda")
"""What makes a cluster: all trials in the same cell, of whatever model."""

REPLICATES = 2000
FEW = 10
"""With fewer clusters than this the bootstrap is not to be trusted."""

_BLOCK = 500


@dataclass(frozen=True)
class Rate:
    """A share: x of n, the binomial interval (low, high), the cluster interval, and the wider of the two.

    design_effect: variance with clusters over variance without; 1 if trials were independent. widths: width of the
    cluster interval over that of the Wald interval, as the study reports. NaN where there is nothing to tell.
    """

    x: int
    n: int
    low: float
    high: float
    cluster_low: float
    cluster_high: float
    design_effect: float
    widths: float
    clusters: int

    @property
    def value(self) -> float:
        """The share."""
        return self.x / self.n if self.n else float("nan")

    @property
    def wider(self) -> tuple[float, float]:
        """The wider interval of the two."""
        if not self.cluster_high - self.cluster_low > self.high - self.low:
            return self.low, self.high
        return self.cluster_low, self.cluster_high

    @property
    def few(self) -> bool:
        """Whether there are too few clusters for their interval to be trusted."""
        return self.clusters < FEW


def rate(
    frame: pd.DataFrame,
    column: str,
    *,
    kind: str = "wilson",
    level: float = 0.95,
    replicates: int = REPLICATES,
    seed: int = 0,
    cluster: tuple[str, ...] = CLUSTER,
) -> Rate:
    """The share of trials in which a truth holds; trials where it is missing do not count.

    replicates: of the bootstrap; 0 leaves it out. cluster: columns that make a cluster.
    """
    told = frame[frame[column].notna()]
    truth = told[column].to_numpy(dtype=float)
    x, n = int(truth.sum()), len(truth)
    low, high = (float(end) for end in binomial.interval(x, n, kind, level))
    nothing = float("nan")
    if not n:
        return Rate(0, 0, low, high, nothing, nothing, nothing, nothing, 0)
    codes = told.groupby(list(cluster), dropna=False, sort=True).ngroup().to_numpy()
    xs, ns = np.bincount(codes, truth), np.bincount(codes).astype(float)
    if not replicates or len(xs) < 2:
        return Rate(x, n, low, high, nothing, nothing, nothing, nothing, len(xs))
    drawn = bootstrap_ratio(xs, ns, replicates, seed)
    ends = np.quantile(drawn, [(1 - level) / 2, (1 + level) / 2])
    p = x / n
    with np.errstate(divide="ignore", invalid="ignore"):
        effect = float(drawn.var(ddof=1) / (p * (1 - p) / n)) if 0 < p < 1 else nothing
        wald = binomial.interval(x, n, "wald", level)
        widths = float((ends[1] - ends[0]) / (wald[1] - wald[0])) if 0 < p < 1 else nothing
    return Rate(x, n, low, high, float(ends[0]), float(ends[1]), effect, widths, len(xs))


def bootstrap_ratio(x: Array, n: Array, replicates: int = REPLICATES, seed: int = 0) -> Array:
    """Replicates of sum x / sum n with whole clusters drawn with replacement, (replicates,)."""
    rng = np.random.default_rng(seed)
    found = []
    for start in range(0, replicates, _BLOCK):
        picked = rng.integers(0, len(x), size=(min(_BLOCK, replicates - start), len(x)))
        found.append(x[picked].sum(axis=1) / n[picked].sum(axis=1))
    return np.concatenate(found)


@dataclass(frozen=True)
class Difference:
    """A difference of two shares, with minus without, over strata that hold trials of both kinds.

    value: Mantel-Haenszel risk difference. strata, n: what it rests on.
    """

    value: float
    low: float
    high: float
    strata: int
    n: int


def mantel_haenszel(
    frame: pd.DataFrame,
    outcome: str,
    split: str,
    *,
    strata: tuple[str, ...] = CLUSTER,
    level: float = 0.95,
) -> Difference:
    """Difference in the share of `outcome` between trials with and without `split`, stratified by cell.

    Cells differ in how hard they are and in how often the split holds; pooled shares mix the two up. Weights are
    n1 n0 / N of each stratum (Greenland & Robins 1985); variance by Sato (1989), good with many small strata.
    """
    told = frame[frame[outcome].notna() & frame[split].notna()]
    y, z = told[outcome].to_numpy(dtype=float), told[split].to_numpy(dtype=float)
    nothing = float("nan")
    if not len(told):
        return Difference(nothing, nothing, nothing, 0, 0)
    codes = told.groupby(list(strata), dropna=False, sort=True).ngroup().to_numpy()
    n1, n0 = np.bincount(codes, z), np.bincount(codes, 1 - z)
    x1, x0 = np.bincount(codes, y * z), np.bincount(codes, y * (1 - z))
    both = (n1 > 0) & (n0 > 0)
    n1, n0, x1, x0 = n1[both], n0[both], x1[both], x0[both]
    total = n1 + n0
    weight = n1 * n0 / total
    if not weight.sum():
        return Difference(nothing, nothing, nothing, 0, 0)
    value = float(((x1 * n0 - x0 * n1) / total).sum() / weight.sum())
    p = (n1**2 * x0 - n0**2 * x1 + n1 * n0 * (n0 - n1) / 2) / total**2
    q = (x1 * (n0 - x0) + x0 * (n1 - x1)) / (2 * total)
    variance = max(float((value * p.sum() + q.sum()) / weight.sum() ** 2), 0.0)
    half = float(norm.ppf(0.5 + level / 2)) * variance**0.5
    return Difference(value, value - half, value + half, int(both.sum()), int(total.sum()))
