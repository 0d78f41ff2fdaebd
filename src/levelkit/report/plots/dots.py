"""Estimates of named things side by side: intervals, statuses, two kinds of cells, and what was printed elsewhere."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from levelkit.report import words
from levelkit.report.plots import marks
from levelkit.report.plots import style as st

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_SERIES = (st.BLUE, st.VERMILLION, st.GREEN, st.PURPLE)
_ORDER = ("ok", "multimodal", "boundary", "flat")
_LEAST = 0.03  # smaller values stand at the left end


def dots(frame: pd.DataFrame, x: str, title: str, *, printed: str = "printed", linear: bool = False) -> Figure:
    """One line for each label, in the order of the frame; a panel for each value of `panel`.

    frame: label, estimate, low, high, status ("" for none), and where there are any: panel, series (drawn in
    colours of their own, below one another within a label), printed (a hollow mark, which the legend calls `printed`).
    Several rows may share a label. linear: a plain axis from 0 instead of decades.
    """
    labels = list(dict.fromkeys(frame["label"]))
    panels = list(dict.fromkeys(frame["panel"])) if "panel" in frame else [""]
    series = list(dict.fromkeys(frame["series"])) if "series" in frame else [""]
    scale = _scale(frame, linear)
    shorter = words.shorten_all([words.plain(label) for label in labels], 40)
    width = 0.075 * max((words.width(s) for s in shorter.values()), default=10)
    with st.style():
        figure = st.new_figure(
            width + (3.4 if len(panels) == 1 else 2.3) * len(panels) + 0.4,
            1.35 + (0.2 if len(series) == 1 else 0.13 * len(series) + 0.1) * len(labels),
        )
        for axes, panel in zip(figure.subplots(1, len(panels), squeeze=False)[0], panels, strict=True):
            own = frame[frame["panel"] == panel] if "panel" in frame else frame
            _panel(axes, own, labels, series, scale)
            axes.set_title(panel)
            axes.set_xlabel(x)
            scale.apply(axes, "x")
            axes.set_yticks(range(len(labels)), [shorter[words.plain(label)] for label in labels])
            if panel != panels[0]:
                axes.set_yticklabels([])
        _legend(figure, frame, series, printed)
        lines = textwrap.wrap(title, max(30, int(11.5 * figure.get_figwidth())))
        figure.suptitle("\n".join(lines), x=0.01, ha="left", fontsize=10)
    return figure


def _scale(frame: pd.DataFrame, linear: bool) -> marks.Linear | st.Compact:
    sure = frame[frame["status"] != "flat"]
    columns = ["estimate", "low", "high", *(["printed"] if "printed" in frame else [])]
    values = sure[columns].to_numpy(float).ravel()
    if "printed" in frame:
        values = np.append(values, frame["printed"].to_numpy(float))
    finite = values[np.isfinite(values) & (values > 0)]
    if linear:
        return marks.Linear(min(0.0, float(finite.min(initial=0.0))), float(finite.max(initial=1.0)) * 1.02)
    return st.Compact.around(np.maximum(finite, _LEAST))


def _panel(
    axes: Axes, frame: pd.DataFrame, labels: list[str], series: list[str], scale: marks.Linear | st.Compact
) -> None:
    several = len(series) > 1
    step = 0.62 / len(series) if several else 0.0
    for row in frame.to_dict("records"):
        k = series.index(row["series"]) if several else 0
        y = labels.index(row["label"]) + (k - (len(series) - 1) / 2) * step
        height = 0.85 * step if several else 0.62
        marks.interval(axes, row, y, scale, colour=_SERIES[k % len(_SERIES)] if several else "", height=height)
        if "printed" in row and np.isfinite(row["printed"]):
            edge = _SERIES[k % len(_SERIES)] if several else st.INK
            hollow = {"marker": "o", "markersize": 5.5, "markerfacecolor": "white", "markeredgecolor": edge}
            axes.plot([float(scale(row["printed"]))], [y], linestyle="none", zorder=4, clip_on=False, **hollow)  # type: ignore[arg-type]
    axes.set_ylim(len(labels) - 0.4, -0.6)
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    axes.grid(axis="x", color=st.LIGHT, linewidth=0.6)
    axes.set_axisbelow(True)


def _legend(figure: Figure, frame: pd.DataFrame, series: list[str], printed: str) -> None:
    from matplotlib.lines import Line2D

    several = len(series) > 1
    handles = [
        Line2D([], [], color=_SERIES[k % len(_SERIES)], linewidth=2.2, label=name)
        for k, name in enumerate(series)
        if several
    ]
    found = set(frame["status"])
    sure = frame[frame["status"] != "flat"]
    unbounded = bool(np.isposinf(sure["high"].to_numpy(float)).any())
    handles += marks.meanings([s for s in _ORDER if s in found], unbounded=unbounded, colour=st.INK if several else "")
    if "printed" in frame:
        hollow = {"marker": "o", "markersize": 5.5, "markerfacecolor": "white", "markeredgecolor": st.INK}
        handles.append(Line2D([], [], linestyle="none", label=printed, **hollow))  # type: ignore[arg-type]
    columns = max(2, min(5, len(handles), int(figure.get_figwidth() / 1.3)))
    if handles:
        figure.legend(handles=handles, loc="outside lower left", ncols=columns, handlelength=1.6, columnspacing=1.4)
