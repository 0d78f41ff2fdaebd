"""Nash equilibrium with trembles: the benchmark of full rationality, made fit for data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar

import jax
import jax.numpy as jnp
import numpy as np

from levelkit.errors import UsageError
from levelkit.models import branches
from levelkit.models.base import GameArrays, Limit, Model, Parameter, Params
from levelkit.models.baselines import Uniform
from levelkit.models.levels import EPS

if TYPE_CHECKING:
    from levelkit.games import Game


@dataclass(frozen=True)
class NashTremble(Model):
    """Everybody plays a Nash equilibrium, except that with probability eps an action is drawn at random.

    equilibrium: its number in `levelkit.equilibria` from 0 (the last where a game has fewer), "logit" for the limit of
    the logit branch, or None, for fits only: of all of them, the one that fits best.
    """

    name: ClassVar[str] = "nash-tremble"
    label: ClassVar[str] = "Nash equilibrium with trembles"

    equilibrium: int | str | None = None

    def __post_init__(self) -> None:
        e = self.equilibrium
        if not (e is None or e == "logit" or (isinstance(e, int) and e >= 0)):
            raise UsageError(f"equilibrium = {e!r}: give a number from 0, or logit, or leave it out")

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """eps."""
        return (EPS,)

    @property
    def is_smooth(self) -> bool:
        """Linear in eps."""
        return True

    def prepare(self, games: Sequence[Game]) -> np.ndarray:
        """The equilibrium of each game, (W, G)."""
        return np.stack([_chosen(g, self.equilibrium) for g in games], axis=-1)

    def variants(self, games: Sequence[Game]) -> tuple[Model, ...]:
        """The logit limit, then every equilibrium of the game that has most."""
        if self.equilibrium is not None:
            return (self,)
        most = max(len(_all(g)) for g in games)
        return tuple(replace(self, equilibrium=e) for e in ("logit", *range(most)))

    @property
    def limits(self) -> tuple[Limit, ...]:
        """Uniform play."""
        return (Limit(Uniform(), "eps", 1.0),)

    @property
    def core(self) -> Model:
        """Which equilibrium is played stands in what is prepared."""
        return replace(self, equilibrium="logit")

    def probabilities(self, game: GameArrays, params: Params) -> tuple[jax.Array, ...]:
        """(1 - eps) equilibrium + eps uniform."""
        eps = jnp.asarray(params["eps"], float)
        sizes = [p.shape[0] for p in game.level0]
        stops = np.cumsum(sizes)
        parts = [game.extra[b - a : b] for a, b in zip(sizes, stops, strict=True)]
        return tuple(p + eps * (1.0 / len(p) - p) for p in parts)


@lru_cache(maxsize=4096)
def _all(game: Game) -> tuple[tuple[np.ndarray, ...], ...]:
    from levelkit.solve import equilibria

    return tuple(tuple(np.asarray(p) for p in profile) for profile in equilibria(game).profiles)


def _chosen(game: Game, number: int | str | None) -> np.ndarray:
    every = _all(game)
    if isinstance(number, str) or number is None or not every:
        branch = branches.of_game(game)
        return np.concatenate([np.asarray(p) for p in branches.play(jnp.asarray(branch.y[-1]), game.shape)])
    return np.concatenate(every[min(number, len(every) - 1)])
