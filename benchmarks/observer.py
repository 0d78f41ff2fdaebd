"""The ideal observer on every pair of the catalogue, beside an observer written in plain Python.

    python benchmarks/observer.py [--quick]

361 pairs x 200 matches x 200 rounds, a guess about both strategies after each round from the last 50. The plain
observer adds up logarithms over the window for each strategy, as one would write it; it judges a few of the same
matches, and both must name the same strategies. Prints a table; a full run also writes benchmarks/results/observer.csv.
"""

from __future__ import annotations

import argparse
import math
import resource
import time
from pathlib import Path

import numpy as np
import pandas as pd

from levelkit import observer
from levelkit.observer.ceilings import guesses
from levelkit.observer.ideal import Watcher

RESULTS = Path(__file__).parent / "results" / "observer.csv"
ROUNDS, WINDOW, WARMUP, PLAIN = 200, 50, 10, 12


def plain(own: list[int], other: list[int], tables: list[list[list[float]]]) -> list[int]:
    """The most likely strategy after each round, the first of equals."""
    named = []
    for t in range(len(own)):
        first, best, choice = max(0, t - WINDOW + 1), -math.inf, -1
        for place, table in enumerate(tables):
            score = 0.0
            for k in range(first, t + 1):
                p = table[3 if k == first else other[k - 1]][own[k]]
                if p == 0:
                    score = -math.inf
                    break
                score += math.log(p)
            if score > best + 1e-9:
                best, choice = score, place
        named.append(choice)
    return named


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true")
    quick = parser.parse_args().quick
    matches = 20 if quick else 200
    known = observer.catalogue()
    start = time.perf_counter()
    table = observer.ceiling_table(window=WINDOW, matches=matches, rounds=ROUNDS, warmup=WARMUP)
    ours = time.perf_counter() - start
    rounds = len(table) * matches * ROUNDS
    tables, codes = known.tables().tolist(), known.codes
    pairs = [known.pairs()[i] for i in np.random.default_rng(0).choice(len(known.pairs()), PLAIN, replace=False)]
    differ, spent = 0, 0.0
    for i, pair in enumerate(pairs):
        moves = observer.simulate(*pair, rounds=ROUNDS, seed=i)
        start = time.perf_counter()
        one, two = moves[0, :, 0].tolist(), moves[0, :, 1].tolist()
        found = list(zip(plain(one, two, tables), plain(two, one, tables), strict=True))
        spent += time.perf_counter() - start
        mine = guesses(moves, known, "ideal", Watcher(WINDOW))[0]
        differ += sum((codes[a], codes[b]) != guess for (a, b), guess in zip(found, mine, strict=True))
    speed, base = rounds / ours, PLAIN * ROUNDS / spent
    rows = [
        ("pairs", len(table)),
        ("matches of a pair", matches),
        ("levelkit, seconds in all", ours),
        ("levelkit, rounds played and judged per second", speed),
        (f"plain Python on {PLAIN} matches, rounds judged per second", base),
        ("ratio", speed / base),
        ("rounds in which the two name different strategies", differ),
        ("mean rate over pairs", table["rate"].mean()),
        ("pairs below one half", (table["rate"] < 0.5).sum()),
        ("mean over pairs, after the last round", table["final"].mean()),
        ("pairs below one half after the last round", (table["final"] < 0.5).sum()),
        ("pairs never identified after the last round", (table["final"] == 0).sum()),
        ("peak memory, MiB", resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
    ]
    told = pd.DataFrame(rows, columns=["quantity", "value"])
    print(told.to_string(index=False, float_format=lambda v: f"{v:,.4g}"))
    if not quick:
        told.to_csv(RESULTS, index=False, lineterminator="\n", float_format="%.6g")
        print(f"wrote {RESULTS.name}")


if __name__ == "__main__":
    main()
