"""How well each value fits: the likelihood surface of two parameters, or the profile curve of one."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.stats import chi2

from levelkit.report import words
from levelkit.report.plots import style as st
from levelkit.report.view import FitsLike, View, find_cell

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_DROPS = (0.0, 0.5, 1.0, 2.0, 3.0, 5.0, 8.0, 12.0, 20.0, 40.0)
_DEEPEST = 80.0
_NODES = 110
_NEAR = 10.0  # the figure shows where the log-likelihood is within this of the best, and a margin


def surface(fits: FitsLike, cell: int | Mapping[str, Any] | None = None) -> Figure:
    """The log-likelihood of one cell relative to its maximum, over the two free parameters; one parameter
    gives its profile.

    cell: number, or values of the grouping columns; may be left out when there is one only. The inner
    line bounds each parameter on its own (its ends are the profile interval), the outer one both
    together. Where most of the range fits badly only the part near the best fit is shown.
    Raises UsageError for a cell that is not there.
    """
    at = find_cell(fits, cell)
    view = View.of(fits)
    names = [n for n, owner in zip(view.frame["parameter"], view.names, strict=True) if owner == view.cells[at]]
    with st.style():
        figure = st.new_figure(5.6, 4.3) if len(names) != 1 else st.new_figure(5.2, 3.4)
        axes = figure.subplots()
        if len(names) == 1:
            _profile(axes, view, at, names[0])
        else:
            _contours(figure, axes, view, at)
        n = words.count(view.stats["n"].iloc[at])
        axes.set_title(st.clear(f"{view.cells[at]} (n = {n}, {_status(view, at)})", 70))
    return figure


def _status(view: View, at: int) -> str:
    own = view.frame.iloc[view.rows_of(at)]
    pairs = [(str(p), str(s)) for p, s in zip(own["parameter"], own["status"], strict=True)]
    if len({s for _, s in pairs}) == 1:
        return pairs[0][1]
    return ", ".join(f"{p} {s}" for p, s in pairs)


def _contours(figure: Figure, axes: Axes, view: View, at: int) -> None:
    s = view.fits.surface(at)
    one, joint = _cutoffs(view.fits.interval)
    best_value = float(s.cutoff) + one
    drop = best_value - np.asarray(s.loglik, float)
    near = max(_NEAR, 2 * joint)
    nodes = np.asarray(s.x)[_window(drop.min(axis=1), near)], np.asarray(s.y)[_window(drop.min(axis=0), near)]
    x, y = (_finer(own, best) for own, best in zip(nodes, s.best, strict=True))
    drop = np.clip(best_value - _loglik(view.fits, at, s.names, x, y), 0, _DEEPEST)
    x_axis, y_axis = (st.Compact.through(own) for own in nodes)
    px, py = x_axis(x), y_axis(y)
    from matplotlib.colors import BoundaryNorm, LinearSegmentedColormap

    levels = [*_DROPS, _DEEPEST]
    ramp = LinearSegmentedColormap.from_list("fit", ["#08457e", "#2a7ab9", "#7fb8da", "#c6dcec", "#f3f7fa"])
    filled = axes.contourf(px, py, drop.T, levels=levels, cmap=ramp, norm=BoundaryNorm(levels, ramp.N))
    filled.set_edgecolor("face")
    if drop.max() > one:
        axes.contour(px, py, drop.T, levels=[one], colors=[st.INK], linewidths=1.3)
    if drop.max() > joint:
        axes.contour(px, py, drop.T, levels=[joint], colors=[st.INK], linewidths=1.0, linestyles=[(0, (4, 2))])
    _ridge(axes, px, py, drop)
    axes.plot(
        [float(x_axis(s.best[0]))],
        [float(y_axis(s.best[1]))],
        marker="*",
        markersize=13,
        color=st.ORANGE,
        markeredgecolor=st.INK,
        markeredgewidth=0.7,
        linestyle="none",
        clip_on=False,
        zorder=5,
    )
    x_axis.apply(axes, "x")
    y_axis.apply(axes, "y")
    for which, name, unit in zip("xy", s.names, s.units, strict=True):
        known = view.parameter(name)
        text = st.axis_label(known.label if known else name, unit)
        (axes.set_xlabel if which == "x" else axes.set_ylabel)(text)
    bar = figure.colorbar(filled, ax=axes, pad=0.02, aspect=28, spacing="uniform", ticks=levels)
    bar.set_ticklabels([f"{-v:g}" if v else "0" for v in levels[:-1]] + [f"≤ {-_DEEPEST:g}"])
    bar.set_label("log-likelihood below the best (nats)")
    bar.outline.set_linewidth(0.5)
    _key(figure, s.names, view.level, one, joint)


def _cutoffs(interval: float) -> tuple[float, float]:
    """Drops in log-likelihood that bound one parameter and both together."""
    return float(chi2.ppf(interval, 1) / 2), float(chi2.ppf(interval, 2) / 2)


def _finer(nodes: np.ndarray, best: float) -> np.ndarray:
    """Grid nodes with others between them, about 110 in all, and the best estimate among them."""
    finite = nodes[np.isfinite(nodes) & (nodes > 0)]
    times = max(1, round(_NODES / len(finite)))
    dense = np.interp(np.arange((len(finite) - 1) * times + 1) / times, np.arange(len(finite)), np.log(finite))
    if finite[0] < best < finite[-1]:
        dense = np.union1d(dense, np.log(best) + np.array([-2e-3, 0.0, 2e-3]))
    ends = nodes[~(np.isfinite(nodes) & (nodes > 0))]
    return np.concatenate([ends[ends <= 0], np.exp(dense), ends[ends > 0]])


def _loglik(fits: Any, at: int, names: tuple[str, str], x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Log-likelihood of one fitted cell at all pairs of values, (len(x), len(y))."""
    grid = {names[0]: np.repeat(x, len(y)), names[1]: np.tile(y, len(x))}
    params = np.stack(
        [grid.get(p.name, np.full(len(x) * len(y), fits.fixed.get(p.name, 0.0))) for p in fits.model.parameters]
    )
    unit = np.full(params.shape[1], int(fits.representative[at]))
    return np.asarray(fits.likelihood.value(unit, params)).reshape(len(x), len(y))


def _window(drop: np.ndarray, near: float) -> slice:
    """The part of an axis where the fit is near the best, with a margin; all of it where that is most of
    it.
    """
    inside = np.flatnonzero(drop <= near)
    margin = max(2, round(0.2 * (inside[-1] - inside[0])))
    first, last = max(0, inside[0] - margin), min(len(drop), inside[-1] + margin + 1)
    return slice(int(first), int(last)) if last - first < 0.85 * len(drop) else slice(0, len(drop))


def _ridge(axes: Axes, px: np.ndarray, py: np.ndarray, drop: np.ndarray) -> None:
    """For each value of the first parameter the best of the second, as dots where the surface tells one from
    another.
    """
    best = drop.argmin(axis=1)
    told = drop.max(axis=1) - drop.min(axis=1) > 0.05
    height = np.where(told & (drop.min(axis=1) < _DEEPEST), _vertex(py, drop, best), np.nan)
    leaps = np.flatnonzero(np.abs(np.diff(height)) > 0.12) + 1  # another ridge takes over: no line between them
    axes.plot(
        np.insert(px, leaps, np.nan),
        np.insert(height, leaps, np.nan),
        color=st.VERMILLION,
        linewidth=1.1,
        marker=".",
        markersize=2.5,
        zorder=4,
        clip_on=False,
    )


def _vertex(py: np.ndarray, drop: np.ndarray, best: np.ndarray) -> np.ndarray:
    """Positions of the minima along the second axis, between grid nodes, by the parabola through three of
    them.
    """
    inner = np.clip(best, 1, len(py) - 2)
    row = np.arange(len(drop))
    a, b, c = (drop[row, inner + k] for k in (-1, 0, 1))
    x, y, z = (py[inner + k] for k in (-1, 0, 1))
    with np.errstate(divide="ignore", invalid="ignore"):
        turn = y - 0.5 * ((y - x) ** 2 * (b - c) - (y - z) ** 2 * (b - a)) / ((y - x) * (b - c) - (y - z) * (b - a))
    usable = (best == inner) & np.isfinite(turn) & (turn >= x) & (turn <= z)
    return np.asarray(np.where(usable, turn, py[best]))


def _key(figure: Figure, names: tuple[str, str], level: str, one: float, joint: float) -> None:
    from matplotlib.lines import Line2D

    handles = [
        Line2D(
            [],
            [],
            marker="*",
            markersize=10,
            color=st.ORANGE,
            markeredgecolor=st.INK,
            linestyle="none",
            label="best fit",
        ),
        Line2D(
            [],
            [],
            marker="o",
            markersize=2.5,
            color=st.VERMILLION,
            linestyle="none",
            label=f"best {names[1]} for each {names[0]} (ridge)",
        ),
        Line2D([], [], color=st.INK, linewidth=1.3, label=f"{level}, one parameter (-{one:.2f})"),
        Line2D(
            [],
            [],
            color=st.INK,
            linewidth=1.0,
            linestyle=(0, (4, 2)),
            label=f"{level}, both together (-{joint:.2f})",
        ),
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=2, columnspacing=1.6, handlelength=2.0)


def _profile(axes: Axes, view: View, at: int, parameter: str) -> None:
    curve = view.fits.profile(at, parameter)
    x, value = (curve[c].to_numpy(dtype=float) for c in ("value", "loglik"))
    row = view.frame.iloc[view.rows_of(at)[0]]
    one, _ = _cutoffs(view.fits.interval)
    best = max(float(np.nanmax(value)), float(view.stats["loglik"].iloc[at]))
    drop = value - best
    part = _window(-drop, 4 * one)
    x, drop = x[part], drop[part]
    axis = st.Compact.through(x)
    axes.plot(axis(x), drop, color=st.BLUE, linewidth=1.6, label="profile log-likelihood")
    axes.axhline(-one, color=st.INK, linewidth=1.0, linestyle=(0, (4, 2)), label=f"{view.level} cutoff (-{one:.2f})")
    low, high, estimate = (float(row[c]) for c in ("low", "high", "estimate"))
    if not math.isnan(low) and not math.isnan(high):
        ends = [float(v) for v in axis([low, high])]
        axes.axvspan(ends[0], ends[1], color=st.SKY, alpha=0.18, linewidth=0, label=f"{view.level} interval")
    if not math.isnan(estimate):
        star: Any = {
            "marker": "*",
            "markersize": 12,
            "color": st.ORANGE,
            "markeredgecolor": st.INK,
            "linestyle": "none",
        }
        axes.plot([float(axis(estimate))], [0.0], label="best fit", clip_on=False, **star)
    known = view.parameter(parameter)
    axis.apply(axes, "x")
    axes.set_xlabel(st.axis_label(known.label if known else parameter, view.units()[parameter]))
    axes.set_ylabel("log-likelihood below the best (nats)")
    axes.set_ylim(max(float(np.nanmin(drop)), -4 * one) * 1.03, 0.35)
    axes.figure.legend(loc="outside lower center", ncols=2)
