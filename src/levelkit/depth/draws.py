"""What opponents of a level did before: drawn histories, and which payoff scale given histories were drawn with."""

from __future__ import annotations

import math
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from levelkit.depth.instruments import STUDY_GAMES, Instrument, instrument
from levelkit.depth.quantal import DEFAULT_SCALE, SCALES, opponent
from levelkit.errors import DataError, UsageError
from levelkit.games import Game

DRAWS = 30
Games = Sequence[str | Game | Instrument]


def histories(
    games: Games | str = STUDY_GAMES,
    k_targets: Iterable[int] = range(1, 11),
    lam: Iterable[float] | float = (1.0, 3.0, 10.0),
    *,
    draws: int = DRAWS,
    repeats: int = 1,
    scale: str = DEFAULT_SCALE,
    seed: int = 0,
) -> pd.DataFrame:
    """Draws of quantal opponents, one row per history: history_id, game, k_target, opponent_level, lambda,
    payoff_scale, seed, history (a list of actions).

    An opponent has level k_target - 1. Each history has its own stream, which depends on the seed and on what the
    history is (game, level, precision, scale, number), so that a part of a design is drawn as in the whole.
    Raises UsageError for impossible values.
    """
    listed = [games] if isinstance(games, str | Game | Instrument) else list(games)
    precisions = [lam] if isinstance(lam, int | float) else list(lam)
    for name, many in (("draws", draws), ("repeats", repeats)):
        if not (isinstance(many, int) and many >= 1):
            raise UsageError(f"{name} = {many!r}: give a whole number of at least 1")
    rows = []
    for own in map(instrument, listed):
        values = np.array(own.values[0], dtype=object)
        for k in k_targets:
            if not (isinstance(k, int) and k >= 1):
                raise UsageError(
                    f"k_target = {k!r}: give a whole number of at least 1; the opponent is one level below"
                )
            for precision in precisions:
                mix = opponent(own, k - 1, precision, scale)
                for r in range(repeats):
                    name = f"{own.name}-k{k}-lam{precision:g}-{scale}-{r}"
                    rng = np.random.default_rng([seed, zlib.crc32(name.encode())])
                    drawn = values[rng.choice(len(values), size=draws, p=mix)].tolist()
                    rows.append((name, own.name, k, k - 1, float(precision), scale, seed, drawn))
    columns = ["history_id", "game", "k_target", "opponent_level", "lambda", "payoff_scale", "seed", "history"]
    return pd.DataFrame(rows, columns=columns)


@dataclass(frozen=True)
class ScaleVerdict:
    """Log-likelihood (nats) of histories under each payoff scale, all levels and precisions taken as stated.

    lead: by how much the best scale is ahead of the next. n: histories that can tell (k_target of 2 or more).
    """

    loglik: dict[str, float]
    n: int

    @property
    def best(self) -> str:
        """The scale that explains the histories best."""
        return max(self.loglik, key=lambda scale: self.loglik[scale])

    @property
    def lead(self) -> float:
        """Nats between the best scale and the next."""
        first, second = sorted(self.loglik.values(), reverse=True)[:2]
        return first - second

    @property
    def text(self) -> str:
        """The verdict in words."""
        each = ", ".join(f"{scale} {value:.1f}" for scale, value in self.loglik.items())
        if not self.n:
            return "no history can tell the payoff scale: opponents of level 0 play uniformly under all of them"
        told = "" if self.lead > math.log(20) else "; less than 3 nats ahead: pool more histories"
        return f"{self.best} is {self.lead:.1f} nats ahead over {self.n} histories (log-likelihood: {each}){told}"


def infer_scale(table: pd.DataFrame | Iterable[dict[str, Any]], games: Games = ()) -> ScaleVerdict:
    """Which payoff scale histories were drawn with, from their game, k_target (or opponent_level), lambda and history.

    One history seldom tells belief_range from game_range (0 to 6 nats); a hundred pooled do. games: instruments of
    yours, beside the library's. Raises DataError where a column is missing or a history holds what is no action.
    """
    frame = table if isinstance(table, pd.DataFrame) else pd.DataFrame(list(table))
    for name in ("game", "lambda", "history"):
        if name not in frame.columns:
            raise DataError(f"no column '{name}'", where="histories", fix="Columns: game, k_target, lambda, history")
    known = {own.name: own for own in map(instrument, games)}
    level = frame["opponent_level"] if "opponent_level" in frame.columns else frame["k_target"] - 1
    loglik, n = dict.fromkeys(SCALES, 0.0), 0
    cache: dict[tuple[str, int, float, str], np.ndarray] = {}
    rows = zip(frame["game"], level, frame["lambda"], frame["history"], strict=True)
    for number, (game, own_level, lam, drawn) in enumerate(rows, 1):
        if own_level < 1 or drawn is None:
            continue
        own = known.setdefault(str(game), instrument(str(game)))
        places = [own.index(v) for v in drawn]
        if None in places:
            raise DataError(f"{drawn[places.index(None)]!r} is no action of {game}", where=f"histories, row {number}")
        counts = np.bincount(np.array(places, int), minlength=len(own.values[0]))
        n += 1
        for scale in SCALES:
            key = (str(game), int(own_level), float(lam), scale)
            if key not in cache:
                with np.errstate(divide="ignore"):
                    cache[key] = np.log(opponent(own, key[1], key[2], scale))
            seen = counts > 0
            loglik[scale] += float(counts[seen] @ cache[key][seen])
    return ScaleVerdict(loglik, n)
