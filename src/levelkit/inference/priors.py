"""Priors: what is believed of a parameter before the choices are seen, as text, as densities and as draws.

A prior is stated in the parameter's own units; for precisions that is per payoff range, so that one prior serves games
whose payoffs are cents or millions.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from scipy import special

from levelkit.errors import UsageError
from levelkit.inference.kernels import Array
from levelkit.models.base import Model, Prior

_TAIL, _FAR = 1e-24, 60.0


@dataclass(frozen=True)
class _Family:
    """Arguments by name, which of them must be positive, the support, and scipy's distribution."""

    arguments: tuple[str, ...]
    positive: tuple[str, ...]
    support: tuple[float, float] | None
    frozen: Callable[..., Any]


def _scipy(name: str, **fixed: Callable[..., float]) -> Callable[..., Any]:
    def make(*args: float) -> Any:
        from scipy import stats

        return getattr(stats, name)(**{key: value(*args) for key, value in fixed.items()})

    return make


FAMILIES: dict[str, _Family] = {
    "lognormal": _Family(
        ("mu", "sigma"),
        ("sigma",),
        (0, np.inf),
        _scipy("lognorm", s=lambda mu, sigma: sigma, scale=lambda mu, sigma: math.exp(mu)),
    ),
    "gamma": _Family(
        ("shape", "rate"),
        ("shape", "rate"),
        (0, np.inf),
        _scipy("gamma", a=lambda shape, rate: shape, scale=lambda shape, rate: 1 / rate),
    ),
    "halfnormal": _Family(("sd",), ("sd",), (0, np.inf), _scipy("halfnorm", scale=lambda sd: sd)),
    "exponential": _Family(("rate",), ("rate",), (0, np.inf), _scipy("expon", scale=lambda rate: 1 / rate)),
    "uniform": _Family(
        ("low", "high"),
        ("high",),
        None,
        _scipy("uniform", loc=lambda low, high: low, scale=lambda low, high: high - low),
    ),
    "beta": _Family(("a", "b"), ("a", "b"), (0, 1), _scipy("beta", a=lambda a, b: a, b=lambda a, b: b)),
}


def parse(text: str) -> Prior:
    """A prior from text such as "lognormal(0.4, 0.7)". Raises UsageError saying what is wrong and what is known.

    >>> parse("lognormal(0.4, 0.7)")
    Prior(family='lognormal', args=(0.4, 0.7))
    """
    known = "; ".join(f"{name}({', '.join(f.arguments)})" for name, f in FAMILIES.items())
    match = re.fullmatch(r"\s*([A-Za-z-]+)\s*\(([^()]*)\)\s*", text)
    if not match:
        raise UsageError(f"prior {text!r} is no family with its arguments; write lognormal(0.4, 0.7). Known: {known}")
    name = match[1].lower().replace("-", "")
    if name not in FAMILIES:
        raise UsageError(f"there is no prior family {match[1]!r}; known: {known}")
    try:
        args = tuple(float(part) for part in match[2].split(","))
    except ValueError:
        raise UsageError(f"prior {text!r}: {match[2]!r} are no numbers separated by commas") from None
    prior = Prior(name, args)
    _check(prior)
    return prior


def _check(prior: Prior) -> None:
    family = FAMILIES.get(prior.family)
    if family is None:
        raise UsageError(f"there is no prior family {prior.family!r}; choose from {', '.join(FAMILIES)}")
    if len(prior.args) != len(family.arguments):
        raise UsageError(f"{prior.family} takes {', '.join(family.arguments)}; {len(prior.args)} numbers were given")
    for name, value in zip(family.arguments, prior.args, strict=True):
        if not math.isfinite(value) or (name in family.positive and value <= 0):
            raise UsageError(
                f"prior {prior}: {name} = {value:g} must be {'positive' if name in family.positive else 'finite'}"
            )
    if prior.family == "uniform" and prior.args[0] >= prior.args[1]:
        raise UsageError(f"prior {prior}: low must be less than high")


def chosen(model: Model, given: Mapping[str, Prior | str] | None) -> dict[str, Prior]:
    """The prior of each parameter: the one given, else the model's own. Raises UsageError where one does not fit."""
    made = {p.name: p.prior for p in model.parameters}
    for name, value in (given or {}).items():
        if name not in made:
            names = ", ".join(made) or "none"
            raise UsageError(f"a prior is given for {name!r}; the parameters of {model.label} are {names}")
        parameter = next(p for p in model.parameters if p.name == name)
        prior = parse(value) if isinstance(value, str) else value
        if parameter.transform == "simplex":
            raise UsageError(f"{name} is one of several shares, whose prior is a Dirichlet; it cannot be set alone")
        _check(prior)
        low, high = support(prior)
        if low < parameter.low or high > parameter.limit:
            raise UsageError(
                f"prior {prior} reaches from {low:g} to {high:g}; {name} lies between {parameter.low:g} "
                f"and {parameter.limit:g}"
            )
        made[name] = prior
    return made


@lru_cache(maxsize=256)
def distribution(prior: Prior) -> Any:
    """The frozen scipy distribution, in natural units."""
    return FAMILIES[prior.family].frozen(*prior.args)


def support(prior: Prior) -> tuple[float, float]:
    """Smallest and largest possible value."""
    low, high = FAMILIES[prior.family].support or prior.args
    return float(low), float(high)


def natural(prior: Prior, z: Array) -> Array:
    """Natural value at coordinate z: an exponential for a half-line, a logistic curve for an interval."""
    low, high = support(prior)
    with np.errstate(over="ignore"):
        return np.exp(z) if np.isinf(high) else low + (high - low) * special.expit(z)


def coordinate(prior: Prior, value: Array) -> Array:
    """The coordinate of a natural value."""
    low, high = support(prior)
    with np.errstate(divide="ignore"):
        return np.log(value) if np.isinf(high) else np.log(value - low) - np.log(high - value)


def log_density(prior: Prior, z: Array) -> Array:
    """Log density of the coordinate, same shape as z."""
    low, high = support(prior)
    jacobian = z if np.isinf(high) else np.log(high - low) + special.log_expit(z) + special.log_expit(-z)
    return np.asarray(distribution(prior).logpdf(natural(prior, z)) + jacobian)


def reach(prior: Prior) -> tuple[float, float]:
    """The coordinates between which all but a negligible part of the prior lies."""
    made = distribution(prior)
    low, high = np.clip(coordinate(prior, np.array([made.ppf(_TAIL), made.isf(_TAIL)])), -_FAR, _FAR)
    return float(low), float(high)


def moments(prior: Prior) -> tuple[float, float]:
    """Mean and standard deviation of the prior in its coordinate."""
    z = coordinate(prior, distribution(prior).ppf((np.arange(4000) + 0.5) / 4000))
    return float(np.mean(z)), float(np.std(z))


def draw(prior: Prior, size: int, rng: np.random.Generator) -> Array:
    """Draws in natural units, (size,)."""
    return np.asarray(distribution(prior).rvs(size=size, random_state=rng))


def described(model: Model, priors: Mapping[str, Prior], fixed: Mapping[str, float]) -> list[str]:
    """What each parameter was believed to be, in words: one line each."""
    lines = []
    for p in model.parameters:
        if p.name in fixed:
            lines.append(f"{p.name} = {fixed[p.name]:g} (fixed)")
        else:
            lines.append(f"{p.name} ~ {priors[p.name]}{' per payoff range' if p.is_precision else ''}")
    return list(dict.fromkeys(lines))
