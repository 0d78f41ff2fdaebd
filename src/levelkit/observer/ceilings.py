"""The ceiling: how often the best possible observer names both strategies, and how much matches differ in it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from levelkit.errors import UsageError
from levelkit.observer.catalogues import Array, Catalogue, catalogue
from levelkit.observer.engine import pair_tables, play
from levelkit.observer.ideal import Watcher, best_guesses, product_priors

OBSERVERS = ("ideal", "nearest")
_BLOCK = 256  # matches judged at a time: what they need then stays in the cache


@dataclass(frozen=True, eq=False)
class Ceiling:
    """Identification rates of an observer over simulated matches of one pair.

    hits (matches,): rounds in which both strategies were named; `final` is the share of matches with both named after
    the last round. The range is over matches, not an error of the mean: one match falls in it `interval` of the time.
    """

    truth: tuple[str, str]
    hits: Array
    rounds: int
    warmup: int
    final: float
    observer: str
    engine: str
    watcher: Watcher
    seed: int
    interval: float = 0.95

    @property
    def rates(self) -> Array:
        """Rate of each match among all rounds, warm-up included, as published."""
        return np.asarray(self.hits / self.rounds)

    @property
    def rate(self) -> float:
        """Mean rate among all rounds."""
        return float(self.rates.mean())

    @property
    def rate_scored(self) -> float:
        """Mean rate among the rounds after the warm-up."""
        return self.rate * self.rounds / (self.rounds - self.warmup)

    @property
    def error(self) -> float:
        """Monte-Carlo standard error of `rate`; not a number with one match."""
        return float(self.rates.std(ddof=1) / np.sqrt(len(self.hits))) if len(self.hits) > 1 else float("nan")

    @property
    def range(self) -> tuple[float, float]:
        """Where the rate of one match lies, with probability `interval`."""
        tail = (1 - self.interval) / 2
        low, high = np.quantile(self.rates, [tail, 1 - tail])
        return float(low), float(high)

    def share_at_least(self, rate: float) -> float:
        """How often a match of this observer reaches a rate (of all rounds)."""
        return float(np.mean(self.rates >= rate - 1e-12))

    def record(self) -> dict[str, Any]:
        """The numbers as one row of a table."""
        low, high = self.range
        return {
            "pair": "-".join(self.truth),
            "observer": self.observer,
            "engine": self.engine,
            "window": self.watcher.window,
            "matches": len(self.hits),
            "rounds": self.rounds,
            "warmup": self.warmup,
            "rate": self.rate,
            "error": self.error,
            "rate_scored": self.rate_scored,
            "low": low,
            "high": high,
            "final": self.final,
        }

    def frame(self) -> pd.DataFrame:
        """One row: pair, observer, engine, window, matches, rounds, warmup, rate, error (Monte Carlo), rate_scored, low
        and high (range of single matches), final.
        """
        return pd.DataFrame([self.record()])


def ceiling(
    pair: Any,
    source: Any = None,
    *,
    window: int | None = 50,
    matches: int = 4000,
    seed: int = 0,
    rounds: int = 200,
    warmup: int = 10,
    engine: str = "reactive",
    observer: str = "ideal",
    lapse: float = 0.0,
    hazard: float = 0.0,
    prior: Any = None,
    truth: tuple[str, str] | None = None,
    interval: float = 0.95,
) -> Ceiling:
    """Identification rate of an observer over simulated matches of one pair.

    pair: two strategies, as `Catalogue.pair` takes them. engine, lapse: of the players (lapse also of the observer's
    belief). window, hazard, prior: of the observer, see `levelkit.observer.ideal.Watcher`. observer: "ideal", or
    "nearest", which names the mixture nearest to the frequencies in the window. truth: the codes that count as right,
    where the players play something else than their codes say. Raises UsageError for unknown strategies and numbers
    that make no sense.
    """
    known = catalogue(source)
    played = known.pair(pair)
    named = played if truth is None else truth
    if not all(isinstance(code, str) for code in named):
        raise UsageError("a strategy of one's own cannot be named by the observer; give truth=(code, code)")
    watcher = Watcher(window, lapse, hazard, prior)
    _check(rounds, warmup, matches, interval)
    one, two = pair_tables(played, known, engine, lapse)
    which = np.zeros(matches, np.int64)
    moves = play({1: (one[None], two[None])}, which, which, rounds, seed)
    right = np.array([[known.index(code)] * matches for code in named])
    hits, final = _hits(moves, right, _observer(observer, known, watcher), warmup)
    return Ceiling(tuple(named), hits, rounds, warmup, float(final.mean()), observer, engine, watcher, seed, interval)


def ceiling_table(
    pairs: Iterable[Any] | None = None,
    source: Any = None,
    *,
    window: int | None = 50,
    matches: int = 200,
    seed: int = 0,
    rounds: int = 200,
    warmup: int = 10,
    engine: str = "reactive",
    observer: str = "ideal",
    lapse: float = 0.0,
    hazard: float = 0.0,
    prior: Any = None,
    interval: float = 0.95,
    told: Callable[[int, int], None] = lambda done, total: None,
) -> pd.DataFrame:
    """`ceiling` of many pairs (default: all of the catalogue) in one run, a row each.

    Every pair meets the same random numbers (common random numbers), so differences between pairs are less noisy than
    the pairs. `told` is called with (pairs done, pairs).
    """
    known = catalogue(source)
    wanted = known.pairs() if pairs is None else [known.pair(pair) for pair in pairs]
    rows = []
    for done, pair in enumerate(wanted, start=1):
        one = ceiling(
            pair, known, window=window, matches=matches, seed=seed, rounds=rounds, warmup=warmup, engine=engine,
            observer=observer, lapse=lapse, hazard=hazard, prior=prior, interval=interval,
        )  # fmt: skip
        rows.append(one.record())
        told(done, len(wanted))
    return pd.DataFrame(rows)


def guesses(moves: Array, known: Catalogue, observer: str, watcher: Watcher) -> list[list[tuple[str, str] | None]]:
    """What an observer says after each round of matches (matches, rounds, 2); None where nothing fits."""
    judge = _observer(observer, known, watcher)
    one, two = judge(moves[..., 0], moves[..., 1], 0, 0), judge(moves[..., 1], moves[..., 0], 0, 1)
    codes = known.codes
    return [
        [(codes[i], codes[j]) if min(i, j) >= 0 else None for i, j in zip(*match, strict=True)]
        for match in zip(one.tolist(), two.tolist(), strict=True)
    ]


Judge = Callable[[Array, Array, int, int], Array]
"""From own and other moves (matches, rounds), the first round judged and the player (0, 1) to places in the
catalogue.
"""


def _observer(name: str, known: Catalogue, watcher: Watcher) -> Judge:
    if name == "ideal":
        priors = product_priors(watcher.prior, len(known))
        return lambda own, other, start, player: best_guesses(own, other, known, watcher, start, priors[player])
    if name == "nearest":
        return lambda own, other, start, player: nearest_mixture(own, known, watcher.window, start)
    raise UsageError(f"no observer {name!r}; choose from {', '.join(OBSERVERS)}")


def nearest_mixture(own: Array, known: Catalogue, window: int | None, start: int) -> Array:
    """The strategy that is not reactive and lies nearest (squared distance) to the move frequencies in the window."""
    fixed = [i for i, strategy in enumerate(known.strategies) if not strategy.is_reactive]
    if not fixed:
        raise UsageError(f"{known.name} has no mixture to be near to")
    counts = np.cumsum(np.eye(known.n_moves, dtype=np.int32)[own], axis=1)
    counts = np.concatenate([np.zeros_like(counts[:, :1]), counts], axis=1)
    last = np.arange(start, own.shape[1]) + 1
    first = np.maximum(last - (window or own.shape[1]), 0)
    shares = (counts[:, last] - counts[:, first]) / (last - first)[None, :, None]
    mixes = np.stack([known.strategies[i].mix for i in fixed])
    distance = np.sum(mixes**2, axis=1) - 2 * shares @ mixes.T  # less the squared frequencies, the same for all
    return np.asarray(fixed)[np.round(distance, 9).argmin(axis=-1)]


def _hits(moves: Array, right: Array, judge: Judge, warmup: int) -> tuple[Array, Array]:
    """Rounds with both players named right, and whether they are after the last round. moves (2, rounds, matches)."""
    total = moves.shape[2]
    hits, final = np.empty(total, np.int64), np.empty(total, bool)
    for start in range(0, total, _BLOCK):
        block = slice(start, start + _BLOCK)
        one, two = (np.ascontiguousarray(moves[i, :, block].T) for i in (0, 1))
        good = judge(one, two, warmup, 0) == right[0, block, None]
        good &= judge(two, one, warmup, 1) == right[1, block, None]
        hits[block], final[block] = good.sum(axis=1), good[:, -1]
    return hits, final


def _check(rounds: int, warmup: int, matches: int, interval: float) -> None:
    if not 0 <= warmup < rounds:
        raise UsageError(f"a warm-up of {warmup} in a match of {rounds} rounds; it is shorter than the match")
    if matches < 1:
        raise UsageError(f"{matches} matches: one at least")
    if not 0 < interval < 1:
        raise UsageError(f"interval {interval:g} is not between 0 and 1")
