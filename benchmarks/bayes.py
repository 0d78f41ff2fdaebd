"""Posteriors: exact quadrature beside NUTS cell by cell, and the hierarchical model of 20 language models.

    python benchmarks/bayes.py [--quick]

G: 10,000 cells over the 13 small games of the TQRE study, 15 choices a player; NUTS (4 chains, 500 + 500) fits 20 of
them one by one and is extrapolated. H: the shipped counts of 20 language models in the competitive games, tau and
gamma pooled over models, by game and prompt. A full run replaces benchmarks/results/bayes.csv.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd

import levelkit as lk
from cells import study

RESULTS = Path(__file__).parent / "results" / "bayes.csv"


def exact_beside_nuts(size: int, few: int) -> list[tuple[str, str, float]]:
    problem = study(size, seed=7)
    model = lk.TQRE()
    lk.posterior(study(200, seed=8).choices, model, by="cell", scale="range", draws=25)
    start = time.perf_counter()
    post = lk.posterior(problem.choices, model, by="cell", scale="range", draws=250)
    exact = (time.perf_counter() - start) / size
    some = problem.subset(np.arange(few)).choices
    seconds, agreed = [], []
    frame = post.frame()
    for i in range(few):
        one = problem.subset(np.array([i])).choices
        start = time.perf_counter()
        sampled = lk.posterior(one, model, by="cell", scale="range", method="nuts", draws=500, warmup=500)
        seconds.append(time.perf_counter() - start)
        theirs = sampled.frame()
        ours = frame[frame["cell"] == theirs["cell"].iloc[0]].reset_index(drop=True)
        error = theirs["sd"] / np.sqrt(theirs["ess_bulk"])
        agreed.append(bool((np.abs(ours["mean"] - theirs["mean"]) < 3 * error)[:2].all()))
    nuts = float(np.mean(seconds))
    return [
        ("G", f"exact, {size:,} cells, cells/s", 1 / exact),
        ("G", f"NUTS on {len(some)} cells one by one (compilation included), cells/s", 1 / nuts),
        ("G", "ratio", nuts / exact),
        ("G", "share of cells whose NUTS means are within 3 Monte-Carlo errors", float(np.mean(agreed))),
        ("G", "largest error of the log evidence, nats", float(post.evidence()["error"].max())),
    ]


def hierarchical(draws: int) -> list[tuple[str, str, float]]:
    marks: list[tuple[int, float]] = []
    start = time.perf_counter()
    post = lk.posterior(
        lk.shipped_choices("llm_competitive"),
        lk.TQRE(),
        by=["cot", "game"],
        pool=["model"],
        scale="range",
        draws=draws,
        progress=lambda done, total: marks.append((done, time.perf_counter() - start)),
    )
    from levelkit.inference.arvizdata import diagnostics, group

    data = group(post, "posterior")
    told = diagnostics(data)
    worst = {
        k: [float(v[name].min() if k != "rhat" else v[name].max()) for name in v.data_vars] for k, v in told.items()
    }
    return [
        ("H", "seconds in all", time.perf_counter() - start),
        ("H", "seconds to the first 50 steps, tables and compilation included", marks[0][1]),
        ("H", f"seconds of 4 x (1,000 + {draws:,}) steps after that", marks[-1][1] - marks[0][1]),
        ("H", "largest rhat", max(worst["rhat"])),
        ("H", "smallest bulk effective sample size", min(worst["ess_bulk"])),
        ("H", "divergences", float(post.about["divergences"])),
    ]


def main() -> None:
    quick = "--quick" in sys.argv
    rows = hierarchical(200 if quick else 2500)
    rows += exact_beside_nuts(300 if quick else 10_000, 3 if quick else 20)
    table = pd.DataFrame(rows, columns=["problem", "quantity", "value"])
    print(table.to_string(index=False, formatters={"value": "{:,.4g}".format}))
    if not quick:
        table.to_csv(RESULTS, index=False)
        print(f"wrote {RESULTS.name}")


if __name__ == "__main__":
    main()
