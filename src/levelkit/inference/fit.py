"""Maximum likelihood: choices and a model in, estimates with status, interval, unit and sample size out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from levelkit.choices import Choices
from levelkit.errors import UsageError
from levelkit.inference import checks, joint, solved
from levelkit.inference.intervals import drop
from levelkit.inference.kernels import Index
from levelkit.inference.likelihood import Likelihood, Units, distinct, group, take
from levelkit.inference.results import Fits
from levelkit.inference.solved import Options, Progress
from levelkit.models.base import Model
from levelkit.models.levels import LevelModel

# Refitting with twice the levels is done by itself up to this many distinct units.
_SENSITIVITY_LIMIT = 300


def fit(
    choices: Choices,
    model: Model,
    by: Sequence[str] | str = (),
    *,
    vary: Mapping[str, Sequence[str] | str] | None = None,
    fixed: Mapping[str, float] | None = None,
    scale: str = "raw",
    interval: float = 0.95,
    intervals: bool = True,
    errors: str = "observed",
    sensitivity: bool | None = None,
    optimizer: str = "newton",
    progress: Progress | None = None,
) -> Fits:
    """Estimate a model's parameters by maximum likelihood, one set for each combination of the `by` columns.

    choices: what was chosen. by: columns (grouping columns or "game"); none pools everything. vary: for a
    parameter, further columns by which it alone varies, e.g. {"gamma": ["game"]} with by=["model"] gives each LLM
    one tau and one gamma per game. fixed: parameters held at given values. scale: "raw" gives precisions per payoff
    unit, "range" per payoff range of each game. interval: probability of the profile-likelihood intervals;
    intervals=False leaves them out. errors: "observed" or "sandwich". sensitivity: refit with twice the levels to
    see how the mean level moves (default: for up to 300 distinct units). optimizer: for models without a likelihood
    surface, "newton" (our own) or "jaxopt". progress: called with (units done, units in all).

    Raises UsageError for unknown columns, parameters or options; DataError if there is nothing to fit.

    >>> import levelkit as lk
    >>> fits = lk.fit(lk.shipped_choices("rpc2009"), lk.TQRE())
    >>> fits.frame()[["parameter", "estimate", "status"]].round(3).to_dict("records")
    [{'parameter': 'tau', 'estimate': 1.542, 'status': 'ok'}, {'parameter': 'gamma', 'estimate': 0.113, 'status': 'ok'}]
    """
    by = checks.listed(by)
    held = checks.fixed(model, fixed)
    free = [p.name for p in model.parameters if p.name not in held]
    shared = _check_vary(model, dict(vary or {}), by, held)
    checks.scale(scale)
    if errors not in ("observed", "sandwich"):
        raise UsageError(f"errors = {errors!r}: choose observed or sandwich")
    if optimizer not in ("newton", "jaxopt"):
        raise UsageError(f"optimizer = {optimizer!r}: choose newton or jaxopt")
    checks.interval(interval)
    checks.cells(choices)
    options = Options(interval, intervals, errors, optimizer)
    simplex = any(p.transform == "simplex" for p in model.parameters if p.name in free)
    units = group(choices, by)
    if shared or simplex or len(free) > 2:
        finer = group(choices, [*by, *_extra(shared)])
        layout, extra = _layout(model, finer, units, by, shared, held)
        representative = np.arange(len(units))
        variants = model.variants(finer.games)
        likelihood = Likelihood(variants[0], finer, scale)
        owner_of_sub: Index | None = layout.owner
        parts = [joint.solve(Likelihood(v, finer, scale), layout, held, options, progress) for v in variants]
        sub_of_row = finer.owner
        rows = finer
    else:
        few, representative = distinct(units)
        variants = model.variants(few.games)
        likelihood = Likelihood(variants[0], few, scale)
        owner_of_sub = None
        parts = [solved.solve(likelihood, held, options, progress)]
        concerned = np.array([len(model.variants((g,))) for g in few.games])
        for number, variant in enumerate(variants[1:], start=1):
            which = np.unique(few.owner[concerned[few.game] > number])
            part = solved.solve(Likelihood(variant, take(few, which), scale), held, options)
            parts.append(solved.scattered(part, which, len(few)))
        sub_of_row, rows, extra = representative[units.owner], units, pd.DataFrame(index=range(0))
    fits = Fits(
        model=model,
        by=tuple(by),
        fixed=held,
        scale=scale,
        interval=interval,
        choices=choices,
        units=units,
        rows=rows,
        sub_of_row=sub_of_row,
        representative=representative,
        result=solved.best_of(parts, drop(interval), owner_of_sub),
        variants=variants,
        extra=extra,
        has_intervals=intervals,
        errors=errors,
        likelihood=likelihood,
        mean_level_doubled=None,
        vary=shared,
    )
    if not (shared or simplex) and len(free) == 1 and len(fits.result.value) <= _SENSITIVITY_LIMIT:
        fits = fits.with_elsewhere()
    if not isinstance(model, LevelModel) or model.depth is None or model.depth in held or shared or len(free) > 2:
        return fits
    if sensitivity is None:
        sensitivity = intervals and len(fits.result.value) <= _SENSITIVITY_LIMIT
    return fits.with_sensitivity(options) if sensitivity else fits


def loglik(choices: Choices, model: Model, params: Mapping[str, float], scale: str = "raw") -> float:
    """Log-likelihood of all cells together at given parameters."""
    units = group(choices, [])
    vector = np.array([[params[p.name]] for p in model.parameters]).reshape(len(model.parameters), 1)
    values = [
        Likelihood(v, units, scale).value(np.zeros(1, int), vector)[0]
        for v in model.variants(tuple(choices.games.values()))
    ]
    return float(max(values))


def _check_vary(
    model: Model, vary: dict[str, Sequence[str] | str], by: list[str], fixed: dict[str, float]
) -> dict[str, list[str]]:
    names = [p.name for p in model.parameters]
    result = {}
    for name, wanted in vary.items():
        if name not in names:
            raise UsageError(f"vary names {name!r}; the parameters of {model.label} are {', '.join(names) or 'none'}")
        if name in fixed:
            raise UsageError(f"{name} is both fixed and asked to vary")
        if model.parameters[names.index(name)].transform == "simplex":
            raise UsageError(f"vary {name}: shares cannot vary on their own; put the column into by")
        more = [c for c in checks.listed(wanted) if c not in by]
        if more:
            result[name] = more
    return result


def _extra(shared: dict[str, list[str]]) -> list[str]:
    return list(dict.fromkeys(c for columns in shared.values() for c in columns))


def _layout(
    model: Model,
    finer: Units,
    units: Units,
    by: list[str],
    shared: dict[str, list[str]],
    fixed: dict[str, float],
) -> tuple[joint.Layout, pd.DataFrame]:
    """Number the entries of each unit's vector, and say what sub-group each belongs to."""
    columns = _extra(shared)
    # a cell's unit and its sub-unit are both known: link them through the cells
    owner = np.zeros(len(finer), int)
    owner[finer.cells] = units.cells
    slot = np.full((len(model.parameters), len(finer)), -1)
    parameter: list[int] = []
    unit_of: list[int] = []
    key: list[int] = []
    keys: list[dict[str, object]] = []
    for u in range(len(units)):
        subs = np.flatnonzero(owner == u)
        for i, p in enumerate(model.parameters):
            if p.name in fixed:
                continue
            names = shared.get(p.name, [])
            if not names:
                slot[i, subs] = len(parameter)
                parameter.append(i)
                unit_of.append(u)
                key.append(-1)
                continue
            frame = finer.keys.iloc[subs]
            codes = frame.groupby(names, sort=False, dropna=False).ngroup().to_numpy()
            for code in range(codes.max() + 1):
                members = subs[codes == code]
                slot[i, members] = len(parameter)
                parameter.append(i)
                unit_of.append(u)
                key.append(len(keys))
                keys.append(
                    {c: (frame.iloc[int(np.argmax(codes == code))][c] if c in names else None) for c in columns}
                )
    extra = pd.DataFrame(keys, columns=columns)
    return joint.Layout(owner, np.array(parameter), np.array(unit_of), np.array(key), slot), extra
