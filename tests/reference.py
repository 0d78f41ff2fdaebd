"""A second implementation of the level models, written from their definitions in plain numpy, for tests only.

Shares are formed explicitly, beliefs are weighted sums over all lower levels, nothing is recursive. Parameters may be
vectors: the last axis of everything is a list of parameter points.
"""

from __future__ import annotations

import string
from collections.abc import Sequence

import numpy as np
from scipy.special import gammaln, logsumexp

from levelkit.choices import Choices
from levelkit.games import Game


def poisson(tau, levels: int) -> np.ndarray:
    """Poisson shares of levels 0..K, cut off at K and scaled to sum to one; (K + 1, points)."""
    tau = np.atleast_1d(np.asarray(tau, float))
    k = np.arange(levels + 1)[:, None]
    shares = np.empty((levels + 1, tau.size))
    for j, t in enumerate(tau):
        if t == 0 or np.isinf(t):
            shares[:, j] = np.eye(levels + 1)[levels if t else 0]
            continue
        log = k[:, 0] * np.log(t) - gammaln(k[:, 0] + 1)
        shares[:, j] = np.exp(log - logsumexp(log))
    return shares


def geometric(tau, levels: int) -> np.ndarray:
    """Shares falling by the factor tau / (1 + tau) from level to level, cut off at K; (K + 1, points)."""
    tau = np.atleast_1d(np.asarray(tau, float))
    shares = (tau / (1 + tau)) ** np.arange(levels + 1)[:, None]
    return shares / shares.sum(axis=0)


def spiked(tau, spike, levels: int) -> np.ndarray:
    """Poisson shares of a part 1 - spike of the population; the rest is at level 0; (K + 1, points)."""
    shares = (1 - np.asarray(spike, float)) * poisson(tau, levels)
    shares[0] += spike
    return shares


def replies(game: Game, beliefs: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Expected payoff of every action against independent beliefs (A_j, points) about the others."""
    if game.n_players == 2:
        return [game.payoffs[0] @ beliefs[1], game.payoffs[1].T @ beliefs[0]]
    letters = string.ascii_lowercase[: game.n_players]
    out = []
    for i in range(game.n_players):
        others = [j for j in range(game.n_players) if j != i]
        rule = ",".join([letters, *[letters[j] + "z" for j in others]]) + "->" + letters[i] + "z"
        out.append(np.einsum(rule, game.payoffs[i], *[beliefs[j] for j in others]))
    return out


def best(utility: np.ndarray, span: float) -> np.ndarray:
    """Equal weight on all actions whose utility is the largest, up to rounding."""
    top = (utility >= utility.max(axis=0) - 1e-10 * span).astype(float)
    return top / top.sum(axis=0)


def logit(utility: np.ndarray, lam, span: float) -> np.ndarray:
    """exp(lam u) / sum exp(lam u); a precision of infinity is a best response."""
    lam = np.broadcast_to(np.asarray(lam, float), utility.shape[1:])
    finite = np.where(np.isinf(lam), 0.0, lam)
    raised = np.exp(finite * (utility - utility.max(axis=0)))
    soft = raised / raised.sum(axis=0)
    return np.where(np.isinf(lam), best(utility, span), soft)


def levels_of(game: Game, shares: np.ndarray, precision, belief: str) -> list[list[np.ndarray]]:
    """What every level plays: a list over levels of one (A_i, points) array per agent.

    precision: None for best responses, else a function of the level.
    """
    points = shares.shape[1]
    span = max(p.max() for p in game.payoffs) - min(p.min() for p in game.payoffs)
    start = [np.full(a, 1 / a) if given is None else given for a, given in zip(game.shape, game.level0, strict=True)]
    play = [[np.repeat(np.asarray(s, float)[:, None], points, axis=1) for s in start]]
    for k in range(1, len(shares)):
        if belief == "step":
            others = play[k - 1]
        else:
            weight = shares[:k] / shares[:k].sum(axis=0)
            others = [sum(weight[h] * play[h][j] for h in range(k)) for j in range(game.n_players)]
        utility = replies(game, others)
        if precision is None:
            play.append([best(u, span) for u in utility])
        else:
            play.append([logit(u, precision(k), span) for u in utility])
    return play


def mixture(game: Game, shares: np.ndarray, precision=None, belief: str = "hierarchy", tremble=0.0) -> list[np.ndarray]:
    """Choice probabilities, one (A_i, points) array per agent; levels 1, 2, ... tremble uniformly."""
    play = levels_of(game, shares, precision, belief)
    out = []
    for i, size in enumerate(game.shape):
        total = shares[0] * play[0][i]
        for k in range(1, len(shares)):
            total = total + shares[k] * ((1 - tremble) * play[k][i] + tremble / size)
        out.append(total)
    return out


def tqre(game: Game, tau, gamma, levels: int = 10, belief: str = "hierarchy") -> list[np.ndarray]:
    """Truncated QRE at points (tau, gamma)."""
    tau, gamma = np.broadcast_arrays(np.atleast_1d(np.asarray(tau, float)), np.asarray(gamma, float))
    return mixture(game, poisson(tau, levels), lambda k: gamma * k, belief)


def quantal_ch(game: Game, tau, lam, levels: int = 10, belief: str = "hierarchy") -> list[np.ndarray]:
    """Quantal cognitive hierarchy at points (tau, lam)."""
    tau, lam = np.broadcast_arrays(np.atleast_1d(np.asarray(tau, float)), np.asarray(lam, float))
    return mixture(game, poisson(tau, levels), lambda k: lam, belief)


def poisson_ch(game: Game, tau, levels: int = 10, belief: str = "hierarchy") -> list[np.ndarray]:
    """Poisson cognitive hierarchy with best responses."""
    return mixture(game, poisson(tau, levels), None, belief)


def log_table(probabilities: Sequence[np.ndarray]) -> np.ndarray:
    """Log-probabilities of all agents' actions, (sum of A_i, points)."""
    with np.errstate(divide="ignore"):
        return np.maximum(np.log(np.concatenate(list(probabilities))), -690.0)


def loglik(choices: Choices, play) -> np.ndarray:
    """sum n log p over all cells; play(game) gives probabilities at some points; (points,)."""
    tables = {name: log_table(play(game)) for name, game in choices.games.items()}
    total = 0.0
    for i in range(len(choices)):
        total = total + np.concatenate(choices.counts_for(i)) @ tables[choices.game_of(i).name]
    return np.atleast_1d(total)


def cell(game: Game, *counts: Sequence[float], **groups) -> Choices:
    """Choices with one cell."""
    import pandas as pd

    frame = pd.DataFrame({**{k: [v] for k, v in groups.items()}, "game": [game.name]})
    return Choices.from_counts(frame, np.concatenate([np.asarray(c, float) for c in counts])[None], {game.name: game})


def random_game(rng: np.random.Generator, shape: Sequence[int], name: str = "random", size: float = 10.0) -> Game:
    """A game with payoffs drawn independently: no ties, no structure."""
    return Game.normal_form(name, [rng.uniform(-size, size, shape) for _ in shape])


def grid_2d(tau: np.ndarray, other: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """All pairs, tau slowest, as two vectors."""
    a, b = np.meshgrid(tau, other, indexing="ij")
    return a.ravel(), b.ravel()


def jacobian(game: Game, play, point: np.ndarray, seen: Sequence[int]) -> np.ndarray:
    """d p / d log parameter by central differences, for the agents seen; play(game, *parameters)."""
    step, columns = 1e-4, []
    for k in range(len(point)):
        ends = []
        for sign in (1, -1):
            moved = np.array(point, float)
            moved[k] *= np.exp(sign * step)
            p = play(game, *moved)
            ends.append(np.concatenate([p[i][:, 0] for i in seen]))
        columns.append((ends[0] - ends[1]) / (2 * step))
    return np.stack(columns, axis=1)


def rank_by_differences(games: Sequence[Game], seen: Sequence[int] | None, play=tqre, points: int = 12) -> int:
    """Largest rank, over points spread at random, of what the choices of some agents reveal about two parameters."""
    rng = np.random.default_rng(3)
    span = max(g.payoff_range for g in games)
    found = 0
    for _ in range(points):
        point = np.array([rng.uniform(0.5, 4), rng.uniform(0.8, 8) / span])
        parts = []
        for g in games:
            agents = [i for i in range(g.n_players) if g.observed[i]] if seen is None else seen
            parts.append(jacobian(g, play, point, agents))
        values = np.linalg.svd(np.concatenate(parts), compute_uv=False)
        found = max(found, int((values > 1e-6 * max(values[0], 1e-12)).sum()) if values[0] > 1e-9 else 0)
    return found
