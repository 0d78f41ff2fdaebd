"""Bayesian estimation: exact where it can be, NUTS where it must be.

Units with one or two free parameters of their own are done by quadrature. With pooling, a population is sampled by
NUTS while the units' parameters are integrated out on tables, and drawn afterwards; models with more parameters, and
over-dispersed choices, are sampled in full.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from levelkit.choices import Choices
from levelkit.errors import UsageError
from levelkit.inference import arvizdata, checks, collapsed, exact, hierarchy, kernels, priors, sampling
from levelkit.inference.covariates import check as check_covariates
from levelkit.inference.covariates import columns_of, design
from levelkit.inference.kernels import Array
from levelkit.inference.likelihood import Likelihood, Units, distinct, group, sample_size
from levelkit.inference.pointwise import Observations
from levelkit.inference.posteriors import FLAT, SHIFT, Posterior, shortest
from levelkit.inference.solved import Progress
from levelkit.inference.surfaces import largest_ranges
from levelkit.models.base import Model, Prior
from levelkit.models.levels import LevelModel

# More numbers than this (draws x actions of cells) are not kept as predictions.
_PREDICTIONS = 20_000_000
# A unit whose tau is above the highest level with more than this probability is pointed out.
_PAST = 0.05


@dataclass(frozen=True, eq=False)
class _Found:
    """Draws (P, U, S) of all parameters, chains apart in the last axis; what else was sampled; exact numbers if any."""

    draws: Array
    method: str
    exact: exact.Exact | None = None
    population: Mapping[str, Array] | None = None
    statistics: Mapping[str, Array] | None = None
    structures: Sequence[hierarchy.Structure] = ()


def posterior(
    choices: Choices,
    model: Model,
    by: Sequence[str] | str = (),
    *,
    pool: Sequence[str] | str | Mapping[str, Sequence[str] | str] = (),
    covariates: Mapping[str, str] | None = None,
    prior: Mapping[str, Prior | str] | None = None,
    fixed: Mapping[str, float] | None = None,
    scale: str = "raw",
    method: str = "auto",
    overdispersion: bool = False,
    draws: int = 1000,
    chains: int = 4,
    warmup: int = 1000,
    seed: int = 0,
    interval: float = 0.95,
    tolerance: float = exact.TOLERANCE,
    checkpoint: str | Path | None = None,
    progress: Progress | None = None,
) -> Posterior:
    """Posterior of a model's parameters, one set for each combination of the `by` and `pool` columns.

    by: columns whose values get parameters of their own. pool: columns over which parameters are partially pooled: all
    of them, or by parameter, {"tau": ["model", "game"]}; several columns are crossed, "model:game" is one effect of
    their combinations. covariates: by parameter, a formula over columns for its logarithm (logit where it is bounded),
    such as {"tau": "age + gender"}; pool the parameter as well where units differ by more than their covariates.
    prior: by parameter, such as {"tau": "lognormal(0.4, 0.7)"}; precisions are per payoff range.
    method: "exact" (quadrature), "nuts", or "auto". overdispersion: choices within a cell may hang together
    (Dirichlet-multinomial). draws: of each chain. interval: mass of the highest-density intervals. tolerance: for exact
    posteriors, by how much the log evidence may be off. checkpoint: a file from which an interrupted run goes on.

    Raises UsageError for unknown columns, parameters, priors or options; DataError if there is nothing to fit.

    >>> import levelkit as lk
    >>> post = lk.posterior(lk.shipped_choices("rpc2009"), lk.TQRE(), draws=250)
    >>> post.frame()[["parameter", "mean", "sd", "status"]].round(3).to_dict("records")[0]
    {'parameter': 'tau', 'mean': 1.601, 'sd': 0.197, 'status': 'ok'}
    """
    columns = checks.listed(by)
    held = checks.fixed(model, fixed)
    chosen, pooled = priors.chosen(model, prior), _pooled(model, pool, held)
    checks.scale(scale)
    checks.interval(interval)
    _check(method, draws, chains, warmup)
    checks.cells(choices)
    known = [*choices.groups, "game"]
    formulas = dict(covariates or {})
    hierarchy.check_pool(model, pooled, known)
    check_covariates(model, formulas, held)
    more = [c for effects in pooled.values() for e in effects for c in e.split(":")]
    units = group(choices, list(dict.fromkeys([*columns, *more, *columns_of(formulas, known)])))
    designs = {name: design(formula, units.keys) for name, formula in formulas.items()}
    free = [p for p in model.parameters if p.name not in held]
    small = len(free) <= 2 and not any(p.transform == "simplex" for p in free) and not overdispersion
    linked = bool(pooled or designs)
    if method == "exact" and (linked or not small):
        raise UsageError(
            "exact posteriors are for at most two parameters, without pooling, covariates, over-dispersion"
        )
    variant = model.variants(units.games)[0]
    if small and free and not linked and method != "nuts":
        found = _exact(variant, units, chosen, held, scale, draws * chains, interval, seed, tolerance, progress)
    elif not free and not overdispersion:
        raise UsageError(f"{model.label} has no free parameter here; there is nothing to estimate")
    else:
        run = sampling.Run(draws, chains, warmup, seed=seed, checkpoint=Path(checkpoint) if checkpoint else None)
        structures = [
            hierarchy.structure(p, chosen[p.name], units.keys, columns, pooled.get(p.name, ()), designs.get(p.name))
            for p in free
            if p.transform != "simplex"
        ]
        identity = f"{choices.games} {pooled} {formulas}"
        found = _sampled(
            variant, units, columns, chosen, held, structures, scale, run, overdispersion, small and linked, identity,
            progress,
        )  # fmt: skip
    about: dict[str, Any] = {
        "model": model.name,
        "label": model.label,
        "options": model.options(),
        "by": columns,
        "pool": {k: list(v) for k, v in pooled.items()},
        "covariates": formulas,
        "columns": list(units.keys.columns),
        "parameters": [p.name for p in free] + (["mean_level"] if _has_levels(model) else []),
        "priors": priors.described(model, chosen, held),
        "scale": scale,
        "method": found.method,
        "overdispersion": overdispersion,
        "seed": seed,
        "interval": interval,
        "chains": chains,
        "draws": draws,
        "divergences": int(found.statistics["diverging"].sum()) if found.statistics else 0,
        "notes": _notes(model, units, variant) + _shared_note(found),
    }
    about["notes"] += _beyond(model, found.draws)
    return _assembled(model, variant, units, found, chosen, held, scale, about)


def _has_levels(model: Model) -> bool:
    return isinstance(model, LevelModel)


def _notes(model: Model, units: Units, variant: Model) -> list[str]:
    if len(model.variants(units.games)) == 1:
        return []
    return ["where several equilibria share one precision, the first along the branch is meant"]


def _shared_note(found: _Found) -> list[str]:
    """What integrating cells out does to parameters that units share."""
    names = [s.name for s in found.structures if s.deviation is None and not s.alone]
    if not names or found.method == "nuts":
        return []
    return [
        f"{' and '.join(names)} {'are' if len(names) > 1 else 'is'} shared by units, or set by covariates, up to "
        f"{hierarchy.SHARED:.0%} (in logs), which is the spread that integrating units out needs"
    ]


def _beyond(model: Model, draws: Array) -> list[str]:
    """Say where the level parameter runs past the highest level, so that what fits is the truncation."""
    if not isinstance(model, LevelModel) or model.depth is None:
        return []
    place = [p.name for p in model.parameters].index(model.depth)
    past = int(((draws[place] > model.levels).mean(axis=1) > _PAST).sum())
    if not past:
        return []
    return [
        f"in {past} of {draws.shape[1]} units {model.depth} lies above the highest level, {model.levels}, with more "
        f"than {_PAST:.0%} probability: there the population is cut off at the top, and mean_level is what can be read"
    ]


def _pooled(
    model: Model, pool: Sequence[str] | str | Mapping[str, Sequence[str] | str], fixed: Mapping[str, float]
) -> dict[str, tuple[str, ...]]:
    if not isinstance(pool, Mapping):
        names = [p.name for p in model.parameters if p.transform != "simplex" and p.name not in fixed]
        pool = dict.fromkeys(names, pool) if pool else {}
    made = {k: tuple(checks.listed(v)) for k, v in pool.items()}
    for name in made:
        if name in fixed:
            raise UsageError(f"{name} is both fixed and pooled")
    return {k: v for k, v in made.items() if v}


def _check(method: str, draws: int, chains: int, warmup: int) -> None:
    if method not in ("auto", "exact", "nuts"):
        raise UsageError(f"method = {method!r}: choose auto, exact or nuts")
    for name, value, least in (("draws", draws, 4), ("chains", chains, 1), ("warmup", warmup, 1)):
        if not (isinstance(value, int) and value >= least):
            raise UsageError(f"{name} = {value!r}: give a whole number of at least {least}")


def _exact(
    model: Model,
    units: Units,
    chosen: Mapping[str, Prior],
    held: Mapping[str, float],
    scale: str,
    size: int,
    interval: float,
    seed: int,
    tolerance: float,
    progress: Progress | None,
) -> _Found:
    few, representative = distinct(units)
    bound = exact.Posteriors.of(Likelihood(model, few, scale), chosen, held)
    made = exact.solve(
        bound, representative, size=size, mass=interval, seed=seed, tolerance=tolerance, progress=progress
    )
    return _Found(made.draws, "exact", made)


def _sampled(
    model: Model,
    units: Units,
    by: Sequence[str],
    chosen: Mapping[str, Prior],
    held: Mapping[str, float],
    structures: Sequence[hierarchy.Structure],
    scale: str,
    run: sampling.Run,
    overdispersion: bool,
    integrate: bool,
    identity: str,
    progress: Progress | None,
) -> _Found:
    likelihood = Likelihood(model, units, scale)
    identity += f" {model} {dict(held)} {scale} {chosen} {by} {overdispersion} {units.keys.to_csv()}"
    identity += repr(units.counts.tobytes())
    if integrate:
        bound = exact.Posteriors.of(likelihood, chosen, held)
        tables = collapsed.tables(bound)
        drawn, told = sampling.sample(hierarchy.integrated(structures, tables), run, identity, progress)
        full = units_given(bound, structures, tables, drawn, run.seed)
        return _Found(full, "nuts, cells integrated out", None, _shown(drawn), told, structures)
    observations = Observations.of(likelihood)
    shares = hierarchy.effect(units.keys, ":".join(by)).code if by else np.zeros(len(units), int)
    body = hierarchy.in_full(model, structures, held, observations, largest_ranges(likelihood), shares, overdispersion)
    drawn, told = sampling.sample(body, run, identity, progress)
    size = run.chains * run.draws
    full = np.stack(
        [
            np.full((len(units), size), held[p.name]) if p.name in held else drawn[p.name].reshape(size, len(units)).T
            for p in model.parameters
        ]
    )
    names = {p.name for p in model.parameters}
    return _Found(full, "nuts", None, _shown({k: v for k, v in drawn.items() if k not in names}), told, structures)


def units_given(
    bound: exact.Posteriors,
    structures: Sequence[hierarchy.Structure],
    tables: collapsed.Tables,
    drawn: Mapping[str, Array],
    seed: int,
) -> Array:
    """Units' parameters given the population's draws, (P, U, S)."""
    count = len(bound.likelihood.units)
    size = int(np.prod(next(iter(drawn.values())).shape[:2]))
    z = np.empty((len(structures), count, size))
    flat = {k: v.reshape(size, *v.shape[2:]) for k, v in drawn.items()}
    for u in range(count):
        rng = np.random.default_rng([seed, u])
        places: list[Any] = []
        for s in structures:
            if s.alone:
                places.append(hierarchy.prior_weights(tables.nodes[len(places)], s)[u])
                continue
            sd = flat[hierarchy.spread_name(s)] if s.deviation else np.full(size, hierarchy.SHARED)
            places.append((flat[f"{s.name}_mean"][:, u], sd))
        z[:, u] = collapsed.draw_units(tables, u, places, size, rng)
    unit = np.repeat(np.arange(count), size)
    params = bound.params(unit, tuple(row.reshape(-1) for row in z))
    return params.reshape(len(params), count, size)


def _shown(drawn: Mapping[str, Array]) -> dict[str, Array]:
    """What users see of the population: not the standard normals behind it."""
    hidden = ("_z", "_mean", "shares_each")
    return {k: v for k, v in drawn.items() if not k.endswith(hidden) and "_z_" not in k}


def _assembled(
    model: Model,
    variant: Model,
    units: Units,
    found: _Found,
    chosen: Mapping[str, Prior],
    held: Mapping[str, float],
    scale: str,
    about: dict[str, Any],
) -> Posterior:
    chains, draws, count = about["chains"], about["draws"], len(units)
    labels = units.keys.astype(str).agg(" / ".join, axis=1).to_numpy(dtype=object) if len(units.keys.columns) else None
    name = units.keys.columns[0] if len(units.keys.columns) == 1 else "unit"
    along = ("chain", "draw") if labels is None else ("chain", "draw", name)
    coords: dict[str, Any] = {"chain": np.arange(chains), "draw": np.arange(draws)}
    if labels is not None:
        coords[name] = labels
        if name == "unit":
            coords.update({str(c): ("unit", units.keys[c].astype(str).to_numpy(dtype=object)) for c in units.keys})

    def shaped(values: Array) -> Array:
        """(U, S) -> (chains, draws[, U])."""
        made = values.reshape(count, chains, draws).transpose(1, 2, 0)
        return made[:, :, 0] if labels is None else made

    variables = {p.name: shaped(found.draws[i]) for i, p in enumerate(model.parameters) if p.name not in held}
    if isinstance(model, LevelModel):
        at = {p.name: found.draws[i].ravel() for i, p in enumerate(model.parameters)}
        variables["mean_level"] = shaped(kernels.mean_levels(model, at).reshape(count, -1))
    data = xr.Dataset({k: (along, v) for k, v in variables.items()}, coords)
    data = _with_population(data, found)
    data.attrs["levelkit"] = json.dumps(about, sort_keys=True)
    likelihood = Likelihood(variant, units, scale)
    observations = Observations.of(likelihood)
    groups = {"posterior": data}
    if found.statistics is not None:
        groups["sample_stats"] = xr.Dataset(
            {k: (("chain", "draw"), v) for k, v in found.statistics.items()}, {c: coords[c] for c in ("chain", "draw")}
        )
    groups.update(_choice_groups(observations, found, about, coords))
    groups["constant_data"] = _estimates(model, units, found, chosen, held, scale, about, data)
    return arvizdata.build(Posterior, groups)


def _with_population(data: xr.Dataset, found: _Found) -> xr.Dataset:
    """Add what was sampled of the population, with the labels of its values."""
    labels: dict[str, tuple[str, tuple[str, ...]]] = {}
    for s in found.structures:
        labels[f"{s.name}_typical"] = (f"{s.name}_group", s.groups)
        if s.design is not None:
            labels[f"{s.name}_beta"] = (f"{s.name}_term", s.design.terms)
        for e in s.effects:
            labels[f"{s.name}_{e.name}"] = (f"{e.name}_value", e.labels)
    for name, values in (found.population or {}).items():
        if values.ndim == 2:
            data[name] = (("chain", "draw"), values)
        elif name in labels and labels[name][1] == ("",):
            data[name] = (("chain", "draw"), values[:, :, 0])
        elif name in labels:
            dim, coordinate = labels[name]
            if dim not in data.coords:
                data = data.assign_coords({dim: np.array(coordinate, dtype=object)})
            data[name] = (("chain", "draw", dim), values)
    return data


def _choice_groups(
    observations: Observations, found: _Found, about: Mapping[str, Any], coords: Mapping[str, Any]
) -> dict[str, xr.Dataset]:
    """Log-likelihood of each cell and player, observed counts, and replicated ones if they are not too many."""
    chains, draws = about["chains"], about["draws"]
    units = observations.likelihood.units
    base = {c: coords[c] for c in ("chain", "draw")}
    games = np.array([units.games[g].name for g in units.game], dtype=object)
    players = [
        units.games[units.game[r]].players[i] for r, i in zip(observations.row, observations.player, strict=True)
    ]
    who = units.keys.iloc[observations.unit].astype(str)
    told = {c: ("observation", who[c].to_numpy(dtype=object)) for c in who.columns if c != "game"}
    told["game"] = ("observation", games[observations.row])
    told["player"] = ("observation", np.array(players, dtype=object))
    p = observations.probabilities(found.draws)
    rho = found.population["rho"].ravel() if found.population and "rho" in found.population else None
    loglik = observations.loglik(p, rho).reshape(chains, draws, -1)
    entry = {"entry": np.arange(len(observations.counts)), "observation_of_entry": ("entry", observations.owner)}
    result = {
        "log_likelihood": xr.Dataset({"choices": (("chain", "draw", "observation"), loglik)}, {**base, **told}),
        "observed_data": xr.Dataset({"choices": (("entry",), observations.counts)}, entry),
    }
    if p.size <= _PREDICTIONS:
        made = observations.replicate(p, np.random.default_rng([about["seed"], 1]), rho)
        result["posterior_predictive"] = xr.Dataset(
            {"choices": (("chain", "draw", "entry"), made.reshape(chains, draws, -1))}, {**base, **entry}
        )
    return result


def _estimates(
    model: Model,
    units: Units,
    found: _Found,
    chosen: Mapping[str, Prior],
    held: Mapping[str, float],
    scale: str,
    about: Mapping[str, Any],
    data: xr.Dataset,
) -> xr.Dataset:
    """The table of estimates, one row for each unit and parameter."""
    reference = largest_ranges(Likelihood(model, units, scale))
    count = len(units)
    n = sample_size(units)
    told = arvizdata.diagnostics(data[about["parameters"]]) if about["draws"] >= 4 else {}
    free = [p for p in model.parameters if p.name not in held]
    blocks = []
    statuses: dict[str, Array] = {}
    for name in about["parameters"]:
        parameter = next((p for p in free if p.name == name), None)
        values = data[name].to_numpy().reshape(about["chains"] * about["draws"], count).T
        low, high = shortest(values, about["interval"])
        block: dict[str, Any] = {str(c): units.keys[c].astype(str).to_numpy(dtype=object) for c in units.keys}
        block |= {"parameter": name, "mean": values.mean(axis=1), "sd": values.std(axis=1, ddof=1)}
        block |= {"median": np.median(values, axis=1), "low": low, "high": high}
        modes = np.ones(count)
        contraction, shift = np.full(count, np.nan), np.zeros(count)
        if parameter is not None and parameter.transform != "simplex":
            per = reference[:, None] if parameter.is_precision else 1.0
            with np.errstate(divide="ignore"):
                z = priors.coordinate(chosen[name], values * per)
            before, width = priors.moments(chosen[name])
            contraction, shift = 1 - z.std(axis=1) / width, (z.mean(axis=1) - before) / width
        if found.exact is not None and parameter is not None:
            k = [p.name for p in free].index(name)
            e = found.exact
            block |= {"mean": e.mean[k], "sd": e.sd[k], "median": e.quantiles[k, :, exact.MEDIAN]}
            block |= {"low": e.low[k], "high": e.high[k]}
            modes, contraction, shift = e.modes[k], e.contraction[k], e.shift[k]
        unit = parameter.unit if parameter is not None else "levels"
        block["unit"] = "1/range" if unit == "1/payoff" and scale == "range" else unit
        block["n"], block["contraction"] = n, contraction
        for key in ("rhat", "ess_bulk", "ess_tail"):
            block[key] = told[key][name].to_numpy().reshape(count) if found.exact is None else np.full(count, np.nan)
        unsure = (block["rhat"] > 1.01) | (block["ess_bulk"] < 400)
        flat = (np.abs(contraction) < FLAT) & (np.abs(shift) < SHIFT)
        words = np.select([unsure, flat, modes > 1], ["unsure", "flat", "multimodal"], default="ok").astype(object)
        # the mean level is told as well as what governs it
        block["status"] = statuses.get(str(model.depth), words) if name == "mean_level" else words
        statuses[name] = block["status"]
        blocks.append(pd.DataFrame(block))
    order = [*units.keys, "parameter", "mean", "sd", "median", "low", "high", "status", "n", "unit", "contraction"]
    frame = pd.concat(blocks)[[*order, "rhat", "ess_bulk", "ess_tail"]]
    frame = frame.sort_index(kind="stable").reset_index(drop=True)
    made = xr.Dataset({f"estimate_{c}": ("estimate", frame[c].to_numpy()) for c in frame})
    for c in units.keys:
        made[f"unit_{c}"] = ("unit", units.keys[c].astype(str).to_numpy(dtype=object))
    made["n"], made["reference"] = ("unit", n), ("unit", reference)
    if found.exact is not None:
        made["evidence"], made["evidence_error"] = ("unit", found.exact.evidence), ("unit", found.exact.error)
    made.attrs["columns"] = json.dumps(list(frame))
    return made
