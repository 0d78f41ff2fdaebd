"""Bootstrap refits beside a loop over scipy, in one process; and a million refits.

    python benchmarks/bootstrap.py [--quick]

100 cells over the 13 small games of the TQRE study, n = 15 choices a player, 1,000 replicates each. The
loop fits 20 replicates of each cell and is extrapolated: its time a fit does not depend on their number. A full run
replaces benchmarks/results/bootstrap.csv.
"""

from __future__ import annotations

import argparse
import csv
import os
import sys
from pathlib import Path

import numpy as np
import pandas as pd

import cells
import levelkit as lk
import loop
from levelkit.inference import replicates as fast
from levelkit.inference import resampling, solved
from levelkit.inference.likelihood import Likelihood, distinct
from run import ONE_THREAD, machine, say, timed

RESULTS = Path(__file__).parent / "results" / "bootstrap.csv"
MODEL = lk.TQRE(levels=cells.LEVELS)
Row = tuple[str, str, float | str, str]


def fitted(problem: cells.Problem) -> lk.Fits:
    return lk.fit(problem.choices, MODEL, by=["cell", "game"], intervals=False, sensitivity=False)


def drawn(fits: lk.Fits, replicates: int, seed: int) -> np.ndarray:
    """The counts of the replicates, (B, R, W)."""
    return resampling.multinomial(fits.rows, fits.rows.counts, replicates, np.random.default_rng(seed))


def looped(fits: lk.Fits, counts: np.ndarray) -> tuple[np.ndarray, float]:
    """Log-likelihoods that the loop reaches on some replicates, and its seconds."""
    rows = fits.rows
    keys = pd.DataFrame({"cell": np.arange(counts.shape[0] * counts.shape[1])})
    keys["game"] = np.tile(np.array([g.name for g in rows.games], dtype=object)[rows.game], len(counts))
    flat = counts.reshape(len(keys), -1)
    choices = lk.Choices.from_counts(keys, flat, {g.name: g for g in rows.games})
    nothing = np.zeros(len(keys))
    found, wall, _ = timed(lambda: loop.fit(cells.Problem("loop", choices, nothing, nothing)))
    return found[:, 2], wall


def accuracy(fits: lk.Fits, counts: np.ndarray) -> list[Row]:
    """How far replicate fits fall short of full ones, over the distinct replicates."""
    few, _ = distinct(resampling.replicated(fits.rows, counts))
    likelihood = Likelihood(MODEL, few, "raw")
    full = solved.solve(likelihood, {}, solved.Options(intervals=False))
    short = full.value - fast.refit(likelihood, {}).value
    return [
        ("replicate fits", f"short of a full fit by more than {by:g} nats", float((short > by).mean()), "share")
        for by in (0.001, 0.01, 0.1)
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description="Bootstrap refits beside a scipy loop.")
    parser.add_argument("--quick", action="store_true", help="small sizes, nothing written")
    quick = parser.parse_args().quick
    if any(os.environ.get(name) != one for name, one in ONE_THREAD.items()):
        os.execve(sys.executable, [sys.executable, *sys.argv], {**os.environ, **ONE_THREAD})
    size, replicates, few, many = (20, 100, 2, 2_000) if quick else (100, 1000, 20, 10_000)
    fits = fitted(cells.study(size, 2001))
    lk.bootstrap(fits, 50, seed=9)  # compile
    counts = drawn(fits, replicates, 1)
    say(f"{size} cells x {replicates:,} replicates")
    _, wall, cpu = timed(lambda: lk.bootstrap(fits, replicates, seed=1))
    n_distinct = len(distinct(resampling.replicated(fits.rows, counts))[0])
    say(f"scipy loop on {size} cells x {few} replicates")
    loop_values, loop_wall = looped(fits, counts[:few])
    own = fast.refit(Likelihood(MODEL, resampling.replicated(fits.rows, counts[:few]), "raw"), {}).value
    each, loop_each = wall / (size * replicates), loop_wall / (size * few)
    rows: list[Row] = [("machine", what, value, "") for what, value in machine()]
    rows += [
        ("levelkit", "refits", size * replicates, "fits"),
        ("levelkit", "distinct refits", n_distinct, "fits"),
        ("levelkit", "time, jackknife included", wall, "s"),
        ("levelkit", "speed", 1 / each, "fits/s"),
        ("levelkit", "speed per processor", size * replicates / cpu, "fits/cpu-s"),
        ("scipy loop", "refits", size * few, "fits"),
        ("scipy loop", "speed", 1 / loop_each, "fits/s"),
        ("scipy loop", "time for all replicates, extrapolated", loop_each * size * replicates, "s"),
        ("levelkit", "ratio to loop", loop_each / each, "times"),
        ("levelkit", "ratio to loop, distinct refits", loop_each / (wall / n_distinct), "times"),
        ("levelkit", "optimum worse than the loop's by > 0.01 nats", float((loop_values > own + 0.01).mean()), "share"),
        (
            "scipy loop",
            "optimum worse than levelkit's by > 0.01 nats",
            float((own > loop_values + 0.01).mean()),
            "share",
        ),
        *accuracy(fits, counts[: 20 if quick else 100]),
    ]
    say(f"{size} cells x {many:,} replicates")
    _, wall, cpu = timed(lambda: lk.bootstrap(fits, many, seed=2))
    rows += [("levelkit", f"time for {size * many:,} refits", wall, "s"), ("levelkit", "of processor time", cpu, "s")]
    say("13 games pooled")
    pooled = lk.fit(cells.study(1000, 2002).choices, MODEL, intervals=False, sensitivity=False)
    lk.bootstrap(pooled, 10, seed=1)
    size_pooled = 200 if quick else 10_000
    _, wall, _ = timed(lambda: lk.bootstrap(pooled, size_pooled, seed=1))
    rows.append(("levelkit", "speed, all 13 games pooled", size_pooled / wall, "fits/s"))
    for way, what, value, unit in rows:
        print(f"{way:16} {what:52} {value if isinstance(value, str) else f'{value:,.6g}'} {unit}")
    if not quick:
        with RESULTS.open("w", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(["way", "quantity", "value", "unit"])
            writer.writerows([w, q, v if isinstance(v, str) else f"{v:.6g}", u] for w, q, v, u in rows)


if __name__ == "__main__":
    main()
