"""What priors say about choices, as a figure: the distribution of every action's probability."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from levelkit.report.plots import style as st

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from levelkit.inference.prior_predictive import PriorPredictive

_MOST = 12
_ACROSS = 3


def figure(made: PriorPredictive) -> Figure:
    """A panel for each game (at most twelve), a line for each action: 95% thin, half thick, the mean a dot."""
    frame = made.frame()
    games = [g.name for g in made.games][:_MOST]
    down, across = -(-len(games) // _ACROSS), min(len(games), _ACROSS)
    most = max(int((frame["game"] == g).sum()) for g in games)
    with st.style():
        drawn = st.new_figure(1.2 + 2.4 * across, 0.9 + down * (0.7 + 0.2 * most))
        panels = np.atleast_1d(drawn.subplots(down, across, squeeze=False, sharex=True)).ravel()
        for axes, game in zip(panels, games, strict=False):
            mine = frame[frame["game"] == game].reset_index(drop=True)
            for y, row in enumerate(mine.to_dict("records")):
                axes.plot([row["2.5%"], row["97.5%"]], [y, y], color=st.BLUE, lw=0.8)
                axes.plot([row["25%"], row["75%"]], [y, y], color=st.BLUE, lw=3.2, solid_capstyle="butt")
                axes.plot([row["mean"]], [y], "o", color=st.VERMILLION, ms=3.4)
            labels = [st.clear(f"{r['player']}: {r['action']}") for r in mine.to_dict("records")]
            axes.set_yticks(range(len(mine)), labels)
            axes.set_ylim(len(mine) - 0.4, -0.6)
            axes.set_xlim(-0.02, 1.02)
            axes.set_title(st.clear(game), loc="left")
            axes.grid(axis="x", color=st.LIGHT, lw=0.6)
        for axes in panels[len(games) :]:
            axes.set_visible(False)
        for axes in panels[max(len(games) - across, 0) : len(games)]:
            axes.set_xlabel("probability of the action")
            axes.tick_params(labelbottom=True)
        drawn.suptitle(
            f"{made.model.label} before any choice is seen (dot: mean; bars: half and 95%)\n"
            + "; ".join(map(st.clear, made.described)),
            x=0.01,
            ha="left",
            fontsize=9,
        )
    return drawn
