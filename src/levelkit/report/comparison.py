"""A comparison of models as text, table files and figures."""

from __future__ import annotations

import math
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from levelkit.binomial import wilson
from levelkit.errors import UsageError
from levelkit.inference.leaveout import UNRELIABLE
from levelkit.report import records, sheets, words
from levelkit.report.plots import style as st

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from levelkit.inference.compare import Comparison

ABOUT = (
    "Log-likelihoods in nats, without the multinomial constant. gain: nats per choice over uniform play. complete: "
    "share of the way from uniform play to the observed frequencies. Vuong tests and intervals take choices to be "
    "independent."
)
LOO = (
    " LOO: log density of each choice, predicted from the unit's other choices under the model's prior, summed; by "
    "Pareto-smoothed importance sampling."
)
WIDTH = 88


def text(result: Comparison) -> str:
    """A table for each unit, its tests and verdict."""
    frame, tests, verdict = result.frame(), result.tests(), result.verdict()
    size = len(result.labels)
    blocks = []
    for u in range(len(result.keys)):
        mine = frame.iloc[u * size : (u + 1) * size]
        where = ", ".join(f"{c} {words.plain(str(result.keys[c].iloc[u]))}" for c in result.by) or "all choices pooled"
        blocks.append(f"{where}: n = {mine['n'].iloc[0]:g}")
        blocks.append(_table(mine, result.holdout is not None, bool(result.loos)))
        pairs = tests.iloc[u :: len(result.keys)] if len(result.keys) else tests
        blocks.extend(f"  {_test(row)}" for row in pairs.itertuples())
        blocks.append(textwrap.fill(f"=> {verdict[u]}.", WIDTH, subsequent_indent="   "))
        blocks.append("")
    blocks.append(textwrap.fill(ABOUT + (LOO if result.loos else ""), WIDTH))
    return "\n".join(blocks) + "\n"


def _table(mine: pd.DataFrame, holdout: bool, loo: bool = False) -> str:
    head = ["model", "loglik", "free", "AIC", "BIC", "gain [95%]", "complete"]
    head += ["left out (s.e.)"] if holdout else []
    head += ["LOO (s.e.)"] if loo else []
    body = []
    row: Any
    for row in mine.itertuples():
        one = [
            str(row.model),
            f"{row.loglik:.3f}",
            f"{row.free:g}",
            f"{row.aic:.2f}",
            f"{row.bic:.2f}",
            f"{row.gain:.3f} [{row.gain_low:.3f}, {row.gain_high:.3f}]",
            "-" if math.isnan(row.completeness) else f"{row.completeness:.3f}",
        ]
        if holdout:
            one.append(_with_error(row.held_out, row.held_out_se))
        if loo:
            one.append(_with_error(row.loo, row.loo_se) + "!" * bool(row.unreliable))
        body.append(one)
    lines = [sheets.grid(head, body)]
    for row in mine.itertuples():
        said = f" (status {row.status})" if row.status != "ok" else ""
        if row.estimates:
            lines.append(f"  {row.model}: {row.estimates}{said}")
    shaky = [f"{model} {n:g}" for model, n in zip(mine.model, mine.unreliable, strict=True) if n] if loo else []
    if shaky:
        said = f"  ! LOO is not to be trusted: choices with Pareto k above {UNRELIABLE:g}: {', '.join(shaky)}"
        lines.append(textwrap.fill(said, WIDTH, subsequent_indent="    "))
    return "\n".join(lines)


def _with_error(value: float, error: float) -> str:
    said = "" if math.isnan(error) else f" ({error:.2f})"
    return "-" if math.isnan(value) else f"{value:.2f}{said}"


def _test(row: Any) -> str:
    pair = f"{row.model_a} v {row.model_b}: {row.test}"
    number = f"z = {row.statistic:.2f}" if row.test == "Vuong" else f"{row.statistic:.2f}, df {row.df:g}"
    p = "p < 0.0001" if row.p < 1e-4 else f"p = {row.p:.4f}"
    end = f" -> {row.favours}" if row.favours else " -> not told apart"
    note = f" ({row.note})" if row.note else ""
    return textwrap.fill(f"{pair} {number}, {p}{end}{note}", WIDTH - 2, subsequent_indent="      ")


def record(result: Comparison) -> dict[str, Any]:
    """A comparison as nested plain data for JSON."""
    return {
        "levelkit": words.version(),
        "about": ABOUT,
        "by": list(result.by),
        "models": list(result.labels),
        "holdout": result.holdout,
        "table": records.rows(result.frame()),
        "tests": records.rows(result.tests()),
        "verdicts": [
            {**{c: str(result.keys[c].iloc[u]) for c in result.by}, "verdict": v}
            for u, v in enumerate(result.verdict())
        ],
    }


def write(result: Comparison, path: str | Path) -> Path:
    """Write the frame (csv, tsv, parquet), everything (json), or the text (txt, md)."""
    sheets.suffix_of(path, sheets.NO_LATEX)
    return sheets.write(path, result.frame(), sheets.as_it_is(text(result)), lambda: record(result))


def plot(result: Comparison, kind: str = "gain", unit: int = 0) -> Figure:
    """The figure of a kind. Raises UsageError for another kind or unit."""
    if kind not in ("gain", "frequencies"):
        raise UsageError(f"there is no plot {kind!r}; choose gain or frequencies")
    if not 0 <= unit < max(len(result.keys), 1):
        raise UsageError(f"unit {unit} does not exist; there are {len(result.keys)}, numbered from 0")
    with st.style():
        return _gain(result) if kind == "gain" else _frequencies(result, unit)


_COLOURS = (st.BLUE, st.VERMILLION, st.GREEN, st.PURPLE, st.ORANGE, st.SKY, st.BLACK)


def _gain(result: Comparison) -> Figure:
    frame, size = result.frame(), len(result.labels)
    units = len(result.keys)
    figure = st.new_figure(6.4, 1.1 + 0.17 * units * size + 0.12 * units)
    axes = figure.subplots()
    pitch = size + 0.8
    stats = result.fits[0].stats()
    with np.errstate(divide="ignore", invalid="ignore"):
        ceiling = ((stats["loglik_saturated"] - stats["loglik_uniform"]) / stats["n"]).to_numpy()
    for m, label in enumerate(result.labels):
        mine = frame.iloc[m::size]
        y = np.arange(units) * pitch + m
        gain = mine["gain"].to_numpy()
        reach = np.abs(np.stack([gain - mine["gain_low"], mine["gain_high"] - gain]))
        colour = _COLOURS[m % len(_COLOURS)]
        axes.errorbar(gain, y, xerr=reach, fmt="o", ms=3.5, lw=1, color=colour, label=label)
    for u in range(units):
        top, bottom = u * pitch - 0.45, u * pitch + size - 0.55
        axes.plot(
            [ceiling[u]] * 2, [top, bottom], color=st.INK, lw=1.2, label="observed frequencies" if u == 0 else None
        )
    axes.axvline(0, color=st.GREY, lw=0.7, ls=":")
    names = [st.clear(", ".join(str(v) for v in row)) or "all choices" for row in result.keys.itertuples(index=False)]
    axes.set_yticks(np.arange(units) * pitch + (size - 1) / 2, names if units else [])
    axes.tick_params(axis="y", length=0)
    axes.set_ylim((units - 1) * pitch + size - 0.3, -0.7)
    axes.set_xlabel("gain over uniform play, nats per choice (95% intervals)")
    axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return figure


def _frequencies(result: Comparison, unit: int) -> Figure:
    size = len(result.labels)
    columns = min(size, 3)
    rows = -(-size // columns)
    figure = st.new_figure(2.5 * columns, 2.6 * rows)
    panels = np.atleast_1d(figure.subplots(rows, columns, sharex=True, sharey=True)).ravel()
    for axes, fits, label in zip(panels, result.fits, result.labels, strict=False):
        frame = fits.predict()
        for c in fits.by:
            frame = frame[frame[c] == result.keys[c].iloc[unit]]
        frame = frame[frame["n"] > 0]
        x, y, n = (frame[c].to_numpy(float) for c in ("predicted", "observed", "n"))
        low, high = wilson(y, n)
        axes.plot([0, 1], [0, 1], color=st.GREY, lw=0.7, ls=":")
        axes.errorbar(x, y, yerr=[y - low, high - y], fmt="o", ms=3, lw=0.7, color=st.BLUE, alpha=0.8)
        axes.set_title(label)
        axes.set_aspect("equal")
    for axes in panels[size:]:
        axes.set_axis_off()
    figure.supxlabel("predicted frequency (bars: 95% Wilson intervals of the observed)", fontsize=9)
    figure.supylabel("observed frequency", fontsize=9)
    return figure
