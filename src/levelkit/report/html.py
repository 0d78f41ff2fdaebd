"""One self-contained HTML page about fits: no scripts, nothing loaded from elsewhere, no date; it prints."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from levelkit.errors import UsageError
from levelkit.report import plots, words
from levelkit.report.files import write_whole
from levelkit.report.findings import findings
from levelkit.report.plots.style import image
from levelkit.report.view import FitsLike, View
from levelkit.report.words import count, number

_MOST_SURFACES = 6
_MOST_ROWS = 400
_CELLS_NAMED = 5  # below each finding; more of them fold away
_CELLS_FOLDED = 200
_PACKAGES = ("levelkit", "numpy", "scipy", "jax", "pandas", "matplotlib")


def write(fits: FitsLike, path: str | Path) -> Path:
    """Write the report to a file. Raises UsageError where that cannot be done."""
    return write_whole(path, page(fits))


def page(fits: FitsLike, title: str = "") -> str:
    """The report as text; the same for the same fit and versions. title: a heading instead of the model's
    name.
    """
    return pages([("", fits)], title)


def pages(parts: list[tuple[str, FitsLike]], title: str = "") -> str:
    """One page about several fits, each with its heading; texts are escaped."""
    views = [(name, View.of(fits)) for name, fits in parts]
    return render(
        "report.html.j2",
        title=title or f"{views[0][1].fits.model.label}: estimates",
        parts=[_part(name, view, f"p{i}") for i, (name, view) in enumerate(views, 1)],
        glossary=words.glossary(),
    )


def render(template: str, **values: Any) -> str:
    """A page from a template of this package; texts are escaped."""
    environment = Environment(
        loader=PackageLoader("levelkit.report", "."),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    versions = [(name, words.version(name)) for name in _PACKAGES]
    return environment.get_template(template).render(versions=versions, **values).rstrip() + "\n"


def _part(name: str, view: View, anchor: str) -> dict[str, Any]:
    fits, surfaces = view.fits, _surfaces(view, anchor)
    return {
        "name": name,
        "anchor": anchor,
        "facts": _facts(view),
        "key_names": [words.plain(k) for k in view.keys],
        "by": [words.plain(k) for k in fits.by],
        "level": view.level,
        "estimates": _estimates(view),
        "estimates_left_out": max(0, len(view.frame) - _MOST_ROWS),
        "counts": _status_counts(view),
        "cells": _cells(view),
        "cells_left_out": max(0, len(view.stats) - _MOST_ROWS),
        "levels": bool(np.isfinite(view.stats["mean_level"].to_numpy(dtype=float)).any()),
        "findings": [
            {
                "text": f.text,
                "cells": f.cells[:_CELLS_NAMED],
                "folded": f.cells[_CELLS_NAMED:_CELLS_FOLDED],
                "more": max(0, f.count - _CELLS_FOLDED),
                "hidden": f.count - _CELLS_NAMED,
            }
            for f in findings(view)
        ],
        "set_aside": fits.choices.problems.text(),
        "figures": list(_figures(view, anchor)),
        "surfaces": surfaces,
        "surfaces_of": len(surfaces),
        "cells_in_all": len(view.cells),
    }


def _facts(view: View) -> list[tuple[str, str]]:
    fits, stats = view.fits, view.stats
    none = stats["no_choice"].sum()
    games = list(fits.choices.games)
    facts = [
        ("Model", f"{fits.model.label} ({fits.model.name})"),
        ("Options", view.options),
        ("Fixed", ", ".join(f"{k} = {number(v)}" for k, v in getattr(fits, "fixed", {}).items())),
        ("Fitted by", ", ".join(map(words.plain, fits.by)) or words.ALL_TOGETHER),
        ("Fitted cells", f"{len(fits):,}"),
        ("Choices", count(stats["n"].sum())),
        ("Answers without a choice", count(none) if none else ""),
        (
            "Games",
            f"{len(games):,}: {', '.join(map(words.plain, games[:20]))}" + (", .." if len(games) > 20 else ""),
        ),
        ("Payoffs", view.scale_words),
        ("Intervals", f"{view.level}, {view.interval_kind}" if view.interval_kind != "none" else "none"),
        ("Units", ", ".join(f"{p}: {unit}" for p, unit in view.units().items())),
        (
            "Log-likelihood",
            f"{stats['loglik'].sum():.3f} (uniform play {stats['loglik_uniform'].sum():.3f}, observed "
            f"frequencies {stats['loglik_saturated'].sum():.3f})",
        ),
    ]
    return [(name, text) for name, text in facts if text]


def _estimates(view: View) -> list[dict[str, Any]]:
    rows = []
    for i, row in enumerate(view.frame.head(_MOST_ROWS).to_dict("records")):
        bare = math.isnan(row["low"]) and math.isnan(row["high"])
        rows.append(
            {
                "first": i == 0 or view.owner[i] != view.owner[i - 1],
                "keys": [words.key(row[k]) for k in view.keys],
                "parameter": words.plain(row["parameter"]),
                "estimate": number(row["estimate"]),
                "se": number(row["se"]),
                "interval": words.DASH if bare else f"[{number(row['low'])}, {number(row['high'])}]",
                "status": words.plain(row["status"]),
                "n": count(row["n"]),
                "unit": words.plain(row["unit"]),
            }
        )
    return rows


def _status_counts(view: View) -> list[tuple[str, list[tuple[str, int]]]]:
    out = []
    for p in view.parameters:
        found = view.frame["status"].iloc[view.rows(p)].value_counts()
        out.append((p, [(s, int(found.get(s, 0))) for s in view.statuses]))
    return out


def _cells(view: View) -> list[dict[str, Any]]:
    rows = []
    for row in view.stats.head(_MOST_ROWS).to_dict("records"):
        mean = number(row["mean_level"])
        if math.isfinite(row["mean_level"]) and math.isfinite(row["mean_level_low"]):
            mean += f" [{number(row['mean_level_low'])}, {number(row['mean_level_high'])}]"
        complete = row["completeness"]
        rows.append(
            {
                "keys": [words.plain(row[k]) for k in view.fits.by],
                "n": count(row["n"]),
                "no_choice": count(row["no_choice"]),
                "games": count(row["games"]),
                "loglik": f"{row['loglik']:.3f}",
                "aic": f"{row['aic']:.2f}",
                "bic": f"{row['bic']:.2f}" if math.isfinite(row["bic"]) else words.DASH,
                "gain": number(row["gain"]),
                "completeness": f"{100 * complete:.1f}%" if math.isfinite(complete) else words.DASH,
                "mean": mean,
                "shift": number(row["mean_level_shift"]),
                "status": words.plain(row["status"]),
            }
        )
    return rows


def _figures(view: View, anchor: str) -> Iterator[tuple[str, str, Markup]]:
    """(heading, what to see, the figure as SVG) one by one."""
    fits = view.fits
    if not len(view.frame):
        return
    yield (
        "Estimates",
        "Marks show the status; a grey band means that the data do not tell the parameter.",
        svg(plots.estimates(fits), f"{anchor}e", "Estimates with intervals"),
    )
    yield (
        "Observed and predicted choices",
        "What players chose, with Wilson intervals, beside what the fitted model predicts.",
        svg(plots.frequencies(fits), f"{anchor}f", "Observed and predicted choice frequencies"),
    )


def _surfaces(view: View, anchor: str) -> list[tuple[str, Markup]]:
    """Names and likelihood surfaces (or profiles) of some cells; none where there are too many parameters
    for a picture.
    """
    out = []
    for i in _telling(view) if len(view.frame) else []:
        try:
            figure = plots.surface(view.fits, i)
        except UsageError:  # more than two free parameters, or shared ones
            return []
        out.append((view.cells[i], svg(figure, f"{anchor}s{i}", f"Likelihood surface of {view.cells[i]}")))
    return out


def _telling(view: View) -> list[int]:
    """Cells whose surfaces are shown: all if few, else the first of each status."""
    if len(view.cells) <= _MOST_SURFACES:
        return list(range(len(view.cells)))
    first: dict[str, int] = {}
    for i, status in enumerate(view.stats["status"]):
        first.setdefault(str(status), i)
    return sorted(first.values())[:_MOST_SURFACES]


def svg(figure: Any, prefix: str, words_for_it: str) -> Markup:
    """A figure as an SVG element for a page: without prologue and metadata, its ids unlike those of other
    figures.
    """
    text = image(figure, "svg", salt=prefix, transparent=True).decode("utf-8")
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = re.sub(r"<!--.*?-->\n?", "", text, flags=re.DOTALL)
    text = re.sub(r' xmlns(:xlink)?="[^"]*"', "", text)
    # hundredths of a point are finer than any screen or printer
    text = re.sub(r'(?<= d=")[^"]*|(?<=<use )[^>]*', lambda m: re.sub(r"(\.\d\d)\d+", r"\1", m.group()), text)
    text = re.sub(r'\bid="', f'id="{prefix}-', text)
    text = text.replace("url(#", f"url(#{prefix}-").replace('xlink:href="#', f'href="#{prefix}-')
    label = Markup.escape(words_for_it)
    return Markup(text.replace("<svg", f'<svg role="img" aria-label="{label}"', 1))
