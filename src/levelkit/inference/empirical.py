"""The empirical-payoff estimator of QRE: everybody responds to what the others were *observed* to do.

Bajari & Hortacsu (2005): no equilibrium is solved; expected payoffs are computed from observed frequencies, and
precision is that of a logit response to them. It is a decision problem for each player, so any model that responds by
logit fits it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from levelkit.choices import Choices
from levelkit.errors import DataError
from levelkit.games import Game
from levelkit.inference.likelihood import group
from levelkit.models.branches import is_symmetric
from levelkit.models.responses import expected_payoffs


def empirical_payoffs(choices: Choices, by: Sequence[str] | str = ()) -> Choices:
    """The same choices in games whose payoffs are those expected against the observed play of the others.

    Frequencies are pooled over the cells that agree on `by` and the game. Fit the result with `LogitQRE()` for the
    empirical-payoff estimate of lam; its standard error takes the frequencies as known. Raises DataError where an
    opponent was never observed (in a symmetric game, anybody's play counts).

    >>> import levelkit as lk
    >>> data = lk.shipped_choices("rpc2009").filter(game="rpc_sw1")
    >>> round(lk.fit(lk.empirical_payoffs(data), lk.LogitQRE()).frame()["estimate"][0], 3)
    0.081
    """
    columns = [by] if isinstance(by, str) else [c for c in by if c != "game"]
    units = group(choices, [*columns, "game"])
    games: dict[str, Game] = {}
    names = []
    for u in range(len(units)):
        game = units.games[units.game[units.start[u]]]
        name = game.name if game.name not in games else f"{game.name} ({u})"
        games[name] = _decisions(game, units.counts[units.start[u], : game.n_counts], name)
        names.append(name)
    cells = choices.cells.assign(game=pd.Series(np.array(names, dtype=object)[units.cells], index=choices.cells.index))
    return Choices.from_counts(cells, choices.counts, games, no_choice=choices.no_choice, problems=choices.problems)


def _decisions(game: Game, counts: np.ndarray, name: str) -> Game:
    parts = [counts[s] for s in game.slices]
    if is_symmetric(game):
        parts = [np.sum(parts, axis=0)] * len(parts)
    for player, part in zip(game.players, parts, strict=True):
        if not part.sum() > 0:
            raise DataError(
                f"{player} was never observed, so nobody's payoffs against it are known", where=f"game '{game.name}'"
            )
    utilities = expected_payoffs(game.payoffs, tuple(p / p.sum() for p in parts))  # type: ignore[arg-type]
    shape = game.shape
    payoffs = tuple(
        np.broadcast_to(np.asarray(u).reshape([-1 if j == i else 1 for j in range(len(shape))]), shape).copy()
        for i, u in enumerate(utilities)
    )
    return Game(
        name, game.players, game.actions, payoffs, game.observed, game.level0, game.title, game.source, game.note
    )
