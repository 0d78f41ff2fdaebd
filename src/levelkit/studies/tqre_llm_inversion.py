"""The other columns of tables 2 and 3: which counts could have given the printed tau?

No choices were released for the 2x2, Bayesian and signaling games. Under the published convention each pair of counts
out of 15 plays per player gives one tau; a printed value is a hit if some pair gives it. With many attainable values
hits come by chance, so the chance rate stands beside: the share of the printed range that lies within the tolerance of
one of them.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd

from levelkit.gamelibrary import game as library_game
from levelkit.inference.kernels import Array
from levelkit.studies.base import Part
from levelkit.studies.published_tqre import matrices, published_fit, released
from levelkit.studies.tqre_llm import ATTAINED, printed

GAMES = (
    "stag_hunt_base", "stag_hunt_high_payoff", "stag_hunt_asymmetric", "prisoners_dilemma_base",
    "prisoners_dilemma_high_punishment", "prisoners_dilemma_low_punishment", "bayesian_p50", "bayesian_p90",
    "signaling",
)  # fmt: skip
PLAYS = 15


def attainable(name: str, plays: int = PLAYS) -> pd.DataFrame:
    """tau of every pair of counts: player1, player2 (how often each took its first action), tau. For 2x2 games."""
    payoffs = matrices(library_game(name))
    pairs = [(a, b) for a in range(plays + 1) for b in range(plays + 1)]
    taus = []
    for pair in pairs:
        counts = [released(np.array([c, plays - c], float)) for c in pair]
        taus.append(published_fit(payoffs, counts).tau)
    frame = pd.DataFrame(pairs, columns=["player1", "player2"])
    return frame.assign(game=name, tau=taus)


def which_counts(tau: float, table: pd.DataFrame) -> list[tuple[int, int]]:
    """The pairs of first-action counts in a table of `attainable` that give a tau to within its printed digits."""
    near = (table["tau"] - tau).abs() <= ATTAINED
    return [(int(a), int(b)) for a, b in table.loc[near, ["player1", "player2"]].to_numpy()]


def chance(values: Array, wanted: Array) -> float:
    """Probability that a value drawn like the printed ones, but jittered, is hit.

    Each printed tau is moved by up to half a unit of tau, evenly, and kept within the range searched.
    """
    steps = np.linspace(-0.5, 0.5, 401)
    moved = np.clip(wanted[:, None] + steps[None], 0.0, 10.0).ravel()
    known = np.sort(values[np.isfinite(values)])
    at = np.searchsorted(known, moved)
    low = np.abs(moved - known[np.maximum(at - 1, 0)])
    high = np.abs(moved - known[np.minimum(at, len(known) - 1)])
    return float((np.minimum(low, high) <= ATTAINED).mean())


def part(progress: Callable[[int, int], None] | None = None) -> Part:
    """One row per game: printed values, hits, hit rate, chance rate, different attainable values."""
    told = printed()
    rows, examples = [], []
    for done, name in enumerate(GAMES, 1):
        table = attainable(name)
        wanted = told[(told["game"] == name) & told["tau"].notna()]
        found = {i: which_counts(t, table) for i, t in zip(wanted.index, wanted["tau"], strict=True)}
        hits = [i for i, pairs in found.items() if pairs]
        rows.append(
            {
                "game": name,
                "printed": len(wanted),
                "hits": len(hits),
                "rate": len(hits) / len(wanted),
                "chance": chance(table["tau"].to_numpy(), wanted["tau"].to_numpy()),
                "values": table["tau"].round(3).nunique(),
            }
        )
        single = [i for i in hits if len(found[i]) == 1]
        if single:
            row, pair = wanted.loc[single[0]], found[single[0]][0]
            examples.append(f"{row['model']} in {name}: {row['tau']:.3f} needs {pair[0]} and {pair[1]} of {PLAYS}")
        if progress is not None:
            progress(done, len(GAMES))
    frame = pd.DataFrame(rows)
    heads = {"game": "game", "printed": "printed", "hits": "attained", "rate": "rate", "chance": "by chance"}
    heads["values"] = "different values"
    notes = [
        f"attained: printed tau that some pair of counts out of {PLAYS} plays a player gives, to within {ATTAINED:g}, "
        "under the published convention. by chance: the same for printed values moved by up to half a unit of tau.",
        f"In all {frame['hits'].sum()} of {frame['printed'].sum()} are attained; "
        f"{(frame['chance'] * frame['printed']).sum():.0f} would be by chance. Counts are not identified by this: many "
        "pairs give the same tau, and a miss may be a cell with fewer valid plays.",
        *(["First actions that alone give a printed value: " + "; ".join(examples[:3]) + "."] if examples else []),
    ]
    title = "2x2, Bayesian and signaling games: which counts could have given the printed tau?"
    digits = {"rate": 2, "chance": 2, "values": 0, "printed": 0, "hits": 0}
    return Part("inversion", title, frame, heads, digits, 1, notes)
