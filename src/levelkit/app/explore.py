"""A game and a population of players: who chooses what, level by level, and what choices could tell."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from levelkit import models
from levelkit.app import settings
from levelkit.errors import UsageError
from levelkit.games import Game, game, library_sets
from levelkit.gametext import game_from_matrix
from levelkit.inference.design import play_by_level
from levelkit.models import branches
from levelkit.models.base import Model
from levelkit.models.levels import LevelModel
from levelkit.report import gamesheet, words
from levelkit.solve import equilibria, replies_to_actions

MODELS = ("tqre", "quantal-ch", "poisson-ch", "qre")
BELIEFS = ("hierarchy", "step")
MOST_LEVELS = 20
MOST_ACTIONS = 12
_MOST_TEXT = 20_000


def games() -> list[dict[str, Any]]:
    """The games that come along and can be shown here, by set."""
    return [
        {
            "set": words.plain(title or name),
            "games": [{"name": n, "title": settings.said(game(n).title)} for n in shown],
        }
        for name, (title, members) in library_sets().items()
        if (shown := [n for n in members if _fits(game(n))])
    ]


def chosen(query: settings.Query) -> Game:
    """The game of the settings: a pasted `matrix`, else `game` by name. Raises DataError or UsageError."""
    text = query.get("matrix", "")
    if len(text) > _MOST_TEXT:
        raise UsageError(f"the matrix has {len(text):,} letters; {_MOST_TEXT:,} are the most")
    made = game_from_matrix(text) if text.strip() else game(query.get("game") or "sw10")
    if not _fits(made):
        raise UsageError(f"{made.name} has more than two players or {MOST_ACTIONS} actions; use levelkit games for it")
    return made


def model(query: settings.Query) -> Model:
    """The model of the settings."""
    name = settings.choice(query, "model", MODELS)
    if name == "qre":
        return models.get(name)
    levels = settings.whole(query, "levels", 10, 1, MOST_LEVELS)
    return models.get(name, levels=levels, belief=settings.choice(query, "belief", BELIEFS))


def play(query: settings.Query) -> dict[str, Any]:
    """Choice probabilities, overall and by level. Precisions are slid in units of 1 / payoff range, shown per payoff.

    Settings: game or matrix, model, levels, belief, tau, gamma, lam.
    """
    shown, made = chosen(query), model(query)
    unit = 1.0 / (shown.payoff_range or 1.0)
    values = {p.name: _value(query, p.name, p.is_precision, unit) for p in made.parameters}
    answer: dict[str, Any] = {
        "model": made.label,
        "parameters": [
            {"name": p.name, "label": p.label, "unit": p.unit, "value": values[p.name]} for p in made.parameters
        ],
        "players": [],
    }
    if isinstance(made, LevelModel):
        found = play_by_level(shown, made, **values)
        overall, by_level, answer["shares"] = found.overall, found.plays, found.shares.tolist()
        answer["mean_level"] = float(found.shares @ np.arange(len(found.shares)))
    else:
        overall, by_level = made.predict(shown, **values), {}
    for name, actions in zip(shown.players, shown.actions, strict=True):
        levels = by_level[name].tolist() if name in by_level else []
        answer["players"].append(
            {
                "name": words.plain(name),
                "actions": [words.plain(a) for a in actions],
                "overall": overall[name].tolist(),
                "levels": levels,
            }
        )
    return answer


def facts(query: settings.Query) -> dict[str, Any]:
    """What does not hang on the sliders: payoffs, best replies, equilibria, the verdict on identification.

    Settings: game or matrix, model, levels, belief.
    """
    shown, made = chosen(query), model(query)
    found = equilibria(shown)
    identified, verdict = gamesheet.verdict(shown, made)
    return {
        "name": words.plain(shown.name),
        "title": settings.said(shown.title),
        "source": settings.said(shown.source),
        "players": [words.plain(p) for p in shown.players],
        "actions": [[words.plain(a) for a in actions] for actions in shown.actions],
        "payoffs": [own.tolist() for own in shown.payoffs],
        "payoff_range": shown.payoff_range,
        "replies": replies_to_actions(shown),
        "equilibria": [gamesheet.profile_text(shown, profile) for profile in found.profiles],
        "equilibria_note": found.note,
        "identified": identified,
        "verdict": verdict,
    }


def branch(query: settings.Query) -> dict[str, Any]:
    """The principal branch of logit QRE: lam per payoff range, and every action's probability, player by player."""
    return _branch(chosen(query))


@lru_cache(maxsize=64)
def _branch(shown: Game) -> dict[str, Any]:
    if shown.payoff_range <= 0:
        return {"lam": [], "unit": 1.0, "players": [], "turns": 0, "forks": []}
    frame = branches.smooth_frame(shown)
    return {
        "lam": (frame["lam"].to_numpy() * shown.payoff_range).tolist(),
        "unit": 1.0 / shown.payoff_range,
        "players": [
            [frame[f"{player}: {action}"].tolist() for action in actions]
            for player, actions in zip(shown.players, shown.actions, strict=True)
        ],
        "turns": branches.turns(shown),
        "forks": [fork * shown.payoff_range for fork in branches.forks(shown)],
    }


def _value(query: settings.Query, name: str, is_precision: bool, unit: float) -> float:
    if is_precision:
        return settings.number(query, name, 2.0, 0.0, 1e4) * unit
    return settings.number(query, name, 1.5, 0.0, 10.0)


def _fits(one: Game) -> bool:
    return one.n_players == 2 and all(one.observed) and max(one.shape) <= MOST_ACTIONS
