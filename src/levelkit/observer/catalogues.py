"""Strategies of a repeated two-player game and the win matrix they are played in; knows nothing about matches.

Every strategy is one table: the probability of each move after each last move of the opponent. A fixed mixture does not
look at the last move; a reactive rule does, and its first move is uniform.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numpy as np

from levelkit.datafiles import data_path
from levelkit.errors import DataError, UsageError

Array = np.ndarray
DEFAULT = "paper_table4"
SUM_TOLERANCE = 1e-6


@dataclass(frozen=True, eq=False)
class Strategy:
    """One strategy. `table` (n + 1, n): row l holds the move probabilities after the opponent's last move l, the last
    row those of the first move.
    """

    code: str
    name: str
    table: Array

    @classmethod
    def fixed(cls, code: str, mix: Sequence[float] | Array, name: str = "") -> Strategy:
        """A mixture that is drawn anew each round; taken as given, not rescaled.

        Raises DataError where the probabilities are negative or do not add up to one.
        """
        p = _distribution(mix, f"strategy {code}", "mix")
        return cls(code, name or code, np.tile(p, (len(p) + 1, 1)))

    @classmethod
    def reactive(cls, code: str, reply: Sequence[int] | Array, name: str = "") -> Strategy:
        """A rule of the opponent's last move: `reply[l]` is the move played after l, or the probabilities of all moves.

        Raises DataError for a reply that is no move.
        """
        given = np.asarray(reply)
        n = len(given)
        if given.ndim == 2:
            rows = np.array([_distribution(row, f"strategy {code}", "reply") for row in given])
        elif np.issubdtype(given.dtype, np.integer) and np.all((given >= 0) & (given < n)):
            rows = np.eye(n)[given]
        else:
            fix = f"Give for each of the {n} last moves the number of the move that answers it, 0 to {n - 1}"
            raise DataError(f"reply {given.tolist()} is no rule", where=f"strategy {code}", fix=fix)
        return cls(code, name or code, np.vstack([rows, np.full(n, 1 / n)]))

    @property
    def is_reactive(self) -> bool:
        """Whether the opponent's last move matters."""
        return bool(np.any(self.table[:-1] != self.table[0]))

    @property
    def kind(self) -> str:
        """pure, mixture or reactive."""
        return "reactive" if self.is_reactive else "pure" if self.table[0].max() == 1 else "mixture"

    @property
    def mix(self) -> Array:
        """Move probabilities (n,) of a strategy that is not reactive."""
        return self.table[0]

    def lapsing(self, lapse: float) -> Array:
        """The table with a reactive rule forgotten (uniform play instead) with probability `lapse` each round."""
        if not self.is_reactive:
            return self.table
        return (1 - lapse) * self.table + lapse / self.table.shape[1]


@dataclass(frozen=True, eq=False)
class Catalogue:
    """Strategies in order, and `wins` (n, n): 1, 0, -1 as player 1 wins, draws, loses with (own move, other's move)."""

    name: str
    moves: tuple[str, ...]
    wins: Array
    strategies: tuple[Strategy, ...]
    title: str = ""

    def __post_init__(self) -> None:
        n = len(self.moves)
        where = f"catalogue {self.name}"
        if n < 2 or self.wins.shape != (n, n):
            raise DataError(
                f"{n} moves but a win matrix of shape {self.wins.shape}", where=where, fix="Give a square matrix"
            )
        if not np.all(np.isin(self.wins, (-1, 0, 1))):
            fix = "Write 1 where player 1 wins, 0 for a draw, -1 for a loss"
            raise DataError("the win matrix holds something else than 1, 0 and -1", where=where, fix=fix)
        if not self.strategies:
            raise DataError("no strategy", where=where, fix="Add [[strategy]] tables")
        twins = [code for code in self.codes if self.codes.count(code) > 1]
        if twins:
            raise DataError(f"the code {twins[0]} is given twice", where=where, fix="Rename one")
        for strategy in self.strategies:
            if strategy.table.shape != (n + 1, n):
                raise DataError(f"strategy {strategy.code} is not for {n} moves", where=where)

    @property
    def n_moves(self) -> int:
        """Number of moves."""
        return len(self.moves)

    def __len__(self) -> int:
        return len(self.strategies)

    @cached_property
    def codes(self) -> tuple[str, ...]:
        """Codes in order."""
        return tuple(strategy.code for strategy in self.strategies)

    @cached_property
    def _places(self) -> dict[str, int]:
        return {code: i for i, code in enumerate(self.codes)}

    def index(self, code: str) -> int:
        """The place of a code. Raises UsageError for a code that is not in the catalogue."""
        if code not in self._places:
            near = difflib.get_close_matches(str(code).upper(), self.codes, 1)
            hint = f"; did you mean {near[0]}?" if near else f"; there are {', '.join(self.codes)}"
            raise UsageError(f"no strategy {code!r} in {self.name}{hint}")
        return self._places[code]

    def __contains__(self, code: object) -> bool:
        return isinstance(code, str) and code in self._places

    def strategy(self, which: str | Strategy | Sequence[float] | Array) -> Strategy:
        """A strategy by code, as it is, or made of the probabilities of the moves."""
        if isinstance(which, Strategy):
            return which
        if isinstance(which, str):
            return self.strategies[self.index(which)]
        return Strategy.fixed("own", which)

    def pair(self, text: str | tuple[Any, Any]) -> tuple[Any, Any]:
        """Two strategies, from ("H", "C"), "H-C", "H,C" or, with codes of one letter, "HC".

        Raises UsageError where there are not two of them or one is unknown.
        """
        if isinstance(text, str):
            parts = [part.strip() for part in text.replace("-", ",").split(",")]
            if len(parts) == 1 and len(text) == 2:
                parts = list(text)
            if len(parts) != 2:
                raise UsageError(f"{text!r} is no pair of strategies; write H-C")
        else:
            parts = list(text)
            if len(parts) != 2:
                raise UsageError(f"a pair has two strategies, not {len(parts)}")
        for part in parts:
            if isinstance(part, str):
                self.index(part)
        return parts[0], parts[1]

    def pairs(self) -> list[tuple[str, str]]:
        """All ordered pairs, player 1's strategy first and slowest."""
        return [(one, two) for one in self.codes for two in self.codes]

    def tables(self, lapse: float = 0.0) -> Array:
        """All tables (strategies, n + 1, n); `lapse` as in `Strategy.lapsing`. Raises UsageError outside 0..1."""
        if not 0 <= lapse <= 1:
            raise UsageError(f"lapse {lapse:g} is no probability")
        return np.stack([strategy.lapsing(lapse) for strategy in self.strategies])

    def replacing(self, **mixes: Sequence[float]) -> Catalogue:
        """The same with other mixtures for some codes, such as `replacing(D=[1/3, 1/3, 1/3])`."""
        new = {code: Strategy.fixed(code, mix, self.strategy(code).name) for code, mix in mixes.items()}
        members = tuple(new.get(s.code, s) for s in self.strategies)
        return replace(self, name=f"{self.name} with own {', '.join(mixes)}", strategies=members)


def catalogue(source: str | Path | Catalogue | None = None) -> Catalogue:
    """A catalogue: the 19 strategies of Rock-Paper-Scissors by default, another shipped one by name ("rpsls"), or a
    TOML file of one's own (data/observer/README.md says how it is written).

    Raises DataError where the file cannot be used, UsageError for an unknown name.
    """
    if isinstance(source, Catalogue):
        return source
    if source is None:
        return _shipped(DEFAULT)
    if isinstance(source, str) and source in shipped():
        return _shipped(source)
    path = Path(source)
    if path.suffix.lower() != ".toml":
        raise UsageError(f"no catalogue {str(source)!r}; there are {', '.join(shipped())}, or give a .toml file")
    return _read(path)


@cache
def shipped() -> tuple[str, ...]:
    """Names of the catalogues that come along."""
    return tuple(sorted(path.stem for path in data_path("observer").glob("*.toml")))


@cache
def _shipped(name: str) -> Catalogue:
    return _read(data_path(f"observer/{name}.toml"))


def _read(path: Path) -> Catalogue:
    import tomllib

    where = str(path)
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise DataError(f"cannot be read ({error.strerror})", where=where) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise DataError(f"not TOML ({error})", where=where) from None
    missing = [key for key in ("moves", "wins", "strategy") if key not in data]
    if missing:
        raise DataError(f"there is no {missing[0]!r}", where=where, fix="A catalogue has moves, wins and strategy")
    moves = tuple(str(move) for move in data["moves"])
    try:
        wins = np.array(data["wins"], dtype=np.int64)
    except (TypeError, ValueError):
        raise DataError("'wins' is no matrix of whole numbers", where=where) from None
    members = tuple(_strategy(entry, moves, where) for entry in data["strategy"])
    return Catalogue(str(data.get("name", path.stem)), moves, wins, members, str(data.get("title", "")))


def _strategy(entry: Mapping[str, Any], moves: tuple[str, ...], where: str) -> Strategy:
    code, name = str(entry.get("code", "")), str(entry.get("name", ""))
    if not code or ("mix" in entry) == ("reply" in entry):
        raise DataError(
            f"strategy {code or dict(entry)} is not whole", where=where, fix="Give code, name and either mix or reply"
        )
    if "mix" in entry:
        return Strategy.fixed(code, entry["mix"], name)
    reply = [moves.index(m) if m in moves else m for m in entry["reply"]]
    return Strategy.reactive(code, reply, name)


def _distribution(values: Any, where: str, what: str) -> Array:
    try:
        p = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise DataError(f"{what} {values!r} holds something else than numbers", where=where) from None
    if p.ndim != 1 or not np.all(np.isfinite(p)) or np.any(p < 0) or abs(p.sum() - 1) > SUM_TOLERANCE:
        raise DataError(
            f"{what} {p.tolist()} is no list of probabilities", where=where, fix="They are not below 0 and add up to 1"
        )
    return p
