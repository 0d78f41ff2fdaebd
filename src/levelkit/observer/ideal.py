"""The ideal observer: exact Bayes over the strategies of a catalogue, from the moves alone.

Given the moves, what player 1 plays and what player 2 plays are independent: each move depends on the mover's
strategy and the opponent's last move, which is seen. So the posterior over pairs is the product of two posteriors
over strategies, unless the prior ties them together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from levelkit.errors import DataError, UsageError
from levelkit.observer.catalogues import Array, Catalogue, catalogue

_NEVER = -1e6  # stands for log 0, so that counts times logs stay finite
_IMPOSSIBLE = _NEVER / 2
_TIE = 1e-9  # log-likelihoods closer than this are equal; the strategy that comes first wins


@dataclass(frozen=True)
class Watcher:
    """How an observer reasons.

    window: how many of the last rounds it sees (None: all). lapse: how often it thinks a reactive player forgets the
    rule. hazard: the probability that a player changes strategy before a round (needs window=None). prior:
    (strategies,) for either player, a pair of these, or (strategies, strategies) for pairs; default uniform.
    """

    window: int | None = 50
    lapse: float = 0.0
    hazard: float = 0.0
    prior: Any = None

    def __post_init__(self) -> None:
        if self.window is not None and self.window < 1:
            raise UsageError(f"window {self.window}: an observer sees one round at least")
        if not 0 <= self.hazard < 1:
            raise UsageError(f"hazard {self.hazard:g} is not in [0, 1)")
        if self.hazard and self.window is not None:
            raise UsageError("hazard= already forgets the past; use it with window=None")


@dataclass(frozen=True, eq=False)
class Posterior:
    """What an observer believes after each round: `p1`, `p2` (..., rounds, strategies), not a number where no strategy
    of the catalogue can have made these moves. `pairs` (..., rounds, strategies, strategies) only with a joint prior.
    """

    p1: Array
    p2: Array
    catalogue: Catalogue
    pairs: Array | None = None

    def pair(self, round_: int = -1) -> pd.DataFrame:
        """The posterior over pairs after one round (an index from 0, or from the end), of a single match."""
        if self.p1.ndim != 2:
            raise UsageError("this is the posterior of several matches; take one of them")
        table = np.outer(self.p1[round_], self.p2[round_]) if self.pairs is None else self.pairs[round_]
        return pd.DataFrame(table, index=self.catalogue.codes, columns=self.catalogue.codes)

    def guesses(self) -> list[tuple[str, str] | None]:
        """The most probable pair after each round of a single match; of equals the first in catalogue order."""
        if self.p1.ndim != 2:
            raise UsageError("this is the posterior of several matches; take one of them")
        return [self._best(t) for t in range(len(self.p1))]

    def _best(self, t: int) -> tuple[str, str] | None:
        if np.isnan(self.p1[t]).any() or np.isnan(self.p2[t]).any():
            return None
        codes = self.catalogue.codes
        if self.pairs is None:
            return codes[_first_best(self.p1[t])], codes[_first_best(self.p2[t])]
        i, j = np.unravel_index(_first_best(self.pairs[t].ravel()), self.pairs[t].shape)
        return codes[i], codes[j]


def posterior(
    moves: Any,
    source: Any = None,
    *,
    window: int | None = 50,
    lapse: float = 0.0,
    hazard: float = 0.0,
    prior: Any = None,
) -> Posterior:
    """Beliefs after each round of one match (rounds, 2) or of many (matches, rounds, 2). Options: see `Watcher`.

    With a hazard: beliefs about the strategies of the round itself, when a player may have changed strategies before
    it. The first move in a window is judged as a first move, since the round before it is not seen. Raises DataError
    for moves that are none, UsageError for options out of range.
    """
    known = catalogue(source)
    watcher = Watcher(window, lapse, hazard, prior)
    given = as_moves(moves, known)
    single = given.ndim == 2
    own, other = (np.atleast_3d(given[None] if single else given)[..., i] for i in (0, 1))
    prior1, prior2, joint = _priors(prior, len(known))
    tables = known.tables(lapse)
    p1 = _beliefs(own, other, tables, watcher, prior1)
    p2 = _beliefs(other, own, tables, watcher, prior2)
    pairs = None
    if joint is not None:
        with np.errstate(invalid="ignore", divide="ignore"):
            pairs = p1[..., :, None] * p2[..., None, :] * joint
            pairs = pairs / pairs.sum(axis=(-2, -1), keepdims=True)
        p1, p2 = pairs.sum(axis=-1), pairs.sum(axis=-2)
    if single:
        p1, p2, pairs = p1[0], p2[0], None if pairs is None else pairs[0]
    return Posterior(p1, p2, known, pairs)


def best_guesses(own: Array, other: Array, known: Catalogue, watcher: Watcher, start: int, prior: Array) -> Array:
    """The most probable strategy of `own` (matches, rounds - start) after the rounds from index `start` on, -1 where
    none is possible. The quick way of ceilings: no probabilities are made. own, other: (matches, rounds).
    """
    tables = known.tables(watcher.lapse)
    if watcher.hazard:
        return _places(_filter(own, other, tables, watcher.hazard, prior)[:, start:])
    scores = _window_scores(own, other, tables, watcher.window, start)
    with np.errstate(divide="ignore"):
        scores += np.maximum(np.log(prior), _NEVER) - _TIE * np.arange(len(known))
    places = scores.argmax(axis=-1)
    possible = np.take_along_axis(scores, places[..., None], axis=-1)[..., 0] > _IMPOSSIBLE
    return np.where(possible, places, -1)


def product_priors(prior: Any, size: int) -> tuple[Array, Array]:
    """The two players' priors. Raises UsageError where the prior ties them together."""
    one, two, joint = _priors(prior, size)
    if joint is not None:
        raise UsageError("a prior over pairs is for posterior(); give one for each player here")
    return one, two


def as_moves(moves: Any, known: Catalogue) -> Array:
    """Moves as whole numbers, (rounds, 2) or (matches, rounds, 2). Raises DataError for anything else."""
    given = np.asarray(moves)
    if given.ndim not in (2, 3) or given.shape[-1] != 2 or not given.shape[-2]:
        raise DataError(f"moves of shape {given.shape}", fix="Give (rounds, 2) or (matches, rounds, 2)")
    if not np.issubdtype(given.dtype, np.integer) or given.min() < 0 or given.max() >= known.n_moves:
        raise DataError("moves hold something else than", fix=f"whole numbers 0 to {known.n_moves - 1}")
    return given


def _beliefs(own: Array, other: Array, tables: Array, watcher: Watcher, prior: Array) -> Array:
    if watcher.hazard:
        return _filter(own, other, tables, watcher.hazard, prior)
    scores = _window_scores(own, other, tables, watcher.window, 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        scores = np.where(scores < _IMPOSSIBLE, -np.inf, scores) + np.log(prior)
        weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
        return np.asarray(weights / weights.sum(axis=-1, keepdims=True))


def _window_scores(own: Array, other: Array, tables: Array, window: int | None, start: int) -> Array:
    """Log-likelihood (matches, rounds - start, strategies) of the last `window` moves, below `_IMPOSSIBLE` for
    impossible.

    The moves enter as counts of (opponent's last move, move) pairs, whole numbers, times the logs of the tables:
    nothing is lost by subtraction, and strategies that explain the moves equally well score equally.
    """
    n = tables.shape[2]
    matches, rounds = own.shape
    with np.errstate(divide="ignore"):
        logs = np.maximum(np.log(tables), _NEVER)
    pairs = np.zeros((matches, rounds, n * n), np.int32)
    seen = other[:, :-1].astype(np.int64) * n + own[:, 1:]
    np.put_along_axis(pairs[:, 1:], seen[..., None], 1, axis=2)
    counts = np.cumsum(pairs, axis=1, dtype=np.int32)
    first = np.maximum(np.arange(start, rounds) - (window or rounds) + 1, 0)
    inside = (counts[:, start:] - counts[:, first]).astype(np.float64)
    return inside @ logs[:, :n].reshape(len(tables), n * n).T + logs[:, n].T[own[:, first]]


def _filter(own: Array, other: Array, tables: Array, hazard: float, prior: Array) -> Array:
    """Beliefs (matches, rounds, strategies) when a player draws a new strategy from the prior with probability `hazard`
    before each round: the forward recursion of a hidden Markov chain.
    """
    n = tables.shape[2]
    belief = np.broadcast_to(prior, (len(own), len(prior)))
    out = np.empty((*own.shape, len(prior)))
    last = np.full(len(own), n)
    for t in range(own.shape[1]):
        if t:
            belief = (1 - hazard) * belief + hazard * prior
        belief = belief * tables[:, last, own[:, t]].T
        with np.errstate(invalid="ignore", divide="ignore"):
            belief = belief / belief.sum(axis=1, keepdims=True)
        out[:, t], last = belief, other[:, t]
    return out


def _places(beliefs: Array) -> Array:
    """Where each belief is largest, the first of equals; -1 where there is none."""
    return np.where(np.isnan(beliefs[..., 0]), -1, _first_best(beliefs))


def _first_best(beliefs: Array) -> Any:
    top = beliefs.max(axis=-1, keepdims=True)
    return (beliefs >= top * (1 - _TIE)).argmax(axis=-1)


def _priors(prior: Any, size: int) -> tuple[Array, Array, Array | None]:
    """Both players' priors, and the factor by which a prior over pairs differs from their product of uniforms."""
    uniform = np.full(size, 1 / size)
    if prior is None:
        return uniform, uniform, None
    if isinstance(prior, Sequence) and len(prior) == 2 and np.ndim(prior[0]) == 1:
        return _prior(prior[0], (size,)), _prior(prior[1], (size,)), None
    if np.ndim(prior) == 2:
        return uniform, uniform, _prior(prior, (size, size))
    one = _prior(prior, (size,))
    return one, one, None


def _prior(values: Any, shape: tuple[int, ...]) -> Array:
    p = np.asarray(values, dtype=np.float64)
    if p.shape != shape or np.any(p < 0) or not np.isfinite(p).all() or p.sum() <= 0:
        raise UsageError(f"a prior has shape {shape} and weights that are not below 0, one of them above it")
    return p / p.sum()
