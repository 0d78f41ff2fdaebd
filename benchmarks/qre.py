"""Fitting lam of logit QRE to many cells, beside a loop with scipy and a damped fixed point.

E  1,000 cells of 3x3 games, each with its own random game: every branch is followed
F  1,000 cells over 13 games: a branch serves many cells

    python benchmarks/qre.py [--quick]

The loop does what one would write: for each cell scipy's bounded scalar minimiser over log lam, in four brackets, with
play at each lam by a damped fixed-point iteration. Both optima are valued by the loop's own likelihood at the play that
each way predicts. Prints a table and replaces benchmarks/results/qre.csv.
"""

from __future__ import annotations

import argparse
import itertools
import time
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.optimize import minimize_scalar

import levelkit as lk

BETTER = 1e-6


def draw(games: list[lk.Game], size: int, seed: int, n: int = 40) -> lk.Choices:
    """Cells whose choices come from the equilibrium at a random lam between 0.5 and 20 per payoff range."""
    rng = np.random.default_rng(seed)
    which = rng.integers(0, len(games), size) if len(games) < size else np.arange(size)
    counts = np.zeros((size, 6))
    for i, g in enumerate(which):
        lam = np.exp(rng.uniform(np.log(0.5), np.log(20))) / games[g].payoff_range
        p = lk.LogitQRE().predict(games[g], lam=lam)
        counts[i] = np.concatenate([rng.multinomial(n, q) for q in p.values()])
    cells = pd.DataFrame({"cell": np.arange(size), "game": [games[g].name for g in which]})
    return lk.Choices.from_counts(cells, counts, {g.name: g for g in games})


def random_games(size: int, seed: int) -> list[lk.Game]:
    rng = np.random.default_rng(seed)
    return [lk.Game.bimatrix(f"g{i}", rng.uniform(0, 1, (3, 3)), rng.uniform(0, 1, (3, 3))) for i in range(size)]


def softmax(v: np.ndarray) -> np.ndarray:
    e = np.exp(v - v.max())
    return e / e.sum()


def fixed_point(a: np.ndarray, b: np.ndarray, lam: float) -> tuple[np.ndarray, np.ndarray]:
    p, q = np.full(3, 1 / 3), np.full(3, 1 / 3)
    for _ in range(1000):
        new_p, new_q = softmax(lam * (a @ q)), softmax(lam * (p @ b))
        if max(np.abs(new_p - p).max(), np.abs(new_q - q).max()) < 1e-9:
            break
        p, q = 0.5 * p + 0.5 * new_p, 0.5 * q + 0.5 * new_q
    return p, q


def loop_cell(game: lk.Game, counts: np.ndarray) -> tuple[float, float]:
    """lam and log-likelihood."""
    a, b = game.payoffs

    def negative(z: float) -> float:
        p, q = fixed_point(a, b, np.exp(z) / game.payoff_range)
        return -float(counts[:3] @ np.log(np.maximum(p, 1e-300)) + counts[3:] @ np.log(np.maximum(q, 1e-300)))

    edges = np.log([0.05, 0.5, 3.0, 15.0, 200.0])
    runs = [minimize_scalar(negative, bounds=pair, method="bounded") for pair in itertools.pairwise(edges)]
    best = min(runs, key=lambda run: run.fun)
    return float(np.exp(best.x) / game.payoff_range), -float(best.fun)


def is_equilibrium(game: lk.Game, lam: float) -> bool:
    a, b = game.payoffs
    p, q = fixed_point(a, b, lam)
    return max(np.abs(softmax(lam * (a @ q)) - p).max(), np.abs(softmax(lam * (p @ b)) - q).max()) < 1e-6


def side_by_side(name: str, games: list[lk.Game], size: int, subset: int) -> list[dict[str, object]]:
    data = draw(games, size, 1)
    warm = draw(random_games(64, 99), 64, 2)
    lk.fit(warm, lk.LogitQRE(), by="cell", intervals=False, sensitivity=False)
    fresh = [lk.Game.bimatrix(g.name, *(u * 1.0000001 for u in g.payoffs)) for g in data.games.values()]
    again = lk.Choices.from_counts(data.cells, data.counts, {g.name: g for g in fresh})  # branches not yet followed
    start = time.perf_counter()
    fits = lk.fit(again, lk.LogitQRE(), by="cell", intervals=False, sensitivity=False)
    ours = time.perf_counter() - start
    few = np.random.default_rng(0).choice(size, subset, replace=False)
    start = time.perf_counter()
    found = [loop_cell(data.game_of(i), data.counts[i]) for i in few]
    theirs = time.perf_counter() - start
    value = fits.stats()["loglik"].to_numpy()[few]
    better = np.array([v for _, v in found]) - value
    legal = np.array([is_equilibrium(data.game_of(i), lam) for i, (lam, _) in zip(few, found, strict=True)])
    speed, base = size / ours, subset / theirs
    return [
        {"problem": name, "quantity": "levelkit, cells/s", "value": speed},
        {"problem": name, "quantity": f"loop on {subset} cells, cells/s", "value": base},
        {"problem": name, "quantity": "ratio", "value": speed / base},
        {
            "problem": name,
            "quantity": "loop not at an equilibrium (fixed point cycles), share",
            "value": (~legal).mean(),
        },
        {
            "problem": name,
            "quantity": "loop better by > 1e-6 at an equilibrium, share",
            "value": ((better > BETTER) & legal).mean(),
        },
        {"problem": name, "quantity": "loop worse by > 1e-6, share", "value": (better < -BETTER).mean()},
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true")
    quick = parser.parse_args().quick
    size, subset = (200, 20) if quick else (1000, 100)
    rows = side_by_side("E", random_games(size, 3), size, subset)
    rows += side_by_side("F", random_games(13, 4), size, subset)
    table = pd.DataFrame(rows)
    print(table.to_string(index=False, float_format=lambda v: f"{v:,.4g}"))
    if not quick:
        path = Path(__file__).parent / "results" / "qre.csv"
        table.to_csv(path, index=False, lineterminator="\n", float_format="%.6g")
        print(f"wrote {path.name}")


if __name__ == "__main__":
    main()
