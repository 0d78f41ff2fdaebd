"""The one place that knows ArviZ, of either generation: 0.x keeps results in InferenceData, 1.x in xarray's DataTree.

`Base` is the class that holds groups of datasets there, so that ArviZ's functions take our results as they are.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from levelkit.errors import DataError
from levelkit.inference.kernels import Array

with warnings.catch_warnings():
    warnings.filterwarnings("ignore", message=r"\s*ArviZ is undergoing a major refactor", category=FutureWarning)
    import arviz

OLD = arviz.__version__.startswith("0.")
Base: Any = arviz.InferenceData if OLD else xr.DataTree


def build(kind: Any, groups: Mapping[str, xr.Dataset]) -> Any:
    """An object of class `kind`, a subclass of Base, with these groups."""
    if OLD:
        return kind(**groups)
    return kind.from_dict(dict(groups))


def group(data: Any, name: str) -> xr.Dataset:
    """One group as a dataset. Raises KeyError where there is none."""
    if OLD:
        if name not in data.groups():
            raise KeyError(name)
        return data[name]
    return data[name].to_dataset()


def names(data: Any) -> list[str]:
    """The groups there are."""
    return list(data.groups()) if OLD else list(data.children)


def write(data: Any, path: Path) -> None:
    """Write netCDF."""
    data.to_netcdf(str(path), engine="h5netcdf")


def read(kind: Any, path: str | Path) -> Any:
    """Read netCDF back. Raises DataError where the file is missing or is something else."""
    if not Path(path).is_file():
        raise DataError("there is no such file", where=str(path))
    try:
        loaded = (
            arviz.from_netcdf(str(path), engine="h5netcdf") if OLD else xr.open_datatree(str(path), engine="h5netcdf")
        )
        found = {name: group(loaded, name).load() for name in names(loaded)}
        loaded.close()
    except Exception as error:
        raise DataError(f"not a netCDF file of a posterior ({error})", where=str(path)) from None
    return build(kind, found)


def diagnostics(draws: xr.Dataset) -> dict[str, xr.Dataset]:
    """rhat, bulk and tail effective sample sizes of every variable."""
    return {
        "rhat": arviz.rhat(draws),
        "ess_bulk": arviz.ess(draws, method="bulk"),
        "ess_tail": arviz.ess(draws, method="tail"),
    }


@dataclass(frozen=True, eq=False)
class Loo:
    """Leave-one-observation-out predictive density (nats), its standard error, effective parameters; Pareto k and the
    density of each observation (N,).
    """

    elpd: float
    se: float
    p: float
    k: Array
    each: Array


def loo(data: Any) -> Loo:
    """By Pareto-smoothed importance sampling (Vehtari, Gelman & Gabry 2017)."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = arviz.loo(data, pointwise=True)
    elpd = float(found["elpd_loo"] if OLD else found.elpd)
    p = float(found["p_loo"] if OLD else found.p)
    each = np.asarray(found["loo_i"] if OLD else found.elpd_i).ravel()
    return Loo(elpd, float(found["se"] if OLD else found.se), p, np.asarray(found.pareto_k).ravel(), each)
