"""Fitting very many replicates of a few units: a search on a coarser grid, and Newton steps from its best peaks.

Replicates share their games, so one table of log-probabilities serves all of them. Replicates with equal counts are
fitted once. What a full fit does beyond this (six more peaks, thin ridges beside infinite precision) moves few
replicates by little; `benchmarks/bootstrap.py` measures how many.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from levelkit.inference import intervals, optima, optimize, solved, surfaces
from levelkit.inference.kernels import Array, Index
from levelkit.inference.likelihood import Likelihood, distinct, uniform_loglik
from levelkit.inference.objective import from_coordinate
from levelkit.inference.status import judge
from levelkit.inference.surfaces import Grid, Surfaces, Tables

POINTS = (30, 40)
"""Nodes along tau and precision inside their spans where both are free; limits and tails come on top."""

_PEAKS = 3
# Peaks of the grid so far (in log units) below its highest are not climbed; the grid misses its own peak by less.
_BELOW = 1.0
# Peaks of the grid farther than this (in logs) from the best optimum belong to another hill.
_ELSEWHERE = 0.3
# A point from which a Newton step promises more than this is on its way along a ridge, and no optimum.
_STILL_RISING = 1e-4
_STEPS = 12
_CHUNK = 8192


@dataclass(frozen=True, eq=False)
class Refits:
    """Maximum-likelihood fits of m units: estimate and status (F, m), value (m,), params (P, m).

    estimate: infinity or 0 at a limit, NaN where the data do not tell. params: all parameters at the optimum found.
    """

    estimate: Array
    status: Array
    value: Array
    params: Array


def refit(likelihood: Likelihood, fixed: dict[str, float], interval: float = 0.95) -> Refits:
    """Fit every unit of a likelihood with one or two free parameters; units with equal games and counts once."""
    few, code = distinct(likelihood.units)
    once = Likelihood(likelihood.model, few, likelihood.scale)
    objective = solved.bind(once, fixed)
    grid = surfaces.grid(objective, POINTS if len(objective.free) == 2 else None)
    sharp = optima.edge_grid(grid)
    edge = None if sharp is None else (sharp, Tables(sharp))
    tables, uniform = Tables(grid), uniform_loglik(few)
    parts = [
        _chunk(grid, tables, edge, unit, uniform[unit], intervals.drop(interval))
        for unit in np.array_split(np.arange(len(few)), -(-len(few) // _CHUNK))
    ]
    merged = (np.concatenate(p, axis=-1)[..., code] for p in zip(*parts, strict=True))
    return Refits(*merged)


def _chunk(
    grid: Grid, tables: Tables, edge: tuple[Grid, Tables] | None, unit: Index, uniform: Array, fall: float
) -> tuple[Array, Array, Array, Array]:
    objective, m = grid.objective, len(unit)
    read = surfaces.read(grid, tables, unit)
    near = read.heights[:, :_PEAKS] >= read.heights[:, :1] - _BELOW
    here, peak = np.nonzero(near)
    x = grid.at(read.peaks[here, peak], grid.reference[unit[here]])
    jumpy = optima.sharp(objective, x)
    if edge is not None:  # infinite precision has a finer grid of its own
        here, x, jumpy = here[~jumpy], x[:, ~jumpy], jumpy[~jumpy]
    value = objective.value(unit[here], x)
    x, value = _climbed(grid, unit[here], x, value, jumpy)
    if edge is not None:
        best = np.full(m, -np.inf)
        np.maximum.at(best, here, value)
        edge_here, edge_x, edge_value = _edge(grid, edge, unit, best)
        near_here, near_x = optima.beside_edge(grid, unit, edge_here, edge_x)
        start = objective.value(unit[near_here], near_x)
        near_x, near_value = _climbed(grid, unit[near_here], near_x, start, np.zeros(len(near_here), bool))
        here = np.concatenate([here, edge_here, near_here])
        x = np.concatenate([x, edge_x, near_x], axis=1)
        value = np.concatenate([value, edge_value, near_value])
    order = np.lexsort((-value, here))
    first = order[np.searchsorted(here[order], np.arange(m))]
    x_best, top = x[:, first], value[first]
    x_best, top = optima.snap(grid, unit, x_best, top)
    rivals = _rivals(grid, unit, read, here, x, value, x_best, top - fall)
    edges = solved.at_ends(objective, x_best)[0]
    past = grid.beyond(unit, x_best)
    nothing = top <= uniform + solved.NOTHING
    ridge = solved.ridges(grid, unit, x_best, edges | past)
    spans = np.stack([(p[:, [0, -1]] >= (top - fall)[:, None]).all(axis=1) for p in read.profile])
    status = judge(edge=edges | past, spans=spans, ridge=ridge, nothing=nothing, rivals=rivals)
    estimate = np.stack([from_coordinate(p, row) for p, row in zip(objective.parameters, x_best, strict=True)])
    estimate = np.where(past, np.inf, estimate)
    estimate = np.where(ridge | nothing[None], np.nan, estimate)
    return estimate, status, top, objective.params(x_best)


def _climbed(grid: Grid, unit: Index, x: Array, value: Array, jumpy: Array) -> tuple[Array, Array]:
    """Local optima from starting points x (F, m): by Newton steps, or without derivatives where likelihoods jump."""
    x, value = x.copy(), value.copy()
    for at, ways in ((np.flatnonzero(~jumpy), "newton"), (np.flatnonzero(jumpy), "zoom")):
        if not at.size:
            continue
        lower, upper = grid.bounds(unit[at])
        if ways == "newton":
            x[:, at], value[at] = optimize.polish(
                grid.objective, unit[at], x[:, at], value[at], lower, upper, steps=_STEPS
            )
        else:
            half = grid.spacing(unit[at], x[:, at])
            x[:, at], value[at] = optimize.zoom(grid.objective, unit[at], x[:, at], half, lower, upper)
    return x, value


def _edge(grid: Grid, edge: tuple[Grid, Tables], unit: Index, best: Array) -> tuple[Index, Array, Array]:
    """The best point at infinite precision, where it can beat the rest: unit, coordinates, value."""
    sub, tables = edge
    read = surfaces.read(sub, tables, unit)
    here = np.flatnonzero(read.heights[:, 0] > best - _BELOW)
    x = sub.at(read.peaks[here, 0], sub.reference[unit[here]])
    lower, upper = sub.bounds(unit[here])
    x, value = optimize.zoom(sub.objective, unit[here], x, sub.spacing(unit[here], x), lower, upper, points=9, rounds=5)
    precise = next(k for k, p in enumerate(grid.objective.parameters) if p.is_precision)
    full = np.full((2, len(here)), np.inf)
    full[1 - precise] = x[0]
    return here, full, value


def _rivals(
    grid: Grid, unit: Index, read: Surfaces, here: Index, x: Array, value: Array, best: Array, target: Array
) -> Array:
    """Whether another optimum, elsewhere, is no lower than `target`, (m,).

    Among the climbed points (here, x, value) first; where none is, the highest other peak of the grid is climbed too,
    because on a slanted ridge a coarse grid has peaks that are none.
    """
    m = len(unit)
    others = (value >= target[here]) & (_apart(x, best[:, here]) > _ELSEWHERE)
    found = np.bincount(here[others], minlength=m) > 0
    at, peak = np.nonzero((read.heights >= target[:, None]) & ~found[:, None])
    start = grid.at(read.peaks[at, peak], grid.reference[unit[at]])
    jumpy = optima.sharp(grid.objective, start)
    away = (_apart(start, best[:, at]) > _ELSEWHERE) & ~(jumpy & np.isinf(start).any(axis=0))
    at, start, jumpy = at[away], start[:, away], jumpy[away]
    first = np.unique(at, return_index=True)[1]  # peaks come best first
    at, start, jumpy = at[first], start[:, first], jumpy[first]
    where, height = _climbed(grid, unit[at], start, grid.objective.value(unit[at], start), jumpy)
    kept = (height >= target[at]) & (_apart(where, best[:, at]) > _ELSEWHERE)
    lower, upper = grid.bounds(unit[at])
    smooth = kept & ~jumpy
    kept[smooth] &= (
        optimize.promise(grid.objective, unit[at[smooth]], where[:, smooth], lower[:, smooth], upper[:, smooth])
        < _STILL_RISING
    )
    found[at[kept]] = True
    return found


def _apart(x: Array, other: Array) -> Array:
    """Largest distance in a coordinate, (m,); limits that are the same are no distance apart."""
    with np.errstate(invalid="ignore"):
        return np.asarray(np.where(x == other, 0.0, np.abs(x - other)).max(axis=0))
