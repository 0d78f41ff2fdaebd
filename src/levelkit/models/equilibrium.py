"""Equilibrium models: everybody's noisy response is right about everybody else's.

Logit quantal response equilibrium (McKelvey & Palfrey 1995) is followed along its principal branch by
`levelkit.models.branches`; a prediction starts from the branch and is made exact by Newton's method.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np

from levelkit.errors import UsageError
from levelkit.models import branches
from levelkit.models.base import GameArrays, Limit, Model, Parameter, Params
from levelkit.models.baselines import Uniform
from levelkit.models.levels import LAM as LEVELS_LAM

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from levelkit.games import Game

# Along a branch precision is followed much farther than levels' precision is searched.
LAM = replace(LEVELS_LAM, span=(0.1, 2000.0))


@dataclass(frozen=True)
class LogitQRE(Model):
    """Logit quantal response equilibrium on the principal branch, one precision lam for all players.

    Where a branch turns back, several of its equilibria share one lam. crossing: which of them is predicted, counted
    along the branch from 0 (the last one where there are fewer); None, for fits only, takes the one that fits best.
    Symmetric games stay on the symmetric branch. Infinite lam is its limit, the logit-selected Nash equilibrium.
    """

    name: ClassVar[str] = "qre"
    label: ClassVar[str] = "logit QRE"

    crossing: int | None = None

    def __post_init__(self) -> None:
        if self.crossing is not None and not (isinstance(self.crossing, int) and self.crossing >= 0):
            raise UsageError(f"crossing = {self.crossing!r}: give a whole number from 0, or leave it out")

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """lam."""
        return (LAM,)

    @property
    def is_smooth(self) -> bool:
        """Along a branch nothing jumps."""
        return True

    @property
    def limits(self) -> tuple[Limit, ...]:
        """Uniform play at lam = 0."""
        return (Limit(Uniform(), "lam", 0.0),)

    def prepare(self, games: Sequence[Game]) -> branches.Branch:
        """The games' principal branches."""
        return branches.prepare(games)._replace(crossing=np.full(len(games), self.crossing or 0))

    def gathered(self, extra: branches.Branch, which: jax.Array) -> branches.Branch:
        """The branches stay where they are: of all their points a prediction reads two."""
        return extra._replace(symmetric=extra.symmetric[which], crossing=extra.crossing[which], which=which)

    def variants(self, games: Sequence[Game]) -> tuple[Model, ...]:
        """One for each equilibrium that the most folded branch has at one lam."""
        if self.crossing is not None:
            return (self,)
        folds = max(branches.turns(g) for g in games)
        return tuple(replace(self, crossing=c) for c in range(folds + 1))

    @property
    def core(self) -> Model:
        """Which crossing is predicted stands in the prepared branches."""
        return replace(self, crossing=0)

    def probabilities(self, game: GameArrays, params: Params) -> tuple[jax.Array, ...]:
        """The equilibrium at lam."""
        sizes = tuple(p.shape[0] for p in game.level0)
        lam = jnp.asarray(params["lam"]) * game.payoff_range
        payoffs = branches.normalised(game.payoffs, game.payoff_range)
        y = branches.read(payoffs, game.extra, lam, sizes)
        return branches.play(y, sizes)

    def elsewhere(self, game: Game, counts: np.ndarray, above: float) -> tuple[dict[str, float], float] | None:
        """The best equilibrium off the principal branch that is reached from the observed frequencies."""
        found = branches.from_frequencies(game, counts, above)
        return None if found is None else ({"lam": found[0]}, found[1])

    def branch(self, game: Game, lam: Sequence[float] | None = None) -> pd.DataFrame:
        """The principal branch of one game, from uniform play to its limit: lam (per payoff unit), arclength, turns
        (how often lam has turned back before), and a column "player: action" for every action's probability.

        With `lam`, the probabilities at these precisions instead (at the model's crossing where the branch turns).

        Raises:
            UsageError: `lam` is negative or not a number.
        """
        if lam is None:
            return branches.frame(game)
        lams = np.atleast_1d(np.asarray(lam, float))
        if lams.ndim != 1 or not np.all(lams >= 0):
            raise UsageError(f"lam = {lam!r}: give precisions per payoff unit, from 0 up")
        return branches.frame_at(game, lams, self.crossing or 0)

    def plot(self, game: Game) -> Figure:
        """The branch as a figure: every action's probability against lam; bifurcations are dotted."""
        from levelkit.report.plots.branch import branch

        return branch(game)

    def limit(self, game: Game) -> dict[str, np.ndarray]:
        """The Nash equilibrium in which the principal branch ends, {player: (A_i,)}."""
        return self.predict(game, lam=np.inf)

    def bifurcations(self, game: Game) -> list[float]:
        """Values of lam, per payoff unit, at which other branches leave the principal one (pitchforks of games with
        symmetries), in the order in which it passes them.
        """
        return branches.forks(game)


__all__: Sequence[Any] = ["LAM", "LogitQRE"]
