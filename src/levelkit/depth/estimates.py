"""Levels and precision from trials, through the general models: level mixtures with noise, TQRE, cognitive hierarchy.

Trials become counted choices in the depth games, and `lk.fit` does the rest, with status, interval and sample size.
What level 0 does matters more here than elsewhere, so it is a choice made by name: "anchor" (the action that the game
states) or "uniform". With uniform level 0 the Nash demand game has one strategic action and tells nothing of depth.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from levelkit.choices import Choices
from levelkit.depth.instruments import Instrument
from levelkit.depth.rank import MixtureRank, mixture_rank
from levelkit.depth.scoring import score
from levelkit.depth.trials import Trials, read_trials
from levelkit.errors import DataError, UsageError
from levelkit.games import Game
from levelkit.problems import ProblemLog

if TYPE_CHECKING:
    from levelkit.inference.results import Fits
    from levelkit.models.base import Model

LEVEL0 = ("anchor", "uniform")
COLUMNS = ("model", "condition", "k_target", "lambda")


def trial_choices(
    source: Trials | str | Path, level0: str = "anchor", *, condition: str | None = "recursive"
) -> Choices:
    """Trials as counted choices: cells by model, condition, k_target, lambda and game.

    level0: "anchor" or "uniform", put into the games. condition: "recursive", "inductive" or None for both.
    Both players of a symmetric game have one law, so all trials count as player 1's. Submissions that are no action
    of the game are answers without a choice; lost trials (api_error) are left out.
    Raises UsageError for unknown options, DataError where no trial is left.
    """
    if level0 not in LEVEL0:
        raise UsageError(f"level0 = {level0!r}: choose anchor or uniform")
    trials = source if isinstance(source, Trials) else read_trials(source)
    frame = score(trials)
    frame = frame[frame["status"] != "api_error"]
    if condition is not None:
        frame = frame[frame["condition"] == condition]
    if not len(frame):
        raise DataError(f"no trial of condition {condition!r} is left", where=trials.where)
    games = {name: _game(trials.games[name], level0) for name in dict.fromkeys(frame["game"])}
    cells = frame[[*COLUMNS, "game"]].drop_duplicates(ignore_index=True)
    number = frame[[*COLUMNS, "game"]].merge(cells.assign(cell=np.arange(len(cells))), how="left")["cell"].to_numpy()
    counts = np.zeros((len(cells), max(game.n_counts for game in games.values())))
    nothing = np.zeros(len(cells))
    for cell, game, action in zip(number, frame["game"], frame["action"], strict=True):
        place = trials.games[game].index(action)
        if place is None:
            nothing[cell] += 1
        else:
            counts[cell, place] += 1
    log = ProblemLog(trials.where, "line")
    log.note("level0", f"level 0 is {'the anchor of each game' if level0 == 'anchor' else 'uniform play'}")
    cells["k_target"] = cells["k_target"].astype(int)
    return Choices.from_counts(cells, counts, games, no_choice=nothing, problems=log.problems(len(frame)))


def _game(own: Instrument, level0: str) -> Game:
    game = own.game
    if level0 == "uniform":
        return dataclasses.replace(game, level0=(None,) * game.n_players)
    if any(mix is None for mix in game.level0):
        raise DataError(f"{game.name} states no anchor", fix="Give its level0, or use level0='uniform'")
    return game


def estimate(
    source: Trials | str | Path,
    model: str | Model = "tqre",
    by: Sequence[str] = ("model",),
    *,
    level0: str = "anchor",
    condition: str | None = "recursive",
    fixed: Mapping[str, float] | None = None,
    scale: str = "range",
    **options: Any,
) -> Fits:
    """Fit a general model to trials, one set of estimates for each combination of `by`.

    model: "level-k" (shares of levels with uniform trembles), "tqre", "poisson-ch", any other name, or a model; a
    name stands for levels up to 10 where the games tell those apart, "level-k" with belief one level below. by: among
    model, condition, k_target, lambda, game. options: as for `lk.fit`. Free shares of levels that a game alone does not
    identify are refused, with the reason. With an anchor, best replies reach few actions: models without noise
    (poisson-ch) then explain no others, and the fit is flat.
    Raises UsageError and DataError, also those of `lk.fit`.
    """
    from levelkit import models
    from levelkit.inference.fit import fit
    from levelkit.models.levels import ShareModel

    trials = source if isinstance(source, Trials) else read_trials(source)
    choices = trial_choices(trials, level0, condition=condition)
    if isinstance(model, str):
        model = models.get(model, levels=_deepest(choices, by)) if model in _WITH_LEVELS else models.get(model)
    if isinstance(model, ShareModel) and ("game" in by or len(choices.games) == 1):
        noise = "eps" not in (fixed or {})
        blind = [r for r in ranks(choices, model.levels, noise=noise).values() if not r.identified]
        if blind:
            raise UsageError(
                f"{blind[0].game} alone: {blind[0].text}. Pool games (leave game out of by), hold eps, or set levels"
            )
    return fit(choices, model, list(by), fixed=dict(fixed or {}), scale=scale, **options)


_WITH_LEVELS = ("level-k", "quantal-level-k", "tqre", "poisson-ch", "quantal-ch")


def ranks(choices: Choices, levels: int = 10, *, noise: bool = True) -> dict[str, MixtureRank]:
    """For each game alone: are the shares of levels 0 to `levels` (and, with noise, of uniform play) identified?"""
    return {name: mixture_rank(Instrument(game), (0, levels), noise=noise) for name, game in choices.games.items()}


def _deepest(choices: Choices, by: Sequence[str]) -> int:
    """The highest level of a mixture: 10, or less where every unit has a single game that repeats sooner."""
    if "game" not in by and len(choices.games) > 1:
        return 10
    from levelkit.depth.sequences import sequence

    return max(1, min(10, *(sequence(game).k_max for game in choices.games.values())))


__all__ = ["estimate", "ranks", "trial_choices"]
