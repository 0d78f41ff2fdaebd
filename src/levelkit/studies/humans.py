"""People beside language models in the same game, and people alone in the experiments that come along.

Intervals hold together: with G groups each has level 1 - 0.05/G, so that all cover at once in 95 of 100 studies, and
the ranks that follow from them do, too (Klein, Wright & Wieczorek 2020, Journal of the Royal Statistical Society A
183).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from levelkit.choices import Choices
from levelkit.inference.bayes import posterior
from levelkit.inference.equality import equality
from levelkit.inference.fit import fit
from levelkit.models import TQRE, PoissonCH
from levelkit.shipped import shipped_choices, shipped_sets
from levelkit.studies.base import Part, Request, Study, estimate_text

PEOPLE = "people"
ERROR = 0.05
REPLICATES = 9999
GAMES = ("eleven_twenty_basic", "eleven_twenty_costless")
EXPERIMENTS = ("sw94", "sw95", "rpc2009")
_MODEL = PoissonCH()


def together(name: str) -> Choices:
    """The choices of one game by language models, at each temperature, and by people, told apart by the column who."""
    machines = shipped_choices("llm_eleven_twenty").filter(game=name)
    humans = shipped_choices("eleven_twenty").filter(game=name)
    labels = [
        f"{m}, temperature {float(t):g}" for m, t in machines.cells[["model", "temperature"]].itertuples(index=False)
    ]
    cells = pd.DataFrame({"who": [*labels, PEOPLE], "game": name})
    counts = np.concatenate([machines.counts, humans.counts])
    return Choices.from_counts(cells, counts, machines.games)


def board(name: str) -> pd.DataFrame:
    """Everybody in one game, highest tau first.

    game, who, n, estimate, low, high, status (Poisson CH, intervals that hold together), rank_low, rank_high (ranks
    that the intervals allow, 1 the highest), p_max (permutation test that these choose as people do, adjusted over all
    groups), above (posterior probability that tau is above that of people), verdict.
    """
    choices = together(name)
    groups = len(choices)
    found = fit(choices, _MODEL, "who", interval=1 - ERROR / groups, sensitivity=False).frame()
    own = found.loc[found["parameter"] == "tau", ["who", "n", "estimate", "low", "high", "status"]]
    own[["rank_low", "rank_high"]] = ranks(own["low"].to_numpy(), own["high"].to_numpy())
    tests = equality(choices, "who", pairs=[(PEOPLE, w) for w in own["who"] if w != PEOPLE], replicates=REPLICATES)
    own = own.merge(tests[["b", "p_max"]].rename(columns={"b": "who"}), on="who", how="left")
    post = posterior(choices, _MODEL, by="who", seed=1)
    chances = {w: post.probability("tau", {"who": w}, {"who": PEOPLE})[0] for w in own["who"] if w != PEOPLE}
    own["above"] = own["who"].map(chances)
    people = own[own["who"] == PEOPLE].iloc[0]
    own["verdict"] = np.select(
        [own["who"] == PEOPLE, own["low"] > people["high"], own["high"] < people["low"]],
        ["", "above people", "below people"],
        "not told from people",
    )
    ordered = own.assign(_at=own["estimate"].fillna(-1.0)).sort_values("_at", ascending=False, kind="stable")
    ordered.insert(0, "game", name)
    return ordered.drop(columns="_at").reset_index(drop=True)


def ranks(low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """The best and the worst rank (N, 2) that intervals allow: one behind all that lie wholly above, before all that
    lie wholly below.
    """
    above = (low[None, :] > high[:, None]).sum(axis=1)
    below = (high[None, :] < low[:, None]).sum(axis=1)
    return np.column_stack([1 + above, len(low) - below])


def experiments() -> pd.DataFrame:
    """People in each experiment: experiment, games, n, CH and TQRE tau over all games with intervals and statuses, and
    in how many games alone each model's tau is ok.
    """
    rows = []
    for name in EXPERIMENTS:
        choices = shipped_choices(name)
        row: dict[str, Any] = {"experiment": name, "games": len(choices.games), "n": float(choices.counts.sum())}
        for label, model in (("CH", _MODEL), ("TQRE", TQRE())):
            whole = fit(choices, model, scale="range", sensitivity=False).frame()
            row |= {f"{label}_{k}": v for k, v in whole[whole["parameter"] == "tau"].iloc[0].items() if k in _COLUMNS}
            alone = fit(choices, model, "game", sensitivity=False).frame()
            row[f"{label}_ok"] = int((alone.loc[alone["parameter"] == "tau", "status"] == "ok").sum())
        rows.append(row)
    return pd.DataFrame(rows)


_COLUMNS = ("estimate", "low", "high", "status")


def _board_part(name: str, request: Request) -> Part:
    table = board(name)
    short = name.removeprefix("eleven_twenty_")
    shown = table.assign(
        tau=[estimate_text(*row) for row in table[list(_COLUMNS)].itertuples(index=False)],
        rank=[f"{a}-{b}" if a != b else f"{a}" for a, b in table[["rank_low", "rank_high"]].astype(int).to_numpy()],
    )
    people = table[table["who"] == PEOPLE].iloc[0]
    spread = _temperatures(table)
    verdicts = table["verdict"].value_counts()
    notes = [
        f"tau: Poisson cognitive hierarchy, uniform level 0, levels to {_MODEL.levels}; intervals of all "
        f"{len(table)} groups hold together with {1 - ERROR:.0%}.",
        f"Against people (rank {int(people['rank_low'])} to {int(people['rank_high'])} of {len(table)}): "
        + "; ".join(f"{verdicts.get(v, 0)} {v}" for v in ("above people", "below people", "not told from people"))
        + ".",
        f"Whether they choose alike is another question, and asks for no model: {int((table['p_max'] <= ERROR).sum())} "
        f"of {len(table) - 1} differ from people (permutation tests, adjusted, {ERROR:g}). A tau can agree where "
        "choices do not.",
        "P(above): posterior probability that tau is above that of people, each alone, with the stated prior.",
        *spread,
    ]
    if (table["status"] == "flat").any():
        notes.append(
            "-: the model fits no better than uniform play. That is not to say that these choose evenly, only "
            "that no cognitive hierarchy of this kind describes them."
        )
    heads = {"who": "who", "tau": "tau", "verdict": "verdict", "n": "n", "rank": "rank", "p_max": "p alike"}
    heads |= {"above": "P(above)"}
    title = f"The 11-20 game, {short} version: language models and people"
    return Part(
        f"eleven-twenty-{short}",
        title,
        shown,
        heads,
        {"n": 0, "p_max": 4, "above": 2},
        3,
        notes,
        figure=lambda: _figure(table.assign(label=table["who"]), "tau (levels), Poisson CH", title),
    )


def _temperatures(table: pd.DataFrame) -> list[str]:
    """How far one model's taus lie apart by temperature, for the model where they do most."""
    parts = table["who"].str.extract(r"^(.*), temperature ")[0]
    ends = table.groupby(parts)["estimate"].agg(["min", "max"])
    if not len(ends):
        return []
    at = int((ends["max"] / ends["min"].clip(lower=1e-9)).argmax())
    top, (low, high) = ends.index[at], ends.to_numpy()[at]
    return [
        f"One model at several temperatures is several players: {top} has tau from {low:.2f} to {high:.2f}. A name "
        "without its temperature has no rank."
    ]


def _figure(frame: pd.DataFrame, x: str, title: str) -> Any:
    from levelkit.report.plots.dots import dots

    return dots(frame, x, title)


def _experiments_part() -> Part:
    table = experiments()
    about = shipped_sets()
    shown = table.assign(
        who=[about[name].split(":")[0] for name in table["experiment"]],
        **{
            label: [estimate_text(*row) for row in table[[f"{label}_{c}" for c in _COLUMNS]].itertuples(index=False)]
            for label in ("CH", "TQRE")
        },
        ok=[f"{a} / {b}" for a, b in table[["CH_ok", "TQRE_ok"]].to_numpy()],
    )
    notes = [
        "One tau for all games of an experiment, gamma per payoff range; 95% intervals, which take each choice for "
        "independent although people made several.",
        "ok alone: in how many games by itself tau has one answer inside the range (CH / TQRE). A level read from one "
        "such game is often no level.",
        "Other games, other people: taus of different experiments, or of language models in games that people did not "
        "play, are no ranking.",
    ]
    heads = {"who": "experiment", "CH": "CH tau", "TQRE": "TQRE tau", "games": "games", "n": "n", "ok": "ok alone"}
    long = pd.concat(
        [
            table[[f"{label}_{c}" for c in _COLUMNS]]
            .set_axis(list(_COLUMNS), axis=1)
            .assign(label=shown["who"], series=label)
            for label in ("CH", "TQRE")
        ]
    )
    title = "People in three experiments of one-shot games"
    digits = {"games": 0, "n": 0}
    return Part(
        "experiments", title, shown, heads, digits, 3, notes, figure=lambda: _figure(long, "tau (levels)", title)
    )


def _run(request: Request) -> list[Part]:
    parts = []
    for done, name in enumerate(request.parts):
        if request.progress is not None:
            request.progress(done, len(request.parts))
        if name == "experiments":
            parts.append(_experiments_part())
        elif name == "sw10":
            from levelkit.studies.tqre_llm_compared import humans_part

            parts.append(humans_part())
        else:
            parts += [_board_part(one, request) for one in GAMES]
    return parts


STUDY = Study(
    name="humans",
    about="people beside language models: the same game, the same model, intervals that hold together",
    parts={
        "eleven-twenty": "the 11-20 game, two versions: six language models by temperature, and people",
        "experiments": "people in Stahl & Wilson 1994 and 1995 and Rogers, Palfrey & Camerer 2009",
        "sw10": "people in Stahl-Wilson game 10: four samples that go by one name",
    },
    default=("eleven-twenty", "experiments", "sw10"),
    run=_run,
)
