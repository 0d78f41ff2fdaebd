"""The only place where a model meets XLA: log-probabilities of many (game, parameter) rows, and their derivatives.

A *row* is one game with one parameter vector. Rows of games with the same shape are evaluated together, batch axis
last, in blocks that fit the cache; pieces go to a few threads. Only a few block counts are ever compiled per shape.
Callers work on plain numpy arrays; everything that needs counts, groups or a search is written there.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np

from levelkit import numerics
from levelkit.models.base import GameArrays, Model

if TYPE_CHECKING:
    from levelkit.games import Game
    from levelkit.models.levels import LevelModel

Array = np.ndarray[Any, np.dtype[Any]]
Index = np.ndarray[Any, np.dtype[Any]]
Shape = tuple[int, ...]

# Probabilities are floored here before the logarithm: an impossible action costs 690 nats, not infinity.
FLOOR = 1e-300

_BLOCK = 256
_BLOCKS = 16
_TABLES = (2, 32)
THREADS = max(1, min(8, os.cpu_count() or 1))

numerics.setup_jax()


@dataclass(frozen=True)
class Stack:
    """Games of one shape, stacked with the batch axis last. `scale` divides payoffs by each game's range if "range"."""

    shape: Shape
    arrays: GameArrays

    @staticmethod
    def of(games: Sequence[Game], model: Model, scale: str = "raw") -> Stack:
        """Stack games of equal shape, with what the model prepares of them."""
        spread = np.array([payoff_unit(g) for g in games])
        units = spread if scale == "range" else np.ones(len(games))
        n = len(games[0].shape)
        payoffs = tuple(_needed(np.stack([g.payoffs[i] for g in games], axis=-1), i) / units for i in range(n))
        level0 = tuple(np.stack([level0_play(g, i) for g in games], axis=-1) for i in range(n))
        return Stack(games[0].shape, GameArrays(payoffs, level0, spread / units, model.prepare(games)))  # type: ignore[arg-type]

    @cached_property
    def padded(self) -> GameArrays:
        """The arrays, on the device; their number rounded up to a power of four, so that few sizes are compiled."""
        n = self.arrays.payoff_range.shape[0]
        size = 1
        while size < n:
            size *= 4

        def pad(a: Array) -> jax.Array:
            return jnp.asarray(np.pad(a, [(0, 0)] * (a.ndim - 1) + [(0, size - n)], mode="edge"))

        return jax.tree.map(pad, self.arrays)


def _needed(payoffs: Array, i: int) -> Array:
    """Payoffs of agent i without the axes of agents that never matter to it, which keep length one."""
    for j in range(payoffs.ndim - 1):
        if j != i:
            first = payoffs.take([0], axis=j)
            if (payoffs == first).all():
                payoffs = first
    return payoffs


def payoff_unit(game: Game) -> float:
    """The game's payoff range; one where all payoffs are equal."""
    return float(game.payoff_range) or 1.0


def level0_play(game: Game, i: int) -> Array:
    """How level 0 plays agent i, (A_i,): as the game states, else uniformly."""
    given = game.level0[i]
    size = game.shape[i]
    return np.full(size, 1.0 / size) if given is None else np.asarray(given, float)


def log_probabilities(model: Model, stack: Stack, index: Index, params: Array) -> Array:
    """Log choice probabilities; index (m,) into the stack, params (P, m) -> (sum of A_i, m)."""
    return _run(_kernel(model.core, "log_probabilities"), stack, index, (params,))[0]


def table(model: Model, stack: Stack, index: Index, unit: Array, params: Array) -> Array:
    """Log choice probabilities of some games on common nodes: index (G,), params (P, nodes) -> (G, sum of A_i, nodes).

    unit (G,): each game's payoffs are divided by it, so precisions in `params` are per that unit.
    """
    g, nodes = len(index), params.shape[1]
    kernel = _table_kernel(model.core)
    blocks = -(-nodes // _BLOCK)
    theta = _blocked(params, blocks * _BLOCK, _BLOCK)
    piece = next(p for p in _TABLES if g <= p or p == _TABLES[-1])

    def one(start: int) -> Array:
        where = index[start : start + piece]
        short = piece - len(where)
        where = np.pad(where, (0, short), mode="edge")
        scale = np.pad(unit[start : start + piece], (0, short), mode="edge")
        level0 = tuple(np.moveaxis(np.asarray(a)[..., where], -1, 0) for a in stack.arrays.level0)
        payoffs = tuple(np.moveaxis(np.asarray(a)[..., where] / scale, -1, 0) for a in stack.arrays.payoffs)
        ranges = np.asarray(stack.arrays.payoff_range)[where] / scale
        extra = jax.tree.map(lambda a: np.moveaxis(np.asarray(a)[..., where], -1, 0), stack.arrays.extra)
        out = np.array(kernel(GameArrays(payoffs, level0, ranges, extra), theta))  # type: ignore[arg-type]
        return out[: piece - short, :, :nodes]

    starts = range(0, g, piece)
    if len(starts) == 1:
        return one(0)
    with ThreadPoolExecutor(THREADS) as pool:
        return np.concatenate(list(pool.map(one, starts)))


@lru_cache(maxsize=64)
def _table_kernel(model: Model) -> Callable[..., jax.Array]:
    def tables(games: GameArrays, theta: jax.Array) -> jax.Array:
        def of_game(game: GameArrays) -> jax.Array:
            arrays = jax.tree.map(lambda a: a[..., None], game)
            block = lambda t: _log_probabilities(model, arrays, t)[0]  # noqa: E731
            out = jax.lax.map(block, theta)
            return jnp.moveaxis(out, 0, 1).reshape(out.shape[1], -1)

        return jax.lax.map(of_game, games)

    return jax.jit(tables)


def values(model: Model, stack: Stack, index: Index, counts: Array, params: Array) -> Array:
    """Log-likelihood of counts (W, m) at params (P, m) -> (m,)."""
    return _run(_kernel(model.core, "value"), stack, index, (counts, params))[0]


def scores(model: Model, stack: Stack, index: Index, counts: Array, params: Array, seeds: Array) -> tuple[Array, ...]:
    """Value (m,), derivatives along seed_p e_p (P, m), and expected information in those directions (P, P, m)."""
    return _run(_kernel(model.core, "scores"), stack, index, (counts, params, seeds))


def hessians(model: Model, stack: Stack, index: Index, counts: Array, params: Array, seeds: Array) -> tuple[Array, ...]:
    """Value (m,), derivatives along seed_p e_p (P, m), and second derivatives in those directions (P, P, m)."""
    return _run(_kernel(model.core, "hessians"), stack, index, (counts, params, seeds))


def outer_scores(
    model: Model, stack: Stack, index: Index, counts: Array, params: Array, seeds: Array
) -> tuple[Array, ...]:
    """Sum over choices of the outer product of their scores, (P, P, m): the middle of the sandwich."""
    return _run(_kernel(model.core, "outer_scores"), stack, index, (counts, params, seeds))


def predict(model: Model, game: Game, params: dict[str, float]) -> tuple[Array, ...]:
    """Choice probabilities in one game: one (A_i,) vector per agent."""
    stack = Stack.of([game], model)
    vector = np.array([[params[p.name]] for p in model.parameters]).reshape(len(model.parameters), 1)
    joint = _run(_kernel(model.core, "probabilities"), stack, np.zeros(1, int), (vector,))[0][:, 0]
    return tuple(joint[s] for s in game.slices)


def plays(model: LevelModel, game: Game, params: dict[str, float]) -> tuple[Array, tuple[Array, ...]]:
    """Shares of levels 0..K, (K + 1,), and what each of them chooses in one game, (K + 1, A_i) per agent."""
    shares, joint = _plays_kernel(model)(Stack.of([game], model).arrays, {k: np.array([v]) for k, v in params.items()})
    return np.array(shares)[:, 0], tuple(np.array(p)[..., 0] for p in joint)


@lru_cache(maxsize=64)
def _plays_kernel(model: LevelModel) -> Callable[..., Any]:
    return jax.jit(lambda games, params: (model.shares(params), model.plays(games, params)))


def mean_levels(model: Model, params: dict[str, Array]) -> Array:
    """Mean level of the population at many parameter values, (m,)."""
    return np.array(_mean_kernel(model)(params))


@lru_cache(maxsize=64)
def _mean_kernel(model: Model) -> Callable[..., jax.Array]:
    return jax.jit(lambda params: model.mean_level(params))


def _named(model: Model, params: jax.Array) -> dict[str, jax.Array]:
    return {p.name: params[i] for i, p in enumerate(model.parameters)}


def _joint(model: Model, games: GameArrays, params: jax.Array) -> jax.Array:
    return jnp.concatenate(model.probabilities(games, _named(model, params)))


def _loglik(counts: jax.Array, probabilities: jax.Array) -> jax.Array:
    return jnp.sum(counts * jnp.log(jnp.maximum(probabilities, FLOOR)), axis=0)


def _log_probabilities(model: Model, games: GameArrays, params: jax.Array) -> tuple[jax.Array, ...]:
    return (jnp.log(jnp.maximum(_joint(model, games, params), FLOOR)),)


def _probabilities(model: Model, games: GameArrays, params: jax.Array) -> tuple[jax.Array, ...]:
    return (_joint(model, games, params),)


def _value(model: Model, games: GameArrays, counts: jax.Array, params: jax.Array) -> tuple[jax.Array, ...]:
    return (_loglik(counts, _joint(model, games, params)),)


def _along(seeds: jax.Array, direction: jax.Array) -> jax.Array:
    return direction[:, None] * seeds


def _scores(
    model: Model, games: GameArrays, counts: jax.Array, params: jax.Array, seeds: jax.Array
) -> tuple[jax.Array, ...]:
    """First order only: d p along each direction gives the gradient and the expected information."""
    p, dp = _tangents(model, games, params, seeds)
    safe = jnp.maximum(p, FLOOR)
    gradient = jnp.sum(counts / safe * dp, axis=1)
    # a player's number of choices is spread over its actions as p: E[c_a] / p_a^2 = n / p_a
    sizes = [a.shape[0] for a in games.level0]
    starts = np.cumsum([0, *sizes])
    n = jnp.concatenate(
        [jnp.broadcast_to(counts[a:b].sum(axis=0), (b - a, counts.shape[1])) for a, b in pairwise(starts)]
    )
    weighted = n / jnp.maximum(p, 1e-12) * dp
    information = jnp.sum(weighted[:, None] * dp[None], axis=2)
    return _loglik(counts, p), gradient, information


def _outer_scores(
    model: Model, games: GameArrays, counts: jax.Array, params: jax.Array, seeds: jax.Array
) -> tuple[jax.Array, ...]:
    p, dp = _tangents(model, games, params, seeds)
    score = dp / jnp.maximum(p, FLOOR)
    return (jnp.sum(counts * score[:, None] * score[None], axis=2),)


def _tangents(model: Model, games: GameArrays, params: jax.Array, seeds: jax.Array) -> tuple[jax.Array, jax.Array]:
    def push(direction: jax.Array) -> tuple[jax.Array, jax.Array]:
        return jax.jvp(lambda t: _joint(model, games, t), (params,), (_along(seeds, direction),))

    p, dp = jax.vmap(push, out_axes=(None, 0))(jnp.eye(len(params)))
    return p, dp


def _hessians(
    model: Model, games: GameArrays, counts: jax.Array, params: jax.Array, seeds: jax.Array
) -> tuple[jax.Array, ...]:
    """Second derivatives along e_p and e_p + e_q, from which the mixed ones follow (polarisation)."""
    size = len(params)
    pairs = [(i, j) for i in range(size) for j in range(i + 1, size)]
    directions = np.concatenate([np.eye(size), *[np.eye(size)[[i]] + np.eye(size)[[j]] for i, j in pairs]])

    def curve(direction: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array]:
        tangent = _along(seeds, direction)
        first = lambda t: jax.jvp(lambda u: _loglik(counts, _joint(model, games, u)), (t,), (tangent,))  # noqa: E731
        (value, slope), (_, second) = jax.jvp(first, (params,), (tangent,))
        return value, slope, second

    value, slope, second = jax.vmap(curve, out_axes=(None, 0, 0))(jnp.asarray(directions))
    rows = [[second[i]] * size for i in range(size)]
    for k, (i, j) in enumerate(pairs):
        rows[i][j] = rows[j][i] = (second[size + k] - second[i] - second[j]) / 2
    return value, slope[:size], jnp.stack([jnp.stack(r) for r in rows])


_BODIES: dict[str, Callable[..., tuple[jax.Array, ...]]] = {
    "log_probabilities": _log_probabilities,
    "probabilities": _probabilities,
    "value": _value,
    "scores": _scores,
    "hessians": _hessians,
    "outer_scores": _outer_scores,
}


@lru_cache(maxsize=256)
def _kernel(model: Model, what: str) -> Callable[..., tuple[jax.Array, ...]]:
    """The compiled work on up to _BLOCKS blocks, of which only the first `filled` are computed."""
    body = partial(_BODIES[what], model)

    def blocks(
        arrays: GameArrays, index: jax.Array, rows: tuple[jax.Array, ...], filled: jax.Array
    ) -> tuple[jax.Array, ...]:
        def one(i: Any) -> tuple[jax.Array, ...]:
            where, inputs = jax.tree.map(lambda a: jax.lax.dynamic_index_in_dim(a, i, keepdims=False), (index, rows))
            here = jax.tree.map(lambda a: a[..., where], arrays._replace(extra=()))
            return body(here._replace(extra=model.gathered(arrays.extra, where)), *inputs)

        def step(i: Any, done: tuple[jax.Array, ...]) -> tuple[jax.Array, ...]:
            return tuple(jax.lax.dynamic_update_index_in_dim(d, o, i, 0) for d, o in zip(done, one(i), strict=True))

        room = tuple(jnp.zeros((_BLOCKS, *o.shape), o.dtype) for o in jax.eval_shape(one, 0))
        return jax.lax.fori_loop(0, filled, step, room)

    return jax.jit(blocks)


def _run(
    kernel: Callable[..., tuple[jax.Array, ...]], stack: Stack, index: Index, rows: tuple[Array, ...]
) -> tuple[Array, ...]:
    """Cut rows into pieces of one size, run them on the threads, and put the results together again."""
    m = len(index)
    piece = _BLOCKS * _BLOCK
    arrays = stack.padded

    def one(start: int) -> tuple[Array, ...]:
        stop = min(start + piece, m)
        cut = tuple(_blocked(r[..., start:stop], piece, _BLOCK) for r in rows)
        filled = -(-(stop - start) // _BLOCK)
        out = kernel(arrays, _blocked(index[start:stop], piece, _BLOCK), cut, filled)
        return tuple(_unblocked(np.array(o))[..., : stop - start] for o in out)

    starts = range(0, max(m, 1), piece)
    if len(starts) == 1:
        return one(0)
    with ThreadPoolExecutor(THREADS) as pool:
        parts = list(pool.map(one, starts))
    return tuple(np.concatenate(p, axis=-1) for p in zip(*parts, strict=True))


def _blocked(rows: Any, piece: int, block: int) -> Any:
    """(..., m) -> (piece / block, ..., block), padded with copies of the last row."""
    short = piece - rows.shape[-1]
    if short:
        rows = np.pad(rows, [(0, 0)] * (rows.ndim - 1) + [(0, short)], mode="edge")
    return np.moveaxis(rows.reshape(*rows.shape[:-1], piece // block, block), -2, 0)


def _unblocked(blocks: Array) -> Array:
    moved = np.moveaxis(blocks, 0, -2)
    return moved.reshape(*moved.shape[:-2], -1)
