"""Observed matches: what was played, what an observer guessed, and what was set aside while reading a log."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from levelkit.observer.catalogues import Array, Catalogue
from levelkit.observer.logrules import SCHEMA
from levelkit.problems import Problems

STATUSES = ("warm-up", "guess", "half", "missing", "invalid", "set aside", "no record")
"""What a round is: before the first guess is due; a guess about both players; about one; none; about a strategy that
does not exist; a record with an error; no record at all. All but the first two count as wrong.
"""


@dataclass(frozen=True, eq=False)
class Match:
    """One match as one observer saw it.

    moves (rounds, 2): -1 where unknown. guesses: a pair of codes for rounds of status "guess". beliefs: for some rounds
    (counted from 1) probabilities over strategies for both players. confidence (rounds,): not a number where not given.
    reasoning: texts by round, counted from 1. Fields that the log does not state are None.
    """

    match_id: str
    truth: tuple[str, str]
    moves: Array
    warmup: int
    statuses: tuple[str, ...]
    guesses: tuple[tuple[str, str] | None, ...]
    confidence: Array
    reasoning: Mapping[int, str] = field(default_factory=dict)
    beliefs: Mapping[int, tuple[dict[str, float], dict[str, float]]] = field(default_factory=dict)
    model: str = ""
    history_limit: int | None = None
    reasoning_interval: int | None = None
    engine: str | None = None
    seed: int | None = None
    temperature: float | None = None
    top_p: float | None = None
    source: str = ""

    @property
    def rounds(self) -> int:
        """Rounds of the match, warm-up included, recorded or not."""
        return len(self.moves)

    @property
    def scored(self) -> int:
        """Rounds in which a guess was due."""
        return self.rounds - self.warmup

    @property
    def correct(self) -> Array:
        """Which rounds (rounds,) hold a guess that names both strategies."""
        return np.array([guess == self.truth for guess in self.guesses])

    @property
    def complete(self) -> bool:
        """Whether the moves of all rounds are known."""
        return bool((self.moves >= 0).all())

    def count(self, status: str) -> int:
        """How many rounds have a status."""
        return self.statuses.count(status)

    def lag_pairs(self, player: int) -> tuple[Array, Array]:
        """Opponent's last move and the move after it, of player 0 or 1, wherever both are known."""
        own, last = self.moves[1:, player], self.moves[:-1, 1 - player]
        both = (own >= 0) & (last >= 0)
        return last[both], own[both]


@dataclass(frozen=True, eq=False)
class MatchLog:
    """Matches in order of appearance, and the problems found while reading them."""

    matches: tuple[Match, ...]
    catalogue: Catalogue
    problems: Problems = field(default_factory=Problems)

    def __len__(self) -> int:
        return len(self.matches)

    def __iter__(self) -> Iterator[Match]:
        return iter(self.matches)

    @classmethod
    def join(cls, logs: Sequence[MatchLog]) -> MatchLog:
        """Several logs as one; a match_id that occurs twice gets its file's name before it."""
        ids = [match.match_id for log in logs for match in log]
        twice = {name for name in ids if ids.count(name) > 1}
        members = [
            replace(m, match_id=f"{m.source}:{m.match_id}") if m.match_id in twice else m for log in logs for m in log
        ]
        return cls(tuple(members), logs[0].catalogue, Problems.join([log.problems for log in logs]))

    @property
    def has_errors(self) -> bool:
        """Whether any record had an error (a code that starts with E_)."""
        return any(code.startswith("E_") for code in self.problems.codes)


def simulated(
    moves: Array,
    truth: tuple[str, str],
    guesses: Iterable[Iterable[tuple[str, str] | None]] | None = None,
    **fields: Any,
) -> list[Match]:
    """Matches of simulated moves (matches, rounds, 2), with guesses or without; `fields` go to every `Match`."""
    warmup = fields.pop("warmup", 0)
    made = []
    none: list[tuple[str, str] | None] = [None] * moves.shape[1]
    wanted = [none] * len(moves) if guesses is None else [list(g) for g in guesses]
    for i, (one, guess) in enumerate(zip(moves, wanted, strict=True), start=1):
        kept = tuple(None if t < warmup else g for t, g in enumerate(guess))
        statuses = tuple("warm-up" if t < warmup else "guess" if g else "missing" for t, g in enumerate(kept))
        blank = np.full(len(one), np.nan)
        made.append(Match(f"m{i}", truth, one, warmup, statuses, kept, blank, **fields))
    return made


def dumps(log: MatchLog) -> str:
    """A log in JSON lines, schema rps-observer/1, that `read_log` reads back."""
    return "".join(json.dumps(record, ensure_ascii=False, allow_nan=False) + "\n" for record in records(log))


def write_log(log: MatchLog, path: str | Path) -> Path:
    """Write a log as JSON lines, whole or not at all. Raises UsageError where the file cannot be written."""
    from levelkit.report.files import write_whole

    return write_whole(path, dumps(log))


def records(log: MatchLog) -> Iterator[dict[str, Any]]:
    """The records of a log: for each match a header, then its rounds; rounds without a usable record are left out."""
    for match in log:
        head: dict[str, Any] = {"schema": SCHEMA, "type": "match", "match_id": match.match_id, "model": match.model}
        head |= {"s1": match.truth[0], "s2": match.truth[1], "rounds": match.rounds, "warmup": match.warmup}
        for name in ("history_limit", "reasoning_interval", "engine"):
            head[name] = getattr(match, name)
        head["catalogue"] = log.catalogue.name
        yield head | {"seed": match.seed, "temperature": match.temperature, "top_p": match.top_p}
        for t in range(match.rounds):
            if (match.moves[t] >= 0).all():
                yield _round(match, t, log.catalogue)


def _round(match: Match, t: int, known: Catalogue) -> dict[str, Any]:
    one, two = (int(move) for move in match.moves[t])
    guess = match.guesses[t] or (None, None)
    sure = match.confidence[t]
    record = {
        "schema": SCHEMA,
        "type": "round",
        "match_id": match.match_id,
        "round": t + 1,
        "move1": one,
        "move2": two,
        "result": int(known.wins[one, two]),
        "guess_s1": guess[0],
        "guess_s2": guess[1],
        "confidence": None if np.isnan(sure) else float(sure),
        "reasoning": match.reasoning.get(t + 1),
    }
    if t + 1 in match.beliefs:
        record["p1_probs"], record["p2_probs"] = match.beliefs[t + 1]
    return record
