"""The bootstrap: how far estimates would scatter if the choices were collected again.

Replicates are new counts on the same tables of log-probabilities, so a million of them is a normal request. A replicate
whose data do not tell a parameter counts as any value: it widens the interval on both sides and is never averaged.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from levelkit.choices import Choices
from levelkit.errors import UsageError
from levelkit.inference import quantiles, resampling
from levelkit.inference import replicates as fast
from levelkit.inference.kernels import Array, Index
from levelkit.inference.likelihood import Likelihood, take
from levelkit.inference.objective import from_coordinate, to_coordinate
from levelkit.inference.quantiles import KINDS as INTERVALS
from levelkit.inference.results import Fits
from levelkit.inference.status import Status
from levelkit.models.base import Parameter

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Progress = Callable[[int, int], None]
KINDS = ("multinomial", "parametric", "cluster")
_AT_ONCE = 12_000_000  # counts held in memory at a time


@dataclass(frozen=True, eq=False)
class Jackknife:
    """Estimates with a choice or a cluster left out, in long form.

    slot (m,): which estimate. left_out (m,): number of what was left out; the same number in two slots is the same
    choice or cluster. times (m,): how many choices give this value. value (m,): estimate in search coordinates.
    """

    slot: Index
    left_out: Index
    times: Array
    value: Array

    def influence(self, slot: int) -> tuple[Index, Array, Array]:
        """What was left out, how often, and how much it had pulled the estimate up; for one slot."""
        mine = slice(*np.searchsorted(self.slot, [slot, slot + 1]))
        times, value = self.times[mine], self.value[mine]
        if not times.sum() or not np.isfinite(value).all():
            return np.zeros(0, int), np.zeros(0), np.zeros(0)
        return self.left_out[mine], times, np.average(value, weights=times) - value


@dataclass(frozen=True, eq=False)
class Bootstrap:
    """Replicates of estimates. Read it with `frame`, `contrast`, `replicates`, `summary`, `plot`, `save`.

    estimate, status (slots, B): a slot is a row of `fits.frame()`; estimates in natural units, 0 or infinity at limits,
    missing where flat. kind, cluster, seed: how they were drawn. notes: what a reader has to know.
    """

    fits: Fits
    kind: str
    cluster: str | None
    seed: int
    estimate: Array
    status: Array
    jackknife: Jackknife
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return self.estimate.shape[1]

    def __repr__(self) -> str:
        how = f"{self.kind} by {self.cluster}" if self.cluster else self.kind
        return f"<Bootstrap of {self.fits.model.label}: {len(self):,} replicates of {len(self.fits)} units, {how}>"

    @cached_property
    def _fitted(self) -> pd.DataFrame:
        return self.fits.frame()

    @cached_property
    def _parameters(self) -> list[Parameter]:
        known = {p.name: p for p in self.fits.model.parameters}
        return [known[name] for name in self._fitted["parameter"]]

    def frame(self, interval: str | None = None, level: float | None = None) -> pd.DataFrame:
        """One row per estimate and kind of interval: the `by` columns, parameter, estimate, status (of the fit), se,
        interval, low, high, n, replicates, ok, multimodal, boundary, flat, unit.

        interval: percentile, basic or bca (default: all three). level: of the intervals (default: the fit's). se: half
        the width of the central 68.3% of replicates, infinite where too many are at a limit or not determined. ok to
        flat: shares of the replicates
        with that status; a second optimum is looked for on a coarser grid than in a fit, so that the share of
        multimodal ones is rather too large.
        """
        kinds = INTERVALS if interval is None else (_known(interval, INTERVALS, "interval"),)
        level = self.fits.interval if level is None else level
        base = self._fitted.drop(columns=["se", "low", "high", "loglik"])
        unit = base.pop("unit")
        base["se"] = [quantiles.spread(self.estimate[s], self._cap(s)) for s in range(len(base))]
        base["replicates"] = len(self)
        for status in Status:
            base[status.word] = (self.status == status).mean(axis=1)
        base["unit"] = unit
        parts = []
        for place, kind in enumerate(kinds):
            ends = np.array([self._ends(s, kind, level) for s in range(len(base))]).reshape(-1, 2)
            parts.append(base.assign(interval=kind, low=ends[:, 0], high=ends[:, 1], _slot=range(len(base)), _k=place))
        frame = pd.concat(parts).sort_values(["_slot", "_k"], ignore_index=True)
        keys = list(base.columns[: list(base.columns).index("parameter")])
        shares = [s.word for s in Status]
        order = ["parameter", "estimate", "status", "se", "interval", "low", "high", "n", "replicates", *shares, "unit"]
        return frame[[*keys, *order]]

    def _cap(self, slot: int) -> float:
        """The largest value searched, from which on an estimate counts as unbounded."""
        p = self._parameters[slot]
        return p.high if p.transform == "log" else np.inf

    def _ends(self, slot: int, kind: str, level: float) -> tuple[float, float]:
        p = self._parameters[slot]
        unbounded = 0.0, (np.inf if p.transform == "log" else p.high)
        point = float(self._fitted["estimate"].iloc[slot])
        if np.isnan(point) or self._fitted["status"].iloc[slot] == Status.FLAT.word:
            return unbounded
        draws = to_coordinate(p, np.where(self.estimate[slot] >= self._cap(slot), np.inf, self.estimate[slot]))
        at = float(to_coordinate(p, np.array(np.inf if point >= self._cap(slot) else point)))
        _, times, influence = self.jackknife.influence(slot)
        low, high = quantiles.ends(kind, draws, at, level, quantiles.acceleration(times, influence))
        return _natural(p, low), _natural(p, high)

    def replicates(self) -> pd.DataFrame:
        """Every replicate: the `by` columns, parameter, replicate (from 0), estimate, status."""
        keys = self._fitted.iloc[:, : list(self._fitted.columns).index("parameter") + 1]
        b = len(self)
        frame = keys.iloc[np.repeat(np.arange(len(keys)), b)].reset_index(drop=True)
        words = np.array([s.word for s in Status], dtype=object)
        return frame.assign(
            replicate=np.tile(np.arange(b), len(keys)),
            estimate=self.estimate.ravel(),
            status=words[self.status.ravel().astype(int)],
        )

    def contrast(
        self, parameter: str, a: Mapping[str, Any], b: Mapping[str, Any], how: str = "difference", level: float = 0.95
    ) -> pd.DataFrame:
        """A parameter in one unit against another: one row per kind of interval: a, b, contrast, parameter, estimate,
        interval, low, high, undetermined (share of replicates in which either is not determined, or both unbounded).

        a, b: values of the `by` columns that name one unit each. how: "difference" (a - b) or "ratio" (a / b). Raises
        UsageError where a unit or a parameter cannot be found.
        """
        _known(how, ("difference", "ratio"), "how")
        slots = [self._slot(parameter, w) for w in (a, b)]
        values = [self._comparable(self.estimate[s], s) for s in slots]
        points = [self._comparable(self._fitted["estimate"].iloc[[s]].to_numpy(float), s) for s in slots]
        combine = np.subtract if how == "difference" else np.divide
        with np.errstate(invalid="ignore", divide="ignore"):
            draws, point = combine(*values), float(combine(*points)[0])
            if how == "ratio":
                draws, point = np.log(draws), float(np.log(point))
        speed = self._contrast_acceleration(slots, how)
        rows = []
        for kind in INTERVALS:
            ends = (-np.inf, np.inf) if np.isnan(point) else quantiles.ends(kind, draws, point, level, speed)
            low, high = (np.exp(e) if how == "ratio" else e for e in ends)
            name_a, name_b = (", ".join(f"{k}={v}" for k, v in w.items()) for w in (a, b))
            shown = np.exp(point) if how == "ratio" else point
            row = {"a": name_a, "b": name_b, "contrast": how, "parameter": parameter, "estimate": shown}
            rows.append(row | {"interval": kind, "low": low, "high": high, "undetermined": np.isnan(draws).mean()})
        return pd.DataFrame(rows)

    def _comparable(self, values: Array, slot: int) -> Array:
        return np.where(values >= self._cap(slot), np.inf, values)

    def _slot(self, parameter: str, where: Mapping[str, Any]) -> int:
        unit = self.fits.locate(**where)
        mine = (self.fits.slots[0] == unit) & (self._fitted["parameter"] == parameter).to_numpy()
        if mine.sum() != 1:
            known = ", ".join(dict.fromkeys(self._fitted["parameter"]))
            raise UsageError(f"{int(mine.sum())} estimates of {parameter!r} there; the parameters are {known}")
        return int(np.flatnonzero(mine)[0])

    def _contrast_acceleration(self, slots: list[int], how: str) -> float:
        """Acceleration of a contrast, from the influences of what was left out on both sides."""
        parts = []
        for sign, s in zip((1.0, -1.0), slots, strict=True):
            left, times, influence = self.jackknife.influence(s)
            if not len(left):
                return 0.0
            scale = 1.0 if how == "ratio" else float(self._fitted["estimate"].iloc[s])  # d tau = tau d log tau
            parts.append(pd.DataFrame({"left": left, "times": times, "influence": sign * scale * influence}))
        both = pd.concat(parts).groupby("left").agg({"times": "max", "influence": "sum"})
        return quantiles.acceleration(both["times"].to_numpy(), both["influence"].to_numpy())

    def summary(self, interval: str = "bca") -> str:
        """The estimates with one kind of interval as text, at most 80 columns wide."""
        from levelkit.report.bootstrap import text

        return text(self, interval)

    def plot(self, parameter: str | None = None, interval: str = "bca") -> Figure:
        """The replicates of each estimate as a distribution, with its interval and the shares at limits and flat."""
        from levelkit.report.bootstrap import figure

        return figure(self, parameter, interval)

    def save(self, path: str | Path) -> Path:
        """Write `frame`; the suffix chooses csv, tsv, json, parquet, md or txt."""
        from levelkit.report.bootstrap import write

        return write(self, path)


def bootstrap(
    fits: Fits,
    replicates: int = 1000,
    kind: str = "multinomial",
    cluster: str | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> Bootstrap:
    """Refit a model to data drawn again many times.

    kind: "multinomial" draws every player's choices from its observed frequencies, "parametric" from the fitted
    probabilities, "cluster" draws whole clusters (values of the grouping column `cluster`, which must not be in the
    fit's `by`) with replacement; clusters that span several units are drawn for all of them at once. The numbers of
    choices (or of clusters) stay as they are. progress: called with (replicates done, replicates in all).

    Raises UsageError for unknown kinds and columns, DataError where there is nothing to resample.

    >>> import levelkit as lk
    >>> fits = lk.fit(lk.shipped_choices("rpc2009"), lk.TQRE(), intervals=False, sensitivity=False)
    >>> frame = lk.bootstrap(fits, 200, seed=1).frame("percentile")
    >>> frame[["parameter", "low", "high"]].round(1).to_dict("records")
    [{'parameter': 'tau', 'low': 1.4, 'high': 1.7}, {'parameter': 'gamma', 'low': 0.1, 'high': 0.1}]
    """
    _known(kind, KINDS, "kind")
    if replicates < 1:
        raise UsageError(f"replicates = {replicates}: give a positive number")
    if (kind == "cluster") != (cluster is not None):
        raise UsageError("a column for cluster goes with kind='cluster', and only with it")
    if not len(fits.result.parameter):
        raise UsageError(f"{fits.model.label} has nothing to estimate, so there is nothing to bootstrap")
    rows, rng = fits.rows, np.random.default_rng(seed)
    notes = []
    clusters = None
    if cluster is not None:
        clusters = resampling.Clusters.of(fits.choices, rows, cluster, fits.units.cells)
        if clusters.fewest < resampling.FEW_CLUSTERS:
            few = f"some estimates rest on {clusters.fewest} clusters"
            notes.append(f"{few}: intervals from fewer than {resampling.FEW_CLUSTERS} are too narrow")
    else:
        resampling.need_whole_counts(rows, kind)
    if kind == "parametric":
        drawn_from = np.exp(fits.log_probabilities(fits.result.params[:, fits.sub_of_row])).T
    else:
        drawn_from = rows.counts
    at_once = max(1, min(replicates, _AT_ONCE // max(rows.counts.size, 1)))
    estimates, statuses = [], []
    for first in range(0, replicates, at_once):
        size = min(at_once, replicates - first)
        if clusters is not None:
            counts = clusters.draw(rows, size, rng)
        else:
            counts = resampling.multinomial(rows, drawn_from, size, rng)
        estimate, status = refit(fits, counts)
        estimates.append(estimate)
        statuses.append(status)
        if progress is not None:
            progress(first + size, replicates)
    return Bootstrap(
        fits=fits,
        kind=kind,
        cluster=cluster,
        seed=seed,
        estimate=np.concatenate(estimates, axis=1),
        status=np.concatenate(statuses, axis=1),
        jackknife=_jackknife(fits, clusters),
        notes=tuple(notes),
    )


def refit(fits: Fits, counts: Array) -> tuple[Array, Array]:
    """The same model fitted the same way to other counts (B, R, W) on the fit's rows: estimate, status (slots, B)."""
    free = [p for p in fits.model.parameters if p.name not in fits.fixed]
    whole = not fits.vary and len(free) <= 2 and len(fits.variants) == 1
    if not whole or any(p.transform == "simplex" for p in free):
        return _refit_each(fits, counts)
    units = resampling.replicated(fits.rows, counts)
    found = fast.refit(Likelihood(fits.model, units, fits.scale), fits.fixed, fits.interval)
    shape = (len(free), len(counts), len(fits.units))
    flat = (len(fits.units) * len(free), len(counts))  # slots go by unit, then by parameter
    return tuple(
        np.moveaxis(v.reshape(shape), 1, 2).swapaxes(0, 1).reshape(flat) for v in (found.estimate, found.status)
    )  # type: ignore[return-value]


def _refit_each(fits: Fits, counts: Array) -> tuple[Array, Array]:
    """The long way, for models without a surface: every replicate goes through the full fit."""
    from levelkit.inference.fit import fit

    rows, b = fits.rows, len(counts)
    keys = rows.keys.iloc[rows.owner].reset_index(drop=True).drop(columns="game", errors="ignore")
    games = np.array([g.name for g in rows.games], dtype=object)[rows.game]
    cells = pd.concat([keys.assign(game=games)] * b, ignore_index=True)
    cells.insert(0, "_replicate", np.repeat(np.arange(b), len(keys)))
    choices = Choices.from_counts(cells, counts.reshape(len(cells), -1), {g.name: g for g in rows.games})
    again = fit(
        choices,
        fits.model,
        ["_replicate", *fits.by],
        vary=fits.vary,
        fixed=fits.fixed,
        scale=fits.scale,
        interval=fits.interval,
        intervals=False,
        sensitivity=False,
    )
    slot = again.slots[1]
    shape = (b, -1)
    return again.result.estimate[slot].reshape(shape).T, again.result.status[slot].reshape(shape).T


def _jackknife(fits: Fits, clusters: resampling.Clusters | None) -> Jackknife:
    """Refits without each choice (of fits whose parameters do not vary within units) or without each cluster."""
    frame_slots = len(fits.slots[0])
    known = {p.name: p for p in fits.model.parameters}
    parameters = [known[name] for name in fits.frame()["parameter"]]
    if clusters is not None:
        left, counts = zip(*clusters.leave_one_out(fits.rows), strict=True)
        estimate = refit(fits, np.stack(counts))[0]
        slot = np.repeat(np.arange(frame_slots), len(left))
        out, times, values = np.tile(np.array(left), frame_slots), np.ones(len(slot)), estimate.ravel()
        touched = _touched(fits, clusters)[slot, out]
        slot, out, times, values = (a[touched] for a in (slot, out, times, values))
    else:
        slot, out, times, values = _leave_choices_out(fits)
    coordinate = np.empty(len(values))
    for s in range(frame_slots):
        mine = slice(*np.searchsorted(slot, [s, s + 1]))
        coordinate[mine] = to_coordinate(parameters[s], values[mine])
    return Jackknife(slot, out, times, coordinate)


def _touched(fits: Fits, clusters: resampling.Clusters) -> Array:
    """Whether a cluster has choices of the unit that a slot belongs to, (slots, clusters)."""
    row_unit = np.zeros(len(fits.rows), int)
    row_unit[fits.rows.cells] = fits.units.cells
    owner = row_unit[fits.rows.owner]
    share = np.zeros((len(fits.units), len(clusters.names)), bool)
    for members, rows, counts in clusters.blocks:
        has = counts.sum(axis=2) > 0
        for number, own in zip(members, has, strict=True):
            share[owner[rows[own]], number] = True
    return share[fits.slots[0]]


def _leave_choices_out(fits: Fits) -> tuple[Index, Index, Array, Array]:
    """Slot, what was left out, how many choices that stands for, and the estimate without it; ordered by slot."""
    none = np.zeros(0, int)
    free = [p for p in fits.model.parameters if p.name not in fits.fixed]
    if fits.vary or len(free) > 2 or len(fits.variants) > 1 or any(p.transform == "simplex" for p in free):
        return none, none, np.zeros(0), np.zeros(0)  # the long way is too slow for this; BCa then only centres
    few = take(fits.units, np.unique(fits.representative, return_index=True)[1])
    short, owner, times = resampling.leave_one_choice_out(few)
    found = fast.refit(Likelihood(fits.model, short, fits.scale), fits.fixed, fits.interval).estimate
    # units with equal counts share their leave-one-out fits, but what is left out are different choices
    size = np.bincount(owner, minlength=len(few))
    start = np.concatenate([[0], np.cumsum(size)])
    stands = np.unique(fits.representative, return_inverse=True)[1]
    slots, outs, weights, values = [], [], [], []
    ahead = 0
    for u in range(len(fits.units)):
        mine = np.arange(start[stands[u]], start[stands[u] + 1])
        for k in range(len(free)):
            slots.append(np.full(len(mine), u * len(free) + k))
            outs.append(ahead + np.arange(len(mine)))
            weights.append(times[mine])
            values.append(found[k, mine])
        ahead += len(mine)
    return np.concatenate(slots), np.concatenate(outs), np.concatenate(weights), np.concatenate(values)


def _natural(p: Parameter, x: float) -> float:
    value = float(from_coordinate(p, np.array(x)))
    return np.inf if p.transform == "log" and value >= p.high * (1 - 1e-9) else value


def _known(name: str, names: tuple[str, ...], option: str) -> str:
    if name not in names:
        raise UsageError(f"{option} = {name!r}: choose {', '.join(names[:-1])} or {names[-1]}")
    return name
