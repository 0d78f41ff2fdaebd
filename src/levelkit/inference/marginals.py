"""One-dimensional posterior densities, many at once: integrals, quantiles, shortest intervals, modes, draws.

They come from panels (see `levelkit.inference.panels`), which give the distribution function exactly at every node.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from levelkit.inference.kernels import Array, Index
from levelkit.inference.panels import ORDER, WEIGHTS, Panels

_SUMMED, _PLACES = 513, 9

# A panel's nodes each stand for a piece of it as long as their weight.
_NODE_EDGES = np.concatenate([[0.0], np.cumsum(WEIGHTS)]) / 2


@dataclass(frozen=True, eq=False)
class Marginal:
    """Densities of m units on nodes z (m, R), normalised, with their distribution functions (m, R) from 0 to 1."""

    z: Array
    density: Array
    cdf: Array

    def quantile(self, shares: Array) -> Array:
        """Coordinates below which the shares (S,) or (m, S) of the mass lie, (m, S)."""
        shares = np.broadcast_to(shares, (len(self.z), np.shape(shares)[-1]))
        return np.stack([_invert(*row) for row in zip(self.z, self.density, self.cdf, shares, strict=True)])

    def quantile_of(self, unit: int, shares: Array) -> Array:
        """The same for one unit, (S,)."""
        return _invert(self.z[unit], self.density[unit], self.cdf[unit], shares)

    def shortest(self, mass: float, natural: Callable[[Array], Array]) -> tuple[Array, Array]:
        """Ends (m,) of the interval that holds `mass` and is shortest in natural units, as natural values.

        Where the density rises to the very end of the grid the interval starts there.
        """
        ends = []
        for z, density, cdf in zip(self.z, self.density, self.cdf, strict=True):
            start = np.flatnonzero(cdf <= 1 - mass)
            low, high = natural(z[start]), natural(_invert(z, density, cdf, cdf[start] + mass))
            best = int(np.argmin(high - low))
            ends.append((low[best], high[best]))
        low, high = np.array(ends).T.reshape(2, -1)
        return low, high

    def modes(self, share: float) -> Index:
        """Number of modes that stand out by `share` of the highest one's height, (m,)."""
        from scipy.signal import find_peaks

        padded = np.pad(self.density, [(0, 0), (1, 1)])
        return np.array([len(find_peaks(row, prominence=share * row.max())[0]) or 1 for row in padded])


def summed_marginals(panels: Panels, owner: Index, weight: Array) -> Marginal:
    """Marginals over the columns of each owner, which share their ends, on evenly spaced nodes.

    owner, weight: of each column, owners in order.
    """
    first = np.unique(owner, return_index=True)[1]
    share = np.linspace(0, 1, _SUMMED)
    columns = len(panels.low)
    density, below = panels.read(np.repeat(np.arange(columns), _SUMMED), np.tile(share, columns))
    density, below = (np.add.reduceat(a.reshape(columns, -1) * weight[:, None], first) for a in (density, below))
    low, high = panels.low[first, None], panels.high[first, None]
    return _marginal(low + (high - low) * share, density, below)


def line_marginals(panels: Panels) -> Marginal:
    """Densities that are one column each, on the ends of their panels, both sides of each, and places between them."""
    inside = np.linspace(0, 1, _PLACES) * (1 - 1e-12)
    share = (panels.start[:, None] + panels.width[:, None] * inside).ravel()
    column = np.repeat(panels.column, _PLACES)
    density, below = panels.read(column, share)
    z = panels.low[column] + (panels.high - panels.low)[column] * share
    counts = np.bincount(column, minlength=len(panels.low))
    room = np.full((3, len(counts), counts.max()), np.nan)
    place = np.arange(len(column)) - np.repeat(np.cumsum(counts) - counts, counts)
    room[:, column, place] = z, density, below
    last = (room[:, np.arange(len(counts)), counts - 1])[:, :, None]
    padded = np.where(np.isnan(room), last, room)
    return _marginal(padded[0], padded[1], padded[2])


def _marginal(z: Array, density: Array, below: Array) -> Marginal:
    mass = below[:, -1:]
    cdf = np.clip(np.maximum.accumulate(below / mass, axis=1), 0.0, 1.0)
    cdf[:, -1] = 1.0
    return Marginal(z, density / mass, cdf)


def _invert(z: Array, density: Array, cdf: Array, shares: Array) -> Array:
    """Where the distribution function reaches the shares (S,); the density is linear between nodes."""
    at = np.clip(np.searchsorted(cdf, shares, side="right") - 1, 0, len(z) - 2)
    step = z[at + 1] - z[at]
    start, end = density[at], density[at + 1]
    room = cdf[at + 1] - cdf[at]
    # mass to the right of the node, rescaled so that the linear density holds exactly the mass of the piece
    mass = np.where(room > 0, (shares - cdf[at]) / np.where(room > 0, room, 1.0), 0.0) * (start + end) / 2
    slope = end - start
    root = np.sqrt(np.maximum(start**2 + 2 * slope * mass, 0.0))
    below = start + root
    return z[at] + step * np.clip(np.where(below > 0, 2 * mass / np.where(below > 0, below, 1.0), 0.0), 0.0, 1.0)


class Pairs:
    """Draws of two coordinates by inverse transform, the second from its marginal, the first given the second.

    columns: densities along the first axis; owner, second: unit and coordinate of each, in order.
    """

    def __init__(self, columns: Panels, owner: Index, second: Array) -> None:
        self._columns, self._second = columns, second
        self._first = np.searchsorted(owner, np.arange(owner.max(initial=-1) + 2))
        self._mass = columns.total(columns.mass)
        whole = self._mass[columns.column]
        # panels and their nodes by the share of the column's mass before them
        before = np.where(whole > 0, columns.before / np.where(whole > 0, whole, 1.0), 0.0)
        self._panel_keys = columns.column + np.clip(before, 0.0, 1.0)
        self._steps = np.concatenate([np.zeros((len(before), 1)), np.cumsum(columns.weights, axis=1)], axis=1)
        self._left = columns.low[columns.column] + columns.start * (columns.high - columns.low)[columns.column]

    def draw(self, marginal: Marginal, unit: int, shares: Array) -> Array:
        """(2, S) from shares (2, S) uniform on (0, 1). Between nodes of the second axis, the column is the one on the
        left or on the right, so chosen that densities are interpolated linearly.
        """
        y = marginal.quantile_of(unit, shares[0])
        a, b = self._first[unit], self._first[unit + 1]
        nodes, mass = self._second[a:b], self._mass[a:b]
        near = np.clip(np.searchsorted(nodes, y) - 1, 0, len(nodes) - 2)
        place = np.clip((y - nodes[near]) / (nodes[near + 1] - nodes[near]), 0.0, 1.0)
        left, right = mass[near] * (1 - place), mass[near + 1] * place
        total = left + right
        odds = np.where(total > 0, left / np.where(total > 0, total, 1.0), 1.0)
        # one uniform number serves twice: for the column, and then, stretched again, for the place in it
        on_left = shares[1] < odds
        with np.errstate(divide="ignore", invalid="ignore"):
            again = np.where(on_left, shares[1] / odds, (shares[1] - odds) / (1 - odds))
        column = np.where(on_left, near, near + 1) + a
        return np.stack([self._place(column, np.clip(again, 0.0, 1 - 1e-12)), y])

    def _place(self, column: Index, share: Array) -> Array:
        """Coordinates below which these shares of columns' masses lie, (S,)."""
        columns = self._columns
        panel = np.searchsorted(self._panel_keys, column + share, side="right") - 1
        panel = np.clip(
            panel, np.searchsorted(columns.column, column), np.searchsorted(columns.column, column, side="right") - 1
        )
        rest = share * self._mass[column] - columns.before[panel]
        steps = self._steps[panel]
        at = np.clip((steps <= rest[:, None]).sum(axis=1) - 1, 0, ORDER - 1)
        here = np.arange(len(column))
        room = steps[here, at + 1] - steps[here, at]
        inside = np.where(room > 0, (rest - steps[here, at]) / np.where(room > 0, room, 1.0), 0.5)
        piece = _NODE_EDGES[at] + (_NODE_EDGES[at + 1] - _NODE_EDGES[at]) * np.clip(inside, 0.0, 1.0)
        return self._left[panel] + columns.length[panel] * piece
