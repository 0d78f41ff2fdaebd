"""What a game can tell about depth, and what it cannot: everything `levelkit depth check` says of one game."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pandas as pd

from levelkit.depth.anchors import anchor_report
from levelkit.depth.certificates import aligned, margins
from levelkit.depth.instruments import Instrument, Value
from levelkit.depth.quantal import DEFAULT_SCALE
from levelkit.depth.rank import MixtureRank, mixture_rank
from levelkit.depth.sequences import UNIFORM, Sequence, sequence
from levelkit.depth.windows import Window
from levelkit.games import Game

LAMBDAS = (1.0, 3.0, 10.0)


@dataclass(frozen=True, eq=False)
class Check:
    """What one player of a game shows of their depth up to `depth`, and the limits of it."""

    sequence: Sequence
    depth: int

    @property
    def instrument(self) -> Instrument:
        """The game."""
        return self.sequence.instrument

    @property
    def passes(self) -> bool:
        """Whether levels up to the depth asked for all differ."""
        return self.sequence.distinguishes(self.depth)

    @cached_property
    def anchors(self) -> pd.DataFrame:
        """The four rules for level 0."""
        return anchor_report(self.instrument, self.sequence.player + 1)

    @cached_property
    def uniform(self) -> Sequence:
        """The sequence if level 0 plays uniformly."""
        return sequence(self.instrument, self.depth + 1, anchor=UNIFORM, player=self.sequence.player + 1)

    @cached_property
    def window(self) -> Window:
        """Depths 0 (or 1, where level 0 is not one action) to the depth asked for."""
        return Window(self.sequence, self.sequence.start, self.depth)

    @cached_property
    def tied_beliefs(self) -> tuple[Value, ...]:
        """Actions of the opponents to which several replies are best; two-player games only."""
        own, i = self.instrument, self.sequence.player
        if own.game.n_players != 2:
            return ()
        table = own.own(i)
        tied = (table >= table.max(axis=0) - own.tolerance).sum(axis=0) > 1
        return tuple(v for v, t in zip(own.values[1 - i], tied, strict=True) if t)

    @cached_property
    def image(self) -> tuple[Value, ...]:
        """Actions that are the reply to some action of the opponents; two-player games only."""
        own, i = self.instrument, self.sequence.player
        if own.game.n_players != 2:
            return ()
        return tuple(own.values[i][a] for a in sorted(set(own.own(i).argmax(axis=0).tolist())))

    @cached_property
    def ranks(self) -> tuple[MixtureRank, ...]:
        """Rank of mixtures with noise: levels to the depth asked for and, if those are too many, to K_max."""
        if not self.instrument.symmetric:
            return ()
        tops = dict.fromkeys((self.depth, min(self.depth, self.sequence.k_max)))
        return tuple(mixture_rank(self.instrument, (0, top)) for top in tops)

    @cached_property
    def aligned(self) -> dict[float, tuple[int, ...]]:
        """By precision of the opponents: levels whose action also maximises expected payoff against them."""
        if not self.instrument.symmetric or self.sequence.start:
            return {}
        return {
            lam: tuple(k for k in range(1, self.depth + 1) if aligned(self.instrument, k, lam, DEFAULT_SCALE))
            for lam in LAMBDAS
        }

    @cached_property
    def margin(self) -> float:
        """Smallest gap between best and second-best payoff along the sequence, as a share of the payoff range."""
        if not self.instrument.symmetric or self.sequence.start:
            return float("nan")
        return float(margins(self.instrument, min(self.depth, self.sequence.k_max)).min(initial=float("inf")))

    @cached_property
    def shortcut(self) -> tuple[tuple[int, Value | None, int, str], ...]:
        """(level, its action, what the arithmetic shortcut gives, "same" or how that would be scored)."""
        told = self.sequence
        if told.shortcut_until is None:
            return ()
        rows = []
        for k, guess in enumerate(told.extrapolated(self.depth)):
            found, status = self.window.resolve(guess)
            words = f"depth {found}" if status == "resolved" else status
            if self.instrument.index(guess, told.player) is None:
                words = "no action"
            rows.append((k, told.actions[k], guess, "same" if guess == told.actions[k] else words))
        return tuple(rows)

    def record(self) -> dict[str, Any]:
        """Everything as plain data."""
        told = self.sequence
        return {
            "game": told.game,
            "player": self.instrument.game.players[told.player],
            "depth": self.depth,
            "passes": self.passes,
            "anchor": told.anchor,
            "actions": list(told.actions),
            "best_replies": [sorted(s, key=str) for s in told.sets[told.start :]],
            "reach": list(told.reach),
            "k_max": told.k_max,
            "period": told.period,
            "first_repeat": {"depth": told.first_repeat[0], "same_as": told.first_repeat[1]},
            "direction": told.direction,
            "ties_on_sequence": list(told.ties),
            "tied_beliefs": list(self.tied_beliefs),
            "image": list(self.image),
            "margin": self.margin,
            "shortcut_until": told.shortcut_until,
            "one_too_many_reads_as": self.window.alias,
            "shared_in_window": {str(v): list(d) for v, d in self.window.ambiguous.items()},
            "anchor_rules": [
                {**row, "actions": list(row["actions"])}
                for row in self.anchors[["rule", "value", "actions", "k_max"]].to_dict("records")
            ],
            "uniform_level0": {"actions": list(self.uniform.actions[1:]), "k_max": self.uniform.k_max},
            "mixture_rank": [{"types": len(r.types), "rank": r.rank, "identified": r.identified} for r in self.ranks],
            "aligned": {f"{lam:g}": list(levels) for lam, levels in self.aligned.items()},
        }


def check(
    source: str | Game | Instrument, depth: int = 10, *, anchor: Any = None, player: int | str = 1, tie: str = "first"
) -> Check:
    """What a game tells about depth up to `depth`; see `sequence` for the other arguments.

    >>> found = check("ring", depth=10)
    >>> found.passes, found.sequence.k_max, found.window.ambiguous
    (False, 9, {20: (0, 10)})
    """
    return Check(sequence(source, depth + 1, anchor=anchor, player=player, tie=tie), depth)
