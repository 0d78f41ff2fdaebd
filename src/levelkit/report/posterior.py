"""A posterior as text and table files: estimates with status, interval, unit and sample size, and plain words."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from levelkit.inference.posteriors import FLAT, Posterior
from levelkit.report import records, sheets, words

STATUSES = {
    "flat": "the posterior is the prior: the choices say nothing about this parameter here; quote nothing",
    "multimodal": "the marginal density has a second mode: one number does not describe it; look at the plot",
    "unsure": "the chains do not agree (rhat above 1.01 or fewer than 400 effective draws): sample longer",
}
_MOST = 60


def sheet(post: Posterior, most: int | None = _MOST) -> sheets.Sheet:
    """The estimates as a table; at most `most` rows of them."""
    about, frame = post.about, post.frame()
    exact = about["method"] == "exact"
    level = f"{100 * about['interval']:g}%"
    heads = [*about["columns"], "parameter", "mean", "sd", f"{level} interval", "status", "n", "unit"]
    heads += [] if exact else ["rhat", "ess"]
    cells = [_row(about["columns"], row, exact) for row in frame.iloc[:most].to_dict("records")]
    title = f"{about['label']}: posterior of {words.plural(len(post.keys()), 'unit')}, {_method(about)}"
    return sheets.Sheet(title, heads, cells, notes(post, most), left=len(about["columns"]) + 1)


def population(post: Posterior, most: int | None = _MOST) -> sheets.Sheet | None:
    """What was learnt of the population as a table; None where nothing is pooled."""
    frame = post.effects()
    if not len(frame):
        return None
    heads = ["of the population", "value", "mean", "sd", f"{100 * post.about['interval']:g}% interval", "rhat", "ess"]
    number = words.number
    cells = [
        [
            row["variable"],
            words.plain(row["value"]),
            number(row["mean"]),
            number(row["sd"]),
            f"[{number(row['low'])}, {number(row['high'])}]",
            f"{row['rhat']:.3f}",
            words.count(round(row["ess_bulk"])),
        ]
        for row in frame.iloc[:most].to_dict("records")
    ]
    told = ["typical: in natural units, precisions per payoff range; sd, effects and beta (slopes): in logs."]
    if most is not None and len(frame) > most:
        told.append(f"{len(frame) - most:,} more rows are not shown; effects() holds all.")
    return sheets.Sheet("The population that units come from", heads, cells, told, left=2)


def _all(post: Posterior, most: int | None) -> list[sheets.Sheet]:
    of_population = population(post, most)
    return [sheet(post, most), *([of_population] if of_population is not None else [])]


def _row(columns: list[str], row: dict[Any, Any], exact: bool) -> list[str]:
    number = words.number
    told = [*(words.plain(str(row[c])) for c in columns), row["parameter"]]
    told += [number(row["mean"]), number(row["sd"]), f"[{number(row['low'])}, {number(row['high'])}]"]
    told += [row["status"], words.count(row["n"]), row["unit"]]
    return told if exact else [*told, f"{row['rhat']:.3f}", words.count(round(row["ess_bulk"]))]


def _method(about: dict[str, Any]) -> str:
    if about["method"] == "exact":
        return "by quadrature (exact)"
    return f"by {about['method']}, {about['chains']} chains of {about['draws']:,} draws"


def notes(post: Posterior, most: int | None = None) -> list[str]:
    """What a reader has to know, in plain words."""
    about, frame = post.about, post.frame()
    told = [f"Priors: {'; '.join(about['priors'])}."]
    if about["pool"]:
        shared = "; ".join(f"{name} over {', '.join(columns)}" for name, columns in about["pool"].items())
        told.append(f"Partially pooled: {shared}. Standard deviations of effects are in logs.")
    if about["covariates"]:
        linked = "; ".join(f"{name} by {formula}" for name, formula in about["covariates"].items())
        told.append(
            f"Covariates: {linked}. Slopes: normal(0, 1) a priori per standard deviation (or step) of a covariate."
        )
    if about["overdispersion"]:
        told.append("Choices within a cell may hang together (Dirichlet-multinomial): rho is their correlation.")
    if most is not None and len(frame) > most:
        told.append(f"{len(frame) - most:,} more rows are not shown; frame() and files hold all.")
    for status, meaning in STATUSES.items():
        hit = frame[frame["status"] == status]
        if len(hit):
            where = ", ".join(
                f"{words.count(len(part))} of {name}" for name, part in hit.groupby("parameter", sort=False)
            )
            told.append(f"{status} ({where}): {meaning}.")
    if about["method"] == "exact":
        error = float(np.max(post.evidence()["error"]))
        told.append(f"Intervals: highest density. Log evidence within {error:.0e} nats.")
    else:
        count = about["divergences"]
        told.append(
            "Intervals: highest density of the draws. "
            + ("No divergences." if not count else f"{count} divergent transitions: look at the pairs plot before use.")
        )
    return told + [f"{note[0].upper()}{note[1:]}." for note in about["notes"]]


def text(post: Posterior) -> str:
    """The estimates as text."""
    return sheets.shown(_all(post, _MOST), "text")


def record(post: Posterior) -> dict[str, Any]:
    """The posterior's estimates as nested plain data for JSON."""
    body = {"levelkit": words.version(), **post.about, "statuses": {**STATUSES, "ok": "", "flat_below": FLAT}}
    body |= {"estimates": records.rows(post.frame()), "population": records.rows(post.effects())}
    body["not_told"] = notes(post)
    if post.about["method"] == "exact":
        body["evidence"] = records.rows(post.evidence())
    return body


def write(post: Posterior, path: str | Path) -> Path:
    """Write netCDF (.nc, everything) or the estimates (.csv, .tsv, .json, .parquet, .md, .tex, .txt)."""
    if Path(path).suffix.lower() == ".nc":
        return post.save(path)
    return sheets.write(path, post.frame(), lambda format: sheets.shown(_all(post, None), format), lambda: record(post))


def suffix_of(path: str | Path) -> str:
    """The file's suffix, if a posterior can be written so. Raises UsageError for another."""
    return sheets.suffix_of(path, (*sheets.SUFFIXES, ".nc"))


def ranking(post: Posterior, parameter: str, within: list[str]) -> sheets.Sheet:
    """Ranks with their uncertainty, best first."""
    frame: pd.DataFrame = post.ranks(parameter, within).sort_values([*within, "rank_mean"], kind="stable")
    columns = [*within, *(c for c in post.about["columns"] if c not in within)]
    heads = [*columns, "mean rank", "90% interval", "P(highest)", "P(lowest)"]
    cells = [
        [
            *(words.plain(str(row[c])) for c in columns),
            f"{row['rank_mean']:.1f}",
            f"{row['rank_low']:.0f} to {row['rank_high']:.0f}",
            f"{row['p_highest']:.3f}",
            f"{row['p_lowest']:.3f}",
        ]
        for row in frame.to_dict("records")
    ]
    return sheets.Sheet(f"Ranks by {parameter} (1 is the highest)", heads, cells, left=len(columns))
