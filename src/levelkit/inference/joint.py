"""Fitting units one at a time: models with more than two free parameters, and parameters shared across sub-groups.

Each unit has one vector z of free parameters. A sub-unit (say one game of one LLM) uses some of its entries; the log-likelihood
is the sum over sub-units. Many starting points, sequential quadratic programming from the best of them, profile
intervals by the same method with one entry held. Entries are search coordinates, except shares, which are themselves.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.stats import qmc

from levelkit.inference import intervals, optimize, surfaces
from levelkit.inference.kernels import Array, Index
from levelkit.inference.likelihood import Likelihood, uniform_loglik
from levelkit.inference.objective import Objective, bend, from_coordinate, slope, to_coordinate
from levelkit.inference.solved import NOTHING, Options, Progress, Solved, bind
from levelkit.inference.status import Status, judge, void_directions
from levelkit.models.base import Parameter

_STARTS = 8
_SOBOL = 64
_APART = 0.02


@dataclass(frozen=True, eq=False)
class Layout:
    """Which entry of its unit's vector each sub-unit uses.

    owner (S,): unit of each sub-unit. parameter (Z,), unit (Z,), key (Z,): what each entry is, over all units, ordered by unit.
    slot (P, S): the entry that gives a parameter of a sub-unit; -1 where it is fixed.
    """

    owner: Index
    parameter: Index
    unit: Index
    key: Index
    slot: Index


@dataclass(frozen=True, eq=False)
class Problem:
    """One unit: its log-likelihood as a function of its vector z (D,)."""

    objective: Objective
    subs: Index
    slot: Index
    parameters: tuple[Parameter, ...]
    which: Index
    lower: Array
    upper: Array

    @property
    def simplex(self) -> list[int]:
        """Entries that are shares and sum to one."""
        return [k for k, p in enumerate(self.parameters) if p.transform == "simplex"]

    def params(self, z: Array) -> Array:
        """All parameters of the sub-units, (P, S)."""
        theta = np.repeat(np.array(self.objective.fixed, float)[:, None], len(self.subs), axis=1)
        natural = self.natural(z)
        for i in self.objective.free:
            theta[i] = natural[self.slot[i]]
        return theta

    def natural(self, z: Array) -> Array:
        """Entries as natural values."""
        return np.array([v if p.transform == "simplex" else from_coordinate(p, v) for p, v in zip(self.parameters, z, strict=True)])

    def slopes(self, z: Array) -> Array:
        """d natural / d entry."""
        natural = self.natural(z)
        return np.array([1.0 if p.transform == "simplex" else float(slope(p, v)) for p, v in zip(self.parameters, natural, strict=True)])

    def _seeds(self, z: Array) -> Array:
        seeds = np.zeros((len(self.objective.fixed), len(self.subs)))
        slopes = self.slopes(z)
        for i in self.objective.free:
            seeds[i] = slopes[self.slot[i]]
        return seeds

    def values(self, zs: Array) -> Array:
        """Log-likelihood at many points (m, D) -> (m,)."""
        params = np.concatenate([self.params(z) for z in zs], axis=1)
        value = self.objective.likelihood.value(np.tile(self.subs, len(zs)), params)
        return value.reshape(len(zs), -1).sum(axis=1)

    def value_and_gradient(self, z: Array) -> tuple[float, Array]:
        """Log-likelihood and its gradient in the entries."""
        value, gradient, _ = self.objective.likelihood.scores(self.subs, self.params(z), self._seeds(z))
        return float(value.sum()), self._gather(gradient)

    def information(self, z: Array) -> Array:
        """Expected information, (D, D)."""
        return self._gather2(self.objective.likelihood.scores(self.subs, self.params(z), self._seeds(z))[2])

    def second(self, z: Array, kind: str = "hessian") -> Array:
        """Second derivatives (or, with kind "outer", the outer product of scores) in the entries, (D, D)."""
        likelihood = self.objective.likelihood
        if kind == "outer":
            return self._gather2(likelihood.outer_scores(self.subs, self.params(z), self._seeds(z)))
        _, gradient, second = likelihood.hessians(self.subs, self.params(z), self._seeds(z))
        total, slopes = self._gather2(second), self._gather(gradient)
        for k, p in enumerate(self.parameters):
            if p.transform != "simplex" and np.isfinite(z[k]):
                total[k, k] += slopes[k] * float(bend(p, np.asarray(from_coordinate(p, z[k]))))
        return total

    def _gather(self, gradient: Array) -> Array:
        out = np.zeros(len(self.parameters))
        for i in self.objective.free:
            np.add.at(out, self.slot[i], gradient[i])
        return out

    def _gather2(self, second: Array) -> Array:
        out = np.zeros((len(self.parameters),) * 2)
        for i in self.objective.free:
            for j in self.objective.free:
                np.add.at(out, (self.slot[i], self.slot[j]), second[i, j])
        return out

    @cached_property
    def ends(self) -> Array:
        """The ends of each entry's range, (D, 2)."""
        rows = [(p.low, p.high) if p.transform == "simplex" else to_coordinate(p, np.array([p.low, p.high])) for p in self.parameters]
        return np.array(rows, float)

    def maximise(self, start: Array, optimizer: str, pinned: tuple[int, float] | None = None) -> tuple[Array, float]:
        """Climb from a point; entries at an infinite limit stay there, a pinned one is held."""
        start = start.copy()
        held = ~np.isfinite(start)
        if pinned is not None:
            start[pinned[0]] = pinned[1]
            held[pinned[0]] = True
            self._rescale(start, pinned)
        moving = np.flatnonzero(~held)
        if not moving.size:
            return start, float(self.values(start[None])[0])
        simplex = [int(k) for k in np.flatnonzero(np.isin(moving, self.simplex))]
        if pinned is not None and pinned[0] in self.simplex:
            return self._pinned_share(start, pinned, optimizer)

        def part(z: Array) -> tuple[float, Array]:
            full = start.copy()
            full[moving] = z
            value, gradient = self.value_and_gradient(full)
            return value, gradient[moving]

        low, high = self.lower[moving], self.upper[moving]
        begin = np.clip(start[moving], low, high)
        z, value, _ = optimize.constrained(part, begin, list(zip(low, high, strict=True)), simplex, optimizer)
        full = start.copy()
        full[moving] = z
        return full, value

    def _rescale(self, z: Array, pinned: tuple[int, float]) -> None:
        """Make the other shares sum to what a pinned share leaves."""
        others = [k for k in self.simplex if k != pinned[0]]
        if pinned[0] in self.simplex:
            total = z[others].sum()
            z[others] = (1 - pinned[1]) * (z[others] / total if total > 1e-12 else 1 / len(others))

    def _pinned_share(self, start: Array, pinned: tuple[int, float], optimizer: str) -> tuple[Array, float]:
        """With one share held the others sum to 1 - held: rescaled so that the optimiser sees a plain simplex."""
        k, held = pinned
        left = 1.0 - held
        others = [j for j in self.simplex if j != k]
        if left <= 1e-12:
            z = start.copy()
            z[others] = 0.0
            return z, float(self.values(z[None])[0])
        moving = [j for j in range(len(start)) if j != k and np.isfinite(start[j])]
        scale = np.array([left if j in others else 1.0 for j in moving])

        def part(w: Array) -> tuple[float, Array]:
            full = start.copy()
            full[moving] = w * scale
            value, gradient = self.value_and_gradient(full)
            return value, gradient[moving] * scale

        bounds = [(self.lower[j], self.upper[j]) for j in moving]
        simplex = [i for i, j in enumerate(moving) if j in others]
        begin = np.clip(start[moving] / scale, *np.array(bounds).T)
        w, value, _ = optimize.constrained(part, begin, bounds, simplex, optimizer)
        full = start.copy()
        full[moving] = w * scale
        return full, value


def solve(
    likelihood: Likelihood, layout: Layout, fixed: dict[str, float], options: Options, progress: Progress | None = None
) -> Solved:
    """Fit every unit; `likelihood` is over sub-units."""
    objective = bind(likelihood, fixed)
    n_units = int(layout.owner.max()) + 1
    uniform = np.bincount(layout.owner, uniform_loglik(likelihood.units), minlength=n_units)
    totals = np.bincount(likelihood.units.owner, likelihood.units.counts.sum(axis=1), minlength=len(layout.owner))
    parts = []
    for u in range(n_units):
        problem, entries = _problem(objective, layout, u)
        n = float(totals[layout.owner == u].sum())
        parts.append(_solve_unit(problem, layout.key[entries], u, float(uniform[u]), n, options))
        if progress is not None:
            progress(u + 1, n_units)
    from levelkit.inference.solved import _join

    return _join(parts)


def _problem(objective: Objective, layout: Layout, u: int) -> tuple[Problem, Index]:
    subs = np.flatnonzero(layout.owner == u)
    entries = np.flatnonzero(layout.unit == u)
    slot = layout.slot[:, subs] - entries[0]
    parameters = tuple(objective.model.parameters[i] for i in layout.parameter[entries])
    reference = float(surfaces.reference_ranges(objective)[subs].max())
    lower, upper = np.zeros(len(entries)), np.ones(len(entries))
    for k, p in enumerate(parameters):
        if p.transform != "simplex":
            ax = surfaces.axis(p, 2)
            shift = float(ax.shift(np.array([reference]))[0])
            lower[k], upper[k] = ax.lower + shift, ax.upper + shift
    return Problem(objective, subs, slot, parameters, entries, lower, upper), entries


def _starts(problem: Problem) -> Array:
    """Points to climb from, (m, D): from the surfaces of the sub-units if they have any, and a spread of points."""
    d = len(problem.parameters)
    spread = qmc.Sobol(d, scramble=True, rng=np.random.default_rng(20090101)).random(_SOBOL)
    z = np.empty((_SOBOL, d))
    for k, p in enumerate(problem.parameters):
        if p.transform == "simplex":
            z[:, k] = -np.log(spread[:, k] + 1e-12)
        else:
            shift = problem.lower[k] - surfaces.axis(p, 2).lower
            first, last = to_coordinate(p, np.array(p.span)) + shift
            z[:, k] = np.clip(first + spread[:, k] * (last - first), problem.lower[k], problem.upper[k])
    members = problem.simplex
    if members:
        z[:, members] /= z[:, members].sum(axis=1, keepdims=True)
    return np.concatenate([_surface_starts(problem), z])


def _surface_starts(problem: Problem) -> Array:
    """If one of two parameters is shared by all sub-units: peaks of the sum over sub-units of the profile over the other."""
    objective, d = problem.objective, len(problem.parameters)
    none = np.zeros((0, d))
    if len(objective.free) != 2 or problem.simplex:
        return none
    shared = [a for a, i in enumerate(objective.free) if len(np.unique(problem.slot[i])) == 1]
    if not shared:
        return none
    a = shared[0]
    base = surfaces.grid(objective)
    reference = np.full(len(base.reference), base.reference[problem.subs].max())
    grid = surfaces.Grid(objective, base.axes, reference)
    read = surfaces.read(grid, surfaces.Tables(grid), problem.subs)
    curve = read.profile[a].sum(axis=0)
    padded = np.concatenate([[-np.inf], curve, [-np.inf]])
    peaks = np.flatnonzero((curve >= padded[:-2]) & (curve >= padded[2:]))
    peaks = peaks[np.argsort(-curve[peaks])][:_STARTS]
    z = np.zeros((len(peaks), d))
    own, other = objective.free[a], objective.free[1 - a]
    shift = [float(ax.shift(reference[:1])[0]) for ax in grid.axes]
    for row, node in enumerate(peaks):
        z[row, problem.slot[own]] = grid.axes[a].nodes[node] + shift[a]
        z[row, problem.slot[other]] = grid.axes[1 - a].nodes[read.ridge[a][:, node]] + shift[1 - a]
    return np.clip(z, problem.lower, problem.upper)


def _solve_unit(problem: Problem, keys: Index, u: int, uniform: float, n: float, options: Options) -> Solved:
    starts = _starts(problem)
    order = np.argsort(-problem.values(starts), kind="stable")[:_STARTS]
    climbed = [_snap(problem, *problem.maximise(starts[i], options.optimizer)) for i in order]
    climbed.sort(key=lambda c: -c[1])
    z, value = climbed[0]
    fall = intervals.drop(options.interval)
    rivals = _distinct([c for c in climbed[1:] if c[1] >= value - fall], z)
    d = len(z)
    edge = (z <= problem.ends[:, 0] + 1e-7) | (z >= problem.ends[:, 1] - 1e-7)
    inside = np.isfinite(z) & ~edge
    ridge = _ridge(problem, starts, z, edge, n)
    nothing = value <= uniform + NOTHING
    low, high = np.full(d, np.nan), np.full(d, np.nan)
    spans = np.zeros(d, bool)
    for k in range(d):
        low[k], high[k], spans[k] = _ends(problem, z, value, k, fall, options)
    status = judge(
        edge=edge[:, None], spans=spans[:, None], ridge=ridge[:, None], nothing=np.array([nothing]), rivals=np.array([len(rivals) > 0])
    )[:, 0]
    natural = problem.natural(z)
    se = _errors(problem, z, inside & ~ridge, options.errors)
    capped = edge & np.isfinite(problem.ends[:, 1]) & (z >= problem.ends[:, 1] - 1e-7) & np.array([p.transform == "log" for p in problem.parameters])
    flag = lambda b: np.array([bool(b)])  # noqa: E731
    return Solved(
        unit=np.full(d, u),
        parameter=np.array([problem.objective.model.parameters.index(p) for p in problem.parameters]),
        key=keys,
        estimate=np.where(ridge | nothing, np.nan, natural),
        se=np.where(status == Status.FLAT, np.nan, se),
        low=low if options.intervals else np.full(d, np.nan),
        high=high if options.intervals else np.full(d, np.nan),
        status=status,
        value=np.array([value]),
        tried=np.array([len(starts)]),
        ridge=flag(ridge.any()),
        nothing=flag(nothing),
        jump=flag(False),
        gaps=flag(False),
        capped=flag(capped.any()),
        params=problem.params(z),
        rival_unit=np.full(len(rivals), u),
        rival_params=np.stack([problem.params(r[0])[:, 0] for r in rivals], axis=1) if rivals else np.zeros((len(problem.objective.fixed), 0)),
        rival_value=np.array([r[1] for r in rivals]),
    )


def _snap(problem: Problem, z: Array, value: float) -> tuple[Array, float]:
    """Move an entry to its infinite limit, or a share to zero, where that is as good."""
    z = z.copy()
    for k in range(len(z)):
        for limit in problem.ends[k]:
            if problem.parameters[k].transform == "simplex" or np.isfinite(limit):
                continue
            trial = z.copy()
            trial[k] = limit
            v = float(problem.values(trial[None])[0])
            if v >= value - 1e-7:
                z, value = trial, v
    return z, value


def _distinct(others: list[tuple[Array, float]], z: Array) -> list[tuple[Array, float]]:
    kept: list[tuple[Array, float]] = []
    for point, value in others:
        with np.errstate(invalid="ignore"):
            far = all(np.max(np.where(point == k, 0.0, np.abs(point - k))) > _APART for k in [z, *[p for p, _ in kept]])
        if far:
            kept.append((point, value))
    return kept


def _free_directions(problem: Problem, inside: Array) -> Array:
    """Orthonormal basis (D, r) of the directions in which the interior entries may move."""
    movable = np.flatnonzero(inside)
    basis = np.eye(len(inside))[:, movable]
    shares = np.array([k in problem.simplex for k in movable], dtype=float)
    if shares.any():
        _, _, rows = np.linalg.svd(shares[None])
        basis = basis @ rows[1:].T
    return basis


def _ridge(problem: Problem, starts: Array, z: Array, edge: Array, n: float) -> Array:
    """Entries that the unit's games cannot tell at all, or that do not matter at the optimum."""
    basis = _free_directions(problem, np.ones(len(z), bool))
    spots = starts[-5:]
    reduced = np.stack([basis.T @ problem.information(spot) @ basis for spot in spots])
    void = void_directions_of(basis, reduced)
    void &= ~edge.all()
    idle = np.isfinite(z) & ~edge & (np.diag(problem.information(z)) < 1e-12 * n)
    return np.asarray(void | idle)


def void_directions_of(basis: Array, reduced: Array) -> Array:
    """Entries that load on void directions, when only combinations in the columns of `basis` may move."""
    rotated = void_directions(reduced[..., None])[:, 0]
    return np.asarray((np.abs(basis[:, rotated]) > 1e-3).any(axis=1))


def _errors(problem: Problem, z: Array, inside: Array, kind: str) -> Array:
    basis = _free_directions(problem, inside)
    se = np.full(len(z), np.nan)
    if not basis.shape[1]:
        return se
    curvature = basis.T @ -problem.second(z) @ basis
    if not np.isfinite(curvature).all() or np.linalg.eigvalsh(curvature).min() <= 0:
        return se
    covariance = np.linalg.inv(curvature)
    if kind == "sandwich":
        covariance = covariance @ basis.T @ problem.second(z, "outer") @ basis @ covariance
    se = np.sqrt(np.diag(basis @ covariance @ basis.T)) * problem.slopes(z)
    return np.where(inside, se, np.nan)


def _ends(problem: Problem, z: Array, value: float, k: int, fall: float, options: Options) -> tuple[float, float, bool]:
    """Ends of the profile set of entry k in natural units, and whether it covers the whole range."""
    p = problem.parameters[k]
    natural = [np.nan, np.nan]
    open_ends = [False, False]
    for side, sign in ((0, -1), (1, 1)):
        limit = problem.ends[k, side]
        h = lambda at, warm: _held(problem, warm, k, at, options)  # noqa: E731
        if z[k] == limit or _held(problem, z, k, limit, options)[1] >= value - fall:
            open_ends[side] = True
            natural[side] = float(p.low if side == 0 else (p.high if p.transform != "log" else np.inf))
            continue
        if not options.intervals:
            continue
        wall = problem.lower[k] if side == 0 else problem.upper[k]
        inner = z[k] if np.isfinite(z[k]) else (problem.upper[k] if side == 0 else problem.lower[k])
        step, warm, outer = (0.05 if p.transform == "simplex" else 0.25), z, None
        for _ in range(30):
            trial = inner + sign * step
            trial = max(trial, wall) if side == 0 else min(trial, wall)
            point, v = h(trial, warm)
            if v < value - fall:
                outer = trial
                break
            inner, warm, step = trial, point, step * 1.7
            if trial == wall:
                break
        if outer is not None:
            for _ in range(18):
                middle = (inner + outer) / 2
                point, v = h(middle, warm)
                if v >= value - fall:
                    inner, warm = middle, point
                else:
                    outer = middle
                if abs(v - value + fall) < 1e-4 or abs(outer - inner) < 2e-5:
                    break
        natural[side] = float(inner if p.transform == "simplex" else from_coordinate(p, np.asarray(inner)))
    return natural[0], natural[1], all(open_ends)


def _held(problem: Problem, start: Array, k: int, at: float, options: Options) -> tuple[Array, float]:
    return problem.maximise(start, options.optimizer, (k, float(at)))
