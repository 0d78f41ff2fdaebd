"""Figures of observers: losses of all guesses, losses by round, beliefs by round."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import cycle
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from levelkit.report.plots import style as st

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from levelkit.observer.ideal import Posterior

COLOURS = (st.BLUE, st.VERMILLION, st.GREEN, st.PURPLE, st.ORANGE, st.SKY, st.BLACK)
_LABELS = {"ce": "cross-entropy (nats)", "brier": "Brier (0-2)", "ev": "EV loss (0-4)", "union": "union loss"}
_NAMED = 6  # strategies with a colour and a name of their own; the others share grey


def heatmap(table: pd.DataFrame, pair: str, convention: str, loss: str = "union") -> Figure:
    """Losses of every guess about a pair (`levelkit.observer.loss_table`); the truth is ringed, the lowest dotted."""
    grid = table.pivot(index="guess1", columns="guess2", values=loss)
    order = list(dict.fromkeys(table["guess1"]))
    grid = grid.loc[order, order]
    size = len(order)
    with st.style():
        figure = st.new_figure(0.24 * size + 1.6, 0.24 * size + 0.9)
        axes = figure.subplots()
        drawn = axes.pcolormesh(np.arange(size + 1), np.arange(size + 1), grid.to_numpy(), cmap="viridis_r")
        bar = figure.colorbar(drawn, ax=axes, shrink=0.9)
        bar.set_label(f"{_LABELS[loss]}{f', {convention}' if loss == 'union' else ''}")
        lowest = np.argwhere(np.abs(grid.to_numpy() - grid.to_numpy().min()) <= 1e-9)
        axes.plot(lowest[:, 1] + 0.5, lowest[:, 0] + 0.5, ".", ms=4, color=st.BLACK, label="lowest loss")
        one, _, two = pair.partition("-")
        if one in order and two in order:
            at = (order.index(two) + 0.5, order.index(one) + 0.5)
            axes.plot(*at, "o", ms=9, mfc="none", mec=st.VERMILLION, mew=1.6, label="the truth")
        axes.set_xticks(np.arange(size) + 0.5, order)
        axes.set_yticks(np.arange(size) + 0.5, order)
        axes.tick_params(length=0)
        axes.invert_yaxis()
        axes.set_aspect("equal")
        axes.set_xlabel("guess about player 2")
        axes.set_ylabel("guess about player 1")
        axes.set_title(f"Guesses about {pair}")
        axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.12), ncols=2)
    return figure


def curves(rounds: pd.DataFrame, convention: str) -> Figure:
    """Identification and losses by round (`levelkit.observer.score_rounds`), means over matches: a row for each pair, a
    panel for each quantity, a line for each model. Dotted: the cross-entropy of the truth, which no guess goes below.
    """
    pairs, models = list(dict.fromkeys(rounds["pair"])), list(dict.fromkeys(rounds["model"]))
    panels_of = {"correct": "both named (share)", **_LABELS, "union": f"{_LABELS['union']}, {convention}"}
    with st.style():
        figure = st.new_figure(2.3 * len(panels_of), 1.8 * len(pairs) + 0.7)
        panels = np.atleast_2d(figure.subplots(len(pairs), len(panels_of), sharex=True))
        for row, pair in zip(panels, pairs, strict=True):
            mine = rounds[rounds["pair"] == pair]
            for axes, (column, label) in zip(row, panels_of.items(), strict=True):
                for model, colour in zip(models, cycle(COLOURS), strict=False):
                    mean = mine[mine["model"] == model].groupby("round")[column].mean()
                    axes.plot(mean.index, mean, color=colour, lw=1.0, label=st.clear(model or "observer", 24))
                axes.set_title(label, fontsize=8.5)
                if column == "ce":
                    axes.axhline(mine["ce_floor"].iloc[0], color=st.GREY, lw=0.8, ls=":")
                else:
                    axes.set_ylim(*((-0.02, 1.02) if column == "correct" else (0, None)))
            row[0].set_ylabel(pair)
        for axes in panels[-1]:
            axes.set_xlabel("round")
        panels[0, 0].legend(loc="best")
    return figure


def beliefs(made: Posterior, truth: Sequence[str] | None = None) -> Figure:
    """The ideal observer's belief about each player by round of one match; truths are drawn thick."""
    rounds = np.arange(1, made.p1.shape[-2] + 1)
    with st.style():
        figure = st.new_figure(6.6, 3.9)
        panels = figure.subplots(2, 1, sharex=True)
        for i, (axes, p) in enumerate(zip(panels, (made.p1, made.p2), strict=True)):
            own = truth[i] if truth is not None else None
            _belief(axes, rounds, p, made.catalogue.codes, own)
            axes.set_ylabel(f"player {i + 1}: belief")
            axes.set_ylim(-0.02, 1.02)
        panels[1].set_xlabel("round")
    return figure


def _belief(axes: Axes, rounds: np.ndarray, p: np.ndarray, codes: Sequence[str], truth: str | None) -> None:
    peak = np.nan_to_num(p).mean(axis=0)
    named = [i for i in np.argsort(-peak, kind="stable") if peak[i] > 0][:_NAMED]
    if truth is not None and codes.index(truth) not in named:
        named[-1:] = [codes.index(truth)]
    for i in range(len(codes)):
        if i not in named:
            axes.plot(rounds, p[:, i], color=st.LIGHT, lw=0.7, zorder=1)
    for i, colour in zip(named, cycle(COLOURS), strict=False):
        is_true = codes[i] == truth
        label = f"{codes[i]} (true)" if is_true else codes[i]
        axes.plot(rounds, p[:, i], color=colour, lw=2.2 if is_true else 1.0, label=label)
    axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))
