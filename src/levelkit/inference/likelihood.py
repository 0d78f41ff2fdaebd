"""What is fitted: units (one estimate each) made of rows (one game's counts each), and their log-likelihood.

A unit pools all cells that agree on the `by` columns; its log-likelihood is the sum over its rows. Units with the same
games and the same counts have the same estimate, so only distinct ones are computed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from levelkit.choices import Choices
from levelkit.errors import UsageError
from levelkit.games import Game
from levelkit.inference import kernels
from levelkit.inference.kernels import Array, Index, Stack
from levelkit.models.base import Model


@dataclass(frozen=True, eq=False)
class Units:
    """Counts grouped for fitting.

    keys: one row per unit, the `by` columns. start (U + 1,): rows of unit u are start[u]:start[u + 1].
    game (R,): index into `games`. counts (R, W): as in Choices. cells (C,): the unit of each cell of the choices.
    """

    keys: pd.DataFrame
    start: Index
    game: Index
    counts: Array
    games: tuple[Game, ...]
    cells: Index

    def __len__(self) -> int:
        return len(self.keys)

    @cached_property
    def owner(self) -> Index:
        """The unit of each row, (R,)."""
        return np.repeat(np.arange(len(self)), np.diff(self.start))

    def total(self, per_row: Array) -> Array:
        """Sum a quantity (R,) over each unit's rows, (U,)."""
        return np.bincount(self.owner, per_row, minlength=len(self))


def group(choices: Choices, by: Sequence[str]) -> Units:
    """Pool the cells that agree on `by`; in order of first appearance. Raises UsageError for an unknown column."""
    known = [*choices.groups, "game"]
    for column in by:
        if column not in known:
            raise UsageError(f"by names {column!r}, which is no column of the choices; there are {', '.join(known)}")
    cells, names = choices.cells, list(choices.games)
    game = pd.Index(names).get_indexer(pd.Index(cells["game"].astype(object))).astype(np.int64)
    if by:
        codes = cells.groupby(list(by), sort=False, observed=True, dropna=False).ngroup().to_numpy()
    else:
        codes = np.zeros(len(cells), int)
    first = np.unique(codes, return_index=True)[1]
    keys = cells[list(by)].iloc[first].reset_index(drop=True)
    # one row per (unit, game): cells of one unit that play the same game add up
    label = codes * len(names) + game
    distinct, inverse = np.unique(label, return_inverse=True)
    counts = choices.counts
    if len(distinct) < len(label):
        summed = np.zeros((len(distinct), counts.shape[1]))
        np.add.at(summed, inverse, counts)
    else:
        summed = np.empty_like(counts, dtype=float)
        summed[inverse] = counts
    owner, which = np.divmod(distinct, len(names))
    start = np.searchsorted(owner, np.arange(len(first) + 1))
    return Units(keys, start, which, summed, tuple(choices.games.values()), codes.astype(np.int64))


def distinct(units: Units) -> tuple[Units, Index]:
    """The units that differ in games or counts, and for each unit the one that stands for it, (U,)."""
    rows = _fingerprints(np.column_stack([units.game.astype(float), units.counts + 0.0]).view(np.uint64))
    first, code = _same(rows, units.start)
    # order by games, so that neighbours share tables
    order = np.lexsort((first, units.game[units.start[first]]))
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    return take(units, first[order]), rank[code]


def designs(units: Units) -> tuple[Index, Index]:
    """Units that differ in their games or in who was observed, and for each unit the one that stands for it, (U,)."""
    seen = np.zeros(len(units.game))
    for shape, rows in by_shape(units):
        starts = np.cumsum([0, *shape[:-1]])
        observed = np.add.reduceat(units.counts[rows, : sum(shape)], starts, axis=1) > 0
        seen[rows] = observed @ 2.0 ** np.arange(len(shape))
    return _same(_fingerprints(np.column_stack([units.game.astype(float), seen]).view(np.uint64)), units.start)


def _same(rows: Array, start: Index) -> tuple[Index, Index]:
    """First unit of each kind, and the kind of each unit, from fingerprints (R,) of the units' rows."""
    unit = np.add.reduceat(rows, start[:-1])  # rows of a unit are in order of games, each once: a sum tells them
    return np.unique(unit, return_index=True, return_inverse=True)[1:]


def _fingerprints(words: Array) -> Array:
    """64-bit fingerprints (R,) of rows of 64-bit words (R, W).

    Two different rows agree with probability 2**-64: among a million, once in 40 million data sets.
    """
    odd = np.random.default_rng(64).integers(0, 2**63, words.shape[1], dtype=np.uint64) * np.uint64(2) + np.uint64(1)
    return _mixed((_mixed(words) * odd).sum(axis=1, dtype=np.uint64))


def _mixed(bits: Array) -> Array:
    """Every bit of a 64-bit word spread over all of it (the finaliser of splitmix64)."""
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(bits ^ (bits >> np.uint64(31)))


def take(units: Units, which: Index) -> Units:
    """Some of the units, without the link back to cells."""
    sizes = np.diff(units.start)[which]
    start = np.concatenate([[0], np.cumsum(sizes)])
    rows = _ranges(units.start[which], sizes)
    return Units(
        units.keys.iloc[which].reset_index(drop=True),
        start,
        units.game[rows],
        units.counts[rows],
        units.games,
        np.array([], int),
    )


def _ranges(starts: Index, sizes: Index) -> Index:
    """Concatenation of starts[i] .. starts[i] + sizes[i] - 1."""
    offsets = np.cumsum(sizes) - sizes
    return np.repeat(starts - offsets, sizes) + np.arange(sizes.sum())


@dataclass(frozen=True, eq=False)
class Likelihood:
    """Log-likelihood of units under a model, evaluated for many (unit, parameter) pairs at once.

    Parameters are natural values, (P, m), possibly at a limit. Derivatives are along seeds (P, m): the derivative
    of each natural parameter with respect to the coordinate wanted; zero holds a parameter fixed.
    """

    model: Model
    units: Units
    scale: str

    @cached_property
    def ranges(self) -> Array:
        """Payoff range of each game in the units of the precisions (1 under scale "range"), (G,)."""
        if self.scale == "range":
            return np.ones(len(self.units.games))
        return np.array([kernels.payoff_unit(g) for g in self.units.games])

    @cached_property
    def stacks(self) -> tuple[list[Stack], Index, Index]:
        """One stack per shape; for each game its stack and its place there."""
        shapes: dict[tuple[int, ...], list[int]] = {}
        for g, game in enumerate(self.units.games):
            shapes.setdefault(game.shape, []).append(g)
        bucket, place = np.zeros(len(self.units.games), int), np.zeros(len(self.units.games), int)
        stacks = []
        for b, members in enumerate(shapes.values()):
            stacks.append(Stack.of([self.units.games[g] for g in members], self.model, self.scale))
            bucket[members], place[members] = b, np.arange(len(members))
        return stacks, bucket, place

    def value(self, unit: Index, params: Array) -> Array:
        """(m,)."""
        return self._sum(kernels.values, unit, params)[0]

    def scores(self, unit: Index, params: Array, seeds: Array) -> tuple[Array, ...]:
        """Value (m,), gradient (P, m), expected information (P, P, m)."""
        return self._sum(kernels.scores, unit, params, seeds)

    def hessians(self, unit: Index, params: Array, seeds: Array) -> tuple[Array, ...]:
        """Value (m,), gradient (P, m), second derivatives (P, P, m)."""
        return self._sum(kernels.hessians, unit, params, seeds)

    def outer_scores(self, unit: Index, params: Array, seeds: Array) -> Array:
        """Sum over choices of the outer products of their scores, (P, P, m)."""
        return self._sum(kernels.outer_scores, unit, params, seeds)[0]

    def _sum(self, kernel: Callable[..., object], unit: Index, *at: Array) -> tuple[Array, ...]:
        units = self.units
        if not len(unit):  # nothing asked: the shapes of the answer come from any row
            return tuple(
                o[..., :0] for o in self._sum(kernel, np.zeros(1, int), *(np.ones((a.shape[0], 1)) for a in at))
            )
        stacks, bucket, place = self.stacks
        sizes = np.diff(units.start)[unit]
        rows = _ranges(units.start[unit], sizes)
        owner = np.repeat(np.arange(len(unit)), sizes)
        games = units.game[rows]
        single = len(rows) == len(unit)
        total: tuple[Array, ...] | None = None
        for b in np.unique(bucket[games]):
            chosen = np.flatnonzero(bucket[games] == b)
            stack = stacks[b]
            counts = units.counts[rows[chosen], : sum(stack.shape)].T
            here = owner[chosen]
            out = kernel(self.model, stack, place[games[chosen]], counts, *(a[..., here] for a in at))
            out = out if isinstance(out, tuple) else (out,)
            if single and len(chosen) == len(rows):
                return out
            if total is None:
                total = tuple(np.zeros((*o.shape[:-1], len(unit))) for o in out)
            for t, o in zip(total, out, strict=True):
                _add(t, here, o)
        assert total is not None
        return total

    def log_probabilities(self, game: Index, params: Array) -> Array:
        """Log choice probabilities of games (m,) at params (P, m), padded with zeros to (W, m)."""
        stacks, bucket, place = self.stacks
        out = np.zeros((self.units.counts.shape[1], len(game)))
        for b in np.unique(bucket[game]):
            chosen = np.flatnonzero(bucket[game] == b)
            size = sum(stacks[b].shape)
            out[:size, chosen] = kernels.log_probabilities(
                self.model, stacks[b], place[game[chosen]], params[:, chosen]
            )
        return out

    def tables(self, game: Index, unit: Array, params: Array) -> Array:
        """Log choice probabilities of games (G,) on common nodes (P, nodes), payoffs divided by unit (G,): (G, W,
        nodes).
        """
        stacks, bucket, place = self.stacks
        out = np.zeros((len(game), self.units.counts.shape[1], params.shape[1]))
        for b in np.unique(bucket[game]):
            chosen = np.flatnonzero(bucket[game] == b)
            size = sum(stacks[b].shape)
            out[chosen, :size] = kernels.table(self.model, stacks[b], place[game[chosen]], unit[chosen], params)
        return out


def _add(total: Array, owner: Index, parts: Array) -> None:
    """total[..., owner] += parts, where owner is sorted and may repeat."""
    first = np.flatnonzero(np.concatenate([[True], owner[1:] != owner[:-1]]))
    total[..., owner[first]] += np.add.reduceat(parts, first, axis=-1)


def sample_size(units: Units) -> Array:
    """Choices in each unit, (U,); a player with one action has none to make."""
    return _closed_form(units, lambda c, n: n if c.shape[1] > 1 else 0 * n)


def uniform_loglik(units: Units) -> Array:
    """Log-likelihood of uniform play, (U,)."""
    return _closed_form(units, lambda c, n: np.where(n > 0, -n * np.log(c.shape[1]), 0.0))


def saturated_loglik(units: Units) -> Array:
    """Log-likelihood of the observed frequencies themselves, (U,): no model can do better."""

    def best(c: Array, n: Array) -> Array:
        return np.sum(
            np.where(c > 0, c * (np.log(np.where(c > 0, c, 1)) - np.log(np.where(n > 0, n, 1))[:, None]), 0),
            axis=1,
        )

    return _closed_form(units, best)


def multinomial_constant(units: Units) -> Array:
    """log of the number of orders in which the counts could have come, (U,); add it to compare with a full
    likelihood.
    """
    from scipy.special import gammaln

    return _closed_form(units, lambda c, n: gammaln(n + 1) - gammaln(c + 1).sum(axis=1))


def _closed_form(units: Units, per_player: Callable[[Array, Array], Array]) -> Array:
    """Sum over each unit's rows and players of a function of the player's counts (r, A) and total (r,)."""
    per_row = np.zeros(len(units.game))
    for shape, rows in by_shape(units):
        for size, stop in zip(shape, np.cumsum(shape), strict=True):
            counts = units.counts[rows, stop - size : stop]
            per_row[rows] += per_player(counts, counts.sum(axis=1))
    return units.total(per_row)


def by_shape(units: Units) -> Iterator[tuple[tuple[int, ...], Index]]:
    """The rows whose games have one shape, for each shape."""
    shapes: dict[tuple[int, ...], int] = {}
    shape_of = np.array([shapes.setdefault(g.shape, len(shapes)) for g in units.games])[units.game]
    for shape, number in shapes.items():
        yield shape, np.flatnonzero(shape_of == number)
