"""Partial pooling: units' parameters come from populations whose means and spreads NumPyro's NUTS samples.

In the coordinate of a pooled parameter (its log, or its logit if it is bounded on both sides)

    eta_unit = typical + x_unit . beta + sum over pooled columns c of sd_c * z_c[value of c in the unit] + deviation,

with z standard normal (the non-centred form, which samples well when the data say little) and a normal deviation of
each unit of its own; where one pooled column tells all units apart, the deviation is that column's effect. Columns of
`by` that are not pooled have a typical value of their own each. Over-dispersion is Dirichlet-multinomial.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import pandas as pd
from jax.scipy.special import expit, logit
from numpyro import distributions as dist

from levelkit.errors import UsageError
from levelkit.inference import collapsed, priors
from levelkit.inference.covariates import Design
from levelkit.inference.kernels import Array, Index
from levelkit.inference.pointwise import Observations, choices_loglik, jax_probabilities
from levelkit.models.base import Model, Parameter, Prior

SPREAD = 0.7
"""Scale of the half-normal prior of every standard deviation of effects, in logs (or logits)."""
SLOPE = 1.0
"""Standard deviation of the normal prior of a covariate's slope, per standard deviation (or step) of the covariate."""
RHO = Prior("beta", (1.0, 9.0))
"""Prior of the correlation of choices within an observation, where over-dispersion is asked for."""

SHARED = 0.02
"""How much a parameter that units share is spread on a unit's table."""

_DISTRIBUTIONS: dict[str, Callable[..., Any]] = {
    "lognormal": dist.LogNormal,
    "gamma": dist.Gamma,
    "halfnormal": dist.HalfNormal,
    "exponential": dist.Exponential,
    "uniform": dist.Uniform,
    "beta": dist.Beta,
}


@dataclass(frozen=True, eq=False)
class Effect:
    """One pooled column (or columns crossed, "model:game"): the value of each unit (U,), and the values' labels."""

    name: str
    code: Index
    labels: tuple[str, ...]

    @property
    def tells_all(self) -> bool:
        """Whether no two units share a value."""
        return len(self.labels) == len(self.code)


@dataclass(frozen=True, eq=False)
class Structure:
    """How one parameter differs between units.

    group (U,): which typical value each unit has; groups: their labels. effects: pooled columns. deviation: the name
    under which the spread of units' own deviations goes, None for a parameter that is not pooled. design: covariates.
    """

    parameter: Parameter
    prior: Prior
    group: Index
    groups: tuple[str, ...]
    effects: tuple[Effect, ...] = ()
    deviation: str | None = None
    design: Design | None = None

    @property
    def name(self) -> str:
        """The parameter's."""
        return self.parameter.name

    @property
    def alone(self) -> bool:
        """Whether every unit has a value of its own, and nothing is pooled: the prior is all there is."""
        return self.deviation is None and len(self.groups) == len(self.group) and self.design is None


def effect(keys: pd.DataFrame, name: str) -> Effect:
    """The effect of a column, or of columns joined by colons."""
    codes, labels = pd.factorize(keys[name.split(":")].astype(str).agg(" / ".join, axis=1), sort=False)
    return Effect(name, np.asarray(codes), tuple(map(str, labels)))


def structure(
    parameter: Parameter,
    prior: Prior,
    keys: pd.DataFrame,
    by: Sequence[str],
    pooled: Sequence[str],
    design: Design | None = None,
) -> Structure:
    """How a parameter differs between the units named by `keys`, given the columns over which it is pooled.

    With covariates there is one typical value: what else it should differ by belongs into the formula.
    """
    own = [] if design is not None else [c for c in by if not any(c in p.split(":") for p in pooled)]
    typical = effect(keys, ":".join(own)) if own else Effect("", np.zeros(len(keys), int), ("",))
    effects = [effect(keys, name) for name in pooled]
    deviation = next((e.name for e in effects if e.tells_all), "cell" if pooled else None)
    kept = tuple(e for e in effects if not e.tells_all)
    return Structure(parameter, prior, typical.code, typical.labels, kept, deviation, design)


def in_full(
    model: Model,
    structures: Sequence[Structure],
    fixed: Mapping[str, float],
    observations: Observations,
    reference: Array,
    shares: Index,
    overdispersion: bool,
) -> Callable[[], None]:
    """The NumPyro model in which every unit's parameters are sampled.

    reference (U,): payoff ranges that precisions are per. shares (U,): which shares of levels each unit has.
    """
    probabilities = jax_probabilities(observations)
    units = len(reference)

    def sampled() -> None:
        full = {n: jnp.full(units, v) for n, v in fixed.items()}
        for s in structures:
            eta = location(s)
            if s.deviation is not None:
                with numpyro.plate(f"{s.name}_units", units):
                    z = numpyro.sample(f"{s.name}_z", dist.Normal(0.0, 1.0))
                eta = eta + spread(s) * z
            value = _natural(s.prior, eta)
            full[s.name] = numpyro.deterministic(s.name, value / reference if s.parameter.is_precision else value)
        full.update(_shares(model, shares))
        vector = [full[p.name] for p in model.parameters]
        p = probabilities(jnp.stack(vector) if vector else jnp.zeros((0, units)))
        rho = numpyro.sample("rho", _distribution(RHO)) if overdispersion else None
        loglik = choices_loglik(p, observations.counts, observations.owner, len(observations), rho)
        numpyro.factor("likelihood", loglik.sum())

    return sampled


def integrated(structures: Sequence[Structure], tables: collapsed.Tables) -> Callable[[], None]:
    """The NumPyro model of the population alone, units' parameters integrated out on their tables."""

    def sampled() -> None:
        weight = []
        for nodes, s in zip(tables.nodes, structures, strict=True):
            if s.alone:
                weight.append(jnp.asarray(prior_weights(nodes, s)))
                continue
            mean = numpyro.deterministic(f"{s.name}_mean", location(s))
            sd = SHARED if s.deviation is None else spread(s)
            weight.append(collapsed.weights(nodes, mean, jnp.broadcast_to(sd, mean.shape)))
        numpyro.factor("likelihood", collapsed.log_marginals(tables, weight).sum())

    return sampled


def prior_weights(nodes: Array, s: Structure) -> Array:
    """The prior's mass at evenly spaced nodes, the same for all units, (U, N)."""
    mass = np.exp(priors.log_density(s.prior, nodes))
    return np.broadcast_to(mass / mass.sum(), (len(s.group), len(nodes)))


def spread_name(s: Structure) -> str:
    """The variable that holds the standard deviation of units' deviations."""
    return f"{s.name}_sd_{s.deviation}"


def spread(s: Structure) -> jax.Array:
    """Standard deviation of units' deviations."""
    return numpyro.sample(spread_name(s), dist.HalfNormal(SPREAD))


def location(s: Structure) -> jax.Array:
    """Where each unit's coordinate lies but for its own deviation, (U,)."""
    with numpyro.plate(f"{s.name}_groups", len(s.groups)):
        typical = numpyro.sample(f"{s.name}_typical", _distribution(s.prior))
    eta = _coordinate(s.prior, typical)[s.group]
    if s.design is not None:
        with numpyro.plate(f"{s.name}_terms", len(s.design.terms)):
            z = numpyro.sample(f"{s.name}_z_beta", dist.Normal(0.0, SLOPE))
        eta = eta + jnp.asarray(s.design.values) @ numpyro.deterministic(f"{s.name}_beta", z / s.design.divisor)
    for e in s.effects:
        sd = numpyro.sample(f"{s.name}_sd_{e.name}", dist.HalfNormal(SPREAD))
        with numpyro.plate(f"{s.name}_{e.name}_values", len(e.labels)):
            z = numpyro.sample(f"{s.name}_z_{e.name}", dist.Normal(0.0, 1.0))
        eta = eta + numpyro.deterministic(f"{s.name}_{e.name}", sd * z)[e.code]
    return eta


def _distribution(prior: Prior) -> Any:
    return _DISTRIBUTIONS[prior.family](*prior.args)


def _natural(prior: Prior, z: jax.Array) -> jax.Array:
    low, high = priors.support(prior)
    return jnp.exp(z) if np.isinf(high) else low + (high - low) * expit(z)


def _coordinate(prior: Prior, value: jax.Array) -> jax.Array:
    low, high = priors.support(prior)
    return jnp.log(value) if np.isinf(high) else logit((value - low) / (high - low))


def _shares(model: Model, group: Index) -> dict[str, jax.Array]:
    """Shares of levels in all units, (U,) each: one Dirichlet for each group of units."""
    shares = [p for p in model.parameters if p.transform == "simplex"]
    if not shares:
        return {}
    with numpyro.plate("share_groups", int(group.max()) + 1):
        drawn = numpyro.sample("shares_each", dist.Dirichlet(jnp.array(shares[0].prior.args)))
    return {p.name: numpyro.deterministic(p.name, drawn[group, k]) for k, p in enumerate(shares)}


def check_pool(model: Model, pool: Mapping[str, Sequence[str]], columns: Sequence[str]) -> None:
    """Raises UsageError for a parameter or a column that does not exist or cannot be pooled."""
    known = {p.name: p for p in model.parameters}
    for name, effects in pool.items():
        if name not in known:
            raise UsageError(f"pool names {name!r}; the parameters of {model.label} are {', '.join(known) or 'none'}")
        if known[name].transform == "simplex":
            raise UsageError(f"{name} is one of several shares, which are not pooled; pool other parameters")
        for column in (c for e in effects for c in e.split(":")):
            if column not in columns:
                there = ", ".join(columns)
                raise UsageError(f"pool names {column!r}, which is no column of the choices; there are {there}")
