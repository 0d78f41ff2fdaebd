"""A game as an instrument: actions as values, the payoff table, neighbours, and what the rules grant.

Knows no levels and no data. A game of n players whose payoffs add over neighbours (the Ring) is held as its symmetric
two-player reduction: against neighbours who play alike, also at random, expected payoffs are those of the full game,
and the full array of the five-player Ring would have 20^5 entries.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from levelkit.errors import UsageError
from levelkit.games import Game
from levelkit.polytopes import TIE

Value = int | str
Array = np.ndarray


@dataclass(frozen=True, eq=False)
class Instrument:
    """A game read as a test of depth.

    game: two players or more. granted: (A,) payoff of each action with every bonus granted whatever others do (Zhang
    & Sarkar 2026, A.1), None where the rules do not say. bonuses: for a game played with two neighbours, functions
    that give the (A, A) part of the payoff which depends on the left and on the right neighbour.
    """

    game: Game
    granted: Array | None = None
    bonuses: tuple[Array, Array] | None = None

    @property
    def name(self) -> str:
        """The game's name."""
        return self.game.name

    @property
    def symmetric(self) -> bool:
        """Whether there is one sequence for all players."""
        return self.game.symmetric

    @cached_property
    def values(self) -> tuple[tuple[Value, ...], ...]:
        """Actions of each player: whole numbers where all labels of the player are such, else the labels."""
        return tuple(_values(labels) for labels in self.game.actions)

    @property
    def is_ordered(self) -> bool:
        """Whether actions are numbers, so that differences between them mean something."""
        return all(isinstance(v, int) for own in self.values for v in own)

    @property
    def tolerance(self) -> float:
        """Payoffs closer than this are tied."""
        return TIE * self.game.payoff_range

    def own(self, player: int) -> Array:
        """Payoffs of a player (from 0) with their own actions on the first axis, the others' after it in order."""
        return np.moveaxis(self.game.payoffs[player], player, 0)

    def index(self, value: object, player: int = 0) -> int | None:
        """Place of an action among the player's, or None where it is none. True and 1.0 are not 1."""
        return self._places[player].get(value) if isinstance(value, int | str) and value is not True else None

    @cached_property
    def _places(self) -> tuple[dict[Value, int], ...]:
        return tuple({v: i for i, v in enumerate(own)} for own in self.values)

    def require(self, value: object, player: int = 0) -> int:
        """Place of an action; also by label. Raises UsageError where it is none."""
        place = self.index(value, player)
        if place is None and not isinstance(value, bool):
            labels = self.game.actions[player]
            place = labels.index(str(value)) if str(value) in labels else None
        if place is None:
            shown = labels_in_short(self.values[player])
            raise UsageError(f"{value!r} is no action of {self.name}; the actions are {shown}")
        return place

    @cached_property
    def neighbours(self) -> Array:
        """u(s; left, right), (A, A, A), of a game with two neighbours. Raises UsageError for another."""
        if self.bonuses is None:
            raise UsageError(f"{self.name} has no two neighbours; give one belief")
        left, right = self.bonuses
        base = self.game.payoffs[0] - left - right
        return np.asarray(base[:, :1, None] + left[:, :, None] + right[:, None, :])


def _values(labels: tuple[str, ...]) -> tuple[Value, ...]:
    try:
        numbers = tuple(int(label) for label in labels)
    except ValueError:
        return labels
    return numbers if tuple(map(str, numbers)) == labels else labels


def labels_in_short(values: tuple[Value, ...]) -> str:
    """Actions in few words: "50..70", or the labels.

    >>> labels_in_short((1, 2, 3, 4))
    '1..4'
    """
    numbers = [v for v in values if isinstance(v, int)]
    if len(numbers) == len(values) > 3 and numbers == list(range(numbers[0], numbers[0] + len(numbers))):
        return f"{numbers[0]}..{numbers[-1]}"
    return ", ".join(map(str, values))


def _ring_bonuses(s: Array) -> tuple[Array, Array]:
    left = 10.0 * (s[:, None] == s[None, :] - 3)
    right = 3.0 * (s[:, None] == s[None, :] + 7)
    return left, right


_GRANTED: dict[str, Callable[[Array], Array]] = {
    "m1120": lambda s: s + 32.0,
    "allpay": lambda s: 18.0 - s,
    "nash": lambda s: 1.8 * s,
    "ring": lambda s: s + 13.0,
}
"""Payoff with every bonus granted at once, also those that exclude one another, as the study does."""

STUDY_GAMES = tuple(_GRANTED)
"""The four games of Zhang & Sarkar 2026, by their names in the library and in trial logs."""


def instrument(source: str | Game | Instrument) -> Instrument:
    """A game of the library by name, a game of yours, or an instrument as it is.

    What the rules grant and who the neighbours are is known for the games of the library only.
    Raises UsageError for an unknown name.
    """
    if isinstance(source, Instrument):
        return source
    if isinstance(source, str):
        from levelkit.gamelibrary import game

        found = game(source)
        if found.name in _GRANTED:
            s = np.array([int(label) for label in found.actions[0]], float)
            bonuses = _ring_bonuses(s) if found.name == "ring" else None
            return Instrument(found, _GRANTED[found.name](s), bonuses)
        return Instrument(found)
    return Instrument(source)
