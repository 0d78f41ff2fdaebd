"""What passes between the page and its rooms: settings as text by name, read once, and texts fit to be shown."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from levelkit.errors import UsageError
from levelkit.report import words

Query = Mapping[str, str]


def said(text: str | None) -> str:
    """A text that may be missing, fit to be shown."""
    return words.plain(text) if text else ""


def number(query: Query, name: str, default: float, low: float, high: float) -> float:
    """A number between low and high. Raises UsageError for anything else."""
    text = query.get(name, "").strip()
    if not text:
        return default
    try:
        value = float(text)
    except ValueError:
        raise UsageError(f"{name} = {text[:40]!r} is no number") from None
    if not (math.isfinite(value) and low <= value <= high):
        raise UsageError(f"{name} = {value:g} is outside [{low:g}, {high:g}]")
    return value


def whole(query: Query, name: str, default: int, low: int, high: int) -> int:
    """A whole number between low and high. Raises UsageError for anything else."""
    value = number(query, name, default, low, high)
    if value != int(value):
        raise UsageError(f"{name} = {value:g} is no whole number")
    return int(value)


def choice(query: Query, name: str, known: Sequence[str]) -> str:
    """One of the known words, the first by default. Raises UsageError for another."""
    text = query.get(name, "") or known[0]
    if text not in known:
        raise UsageError(f"{name} = {text[:40]!r}: choose from {', '.join(known)}")
    return text
