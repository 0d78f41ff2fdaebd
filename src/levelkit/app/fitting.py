"""A table from a browser, fitted: which column is what, what was set aside, the estimates with their status."""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from typing import Any

from levelkit import models
from levelkit.app import settings
from levelkit.app.uploads import Upload
from levelkit.choices import Choices, read_choices
from levelkit.errors import UsageError
from levelkit.games import library, read_games
from levelkit.inference.fit import fit
from levelkit.inference.results import Fits
from levelkit.readers.files import load
from levelkit.readers.layout import LONG
from levelkit.report import tables, words
from levelkit.report.findings import findings
from levelkit.report.view import View

SHOWN_ROWS = 6
MOST_FITS = 20_000
_CELLS = 12  # named below each finding
SCALES = ("raw", "range")
NONE = "-"
DOWNLOADS = {"fits.csv": "csv", "fits.json": "json", "fits.tex": "latex", "fits.txt": "text", "report.html": "html"}
Told = Callable[[int, int], None]


def describe(table: Upload) -> dict[str, Any]:
    """What a table holds: its columns with the first values, and which of them read as ours.

    Raises DataError for what is no table.
    """
    with table.naming():
        raw = load(table.path)
    taken = {ours: name for ours in LONG if (name := _own(raw.columns, ours))}
    columns = []
    for name, column in raw.columns.items():
        first = [words.plain(str(column.values[code])) for code in column.codes[:SHOWN_ROWS]]
        columns.append({"name": name, "first": first, "different": len(column.values)})
    return {
        "name": table.name,
        "rows": raw.rows_read,
        "columns": columns,
        "guess": taken,
        "by": [c for c in ("model", "game") if c in raw.columns],
    }


def run(table: Upload, games: Upload | None, query: settings.Query, told: Told | None = None) -> dict[str, Any]:
    """Fit and say what is seen: what was set aside, statuses, estimates, what the data do not tell.

    Settings: model, by (comma-separated), game, player, action, count (the user's column names, or "-"), scale.
    Raises DataError or UsageError.
    """
    fits = fitted(table, games, query, told)
    view = View.of(fits)
    own, keys = view.frame, list(fits.by)
    rows = [
        {
            "keys": [words.plain(str(row[k])) for k in keys],
            "parameter": row["parameter"],
            "estimate": words.number(row["estimate"]),
            "low": words.number(row["low"]),
            "high": words.number(row["high"]),
            "status": row["status"],
            "n": words.count(row["n"]),
            "unit": row["unit"],
        }
        for row in own.head(400).to_dict("records")
    ]
    return {
        "model": fits.model.label,
        "keys": [words.plain(k) for k in keys],
        "level": view.level,
        "estimates": rows,
        "left_out": max(0, len(own) - 400),
        "statuses": own["status"].value_counts().to_dict(),
        "choices": words.count(fits.stats()["n"].sum()),
        "cells": len(fits),
        "findings": [{"text": f.text, "cells": list(f.cells[:_CELLS]), "count": f.count} for f in findings(view)],
        "problems": table.plainly(fits.choices.problems.text()),
        "set_aside": fits.choices.problems.n_set_aside,
        "glossary": list(words.glossary().items()),
        "figure": _figure(fits),
    }


def download(table: Upload, games: Upload | None, query: settings.Query, name: str) -> str:
    """The fit as one of `DOWNLOADS`. Raises UsageError for another name."""
    if name not in DOWNLOADS:
        raise UsageError(f"there is no download {name!r}; choose from {', '.join(DOWNLOADS)}")
    return table.plainly(tables.table(fitted(table, games, query), DOWNLOADS[name]))


def fitted(table: Upload, games: Upload | None, query: settings.Query, told: Told | None = None) -> Fits:
    """The fit of these settings; made once for each."""
    names = ("model", "by", "scale", *LONG)
    key = (games.path if games else None, *(query.get(name, "") for name in names))
    with table.lock:
        if key not in table.made:
            table.made.clear()  # one result is kept; all of them would fill the memory
            table.made[key] = _fit(table, games, query, told)
        return table.made[key]


def _fit(table: Upload, games: Upload | None, query: settings.Query, told: Told | None) -> Fits:
    choices = _choices(table, games, query)
    by = [name for name in query.get("by", "").split(",") if name]
    cells = len(choices.cells.drop_duplicates(by)) if set(by) <= set(choices.cells) and by else 1
    if cells > MOST_FITS:
        raise UsageError(f"{cells:,} estimates are too many for this page ({MOST_FITS:,}); use levelkit fit")
    made = models.get(query.get("model") or "tqre")
    return fit(choices, made, by, scale=settings.choice(query, "scale", SCALES), progress=told)


def _choices(table: Upload, games: Upload | None, query: settings.Query) -> Choices:
    with table.naming():
        present = load(table.path).columns
    for ours in LONG:
        named = _own(present, ours)
        if query.get(ours) == NONE and named:
            raise UsageError(f"the column {named!r} reads as {ours}; say which column is {ours}, or rename it")
    mapped = {ours: query[ours] for ours in LONG if query.get(ours, "") not in ("", NONE, ours)}
    known = library()
    if games:
        with games.naming():
            known = {**known, **read_games(games.path)}
    with table.naming():
        return read_choices(table.path, known, columns=mapped)


def _own(names: Mapping[str, Any], ours: str) -> str | None:
    """The user's column that reads as one of ours: the same name, whatever its case."""
    return next((name for name in names if name.strip().casefold() == ours), None)


def _figure(fits: Fits) -> str:
    """The estimates drawn, as an address that holds the picture itself."""
    from levelkit.report import plots
    from levelkit.report.plots.style import image

    drawn = image(plots.estimates(fits), "svg")
    return "data:image/svg+xml;base64," + base64.b64encode(drawn).decode("ascii")
