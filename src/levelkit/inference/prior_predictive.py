"""What a model's priors say about choices before any are seen: the prior-predictive check (Gelman et al. 2020)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from levelkit.errors import UsageError
from levelkit.games import Game
from levelkit.inference import checks, priors
from levelkit.inference.kernels import Array, Stack, log_probabilities, payoff_unit
from levelkit.models.base import Model, Prior

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, eq=False)
class PriorPredictive:
    """Draws of parameters, the choice probabilities they imply, and choices drawn from them.

    params: one row per draw; precisions per payoff range. probabilities, counts: for each game, (draws, sum of A_i),
    agents after one another as in a row of counts. n: choices of each player in `counts`.
    """

    model: Model
    games: tuple[Game, ...]
    described: tuple[str, ...]
    params: pd.DataFrame
    probabilities: Mapping[str, Array]
    counts: Mapping[str, Array]
    n: int

    def frame(self) -> pd.DataFrame:
        """One row per game, player and action: mean and 2.5, 25, 50, 75, 97.5% quantiles of its probability."""
        rows: list[dict[str, Any]] = []
        for game in self.games:
            table = self.probabilities[game.name]
            for player, actions, where in zip(game.players, game.actions, game.slices, strict=True):
                for action, column in zip(actions, range(where.start, where.stop), strict=True):
                    low, first, middle, third, high = np.quantile(table[:, column], [0.025, 0.25, 0.5, 0.75, 0.975])
                    rows.append(
                        {"game": game.name, "player": player, "action": action, "mean": table[:, column].mean()}
                        | {"2.5%": low, "25%": first, "50%": middle, "75%": third, "97.5%": high}
                    )
        return pd.DataFrame(rows)

    def plot(self) -> Figure:
        """The distribution of every action's probability, a panel for each game."""
        from levelkit.report.plots.prior import figure

        return figure(self)


def prior_predictive(
    model: Model,
    games: Game | Sequence[Game],
    *,
    prior: Mapping[str, Prior | str] | None = None,
    fixed: Mapping[str, float] | None = None,
    n: int = 30,
    draws: int = 1000,
    seed: int = 0,
) -> PriorPredictive:
    """Draw parameters from the priors and choices from the model.

    prior, fixed: as in `levelkit.posterior` (precisions per payoff range). n: choices of each player in a draw.
    Shares of levels are drawn from their Dirichlet. Raises UsageError for unknown parameters or priors.

    >>> import levelkit as lk
    >>> lk.prior_predictive(lk.TQRE(), lk.game("stag_hunt_base")).frame()["mean"].round(1).tolist()
    [0.6, 0.4, 0.6, 0.4]
    """
    if draws < 1 or n < 1:
        raise UsageError(f"draws = {draws!r}, n = {n!r}: give positive whole numbers")
    several = (games,) if isinstance(games, Game) else tuple(games)
    held, chosen = checks.fixed(model, fixed), priors.chosen(model, prior)
    rng = np.random.default_rng(seed)
    variant = model.variants(several)[0]
    values: dict[str, Array] = {}
    shares = [p for p in model.parameters if p.transform == "simplex"]
    if shares:
        drawn = rng.dirichlet(shares[0].prior.args, draws)
        values.update({p.name: drawn[:, k] for k, p in enumerate(shares)})
    for p in model.parameters:
        if p.name in held:
            values[p.name] = np.full(draws, held[p.name])
        elif p.transform != "simplex":
            values[p.name] = priors.draw(chosen[p.name], draws, rng)
    params = pd.DataFrame({p.name: values[p.name] for p in model.parameters}, index=range(draws))
    probabilities, counts = {}, {}
    for game in several:
        per = [payoff_unit(game) if p.is_precision else 1.0 for p in model.parameters]
        vector = params.to_numpy().T / np.array(per).reshape(-1, 1)
        stack = Stack.of([game], variant)
        table = np.exp(log_probabilities(variant, stack, np.zeros(draws, int), vector)).T
        made = np.zeros(table.shape, int)
        for where in game.slices:
            p_own = table[:, where]
            made[:, where] = rng.multinomial(n, p_own / p_own.sum(axis=1, keepdims=True))
        probabilities[game.name], counts[game.name] = table, made
    told = tuple(priors.described(model, chosen, held))
    return PriorPredictive(model, several, told, params, probabilities, counts, n)
