"""The second step of a two-step regression: coefficients of estimates on features, by four kinds of error.

Arrays in, `Coefficients` out; what is regressed on what, and for whom, is decided in `levelkit.inference.regress`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import stats

from levelkit.inference.kernels import Array, Index
from levelkit.inference.optimize import Bool

ERRORS = ("nonrobust", "HC1", "HC3", "cluster")
FEW_GROUPS = 20
"""With fewer clusters than this, clustered errors are too small."""


@dataclass(frozen=True, eq=False)
class Coefficients:
    """One column of a regression table, by one method.

    value, se, p, low, high (D,): missing where `told` (D,) is False, because the column of the design is a combination
    of the others among the rows used. covariance (D, D): zero there. df: degrees of freedom (infinity: normal).
    n: rows used. r_squared: missing where it means nothing. notes: what a reader has to know.
    """

    value: Array
    se: Array
    p: Array
    low: Array
    high: Array
    told: Bool
    covariance: Array
    df: float
    n: int
    r_squared: float = np.nan
    notes: tuple[str, ...] = ()

    def wald(self, which: Index) -> tuple[float, float, int]:
        """F statistic, p and number of restrictions of the test that some coefficients are all zero."""
        which = which[self.told[which]]
        if not len(which):
            return np.nan, np.nan, 0
        b, v = self.value[which], self.covariance[np.ix_(which, which)]
        q = len(which)
        if not np.isfinite(v).all() or np.linalg.matrix_rank(v) < q:
            return np.nan, np.nan, q
        f = float(b @ np.linalg.solve(v, b)) / q
        return f, float(stats.chi2.sf(f * q, q) if np.isinf(self.df) else stats.f.sf(f, q, self.df)), q


def from_covariance(
    b: Array, v: Array, told: Bool, df: float, n: int, level: float, r2: float = np.nan, notes: tuple[str, ...] = ()
) -> Coefficients:
    """Coefficients with Student-t (normal at infinite df) tests and intervals; b (d,), v (d, d) of those told."""
    size = len(told)
    spread = np.full((5, size), np.nan)
    covariance = np.zeros((size, size))
    covariance[np.ix_(told, told)] = v
    with np.errstate(invalid="ignore", divide="ignore"):
        se = np.sqrt(np.diag(v))
        reach = stats.t.ppf(0.5 + level / 2, df)
        p = 2 * stats.t.sf(np.abs(b) / se, df)
    spread[:, told] = b, se, p, b - reach * se, b + reach * se
    b, se, p, low, high = spread
    return Coefficients(b, se, p, low, high, told, covariance, df, n, r2, notes)


def independent(x: Array) -> Bool:
    """Columns of a design (N, D) that are no combination of columns before them, (D,)."""
    told = np.zeros(x.shape[1], bool)
    basis = np.zeros((len(x), 0))
    for j in range(x.shape[1]):
        rest = x[:, j] - basis @ (basis.T @ x[:, j])
        rest = rest - basis @ (basis.T @ rest)
        size = float(np.linalg.norm(rest))
        if size > 1e-9 * max(float(np.linalg.norm(x[:, j])), 1e-300):
            told[j] = True
            basis = np.column_stack([basis, rest / size])
    return told


def ols(y: Array, x: Array, errors: str, groups: Index, level: float) -> Coefficients:
    """Ordinary least squares by statsmodels; groups (N,) for clustered errors."""
    import statsmodels.api as sm

    return _linear(sm.OLS, y, x, errors, groups, level, {})


def fgls(y: Array, x: Array, first: Array, errors: str, groups: Index, level: float) -> Coefficients:
    """Weighted least squares where y are estimates with known standard errors `first` (N,), missing for some.

    The residual variance is taken apart into that of the estimates and the rest (Lewis and Linzer 2005, eq. 5-6;
    Hanushek 1974), and each row is weighted by the inverse of its own sum. Rows without an error are left out.
    """
    import statsmodels.api as sm

    known = np.isfinite(first)
    y, x, first = y[known], x[known], first[known]
    groups = groups[known]
    told = independent(x)
    if len(y) <= told.sum() or not told.any():
        return nothing(x.shape[1], len(y), ("fgls: too few estimates have a standard error",))
    design = x[:, told]
    residual = y - design @ np.linalg.lstsq(design, y, rcond=None)[0]
    inverse = np.linalg.inv(design.T @ design)
    noise = np.asarray(first**2, float)
    expected = noise.sum() - np.trace(inverse @ (design.T @ (design * noise[:, None])))
    spare = float((residual @ residual - expected) / (len(y) - design.shape[1]))
    rest = spare if spare > 0 else 0.0
    mean = float(noise.mean())
    share = mean / (mean + rest) if mean else 0.0
    weights = 1 / (noise + max(rest, 1e-12))
    notes = [f"fgls: {100 * share:.0f}% of the variance around the fitted line is error of the estimates themselves"]
    if not known.all():
        notes.append(f"fgls: {int((~known).sum())} estimates without a standard error are left out")
    made = _linear(sm.WLS, y, x, errors, groups, level, {"weights": weights})
    return Coefficients(**{**made.__dict__, "notes": (*notes, *made.notes)})


def _linear(
    kind: object, y: Array, x: Array, errors: str, groups: Index, level: float, more: dict[str, Array]
) -> Coefficients:
    told = independent(x)
    if len(y) <= told.sum() or not told.any():
        return nothing(x.shape[1], len(y), (f"{len(y)} rows for {int(told.sum())} coefficients: not estimated",))
    options: dict[str, object] = {"cov_type": errors, "use_t": True}
    notes: tuple[str, ...] = ()
    if errors == "cluster":
        many = len(np.unique(groups))
        if many < 2:
            return nothing(x.shape[1], len(y), ("a single cluster: errors cannot be told",))
        options["cov_kwds"] = {"groups": groups}
        if many < FEW_GROUPS:
            notes = (f"clustered errors from {many} clusters are too small; prefer the bootstrap",)
    if errors == "HC3" and _exact(x[:, told], more.get("weights")):
        notes = (*notes, "a feature occurs in a single row, whose fit is exact: HC3 does not exist, HC1 is shown")
        options["cov_type"] = "HC1"
    fitted = kind(y, x[:, told], **more).fit(**options)  # type: ignore[operator]
    v = np.asarray(fitted.cov_params())
    df = float(len(np.unique(groups)) - 1) if errors == "cluster" else float(fitted.df_resid)
    r2 = float(fitted.rsquared)
    return from_covariance(np.asarray(fitted.params), v, told, df, len(y), level, r2, notes)


def _exact(x: Array, weights: Array | None) -> bool:
    """Whether some row is fitted exactly whatever its outcome."""
    root = 1.0 if weights is None else np.sqrt(weights)[:, None]
    q = np.linalg.qr(x * root)[0]
    return bool(((q**2).sum(axis=1) > 1 - 1e-8).any())


def nothing(size: int, n: int, notes: tuple[str, ...]) -> Coefficients:
    """A column that cannot be estimated, and why."""
    e, told = np.full(size, np.nan), np.zeros(size, bool)
    return Coefficients(e, e, e, e, e, told, np.zeros((size, size)), np.nan, n, np.nan, notes)


def pairs(y: Array, x: Array, groups: Index, replicates: int, rng: np.random.Generator) -> Array:
    """Coefficients (B, D) when whole groups of rows are drawn again with replacement; missing where a draw lacks a
    feature.
    """
    codes = np.unique(groups, return_inverse=True)[1]
    many = codes.max() + 1
    times = rng.multinomial(many, np.full(many, 1 / many), size=replicates)[:, codes].astype(float)
    return weighted(np.broadcast_to(y, times.shape), x, times)


def weighted(y: Array, x: Array, weights: Array) -> Array:
    """Least squares coefficients (B, D) for outcomes (B, N) and weights (B, N); missing where they are not told."""
    y = np.where(weights > 0, y, 0.0)
    moment = np.einsum("bn,ni,nj->bij", weights, x, x, optimize=True)
    cross = np.einsum("bn,bn,ni->bi", weights, y, x, optimize=True)
    scale = np.sqrt(np.einsum("bii->bi", moment))
    scale = np.where(scale > 0, scale, 1.0)
    values, vectors = np.linalg.eigh(moment / scale[:, :, None] / scale[:, None, :])
    fine = values[:, 0] > 1e-9
    out = np.full(cross.shape, np.nan)
    turned = np.einsum("bij,bi->bj", vectors[fine], (cross / scale)[fine]) / values[fine]
    out[fine] = np.einsum("bij,bj->bi", vectors[fine], turned) / scale[fine]
    return out


def from_replicates(point: Array, told: Bool, draws: Array, n: int, level: float, words: str) -> Coefficients:
    """Coefficients with the spread, percentile interval and p (share of draws on the other side of zero, twice) of
    replicates (B, d) of those told.
    """
    size = len(told)
    fine = np.isfinite(draws).all(axis=1)
    lost = int((~fine).sum())
    kept = draws[fine]
    notes: tuple[str, ...] = (f"bootstrap: {words}",)
    if lost:
        notes = (*notes, f"bootstrap: {lost} of {len(draws)} replicates lacked a feature altogether and are left out")
    if len(kept) < 50:
        return nothing(size, n, (*notes, "bootstrap: too few replicates have every feature; no intervals"))
    tails = np.quantile(kept, [0.5 - level / 2, 0.5 + level / 2], axis=0)
    side = np.minimum((kept <= 0).sum(axis=0), (kept >= 0).sum(axis=0))
    spread = np.full((5, size), np.nan)
    p = np.minimum(1.0, 2 * (side + 1) / (len(kept) + 1))
    spread[:, told] = point[told], kept.std(axis=0, ddof=1), p, *tails
    covariance = np.zeros((size, size))
    covariance[np.ix_(told, told)] = np.atleast_2d(np.cov(kept, rowvar=False))
    b, se, p, low, high = spread
    return Coefficients(b, se, p, low, high, told, covariance, np.inf, n, np.nan, notes)
