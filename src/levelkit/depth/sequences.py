"""Iterated best replies: what each level does, how far levels differ, and where they come round again.

a^(0) is the anchor, a^(k) the best reply to a^(k-1). Two levels differ in what they do only as long as no action comes
twice: K_max is the deepest level such that a^(0), ..., a^(K_max) are all different (Zhang & Sarkar 2026, definition 1).
"""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence as Listed
from dataclasses import dataclass
from typing import Any

import numpy as np

from levelkit.depth.instruments import Array, Instrument, Value, instrument
from levelkit.errors import UsageError
from levelkit.games import Game

UNIFORM = "uniform"
TIES = ("first", "last")


def best_responses(source: str | Game | Instrument, *beliefs: Any, player: int | str = 1) -> frozenset[Value]:
    """All best replies of a player to a belief about the others.

    beliefs: an action (taken by all others), a mapping of actions to weights or a list of such pairs (weights are
    brought to sum one), or "uniform"; one for all others, or one for each of them in their order. In the Ring two
    beliefs are about the left and the right neighbour.
    Raises UsageError for actions that do not exist and weights that are no weights.

    >>> sorted(best_responses("ring", 10)), sorted(best_responses("ring", 13, 10))
    ([17, 20], [10, 17, 20])
    """
    own = instrument(source)
    i = own.game.player_index(player)
    others = [j for j in range(own.game.n_players) if j != i]
    if len(beliefs) == 2 and own.bonuses is not None:
        payoffs, about = own.neighbours, [i, i]
    else:
        payoffs, about = own.own(i), others
    if len(beliefs) == 1 and len(about) > 1:
        beliefs = beliefs * len(about)
    if len(beliefs) != len(about):
        raise UsageError(f"{own.name}: give one belief for all others, or {len(about)}, not {len(beliefs)}")
    utility = payoffs
    for j, belief in reversed(list(zip(about, beliefs, strict=True))):
        utility = utility @ mixture(own, belief, j)
    return frozenset(own.values[i][a] for a in best(utility, own.tolerance))


def best(utility: Array, tolerance: float) -> list[int]:
    """Places of the largest entries; those within the tolerance are tied."""
    return [int(a) for a in np.flatnonzero(utility >= utility.max() - tolerance)]


def mixture(own: Instrument, belief: Any, player: int) -> Array:
    """A belief about a player as probabilities, (A,)."""
    values = own.values[player]
    if isinstance(belief, str) and belief == UNIFORM:
        return np.full(len(values), 1 / len(values))
    weights = np.zeros(len(values))
    if isinstance(belief, np.ndarray) and belief.shape == weights.shape:
        weights = belief.astype(float)
    elif isinstance(belief, Mapping | list | tuple | np.ndarray):
        pairs = belief.items() if isinstance(belief, Mapping) else belief
        for pair in pairs:
            value, weight = pair
            weights[own.require(value, player)] += weight
    else:
        weights[own.require(belief, player)] = 1.0
    if not (np.isfinite(weights).all() and (weights >= 0).all() and weights.sum() > 0):
        raise UsageError(f"the weights of a belief about {own.name} must be positive numbers")
    return weights / weights.sum()


@dataclass(frozen=True, eq=False)
class Sequence:
    """What levels 0, 1, 2, ... of one player do.

    actions[k]: a^(k); None at k = 0 where level 0 is not one action. sets[k]: all best replies to what the others do
    at level k - 1 (at k = 0 what level 0 may do). reach: all actions that ever come, in order. k_max: deepest level
    such that all from `start` on differ; start: 0, or 1 where level 0 is a mixture. period: after how many levels
    everything repeats. first_repeat: the first depth whose action has been there before, and that earlier depth.
    """

    instrument: Instrument
    player: int
    anchor: str
    start: int
    actions: tuple[Value | None, ...]
    sets: tuple[frozenset[Value], ...]
    reach: tuple[Value, ...]
    k_max: int
    period: int
    first_repeat: tuple[int, int]

    @property
    def game(self) -> str:
        """The game's name."""
        return self.instrument.name

    @property
    def levels_told_apart(self) -> int:
        """How many levels differ, from `start` on."""
        return self.k_max - self.start + 1

    @property
    def ties(self) -> tuple[int, ...]:
        """Depths k >= 1, up to the depth asked for, at which several actions are best replies."""
        return tuple(k for k, own in enumerate(self.sets) if k and len(own) > 1)

    def distinguishes(self, depth: int) -> bool:
        """Whether levels up to `depth` all differ."""
        return depth <= self.k_max

    @property
    def direction(self) -> str:
        """Up to K_max: increasing, decreasing, non-monotone or constant; unordered where actions are no numbers."""
        told = [a for a in self.reach[: self.levels_told_apart] if isinstance(a, int)]
        if not self.instrument.is_ordered:
            return "unordered"
        if len(told) < 2:
            return "constant"
        steps = np.diff(told)
        if (steps > 0).all():
            return "increasing"
        return "decreasing" if (steps < 0).all() else "non-monotone"

    def extrapolated(self, depth: int) -> tuple[int, ...]:
        """What a player would do at depths 0..`depth` who computes the first two levels and goes on by their
        difference. Raises UsageError where actions are no numbers or level 0 is not one action.
        """
        first, second = (*self.actions, None, None)[:2]
        if not (isinstance(first, int) and isinstance(second, int)):
            raise UsageError(f"{self.game}: nothing to extrapolate from; level 0 must be one action, a number")
        return tuple(first + k * (second - first) for k in range(depth + 1))

    @property
    def shortcut_until(self) -> int | None:
        """The deepest level, up to K_max, that the arithmetic shortcut reaches from level 0 on without a miss; None
        where there is no shortcut to take.
        """
        if self.start or not self.instrument.is_ordered:
            return None
        guess = self.extrapolated(self.k_max)
        right = [g == a for g, a in zip(guess, self.reach, strict=False)]
        return right.index(False) - 1 if False in right else self.k_max


def sequence(
    source: str | Game | Instrument,
    depth: int = 12,
    *,
    anchor: Any = None,
    player: int | str = 1,
    tie: str = "first",
) -> Sequence:
    """The sequence of iterated best replies of a player, to `depth` and as far as it takes to come round.

    anchor: what level 0 does: an action (of all players), "uniform", a mapping of actions to weights, or a list with
    one of these for each player; default: what the game states (`level0`), uniform where it states none.
    tie: "first" takes the smallest action of a tie, "last" the largest (in the order of actions).
    Raises UsageError for an unknown game, player, action or tie rule.

    >>> found = sequence("ring", depth=5)
    >>> found.actions, found.k_max, found.period
    ((20, 17, 14, 11, 18, 15), 9, 10)
    """
    own = instrument(source)
    i = own.game.player_index(player)
    if not (isinstance(depth, int) and depth >= 1):
        raise UsageError(f"depth = {depth!r}: give a whole number of at least 1")
    if tie not in TIES:
        raise UsageError(f"tie = {tie!r}: choose first or last")
    beliefs = anchors(own, anchor)
    pure = all(np.count_nonzero(b) == 1 for b in beliefs)
    start = 0 if pure else 1
    told = frozenset(own.values[i][a] for a in np.flatnonzero(beliefs[i]))
    profile = tuple(int(b.argmax()) for b in beliefs) if pure else None
    profiles, sets = [profile], [told]
    seen: dict[tuple[int, ...], int] = {} if profile is None else {profile: 0}
    period = 0
    while len(profiles) <= depth or not period:
        every = replies(own, beliefs if profile is None else profile)
        profile = tuple(own_set[0 if tie == "first" else -1] for own_set in every)
        sets.append(frozenset(own.values[i][a] for a in every[i]))
        if not period and profile in seen:
            period = len(profiles) - seen[profile]
        seen.setdefault(profile, len(profiles))
        profiles.append(profile)
    actions: list[Value | None] = [None if p is None else own.values[i][p[i]] for p in profiles]
    first, before = _first_repeat(actions, start)
    return Sequence(
        own,
        i,
        _anchor_words(own, beliefs[i], i),
        start,
        tuple(actions[: depth + 1]),
        tuple(sets[: depth + 1]),
        tuple(dict.fromkeys(a for a in actions if a is not None)),
        first - 1,
        period,
        (first, before),
    )


def _first_repeat(actions: Listed[Value | None], start: int) -> tuple[int, int]:
    """The first depth from `start` on whose action has come before, and where."""
    at: dict[Value | None, int] = {}
    for k, action in enumerate(actions[start:], start):
        if action in at:
            return k, at[action]
        at[action] = k
    raise AssertionError("a finite game comes round")  # the profile repeats, hence the action does


def replies(own: Instrument, others: Listed[Any]) -> list[list[int]]:
    """All best replies of each player, as places, to a profile of places or to independent mixtures of the others."""
    found = []
    for i in range(own.game.n_players):
        utility = own.own(i)
        for j in reversed([j for j in range(own.game.n_players) if j != i]):
            what = others[j]
            utility = utility[..., what] if isinstance(what, int) else utility @ what
        found.append(best(utility, own.tolerance))
    return found


def anchors(own: Instrument, anchor: Any = None) -> tuple[Array, ...]:
    """Level-0 play of each player as probabilities; see `sequence` for what may be given."""
    n = own.game.n_players
    if anchor is None:
        given: list[Any] = [UNIFORM if mix is None else np.asarray(mix) for mix in own.game.level0]
    elif isinstance(anchor, list | tuple):
        given = list(anchor)
        if len(given) != n:
            raise UsageError(f"anchor: {len(given)} given for {n} players; give one for all, or one for each")
    else:
        given = [anchor] * n
    return tuple(mixture(own, what, j) for j, what in enumerate(given))


def _anchor_words(own: Instrument, mix: Array, player: int) -> str:
    if np.count_nonzero(mix) == 1:
        return str(own.values[player][int(mix.argmax())])
    return UNIFORM if np.allclose(mix, mix[0]) else "a mixture"
