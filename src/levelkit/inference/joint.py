"""Fitting units one at a time: models with more than two free parameters, and parameters shared across sub-groups.

Each unit has one vector z of free parameters. A sub-unit (say one game of one LLM) uses some of its entries; the
log-likelihood is the sum over sub-units. Many starting points climb at once; so do the two ends of every entry's
profile interval.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import expit, logit, softmax
from scipy.stats import qmc

from levelkit.inference import intervals, optimize, surfaces
from levelkit.inference.kernels import Array, Index
from levelkit.inference.likelihood import Likelihood, sample_size, uniform_loglik
from levelkit.inference.objective import Objective, bend, from_coordinate, slope, to_coordinate
from levelkit.inference.solved import NOTHING, Options, Progress, Solved, bind, join
from levelkit.inference.status import Status, judge, void_directions
from levelkit.models.base import Parameter

_STARTS = 10
_SOBOL = 64
_APART = 0.02
# Shares below this are zero; logits and logs of shares do not go beyond +-_FAR.
_NIL = 1e-7
_FAR = 30.0


@dataclass(frozen=True, eq=False)
class Layout:
    """Which entry of its unit's vector each sub-unit uses.

    owner (S,): unit of each sub-unit. parameter (Z,), unit (Z,), key (Z,): what each entry is, over all units,
    ordered by unit. slot (P, S): the entry that gives a parameter of a sub-unit; -1 where it is fixed.
    """

    owner: Index
    parameter: Index
    unit: Index
    key: Index
    slot: Index


@dataclass(frozen=True, eq=False)
class Problem:
    """One unit: its log-likelihood at many vectors z (D, m) at once.

    Entries are search coordinates. Shares are coded around a pivot, one of them: its logit, and logs of how the
    others divide the rest; so any one share can be held. Where a method takes `pivot` (m,), it is an entry number
    (ignored if there are no shares).
    """

    objective: Objective
    subs: Index
    slot: Index
    parameters: tuple[Parameter, ...]
    lower: Array
    upper: Array

    @cached_property
    def simplex(self) -> Index:
        """Entries that are shares and sum to one."""
        return np.flatnonzero([p.transform == "simplex" for p in self.parameters])

    @cached_property
    def ends(self) -> Array:
        """The ends of each entry's range in coordinates, (D, 2)."""
        far = (-np.inf, np.inf)
        rows = [
            far if p.transform == "simplex" else tuple(to_coordinate(p, np.array([p.low, p.high])))
            for p in self.parameters
        ]
        return np.array(rows, float)

    def natural(self, z: Array, pivot: Index) -> Array:
        """Natural values of the entries, (D, m)."""
        out = np.stack(
            [
                from_coordinate(p, row) if p.transform != "simplex" else row
                for p, row in zip(self.parameters, z, strict=True)
            ]
        )
        if self.simplex.size:
            out[self.simplex] = _shares(z[self.simplex], pivot - self.simplex[0])
        return out

    def coordinates(self, natural: Array, pivot: Index) -> Array:
        """The inverse of `natural`, (D, m)."""
        out = natural.copy()
        for k, p in enumerate(self.parameters):
            if p.transform != "simplex":
                out[k] = to_coordinate(p, natural[k])
        if self.simplex.size:
            with np.errstate(divide="ignore"):
                out[self.simplex] = np.maximum(np.log(natural[self.simplex]), -_FAR)
            here = np.arange(z_count(natural))
            out[pivot, here] = np.clip(logit(natural[pivot, here]), -_FAR, _FAR)
        return out

    def params(self, natural: Array) -> Array:
        """All parameters of the sub-units at m points, (P, S * m), points slowest."""
        s, m = len(self.subs), z_count(natural)
        theta = np.repeat(np.array(self.objective.fixed, float)[:, None], s * m, axis=1)
        for i in self.objective.free:
            theta[i] = natural[self.slot[i]].T.ravel()
        return theta

    def value(self, pivot: Index, z: Array) -> Array:
        """Log-likelihood, (m,)."""
        return self.value_at(self.natural(z, pivot))

    def value_at(self, natural: Array) -> Array:
        """Log-likelihood at natural values (D, m), (m,)."""
        m = z_count(natural)
        value = self.objective.likelihood.value(np.tile(self.subs, m), self.params(natural))
        return np.asarray(value.reshape(m, -1).sum(axis=1))

    def scores(self, pivot: Index, z: Array, held: Array | None = None) -> tuple[Array, Array, Array]:
        """Value (m,), gradient (D, m), expected information (D, D, m) in the coordinates; zero for held entries."""
        natural = self.natural(z, pivot)
        m = z_count(z)
        theta = self.params(natural)
        value, gradient, information = self.objective.likelihood.scores(
            np.tile(self.subs, m), theta, self._seeds(theta)
        )
        total = value.reshape(m, -1).sum(axis=1)
        g, info = self._gather(gradient, m), self._gather2(information, m)
        if self.simplex.size:
            g, info = self._chain(z, pivot, g, info)
        if held is not None:
            g = np.where(held, 0.0, g)
            info = np.where(held[:, None] | held[None], 0.0, info)
        return total, g, info

    def hessians(self, pivot: Index, z: Array, held: Array | None = None) -> tuple[Array, Array, Array]:
        """As scores, with second derivatives; with shares these are differences of the exact gradient."""
        if self.simplex.size:
            return self._differences(pivot, z, held)
        natural = self.natural(z, pivot)
        m = z_count(z)
        theta = self.params(natural)
        value, gradient, second = self.objective.likelihood.hessians(np.tile(self.subs, m), theta, self._seeds(theta))
        g, h = self._gather(gradient, m), self._gather2(second, m)
        for k, p in enumerate(self.parameters):
            if p.transform != "simplex":
                h[k, k] += g[k] * bend(p, np.where(np.isfinite(natural[k]), natural[k], 0.0))
        if held is not None:
            g = np.where(held, 0.0, g)
            h = np.where(held[:, None] | held[None], 0.0, h)
        return value.reshape(m, -1).sum(axis=1), g, h

    def _differences(self, pivot: Index, z: Array, held: Array | None) -> tuple[Array, Array, Array]:
        value, g, _ = self.scores(pivot, z, held)
        d, m = z.shape
        step = 1e-5
        moved = np.repeat(z[:, None, :], 2 * d, axis=1)
        for k in range(d):
            moved[k, k] += step
            moved[k, d + k] -= step
        flat_held = None if held is None else np.repeat(held[:, None, :], 2 * d, axis=1).reshape(d, -1)
        gradients = self.scores(np.tile(pivot, 2 * d), moved.reshape(d, -1), flat_held)[1].reshape(d, 2 * d, m)
        second = (gradients[:, :d] - gradients[:, d:]) / (2 * step)
        second = np.where(np.isfinite(z)[None], second, 0.0)
        return value, g, (second + second.transpose(1, 0, 2)) / 2

    def outer(self, natural: Array) -> Array:
        """Sum of outer products of scores at one point (D,), by entry; shares in natural units, the others in
        coordinates.
        """
        theta = self.params(natural[:, None])
        return self._gather2(self.objective.likelihood.outer_scores(self.subs, theta, self._seeds(theta)), 1)[..., 0]

    def _seeds(self, theta: Array) -> Array:
        seeds = np.zeros_like(theta)
        for i in self.objective.free:
            p = self.objective.model.parameters[i]
            seeds[i] = 1.0 if p.transform == "simplex" else slope(p, theta[i])
        return seeds

    def _gather(self, gradient: Array, m: int) -> Array:
        out = np.zeros((len(self.parameters), m))
        for i in self.objective.free:
            np.add.at(out, self.slot[i], gradient[i].reshape(m, -1).T)
        return out

    def _gather2(self, second: Array, m: int) -> Array:
        out = np.zeros((len(self.parameters),) * 2 + (m,))
        for i in self.objective.free:
            for j in self.objective.free:
                np.add.at(out, (self.slot[i], self.slot[j]), second[i, j].reshape(m, -1).T)
        return out

    def _chain(self, z: Array, pivot: Index, g: Array, info: Array) -> tuple[Array, Array]:
        """From derivatives in natural shares to derivatives in their coordinates."""
        s = self.simplex
        d, m = z.shape
        jacobian = np.repeat(np.eye(d)[:, :, None], m, axis=2)
        jacobian[np.ix_(s, s)] = _share_slopes(z[s], pivot - s[0])
        return np.einsum("jkm,jm->km", jacobian, g), np.einsum("jkm,jlm,lnm->knm", jacobian, info, jacobian)


def z_count(z: Array) -> int:
    """Number of points in (D, m)."""
    return int(z.shape[1])


def _split(z: Array, pivot: Index) -> tuple[Array, Array]:
    """The pivot's share (m,) and how the rest is divided (D, m), zero at the pivot."""
    here = np.arange(z.shape[1])
    rest = z.copy()
    rest[pivot, here] = -np.inf
    return expit(z[pivot, here]), softmax(rest, axis=0)


def _shares(z: Array, pivot: Index) -> Array:
    own, rest = _split(z, pivot)
    shares = (1 - own) * rest
    shares[pivot, np.arange(z.shape[1])] = own
    return shares


def _share_slopes(z: Array, pivot: Index) -> Array:
    """d share_j / d z_k, (D, D, m)."""
    own, rest = _split(z, pivot)
    size, m = z.shape
    here = np.arange(m)
    out = (1 - own) * (rest[:, None] * np.eye(size)[:, :, None] - rest[:, None] * rest[None])
    steep = own * (1 - own)
    out[:, pivot, here] = -steep * rest
    out[pivot, :, here] = 0.0
    out[pivot, pivot, here] = steep
    return np.asarray(out)


def solve(
    likelihood: Likelihood,
    layout: Layout,
    fixed: dict[str, float],
    options: Options,
    progress: Progress | None = None,
) -> Solved:
    """Fit every unit; `likelihood` is over sub-units."""
    objective = bind(likelihood, fixed)
    n_units = int(layout.owner.max()) + 1
    uniform = np.bincount(layout.owner, uniform_loglik(likelihood.units), minlength=n_units)
    totals = sample_size(likelihood.units)
    parts = []
    for u in range(n_units):
        problem, entries = _problem(objective, layout, u)
        n = float(totals[layout.owner == u].sum())
        parts.append(
            _solve_unit(problem, layout.parameter[entries], layout.key[entries], u, float(uniform[u]), n, options)
        )
        if progress is not None:
            progress(u + 1, n_units)
    return join(parts)


def _problem(objective: Objective, layout: Layout, u: int) -> tuple[Problem, Index]:
    subs = np.flatnonzero(layout.owner == u)
    entries = np.flatnonzero(layout.unit == u)
    slot = layout.slot[:, subs] - entries[0]
    parameters = tuple(objective.model.parameters[i] for i in layout.parameter[entries])
    reference = float(surfaces.largest_ranges(objective.likelihood)[subs].max())
    lower, upper = np.full(len(entries), -_FAR), np.full(len(entries), _FAR)
    for k, p in enumerate(parameters):
        if p.transform != "simplex":
            ax = surfaces.axis(p, 2)
            shift = float(ax.shift(np.array([reference]))[0])
            lower[k], upper[k] = ax.lower + shift, ax.upper + shift
    return Problem(objective, subs, slot, parameters, lower, upper), entries


def _starts(problem: Problem) -> Array:
    """Points to climb from, (D, m): peaks of the sub-units' surfaces if they have any, and a spread of points over
    the spans.
    """
    d = len(problem.parameters)
    spread = qmc.Sobol(d, scramble=True, rng=np.random.default_rng(2009)).random(_SOBOL).T
    z = np.empty((d, _SOBOL))
    for k, p in enumerate(problem.parameters):
        if p.transform == "simplex":
            z[k] = np.log(-np.log(spread[k] + 1e-12) + 1e-12)
        else:
            shift = problem.lower[k] - surfaces.axis(p, 2).lower
            first, last = to_coordinate(p, np.array(p.span)) + shift
            z[k] = np.clip(first + spread[k] * (last - first), problem.lower[k], problem.upper[k])
    return np.concatenate([_surface_starts(problem), z], axis=1)


def _shared_surfaces(problem: Problem) -> tuple[int, surfaces.Grid, surfaces.Surfaces] | None:
    """If one of two parameters is shared by all sub-units: which, and the sub-units' surfaces on a common grid."""
    objective = problem.objective
    if len(objective.free) != 2 or problem.simplex.size:
        return None
    shared = [a for a, i in enumerate(objective.free) if len(np.unique(problem.slot[i])) == 1]
    if not shared:
        return None
    base = surfaces.grid(objective)
    grid = surfaces.Grid(objective, base.axes, np.full(len(base.reference), base.reference[problem.subs].max()))
    return shared[0], grid, surfaces.read(grid, surfaces.Tables(grid), problem.subs)


def _surface_starts(problem: Problem) -> Array:
    """Peaks, along the shared parameter, of the sum over sub-units of the profile over the other, (D, m)."""
    found = _shared_surfaces(problem)
    if found is None:
        return np.zeros((len(problem.parameters), 0))
    a, grid, read = found
    curve = read.profile[a].sum(axis=0)
    padded = np.concatenate([[-np.inf], curve, [-np.inf]])
    peaks = np.flatnonzero((curve >= padded[:-2]) & (curve >= padded[2:]))
    return _on_ridge(problem, a, grid, read, peaks[np.argsort(-curve[peaks], kind="stable")][:_STARTS])


def _on_ridge(problem: Problem, a: int, grid: surfaces.Grid, read: surfaces.Surfaces, nodes: Index) -> Array:
    """Vectors with the shared parameter at given nodes and every sub-unit's other parameter where it fits best
    there.
    """
    z = np.zeros((len(problem.parameters), len(nodes)))
    own, other = problem.objective.free[a], problem.objective.free[1 - a]
    shift = [float(ax.shift(grid.reference[:1])[0]) for ax in grid.axes]
    for column, node in enumerate(nodes):
        z[problem.slot[own], column] = grid.axes[a].nodes[node] + shift[a]
        z[problem.slot[other], column] = grid.axes[1 - a].nodes[read.ridge[a][:, node]] + shift[1 - a]
    return np.clip(z, problem.lower[:, None], problem.upper[:, None])


def _shared_ridge(problem: Problem) -> Callable[[Index, Array, Array], Array] | None:
    """A start for profiles of the shared parameter: given entries and values, the ridge at the nearest node."""
    found = _shared_surfaces(problem)
    if found is None:
        return None
    a, grid, read = found
    own = int(problem.slot[problem.objective.free[a]][0])
    nodes = grid.axes[a].nodes + float(grid.axes[a].shift(grid.reference[:1])[0])

    def start(entry: Index, at: Array, otherwise: Array) -> Array:
        with np.errstate(invalid="ignore"):
            nearest = np.nan_to_num(np.abs(nodes[None] - np.clip(at, -1e3, 1e3)[:, None]), nan=np.inf).argmin(axis=1)
        return np.where((entry == own)[None], _on_ridge(problem, a, grid, read, nearest), otherwise)

    return start


def _climb(
    problem: Problem, pivot: Index, z: Array, held: Array | None, options: Options, steps: int = 80
) -> tuple[Array, Array]:
    m = z_count(z)
    lower, upper = np.repeat(problem.lower[:, None], m, axis=1), np.repeat(problem.upper[:, None], m, axis=1)
    if options.optimizer == "newton":
        z, value = optimize.climb(problem, pivot, z, lower, upper, held, steps)
        return optimize.polish(problem, pivot, z, value, lower, upper, held, steps)
    return optimize.one_by_one(problem, pivot, z, lower, upper, held, options.optimizer)


def _solve_unit(
    problem: Problem, parameter: Index, keys: Index, u: int, uniform: float, n: float, options: Options
) -> Solved:
    starts = _starts(problem)
    first = int(problem.simplex[0]) if problem.simplex.size else 0
    pivots = np.full(z_count(starts), first)
    order = np.argsort(-problem.value(pivots, starts), kind="stable")[:_STARTS]
    z, value = _climb(problem, pivots[order], starts[:, order], None, options)
    natural, value = _snap(problem, problem.natural(z, pivots[order]), value)
    rank = np.argsort(-value, kind="stable")
    natural, value = natural[:, rank], value[rank]
    fall = intervals.drop(options.interval)
    rivals = _distinct(problem, natural, value, fall)
    best, top, d = natural[:, 0], float(value[0]), len(natural)
    low_end, high_end = (np.array([getattr(p, side) for p in problem.parameters]) for side in ("low", "high"))
    edge = (best <= low_end + _NIL) | (best >= high_end * (1 - 1e-9))
    ridge = _ridge(problem, starts[:, -5:], best, edge, n)
    nothing = top <= uniform + NOTHING
    low, high, spans = _profile_ends(problem, best, top, fall, options)
    status = judge(
        edge=edge[:, None],
        spans=spans[:, None],
        ridge=ridge[:, None],
        nothing=np.array([nothing]),
        rivals=np.array([rivals.size > 0]),
    )[:, 0]
    capped = edge & np.isfinite(high_end) & (best >= high_end * (1 - 1e-9)) & (high_end > 1)
    flag = lambda b: np.array([bool(b)])  # noqa: E731
    subs = problem.params(natural[:, :1])
    return Solved(
        unit=np.full(d, u),
        parameter=parameter,
        key=keys,
        estimate=np.where(ridge | nothing, np.nan, best),
        se=np.where(status == Status.FLAT, np.nan, _errors(problem, best, ~edge & ~ridge, options.errors)),
        low=low,
        high=high,
        status=status,
        value=value[:1],
        tried=np.array([z_count(starts)]),
        ridge=flag(ridge.any()),
        nothing=flag(nothing),
        jump=flag(False),
        gaps=flag(False),
        capped=flag(capped.any()),
        params=subs,
        variant=np.zeros(1, int),
        rival_unit=np.full(rivals.size, u),
        rival_params=problem.params(natural[:, rivals])[:, :: len(problem.subs)]
        if rivals.size
        else np.zeros((len(subs), 0)),
        rival_value=value[rivals],
    )


def _snap(problem: Problem, natural: Array, value: Array) -> tuple[Array, Array]:
    """Move an entry to its limit, or a tiny share to zero, where that is as good."""
    natural, value = natural.copy(), value.copy()
    for k, p in enumerate(problem.parameters):
        limits = (
            (0.0,) if p.transform == "simplex" else tuple(v for v in (p.low, p.high) if v in (0.0, 1.0) or np.isinf(v))
        )
        for limit in limits:
            trial = natural.copy()
            trial[k] = limit
            if p.transform == "simplex":
                trial[problem.simplex] /= np.maximum(trial[problem.simplex].sum(axis=0), 1e-300)
            v = problem.value_at(trial)
            won = v >= value - 1e-7
            natural[:, won], value[won] = trial[:, won], v[won]
    return natural, value


def _distinct(problem: Problem, natural: Array, value: Array, fall: float) -> Index:
    """Points within the drop of the best one that are elsewhere, best first."""
    scaled = natural.copy()
    for k, p in enumerate(problem.parameters):
        if p.transform == "log":
            with np.errstate(divide="ignore"):
                scaled[k] = np.log(natural[k])
    kept = [0]
    for j in range(1, len(value)):
        if value[j] < value[0] - fall:
            break
        with np.errstate(invalid="ignore"):
            gaps = [
                np.where(scaled[:, j] == scaled[:, i], 0.0, np.abs(scaled[:, j] - scaled[:, i])).max() for i in kept
            ]
        if min(gaps) > _APART:
            kept.append(j)
    return np.array(kept[1:], int)


def _directions(problem: Problem, inside: Array) -> Array:
    """Orthonormal basis (D, r) of the directions in which the entries marked may move, shares summing to one."""
    movable = np.flatnonzero(inside)
    basis = np.eye(len(inside))[:, movable]
    shares = np.isin(movable, problem.simplex).astype(float)
    if shares.any():
        basis = basis @ np.linalg.svd(shares[None])[2][1:].T
    return basis


def _ridge(problem: Problem, spots: Array, best: Array, edge: Array, n: float) -> Array:
    """Entries that the unit's games cannot tell at all, or that do not matter at the optimum."""
    first = int(problem.simplex[0]) if problem.simplex.size else 0
    here = problem.natural(spots, np.full(z_count(spots), first))
    basis = _directions(problem, np.ones(len(best), bool))
    reduced = np.stack([basis.T @ _natural_information(problem, point) @ basis for point in here.T])
    rotated = void_directions(reduced[..., None])[:, 0]
    void = (np.abs(basis[:, rotated]) > 1e-3).any(axis=1) & ~edge.all()
    idle = ~edge & (np.diag(_natural_information(problem, best)) < 1e-12 * n)
    return np.asarray(void | idle)


def _natural_information(problem: Problem, natural: Array) -> Array:
    """Expected information at one point; shares in natural units, the others in coordinates, (D, D)."""
    theta = problem.params(natural[:, None])
    information = problem.objective.likelihood.scores(problem.subs, theta, problem._seeds(theta))[2]
    return problem._gather2(information, 1)[..., 0]


def _errors(problem: Problem, best: Array, inside: Array, kind: str) -> Array:
    """Standard errors in natural units, (D,)."""
    basis = _directions(problem, inside)
    none = np.full(len(best), np.nan)
    if not basis.shape[1]:
        return none
    pivot = np.array([int(problem.simplex[0]) if problem.simplex.size else 0])
    z = problem.coordinates(best[:, None], pivot)
    curvature = -(basis.T @ _second(problem, best, z) @ basis)
    if not np.isfinite(curvature).all() or np.linalg.eigvalsh(curvature).min() <= 0:
        return none
    covariance = np.linalg.inv(curvature)
    if kind == "sandwich":
        covariance = covariance @ basis.T @ problem.outer(best) @ basis @ covariance
    slopes = np.array(
        [1.0 if p.transform == "simplex" else float(slope(p, v)) for p, v in zip(problem.parameters, best, strict=True)]
    )
    se = np.sqrt(np.diag(basis @ covariance @ basis.T)) * slopes
    return np.where(inside, se, np.nan)


def _second(problem: Problem, best: Array, z: Array) -> Array:
    theta = problem.params(best[:, None])
    _, gradient, second = problem.objective.likelihood.hessians(problem.subs, theta, problem._seeds(theta))
    total, g = problem._gather2(second, 1)[..., 0], problem._gather(gradient, 1)[:, 0]
    for k, p in enumerate(problem.parameters):
        if p.transform != "simplex" and np.isfinite(z[k, 0]):
            total[k, k] += g[k] * float(bend(p, best[k]))
    return total


def _profile_ends(
    problem: Problem, best: Array, top: float, fall: float, options: Options
) -> tuple[Array, Array, Array]:
    """Ends of every entry's profile set in natural units (D,), and whether it covers the whole range; all ends at
    once.
    """
    d = len(best)
    entry, side = np.repeat(np.arange(d), 2), np.tile([0, 1], d)
    sign = np.where(side == 1, 1.0, -1.0)
    pivot = np.where(np.isin(entry, problem.simplex), entry, problem.simplex[0] if problem.simplex.size else 0)
    warm = problem.coordinates(np.repeat(best[:, None], 2 * d, axis=1), pivot)
    here = np.arange(2 * d)
    lower, upper = problem.lower[entry], problem.upper[entry]
    limit = problem.ends[entry, side]

    ridge = _shared_ridge(problem)

    def held_at(which: Index, at: Array) -> Array:
        m = len(which)
        last = warm[:, which]
        # the same point with nothing left at a limit, and for a shared parameter the best the sub-units can do near
        # there
        freed = np.clip(last, problem.lower[:, None], problem.upper[:, None])
        tried = [last, freed] if ridge is None else [last, freed, ridge(entry[which], at, freed)]
        z = np.concatenate(tried, axis=1)
        held = np.zeros(z.shape, bool)
        row, column = np.tile(entry[which], len(tried)), np.arange(z.shape[1])
        z[row, column], held[row, column] = np.tile(at, len(tried)), True
        z, v = _climb(problem, np.tile(pivot[which], len(tried)), z, held, options, 30)
        best_of = v.reshape(len(tried), m).argmax(axis=0) * m + np.arange(m)
        z, v = z[:, best_of], v[best_of]
        # only points inside the set are followed: outside another mode may have taken over
        keep = np.isfinite(at) & (v >= top - fall)
        warm[:, which[keep]] = z[:, keep]
        return v - (top - fall)

    at_limit = warm[entry, here] == limit
    at_limit |= (
        (side == 1)
        & np.isfinite(limit)
        & (best[entry] >= np.array([problem.parameters[k].high for k in entry]) * (1 - 1e-9))
    )
    todo = np.flatnonzero(~at_limit)
    before = warm.copy()
    open_end = at_limit.copy()
    open_end[todo] = held_at(todo, limit[todo]) >= 0
    warm[:] = before
    inner = np.clip(warm[entry, here], lower, upper)
    outer = np.full(2 * d, np.nan)
    spans = open_end.reshape(d, 2).all(axis=1)
    low_high = np.full((2, d), np.nan)
    if options.intervals:
        todo, step = np.flatnonzero(~open_end), np.full(2 * d, 0.25)
        for _ in range(40):
            if not todo.size:
                break
            trial = np.clip(inner[todo] + sign[todo] * step[todo], lower[todo], upper[todo])
            h = held_at(todo, trial)
            inside = h >= 0
            walls = inside & (trial == np.where(side[todo] == 0, lower[todo], upper[todo]))
            inner[todo[inside]] = trial[inside]
            outer[todo[~inside]] = trial[~inside]
            step[todo] *= 1.7
            todo = todo[inside & ~walls]
        todo = np.flatnonzero(~open_end & np.isfinite(outer))
        for _ in range(20):
            if not todo.size:
                break
            middle = (inner[todo] + outer[todo]) / 2
            h = held_at(todo, middle)
            inner[todo[h >= 0]], outer[todo[h < 0]] = middle[h >= 0], middle[h < 0]
            todo = todo[(np.abs(h) > 1e-4) & (np.abs(outer[todo] - inner[todo]) > 2e-5)]
        for j in here:
            p = problem.parameters[entry[j]]
            if open_end[j]:
                end = p.low if side[j] == 0 else (np.inf if p.transform == "log" else p.high)
            else:
                end = float(expit(inner[j]) if p.transform == "simplex" else from_coordinate(p, inner[j]))
            low_high[side[j], entry[j]] = end
    return low_high[0], low_high[1], spans
