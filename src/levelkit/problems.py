"""What a reader set aside or noticed: one line per kind of problem and value, however many rows it touched.

Knows nothing about games or choices. A row is set aside for one reason only, so the counts add up.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

SET_ASIDE = "set aside"
NOTED = "noted"

COLUMNS = ("severity", "code", "where", "row", "column", "value", "rows", "message", "first_rows")
"""Columns of `Problems.frame`; `row` is 0 where a problem belongs to the file as a whole."""

VALUES_KEPT = 20  # distinct values reported per kind of problem and column; the others share one line
ROWS_SHOWN = 5
VALUE_WIDTH = 60


def shorten(value: object) -> str:
    """A value as one line of at most 60 characters; a missing value shows as nothing."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    text = " ".join(str(value).replace("\0", "\\0").split())
    return text if len(text) <= VALUE_WIDTH else text[: VALUE_WIDTH - 3] + "..."


@dataclass(frozen=True)
class Problems:
    """Rows that were set aside and things worth knowing, as one tidy frame.

    `frame` has the columns `COLUMNS`: severity ("set aside" or "noted"), code (stable short name), where (the
    file), row (first 1-based line or row number), column, value, rows (how many), message, first_rows (text).
    `rows_read` counts the data rows seen; `unit` is "line" or "row", what the row numbers count.
    """

    frame: pd.DataFrame = field(default_factory=lambda: pd.DataFrame({name: [] for name in COLUMNS}))
    rows_read: int = 0
    unit: str = "row"

    def __len__(self) -> int:
        return len(self.frame)

    @classmethod
    def join(cls, parts: Sequence[Problems]) -> Problems:
        """The problems of several sources together."""
        found = [part.frame for part in parts if len(part)]
        frame = pd.concat(found, ignore_index=True) if found else cls().frame
        return cls(frame, sum(part.rows_read for part in parts), parts[0].unit)

    @property
    def n_set_aside(self) -> int:
        """How many rows were left out of the counts."""
        return self._rows(SET_ASIDE)

    @property
    def codes(self) -> tuple[str, ...]:
        """The different codes that occur, in order of report."""
        return tuple(dict.fromkeys(str(code) for code in self.frame["code"]))

    def _rows(self, severity: str) -> int:
        mine = self.frame["severity"] == severity
        return int(self.frame.loc[mine, "rows"].sum()) if len(self.frame) else 0

    def text(self) -> str:
        """The problems in plain words, a line for each kind, with counts and the first few rows."""
        if not len(self.frame):
            return "nothing was set aside, nothing to note"
        parts = []
        for severity in (SET_ASIDE, NOTED):
            lines = [self._line(row) for row in self.frame.itertuples() if row.severity == severity]
            if not lines:
                continue
            title = f"{self.n_set_aside} of {self.rows_read} rows set aside:" if severity == SET_ASIDE else "noted:"
            parts += [title, *(f"  {line}" for line in lines)]
        return "\n".join(parts)

    def _line(self, row: object) -> str:
        message, rows, first = (getattr(row, name) for name in ("message", "rows", "first_rows"))
        if not first:
            return f"{message}"
        shown = str(first).count(",") + 1
        units = self.unit if rows == 1 else f"{self.unit}s"
        more = ", ..." if rows > shown else ""
        many = "" if rows == 1 else f"{rows} rows, "
        return f"{message} ({many}{units} {first}{more})"


class ProblemLog:
    """Collects problems while a source is read; `problems()` closes it.

    `where` names the source in every line, `unit` says what row numbers count ("line" or "row").
    """

    def __init__(self, where: str, unit: str) -> None:
        self.where, self.unit = where, unit
        self._lines: list[dict[str, object]] = []

    def note(self, code: str, message: str, *, column: str = "", value: object = None) -> None:
        """Record something about the source as a whole."""
        self._append(NOTED, code, column, shorten(value), message, 0, [])

    def add(
        self,
        severity: str,
        code: str,
        column: str,
        rows: np.ndarray,
        message: str | Callable[[object], str],
        *,
        codes: np.ndarray | None = None,
        values: Sequence[object] = (),
    ) -> None:
        """Record a problem of the given rows (row numbers).

        With `codes` (one per row, pointing into `values`) the rows are grouped by value and `message` may be
        a function of the value; the first 20 values get a line each, the others share one.
        """
        if not len(rows):
            return
        if codes is None:
            self._append(severity, code, column, "", str(message), len(rows), rows[:ROWS_SHOWN])
            return
        group, seen = pd.factorize(codes)
        counts = np.bincount(group)
        for i, which in enumerate(seen[:VALUES_KEPT]):
            value = values[int(which)]
            words = message(value) if callable(message) else message
            self._append(severity, code, column, shorten(value), words, int(counts[i]), rows[group == i][:ROWS_SHOWN])
        if len(seen) > VALUES_KEPT:
            rest = rows[group >= VALUES_KEPT]
            words = f"the same with {len(seen) - VALUES_KEPT} other values"
            self._append(severity, code, column, "...", f"{code}: {words}", len(rest), rest[:ROWS_SHOWN])

    def _append(
        self, severity: str, code: str, column: str, value: str, message: str, rows: int, first: Iterable[int]
    ) -> None:
        numbers = [int(row) for row in first]
        self._lines.append(
            {
                "severity": severity,
                "code": code,
                "where": self.where,
                "row": numbers[0] if numbers else 0,
                "column": column,
                "value": value,
                "rows": rows,
                "message": message,
                "first_rows": ", ".join(str(n) for n in numbers),
            }
        )

    def problems(self, rows_read: int) -> Problems:
        """All that was recorded, rows set aside first."""
        ordered = sorted(self._lines, key=lambda line: line["severity"] != SET_ASIDE)
        frame = pd.DataFrame(ordered, columns=list(COLUMNS))
        return Problems(frame, rows_read, self.unit)
