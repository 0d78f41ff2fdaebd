"""Profile-likelihood intervals: the values of a parameter that the others cannot make unlikely.

The profile set of a parameter is {value: max over the others of log L >= max log L - drop}. Its ends are bracketed
on the grid's profile, then solved for; an end at a limit means that the data do not bound the parameter on that
side.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.stats import chi2

from levelkit.inference import optimize
from levelkit.inference.kernels import Array, Index
from levelkit.inference.objective import to_coordinate
from levelkit.inference.surfaces import Grid, Surfaces

_FAR = 8.0
_ROUNDS = 24
_CLOSE = 2e-5


def drop(interval: float) -> float:
    """Half the chi-squared quantile: by how much the log-likelihood falls at the ends of a one-parameter interval."""
    return float(chi2.ppf(interval, 1) / 2)


@dataclass(frozen=True, eq=False)
class Ends:
    """Ends of the profile sets in coordinates, (F, m); gaps (F, m): whether the set has holes on the grid."""

    low: Array
    high: Array
    gaps: Array


def profile_ends(
    grid: Grid, read: Surfaces, unit: Index, x: Array, value: Array, fall: float, near: tuple[Index, Array]
) -> Ends:
    """Ends of each parameter's profile set for units with best optimum x (F, m), value (m,).

    near: which unit (position in `unit`), and coordinates (F, r), of the other optima that are inside the set.
    """
    low, high = np.empty_like(x), np.empty_like(x)
    gaps = np.zeros(x.shape, bool)
    target = value - fall
    for a in range(len(x)):
        inside = read.profile[a] >= target[:, None]
        gaps[a] = (np.diff(inside.astype(int), axis=1) == 1).sum(axis=1) > 1
        nodes = grid.axes[a].nodes[None, :] + grid.axes[a].shift(grid.reference[unit])[:, None]
        gaps[a] |= _apart(nodes, inside, x[a], near, a)
        low[a] = _end(grid, read, unit, _outermost(x, near, a, -1), target, a, nodes, inside, -1)
        high[a] = _end(grid, read, unit, _outermost(x, near, a, +1), target, a, nodes, inside, +1)
    return Ends(low, high, gaps)


def _apart(nodes: Array, inside: Array, best: Array, near: tuple[Index, Array], a: int) -> Array:
    """Whether nodes outside the set lie between a unit's best optimum and another one inside the set, (m,)."""
    owner, others = near
    low, high = np.minimum(best[owner], others[a]), np.maximum(best[owner], others[a])
    between = (nodes[owner] > low[:, None]) & (nodes[owner] < high[:, None]) & ~inside[owner]
    return np.asarray(np.bincount(owner[between.any(axis=1)], minlength=len(best)) > 0)


def _outermost(x: Array, near: tuple[Index, Array], a: int, side: int) -> Array:
    """For each unit, of the optima inside the set the one farthest out in coordinate a, (F, m)."""
    far = x.copy()
    owner, others = near
    order = np.argsort(side * others[a], kind="stable")
    for j in order:
        if side * others[a, j] > side * far[a, owner[j]]:
            far[:, owner[j]] = others[:, j]
    return far


def _end(
    grid: Grid,
    read: Surfaces,
    unit: Index,
    x: Array,
    target: Array,
    a: int,
    nodes: Array,
    inside: Array,
    side: int,
) -> Array:
    """One end, for all units. Works leftwards: for the right end everything is mirrored."""
    if side > 0:
        nodes, inside = -nodes[:, ::-1], inside[:, ::-1]
    ridge = read.ridge[a][:, ::-1] if side > 0 else read.ridge[a]
    best = side * -x[a]
    n = nodes.shape[1]
    here = np.arange(len(unit))
    left = nodes < best[:, None]
    reach = inside & left
    any_inside = reach.any(axis=1)
    outermost = np.where(any_inside, reach.argmax(axis=1), np.maximum(left.sum(axis=1), 1))
    limit = (any_inside & (outermost == 0)) | (best <= nodes[:, 0])
    finite_best = np.where(np.isposinf(best), nodes[:, -2] + _FAR, best)
    inner = np.where(any_inside, nodes[here, np.minimum(outermost, n - 1)], finite_best)
    inner = np.where(np.isposinf(inner), nodes[:, -2] + _FAR, inner)
    place = np.maximum(outermost - 1, 0)
    profile = _Profile(grid, unit, x, a, side)
    start = ridge[here, np.minimum(outermost, n - 1)]
    profile.remember(_other(grid, a, start, unit))
    result = np.where(limit, -np.inf, np.nan)
    todo = np.flatnonzero(~limit)
    first = np.where(np.isneginf(nodes[:, 0]), nodes[:, 1] - _FAR, nodes[:, 0])
    outer = np.where(place == 0, first, nodes[here, place])
    # the grid underestimates the profile: step outwards while the true one is still inside
    h_outer = np.full(len(unit), -np.inf)
    for _ in range(n):
        if not todo.size:
            break
        profile.suggest(todo, _other(grid, a, ridge[todo, place[todo]], unit[todo]))
        h_outer[todo] = profile(todo, outer[todo]) - target[todo]
        still = todo[h_outer[todo] >= 0]
        inner[still] = outer[still]
        ended = still[place[still] == 0]
        result[ended] = -np.inf
        todo = still[place[still] > 0]
        place[todo] -= 1
        outer[todo] = np.where(place[todo] == 0, first[todo], nodes[todo, place[todo]])
    todo = np.flatnonzero(np.isnan(result))
    h_inner = np.full(len(unit), 0.0)
    h_inner[todo] = np.maximum(profile(todo, inner[todo]) - target[todo], 1e-12)
    _solve(profile, target, todo, outer, inner, h_outer, h_inner)
    result[todo] = inner[todo]
    return side * -result


def _solve(
    profile: _Profile, target: Array, todo: Index, outer: Array, inner: Array, h_outer: Array, h_inner: Array
) -> None:
    """Shrink [outer, inner] (h < 0 <= h) in place by the Illinois rule, with bisection where it is slow."""
    held_side = np.zeros(len(inner), int)
    for i in range(_ROUNDS):
        if not todo.size:
            return
        lo, hi, f_lo, f_hi = outer[todo], inner[todo], h_outer[todo], h_inner[todo]
        with np.errstate(divide="ignore", invalid="ignore"):
            t = f_hi / (f_hi - f_lo)
        t = np.where(np.isfinite(t) & (i % 4 != 3), np.clip(t, 0.02, 0.98), 0.5)
        middle = hi + t * (lo - hi)
        f = profile(todo, middle) - target[todo]
        good = f >= 0
        outer[todo] = np.where(good, lo, middle)
        inner[todo] = np.where(good, middle, hi)
        again = held_side[todo] == np.where(good, 1, -1)
        h_inner[todo] = np.where(good, f, np.where(again, f_hi / 2, f_hi))
        h_outer[todo] = np.where(good, np.where(again, f_lo / 2, f_lo), f)
        held_side[todo] = np.where(good, 1, -1)
        close = (np.abs(f) < 1e-4) | (inner[todo] - outer[todo] < _CLOSE)
        inner[todo] = np.where(close & (np.abs(f) < 1e-4), middle, inner[todo])
        todo = todo[~close]


def _other(grid: Grid, a: int, node: Index, unit: Index) -> Array | None:
    """Coordinate of the other axis at a node, (m,); None when there is no other."""
    if len(grid.axes) == 1:
        return None
    other = grid.axes[1 - a]
    return np.asarray(other.nodes[node] + other.shift(grid.reference[unit]))


class _Profile:
    """max over the other coordinate, started from where the maximum was last found, from a suggestion, and from both
    limits.
    """

    def __init__(self, grid: Grid, unit: Index, x: Array, a: int, side: int) -> None:
        self._grid, self._unit, self._a, self._side = grid, unit, a, side
        self._best = x[1 - a] if len(x) > 1 else None
        self._last: Array | None = None
        self._hint: Array | None = None

    def remember(self, start: Array | None) -> None:
        self._last = start
        self._hint = None if start is None else start.copy()

    def suggest(self, which: Index, start: Array | None) -> None:
        if start is not None and self._hint is not None:
            self._hint[which] = start

    def __call__(self, which: Index, mirrored: Array) -> Array:
        if not len(which):
            return np.zeros(0)
        value_at = self._grid.objective.value
        unit, at = self._unit[which], self._side * -mirrored
        if self._best is None or self._last is None or self._hint is None:
            return value_at(unit, at[None])
        m = len(which)
        lower, upper = self._grid.bounds(unit)
        b = 1 - self._a
        starts = np.stack([self._last[which], self._hint[which], self._best[which]])
        finite = np.clip(np.where(np.isfinite(starts), starts, lower[b]), lower[b], upper[b])
        other = self._grid.axes[b].parameter
        limits = to_coordinate(other, np.array([other.low, other.high]))
        tried = np.concatenate([finite, np.repeat(limits[:, None], m, axis=1)])
        x = np.empty((2, 5 * m))
        x[self._a] = np.tile(at, 5)
        x[b] = tried.ravel()
        held = np.zeros(x.shape, bool)
        held[self._a] = True
        repeated = np.tile(unit, 5)
        value = np.empty(5 * m)
        climbing = slice(0, 3 * m)
        x[:, climbing], value[climbing] = optimize.climb(
            self._grid.objective,
            repeated[climbing],
            x[:, climbing],
            np.tile(lower, 3),
            np.tile(upper, 3),
            held[:, climbing],
            steps=20,
            gain=1e-6,
        )
        rest = slice(3 * m, 5 * m)
        value[rest] = value_at(repeated[rest], x[:, rest])
        best = value.reshape(5, m).argmax(axis=0)
        here = np.arange(m)
        found = x[b].reshape(5, m)[best, here]
        self._last[which] = np.where(np.isfinite(found), found, self._last[which])
        return np.asarray(value.reshape(5, m)[best, here])
