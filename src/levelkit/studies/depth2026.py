"""Zhang & Sarkar 2026: do the numbers printed in the study of depth fit together?

What can be derived without the trial logs: which counts stand behind each printed percentage, which samples tables 2
and 3 rest on, what leaving out the Ring at k = 10 did, how wide a cluster bootstrap can get, and what a payoff
maximiser would score in the inductive columns.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from decimal import ROUND_HALF_DOWN, ROUND_HALF_EVEN, ROUND_HALF_UP, Decimal
from math import sqrt
from typing import Any

import pandas as pd

from levelkit.datafiles import data_path
from levelkit.depth.ceilings import ceiling
from levelkit.studies.base import Part, Request, Study

GAMES, DEPTHS, REPS, LAMBDAS, MODELS = 4, 10, 20, 3, 4
LOST = 13  # trials lost to errors, by the study; 7 of them Qwen's in the Ring
RING_LOST = {"Qwen 3.6 27B": 7}
DESIGN = MODELS * GAMES * DEPTHS * (1 + LAMBDAS) * REPS
COUNTED = DESIGN - LOST
RING_K10 = MODELS * (1 + LAMBDAS) * REPS
AMBIGUOUS_RIGHT = 230  # of the Ring trials at k = 10, submissions of 20
POOLED = ("31.9", "32.9")  # per cent right without and with them


_ROUNDINGS = (ROUND_HALF_EVEN, ROUND_HALF_UP, ROUND_HALF_DOWN)


def counts_behind(printed: str, n: int) -> list[int]:
    """Whole numbers x for which 100 x / n prints as given, whichever way halves are rounded.

    >>> counts_behind("41.1", 180), counts_behind("86.0", 180)
    ([74], [])
    """
    value = Decimal(printed)
    places = Decimal(1).scaleb(int(value.as_tuple().exponent))
    near, reach = int(value * n / 100), int(n * places / 100) + 2
    found = []
    for x in range(max(0, near - reach), min(n, near + reach) + 1):
        exact = Decimal(100 * x) / Decimal(n)
        if value in {exact.quantize(places, how) for how in _ROUNDINGS}:
            found.append(x)
    return found


def cell_size(game: str) -> int:
    """Trials behind an entry of table 2: ten depths of twenty, nine in the Ring."""
    return (DEPTHS - (game == "ring")) * REPS


@dataclass(frozen=True, eq=False)
class Audit:
    """entries: table 2 with the counts behind each percentage. ring: without and with k = 10, by model. bounds: sums
    of correct trials by part of the design. mentalizing: correct inductive trials that table 3 implies under each
    sample, beside those there are. findings: what does not fit, in words. inductive: table 2's inductive columns
    beside what a payoff maximiser would score.
    """

    entries: pd.DataFrame
    ring: pd.DataFrame
    bounds: pd.DataFrame
    mentalizing: pd.DataFrame
    inductive: pd.DataFrame
    findings: tuple[str, ...]


def published(table: str) -> pd.DataFrame:
    """Printed values, percentages as text: "table2", "table3" or "ring"."""
    return pd.read_csv(data_path(f"published/depth_{table}.csv"), dtype=str)


def run(simulations: int = 2000, seed: int = 0) -> Audit:
    """Audit the printed numbers; simulations: histories a cell for the payoff maximiser."""
    entries = _entries(published("table2"))
    ring = _ring(published("ring"))
    bounds = _bounds(entries)
    mentalizing = _mentalizing(published("table3"), bounds)
    findings = (*_impossible(entries), *_ring_findings(ring), *_samples(mentalizing), *_chance(bounds))
    return Audit(entries, ring, bounds, mentalizing, _inductive(published("table2"), simulations, seed), findings)


def _entries(table: pd.DataFrame) -> pd.DataFrame:
    rows = []
    for row in table.to_dict("records"):
        n = cell_size(row["game"])
        options = {m: counts_behind(row["percent"], m) for m in range(n, n - LOST // 2 - 2, -1)}
        rows.append({**row, "n": n, "counts": options[n], "options": {m: c for m, c in options.items() if c}})
    return pd.DataFrame(rows)


def _ring(table: pd.DataFrame) -> pd.DataFrame:
    rows = []
    for row in table.to_dict("records"):
        lost = RING_LOST.get(row["model"], 0)
        with_all = DEPTHS * (1 + LAMBDAS) * REPS - lost
        without = with_all - RING_K10 // MODELS
        x, y = counts_behind(row["excluding"], without), counts_behind(row["including"], with_all)
        gains = sorted({b - a for a in x for b in y if 0 <= b - a <= RING_K10 // MODELS})
        rows.append({**row, "n_excluding": without, "x_excluding": x, "n_including": with_all, "x_including": y})
        rows[-1]["gains"] = gains
    return pd.DataFrame(rows)


def _bounds(entries: pd.DataFrame) -> pd.DataFrame:
    """Correct trials in parts of the design: from pooled and single percentages."""
    pooled = counts_behind(POOLED[0], COUNTED - RING_K10)
    exact = entries[entries["measure"] == "exact"]
    parts: dict[str, tuple[int, int, int]] = {}
    for condition in ("recursive", "inductive"):
        mine = exact[exact["condition"] == condition]
        # where no count of the stated size fits, what fits with a lost trial or two
        usable = [
            counts or [x for fit in list(options.values())[:2] for x in fit]
            for counts, options in zip(mine["counts"], mine["options"], strict=True)
        ]
        n = sum(max(options) for options in mine["options"])
        parts[condition] = (n, sum(map(min, usable)), sum(map(max, usable)))
    rec, ind = parts["recursive"], parts["inductive"]
    total = COUNTED - RING_K10
    rows = [
        ("all, without ambiguous targets", total, pooled[0], pooled[-1]),
        ("recursive", *rec),
        ("inductive, lambda 10", *ind),
        (
            "inductive, lambda 1 and 3",
            total - rec[0] - ind[0],
            pooled[0] - rec[2] - ind[2],
            pooled[-1] - rec[1] - ind[1],
        ),
        ("inductive, all", total - rec[0], pooled[0] - rec[2], pooled[-1] - rec[1]),
    ]
    return pd.DataFrame(rows, columns=["part", "n", "right_least", "right_most"])


def _mentalizing(table: pd.DataFrame, bounds: pd.DataFrame) -> pd.DataFrame:
    """Correct inductive trials that the printed shares and accuracies imply, for samples with and without k = 10."""
    there = bounds[bounds["part"] == "inductive, all"].to_dict("records")[0]
    rows = []
    full = GAMES * DEPTHS * LAMBDAS * REPS
    for sample, n in (("without ambiguous targets", full - LAMBDAS * REPS), ("with them", full)):
        spans = [_implied(row, n) for row in table.to_dict("records")]
        low, high = sum(a for a, _ in spans), sum(b for _, b in spans)
        rows.append((sample, n, low, high, int(there["right_least"]), int(there["right_most"])))
    return pd.DataFrame(rows, columns=["sample", "n", "implied_least", "implied_most", "there_least", "there_most"])


def _implied(row: dict[Any, str], full: int) -> tuple[int, int]:
    """Least and most correct trials of a model, whatever up to LOST trials are missing."""
    found: list[int] = []
    for n in range(full, full - LOST - 1, -1):
        for m in counts_behind(row["mentalizing"], n):
            right_with, right_without = counts_behind(row["with"], m), counts_behind(row["without"], n - m)
            if right_with and right_without:
                found += [right_with[0] + right_without[0], right_with[-1] + right_without[-1]]
    return (min(found), max(found)) if found else (0, 0)


def _impossible(entries: pd.DataFrame) -> Iterable[str]:
    for row in entries.to_dict("records"):
        if not row["counts"]:
            fits = " or ".join(f"{x[0]} of {n}" for n, x in list(row["options"].items())[:2])
            yield (
                f"table 2, {row['model']}, {row['game']}, {row['condition']}: {row['percent']}% is no whole number of "
                f"{row['n']}; {fits} would be, so trials are missing there"
            )


def _ring_findings(ring: pd.DataFrame) -> Iterable[str]:
    sums = {sum(g[0] for g in ring["gains"] if len(g) == 1)}
    if all(len(g) == 1 for g in ring["gains"]) and sums == {AMBIGUOUS_RIGHT}:
        yield f"the four models' Ring figures agree with {AMBIGUOUS_RIGHT} ambiguous submissions: the only solution"


def _samples(mentalizing: pd.DataFrame) -> Iterable[str]:
    out, all_ = mentalizing.to_dict("records")
    if out["implied_least"] > out["there_most"]:
        least, most = all_["implied_least"] - out["there_most"], all_["implied_most"] - out["there_least"]
        yield (
            f"table 3 cannot rest on the sample of table 2: it implies {out['implied_least']} to {out['implied_most']} "
            f"correct inductive trials, and there are {out['there_least']} to {out['there_most']}; with the ambiguous "
            f"Ring trials it implies {all_['implied_least']} to {all_['implied_most']}, {least} to {most} of them "
            "ambiguous"
        )


def _chance(bounds: pd.DataFrame) -> Iterable[str]:
    row = bounds.set_index("part").loc["inductive, lambda 1 and 3"]
    low, high = (100 * row[c] / row["n"] for c in ("right_least", "right_most"))
    yield (
        f"at lambda 1 and 3 together {row['right_least']:g} to {row['right_most']:g} of {row['n']:g} trials are right, "
        f"{low:.2f} to {high:.2f}%: chance, although the level can be told at lambda 3"
    )
    per_model, pooled = sqrt(REPS), sqrt(REPS * MODELS)
    yield (
        f"a cell bootstrap can be at most {per_model:.2f} times as wide as independent trials for one model, "
        f"{pooled:.2f} times pooled; the printed 4.1 and 7.6 mean correlations of "
        f"{correlation(4.1, REPS):.2f} and {correlation(7.6, REPS * MODELS):.2f} within cells"
    )


def correlation(ratio: float, size: int) -> float:
    """Correlation within clusters of a size that widens intervals by a ratio: ratio^2 = 1 + (size - 1) rho."""
    return (ratio**2 - 1) / (size - 1)


def _inductive(table: pd.DataFrame, simulations: int, seed: int) -> pd.DataFrame:
    """Mean of the models' printed inductive entries beside the payoff maximiser's and the mode responder's."""
    mine = table[table["condition"] == "inductive"].assign(percent=lambda t: t["percent"].astype(float))
    printed = mine.groupby(["game", "measure"], sort=False)["percent"].mean().unstack()
    told = ceiling(lam=10.0, simulations=simulations, seed=seed)
    names = ["empirical", "empirical_within_one", "mode", "mode_within_one"]
    ours = 100 * told[told["counted"]].groupby("game", sort=False)[names].mean()
    rows: list[dict[str, Any]] = []
    for game in ours.index:
        row = {"game": game, "printed": printed["exact"][game], "printed_within_one": printed["within one"][game]}
        rows.append({**row, **{name: float(ours[name][game]) for name in names}})
    return pd.DataFrame(rows)


def _parts(request: Request) -> list[Part]:
    """The audit as tables."""
    audit = run()
    entries = audit.entries.assign(
        counts=[" or ".join(map(str, c)) or "none" for c in audit.entries["counts"]],
        options=["; ".join(f"{x[0]}/{n}" for n, x in options.items()) for options in audit.entries["options"]],
    )
    ring = audit.ring.assign(
        without=[f"{x[0]}/{n}" for x, n in zip(audit.ring["x_excluding"], audit.ring["n_excluding"], strict=True)],
        including=[f"{x[0]}/{n}" for x, n in zip(audit.ring["x_including"], audit.ring["n_including"], strict=True)],
        ambiguous=[" or ".join(f"+{g}" for g in gains) for gains in audit.ring["gains"]],
    )[["model", "without", "including", "ambiguous"]]
    inductive = {"game": "game"}
    for name, head in (("printed", "printed"), ("empirical", "reply to frequencies"), ("mode", "reply to mode")):
        inductive |= {name: head, f"{name}_within_one": "(within one)"}
    made = {
        "table2": Part(
            "table2",
            "Table 2: printed percentages and the counts that give them",
            entries,
            {c: c for c in ("model", "game", "condition", "measure")}
            | {"percent": "printed", "n": "n", "counts": "count"},
            left=4,
        ),
        "ring": Part(
            "ring",
            "Ring, without and with k = 10",
            ring,
            {"model": "model", "without": "without", "including": "with", "ambiguous": "ambiguous 20s"},
        ),
        "bounds": Part(
            "bounds",
            "Correct trials in parts of the design",
            audit.bounds,
            {"part": "part", "n": "n", "right_least": "least", "right_most": "most"},
        ),
        "inductive": Part(
            "inductive",
            "Inductive, lambda 10: mean of the printed beside what a payoff maximiser would score, exact (within one)",
            audit.inductive,
            inductive,
            dict.fromkeys(list(inductive)[1:], 1),
        ),
    }
    parts = [made[name] for name in request.parts]
    return [*parts[:-1], replace(parts[-1], notes=[f"{f}." for f in audit.findings])]


STUDY = Study(
    name="depth2026",
    about="Zhang and Sarkar 2026: do the printed numbers fit together?",
    parts={
        "table2": "counts behind the printed percentages",
        "ring": "the five-player ring with and without its ambiguous level",
        "bounds": "how many trials can have been correct",
        "inductive": "printed accuracy beside a payoff maximiser's",
    },
    default=("table2", "ring", "bounds", "inductive"),
    run=_parts,
)
