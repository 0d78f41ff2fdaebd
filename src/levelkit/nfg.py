"""Gambit's strategic game format (.nfg), payoff and outcome version: text to arrays and back.

Knows the format only, not `Game`. In the body the first player's strategy varies fastest. Format described at
https://gambitproject.readthedocs.io (file formats).
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

import numpy as np

from levelkit.errors import DataError, UsageError

TOKEN = re.compile(
    r"""(?P<space>[\s,]+) | (?P<open>\{) | (?P<close>\}) | "(?P<text>(?:[^"\\]|\\.)*)"
    | (?P<word>[^\s,{}"]+)""",
    re.VERBOSE | re.DOTALL,
)
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?(/\d+)?", re.ASCII)


@dataclass(frozen=True)
class StrategicGame:
    """What an .nfg file says; payoffs: one array of shape (A_1, ..., A_n) per player.

    strategies: the labels of each player, none where the file only counts them.
    """

    title: str
    players: Sequence[str]
    strategies: Sequence[Sequence[str]]
    comment: str
    payoffs: Sequence[np.ndarray]


@dataclass(frozen=True)
class _Token:
    kind: str  # open, close, text, word, end
    value: str
    line: int


class _Reader:
    """Walks through the tokens; every complaint names the file and the line."""

    def __init__(self, text: str, where: str) -> None:
        self.where = where
        self.tokens = list(self._scan(text))
        self.at = 0

    def _scan(self, text: str) -> list[_Token]:
        tokens, line, at = [], 1, 0
        while at < len(text):
            match = TOKEN.match(text, at)
            if match is None:
                raise self._error("a quoted text has no end", line, 'Close it with "')
            kind = str(match.lastgroup)
            if kind != "space":
                tokens.append(_Token(kind, match[kind], line))
            line += match[0].count("\n")
            at = match.end()
        return [*tokens, _Token("end", "", line)]

    def _error(self, what: str, line: int, fix: str = "") -> DataError:
        return DataError(what, where=f"{self.where}, line {line}" if self.where else f"line {line}", fix=fix)

    def fail(self, what: str, fix: str = "", token: _Token | None = None) -> DataError:
        """The error to raise about the next (or the given) token."""
        return self._error(what, (token or self.peek).line, fix)

    @property
    def peek(self) -> _Token:
        """The next token, not consumed."""
        return self.tokens[self.at]

    def take(self, kind: str, what: str) -> _Token:
        """The next token, which must be of the given kind."""
        token = self.peek
        if token.kind != kind:
            found = {"end": "the file ends", "open": "there is {", "close": "there is }"}.get(
                token.kind, f"there is '{token.value}'"
            )
            raise self.fail(f"expected {what}, but {found}")
        self.at += 1
        return token

    def skip(self, kind: str) -> bool:
        """Consume the next token if it is of the given kind."""
        if self.peek.kind != kind:
            return False
        self.at += 1
        return True

    def optional_text(self) -> str:
        """The next token if it is a quoted text, else nothing (some writers leave the title out)."""
        return _unescape(self.take("text", "a text").value) if self.peek.kind == "text" else ""

    def texts(self, what: str) -> list[str]:
        """A list of quoted texts in braces."""
        self.take("open", f"{{ before the {what}")
        found = []
        while not self.skip("close"):
            found.append(_unescape(self.take("text", f"the {what} in quotes").value))
        return found

    def number(self, what: str) -> float:
        """A decimal, scientific or rational number."""
        token = self.take("word", what)
        match = NUMBER.fullmatch(token.value)
        if match is None:
            raise self.fail(f"'{token.value}' is not a number", "Write 3, -0.5, 1e-3 or 1/3", token)
        try:
            value = float(_fraction(token.value)) if match[3] else float(token.value)
        except ZeroDivisionError:
            raise self.fail(f"'{token.value}' divides by zero", token=token) from None
        except OverflowError:
            value = math.inf
        if not math.isfinite(value):
            raise self.fail(f"'{token.value}' is too large", token=token)
        return value

    def whole(self, what: str) -> int:
        """A whole number from 0."""
        token = self.take("word", what)
        if not (token.value.isascii() and token.value.isdigit()):
            raise self.fail(f"{what} must be a whole number, not '{token.value}'", token=token)
        return int(token.value)


def _fraction(text: str) -> Fraction:
    above, below = text.split("/")
    return Fraction(Decimal(above)) / int(below)


def _unescape(text: str) -> str:
    return text.replace('\\"', '"')


def parse(text: str, where: str = "") -> StrategicGame:
    """The game in an .nfg text; raises DataError naming file and line where it breaks the format."""
    reader = _Reader(text, where)
    _prologue(reader)
    title = reader.optional_text()
    players = reader.texts("player names")
    if not players:
        raise reader.fail("there are no players")
    strategies, shape = _strategies(reader, players)
    comment = reader.optional_text()
    if reader.peek.kind == "open":
        flat = _by_outcome(reader, len(players), math.prod(shape))
    else:
        flat = _by_payoff(reader, len(players), math.prod(shape))
    payoffs = [flat[:, i].reshape(shape, order="F") for i in range(len(players))]
    return StrategicGame(title, players, strategies, comment, payoffs)


def _prologue(reader: _Reader) -> None:
    if reader.peek.value != "NFG":
        raise reader.fail("this is no Gambit strategic game", "The file must begin with NFG 1 R")
    reader.at += 1
    if reader.peek.value != "1":
        raise reader.fail(f"format version '{reader.peek.value}' is unknown", "Version 1 is read")
    reader.at += 1
    if reader.peek.value not in {"R", "D"}:
        raise reader.fail(f"'{reader.peek.value}' stands where R or D must", "Begin with NFG 1 R")
    reader.at += 1


def _strategies(reader: _Reader, players: Sequence[str]) -> tuple[list[list[str]], tuple[int, ...]]:
    """Labels (none where there is only a count) and number of strategies of each player."""
    reader.take("open", "{ before the strategies")
    labels: list[list[str]] = []
    counts: list[int] = []
    while not reader.skip("close"):
        listed = reader.peek.kind == "open"
        labels.append(reader.texts("strategy labels") if listed else [])
        counts.append(len(labels[-1]) if listed else reader.whole("the number of strategies"))
        if not counts[-1]:
            raise reader.fail(f"player {len(counts)} has no strategies")
    if len(counts) != len(players):
        raise reader.fail(f"{len(players)} players, but strategies for {len(counts)}")
    return labels, tuple(counts)


def _by_payoff(reader: _Reader, n: int, profiles: int) -> np.ndarray:
    """Payoffs (profiles, n) of the payoff version."""
    left = len(reader.tokens) - reader.at - 1
    if left != profiles * n:
        raise reader.fail(
            f"{left} payoffs, but {profiles} profiles of {n} players need {profiles * n}",
            "List every profile, the first player's strategy varying fastest",
        )
    return np.array([reader.number("a payoff") for _ in range(left)]).reshape(profiles, n)


def _by_outcome(reader: _Reader, n: int, profiles: int) -> np.ndarray:
    """Payoffs (profiles, n) of the outcome version; outcome 0 pays nothing to anybody."""
    reader.take("open", "{ before the outcomes")
    table = [[0.0] * n]
    while not reader.skip("close"):
        start = reader.take("open", "{ before an outcome")
        reader.take("text", "the outcome's name in quotes")
        row = []
        while not reader.skip("close"):
            row.append(reader.number("a payoff"))
        if len(row) != n:
            raise reader.fail(f"outcome {len(table)} has {len(row)} payoffs for {n} players", token=start)
        table.append(row)
    left = len(reader.tokens) - reader.at - 1
    if left != profiles:
        raise reader.fail(
            f"{left} outcome numbers, but there are {profiles} profiles",
            "List every profile, the first player's strategy varying fastest",
        )
    chosen = []
    for _ in range(profiles):
        token = reader.peek
        index = reader.whole("an outcome number")
        if index >= len(table):
            raise reader.fail(f"outcome {index} is not among the {len(table) - 1} listed", token=token)
        chosen.append(index)
    return np.array(table)[chosen]


def render(game: StrategicGame, name: str) -> str:
    """The text of an .nfg file, payoff version, one line per block of the first player's strategies.

    Raises UsageError, naming the game, for a text that the format cannot hold.
    """

    def quoted(text: str) -> str:
        if text.endswith("\\") or '\\"' in text:
            raise UsageError(
                f"game '{name}': '{text}' has a backslash before a quote or at its end, "
                "which .nfg cannot hold; write .toml instead"
            )
        return '"' + text.replace('"', '\\"') + '"'

    def listed(texts: Sequence[str]) -> str:
        return "{ " + " ".join(map(quoted, texts)) + " }"

    flat = np.stack([own.ravel(order="F") for own in game.payoffs], axis=1)
    block = game.payoffs[0].shape[0]
    lines = [
        " ".join(_decimal(float(x)) for x in flat[start : start + block].ravel())
        for start in range(0, len(flat), block)
    ]
    head = f"NFG 1 R {quoted(game.title)} {listed(game.players)}\n\n"
    strategies = "{ " + "\n  ".join(map(listed, game.strategies)) + "\n}\n"
    return head + strategies + quoted(game.comment) + "\n\n" + "\n".join(lines) + "\n"


def _decimal(value: float) -> str:
    # without an exponent, which not every reader of the format takes; all digits are kept
    return format(Decimal(repr(value)), "f").removesuffix(".0")
