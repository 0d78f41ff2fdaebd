"""The principal branch of logit QRE: every action's probability against lam."""

from __future__ import annotations

from itertools import cycle
from typing import TYPE_CHECKING

import numpy as np

from levelkit.models import branches
from levelkit.report.plots import style as st

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from levelkit.games import Game

_COLOURS = (st.BLUE, st.VERMILLION, st.GREEN, st.PURPLE, st.ORANGE, st.SKY, st.BLACK)


def branch(game: Game) -> Figure:
    """One panel per agent (one for both of a symmetric game); lam on a log scale, bifurcations dotted."""
    frame, forks = branches.smooth_frame(game), branches.forks(game)
    agents = [0] if branches.is_symmetric(game) else list(range(game.n_players))
    with st.style():
        figure = st.new_figure(2.9 * len(agents) + 0.6, 2.9)
        panels = np.atleast_1d(figure.subplots(1, len(agents), sharey=True))
        for i, axes in zip(agents, panels, strict=True):
            for action, colour in zip(game.actions[i], cycle(_COLOURS), strict=False):
                column = frame[f"{game.players[i]}: {action}"]
                axes.plot(frame["lam"], column, color=colour, lw=1.3, label=st.clear(str(action), 18))
            for fork in forks:
                axes.axvline(fork, color=st.GREY, lw=0.8, ls=":")
            axes.set_xscale("log")
            axes.set_ylim(-0.02, 1.02)
            axes.set_title("every player" if len(agents) < game.n_players else st.clear(game.players[i]))
            axes.set_xlabel("precision lambda (1/payoff)")
            axes.legend(loc="upper left")
        panels[0].set_ylabel("probability")
    return figure
