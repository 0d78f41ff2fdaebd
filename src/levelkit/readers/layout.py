"""Which column is what: our own columns, the user's grouping columns, and names that clash."""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from levelkit.choices import RESERVED
from levelkit.errors import DataError, UsageError
from levelkit.problems import NOTED, ProblemLog
from levelkit.readers.raw import Column, Nested, RawTable
from levelkit.readers.resolve import parse

LONG = ("game", "player", "action", "count")
WIDE = ("game", "n", "no_choice")
PLAYS = re.compile(r"n_[1-9][0-9]*")
COUNT_LIKE = {
    "n",
    "counts",
    "freq",
    "frequency",
    "weight",
    "weights",
    "percent",
    "percentage",
    "share",
    "times",
}
WHOLE_TEXT = re.compile(r"-?(0|[1-9][0-9]*)")
DECIMAL_TEXT = re.compile(r"-?(0|[1-9][0-9]*)\.[0-9]+(e[+-]?[0-9]+)?")


@dataclass(frozen=True)
class Layout:
    """Our columns by our names, and the user's other columns by theirs (still raw).

    groups: the grouping columns to keep, None for all; applied to `others` of long tables already.
    """

    own: dict[str, Column]
    others: dict[str, Column]
    long: bool
    groups: Sequence[str] | None = None


def arrange(raw: RawTable, columns: Mapping[str, str] | None, groups: Sequence[str] | None) -> Layout:
    """Tell the columns of a raw table apart.

    Ours are found by name (exact, else without regard to case), or by `columns`, a mapping of our names to
    the user's; other keys of it rename grouping columns. With `groups`, only those grouping columns stay.
    """
    wanted = dict(columns or {})
    _check_map(wanted, raw)
    renamed = {theirs: ours for ours, theirs in wanted.items()}
    twin = next((ours for ours in wanted if ours in raw.columns and ours not in renamed), None)
    if twin is not None:
        what = f"columns= reads '{wanted[twin]}' as '{twin}', but there is another column '{twin}'"
        raise DataError(what, where=raw.log.where, fix=f"Rename that one, e.g. to '{twin}_original'")
    named = {renamed.get(name, name): column for name, column in raw.columns.items()}
    long = _find("action", named) is not None
    own: dict[str, Column] = {}
    for name in LONG if long else (*WIDE, *(n for n in named if PLAYS.fullmatch(n.casefold()))):
        found = _find(name, named)
        if found is not None:
            own[name.casefold()] = named.pop(found)
    groups = [groups] if isinstance(groups, str) else groups
    groups = None if groups is None else [name for name in groups if name != "game"]  # always part of a cell
    return Layout(own, only(named, groups) if long else named, long, groups)


def _check_map(wanted: Mapping[str, str], raw: RawTable) -> None:
    for ours, theirs in wanted.items():
        typo = difflib.get_close_matches(ours, [*LONG, "no_choice"], 1, 0.75)
        if typo and ours not in {*LONG, *WIDE}:
            raise UsageError(f"columns= names '{ours}'; did you mean '{typo[0]}'?")
        if theirs not in raw.columns:
            fix = f"Columns found: {', '.join(raw.columns)}"
            raise DataError(f"no column '{theirs}' (for '{ours}')", where=raw.log.where, fix=fix)
    twice = [theirs for theirs in wanted.values() if list(wanted.values()).count(theirs) > 1]
    if twice:
        raise UsageError(f"columns= uses column '{twice[0]}' twice")


def _find(name: str, named: Mapping[str, Column]) -> str | None:
    if name in named:
        return name
    same = [found for found in named if found.casefold() == name]
    return same[0] if len(same) == 1 else None


def only(named: dict[str, Column], groups: Sequence[str] | None) -> dict[str, Column]:
    """The columns named by `groups` (all for None). Raises UsageError where one does not exist."""
    if groups is None:
        return named
    for name in groups:
        if name not in named:
            near = difflib.get_close_matches(name, list(named), 1)
            hint = f"; did you mean '{near[0]}'?" if near else ""
            raise UsageError(f"groups= names '{name}', but the other columns are: {', '.join(named) or 'none'}{hint}")
    return {name: named[name] for name in groups}


def refuse_missing(name: str, raw: RawTable, hint: str) -> DataError:
    """The error for a column that must be there and is not."""
    found = ", ".join(raw.columns)
    return DataError(f"no column '{name}' (columns found: {found})", where=raw.log.where, fix=hint)


def refuse_count_like(layout: Layout, raw: RawTable) -> None:
    """Stop where a long table has no `count` but numbers that may be counts: reading on is a guess."""
    if "count" in layout.own:
        return
    for name, column in layout.others.items():
        if name.casefold() in COUNT_LIKE and _numeric(column):
            fix = f"Say columns={{'count': '{name}'}}, or name the grouping columns with groups=[...]"
            raise DataError(
                f"column '{name}' may hold counts, but no column is called 'count'",
                where=raw.log.where,
                fix=fix,
            )


def _numeric(column: Column) -> bool:
    kinds = {parse(value).kind for value in column.values}
    return bool(kinds - {"nothing"}) and kinds <= {"nothing", "whole", "number"}


def group_columns(others: Mapping[str, Column], at: np.ndarray, raw: RawTable) -> dict[str, Column]:
    """The grouping columns of the surviving rows `at`: values made plain, clashing names changed.

    A column of whole numbers becomes int, of decimal numbers float, anything else text, whatever the file
    type. A missing value becomes "" (its own group); lists and mappings are left out. All of this is noted.
    """
    made: dict[str, Column] = {}
    for name, column in others.items():
        kept = Column(column.codes[at], column.values)
        used, codes = np.unique(kept.codes, return_inverse=True)
        values = [column.values[int(i)] for i in used]
        if any(isinstance(value, Nested) for value in values):
            raw.log.note("nested_column", f"column '{name}' holds lists or mappings and is left out", column=name)
            continue
        free = name
        while free.casefold() in RESERVED or free in made or (free != name and free in others):
            free += "_group"
        if free != name:
            words = f"grouping column '{name}' is called '{free}' here: '{name}' is a name of levelkit's own"
            raw.log.note("renamed_column", words, column=name)
        made[free] = _plain(free, values, codes, raw.rows[at], raw.log)
    return made


def _plain(name: str, values: list[object], codes: np.ndarray, rows: np.ndarray, log: ProblemLog) -> Column:
    texts = [_text(value) for value in values]
    empty = np.array([text == "" for text in texts], dtype=bool)
    if empty.any():
        words = f"no value in grouping column '{name}': kept as a group of its own, called ''"
        log.add(NOTED, "missing_group", name, rows[empty[codes]], words)
    kinds = {_kind(value) for value, text in zip(values, texts, strict=True) if text}
    if len(kinds) > 1:
        words = f"grouping column '{name}' mixes {' and '.join(sorted(kinds))}: compared as text"
        log.note("mixed_group", words, column=name)
    folded: dict[str, set[str]] = {}
    for text in texts:
        folded.setdefault(text.casefold(), set()).add(text)
    for alike in sorted(sorted(texts) for texts in folded.values() if len(texts) > 1)[:5]:
        shown = " and ".join(f"'{text}'" for text in alike)
        log.note("case_differs", f"{shown} in column '{name}' differ in case only: kept apart", column=name)
    final: list[object] = list(texts)
    present = [text for text in dict.fromkeys(texts) if text]
    if present and not empty.any():
        if all(WHOLE_TEXT.fullmatch(text) and abs(int(text)) < 2**63 for text in present):
            final = [int(text) for text in texts]
        elif all(WHOLE_TEXT.fullmatch(text) or DECIMAL_TEXT.fullmatch(text) for text in present):
            numbers = {text: float(text) for text in present}
            if len(set(numbers.values())) == len(present):
                final = [numbers[text] for text in texts]
            else:
                words = f"column '{name}' writes the same number in two ways (1 and 1.0): kept as text, apart"
                log.note("same_number", words, column=name)
    place = {value: i for i, value in enumerate(dict.fromkeys(final))}
    return Column(np.array([place[value] for value in final], dtype=np.int64)[codes], list(place))


def _text(value: object) -> str:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    if isinstance(value, str):
        return value.strip()
    return parse(value).text


def _kind(value: object) -> str:
    return {"str": "text", "bool": "booleans"}.get(type(value).__name__, "numbers")
