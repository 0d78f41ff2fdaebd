"""Regressions of estimated levels on features of players: what two steps say, and what they get wrong.

A two-step regression takes estimates for data. Beside it stand three answers to what that leaves out: weights by the
errors of the estimates (fgls), a bootstrap that repeats both steps, and one step, where the features are inside the
likelihood.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from levelkit.errors import DataError, UsageError
from levelkit.inference import checks, covariates
from levelkit.inference import secondstep as second
from levelkit.inference.bootstrap import bootstrap
from levelkit.inference.kernels import Array, Index
from levelkit.inference.likelihood import Likelihood, take
from levelkit.inference.onestep import one_step
from levelkit.inference.results import Fits
from levelkit.inference.secondstep import ERRORS, Coefficients
from levelkit.inference.solved import bind
from levelkit.inference.status import Status

Progress = Callable[[int, int], None]
METHODS = ("ols", "fgls", "bootstrap", "one-step")
ADJUST = ("none", "holm", "bh")
FLAT = ("drop", "keep")
FLAT_SHARE = 0.5
"""Where more than this share of a column's estimates is not determined, its stars are refused."""
FEW_TOLD = 10  # rows with an estimate below which a column says nothing

_OWN = ("parameter", "estimate", "se", "low", "high", "status", "n", "loglik", "unit")


@dataclass(frozen=True, eq=False)
class Column:
    """One column of a regression table: one group of units, by every method asked for.

    name: the group ("" where there is one only). rows: units in the table. used, flat, limit, missing: how many have
    an estimate, are not determined, lie at a limit, or lack a feature. refused: why stars are withheld ("": they are
    not). by_method: coefficients. other: the other parameters of the one-step model.
    """

    name: str
    rows: int
    used: int
    flat: int
    limit: int
    missing: int
    refused: str
    by_method: Mapping[str, Coefficients]
    other: Mapping[str, float]


@dataclass(frozen=True, eq=False)
class Regression:
    """Read it with `frame`, `tests`, `summary`, `table`, `save`.

    formula, parameter, errors, cluster: what was asked for. terms: coefficients, in order; features: the terms of the
    formula with their places among them. columns: one for each group of units. level: of the intervals.
    """

    formula: str
    parameter: str
    errors: str
    cluster: str
    adjust: str
    level: float
    terms: tuple[str, ...]
    features: Mapping[str, Index]
    columns: tuple[Column, ...]
    notes: tuple[str, ...] = ()

    @property
    def methods(self) -> tuple[str, ...]:
        """The methods used, in the order in which they are shown."""
        return tuple(m for m in METHODS if any(m in c.by_method for c in self.columns))

    def frame(self) -> pd.DataFrame:
        """One row per column, method and coefficient: column, method, term, estimate, se, statistic, p, p_holm, p_bh,
        low, high, stars, refused, n, flat.

        Coefficients of ols, fgls and bootstrap are per unit of the formula's left side; those of one-step are on the
        parameter's search scale: differences of log tau (log odds for shares). p_holm and p_bh adjust over the
        coefficients of one column and method without the constant. stars: *** .001, ** .01, * .05, + .10, by p or,
        with `adjust`, by the adjusted p; empty where refused.
        """
        parts = []
        for column in self.columns:
            for method in self.methods:
                if method not in column.by_method:
                    continue
                c = column.by_method[method]
                holm, bh = self._adjusted(c.p)
                p = {"none": c.p, "holm": holm, "bh": bh}[self.adjust]
                with np.errstate(invalid="ignore", divide="ignore"):
                    statistic = c.value / c.se
                part: dict[str, Any] = {
                    "column": column.name,
                    "method": method,
                    "term": self.terms,
                    "estimate": c.value,
                    "se": c.se,
                }
                part |= {"statistic": statistic, "p": c.p, "p_holm": holm, "p_bh": bh, "low": c.low, "high": c.high}
                shown = ["" if column.refused else stars(v) for v in p]
                part |= {"stars": shown, "refused": bool(column.refused), "n": c.n, "flat": column.flat}
                parts.append(pd.DataFrame(part))
        return pd.concat(parts, ignore_index=True)

    def _adjusted(self, p: Array) -> tuple[Array, Array]:
        from statsmodels.stats.multitest import multipletests

        holm, bh = np.full(len(p), np.nan), np.full(len(p), np.nan)
        mine = np.isfinite(p) & np.array([t != "Intercept" for t in self.terms])
        if mine.any():
            holm[mine] = multipletests(p[mine], method="holm")[1]
            bh[mine] = multipletests(p[mine], method="fdr_bh")[1]
        return holm, bh

    def tests(self) -> pd.DataFrame:
        """Joint tests that all coefficients of a feature are zero, and of all features together: column, method,
        feature, f, restrictions, df, p.
        """
        rows = []
        every = np.concatenate([np.zeros(0, int), *self.features.values()])
        for column in self.columns:
            for method, c in column.by_method.items():
                for name, which in [*self.features.items(), *([("all", every)] if len(self.features) > 1 else [])]:
                    f, p, q = c.wald(which)
                    row = {"column": column.name, "method": method, "feature": name, "f": f, "restrictions": q}
                    rows.append(row | {"df": c.df, "p": p})
        return pd.DataFrame(rows)

    def summary(self) -> str:
        """The table as text: one column for each group (or for each method, where there is one group)."""
        from levelkit.report.regression import text

        return text(self)

    def table(self, format: str = "text", method: str | None = None) -> str:
        """The table in a format: text, markdown or latex; one method, or all below one another."""
        from levelkit.report.regression import table

        return table(self, format, method)

    def save(self, path: str | Path) -> Path:
        """Write `frame` (csv, tsv, json, parquet) or the table (md, tex, txt)."""
        from levelkit.report.regression import write

        return write(self, path)


def stars(p: float) -> str:
    """*** below .001, ** below .01, * below .05, + below .10."""
    return next((mark for edge, mark in ((0.001, "***"), (0.01, "**"), (0.05, "*"), (0.10, "+")) if p < edge), "")


def regress(
    estimates: Fits | pd.DataFrame,
    formula: str,
    data: pd.DataFrame | None = None,
    *,
    errors: str = "HC3",
    cluster: str | None = None,
    methods: Sequence[str] | str | None = None,
    adjust: str = "none",
    replicates: int = 1000,
    level: float = 0.95,
    seed: int = 0,
    flat: str = "drop",
    force: bool = False,
    progress: Progress | None = None,
) -> Regression:
    """Regress an estimated parameter on features.

    estimates: fits, or a frame like `fits.frame()` (from which one-step and bootstraps of the first step cannot be
    had). formula: for instance "tau ~ C(sex) + age" or "np.log(tau) ~ sex"; the left side names one parameter.
    data: a table of features, joined on the columns it shares with the `by` columns; without it the features are `by`
    columns. `by` columns that are neither in the data nor in the formula make one regression each. errors: nonrobust,
    HC1, HC3 or cluster (with `cluster`, a column). methods: of ols, fgls, bootstrap, one-step (default: all that can
    be had). adjust: by which p stars go: none, holm or bh.

    Estimates that are not determined (status flat) or infinite are left out of two steps and counted; flat="keep"
    takes the flat ones as they were printed. Where most of a column is flat its stars are refused unless `force`. The
    bootstrap draws whole units again (or whole clusters of them); where `cluster` is a column of the choices that lies
    inside the units, it draws clusters and repeats both steps.

    Raises UsageError for unknown columns, parameters and options, DataError where the tables cannot be joined.

    >>> import levelkit as lk, pandas as pd
    >>> fits = lk.fit(lk.shipped_choices("rpc2009"), lk.PoissonCH(), by=["game"])
    >>> games = pd.DataFrame({"game": fits.units.keys["game"], "long": [len(g) > 7 for g in fits.units.keys["game"]]})
    >>> lk.regress(fits, "tau ~ long", games, methods="ols").frame()[["term", "n"]].to_dict("records")
    [{'term': 'Intercept', 'n': 14}, {'term': 'long[T.True]', 'n': 14}]
    """
    asked = _check(methods, errors, cluster, adjust, flat, level, replicates)
    fits = estimates if isinstance(estimates, Fits) else None
    frame = _frame(estimates)
    keys = list(frame.columns[: list(frame.columns).index("parameter")])
    left, right = _sides(formula)
    parameter = _parameter(left, frame, formula)
    if fits is not None and parameter in fits.vary:
        raise UsageError(f"{parameter} varies within the units of these fits; fit by those columns instead")
    table = frame[frame["parameter"] == parameter].reset_index(drop=True)
    if fits is not None:
        table["_unit"] = fits.slots[0][(frame["parameter"] == parameter).to_numpy()]
    table, notes = _joined(table, data, keys)
    wanted = set(re.findall(r"[A-Za-z_]\w*", right)) | ({cluster} if cluster else set())
    shared = set() if data is None else set(data.columns)
    split = [k for k in keys if k not in shared and k not in wanted]
    if data is None and len(split) == len(keys):
        raise UsageError("the formula names no column of the fits; give a table of features as data")
    x, terms, features = _design(right, table, [*keys, *(data.columns if data is not None else [])])
    groups = _groups(table, cluster, fits)
    replicated = None
    if "bootstrap" in asked and groups is None and fits is not None and cluster is not None:
        replicated = bootstrap(fits, replicates, "cluster", cluster, seed, progress=progress)
    codes = table.groupby(split, sort=False, dropna=False).ngroup().to_numpy() if split else np.zeros(len(table), int)
    columns = []
    for number in range(codes.max(initial=-1) + 1):
        mine = np.flatnonzero(codes == number)
        name = ", ".join(str(table[c].iloc[mine[0]]) for c in split)
        rng = np.random.default_rng([seed, number])
        work = _Work(left, parameter, errors, level, replicates, flat == "keep", force, fits, rng)
        part = table.iloc[mine].reset_index(drop=True)
        drawn = None if replicated is None else _drawn(replicated, fits, parameter, part)
        columns.append(work.column(name, part, x[mine], None if groups is None else groups[mine], asked, drawn))
        if progress is not None:
            progress(number + 1, codes.max() + 1)
    if errors == "cluster" and groups is None:
        errors = "HC3"
        notes.append(
            f"{cluster} lies inside the units, whose estimates have no clusters: errors are HC3, and only the "
            f"bootstrap draws {cluster} again"
        )
    how = {"nonrobust": "classical", "cluster": f"clustered by {cluster}"}.get(errors, errors)
    return Regression(
        formula, parameter, how, cluster or "", adjust, level, tuple(terms), features, tuple(columns), tuple(notes)
    )


def _check(
    methods: Sequence[str] | str | None,
    errors: str,
    cluster: str | None,
    adjust: str,
    flat: str,
    level: float,
    replicates: int,
) -> tuple[str, ...]:
    asked = METHODS if methods is None else tuple(checks.listed(methods))
    for value, known, option in [(m, METHODS, "methods") for m in asked] + [
        (errors, ERRORS, "errors"),
        (adjust, ADJUST, "adjust"),
        (flat, FLAT, "flat"),
    ]:
        if value not in known:
            raise UsageError(f"{option} = {value!r}: choose from {', '.join(known)}")
    if errors == "cluster" and cluster is None:
        raise UsageError("errors='cluster' needs the column whose values are the clusters: cluster='persona'")
    checks.interval(level)
    if replicates < 100 and "bootstrap" in asked:
        raise UsageError(f"replicates = {replicates}: intervals need 100 at least")
    return asked


def _frame(estimates: Fits | pd.DataFrame) -> pd.DataFrame:
    if isinstance(estimates, Fits):
        return estimates.frame()
    missing = [c for c in ("parameter", "estimate", "status") if c not in estimates.columns]
    if missing:
        raise DataError(
            f"no column {missing[0]!r} among {', '.join(map(str, estimates.columns))}",
            where="the table of estimates",
            fix="give the frame of a fit, or the csv it was saved to",
        )
    frame = estimates.copy()
    frame["estimate"] = pd.to_numeric(frame["estimate"], errors="coerce")
    keys = [c for c in frame.columns if c not in _OWN]
    return frame[[*keys, *[c for c in _OWN if c in frame.columns]]]


def _sides(formula: str) -> tuple[str, str]:
    left, tilde, right = formula.partition("~")
    if not tilde or not left.strip() or not right.strip():
        raise UsageError(f"formula = {formula!r}: write for instance 'tau ~ sex + age'")
    return left.strip(), right.strip()


def _parameter(left: str, frame: pd.DataFrame, formula: str) -> str:
    known = list(dict.fromkeys(frame["parameter"]))
    named = [p for p in known if re.search(rf"(?<![\w.]){re.escape(p)}(?!\w)", left)]
    if len(named) != 1:
        raise UsageError(f"the left side of {formula!r} must name one parameter of {', '.join(map(str, known))}")
    return str(named[0])


def _joined(table: pd.DataFrame, data: pd.DataFrame | None, keys: list[str]) -> tuple[pd.DataFrame, list[str]]:
    """The estimates with their features; rows without features are left out and said."""
    if data is None:
        return table, []
    on = [k for k in keys if k in data.columns]
    if not on:
        raise DataError(
            f"the features share no column with the estimates ({', '.join(keys) or 'pooled'})",
            where=f"columns {', '.join(map(str, data.columns))}",
            fix="name the column that tells players apart the same in both",
        )
    clash = [c for c in data.columns if c in _OWN and c not in on]
    if clash:
        raise DataError(f"the features have a column {clash[0]!r}, which is a name of levelkit's own", fix="rename it")
    features, own = data.copy(), table.copy()
    for k in on:  # "1" in one file and 1 in another are the same player
        features[k], own[k] = features[k].map(_plain), own[k].map(_plain)
    twice = features.duplicated(on)
    if twice.any():
        which = ", ".join(str(v) for v in features.loc[twice, on].iloc[0])
        raise DataError(f"the features of {which} are given twice", fix="leave one row for each")
    merged = own.merge(features, on=on, how="left", indicator="_found", validate="many_to_one")
    found = (merged.pop("_found") == "both").to_numpy()
    if not found.any():
        raise DataError(
            f"no value of {', '.join(on)} occurs both among the estimates (such as {own[on[0]].iloc[0]!r}) and among "
            f"the features (such as {features[on[0]].iloc[0]!r})",
            fix="write them the same way in both",
        )
    notes = []
    if not found.all():
        notes.append(f"{int((~found).sum())} estimates have no row of features and are left out")
    return merged[found].reset_index(drop=True), notes


def _plain(value: Any) -> Any:
    """A key as text; 7, 7.0, "7" and "007" are the same."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        return str(value)
    return str(int(number)) if number.is_integer() else str(number)


def _design(right: str, table: pd.DataFrame, known: Sequence[str]) -> tuple[Array, list[str], dict[str, Index]]:
    """The design (N, D) of the right side with missing rows as missing, names of its columns, and places by term."""
    import patsy

    names = covariates.columns_of({"": right}, [str(c) for c in known])
    whole = table[names].notna().all(axis=1).to_numpy() if names else np.ones(len(table), bool)
    if not whole.any():
        raise DataError(f"every row lacks one of {', '.join(names)}", where="the table of features")
    try:
        matrix = patsy.dmatrix(right, table[whole], return_type="dataframe", NA_action="raise")
    except Exception as error:
        reason = str(error).splitlines()[0]
        columns = ", ".join(map(str, dict.fromkeys(known)))
        raise UsageError(f"formula {right!r}: {reason}; the columns are {columns}") from None
    x = np.full((len(table), matrix.shape[1]), np.nan)
    x[whole] = matrix.to_numpy(float)
    slices = matrix.design_info.term_name_slices
    places = {name: np.arange(s.start, s.stop) for name, s in slices.items() if name != "Intercept"}
    return x, [str(c) for c in matrix.columns], places


def _groups(table: pd.DataFrame, cluster: str | None, fits: Fits | None) -> Index | None:
    """Cluster of each row; each row its own where none is named, None where clusters lie inside the units."""
    if cluster is None:
        return np.arange(len(table))
    if cluster in table.columns:
        return np.asarray(pd.factorize(table[cluster])[0])
    if fits is not None and cluster in fits.choices.groups:
        return None
    raise UsageError(f"cluster names {cluster!r}, which is a column neither of the fits nor of the features")


def _drawn(boot: Any, fits: Fits | None, parameter: str, table: pd.DataFrame) -> Array:
    """Replicates (B, N) of the estimates of a column's rows."""
    assert fits is not None
    frame = fits.frame()
    slots = np.flatnonzero((frame["parameter"] == parameter).to_numpy())
    of_unit = dict(zip(fits.slots[0][slots], slots, strict=True))
    return np.asarray(boot.estimate[[of_unit[u] for u in table["_unit"]]].T)


@dataclass(frozen=True, eq=False)
class _Work:
    """What stays the same from column to column."""

    left: str
    parameter: str
    errors: str
    level: float
    replicates: int
    keeps_flat: bool
    force: bool
    fits: Fits | None
    rng: np.random.Generator

    def column(
        self,
        name: str,
        table: pd.DataFrame,
        x: Array,
        groups: Index | None,
        asked: tuple[str, ...],
        drawn: Array | None,
    ) -> Column:
        y = self._outcome(table["estimate"].to_numpy(float))
        flat = (table["status"] == Status.FLAT.word).to_numpy()
        whole = np.asarray(np.isfinite(x).all(axis=1))
        use = np.isfinite(y) & whole & (self.keeps_flat | ~flat)
        limit = int((~np.isfinite(y) & ~flat & whole).sum())
        refused = self._refusal(flat, use)
        inside = groups is None  # clusters inside the units say nothing about how units differ
        own = np.arange(len(y)) if inside else groups
        assert own is not None
        errors = "HC3" if self.errors == "cluster" and inside else self.errors
        made: dict[str, Coefficients] = {}
        rest: dict[str, float] = {}
        if "ols" in asked or "bootstrap" in asked:
            plain = second.ols(y[use], x[use], errors, own[use], self.level)
        if "ols" in asked:
            made["ols"] = plain
        if "fgls" in asked:
            made["fgls"] = second.fgls(y[use], x[use], self._first(table)[use], errors, own[use], self.level)
        if "bootstrap" in asked:
            made["bootstrap"] = self._bootstrap(y, x, use, own, plain, drawn)
        if "one-step" in asked and self.fits is not None:
            found = self._one_step(table, x, whole, own, errors)
            if found is not None:
                made["one-step"], rest = found
        return Column(
            name, len(table), int(use.sum()), int(flat.sum()), limit, int((~whole).sum()), refused, made, rest
        )

    def _outcome(self, values: Array) -> Array:
        import patsy

        known = {self.parameter: values, "np": np, "log": np.log, "sqrt": np.sqrt}
        try:
            with np.errstate(all="ignore"):
                result = patsy.EvalEnvironment([known]).eval(self.left)
            return np.broadcast_to(np.asarray(result, float), values.shape)
        except Exception as error:
            raise UsageError(f"the left side {self.left!r}: {error}") from None

    def _first(self, table: pd.DataFrame) -> Array:
        """Standard error of each outcome: the fit's, or a quarter of its 95% interval where that is bounded."""
        value = table["estimate"].to_numpy(float)
        se = table["se"].to_numpy(float) if "se" in table.columns else np.full(len(table), np.nan)
        if {"low", "high"} <= set(table.columns):
            from scipy.stats import norm

            level = self.fits.interval if self.fits is not None else 0.95
            width = (table["high"] - table["low"]).to_numpy(float) / (2 * norm.ppf(0.5 + level / 2))
            se = np.where(np.isfinite(se), se, np.where(np.isfinite(width) & (width > 0), width, np.nan))
        h = 1e-6 * np.maximum(np.abs(value), 1e-3)
        with np.errstate(all="ignore"):
            return np.asarray(se * np.abs(self._outcome(value + h) - self._outcome(value - h)) / (2 * h))

    def _refusal(self, flat: Array, use: Array) -> str:
        share = float(flat.mean()) if len(flat) else 1.0
        if share <= FLAT_SHARE and use.sum() >= FEW_TOLD:
            return ""
        if share > FLAT_SHARE:
            why = f"{int(flat.sum())} of {len(flat)} estimates are not determined by the choices"
        else:
            why = f"only {int(use.sum())} of {len(flat)} estimates can be used"
        return "" if self.force else why

    def _bootstrap(
        self, y: Array, x: Array, use: Array, own: Index, plain: Coefficients, drawn: Array | None
    ) -> Coefficients:
        told = plain.told
        if not told.any():
            return second.nothing(x.shape[1], int(use.sum()), ("bootstrap: not estimated",))
        if drawn is None:
            draws = second.pairs(y[use], x[use][:, told], own[use], self.replicates, self.rng)
            words = "whole units are drawn again, or whole clusters of them, with their estimates"
        else:
            again = self._outcome(drawn)
            fine = np.isfinite(again) & np.isfinite(x).all(axis=1)
            at = np.where(np.isfinite(x), x, 0.0)[:, told]
            draws = second.weighted(np.where(fine, again, 0.0), at, fine.astype(float))
            words = "clusters of choices are drawn again within the units, and both steps repeated"
        return second.from_replicates(plain.value, told, draws, int(use.sum()), self.level, words)

    def _one_step(
        self, table: pd.DataFrame, x: Array, whole: Array, own: Index, errors: str
    ) -> tuple[Coefficients, dict[str, float]] | None:
        fits = self.fits
        assert fits is not None
        p = next(p for p in fits.model.parameters if p.name == self.parameter)
        shares = any(q.transform == "simplex" for q in fits.model.parameters)
        if p.transform == "simplex" or shares or fits.vary or len(fits.variants) > 1:
            return None
        units = take(fits.units, table["_unit"].to_numpy()[whole])
        objective = bind(Likelihood(fits.model, units, fits.scale), fits.fixed)
        which = [q.name for q in objective.parameters].index(self.parameter)
        return one_step(objective, x[whole], which, errors, own[whole], self.level)
