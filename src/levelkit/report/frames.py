"""A table that is no fit (a comparison, scores, ceilings): as aligned text, and as files by suffix."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from levelkit.errors import UsageError
from levelkit.report import records, words
from levelkit.report.files import write_whole

_SEPARATORS = {".csv": ",", ".tsv": "\t"}
SUFFIXES = (*_SEPARATORS, ".json", ".parquet", ".md", ".txt")


def grid(head: Sequence[str], body: Sequence[Sequence[str]], *, indent: str = "  ", left: int = 1) -> str:
    """Rows of cells in columns; the first `left` columns are flush left, the others flush right."""
    widths = [max(words.width(row[i]) for row in [head, *body]) for i in range(len(head))]

    def line(row: Sequence[str]) -> str:
        cells = [words.pad(c, w, right=i >= left) for i, (c, w) in enumerate(zip(row, widths, strict=True))]
        return (indent + "  ".join(cells)).rstrip()

    return "\n".join(line(row) for row in [head, *body])


def plain(frame: pd.DataFrame, notes: Sequence[str] = ()) -> str:
    """A frame as it is: texts flush left, numbers rounded for people."""
    texts = [not pd.api.types.is_numeric_dtype(frame[c]) or pd.api.types.is_bool_dtype(frame[c]) for c in frame]
    shown = [
        words.plain if is_text else words.count if pd.api.types.is_integer_dtype(frame[c]) else words.number
        for c, is_text in zip(frame, texts, strict=True)
    ]
    body = [
        [show(value) for show, value in zip(shown, row, strict=True)]
        for row in frame.itertuples(index=False, name=None)
    ]
    left = texts.index(False) if False in texts else len(texts)
    return "\n".join([grid([str(c) for c in frame], body, left=left), *notes]) + "\n"


def suffix_of(path: str | Path) -> str:
    """The file's suffix, if such tables can be written so. Raises UsageError for another."""
    suffix = Path(path).suffix.lower()
    if suffix not in SUFFIXES:
        raise UsageError(f"cannot write {str(path)!r}; end it with {', '.join(SUFFIXES[:-1])} or {SUFFIXES[-1]}")
    return suffix


def write(path: str | Path, frame: pd.DataFrame, text: str, record: Any) -> Path:
    """Write the frame (csv, tsv, parquet), the record (json), or the text (txt, md)."""
    suffix = suffix_of(path)
    if suffix in _SEPARATORS:
        return write_whole(path, frame.to_csv(index=False, sep=_SEPARATORS[suffix], lineterminator="\n"))
    if suffix == ".json":
        return write_whole(path, records.dumps(record))
    if suffix == ".parquet":
        buffer = io.BytesIO()
        frame.to_parquet(buffer, index=False)
        return write_whole(path, buffer.getvalue())
    return write_whole(path, f"```\n{text}```\n" if suffix == ".md" else text)
