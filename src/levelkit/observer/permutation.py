"""Is one observer better than another? Permutation tests over matches, or over blocks of rounds, never over rounds.

Rounds share their windows: an observer who is right at round 60 is likely right at 61. Shuffling single rounds takes
190 rounds for 190 observations, when they are worth six to nine; two equal observers on different matches are then
told apart in 37 of 100 tries at the 5% level.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np

from levelkit.errors import UsageError
from levelkit.observer.catalogues import Array
from levelkit.observer.matches import Match, MatchLog

UNITS = ("match", "block", "round")
ALTERNATIVES = ("two-sided", "greater", "less")
DEFAULT_BLOCK = 50


@dataclass(frozen=True)
class Permutation:
    """difference: mean of the first minus mean of the second. p: exact where all arrangements were tried, else
    (1 + as extreme) / (1 + resamples). smallest_p: what p could be at best with so few units.
    """

    difference: float
    p: float
    units: tuple[int, int]
    unit: str
    paired: bool
    exact: bool
    smallest_p: float
    alternative: str

    @property
    def text(self) -> str:
        """The result in words, with what it cannot tell."""
        how = "paired, " if self.paired else ""
        many = f"{self.units[0]} and {self.units[1]}" if not self.paired else f"{self.units[0]} pairs of"
        kind = "exact" if self.exact else "Monte Carlo"
        names = {"match": "matches", "block": "blocks of rounds", "round": "rounds"}[self.unit]
        words = f"difference {self.difference:+.3f}, p = {self.p:.3g} ({self.alternative}, {how}{kind}; {many} {names})"
        if self.smallest_p > 0.05:
            words += f"; with so few, p cannot fall below {self.smallest_p:.3g}: this design cannot tell"
        if self.unit == "round":
            words += "; rounds of a match are not independent: this p is too small"
        return words


def permutation_test(
    x: Any, y: Any, *, alternative: str = "two-sided", paired: bool = False, resamples: int = 10_000, seed: int = 0
) -> Permutation:
    """Difference of means of independent units, by permuting which group a unit belongs to (paired: by swapping within
    pairs). All arrangements are tried where there are no more than `resamples`.

    Raises UsageError for fewer than two units on a side, pairs of unequal length, or an unknown alternative.
    """
    return _test(np.asarray(x, float), np.asarray(y, float), "match", alternative, paired, resamples, seed)


def compare_observers(
    one: MatchLog,
    two: MatchLog,
    *,
    unit: str = "match",
    block: int | None = None,
    alternative: str = "two-sided",
    resamples: int = 10_000,
    seed: int = 0,
    force: bool = False,
) -> Permutation:
    """Do two observers differ in their identification rate (of scored rounds)?

    unit "match": a match is one observation; paired where both saw the same matches (equal moves). "block": blocks of
    `block` successive rounds (default: the history limit), which overlap in the moves they see only at their edges.
    "round" is refused unless forced. Raises UsageError then, and where the two logs are not about the same pairs.
    """
    if unit not in UNITS:
        raise UsageError(f"no unit {unit!r}; choose from {', '.join(UNITS)}")
    if unit == "round" and not force:
        raise UsageError(
            "rounds of one match are not independent observations: windows overlap, and between two equal observers on "
            "different matches such a test rejects in 37 of 100 tries at 5%. Use unit='match' with at least 20 "
            "matches, or unit='block'; force=True computes it all the same"
        )
    if Counter(m.truth for m in one).keys() != Counter(m.truth for m in two).keys():
        raise UsageError("the two logs are not about the same pairs of strategies; compare them pair by pair")
    matched = _matched(one, two)
    first, second = ([m for m, _ in matched], [m for _, m in matched]) if matched else (list(one), list(two))
    x, y = (np.concatenate([_units(m, unit, block) for m in group]) for group in (first, second))
    return _test(x, y, unit, alternative, matched is not None, resamples, seed)


def _matched(one: MatchLog, two: MatchLog) -> list[tuple[Match, Match]] | None:
    """The matches of both logs in pairs of equal moves and settings; None where they do not all pair off."""

    def by_moves(log: MatchLog) -> dict[Any, Match]:
        return {(m.truth, m.warmup, m.history_limit, m.moves.tobytes()): m for m in log}

    first, second = by_moves(one), by_moves(two)
    if len(first) < len(one) or len(second) < len(two) or first.keys() != second.keys():
        return None
    return [(first[key], second[key]) for key in first]


def _units(match: Match, unit: str, block: int | None) -> Array:
    """Rates of the units of one match. A last block shorter than half joins the one before it."""
    correct = match.correct[match.warmup :].astype(float)
    if unit == "match":
        return np.array([correct.mean()])
    if unit == "round":
        return correct
    size = block or match.history_limit or DEFAULT_BLOCK
    if size < 1:
        raise UsageError(f"block {block}: a block has one round at least")
    cuts = np.arange(size, len(correct), size)
    if len(cuts) and len(correct) - cuts[-1] < size / 2:
        cuts = cuts[:-1]
    return np.array([part.mean() for part in np.split(correct, cuts)])


def _test(x: Array, y: Array, unit: str, alternative: str, paired: bool, resamples: int, seed: int) -> Permutation:
    from scipy.special import comb
    from scipy.stats import permutation_test as scipy_test

    if alternative not in ALTERNATIVES:
        raise UsageError(f"no alternative {alternative!r}; choose from {', '.join(ALTERNATIVES)}")
    if paired and len(x) != len(y):
        raise UsageError(f"{len(x)} and {len(y)} units make no pairs")
    if min(len(x), len(y)) < 2:
        raise UsageError(
            f"{len(x)} and {len(y)} units of kind {unit!r} cannot tell two observers apart; a test needs more"
        )
    arrangements = 2.0 ** len(x) if paired else float(comb(len(x) + len(y), len(x)))
    exact = arrangements <= resamples
    difference = float(x.mean() - y.mean())
    result = scipy_test(
        (x, y), lambda a, b, axis: a.mean(axis=axis) - b.mean(axis=axis), vectorized=True, alternative=alternative,
        permutation_type="samples" if paired else "independent", n_resamples=resamples,
        random_state=np.random.default_rng(seed),
    )  # fmt: skip
    sides = 2 if alternative == "two-sided" else 1
    smallest = min(1.0, sides / (arrangements if exact else resamples + 1))
    return Permutation(difference, float(result.pvalue), (len(x), len(y)), unit, paired, exact, smallest, alternative)
