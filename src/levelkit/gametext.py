"""A game from a matrix as people paste it: rows on lines, an entry for each column.

An entry is one number (a symmetric game: the row player's payoffs) or two joined by a comma or a slash, the row
player's first. Entries are parted by blanks, tabs, semicolons or bars.
"""

from __future__ import annotations

import math
import re

import numpy as np

from levelkit.errors import DataError
from levelkit.games import Game

MOST_ACTIONS = 30
_JOINT = re.compile(r"\s*[,/]\s*")
_APART = re.compile(r"[\s;|]+")


def game_from_matrix(text: str, name: str = "my game", where: str = "the matrix") -> Game:
    """A two-player game from pasted text. Raises DataError that names the row and the entry.

    >>> game_from_matrix("1,-1 -1,1\\n-1,1 1,-1").shape
    (2, 2)
    >>> game_from_matrix("3 0\\n5 1").symmetric
    True
    """
    rows = [_entries(line, i, where) for i, line in enumerate(_lines(text), start=1)]
    if not rows:
        raise DataError("there is nothing in it", where=where, fix="Write one line for each row, such as 3,3 0,5")
    if max(len(rows), len(rows[0])) > MOST_ACTIONS:
        raise DataError(f"more than {MOST_ACTIONS} actions", where=where, fix="Put the game into a .nfg or .toml file")
    kinds = {len(entry) for row in rows for entry in row}
    odd = next((i for i, row in enumerate(rows, start=1) if len(row) != len(rows[0])), None)
    if odd is not None:
        fix = f"Every row needs {len(rows[0])} of them, as the first has"
        raise DataError(f"row {odd} has {_entries_in_words(len(rows[odd - 1]))}", where=where, fix=fix)
    if len(rows[0]) == 1:
        fix = "Part columns by blanks; a comma joins the two players' payoffs of one entry"
        raise DataError("there is one entry in each row", where=where, fix=fix)
    if len(kinds) > 1:
        fix = "Give one number everywhere (a symmetric game) or two everywhere, such as 3,5"
        raise DataError("some entries are one number, others are two", where=where, fix=fix)
    payoffs = np.array(rows)
    if kinds == {1}:
        if len(rows) != len(rows[0]):
            fix = "A symmetric game is square; give both players' payoffs, such as 3,5"
            raise DataError(f"{len(rows)} rows of {_entries_in_words(len(rows[0]))}", where=where, fix=fix)
        return Game.symmetric(name, payoffs[..., 0])
    return Game.bimatrix(name, payoffs[..., 0], payoffs[..., 1])


def _lines(text: str) -> list[str]:
    """Rows that hold something; brackets and a comma or semicolon at a row's end say nothing."""
    lines = [re.sub(r"[\[\](){}]", " ", line).strip().strip(",;| \t") for line in text.splitlines()]
    return [line for line in lines if line]


def _entries(line: str, row: int, where: str) -> list[tuple[float, ...]]:
    return [_entry(part, row, k, where) for k, part in enumerate(_APART.split(_JOINT.sub(",", line)), start=1)]


def _entry(text: str, row: int, column: int, where: str) -> tuple[float, ...]:
    parts = text.split(",")
    try:
        numbers = tuple(float(part) for part in parts)
    except ValueError:
        numbers = ()
    if len(numbers) not in (1, 2) or not all(map(math.isfinite, numbers)):
        fix = "Write a number, or two with a comma between them; columns are parted by blanks"
        raise DataError(f"row {row}, entry {column} is {text[:40]!r}", where=where, fix=fix)
    return numbers


def _entries_in_words(n: int) -> str:
    return "1 entry" if n == 1 else f"{n} entries"
