"""What Bayesian estimation returns: an ArviZ object that also prints, plots and answers questions.

Everything stands in its groups, so that a posterior written to netCDF and read back is the same. Group `posterior`
holds draws; `log_likelihood`, `posterior_predictive` and `observed_data` hold the choices; `constant_data` the
estimates: exact where they were computed exactly, else from the draws.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from levelkit.errors import UsageError
from levelkit.inference import arvizdata
from levelkit.inference.kernels import Array

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FLAT, SHIFT = 0.1, 0.3
"""The posterior is the prior where its sd (of the log or logit) differs by less than a tenth, and its mean by less than
0.3 prior sds.
"""


class Posterior(arvizdata.Base):  # type: ignore[misc]
    """Posterior of one model for units, an ArviZ InferenceData (ArviZ 0.x) or DataTree (ArviZ 1.x).

    Read it with `frame` (a row for each unit and parameter), `summary`, `plot`; ask it with `probability` and `ranks`;
    keep it with `save`, and get it back with `levelkit.read_posterior`. All of ArviZ's functions take it.
    """

    __slots__ = ()

    @property
    def about(self) -> dict[str, Any]:
        """How it was made: model, options, by, pool, priors, scale, method, seed, interval, divergences, notes."""
        return dict(json.loads(arvizdata.group(self, "posterior").attrs["levelkit"]))

    def frame(self) -> pd.DataFrame:
        """Estimates: the grouping columns, parameter, mean, sd, median, low, high (highest-density interval), status,
        n, unit, contraction, rhat, ess_bulk, ess_tail.

        status: "ok"; "multimodal" where the marginal density has a second mode; "flat" where the posterior is the
        prior; "unsure" where the chains do not agree (rhat above 1.01 or fewer than 400 effective draws).
        """
        data = arvizdata.group(self, "constant_data")
        columns = json.loads(data.attrs["columns"])
        return pd.DataFrame({c: data[f"estimate_{c}"].to_numpy() for c in columns})

    def effects(self) -> pd.DataFrame:
        """What was sampled of the population: typical values, standard deviations, effects and slopes of covariates.

        variable, value (which group, effect or term), mean, sd, low, high, rhat, ess_bulk. Standard deviations, effects
        and slopes are in logs (logits for parameters bounded on both sides). Empty where nothing is pooled.
        """
        data, about = arvizdata.group(self, "posterior"), self.about
        names = [str(v) for v in data.data_vars if v not in about["parameters"]]
        if not names:
            return pd.DataFrame(columns=["variable", "value", "mean", "sd", "low", "high", "rhat", "ess_bulk"])
        told = arvizdata.diagnostics(data[names])
        parts = []
        for name in names:
            values = data[name]
            draws = values.to_numpy().reshape(values.shape[0] * values.shape[1], -1).T
            labels = values[values.dims[2]].to_numpy() if values.ndim > 2 else [""]
            low, high = shortest(draws, about["interval"])
            block = {"variable": name, "value": [str(v) for v in labels], "mean": draws.mean(axis=1)}
            block |= {"sd": draws.std(axis=1, ddof=1), "low": low, "high": high}
            block |= {k: np.atleast_1d(told[k][name].to_numpy()) for k in ("rhat", "ess_bulk")}
            parts.append(pd.DataFrame(block))
        return pd.concat(parts, ignore_index=True)

    def evidence(self) -> pd.DataFrame:
        """Log marginal likelihood of each unit (nats, without the multinomial constant) and its numerical error.

        Differences between models on the same choices are log Bayes factors. Raises UsageError for posteriors by NUTS.
        """
        data = arvizdata.group(self, "constant_data")
        if "evidence" not in data:
            raise UsageError("marginal likelihoods come with exact posteriors only (one or two parameters, no pooling)")
        keys = self.keys()
        return keys.assign(evidence=data["evidence"].to_numpy(), error=data["evidence_error"].to_numpy())

    def keys(self) -> pd.DataFrame:
        """The grouping columns of each unit."""
        data = arvizdata.group(self, "constant_data")
        return pd.DataFrame(
            {c: data[f"unit_{c}"].to_numpy() for c in self.about["columns"]}, index=range(data.sizes["unit"])
        )

    def draws(self, parameter: str) -> Array:
        """Draws of one parameter, (units, chains * draws). Raises UsageError for another name."""
        data = arvizdata.group(self, "posterior")
        if parameter not in self.about["parameters"]:
            raise UsageError(f"{parameter!r} is no parameter here; choose from {', '.join(self.about['parameters'])}")
        values = data[parameter]
        flat = values.to_numpy().reshape(values.shape[0] * values.shape[1], -1)
        return np.asarray(flat.T)

    def unit(self, **where: Any) -> int:
        """The number of the unit with these values of the grouping columns. Raises UsageError unless there is one."""
        keys = self.keys()
        hits = np.ones(len(keys), bool)
        for column, value in where.items():
            if column not in keys:
                raise UsageError(f"there is no column {column!r}; there are {', '.join(map(str, keys)) or 'none'}")
            hits &= (keys[column].astype(str) == str(value)).to_numpy()
        if hits.sum() != 1:
            raise UsageError(f"{int(hits.sum())} units match {where}; give enough columns to name one")
        return int(np.flatnonzero(hits)[0])

    def probability(
        self, parameter: str, unit: Mapping[str, Any], above: Mapping[str, Any] | float
    ) -> tuple[float, float]:
        """P(parameter in one unit > parameter in another, or > a number), with its Monte-Carlo error.

        >>> post.probability("tau", {"model": "GPT-4o"}, above={"model": "GPT-o1"})  # doctest: +SKIP
        (0.83, 0.01)
        """
        draws = self.draws(parameter)
        other = draws[self.unit(**above)] if isinstance(above, Mapping) else float(above)
        hits = draws[self.unit(**unit)] > other
        p = float(hits.mean())
        return p, float(np.sqrt(max(p * (1 - p), 0.25 / len(hits)) / len(hits)))

    def ranks(self, parameter: str, within: Sequence[str] | str = ()) -> pd.DataFrame:
        """Rank distribution of the units, 1 for the highest: mean rank, 90% interval, P(highest), P(lowest).

        within: rank only units that agree on these columns.
        """
        keys, draws = self.keys(), self.draws(parameter)
        columns = [within] if isinstance(within, str) else list(within)
        codes = keys.groupby(columns, sort=False).ngroup().to_numpy() if columns else np.zeros(len(keys), int)
        rank = np.empty_like(draws)
        for code in np.unique(codes):
            members = np.flatnonzero(codes == code)
            order = np.argsort(-draws[members], axis=0, kind="stable")
            rank[members] = np.argsort(order, axis=0) + 1
        last = np.array([np.sum(codes == c) for c in codes])[:, None]
        low, high = np.quantile(rank, [0.05, 0.95], axis=1, method="inverted_cdf")
        return keys.assign(
            rank_mean=rank.mean(axis=1),
            rank_low=low,
            rank_high=high,
            p_highest=(rank == 1).mean(axis=1),
            p_lowest=(rank == last).mean(axis=1),
        )

    def loo(self) -> arvizdata.Loo:
        """Leave-one-out predictive density by ArviZ; an observation is one player's choices in one cell."""
        return arvizdata.loo(self)

    def summary(self) -> str:
        """The estimates as text, and in plain words what the data do not tell."""
        from levelkit.report.posterior import text

        return text(self)

    def plot(self, kind: str = "forest", **options: Any) -> Figure:
        """A figure: "forest", "marginals", "pairs", "ranks", "predictive", "shrinkage"."""
        from levelkit.report.plots.posterior import plot

        return plot(self, kind, **options)

    def save(self, path: str | Path) -> Path:
        """Write netCDF (.nc), whole or not at all. Raises UsageError for another suffix."""
        target = Path(path)
        if target.suffix.lower() != ".nc":
            raise UsageError(f"cannot write {str(path)!r}; a posterior is kept as netCDF, end the name with .nc")
        temporary = target.with_name(f".{target.name}.tmp")
        try:
            arvizdata.write(self, temporary)
            temporary.replace(target)
        except OSError as error:
            raise UsageError(f"cannot write {path}: {error.strerror or error}") from None
        finally:
            temporary.unlink(missing_ok=True)
        return target


def shortest(values: Array, mass: float) -> tuple[Array, Array]:
    """Ends of the shortest interval that holds a share `mass` of each row's draws, (U,) each."""
    ordered = np.sort(values, axis=1)
    size = ordered.shape[1]
    inside = min(int(np.ceil(mass * size)), size - 1)
    width = ordered[:, inside:] - ordered[:, : size - inside]
    at = width.argmin(axis=1)
    rows = np.arange(len(values))
    return ordered[rows, at], ordered[rows, at + inside]


def read_posterior(path: str | Path) -> Posterior:
    """A posterior from netCDF. Raises DataError where the file is missing or was not written by levelkit."""
    from levelkit.errors import DataError

    found = arvizdata.read(Posterior, path)
    if "posterior" not in arvizdata.names(found) or "levelkit" not in arvizdata.group(found, "posterior").attrs:
        raise DataError("this netCDF file holds no posterior of levelkit", where=str(path))
    return found
