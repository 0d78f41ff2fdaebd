"""Looks shared by all figures: safe colours, marks of statuses, axes that hold 0 and infinity."""

from __future__ import annotations

import io
import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from levelkit.errors import UsageError
from levelkit.report.files import write_whole

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Okabe & Ito (2008)
BLACK, ORANGE, SKY, GREEN = "#000000", "#E69F00", "#56B4E9", "#009E73"
YELLOW, BLUE, VERMILLION, PURPLE = "#F0E442", "#0072B2", "#D55E00", "#CC79A7"
_LIMIT_ROOM = 0.07  # of the axis, for 0 and for infinity
GREY, LIGHT, INK = "#8C8C8C", "#E4E4E4", "#222222"

STATUS_COLOUR = {"ok": BLUE, "boundary": VERMILLION, "multimodal": PURPLE, "flat": GREY}
STATUS_MARKER = {"ok": "o", "boundary": "s", "multimodal": "D", "flat": "x"}

_MORE_FONTS = ("Noto Sans CJK JP", "Noto Sans CJK SC", "Hiragino Sans", "Microsoft YaHei", "Arial Unicode MS")
_RC = {
    "font.size": 9.0,
    "axes.titlesize": 9.5,
    "axes.labelsize": 9.0,
    "xtick.labelsize": 8.0,
    "ytick.labelsize": 8.0,
    "legend.fontsize": 8.0,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "axes.linewidth": 0.7,
    "xtick.major.width": 0.7,
    "ytick.major.width": 0.7,
    "axes.titlelocation": "left",
    "legend.frameon": False,
    "text.usetex": False,
    "text.parse_math": False,  # a user's "$" is a dollar
    "svg.hashsalt": "levelkit",
    "svg.fonttype": "path",
    "savefig.dpi": 200.0,
    "figure.dpi": 100.0,
    "path.simplify": True,
}


@cache
def _settings() -> Any:
    """Settings of all figures, with fonts for East Asian letters after the main one where they are
    installed.
    """
    from matplotlib.font_manager import fontManager

    installed = {font.name for font in fontManager.ttflist}
    return {**_RC, "font.family": ["DejaVu Sans", *(name for name in _MORE_FONTS if name in installed)]}


def style() -> Any:
    """A context in which figures are drawn and saved; leaves the user's own settings alone."""
    import matplotlib

    return matplotlib.rc_context(_settings())


def new_figure(width: float, height: float) -> Figure:
    """A figure of its own (inches), not known to pyplot, so that nothing opens and nothing has to be
    closed.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def save(figure: Figure, path: str | Path) -> Path:
    """Write a figure as .svg, .png or .pdf, the same to the byte every time. Raises UsageError for another
    suffix.
    """
    return write_whole(path, image(figure, suffix_of(path)))


def suffix_of(path: str | Path) -> str:
    """svg, png or pdf, by a file's name. Raises UsageError for another."""
    suffix = Path(path).suffix.lower()
    if suffix not in (".svg", ".png", ".pdf"):
        raise UsageError(f"cannot draw into {str(path)!r}; end it with .svg, .png or .pdf")
    return suffix[1:]


def image(figure: Figure, kind: str, salt: str = "levelkit", transparent: bool = False) -> bytes:
    """A figure as the bytes of an svg, png or pdf file, without dates."""
    undated = {"svg": {"Date": None}, "png": {"Software": None}, "pdf": {"CreationDate": None}}
    buffer = io.BytesIO()
    import matplotlib

    with matplotlib.rc_context({**_settings(), "svg.hashsalt": salt}), warnings.catch_warnings():
        # letters that no installed font has are drawn as boxes; tables beside the figure show them
        warnings.filterwarnings("ignore", message="Glyph .* missing from font", category=UserWarning)
        figure.savefig(buffer, format=kind, metadata=undated[kind], transparent=transparent)
    return buffer.getvalue()


def clear(text: str, most: int = 44) -> str:
    """A user's text for a figure: one line, not too long."""
    from levelkit.report import words

    return words.clip(words.plain(text), most)


@dataclass(frozen=True, eq=False)
class Compact:
    """An axis for positive values with places for 0 and infinity at its ends, set apart by dotted lines.

    nodes: finite positive values, ascending, drawn at equal distances from one another (values between
    them by their logarithm); two nodes give a logarithmic axis. zero, infinity: whether the limits have
    a place.
    """

    nodes: np.ndarray
    zero: bool = True
    infinity: bool = True

    @classmethod
    def around(cls, values: Sequence[float] | np.ndarray, zero: bool = True, infinity: bool = True) -> Compact:
        """A logarithmic axis that shows all finite positive values given."""
        x = np.asarray(values, float)
        x = x[np.isfinite(x) & (x > 0)]
        low, high = (float(x.min()), float(x.max())) if len(x) else (0.1, 10.0)
        if high < 3 * low:
            low, high = low / 2, high * 2
        return cls(np.array([low, high]), zero, infinity)

    @classmethod
    def through(cls, values: np.ndarray) -> Compact:
        """An axis along the nodes of a grid, which lie densest where estimates are expected."""
        x = np.asarray(values, float)
        finite = x[np.isfinite(x) & (x > 0)]
        return cls(finite, zero=bool(x[0] <= 0), infinity=bool(np.isposinf(x[-1])))

    def __call__(self, values: Any) -> np.ndarray:
        """Positions on the axis, 0 to 1 between the first and the last node; what lies beyond them is at the
        ends.
        """
        x = np.asarray(values, float)
        with np.errstate(divide="ignore", invalid="ignore"):
            at = np.interp(np.log(x), np.log(self.nodes), np.linspace(0, 1, len(self.nodes)))
        at = np.where(x < self.nodes[0] * (1 - 1e-9), self.limits[0], at)
        return np.asarray(np.where(x > self.nodes[-1] * (1 + 1e-9), self.limits[1], at))

    @property
    def limits(self) -> tuple[float, float]:
        """Ends of the axis."""
        return (-_LIMIT_ROOM if self.zero else 0.0), (1 + _LIMIT_ROOM if self.infinity else 1.0)

    def ticks(self, apart: float = 0.14) -> list[tuple[float, str]]:
        """Positions and labels: the limits, powers of ten, and 3, 2 and 5 times them where those are too
        few.
        """
        low, high = float(self.nodes[0]), float(self.nodes[-1])
        chosen = [(self.limits[0], "0")] if self.zero else []
        if self.infinity:
            chosen.append((self.limits[1], "∞"))
        limits = len(chosen)
        powers = sorted(range(math.floor(math.log10(low)) - 1, math.ceil(math.log10(high)) + 1), key=abs)
        for steps in ((1,), (3,), (2, 5), (1.5, 4, 7)):
            if len(chosen) - limits >= 3:
                break
            for value in (step * 10.0**power for step in steps for power in powers):
                if low * (1 - 1e-9) <= value <= high * (1 + 1e-9):
                    at = float(self(value))
                    if all(abs(at - other) >= apart for other, _ in chosen):
                        chosen.append((at, f"{value:g}"))
        return sorted(chosen)

    def apply(self, axes: Axes, which: str) -> None:
        """Put ticks and limits on an axis."""
        ticks = self.ticks()
        axis = axes.xaxis if which == "x" else axes.yaxis
        axis.set_ticks([at for at, _ in ticks], [label for _, label in ticks])
        line = axes.axvline if which == "x" else axes.axhline
        for shown, at in ((self.zero, 0.0), (self.infinity, 1.0)):
            if shown:
                line(at, color=GREY, linewidth=0.6, linestyle=(0, (1, 2)), zorder=1.5)
        (axes.set_xlim if which == "x" else axes.set_ylim)(*self.limits)


def axis_label(label: str, unit: str) -> str:
    """Words of an axis with its unit."""
    return f"{label} ({unit})" if unit else label
