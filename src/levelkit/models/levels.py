"""The level family: players differ in how many steps they reason (Poisson-CH, quantal CH, TQRE, level-k).

Three choices make a member (Camerer, Ho & Chong 2004; Rogers, Palfrey & Camerer 2009; Stahl & Wilson 1995):
how levels are spread over the population, what a level-k player believes of others, and how precisely it responds.

    p_i(a) = sum_k f_k sigma_i^k(a),   sigma_i^k = response(precision_k, U_i(.; beliefs of level k))

Under `hierarchy` a level-k player believes the others are spread over levels 0..k-1 as in the population; under `step`
everybody else is exactly one level below. The average play of levels 0..k is kept as a running mixture

    m_k = m_{k-1} + w_k (sigma^k - m_{k-1}),   w_k = f_k / (f_0 + ... + f_k),

so that m_{k-1} is what level k believes under `hierarchy`, and m_K is what an outsider sees: p.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import jax
import jax.numpy as jnp
import numpy as np

from levelkit.errors import UsageError
from levelkit.models.base import LEVELS, PER_PAYOFF, SHARE, GameArrays, Limit, Model, Parameter, Params, Prior
from levelkit.models.baselines import Uniform
from levelkit.models.responses import best_response, expected_payoffs, logit_response

Population = Literal["poisson", "geometric", "spike-poisson"]
Belief = Literal["hierarchy", "step"]

GAMMA = Parameter(
    "gamma",
    0.0,
    np.inf,
    "log",
    1.0,
    Prior("lognormal", (0.0, 1.5)),
    "context precision gamma",
    PER_PAYOFF,
    (0.3, 80.0),
)
LAM = Parameter(
    "lam",
    0.0,
    np.inf,
    "log",
    5.0,
    Prior("lognormal", (1.0, 1.5)),
    "precision lambda",
    PER_PAYOFF,
    (0.5, 300.0),
)
SPIKE = Parameter(
    "spike", 0.0, 1.0, "logit", 0.1, Prior("beta", (1.0, 4.0)), "extra share of level 0", SHARE, (0.01, 0.99)
)
EPS = Parameter("eps", 0.0, 1.0, "logit", 0.1, Prior("beta", (1.0, 4.0)), "tremble rate eps", SHARE, (0.005, 0.995))


@dataclass(frozen=True)
class LevelModel(Model):
    """What all members share. `levels` is the highest level K; the population is truncated there and renormalised."""

    levels: int = 10
    belief: Belief = "hierarchy"

    def __post_init__(self) -> None:
        if not (isinstance(self.levels, int) and 1 <= self.levels <= 1000):
            raise UsageError(f"levels = {self.levels!r}: give a whole number from 1 to 1000")
        if self.belief not in ("hierarchy", "step"):
            raise UsageError(f"belief = {self.belief!r}: choose hierarchy or step")

    def with_levels(self, levels: int) -> LevelModel:
        """The same model with another highest level."""
        return dataclasses.replace(self, levels=levels)

    def weights(self, params: Params) -> jax.Array:
        """w_k = f_k / (f_0 + ... + f_k) for k = 0..K, (K+1, *batch); w_0 = 1."""
        raise TypeError(f"{type(self).__name__} must state the weights of its levels")

    def precision(self, params: Params) -> jax.Array | None:
        """Precision of levels 1..K, (K, *batch); None for best responses."""
        return None

    def tremble(self, params: Params) -> jax.Array | None:
        """Rate of uniform trembles of levels 1..K, or None."""
        return None

    def mean_level(self, params: Mapping[str, Any]) -> jax.Array:
        """Mean level of the truncated population, sum_k k f_k; (*batch)."""
        weights = self.weights(params)
        levels = jnp.arange(self.levels + 1.0)

        def climb(mean: jax.Array, step: Any) -> tuple[jax.Array, None]:
            weight, level = step
            return mean + weight * (level - mean), None

        return jax.lax.scan(climb, jnp.zeros_like(weights[0]), (weights[1:], levels[1:]))[0]

    def probabilities(self, game: GameArrays, params: Params) -> tuple[jax.Array, ...]:
        """Mixture over levels 0..K of their responses to what they believe."""
        return self._climb(game, params, keep=False)[0]

    def plays(self, game: GameArrays, params: Params) -> tuple[jax.Array, ...]:
        """What each level 0..K chooses, its trembles included: one (K + 1, A_i, *batch) array per agent."""
        shown = self._climb(game, params, keep=True)[1]
        return tuple(
            jnp.concatenate([jnp.broadcast_to(p, (p.shape[0], *s.shape[2:]))[None], s])
            for p, s in zip(game.level0, shown, strict=True)
        )

    def shares(self, params: Params) -> jax.Array:
        """Shares f_k of levels 0..K in the population, (K + 1, *batch)."""
        weights = self.weights(params)
        left = jnp.cumprod(1 - weights[:0:-1], axis=0)[::-1]  # what levels above k leave
        return weights * jnp.concatenate([left, jnp.ones_like(weights[:1])])

    def _climb(self, game: GameArrays, params: Params, keep: bool) -> tuple[tuple[jax.Array, ...], Any]:
        """The mixture over all levels and, on request, what levels 1..K choose."""
        weights = self.weights(params)
        precision, tremble = self.precision(params), self.tremble(params)
        batch = jnp.broadcast_shapes(game.payoff_range.shape, weights.shape[1:])
        level0 = tuple(jnp.broadcast_to(p, (p.shape[0], *batch)) for p in game.level0)

        def climb(carry: Any, step: Any) -> tuple[Any, Any]:
            below, mixture = carry
            weight, lam = step
            payoffs = expected_payoffs(game.payoffs, mixture if self.belief == "hierarchy" else below)
            if lam is None:
                play = tuple(best_response(u, game.payoff_range) for u in payoffs)
            else:
                play = tuple(logit_response(u, lam, game.payoff_range) for u in payoffs)
            # where no opponent has a choice, payoffs do not vary with the parameters: give them all of the batch
            play = tuple(jnp.broadcast_to(p, b.shape) for p, b in zip(play, below, strict=True))
            shown = play if tremble is None else tuple(s + tremble * (1.0 / s.shape[0] - s) for s in play)
            mixture = tuple(m + weight * (s - m) for m, s in zip(mixture, shown, strict=True))
            return (play, mixture), (shown if keep else None)

        (_, mixture), shown = jax.lax.scan(climb, (level0, level0), (weights[1:], precision))
        return mixture, shown


def _weights_from_ratios(ratios: jax.Array) -> jax.Array:
    """w_k for k = 0..K from r_k = f_{k-1} / f_k, k = 1..K, by 1/w_k = 1 + r_k / w_{k-1}.

    No share is ever formed, so nothing under- or overflows: r = 0 is the limit of all weight on top, r = infinity
    of none.
    """

    def climb(inverse: jax.Array, ratio: jax.Array) -> tuple[jax.Array, jax.Array]:
        inverse = 1.0 + ratio * inverse
        return inverse, 1.0 / inverse

    one = jnp.ones_like(ratios[0])
    return jnp.concatenate([one[None], jax.lax.scan(climb, one, ratios)[1]])


def poisson_shares(tau: jax.Array, levels: int) -> jax.Array:
    """Poisson(tau) truncated at `levels` and renormalised, (levels + 1, *batch); tau may be 0 or infinity."""
    k = jnp.arange(levels + 1.0).reshape(-1, *(1,) * tau.ndim)
    end = (tau == 0) | jnp.isinf(tau)
    inside = jax.nn.softmax(k * jnp.log(jnp.where(end, 1.0, tau)) - jax.scipy.special.gammaln(k + 1), axis=0)
    return jnp.where(end, jnp.where(tau == 0, k == 0, k == levels).astype(float), inside)


@dataclass(frozen=True)
class TauModel(LevelModel):
    """Members whose population of levels is governed by one number, tau.

    tau_max is the largest tau that is fitted. Where it nears the highest level, most of the population would lie
    above that, and what fits is the truncation, not the theory.
    """

    population: Population = "poisson"
    tau_max: float = 10.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.population not in ("poisson", "geometric", "spike-poisson"):
            raise UsageError(f"population = {self.population!r}: choose poisson, geometric or spike-poisson")
        if not 0.2 <= self.tau_max < np.inf:
            raise UsageError(f"tau_max = {self.tau_max!r}: give a finite number of at least 0.2")

    @property
    def depth(self) -> str:
        """tau."""
        return "tau"

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """tau, the model's precision if it has one, and the spike at level 0 if the population has one."""
        tau = Parameter(
            "tau",
            0.0,
            self.tau_max,
            "log",
            1.5,
            Prior("lognormal", (0.4, 0.7)),
            "reasoning level tau",
            LEVELS,
            (0.1, self.tau_max),
        )
        spike = (SPIKE,) if self.population == "spike-poisson" else ()
        return (tau, *self.own_parameters, *spike)

    own_parameters: ClassVar[tuple[Parameter, ...]] = ()

    def weights(self, params: Params) -> jax.Array:
        """w_k under the chosen population: f_{k-1} / f_k is k / tau (Poisson) or (1 + tau) / tau (geometric)."""
        tau = jnp.asarray(params["tau"], float)
        k = jnp.arange(1.0, self.levels + 1).reshape(-1, *(1,) * tau.ndim)
        if self.population == "geometric":
            return _weights_from_ratios(jnp.broadcast_to(1 + 1 / tau, (self.levels, *tau.shape)))
        if self.population == "poisson":
            return _weights_from_ratios(k / tau)
        shares = poisson_shares(tau, self.levels) * (1 - params["spike"])
        shares = shares.at[0].add(params["spike"])
        below = jnp.cumsum(shares, axis=0)
        return jnp.where(below > 0, shares / jnp.where(below > 0, below, 1.0), 1.0)


@dataclass(frozen=True)
class PoissonCH(TauModel):
    """Poisson cognitive hierarchy: best responses, ties split evenly (Camerer, Ho & Chong 2004)."""

    name: ClassVar[str] = "poisson-ch"
    label: ClassVar[str] = "Poisson cognitive hierarchy"

    @property
    def is_jumpy(self) -> bool:
        """Best responses jump as beliefs move."""
        return True

    @property
    def limits(self) -> tuple[Limit, ...]:
        """Uniform play at tau = 0."""
        return (Limit(Uniform(), "tau", 0.0),)


def _quantal_limits(model: TauModel, precision: str) -> tuple[Limit, ...]:
    """Without precision play is uniform (if level 0 is); with infinite precision it is Poisson-CH."""
    best = PoissonCH(model.levels, model.belief, model.population, model.tau_max)
    return Limit(Uniform(), precision, 0.0), Limit(best, precision, np.inf)


@dataclass(frozen=True)
class QuantalCH(TauModel):
    """Cognitive hierarchy whose levels 1, 2, ... all respond by logit with the same precision lam."""

    name: ClassVar[str] = "quantal-ch"
    label: ClassVar[str] = "quantal cognitive hierarchy"
    own_parameters: ClassVar[tuple[Parameter, ...]] = (LAM,)

    @property
    def limits(self) -> tuple[Limit, ...]:
        """Uniform play and Poisson-CH."""
        return _quantal_limits(self, "lam")

    def precision(self, params: Params) -> jax.Array:
        """lam at every level."""
        lam = jnp.asarray(params["lam"], float)
        return jnp.broadcast_to(lam, (self.levels, *lam.shape))


@dataclass(frozen=True)
class TQRE(TauModel):
    """Truncated QRE: level k responds by logit with precision gamma * k (Rogers, Palfrey & Camerer 2009)."""

    name: ClassVar[str] = "tqre"
    label: ClassVar[str] = "truncated QRE (TQRE)"
    own_parameters: ClassVar[tuple[Parameter, ...]] = (GAMMA,)

    @property
    def limits(self) -> tuple[Limit, ...]:
        """Uniform play and Poisson-CH."""
        return _quantal_limits(self, "gamma")

    def precision(self, params: Params) -> jax.Array:
        """gamma * k at level k."""
        gamma = jnp.asarray(params["gamma"], float)
        return gamma * jnp.arange(1.0, self.levels + 1).reshape(-1, *(1,) * gamma.ndim)


@dataclass(frozen=True)
class ShareModel(LevelModel):
    """Members with a free share for every level."""

    levels: int = 3
    belief: Belief = "step"

    own_parameters: ClassVar[tuple[Parameter, ...]] = ()

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """share_0 .. share_K, then the model's own."""
        size = self.levels + 1
        prior = Prior("dirichlet", (1.0,) * size)
        shares = tuple(
            Parameter(f"share_{k}", 0.0, 1.0, "simplex", 1 / size, prior, f"share of level {k}", SHARE, (0.0, 1.0))
            for k in range(size)
        )
        return (*shares, *self.own_parameters)

    def weights(self, params: Params) -> jax.Array:
        """w_k from the free shares, each raised by a hair so that derivatives are right where shares are zero."""
        shares = jnp.stack([jnp.asarray(params[f"share_{k}"], float) for k in range(self.levels + 1)]) + 1e-14
        return shares / jnp.cumsum(shares, axis=0)


@dataclass(frozen=True)
class LevelK(ShareModel):
    """Level-k with best responses, free shares and uniform trembles of rate eps at levels 1 and up."""

    name: ClassVar[str] = "level-k"
    label: ClassVar[str] = "level-k"
    own_parameters: ClassVar[tuple[Parameter, ...]] = (EPS,)

    def tremble(self, params: Params) -> jax.Array:
        """eps."""
        return jnp.asarray(params["eps"], float)


@dataclass(frozen=True)
class QuantalLevelK(ShareModel):
    """Level-k with logit responses of one precision lam and free shares (Stahl & Wilson 1995; McKelvey-style noise)."""

    name: ClassVar[str] = "quantal-level-k"
    label: ClassVar[str] = "quantal level-k"
    own_parameters: ClassVar[tuple[Parameter, ...]] = (LAM,)

    def precision(self, params: Params) -> jax.Array:
        """lam at every level."""
        lam = jnp.asarray(params["lam"], float)
        return jnp.broadcast_to(lam, (self.levels, *lam.shape))
