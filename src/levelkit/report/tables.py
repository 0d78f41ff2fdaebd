"""Tables of a fit: text, csv, tsv, json, parquet, LaTeX, markdown.

No status is ever dropped, and all of them are the same to the byte for the same fit.
"""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pandas as pd

from levelkit.errors import UsageError
from levelkit.report import words
from levelkit.report.files import write_whole
from levelkit.report.findings import findings
from levelkit.report.latex import latex
from levelkit.report.records import dumps, record
from levelkit.report.summary import summary
from levelkit.report.view import FitsLike, View

__all__ = ["SUFFIXES", "summary", "table", "write"]

SUFFIXES = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".json": "json",
    ".parquet": "parquet",
    ".tex": "latex",
    ".md": "markdown",
    ".txt": "text",
    ".html": "html",
    ".htm": "html",
}
"""What a file's suffix means."""

_CELLS_NAMED = 20  # below each finding, in markdown


def table(fits: FitsLike, format: str = "text") -> str:
    """A fit as text in one of the formats text, csv, tsv, json, latex, markdown, html.

    csv and tsv hold the frame of the fit with all digits: an infinite number is "inf", a missing one is
    empty. json: see `levelkit.report.records.ABOUT`. Raises UsageError for another format.
    """
    if format == "text":
        return summary(fits)
    if format in ("csv", "tsv"):
        return _delimited(fits.frame(), "," if format == "csv" else "\t")
    if format == "json":
        return dumps(record(fits))
    if format == "latex":
        return latex(View.of(fits))
    if format == "markdown":
        return _markdown(View.of(fits))
    if format == "html":
        from levelkit.report.html import page

        return page(fits)
    raise UsageError(f"there is no table format {format!r}; choose from {', '.join(dict.fromkeys(SUFFIXES.values()))}")


def write(fits: FitsLike, path: str | Path) -> Path:
    """Write a fit to a file; the suffix chooses the format (see `SUFFIXES`). The file is whole or not there.

    Raises UsageError for an unknown suffix or where the file cannot be written.
    """
    format = format_of(path)
    if format == "parquet":
        return write_whole(path, _parquet(fits))
    return write_whole(path, table(fits, format))


def format_of(path: str | Path) -> str:
    """The format that a file name asks for. Raises UsageError where its suffix is unknown."""
    suffix = Path(path).suffix.lower()
    if suffix not in SUFFIXES:
        raise UsageError(f"cannot tell a format from {str(path)!r}; end it with one of {', '.join(SUFFIXES)}")
    return SUFFIXES[suffix]


def _delimited(frame: pd.DataFrame, separator: str) -> str:
    return str(frame.to_csv(index=False, sep=separator, lineterminator="\n"))


def _parquet(fits: FitsLike) -> bytes:
    import pyarrow as pa
    import pyarrow.parquet as pq

    frame = fits.frame()
    for name in frame.columns:
        if frame[name].dtype == object:  # a column of texts and numbers has no type of its own in parquet
            frame[name] = [None if v is None else str(v) for v in frame[name]]
    known = record(fits)
    about = {k: known[k] for k in ("levelkit", "model", "by", "fixed", "scale", "interval")}
    made = pa.Table.from_pandas(frame, preserve_index=False)
    made = made.replace_schema_metadata({**(made.schema.metadata or {}), b"levelkit": dumps(about).encode()})
    buffer = io.BytesIO()
    pq.write_table(made, buffer)
    return buffer.getvalue()


def _markdown(view: View) -> str:
    fits = view.fits
    heads = [
        *map(words.plain, view.keys),
        "parameter",
        "estimate",
        "se",
        f"{view.level} interval",
        "status",
        "n",
    ]
    right = {"estimate", "se", "n"}
    lines = [
        f"**{markdown_escape(fits.model.label)}** "
        f"({markdown_escape(fits.model.name)}{': ' if view.options else ''}{markdown_escape(view.options)}); payoffs "
        f"{markdown_escape(view.scale_words)}; intervals: {markdown_escape(view.interval_kind)}, {view.level}.",
        "",
        "| " + " | ".join(markdown_escape(h) for h in heads) + " |",
        "|" + "|".join("---:" if h in right else "---" for h in heads) + "|",
    ]
    for row in view.frame.itertuples(index=False, name=None):
        at = dict(zip(view.frame.columns, row, strict=True))
        bare = np.isnan(at["low"]) and np.isnan(at["high"])
        cells = [words.key(at[k]) for k in view.keys]
        cells += [words.plain(at["parameter"]), words.number(at["estimate"]), words.number(at["se"])]
        cells.append(words.DASH if bare else f"[{words.number(at['low'])}, {words.number(at['high'])}]")
        cells += [words.plain(at["status"]), words.count(at["n"])]
        lines.append("| " + " | ".join(markdown_escape(c) for c in cells) + " |")
    found = findings(view)
    if found:
        lines += ["", "What the data do not tell:", ""]
        for finding in found:
            lines.append(f"- {markdown_escape(finding.text)}")
            lines += [f"  - {markdown_escape(cell)}" for cell in finding.cells[:_CELLS_NAMED]]
            if finding.count > _CELLS_NAMED:
                lines.append(f"  - and {finding.count - _CELLS_NAMED:,} more")
    return "\n".join(lines) + "\n"


_MD = {ord(c): f"\\{c}" for c in "\\`*_[]#~$"} | {
    ord("<"): "&lt;",
    ord(">"): "&gt;",
    ord("&"): "&amp;",
    ord("|"): "&#124;",
}


def markdown_escape(text: str) -> str:
    """A text that markdown prints as it is."""
    return text.translate(_MD)
