"""Estimates with their intervals, one line a cell, the status by the shape of the mark."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from levelkit.errors import UsageError
from levelkit.report import words
from levelkit.report.plots import marks
from levelkit.report.plots import style as st
from levelkit.report.view import FitsLike, View

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST = 80
"""Cells drawn; with more, the figure says how many are left out."""
_COLUMN = 40  # rows in one column of the figure


def estimates(fits: FitsLike, parameter: str | None = None, *, sort: bool | None = None, most: int = MOST) -> Figure:
    """A forest plot: estimates and intervals by cell, a panel for each parameter (or the one named).

    Marks show the status; an arrow means that the interval has no upper bound; a grey band that the data
    do not tell the parameter. sort: order the cells by the first parameter's estimate (default: with more
    than 12 cells and one grouping column). At most `most` cells are drawn, and the title counts the others.
    Raises UsageError for a parameter that was not estimated.
    """
    view = View.of(fits)
    parameters = [parameter] if parameter is not None else list(view.parameters)
    if not parameters:
        raise UsageError("this model has no estimated parameters to draw")
    shown, left_out = _chosen(view, parameters, sort, most)
    rows = {p: {int(view.key_ids[i]): int(i) for i in view.rows(p)} for p in parameters}
    names = {k: words.plain(view.names[next(r[k] for r in rows.values() if k in r)]) for k in shown}
    blocks = max(1, math.ceil(len(shown) / _COLUMN))
    per = math.ceil(len(shown) / blocks)
    shorter = words.shorten_all(list(names.values()), 40 if blocks == 1 else 26)
    label_width = 0.075 * max(map(words.width, shorter.values()), default=10)
    panel = 2.9 if len(parameters) * blocks <= 2 else 2.2
    size = (min(22, max(5.4, blocks * (label_width + panel * len(parameters)) + 0.3)), 1.25 + 0.2 * per)
    scales = {p: _axis(view, p) for p in parameters}
    with st.style():
        figure = st.new_figure(*size)
        grid = figure.subplots(1, blocks * len(parameters), squeeze=False)[0]
        for b in range(blocks):
            part = shown[b * per : (b + 1) * per]
            labels = [shorter[names[k]] for k in part]
            for j, p in enumerate(parameters):
                axes = grid[b * len(parameters) + j]
                for y, k in enumerate(part):
                    if k in rows[p]:
                        marks.interval(axes, view.frame.iloc[rows[p][k]].to_dict(), y, scales[p])
                _finish(axes, view, p, scales[p], labels if j == 0 else None, per)
        _legend(figure, view, parameters, left_out)
    return figure


def _chosen(view: View, parameters: list[str], sort: bool | None, most: int) -> tuple[list[int], int]:
    """Which combinations of keys are drawn, in order, and how many are left out."""
    ids = np.unique(np.concatenate([view.key_ids[view.rows(p)] for p in parameters]))
    if sort if sort is not None else len(view.keys) == 1 and len(ids) > 12:
        first = view.rows(parameters[0])
        own = view.frame.iloc[first]
        height = np.where(own["status"] == "flat", np.nan, own["estimate"].to_numpy(dtype=float))
        place = dict(zip(view.key_ids[first].tolist(), np.argsort(np.argsort(-height)).tolist(), strict=True))
        ids = np.array(sorted(ids.tolist(), key=lambda k: place.get(k, len(place))))
    return ids[:most].tolist(), max(0, len(ids) - most)


def _axis(view: View, parameter: str) -> marks.Linear | st.Compact:
    """Linear where all finite values are of one size; else decades with places for 0 and infinity."""
    part = view.frame.iloc[view.rows(parameter)]
    sure = part[part["status"] != "flat"]
    numbers = sure[["estimate", "low", "high"]].to_numpy(dtype=float).ravel()
    finite = numbers[np.isfinite(numbers) & (numbers > 0)]
    known = view.parameter(parameter)
    if known is not None and math.isfinite(known.high) and known.low == 0 and (known.high <= 1 or not len(finite)):
        return marks.Linear(0.0, known.high)
    centres = sure["estimate"].to_numpy(dtype=float)
    centres = centres[np.isfinite(centres) & (centres > 0)]
    unbounded = np.isposinf(sure["estimate"].to_numpy(dtype=float)).any()
    spread = centres.max() / centres.min() if len(centres) else 1.0
    if len(finite) and spread <= 20 and not unbounded and finite.max() <= 4 * centres.max(initial=1e-300):
        return marks.Linear(0.0, float(finite.max()) * 1.02)
    return st.Compact.around(finite)


def _finish(
    axes: Axes, view: View, parameter: str, scale: marks.Linear | st.Compact, names: list[str] | None, per: int
) -> None:
    known = view.parameter(parameter)
    axes.set_xlabel(st.axis_label(known.label if known else parameter, view.units()[parameter]))
    scale.apply(axes, "x")
    axes.set_ylim(per - 0.4, -0.6)
    axes.set_yticks(range(len(names)) if names else [], names or [])
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    axes.grid(axis="x", color=st.LIGHT, linewidth=0.6)
    axes.set_axisbelow(True)


def _legend(figure: Figure, view: View, parameters: list[str], left_out: int) -> None:
    part = view.frame[view.frame["parameter"].isin(parameters)]
    sure = part[part["status"] != "flat"]
    handles = marks.meanings(
        [status for status in view.statuses if (part["status"] == status).any()],
        unbounded=bool(np.isinf(sure["high"].to_numpy(dtype=float)).any()),
    )
    figure.legend(
        handles=handles,
        loc="outside lower left",
        ncols=max(2, min(5, len(handles), int(figure.get_figwidth() / 1.3))),
        handlelength=1.6,
        columnspacing=1.4,
    )
    title = f"{view.fits.model.label}: estimates" + (
        "" if view.interval_kind == "none" else f" and {view.level} intervals"
    )
    if left_out:
        title += f" ({left_out:,} more cells not shown)"
    figure.suptitle(title, x=0.01, ha="left", fontsize=10)
