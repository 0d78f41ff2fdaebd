"""All local optima of a likelihood surface, limits included: where the grid peaks, refined.

Interior peaks are refined by derivatives. With infinite precision players best respond and the likelihood jumps as
beliefs move, so that edge gets a fine grid of its own and is refined without derivatives.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import numpy as np

from levelkit.inference import optimize, surfaces
from levelkit.inference.kernels import Array, Index
from levelkit.inference.objective import Objective, to_coordinate
from levelkit.inference.surfaces import Grid, Surfaces, Tables

# Two optima nearer than this in every coordinate are one; values nearer than _TIE are equal.
_APART = 1e-2
_TIE = 1e-7
_EDGE_POINTS = 385
# The fan beside an optimum at infinite precision: precisions per payoff range, and steps aside (of log tau, at
# precision 20).
_FAN = np.array([20.0, 60.0, 180.0, 540.0, 2000.0])
_ASIDE = np.array([0.01, 0.04, 0.12])
# The longest first step from a peak of the grid: about the distance of its nodes.
_REACH = 0.1
# Candidates this far below the best one, in log units, are not refined further.
_HOPELESS = 5.0
_CLOSE = 2.5
# A point from which a Newton step promises more than this is no optimum.
_RISING = 1e-6


@dataclass(frozen=True, eq=False)
class Optima:
    """Local optima, best first within each unit.

    unit (m,): which unit. x (F, m): coordinates, infinite at a limit. value (m,): log-likelihood. start (U + 1,):
    optima of unit u are start[u]:start[u + 1]; tried (U,): how many starting points were refined.
    """

    unit: Index
    x: Array
    value: Array
    start: Index
    tried: Index

    @property
    def best(self) -> Index:
        """Position of each unit's best optimum, (U,)."""
        return self.start[:-1]


def find(
    grid: Grid, tables: Tables, edge: tuple[Grid, Tables] | None, unit: Index, fine: bool = True
) -> tuple[Optima, Surfaces]:
    """Optima of some units (numbered 0.. in the result) and what was read off their surfaces."""
    read = surfaces.read(grid, tables, unit)
    here, peak = np.nonzero(np.isfinite(read.heights))
    x = grid.at(read.peaks[here, peak], grid.reference[unit[here]])
    if (
        edge is not None
    ):  # at infinite precision the edge's own grid is finer, but a narrow piece may lie between its nodes
        top = read.heights[here, 0]
        kept = ~sharp(grid.objective, x) | (read.heights[here, peak] > top - _HOPELESS)
        here, x = here[kept], x[:, kept]
    x, value = _refine(grid, unit[here], x, here, len(unit), fine)
    if edge is not None:
        best = np.full(len(unit), -np.inf)
        np.maximum.at(best, here, value)
        edge_here, edge_x, edge_value = _along_edge(grid, edge, unit, best)
        near_here, near_x = beside_edge(grid, unit, edge_here, edge_x)
        near_x, near_value = _refine(grid, unit[near_here], near_x, near_here, len(unit), fine)
        here = np.concatenate([here, edge_here, near_here])
        x = np.concatenate([x, edge_x, near_x], axis=1)
        value = np.concatenate([value, edge_value, near_value])
    tried = np.bincount(here, minlength=len(unit))
    x, value = snap(grid, unit[here], x, value)
    return _sorted(grid, unit, here, x, value, tried), read


def edge_grid(grid: Grid) -> Grid | None:
    """The one-parameter grid at infinite precision, if a precision and one other parameter are free."""
    objective = grid.objective
    precise = [k for k, p in enumerate(objective.parameters) if p.is_precision]
    if len(objective.free) != 2 or len(precise) != 1:
        return None
    k = precise[0]
    fixed = list(objective.fixed)
    fixed[objective.free[k]] = np.inf
    sub = dataclasses.replace(objective, free=(objective.free[1 - k],), fixed=tuple(fixed))
    return surfaces.grid(sub, (_EDGE_POINTS,))


def sharp(objective: Objective, x: Array) -> Array:
    """Whether players best respond at x, so that the likelihood jumps."""
    precise = [k for k, p in enumerate(objective.parameters) if p.is_precision]
    fixed = [
        v
        for i, v in enumerate(objective.fixed)
        if i not in objective.free and objective.model.parameters[i].is_precision
    ]
    always = objective.model.is_jumpy or any(np.isinf(v) for v in fixed)
    return np.full(x.shape[1], always) | (np.isposinf(x[precise]).any(axis=0) if precise else False)


def _refine(grid: Grid, unit: Index, x: Array, here: Index, n_units: int, fine: bool) -> tuple[Array, Array]:
    lower, upper = grid.bounds(unit)
    jumps = sharp(grid.objective, x)
    value = np.zeros(len(unit))
    x = x.copy()
    for chosen, jumpy in ((np.flatnonzero(~jumps), False), (np.flatnonzero(jumps), True)):
        if not chosen.size:
            continue
        u, at, low, high = unit[chosen], x[:, chosen], lower[:, chosen], upper[:, chosen]
        if jumpy:
            few = {} if grid.objective.model.is_jumpy else {"points": 17, "rounds": 6}
            at, v = optimize.zoom(grid.objective, u, at, grid.spacing(u, at), low, high, **few)
        else:
            at, v = optimize.climb(grid.objective, u, at, low, high, steps=30, gain=1e-7, reach=_REACH)
            good = _promising(here[chosen], at, v, n_units) if fine else np.array([], int)
            at[:, good], v[good] = optimize.polish(
                grid.objective, u[good], at[:, good], v[good], low[:, good], high[:, good], steps=25
            )
            top = np.full(n_units, -np.inf)
            np.maximum.at(top, here[chosen], v)
            rising = optimize.promise(grid.objective, u[good], at[:, good], low[:, good], high[:, good]) > _RISING
            leading = v[good] >= top[here[chosen[good]]]
            slow = good[rising & leading]
            at[:, slow], v[slow] = optimize.follow(
                grid.objective, u[slow], at[:, slow], v[slow], low[:, slow], high[:, slow]
            )
            stalled = good[rising & ~leading]
            v[stalled] = -np.inf  # still climbing a thin ridge: on the way to an optimum, but none itself
        x[:, chosen], value[chosen] = at, v
    return x, value


def _promising(here: Index, x: Array, value: Array, n_units: int) -> Index:
    """Which points are worth refining: near the best of their unit, and of those that arrived at one place the
    highest.
    """
    top = np.full(n_units, -np.inf)
    np.maximum.at(top, here, value)
    order = np.lexsort((-value, here))
    order = order[value[order] >= top[here[order]] - _CLOSE]
    places = np.column_stack([here[order], *np.clip(np.rint(x[:, order] * 200), -1e6, 1e6)])
    first = np.unique(places, axis=0, return_index=True)[1]
    return np.asarray(order[np.sort(first)])


def _along_edge(grid: Grid, edge: tuple[Grid, Tables], unit: Index, best: Array) -> tuple[Index, Array, Array]:
    """Local optima at infinite precision, in the coordinates of the full grid; those far below `best` are left out."""
    sub, tables = edge
    read = surfaces.read(sub, tables, unit)
    heights = read.heights[:, :3]
    here, peak = np.nonzero(np.isfinite(heights) & (heights > best[:, None] - _HOPELESS))
    x = sub.at(read.peaks[here, peak], sub.reference[unit[here]])
    lower, upper = sub.bounds(unit[here])
    x, value = optimize.zoom(
        sub.objective, unit[here], x, sub.spacing(unit[here], x), lower, upper, points=17, rounds=6
    )
    precise = next(k for k, p in enumerate(grid.objective.parameters) if p.is_precision)
    full = np.full((2, len(here)), np.inf)
    full[1 - precise] = x[0]
    return here, full, value


def beside_edge(grid: Grid, unit: Index, here: Index, edge_x: Array) -> tuple[Index, Array]:
    """Starting points next to optima at infinite precision, two for each.

    Where best responses jump, a large finite precision blurs the jump: there the likelihood has thin ridges that
    bend towards the jump, too thin for the grid. The best two points of a small fan around the jump are where to
    climb them from.
    """
    precise = next(k for k, p in enumerate(grid.objective.parameters) if p.is_precision)
    sharpness, offset = np.meshgrid(np.log(_FAN), np.concatenate([-_ASIDE[::-1], [0.0], _ASIDE]), indexing="ij")
    size, m = sharpness.size, len(here)
    shift = grid.axes[precise].shift(grid.reference[unit[here]])
    fan = np.empty((2, m, size))
    fan[precise] = sharpness.ravel()[None] + shift[:, None]
    fan[1 - precise] = edge_x[1 - precise][:, None] + (offset * 20.0 / np.exp(sharpness)).ravel()[None]
    lower, upper = grid.bounds(unit[here])
    fan = np.clip(fan, lower[..., None], upper[..., None])
    value = grid.objective.value(np.repeat(unit[here], size), fan.reshape(2, -1)).reshape(m, size)
    two = np.argsort(-value, axis=1, kind="stable")[:, :2]
    rows = np.arange(m)[:, None]
    return np.repeat(here, 2), fan[:, rows, two].reshape(2, -1)


def snap(grid: Grid, unit: Index, x: Array, value: Array) -> tuple[Array, Array]:
    """Move a coordinate to its limit where the limit is as good: then the data do not tell it from the limit."""
    x, value = x.copy(), value.copy()
    for k, parameter in enumerate(grid.objective.parameters):
        for limit in to_coordinate(parameter, np.array([parameter.low, parameter.high])):
            if np.isfinite(limit):
                continue
            movable = np.flatnonzero(np.isfinite(x[k]))
            if not movable.size:
                continue
            trial = x[:, movable].copy()
            trial[k] = limit
            v = grid.objective.value(unit[movable], trial)
            as_good = v >= value[movable] - _TIE
            won = movable[as_good]
            x[:, won], value[won] = trial[:, as_good], v[as_good]
    return x, value


def _sorted(grid: Grid, unit: Index, here: Index, x: Array, value: Array, tried: Index) -> Optima:
    """Best first within units; the same optimum reached twice is kept once; limits that are no maxima are dropped."""
    order = np.lexsort((-value, here))
    here, x, value = here[order], x[:, order], value[order]
    first = np.concatenate([[True], here[1:] != here[:-1]])
    keep = first | _is_maximum(grid, unit[here], x, value)
    here, x, value = here[keep], x[:, keep], value[keep]
    start = np.searchsorted(here, np.arange(len(unit) + 1))
    same = np.zeros(len(here), bool)
    longest = int(np.diff(start).max(initial=1))
    place = np.arange(len(here)) - start[here]
    for i in range(longest):
        anchor = start[:-1][here] + i
        valid = (anchor < start[1:][here]) & (place > i)
        anchor = np.minimum(anchor, len(here) - 1)
        with np.errstate(invalid="ignore"):
            gap = np.where(x == x[:, anchor], 0.0, np.abs(x - x[:, anchor]))
        same |= valid & (gap.max(axis=0) < _APART) & ~same[anchor]
    keep = ~same
    here, x, value = here[keep], x[:, keep], value[keep]
    return Optima(here, x, value, np.searchsorted(here, np.arange(len(unit) + 1)), tried)


def _is_maximum(grid: Grid, unit: Index, x: Array, value: Array) -> Array:
    """Whether a point at a limit is not beaten by stepping inside."""
    lower, upper = grid.bounds(unit)
    fine = np.ones(len(unit), bool)
    for k in range(len(x)):
        for limit, wall, inward in ((-np.inf, lower, 1.0), (np.inf, upper, -1.0)):
            at = np.flatnonzero(x[k] == limit)
            if not at.size:
                continue
            for step in (0.0, 2.0, 4.0):
                trial = x[:, at].copy()
                trial[k] = wall[k, at] + inward * step
                fine[at] &= grid.objective.value(unit[at], trial) <= value[at] + _TIE
    return fine


def at_jump(objective: Objective, unit: Index, x: Array, value: Array) -> Array:
    """Whether the likelihood drops by more than a hundredth within a relative step of 1e-5 of a best-response
    optimum.
    """
    sudden = sharp(objective, x)
    jump = np.zeros(len(unit), bool)
    for k in range(len(x)):
        for step in (-1e-5, 1e-5):
            at = np.flatnonzero(sudden & np.isfinite(x[k]))
            if at.size:
                trial = x[:, at].copy()
                trial[k] += step
                jump[at] |= objective.value(unit[at], trial) < value[at] - 0.01
    return jump
