"""How often permutation tests reject at 5% when nothing differs, with and without clusters.

    python benchmarks/equality.py [--sets 2000]

Two groups of 8 sessions with 10 choices of one 3x3 game each. alike: every choice has the same probabilities;
clustered: each session has its own (Dirichlet(2, 2, 2)).
"""

from __future__ import annotations

import argparse

import numpy as np
import pandas as pd
from scipy import stats

import levelkit as lk


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", type=int, default=2000)
    sets = parser.parse_args().sets
    game = lk.game("competitive_base")
    print(f"{'data':<10} {'exchanged':<10} {'rejected':>9}  95% interval    ({sets} data sets)")
    for kind in ("alike", "clustered"):
        for exchanged in ("choices", "sessions"):
            rng, rejected = np.random.default_rng(1), 0
            for number in range(sets):
                rows, counts = [], []
                for who in "ab":
                    for session in range(8):
                        share = rng.dirichlet([2.0] * 3) if kind == "clustered" else np.array([0.5, 0.3, 0.2])
                        counts.append(np.concatenate([rng.multinomial(10, share), np.zeros(3)]))
                        rows.append({"who": who, "session": f"{who}{session}", "game": game.name})
                choices = lk.Choices.from_counts(pd.DataFrame(rows), np.array(counts), {game.name: game})
                cluster = "session" if exchanged == "sessions" else None
                found = lk.equality(choices, "who", cluster=cluster, replicates=399, seed=number)
                rejected += found["p"].item() <= 0.05
            low, high = stats.binomtest(rejected, sets).proportion_ci(method="wilson")
            print(f"{kind:<10} {exchanged:<10} {rejected / sets:>9.4f}  [{low:.4f}, {high:.4f}]", flush=True)


if __name__ == "__main__":
    main()
