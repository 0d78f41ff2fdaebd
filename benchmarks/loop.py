"""What one would write today: a numpy likelihood, and scipy's L-BFGS-B from three starts for each cell."""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize

from cells import FLOOR, LEVELS, Problem

# (tau, gamma times the payoff range): every cell gets the same three starts whatever its payoff unit
STARTS = ((1.0, 1.0), (2.0, 0.5), (5.0, 10.0))
BOUNDS = ((0.0, 10.0), (1e-8, None))
_K = np.arange(LEVELS + 1)
_FACTORIAL = np.cumprod(np.maximum(_K, 1.0))


def probabilities(payoffs: list[np.ndarray], tau: float, gamma: float) -> list[np.ndarray]:
    """TQRE choice probabilities; payoffs: one array per agent with its own axis first, then the others' in order."""
    shares = tau**_K / _FACTORIAL
    shares = shares / shares.sum()
    below = shares.cumsum()
    total = [np.full(len(u), shares[0] / len(u)) for u in payoffs]
    for k in range(1, LEVELS + 1):
        beliefs = [t / below[k - 1] for t in total]
        for i, u in enumerate(payoffs):
            for j in range(len(payoffs) - 1, -1, -1):
                if j != i:
                    u = u @ beliefs[j]
            weight = np.exp(gamma * k * (u - u.max()))
            total[i] = total[i] + shares[k] * (weight / weight.sum())
    return total


def fit_cell(payoffs: list[np.ndarray], counts: list[np.ndarray], payoff_range: float) -> tuple[float, float, float]:
    """(tau, gamma, log-likelihood) of the best of three starts."""

    def negative(z: np.ndarray) -> float:
        predicted = probabilities(payoffs, z[0], z[1] / payoff_range)
        return -sum(float(c @ np.log(np.maximum(p, FLOOR))) for c, p in zip(counts, predicted, strict=True))

    runs = [minimize(negative, start, method="L-BFGS-B", bounds=BOUNDS) for start in STARTS]
    best = min(runs, key=lambda run: run.fun)
    return float(best.x[0]), float(best.x[1] / payoff_range), float(-best.fun)


def fit(problem: Problem) -> np.ndarray:
    """Fit every cell; (cells, 3): tau, gamma, log-likelihood."""
    choices = problem.choices
    games = {
        name: ([np.moveaxis(u, i, 0).copy() for i, u in enumerate(game.payoffs)], game.payoff_range)
        for name, game in choices.games.items()
    }
    names = choices.cells["game"].to_numpy(dtype=object)
    return np.array([fit_cell(*_cell(games[names[i]], choices.counts_for(i))) for i in range(len(problem))])


def _cell(
    game: tuple[list[np.ndarray], float], counts: tuple[np.ndarray, ...]
) -> tuple[list[np.ndarray], list[np.ndarray], float]:
    return game[0], list(counts), game[1]
