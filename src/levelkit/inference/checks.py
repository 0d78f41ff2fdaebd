"""Checks of what callers ask for, shared by everything that estimates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from levelkit.choices import Choices
from levelkit.errors import DataError, UsageError
from levelkit.models.base import Model


def scale(name: str) -> None:
    """Raises UsageError for an unknown scale of payoffs."""
    if name not in ("raw", "range"):
        raise UsageError(f"scale = {name!r}: choose raw or range")


def interval(mass: float) -> None:
    """Raises UsageError where an interval's probability is none."""
    if not 0 < mass < 1:
        raise UsageError(f"interval = {mass!r}: give a probability between 0 and 1, such as 0.95")


def cells(choices: Choices) -> None:
    """Raises DataError where nothing is left to fit."""
    if not len(choices.cells):
        raise DataError("there are no cells to fit", fix="look at choices.problems for what was set aside")


def listed(names: Sequence[str] | str) -> list[str]:
    """One name, or several without repetition, as a list."""
    return [names] if isinstance(names, str) else list(dict.fromkeys(names))


def fixed(model: Model, given: Mapping[str, float] | None) -> dict[str, float]:
    """Values held fixed, checked. Raises UsageError for an unknown parameter or an impossible value."""
    values = dict(given or {})
    known = {p.name: p for p in model.parameters}
    for name, value in values.items():
        if name not in known:
            raise UsageError(f"fixed names {name!r}; the parameters of {model.label} are {', '.join(known) or 'none'}")
        p = known[name]
        if not p.low <= float(value) <= p.limit:
            raise UsageError(f"fixed {name} = {value:g} is outside [{p.low:g}, {p.limit:g}]")
    shares = [n for n in values if known[n].transform == "simplex"]
    if shares:
        raise UsageError(f"fixed {shares[0]}: shares sum to one and cannot be held one by one")
    return {name: float(value) for name, value in values.items()}
