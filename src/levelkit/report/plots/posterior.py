"""Posteriors as figures: forests, marginals against the prior, pairs with the ridge, shrinkage, ranks, predictions."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from levelkit.errors import UsageError
from levelkit.inference import arvizdata
from levelkit.report import words
from levelkit.report.plots import style as st

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from levelkit.inference.posteriors import Posterior

_COLOUR = {"ok": st.BLUE, "multimodal": st.PURPLE, "flat": st.GREY, "unsure": st.VERMILLION}
_MARKER = {"ok": "o", "multimodal": "D", "flat": "x", "unsure": "s"}
MOST = 60


def plot(post: Posterior, kind: str = "forest", **options: Any) -> Figure:
    """The figure of a kind. Raises UsageError for another kind."""
    if kind not in _KINDS:
        raise UsageError(f"there is no plot {kind!r}; choose from {', '.join(_KINDS)}")
    with st.style():
        return _KINDS[kind](post, **options)


def _names(post: Posterior) -> list[str]:
    keys = post.keys()
    if not len(keys.columns):
        return [words.ALL_TOGETHER]
    return [st.clear(", ".join(map(str, row))) for row in keys.itertuples(index=False)]


def _label(post: Posterior, parameter: str) -> str:
    frame = post.frame()
    unit = frame.loc[frame["parameter"] == parameter, "unit"].iloc[0]
    return st.axis_label(parameter.replace("_", " "), str(unit))


def _parameters(post: Posterior) -> list[str]:
    return [p for p in post.about["parameters"] if p != "mean_level"]


def _decades(axes: Axes, which: str = "x") -> None:
    """Make an axis logarithmic, with plain numbers at its ticks."""
    getattr(axes, f"set_{which}scale")("log")
    getattr(axes, f"{which}axis").set_major_formatter("{x:g}")


def forest(post: Posterior, parameters: list[str] | None = None, most: int = MOST) -> Figure:
    """Means with highest-density intervals, a panel for each parameter; marks show the status."""
    shown, names = parameters or _parameters(post), _names(post)
    size = min(len(names), most)
    figure = st.new_figure(1.6 + 2.6 * len(shown), 1.2 + 0.17 * size)
    panels = figure.subplots(1, len(shown), squeeze=False, sharey=True)[0]
    frame = post.frame()
    for axes, name in zip(panels, shown, strict=True):
        mine = frame[frame["parameter"] == name].head(most)
        for y, row in enumerate(mine.to_dict("records")):
            colour = _COLOUR[row["status"]]
            axes.plot([row["low"], row["high"]], [y, y], color=colour, lw=1.1, solid_capstyle="butt")
            axes.plot([row["mean"]], [y], marker=_MARKER[row["status"]], color=colour, ms=3.8, ls="none")
        if (mine["low"] > 0).all() and mine["high"].max() > 30 * max(mine["low"].max(), 1e-12):
            _decades(axes)
        axes.set_xlabel(_label(post, name))
        axes.grid(axis="x", color=st.LIGHT, lw=0.6)
        axes.set_axisbelow(True)
    panels[0].set_yticks(range(size), names[:size])
    panels[0].set_ylim(size - 0.4, -0.6)
    _legend(figure, [s for s in _COLOUR if (frame["status"] == s).any()])
    interval = f"{100 * post.about['interval']:g}% highest-density intervals"
    more = f" ({len(names) - size} more not shown)" if len(names) > size else ""
    figure.suptitle(f"{post.about['label']}: posterior means, {interval}{more}", x=0.01, ha="left", fontsize=10)
    return figure


def _legend(figure: Figure, statuses: list[str]) -> None:
    from matplotlib.lines import Line2D

    words_ = {"flat": "flat: the posterior is the prior"}
    handles = [
        Line2D([], [], marker=_MARKER[s], color=_COLOUR[s], ms=4, lw=1.1, label=words_.get(s, s)) for s in statuses
    ]
    figure.legend(handles=handles, loc="outside lower left", ncols=4)


def marginals(post: Posterior, unit: int = 0) -> Figure:
    """Marginal densities of one unit's parameters, with the prior."""
    from levelkit.inference import priors

    shown = _parameters(post)
    figure = st.new_figure(3.0 * len(shown), 2.6)
    panels = figure.subplots(1, len(shown), squeeze=False)[0]
    known = dict(line.split(" ~ ") for line in post.about["priors"] if " ~ " in line)
    frame, count = post.frame(), len(post.keys())
    reference = arvizdata.group(post, "constant_data")["reference"].to_numpy()
    for axes, name in zip(panels, shown, strict=True):
        draws = post.draws(name)[unit]
        row = frame[frame["parameter"] == name].iloc[unit % count]
        grid = np.geomspace(np.quantile(draws, 0.001), np.quantile(draws, 0.999), 200)
        axes.plot(grid, _density(draws, grid), color=_COLOUR[row["status"]], label=f"posterior ({row['status']})")
        if name in known:
            prior = priors.parse(known[name].removesuffix(" per payoff range"))
            per = reference[unit] if known[name].endswith("range") else 1.0
            low, high = np.array(priors.distribution(prior).ppf([0.005, 0.995])) / per
            wide = np.geomspace(min(low, grid[0]), max(high, grid[-1]), 300)
            axes.plot(
                wide, priors.distribution(prior).pdf(wide * per) * per * wide, color=st.GREY, ls="--", label="prior"
            )
        axes.axvspan(row["low"], row["high"], color=st.LIGHT, zorder=0)
        _decades(axes)
        axes.set_xlabel(_label(post, name))
        axes.set_yticks([])
    panels[0].set_ylabel("density (of the logarithm)")
    panels[0].legend(loc="upper left")
    figure.suptitle(
        f"{_names(post)[unit]} (band: {100 * post.about['interval']:g}% interval)", x=0.01, ha="left", fontsize=10
    )
    return figure


def _density(draws: np.ndarray, at: np.ndarray) -> np.ndarray:
    """Density of the logarithm of draws, by a Gaussian kernel."""
    from scipy.stats import gaussian_kde

    return np.asarray(gaussian_kde(np.log(draws))(np.log(at)))


def pairs(post: Posterior, unit: int = 0) -> Figure:
    """Draws of the first two parameters of one unit: where there is a ridge it shows."""
    shown = _parameters(post)
    if len(shown) < 2:
        raise UsageError("pairs need two parameters; use marginals")
    figure = st.new_figure(3.6, 3.4)
    axes = figure.subplots()
    x, y = (post.draws(name)[unit] for name in shown[:2])
    axes.plot(x, y, ".", ms=1.6, alpha=0.35, color=st.BLUE, rasterized=True)
    _decades(axes)
    _decades(axes, "y")
    axes.set_xlabel(_label(post, shown[0]))
    axes.set_ylabel(_label(post, shown[1]))
    r = float(np.corrcoef(np.log(x), np.log(y))[0, 1])
    figure.suptitle(f"{_names(post)[unit]}\ncorrelation of logs {r:.2f}", x=0.01, ha="left", fontsize=9)
    return figure


def ranks(post: Posterior, parameter: str = "tau", within: str | list[str] = (), most: int = MOST) -> Figure:  # type: ignore[assignment]
    """Rank distributions: mean rank with the 90% interval, one line a unit, best first."""
    frame = post.ranks(parameter, within)
    names = np.array(_names(post), dtype=object)
    order = np.argsort(frame["rank_mean"].to_numpy(), kind="stable")[:most]
    figure = st.new_figure(5.2, 1.0 + 0.17 * len(order))
    axes = figure.subplots()
    for y, i in enumerate(order):
        row = frame.iloc[i]
        axes.plot([row["rank_low"], row["rank_high"]], [y, y], color=st.BLUE, lw=1.1)
        axes.plot([row["rank_mean"]], [y], "o", color=st.BLUE, ms=3.6)
    axes.set_yticks(range(len(order)), names[order])
    axes.set_ylim(len(order) - 0.4, -0.6)
    axes.set_xlabel(f"rank by {parameter} (1: highest; bars: 90%)")
    axes.grid(axis="x", color=st.LIGHT, lw=0.6)
    return figure


def predictive(post: Posterior) -> Figure:
    """Posterior predictive check: observed counts against the replicated ones' means and 95% ranges."""
    if "posterior_predictive" not in arvizdata.names(post):
        raise UsageError("predictions were not kept: there are too many cells; take fewer, or fewer draws")
    observed = arvizdata.group(post, "observed_data")["choices"].to_numpy()
    made = arvizdata.group(post, "posterior_predictive")["choices"].to_numpy().reshape(-1, len(observed))
    owner = arvizdata.group(post, "observed_data")["observation_of_entry"].to_numpy()
    n = np.bincount(owner, observed)[owner]
    low, high = np.quantile(made, [0.025, 0.975], axis=0) / n
    mean, share = made.mean(axis=0) / n, observed / n
    outside = (share < low) | (share > high)
    figure = st.new_figure(3.8, 3.7)
    axes = figure.subplots()
    axes.plot([0, 1], [0, 1], color=st.GREY, lw=0.7, ls=":")
    for hit, colour, label in ((~outside, st.BLUE, "inside"), (outside, st.VERMILLION, "outside")):
        axes.errorbar(
            share[hit],
            mean[hit],
            yerr=np.maximum([mean[hit] - low[hit], high[hit] - mean[hit]], 0.0),
            fmt="o",
            ms=2.6,
            lw=0.6,
            color=colour,
            alpha=0.8,
            label=f"{label}: {int(hit.sum())}",
        )
    axes.set_xlabel("observed frequency")
    axes.set_ylabel("replicated frequency (mean, 95% range)")
    axes.set_aspect("equal")
    axes.legend(loc="upper left", title=None)
    axes.set_title(f"{100 * outside.mean():.0f}% of {len(observed)} outside (5% expected)")
    return figure


def shrinkage(post: Posterior, parameter: str = "tau", alone: Posterior | None = None, most: int = MOST) -> Figure:
    """Estimates of units alone (another posterior of the same units) and pooled, joined by lines."""
    if alone is None:
        raise UsageError("shrinkage compares with units alone: give alone=posterior(..., without pool)")
    frame, other = (p.frame() for p in (post, alone))
    mine = frame[frame["parameter"] == parameter]
    theirs = other[other["parameter"] == parameter]
    columns = list(post.about["columns"])
    joined = (
        mine.merge(theirs, on=columns, suffixes=("", "_alone")) if columns else mine.assign(mean_alone=theirs["mean"])
    )
    joined = joined.sort_values("mean", kind="stable").head(most)
    figure = st.new_figure(5.4, 1.1 + 0.17 * len(joined))
    axes = figure.subplots()
    for y, row in enumerate(joined.to_dict("records")):
        axes.plot([row["mean_alone"], row["mean"]], [y, y], color=st.GREY, lw=0.8)
        axes.plot([row["low"], row["high"]], [y, y], color=st.BLUE, lw=0.5, alpha=0.6)
    rows = np.arange(len(joined))
    axes.plot(joined["mean_alone"], rows, "o", mfc="none", color=st.VERMILLION, ms=3.8, label="alone")
    axes.plot(joined["mean"], rows, "o", color=st.BLUE, ms=3.8, label="pooled (thin line: its interval)")
    axes.set_yticks(rows, [st.clear(", ".join(str(row[c]) for c in columns)) for row in joined.to_dict("records")])
    axes.set_ylim(-0.6, len(joined) - 0.4)
    _decades(axes)
    axes.set_xlabel(_label(post, parameter))
    figure.legend(loc="outside lower left", ncols=2)
    return figure


_KINDS: dict[str, Callable[..., Figure]] = {
    "forest": forest,
    "marginals": marginals,
    "pairs": pairs,
    "ranks": ranks,
    "predictive": predictive,
    "shrinkage": shrinkage,
}
