"""Parts of a study as sheets, files and figures."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from levelkit.report import records, sheets, words
from levelkit.report.sheets import Sheet

if TYPE_CHECKING:
    from levelkit.studies.base import Part


def sheet(part: Part) -> Sheet:
    """A part as a reader sees it."""
    columns = list(part.heads)
    cells = []
    for values in part.frame[columns].itertuples(index=False, name=None):
        cells.append([_cell(v, part.digits.get(c)) for c, v in zip(columns, values, strict=True)])
    return Sheet(part.title, list(part.heads.values()), cells, list(part.notes), left=part.left)


def _cell(value: Any, digits: int | None) -> str:
    if isinstance(value, str):
        return value
    if value is None or pd.isna(value):
        return ""
    if digits is None:
        return words.number(value)
    return f"{value:.{digits}f}"


def text(parts: Sequence[Part]) -> str:
    """All parts as text."""
    return sheets.shown([sheet(p) for p in parts], "text")


def record(parts: Sequence[Part]) -> dict[str, Any]:
    """All parts as plain data for JSON."""
    return {p.name: {"title": p.title, "rows": records.rows(p.frame), "notes": list(p.notes)} for p in parts}


def write(parts: Sequence[Part], path: str | Path) -> Path:
    """Write all parts; csv, tsv and parquet hold their frames below one another, with a column part."""
    frame = pd.concat([p.frame.assign(part=p.name) for p in parts], ignore_index=True)
    return sheets.write(
        path, frame, lambda format: sheets.shown([sheet(p) for p in parts], format), lambda: record(parts)
    )


def draw(parts: Sequence[Part], folder: str | Path) -> list[Path]:
    """Write the figures of all parts that have one into a folder, which is made if need be, as <part>.svg."""
    from levelkit.report.plots import style

    Path(folder).mkdir(parents=True, exist_ok=True)
    return [style.save(p.figure(), Path(folder) / f"{p.name}.svg") for p in parts if p.figure is not None]
