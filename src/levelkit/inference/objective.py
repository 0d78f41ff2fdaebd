"""A log-likelihood in search coordinates: logs of positive parameters, logits of shares.

A coordinate of minus or plus infinity is a limit: the parameter is at the end of its range (0, infinity, 1) and
held there.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from levelkit.inference.kernels import Array, Index
from levelkit.inference.likelihood import Likelihood
from levelkit.models.base import Model, Parameter


def to_coordinate(parameter: Parameter, value: Array) -> Array:
    """Natural value -> coordinate; the ends of the range go to minus and plus infinity."""
    with np.errstate(divide="ignore"):
        value = np.asarray(value, float)
        return np.log(value) if parameter.transform == "log" else np.log(value) - np.log1p(-value)


def from_coordinate(parameter: Parameter, x: Array) -> Array:
    """Coordinate -> natural value."""
    with np.errstate(over="ignore"):
        return np.exp(x) if parameter.transform == "log" else 1.0 / (1.0 + np.exp(-np.asarray(x)))


def slope(parameter: Parameter, value: Array) -> Array:
    """d value / d coordinate; zero at a limit."""
    inside = np.isfinite(value)
    v = np.where(inside, value, 0.0)
    return v if parameter.transform == "log" else v * (1 - v)


def bend(parameter: Parameter, value: Array) -> Array:
    """(d2 value / d coordinate2) / (d value / d coordinate)."""
    return np.ones_like(value) if parameter.transform == "log" else 1 - 2 * value


@dataclass(frozen=True, eq=False)
class Objective:
    """Log-likelihood of units as a function of coordinates x (F, m) of the free parameters; the others are fixed.

    free: which parameters of the model are free. fixed: natural values of all parameters, used where not free.
    """

    likelihood: Likelihood
    free: tuple[int, ...]
    fixed: tuple[float, ...]

    @property
    def model(self) -> Model:
        """The model fitted."""
        return self.likelihood.model

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """The free parameters, in the order of the coordinates."""
        return tuple(self.model.parameters[i] for i in self.free)

    def params(self, x: Array) -> Array:
        """All natural parameters, (P, m)."""
        full = np.repeat(np.array(self.fixed, float)[:, None], x.shape[1], axis=1)
        for i, parameter, row in zip(self.free, self.parameters, x, strict=True):
            full[i] = from_coordinate(parameter, row)
        return full

    def _seeds(self, params: Array, held: Array | None) -> Array:
        seeds = np.zeros_like(params)
        for k, (i, parameter) in enumerate(zip(self.free, self.parameters, strict=True)):
            seeds[i] = slope(parameter, params[i])
            if held is not None:
                seeds[i] = np.where(held[k], 0.0, seeds[i])
        return seeds

    def value(self, unit: Index, x: Array) -> Array:
        """(m,)."""
        return self.likelihood.value(unit, self.params(x))

    def scores(self, unit: Index, x: Array, held: Array | None = None) -> tuple[Array, Array, Array]:
        """Value (m,), gradient (F, m), expected information (F, F, m) in the coordinates; zero for held ones."""
        params = self.params(x)
        value, gradient, information = self.likelihood.scores(unit, params, self._seeds(params, held))
        free = list(self.free)
        return value, gradient[free], information[np.ix_(free, free)]

    def hessians(self, unit: Index, x: Array, held: Array | None = None) -> tuple[Array, Array, Array]:
        """Value (m,), gradient (F, m), second derivatives (F, F, m) in the coordinates; zero for held ones."""
        params = self.params(x)
        value, gradient, second = self.likelihood.hessians(unit, params, self._seeds(params, held))
        free = list(self.free)
        gradient, second = gradient[free], second[np.ix_(free, free)].copy()
        for k, parameter in enumerate(self.parameters):
            second[k, k] += gradient[k] * bend(
                parameter, np.where(np.isfinite(params[self.free[k]]), params[self.free[k]], 0.0)
            )
        return value, gradient, second

    def outer_scores(self, unit: Index, x: Array) -> Array:
        """Sum over choices of the outer products of their scores in the coordinates, (F, F, m)."""
        params = self.params(x)
        free = list(self.free)
        return self.likelihood.outer_scores(unit, params, self._seeds(params, None))[np.ix_(free, free)]
