"""Figures of a trial log: depth signals against target depth, and what written chains look like."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from levelkit.report.plots import style as st

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from levelkit.depth.summaries import Summary

_SIGNALS = (
    ("k_b", "depth of action, K_B", st.BLUE, "o", "-"),
    ("k_l", "depth of stated belief, K_L", st.VERMILLION, "s", "--"),
)
_PANEL = (2.15, 1.95)  # inches
_BREAK = 4.5
"""Between depths 4 and 5 the study's opponents are described in another way; chains are not joined across it."""


def recursive_signals(found: Summary) -> Figure | None:
    """Mean depth of action and belief against target depth, recursive trials, a panel for each model; None where
    there are no such trials.
    """
    told = found.signals[found.signals["condition"] == "recursive"]
    if not len(told):
        return None
    models = list(dict.fromkeys(told["model"]))
    columns = min(len(models), 4)
    figure, grid = _panels(-(-len(models) // columns), columns)
    with st.style():
        for axes, model in zip(grid.ravel(), models, strict=False):
            _signals(axes, told[told["model"] == model])
            axes.set_title(st.clear(model, 24))
        _finish(figure, grid, len(models), "target depth k", "mean depth")
    return figure


def inductive_signals(found: Summary) -> Figure | None:
    """The same for inductive trials: columns are models, rows precisions of the opponents."""
    told = found.signals[found.signals["condition"] == "inductive"]
    if not len(told):
        return None
    models, precisions = list(dict.fromkeys(told["model"])), sorted(set(told["lambda"]))
    figure, grid = _panels(len(precisions), len(models))
    with st.style():
        for row, lam in zip(grid, precisions, strict=True):
            for axes, model in zip(row, models, strict=True):
                _signals(axes, told[(told["model"] == model) & (told["lambda"] == lam)])
                if lam == precisions[0]:
                    axes.set_title(st.clear(model, 24))
        _finish(figure, grid, grid.size, "target depth k", "mean depth")
        for row, lam in zip(grid, precisions, strict=True):
            row[0].set_ylabel(f"λ = {lam:g}\nmean depth")
    return figure


def chains(found: Summary) -> Figure | None:
    """Share of right steps in written chains (left axis) and their length (right axis) against target depth."""
    told = found.chains[found.chains["steps"] > 0] if len(found.chains) else found.chains
    if not len(told):
        return None
    models = list(dict.fromkeys(told["model"]))
    columns = min(len(models), 4)
    figure, grid = _panels(-(-len(models) // columns), columns, share_y=False)
    with st.style():
        for place, (axes, model) in enumerate(zip(grid.ravel(), models, strict=False)):
            own = found.chains[found.chains["model"] == model].sort_values("k_target")
            right = axes.twinx()
            _chain(axes, right, own)
            axes.set_title(st.clear(model, 24))
            if place % columns:
                axes.set_yticklabels([])
            if place % columns < columns - 1 and place < len(models) - 1:
                right.set_yticklabels([])
            else:
                right.set_ylabel("mean length", color=st.VERMILLION)
        _finish(figure, grid, len(models), "target depth k", "share of right steps")
    return figure


def write(found: Summary, folder: Path) -> list[Path]:
    """The figures that the log has something for, as .svg files in a folder."""
    made = {"recursive": recursive_signals(found), "inductive": inductive_signals(found), "chains": chains(found)}
    return [st.save(figure, folder / f"{name}.svg") for name, figure in made.items() if figure is not None]


def _panels(rows: int, columns: int, share_y: bool = True) -> tuple[Figure, np.ndarray]:
    with st.style():
        figure = st.new_figure(max(4.2, _PANEL[0] * columns + 0.4), _PANEL[1] * rows + 0.8)
        grid = figure.subplots(rows, columns, sharex=True, sharey=share_y, squeeze=False)
    return figure, np.asarray(grid)


def _finish(figure: Figure, grid: np.ndarray, used: int, x: str, y: str) -> None:
    for axes in grid.ravel()[used:]:
        axes.set_visible(False)
    columns = grid.shape[1]
    for place, axes in enumerate(grid.ravel()[:used]):
        if place + columns >= used:
            axes.set_xlabel(x)
            axes.tick_params(labelbottom=True)
        if place % columns == 0:
            axes.set_ylabel(y)
    handles: dict[str, Any] = {}
    for axes in figure.axes:
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            handles.setdefault(label, handle)
    figure.legend(list(handles.values()), list(handles), loc="outside lower left", ncols=3)


def _signals(axes: Axes, told: pd.DataFrame) -> None:
    top = int(told["k_target"].max()) if len(told) else 1
    axes.plot([1, top], [1, top], color=st.GREY, lw=0.8, ls=(0, (4, 3)), label="target")
    for shift, (signal, label, colour, marker, line) in zip((-0.08, 0.08), _SIGNALS, strict=True):
        own = told[(told["signal"] == signal) & (told["n"] > 0)].sort_values("k_target")
        x, y = own["k_target"].to_numpy(dtype=float) + shift, own["mean"].to_numpy(dtype=float)
        low, high = own["low"].to_numpy(dtype=float), own["high"].to_numpy(dtype=float)
        reach = np.nan_to_num(np.stack([y - low, high - y]))
        axes.errorbar(
            x,
            y,
            yerr=reach,
            color=colour,
            marker=marker,
            ls=line,
            ms=3,
            lw=1.2,
            elinewidth=0.7,
            label=label,
        )
    axes.set_xlim(0.5, top + 0.5)
    axes.set_ylim(-0.6, top + 1.6)
    axes.set_xticks(_ticks(top))
    axes.set_yticks([0, *_ticks(top)])


def _ticks(top: int) -> Sequence[int]:
    return range(2, top + 1, 2) if top > 4 else range(1, top + 1)


def _chain(axes: Axes, right: Axes, own: pd.DataFrame) -> None:
    k = own["k_target"].to_numpy(dtype=float)
    share = own["per_step"].to_numpy(dtype=float)
    reach = np.stack([share - own["low"].to_numpy(dtype=float), own["high"].to_numpy(dtype=float) - share])
    for part in (k < _BREAK, k > _BREAK):
        lone = "right steps (95% Wilson interval)" if part[0] else None
        axes.errorbar(
            k[part],
            share[part],
            yerr=np.nan_to_num(np.maximum(reach[:, part], 0)),
            color=st.BLUE,
            marker="o",
            ms=3,
            lw=1.2,
            elinewidth=0.7,
            label=lone,
        )
        more = "mean length" if part[0] else None
        right.plot(k[part], own["length"].to_numpy(dtype=float)[part], color=st.VERMILLION, lw=1.6, ls=":", label=more)
    top = float(k.max())
    right.plot([1, top], [1, top], color=st.GREY, lw=0.8, ls=(0, (4, 3)), label="target length, m = k")
    axes.set_ylim(-0.03, 1.05)
    axes.set_yticks([0, 0.5, 1])
    axes.set_xlim(0.5, top + 0.5)
    axes.set_xticks(_ticks(int(top)))
    right.set_ylim(-0.3, max(top, float(own["length"].max())) * 1.05)
    right.spines["right"].set_visible(True)
    right.tick_params(axis="y", colors=st.VERMILLION)
