"""What level 0 may do: four rules that are easily taken for one another, and how much hangs on the choice."""

from __future__ import annotations

from typing import Any

import pandas as pd

from levelkit.depth.instruments import Instrument, instrument
from levelkit.depth.sequences import best, sequence
from levelkit.games import Game

RULES = {
    "bonuses granted": "every bonus taken as granted, also those that exclude one another",
    "maximin": "the best worst case",
    "maximax": "the best best case",
    "reply to uniform": "the best reply to uniform play",
}


def anchor_report(source: str | Game | Instrument, player: int | str = 1) -> pd.DataFrame:
    """One row for each of the four rules: rule, value (the payoff it maximises), actions (all that attain it), anchor
    (the smallest of them), k_max (with that anchor for all players), agrees (with the level 0 the game states).

    A rule that the game's description does not define (which bonuses are there?) has no value and no anchor. The
    rules may disagree: in the Nash demand game maximin gives 10, a fixed point, where no levels differ.

    >>> anchor_report("nash")[["rule", "anchor", "k_max"]].values.tolist()[:2]
    [['bonuses granted', 20, 10], ['maximin', 10, 0]]
    """
    own = instrument(source)
    i = own.game.player_index(player)
    payoffs = own.own(i).reshape(len(own.values[i]), -1)
    criteria: dict[str, Any] = {
        "bonuses granted": own.granted if i == 0 or own.symmetric else None,
        "maximin": payoffs.min(axis=1),
        "maximax": payoffs.max(axis=1),
        "reply to uniform": payoffs.mean(axis=1),
    }
    stated = sequence(own, 1, player=player)
    rows: list[tuple[object, ...]] = []
    for rule, worth in criteria.items():
        if worth is None:
            rows.append((rule, float("nan"), (), None, None, None))
            continue
        actions = tuple(own.values[i][a] for a in best(worth, own.tolerance))
        k_max = _k_max(own, actions[0], i)
        agrees = None if stated.start else str(actions[0]) == stated.anchor
        rows.append((rule, float(worth.max()), actions, actions[0], k_max, agrees))
    frame = pd.DataFrame(rows, columns=["rule", "value", "actions", "anchor", "k_max", "agrees"], dtype=object)
    return frame.astype({"value": float})


def _k_max(own: Instrument, anchor: Any, player: int) -> int | None:
    """K_max from an anchor; None in a game in which the others do not have that action."""
    if not own.symmetric:
        return None
    return sequence(own, 1, anchor=anchor, player=player + 1).k_max
