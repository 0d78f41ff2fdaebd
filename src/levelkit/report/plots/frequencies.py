"""Does a fitted model predict what players chose? Observed frequencies against predicted ones."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from levelkit.binomial import wilson
from levelkit.errors import UsageError
from levelkit.report import words
from levelkit.report.plots import style as st
from levelkit.report.view import FitsLike, find_cell

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_PANELS = 12


def frequencies(fits: FitsLike, cell: int | Mapping[str, Any] | None = None, *, kind: str = "auto") -> Figure:
    """Observed against predicted choice frequencies, with Wilson intervals at the fit's level.

    kind: "panels" (one for each cell, game and player, action by action), "scatter" (all against the
    45-degree line), or "auto": panels up to 12 of them. cell: one fitted cell only.
    Raises UsageError for an unknown cell or kind.
    """
    if kind not in ("auto", "panels", "scatter"):
        raise UsageError(f"kind = {kind!r}: choose auto, panels or scatter")
    frame = fits.predict()
    if cell is not None:
        values = fits.stats().iloc[find_cell(fits, cell)]
        for name in fits.by:
            frame = frame[frame[name] == values[name]]
        frame = frame.reset_index(drop=True)
    if (frame["n"] > 0).any():  # a player of whom nothing was seen has nothing to compare
        frame = frame[frame["n"] > 0].reset_index(drop=True)
    keys = list(dict.fromkeys([*(k for k in fits.by if k != "game"), "game", "player"]))
    group = frame.groupby(keys, sort=False, dropna=False).ngroup().to_numpy()
    total = int(group.max(initial=-1)) + 1
    if kind == "panels" or (kind == "auto" and total <= MOST_PANELS):
        return _panels(fits, [frame[group == k] for k in range(min(total, 4 * MOST_PANELS))], total)
    return _scatter(fits, frame)


def _panels(fits: FitsLike, groups: list[pd.DataFrame], total: int) -> Figure:
    columns = min(4, math.ceil(math.sqrt(len(groups)))) if len(groups) > 3 else max(1, len(groups))
    rows = math.ceil(len(groups) / columns)
    widest = max(len(g) for g in groups)
    with st.style():
        width = min(2.6, max(1.9, 0.55 + 0.28 * widest))
        figure = st.new_figure(max(4.6, width * columns + 0.5), 1.95 * rows + 1.0)
        grid = figure.subplots(rows, columns, sharey=True, squeeze=False)
        for axes in grid.ravel()[len(groups) :]:
            axes.set_visible(False)
        for i, (axes, group) in enumerate(zip(grid.ravel(), groups, strict=False)):
            _panel(axes, fits, group)
            if i + columns >= len(groups):
                axes.set_xlabel("action")
        handles, labels = grid.ravel()[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower left", ncols=2)
        for axes in grid[:, 0]:
            axes.set_ylabel("share of choices")
        more = f" ({total - len(groups):,} more panels not shown)" if total > len(groups) else ""
        figure.suptitle(f"{fits.model.label}: observed and predicted choices{more}", x=0.01, ha="left", fontsize=10)
    return figure


def _panel(axes: Axes, fits: FitsLike, group: pd.DataFrame) -> None:
    at = np.arange(len(group))
    n, observed = group["n"].to_numpy(dtype=float), group["observed"].to_numpy(dtype=float)
    low, high = wilson(observed, n, fits.interval)
    level = f"{100 * fits.interval:.6g}%"
    axes.bar(
        at,
        group["predicted"],
        width=0.7,
        color=st.SKY,
        alpha=0.45,
        edgecolor=st.BLUE,
        linewidth=0.8,
        label="predicted",
    )
    axes.errorbar(
        at,
        observed,
        yerr=[observed - low, high - observed],
        fmt="o",
        markersize=4,
        color=st.INK,
        elinewidth=1.1,
        capsize=2.5,
        label=f"observed, {level} Wilson interval",
    )
    axes.set_ylim(0, 1.02)
    axes.set_yticks([0, 0.5, 1])
    names = [st.clear(a, 12) for a in group["action"]]
    upright = sum(words.width(name) + 1 for name in names) > 24
    axes.set_xticks(at, names, rotation=90 if upright else 0)
    axes.set_xlim(-0.6, len(group) - 0.4)
    first = group.iloc[0]
    keys = (
        words.cell_name({k: first[k] for k in fits.by if k != "game"}) + ", "
        if [k for k in fits.by if k != "game"]
        else ""
    )
    head = st.clear(f"{keys}{words.plain(first['game'])}", 27)
    axes.set_title(f"{head}\n{st.clear(str(first['player']), 16)}, n = {words.count(n.max())}", fontsize=8)


def _scatter(fits: FitsLike, frame: pd.DataFrame) -> Figure:
    n, observed, predicted = (frame[c].to_numpy(dtype=float) for c in ("n", "observed", "predicted"))
    low, high = wilson(observed, n, fits.interval)
    miss = (predicted < low - 1e-12) | (predicted > high + 1e-12)
    many = len(frame) > 400
    level = f"{100 * fits.interval:.6g}%"
    with st.style():
        figure = st.new_figure(5.2, 5.3)
        axes = figure.subplots()
        axes.plot(
            [0, 1],
            [0, 1],
            color=st.INK,
            linewidth=0.9,
            linestyle=(0, (4, 2)),
            label="perfect prediction",
            zorder=1,
        )
        for which, colour, marker, name in (
            (~miss, st.BLUE, "o", f"{level} Wilson interval meets the line"),
            (miss, st.VERMILLION, "s", "interval misses the line"),
        ):
            if not which.any():
                continue
            x, y = predicted[which], observed[which]
            label = f"{name} ({which.sum():,} of {len(frame):,})"
            if not many:
                bars = [y - low[which], high[which] - y]
                axes.errorbar(x, y, yerr=bars, fmt="none", ecolor=colour, elinewidth=0.7, alpha=0.35, zorder=2)
            axes.scatter(
                x, y, s=7 if many else 16, color=colour, marker=marker, alpha=0.35 if many else 0.85,
                linewidths=0, label=label, zorder=3, rasterized=len(frame) > 3000,
            )  # fmt: skip
        axes.set_xlim(-0.02, 1.02)
        axes.set_ylim(-0.02, 1.02)
        axes.set_aspect("equal")
        axes.set_xlabel("predicted share of choices")
        axes.set_ylabel("observed share of choices")
        axes.set_title(f"{fits.model.label}: {len(frame):,} shares in {words.plural(len(fits), 'fitted cell')}")
        figure.legend(loc="outside lower left")
    return figure
