"""What has to hold for a game before anything is computed with it: the checks at the border.

Knows nothing of `Game`; every function turns raw input into clean arrays or labels, or raises a DataError
that names the place and the fix.
"""

from __future__ import annotations

import difflib
import math
import re
import unicodedata
from collections.abc import Iterable, Sequence
from numbers import Real
from typing import Any

import numpy as np

from levelkit.errors import DataError

SUM_TOLERANCE = 1e-9
"""How far probabilities may be from summing to one."""

NUMBERED = re.compile(r"(?:player\s*)?#?\s*([0-9]+)", re.IGNORECASE)
"""A player's name that is only a number: "2", "player 2", "Player2"."""


def close(word: str, known: Iterable[str], many: int = 3) -> str:
    """A sentence that offers the known names most like `word`, or nothing."""
    names = list(known)
    folded = {name.casefold(): name for name in names}
    found = difflib.get_close_matches(word.casefold(), list(folded), many, 0.6)
    if not found:
        return ""
    return f"Did you mean {' or '.join(repr(folded[name]) for name in found)}?"


def clean_text(value: Any, where: str, what: str) -> str:
    """A name or label: text (or a whole number) without control characters and outer blanks, not empty."""
    if isinstance(value, bool) or not isinstance(value, str | int | np.integer):
        raise DataError(f"{what} must be text, not {value!r}", where=where, fix="Put it in quotes")
    text = str(value).strip()
    if not text:
        raise DataError(f"{what} is empty", where=where, fix="Give it a name")
    if any(unicodedata.category(sign) in {"Cc", "Cs"} for sign in text):
        raise DataError(f"{what} {text!r} holds a control character", where=where, fix="Remove it")
    return text


def clean_array(values: Any, where: str, ndim: int | None = None) -> np.ndarray:
    """Payoffs as a new read-only float64 array; nested lists must be regular, all numbers finite.

    ndim: the number of axes wanted, None for any from 1 on.
    """
    if isinstance(values, np.ndarray):
        if values.dtype.kind not in "iuf":
            raise DataError(f"payoffs of type {values.dtype} are not numbers", where=where)
        array = np.array(values, dtype=np.float64)
    else:
        nested = values.tolist() if hasattr(values, "tolist") else values
        _check_nested(nested, where, ())
        array = np.array(nested, dtype=np.float64)
    if array.ndim == 0 or (ndim is not None and array.ndim != ndim):
        wanted = {1: "a list of numbers", 2: "a matrix: a list of rows"}.get(
            ndim or 1, f"nested {ndim} levels deep, one level per player"
        )
        raise DataError(f"payoffs must be {wanted}, not {_depth(array.ndim)}", where=where)
    if not np.isfinite(array).all():
        at = tuple(int(i) for i in np.argwhere(~np.isfinite(array))[0])
        raise DataError(f"payoff {place(at)} is {array[at]}", where=where, fix="Payoffs must be finite numbers")
    array.setflags(write=False)
    return array


def place(at: Sequence[int]) -> str:
    """Where an entry stands, in words, counted from 1."""
    if len(at) == 1:
        return f"in place {at[0] + 1}"
    if len(at) == 2:
        return f"in row {at[0] + 1}, column {at[1] + 1}"
    return "at [" + ", ".join(str(i + 1) for i in at) + "]"


def _depth(ndim: int) -> str:
    return {0: "a number", 1: "a list of numbers", 2: "a matrix"}.get(ndim, f"nested {ndim} levels deep")


def _check_nested(values: Any, where: str, at: tuple[int, ...]) -> tuple[int, ...]:
    """The shape of nested sequences; raises a DataError where they are ragged or hold no number."""
    if isinstance(values, list | tuple):
        if not values:
            raise DataError("payoffs are empty" if not at else f"the list {place(at)} is empty", where=where)
        shapes = [_check_nested(value, where, (*at, i)) for i, value in enumerate(values)]
        for i, shape in enumerate(shapes):
            if shape != shapes[0]:
                here = f"{place(at)}, " if at else ""
                raise DataError(
                    f"{here}row {i + 1} has {_size(shape)}, row 1 has {_size(shapes[0])}",
                    where=where,
                    fix="All rows need the same length",
                )
        return (len(values), *shapes[0])
    if isinstance(values, bool | np.bool_) or not isinstance(values, Real):
        raise DataError(f"{values!r} {place(at) if at else ''} is not a number".replace("  ", " "), where=where)
    try:
        float(values)
    except OverflowError:
        raise DataError(f"the payoff {place(at)} is too large", where=where) from None
    return ()


def _size(shape: tuple[int, ...]) -> str:
    if not shape:
        return "a single number"
    entries = "entry" if shape[0] == 1 else "entries"
    return f"{shape[0]} {entries}" if len(shape) == 1 else "entries of shape " + "x".join(map(str, shape))


def same_shape(first: np.ndarray, second: np.ndarray, names: tuple[str, str], where: str) -> None:
    """Raise unless two payoff arrays have one shape."""
    if first.shape != second.shape:
        raise DataError(
            f"{names[1]} is {shape_text(second.shape)}, {names[0]} is {shape_text(first.shape)}",
            where=where,
            fix="Index both matrices [action of player 1][action of player 2]",
        )


def shape_text(shape: Sequence[int]) -> str:
    """A shape as "2x3"."""
    return "x".join(map(str, shape))


def clean_players(players: Sequence[Any], n: int, where: str) -> tuple[str, ...]:
    """Names of the agents, "player 1", "player 2", ... where none are given; they must differ."""
    if isinstance(players, str):
        raise DataError("players must be a list of names, not one text", where=where)
    if not players:
        return tuple(f"player {i}" for i in range(1, n + 1))
    if len(players) != n:
        raise DataError(f"{len(players)} player names for {n} players", where=where, fix="Name each once")
    names = tuple(clean_text(name, where, "a player's name") for name in players)
    _refuse_twice([name.casefold() for name in names], names, "players", where)
    for i, name in enumerate(names, start=1):
        number = NUMBERED.fullmatch(name)
        if number and int(number[1]) != i:
            raise DataError(
                f"player {i} is called '{name}', which reads as another player's number",
                where=where,
                fix="Players are counted from 1; leave the names out or use words",
            )
    return names


def clean_actions(
    actions: Sequence[Any], shape: Sequence[int], players: Sequence[str], where: str
) -> tuple[tuple[str, ...], ...]:
    """Action labels per agent, "0", "1", ... where none are given; labels of one agent must differ."""
    given = list(actions) if actions is not None and len(actions) else [()] * len(shape)
    if len(given) != len(shape):
        raise DataError(
            f"action labels for {len(given)} players, the game has {len(shape)}",
            where=where,
            fix="Give one list of labels per player",
        )
    labels = []
    for own, size, player in zip(given, shape, players, strict=True):
        if isinstance(own, str) or not hasattr(own, "__len__"):
            raise DataError(
                f"actions of {player} must be a list of labels, not {own!r}",
                where=where,
                fix="Give one list of labels per player",
            )
        listed = own if len(own) else range(size)
        names = tuple(clean_text(label, where, f"an action of {player}") for label in listed)
        if len(names) != size:
            raise DataError(f"{len(names)} action labels for {player}, the payoffs have {size} actions", where=where)
        _refuse_twice(names, names, f"actions of {player}", where)
        labels.append(names)
    return tuple(labels)


def _refuse_twice(keys: Sequence[str], names: Sequence[str], what: str, where: str) -> None:
    for i, key in enumerate(keys):
        if key in keys[:i]:
            raise DataError(f"two {what} are called '{names[i]}'", where=where, fix="Each needs its own name")


def clean_level0(
    level0: Sequence[Any], actions: Sequence[Sequence[str]], players: Sequence[str], where: str
) -> tuple[np.ndarray | None, ...]:
    """Level-0 play per agent: None (uniform), an action's label (always that action) or probabilities."""
    if level0 is None or len(level0) == 0:
        return (None,) * len(actions)
    if isinstance(level0, str) or len(level0) != len(actions):
        many = 1 if isinstance(level0, str) else len(level0)
        raise DataError(
            f"level0 has {many} entries for {len(actions)} players",
            where=where,
            fix="Give one per player: probabilities, an action's label, or none for uniform play",
        )
    return tuple(
        _one_level0(own, labels, player, where) for own, labels, player in zip(level0, actions, players, strict=True)
    )


def _one_level0(own: Any, labels: Sequence[str], player: str, where: str) -> np.ndarray | None:
    if own is None:
        return None
    if isinstance(own, str):
        if own not in labels:
            raise DataError(
                f"level 0 of {player} is anchored at '{own}', which is no action of theirs",
                where=where,
                fix=close(own, labels) or f"The actions are {', '.join(labels)}",
            )
        mix = np.array([float(label == own) for label in labels])
        mix.setflags(write=False)
        return mix
    if not hasattr(own, "__len__"):
        raise DataError(
            f"level 0 of {player} is {own!r}",
            where=where,
            fix="Give probabilities or an action's label in quotes",
        )
    if len(own) == 0:
        return None
    return clean_mix(own, len(labels), f"level 0 of {player}", where)


def clean_mix(values: Any, size: int, what: str, where: str) -> np.ndarray:
    """Probabilities as a read-only vector of the given size, not negative, summing to one."""
    mix = clean_array(values, f"{where}, {what}" if where else what, ndim=1)
    if mix.shape != (size,):
        raise DataError(f"{what} has {mix.size} probabilities for {size} actions", where=where)
    if (mix < 0).any():
        raise DataError(f"{what} has a negative probability, {mix.min()}", where=where)
    total = math.fsum(mix)
    if abs(total - 1.0) > SUM_TOLERANCE:
        raise DataError(f"{what} sums to {total:.6g}, not 1", where=where, fix="Probabilities must sum to one")
    return mix
