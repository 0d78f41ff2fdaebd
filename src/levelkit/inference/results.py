"""What a fit returns: estimates with status, interval, unit and sample size, and the numbers behind them."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from levelkit.choices import Choices
from levelkit.errors import UsageError
from levelkit.inference import intervals, kernels, solved, surfaces
from levelkit.inference.kernels import Array, Index
from levelkit.inference.likelihood import (
    Likelihood,
    Units,
    multinomial_constant,
    sample_size,
    saturated_loglik,
    uniform_loglik,
)
from levelkit.inference.solved import Options, Solved
from levelkit.inference.status import Status
from levelkit.models.base import PER_PAYOFF, Model
from levelkit.models.levels import LevelModel

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_WORDS = np.array([s.word for s in Status], dtype=object)


@dataclass(frozen=True, eq=False)
class Surface:
    """A log-likelihood surface over two parameters in natural units; the ends of x and y may be limits (0,
    infinity).
    """

    names: tuple[str, str]
    units: tuple[str, str]
    x: Array
    y: Array
    loglik: Array
    best: tuple[float, float]
    cutoff: float


@dataclass(frozen=True, eq=False)
class Fits:
    """Estimates of one model for many units (combinations of the `by` columns).

    Read them with `frame` (one row per unit and parameter), `stats` (one row per unit), `summary`, `plot`,
    `report`, `save`.
    """

    model: Model
    by: tuple[str, ...]
    fixed: dict[str, float]
    scale: str
    interval: float
    choices: Choices
    units: Units
    rows: Units
    sub_of_row: Index
    representative: Index
    result: Solved
    variants: tuple[Model, ...]
    extra: pd.DataFrame
    has_intervals: bool
    errors: str
    likelihood: Likelihood
    mean_level_doubled: Array | None
    elsewhere: dict[int, str] = dataclasses.field(default_factory=dict)
    vary: dict[str, list[str]] = dataclasses.field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.units)

    def __repr__(self) -> str:
        return f"<Fits of {self.model.label}: {len(self)} units by {', '.join(self.by) or 'nothing (pooled)'}>"

    @property
    def problems(self) -> Any:
        """What was set aside or noted when the choices were read."""
        return self.choices.problems

    @property
    def interval_kind(self) -> str:
        """How the intervals were made."""
        return "profile likelihood" if self.has_intervals else "none"

    def unit_of(self, parameter: str) -> str:
        """The unit in which a parameter is reported."""
        p = next(p for p in self.model.parameters if p.name == parameter)
        return "1/range" if p.unit == PER_PAYOFF and self.scale == "range" else p.unit

    @cached_property
    def slots(self) -> tuple[Index, Index]:
        """For every row of `frame`: its unit, and the slot of the result that belongs to it."""
        result = self.result
        start = np.searchsorted(result.unit, np.arange(len(result.value) + 1))
        sizes = np.diff(start)[self.representative]
        slot = np.repeat(start[:-1][self.representative] - (np.cumsum(sizes) - sizes), sizes) + np.arange(sizes.sum())
        return np.repeat(np.arange(len(self)), sizes), slot

    def frame(self) -> pd.DataFrame:
        """One row per unit and free parameter: the `by` columns, parameter, estimate, se, low, high, status, n,
        loglik, unit.

        estimate: infinity or 0 where the best fit is that limit, missing where the data do not tell it at all. se:
        missing at limits. low, high: ends of the profile-likelihood interval, 0 or infinity where the data give no
        bound. n: choices. loglik: nats.
        """
        unit, slot = self.slots
        r = self.result
        frame = self.units.keys.iloc[unit].reset_index(drop=True)
        for column in self.extra.columns:
            values = np.full(len(slot), None, dtype=object)
            keyed = r.key[slot] >= 0
            values[keyed] = self.extra[column].to_numpy(dtype=object)[r.key[slot][keyed]]
            frame[column] = values
        names = np.array([p.name for p in self.model.parameters], dtype=object)
        units = np.array([self.unit_of(p.name) for p in self.model.parameters], dtype=object)
        frame["parameter"] = names[r.parameter[slot]] if len(slot) else np.array([], dtype=object)
        frame["estimate"], frame["se"] = r.estimate[slot], r.se[slot]
        frame["low"], frame["high"] = r.low[slot], r.high[slot]
        frame["status"] = _WORDS[r.status[slot].astype(int)] if len(slot) else np.array([], dtype=object)
        frame["n"] = self._n[unit]
        frame["loglik"] = r.value[self.representative][unit]
        frame["unit"] = units[r.parameter[slot]] if len(slot) else np.array([], dtype=object)
        return frame

    @cached_property
    def _n(self) -> Array:
        return sample_size(self.units)

    @cached_property
    def _free(self) -> Index:
        """Number of free parameters of each unit (shares count once less than there are)."""
        r = self.result
        shares = sum(p.transform == "simplex" for p in self.model.parameters)
        return np.bincount(r.unit, minlength=len(r.value))[self.representative] - (1 if shares else 0)

    @cached_property
    def status(self) -> Array:
        """Status of each unit: the gravest of its parameters; (U,) of words."""
        worst = np.zeros(len(self.result.value), int)
        np.maximum.at(worst, self.result.unit, self.result.status)
        return np.asarray(_WORDS[worst[self.representative]])

    def stats(self) -> pd.DataFrame:
        """One row per unit: the `by` columns, sample size, fit statistics, status, mean level, other optima, and
        plain words.

        loglik, loglik_uniform, loglik_saturated in nats without the multinomial constant (given beside them); gain:
        nats per choice over uniform play; completeness: share of the way from uniform play to the observed
        frequencies. mean_level: mean of the truncated population of levels, with delta-method error and the
        interval that follows from tau's; mean_level_shift: how much it moves with twice the levels.
        """
        return self._stats.copy()

    @cached_property
    def _stats(self) -> pd.DataFrame:
        r, rep = self.result, self.representative
        frame = self.units.keys.copy()
        value, k, n = r.value[rep], self._free, self._n
        uniform, saturated = uniform_loglik(self.units), saturated_loglik(self.units)
        no_choice = np.bincount(self.units.cells, self.choices.no_choice, minlength=len(self))
        room = saturated - uniform
        with np.errstate(divide="ignore", invalid="ignore"):
            gain = np.where(n > 0, (value - uniform) / n, np.nan)
            completeness = np.where(room > 1e-9, (value - uniform) / room, np.nan)
            bic = np.where(n > 0, k * np.log(n) - 2 * value, np.nan)
        frame["n"], frame["no_choice"] = n, no_choice
        frame["games"] = np.diff(self.units.start)
        frame["loglik"], frame["loglik_uniform"], frame["loglik_saturated"] = value, uniform, saturated
        frame["multinomial_constant"] = multinomial_constant(self.units)
        frame["free"], frame["aic"], frame["bic"] = k, 2 * k - 2 * value, bic
        frame["gain"], frame["completeness"] = gain, completeness
        frame["status"] = self.status
        for name, column in self._mean_levels().items():
            frame[name] = column
        rivals = np.bincount(r.rival_unit, minlength=len(r.value))
        frame["optima"] = (1 + rivals)[rep]
        frame["starts"] = r.tried[rep]
        frame["others"] = self._rival_text()[rep]
        frame["note"] = self._notes()
        return frame

    def _mean_levels(self) -> dict[str, Array]:
        names = ("mean_level", "mean_level_se", "mean_level_low", "mean_level_high", "mean_level_shift")
        u = len(self)
        if not isinstance(self.model, LevelModel) or len(self.extra.columns):
            return {name: np.full(u, np.nan) for name in names}
        r, rep = self.result, self.representative
        at = {p.name: r.params[i] for i, p in enumerate(self.model.parameters)}
        mean = _mean_level(self.model, at)
        depth = self.model.depth or ""
        which = next((i for i, p in enumerate(self.model.parameters) if p.name == depth), -1)
        se, low, high = (np.full(len(r.value), np.nan) for _ in range(3))
        mine = r.parameter == which
        if mine.any():
            owner = r.unit[mine]
            step = 1e-5
            slope = (_mean_level(self.model, {**at, depth: at[depth] * (1 + step)}) - mean) / (
                at[depth] * step + 1e-300
            )
            se[owner] = slope[owner] * r.se[mine]
            cap = next(p.high for p in self.model.parameters if p.name == depth)
            bound = {name: v[owner] for name, v in at.items()}
            low[owner] = _mean_level(self.model, {**bound, depth: r.low[mine]})
            reach = np.where(r.high[mine] >= cap, np.inf, r.high[mine])
            high[owner] = _mean_level(self.model, {**bound, depth: reach})
            unknown = np.isnan(r.estimate[mine])
            mean = mean.copy()
            mean[owner[unknown]] = np.nan
        doubled = np.full(len(r.value), np.nan) if self.mean_level_doubled is None else self.mean_level_doubled - mean
        return dict(zip(names, (mean[rep], se[rep], low[rep], high[rep], doubled[rep]), strict=True))

    def with_sensitivity(self, options: Options) -> Fits:
        """The same fits, with the mean level of a refit with twice the levels beside them."""
        bigger = self.model.with_levels(2 * self.model.options()["levels"])
        likelihood = Likelihood(bigger, self.likelihood.units, self.scale)
        again = solved.solve(likelihood, self.fixed, dataclasses.replace(options, intervals=False, rough=True))
        at = {p.name: again.params[i] for i, p in enumerate(bigger.parameters)}
        return dataclasses.replace(self, mean_level_doubled=_mean_level(bigger, at))

    def with_elsewhere(self) -> Fits:
        """The same fits, with a note where an equilibrium that the model does not single out fits better."""
        units, r = self.likelihood.units, self.result
        found = {}
        for u in np.flatnonzero(np.diff(units.start) == 1):
            row = units.start[u]
            game = units.games[units.game[row]]
            other = self.model.elsewhere(game, units.counts[row, : game.n_counts], float(r.value[u]))
            if other is not None:
                unit = self.likelihood.ranges[units.game[row]] / kernels.payoff_unit(game)
                where = ", ".join(f"{name}={value / unit:.4g}" for name, value in other[0].items())
                found[int(u)] = f"another equilibrium, off the principal branch, fits better: {where} ({other[1]:.2f})"
        return dataclasses.replace(self, elsewhere=found) if found else self

    def _rival_text(self) -> Array:
        """The other optima of each distinct unit as text, e.g. "tau=0.75, gamma=0.2 (-0.17)"."""
        r = self.result
        text = np.full(len(r.value), "", dtype=object)
        names = [p.name for p in self.model.parameters if p.name not in self.fixed]
        index = [i for i, p in enumerate(self.model.parameters) if p.name not in self.fixed]
        order = np.lexsort((-r.rival_value, r.rival_unit))
        for j in order:
            u = r.rival_unit[j]
            point = ", ".join(f"{name}={r.rival_params[i, j]:.4g}" for name, i in zip(names, index, strict=True))
            one = f"{point} ({r.rival_value[j] - r.value[u]:+.2f})"
            text[u] = f"{text[u]}; {one}" if text[u] else one
        return text

    def _notes(self) -> Array:
        """Plain words on what is special about each unit."""
        r, rep = self.result, self.representative
        fractional = (
            self.units.total((np.abs(self.units.counts - np.rint(self.units.counts)) > 1e-9).any(axis=1).astype(float))
            > 0
        )
        tau = "tau" if self.model.depth else "the parameter"
        parts = [
            (self._n == 0, "no choices"),
            (r.nothing[rep], "no better than uniform play: nothing can be said about the parameters"),
            (
                r.ridge[rep] & ~r.nothing[rep],
                "the likelihood is constant along a ridge: the parameters are not identified from these games",
            ),
            (
                r.capped[rep],
                f"{tau} is at the highest value searched, {self.model.options().get('tau_max', '')}",
            ),
            (r.jump[rep], "the optimum is at a jump of best responses: a one-sided limit"),
            (r.gaps[rep], "the profile set has gaps, the interval is its hull"),
            (fractional, "fractional counts, used as weights"),
        ]
        if self.mean_level_doubled is not None:
            moved = np.abs(self._mean_levels()["mean_level_shift"]) > 0.1
            parts.append((moved, "the mean level depends on the number of levels"))
        notes = np.full(len(self), "", dtype=object)
        for u, words in self.elsewhere.items():
            parts.append((rep == u, words))
        for where, words in parts:
            where = np.asarray(where)
            notes[where] = [f"{old}; {words}" if old else words for old in notes[where]]
        return notes

    def predict(self) -> pd.DataFrame:
        """Observed and predicted frequencies: the `by` columns, game, player, action, n (that player's choices),
        observed, predicted.
        """
        rows = self.rows
        params = self.result.params[:, self.sub_of_row]
        log_p = self.log_probabilities(params)
        pieces = []
        for g in np.unique(rows.game):
            game = rows.games[g]
            which = np.flatnonzero(rows.game == g)
            for i, s in enumerate(game.slices):
                if not game.observed[i]:
                    continue
                counts = rows.counts[which, s]
                n = counts.sum(axis=1)
                size = s.stop - s.start
                with np.errstate(invalid="ignore", divide="ignore"):
                    observed = counts / n[:, None]
                pieces.append(
                    pd.DataFrame(
                        {
                            "_row": np.repeat(which, size),
                            "_player": i,
                            "game": game.name,
                            "player": game.players[i],
                            "action": np.tile(np.array(game.actions[i], dtype=object), len(which)),
                            "n": np.repeat(n, size),
                            "observed": observed.ravel(),
                            "predicted": np.exp(log_p[s][:, which]).T.ravel(),
                        }
                    )
                )
        frame = pd.concat(pieces).sort_values(["_row", "_player"], kind="stable")
        keys = rows.keys.iloc[rows.owner[frame["_row"].to_numpy()]][[c for c in self.by if c != "game"]].reset_index(
            drop=True
        )
        return pd.concat([keys, frame.drop(columns=["_row", "_player"]).reset_index(drop=True)], axis=1)

    def log_probabilities(self, params: Array) -> Array:
        """Of every row of `rows`, under its unit's variant of the model, (W, rows)."""
        rows = self.rows
        owner = np.zeros(len(rows), int)
        owner[rows.cells] = self.units.cells
        variant = self.result.variant[self.representative][owner][rows.owner]
        out = np.zeros((rows.counts.shape[1], len(rows.game)))
        for v in np.unique(variant):
            which = np.flatnonzero(variant == v)
            link = Likelihood(self.variants[v], rows, self.scale)
            out[:, which] = link.log_probabilities(rows.game[which], params[:, which])
        return out

    def locate(self, **where: Any) -> int:
        """The number of the unit whose `by` columns have these values. Raises UsageError if there is not exactly
        one.
        """
        keys = self.units.keys
        hits = np.ones(len(self), bool)
        for column, value in where.items():
            if column not in keys.columns:
                raise UsageError(f"these fits have no column {column!r}; they are by {', '.join(self.by) or 'nothing'}")
            hits &= (keys[column] == value).to_numpy()
        if hits.sum() != 1:
            raise UsageError(f"{int(hits.sum())} units match {where}; give enough columns to name one")
        return int(np.flatnonzero(hits)[0])

    def _grid(self, unit: int) -> tuple[surfaces.Grid, int]:
        if not 0 <= unit < len(self):
            raise UsageError(f"unit {unit} does not exist; there are {len(self)}, numbered from 0")
        variant = self.variants[self.result.variant[self.representative[unit]]]
        objective = solved.bind(dataclasses.replace(self.likelihood, model=variant), self.fixed)
        if not 1 <= len(objective.free) <= 2 or len(self.extra.columns):
            raise UsageError(
                "a likelihood surface exists for fits with one or two free parameters that do not vary within units"
            )
        return surfaces.grid(objective, (401,) if len(objective.free) == 1 else (72, 96)), int(
            self.representative[unit]
        )

    def surface(self, unit: int = 0) -> Surface:
        """The log-likelihood surface of one unit over its two free parameters. Raises UsageError if it has not two."""
        grid, u = self._grid(unit)
        if len(grid.axes) != 2:
            raise UsageError("a surface needs two free parameters; use profile")
        names = (grid.axes[0].parameter.name, grid.axes[1].parameter.name)
        i, j = grid.objective.free
        best = (float(self.result.params[i, u]), float(self.result.params[j, u]))
        return Surface(
            names=names,
            units=(self.unit_of(names[0]), self.unit_of(names[1])),
            x=surfaces.nodes_natural(grid, 0, u),
            y=surfaces.nodes_natural(grid, 1, u),
            loglik=surfaces.surface(grid, u),
            best=best,
            cutoff=float(self.result.value[u] - intervals.drop(self.interval)),
        )

    def profile(self, unit: int = 0, parameter: str | None = None) -> pd.DataFrame:
        """Profile log-likelihood of one parameter of one unit on a grid: value, loglik (maximised over the other on
        the grid).
        """
        grid, u = self._grid(unit)
        names = [a.parameter.name for a in grid.axes]
        name = parameter or names[0]
        if name not in names:
            raise UsageError(f"{name!r} is not a free parameter here; choose from {', '.join(names)}")
        a = names.index(name)
        values = surfaces.surface(grid, u).max(axis=1 - a)
        return pd.DataFrame({"value": surfaces.nodes_natural(grid, a, u), "loglik": values})

    def summary(self) -> str:
        """The estimates as text, at most 80 columns wide, ending with what the data do not tell."""
        from levelkit.report.tables import summary

        return summary(self)

    def plot(self, kind: str = "estimates", unit: int | None = None, **options: Any) -> Figure:
        """A figure: "estimates" (with intervals and status), "surface" (one unit), "frequencies" (observed against
        predicted).
        """
        from levelkit.report import plots

        return plots.plot(self, kind, unit, **options)

    def save(self, path: str | Path) -> Path:
        """Write the estimates; the suffix chooses csv, json, parquet, tex or md."""
        from levelkit.report.tables import write

        return write(self, path)

    def report(self, path: str | Path) -> Path:
        """Write one self-contained HTML page."""
        from levelkit.report.html import write

        return write(self, path)


def _mean_level(model: Model, at: dict[str, Array]) -> Array:
    """Mean level at many parameter values, padded so that few sizes are compiled."""
    size = len(next(iter(at.values())))
    room = 64
    while room < size:
        room *= 16
    padded = {name: np.pad(np.asarray(v, float), (0, room - size), constant_values=1.0) for name, v in at.items()}
    return kernels.mean_levels(model, padded)[:size]
