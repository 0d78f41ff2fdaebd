"""Adaptive integration of many densities at once: panels with a Legendre polynomial on each, halved until they fit.

A *column* is one density on an interval. A panel is halved while its last two Legendre coefficients say that its
polynomial does not yet describe the density; so a steep step or a jump costs a few dozen small panels around it, and
a smooth column none. All columns are refined together.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.polynomial import legendre

from levelkit.inference.kernels import Array, Index

ORDER = 9
_HALVINGS = 44

_NODES, WEIGHTS = legendre.leggauss(ORDER)
# values at the nodes -> Legendre coefficients: c_k = (2k + 1) / 2 * sum_i w_i P_k(x_i) f_i
_TO_COEFFICIENTS = (legendre.legvander(_NODES, ORDER - 1).T * WEIGHTS * (np.arange(ORDER)[:, None] + 0.5)).T

Density = Callable[[Index, Array], Array]


@dataclass(frozen=True, eq=False)
class Panels:
    """Columns (K,) as panels (n,), sorted by column and place.

    low, high (K,): ends of the columns. column (n,); start, width (n,): the panel as shares of its column; values
    (n, ORDER): the density at its nodes; error (n,): how much its integral may be off.
    """

    low: Array
    high: Array
    column: Index
    start: Array
    width: Array
    values: Array
    error: Array

    @cached_property
    def length(self) -> Array:
        """Length of each panel in the coordinate, (n,)."""
        return self.width * (self.high - self.low)[self.column]

    @cached_property
    def nodes(self) -> Array:
        """Coordinates of the panels' nodes, (n, ORDER)."""
        return _places(self.low, self.high, self.column, self.start, self.width)

    @cached_property
    def mass(self) -> Array:
        """Integral of each panel, (n,)."""
        return self.values @ WEIGHTS * self.length / 2

    @cached_property
    def weights(self) -> Array:
        """What each node contributes to an integral, (n, ORDER)."""
        return self.values * WEIGHTS * self.length[:, None] / 2

    def total(self, per_panel: Array) -> Array:
        """Sum over each column's panels, (K,)."""
        return np.bincount(self.column, per_panel, minlength=len(self.low))

    @cached_property
    def before(self) -> Array:
        """Mass of the column's earlier panels, (n,)."""
        running = np.cumsum(self.mass)
        first = np.searchsorted(self.column, self.column)
        return running - self.mass - (running - self.mass)[first]

    def some(self, columns: Index) -> Panels:
        """Some of the columns, in the order given."""
        renamed = np.full(len(self.low), -1)
        renamed[columns] = np.arange(len(columns))
        kept = np.flatnonzero(renamed[self.column] >= 0)
        kept = kept[np.argsort(renamed[self.column[kept]], kind="stable")]
        return Panels(
            self.low[columns],
            self.high[columns],
            renamed[self.column[kept]],
            self.start[kept],
            self.width[kept],
            self.values[kept],
            self.error[kept],
        )

    def read(self, column: Index, share: Array) -> tuple[Array, Array]:
        """Density and mass below, at places (m,), as shares of the column, in columns (m,)."""
        key = self.column + self.start
        panel = np.searchsorted(key, column + np.minimum(share, 1 - 1e-15), side="right") - 1
        # a place so near the column's end that the sum rounds up belongs to the column all the same
        panel = np.minimum(panel, np.searchsorted(self.column, column, side="right") - 1)
        x = np.clip(2 * (share - self.start[panel]) / self.width[panel] - 1, -1.0, 1.0)
        coefficients = self.values[panel] @ _TO_COEFFICIENTS
        before, here = np.ones_like(x), x
        density = coefficients[:, 0] + coefficients[:, 1] * x
        below = coefficients[:, 0] * (x + 1) + coefficients[:, 1] * (x**2 - 1) / 2
        for k in range(1, ORDER):
            after = ((2 * k + 1) * x * here - k * before) / (k + 1)
            if k > 1:
                density += coefficients[:, k] * here
                below += coefficients[:, k] * (after - before) / (2 * k + 1)
            before, here = here, after
        return np.maximum(density, 0.0), self.before[panel] + below * self.length[panel] / 2


def _places(low: Array, high: Array, column: Index, start: Array, width: Array) -> Array:
    share = start[:, None] + width[:, None] * (_NODES + 1) / 2
    return low[column, None] + (high - low)[column, None] * share


def integrate(density: Density, low: Array, high: Array, allowed: Array, pieces: int) -> Panels:
    """Panels of columns (K,) between low and high.

    density(column, z) -> values (m,) at points of columns (m,). A panel is good when its integral may be off by no more
    than its column's `allowed` (K,). pieces: panels of a column to begin with; features much narrower may be missed.
    """
    columns = len(low)
    column = np.repeat(np.arange(columns), pieces)
    start = np.tile(np.arange(pieces) / pieces, columns)
    width = np.full(len(column), 1 / pieces)
    done: list[tuple[Array, ...]] = []
    for halving in range(_HALVINGS + 1):
        places = _places(low, high, column, start, width)
        values = density(np.repeat(column, ORDER), places.ravel()).reshape(places.shape)
        coefficients = values @ _TO_COEFFICIENTS
        error = width * (high - low)[column] * (np.abs(coefficients[:, -1]) + np.abs(coefficients[:, -2])) / 2
        good = (error <= allowed[column]) | (halving == _HALVINGS)
        done.append((column[good], start[good], width[good], values[good], error[good]))
        if good.all():
            break
        column = np.repeat(column[~good], 2)
        width = np.repeat(width[~good] / 2, 2)
        start = np.repeat(start[~good], 2)
        start[1::2] += width[1::2]
    column, start, width, values, error = (np.concatenate(part) for part in zip(*done, strict=True))
    order = np.lexsort((start, column))
    return Panels(low, high, column[order], start[order], width[order], values[order], error[order])


def joined(parts: list[Panels]) -> Panels:
    """Columns of several runs, one run after the other."""
    offsets = np.cumsum([0, *(len(p.low) for p in parts[:-1])])
    columns = np.concatenate([p.column + o for p, o in zip(parts, offsets, strict=True)])
    names = ("low", "high", "start", "width", "values", "error")
    return Panels(column=columns, **{name: np.concatenate([getattr(p, name) for p in parts]) for name in names})
