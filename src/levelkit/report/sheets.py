"""A table with a title and notes, as text, markdown, LaTeX or data: what every result that is not a fit is shown as."""

from __future__ import annotations

import io
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

from levelkit.errors import UsageError
from levelkit.report import records, words
from levelkit.report.files import write_whole

SUFFIXES = (".csv", ".tsv", ".json", ".parquet", ".md", ".tex", ".txt")
NO_LATEX = tuple(s for s in SUFFIXES if s != ".tex")
_WIDTH = 88


@dataclass(frozen=True, eq=False)
class Sheet:
    """What is shown: a title, heads and cells (texts), and notes in plain words.

    left: how many of the first columns hold words. rules: rows before which a line is drawn.
    """

    title: str
    heads: Sequence[str]
    cells: Sequence[Sequence[str]]
    notes: Sequence[str] = ()
    left: int = 1
    rules: Sequence[int] = field(default=())

    def text(self, width: int = _WIDTH) -> str:
        """As text; tables may be wider than `width`, words are not."""
        rows = [list(self.heads), *map(list, self.cells)]
        sizes = [max(words.width(row[i]) for row in rows) for i in range(len(self.heads))]

        def line(row: Sequence[str]) -> str:
            return "  ".join(words.pad(c, s, i >= self.left) for i, (c, s) in enumerate(zip(row, sizes, strict=True)))

        rule = "-" * (sum(sizes) + 2 * (len(sizes) - 1))
        body: list[str] = []
        for i, row in enumerate(self.cells):
            body += [rule] if i in self.rules else []
            body.append(line(row).rstrip())
        table = [rule, line(self.heads).rstrip(), rule, *body, rule] if body else []
        out = [*textwrap.wrap(self.title, width), *table]
        for note in self.notes:
            out += textwrap.wrap(note, width, initial_indent="* ", subsequent_indent="  ", break_on_hyphens=False)
        return "\n".join(out) + "\n"

    def markdown(self) -> str:
        """As a markdown table."""
        from levelkit.report.tables import markdown_escape as md

        head = "| " + " | ".join(map(md, self.heads)) + " |"
        marks = "|" + "|".join("---" if i < self.left else "---:" for i in range(len(self.heads))) + "|"
        body = ["| " + " | ".join(map(md, row)) + " |" for row in self.cells]
        notes = [f"- {md(note)}" for note in self.notes]
        return "\n".join([f"**{md(self.title)}**", "", head, marks, *body, *([""] if notes else []), *notes]) + "\n"

    def latex(self) -> str:
        """As a LaTeX table; needs the package booktabs, and longtable where there are more than 40 rows."""
        from levelkit.report.latex import assemble, escape

        columns = "@{}" + "l" * self.left + "r" * (len(self.heads) - self.left) + "@{}"
        body: list[str] = []
        for i, row in enumerate(self.cells):
            body += [r"\midrule"] if i in self.rules else []
            body.append(" & ".join(map(escape, row)) + r" \\")
        head = " & ".join(map(escape, self.heads)) + r" \\"
        notes = [escape(note) for note in self.notes]
        return "\n".join(assemble(self.title, columns, head, body, notes, long=len(body) > 40)) + "\n"


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


def as_it_is(text: str) -> Callable[[str], str]:
    """How a text without a sheet is shown: as it is, in markdown as a block of code."""
    return lambda format: f"```\n{text}```\n" if format == "markdown" else text


def suffix_of(path: str | Path, suffixes: Sequence[str] = SUFFIXES) -> str:
    """The file's suffix, if tables can be written so. Raises UsageError for another."""
    suffix = Path(path).suffix.lower()
    if suffix not in suffixes:
        raise UsageError(f"cannot write {str(path)!r}; end it with {', '.join(suffixes[:-1])} or {suffixes[-1]}")
    return suffix


def shown(sheets: Sequence[Sheet], format: str) -> str:
    """Sheets below one another in a format: text, markdown or latex."""
    show = {"text": Sheet.text, "markdown": Sheet.markdown, "latex": Sheet.latex}[format]
    return "\n".join(show(sheet) for sheet in sheets)


def write(
    path: str | Path, frame: pd.DataFrame, show: Callable[[str], str], record: Callable[[], Any] | None = None
) -> Path:
    """Write the frame (csv, tsv, parquet), the record (json; default: the frame's), or what `show` makes of text,
    markdown or latex (txt, md, tex).
    """
    suffix = suffix_of(path)
    if suffix in (".csv", ".tsv"):
        return write_whole(path, frame.to_csv(index=False, sep="," if suffix == ".csv" else "\t", lineterminator="\n"))
    if suffix == ".json":
        return write_whole(path, records.dumps(record() if record else records.rows(frame)))
    if suffix == ".parquet":
        buffer = io.BytesIO()
        frame.to_parquet(buffer, index=False)
        return write_whole(path, buffer.getvalue())
    return write_whole(path, show({".md": "markdown", ".tex": "latex", ".txt": "text"}[suffix]))
