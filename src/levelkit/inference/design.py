"""What a game can tell before anyone has played it: what each level does, and whether a model's parameters show in
choices.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from levelkit.games import Game
from levelkit.inference import kernels
from levelkit.inference.kernels import Array, Stack
from levelkit.inference.objective import from_coordinate, slope, to_coordinate
from levelkit.models.base import Model
from levelkit.models.levels import TQRE, LevelModel
from levelkit.solve import best_responses


def level_play(game: Game, levels: int = 5, belief: str = "step", tau: float = 1.5) -> dict[str, Array]:
    """What each level 0..levels plays when it best responds, ties split evenly: {player: (levels + 1, A_i)}.

    belief "step": to the level just below. "hierarchy": to levels 0..k-1 spread as Poisson(tau).
    """
    below = [kernels.level0_play(game, i) for i in range(len(game.shape))]
    plays, average, mass, share = [below], below, 1.0, 1.0
    for k in range(1, levels + 1):
        beliefs = dict(zip(game.players, average if belief == "hierarchy" else below, strict=True))
        below = [_even(game, i, best_responses(game, player, beliefs)) for i, player in enumerate(game.players)]
        share *= tau / k
        mass += share
        average = [m + share / mass * (p - m) for m, p in zip(average, below, strict=True)]
        plays.append(below)
    return {player: np.stack([p[i] for p in plays]) for i, player in enumerate(game.players)}


@dataclass(frozen=True, eq=False)
class LevelPlay:
    """A population of levels and how each chooses. shares: (K + 1,) of levels 0..K. plays: {player: (K + 1, A_i)}."""

    shares: Array
    plays: dict[str, Array]

    @property
    def overall(self) -> dict[str, Array]:
        """Choice probabilities of the population, {player: (A_i,)}."""
        return {player: self.shares @ play for player, play in self.plays.items()}


def play_by_level(game: Game, model: LevelModel, **params: float) -> LevelPlay:
    """How each level of a fitted or imagined population chooses, trembles included.

    Raises UsageError for unknown, missing or impossible parameters.

    >>> import levelkit as lk
    >>> made = lk.play_by_level(lk.game("sw10"), lk.TQRE(levels=2), tau=1.5, gamma=0.05)
    >>> made.plays["player 1"].round(2).tolist()
    [[0.33, 0.33, 0.33], [0.33, 0.21, 0.46], [0.35, 0.21, 0.44]]
    """
    shares, plays = kernels.plays(model, game, model.check(params))
    return LevelPlay(shares, dict(zip(game.players, plays, strict=True)))


def _even(game: Game, i: int, best: frozenset[str]) -> Array:
    chosen = np.array([a in best for a in game.actions[i]], float)
    return chosen / chosen.sum()


@dataclass(frozen=True)
class Identification:
    """Whether a model's parameters are identified from choices in one game: the rank of what choices reveal about
    them.
    """

    model: Model
    game: str
    observed: tuple[str, ...]
    rank: int
    parameters: int
    freedoms: int

    @property
    def identified(self) -> bool:
        """Whether all parameters are locally identified almost everywhere."""
        return self.rank == self.parameters

    @property
    def text(self) -> str:
        """The verdict in words."""
        names = " and ".join(p.name for p in self.model.parameters)
        are = "are" if len(self.model.parameters) > 1 else "is"
        who = " and ".join(self.observed)
        if self.identified:
            return f"{names} {are} identified from the choices of {who}, given enough of them"
        why = f"choices of {who} reveal {self.rank} free probability" + ("" if self.rank == 1 else " values")
        if self.rank == 0:
            why = f"predicted choices of {who} do not depend on the parameters"
        return (
            f"{names} {are} NOT identified from the choices of {who} in this game alone, at any sample size: {why}, "
            f"but there {are} {self.parameters} parameter{'s' if are == 'are' else ''}; pool games, or fix a parameter"
        )


def identification(game: Game, model: Model | None = None, observed: tuple[str, ...] | None = None) -> Identification:
    """Rank of the expected information at points spread over the parameters' spans; the largest counts.

    observed: players whose choices are seen (default: all that can be).
    """
    model = model or TQRE()
    seen = [p for p, o in zip(game.players, game.observed, strict=True) if o] if observed is None else list(observed)
    counts = np.concatenate([np.full(a, float(p in seen)) for p, a in zip(game.players, game.shape, strict=True)])
    parameters = model.parameters
    rng = np.random.default_rng(1)
    m = 48
    unit = 1.0 / kernels.payoff_unit(game)
    theta = np.empty((len(parameters), m))
    for i, p in enumerate(parameters):
        if p.transform == "simplex":
            theta[i] = rng.exponential(size=m)
            continue
        first, last = to_coordinate(p, np.array(p.span))
        theta[i] = from_coordinate(p, first + (0.1 + 0.5 * rng.random(m)) * (last - first)) * (
            unit if p.is_precision else 1.0
        )
    members = [i for i, p in enumerate(parameters) if p.transform == "simplex"]
    if members:
        theta[members] /= theta[members].sum(axis=0)
    seeds = np.stack(
        [np.ones(m) if p.transform == "simplex" else slope(p, t) for p, t in zip(parameters, theta, strict=True)]
    )
    index = np.zeros(m, int)
    table = np.repeat(counts[:, None], m, axis=1)
    information = kernels.scores(model, Stack.of([game], model), index, table, theta, seeds)[2]
    matrix = np.moveaxis(information, -1, 0)
    if members:
        basis = simplex_basis(len(parameters), members)
        matrix = basis.T @ matrix @ basis
    values = np.linalg.eigvalsh(matrix)
    largest = np.maximum(values[:, -1:], 1e-9)
    rank = int((values > 1e-9 * largest).sum(axis=1).max())
    sizes = dict(zip(game.players, game.shape, strict=True))
    free = sum(sizes[p] - 1 for p in seen)
    seen = [p for p in seen if sizes[p] > 1] or seen
    return Identification(model, game.name, tuple(seen), rank, matrix.shape[1], free)


def simplex_basis(size: int, members: list[int]) -> Array:
    """Orthonormal directions (size, size - 1) along which the members keep their sum."""
    normal = np.zeros((1, size))
    normal[0, members] = 1.0
    return np.linalg.svd(normal)[2][1:].T
