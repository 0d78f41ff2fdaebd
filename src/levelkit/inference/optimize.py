"""Maximisers. The only module that knows an optimisation library, so that it can be replaced in an afternoon.

`climb` (damped scoring) and `polish` (exact Newton) move many points at once and are what grid fits use; `zoom`
needs no derivatives and copes with jumps; `one_by_one` hands the same job to a library.
"""

from __future__ import annotations

import warnings
from typing import Any, Protocol

import numpy as np

from levelkit.errors import UsageError
from levelkit.inference.kernels import Array, Index

Bool = np.ndarray[Any, np.dtype[Any]]

_LONGEST_STEP = 1.5


class Curved(Protocol):
    """What the batched maximisers need of an objective."""

    def value(self, unit: Index, x: Array) -> Array:
        """(m,)."""

    def scores(self, unit: Index, x: Array, held: Array | None = None) -> tuple[Array, Array, Array]:
        """Value (m,), gradient (F, m), expected information (F, F, m)."""

    def hessians(self, unit: Index, x: Array, held: Array | None = None) -> tuple[Array, Array, Array]:
        """Value (m,), gradient (F, m), second derivatives (F, F, m)."""


def _solve(matrix: Array, vector: Array, damping: Array, held: Bool) -> Array:
    """Solve (matrix + damping * diag) d = vector for each column, leaving held coordinates where they are."""
    size = len(vector)
    diagonal = np.einsum("iim->im", matrix)
    ridge = damping * np.maximum(diagonal, 1e-10) + 1e-14
    if size == 1:
        return np.where(held, 0.0, vector / (matrix[0] + ridge))
    if size == 2:
        return _solve_two(matrix[0, 0] + ridge[0], matrix[0, 1], matrix[1, 1] + ridge[1], vector, held)
    a = np.moveaxis(matrix + 0.0, -1, 0)
    idx = np.arange(size)
    a[:, idx, idx] += ridge.T
    blocked = held.T
    a[blocked] = 0.0
    a = np.where(blocked[:, None, :], 0.0, a)
    a[:, idx, idx] = np.where(blocked, 1.0, a[:, idx, idx])
    return np.linalg.solve(a, np.where(held, 0.0, vector).T[..., None])[..., 0].T


def _solve_two(a: Array, b: Array, c: Array, vector: Array, held: Bool) -> Array:
    """The same for two coordinates, by Cramer's rule: [[a, b], [b, c]] d = vector."""
    a, c = np.where(held[0], 1.0, a), np.where(held[1], 1.0, c)
    b = np.where(held[0] | held[1], 0.0, b)
    v = np.where(held, 0.0, vector)
    determinant = a * c - b * b
    determinant = np.where(np.abs(determinant) > 1e-300, determinant, 1e-300)
    return np.stack([(c * v[0] - b * v[1]) / determinant, (a * v[1] - b * v[0]) / determinant])


def climb(
    objective: Curved,
    unit: Index,
    x: Array,
    lower: Array,
    upper: Array,
    held: Bool | None = None,
    steps: int = 60,
    gain: float = 1e-11,
    reach: float = _LONGEST_STEP,
) -> tuple[Array, Array]:
    """Damped Fisher scoring from x (F, m) within bounds; returns x and the value (m,).

    reach: longest first step in any coordinate; it doubles with every step taken. A short one keeps to the hill that
    the start is on. The expected information is never indefinite, so every step goes uphill; steps are shortened by
    damping until the value rises. Coordinates at a limit (infinite) or held stay put.
    """
    x = x.copy()
    held = ~np.isfinite(x) | (np.zeros(x.shape, bool) if held is None else held)
    value, gradient, information = objective.scores(unit, x, held)
    damping, longest = np.full(len(unit), 1e-3), np.full(len(unit), reach)
    active = np.flatnonzero(~held.all(axis=0))
    for _ in range(steps):
        if not active.size:
            break
        at, g, info, stuck = x[:, active], gradient[:, active], information[..., active], held[:, active]
        stuck = stuck | ((at <= lower[:, active]) & (g < 0)) | ((at >= upper[:, active]) & (g > 0))
        g = np.where(stuck, 0.0, g)
        step = np.clip(_solve(info, g, damping[active], stuck), -longest[active], longest[active])
        trial = np.where(stuck, at, np.clip(at + step, lower[:, active], upper[:, active]))
        v, g_new, info_new = objective.scores(unit[active], trial, held[:, active])
        better = v > value[active]
        gained = np.where(better, v - value[active], 0.0)
        promised = np.sum(np.where(stuck, 0.0, g * np.where(stuck, 0.0, step)), axis=0)
        won = active[better]
        x[:, won], value[won] = trial[:, better], v[better]
        gradient[:, won], information[..., won] = g_new[:, better], info_new[..., better]
        damping[active] = np.where(better, np.maximum(damping[active] / 6, 1e-9), damping[active] * 8)
        longest[active] = np.minimum(np.where(better, 2.0, 0.5) * longest[active], _LONGEST_STEP)
        done = (promised < gain) | (better & (gained < gain)) | (~better & (damping[active] > 1e7))
        active = active[~done]
    return x, value


def polish(
    objective: Curved,
    unit: Index,
    x: Array,
    value: Array,
    lower: Array,
    upper: Array,
    held: Bool | None = None,
    steps: int = 8,
) -> tuple[Array, Array]:
    """Newton steps on the exact second derivatives, curvatures taken by their size so that every step goes uphill.

    Scoring converges slowly where the model fits badly; this ends what it began. A step that does not help is
    shortened.
    """
    x, value = x.copy(), value.copy()
    held = ~np.isfinite(x) | (np.zeros(x.shape, bool) if held is None else held)
    damping = np.full(len(unit), 1e-9)
    active = np.flatnonzero(~held.all(axis=0))
    for _ in range(steps):
        if not active.size:
            break
        at, stuck = x[:, active], held[:, active]
        _, g, second = objective.hessians(unit[active], at, stuck)
        stuck = stuck | ((at <= lower[:, active]) & (g < 0)) | ((at >= upper[:, active]) & (g > 0))
        g = np.where(stuck, 0.0, g)
        step = np.clip(_uphill(second, g, stuck, damping[active]), -_LONGEST_STEP, _LONGEST_STEP)
        trial = np.where(stuck, at, np.clip(at + np.where(stuck, 0.0, step), lower[:, active], upper[:, active]))
        v = objective.value(unit[active], trial)
        better = v > value[active]
        gain = np.where(better, v - value[active], 0.0)
        won = active[better]
        x[:, won], value[won] = trial[:, better], v[better]
        damping[active] = np.where(better, damping[active] / 10, np.maximum(damping[active], 1e-4) * 20)
        promised = np.sum(g * np.where(stuck, 0.0, step), axis=0)
        done = (promised < 1e-12) | (better & (gain < 1e-12)) | (~better & (damping[active] > 1e4))
        active = active[~done]
    return x, value


def follow(
    objective: Curved, unit: Index, x: Array, value: Array, lower: Array, upper: Array, rounds: int = 15
) -> tuple[Array, Array]:
    """Go on along thin ridges, where Newton steps are short: after a few of them, leap ahead in the way they went."""
    x, value = x.copy(), value.copy()
    leaps = np.array([1.0, 4.0, 16.0, 64.0, 256.0])
    active = np.arange(len(unit))
    for _ in range(rounds):
        if not active.size:
            break
        low, high = lower[:, active], upper[:, active]
        at, v = polish(objective, unit[active], x[:, active], value[active], low, high, steps=3)
        way = np.where(np.isfinite(at), at - x[:, active], 0.0)
        trials = np.clip(at[..., None] + way[..., None] * leaps, low[..., None], high[..., None])
        many, spread = np.repeat(unit[active], len(leaps)), trials.reshape(len(x), -1)
        bounds = np.repeat(low, len(leaps), axis=1), np.repeat(high, len(leaps), axis=1)
        # a leap ends beside the ridge: back onto it before it is judged
        spread, ahead = polish(objective, many, spread, objective.value(many, spread), *bounds, steps=5)
        trials, ahead = spread.reshape(trials.shape), ahead.reshape(-1, len(leaps))
        best = ahead.argmax(axis=1)
        rows = np.arange(len(active))
        leapt = ahead[rows, best] > v
        gain = np.maximum(ahead[rows, best], v) - value[active]
        x[:, active] = np.where(leapt, trials[:, rows, best], at)
        value[active] = np.maximum(ahead[rows, best], v)
        active = active[gain > 1e-9]
    return x, value


def promise(objective: Curved, unit: Index, x: Array, lower: Array, upper: Array) -> Array:
    """How much a Newton step uphill would gain to first order, (m,): next to nothing at an optimum."""
    if not len(unit):
        return np.zeros(0)
    _, g, second = objective.hessians(unit, x)
    held = ~np.isfinite(x) | ((x <= lower) & (g < 0)) | ((x >= upper) & (g > 0))
    g = np.where(held, 0.0, g)
    return np.asarray(np.sum(g * np.where(held, 0.0, _uphill(second, g, held, np.full(len(unit), 1e-9))), axis=0))


def _uphill(second: Array, g: Array, held: Bool, damping: Array) -> Array:
    """(|second| + damping)^-1 g in the space of the coordinates that move, (F, m)."""
    if len(g) == 2:
        return _uphill_two(second, g, held, damping)
    matrix = np.moveaxis(second, -1, 0) + 0.0
    blocked = held.T
    matrix[blocked] = 0.0
    matrix = np.where(blocked[:, None, :], 0.0, matrix)
    matrix[~np.isfinite(matrix).all(axis=(1, 2))] = -np.eye(matrix.shape[1])
    values, vectors = np.linalg.eigh(matrix)
    size = np.abs(values)
    size = np.maximum(size, 1e-12) + damping[:, None] * np.maximum(size.max(axis=1, keepdims=True), 1e-6)
    return np.asarray(np.einsum("mij,mj,mkj,km->im", vectors, 1 / size, vectors, g))


def _uphill_two(second: Array, g: Array, held: Bool, damping: Array) -> Array:
    """The same for two coordinates, from the closed form of the eigenvalues."""
    bad = ~np.isfinite(second).all(axis=(0, 1))
    a = np.where(held[0] | bad, -1.0, second[0, 0])
    c = np.where(held[1] | bad, -1.0, second[1, 1])
    b = np.where(held[0] | held[1] | bad, 0.0, second[0, 1])
    middle, half = (a + c) / 2, np.hypot((a - c) / 2, b)
    sizes = np.maximum(np.abs(np.stack([middle + half, middle - half])), 1e-12)
    sizes = sizes + damping * np.maximum(sizes.max(axis=0), 1e-6)
    # the eigenvector of the upper eigenvalue at angle t: tan 2t = 2b / (a - c)
    angle = 0.5 * np.arctan2(2 * b, a - c)
    cos, sin = np.cos(angle), np.sin(angle)
    along, across = (cos * g[0] + sin * g[1]) / sizes[0], (cos * g[1] - sin * g[0]) / sizes[1]
    return np.stack([cos * along - sin * across, sin * along + cos * across])


def zoom(
    objective: Curved,
    unit: Index,
    x: Array,
    half: Array,
    lower: Array,
    upper: Array,
    points: int = 0,
    rounds: int = 0,
) -> tuple[Array, Array]:
    """Refine x (F, m) by ever finer grids around the best point so far; finds one-sided suprema at jumps.

    half (F, m): half-widths of the first grid. Coordinates at a limit stay put. At most two coordinates may move.
    """
    x = x.copy()
    free = np.isfinite(x)
    moving = int(free.sum(axis=0).max(initial=0))
    points = points or (33 if moving <= 1 else 11)
    rounds = rounds or (8 if moving <= 1 else 14)
    value = objective.value(unit, x)
    if moving == 0:
        return x, value
    offsets = np.linspace(-1, 1, points)
    mesh = np.stack(np.meshgrid(*[offsets] * moving, indexing="ij")).reshape(moving, -1)
    half = half.copy()
    for _ in range(rounds):
        shifts = np.zeros((*x.shape, mesh.shape[1]))
        rank = np.cumsum(free, axis=0) - 1
        for k in range(len(x)):
            shifts[k] = np.where(free[k][:, None], mesh[np.maximum(rank[k], 0)], 0.0)
        base = np.where(free, x, 0.0)
        tried = np.clip(base[..., None] + shifts * half[..., None], lower[..., None], upper[..., None])
        tried = np.where(free[..., None], tried, x[..., None])
        v = objective.value(np.repeat(unit, mesh.shape[1]), tried.reshape(len(x), -1)).reshape(len(unit), -1)
        best = v.argmax(axis=1)
        here = np.arange(len(unit))
        improved = v[here, best] > value
        x = np.where(improved, tried[:, here, best], x)
        value = np.where(improved, v[here, best], value)
        half = half * (2.0 / (points - 1)) * 1.05
    return x, value


def one_by_one(
    objective: Curved,
    unit: Index,
    x: Array,
    lower: Array,
    upper: Array,
    held: Bool | None = None,
    optimizer: str = "jaxopt",
) -> tuple[Array, Array]:
    """The job of `climb` by a library's bounded quasi-Newton method, point by point: slower, an independent check.

    optimizer: "jaxopt" (its bounded L-BFGS-B). Raises UsageError for another name.
    """
    if optimizer != "jaxopt":
        raise UsageError(f"optimizer = {optimizer!r}: choose newton or jaxopt")
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*JAXopt is no longer maintained.*", category=DeprecationWarning)
        from jaxopt import ScipyBoundedMinimize

    x = x.copy()
    held = ~np.isfinite(x) | (np.zeros(x.shape, bool) if held is None else held)
    value = np.empty(len(unit))
    for j in range(len(unit)):
        moving = np.flatnonzero(~held[:, j])

        def negative(z: Any, j: int = j, moving: Index = moving) -> tuple[float, Any]:
            full = x[:, j].copy()
            full[moving] = np.asarray(z)
            v, g, _ = objective.scores(unit[[j]], full[:, None], held[:, [j]])
            return -float(v[0]), -g[moving, 0]

        if moving.size:
            # the objective is compiled by itself; the library must not trace it
            solver = ScipyBoundedMinimize(
                fun=negative, method="L-BFGS-B", value_and_grad=True, maxiter=300, tol=1e-10, jit=False
            )
            found = solver.run(x[moving, j], bounds=(lower[moving, j], upper[moving, j]))
            x[moving, j] = np.clip(np.asarray(found.params), lower[moving, j], upper[moving, j])
        value[j] = objective.value(unit[[j]], x[:, [j]])[0]
    return x, value
