"""A bootstrap as text, table files and a figure."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from levelkit.report import sheets, words
from levelkit.report.plots import style as st
from levelkit.report.sheets import Sheet
from levelkit.report.view import View

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from levelkit.inference.bootstrap import Bootstrap

_CELLS_DRAWN = 30
_NAME = 26


def sheet(result: Bootstrap, interval: str = "bca") -> Sheet:
    """One line for each estimate: interval, status, sample size, and how many replicates had which status."""
    view, frame = View.of(result.fits), result.frame(interval)
    named = words.shorten_all(list(view.names), _NAME) if len(result.fits) > 1 else {}
    cells = []
    for i, row in enumerate(frame.to_dict("records")):
        one = [named[view.names[i]]] if named else []
        ends = f"[{words.number(row['low'])}, {words.number(row['high'])}]"
        one += [str(row["parameter"]), words.number(row["estimate"]), ends, str(row["status"]), words.count(row["n"])]
        cells.append(one + [_percent(row[s]) for s in words.STATUSES])
    how = f"{result.kind}, by {result.cluster}" if result.cluster else result.kind
    title = f"{result.fits.model.label}: {len(result):,} bootstrap replicates ({how}; seed {result.seed})"
    heads = [*(["cell"] if named else []), "parameter", "estimate", f"{view.level} {interval}", "status", "n"]
    heads += ["ok", "multi", "bound", "flat"]
    notes = ["ok to flat: shares of the replicates with that status. A replicate at a limit has its rank in the "]
    notes[0] += "interval; a flat one could be any value and is counted beyond both ends; none is averaged."
    stuck = int((np.isinf(frame["low"]) | (frame["high"] <= 0)).sum())
    if stuck:
        notes.append(
            f"{stuck} of the intervals are a single point at a limit: nearly all replicates are there, and the "
            "bootstrap cannot see how far off the truth may be. Use the profile intervals of the fit."
        )
    return Sheet(title, heads, cells, [*notes, *result.notes], left=2 if named else 1)


def _percent(share: float) -> str:
    """A share in whole per cent, but neither 0 nor 100 where it is not."""
    if 0 < share < 0.005:
        return "<1%"
    return ">99%" if 0.995 < share < 1 else f"{100 * share:.0f}%"


def text(result: Bootstrap, interval: str = "bca") -> str:
    """The sheet as text."""
    return sheet(result, interval).text()


def write(result: Bootstrap, path: str | Path, interval: str = "bca") -> Path:
    """Write the frame with all kinds of interval (csv, tsv, json, parquet), or the sheet with one (md, tex, txt)."""
    return sheets.write(path, result.frame(), lambda format: sheets.shown([sheet(result, interval)], format))


def figure(result: Bootstrap, parameter: str | None = None, interval: str = "bca") -> Figure:
    """Replicates of one parameter by cell: their distribution, the interval, shares at limits and not told.

    Raises UsageError for a parameter that was not estimated. At most 30 cells are drawn.
    """
    view, frame = View.of(result.fits), result.frame(interval)
    parameter = parameter or view.parameters[0]
    rows = view.rows(parameter)
    shown = rows[:_CELLS_DRAWN]
    finite = result.estimate[shown]
    finite = finite[np.isfinite(finite) & (finite > 0)]
    low, high = (np.quantile(finite, q) for q in (0.001, 0.999)) if len(finite) else (0.1, 10.0)
    scale = st.Compact.around([low, high, *_inside(frame.iloc[shown][["low", "high"]].to_numpy(float).ravel())])
    labels = words.shorten_all([view.names[i] for i in shown], 38)
    with st.style():
        drawn = st.new_figure(7.2, 1.3 + 0.42 * len(shown))
        axes = drawn.subplots()
        for y, i in enumerate(shown):
            _ridge(axes, scale, result.estimate[i], y)
            row = frame.iloc[i]
            colour = st.STATUS_COLOUR[str(row["status"])]
            ends = scale([row["low"], row["high"]])
            axes.plot(ends, [y + 0.12] * 2, color=colour, lw=1.8, solid_capstyle="butt")
            if np.isfinite(row["estimate"]) or np.isposinf(row["estimate"]):
                marker = st.STATUS_MARKER[str(row["status"])]
                at = float(scale(row["estimate"]))
                axes.plot([at], [y + 0.12], marker=marker, color=colour, ms=5, ls="none", clip_on=False)
            said = [f"{_percent(row[s])} {s}" for s in ("boundary", "flat") if row[s] > 0]
            axes.annotate(", ".join(said), (1.01, y), xycoords=("axes fraction", "data"), fontsize=7, color=st.GREY)
        scale.apply(axes, "x")
        axes.set_yticks(range(len(shown)), [labels[view.names[i]] for i in shown])
        axes.set_ylim(len(shown) - 0.4, -0.9)
        axes.tick_params(axis="y", length=0)
        axes.spines["left"].set_visible(False)
        known = view.parameter(parameter)
        axes.set_xlabel(st.axis_label(known.label if known else parameter, view.units()[parameter]))
        more = f" ({len(rows) - len(shown)} more cells not shown)" if len(rows) > len(shown) else ""
        title = f"{len(result):,} {result.kind} replicates; bars: {view.level} {interval} intervals{more}"
        axes.set_title(title)
        handles = _legend(list(frame["status"].iloc[shown]))
        drawn.legend(handles=handles, loc="outside lower left", ncols=4)
    return drawn


def _inside(values: np.ndarray) -> list[float]:
    return [float(v) for v in values if np.isfinite(v) and v > 0]


def _ridge(axes: object, scale: st.Compact, draws: np.ndarray, y: float) -> None:
    """A histogram of the replicates that stands on `y`, as high as the share of them that tell something."""
    told = draws[~np.isnan(draws)]
    left, right = scale.limits
    edges = np.linspace(left, right, 90)
    height = np.histogram(np.clip(scale(told), left, right), bins=edges)[0].astype(float)
    if height.max(initial=0) > 0:
        height *= 0.62 * len(told) / (len(draws) * height.max())
        axes.stairs(y - height, edges, baseline=y, fill=True, color=st.SKY, alpha=0.75, lw=0)  # type: ignore[attr-defined]
    axes.axhline(y, color=st.LIGHT, lw=0.6, zorder=0)  # type: ignore[attr-defined]


def _legend(statuses: list[str]) -> list[object]:
    from matplotlib.lines import Line2D

    return [
        Line2D([], [], marker=st.STATUS_MARKER[s], color=st.STATUS_COLOUR[s], ms=5, lw=1.8, label=s)
        for s in words.STATUSES
        if s in statuses
    ]
