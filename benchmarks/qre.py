"""Fitting lam of logit QRE to many cells, beside a loop with scipy and a damped fixed point.

E  1,000 cells of 3x3 games, each with its own random game: every branch is followed
F  1,000 cells over 13 games: a branch serves many cells

    python benchmarks/qre.py [--quick]

The loop does what one would write: for each cell scipy's bounded scalar minimiser over log lam, in four brackets, with
play at each lam by a damped fixed-point iteration. Where pygambit is installed, its own estimator is a third way.
Optima are valued at the play that each way predicts, if that is an equilibrium. Compilation is not timed. Prints a
table and replaces benchmarks/results/qre.csv.
"""

from __future__ import annotations

import argparse
import importlib.util
import itertools
import multiprocessing
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.optimize import fsolve, minimize_scalar
from scipy.special import log_softmax

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
    return gap(a, b, lam, *fixed_point(a, b, lam)) < 1e-6


def gambit_cell(a: np.ndarray, b: np.ndarray, counts: np.ndarray, answer: Any) -> None:
    """lam, log-likelihood, seconds and both players' probabilities by pygambit, sent to `answer`."""
    import pygambit

    game = pygambit.Game.from_arrays(a, b)
    data = game.mixed_strategy_profile([[float(c) for c in counts[:3]], [float(c) for c in counts[3:]]])
    start = time.perf_counter()
    found = pygambit.qre.logit_estimate(data)
    took = time.perf_counter() - start
    play = [float(found.profile[s]) for player in game.players for s in player.strategies]
    answer.send((found.lam, found.log_like, took, play))


def by_gambit(
    data: lk.Choices, few: np.ndarray, patience: float = 20.0
) -> list[tuple[float, float, float, list[float]]]:
    """`gambit_cell` for some cells, each in a process of its own because it does not always come back; then lam is NaN,
    and the time is what we waited.
    """
    found = []
    context = multiprocessing.get_context("spawn")
    for i in few:
        ours, theirs = context.Pipe(duplex=False)
        worker = context.Process(target=gambit_cell, args=(*data.game_of(i).payoffs, data.counts[i], theirs))
        worker.start()
        theirs.close()
        try:
            found.append(ours.recv() if ours.poll(patience) else (np.nan, -np.inf, patience, []))
        except EOFError:
            found.append((np.nan, -np.inf, 0.0, []))
        worker.kill()
        worker.join()
    return found


def gap(a: np.ndarray, b: np.ndarray, lam: float, p: np.ndarray, q: np.ndarray) -> float:
    """How far play is from the response to itself."""
    return float(max(np.abs(softmax(lam * (a @ q)) - p).max(), np.abs(softmax(lam * (p @ b)) - q).max()))


def settled(a: np.ndarray, b: np.ndarray, lam: float, p: np.ndarray, q: np.ndarray, counts: np.ndarray) -> float:
    """Log-likelihood at the equilibrium next to (p, q): at 1e-7 from it, it may seem higher than any on the branch."""
    start = np.log(np.maximum(np.concatenate([p, q]), 1e-300))
    off = lambda y: y - np.concatenate([log_softmax(lam * a @ np.exp(y[3:])), log_softmax(lam * np.exp(y[:3]) @ b)])  # noqa: E731
    y = fsolve(off, start, xtol=1e-13)
    return float(counts @ (y if np.abs(off(y)).max() < 1e-10 else start))


def judged(way: str, better: np.ndarray, legal: np.ndarray) -> list[dict[str, object]]:
    return [
        {"quantity": f"{way} not at an equilibrium, or no answer, share", "value": (~legal).mean()},
        {"quantity": f"{way} better by > 1e-6 at an equilibrium, share", "value": ((better > BETTER) & legal).mean()},
        {"quantity": f"{way} worse by > 1e-6, share", "value": (better < -BETTER).mean()},
    ]


def fresh(data: lk.Choices) -> lk.Choices:
    """The same choices in games that differ in the last digits, so that their branches have not been followed yet."""
    games = [lk.Game.bimatrix(g.name, *(u * (1 + 1e-7) for u in g.payoffs)) for g in data.games.values()]
    return lk.Choices.from_counts(data.cells, data.counts, {g.name: g for g in games})


def side_by_side(name: str, games: list[lk.Game], size: int, subset: int) -> list[dict[str, object]]:
    data = draw(games, size, 1)
    plain = {"intervals": False, "sensitivity": False}
    lk.fit(data, lk.LogitQRE(), by="cell", **plain)  # compiles, and is not timed
    again = fresh(data)
    start = time.perf_counter()
    fits = lk.fit(again, lk.LogitQRE(), by="cell", **plain)
    speed = size / (time.perf_counter() - start)
    few = np.random.default_rng(0).choice(size, subset, replace=False)
    value = fits.stats()["loglik"].to_numpy()[few]
    start = time.perf_counter()
    found = [loop_cell(data.game_of(i), data.counts[i]) for i in few]
    base = subset / (time.perf_counter() - start)
    legal = np.array([is_equilibrium(data.game_of(i), lam) for i, (lam, _) in zip(few, found, strict=True)])
    rows: list[dict[str, object]] = [
        {"quantity": "levelkit, cells/s", "value": speed},
        {"quantity": f"loop on {subset} cells, cells/s", "value": base},
        {"quantity": "ratio to the loop", "value": speed / base},
        *judged("loop", np.array([v for _, v in found]) - value, legal),
    ]
    if importlib.util.find_spec("pygambit"):
        answers = by_gambit(data, few)
        base = subset / sum(took for _, _, took, _ in answers)
        better, legal = np.full(subset, -np.inf), np.zeros(subset, bool)
        for k, (i, (lam, _, _, shares)) in enumerate(zip(few, answers, strict=True)):
            if shares:
                p, q = np.array(shares[:3]), np.array(shares[3:])
                better[k] = settled(*data.game_of(i).payoffs, lam, p, q, data.counts[i]) - value[k]
                legal[k] = gap(*data.game_of(i).payoffs, lam, p, q) < 1e-6
        rows += [
            {"quantity": f"pygambit on {subset} cells, cells/s", "value": base},
            {"quantity": "ratio to pygambit", "value": speed / base},
            {
                "quantity": "pygambit does not come back, share",
                "value": np.mean([not shares for *_, shares in answers]),
            },
            *judged("pygambit", better, legal),
        ]
    return [{"problem": name, **row} for row in rows]


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
