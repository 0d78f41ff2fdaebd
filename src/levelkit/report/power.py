"""What a design can tell, in tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from levelkit.inference.status import Status
from levelkit.report import words
from levelkit.report.sheets import Sheet

if TYPE_CHECKING:
    from collections.abc import Mapping

    from levelkit.inference.power import Needed, Power

_STATUSES = [s.word for s in Status]
_MOST = 12  # games printed at each step; files hold all


def sheet(made: Power) -> Sheet:
    """Errors, statuses and intervals to expect, one row for each parameter."""
    percent = f"{made.interval:.0%}"
    heads = ["parameter", "unit", "truth", "se", *_STATUSES, "bounded", "covered", "median", f"median {percent}"]
    frame = made.frame()
    cells = [
        [
            row["parameter"],
            row["unit"],
            f"{row['truth']:g}",
            words.number(row["se"]),
            *(f"{row[s]:.0%}" for s in _STATUSES),
            f"{row['bounded']:.0%}",
            f"{row['covered']:.0%}",
            words.number(row["estimate"]),
            f"[{words.number(row['low'])}, {words.number(row['high'])}]",
        ]
        for row in frame.to_dict("records")
    ]
    notes = [
        f"{made.replicates:,} simulated data sets, all games pooled, {made.n:,} choices of each player in each game "
        f"({int(frame['choices'].iloc[0]) if len(frame) else 0:,} in all).",
        "se: expected standard error, from the information at the truth; inf where the games do not identify the "
        "parameter. It knows nothing of second optima and limits; where shares of statuses disagree with it, believe "
        "the shares.",
        "bounded: intervals with both ends inside the range. covered: intervals that hold the truth (open ends "
        "included). median: of the fits that have an estimate.",
    ]
    silent = [row["parameter"] for row in frame.to_dict("records") if not np.isfinite(row["se"])]
    if silent:
        notes.append(
            f"{' and '.join(silent)}: not identified at these values, whatever n. Add games (levelkit power --next) "
            "or hold a parameter."
        )
    return Sheet(f"{made.model.label} in {_named(made.games)}", heads, cells, notes, left=2)


def needed_sheet(made: Needed, games: str) -> Sheet:
    """What was tried, and the n that was found."""
    cells = [[f"{n:,}", f"{share:.0%}"] for n, share in made.tried.itertuples(index=False, name=None)]
    return Sheet(f"Choices needed in {games}", ["n of each player and game", "share"], cells, [f"{made.why}."])


def next_sheet(frame: pd.DataFrame, truth: Mapping[str, float]) -> Sheet:
    """Which games to add, best first."""
    errors = [c for c in map(str, frame) if c.startswith("se_")]
    shown = frame[frame["rank"] <= _MOST]
    cells = [
        [
            row["game"],
            f"{row['step']}",
            f"{row['rank']}",
            f"{row['choices']:,}",
            *(words.number(row[c]) for c in errors),
        ]
        for row in shown.to_dict("records")
    ]
    first = shown["rank"].to_numpy() == 1
    rules = [int(i) for i in np.flatnonzero(first)[1:]]
    at = ", ".join(f"{name} = {value:g}" for name, value in truth.items())
    notes = [
        f"At {at}. se: expected standard errors after the game is added to those chosen before; inf: not identified.",
        "Each step takes the best game of the step before into the design.",
    ]
    if len(shown) < len(frame):
        notes.append(f"The best {_MOST} of each step are shown; --out files hold all {len(frame)} rows.")
    heads = ["game to add", "step", "rank", "choices", *(c.replace("se_", "se ") for c in errors)]
    return Sheet("Games that would tell most", heads, cells, notes, rules=rules)


def _named(games: tuple[object, ...]) -> str:
    return words.few([str(getattr(g, "name", g)) for g in games])
