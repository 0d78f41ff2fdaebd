"""What a value means: which game, which player, which action. Works on unique values; never guesses.

Numbers may come as int, float, Decimal, Fraction, numpy scalar or text: 1, 1.0, "1" and "1.0" mean the same.
"""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from numbers import Real
from typing import Any

from levelkit.errors import LevelkitError
from levelkit.games import Game
from levelkit.readers.raw import Nested

WHOLE = re.compile(r"[+-]?[0-9]+(\.0*)?")
NUMBER = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?")
NOTHING = frozenset({"", "nan", "na", "n/a", "none", "null", "<na>"})
ROLES = {"row": 1, "col": 2, "column": 2}
LARGEST_COUNT = 1e15


@dataclass(frozen=True)
class Value:
    """A value as read: kind is "nothing", "bool", "whole", "number" or "text"."""

    kind: str
    text: str
    number: float = math.nan


def parse(value: Any) -> Value:
    """The value of one field, whatever its type."""
    if value is None:
        return Value("nothing", "")
    if isinstance(value, bool):
        return Value("bool", str(value))
    if isinstance(value, Nested):
        return Value("text", value)
    if isinstance(value, str):
        return _parse_text(value.strip())
    if isinstance(value, int):
        return _whole(value, str(value))
    if isinstance(value, Real | Decimal):
        return _parse_number(value)
    return _parse_text(str(value).strip())


def _parse_text(text: str) -> Value:
    low = text.casefold()
    if low in NOTHING:
        return Value("nothing", text)
    if low in {"true", "false"}:
        return Value("bool", text)
    if WHOLE.fullmatch(text):
        return _whole(int(text.split(".")[0]), text)
    if NUMBER.fullmatch(text) or low.lstrip("+-") in {"inf", "infinity"}:
        return Value("number", text, float(text))
    return Value("text", text)


def _whole(number: int, text: str) -> Value:
    if abs(number) >= 2**53:
        return Value("number", text, math.copysign(math.inf, number))
    return Value("whole", text, float(number))


def _parse_number(value: Real | Decimal) -> Value:
    try:
        number = float(value)
    except (OverflowError, ValueError):
        return Value("number", str(value), math.inf)
    if math.isnan(number):
        return Value("nothing", "nan")
    if math.isfinite(number) and number.is_integer() and _exact(value, number):
        return _whole(int(number), str(int(number)))
    return Value("number", str(value), number)


def _exact(value: Real | Decimal, number: float) -> bool:
    return not isinstance(value, Decimal | Fraction) or value == int(number)


def near(text: str, names: Sequence[str]) -> str:
    """ " (did you mean ...?)" when a known name is close, else nothing."""
    close = difflib.get_close_matches(text, names, 3, 0.6)
    if not close:
        lower = {name.casefold(): name for name in reversed(names)}
        close = [lower[name] for name in difflib.get_close_matches(text.casefold(), list(lower), 3, 0.6)]
    return f" (did you mean {' or '.join(repr(name) for name in close)}?)" if close else ""


def game_named(value: Any, games: Mapping[str, Game]) -> str | None:
    """The name of the game that `value` names (exact, else the only one alike but for case), or None."""
    text = parse(value).text
    if text in games:
        return text
    same = [name for name in games if name.casefold() == text.casefold()]
    return same[0] if len(same) == 1 else None


def player_index(value: Value, game: Game) -> int | None:
    """The agent that a value names: 1, 2, ..., "player 1", its own name, "row" or "col"; else None."""
    if value.kind in {"nothing", "bool", "number"}:
        return None
    asked: int | str = int(value.number) if value.kind == "whole" else value.text
    try:
        return int(game.player_index(asked))
    except LevelkitError:
        role = ROLES.get(value.text.casefold(), 0)
        return role - 1 if 0 < role <= game.n_players and game.n_players == 2 else None


@dataclass(frozen=True)
class Actions:
    """What values mean as actions of one player: index >= 0 by value, or a problem code ("" = none).

    Codes: no_choice, unparsed (text that is no label, a no choice too), boolean_action, action_outside,
    mixed_action (see `read_actions`).
    """

    index: list[int]
    code: list[str]
    ambiguous: list[int]  # places of values that were read as labels and could have been other indices
    by_index: bool  # numbers were read as indices although the labels are numbers


def read_actions(values: Sequence[Value], labels: Sequence[str], mode: str = "auto") -> Actions:
    """The actions that `values` name among `labels`.

    A value that is a label is that action. Otherwise a whole number from 0 is an index, unless the labels
    are numbers and other values of the same player are such labels (then it may be an answer off the set).
    mode: "auto" (this rule), "label" (labels only), "index" (whole numbers are always indices).
    """
    exact = {label: i for i, label in enumerate(labels)}
    folded: dict[str, list[int]] = {}
    numbers: dict[float, int] = {}
    for i, label in enumerate(labels):
        folded.setdefault(label.casefold(), []).append(i)
        seen = parse(label)
        if seen.kind in {"whole", "number"}:
            numbers.setdefault(seen.number, i)
    shifted = any(number != i for number, i in numbers.items())  # labels are numbers, but not the indices

    def label_of(value: Value) -> int | None:
        if value.text in exact and value.text:
            return exact[value.text]
        if value.kind in {"whole", "number"}:
            return numbers.get(value.number)
        same = folded.get(value.text.casefold(), []) if value.text else []
        return same[0] if len(same) == 1 else None

    named = [label_of(value) for value in values]
    places = [int(v.number) if v.kind == "whole" and 0 <= v.number < len(labels) else None for v in values]
    if mode == "index":
        named = [None if value.kind in {"whole", "number"} else name for value, name in zip(values, named, strict=True)]
    if mode == "label":
        places = [None] * len(values)
    pairs = list(zip(values, named, places, strict=True))
    by_label = shifted and any(v.kind in {"whole", "number"} and name is not None for v, name, _ in pairs)
    index, code, ambiguous = [], [], []
    for at, (value, name, place) in enumerate(pairs):
        problem = ""
        if name is not None:
            if place is not None and place != name:
                ambiguous.append(at)
        elif value.kind == "nothing":
            problem = "no_choice"
        elif value.kind == "bool":
            problem = "boolean_action"
        elif place is not None:
            problem = "mixed_action" if by_label else ""
        elif value.kind in {"whole", "number"}:
            problem = "action_outside"
        else:
            problem = "unparsed"
        chosen = name if name is not None else place
        index.append(-1 if problem or chosen is None else chosen)
        code.append(problem)
    read_by_index = shifted and any(i >= 0 and name is None for i, (_, name, _) in zip(index, pairs, strict=True))
    return Actions(index, code, ambiguous, read_by_index)


def read_count(value: Any) -> tuple[float, str]:
    """A count and a problem code: "" or missing_count, count_not_number, negative_count, infinite_count."""
    seen = parse(value)
    if seen.kind == "nothing":
        return math.nan, "missing_count"
    if seen.kind in {"bool", "text"}:
        return math.nan, "count_not_number"
    if seen.number < 0:
        return math.nan, "negative_count"
    if not seen.number <= LARGEST_COUNT:
        return math.nan, "infinite_count"
    return seen.number, ""
