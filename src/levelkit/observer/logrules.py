"""What a record of an observer's log has to be (schema rps-observer/1), and the code of every way it can fail.

Pure checks of dictionaries: no file is read here and nothing is scored.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from levelkit.observer.catalogues import Catalogue
from levelkit.observer.engine import ENGINES
from levelkit.problems import shorten

SCHEMA = "rps-observer/1"
PROBS_TOLERANCE = 1e-6
MOST_ROUNDS = 1_000_000

CODES = {
    "E_JSON": "{}",
    "E_SCHEMA": f"schema and type must be {SCHEMA!r} and 'match' or 'round', not {{}}",
    "E_MISSING": "the header of a match lacks {}",
    "E_NO_MATCH_HEADER": "no usable header of match {} stands before this round",
    "E_DUP_MATCH": "a second header of match {}",
    "E_FIELD": "{} is not allowed here",
    "E_STRATEGY": "{} is no strategy of the catalogue",
    "E_ENGINE": "{} is no engine; there are " + ", ".join(ENGINES),
    "E_WARMUP": "the warm-up {} is not a whole number below the number of rounds",
    "E_TOP_P": "top_p {} is not in (0, 1]",
    "E_ROUND_RANGE": "round {} is not one of the rounds of its match",
    "E_ROUND_DUP": "round {} stands here a second time",
    "E_ROUND_GAP": "rounds do not follow one another: {}",
    "E_MOVE": "{} is no move",
    "E_RESULT_MISMATCH": "the result {} is not what these moves give",
    "E_IMPOSSIBLE_MOVE": "the declared strategy never plays this move: {}",
    "E_CONFIDENCE": "confidence {} is not between 0 and 1",
    "E_PROBS_SUM": "{} is not a probability for every strategy, with sum 1",
    "E_GUESS_CODE": "the guess {} is no strategy of the catalogue; it counts as wrong",
    "W_GUESS_CASE": "the guess {} is read in capital letters",
    "W_GUESS_IN_WARMUP": "the guess {} in the warm-up does not count",
    "W_HALF_GUESS": "a guess about one player only ({}) counts as wrong",
    "W_REASONING_OFF_SCHEDULE": "reasoning at round {}, neither a multiple of reasoning_interval nor the last",
    "W_ENGINE_IID": "engine 'reactive' is declared, but {}",
    "W_CATALOGUE": "the log was made with catalogue {}; it is read with another",
    "W_LOSS_MISMATCH": "a loss in the file differs from the released convention computed again: {}",
    "W_UNKNOWN_FIELD": "the field {} is not part of the schema; it is kept and not used",
    "W_EMPTY_LINE": "empty lines are passed over",
}
"""Every code and what it says; {} is the value that gave rise to it. E_: the record is not scored. W_: noted."""

_COMMON = frozenset({"schema", "type", "match_id"})
SETTINGS = frozenset({"rounds", "warmup", "history_limit", "reasoning_interval", "seed", "temperature", "top_p"})
HEADER_FIELDS = _COMMON | SETTINGS | {"model", "s1", "s2", "engine", "catalogue"}
MOVES = frozenset({"round", "move1", "move2", "result", "history_used"})
GUESS = frozenset({"guess_s1", "guess_s2", "confidence", "reasoning", "p1_probs", "p2_probs", "error"})
ROUND_FIELDS = _COMMON | MOVES | GUESS
REQUIRED = ("match_id", "s1", "s2", "rounds", "warmup")
KEEP_MOVES = frozenset({"E_ROUND_GAP", "E_CONFIDENCE", "E_PROBS_SUM", "E_GUESS_CODE"})
"""Errors that spoil the guess of a round, not its moves."""


@dataclass(frozen=True)
class Fault:
    """One thing wrong with a record: code, field, and the value that shows it."""

    code: str
    column: str = ""
    value: object = None

    @property
    def is_error(self) -> bool:
        """Whether the record is not scored."""
        return self.code.startswith("E_")

    @property
    def shown(self) -> str:
        """The value as one short line; a code or name in quotes."""
        one_word = isinstance(self.value, str) and " " not in self.value
        return shorten(repr(self.value) if one_word else self.value)


def message(code: str, shown: object) -> str:
    """What a code says about a value."""
    return f"{code}: {CODES[code].format(shown)}"


def header_faults(record: Mapping[str, Any], known: Catalogue) -> Iterator[Fault]:
    """Everything wrong with the header of a match, in order of weight."""
    missing = [name for name in REQUIRED if record.get(name) is None]
    if missing:
        yield Fault("E_MISSING", missing[0], ", ".join(missing))
        return
    for name in ("s1", "s2"):
        if record[name] not in known:
            yield Fault("E_STRATEGY", name, record[name])
    if not is_whole(record["rounds"], 1, MOST_ROUNDS):
        yield Fault("E_FIELD", "rounds", f"rounds {record['rounds']}")
    elif not is_whole(record["warmup"], 0, record["rounds"] - 1):
        yield Fault("E_WARMUP", "warmup", record["warmup"])
    for name in ("history_limit", "reasoning_interval"):
        if record.get(name) is not None and not is_whole(record[name], 1):
            yield Fault("E_FIELD", name, f"{name} {record[name]}")
    if record.get("engine") not in (None, *ENGINES):
        yield Fault("E_ENGINE", "engine", record["engine"])
    top_p = record.get("top_p")
    if top_p is not None and not (_is_number(top_p) and 0 < top_p <= 1):
        yield Fault("E_TOP_P", "top_p", top_p)
    if record.get("catalogue") not in (None, known.name):
        yield Fault("W_CATALOGUE", "catalogue", record["catalogue"])
    yield from _unknown(record, HEADER_FIELDS)


def place_faults(record: Mapping[str, Any], rounds: int, last: int, taken: set[int]) -> Iterator[Fault]:
    """Whether the round stands where it belongs. last: the round seen before it; taken: rounds already recorded."""
    number = record.get("round")
    if not is_whole(number, 1, rounds):
        yield Fault("E_ROUND_RANGE", "round", number)
    elif number in taken:
        yield Fault("E_ROUND_DUP", "round", number)
    elif number not in (last, last + 1):  # the last one again, if its record had an error
        yield Fault("E_ROUND_GAP", "round", f"{number} after {last}")


def move_faults(record: Mapping[str, Any], codes: tuple[str, str], known: Catalogue) -> Iterator[Fault]:
    """Whether the moves are moves, give the result, and can come from the declared strategies."""
    moves: list[Any] = [record.get(name) for name in ("move1", "move2")]
    for name, move in zip(("move1", "move2"), moves, strict=True):
        if not is_whole(move, 0, known.n_moves - 1):
            yield Fault("E_MOVE", name, move)
            return
    result = record.get("result")
    if result is not None and not (is_whole(result, -1, 1) and result == known.wins[moves[0], moves[1]]):
        yield Fault("E_RESULT_MISMATCH", "result", result)
    for name, code, move in zip(("move1", "move2"), codes, moves, strict=True):
        strategy = known.strategy(code)
        if not strategy.is_reactive and strategy.mix[move] == 0:
            yield Fault("E_IMPOSSIBLE_MOVE", name, f"{code} plays {known.moves[move]}")


def guess_faults(record: Mapping[str, Any], header: Mapping[str, Any], known: Catalogue) -> Iterator[Fault]:
    """What is to be said about the guess, the probabilities and the reasoning of a round that stands in its place."""
    number, guess = record["round"], [record.get("guess_s1"), record.get("guess_s2")]
    confidence = record.get("confidence")
    if confidence is not None and not (_is_number(confidence) and 0 <= confidence <= 1):
        yield Fault("E_CONFIDENCE", "confidence", confidence)
    for name in ("p1_probs", "p2_probs"):
        if record.get(name) is not None and not is_belief(record[name], known):
            yield Fault("E_PROBS_SUM", name, name)
    if number <= header["warmup"]:
        if guess != [None, None]:
            yield Fault("W_GUESS_IN_WARMUP", "guess_s1", "-".join(str(code) for code in guess))
    else:
        for name, code in zip(("guess_s1", "guess_s2"), guess, strict=True):
            if code is not None and repaired(code, known) is None:
                yield Fault("E_GUESS_CODE", name, code)
            elif code is not None and repaired(code, known) != code:
                yield Fault("W_GUESS_CASE", name, code)
        if (guess[0] is None) != (guess[1] is None):
            yield Fault("W_HALF_GUESS", "guess_s1", next(code for code in guess if code is not None))
    interval = header.get("reasoning_interval")
    if record.get("reasoning") and interval and number % interval and number != header["rounds"]:
        yield Fault("W_REASONING_OFF_SCHEDULE", "reasoning", number)
    yield from _unknown(record, ROUND_FIELDS)


def repaired(code: object, known: Catalogue) -> str | None:
    """A guess as a code of the catalogue, upper and lower case forgiven; None where it is none."""
    if not isinstance(code, str):
        return None
    return code if code in known else next((c for c in known.codes if c.casefold() == code.strip().casefold()), None)


def is_belief(probs: object, known: Catalogue) -> bool:
    """Whether this is a probability for each strategy by code, none missing, with sum 1."""
    if not isinstance(probs, Mapping) or set(probs) != set(known.codes):
        return False
    values = list(probs.values())
    return all(_is_number(p) and p >= 0 for p in values) and abs(sum(values) - 1) <= PROBS_TOLERANCE


def is_whole(value: object, low: int, high: float = math.inf) -> bool:
    """Whether this is a whole number in a range; true and false are none."""
    return isinstance(value, int) and not isinstance(value, bool) and low <= value <= high


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _unknown(record: Mapping[str, Any], fields: frozenset[str]) -> Iterator[Fault]:
    for name in record:
        if name not in fields:
            yield Fault("W_UNKNOWN_FIELD", str(name), str(name))
