"""Log-likelihood and predicted choices of every observation at many draws, and the same as a JAX function for NUTS.

An *observation* is one player's counts in one row (a unit's choices in one game). Predicted probabilities come from
the model's own code.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import gammaln

from levelkit.inference.kernels import FLOOR, Array, Index
from levelkit.inference.likelihood import Likelihood

_LEAST = 1e-290  # of a Dirichlet weight
_AT_ONCE = 20_000  # (row, draw) pairs whose predictions are held at once


@dataclass(frozen=True, eq=False)
class Observations:
    """Who chose what: one observation for each row and observed player that made a choice.

    row, player (N,): where it stands. entry_start (N + 1,): its actions among all entries. counts (E,): how often each
    action was chosen. column (E,): the entry's column in a row of counts.
    """

    likelihood: Likelihood
    row: Index
    player: Index
    entry_start: Index
    counts: Array
    column: Index

    @staticmethod
    def of(likelihood: Likelihood) -> Observations:
        """Those of a likelihood's units, in the order of its rows."""
        units = likelihood.units
        rows, players, columns, counts = [], [], [], []
        for r, g in enumerate(units.game):
            game = units.games[g]
            for i, s in enumerate(game.slices):
                if game.observed[i] and units.counts[r, s].sum() > 0:
                    rows.append(r)
                    players.append(i)
                    columns.append(np.arange(s.start, s.stop))
                    counts.append(units.counts[r, s])
        starts = np.concatenate([[0], np.cumsum([len(c) for c in columns])]).astype(int)
        none = np.zeros(0)
        return Observations(
            likelihood,
            np.array(rows, int),
            np.array(players, int),
            starts,
            np.concatenate([none, *counts]),
            np.concatenate([none.astype(int), *columns]),
        )

    def __len__(self) -> int:
        return len(self.row)

    @cached_property
    def owner(self) -> Index:
        """The observation of each entry, (E,)."""
        return np.repeat(np.arange(len(self)), np.diff(self.entry_start))

    @cached_property
    def unit(self) -> Index:
        """The unit of each observation, (N,)."""
        return self.likelihood.units.owner[self.row]

    def probabilities(self, params: Array) -> Array:
        """Predicted probabilities of all entries at draws params (P, U, S), (S, E)."""
        units = self.likelihood.units
        size, draws = len(units.game), params.shape[2]
        out = np.empty((draws, len(self.counts)))
        step = max(1, _AT_ONCE // max(size, 1))
        for first in range(0, draws, step):
            here = range(first, min(first + step, draws))
            at = params[:, units.owner][:, :, list(here)].reshape(len(params), size * len(here))
            log_p = self.likelihood.log_probabilities(np.repeat(units.game, len(here)), at)
            log_p = log_p.reshape(len(log_p), size, len(here))
            out[list(here)] = np.exp(log_p[self.column, self.row[self.owner]]).T
        return out

    def loglik(self, probabilities: Array, rho: Array | None = None) -> Array:
        """Log-likelihood of each observation, without the multinomial constant, from (S, E) -> (S, N).

        rho (S,): correlation of choices within an observation (Dirichlet-multinomial); None for independent choices.
        """
        if not len(self):
            return probabilities
        return np.asarray(_at_draws(probabilities, self.counts, self.owner, len(self), rho))

    def replicate(self, probabilities: Array, rng: np.random.Generator, rho: Array | None = None) -> Array:
        """New counts with the observed totals, one set a draw, (S, E) -> (S, E) of whole numbers."""
        made = np.zeros(probabilities.shape, np.int32)
        for i in range(len(self)):
            s = slice(self.entry_start[i], self.entry_start[i + 1])
            p = np.maximum(probabilities[:, s], 0.0)
            p = p / p.sum(axis=1, keepdims=True)
            if rho is not None:
                weight = rng.standard_gamma(np.maximum(p * ((1 - rho) / rho)[:, None], _LEAST))
                total = weight.sum(axis=1, keepdims=True)
                # all weights of a draw may underflow where rho is near one: then one action is all that is chosen
                p = np.where(total > 0, weight / np.where(total > 0, total, 1.0), p == p.max(axis=1, keepdims=True))
                p = p / p.sum(axis=1, keepdims=True)
            n = round(float(self.counts[s].sum()))
            made[:, s] = rng.multinomial(n, p)
        return made


def choices_loglik(
    probabilities: jax.Array, counts: Array, owner: Index, size: int, rho: jax.Array | None = None
) -> jax.Array:
    """Log-likelihood of each of `size` observations, without the multinomial constant, (E,) -> (size,).

    rho: with None choices are independent; else those within an observation hang together: they are
    Dirichlet-multinomial with intra-class correlation rho, that is with weights p (1 - rho) / rho.
    """
    p = jnp.maximum(probabilities, FLOOR)
    if rho is None:
        return jax.ops.segment_sum(counts * jnp.log(p), owner, size)
    whole = (1 - rho) / rho
    each = jax.ops.segment_sum(gammaln(counts + p * whole) - gammaln(p * whole), owner, size)
    return each + gammaln(whole) - gammaln(whole + jax.ops.segment_sum(jnp.asarray(counts), owner, size))


@partial(jax.jit, static_argnums=3)
def _at_draws(probabilities: jax.Array, counts: Array, owner: Index, size: int, rho: jax.Array | None) -> jax.Array:
    return jax.vmap(choices_loglik, in_axes=(0, None, None, None, None if rho is None else 0))(
        probabilities, counts, owner, size, rho
    )


def jax_probabilities(observations: Observations) -> Callable[[jax.Array], jax.Array]:
    """A differentiable function: parameters of units (P, U) -> predicted probabilities of all entries (E,)."""
    likelihood = observations.likelihood
    units, model = likelihood.units, likelihood.model
    stacks, bucket, place = likelihood.stacks
    names = [p.name for p in model.parameters]
    parts: list[tuple[Any, Index, Index]] = []
    order = np.empty(len(observations.counts), int)
    filled = 0
    row_of = observations.row[observations.owner]
    for b, stack in enumerate(stacks):
        rows = np.flatnonzero(bucket[units.game] == b)
        where = place[units.game[rows]]
        arrays = jax.tree.map(lambda a, where=where: jnp.asarray(np.asarray(a)[..., where]), stack.arrays)
        mine = np.flatnonzero(bucket[units.game[row_of]] == b)
        flat = observations.column[mine] * len(rows) + np.searchsorted(rows, row_of[mine])
        parts.append((arrays, units.owner[rows], flat))
        order[mine] = filled + np.arange(len(mine))
        filled += len(mine)

    def probabilities(params: jax.Array) -> jax.Array:
        found = []
        for arrays, owner, flat in parts:
            at = params[:, owner]
            made = model.core.probabilities(arrays, {name: at[i] for i, name in enumerate(names)})
            found.append(jnp.concatenate(made).reshape(-1)[flat])
        return jnp.concatenate(found)[order]

    return probabilities
