"""How far a guess about two players lies from the truth: cross-entropy, Brier, expected value, and their union.

Losses compare laws of the outcome (win, draw, loss). Arrays have the outcome last. Three conventions of the union:

published  CE min-max scaled over the catalogue's guesses with the truth fixed; Brier as it is; EV loss / 4
released   as the authors' code: CE min-max scaled over the catalogue's truths with the prediction fixed; EV loss as
it is proper     excess of a smoothed CE over its value at the truth, / -log(smoothing); Brier / 2; EV loss / 4; in
0..1

Paper: equations 5 to 8. "released" is not minimised at the truth, and arbitrary where the prediction is nearly uniform.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from levelkit.errors import UsageError
from levelkit.observer.catalogues import Array, Catalogue, catalogue
from levelkit.observer.steady import outcomes, steady_state

CONVENTIONS = ("published", "released", "proper")
EPS = 1e-12  # inside the logarithm; the authors' code
SMOOTHING = 0.01  # of the proper convention
BETTER = 1e-9  # a wrong guess that scores better by more than this makes a convention improper
FLAT = 1e-12  # a smaller range of CE is none
UNSTABLE = 1e-5  # where CE over the truths has a smaller range, the released scaling magnifies what hardly differs
WEIGHT_TOLERANCE = 1e-6


def cross_entropy(truth: Array, guess: Array) -> Array:
    """-sum p* log(p + 1e-12), in nats."""
    return -np.sum(truth * np.log(guess + EPS), axis=-1)


def brier(truth: Array, guess: Array) -> Array:
    """Sum of squared differences, 0 to 2."""
    return np.sum((guess - truth) ** 2, axis=-1)


def ev_loss(truth: Array, guess: Array) -> Array:
    """Squared difference of expected values (win minus loss, -1 to 1), 0 to 4."""
    return ((truth[..., 0] - truth[..., 2]) - (guess[..., 0] - guess[..., 2])) ** 2


def scaled_ce(truth: Array, guess: Array, convention: str, laws: Array) -> Array:
    """Cross-entropy as it enters the union. laws (pairs, 3): those of the catalogue, over which CE is scaled.

    Raises UsageError for an unknown convention.
    """
    if convention == "proper":
        n = truth.shape[-1]
        smooth, smooth_truth = ((1 - n * SMOOTHING) * p + SMOOTHING for p in (guess, truth))
        excess = np.sum(truth * (np.log(smooth_truth) - np.log(smooth)), axis=-1)
        return np.maximum(excess, 0) / -np.log(SMOOTHING)
    if convention == "published":
        grid = cross_entropy(truth[..., None, :], laws)
    elif convention == "released":
        grid = cross_entropy(laws, guess[..., None, :])
    else:
        raise UsageError(f"no convention {convention!r}; choose from {', '.join(CONVENTIONS)}")
    low, high = grid.min(axis=-1), grid.max(axis=-1)
    flat = high - low < FLAT
    return np.where(flat, 0.5, (cross_entropy(truth, guess) - low) / np.where(flat, 1, high - low))


def union(truth: Array, guess: Array, convention: str, laws: Array) -> Array:
    """Mean of the three losses as the convention scales them."""
    ce = scaled_ce(truth, guess, convention, laws)
    halved = 2.0 if convention == "proper" else 1.0
    quartered = 1.0 if convention == "released" else 4.0
    return (ce + brier(truth, guess) / halved + ev_loss(truth, guess) / quartered) / 3


def guessed_law(guess: Any, source: Any = None) -> Array:
    """The law (3,) that a guess implies: ("H", "C"), or for each player a probability for every strategy (a
    dictionary by code, or in catalogue order), whose pairs' laws are mixed.

    Raises UsageError for an unknown code or probabilities that do not add up to one.
    """
    known = catalogue(source)
    one, two = known.pair(guess)
    return np.einsum("i,j,ijk->k", belief(one, known), belief(two, known), outcomes(known))


def belief(guess: Any, known: Catalogue) -> Array:
    """Probabilities (strategies,) from a code, a dictionary by code, or probabilities in catalogue order."""
    if isinstance(guess, str):
        return np.eye(len(known))[known.index(guess)]
    if isinstance(guess, dict):
        p = np.zeros(len(known))
        for code, weight in guess.items():
            p[known.index(code)] = weight
    else:
        p = np.asarray(guess, dtype=np.float64)
    if p.shape != (len(known),) or np.any(p < 0) or abs(p.sum() - 1) > WEIGHT_TOLERANCE:
        raise UsageError(f"a guess about a player is a probability for each of the {len(known)} strategies, sum 1")
    return p


def losses(truth: Any, guess: Any, source: Any = None, *, convention: str = "published") -> dict[str, float]:
    """Losses of a guess: {"ce": nats, "brier": 0..2, "ev": 0..4, "union": by the convention}.

    truth: two strategies, by code or as probabilities of the moves. guess: see `guessed_law`. The first three are the
    plain losses under every convention; `loss_table` also shows how each convention scales them.
    Raises UsageError for an unknown code or convention.
    """
    known = catalogue(source)
    p, q = steady_state(*known.pair(truth), known).outcome, guessed_law(guess, known)
    laws = outcomes(known).reshape(-1, 3)
    return {
        "ce": float(cross_entropy(p, q)),
        "brier": float(brier(p, q)),
        "ev": float(ev_loss(p, q)),
        "union": float(union(p, q, convention, laws)),
    }


def loss_table(truth: Any, source: Any = None, *, convention: str = "published") -> pd.DataFrame:
    """Losses of every guess of the catalogue against one truth, a row each: guess1, guess2, ce, brier, ev, ce_scaled,
    union, and `unstable` where the released scaling magnifies rounding.
    """
    known = catalogue(source)
    p = steady_state(*known.pair(truth), known).outcome
    laws = outcomes(known).reshape(-1, 3)
    names = np.array(known.pairs())
    return pd.DataFrame(
        {
            "guess1": names[:, 0],
            "guess2": names[:, 1],
            "ce": cross_entropy(p, laws),
            "brier": brier(p, laws),
            "ev": ev_loss(p, laws),
            "ce_scaled": scaled_ce(p, laws, convention, laws),
            "union": union(p, laws, convention, laws),
            "unstable": unstable(known).ravel() if convention == "released" else np.zeros(len(laws), bool),
        }
    )


def unstable(source: Any = None) -> Array:
    """Predictions (strategies, strategies) so near uniform that CE hardly depends on the truth: there the released
    convention divides rounding by rounding.
    """
    laws = outcomes(source)
    flat = laws.reshape(-1, 3)
    grid = cross_entropy(flat[:, None, :], flat[None])  # truth, prediction
    return np.asarray(np.ptp(grid, axis=0).reshape(laws.shape[:2]) < UNSTABLE)


def properness(source: Any = None, *, convention: str = "published") -> pd.DataFrame:
    """For each true pair: the best guess, its union loss, the truth's own, and how many guesses beat the truth.

    A convention is proper on the catalogue where nothing beats any truth.
    """
    known = catalogue(source)
    laws = outcomes(known).reshape(-1, 3)
    table = union(laws[:, None, :], laws[None], convention, laws)  # truth, guess
    own, best = np.diag(table), table.argmin(axis=1)
    names = ["-".join(pair) for pair in known.pairs()]
    return pd.DataFrame(
        {
            "truth": names,
            "truth_loss": own,
            "best_guess": [names[i] for i in best],
            "best_loss": table.min(axis=1),
            "better_guesses": np.sum(table < own[:, None] - BETTER, axis=1),
        }
    )
