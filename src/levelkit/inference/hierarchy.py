"""Partial pooling by NumPyro's NUTS: units' parameters share distributions over grouping columns.

In the search coordinate of a parameter (its log, or its logit if it is a share)

    eta_unit = eta_typical + x_unit . beta + sum over pooled columns c of sd_c * z_c[value of c in the unit],

with z standard normal (the non-centred form, which samples well when the data say little). Columns of `by` that are
not pooled have a typical value of their own each. Over-dispersion is Dirichlet-multinomial with correlation rho.
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
from jax.scipy.special import gammaln
from numpyro import distributions as dist

from levelkit.errors import UsageError
from levelkit.inference.kernels import FLOOR, Array, Index
from levelkit.inference.pointwise import Observations, jax_probabilities
from levelkit.models.base import Model, Parameter, Prior

SPREAD = 0.7
"""Scale of the half-normal prior of a pooled effect's standard deviation, in logs (or logits)."""
SLOPE = 1.0
"""Standard deviation of the normal prior of a covariate's slope."""
RHO = Prior("beta", (1.0, 9.0))
"""Prior of the correlation of choices within an observation, where over-dispersion is asked for."""

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


@dataclass(frozen=True, eq=False)
class Structure:
    """How one parameter differs between units.

    group (U,): which typical value each unit has; groups: their labels (one empty label if there is only one).
    design (U, D): covariates, with their names.
    """

    parameter: Parameter
    prior: Prior
    group: Index
    groups: tuple[str, ...]
    effects: tuple[Effect, ...]
    design: Array
    terms: tuple[str, ...]


def effect(keys: pd.DataFrame, name: str) -> Effect:
    """The effect of a column, or of columns joined by colons."""
    columns = name.split(":")
    codes, labels = pd.factorize(keys[columns].astype(str).agg(" / ".join, axis=1), sort=False)
    return Effect(name, np.asarray(codes), tuple(map(str, labels)))


def build(
    model: Model,
    structures: Sequence[Structure],
    fixed: Mapping[str, float],
    observations: Observations,
    reference: Array,
    groups: Index,
    overdispersion: bool,
) -> Callable[[], None]:
    """The NumPyro model of units' parameters and their choices.

    reference (U,): payoff ranges that precisions are per. groups (U,): which shares of levels each unit has.
    """
    probabilities = jax_probabilities(observations)
    names = [p.name for p in model.parameters]
    units = len(reference)
    counts, owner = jnp.asarray(observations.counts), jnp.asarray(observations.owner)
    size = len(observations)
    totals = jax.ops.segment_sum(counts, owner, size)

    def sampled() -> None:
        full = {n: jnp.full(units, v) for n, v in fixed.items()}
        for s in structures:
            value = _sample(s)
            full[s.parameter.name] = value / reference if s.parameter.is_precision else value
            numpyro.deterministic(s.parameter.name, full[s.parameter.name])
        full.update(_shares(model, groups))
        p = jnp.maximum(probabilities(jnp.stack([full[n] for n in names]) if names else jnp.zeros((0, units))), FLOOR)
        if overdispersion:
            rho = numpyro.sample("rho", _DISTRIBUTIONS[RHO.family](*RHO.args))
            weight = p * (1 - rho) / rho
            each = jax.ops.segment_sum(gammaln(counts + weight) - gammaln(weight), owner, size)
            whole = (1 - rho) / rho
            loglik = each + gammaln(whole) - gammaln(whole + totals)
        else:
            loglik = jax.ops.segment_sum(counts * jnp.log(p), owner, size)
        numpyro.deterministic("choices", loglik)
        numpyro.factor("likelihood", loglik.sum())

    return sampled


def _sample(s: Structure) -> jax.Array:
    """Natural values of one parameter in all units, (U,); precisions per reference range."""
    name = s.parameter.name
    prior = _DISTRIBUTIONS[s.prior.family](*s.prior.args)
    plain = not s.effects and not s.terms
    with numpyro.plate(f"{name}_groups", len(s.groups)):
        typical = numpyro.sample(f"{name}_each" if plain else f"{name}_typical", prior)
    if plain:
        return typical[s.group]
    is_log = s.parameter.transform == "log"
    eta = (jnp.log(typical) if is_log else jax.scipy.special.logit(typical))[s.group]
    if s.terms:
        with numpyro.plate(f"{name}_terms", len(s.terms)):
            eta = eta + s.design @ numpyro.sample(f"{name}_beta", dist.Normal(0.0, SLOPE))
    for e in s.effects:
        sd = numpyro.sample(f"{name}_sd_{e.name}", dist.HalfNormal(SPREAD))
        with numpyro.plate(f"{name}_{e.name}_values", len(e.labels)):
            z = numpyro.sample(f"{name}_z_{e.name}", dist.Normal(0.0, 1.0))
        offset = numpyro.deterministic(f"{name}_{e.name}", sd * z)
        eta = eta + offset[e.code]
    return jnp.exp(eta) if is_log else jax.scipy.special.expit(eta)


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
            raise UsageError(f"{name} is one of several shares, which are not pooled; pool the model's other parameters")
        for column in (c for e in effects for c in e.split(":")):
            if column not in columns:
                raise UsageError(f"pool names {column!r}, which is no column of the choices; there are {', '.join(columns)}")
