"""Which pairs no observer can tell apart, however long it watches: by outcomes alone, or by the moves."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from levelkit.observer.catalogues import Array, Catalogue, catalogue
from levelkit.observer.steady import outcomes

SAME = 1e-9


def outcome_classes(source: Any = None, *, tolerance: float = SAME) -> pd.DataFrame:
    """Pairs that share an outcome law, a row a class: win, draw, loss, size, pairs (such as "H-C"), the largest first.

    tolerance: laws whose probabilities differ by no more, directly or through a chain of such laws, are one class.
    """
    known = catalogue(source)
    laws = outcomes(known).reshape(-1, 3)
    members = _chains(np.abs(laws[:, None] - laws[None]).max(axis=2) <= tolerance)
    names = ["-".join(pair) for pair in known.pairs()]
    rows = [
        {**dict(zip(("win", "draw", "loss"), laws[group[0]], strict=True)), "size": len(group), "pairs": tuple(group)}
        for group in sorted(members, key=lambda group: (-len(group), group[0]))
    ]
    frame = pd.DataFrame(rows)
    frame["pairs"] = [tuple(names[i] for i in group) for group in frame["pairs"]]
    return frame


def twins_by_outcomes(pair: Any, source: Any = None, *, tolerance: float = SAME) -> tuple[str, ...]:
    """The other pairs with the outcome law of this one."""
    known = catalogue(source)
    own = "-".join(known.pair(pair))
    classes = outcome_classes(known, tolerance=tolerance)["pairs"]
    return tuple(name for members in classes if own in members for name in members if name != own)


def twins_by_moves(pair: Any, source: Any = None) -> tuple[str, ...]:
    """The other pairs that, once play has settled, give every move of this pair the probability it has in this pair.

    Such a pair explains the moves as well as the truth does, apart from the first moves, at any number of rounds. The
    relation has a direction: copying each other can look like two pure strategies, and does not always.
    """
    known = catalogue(source)
    one, two = (known.strategy(code) for code in known.pair(pair))
    settled = _settled(one.table, two.table)
    same1 = _same_replies(known, one.table, np.unique(settled[:, 1]))
    same2 = _same_replies(known, two.table, np.unique(settled[:, 0]))
    own = known.pair(pair)
    return tuple(f"{a}-{b}" for a in same1 for b in same2 if (a, b) != own)


def move_twins(source: Any = None) -> pd.DataFrame:
    """`twins_by_moves` of all pairs of the catalogue that have any, a row each: pair, size, twins."""
    known = catalogue(source)
    rows = [{"pair": "-".join(pair), "twins": twins_by_moves(pair, known)} for pair in known.pairs()]
    frame = pd.DataFrame([{"pair": r["pair"], "size": len(r["twins"]), "twins": r["twins"]} for r in rows])
    return frame[frame["size"] > 0].reset_index(drop=True)


def _same_replies(known: Catalogue, table: Array, last: Array) -> list[str]:
    """Strategies that answer the given last moves as `table` does."""
    return [s.code for s in known.strategies if np.abs(s.table[last] - table[last]).max() <= SAME]


def _settled(one: Array, two: Array) -> Array:
    """Pairs of moves (m, 2) that keep coming up: the recurrent states of the chain of (move 1, move 2), from any start
    that the first moves give positive probability.
    """
    n = one.shape[1]
    step = np.einsum("ya,xb->xyab", one[:n] > 0, two[:n] > 0).reshape(n * n, n * n)
    reach = np.eye(n * n, dtype=bool) | step
    for _ in range(2 * n):  # doubles the length of the paths each time
        reach = (reach.astype(int) @ reach.astype(int)) > 0
    starts = np.outer(one[n] > 0, two[n] > 0).ravel()
    visited = reach[starts].any(axis=0)
    recurrent = visited & np.all(~reach | reach.T, axis=1)
    return np.argwhere(recurrent.reshape(n, n))


def _chains(near: Array) -> list[list[int]]:
    """Connected components of a symmetric relation, each in order."""
    from scipy.sparse.csgraph import connected_components

    count, label = connected_components(near, directed=False)
    return [np.flatnonzero(label == i).tolist() for i in range(count)]
