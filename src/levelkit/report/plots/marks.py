"""How one estimate with its interval and status is drawn, and what the marks mean."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from levelkit.report.plots import style as st

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FLAT = "flat: not determined"
SIZE = 5.2


class Linear:
    """A plain axis from 0 (or the smallest value) with room at the ends for arrows."""

    def __init__(self, low: float, high: float) -> None:
        self.low, self.high = low, high
        room = 0.06 * (high - low)
        self.limits = (low - room, high + room)

    def __call__(self, values: Any) -> np.ndarray:
        """Positions on the axis; what lies beyond its ends is at them."""
        return np.asarray(np.clip(np.asarray(values, float), *self.limits))

    def apply(self, axes: Axes, which: str) -> None:
        """Put the limits on an axis."""
        (axes.set_xlim if which == "x" else axes.set_ylim)(*self.limits)


def interval(
    axes: Axes, row: Mapping[Any, Any], y: float, scale: Linear | st.Compact, *, colour: str = "", height: float = 0.62
) -> None:
    """Draw estimate, low, high and status of a row as a line at height y.

    Marks show the status, an arrow that the interval has no bound, a grey band that the data do not tell. colour: of
    the line and the mark; by default the status's.
    """
    status = str(row["status"])
    colour = colour or st.STATUS_COLOUR.get(status, st.BLACK)
    left, right = scale.limits
    if status == "flat":
        axes.barh(y, right - left, left=left, height=height, color=st.LIGHT, edgecolor="none", zorder=1)
        return
    low, high, estimate = (float(row[c]) for c in ("low", "high", "estimate"))
    mark = {"color": colour, "linestyle": "none", "clip_on": False}
    if not math.isnan(low) and not math.isnan(high):
        ends = [float(v) for v in scale([low, high])]
        axes.plot(ends, [y, y], color=colour, linewidth=1.4, solid_capstyle="butt", zorder=2)
        at = float(scale(estimate)) if not math.isnan(estimate) else math.nan
        unbounded = (ends[0] <= left and low > 0, math.isinf(high) or ends[1] > right)
        for end, is_open, head in ((ends[0], unbounded[0], "<"), (ends[1], unbounded[1], ">")):
            if abs(end - at) > 1e-9 * (right - left):  # where the estimate is the end, its mark stands there
                axes.plot([end], [y], marker=head if is_open else "|", markersize=5.0, **mark)  # type: ignore[arg-type]
    if not math.isnan(estimate):
        shape = st.STATUS_MARKER.get(status, "*" if status else "o")
        axes.plot([float(scale(estimate))], [y], marker=shape, markersize=SIZE, zorder=3, **mark)  # type: ignore[arg-type]


def meanings(statuses: Collection[str], *, unbounded: bool, colour: str = "") -> list[Any]:
    """Legend handles: one for each status that is drawn, and one for open intervals."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    handles: list[Any] = []
    for status in statuses:
        shown = colour or st.STATUS_COLOUR.get(status, st.BLACK)
        if status == "flat":
            handles.append(Patch(facecolor=st.LIGHT, edgecolor="none", label=FLAT))
        else:
            marker = st.STATUS_MARKER.get(status, "*")
            handles.append(Line2D([], [], marker=marker, color=shown, markersize=SIZE, linewidth=1.4, label=status))
    if unbounded:
        handles.append(Line2D([], [], marker=">", color=st.INK, markersize=5, linewidth=1.4, label="no upper bound"))
    return handles
