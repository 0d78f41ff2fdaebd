"""The library alternative: jaxopt's LBFGSB under vmap over cells and starts, one compiled call a shape of game."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from cells import FLOOR, LEVELS, Problem, stacked
from loop import STARTS

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)
    from jaxopt import LBFGSB


def _negative(z: jax.Array, payoffs: tuple[jax.Array, ...], counts: tuple[jax.Array, ...]) -> jax.Array:
    """Minus the log-likelihood of one cell at (tau, gamma times range); payoffs divided by range, own axis first."""
    tau, gamma = z
    shares = jnp.cumprod(jnp.concatenate([jnp.ones(1), tau / jnp.arange(1.0, LEVELS + 1)]))
    shares = shares / shares.sum()
    below = jnp.cumsum(shares)

    def climb(total: Any, k: jax.Array) -> tuple[Any, None]:
        beliefs = [t / below[k - 1] for t in total]
        added = []
        for i, u in enumerate(payoffs):
            for j in range(len(payoffs) - 1, -1, -1):
                u = u if j == i else u @ beliefs[j]
            added.append(jax.nn.softmax(gamma * k * u))
        return tuple(t + shares[k] * a for t, a in zip(total, added, strict=True)), None

    level0 = tuple(jnp.full(len(u), shares[0] / len(u)) for u in payoffs)
    predicted, _ = jax.lax.scan(climb, level0, jnp.arange(1, LEVELS + 1))
    return -sum(c @ jnp.log(jnp.maximum(p, FLOOR)) for c, p in zip(counts, predicted, strict=True))


@jax.jit
def _solve(payoffs: tuple[jax.Array, ...], counts: tuple[jax.Array, ...]) -> tuple[jax.Array, jax.Array]:
    solver = LBFGSB(_negative, maxiter=200, tol=1e-6)
    bounds = (jnp.array([0.0, 1e-8]), jnp.array([10.0, jnp.inf]))

    def one(start: jax.Array, u: Any, c: Any) -> tuple[jax.Array, jax.Array]:
        found = solver.run(start, bounds, u, c)
        return found.params, found.state.value

    cells = jax.vmap(one, in_axes=(None, 0, 0))
    points, values = jax.vmap(cells, in_axes=(0, None, None))(jnp.array(STARTS), payoffs, counts)
    best = jnp.nanargmin(values, axis=0)
    return points[best, jnp.arange(len(best))], values.min(axis=0)


def prepare(problem: Problem) -> Callable[[], np.ndarray]:
    """Compile by a first run; the function returned fits every cell: (cells, 2) of tau and gamma."""
    jobs = []
    for which, payoffs, ranges, shape in stacked(problem):
        wide = tuple(
            jnp.asarray(
                np.moveaxis(np.broadcast_to(u, (len(which), *shape)), i + 1, 1) / ranges.reshape(-1, *(1,) * len(shape))
            )
            for i, u in enumerate(payoffs)
        )
        ends = np.cumsum([0, *shape])
        counts = tuple(jnp.asarray(problem.choices.counts[which, a:b]) for a, b in pairwise(ends))
        jobs.append((which, ranges, shape, wide, counts))
    # cells of different games but one shape belong in one call
    merged: dict[tuple[int, ...], list[Any]] = {}
    for which, ranges, shape, wide, counts in jobs:
        merged.setdefault(shape, []).append((which, ranges, wide, counts))
    calls = []
    for parts in merged.values():
        which, ranges = (np.concatenate([p[i] for p in parts]) for i in (0, 1))
        wide, counts = (tuple(jnp.concatenate(a) for a in zip(*[p[i] for p in parts], strict=True)) for i in (2, 3))
        jax.block_until_ready(_solve(wide, counts))
        calls.append((which, ranges, wide, counts))

    def run() -> np.ndarray:
        result = np.zeros((len(problem), 2))
        for which, ranges, wide, counts in calls:
            points = np.asarray(_solve(wide, counts)[0])
            result[which] = np.stack([points[:, 0], points[:, 1] / ranges], axis=1)
        return result

    return run
