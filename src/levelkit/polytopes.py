"""Vertices of best-reply polytopes, by solving for indifference on many pairs of supports at once.

Arrays only: knows no games. Payoffs are compared relative to `scale`, the payoff range of the game.
"""

from __future__ import annotations

import itertools

import numpy as np

TIE = 1e-9
"""Payoffs closer than this share of the payoff range count as equal; smaller probabilities as zero."""

BLOCK = 20_000  # systems of equations solved at once
SINGULAR = 1e-12  # determinant, payoffs measured in their range, below which there is no single solution


def vertices(payoffs: np.ndarray, scale: float) -> tuple[np.ndarray, np.ndarray]:
    """Vertices of a player's best-reply polytope: mixes (V, own), the other's best replies (V, other, bool).

    payoffs: the other player's, (other, own). A vertex uses k actions and has k best replies that fix it.
    """
    other, own = payoffs.shape
    mixes, replies = [np.empty((0, own))], [np.empty((0, other), dtype=bool)]
    for many in range(1, min(other, own) + 1):
        tight, used = _supports(other, many), _supports(own, many)
        pairs = np.indices((len(tight), len(used))).reshape(2, -1)
        for start in range(0, pairs.shape[1], BLOCK):
            i, j = pairs[:, start : start + BLOCK]
            found = _indifferent(payoffs, tight[i], used[j], scale)
            proper = np.flatnonzero((found > TIE).all(axis=1))
            whole = _spread(found[proper], used[j[proper]], own)
            values = whole @ payoffs.T
            best = values >= values.max(axis=1, keepdims=True) - TIE * scale
            fits = np.take_along_axis(best, tight[i[proper]], axis=1).all(axis=1)
            mixes.append(whole[fits])
            replies.append(best[fits])
    every = np.concatenate(mixes)
    _, first = np.unique(every.round(10), axis=0, return_index=True)
    return every[first], np.concatenate(replies)[first]


def self_indifferent(payoffs: np.ndarray, scale: float) -> np.ndarray:
    """Mixes (M, size) of two actions and more that make their own support indifferent."""
    size = len(payoffs)
    mixes = [np.empty((0, size))]
    for many in range(2, size + 1):
        supports = _supports(size, many)
        for start in range(0, len(supports), BLOCK):
            part = supports[start : start + BLOCK]
            found = _indifferent(payoffs, part, part, scale)
            proper = (found > TIE).all(axis=1)
            mixes.append(_spread(found[proper], part[proper], size))
    return np.concatenate(mixes)


def _supports(size: int, many: int) -> np.ndarray:
    return np.array(list(itertools.combinations(range(size), many)))


def _spread(mixes: np.ndarray, supports: np.ndarray, size: int) -> np.ndarray:
    """Mixes over supports, (P, k) and (P, k), as vectors over all actions, (P, size)."""
    whole = np.zeros((len(mixes), size))
    np.put_along_axis(whole, supports, mixes / mixes.sum(axis=1, keepdims=True), axis=1)
    return whole


def _indifferent(payoffs: np.ndarray, rows: np.ndarray, cols: np.ndarray, scale: float) -> np.ndarray:
    """For each pair of supports (P, k) the mix over its columns that makes its rows pay the same, (P, k).

    NaN where there is none or no single one.
    """
    pairs, many = rows.shape
    # unknowns: the mix and the common payoff, in units of the payoff range
    system = np.zeros((pairs, many + 1, many + 1))
    system[:, :many, :many] = payoffs[rows[:, :, None], cols[:, None, :]] / (scale or 1.0)
    system[:, :many, :many] -= system[:, :1, :1]  # the level of payoffs does not matter, only its digits would
    system[:, :many, many] = -1.0
    system[:, many, :many] = 1.0
    regular = np.abs(np.linalg.det(system)) > SINGULAR
    goal = np.zeros((many + 1, 1))
    goal[many] = 1.0
    mixes = np.full((pairs, many), np.nan)
    mixes[regular] = np.linalg.solve(system[regular], goal)[:, :many, 0]
    return mixes
