"""Which of the TQRE study's games can tell tau at all, at levels of reasoning like those it prints."""

from __future__ import annotations

import numpy as np
import pandas as pd

from levelkit.games import game, library_sets
from levelkit.inference.power import Needed, needed, power
from levelkit.models import TQRE
from levelkit.studies.base import Part, Progress

TAU, GAMMA = 1.5, 3.0  # gamma per payoff range
N = 30  # plays of each player in the study
REPLICATES = 400
AIM, WITHIN = 0.8, 4.0
TOGETHER = "competitive games pooled"


def table(progress: Progress | None = None) -> pd.DataFrame:
    """One row for each game alone and one for the competitive games pooled.

    game, se (of tau, from the expected information), ok, multimodal, boundary, flat (shares of simulated fits),
    bounded, low, high (medians of the interval), needed (n of each player for a useful interval in most fits, nan where
    there is none), why.
    """
    _, names = library_sets()["tqre_llm"]
    alone = [game(name) for name in names if name != "sw10"]
    competitive = [g for g in alone if g.name.startswith("competitive")]
    designs = [(g.name, [g]) for g in alone] + [(TOGETHER, competitive)]
    rows = []
    for i, (name, games) in enumerate(designs):
        made = power(games, TQRE(), n=N, replicates=REPLICATES, seed=i, tau=TAU, gamma=GAMMA)
        row = made.frame().set_index("parameter").loc["tau"]
        told: Needed = needed(
            games, TQRE(), aim=AIM, within=WITHIN, replicates=REPLICATES // 4, seed=i, tau=TAU, gamma=GAMMA
        )
        columns = ["se", "ok", "multimodal", "boundary", "flat", "bounded", "low", "high"]
        rows.append(
            {"game": name, **row[columns], "needed": np.nan if told.n is None else float(told.n), "why": told.why}
        )
        if progress is not None:
            progress(i + 1, len(designs))
    return pd.DataFrame(rows)


def part(progress: Progress | None = None) -> Part:
    """The page."""
    found = table(progress)
    silent = ~np.isfinite(found["se"])
    shown = found.assign(
        shares=[" / ".join(f"{row[s]:.0%}" for s in ("ok", "multimodal", "boundary", "flat")) for row in _rows(found)],
        ends=[f"[{row['low']:.2f}, {row['high']:.2f}]" for row in _rows(found)],
        verdict=[
            "at no n" if lost else f"n = {row['needed']:,.0f}" if row["needed"] > 0 else "not up to n = 20,000"
            for row, lost in zip(_rows(found), silent, strict=True)
        ],
    )
    told = [str(g) for g in found.loc[~silent, "game"] if g != TOGETHER]
    notes = [
        f"Simulated TQRE play with tau = {TAU:g} and gamma = {GAMMA:g} per payoff range, {N} plays of each player as "
        f"in the study, {REPLICATES} data sets for each row.",
        f"{int(silent.sum())} of {len(found) - 1} games cannot tell tau from gamma at any n: their observed choices "
        "have too few free probabilities, or move along one curve.",
        f"The others: {', '.join(told)}.",
        f"needed: plays of each player so that in {AIM:.0%} of data sets tau has one answer and an interval whose ends "
        f"are at most {WITHIN:g} times apart.",
        "ok / multimodal / boundary / flat: how simulated fits of tau end. interval: medians of its ends.",
    ]
    heads = {"game": "game", "verdict": "needed", "se": "se of tau"}
    heads |= {"shares": "ok / multimodal / boundary / flat", "ends": "interval"}
    title = "Which games of the study can tell tau, if players reason at the levels it prints"
    return Part("design", title, shown, heads, {"se": 2}, 2, notes)


def _rows(frame: pd.DataFrame) -> list[dict[str, float]]:
    return frame.to_dict("records")  # type: ignore[return-value]
