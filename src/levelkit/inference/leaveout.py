"""Bayesian leave-one-out for comparing models: each single choice, predicted from all others of its unit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from levelkit.inference import arvizdata
from levelkit.inference.bayes import posterior
from levelkit.inference.kernels import FLOOR
from levelkit.inference.likelihood import Likelihood
from levelkit.inference.pointwise import Observations
from levelkit.inference.results import Fits

UNRELIABLE = 0.7
"""Pareto k above which an importance-sampled value is not to be trusted (Vehtari, Gelman & Gabry 2017)."""


def leave_one_out(fits: Fits, seed: int = 0) -> pd.DataFrame:
    """Expected log density of single choices under the model's own priors, one row for each unit of the fits.

    elpd (nats, summed over the choices), se (of the sum, from the variation between choices), pareto_k (the largest),
    unreliable (how many choices have k above 0.7, so that their values are not to be trusted). Without parameters
    nothing is learnt from the other choices: elpd is the log-likelihood. elpd is missing for a unit without choices.
    """
    seen = Observations.of(Likelihood(fits.model, fits.units, fits.scale))
    if fits.model.parameters:
        post = posterior(fits.choices, fits.model, by=fits.by, scale=fits.scale, seed=seed)
        columns = list(fits.units.keys)
        place = np.zeros(1, int)
        if columns:
            mine = pd.MultiIndex.from_frame(fits.units.keys.astype(str))
            place = pd.MultiIndex.from_frame(post.keys()[columns].astype(str)).get_indexer(mine)
        draws = np.stack([post.draws(p.name)[place] for p in fits.model.parameters])
        chains, size = post.about["chains"], post.about["draws"]
    else:
        draws, chains, size = np.zeros((0, len(fits.units), 1)), 1, 1
    chosen = seen.counts > 0
    log_p = np.log(np.maximum(seen.probabilities(draws)[:, chosen], FLOOR))
    if fits.model.parameters:
        found = _smoothed(log_p.reshape(chains, size, -1))
        each, k = found.each, found.k
    else:
        each, k = log_p[0], np.zeros(log_p.shape[1])
    table = pd.DataFrame({"unit": seen.unit[seen.owner[chosen]], "count": seen.counts[chosen], "each": each, "k": k})
    told: dict[Any, tuple[float, float, float, int]] = {u: _of_unit(mine) for u, mine in table.groupby("unit")}
    rows = [told.get(u, (np.nan, np.nan, np.nan, 0)) for u in range(len(fits.units))]
    return pd.DataFrame(rows, columns=["elpd", "se", "pareto_k", "unreliable"])


def _of_unit(mine: pd.DataFrame) -> tuple[float, float, float, int]:
    count, each = mine["count"].to_numpy(), mine["each"].to_numpy()
    n, total = count.sum(), count @ each
    squares = count @ (each - total / n) ** 2
    se = np.sqrt(n * squares / (n - 1)) if n > 1 else np.nan
    k = mine["k"].to_numpy()
    return float(total), float(se), float(k.max()), round(float(count[k > UNRELIABLE].sum()))


def _smoothed(log_p: np.ndarray) -> arvizdata.Loo:
    """ArviZ's leave-one-out for log densities (chains, draws, E)."""
    along = ("chain", "draw", "entry")
    coords = {"chain": np.arange(log_p.shape[0]), "draw": np.arange(log_p.shape[1])}
    groups = {
        "posterior": xr.Dataset({"log_p": (along, log_p)}, coords),
        "log_likelihood": xr.Dataset({"choice": (along, log_p)}, coords),
    }
    return arvizdata.loo(arvizdata.build(arvizdata.Base, groups))
