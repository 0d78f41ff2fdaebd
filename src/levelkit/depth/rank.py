"""Can a mixture of levels with noise be told from choice frequencies at all? A question of rank, before any data."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from levelkit.depth.instruments import Instrument, instrument
from levelkit.depth.quantal import opponent
from levelkit.depth.sequences import sequence
from levelkit.games import Game

NOISE = "noise"


@dataclass(frozen=True)
class MixtureRank:
    """Rank of the types' choice distributions: shares of types are identified if it equals their number."""

    game: str
    types: tuple[str, ...]
    rank: int

    @property
    def identified(self) -> bool:
        """Whether all shares are identified."""
        return self.rank == len(self.types)

    @property
    def text(self) -> str:
        """The verdict in words."""
        levels = self.types[: -1 if self.types[-1] == NOISE else None]
        noise = " and noise" if len(levels) < len(self.types) else ""
        head = f"{levels[0]} to {levels[-1].removeprefix('level ')}{noise}: rank {self.rank} of {len(self.types)} types"
        return f"{head}, " + ("shares are identified" if self.identified else "shares are NOT identified")


def mixture_rank(
    source: str | Game | Instrument,
    levels: tuple[int, int] = (0, 10),
    *,
    noise: bool = True,
    lam: float | None = None,
    scale: str = "belief_range",
) -> MixtureRank:
    """Rank of the choice distributions of levels `levels[0]` to `levels[1]` and, with `noise`, of uniform play.

    lam: precision of levels 1 and up (see `opponent`); None for best replies, the smallest of a tie.

    >>> mixture_rank("allpay").text
    'level 0 to 10 and noise: rank 11 of 12 types, shares are NOT identified'
    """
    own = instrument(source)
    first, last = levels
    size = len(own.values[0])
    names = [f"level {k}" for k in range(first, last + 1)]
    if lam is None:
        told = sequence(own, max(last, 1))
        rows = []
        for k in range(first, last + 1):
            action = told.actions[k]
            rows.append(np.full(size, 1 / size) if action is None else np.eye(size)[own.require(action)])
    else:
        rows = [opponent(own, k, lam, scale) for k in range(first, last + 1)]
    if noise:
        rows.append(np.full(size, 1 / size))
        names.append(NOISE)
    return MixtureRank(own.name, tuple(names), int(np.linalg.matrix_rank(np.array(rows), tol=1e-9)))
