"""How well an observer did: identification rates and losses of logged matches, beside what was possible on them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from levelkit.errors import UsageError
from levelkit.observer.catalogues import Array, Catalogue, catalogue
from levelkit.observer.ceilings import Ceiling, ceiling
from levelkit.observer.ideal import posterior
from levelkit.observer.logrules import repaired
from levelkit.observer.matches import Match, MatchLog
from levelkit.observer.scoring import belief, brier, cross_entropy, ev_loss, union
from levelkit.observer.steady import outcomes

LOSSES = ("ce", "brier", "ev", "union")
KEYS = ("model", "pair")


@dataclass(frozen=True)
class Identification:
    """How often both strategies were named. `missing_or_invalid` counts rounds after the warm-up without two valid
    codes; they are wrong, never dropped.
    """

    correct: int
    rounds: int
    warmup: int
    missing_or_invalid: int

    @property
    def rate(self) -> float:
        """Among all rounds, warm-up included: the published denominator. It cannot reach 1."""
        return self.correct / self.rounds

    @property
    def rate_scored(self) -> float:
        """Among the rounds in which a guess was due."""
        return self.correct / (self.rounds - self.warmup)


def identification(
    guesses: Sequence[Any], truth: Any, source: Any = None, *, warmup: int = 0, lenient: bool = True
) -> Identification:
    """Strategy identification rate of a guess for every round (None, or a pair of codes), under both denominators.

    lenient: read 'h' as 'H'. Raises UsageError where the truth is not two codes of the catalogue or no round is left.
    """
    known = catalogue(source)
    right = known.pair(truth)
    if not 0 <= warmup < len(guesses):
        raise UsageError(f"a warm-up of {warmup} in {len(guesses)} rounds leaves nothing to score")
    read: Callable[[Any], str | None] = lambda code: repaired(code, known) if lenient or code in known else None  # noqa: E731
    due = [tuple(read(code) for code in guess) if guess else (None, None) for guess in guesses[warmup:]]
    return Identification(sum(pair == right for pair in due), len(guesses), warmup, sum(None in pair for pair in due))


def score_rounds(log: MatchLog, *, convention: str = "published") -> pd.DataFrame:
    """A row for each round in which a guess was due: match_id, model, pair, round, status, guess, correct, losses.

    Losses are those of the stated probabilities over strategies where the log has them (then `on_truth` is the
    probability on the true pair), else of the guess as if it were certain; not a number where there is no guess.
    """
    parts = [_rounds(match, log.catalogue, convention) for match in log]
    return pd.concat(parts, ignore_index=True)


def score_matches(log: MatchLog, *, convention: str = "published", ideal: bool = True) -> pd.DataFrame:
    """A row for each match: counts of rounds by status, both rates, mean losses over the rounds that have a guess, and
    (`ideal`) the rate of the ideal observer on the same moves with the same window, where all moves are known.
    """
    rounds = score_rounds(log, convention=convention)
    rows = []
    for match in log:
        mine = rounds[rounds["match_id"] == match.match_id]
        correct = int(mine["correct"].sum())
        row = {"match_id": match.match_id, "model": match.model, "pair": "-".join(match.truth), "rounds": match.rounds}
        row |= {"scored": match.scored, "guesses": match.count("guess"), "correct": correct}
        row |= {"not_given": match.count("missing") + match.count("half"), "invalid": match.count("invalid")}
        row |= {"set_aside": match.count("set aside") + match.count("no record")}
        row |= {"rate": correct / match.rounds, "rate_scored": correct / match.scored}
        if ideal:
            row["ideal"] = ideal_rate(match, log.catalogue)
        rows.append(row | {name: mine[name].mean() for name in LOSSES})
    return pd.DataFrame(rows)


def ideal_rate(match: Match, known: Catalogue) -> float:
    """Rate among all rounds of the ideal observer on the moves of a match, window as the log's history limit; not a
    number where moves are missing.
    """
    if not match.complete:
        return float("nan")
    guesses = posterior(match.moves, known, window=match.history_limit).guesses()
    return sum(guess == match.truth for guess in guesses[match.warmup :]) / match.rounds


def score(
    log: MatchLog, *, convention: str = "published", matches: int = 1000, seed: int = 0, interval: float = 0.95
) -> pd.DataFrame:
    """A row for each model and pair: matches, rate with its standard error and interval over matches, rate_scored, the
    ceiling (ideal observer, `matches` simulated ones) with the range of single matches, the share of the ceiling
    reached, how often the ideal observer does no better (`at_most`) and no worse (`at_least`), and mean losses.

    With one match there is no error and no interval: rounds of a match are not independent. matches = 0 leaves the
    ceiling out. Matches with different settings (rounds, warm-up, window, engine) get a row each.
    """
    each = score_matches(log, convention=convention, ideal=False)
    settings = [(m.model, "-".join(m.truth), m.rounds, m.warmup, m.history_limit, m.engine or "reactive") for m in log]
    known_ceilings: dict[Any, Ceiling] = {}
    rows = []
    for setting in dict.fromkeys(settings):
        mine = each[[s == setting for s in settings]]
        row: dict[str, Any] = dict(zip((*KEYS, "rounds", "warmup", "window", "engine"), setting, strict=True))
        row |= _mean_rate(mine["rate"].to_numpy(), interval)
        row |= {"rate_scored": mine["rate_scored"].mean()}
        if matches:
            where = setting[1:]
            if where not in known_ceilings:
                known_ceilings[where] = _ceiling(log.catalogue, where, matches, seed, interval)
            row |= _against(known_ceilings[where], float(row["rate"]), len(mine))
        rows.append(row | {name: mine[name].mean() for name in LOSSES})
    return pd.DataFrame(rows)


def _rounds(match: Match, known: Catalogue, convention: str) -> pd.DataFrame:
    due = range(match.warmup, match.rounds)
    laws = outcomes(known)
    truth = laws[known.index(match.truth[0]), known.index(match.truth[1])]
    implied = np.full((len(due), 3), np.nan)
    on_truth = np.full(len(due), np.nan)
    for i, t in enumerate(due):
        stated = match.beliefs.get(t + 1, match.guesses[t])
        if stated is not None:
            one, two = (belief(side, known) for side in stated)
            implied[i] = np.einsum("i,j,ijk->k", one, two, laws)
            if t + 1 in match.beliefs:
                on_truth[i] = one[known.index(match.truth[0])] * two[known.index(match.truth[1])]
    guesses = [match.guesses[t] for t in due]
    return pd.DataFrame(
        {
            "match_id": match.match_id,
            "model": match.model,
            "pair": "-".join(match.truth),
            "round": np.array(due) + 1,
            "status": [match.statuses[t] for t in due],
            "guess": ["-".join(guess) if guess else "" for guess in guesses],
            "correct": match.correct[match.warmup :],
            "on_truth": on_truth,
            **_losses(truth, implied, convention, laws.reshape(-1, 3)),
        }
    )


def _losses(truth: Array, implied: Array, convention: str, laws: Array) -> dict[str, Array]:
    return {
        "ce": cross_entropy(truth, implied),
        "ce_floor": np.full(len(implied), cross_entropy(truth, truth)),
        "brier": brier(truth, implied),
        "ev": ev_loss(truth, implied),
        "union": union(np.broadcast_to(truth, implied.shape), implied, convention, laws),
    }


def _mean_rate(rates: Array, interval: float) -> dict[str, Any]:
    """Mean over matches with Student's interval; nothing but the mean with one match."""
    row: dict[str, Any] = {"matches": len(rates), "rate": rates.mean(), "error": np.nan, "low": np.nan, "high": np.nan}
    if len(rates) > 1:
        from scipy.stats import t

        error = rates.std(ddof=1) / np.sqrt(len(rates))
        half = error * t.ppf((1 + interval) / 2, len(rates) - 1)
        row |= {"error": error, "low": max(rates.mean() - half, 0.0), "high": min(rates.mean() + half, 1.0)}
    return row


def _ceiling(known: Catalogue, where: Any, matches: int, seed: int, interval: float) -> Ceiling:
    pair, rounds, warmup, window, engine = where
    return ceiling(
        pair, known, window=window, rounds=rounds, warmup=warmup, engine=engine, matches=matches, seed=seed,
        interval=interval,
    )  # fmt: skip


def _against(best: Ceiling, rate: float, matches: int) -> dict[str, Any]:
    """A mean rate beside the ideal observer's means over as many matches."""
    groups = max(len(best.hits) // matches, 1)
    hits = best.hits[: groups * matches] if len(best.hits) >= matches else best.hits
    means = replace(best, hits=hits.reshape(groups, -1).mean(axis=1))
    low, high = best.range
    return {
        "ceiling": best.rate,
        "ceiling_low": low,
        "ceiling_high": high,
        "share": rate / best.rate if best.rate > 0 else np.nan,
        "at_least": means.share_at_least(rate),
        "at_most": float(np.mean(means.rates <= rate + 1e-12)),
    }
