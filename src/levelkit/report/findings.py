"""What the data do not tell: the sentences at the end of every table and report, from a fit's own results."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from levelkit.report import words
from levelkit.report.view import View
from levelkit.report.words import number, plural

LISTED = 1000
"""Cells that a finding names at most."""

# A change in the mean level, when the highest level doubles, that is worth a line.
_SHIFT = 0.1
# Intervals rest on large samples; below this many choices that is a stretch.
_FEW_CHOICES = 20
# Precisions are per payoff unit: games whose payoff ranges differ by more than this are not comparable in
# raw payoffs.
_RANGES_APART = 1.5
# Notes of a fit that findings tell with numbers.
_SAID_ELSEWHERE = ("fractional counts", "the mean level depends")


@dataclass(frozen=True)
class Finding:
    """One thing the data do not tell.

    kind: short stable name. text: a sentence. cells: what is to be said cell by cell, such as
    "gpt-4o: tau >= 2.1 (95%)", for the first `LISTED` of them; count: how many there are.
    """

    kind: str
    text: str
    cells: tuple[str, ...] = ()
    count: int = 0


def findings(view: View) -> tuple[Finding, ...]:
    """Everything worth saying about a fit, gravest first; empty where all is well."""
    found = (
        _flat(view),
        _boundary(view),
        _multimodal(view),
        _levels(view),
        _notes(view),
        _payoff_units(view),
        _few(view),
        _fractional(view),
        _no_choices(view),
        _no_intervals(view),
    )
    return tuple(f for f in found if f is not None)


def one_sided(row: Any, level: str, low_end: float = 0.0) -> str:
    """The statement that a boundary estimate allows, such as "tau >= 2.1 (95%)".

    row: a row of the fit's frame. low_end: the lower end of the parameter's range.
    """
    name, estimate, low, high = str(row.parameter), float(row.estimate), float(row.low), float(row.high)
    at_low = estimate <= low_end
    bound = high if at_low else low
    if math.isnan(bound):
        return f"{name} at {number(estimate)}, no interval"
    if at_low:
        return f"{name} <= {number(bound)} ({level})" if math.isfinite(bound) else f"{name} unbounded ({level})"
    return f"{name} >= {number(bound)} ({level})" if bound > low_end else f"{name} unbounded ({level})"


def _parameter(view: View, row: Mapping[Any, Any]) -> str:
    """A parameter's name, with what it varies by beyond the cell: "gamma (sw10)"."""
    more = [words.plain(row[k]) for k in view.keys if k not in view.fits.by and row[k] is not None]
    return f"{row['parameter']} ({', '.join(more)})" if more else str(row["parameter"])


def _where(view: View, status: str) -> list[int]:
    return np.flatnonzero((view.frame["status"] == status).to_numpy()).tolist()


def _by_parameter(view: View, rows: list[int]) -> str:
    total = view.frame["parameter"].value_counts()
    here = view.frame["parameter"].iloc[rows].value_counts()
    if total.max() == 1:
        return ", ".join(p for p in view.parameters if p in here)
    return ", ".join(f"{p} in {here[p]:,} of {total[p]:,}" for p in view.parameters if p in here)


def _said(name: str, text: str) -> str:
    """A statement about a cell; where there is one cell only it needs no name."""
    return text if name == words.ALL_TOGETHER else f"{name}: {text}"


def _flat(view: View) -> Finding | None:
    rows = _where(view, "flat")
    if not rows:
        return None
    by_cell: dict[str, list[str]] = {}
    for i in rows[:LISTED]:
        by_cell.setdefault(view.names[i], []).append(str(view.frame["parameter"].iloc[i]))
    return Finding(
        "flat",
        f"Not determined at all (flat): {_by_parameter(view, rows)}. Other values, over the whole range "
        "or along a ridge, fit as well: do not quote a number.",
        tuple(_said(name, ", ".join(params)) for name, params in by_cell.items()),
        len(np.unique(view.key_ids[rows])),
    )


def _boundary(view: View) -> Finding | None:
    rows = _where(view, "boundary")
    if not rows:
        return None
    lines = []
    for i, row in zip(rows[:LISTED], view.frame.iloc[rows[:LISTED]].itertuples(index=False), strict=True):
        parameter = view.parameter(str(row.parameter))
        said = one_sided(row, view.level, parameter.low if parameter else 0.0)
        lines.append(_said(view.names[i], said))
    return Finding(
        "boundary",
        f"Bounded from one side only (boundary): {_by_parameter(view, rows)}. Quote these statements "
        "instead of an estimate:",
        tuple(lines),
        len(rows),
    )


def _multimodal(view: View) -> Finding | None:
    rows = _where(view, "multimodal")
    if not rows:
        return None
    cells = np.unique(view.owner[rows])
    lines = []
    for cell in cells[:LISTED].tolist():
        own = view.frame.iloc[view.rows_of(cell)].to_dict("records")
        best = ", ".join(f"{_parameter(view, row)} = {number(row['estimate'])}" for row in own)
        other = words.few(list(filter(None, _text(view.stats["others"].iloc[cell]).split("; "))), 2)
        lines.append(_said(view.cells[cell], best + (f"; or {other}" if other else "")))
    return Finding(
        "multimodal",
        f"Several answers fit about as well (multimodal): {_by_parameter(view, rows)}. The best one and "
        "others, with how much less they fit in log-likelihood:",
        tuple(lines),
        len(cells),
    )


def _levels(view: View) -> Finding | None:
    shift = view.stats["mean_level_shift"].to_numpy(dtype=float)
    moved = np.flatnonzero(np.abs(shift) > _SHIFT)
    if not len(moved):
        return None
    levels = view.fits.model.options().get("levels")
    to = f" from {levels} to {2 * levels}" if isinstance(levels, int) else ""
    mean = view.stats["mean_level"].to_numpy(dtype=float)
    return Finding(
        "levels",
        f"Depends on the highest level allowed: in {plural(len(moved), 'cell')} the mean level moves by "
        f"more than {_SHIFT:g} when the highest level is doubled{to}.",
        tuple(_said(view.cells[i], f"{number(mean[i])} -> {number(mean[i] + shift[i])}") for i in moved[:LISTED]),
        len(moved),
    )


def _notes(view: View) -> Finding | None:
    told: dict[str, list[int]] = {}
    for note, at in view.stats.groupby("note", sort=False).indices.items():
        for one in filter(None, _text(note).replace("gaps; the", "gaps, the").split("; ")):
            if not one.startswith(_SAID_ELSEWHERE):
                told.setdefault(one, []).extend(map(int, at))
    if not told:
        return None
    lines = []
    for note, cells in told.items():
        named = [view.cells[i] for i in sorted(cells)[:3]]
        more = f"; and {len(cells) - 3:,} more" if len(cells) > 3 else ""
        lines.append(f"{note} ({'; '.join(named)}{more})" if len(view.cells) > 1 else note)
    return Finding("notes", "Noted while fitting:", tuple(lines), len(lines))


def _payoff_units(view: View) -> Finding | None:
    precise = [p for p, unit in view.units().items() if "payoff" in unit]
    ranges = [game.payoff_range for game in view.fits.choices.games.values() if game.payoff_range > 0]
    if view.fits.scale != "raw" or not precise or not ranges or max(ranges) <= _RANGES_APART * min(ranges):
        return None
    return Finding(
        "units",
        f"{' and '.join(precise)} {'is' if len(precise) == 1 else 'are'} per payoff unit, and the games' "
        f"payoff ranges go from {min(ranges):g} to {max(ranges):g}: values of different games compare "
        "only with payoffs divided by their "
        'range (scale="range").',
    )


def _few(view: View) -> Finding | None:
    n = view.stats["n"].to_numpy(dtype=float)
    small = np.flatnonzero(n < _FEW_CHOICES)
    if not len(small):
        return None
    return Finding(
        "few",
        f"Few choices: {plural(len(small), 'cell')} with fewer than {_FEW_CHOICES}. Intervals and "
        "standard errors are large-sample approximations and rough there.",
        tuple(_said(view.cells[i], f"n = {words.count(n[i])}") for i in small[:LISTED]),
        len(small),
    )


def _fractional(view: View) -> Finding | None:
    counts = view.fits.choices.counts
    odd = int((np.abs(counts - np.round(counts)) > 1e-9).any(axis=1).sum())
    if not odd:
        return None
    return Finding(
        "fractional",
        f"Counts are not whole numbers in {plural(odd, 'cell')} of the data (percentages or weights?): "
        "estimates stand, but intervals trust the totals as numbers of independent choices.",
    )


def _no_choices(view: View) -> Finding | None:
    none = view.stats["no_choice"].to_numpy(dtype=float)
    if not none.sum() > 0:
        return None
    total = none.sum() + view.stats["n"].sum()
    at = np.flatnonzero(none > 0)
    share = none / np.maximum(none + view.stats["n"].to_numpy(dtype=float), 1e-300)
    order = at[np.argsort(-share[at], kind="stable")]
    return Finding(
        "no choice",
        f"{words.count(none.sum())} answers without a choice ({100 * none.sum() / total:.2g}%) are not in "
        "the likelihood: what those players would have chosen is not known.",
        tuple(f"{view.cells[i]}: {words.count(none[i])} ({100 * share[i]:.2g}%)" for i in order[:LISTED]),
        len(order),
    )


def _no_intervals(view: View) -> Finding | None:
    if not len(view.frame) or view.interval_kind != "none":
        return None
    return Finding("no intervals", "No intervals were computed: how far the estimates can be trusted is not shown.")


def _text(value: object) -> str:
    return (
        "" if value is None or (isinstance(value, float) and math.isnan(value)) else words.plain(value) if value else ""
    )
