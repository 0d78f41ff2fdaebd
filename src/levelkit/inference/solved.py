"""Fitting units whose likelihood has one or two free parameters: read the surface, refine, judge, bound."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace

import numpy as np

from levelkit.inference import intervals, optima, surfaces
from levelkit.inference.kernels import Array, Index
from levelkit.inference.likelihood import Likelihood, designs, take, uniform_loglik
from levelkit.inference.objective import Objective, from_coordinate, slope, to_coordinate
from levelkit.inference.status import Status, judge, void_directions
from levelkit.inference.surfaces import Grid

Progress = Callable[[int, int], None]

# No better than uniform play: the log-likelihoods agree to this.
NOTHING = 1e-6
_CHUNK = 4096

# Where, as shares of the parameters' spans, it is tried whether choices reveal them.
_SPOTS = ((0.35, 0.25), (0.55, 0.35), (0.7, 0.15), (0.45, 0.5), (0.6, 0.6))


@dataclass(frozen=True, eq=False)
class Solved:
    """Estimates of units, in the long form that both kinds of fit share.

    A slot is one free parameter of one unit: unit, parameter (index into the model's), key (which of the unit's
    sub-groups it belongs to, -1 for all); estimate, se, low, high (NaN where there is none), status. Slots are
    ordered by unit. Per unit: value (log-likelihood), tried (starting points refined), ridge, nothing, jump, gaps,
    capped (bool). params (P, subs): all parameters at the best optimum, whatever its status, of each sub-unit.
    variant (U,): which of the model's variants is best. rival_*: the other optima within the interval's drop: unit,
    params (P, r), value.
    """

    unit: Index
    parameter: Index
    key: Index
    estimate: Array
    se: Array
    low: Array
    high: Array
    status: Array
    value: Array
    tried: Index
    ridge: Array
    nothing: Array
    jump: Array
    gaps: Array
    capped: Array
    params: Array
    variant: Index
    rival_unit: Index
    rival_params: Array
    rival_value: Array


@dataclass(frozen=True)
class Options:
    """How a fit is carried out."""

    interval: float = 0.95
    intervals: bool = True
    errors: str = "observed"
    optimizer: str = "newton"
    rough: bool = False
    """Leave out what only the last digits and the errors need; for refits whose mean level alone is read."""


def solve(
    likelihood: Likelihood, fixed: dict[str, float], options: Options, progress: Progress | None = None
) -> Solved:
    """Fit every unit of a likelihood with at most two free parameters."""
    objective = bind(likelihood, fixed)
    n_units = len(likelihood.units)
    if not objective.free:
        return _nothing_free(objective, n_units)
    grid = surfaces.grid(objective)
    tables = surfaces.Tables(grid)
    sharp = optima.edge_grid(grid)
    edge = None if sharp is None else (sharp, surfaces.Tables(sharp))
    uniform = uniform_loglik(likelihood.units)
    parts = []
    for first in range(0, n_units, _CHUNK):
        unit = np.arange(first, min(first + _CHUNK, n_units))
        parts.append(_solve_chunk(grid, tables, edge, unit, uniform[unit], options))
        if progress is not None:
            progress(int(unit[-1]) + 1, n_units)
    return join(parts)


def bind(likelihood: Likelihood, fixed: dict[str, float]) -> Objective:
    """The objective with some parameters fixed at natural values."""
    names = [p.name for p in likelihood.model.parameters]
    free = tuple(i for i, name in enumerate(names) if name not in fixed)
    return Objective(likelihood, free, tuple(fixed.get(name, np.nan) for name in names))


def _solve_chunk(
    grid: Grid,
    tables: surfaces.Tables,
    edge: tuple[Grid, surfaces.Tables] | None,
    unit: Index,
    uniform: Array,
    options: Options,
) -> Solved:
    objective = grid.objective
    found, read = optima.find(grid, tables, edge, unit, not options.rough)
    best = found.best
    x, value = found.x[:, best], found.value[best]
    fall = intervals.drop(options.interval)
    m, size = len(unit), len(objective.free)
    nothing: Array = np.asarray(value <= uniform + NOTHING)
    edges, capped = at_ends(objective, x)
    past = grid.beyond(unit, x)
    edges |= past
    ridge = ridges(grid, unit, x, edges)
    target = (value - fall)[:, None]
    spans = np.stack([(p[:, [0, -1]] >= target).all(axis=1) for p in read.profile])
    near = found.value >= value[found.unit] - fall
    near[best] = False
    rivals: Array = np.asarray(np.bincount(found.unit[near], minlength=m) > 0)
    status: Array = judge(edge=edges, spans=spans, ridge=ridge, nothing=nothing, rivals=rivals)
    low, high = np.full(x.shape, np.nan), np.full(x.shape, np.nan)
    gaps: Array = np.zeros(m, bool)
    if options.intervals:
        ends = intervals.profile_ends(grid, read, unit, x, value, fall, (found.unit[near], found.x[:, near]))
        low, high = natural_ends(objective, ends.low, ends.high)
        gaps = np.asarray(ends.gaps.any(axis=0))
    estimate = np.stack([from_coordinate(p, row) for p, row in zip(objective.parameters, x, strict=True)])
    estimate = np.where(past, np.inf, estimate)
    # on a ridge, or where nothing beats uniform play, the point is where the search happened to stop
    estimate = np.where(ridge | nothing[None], np.nan, estimate)
    se = np.full(x.shape, np.nan)
    if not options.rough:
        se = standard_errors(objective, unit, x, edges | ridge, options.errors)
    slots = np.repeat(np.arange(m), size)
    return Solved(
        unit=unit[slots],
        parameter=np.tile(np.array(objective.free), m),
        key=np.full(m * size, -1),
        estimate=estimate.T.ravel(),
        se=np.where(status == 3, np.nan, se).T.ravel(),
        low=low.T.ravel(),
        high=high.T.ravel(),
        status=status.T.ravel(),
        value=value,
        tried=found.tried,
        ridge=np.asarray(ridge.any(axis=0)),
        nothing=nothing,
        jump=optima.at_jump(objective, unit, x, value),
        gaps=gaps,
        capped=np.asarray(capped.any(axis=0)),
        params=objective.params(x),
        variant=np.zeros(m, int),
        rival_unit=unit[found.unit[near]],
        rival_params=objective.params(found.x[:, near]),
        rival_value=found.value[near],
    )


def ridges(grid: Grid, unit: Index, x: Array, edges: Array) -> Array:
    """Parameters that the units' games cannot tell at all, or that do not matter at the optimum, (F, m)."""
    objective = grid.objective
    size = len(x)
    # what choices can reveal at all depends on the games and on who was observed, not on how often
    few, alike = designs(take(objective.likelihood.units, unit))
    first = unit[few]
    spots = np.array(_SPOTS)[:, :size]
    lower, upper = np.stack([to_coordinate(p, np.array(p.span)) for p in objective.parameters]).T
    shift = np.stack([a.shift(grid.reference[first]) for a in grid.axes])
    points = (lower + spots * (upper - lower))[:, :, None] + shift[None]
    flat = points.transpose(1, 0, 2).reshape(size, -1)
    information = objective.scores(np.tile(first, len(spots)), flat)[2]
    shaped = information.reshape(size, size, len(spots), len(first)).transpose(2, 0, 1, 3)
    # with everything at an end the optimum is a point of its own, whatever the ridge
    void = void_directions(shaped)[:, alike] & ~edges.all(axis=0)
    at_optimum = np.einsum("kkm->km", objective.scores(unit, x)[2])
    idle = np.isfinite(x) & (at_optimum < 1e-12 * np.maximum(_choices(objective, unit), 1.0))
    return np.asarray(void | idle)


def _choices(objective: Objective, unit: Index) -> Array:
    units = objective.likelihood.units
    per_row = units.counts[units.start[unit[0]] : units.start[unit[-1] + 1]].sum(axis=1)
    return np.asarray(np.add.reduceat(per_row, units.start[unit] - units.start[unit[0]]))


def at_ends(objective: Objective, x: Array) -> tuple[Array, Array]:
    """Whether each coordinate is at an end of its range, and whether that end is finite and not zero (a cap), (F,
    m).
    """
    at_end, at_cap = np.zeros(x.shape, bool), np.zeros(x.shape, bool)
    for k, p in enumerate(objective.parameters):
        low, high = to_coordinate(p, np.array([p.low, p.high]))
        at_end[k] = (x[k] <= low + 1e-9) | (x[k] >= high - 1e-9)
        at_cap[k] = np.isfinite(high) & (x[k] >= high - 1e-9)
    return at_end, at_cap


def natural_ends(objective: Objective, low: Array, high: Array) -> tuple[Array, Array]:
    """Interval ends in natural units; an end at the end of the range is that end, and a cap counts as no bound
    (infinity).
    """
    with np.errstate(over="ignore"):
        natural_low = np.stack([from_coordinate(p, row) for p, row in zip(objective.parameters, low, strict=True)])
        natural_high = np.stack([from_coordinate(p, row) for p, row in zip(objective.parameters, high, strict=True)])
    return natural_low, natural_high


def standard_errors(objective: Objective, unit: Index, x: Array, excluded: Array, kind: str) -> Array:
    """Standard errors in natural units (F, m): delta method from the coordinates; NaN where excluded or not concave.

    kind: "observed" (inverse of the observed information) or "sandwich" (robust to misspecification, choices
    independent). Parameters at an end of their range are held there.
    """
    size = len(x)
    inside = np.isfinite(x) & ~excluded
    second = np.moveaxis(objective.hessians(unit, x)[2], -1, 0).copy()
    blocked = ~inside.T
    second[blocked] = 0.0
    second = np.where(blocked[:, None, :], 0.0, second)
    idx = np.arange(size)
    second[:, idx, idx] = np.where(blocked, -1.0, second[:, idx, idx])
    usable = np.isfinite(second).all(axis=(1, 2))
    second[~usable] = -np.eye(size)
    usable &= np.linalg.eigvalsh(second).max(axis=1) < 0
    second[~usable] = -np.eye(size)
    covariance = np.linalg.inv(-second)
    if kind == "sandwich":
        middle = np.moveaxis(objective.outer_scores(unit, x), -1, 0)
        covariance = covariance @ np.where(blocked[:, :, None] | blocked[:, None, :], 0.0, middle) @ covariance
    variance = covariance[:, idx, idx].T
    slopes = np.stack([slope(p, from_coordinate(p, row)) for p, row in zip(objective.parameters, x, strict=True)])
    with np.errstate(invalid="ignore"):
        se = slopes * np.sqrt(variance)
    return np.where(inside & usable[None], se, np.nan)


def _nothing_free(objective: Objective, m: int) -> Solved:
    x = np.zeros((0, m))
    unit = np.arange(m)
    value = objective.value(unit, x)
    none, no = np.zeros(0), np.zeros(m, bool)
    where = np.zeros(0, int)
    return Solved(
        where, where, where, none, none, none, none, none.astype(np.int8), value, np.zeros(m, int), no, no, no, no, no,
        objective.params(x), np.zeros(m, int), where, np.zeros((len(objective.fixed), 0)), none,
    )  # fmt: skip


def join(parts: list[Solved]) -> Solved:
    """Put the results for several runs of units together."""
    if len(parts) == 1:
        return parts[0]
    return Solved(**{f.name: np.concatenate([getattr(p, f.name) for p in parts], axis=-1) for f in fields(Solved)})


def best_of(parts: list[Solved], fall: float, owner_of_sub: Index | None = None) -> Solved:
    """The best of several variants' fits of the same units; optima of the others within `fall` are rivals.

    owner_of_sub: the unit of each column of `params`, where units have several.
    """
    if len(parts) == 1:
        return parts[0]
    values = np.stack([p.value for p in parts])
    variant = values.argmax(axis=0)
    n_units = values.shape[1]
    slot_of = [np.flatnonzero(variant[p.unit] == v) for v, p in enumerate(parts)]
    order = np.argsort(np.concatenate([p.unit[s] for p, s in zip(parts, slot_of, strict=True)]), kind="stable")
    slots = ("unit", "parameter", "key", "estimate", "se", "low", "high", "status")
    chosen: dict[str, Array] = {
        name: np.concatenate([getattr(p, name)[s] for p, s in zip(parts, slot_of, strict=True)])[order]
        for name in slots
    }
    for name in ("value", "ridge", "nothing", "jump", "gaps", "capped"):
        chosen[name] = np.stack([getattr(p, name) for p in parts])[variant, np.arange(n_units)]
    subs = np.arange(n_units) if owner_of_sub is None else owner_of_sub
    first = np.unique(subs, return_index=True)[1]
    chosen["params"] = np.stack([p.params for p in parts])[variant[subs], :, np.arange(len(subs))].T
    chosen["tried"] = np.sum([p.tried for p in parts], axis=0)
    owner = np.concatenate([np.tile(np.arange(n_units), len(parts)), *[p.rival_unit for p in parts]])
    points = np.concatenate([*[p.params[:, first] for p in parts], *[p.rival_params for p in parts]], axis=1)
    height = np.concatenate([values.ravel(), *[p.rival_value for p in parts]])
    kept: list[int] = []
    seen: dict[int, list[Array]] = {u: [chosen["params"][:, first[u]]] for u in range(n_units)}
    for j in np.argsort(-height, kind="stable"):
        u = int(owner[j])
        if height[j] < chosen["value"][u] - fall:
            continue
        if not any(np.allclose(points[:, j], other, rtol=1e-3, atol=1e-9) for other in seen[u]):
            seen[u].append(points[:, j])
            kept.append(int(j))
    chosen["rival_unit"], chosen["rival_params"], chosen["rival_value"] = owner[kept], points[:, kept], height[kept]
    several = np.bincount(owner[kept], minlength=n_units)[chosen["unit"]] > 0
    chosen["status"] = np.where(several & (chosen["status"] == Status.OK), Status.MULTIMODAL, chosen["status"]).astype(
        np.int8
    )
    return Solved(**chosen, variant=variant)


def scattered(part: Solved, which: Index, n_units: int) -> Solved:
    """A fit of some units as one of all, where the others have a likelihood of zero (log: minus infinity)."""
    changed: dict[str, Array] = {"unit": which[part.unit], "rival_unit": which[part.rival_unit]}
    for name in ("value", "tried", "ridge", "nothing", "jump", "gaps", "capped", "variant", "params"):
        own = getattr(part, name)
        full = np.full((*own.shape[:-1], n_units), -np.inf if name == "value" else 0, dtype=own.dtype)
        full[..., which] = own
        changed[name] = full
    return replace(part, **changed)
