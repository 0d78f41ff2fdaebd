"""The TQRE study of language models (Jia et al. 2025): every printed tau beside what the data say.

For each cell: the printed value, ours under the published convention (`published_tqre`), a verdict on where its search
came to rest, and our proper estimate (TQRE with true beliefs, global search) with interval and status.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from levelkit.choices import Choices
from levelkit.datafiles import data_path
from levelkit.inference.fit import fit
from levelkit.inference.kernels import Array
from levelkit.models import TQRE
from levelkit.shipped import shipped_choices
from levelkit.studies.base import Part, Request, Study
from levelkit.studies.published_tqre import (
    ARITHMETICS,
    best_optima,
    matrices,
    published_fit,
    released,
    uniform_loglik,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COMPETITIVE = ("competitive_base", "competitive_high_stake", "competitive_low_stake")
ATTAINED = 0.0011
"""Printed values have three decimals; ours counts as the same within one unit of the last, and rounding."""

# Mean log-likelihood over uniform play below which the data say nothing under the published convention.
_NOTHING = 1e-3
_BETTER = 1e-4  # mean log-likelihood by which another optimum has to beat the resting point

NOT_ATTAINED, UNDETERMINED, LOCAL, GLOBAL = "not attained", "not determined", "local optimum", "global optimum"


def printed() -> pd.DataFrame:
    """Tables 2 and 3 as printed: table, model, cot, game, tau (missing where a dash is printed)."""
    return pd.read_csv(data_path("published/tqre_llm_tau.csv"))


def competitive(progress: Callable[[int, int], None] | None = None) -> pd.DataFrame:
    """The competitive columns of both tables, one row per cell with counts.

    table, model, cot, game, printed, published (tau under the published convention), rest (mean log-likelihood there),
    attained (the arithmetic in which the printed value comes out, or "not attained"), best_tau, best_gamma, best (the
    best optimum found of the same objective), verdict (of the resting point), estimate, low, high, status (proper), n.
    """
    choices = shipped_choices("llm_competitive")
    cells = choices.cells.merge(printed(), on=["model", "cot", "game"], how="left", validate="one_to_one")
    cells = cells.rename(columns={"tau": "printed"})
    rest, how = [], []
    for i, value in enumerate(cells["printed"]):
        payoffs = matrices(choices.game_of(i))
        frequencies = [released(c) for c in choices.counts_for(int(i))]
        runs = {a: published_fit(payoffs, frequencies, a) for a in ARITHMETICS[:1]}
        if abs(runs[ARITHMETICS[0]].tau - value) > ATTAINED:
            runs |= {a: published_fit(payoffs, frequencies, a) for a in ARITHMETICS[1:]}
        hits = [a for a, run in runs.items() if abs(run.tau - value) <= ATTAINED]
        rest.append(runs[hits[0] if hits else ARITHMETICS[0]])
        how.append(hits[0] if hits else NOT_ATTAINED)
        if progress is not None:
            progress(i + 1, len(choices))
    cells["published"], cells["rest"], cells["attained"] = [r.tau for r in rest], [r.loglik for r in rest], how
    found = _global(choices)
    rested = np.array([[r.tau, r.gamma, r.loglik] for r in rest]).T
    cells["best_tau"], cells["best_gamma"], cells["best"] = np.where(rested[2] > found[2], rested, found)
    uniform = np.array([uniform_loglik(choices.game_of(i)) for i in range(len(choices))])
    cells["verdict"] = np.select(
        [cells["rest"] - uniform < _NOTHING, cells["best"] > cells["rest"] + _BETTER],
        [UNDETERMINED, LOCAL],
        GLOBAL,
    )
    proper = fit(choices, TQRE(), ["model", "cot", "game"]).frame()
    proper = proper[proper["parameter"] == "tau"].reset_index(drop=True)
    for column in ("estimate", "low", "high", "status", "n"):
        cells[column] = proper[column]
    return cells


def _global(choices: Choices) -> Array:
    """tau, gamma and mean log-likelihood (3, C) of the published objective's best optimum, found on its surface."""
    best = np.empty((3, len(choices)))
    names = choices.cells["game"].to_numpy(dtype=object)
    for name, game in choices.games.items():
        at = np.flatnonzero(names == name)
        rows = np.stack([np.concatenate([released(c) for c in choices.counts_for(int(i))]) for i in at])
        best[:, at] = best_optima(matrices(game), rows)
    return best


def _competitive_part(name: str, table: int, cells: pd.DataFrame) -> Part:
    mine = cells[(cells["table"] == table) & cells["printed"].notna()].reset_index(drop=True)
    games = {g: g.removeprefix("competitive_").replace("_", " ") for g in COMPETITIVE}
    shown = mine.assign(
        short=mine["game"].map(games),
        verdict=mine["verdict"].where(mine["attained"] == ARITHMETICS[0], mine["verdict"] + " (see below)"),
        proper=[interval_text(row) for row in mine.to_dict("records")],
    )
    order = {m: i for i, m in enumerate(dict.fromkeys(printed()["model"]))}
    shown = shown.sort_values(["game", "model"], key=lambda c: c.map(order) if c.name == "model" else c, kind="stable")
    heads = {"model": "model", "short": "game", "verdict": "verdict", "status": "status", "printed": "printed"}
    heads |= {"published": "ours, same way", "estimate": "proper", "proper": "95%", "n": "n"}
    order_of = ["model", "short", "printed", "published", "verdict", "estimate", "proper", "status", "n"]
    heads = {c: heads[c] for c in order_of}
    digits = {"printed": 3, "published": 3, "estimate": 2, "n": 0}
    title = f"Table {table}, competitive games: printed tau, and what the released choices say"
    return Part(
        name, title, shown.reset_index(drop=True), heads, digits, 2, _competitive_notes(mine),
        figure=lambda: _competitive_figure(shown, title),
    )  # fmt: skip


def _competitive_figure(shown: pd.DataFrame, title: str) -> Figure:
    """Proper intervals with the printed values, a panel for each game (figure 3 of the study, for all three)."""
    from levelkit.report.plots.dots import dots

    frame = shown.sort_values("model", key=lambda c: c.str.casefold(), kind="stable")
    return dots(frame.assign(label=frame["model"], panel=frame["short"]), "tau (levels)", title)


def interval_text(row: Mapping[Any, Any]) -> str:
    """An interval as text, e.g. "[0.41, inf]"."""
    ends = [f"{row[c]:.2f}" for c in ("low", "high")]
    return f"[{ends[0]}, {ends[1]}]"


def _competitive_notes(mine: pd.DataFrame) -> list[str]:
    counts = mine["verdict"].value_counts()
    notes = [
        f"{int((mine['attained'] == ARITHMETICS[0]).sum())} of {len(mine)} printed values come out to within "
        f"{ATTAINED:g} when computed the way they were computed.",
        f"Where that search came to rest: {counts.get(GLOBAL, 0)} at the best optimum of its own objective, "
        f"{counts.get(LOCAL, 0)} at a local one with a better fit elsewhere, {counts.get(UNDETERMINED, 0)} where "
        "nothing beats uniform play, so that the printed tau is where the search happened to stop.",
    ]
    for row in mine[mine["attained"] != ARITHMETICS[0]].to_dict("records"):
        cell = f"{row['model']}, {row['game']}: printed {row['printed']:.3f}"
        if row["attained"] == NOT_ATTAINED:
            notes.append(f"{cell} is not attained; the search ends at {row['published']:.3f}.")
        else:
            notes.append(
                f"{cell} comes out only with Poisson weights by {row['attained']}: the search turns on their "
                "last digit."
            )
    flat = int((mine["status"] == "flat").sum())
    notes.append(
        "proper: TQRE with beliefs about the opponent, renormalised levels 0 to 10 and the whole surface searched; "
        f"tau has one answer inside the range in {int((mine['status'] == 'ok').sum())} of {len(mine)} cells, and in "
        f"{flat} the data do not tell it."
    )
    return notes


def _run(request: Request) -> list[Part]:
    parts: list[Part] = []
    cells = competitive(request.progress) if {"table2", "table3", "summary"} & set(request.parts) else pd.DataFrame()
    for name in request.parts:
        if name in ("table2", "table3"):
            parts.append(_competitive_part(name, int(name[-1]), cells))
        elif name == "inversion":
            from levelkit.studies import tqre_llm_inversion

            parts.append(tqre_llm_inversion.part(request.progress))
        elif name == "distribution":
            from levelkit.studies import tqre_llm_distribution

            parts.append(tqre_llm_distribution.part())
        elif name == "features":
            from levelkit.studies import tqre_llm_features

            parts += tqre_llm_features.parts(request)
        elif name == "design":
            from levelkit.studies import tqre_llm_design

            parts.append(tqre_llm_design.part(request.progress))
        elif name in ("table4", "table5"):
            from levelkit.studies import tqre_llm_personas

            parts += tqre_llm_personas.parts(request, int(name[-1]))
        elif name in ("cot", "humans"):
            from levelkit.studies import tqre_llm_compared

            parts.append(tqre_llm_compared.cot_part() if name == "cot" else tqre_llm_compared.humans_part())
    if "summary" in request.parts:
        parts.append(_summary(cells))
    return parts


def _summary(cells: pd.DataFrame) -> Part:
    """What stands and what does not, in plain words, from the competitive columns."""
    told = cells[cells["printed"].notna()]
    verdicts, statuses = told["verdict"].value_counts(), told["status"].value_counts()
    inside = (told["printed"] >= told["low"]) & (told["printed"] <= told["high"])
    ok = told["status"] == "ok"
    attained = int((told["attained"] != NOT_ATTAINED).sum())
    rows = [
        ("printed values", len(told)),
        ("come out when computed the way they were", attained),
        ("of these at the best optimum of their own objective", int(verdicts.get(GLOBAL, 0))),
        ("at a lesser optimum", int(verdicts.get(LOCAL, 0))),
        ("where nothing beats uniform play", int(verdicts.get(UNDETERMINED, 0))),
        *(
            (f"proper estimate: tau {name}", int(statuses.get(name, 0)))
            for name in ("ok", "multimodal", "boundary", "flat")
        ),
        ("printed value inside the proper 95% interval, where tau is ok", int((inside & ok).sum())),
        ("and outside it", int((~inside & ok).sum())),
    ]
    notes = [
        f"What stands: {attained} of {len(told)} printed numbers can be computed again from released choices.",
        "What does not: that program's objective is not the model the paper writes down (data/published/README.md); of "
        f"{len(told)} values {verdicts.get(UNDETERMINED, 0)} rest where the data say nothing and "
        f"{verdicts.get(LOCAL, 0)} at a lesser optimum; and none comes with an error.",
        "What can be said instead is in the last columns of table2 and table3: an interval and a status for each cell. "
        f"tau has one answer inside its range in {int(ok.sum())} of them.",
    ]
    frame = pd.DataFrame(rows, columns=["quantity", "cells"])
    title = "The competitive games of the study in numbers"
    return Part("summary", title, frame, {"quantity": "", "cells": "cells"}, {"cells": 0}, 1, notes)


STUDY = Study(
    name="tqre-llm",
    about="Jia et al. 2025: reasoning levels of 22 language models, audited",
    parts={
        "table2": "competitive games without chain of thought, from released choices",
        "table3": "the same with chain of thought",
        "table4": "regressions on persona features (needs --released: the authors' files)",
        "table5": "the same with chain of thought (needs --released)",
        "features": "mean tau by persona feature, figures 6 and 7 (needs --released)",
        "distribution": "printed taus by game, figures 2 and 4, beside what one can be known to",
        "summary": "what stands and what does not, in numbers and words",
        "cot": "chain of thought against none: tau with intervals, permutation tests",
        "humans": "people in Stahl-Wilson game 10: four samples under both conventions",
        "design": "which of its games can tell tau at all, and with how many plays",
        "inversion": "2x2, Bayesian and signaling games: which counts could have given the printed tau",
    },
    default=("table2", "table3"),
    run=_run,
)
