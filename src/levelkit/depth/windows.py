"""Reading a depth off a number: which levels, within a window of depths, do exactly this.

Matching is exact equality. A number may match no depth of the window ("unmatched"), one ("resolved") or several
("ambiguous"). What a deeper level does may look like a shallower one: `alias`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from levelkit.depth.instruments import Instrument, Value
from levelkit.depth.sequences import Sequence, sequence
from levelkit.errors import UsageError
from levelkit.games import Game

RESOLVED, UNMATCHED, AMBIGUOUS, NONE = "resolved", "unmatched", "ambiguous", "none"


@dataclass(frozen=True, eq=False)
class Window:
    """Depths `first` to `last` of a sequence, which must be as long as `last` + 1.

    >>> window = Window.of("ring", 0, 10)
    >>> window.match(20), window.resolve(20), window.resolve(17), window.alias
    ((0, 10), (None, 'ambiguous'), (1, 'resolved'), 1)
    """

    sequence: Sequence
    first: int
    last: int

    @classmethod
    def of(cls, source: str | Game | Instrument, first: int = 0, last: int = 10, *, anchor: Any = None) -> Window:
        """The window of a game. Raises UsageError where it is none."""
        if not (isinstance(first, int) and isinstance(last, int) and 0 <= first <= last):
            raise UsageError(f"a window from {first!r} to {last!r}: give two depths, 0 or more, in order")
        found = sequence(source, last + 1, anchor=anchor)
        if first < found.start:
            raise UsageError(f"{found.game}: level 0 is {found.anchor}, not one action; begin the window at 1")
        return cls(found, first, last)

    @cached_property
    def depths(self) -> Mapping[Value, tuple[int, ...]]:
        """The depths at which each action of the window is played."""
        found: dict[Value, tuple[int, ...]] = {}
        for k in range(self.first, self.last + 1):
            action = self.sequence.actions[k]
            if action is not None:
                found[action] = (*found.get(action, ()), k)
        return found

    def match(self, value: object) -> tuple[int, ...]:
        """All depths of the window whose action is `value`."""
        if isinstance(value, bool) or not isinstance(value, int | str):
            return ()
        return self.depths.get(value, ())

    def resolve(self, value: object) -> tuple[int | None, str]:
        """The depth and "resolved", or None with "unmatched", "ambiguous", or "none" where there is no value."""
        if value is None:
            return None, NONE
        found = self.match(value)
        if len(found) == 1:
            return found[0], RESOLVED
        return None, AMBIGUOUS if found else UNMATCHED

    @property
    def beyond(self) -> Value | None:
        """What one level deeper than the window does."""
        return self.sequence.actions[self.last + 1]

    @property
    def alias(self) -> int | None:
        """The depth as which one level too many is recorded; None where it matches none or several."""
        return self.resolve(self.beyond)[0]

    @property
    def ambiguous(self) -> Mapping[Value, tuple[int, ...]]:
        """Actions that several depths of the window share."""
        return {value: depths for value, depths in self.depths.items() if len(depths) > 1}
