"""Likelihood surfaces: predicted probabilities do not depend on counts, so one table per game serves every cell.

    surface(unit, node) = counts(unit) @ log-probabilities(game, node)

A table of log-probabilities belongs to (model, game); all units' surfaces are one matrix product with it. The surface's
local maxima are where refinement starts, and its ridges are where profile likelihoods come from.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

from levelkit.inference.kernels import Array, Index
from levelkit.inference.likelihood import Likelihood
from levelkit.inference.objective import Objective, from_coordinate, to_coordinate
from levelkit.models.base import LEVELS, Parameter

PEAKS = 12
# So far (in logs) before the last finite node the range of interior optima ends.
_SHORT = 1.0
_SIZES = (16, 128, 1024)

# Distance between nodes: of precisions and shares in log or logit units, of levels in their square root, since the
# surface is as rough at tau = 8 as at tau = 1. Where only one parameter is free, that many times finer; for smooth
# models that many times coarser.
SPACING = 0.12
SPACING_LEVELS = 0.048
FINER_ALONE, SMOOTH = 8, 3


@dataclass(frozen=True, eq=False)
class Axis:
    """Nodes of one parameter in coordinates (n,), for a game whose payoff range is one; the ends are the ends of
    its range.

    lower, upper: how far a search may go short of an infinite limit.
    """

    parameter: Parameter
    nodes: Array
    lower: float
    upper: float

    def shift(self, reference: Array) -> Array:
        """What to add to the nodes for units of payoff range `reference` (U,)."""
        return -np.log(reference) if self.parameter.is_precision else np.zeros(len(reference))


def axis(parameter: Parameter, points: int) -> Axis:
    """Nodes spread over the parameter's span, a few sparse ones beyond it, and the limits or bounds of its
    range.
    """
    first, last = to_coordinate(parameter, np.array(parameter.span))
    low, high = to_coordinate(parameter, np.array([parameter.low, parameter.high]))
    below = first - np.array([3.5, 2.0, 0.8]) if np.isneginf(low) else np.array([])
    above = last + np.array([0.8, 2.0, 3.5, 5.5]) if np.isposinf(high) else np.array([])
    inside = np.linspace(first, last, points)
    if parameter.unit == LEVELS:
        inside = 2 * np.log(np.linspace(np.exp(first / 2), np.exp(last / 2), points))
        inside[[0, -1]] = first, last
    nodes = np.unique(np.concatenate([[low], below, inside, above, [high]]))
    lower = float(below[0] - 2.0) if np.isneginf(low) else float(low)
    return Axis(parameter, nodes, lower, above[-1] + 2.0 if np.isposinf(high) else float(high))


@dataclass(frozen=True, eq=False)
class Grid:
    """A product grid over the free parameters of an objective (one or two), and the units' reference payoff ranges."""

    objective: Objective
    axes: tuple[Axis, ...]
    reference: Array

    @property
    def shape(self) -> tuple[int, int]:
        """Nodes along the first and the second free parameter (1 if there is no second)."""
        return len(self.axes[0].nodes), len(self.axes[1].nodes) if len(self.axes) > 1 else 1

    def at(self, node: Index, reference: Array) -> Array:
        """Coordinates (F, m) of flat node numbers (m,) for given reference ranges (m,)."""
        places = np.unravel_index(node, self.shape)
        return np.stack([a.nodes[p] + a.shift(reference) for a, p in zip(self.axes, places, strict=False)])

    def bounds(self, unit: Index) -> tuple[Array, Array]:
        """Lower and upper ends of the finite search region, (F, m)."""
        shifts = np.stack([a.shift(self.reference[unit]) for a in self.axes])
        lower = np.array([a.lower for a in self.axes])[:, None] + shifts
        upper = np.array([a.upper for a in self.axes])[:, None] + shifts
        return lower, upper

    def beyond(self, unit: Index, x: Array) -> Array:
        """Whether finite coordinates lie so near an infinite limit that they are as good as at it, (F, m)."""
        past = np.zeros(x.shape, bool)
        for k, a in enumerate(self.axes):
            if np.isposinf(a.parameter.high):
                past[k] = x[k] > a.nodes[-2] - _SHORT + a.shift(self.reference[unit])
        return past

    def spacing(self, unit: Index, x: Array) -> Array:
        """Distance from x (F, m) to the farther of its two neighbouring nodes, (F, m)."""
        result = np.empty_like(x)
        for k, a in enumerate(self.axes):
            nodes = a.nodes[np.isfinite(a.nodes)]
            at = np.clip(np.searchsorted(nodes, x[k] - a.shift(self.reference[unit]) - 1e-12), 1, len(nodes) - 2)
            result[k] = np.maximum(nodes[at + 1] - nodes[at], nodes[at] - nodes[at - 1])
        return result


def grid(objective: Objective, points: tuple[int, ...] | None = None) -> Grid:
    """The default grid of an objective with one or two free parameters."""
    sizes = points or [_points(p, len(objective.free), objective.model.is_smooth) for p in objective.parameters]
    axes = tuple(axis(p, n) for p, n in zip(objective.parameters, sizes, strict=True))
    return Grid(objective, axes, largest_ranges(objective.likelihood))


def _points(parameter: Parameter, free: int, smooth: bool) -> int:
    first, last = to_coordinate(parameter, np.array(parameter.span))
    length, spacing = last - first, SPACING
    if parameter.unit == LEVELS:
        length, spacing = np.exp(last / 2) - np.exp(first / 2), SPACING_LEVELS
    finer = (1 if free > 1 else FINER_ALONE) / (SMOOTH if smooth else 1)
    return int(np.ceil(length / spacing * finer)) + 1


def largest_ranges(likelihood: Likelihood) -> Array:
    """Largest payoff range among each unit's games, (U,); one if payoffs are already in units of their range."""
    units = likelihood.units
    ranges = likelihood.ranges[units.game]
    return np.maximum.reduceat(ranges, units.start[:-1])


@dataclass(frozen=True, eq=False)
class Surfaces:
    """What is read off the surfaces of some units: local maxima and, along each axis, the profile over the other.

    peaks (U, PEAKS): flat node numbers, best first; heights (U, PEAKS), minus infinity where there are fewer.
    profile[a] (U, n_a) and ridge[a] (U, n_a): largest value at each node of axis a, and the other axis' node there.
    """

    peaks: Index
    heights: Array
    profile: tuple[Array, ...]
    ridge: tuple[Index, ...]


class Tables:
    """Tables of log-probabilities by (game, reference range), made once and kept while they are in use."""

    def __init__(self, grid: Grid) -> None:
        self._grid = grid
        self._kept: dict[tuple[int, float], Array] = {}

    def get(self, keys: list[tuple[int, float]]) -> Array:
        """(len(keys), W, nodes)."""
        self._kept = {k: self._kept[k] for k in keys if k in self._kept}
        missing = [k for k in keys if k not in self._kept]
        if missing:
            nodes = np.arange(int(np.prod(self._grid.shape)))
            objective = self._grid.objective
            # on payoffs divided by the reference range all games share the nodes
            params = objective.params(self._grid.at(nodes, np.ones(len(nodes))))
            game, reference = (np.array(column) for column in zip(*missing, strict=True))
            # a precision fixed at a finite value is per raw payoff unit, so it differs between reference ranges
            fixed = [
                i
                for i, p in enumerate(objective.model.parameters)
                if p.is_precision and i not in objective.free and np.isfinite(objective.fixed[i])
            ]
            for value in np.unique(reference) if fixed else [None]:
                which = np.arange(len(missing)) if value is None else np.flatnonzero(reference == value)
                scaled = params.copy()
                scaled[fixed] *= 1.0 if value is None else value
                made = objective.likelihood.tables(game[which], reference[which], scaled)
                self._kept.update({missing[w]: t for w, t in zip(which, made, strict=True)})
        return np.stack([self._kept[k] for k in keys])


def read(grid: Grid, tables: Tables, unit: Index) -> Surfaces:
    """Surfaces of some units (consecutive ones share tables best) and what is read off them."""
    parts = []
    for piece in _pieces(grid, unit):
        counts, table = _product(grid, tables, piece)
        size = next(s for s in _SIZES if len(piece) <= s)
        padded = np.pad(counts, [(0, size - len(piece)), (0, 0)], mode="edge")
        own = table.ndim == 3
        if own:
            table = np.pad(table, [(0, size - len(piece)), (0, 0), (0, 0)], mode="edge")
        peaks, *profiles = (np.asarray(o)[: len(piece)] for o in _read(padded, table, grid.shape))
        parts.append([*_highest(peaks), *profiles])
    heights, peaks, first, first_at, second, second_at = (np.concatenate(p) for p in zip(*parts, strict=True))
    if len(grid.axes) == 1:
        return Surfaces(peaks, heights, (first,), (np.zeros_like(first_at),))
    return Surfaces(peaks, heights, (first, second), (first_at, second_at))


def surface(grid: Grid, unit: int) -> Array:
    """The whole surface of one unit, shaped like the grid."""
    counts, table = _product(grid, Tables(grid), np.array([unit]))
    return np.asarray(counts @ (table[0] if table.ndim == 3 else table)).reshape(grid.shape)


def _pieces(grid: Grid, unit: Index) -> list[Index]:
    """Cut units into pieces whose products stay small: many units on few tables, or few units with a table each."""
    units = grid.objective.likelihood.units
    game = units.game[units.start[unit]]
    changes = np.cumsum(np.concatenate([[0], game[1:] != game[:-1]]))
    if changes[-1] + 1 <= 16:
        return [unit[i : i + _SIZES[-1]] for i in range(0, len(unit), _SIZES[-1])]
    return [unit[i : i + _SIZES[-2]] for i in range(0, len(unit), _SIZES[-2])]


def _product(grid: Grid, tables: Tables, unit: Index) -> tuple[Array, Array]:
    """Counts and tables whose products are the units' surfaces.

    Either (m, width) and one table (width, nodes), width a power of two; or, for units that each play one game of
    their own, (m, W) and a table for each, (m, W, nodes).
    """
    units = grid.objective.likelihood.units
    sizes = np.diff(units.start)[unit]
    rows = np.concatenate([np.arange(units.start[u], units.start[u + 1]) for u in unit])
    owner = np.repeat(np.arange(len(unit)), sizes)
    pairs = list(zip(units.game[rows].tolist(), grid.reference[unit][owner].tolist(), strict=True))
    keys = list(dict.fromkeys(pairs))
    made = tables.get(keys)
    if len(keys) == len(rows) == len(unit) > 1:
        return units.counts[rows], made
    place = {k: i for i, k in enumerate(keys)}
    n_keys, width, nodes = made.shape
    counts = np.zeros((len(unit), n_keys, width))
    counts[owner, [place[p] for p in pairs]] = units.counts[rows]
    short = 2 ** int(np.ceil(np.log2(n_keys * width))) - n_keys * width
    counts = np.pad(counts.reshape(len(unit), -1), [(0, 0), (0, short)])
    return counts, np.pad(made.reshape(-1, nodes), [(0, short), (0, 0)])


def _highest(peaks: Array) -> tuple[Array, Index]:
    """Heights and nodes of each surface's PEAKS highest peaks, (U, PEAKS), from values (U, nodes), -inf elsewhere."""
    unit, node = np.nonzero(peaks > -np.inf)
    height = peaks[unit, node]
    order = np.lexsort((node, -height, unit))
    unit, node, height = unit[order], node[order], height[order]
    place = np.arange(len(unit)) - np.searchsorted(unit, unit)
    kept = place < PEAKS
    heights, nodes = np.full((len(peaks), PEAKS), -np.inf), np.zeros((len(peaks), PEAKS), int)
    heights[unit[kept], place[kept]], nodes[unit[kept], place[kept]] = height[kept], node[kept]
    return heights, nodes


@partial(jax.jit, static_argnames="shape")
def _read(counts: jax.Array, table: jax.Array, shape: tuple[int, int]) -> tuple[jax.Array, ...]:
    product = counts @ table if table.ndim == 2 else jnp.einsum("uw,uwn->un", counts, table)
    surfaces = product.reshape(-1, *shape)
    edge = jnp.pad(surfaces, ((0, 0), (1, 1), (1, 1)), constant_values=-jnp.inf)
    n, m = shape
    peak = jnp.ones(surfaces.shape, bool)
    for di in (-1, 0, 1):
        for dj in (-1, 0, 1):
            if (di, dj) == (0, 0):
                continue
            near = edge[:, 1 + di : 1 + di + n, 1 + dj : 1 + dj + m]
            # of equal neighbours only the first counts, so that a plateau has few peaks
            peak &= (surfaces > near) if (di, dj) < (0, 0) else (surfaces >= near)
    return (
        jnp.where(peak, surfaces, -jnp.inf).reshape(len(counts), -1),
        surfaces.max(axis=2),
        surfaces.argmax(axis=2),
        surfaces.max(axis=1),
        surfaces.argmax(axis=1),
    )


def nodes_natural(grid: Grid, a: int, unit: int) -> Array:
    """Natural values of the nodes of axis a for one unit, (n_a,)."""
    ax = grid.axes[a]
    return from_coordinate(ax.parameter, ax.nodes + ax.shift(grid.reference[[unit]])[0])
