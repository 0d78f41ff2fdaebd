"""The TQRE study's comparisons: with and without chain of thought, and people in Stahl-Wilson game 10."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from levelkit.choices import Choices
from levelkit.inference.equality import equality
from levelkit.inference.fit import fit
from levelkit.models import TQRE, PoissonCH
from levelkit.shipped import shipped_choices
from levelkit.studies.base import Part, estimate_text
from levelkit.studies.published_tqre import best_optima, matrices, published_fit, released

if TYPE_CHECKING:
    from matplotlib.figure import Figure

REPLICATES = 9999
SIGNIFICANT = 0.05
_MODELS = {"CH": PoissonCH(), "TQRE": TQRE()}


def chain_of_thought() -> pd.DataFrame:
    """Each model with and without chain of thought, its three competitive games pooled for tau (one gamma a game), and
    a permutation test in each game that both choose alike.

    model, plain, plain_low, plain_high, plain_status, cot, cot_low, cot_high, cot_status, then for each game p (exact)
    and p_max (adjusted over all models of the game).
    """
    choices = shipped_choices("llm_competitive")
    both = choices.cells.groupby("model")["cot"].nunique()
    paired = choices.filter(choices.cells["model"].isin(both[both == 2].index).to_numpy())
    taus = fit(paired, TQRE(), ["model", "cot"], vary={"gamma": ["game"]}, sensitivity=False).frame()
    taus = taus[taus["parameter"] == "tau"]
    names = {"estimate": "", "low": "_low", "high": "_high", "status": "_status"}
    wide = [
        taus.loc[taus["cot"] == cot, ["model", *names]].rename(columns={c: label + end for c, end in names.items()})
        for cot, label in ((0, "plain"), (1, "cot"))
    ]
    table = wide[0].merge(wide[1], on="model")
    for game in paired.games:
        table = table.merge(_alike(paired.filter(game=game), game), on="model", how="left")
    return table


def _alike(choices: Choices, game: str) -> pd.DataFrame:
    """Tests of one game with the arms named by model, so that p_max is over its models."""
    cells = choices.cells
    arms: pd.Series[str] = cells["model"].astype(str) + np.where(cells["cot"] == 1, " (chain of thought)", "")
    models = [m for m in cells["model"].unique() if (cells["model"] == m).sum() == 2]
    named = Choices.from_counts(
        pd.DataFrame({"arm": arms, "game": cells["game"]}), choices.counts, choices.games, no_choice=choices.no_choice
    )
    pairs = [(m, f"{m} (chain of thought)") for m in models]
    tests = equality(named, "arm", pairs=pairs, replicates=REPLICATES, seed=1)
    short = game.removeprefix("competitive_")
    return pd.DataFrame({"model": models, f"p_{short}": tests["p"], f"p_max_{short}": tests["p_max"]})


def humans() -> pd.DataFrame:
    """Four samples of people in game 10: counts, tau under the published convention (where its search rests, and the
    best optimum of its objective), and tau by two general models with intervals and statuses.
    """
    choices = shipped_choices("sw10_humans")
    rows = []
    for i in range(len(choices)):
        counts = choices.counts_for(i)[0]
        payoffs = matrices(choices.game_of(i))
        both = [released(counts)] * 2  # one population in both roles
        best = best_optima(payoffs, np.concatenate(both)[None])
        rows.append(
            {
                **dict(choices.cells.iloc[i]),
                "counts": ", ".join(f"{c:g}" for c in counts),
                "n": counts.sum(),
                "published_way": published_fit(payoffs, both).tau,
                "published_way_best": float(best[0][0]),
            }
        )
    table = pd.DataFrame(rows)
    for label, model in _MODELS.items():
        frame = fit(choices, model, ["sample", "game"]).frame()
        own = frame.loc[frame["parameter"] == "tau", ["sample", "estimate", "low", "high", "status"]]
        table = table.merge(own.rename(columns={c: f"{label}_{c}" for c in own.columns[1:]}), on="sample")
    return table


def cot_part() -> Part:
    """Chain of thought beside none."""
    table = chain_of_thought()
    games = [c.removeprefix("p_max_") for c in map(str, table) if c.startswith("p_max_")]
    shown = table.assign(
        plain_text=_estimates(table, "plain", "plain_low", "plain_high", "plain_status"),
        cot_text=_estimates(table, "cot", "cot_low", "cot_high", "cot_status"),
    )
    heads = {"model": "model", "plain_text": "tau, plain", "cot_text": "tau, chain of thought"}
    heads |= {f"p_max_{g}": f"p, {g.replace('_', ' ')}" for g in games}
    apart = [int((table[f"p_max_{g}"] <= SIGNIFICANT).sum()) for g in games]
    tested = [int(table[f"p_max_{g}"].notna().sum()) for g in games]
    alone = [int((table[f"p_{g}"] <= SIGNIFICANT).sum()) for g in games]
    settled = table[(table["plain_status"] == "ok") & (table["cot_status"] == "ok")]
    separate = int(((settled["plain_high"] < settled["cot_low"]) | (settled["cot_high"] < settled["plain_low"])).sum())
    notes = [
        "tau: one for the three games, gamma free in each; proper TQRE with 95% intervals and status.",
        "p: permutation test that the model chooses alike with and without chain of thought, adjusted over the "
        f"models of the game (max-T). At {SIGNIFICANT:g}: "
        + "; ".join(f"{a} of {t} in {g.replace('_', ' ')}" for a, t, g in zip(apart, tested, games, strict=True))
        + f" (unadjusted {', '.join(map(str, alone))}).",
        f"In {len(settled)} of {len(table)} models tau has one answer inside its range in both arms"
        + (
            f"; in {separate} of these the two intervals do not overlap."
            if len(settled)
            else ": no tau can be compared."
        ),
        "Figures of the paper that rank models by chain of thought rest on point estimates without errors.",
    ]
    title = "Chain of thought: tau over the three competitive games, and whether choices differ at all"
    digits = {f"p_max_{g}": 4 for g in games}
    return Part("cot", title, shown, heads, digits, 3, notes, figure=lambda: _cot_figure(table, title))


def _cot_figure(table: pd.DataFrame, title: str) -> Figure:
    from levelkit.report.plots.dots import dots

    return dots(_long(table, "model", {"plain": "plain", "cot": "chain of thought"}), "tau (levels)", title)


def _long(table: pd.DataFrame, label: str, series: Mapping[str, str]) -> pd.DataFrame:
    """One row for each label and series, from columns named after the series' stem."""
    rows = []
    for row in table.to_dict("records"):
        for stem, name in series.items():
            columns = {c: row.get(f"{stem}_{c}", row.get(stem)) for c in ("estimate", "low", "high", "status")}
            rows.append({"label": row[label], "series": name, **columns})
    return pd.DataFrame(rows)


def humans_part() -> Part:
    """People in game 10."""
    table = humans()
    shown = table.assign(
        **{
            f"{label}_text": _estimates(table, *(f"{label}_{c}" for c in ("estimate", "low", "high", "status")))
            for label in _MODELS
        }
    )
    heads = {"sample": "sample", "counts": "counts", "n": "n", "published_way": "published way"}
    heads |= {"published_way_best": "its best optimum", "CH_text": "CH tau", "TQRE_text": "TQRE tau"}
    spread = f"{table['published_way'].min():.2f} to {table['published_way'].max():.2f}"
    notes = [
        f"Under the published convention the four samples give tau from {spread}: which one stands for 'humans' "
        "decides where people rank among the models.",
        "The language models' choices in this game are not released, so their rank cannot be computed again.",
        "TQRE: the interval says what one sample of people tells about tau in this game alone.",
    ]
    title = "People in Stahl-Wilson game 10: four samples that go by one name"
    order = ["sample", "counts", *(c for c in heads if c not in ("sample", "counts"))]
    digits = {"n": 0, "published_way": 3, "published_way_best": 3}

    def figure() -> Figure:
        from levelkit.report.plots.dots import dots

        named = table.assign(label=table["sample"] + " (" + table["counts"] + ")")
        return dots(_long(named, "label", {m: m for m in _MODELS}), "tau (levels)", title)

    return Part("humans", title, shown, {c: heads[c] for c in order}, digits, 2, notes, figure=figure)


def _estimates(frame: pd.DataFrame, *columns: str) -> list[str]:
    """Columns of value, low, high and status as texts."""
    return [estimate_text(*values) for values in zip(*(frame[c] for c in columns), strict=True)]
