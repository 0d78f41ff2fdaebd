"""Do two groups choose alike? Permutation tests, exact whatever the players' model, with clusters kept whole.

The statistic is the likelihood-ratio G of equal frequencies, summed over the roles and games of a stratum. Labels are
exchanged between choices; or, where choices come in clusters (sessions, personas), between whole clusters, since
choices of one cluster are alike and exchanging them singly rejects far too often.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pandas as pd

from levelkit.choices import Choices
from levelkit.errors import DataError, UsageError
from levelkit.inference import checks
from levelkit.inference.kernels import Array, Index

Progress = Callable[[int, int], None]
Generator = np.random.Generator

_AT_ONCE = 4_000_000  # labels permuted at a time
_SLACK = 1e-9  # permuted statistics this close below the observed one count as ties


def equality(
    choices: Choices,
    column: str,
    by: Sequence[str] | str = ("game",),
    *,
    pairs: Sequence[tuple[object, object]] | None = None,
    cluster: str | None = None,
    replicates: int = 9999,
    seed: int = 0,
    progress: Progress | None = None,
) -> pd.DataFrame:
    """Permutation tests that groups choose alike: one row for each stratum of `by` and pair of values of `column`.

    pairs: which (default: all). cluster: a column of the choices; clusters inside one group are exchanged whole between
    groups, clusters with choices in both groups (the same persona with and without chain of thought) have their two
    parts exchanged.

    The `by` columns, a, b, n_a, n_b (choices), clusters_a, clusters_b (missing without `cluster`), g, p (exact for the
    pair), p_max (adjusted over all pairs of the stratum: how often the largest G of any pair is as large when all
    groups choose alike), replicates. p counts the observed data as one permutation, so it is never 0.

    Raises UsageError for unknown columns and values, DataError for fractional counts or a single cluster.

    >>> import levelkit as lk
    >>> table = lk.equality(lk.shipped_choices("sw10_humans"), "sample", pairs=[("rpc_table3", "wlb")], replicates=999)
    >>> table[["a", "b", "n_a", "n_b"]].to_dict("records")
    [{'a': 'rpc_table3', 'b': 'wlb', 'n_a': 74.0, 'n_b': 74.0}]
    """
    strata_by = checks.listed(by)
    for name in [column, *strata_by, *([cluster] if cluster else [])]:
        if name not in choices.cells.columns:
            raise UsageError(f"no column {name!r} among {', '.join(map(str, choices.cells.columns))}")
    if column in strata_by or column == cluster:
        raise UsageError(f"{column!r} cannot be both what is compared and a stratum or cluster")
    if replicates < 99:
        raise UsageError(f"replicates = {replicates}: give 99 at least")
    checks.cells(choices)
    if cluster is None and (np.abs(choices.counts - np.rint(choices.counts)) > 1e-9).any():
        raise DataError("some counts are fractional, and permuting needs whole choices", fix="name a cluster column")
    cells = choices.cells
    if cells[column].isna().any():
        lost = int(cells[column].isna().sum())
        raise DataError(f"{lost} cells have no {column!r}", fix="drop them (choices.filter), or name their group")
    codes = (
        cells.groupby(strata_by, sort=False, dropna=False).ngroup().to_numpy()
        if strata_by
        else np.zeros(len(cells), int)
    )
    rows: list[dict[str, object]] = []
    for s in range(codes.max() + 1):
        at = np.flatnonzero(codes == s)
        groups = list(dict.fromkeys(cells[column].iloc[at]))
        wanted = list(combinations(groups, 2)) if pairs is None else [p for p in pairs if set(p) <= set(groups)]
        head = {c: cells[c].iloc[at[0]] for c in strata_by}
        stratum = _Stratum.of(choices, at, cells[column].iloc[at].map(groups.index).to_numpy(), cluster)
        numbered = [(groups.index(a), groups.index(b)) for a, b in wanted]
        rng = np.random.default_rng([seed, s])
        found = stratum.test(numbered, replicates, rng)
        rows += [head | {"a": a, "b": b} | one for (a, b), one in zip(wanted, found, strict=True)]
        if progress is not None:
            progress(s + 1, int(codes.max()) + 1)
    if pairs is not None and not rows:
        raise UsageError(
            f"no stratum has choices of both values of a pair; {column} has {list(dict.fromkeys(cells[column]))}"
        )
    return pd.DataFrame(rows)


@dataclass(frozen=True, eq=False)
class _Stratum:
    """Counts of exchangeable pieces (P, W) with the group of each (P,), and the roles' slices of the W columns.

    A piece is a choice or a cluster's part in one group; `whole` (P,): its cluster, -1 where `single` choices are
    exchanged.
    """

    pieces: Array
    group: Index
    whole: Index
    roles: list[slice]
    single: bool

    @staticmethod
    def of(choices: Choices, at: Index, group: Index, cluster: str | None) -> _Stratum:
        games = list(dict.fromkeys(choices.cells["game"].iloc[at]))
        roles: list[slice] = []
        starts, width = {}, 0
        for name in games:
            game = choices.games[str(name)]
            starts[name] = width
            roles += [
                slice(width + s.start, width + s.stop)
                for s, seen in zip(game.slices, game.observed, strict=True)
                if seen
            ]
            width += game.n_counts
        wide = np.zeros((len(at), width))
        for k, cell in enumerate(at):
            name = choices.cells["game"].iloc[cell]
            size = choices.games[str(name)].n_counts
            wide[k, starts[name] : starts[name] + size] = choices.counts[cell, :size]
        if cluster is None:
            return _Stratum(wide, group, np.full(len(at), -1), roles, single=True)
        code = pd.factorize(choices.cells[cluster].iloc[at])[0]
        if (code < 0).any():
            raise DataError(
                f"{int((code < 0).sum())} cells have no {cluster!r}", fix="drop them, or name their cluster"
            )
        both, inverse = np.unique(np.stack([code, group]), axis=1, return_inverse=True)
        pieces = np.zeros((both.shape[1], width))
        np.add.at(pieces, inverse.ravel(), wide)
        return _Stratum(pieces, both[1], both[0], roles, single=False)

    def test(self, pairs: list[tuple[int, int]], replicates: int, rng: Generator) -> list[dict[str, object]]:
        """The tests of pairs of groups."""
        groups = int(self.group.max()) + 1
        seen = np.stack([self.pieces[self.group == g].sum(axis=0) for g in range(groups)])
        observed = np.array([self._g(seen[None, [a]], seen[None, [b]])[0] for a, b in pairs])
        joint = np.zeros(replicates)
        if len(pairs) > 1:
            used = sorted({g for pair in pairs for g in pair})
            drawn = self._draw(used, replicates, rng)
            for a, b in pairs:
                joint = np.maximum(joint, self._g(drawn[:, [used.index(a)]], drawn[:, [used.index(b)]]))
        rows = []
        for (a, b), g in zip(pairs, observed, strict=True):
            alone = self._draw([a, b], replicates, rng)
            own = self._g(alone[:, [0]], alone[:, [1]])
            p = (1 + (own >= g - _SLACK).sum()) / (replicates + 1)
            p_max = p if len(pairs) == 1 else max(p, (1 + (joint >= g - _SLACK).sum()) / (replicates + 1))
            many = [np.nan if self.single else float((self.group == k).sum()) for k in (a, b)]
            row: dict[str, object] = {"n_a": seen[a].sum(), "n_b": seen[b].sum()}
            row |= {"clusters_a": many[0], "clusters_b": many[1], "g": g, "p": p, "p_max": p_max}
            rows.append(row | {"replicates": replicates})
        return rows

    def _g(self, a: Array, b: Array) -> Array:
        """G of equal frequencies, summed over roles; a, b (B, 1, W)."""
        both = np.concatenate([a, b], axis=1)
        total = np.zeros(len(both))
        for role in self.roles:
            counts = both[:, :, role]
            n, column = counts.sum(axis=2, keepdims=True), counts.sum(axis=1, keepdims=True)
            with np.errstate(divide="ignore", invalid="ignore"):
                expected = n * column / n.sum(axis=1, keepdims=True)
                parts = np.where(counts > 0, counts * np.log(counts / expected), 0.0)
            total += 2 * parts.sum(axis=(1, 2))
        return total

    def _draw(self, groups: list[int], replicates: int, rng: Generator) -> Array:
        """Counts (B, groups, W) after exchanging labels among some groups."""
        mine = np.isin(self.group, groups)
        pieces, label = self.pieces[mine], np.array([groups.index(g) for g in self.group[mine]])
        out = np.zeros((replicates, len(groups), pieces.shape[1]))
        if self.single:
            for role in self.roles:
                _single(pieces[:, role], label, out[:, :, role], rng)
            return out
        whole = self.whole[mine]
        if len(np.unique(whole)) < 2:
            raise DataError("a test rests on a single cluster, so nothing can be exchanged", fix="leave out cluster")
        for first in range(0, replicates, step := max(1, _AT_ONCE // max(len(label), 1))):
            size = min(step, replicates - first)
            mixed = _within(label, whole, size, rng)
            for g in range(len(groups)):
                out[first : first + size, g] = (mixed == g).astype(float) @ pieces
        return out


def _single(counts: Array, label: Index, out: Array, rng: Generator) -> None:
    """Exchange single choices of one role: fills out (B, G, A) from the cells' counts (P, A)."""
    actions = counts.shape[1]
    sizes = np.bincount(label, counts.sum(axis=1), minlength=out.shape[1]).astype(int)
    left = np.broadcast_to(counts.sum(axis=0).astype(int), (len(out), actions)).copy()
    for g, size in enumerate(sizes):
        need = np.full(len(out), size)
        for a in range(actions):  # a multivariate hypergeometric draw, one action at a time
            rest = left[:, a + 1 :].sum(axis=1)
            taken = rng.hypergeometric(left[:, a], rest, need) if a < actions - 1 else need
            taken = np.minimum(taken, left[:, a])
            out[:, g, a] = taken
            need = need - taken
        left -= out[:, g].astype(int)


def _within(label: Index, whole: Index, size: int, rng: Generator) -> Index:
    """Labels (size, P) permuted: within clusters that have several, between clusters that have one."""
    out = np.empty((size, len(label)), int)
    cluster = np.unique(whole, return_inverse=True)[1]
    several = np.bincount(cluster)[cluster] > 1
    alone = np.flatnonzero(~several)
    if alone.size:
        out[:, alone] = rng.permuted(np.broadcast_to(label[alone], (size, len(alone))), axis=1)
    for c in np.unique(cluster[several]):
        parts = np.flatnonzero(cluster == c)
        out[:, parts] = rng.permuted(np.broadcast_to(label[parts], (size, len(parts))), axis=1)
    return out
