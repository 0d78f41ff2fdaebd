"""Partial pooling with every unit's own parameters integrated out: NUTS sees a smooth, small posterior.

The likelihood of one unit has several modes, ridges and steps, on which chains get stuck. But a unit has at most two
parameters, so its likelihood is a table L on a grid of coordinates, and what the population says of the unit,

    p(counts | population) = sum over nodes of a_i L_ij b_j,

needs only weights a and b: how much of a normal distribution (mean from the population, standard deviation of units)
falls to each node. With hat-shaped weights the sum is the exact integral of the table's linear interpolant, also
where units hardly differ. NUTS samples the population; the units' own parameters are then drawn exactly, given it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.stats import norm

from levelkit.inference import priors
from levelkit.inference.exact import Posteriors
from levelkit.inference.kernels import Array, Index

_SIZES = {1: (193,), 2: (49, 49)}
_FINER = 4
_SMALLEST = 1e-200
_TOGETHER = 64  # units whose fine grids are held at once
_RARE = 1e-3  # share of a bounded prior beyond each end of its grid, but for the room added there


@dataclass(frozen=True, eq=False)
class Tables:
    """Units' likelihoods on a grid: nodes of each axis, and values (U, N_1, N_2), each unit's up to a factor."""

    nodes: tuple[Array, ...]
    values: Array


def tables(posteriors: Posteriors) -> Tables:
    """Likelihoods averaged over hats around the nodes, from a grid that is finer by a factor."""
    size = len(posteriors.axes)
    lines = tuple(_line(posteriors, a, n) for a, n in enumerate(_SIZES[size]))
    fine = tuple(np.linspace(line[0], line[-1], (len(line) - 1) * _FINER + 1) for line in lines)
    values = []
    count = len(posteriors.likelihood.units)
    for first in range(0, count, _TOGETHER):
        raw = posteriors.on_shared(np.arange(first, min(first + _TOGETHER, count)), fine)
        weight = np.exp(raw - raw.max(axis=(1, 2), keepdims=True))
        for axis in range(size):
            weight = _hats(weight, axis + 1)
        values.append(weight)
    return Tables(lines, np.concatenate(values))


def _line(posteriors: Posteriors, a: int, n: int) -> Array:
    """Nodes over the parameter's span and some way beyond, in the coordinate of its prior."""
    axis = posteriors.axes[a]
    made = priors.distribution(axis.prior)
    bulk = np.array(made.ppf([_RARE, 0.5, 1 - _RARE]))
    first, last = bulk[[0, 2]] if np.isfinite(priors.support(axis.prior)[1]) else np.array(axis.parameter.span)
    low, middle, high = priors.coordinate(axis.prior, np.array([first, bulk[1], last]))
    return np.linspace(min(low, middle) - 1.5, max(high, middle) + 1.0, n)


def _hats(fine: Array, axis: int) -> Array:
    """Averages over hats of the coarse grid, along one axis; at the ends over half a hat."""
    moved = np.moveaxis(fine, axis, 0)
    coarse = (len(moved) - 1) // _FINER + 1
    total = np.zeros((coarse, *moved.shape[1:]))
    weight = np.zeros(coarse)
    centre = np.arange(coarse) * _FINER
    for step in range(-_FINER + 1, _FINER):
        at = centre + step
        inside = (at >= 0) & (at < len(moved))
        hat = 1 - abs(step) / _FINER
        total[inside] += hat * moved[at[inside]]
        weight[inside] += hat
    return np.moveaxis(total / weight.reshape(-1, *(1,) * (moved.ndim - 1)), 0, axis)


def weights(nodes: Array, mean: jax.Array, sd: jax.Array) -> jax.Array:
    """How much of normal distributions (U,) falls to each hat around evenly spaced nodes, (U, N); rows sum to one.

    The integral of a hat is a second difference of the smoothed ramp E max(0, X - x).
    """
    z = (jnp.asarray(nodes) - mean[:, None]) / sd[:, None]
    ramp = sd[:, None] * (norm.pdf(z) - z * norm.cdf(-z))
    slope = jnp.diff(ramp, axis=1) / (nodes[1] - nodes[0])
    ends = jnp.ones_like(mean)[:, None]
    return jnp.maximum(jnp.diff(jnp.concatenate([-ends, slope, 0 * ends], axis=1), axis=1), 0.0)


def log_marginals(made: Tables, weight: Sequence[jax.Array]) -> jax.Array:
    """Log-likelihood of units given the population, (U,), each up to a constant."""
    if len(weight) == 1:
        total = jnp.sum(made.values[:, :, 0] * weight[0], axis=1)
    else:
        inner = jnp.matmul(jnp.asarray(made.values), weight[1][:, :, None])[:, :, 0]
        total = jnp.sum(weight[0] * inner, axis=1)
    return jnp.log(jnp.maximum(total, _SMALLEST))


def draw_units(
    made: Tables, unit: int, populations: Sequence[Array | tuple[Array, Array]], size: int, rng: np.random.Generator
) -> Array:
    """Coordinates of one unit's parameters given `size` draws of the population, (F, S).

    populations: for each axis the mean and standard deviation (S,) of the unit's coordinate in each draw, or the
    prior's mass (N,) at the nodes.
    """
    weight = [
        np.asarray(_weights_of(n, *map(jnp.asarray, p))) if isinstance(p, tuple) else np.broadcast_to(p, (size, len(n)))
        for n, p in zip(made.nodes, populations, strict=True)
    ]
    table = made.values[unit]
    if len(weight) == 1:
        chosen = [_choose(weight[0] * table[:, 0], rng)]
    else:
        first = _choose(weight[0] * (weight[1] @ table.T), rng)
        chosen = [first, _choose(weight[1] * table[first], rng)]
    return np.stack(
        [
            _within(n, c, *p, rng) if isinstance(p, tuple) else _beside(n, c, rng)
            for n, c, p in zip(made.nodes, chosen, populations, strict=True)
        ]
    )


_weights_of = jax.jit(weights)


def _choose(mass: Array, rng: np.random.Generator) -> Index:
    """One node for each row of masses (S, N)."""
    below = np.cumsum(mass, axis=1)
    aim = rng.uniform(size=len(mass)) * below[:, -1]
    return np.minimum((below < aim[:, None]).sum(axis=1), mass.shape[1] - 1)


def _beside(nodes: Array, chosen: Index, rng: np.random.Generator) -> Array:
    """A point of each chosen hat, drawn from the hat."""
    return nodes[chosen] + (nodes[1] - nodes[0]) * rng.triangular(-1.0, 0.0, 1.0, size=len(chosen))


def _within(nodes: Array, chosen: Index, mean: Array, sd: Array, rng: np.random.Generator) -> Array:
    """A point of each chosen hat: from the normal distribution cut to the hat, accepted by the hat's height."""
    from scipy import stats

    step = nodes[1] - nodes[0]
    centre = nodes[chosen]
    low = np.where(chosen == 0, -np.inf, (centre - step - mean) / sd)
    high = np.where(chosen == len(nodes) - 1, np.inf, (centre + step - mean) / sd)
    x = centre.copy()
    left = np.arange(len(x))
    for _ in range(60):
        tried = mean[left] + sd[left] * stats.truncnorm.rvs(low[left], high[left], random_state=rng)
        beyond = ((chosen[left] == 0) & (tried < nodes[0])) | ((chosen[left] == len(nodes) - 1) & (tried > nodes[-1]))
        height = np.where(beyond, 1.0, 1 - np.abs(tried - centre[left]) / step)
        good = (rng.uniform(size=len(left)) < height) & np.isfinite(tried)
        x[left[good]] = tried[good]
        left = left[~good]
        if not len(left):
            break
    return x
