"""A trial log as text: accuracy beside its ceilings, rates with intervals, mentalizing, behaviours."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from typing import Any

import pandas as pd

from levelkit.depth.ceilings import REASONERS
from levelkit.depth.rates import FEW
from levelkit.depth.summaries import POOLED, RATES, Summary
from levelkit.report import records, words

WIDTH = 96

EXPLAINED = {
    "level acc.": "share of trials that take a^(k), with the wider of the binomial and the cell-cluster interval",
    "+-1": "share that resolves to a depth at most one off",
    "pays best": "share whose action pays best against the history the player saw, whatever its level",
    "aligned": "share of trials in which a payoff maximiser who knows the opponents would take a^(k) and nothing else",
    "ceiling": "accuracy of an ideal reasoner who infers the level from that history and replies to it",
    "pay-max": "accuracy of a payoff maximiser who replies to the observed frequencies (in brackets: +-1)",
}
"""Columns of the accuracy table."""


def percent(value: float, digits: int = 1) -> str:
    """A share in per cent; a dash where there is none."""
    return words.DASH if value != value else f"{100 * value:.{digits}f}"


def between(low: float, high: float) -> str:
    """An interval of shares in per cent."""
    return words.DASH if low != low else f"[{100 * low:.1f}, {100 * high:.1f}]"


def pivot(found: Summary) -> tuple[list[str], list[list[str]]]:
    """Table 2 of the study: a row per model, columns for each game and condition, "exact (within one)" in per cent.

    Inductive columns at the precision of 10, or the highest there is.
    """
    table = found.accuracy[found.accuracy["game"] != POOLED]
    lams = sorted(set(table["lambda"].dropna()))
    top = 10.0 if 10.0 in lams else (lams[-1] if lams else None)
    kept = table[(table["condition"] == "recursive") | (table["lambda"] == top)]
    games = list(dict.fromkeys(kept["game"]))
    pairs = set(zip(kept["game"], kept["condition"], strict=True))
    columns = [(g, c) for g in games for c in ("recursive", "inductive") if (g, c) in pairs]
    head = ["model", *(f"{g} {'rec.' if c == 'recursive' else f'ind. λ={top:g}'}" for g, c in columns)]
    rows = []
    for model in dict.fromkeys(kept["model"]):
        row = [words.plain(model)]
        for game, condition in columns:
            own = kept[(kept["model"] == model) & (kept["game"] == game) & (kept["condition"] == condition)]
            entry = own.iloc[0] if len(own) else None
            row.append(
                words.DASH if entry is None else f"{percent(entry['accuracy'])} ({percent(entry['within_one'])})"
            )
        rows.append(row)
    return head, rows


def accuracy_rows(table: pd.DataFrame) -> tuple[list[str], list[list[str]]]:
    """The accuracy table with all columns."""
    head = [
        "model",
        "game",
        "cond.",
        "n",
        "level acc.",
        "interval",
        "+-1",
        "pays best",
        "aligned",
        "ceiling",
        "pay-max",
    ]
    rows = []
    for row in table.to_dict("records"):
        near = row["maximiser_within_one"]
        rows.append(
            [
                words.plain(row["model"]),
                words.plain(row["game"]),
                "rec." if row["condition"] == "recursive" else f"λ={row['lambda']:g}",
                f"{row['n']:,}",
                percent(row["accuracy"]),
                between(row["low"], row["high"]),
                percent(row["within_one"]),
                percent(row["payoff_consistent"]),
                percent(row["aligned"], 0),
                percent(row["ceiling"]),
                words.DASH if near != near else f"{percent(row['maximiser'])} ({percent(near)})",
            ]
        )
    return head, rows


def rate_rows(table: pd.DataFrame) -> tuple[list[str], list[list[str]]]:
    """Shares with both intervals."""
    head = ["model", "share of", "n", "%", "binomial", "by cells", "design effect", "clusters"]
    rows = []
    row: Any
    for row in table.itertuples():
        effect = words.DASH if row.design_effect != row.design_effect else f"{row.design_effect:.1f}"
        many = f"{row.clusters}{' (few)' if 0 < row.clusters < FEW else ''}"
        rows.append(
            [
                words.plain(row.model),
                RATES[row.rate],
                f"{row.n:,}",
                percent(row.value),
                between(row.low, row.high),
                between(row.cluster_low, row.cluster_high),
                effect,
                many,
            ]
        )
    return head, rows


def mentalizing_rows(table: pd.DataFrame) -> tuple[list[str], list[list[str]]]:
    """Table 3 of the study, with the stratified difference."""
    head = ["model", "n", "mentalizing", "acc. with", "without", "pooled diff.", "MH diff.", "interval"]
    rows = []
    for row in table.to_dict("records"):
        rows.append(
            [
                words.plain(row["model"]),
                f"{row['n']:,}",
                *(percent(row[c]) for c in ("mentalizing", "with", "without", "difference", "mh")),
                between(row["mh_low"], row["mh_high"]),
            ]
        )
    return head, rows


def behaviour_rows(table: pd.DataFrame) -> tuple[list[str], list[list[str]]]:
    """Shares of rules of behaviour."""
    rows = [
        [
            words.plain(r["model"]),
            r["behaviour"],
            percent(r["share"]),
            between(r["low"], r["high"]),
            r["status"],
            f"{r['n']:,}",
        ]
        for r in table.to_dict("records")
    ]
    return ["model", "behaviour", "%", "interval", "status", "n"], rows


def exclusion_rows(table: pd.DataFrame) -> tuple[list[str], list[list[str]]]:
    """Accuracy without and with ambiguous targets."""
    rows = [
        [
            r["scope"],
            f"{r['n_excluding']:,}",
            percent(r["excluding"]),
            f"{r['n_including']:,}",
            percent(r["including"]),
            f"{r['excluded_right']:,} of {r['excluded']:,}",
        ]
        for r in table.to_dict("records")
    ]
    return ["scope", "n without", "%", "n with", "%", "left-out trials scored right"], rows


def lines(head: Sequence[str], rows: Iterable[Sequence[str]], left: int = 1) -> list[str]:
    """A table as lines of text; the first `left` columns stand left, the others right."""
    listed = [list(head), *map(list, rows)]
    widths = [max(words.width(r[i]) for r in listed) for i in range(len(head))]
    made = [
        "  ".join(words.pad(c, w, right=i >= left) for i, (c, w) in enumerate(zip(r, widths, strict=True))).rstrip()
        for r in listed
    ]
    return [made[0], "-" * max(map(words.width, made)), *made[1:]]


def text(found: Summary) -> str:
    """The tables of a log; at most about 100 columns."""
    kept = found.scored["counted" if found.convention == "published" else "counted_proper"].sum()
    out = [
        f"{len(found.scored):,} trials, {kept:,} counted ({found.convention} convention; {found.interval} intervals, "
        f"{100 * found.level:g}%, in per cent)",
        "",
        "Reaching the target depth: exact (within one)",
        *lines(*pivot(found)),
        "(n and intervals of each entry are in the .html, .csv and .json outputs)",
        "",
        "What the accuracy is made of, all games together",
        *lines(*accuracy_rows(found.accuracy[found.accuracy["game"] == POOLED]), left=3),
        *(line for n, e in EXPLAINED.items() for line in textwrap.wrap(f"{n}: {e}.", WIDTH, subsequent_indent="  ")),
        "",
        "Shares, all models",
        *lines(*rate_rows(found.rates[found.rates["model"] == POOLED]), left=2),
        "",
    ]
    if len(found.exclusion):
        out += [
            "Ambiguous targets (an action that two depths share) left out",
            *lines(*exclusion_rows(found.exclusion)),
            "",
        ]
    if len(found.mentalizing):
        out += ["Inductive trials whose transcript says that the opponent reasons about the player"]
        out += [*lines(*mentalizing_rows(found.mentalizing)), "MH: Mantel-Haenszel, stratified by cell.", ""]
    out += [
        "Rules of behaviour (mixture over all trials with an action)",
        *lines(*behaviour_rows(found.behaviours), left=2),
    ]
    return "\n".join(out) + "\n"


def ceilings(table: pd.DataFrame) -> str:
    """Ceilings averaged over depths, by game and precision; cells with an ambiguous target left out."""
    kept = table[table["counted"]]
    head = ["game", "λ", "cells", "level found", "level plug-in", "maximiser", "empirical", "mode", "aligned cells"]
    rows = []
    for (game, lam), part in kept.groupby(["game", "lambda"], sort=False):
        cells = part.drop_duplicates("k_target")
        mean = part.select_dtypes("number").mean()
        row = [str(game), f"{lam:g}", str(len(cells)), percent(mean["identified"])]
        row += [f"{percent(mean[n])} ({percent(mean[f'{n}_within_one'])})" for n in REASONERS]
        rows.append([*row, f"{int(cells['aligned'].sum())} of {len(cells)}"])
    scales = ", ".join(dict.fromkeys(table["payoff_scale"]))
    simulated = (table["histories"] > 1).any()
    many = f"{int(table['histories'].iloc[0]):,} simulated histories a cell"
    if not simulated:
        many = f"{words.plural(len(table), 'history', 'histories')} of the log"
    note = (
        f"Per cent, mean over depths, {many}, scale {scales}. Accuracy exact (within one). level plug-in: replies to "
        "the most probable level. maximiser: best reply to the posterior mean of opponents. empirical: to the observed "
        "frequencies. mode: to the most frequent action. aligned: cells whose scored action is the only "
        "payoff-maximising reply to the true opponents. Ambiguous targets (Ring, k = 10) are left out."
    )
    return "\n".join([*lines(head, rows), *textwrap.wrap(note, WIDTH)]) + "\n"


def record(found: Summary) -> dict[str, Any]:
    """All tables as plain data."""
    names = ["accuracy", "rates", "exclusion", "mentalizing", "signals", "chains", "agreement", "behaviours", "health"]
    return {
        "levelkit": words.version(),
        "convention": found.convention,
        "interval": {"kind": found.interval, "level": found.level},
        "trials": len(found.scored),
        "set_aside": records.rows(found.trials.problems.frame),
        **{name: records.rows(getattr(found, name)) for name in names},
    }
