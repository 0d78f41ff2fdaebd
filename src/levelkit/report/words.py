"""How results are put into words: numbers, names of cells, statuses. Knows nothing of files or figures."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Mapping, Sequence
from importlib import metadata
from typing import Any

import numpy as np
from rich.cells import cell_len

STATUSES = ("ok", "multimodal", "boundary", "flat")
"""In the order in which tables and legends show them: by gravity."""

MARKS = {"ok": "", "boundary": "b", "multimodal": "m", "flat": "f"}
"""One-letter marks of the statuses in tables that have notes."""

ALL_TOGETHER = "all choices together"
DASH = "-"


def glossary() -> dict[str, str]:
    """What each status means and what to do about it."""
    from levelkit.inference.status import Status

    return {status.word: status.meaning for status in Status}


def version(package: str = "levelkit") -> str:
    """The installed version of a package."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "not installed"


def number(value: object) -> str:
    """A number for people: three or four significant digits, "inf", and "-" where there is none.

    >>> [number(v) for v in (1.23456, 0.0123, 12345.6, float("inf"), float("nan"), 0.0)]
    ['1.235', '0.0123', '12346', 'inf', '-', '0']
    """
    if value is None:
        return DASH
    x = float(value)  # type: ignore[arg-type]
    if math.isnan(x):
        return DASH
    if math.isinf(x):
        return "inf" if x > 0 else "-inf"
    if x == 0:
        return "0"
    size = abs(x)
    if size >= 1e6 or size < 1e-3:
        return f"{x:.1e}"
    magnitude = math.floor(math.log10(size))
    digits = 2 - magnitude if magnitude < -1 else max(0, min(3, 3 - magnitude))
    return f"{x:.{digits}f}"


def count(value: object) -> str:
    """A count with thousands separators; decimals only where it has some."""
    x = float(value)  # type: ignore[arg-type]
    return f"{x:,.0f}" if abs(x - round(x)) < 1e-9 else f"{x:,.1f}"


def few(items: Sequence[str], most: int = 6) -> str:
    """A list in words, with the rest counted.

    >>> few(["a", "b", "c"], most=2)
    'a; b; and 1 more'
    """
    shown = list(items[:most])
    rest = len(items) - len(shown)
    return "; ".join([*shown, f"and {rest:,} more"] if rest else shown)


def plural(n: int, one: str, many: str = "") -> str:
    """A number and its noun: "1 cell", "3 cells"."""
    return f"{n:,} {one if n == 1 else many or one + 's'}"


def plain(value: object) -> str:
    """A user's value as one printable line: line ends, tabs and control characters become visible or go."""
    if value is None or value is np.ma.masked or (isinstance(value, float | np.floating) and math.isnan(value)):
        return "(none)"
    if isinstance(value, bool | np.bool_):
        return str(bool(value))
    if isinstance(value, float | np.floating) and float(value).is_integer():
        value = int(value)
    text = str(value)
    if text and text.isprintable() and "  " not in text and text.strip() == text:
        return text
    text = text.encode("utf-8", "backslashreplace").decode("utf-8")
    text = " ".join(text.split())
    kept = "".join(c if unicodedata.category(c) not in ("Cc", "Cf", "Cs", "Co", "Cn") else "?" for c in text)
    return kept or "(empty)"


def key(value: object) -> str:
    """A value of a grouping column; None stands for a parameter that does not vary by it."""
    return "(all)" if value is None else plain(value)


def cell_name(keys: Mapping[str, Any]) -> str:
    """A fitted cell in words: its texts as they are, its numbers with the column's name.

    >>> cell_name({"model": "gpt-4o", "cot": 0})
    'gpt-4o, cot = 0'
    """
    parts = [plain(v) if isinstance(v, str) and v.strip() else f"{plain(k)} = {plain(v)}" for k, v in keys.items()]
    return ", ".join(parts) or ALL_TOGETHER


def width(text: str) -> int:
    """Columns a text takes in a terminal (wide characters take two)."""
    return cell_len(text)


def pad(text: str, to: int, right: bool = False) -> str:
    """Text filled with spaces to a number of terminal columns."""
    space = " " * max(0, to - width(text))
    return space + text if right else text + space


def clip(text: str, to: int, keep: str = "both") -> str:
    """Text shortened to `to` terminal columns; what is left out, in the middle, at the head or at the tail,
    shows as "..".

    keep: "both" ends, the "head" or the "tail".
    """
    if width(text) <= to:
        return text
    room = max(0, to - 2)
    head = {"both": (room + 1) // 2, "head": room, "tail": 0}[keep]
    front = _take(text, head)
    back = _take(text[::-1], room - width(front))[::-1] if keep != "head" else ""
    return f"{front}..{back}"[: max(to, 1)]


def _take(text: str, columns: int) -> str:
    used, kept = 0, []
    for c in text:
        used += width(c)
        if used > columns:
            break
        kept.append(c)
    return "".join(kept)


def shorten_all(texts: Sequence[str], to: int) -> dict[str, str]:
    """Short forms of distinct texts, all different from one another, none wider than `to` columns where that
    can be.

    The middle is left out if that tells them apart, else the head or the tail, else they are numbered.
    """
    distinct = list(dict.fromkeys(texts))
    for keep in ("both", "tail", "head"):
        short = [clip(t, to, keep) for t in distinct]
        if len(set(short)) == len(distinct):
            return dict(zip(distinct, short, strict=True))
    digits = len(str(len(distinct)))
    room = max(1, to - digits - 1)
    return {t: f"{clip(t, room, 'head')}~{i:0{digits}d}" for i, t in enumerate(distinct, 1)}
