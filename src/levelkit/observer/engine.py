"""Matches played out, many at once. Two engines: players who react, and the released one, in which nobody does."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from levelkit.errors import UsageError
from levelkit.observer.catalogues import Array, Catalogue, catalogue
from levelkit.observer.steady import steady_state

ENGINES = ("reactive", "released_iid")


def simulate(
    one: Any,
    two: Any,
    source: Any = None,
    *,
    rounds: int = 200,
    matches: int = 1,
    engine: str = "reactive",
    lapse: float = 0.0,
    switches: Mapping[int, tuple[Any, Any]] | None = None,
    seed: int = 0,
) -> Array:
    """Moves (matches, rounds, 2) of whole numbers, player 1's first.

    engine: "reactive", or "released_iid", which draws reactive moves independently from the steady state, as the
    released code of the paper does. lapse: how often a reactive player forgets the rule and plays uniformly.
    switches: {round: (strategy, strategy)} where the players change strategies, rounds counted from 1.
    Raises UsageError for an unknown strategy or engine, or numbers that make no sense.
    """
    known = catalogue(source)
    turns = {1: (one, two), **(switches or {})}
    if any(not 1 <= turn <= rounds for turn in turns):
        raise UsageError(f"switches at rounds {sorted(turns)[1:]}, but the match has rounds 1 to {rounds}")
    tables = {turn: pair_tables(pair, known, engine, lapse) for turn, pair in turns.items()}
    which = np.zeros(matches, np.int64)
    moves = play({t: (one[None], two[None]) for t, (one, two) in tables.items()}, which, which, rounds, seed)
    return np.ascontiguousarray(np.moveaxis(moves, (0, 1, 2), (2, 1, 0)))


def pair_tables(pair: tuple[Any, Any], known: Catalogue, engine: str, lapse: float = 0.0) -> tuple[Array, Array]:
    """How the two players of a pair move in an engine: tables (n + 1, n) as in `Strategy`."""
    if engine not in ENGINES:
        raise UsageError(f"no engine {engine!r}; choose from {', '.join(ENGINES)}")
    if not 0 <= lapse <= 1:
        raise UsageError(f"lapse {lapse:g} is no probability")
    one, two = (known.strategy(member) for member in known.pair(pair))
    if engine == "reactive":
        return one.lapsing(lapse), two.lapsing(lapse)
    steady = steady_state(one, two, known)
    rows = (known.n_moves + 1, 1)
    return np.tile(steady.p1, rows), np.tile(steady.p2, rows)


def play(
    tables: Mapping[int, tuple[Array, Array]],
    which1: Array,
    which2: Array,
    rounds: int,
    seed: int | np.random.SeedSequence,
) -> Array:
    """Play many matches at once: moves (2, rounds, matches) of int8.

    tables: from the round that is the key on, the players' tables (strategies, n + 1, n); which1, which2 (matches,):
    the row of each match in them.
    """
    if rounds < 1 or not len(which1):
        raise UsageError(f"{rounds} rounds and {len(which1)} matches: give at least one of each")
    rng = np.random.default_rng(seed)
    n = tables[1][0].shape[2]
    moves = np.empty((2, rounds, len(which1)), np.int8)
    last1 = last2 = np.full(len(which1), n, np.int8)  # n: no last move yet
    for t in range(rounds):
        if t + 1 in tables:
            edges1, edges2 = (np.cumsum(table, axis=2)[..., :-1] for table in tables[t + 1])
        u = rng.random((2, len(which1)))
        moves[0, t] = (u[0][:, None] >= edges1[which1, last2]).sum(axis=1)
        moves[1, t] = (u[1][:, None] >= edges2[which2, last1]).sum(axis=1)
        last1, last2 = moves[0, t], moves[1, t]
    return moves


def results(moves: Array, source: Any = None) -> Array:
    """1, 0, -1 as player 1 wins, draws, loses: one axis less than `moves` (..., 2)."""
    return np.asarray(catalogue(source).wins[moves[..., 0], moves[..., 1]])
