"""How a player turns beliefs into choices: expected payoffs, best response, logit response. Batch axes last."""

from __future__ import annotations

import jax
import jax.numpy as jnp

# Two actions whose expected payoffs differ by less than this share of the game's payoff range are tied.
TIE = 1e-13

# Stands in for infinite precision (times 1 / payoff range): actions that are not tied get no weight, exp(-100) or less.
SHARPEST = 1e15

_UNROLL = 5


def _sum_product(array: jax.Array, weights: jax.Array, axis: int) -> jax.Array:
    """Sum over one short leading axis of array * weights; written out, because XLA vectorises that over the batch."""
    size = array.shape[axis]
    take = lambda a, j: jax.lax.index_in_dim(a, j, axis, keepdims=False)  # noqa: E731
    if size > _UNROLL:
        return jnp.sum(array * weights, axis=axis)
    total = take(array, 0) * take(weights, 0)
    for j in range(1, size):
        total = total + take(array, j) * take(weights, j)
    return total


def expected_payoffs(payoffs: tuple[jax.Array, ...], beliefs: tuple[jax.Array, ...]) -> tuple[jax.Array, ...]:
    """U_i(a; b) = sum over the others' actions of prod_j b_j(a_j) u_i(a, a_-i); one (A_i, *batch) array per agent.

    payoffs[i]: (A_1, ..., A_n, *batch), an axis of length one where agent j does not matter; beliefs[j]: (A_j,
    *batch), what everybody else believes of agent j.
    """
    n = len(payoffs)
    result = []
    for i in range(n):
        value = payoffs[i]
        for j in reversed(range(n)):
            if j == i:
                continue
            if value.shape[j] == 1:  # whatever agent j does
                value = jax.lax.index_in_dim(value, 0, j, keepdims=False)
                continue
            # axes left of j are all still there; the axes right of j are gone except i's, if i > j
            right = 1 if i > j else 0
            belief = beliefs[j]
            shaped = belief.reshape((1,) * j + (belief.shape[0],) + (1,) * right + belief.shape[1:])
            value = _sum_product(value, shaped, j)
        result.append(value)
    return tuple(result)


def _gaps(utilities: jax.Array, payoff_range: jax.Array) -> jax.Array:
    """How far each action falls short of the best, less the tolerance for ties; exactly zero for tied ones."""
    return jnp.minimum(utilities - (jnp.max(utilities, axis=0, keepdims=True) - TIE * payoff_range), 0.0)


def best_response(utilities: jax.Array, payoff_range: jax.Array) -> jax.Array:
    """All weight on the best actions, ties split evenly; (A, *batch)."""
    best = (_gaps(utilities, payoff_range) == 0).astype(utilities.dtype)
    return best / jnp.sum(best, axis=0, keepdims=True)


def logit_response(utilities: jax.Array, lam: jax.Array, payoff_range: jax.Array) -> jax.Array:
    """softmax(lam * utilities) over the first axis, computed stably; infinite lam is the best response."""
    lam = jnp.minimum(lam, SHARPEST / payoff_range)
    weights = jnp.exp(lam * _gaps(utilities, payoff_range))
    return weights * (1.0 / jnp.sum(weights, axis=0, keepdims=True))
