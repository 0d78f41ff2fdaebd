"""Families of symmetric games to search: a few whole numbers give a payoff table.

Every family states what its numbers mean, which values they may take, and how a table comes of them; tables are built
for many games at once with JAX, (A, A, games), own action first. `granted` is the payoff with every bonus granted.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from levelkit.errors import UsageError

Array = np.ndarray
Draw = Callable[[np.random.Generator, int, int], Array]  # (generator, actions, games) -> (games, numbers)


@dataclass(frozen=True)
class Family:
    """names: what each number is. draw: random parameters. mutate: nearby ones. table: payoffs for (numbers, games).

    first: the label of the first action. players: how many, in the game's full form.
    """

    name: str
    title: str
    rules: str
    names: tuple[str, ...]
    first: int
    players: int
    draw: Draw
    table: Callable[[Any, int], Any]
    granted: Callable[[Array, Array], Array] | None

    def actions(self, size: int) -> Array:
        """The actions as numbers."""
        return np.arange(self.first, self.first + size)

    def mutate(self, rng: np.random.Generator, parents: Array, size: int) -> Array:
        """Children of parameters (games, numbers): about one number is drawn afresh and one moved by one."""
        fresh = self.draw(rng, size, len(parents))
        rate = min(0.3, 1 / parents.shape[1])
        again, moved = rng.random(parents.shape) < rate, rng.random(parents.shape) < rate
        low, high = self._ends(size)
        near = np.clip(parents + rng.choice([-1, 1], parents.shape), low, high)
        return np.where(again, fresh, np.where(moved, near, parents))

    def _ends(self, size: int) -> tuple[Array, Array]:
        """Least and greatest value of each number, as far as many draws show."""
        some = self.draw(np.random.default_rng(0), size, 1024)
        return some.min(axis=0), some.max(axis=0)


def _uniform(*ranges: Callable[[int], tuple[int, int]]) -> Draw:
    """Independent whole numbers, each from a range that may depend on the number of actions."""

    def draw(rng: np.random.Generator, size: int, games: int) -> Array:
        ends = [one(size) for one in ranges]
        return np.stack([rng.integers(low, high + 1, games) for low, high in ends], axis=1)

    return draw


def _steps(size: int) -> tuple[int, int]:
    return 1, size - 1


def _bonus(size: int) -> tuple[int, int]:
    return 1, 3 * size


def _request_table(p: Any, size: int) -> Any:
    """s + B1 where s is D1 below the other's request, + B2 where it is D2 above; in a ring, others are neighbours."""
    s = jnp.arange(1.0, size + 1)[:, None, None]
    a = jnp.arange(1.0, size + 1)[None, :, None]
    down, up, first, second = p
    return s + first * (s == a - down) + second * (s == a + up)


def _demand_table(p: Any, size: int) -> Any:
    """s if both demands fit into C; if not, the lower one gets B tenths of itself; + E where they fit exactly."""
    s = jnp.arange(1.0, size + 1)[:, None, None]
    a = jnp.arange(1.0, size + 1)[None, :, None]
    capacity, tenths, exact = p
    return s * (s + a <= capacity) + tenths / 10 * s * (s + a > capacity) * (s < a) + exact * (s + a == capacity)


def _contest_table(p: Any, size: int) -> Any:
    """A prize V for bidding at least G more than the other; all pay their bid; + C where the bid is D below."""
    s = jnp.arange(0.0, size)[:, None, None]
    a = jnp.arange(0.0, size)[None, :, None]
    prize, gap, consolation, down = p
    return prize * (s >= a + gap) + consolation * (s == a - down) - s


def _matrix_draw(rng: np.random.Generator, size: int, games: int) -> Array:
    return rng.integers(0, 100, (games, size * size))


def _matrix_table(p: Any, size: int) -> Any:
    return p.reshape(size, size, *p.shape[1:]).astype(float)


FAMILIES: dict[str, Family] = {
    family.name: family
    for family in (
        Family(
            "money-request",
            "Money request with two bonuses",
            "A request s earns s, {2} more if it is {0} below the other's, {3} more if it is {1} above.",
            ("down", "up", "bonus_down", "bonus_up"),
            1,
            2,
            _uniform(_steps, _steps, _bonus, _bonus),
            _request_table,
            lambda p, s: s + float(p[2] + p[3]),
        ),
        Family(
            "ring",
            "Ring of five with two bonuses",
            "Five players in a ring: s earns s, {2} more if it is {0} below the left neighbour's, {3} more if it is "
            "{1} above the right one's; the table is exact for neighbours who play alike.",
            ("down", "up", "bonus_left", "bonus_right"),
            1,
            5,
            _uniform(_steps, _steps, _bonus, _bonus),
            _request_table,
            lambda p, s: s + float(p[2] + p[3]),
        ),
        Family(
            "demand",
            "Demand game",
            "A demand is paid if both fit into {0}; if not, the lower one gets {1} tenths of itself; {2} more for both "
            "if they fit exactly.",
            ("capacity", "tenths", "exact"),
            1,
            2,
            _uniform(lambda size: (size // 2, 2 * size), lambda size: (1, 9), lambda size: (0, size)),
            _demand_table,
            lambda p, s: (1 + p[1] / 10) * s + p[2],
        ),
        Family(
            "contest",
            "All-pay contest with a gap",
            "All pay their bid; a bid at least {1} above the other's wins {0}; one exactly {3} below earns {2}.",
            ("prize", "gap", "consolation", "down"),
            0,
            2,
            _uniform(_bonus, _steps, lambda size: (0, 2 * size), _steps),
            _contest_table,
            lambda p, s: p[0] + p[2] - s.astype(float),
        ),
        Family("matrix", "Free matrix", "A free table of whole payoffs.", (), 0, 2, _matrix_draw, _matrix_table, None),
    )
}


def family(name: str) -> Family:
    """A family by name. Raises UsageError for another."""
    if name not in FAMILIES:
        raise UsageError(f"there is no family {name!r}; choose from {', '.join(FAMILIES)}")
    return FAMILIES[name]


def tables(own: Family, parameters: Array, size: int) -> jax.Array:
    """Payoff tables of many games, (A, A, games), from parameters (games, numbers)."""
    return own.table(jnp.asarray(parameters.T), size)
