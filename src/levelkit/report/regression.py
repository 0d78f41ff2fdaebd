"""A regression as text, markdown and LaTeX: coefficient, error below, stars; and what they rest on."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from levelkit.errors import UsageError
from levelkit.report import sheets, words
from levelkit.report.sheets import Sheet

if TYPE_CHECKING:
    from levelkit.inference.regress import Column, Regression

_NAME = 14  # letters of a column's head
REFUSED = "\u2020"
_SAID = {
    "ols": "least squares on the estimates, which takes them for data",
    "fgls": "least squares weighted by the errors of the estimates (Lewis and Linzer 2005)",
    "bootstrap": "least squares with errors from resampling",
    "one-step": "features inside the likelihood: no estimate for each unit is needed, and flat units count for what "
    "they tell; coefficients are differences on the search scale (log tau)",
}


def _sheet(result: Regression, picks: Sequence[tuple[str, Column, str]], title: str, notes: Sequence[str]) -> Sheet:
    """One sheet; picks: head, column and method of every column shown."""
    frame = result.frame()
    heads = [result.formula.partition("~")[0].strip(), *[head for head, _, _ in picks]]
    parts = [frame[(frame["column"] == c.name) & (frame["method"] == m)].reset_index(drop=True) for _, c, m in picks]
    cells: list[list[str]] = []
    order = sorted(range(len(result.terms)), key=lambda i: result.terms[i] == "Intercept")
    for i in order:
        top, below = [result.terms[i]], [""]
        for part in parts:
            row = part.iloc[i]
            told = np.isfinite(row["estimate"])
            top.append(f"{row['estimate']:.3f}{row['stars']}" if told else words.DASH)
            below.append(f"({row['se']:.3f})" if np.isfinite(row["se"]) else "" if not told else f"({words.DASH})")
        cells += [top, below]
    rule = len(cells)
    cells.append(["n", *[str(c.by_method[m].n) for _, c, m in picks]])
    cells.append(["not determined", *[f"{c.flat} of {c.rows}" for _, c, _ in picks]])
    if any(c.limit for _, c, _ in picks):
        cells.append(["at a limit, left out", *["-" if m == "one-step" else str(c.limit) for _, c, m in picks]])
    r2 = [c.by_method[m].r_squared for _, c, m in picks]
    if np.isfinite(r2).any():
        cells.append(["R2", *[f"{v:.3f}" if np.isfinite(v) else words.DASH for v in r2]])
    return Sheet(title, heads, cells, notes, rules=(rule,))


def sheets_of(result: Regression, method: str | None = None) -> list[Sheet]:
    """One sheet for all methods where there is one group of units, else one for each method."""
    methods = result.methods
    if method is not None:
        if method not in methods:
            raise UsageError(f"method = {method!r}: this regression was made by {', '.join(methods)}")
        methods = (method,)
    made = []
    if len(result.columns) == 1:
        column = result.columns[0]
        picks = [(m, column, m) for m in methods if m in column.by_method]
        notes = [f"{m}: {_SAID[m]}." for _, _, m in picks]
        made.append(_sheet(result, picks, f"{result.formula}, {_errors(result)}", [*notes, *_notes(result, methods)]))
    else:
        heads = words.shorten_all([c.name for c in result.columns], _NAME)
        for number, m in enumerate(methods):
            picks = [(heads[c.name] + (REFUSED if c.refused else ""), c, m) for c in result.columns if m in c.by_method]
            notes = [f"{m}: {_SAID[m]}.", *_notes(result, (m,), first=number == 0)]
            made.append(_sheet(result, picks, f"{result.formula} by {m}, {_errors(result)}", notes))
    tests = _tests(result, methods)
    return [*made, tests] if tests is not None else made


def _errors(result: Regression) -> str:
    return f"errors {result.errors}; {100 * result.level:g}% intervals are in the frame"


def _notes(result: Regression, methods: Sequence[str], first: bool = True) -> list[str]:
    """Stars, refusals and what is flat, once; then what each method has to say."""
    notes = _stars_and_flat(result) if first else []
    said: dict[str, list[str]] = {}
    for c in result.columns:
        for m in methods:
            for note in c.by_method[m].notes if m in c.by_method else ():
                said.setdefault(note, []).append(c.name)
    many = len(result.columns)
    notes += [note if many == 1 or len(who) == many else f"{', '.join(who)}: {note}" for note, who in said.items()]
    return [*notes, *(result.notes if first else ())]


def _stars_and_flat(result: Regression) -> list[str]:
    by = {"none": "p", "holm": "p adjusted by Holm", "bh": "p adjusted by Benjamini and Hochberg"}[result.adjust]
    notes = [f"*** below .001, ** below .01, * below .05, + below .10, by {by}."]
    notes += [
        f"{c.name + ': ' if c.name else ''}no stars: {c.refused}, and a regression would fit noise."
        for c in result.columns
        if c.refused
    ]
    for c in result.columns:
        share = c.flat / max(c.rows, 1)
        if not c.refused and share > 0.5:
            notes.append(f"{c.name + ': ' if c.name else ''}WARNING: stars were forced; {c.flat} of {c.rows} are flat.")
        elif c.flat and not c.refused:
            who = f"{c.name}: " if c.name else ""
            notes.append(f"{who}{c.flat} of {c.rows} estimates are not determined; two-step columns leave them out.")
    return notes


def _tests(result: Regression, methods: Sequence[str]) -> Sheet | None:
    """Joint tests by feature: only features with several coefficients, and all together."""
    tests = result.tests()
    if not len(tests) or not result.features:
        return None
    wide = [name for name, at in result.features.items() if len(at) > 1]
    shown = [*wide, *(["all"] if len(result.features) > 1 else [])]
    if not shown:
        return None
    tests = tests[tests["method"].isin(methods) & tests["feature"].isin(shown)]
    heads = words.shorten_all([c.name for c in result.columns], 26)
    several = len(result.columns) > 1
    cells = []
    for row in tests.to_dict("records"):
        told = np.isfinite(row["f"])
        refused = any(c.name == row["column"] and c.refused for c in result.columns)
        p = words.DASH if not told or refused else f"{row['p']:.4f}"
        head = [heads[row["column"]]] if several else []
        cells.append(
            [
                *head,
                row["method"],
                row["feature"],
                f"{row['f']:.2f}" if told else words.DASH,
                str(row["restrictions"]),
                p,
            ]
        )
    head = ["column"] if several else []
    return Sheet(
        "Joint tests: all coefficients of a feature are zero",
        [*head, "method", "feature", "F", "of", "p"],
        cells,
        left=3 if several else 2,
    )


def table(result: Regression, format: str = "text", method: str | None = None) -> str:
    """The sheets in a format: text, markdown or latex."""
    if format not in ("text", "markdown", "latex"):
        raise UsageError(f"there is no table format {format!r}; choose from text, markdown, latex")
    return sheets.shown(sheets_of(result, method), format)


def text(result: Regression) -> str:
    """All sheets as text."""
    return table(result)


def write(result: Regression, path: str | Path) -> Path:
    """Write the frame (csv, tsv, json, parquet) or the sheets (md, tex, txt)."""
    return sheets.write(path, result.frame(), lambda format: table(result, format))
