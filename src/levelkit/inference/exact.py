"""Posteriors of units with one or two free parameters, by quadrature: no chains, no warm-up, no Monte-Carlo error.

Each free parameter has a coordinate z on the whole line (the log of a positive one, the logit of one in an interval),
in which posteriors fall off at both ends. Both axes are integrated by adaptive panels, one inside the other, because
with high precision the likelihood nears a step function of the reasoning level. The box that holds a unit's mass is
found on tables of log-probabilities that all units of one game share.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from functools import cached_property

import numpy as np

from levelkit.inference import priors
from levelkit.inference.kernels import Array, Index
from levelkit.inference.likelihood import Likelihood
from levelkit.inference.marginals import Marginal, Pairs, line_marginals, summed_marginals
from levelkit.inference.panels import ORDER, WEIGHTS, Panels, integrate, joined
from levelkit.inference.solved import Progress
from levelkit.inference.surfaces import largest_ranges
from levelkit.models.base import Parameter, Prior

# Nodes this many nats below the highest one carry nothing, even of second moments.
_CUT = 45.0
_COARSE = {1: (257,), 2: (65, 97)}
_ZOOM = {1: 65, 2: 33}
_INNER = 1e-3  # a column is integrated that much more precisely than the sum over columns
_PIECES, _JUMPY_PIECES = 8, 64
TOLERANCE = 1e-3
_CHUNK = 128
_ROOM = 1_500_000  # (unit, node) pairs evaluated at once

# A marginal has a second mode worth telling where it rises again by more than this share of its height.
MODE = 0.15
LEVELS_OF_CDF = (0.025, 0.05, 0.25, 0.5, 0.75, 0.95, 0.975)
MEDIAN = 3


@dataclass(frozen=True)
class Axis:
    """A free parameter with its prior: place in the model's parameters, and the line z on which it is integrated."""

    place: int
    parameter: Parameter
    prior: Prior

    def natural(self, z: Array) -> Array:
        """Coordinate -> natural value (precisions per reference range)."""
        return priors.natural(self.prior, z)

    def squared(self, z: Array) -> Array:
        """The square of the natural value."""
        return self.natural(z) ** 2

    def log_prior(self, z: Array) -> Array:
        """Log prior density in z."""
        return priors.log_density(self.prior, z)


@dataclass(frozen=True, eq=False)
class Exact:
    """What is read off the posteriors of U units with F free parameters, in natural units.

    mean, sd (F, U); quantiles (F, U, len(LEVELS_OF_CDF)); low, high (F, U): highest-density interval; modes (F, U);
    contraction (F, U): 1 - posterior sd / prior sd in the coordinate; shift (F, U): of its mean, in prior sds; evidence
    (U,): log marginal likelihood without the multinomial constant; error (U,): by how much it may be off; draws
    (P, U, S) of all the model's parameters.
    """

    mean: Array
    sd: Array
    quantiles: Array
    low: Array
    high: Array
    modes: Array
    contraction: Array
    shift: Array
    evidence: Array
    error: Array
    draws: Array


@dataclass(frozen=True, eq=False)
class Integrals:
    """Posterior densities, up to exp(top), of m units.

    lines: the density of the last axis, one column a unit. columns: with two axes, the density along the first axis at
    every node of `lines`, one column a node in the same order. top (m,).
    """

    lines: Panels
    columns: Panels | None
    top: Array

    @cached_property
    def mass(self) -> Array:
        """(m,)."""
        return self.lines.total(self.lines.mass)

    @cached_property
    def evidence(self) -> Array:
        """Log marginal likelihood, (m,)."""
        return np.log(self.mass) + self.top

    @cached_property
    def error(self) -> Array:
        """By how much the log evidence may be off, (m,)."""
        error = self.lines.total(self.lines.error)
        if self.columns is not None:
            error = error + self._over_columns(self.columns.total(self.columns.error))
        return error / self.mass

    @cached_property
    def share(self) -> Array:
        """What each column adds to an integral, (columns,)."""
        return (self.lines.length[:, None] / 2 * WEIGHTS).ravel()

    @cached_property
    def owner(self) -> Index:
        """The unit of each column, (columns,)."""
        return np.repeat(self.lines.column, ORDER)

    def _over_columns(self, per_column: Array) -> Array:
        return np.bincount(self.owner, per_column * self.share, minlength=len(self.top))

    def expect(self, function: Callable[[Array], Array], axis: int) -> Array:
        """Posterior mean of a function of one coordinate, (m,)."""
        if axis == 1 or self.columns is None:
            return self.lines.total((function(self.lines.nodes) * self.lines.weights).sum(axis=1)) / self.mass
        inner = (function(self.columns.nodes) * self.columns.weights).sum(axis=1)
        return self._over_columns(self.columns.total(inner)) / self.mass

    def marginals(self) -> tuple[Marginal, ...]:
        """Marginal densities along each axis."""
        if self.columns is None:
            return (line_marginals(self.lines),)
        return summed_marginals(self.columns, self.owner, self.share), line_marginals(self.lines)


def axes_of(likelihood: Likelihood, chosen: Mapping[str, Prior], fixed: Mapping[str, float]) -> tuple[Axis, ...]:
    """The free parameters with their priors."""
    return tuple(Axis(i, p, chosen[p.name]) for i, p in enumerate(likelihood.model.parameters) if p.name not in fixed)


@dataclass(frozen=True, eq=False)
class Posteriors:
    """The log posterior of every unit as a function of the coordinates of its one or two free parameters."""

    likelihood: Likelihood
    axes: tuple[Axis, ...]
    fixed: Mapping[str, float]
    reference: Array

    @staticmethod
    def of(likelihood: Likelihood, chosen: Mapping[str, Prior], fixed: Mapping[str, float]) -> Posteriors:
        """Bind a likelihood to priors and values held fixed."""
        return Posteriors(likelihood, axes_of(likelihood, chosen, fixed), fixed, largest_ranges(likelihood))

    def params(self, unit: Index, z: tuple[Array, ...]) -> Array:
        """All natural parameters at coordinates z[a] (m,), precisions per payoff unit of the likelihood, (P, m)."""
        names = [p.name for p in self.likelihood.model.parameters]
        full = np.repeat(np.array([self.fixed.get(n, np.nan) for n in names])[:, None], len(unit), axis=1)
        for axis, row in zip(self.axes, z, strict=True):
            value = axis.natural(row)
            full[axis.place] = value / self.reference[unit] if axis.parameter.is_precision else value
        return full

    def on_grids(self, unit: Index, nodes: tuple[Array, ...]) -> Array:
        """Log posterior of units (m,) on product grids of their own, nodes[a] (m, N_a) -> (m, N_1, N_2)."""
        shape = (len(unit), nodes[0].shape[1], nodes[1].shape[1] if len(nodes) > 1 else 1)
        flat = [np.broadcast_to(nodes[0][:, :, None], shape).ravel()]
        if len(nodes) > 1:
            flat.append(np.broadcast_to(nodes[1][:, None, :], shape).ravel())
        return self._log_posterior(np.repeat(unit, shape[1] * shape[2]), tuple(flat)).reshape(shape)

    def _prior(self, nodes: tuple[Array, ...]) -> Array:
        """Log prior on product grids, (..., N_1, N_2)."""
        first = self.axes[0].log_prior(nodes[0])[..., :, None]
        return first + self.axes[1].log_prior(nodes[1])[..., None, :] if len(self.axes) > 1 else first

    def boxes(self, unit: Index) -> tuple[tuple[Array, Array], ...]:
        """For each axis the lower and upper ends (m,) of a box that holds the posterior of each unit."""
        lines = tuple(
            np.linspace(*priors.reach(a.prior), n) for a, n in zip(self.axes, _COARSE[len(self.axes)], strict=True)
        )
        nodes = tuple(np.broadcast_to(line, (len(unit), len(line))) for line in lines)
        coarse = self.on_shared(unit, lines) + self._prior(lines)
        box = _kept(nodes, coarse)
        active = np.arange(len(unit))
        for _ in range(10):
            here = tuple((low[active], high[active]) for low, high in box)
            nodes = tuple(_line(low, high, _ZOOM[len(self.axes)]) for low, high in here)
            smaller = _kept(nodes, self.on_grids(unit[active], nodes))
            for (low, high), (below, above) in zip(box, smaller, strict=True):
                low[active], high[active] = below, above
            shrunk = [
                (above - below) < 0.8 * (high - low) for (low, high), (below, above) in zip(here, smaller, strict=True)
            ]
            active = active[np.any(shrunk, axis=0)]
            if not len(active):
                break
        return box

    def on_shared(self, unit: Index, lines: tuple[Array, ...]) -> Array:
        """Log-likelihood of units on one grid that all share, (m, N_1, N_2): counts times a table for each game."""
        mesh = np.meshgrid(*lines, indexing="ij")
        flat = tuple(z.ravel() for z in mesh)
        units = self.likelihood.units
        names = [p.name for p in self.likelihood.model.parameters]
        shape = (len(unit), len(lines[0]), len(lines[1]) if len(lines) > 1 else 1)
        result = np.zeros((len(unit), len(flat[0])))
        # each row's payoffs are divided by its unit's reference range, so that all rows share the nodes
        sizes = np.diff(units.start)[unit]
        rows = np.concatenate([np.arange(units.start[u], units.start[u + 1]) for u in unit])
        owner = np.repeat(np.arange(len(unit)), sizes)
        key = np.stack([units.game[rows].astype(float), self.reference[unit][owner]])
        distinct, which = np.unique(key, axis=1, return_inverse=True)
        for k in range(distinct.shape[1]):
            game, reference = int(distinct[0, k]), float(distinct[1, k])
            params = np.zeros((len(names), len(flat[0])))
            for i, p in enumerate(self.likelihood.model.parameters):
                held = self.fixed.get(p.name, np.nan)
                params[i] = held * reference if p.is_precision else held
            for axis, row in zip(self.axes, flat, strict=True):
                params[axis.place] = axis.natural(row)
            table = self.likelihood.tables(np.array([game]), np.array([reference]), params)[0]
            mine = np.flatnonzero(which.ravel() == k)
            np.add.at(result, owner[mine], units.counts[rows[mine]] @ table)
        return result.reshape(shape)

    def integrals(self, unit: Index, tolerance: float) -> Integrals:
        """The posterior densities of some units (m,), the log evidence within about `tolerance`."""
        box = self.boxes(unit)
        nodes = tuple(_line(*ends, _ZOOM[len(box)]) for ends in box)
        rough = self.on_grids(unit, nodes)
        top = rough.max(axis=(1, 2))
        length = [high - low for low, high in box]
        mass = np.exp(rough - top[:, None, None]).mean(axis=(1, 2)) * np.prod(length, axis=0)

        pieces = _JUMPY_PIECES if self.likelihood.model.is_jumpy else _PIECES

        def density(u: Index, *z: Array) -> Array:
            return np.exp(np.minimum(self._log_posterior(unit[u], z) - top[u], _CUT))

        if len(box) == 1:
            return Integrals(integrate(density, box[0][0], box[0][1], _INNER * tolerance * mass, pieces), None, top)
        seen: list[tuple[Index, Array]] = []
        made: list[Panels] = []

        def column(u: Index, second: Array) -> Array:
            inner = integrate(
                lambda c, first: density(u[c], first, second[c]),
                box[0][0][u],
                box[0][1][u],
                (_INNER * tolerance * mass / length[1])[u],
                pieces,
            )
            seen.append((u, second))
            made.append(inner)
            return inner.total(inner.mass)

        lines = integrate(column, box[1][0], box[1][1], tolerance * mass, pieces)
        # columns of panels that were halved are no longer wanted
        place = {
            key: i
            for i, key in enumerate(
                zip(*(np.concatenate(part).tolist() for part in zip(*seen, strict=True)), strict=True)
            )
        }
        wanted = zip(np.repeat(lines.column, ORDER).tolist(), lines.nodes.ravel().tolist(), strict=True)
        return Integrals(lines, joined(made).some(np.array([place[key] for key in wanted])), top)

    def _log_posterior(self, unit: Index, z: tuple[Array, ...]) -> Array:
        """Log posterior at single points, (m,)."""
        prior = sum(a.log_prior(row) for a, row in zip(self.axes, z, strict=True))
        pieces = [slice(i, i + _ROOM) for i in range(0, len(unit), _ROOM)]
        value = [self.likelihood.value(unit[p], self.params(unit[p], tuple(row[p] for row in z))) for p in pieces]
        return np.concatenate(value) + prior


def _line(low: Array, high: Array, points: int) -> Array:
    return low[:, None] + (high - low)[:, None] * np.linspace(0, 1, points)


def _kept(nodes: tuple[Array, ...], log_density: Array) -> tuple[tuple[Array, Array], ...]:
    """The smallest box around the nodes that carry something, wider by one node on each side."""
    top = log_density.max(axis=(1, 2), keepdims=True)
    alive = log_density >= top - _CUT
    box = []
    for a, line in enumerate(nodes):
        along = alive.any(axis=2 - a)
        last = along.shape[1] - 1
        first_at = np.maximum(along.argmax(axis=1) - 1, 0)
        last_at = np.minimum(last - along[:, ::-1].argmax(axis=1) + 1, last)
        here = np.arange(len(line))
        box.append((line[here, first_at].copy(), line[here, last_at].copy()))
    return tuple(box)


def solve(
    posteriors: Posteriors,
    representative: Index,
    *,
    size: int,
    mass: float,
    seed: int,
    tolerance: float = TOLERANCE,
    progress: Progress | None = None,
) -> Exact:
    """Posteriors of all units; representative (U,): which distinct unit stands for each unit.

    size: draws for each unit (its own, also where units share a posterior). mass: of the highest-density interval.
    tolerance: by how much the log evidence may be off, nats.
    """
    distinct = len(posteriors.likelihood.units)
    parts: list[tuple[Index, Exact]] = []
    for first in range(0, distinct, _CHUNK):
        unit = np.arange(first, min(first + _CHUNK, distinct))
        owners = [np.flatnonzero(representative == u) for u in unit]
        found = posteriors.integrals(unit, tolerance)
        parts.append((np.concatenate(owners), _read(posteriors, unit, found, owners, size, mass, seed)))
        if progress is not None:
            progress(int(unit[-1]) + 1, distinct)
    order = np.argsort(np.concatenate([w for w, _ in parts]), kind="stable")
    joined = {}
    for f in fields(Exact):
        along = 0 if f.name in ("evidence", "error") else 1
        joined[f.name] = np.take(np.concatenate([getattr(e, f.name) for _, e in parts], axis=along), order, axis=along)
    return Exact(**joined)


def _read(
    posteriors: Posteriors, unit: Index, found: Integrals, owners: list[Index], size: int, mass: float, seed: int
) -> Exact:
    lines = found.marginals()
    names = ("mean", "sd", "quantiles", "low", "high", "modes", "contraction", "shift")
    rows: dict[str, list[Array]] = {name: [] for name in names}
    for a, (axis, line) in enumerate(zip(posteriors.axes, lines, strict=True)):
        per = posteriors.reference[unit] if axis.parameter.is_precision else np.ones(len(unit))
        mean, centre = found.expect(axis.natural, a), found.expect(lambda z: z, a)
        low, high = line.shortest(mass, axis.natural)
        variance = found.expect(axis.squared, a) - mean**2
        spread = np.sqrt(np.maximum(found.expect(np.square, a) - centre**2, 0.0))
        rows["mean"].append(mean / per)
        rows["sd"].append(np.sqrt(np.maximum(variance, 0.0)) / per)
        rows["quantiles"].append(axis.natural(line.quantile(np.array(LEVELS_OF_CDF))) / per[:, None])
        rows["low"].append(low / per)
        rows["high"].append(high / per)
        rows["modes"].append(line.modes(MODE))
        before, width = priors.moments(axis.prior)
        rows["contraction"].append(1 - spread / width)
        rows["shift"].append((centre - before) / width)
    copies = np.repeat(np.arange(len(unit)), [len(o) for o in owners])
    z = np.empty((len(posteriors.axes), len(copies), size))
    pairs = None if found.columns is None else Pairs(found.columns, found.owner, found.lines.nodes.ravel())
    for j, (k, owner) in enumerate(zip(copies, np.concatenate(owners), strict=True)):
        shares = np.random.default_rng([seed, int(owner)]).uniform(size=(2, size))
        if pairs is None:
            z[0, j] = lines[0].quantile_of(int(k), shares[0])
        else:
            z[:, j] = pairs.draw(lines[1], int(k), shares)
    flat = posteriors.params(np.repeat(unit[copies], size), tuple(row.ravel() for row in z))
    return Exact(
        **{name: np.stack(values)[:, copies] for name, values in rows.items()},
        evidence=found.evidence[copies],
        error=found.error[copies],
        draws=flat.reshape(len(flat), len(copies), size),
    )
