"""What is fitted: simulated cells of choices with known parameters, and a numpy reference that judges every fit.

`play` states the TQRE with hierarchical beliefs once more, in numpy and without a line shared with the package:
cells are drawn from it, and all fits, whoever made them, are valued by it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

import levelkit as lk

LEVELS = 10
FLOOR = 1e-300  # a choice that the model calls impossible costs 690 nats
TIE = 1e-13  # share of the payoff range within which expected payoffs are equal
_ROWS = 20_000  # rows drawn at a time, so that memory stays small


@dataclass(frozen=True, eq=False)
class Problem:
    """Cells with the parameters that made them."""

    name: str
    choices: lk.Choices
    tau: np.ndarray
    gamma: np.ndarray

    def __len__(self) -> int:
        return len(self.tau)

    def subset(self, which: np.ndarray) -> Problem:
        """Some of the cells, in the order given."""
        whole = self.choices
        cells = whole.cells.iloc[which].reset_index(drop=True)
        width = max(whole.games[str(name)].n_counts for name in pd.unique(cells["game"]))
        choices = lk.Choices.from_counts(cells, whole.counts[which][:, :width], whole.games)
        return Problem(self.name, choices, self.tau[which], self.gamma[which])


def contract(payoffs: np.ndarray, beliefs: list[np.ndarray], own: int) -> np.ndarray:
    """Expected payoffs (m, A_own); payoffs (1 or m, A_1, ..., A_n), beliefs (m, A_j)."""
    value = np.moveaxis(payoffs, own + 1, 1)
    others = [b for j, b in enumerate(beliefs) if j != own]
    for belief in reversed(others):
        middle = (1,) * (value.ndim - 2)
        value = (value * belief.reshape(len(belief), *middle, -1)).sum(axis=-1)
    return value


def play(payoffs: list[np.ndarray], tau: np.ndarray, gamma: np.ndarray, ranges: np.ndarray) -> list[np.ndarray]:
    """TQRE choice probabilities, one (m, A_i) array per agent; gamma may be infinite (best responses, ties split).

    payoffs: per agent (1 or m, A_1, ..., A_n); tau, gamma, ranges (m,).
    """
    m = len(tau)
    k = np.arange(LEVELS + 1)
    factorial = np.cumprod(np.maximum(k, 1.0))
    shares = tau[:, None] ** k / factorial
    shares /= shares.sum(axis=1, keepdims=True)
    below = np.cumsum(shares, axis=1)
    total = [np.full((m, a), 1.0 / a) * shares[:, :1] for a in payoffs[0].shape[1:]]
    precise = np.isinf(gamma)[:, None]
    finite = np.where(np.isinf(gamma), 0.0, gamma)[:, None]
    for level in range(1, LEVELS + 1):
        beliefs = [t / below[:, level - 1 : level] for t in total]
        for i, added in enumerate(
            [_respond(contract(u, beliefs, j), level * finite, precise, ranges) for j, u in enumerate(payoffs)]
        ):
            total[i] = total[i] + shares[:, level : level + 1] * added
    return total


def _respond(utility: np.ndarray, precision: np.ndarray, precise: np.ndarray, ranges: np.ndarray) -> np.ndarray:
    gap = utility - utility.max(axis=1, keepdims=True)
    weight = np.where(precise, gap >= -TIE * ranges[:, None], np.exp(precision * gap))
    return weight / weight.sum(axis=1, keepdims=True)


def stacked(problem: Problem) -> list[tuple[np.ndarray, list[np.ndarray], np.ndarray, tuple[int, ...]]]:
    """Cells that can be valued together: which, payoffs per agent (one row a cell, or one for all), ranges, shape."""
    names = problem.choices.cells["game"].to_numpy(dtype=object)
    games = problem.choices.games
    code = pd.Index(list(games)).get_indexer(names)
    few = len(games) <= 64
    groups: dict[object, list[int]] = {}
    for g, game in enumerate(games.values()):
        groups.setdefault(g if few else game.shape, []).append(g)
    result = []
    for members in groups.values():
        some = [list(games.values())[g] for g in members]
        place = np.full(len(games), -1)
        place[members] = np.arange(len(members))
        which = np.flatnonzero(place[code] >= 0)
        stacks = [np.stack([g.payoffs[i] for g in some]) for i in range(some[0].n_players)]
        if not few:
            stacks = [s[place[code[which]]] for s in stacks]
        ranges = np.array([g.payoff_range for g in some])[place[code[which]]]
        result.append((which, stacks, ranges, some[0].shape))
    return result


def logliks(problem: Problem, tau: np.ndarray, gamma: np.ndarray) -> np.ndarray:
    """Log-likelihood of each cell at its own parameters, by the reference; (cells,)."""
    result = np.zeros(len(problem))
    for which, payoffs, ranges, shape in stacked(problem):
        for first in range(0, len(which), _ROWS):
            part = slice(first, first + _ROWS)
            at = which[part]
            own = [u if len(u) == 1 and len(which) > 1 else u[part] for u in payoffs]
            p = np.concatenate(play(own, tau[at], gamma[at], ranges[part]), axis=1)
            counts = problem.choices.counts[at, : sum(shape)]
            result[at] = (counts * np.log(np.maximum(p, FLOOR))).sum(axis=1)
    return result


def payoff_ranges(problem: Problem) -> np.ndarray:
    """Payoff range of each cell's game, (cells,)."""
    names = problem.choices.cells["game"].to_numpy(dtype=object)
    known = {name: game.payoff_range for name, game in problem.choices.games.items()}
    return np.array([known[name] for name in names])


def study_games() -> dict[str, lk.Game]:
    """The 13 small games of the TQRE study of language models."""
    names = [name for name in lk.library_sets()["tqre_llm"][1] if name != "sw10"]
    return {name: lk.game(name) for name in names}


def study(size: int, seed: int, n: int = 15, name: str = "A") -> Problem:
    """Cells over the 13 study games, n choices a player; in the sequential game only the leader is seen."""
    games = study_games()
    names = np.resize(np.array(list(games), dtype=object), size)
    return _simulated(name, names, games, n, np.random.default_rng(seed))


def random_games(size: int, seed: int, n: int = 15, name: str = "B") -> Problem:
    """Cells that each play their own 3x3 game with normal payoffs, n choices a player."""
    rng = np.random.default_rng(seed)
    draws = rng.normal(size=(size, 2, 3, 3))
    games = {f"random {i}": lk.Game.bimatrix(f"random {i}", row, col) for i, (row, col) in enumerate(draws)}
    return _simulated(name, np.array(list(games), dtype=object), games, n, rng)


def _simulated(name: str, names: np.ndarray, games: dict[str, lk.Game], n: int, rng: np.random.Generator) -> Problem:
    size = len(names)
    tau = rng.lognormal(np.log(1.5), 0.5, size)
    relative = rng.lognormal(np.log(3.0), 0.7, size)
    width = max(game.n_counts for game in games.values())
    cells = pd.DataFrame({"cell": np.arange(size), "game": names})
    empty = Problem(name, lk.Choices.from_counts(cells, np.zeros((size, width)), games), tau, relative)
    gamma = relative / payoff_ranges(empty)
    counts = np.zeros((size, width))
    for which, payoffs, ranges, shape in stacked(empty):
        agents = _seen(games[names[which[0]]])
        for first in range(0, len(which), _ROWS):
            part = slice(first, first + _ROWS)
            at = which[part]
            own = [u if len(u) == 1 and len(which) > 1 else u[part] for u in payoffs]
            ends = np.cumsum([0, *shape])
            for i, p in enumerate(play(own, tau[at], gamma[at], ranges[part])):
                if agents[i]:
                    counts[at, ends[i] : ends[i + 1]] = rng.multinomial(n, p / p.sum(axis=1, keepdims=True))
    return Problem(name, lk.Choices.from_counts(cells, counts, games), tau, gamma)


def _seen(game: lk.Game) -> tuple[bool, ...]:
    return (True, False, False, False) if game.name == "sequential" else game.observed
