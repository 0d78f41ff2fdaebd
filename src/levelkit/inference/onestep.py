"""Regression inside the likelihood: a parameter of every unit on the log (or logit) scale is a line in its features.

No estimate per unit is needed, so units whose choices alone tell nothing still count for what they say. The other
free parameters are the same for all units.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from levelkit.inference import optimize
from levelkit.inference.kernels import Array, Index
from levelkit.inference.objective import Objective, to_coordinate
from levelkit.inference.optimize import Bool
from levelkit.inference.secondstep import Coefficients, from_covariance, independent
from levelkit.models.base import PER_PAYOFF, Parameter

_STARTS = 6
_NODES = 24
_RIVAL = 2.0  # nats within which another optimum is as good an answer
_VOID = 1e-7  # curvature, relative to the sharpest, below which a direction is not told


@dataclass(frozen=True, eq=False)
class Linked:
    """The log-likelihood of units (U,) at coefficients z (D + others, m): those of the design x (U, D), then the other
    free parameters in search coordinates. `which`: the place of the regressed parameter among the free ones.
    """

    objective: Objective
    x: Array
    which: int

    @property
    def _others(self) -> list[int]:
        return [k for k in range(len(self.objective.free)) if k != self.which]

    def _at(self, z: Array) -> tuple[Index, Array, Bool]:
        """Units (U * m,), coordinates (F, U * m), points slowest, and where the line leaves the parameter's range."""
        u, d = self.x.shape
        m = z.shape[1]
        at = np.empty((len(self.objective.free), m, u))
        p = self.objective.parameters[self.which]
        low, high = to_coordinate(p, np.array([max(p.low, 1e-6), p.high]))
        line = z[:d].T @ self.x.T
        at[self.which] = np.clip(line, low, high)
        for row, k in enumerate(self._others):
            at[k] = z[d + row][:, None]
        outside = (line <= low) | (line >= high)
        return np.tile(np.arange(u), m), at.reshape(len(at), -1), outside.ravel()

    def value(self, unit: Index, z: Array) -> Array:
        """(m,)."""
        units, at, _ = self._at(z)
        return np.asarray(self.objective.value(units, at).reshape(z.shape[1], -1).sum(axis=1))

    def scores(self, unit: Index, z: Array, held: Bool | None = None) -> tuple[Array, Array, Array]:
        """Value (m,), gradient (D + others, m), expected information."""
        return self._gather(self.objective.scores, z, held)

    def hessians(self, unit: Index, z: Array, held: Bool | None = None) -> tuple[Array, Array, Array]:
        """Value (m,), gradient (D + others, m), second derivatives."""
        return self._gather(self.objective.hessians, z, held)

    def _gather(self, derivatives: object, z: Array, held: Bool | None) -> tuple[Array, Array, Array]:
        u, d = self.x.shape
        m = z.shape[1]
        units, at, outside = self._at(z)
        value, g, h = derivatives(units, at)  # type: ignore[operator]
        g[self.which] = np.where(outside, 0.0, g[self.which])
        h[self.which] = np.where(outside, 0.0, h[self.which])
        h[:, self.which] = np.where(outside, 0.0, h[:, self.which])
        g, h = g.reshape(len(g), m, u), h.reshape(len(h), len(h), m, u)
        rest = self._others
        gradient = np.concatenate([np.einsum("ud,mu->dm", self.x, g[self.which]), g[rest].sum(axis=2)])
        second = np.empty((len(z), len(z), m))
        second[:d, :d] = np.einsum("ud,mu,ue->dem", self.x, h[self.which, self.which], self.x, optimize=True)
        for row, k in enumerate(rest):
            cross = np.einsum("ud,mu->dm", self.x, h[self.which, k])
            second[:d, d + row] = second[d + row, :d] = cross
            for other, j in enumerate(rest):
                second[d + row, d + other] = h[k, j].sum(axis=1)
        if held is not None:
            gradient = np.where(held, 0.0, gradient)
            second = np.where(held[:, None] | held[None], 0.0, second)
        return value.reshape(m, u).sum(axis=1), gradient, second

    def unit_scores(self, z: Array) -> Array:
        """Each unit's gradient at one point z (D + others,), (U, D + others)."""
        units, at, outside = self._at(z[:, None])
        g = self.objective.scores(units, at)[1]
        line = np.where(outside, 0.0, g[self.which])
        return np.column_stack([self.x * line[:, None], *g[self._others]])


def one_step(
    objective: Objective, x: Array, which: int, errors: str, groups: Index, level: float
) -> tuple[Coefficients, dict[str, float]]:
    """Maximum likelihood of a design x (U, D), first column the constant, and the other parameters at the best point.

    errors: "nonrobust" from the observed information; otherwise the sandwich over groups (U,), which stays right where
    units differ by more than their features.
    """
    told = independent(x)
    problem = Linked(objective, x[:, told], which)
    d, size = int(told.sum()), int(told.sum()) + len(objective.free) - 1
    lower, upper = np.full(size, -np.inf), np.full(size, np.inf)
    for row, k in enumerate(problem._others):
        p = objective.parameters[k]
        lower[d + row], upper[d + row] = to_coordinate(p, np.array([max(p.low, 1e-9), p.high]))
    starts = _starts(problem, lower, upper, d)
    many = np.zeros(starts.shape[1], int)
    box = np.repeat(lower[:, None], len(many), 1), np.repeat(upper[:, None], len(many), 1)
    z, value = optimize.climb(problem, many, starts, *box)
    z, value = optimize.polish(problem, many, z, value, *box, steps=12)
    best = int(np.argmax(value))
    notes = []
    for row, k in enumerate(problem._others):
        if not lower[d + row] + 1e-6 < z[d + row, best] < upper[d + row] - 1e-6:
            notes.append(f"one-step: {objective.parameters[k].name} is at the end of its range")
    at = z[:, best]
    _, _, second = problem.hessians(many[:1], at[:, None])
    curve, axes = np.linalg.eigh(-second[..., 0])
    void = curve < _VOID * max(curve[-1], 1e-300)
    inverse = (axes[:, ~void] / curve[~void]) @ axes[:, ~void].T
    scores = problem.unit_scores(at)
    code = np.unique(groups, return_inverse=True)[1]
    held = code.max() + 1
    if errors == "nonrobust":
        covariance, df = inverse, np.inf
    else:
        total = np.zeros((held, size))
        np.add.at(total, code, scores)
        covariance = inverse @ (total.T @ total) @ inverse * held / max(held - 1, 1)
        if errors != "cluster" and held > size:
            covariance *= held / (held - size)
        df = float(max(held - (1 if errors == "cluster" else size), 1))
    unsure = np.sqrt(np.maximum(np.diag(covariance), 0.0))
    apart = (value > value[best] - _RIVAL) & ((np.abs(z - at[:, None]) > 3 * unsure[:, None] + 1e-6)[:d].any(axis=0))
    if apart.any():
        gap = value[best] - value[apart].max()
        covariance = np.full_like(covariance, np.nan)
        notes.append(f"one-step: coefficients far from these fit within {gap:.2f} nats (multimodal), so no errors")
    loose = ((axes[:, void] ** 2).sum(axis=1) > 1e-3)[:d]
    if loose.any():
        notes.append(
            f"one-step: the likelihood does not tell {int(loose.sum())} of the coefficients (flat or running off)"
        )
    kept = told.copy()
    kept[told] = ~loose
    found = from_covariance(
        at[:d][~loose], covariance[:d, :d][np.ix_(~loose, ~loose)], kept, df, len(x), level, np.nan, tuple(notes)
    )
    natural = objective.params(np.insert(at[d:], which, 0.0)[:, None])[:, 0]
    names = [p.name for p in objective.model.parameters]
    rest = {names[i]: float(natural[i]) for k, i in enumerate(objective.free) if k != which}
    return found, rest


def _span(objective: Objective, p: Parameter) -> Array:
    """Where optima of a parameter are expected, in coordinates, (2,)."""
    unit = float(np.median(objective.likelihood.ranges)) if p.unit == PER_PAYOFF else 1.0
    low, high = p.span
    return to_coordinate(p, np.array([max(low, 1e-2 * high), high]) / unit)


def _starts(problem: Linked, lower: Array, upper: Array, d: int) -> Array:
    """Points where all units share one value, from the hills of the pooled likelihood: (D + others, m)."""
    from scipy.stats import qmc

    objective, u = problem.objective, len(problem.x)
    free = objective.parameters
    ends = np.array([_span(objective, p) for p in free])
    if len(free) <= 2:
        lines = [np.linspace(a, b, _NODES) for a, b in ends]
        nodes = np.stack([m.ravel() for m in np.meshgrid(*lines, indexing="ij")])
    else:
        nodes = qmc.scale(qmc.Sobol(len(free), seed=0).random(512), ends[:, 0], ends[:, 1]).T
    m = nodes.shape[1]
    value = objective.value(np.tile(np.arange(u), m), np.repeat(nodes, u, axis=1)).reshape(m, u).sum(axis=1)
    chosen: list[int] = []
    reach = (ends[:, 1] - ends[:, 0]) * 0.12
    for i in np.argsort(-value):
        if all((np.abs(nodes[:, i] - nodes[:, j]) > reach).any() for j in chosen):
            chosen.append(int(i))
        if len(chosen) == _STARTS:
            break
    z = np.zeros((len(lower), len(chosen)))
    z[0] = nodes[problem.which, chosen]
    z[d:] = np.clip(nodes[problem._others][:, chosen], lower[d:, None], upper[d:, None])
    return z
