"""How the printed taus of all models lie, game by game, beside what one such tau can be known to.

The study shows such distributions (its figures 2 and 4) and reads differences between models and the effect of chain of
thought out of them. Without the choices of ten of the thirteen games the taus cannot be computed again; but how well
plays of a game determine tau follows from the game.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from levelkit.inference.power import next_games
from levelkit.models import TQRE
from levelkit.studies.base import Part
from levelkit.studies.tqre_llm import printed
from levelkit.studies.tqre_llm_design import GAMMA, TAU, N

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_ARMS = {0: "plain", 1: "chain of thought"}


def distribution() -> pd.DataFrame:
    """One row a game: game, for each arm n, median and the middle half's ends of the printed taus (plain_n, plain_low,
    plain_median, plain_high, cot_n, ...), se (expected error of one tau from N plays a player at TAU, GAMMA; inf where
    the game cannot tell it).
    """
    told = printed().dropna(subset="tau")
    games = list(dict.fromkeys(told["game"]))
    rows = []
    for game in games:
        row: dict[str, object] = {"game": game}
        for cot, arm in ((0, "plain"), (1, "cot")):
            own = told.loc[(told["game"] == game) & (told["cot"] == cot), "tau"]
            low, median, high = own.quantile([0.25, 0.5, 0.75])
            row |= {f"{arm}_n": len(own), f"{arm}_low": low, f"{arm}_median": median, f"{arm}_high": high}
        rows.append(row)
    known = next_games(None, TQRE(), candidates=games, n=N, tau=TAU, gamma=GAMMA)
    return pd.DataFrame(rows).merge(known[["game", "se_tau"]].rename(columns={"se_tau": "se"}), on="game")


def part() -> Part:
    """The page and its figure."""
    table = distribution()
    shown = table.assign(
        **{
            f"{arm}_text": [f"{m:.2f} [{a:.2f}, {b:.2f}]" for m, a, b in table[columns].itertuples(index=False)]
            for arm in ("plain", "cot")
            for columns in [[f"{arm}_{c}" for c in ("median", "low", "high")]]
        },
        verdict=np.where(np.isinf(table["se"]), "cannot tell tau", ""),
    )
    wide = table["plain_high"] - table["plain_low"]
    finite = np.isfinite(table["se"])
    drowned = int((finite & (table["se"] > wide)).sum())
    notes = [
        "Printed taus over models: median and middle half. se: the expected standard error of one tau from "
        f"{N} plays a player, at tau {TAU:g} and gamma {GAMMA:g} per range; inf: no number of plays tells tau.",
        f"In {int((~finite).sum())} of {len(table)} games tau cannot be told; in {drowned} of the other "
        f"{int(finite.sum())} the error of one tau is larger than the middle half of all models is wide. Differences "
        "between models, and between plain and chain of thought, that are read out of such points have no support "
        "in them.",
        "Dashes in the printed tables are left out.",
    ]
    heads = {"game": "game", "verdict": "", "plain_text": "plain", "cot_text": "chain of thought", "se": "se"}
    title = "Printed taus by game: how they lie, and how well one is known"
    return Part("distribution", title, shown, heads, {"se": 2}, 4, notes, figure=lambda: figure(table))


def figure(table: pd.DataFrame) -> Figure:
    """Every printed tau as a point, a row for each game, by arm; grey where the game cannot tell tau."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    from levelkit.report.plots import style as st

    told = printed().dropna(subset="tau")
    games = list(table["game"])
    colours = {0: st.BLUE, 1: st.VERMILLION}
    with st.style():
        made = st.new_figure(6.4, 1.3 + 0.3 * len(games))
        axes = made.subplots()
        top = float(told["tau"].max()) * 1.05
        for y, row in enumerate(table.to_dict("records")):
            if np.isinf(row["se"]):
                axes.barh(y, top, height=0.86, color=st.LIGHT, zorder=0)
            for cot, arm in ((0, "plain"), (1, "cot")):
                at = y + (-0.2 if cot == 0 else 0.2)
                own = told.loc[(told["game"] == row["game"]) & (told["cot"] == cot), "tau"]
                axes.plot(
                    [row[f"{arm}_low"], row[f"{arm}_high"]], [at, at], color=colours[cot], linewidth=1.0, zorder=1
                )
                axes.plot(own, np.full(len(own), at), ".", color=colours[cot], markersize=4, alpha=0.7, zorder=2)
                axes.plot([row[f"{arm}_median"]], [at], "|", color=colours[cot], markersize=9, zorder=3)
        axes.set_yticks(range(len(games)), [g.replace("_", " ") for g in games])
        axes.set_ylim(len(games) - 0.4, -0.6)
        axes.set_xlim(0, top)
        axes.set_xlabel("printed tau (levels)")
        axes.tick_params(axis="y", length=0)
        axes.spines["left"].set_visible(False)
        handles: list[Any] = [Line2D([], [], marker=".", color=colours[c], label=name) for c, name in _ARMS.items()]
        handles += [
            Line2D([], [], marker="|", linestyle="none", color=st.INK, markersize=9, label="median"),
            Line2D([], [], color=st.INK, linewidth=1.0, label="middle half"),
            Patch(facecolor=st.LIGHT, label="cannot tell tau"),
        ]
        made.legend(handles=handles, loc="outside lower left", ncols=5)
        made.suptitle("Printed taus of language models, by game", x=0.01, ha="left", fontsize=10)
    return made
