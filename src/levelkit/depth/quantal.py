"""Opponents of a level who err: quantal replies to what the level below does (Zhang & Sarkar 2026, eq. 7).

Level 0 plays uniformly at random. Level l >= 1 plays s with probability proportional to exp(lam u(s, a^(l-1)) / c),
where a^(l-1) is what level l - 1 of the exact sequence does. The study does not say what c is, and it matters:

- belief_range: c = max - min of u(., a^(l-1)), the payoffs that are at stake (what the study seems to have done)
- game_range: c = max - min of the whole payoff table
- raw: c = 1, payoffs as they are
"""

from __future__ import annotations

import numpy as np
from scipy.special import softmax

from levelkit.depth.instruments import Array, Instrument, instrument
from levelkit.depth.sequences import best, sequence
from levelkit.errors import UsageError
from levelkit.games import Game

SCALES = ("belief_range", "game_range", "raw")
DEFAULT_SCALE = "belief_range"


def opponent(
    source: str | Game | Instrument, level: int, lam: float, scale: str = DEFAULT_SCALE, *, player: int | str = 1
) -> Array:
    """Choice probabilities (A,) of a quantal level-k player of a symmetric game or of `player` in another.

    level: 0 and up; a trial's opponent has level k_target - 1. lam: precision, 0 or more, also infinite (best
    replies, ties split evenly). Raises UsageError for impossible values.
    """
    own = instrument(source)
    i = own.game.player_index(player)
    if isinstance(level, bool) or not (isinstance(level, int | np.integer) and level >= 0):
        raise UsageError(f"level = {level!r}: give a whole number, 0 or more")
    if not lam >= 0:
        raise UsageError(f"lam = {lam!r}: give a precision, 0 or more")
    size = len(own.values[i])
    if level == 0:
        return np.full(size, 1 / size)
    utility = _against(own, int(level), i)
    if np.isinf(lam):
        mix = np.zeros(size)
        mix[best(utility, own.tolerance)] = 1.0
        return mix / mix.sum()
    return np.asarray(softmax(lam * ((utility - utility.max()) / unit(own, utility, scale))))


def unit(own: Instrument, utility: Array, scale: str) -> float:
    """What payoffs are divided by; 1 where nothing is at stake."""
    if scale not in SCALES:
        raise UsageError(f"scale = {scale!r}: choose {', '.join(SCALES)}")
    size = {"raw": 1.0, "game_range": own.game.payoff_range, "belief_range": float(np.ptp(utility))}[scale]
    return size or 1.0


def _against(own: Instrument, level: int, player: int) -> Array:
    """Payoff of each action of a player when the others do what level `level` - 1 does."""
    utility = own.own(player)
    for j in reversed([j for j in range(own.game.n_players) if j != player]):
        below = sequence(own, max(level - 1, 1), player=j + 1)
        action = below.actions[level - 1]
        size = utility.shape[-1]
        utility = utility @ (np.full(size, 1 / size) if action is None else np.eye(size)[own.require(action, j)])
    return utility
