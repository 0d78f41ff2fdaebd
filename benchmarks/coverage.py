"""Do bootstrap intervals hold the truth? Three kinds, 1,000 simulated data sets of three pooled games, n = 200.

    python benchmarks/coverage.py [--quick]

TQRE with tau 1.5 and gamma 0.3 on two 3x3 games of the LLM study and one of Stahl & Wilson 1994. Each data set gets 999
multinomial replicates. Prints a table; a full run also writes benchmarks/results/coverage.csv.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np
import pandas as pd

import levelkit as lk

RESULTS = Path(__file__).parent / "results" / "coverage.csv"
TRUTH = {"tau": 1.5, "gamma": 0.3}
GAMES = ("competitive_base", "competitive_high_stake", "sw94_8")
PER_PLAYER = (34, 34, 33, 33, 33, 33)  # 200 choices a data set: three games, two players


def simulated(sets: int, seed: int) -> lk.Choices:
    rng = np.random.default_rng(seed)
    sizes = iter(PER_PLAYER)
    model, games = lk.TQRE(), {name: lk.game(name) for name in GAMES}
    blocks = [
        np.concatenate([rng.multinomial(next(sizes), p, size=sets) for p in model.predict(game, **TRUTH).values()], 1)
        for game in games.values()
    ]
    cells = pd.DataFrame({"data_set": np.tile(np.arange(sets), len(GAMES)), "game": np.repeat(GAMES, sets)})
    return lk.Choices.from_counts(cells, np.concatenate(blocks), games)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true")
    quick = parser.parse_args().quick
    sets, replicates = (50, 199) if quick else (1000, 999)
    fits = lk.fit(simulated(sets, 2011), lk.TQRE(), "data_set", sensitivity=False)
    start = time.perf_counter()
    frame = lk.bootstrap(fits, replicates, seed=1).frame()
    spent = time.perf_counter() - start
    profile = fits.frame().assign(interval="profile")
    frame = pd.concat([frame, profile], ignore_index=True)
    frame["truth"] = frame["parameter"].map(TRUTH)
    frame["covered"] = (frame["low"] <= frame["truth"]) & (frame["truth"] <= frame["high"])
    frame["above"], frame["below"] = frame["low"] > frame["truth"], frame["high"] < frame["truth"]
    table = frame.groupby(["parameter", "interval"], sort=False)[["covered", "above", "below"]].mean().reset_index()
    table["mc_error"] = np.sqrt(table["covered"] * (1 - table["covered"]) / sets)
    print(
        f"{sets:,} data sets x {replicates:,} replicates in {spent:.0f} s; 'above': the interval lies above the truth"
    )
    print(table.to_string(index=False, float_format=lambda v: f"{v:.4f}"))
    if not quick:
        table.to_csv(RESULTS, index=False, lineterminator="\n", float_format="%.6g")
        print(f"wrote {RESULTS.name}")


if __name__ == "__main__":
    main()
