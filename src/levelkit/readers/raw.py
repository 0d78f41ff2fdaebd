"""A table as it was found: columns of unique values and codes, with the row numbers a user can look up.

Everything after this works on unique values, so a million rows cost little more than their reading.
Unique values stand in order of first appearance; 1, 1.0, True and "1" stay apart here.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from levelkit.problems import ProblemLog


class Nested(str):
    """Text of a value that was a list or a mapping: no name of anything, but fit to be shown."""


@dataclass(frozen=True)
class Column:
    """One column: `values` are its different values, `codes` says for each row which."""

    codes: np.ndarray
    values: list[Any]


@dataclass(frozen=True)
class RawTable:
    """Columns by name, row numbers (1-based, `log.unit` says of what) and the log of problems so far.

    `rows_read` counts all data rows, those already set aside included.
    """

    columns: dict[str, Column]
    rows: np.ndarray
    rows_read: int
    log: ProblemLog


class Factor:
    """Numbers values by first appearance, chunk after chunk."""

    def __init__(self) -> None:
        self._place: dict[Any, int] = {}
        self.values: list[Any] = []
        self._chunks: list[np.ndarray] = []

    def extend(self, values: Sequence[Any], *, text_only: bool = False) -> None:
        """Append the codes of `values`; `text_only` promises that all of them are str."""
        if text_only or _safe(set(map(type, values))):
            # Values that are equal only if they are the same: look each different one up once.
            place = {value: self._code(_key(value)) for value in dict.fromkeys(values)}
            codes = np.fromiter(map(place.__getitem__, values), dtype=np.int64, count=len(values))
        else:
            codes = np.fromiter((self._code(_key(value)) for value in values), dtype=np.int64, count=len(values))
        self._chunks.append(codes)

    def _code(self, key: Any) -> int:
        code = self._place.setdefault(key, len(self.values))
        if code == len(self.values):
            self.values.append(key if type(key) is str else key[1])
        return code

    def column(self) -> Column:
        """The finished column."""
        codes = np.concatenate(self._chunks) if self._chunks else np.zeros(0, dtype=np.int64)
        return Column(codes, self.values)


def _safe(kinds: set[type]) -> bool:
    """Whether values of these types are equal in Python only when they mean the same."""
    return kinds <= {str, type(None), int} or kinds <= {str, type(None), float} or kinds <= {str, type(None), bool}


def _key(value: Any) -> Any:
    """A dictionary key that tells 1, 1.0, True and "1" apart; plain text is its own key."""
    kind = type(value)
    if kind is str:
        return value
    if isinstance(value, str):
        return (Nested if kind is Nested else str, value)
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if value is None or value is pd.NA or value is pd.NaT:
        return (None, None)
    if isinstance(value, np.generic):
        value = value.item()
        kind = type(value)
    if kind is float and math.isnan(value):
        return (float, math.nan)  # one object, so that the keys are the same
    try:
        hash(value)
    except TypeError:
        return (Nested, Nested(repr(value)))
    return (Nested, Nested(repr(value))) if isinstance(value, tuple | frozenset) else (kind, value)


def factor_object(values: Iterable[Any]) -> Column:
    """A column of Python objects of any kinds."""
    factor = Factor()
    factor.extend(list(values))
    return factor.column()


def factor_series(series: pd.Series[Any]) -> Column:
    """A column of a data frame, whatever its type; missing values become None, or nan in float columns."""
    if series.dtype == object:
        return factor_object(series.tolist())
    codes, seen = pd.factorize(series)
    values = [_plain(value) for value in seen.tolist()]
    if len(codes) and (codes < 0).any():
        codes = np.where(codes < 0, len(values), codes)
        values.append(math.nan if series.dtype.kind == "f" else None)
    return Column(codes.astype(np.int64), values)


def _plain(value: Any) -> Any:
    """A value as plain Python: numpy scalars unpacked, dates as text."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, pd.Timestamp | pd.Timedelta | pd.Period | pd.Interval):
        return str(value)
    return value
