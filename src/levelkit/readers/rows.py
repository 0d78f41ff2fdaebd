"""What both layouts come down to: counted actions of rows that can be used."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Rows:
    """Counted actions, one entry each (a wide row gives several).

    at: place of the row in the raw table; game: place in the list of games;
    place: position in the game's count vector, -1 for no choice; count: how often.
    """

    at: np.ndarray
    game: np.ndarray
    place: np.ndarray
    count: np.ndarray
    wide: bool = False
