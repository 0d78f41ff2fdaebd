"""New counts from old: how a bootstrap draws its replicates, and how a jackknife leaves one out.

Everything is counts in, counts out, on the rows (unit and game) of grouped choices. Knows no model.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pandas as pd

from levelkit.choices import Choices
from levelkit.errors import DataError, UsageError
from levelkit.inference.kernels import Array, Index
from levelkit.inference.likelihood import Units, by_shape

Generator = np.random.Generator

FEW_CLUSTERS = 10
"""With fewer clusters than this, resampling them understates how much they vary."""


def multinomial(units: Units, probabilities: Array, replicates: int, rng: Generator) -> Array:
    """Counts (B, R, W): each row's players choose as often as they did, independently, with probabilities (R, W)."""
    out = np.zeros((replicates, *units.counts.shape))
    for shape, rows in by_shape(units):
        for first, stop in pairwise(np.cumsum([0, *shape])):
            n = units.counts[rows, first:stop].sum(axis=1)
            p = probabilities[rows, first:stop]
            total = p.sum(axis=1, keepdims=True)
            p = np.where(total > 0, p / np.where(total > 0, total, 1.0), 1.0 / (stop - first))
            whole = np.rint(n).astype(np.int64)
            out[:, rows, first:stop] = rng.multinomial(whole, p, size=(replicates, len(rows)))
    return out


def need_whole_counts(units: Units, kind: str) -> None:
    """Raises DataError where counts are weights, which cannot be drawn as whole choices."""
    if (np.abs(units.counts - np.rint(units.counts)) > 1e-9).any():
        raise DataError(f"some counts are fractional, and {kind} needs whole choices", fix="resample clusters instead")


def leave_one_choice_out(units: Units) -> tuple[Units, Index, Array]:
    """Each unit without one of its choices, once for every action that was taken.

    The shortened units, for each of them the unit it comes from (m,), and how many choices would give it (m,).
    """
    row, action = np.nonzero(units.counts >= 1)
    owner = units.owner[row]
    start = np.concatenate([[0], np.cumsum(np.diff(units.start)[owner])])
    place = start[:-1] + row - units.start[owner]
    whole = np.concatenate([np.arange(units.start[u], units.start[u + 1]) for u in owner] or [np.array([], int)])
    counts = units.counts[whole].copy()
    counts[place, action] -= 1
    short = Units(pd.DataFrame(index=range(len(owner))), start, units.game[whole], counts, units.games, owner)
    return short, owner, units.counts[row, action]


@dataclass(frozen=True, eq=False)
class Clusters:
    """Which cluster every cell belongs to, and what each adds to the rows of the units.

    names: the clusters. blocks: sets of clusters that are drawn together, because some unit has choices of all of
    them; a block holds the numbers of its clusters (k,), of its rows (r,), and the counts (k, r, W).
    """

    names: pd.Index
    blocks: tuple[tuple[Index, Index, Array], ...]

    @staticmethod
    def of(choices: Choices, units: Units, column: str, together: Index | None = None) -> Clusters:
        """Clusters by a grouping column; together (C,): what is estimated as one (default: the cells' units).

        Raises UsageError for an unknown column, DataError where there is nothing to resample.
        """
        if column not in choices.groups:
            known = ", ".join(choices.groups) or "none"
            raise UsageError(f"cluster names {column!r}, which is no grouping column of the choices; there are {known}")
        code, names = pd.factorize(choices.cells[column])
        if (code < 0).any():
            raise DataError(f"{int((code < 0).sum())} cells have no {column!r}", fix="drop them, or name their cluster")
        games = pd.Index([g.name for g in units.games]).get_indexer(pd.Index(choices.cells["game"].astype(object)))
        row = np.searchsorted(units.owner * len(units.games) + units.game, units.cells * len(units.games) + games)
        block = _connected(code, units.cells if together is None else together, len(names))
        parts = []
        for b in np.unique(block):
            cells = np.flatnonzero(block[code] == b)
            members, own = np.unique(code[cells], return_inverse=True)
            if len(members) < 2:
                raise DataError(
                    f"an estimate rests on the single {column} {names[members[0]]!r}, so there is nothing to resample",
                    fix="fit by fewer columns, or choose kind multinomial",
                )
            rows, place = np.unique(row[cells], return_inverse=True)
            counts = np.zeros((len(members), len(rows), units.counts.shape[1]))
            np.add.at(counts, (own, place), choices.counts[cells])
            parts.append((members, rows, counts))
        return Clusters(pd.Index(names), tuple(parts))

    @property
    def fewest(self) -> int:
        """Number of clusters in the smallest block."""
        return min(len(members) for members, _, _ in self.blocks)

    def draw(self, units: Units, replicates: int, rng: Generator) -> Array:
        """Counts (B, R, W): in every block as many clusters as there are, drawn with replacement."""
        out = np.zeros((replicates, *units.counts.shape))
        for members, rows, counts in self.blocks:
            k = len(members)
            times = rng.multinomial(k, np.full(k, 1.0 / k), size=replicates).astype(float)
            out[:, rows] = (times @ counts.reshape(k, -1)).reshape(replicates, len(rows), -1)
        return out

    def leave_one_out(self, units: Units) -> Iterator[tuple[Index, Array]]:
        """For each cluster its number and the rows' counts without it (R, W)."""
        for members, rows, counts in self.blocks:
            for number, own in zip(members, counts, strict=True):
                without = units.counts.copy()
                without[rows] -= own
                yield number, without


def _connected(cluster: Index, unit: Index, n_clusters: int) -> Index:
    """Blocks of clusters linked through units, (n_clusters,)."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    size = n_clusters + int(unit.max()) + 1
    links = coo_array((np.ones(len(cluster)), (cluster, n_clusters + unit)), shape=(size, size))
    return np.asarray(connected_components(links, directed=False)[1][:n_clusters])


def replicated(units: Units, counts: Array) -> Units:
    """Replicates (B, R, W) of all units as units of their own, replicate by replicate."""
    b, rows = counts.shape[0], len(units.game)
    start = np.concatenate([[0], (np.arange(b)[:, None] * rows + units.start[1:]).ravel()])
    return Units(
        pd.DataFrame(index=range(b * len(units))),
        start,
        np.tile(units.game, b),
        counts.reshape(b * rows, -1),
        units.games,
        np.array([], int),
    )
