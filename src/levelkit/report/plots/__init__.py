"""Figures of a fit, as matplotlib Figure objects that pyplot does not know and nobody has to close.

figure = lk.fit(choices, lk.TQRE()).plot("surface", 0)
levelkit.report.plots.save(figure, "surface.svg")
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from levelkit.binomial import wilson
from levelkit.errors import UsageError
from levelkit.report.plots.forest import estimates
from levelkit.report.plots.frequencies import frequencies
from levelkit.report.plots.style import save, suffix_of
from levelkit.report.plots.surface import surface

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from levelkit.report.view import FitsLike

__all__ = ["KINDS", "estimates", "frequencies", "plot", "save", "suffix_of", "surface", "wilson"]

KINDS = ("estimates", "surface", "frequencies")


def plot(
    fits: FitsLike, kind: str = "estimates", cell: int | Mapping[str, Any] | None = None, **options: Any
) -> Figure:
    """A figure by name: "estimates", "surface" (one cell) or "frequencies". Raises UsageError for another
    name.
    """
    if kind == "estimates":
        return estimates(fits, **options)
    if kind == "surface":
        return surface(fits, cell, **options)
    if kind == "frequencies":
        return frequencies(fits, cell, **options)
    near = difflib.get_close_matches(kind, KINDS, 1)
    hint = f"; did you mean {near[0]}?" if near else f"; choose from {', '.join(KINDS)}"
    raise UsageError(f"there is no plot {kind!r}{hint}")
