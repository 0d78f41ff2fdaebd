"""Which model explains the choices: likelihoods, tests, held-out prediction and restrictiveness, side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from scipy.stats import chi2, norm

from levelkit.choices import Choices
from levelkit.errors import DataError, UsageError
from levelkit.inference.fit import fit
from levelkit.inference.kernels import Array
from levelkit.inference.leaveout import leave_one_out
from levelkit.inference.likelihood import Likelihood, group
from levelkit.inference.results import Fits
from levelkit.models.base import Limit, Model

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LEFT_OUT = "left_out"
# Below this standard deviation of the log-likelihood ratio per choice, two models predict the same.
_SAME = 1e-6
_LOO = ["elpd", "se", "pareto_k", "unreliable"]


@dataclass(frozen=True, eq=False)
class Comparison:
    """Several models fitted to the same units. Read it with `frame`, `tests`, `verdict`, `summary`, `plot`, `save`."""

    fits: tuple[Fits, ...]
    labels: tuple[str, ...]
    by: tuple[str, ...]
    holdout: str | None
    folds: pd.DataFrame
    loos: tuple[pd.DataFrame, ...] = ()

    @property
    def keys(self) -> pd.DataFrame:
        """The `by` columns of each unit."""
        return self.fits[0].units.keys

    def frame(self) -> pd.DataFrame:
        """One row per unit and model: the `by` columns, model, n, free, loglik, aic, bic, gain, gain_low, gain_high,
        completeness, held_out, held_out_se, estimates, status.

        loglik in nats without the multinomial constant. gain: nats per choice over uniform play, with a 95% interval
        from the variation between choices. held_out: log-likelihood of the left-out choices, summed over folds, missing
        without `holdout`. With `loo` also loo, loo_se (expected log density of each choice given the others, summed),
        pareto_k (the largest), unreliable (choices with k above 0.7).
        """
        parts = []
        for m, fits in enumerate(self.fits):
            stats = fits.stats()
            part = self.keys.copy()
            part["model"] = self.labels[m]
            for column in ("n", "free", "loglik", "aic", "bic", "gain"):
                part[column] = stats[column].to_numpy()
            half = 1.96 * self._gain_errors[m]
            part["gain_low"], part["gain_high"] = part["gain"] - half, part["gain"] + half
            part["completeness"] = stats["completeness"].to_numpy()
            part["held_out"], part["held_out_se"] = self._held_out(m)
            if self.loos:
                part[["loo", "loo_se", "pareto_k", "unreliable"]] = self.loos[m][_LOO].to_numpy()
            part["estimates"] = _estimates(fits)
            part["status"] = fits.status
            part["_unit"], part["_model"] = np.arange(len(part)), m
            parts.append(part)
        frame = pd.concat(parts).sort_values(["_unit", "_model"], kind="stable", ignore_index=True)
        return frame.drop(columns=["_unit", "_model"])

    def _held_out(self, m: int) -> tuple[Array, Array]:
        total, error = np.full(len(self.keys), np.nan), np.full(len(self.keys), np.nan)
        if self.holdout is None:
            return total, error
        mine_all = self.folds[self.folds["model"] == m]
        for u in np.unique(mine_all["unit"].to_numpy(int)):
            mine = mine_all[mine_all["unit"] == u]
            values = mine["loglik"].to_numpy()
            total[u] = values.sum()
            error[u] = np.sqrt(len(values)) * values.std(ddof=1) if len(values) > 1 else np.nan
        return total, error

    @cached_property
    def _choices(self) -> list[Array]:
        """Log-probability of every action of every row, (W, rows), by model."""
        return [f.log_probabilities(f.result.params[:, f.sub_of_row]) for f in self.fits]

    @cached_property
    def _uniform(self) -> Array:
        rows = self.fits[0].rows
        out = np.zeros_like(self._choices[0])
        for g in np.unique(rows.game):
            which = rows.game == g
            for s in rows.games[g].slices:
                out[s.start : s.stop, which] = -np.log(s.stop - s.start)
        return out

    @cached_property
    def _gain_errors(self) -> list[Array]:
        return [self._moments(c - self._uniform)[1] for c in self._choices]

    def _moments(self, difference: Array) -> tuple[Array, Array]:
        """Mean over choices of a difference of log-probabilities (W, rows), and its standard error, by unit."""
        rows, units = self.fits[0].rows, self.fits[0].units
        counts = rows.counts.T

        def total(per_choice: Array) -> Array:
            return units.total((counts * per_choice).sum(axis=0))

        n = total(np.ones_like(difference))
        with np.errstate(divide="ignore", invalid="ignore"):
            mean = total(difference) / n
            variance = np.maximum(total(difference**2) / n - mean**2, 0.0)
            return mean, np.sqrt(variance / n)

    def tests(self) -> pd.DataFrame:
        """One row per unit and pair of models: test, statistic, df, p, favours (the label, or "" where p > 0.05), note.

        "likelihood ratio" where one model is a limit of the other (p: chi-squared, halved where one parameter sits on
        the boundary under the null); else "Vuong", with Schwarz's correction for the number of parameters, two-sided.
        Choices are taken to be independent.
        """
        records = []
        for a in range(len(self.fits)):
            for b in range(a + 1, len(self.fits)):
                smaller, larger, limit = _nesting(self.fits[a].model, self.fits[b].model, a, b)
                for u in range(len(self.keys)):
                    record = self._vuong(u, a, b) if limit is None else self._ratio(u, smaller, larger, limit)
                    names = {"model_a": self.labels[a], "model_b": self.labels[b]}
                    records.append(self.keys.iloc[u].to_dict() | names | record)
        columns = [*self.by, "model_a", "model_b", "test", "statistic", "df", "p", "favours", "note"]
        return pd.DataFrame(records, columns=columns)

    def _value(self, m: int, u: int) -> float:
        fits = self.fits[m]
        return float(fits.result.value[fits.representative[u]])

    def _ratio(self, u: int, smaller: int, larger: int, limit: Limit) -> dict[str, Any]:
        statistic = max(2 * (self._value(larger, u) - self._value(smaller, u)), 0.0)
        df = int(self.fits[larger]._free[u] - self.fits[smaller]._free[u])
        where = f"{self.labels[smaller]} is {self.labels[larger]} at {limit.parameter} = {limit.value:g}"
        if df == 1:
            p = 0.5 * float(chi2.sf(statistic, 1)) if statistic > 0 else 1.0
            note = f"{where}, on the boundary: half chi-squared"
        else:
            p = float(chi2.sf(statistic, max(df, 1)))
            note = f"{where}, where other parameters drop out: p is approximate"
        favours = self.labels[larger] if p < 0.05 else ""
        return {"test": "likelihood ratio", "statistic": statistic, "df": df, "p": p, "favours": favours, "note": note}

    def _vuong(self, u: int, a: int, b: int) -> dict[str, Any]:
        mean, error = (v[u] for v in self._moments(self._choices[a] - self._choices[b]))
        n = self.fits[a]._n[u]
        base = {"test": "Vuong", "df": np.nan, "favours": ""}
        if not error * np.sqrt(n) > _SAME:
            return base | {"statistic": 0.0, "p": 1.0, "note": "the two predict the same"}
        penalty = (self.fits[a]._free[u] - self.fits[b]._free[u]) / 2 * np.log(n) / n
        z = float((mean - penalty) / error)
        p = float(2 * norm.sf(abs(z)))
        winner = self.labels[a if z > 0 else b] if p < 0.05 else ""
        return base | {"statistic": z, "p": p, "favours": winner, "note": ""}

    def chosen(self, criterion: str = "bic") -> pd.Series:
        """Label of the model that a criterion prefers, by unit: "aic", "bic", "held_out" or "loo"."""
        if criterion not in ("aic", "bic", "held_out", "loo"):
            raise UsageError(f"criterion = {criterion!r}: choose aic, bic, held_out or loo")
        if criterion == "loo" and not self.loos:
            raise UsageError("there is no leave-one-out; compare with loo=True")
        if criterion == "held_out" and self.holdout is None:
            raise UsageError("nothing was held out; compare with holdout='game' or another column")
        frame = self.frame()
        values = frame[criterion].to_numpy().reshape(len(self.keys), len(self.fits))
        score = -values if criterion in ("aic", "bic") else values
        labels = np.array(self.labels, dtype=object)
        best = np.where(np.isnan(score).all(axis=1), "", labels[np.nan_to_num(score, nan=-np.inf).argmax(axis=1)])
        return pd.Series(best, name=criterion)

    def _clearly_ahead(self, u: int, first: str, second: str) -> bool:
        """Whether one model predicts left-out parts better than another by two standard errors of the difference."""
        values = [
            self.folds[(self.folds["unit"] == u) & (self.folds["model"] == self.labels.index(label))]
            .sort_values("fold", key=lambda fold: fold.astype(str))["loglik"]
            .to_numpy(float)
            for label in (first, second)
        ]
        gaps = values[0] - values[1]
        return len(gaps) > 1 and bool(gaps.sum() > 2 * np.sqrt(len(gaps)) * gaps.std(ddof=1))

    def verdict(self) -> list[str]:
        """A sentence for each unit: which model is best, and which the data cannot tell from it."""
        tests, frame = self.tests(), self.frame()
        size, pairs = len(self.fits), len(self.fits) * (len(self.fits) - 1) // 2
        sentences = []
        by_bic = self.chosen("bic")
        for u in range(len(self.keys)):
            mine = tests.iloc[[u + k * len(self.keys) for k in range(pairs)]]
            best = str(by_bic.iloc[u])
            n = float(frame["n"].iloc[u * size])
            if not n:
                sentences.append("no choices")
                continue
            beaten = set()
            for row in mine.itertuples():
                if row.favours == best:
                    beaten.add(row.model_a if row.model_b == best else row.model_b)
            tied = [label for label in self.labels if label != best and label not in beaten]
            text = f"{best} has the lowest BIC"
            if tied:
                text += f", but n = {n:g} choices cannot tell it from {_listed(tied)}"
            elif size > 1:
                text += " and every test against the others favours it"
            if self.holdout is not None:
                ahead = str(self.chosen("held_out").iloc[u])
                agrees = "agrees" if ahead == best else f"prefers {ahead}"
                if ahead and ahead != best and not self._clearly_ahead(u, ahead, best):
                    agrees = f"does not tell it from {ahead}"
                text += f"; prediction of left-out {self.holdout}s {agrees}" if ahead else ""
            sentences.append(text)
        return sentences

    def summary(self) -> str:
        """The comparison as text: a table for each unit and the verdict."""
        from levelkit.report.comparison import text

        return text(self)

    def plot(self, kind: str = "gain", unit: int = 0) -> Figure:
        """A figure: "gain" (nats per choice over uniform, with intervals) or "frequencies" (predicted against
        observed, one panel per model).
        """
        from levelkit.report import comparison

        return comparison.plot(self, kind, unit)

    def save(self, path: str | Path) -> Path:
        """Write `frame()`; the suffix chooses csv, tsv, json, md or parquet."""
        from levelkit.report.comparison import write

        return write(self, path)


def compare(
    choices: Choices,
    models: Sequence[Model],
    by: Sequence[str] | str = (),
    *,
    holdout: str | None = None,
    loo: bool = False,
    scale: str = "raw",
    seed: int = 0,
) -> Comparison:
    """Fit several models to the same choices and say which explains them.

    by: as in `fit`. holdout: a column ("game" or a group column): each of its values within a unit is left out once,
    the model is fitted to the rest, and the left-out choices are predicted. loo: also leave each single choice
    out of the posterior under the models' own priors, by importance sampling; seed: of its draws. Raises UsageError
    for fewer than two models, or a holdout column that is also in `by`.

    >>> import levelkit as lk
    >>> both = lk.compare(lk.shipped_choices("rpc2009"), [lk.TQRE(), lk.LogitQRE()])
    >>> both.frame()[["model", "loglik"]].round(2).to_dict("records")
    [{'model': 'tqre', 'loglik': -1164.4}, {'model': 'qre', 'loglik': -1192.15}]
    """
    if len(models) < 2:
        raise UsageError("give at least two models to compare")
    columns_known = (*choices.groups, "game")
    columns = (by,) if isinstance(by, str) else tuple(dict.fromkeys(by))
    if holdout is not None:
        if holdout in columns:
            raise UsageError(f"holdout {holdout!r} is also in by; within a unit it has one value only")
        if holdout not in columns_known:
            raise UsageError(f"holdout names {holdout!r}, which is no column; there are {', '.join(columns_known)}")
    fits = tuple(fit(choices, m, columns, scale=scale, intervals=False, sensitivity=False) for m in models)
    folds = (
        [_folds(choices, m, columns, holdout, scale).assign(model=i) for i, m in enumerate(models)] if holdout else []
    )
    empty = pd.DataFrame({"unit": [], "fold": [], "loglik": [], "model": []})
    told = pd.concat(folds, ignore_index=True) if folds else empty
    loos = tuple(leave_one_out(f, seed) for f in fits) if loo else ()
    return Comparison(fits, _labels(models), columns, holdout, told, loos)


def _folds(choices: Choices, model: Model, by: tuple[str, ...], holdout: str, scale: str) -> pd.DataFrame:
    """Log-likelihood of each left-out part: unit, fold (the value left out), loglik."""
    if LEFT_OUT in choices.groups:
        raise UsageError(f"the choices have a column {LEFT_OUT!r}; rename it")
    units = group(choices, by)
    value = choices.cells[holdout].astype(object).to_numpy()
    code = pd.factorize(value)[0]
    label = units.cells * (code.max() + 1) + code
    several = np.bincount(np.unique(label) // (code.max() + 1), minlength=len(units)) > 1
    train, test = [], []
    for one in np.unique(label):
        unit = one // (code.max() + 1)
        if several[unit]:
            test.append((one, np.flatnonzero(label == one)))
            train.append((one, np.flatnonzero((units.cells == unit) & (label != one))))
    if not train:
        raise DataError(
            f"no unit has two values of {holdout!r}, so nothing can be left out", fix="pool more, or leave holdout out"
        )

    def chosen(parts: list[tuple[int, np.ndarray]]) -> Choices:
        where = np.concatenate([rows for _, rows in parts])
        cells = (
            choices.cells[["game"]]
            .iloc[where]
            .assign(**{LEFT_OUT: np.repeat([k for k, _ in parts], [len(r) for _, r in parts])})
        )
        width = max(choices.games[g].n_counts for g in pd.unique(cells["game"]))
        return Choices.from_counts(cells, choices.counts[where][:, :width], choices.games)

    fits = fit(chosen(train), model, LEFT_OUT, scale=scale, intervals=False, sensitivity=False)
    left = group(chosen(test), [LEFT_OUT])
    order = pd.Index(fits.units.keys[LEFT_OUT]).get_indexer(pd.Index(left.keys[LEFT_OUT]))
    variant = fits.result.variant[fits.representative][order]
    # nothing varies within a unit, so its first row has its parameters
    first = np.unique(fits.rows.owner, return_index=True)[1]
    params = fits.result.params[:, fits.sub_of_row[first][order]]
    loglik = np.zeros(len(left))
    for v in np.unique(variant):
        which = np.flatnonzero(variant == v)
        loglik[which] = Likelihood(fits.variants[v], left, scale).value(which, params[:, which])
    keys = left.keys[LEFT_OUT].to_numpy()
    names = dict(zip(code, value, strict=True))
    size = code.max() + 1
    return pd.DataFrame({"unit": keys // size, "fold": [names[k % size] for k in keys], "loglik": loglik})


def restrictiveness(
    choices: Choices, model: Model, *, draws: int = 200, seed: int = 0, scale: str = "raw"
) -> dict[str, float]:
    """How badly the model fits choices that nobody made (Fudenberg, Gao & Liang 2023): 1 rules out everything but
    uniform play, 0 fits anything.

    For the games and sample sizes of the choices, all pooled, observed frequencies are drawn evenly from all there are;
    the model is fitted to each draw. Restrictiveness is the mean of its Kullback-Leibler distance over that of uniform
    play. Returns {"restrictiveness", "se", "draws"}.
    """
    if draws < 2:
        raise UsageError(f"draws = {draws}: give at least 2")
    units = group(choices, [])
    rng = np.random.default_rng(seed)
    names = [units.games[g].name for g in units.game]
    counts = np.zeros((draws, len(names), units.counts.shape[1]))
    for r, g in enumerate(units.game):
        for s in units.games[g].slices:
            n = units.counts[r, s].sum()
            if n:
                counts[:, r, s] = n * rng.dirichlet(np.ones(s.stop - s.start), size=draws)
    cells = pd.DataFrame({"draw": np.repeat(np.arange(draws), len(names)), "game": names * draws})
    drawn = Choices.from_counts(cells, counts.reshape(draws * len(names), -1), choices.games)
    stats = fit(drawn, model, "draw", scale=scale, intervals=False, sensitivity=False).stats()
    missing = 1 - stats["completeness"].to_numpy()
    return {"restrictiveness": float(missing.mean()), "se": float(missing.std(ddof=1) / np.sqrt(draws)), "draws": draws}


def _nesting(first: Model, second: Model, a: int, b: int) -> tuple[int, int, Limit | None]:
    for small, large, at in ((first, second, (a, b)), (second, first, (b, a))):
        for limit in large.limits:
            if limit.model == small:
                return *at, limit
    return a, b, None


def _labels(models: Sequence[Model]) -> tuple[str, ...]:
    names = [m.name for m in models]
    seen: dict[str, int] = {}
    labels = []
    for model, name in zip(models, names, strict=True):
        if names.count(name) > 1:
            plain = type(model)()
            changed = [f"{k}={v}" for k, v in model.options().items() if v != getattr(plain, k)]
            name = f"{name}({', '.join(changed)})" if changed else name
        seen[name] = seen.get(name, 0) + 1
        labels.append(name if seen[name] == 1 else f"{name} #{seen[name]}")
    return tuple(labels)


def _estimates(fits: Fits) -> list[str]:
    frame = fits.frame()
    unit = fits.slots[0]
    text = [""] * len(fits)
    for u, name, value in zip(unit, frame["parameter"], frame["estimate"], strict=True):
        one = f"{name} ?" if np.isnan(value) else f"{name} {value:.3g}"
        text[u] = f"{text[u]}, {one}" if text[u] else one
    return text


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} or {names[-1]}"
