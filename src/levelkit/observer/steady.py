"""What two strategies come to in the long run: each player's move frequencies, and how often player 1 wins.

With a uniform first move the two players' moves of one round are independent across matches, whatever the strategies
react to: the moves of player 1 in even rounds and of player 2 in odd rounds descend from one first move, the others
from the other. So the marginals follow x' = y R1, y' = x R2 exactly, and outcome laws are products.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from levelkit.errors import UsageError
from levelkit.observer.catalogues import Array, Catalogue, Strategy, catalogue

OUTCOMES = ("win", "draw", "loss")
_SETTLE, _LONGEST, _SAME = 5000, 5040, 1e-12


@dataclass(frozen=True, eq=False)
class Steady:
    """Long-run move frequencies `p1`, `p2` (n,) and `outcome` (win, draw, loss) of player 1.

    `iterations` and `converged` tell of the damped iteration; the closed form has 0 and True.
    """

    p1: Array
    p2: Array
    outcome: Array
    iterations: int = 0
    converged: bool = True


def outcome(one: Any, two: Any, source: Any = None) -> tuple[float, float, float]:
    """(win, draw, loss) probabilities of player 1, exact: the average over rounds of a long match, over all first
    moves.

    one, two: a code, a `Strategy`, or the probabilities of the moves. source: a catalogue, its name or file.
    Raises UsageError for an unknown code.

    >>> outcome("H", "C")
    (0.25, 0.25, 0.5)
    """
    win, draw, loss = steady_state(one, two, source).outcome
    return float(win), float(draw), float(loss)


def steady_state(one: Any, two: Any, source: Any = None) -> Steady:
    """Long-run frequencies and outcome law in closed form.

    A rule against a mixture plays the image of the mixture. Two rules run through a cycle, over which the law is
    averaged; with rules that permute the moves, all is uniform.
    """
    known = catalogue(source)
    first, second = known.strategy(one), known.strategy(two)
    n = known.n_moves
    x, y = np.full(n, 1 / n), np.full(n, 1 / n)
    if not first.is_reactive:
        x = first.mix
    if not second.is_reactive:
        y = second.mix
    if first.is_reactive and second.is_reactive:
        cycle = _cycle(first, second, x, y)
    else:
        cycle = [(_answer(first, y), _answer(second, x))]
    law = np.mean([_law(known, p, q) for p, q in cycle], axis=0)
    return Steady(np.mean([p for p, _ in cycle], axis=0), np.mean([q for _, q in cycle], axis=0), law)


def damped(
    one: Any,
    two: Any,
    source: Any = None,
    *,
    alpha: float = 0.5,
    tol: float = 1e-4,
    cap: int = 10_000,
    start: tuple[Any, Any] | None = None,
) -> Steady:
    """The damped iteration of the paper (equations 1 to 4), as a check of the closed form.

    start: move probabilities to begin with (default uniform). Two rules have a continuum of fixed points: from
    another start the iteration ends elsewhere, and with alpha = 1 it does not end. Look at `converged`.
    """
    if not 0 < alpha <= 1:
        raise UsageError(f"alpha {alpha:g} is not in (0, 1]")
    known = catalogue(source)
    first, second = known.strategy(one), known.strategy(two)
    uniform = np.full(known.n_moves, 1 / known.n_moves)
    given = (uniform, uniform) if start is None else (np.asarray(start[0], float), np.asarray(start[1], float))
    x = given[0] if first.is_reactive else first.mix
    y = given[1] if second.is_reactive else second.mix
    for step in range(1, cap + 1):
        new_x = alpha * _answer(first, y) + (1 - alpha) * x if first.is_reactive else x
        new_y = alpha * _answer(second, x) + (1 - alpha) * y if second.is_reactive else y
        moved = max(np.abs(new_x - x).sum(), np.abs(new_y - y).sum())
        x, y = new_x, new_y
        if moved < tol:
            return Steady(x, y, _law(known, x, y), step, True)
    return Steady(x, y, _law(known, x, y), cap, False)


def outcomes(source: Any = None) -> Array:
    """The laws of all pairs: (strategies, strategies, 3), player 1's strategy first. Do not write to it."""
    return _outcomes(catalogue(source))


@lru_cache(maxsize=16)
def _outcomes(known: Catalogue) -> Array:
    laws = np.array([[steady_state(one, two, known).outcome for two in known.strategies] for one in known.strategies])
    laws.flags.writeable = False
    return laws


def _answer(strategy: Strategy, opponent: Array) -> Array:
    """Move probabilities when the opponent's last move has the given ones."""
    return opponent @ strategy.table[:-1] if strategy.is_reactive else strategy.mix


def _law(known: Catalogue, p: Array, q: Array) -> Array:
    joint = np.outer(p, q)
    return np.array([joint[known.wins == result].sum() for result in (1, 0, -1)])


def _cycle(first: Strategy, second: Strategy, x: Array, y: Array) -> list[tuple[Array, Array]]:
    """The marginals that two rules run through once they have settled."""
    path = [(x, y)]
    for _ in range(_SETTLE + _LONGEST):
        x, y = _answer(first, y), _answer(second, x)
        path.append((x, y))
        if len(path) == 2 and _close(path[0], path[1]):
            return path[:1]
    settled = path[_SETTLE:]
    period = next((k for k in range(1, len(settled)) if _close(settled[0], settled[k])), len(settled))
    return settled[:period]


def _close(one: tuple[Array, Array], two: tuple[Array, Array]) -> bool:
    return bool(max(np.abs(one[0] - two[0]).max(), np.abs(one[1] - two[1]).max()) < _SAME)
