"""The estimator behind the published tables of the TQRE study of language models, as its numbers show it to be.

It is not the TQRE of the paper's formulas. For each player apart, with that player's payoffs M written (row, column)
for both: p_0 uniform, p_k = softmax(gamma k M p_{k-1}) from the same chain's level below, p = sum over k = 0..10 of
Poisson(k; tau) p_k without renormalisation, log p floored at log 1e-8, frequencies (percentages with two decimals) in
place of counts, and scipy's L-BFGS-B from three starts without derivatives. Where nothing beats uniform play the
printed value is where that search came to rest, which hangs on its last digits; so they are kept here as they must
have been. For the audit of what was printed, apart from the general models.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from levelkit.errors import DataError
from levelkit.games import Game
from levelkit.inference.kernels import Array

LEVELS = 10
STARTS = ((1.0, 1.0), (2.0, 0.5), (5.0, 10.0))
BOUNDS = ((None, 10.0), (1e-8, None))
FLOOR = 1e-8
# tau has no lower bound: the search may step below zero, where the objective is this, and backs off or gives up
_BELOW_ZERO = 1e10


def levels(payoffs: Array, gamma: Array) -> Array:
    """What each level of one player plays, (K + 1, A, *batch); payoffs (A, A), own action first, gamma (*batch)."""
    size = len(payoffs)
    shape = (size, size, *(1,) * np.ndim(gamma))
    play = [np.full((size, *np.shape(gamma)), 1.0 / size)]
    for k in range(1, LEVELS + 1):
        expected = gamma * k * (payoffs.reshape(shape) * play[-1][None]).sum(axis=1)
        response = np.exp(expected - expected.max(axis=0))
        play.append(response / response.sum(axis=0))
    return np.stack(play)


_K = np.arange(LEVELS + 1)
_FACTORIAL = np.cumprod(np.maximum(_K, 1.0))
ARITHMETICS = ("logarithms", "factorials")
"""Two ways to the same Poisson weights, which differ in their last digit, and so in where some searches end."""


def weights(tau: float, arithmetic: str = ARITHMETICS[0]) -> Array:
    """Poisson(tau) weights of levels 0 to 10, (K + 1,), not renormalised."""
    from scipy import special

    if arithmetic == "factorials":
        return np.asarray(np.exp(-tau) * tau**_K / _FACTORIAL)
    return np.asarray(np.exp(special.xlogy(_K, tau) - special.gammaln(_K + 1) - tau))


def matrices(game: Game) -> tuple[Array, Array]:
    """Both players' payoffs as the estimator takes them, (A, A) each. Raises DataError for games it cannot take."""
    if len(game.shape) == 3 and not game.observed[2]:  # misperceived payoffs: the receiver knows the shown ones only
        return np.asarray(game.payoffs[0][:, :, 0]), np.asarray(game.payoffs[1][0].T)
    if len(game.shape) != 2 or game.shape[0] != game.shape[1]:
        raise DataError(
            f"game {game.name!r} is not a square two-player game", fix="the published estimator takes no other"
        )
    return np.asarray(game.payoffs[0]), np.asarray(game.payoffs[1])


@dataclass(frozen=True)
class PublishedFit:
    """Where the published estimator comes to rest: loglik is the sum over players of mean log-probabilities."""

    tau: float
    gamma: float
    loglik: float


def uniform_loglik(game: Game) -> float:
    """What uniform play reaches on the estimator's scale, without its loss of weight: minus the sum of log A."""
    return float(-sum(np.log(game.shape[i]) for i in range(2)))


def released(counts: Array) -> Array:
    """Counts as the frequencies that were released and fitted: percentages with two decimals."""
    return np.round(100 * counts / counts.sum(), 2) / 100


def published_fit(
    payoffs: Sequence[Array], frequencies: Sequence[Array], arithmetic: str = ARITHMETICS[0]
) -> PublishedFit:
    """Best of three runs of L-BFGS-B that report success; payoffs (A, A) and frequencies (A,) by player."""
    runs = [_search(start, payoffs, frequencies, arithmetic) for start in STARTS]
    good = [run for run in runs if run.success]
    if not good:
        return PublishedFit(np.nan, np.nan, np.nan)
    best = min(good, key=lambda run: run.fun)
    return PublishedFit(float(best.x[0]), float(best.x[1]), float(-best.fun))


def _search(start: tuple[float, float], payoffs: Sequence[Array], frequencies: Sequence[Array], arithmetic: str) -> Any:
    """One run of L-BFGS-B with scipy's own differences for derivatives."""
    from scipy.optimize import minimize

    return minimize(_negative(payoffs, frequencies, arithmetic), start, method="L-BFGS-B", bounds=BOUNDS)


def _negative(payoffs: Sequence[Array], frequencies: Sequence[Array], arithmetic: str) -> Callable[[Array], float]:
    """What the search minimises: minus the sum over players of mean log-probabilities, at (tau, gamma)."""

    def negative(x: Array) -> float:
        if x[0] < 0:
            return _BELOW_ZERO
        share, value = weights(x[0], arithmetic), 0.0
        for m, seen in zip(payoffs, frequencies, strict=True):
            p = sum(w * play for w, play in zip(share, levels(m, x[1]), strict=True))
            value -= (seen * np.log(np.maximum(p, FLOOR))).sum()
        return float(value)

    return negative


_TAU = np.concatenate([[0.0], np.linspace(0.05, np.sqrt(10.0), 90) ** 2])
_SHARP = np.geomspace(1e-2, 2e3, 40_000).reshape(50, -1)  # gamma times the largest payoff difference, in stretches
_CLIMBED = 10


def best_optima(payoffs: Sequence[Array], frequencies: Array) -> tuple[Array, Array, Array]:
    """tau, gamma and objective of the best optimum found of each row of frequencies (m, A_1 + A_2).

    A dense grid, climbs from its best nodes, and a climb without derivatives from the best of these. The chain of
    responses turns over faster and faster as gamma grows, so the objective has ever narrower peaks; a still finer grid
    may find a better one.
    """
    from scipy.optimize import minimize

    spread = max(float(np.ptp(m)) for m in payoffs) or 1.0
    share = np.stack([weights(t) for t in _TAU])
    m, width = frequencies.shape
    heights, nodes = np.empty((m, len(_SHARP))), np.empty((m, len(_SHARP)), int)
    for s, gamma in enumerate(_SHARP / spread):
        table = np.concatenate([np.tensordot(share, levels(p, gamma), axes=(1, 0)) for p in payoffs], axis=1)
        surface = frequencies @ np.log(np.maximum(table, FLOOR)).transpose(1, 0, 2).reshape(width, -1)
        nodes[:, s], heights[:, s] = surface.argmax(axis=1), surface.max(axis=1)
    tau, gamma_at, value = np.empty(m), np.empty(m), np.full(m, -np.inf)
    first = len(payoffs[0])
    for i, row in enumerate(frequencies):
        for s in np.argsort(-heights[i])[:_CLIMBED]:
            place, within = divmod(int(nodes[i, s]), _SHARP.shape[1])
            start = float(_TAU[place]), float(_SHARP[s, within] / spread)
            run = _search(start, payoffs, (row[:first], row[first:]), ARITHMETICS[0])
            found = max([(heights[i, s], *start), (-run.fun, *run.x)])
            if found[0] > value[i]:
                value[i], tau[i], gamma_at[i] = found
        negative = _negative(payoffs, (row[:first], row[first:]), ARITHMETICS[0])
        last = minimize(negative, (tau[i], gamma_at[i]), method="Nelder-Mead", bounds=((0.0, 10.0), BOUNDS[1]))
        if -last.fun > value[i]:
            value[i], (tau[i], gamma_at[i]) = -last.fun, last.x
    return tau, gamma_at, value
