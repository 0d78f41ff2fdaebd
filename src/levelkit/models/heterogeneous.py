"""Heterogeneous QRE (Rogers, Palfrey & Camerer 2009): players differ in precision, and all beliefs are right.

The average play p is a root of p = sum_q w_q logit(lam_q U(p)), reached from uniform play by raising all precisions
together in small steps and following the root by Newton's method.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import jax
import jax.numpy as jnp
import numpy as np

from levelkit.errors import UsageError
from levelkit.models import branches
from levelkit.models.base import LEVELS, SHARE, GameArrays, Limit, Model, Parameter, Params, Prior
from levelkit.models.baselines import Uniform
from levelkit.models.equilibrium import LAM, LogitQRE
from levelkit.models.levels import GAMMA, poisson_shares
from levelkit.models.responses import expected_payoffs, logit_response

# Precisions, per payoff range, from which and up to which the root is followed.
_FIRST, _SHARPEST = 0.5, 1e4
_STEPS = 40
_NODES = 16

SPREAD = Parameter(
    "spread",
    0.0,
    1.0,
    "logit",
    0.5,
    Prior("beta", (1.0, 1.0)),
    "half-width of precisions over their mean",
    SHARE,
    (0.02, 0.98),
)


@dataclass(frozen=True)
class HeterogeneousQRE(Model):
    """Equilibrium of players whose precisions are spread over a known population.

    spread "poisson": levels k = 0..K with Poisson(tau) shares and precision gamma k, as in the TQRE but with right
    beliefs. "uniform": precisions uniform between lam (1 - spread) and lam (1 + spread).
    Where the equilibrium is not unique, it is the one continued from uniform play as precisions rise.
    """

    name: ClassVar[str] = "hqre"
    label: ClassVar[str] = "heterogeneous QRE"

    spread: Literal["poisson", "uniform"] = "poisson"
    levels: int = 10
    tau_max: float = 10.0

    def __post_init__(self) -> None:
        if self.spread not in ("poisson", "uniform"):
            raise UsageError(f"spread = {self.spread!r}: choose poisson or uniform")
        if not (isinstance(self.levels, int) and 1 <= self.levels <= 1000):
            raise UsageError(f"levels = {self.levels!r}: give a whole number from 1 to 1000")
        if not 0.2 <= self.tau_max < np.inf:
            raise UsageError(f"tau_max = {self.tau_max!r}: give a finite number of at least 0.2")

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """tau and gamma, or lam and spread."""
        if self.spread == "uniform":
            return (LAM, SPREAD)
        prior = Prior("lognormal", (0.4, 0.7))
        tau = Parameter("tau", 0.0, self.tau_max, "log", 1.5, prior, "level tau", LEVELS, (0.1, self.tau_max))
        return (tau, GAMMA)

    @property
    def is_smooth(self) -> bool:
        """Nothing jumps but where an equilibrium ends."""
        return True

    @property
    def limits(self) -> tuple[Limit, ...]:
        """Uniform play without precision, and QRE where precisions are not spread."""
        if self.spread == "uniform":
            return Limit(Uniform(), "lam", 0.0), Limit(LogitQRE(), "spread", 0.0)
        return (Limit(Uniform(), "gamma", 0.0),)

    def _population(self, game: GameArrays, params: Params, shape: tuple[int, ...]) -> tuple[jax.Array, jax.Array]:
        """Shares and precisions per payoff range of the types, each (Q, *batch)."""
        if self.spread == "uniform":
            points, weights = np.polynomial.legendre.leggauss(_NODES)
            lam = jnp.minimum(jnp.asarray(params["lam"]) * game.payoff_range, _SHARPEST)
            at = jnp.asarray(points).reshape(-1, *(1,) * len(shape))
            shares = jnp.broadcast_to(jnp.asarray(weights / 2).reshape(at.shape), (_NODES, *shape))
            return shares, jnp.broadcast_to(lam * (1 + jnp.asarray(params["spread"]) * at), (_NODES, *shape))
        gamma = jnp.minimum(jnp.asarray(params["gamma"]) * game.payoff_range, _SHARPEST)
        k = jnp.arange(self.levels + 1.0).reshape(-1, *(1,) * len(shape))
        shares = poisson_shares(jnp.broadcast_to(jnp.asarray(params["tau"], float), shape), self.levels)
        return shares, jnp.broadcast_to(gamma * k, (self.levels + 1, *shape))

    def probabilities(self, game: GameArrays, params: Params) -> tuple[jax.Array, ...]:
        """Average play of the population."""
        sizes = tuple(p.shape[0] for p in game.level0)
        own = jnp.asarray(next(iter(params.values())))
        shape = jnp.broadcast_shapes(game.payoff_range.shape, own.shape)
        shares, precisions = self._population(game, params, shape)
        payoffs = branches.normalised(game.payoffs, game.payoff_range)
        stops = np.cumsum(sizes)
        one = jnp.ones(shape)

        def respond(flat: jax.Array, shares: jax.Array, precisions: jax.Array) -> jax.Array:
            beliefs = tuple(flat[b - a : b] for a, b in zip(sizes, stops, strict=True))
            utilities = expected_payoffs(payoffs, beliefs)

            def average(u: jax.Array) -> jax.Array:
                return jnp.sum(jax.vmap(lambda w, s: w * logit_response(u, s, one))(shares, precisions), axis=0)

            return jnp.concatenate([average(u) for u in utilities])

        w = sum(sizes)
        unit = jnp.eye(w).reshape(w, w, *(1,) * len(shape))

        def newton(flat: jax.Array, shares: jax.Array, precisions: jax.Array) -> jax.Array:
            def push(direction: jax.Array) -> jax.Array:
                tangent = jnp.broadcast_to(direction.reshape(w, *(1,) * len(shape)), flat.shape)
                return jax.jvp(lambda v: respond(v, shares, precisions), (flat,), (tangent,))[1]

            slopes = jax.vmap(push, out_axes=1)(jnp.eye(w))
            return flat - branches.solve(unit - slopes, flat - respond(flat, shares, precisions))[0]

        def inside(flat: jax.Array) -> jax.Array:
            parts = [jnp.maximum(flat[b - a : b], 1e-300) for a, b in zip(sizes, stops, strict=True)]
            return jnp.concatenate([p / jnp.sum(p, axis=0) for p in parts])

        still_shares, still = jax.lax.stop_gradient(shares), jax.lax.stop_gradient(precisions)
        # equal steps of the largest precision's logarithm, from where play is close to uniform
        span = jnp.log(jnp.maximum(jnp.max(still, axis=0), _FIRST) / _FIRST)

        def rise(j: Any, flat: jax.Array) -> jax.Array:
            scaled = still * jnp.exp(-span * (1 - jnp.minimum(j / (_STEPS - 1), 1.0)))
            for _ in range(2):
                flat = inside(newton(flat, still_shares, scaled))
            return flat

        start = jnp.concatenate([jnp.full((n, *shape), 1.0 / n) for n in sizes])
        flat = jax.lax.stop_gradient(jax.lax.fori_loop(0, _STEPS + 2, rise, start))
        for _ in range(2):
            flat = newton(flat, shares, precisions)
        flat = jnp.maximum(flat, 0.0)
        return tuple(flat[b - a : b] for a, b in zip(sizes, stops, strict=True))
