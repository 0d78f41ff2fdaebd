"""Logs of trials (levelk-trial/1): read once, checked once; what cannot be scored is set aside by code and line."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from levelkit.depth.instruments import STUDY_GAMES, Instrument, instrument
from levelkit.depth.trialrules import CODES, Finding, faults
from levelkit.errors import DataError
from levelkit.games import Game
from levelkit.problems import NOTED, SET_ASIDE, ProblemLog, Problems, shorten
from levelkit.readers.records import Records, read_records

CELL = ("model", "game", "condition", "k_target", "lambda")
"""Trials that share these are repetitions of one another."""


@dataclass(frozen=True, eq=False)
class Trials:
    """Records that can be scored, in the order of the file, and what was found wrong.

    lines[i]: the line of records[i]. games: instruments by the name used in the log. issues: one row for each
    finding: line, code, field, value.
    """

    where: str
    lines: tuple[int, ...]
    records: tuple[Mapping[str, Any], ...]
    games: Mapping[str, Instrument]
    issues: pd.DataFrame
    lines_read: int

    def __len__(self) -> int:
        return len(self.records)

    @cached_property
    def problems(self) -> Problems:
        """The findings, one line for each code and field; a line set aside counts once, for its first E_ code."""
        log = ProblemLog(self.where, "line")
        bad = self.issues["code"].astype(str).str.startswith("E_")
        first = self.issues[bad].drop_duplicates("line")
        told = self.issues[~bad & ~self.issues["line"].isin(first["line"])]
        for severity, found in ((SET_ASIDE, first), (NOTED, told)):
            for (code, name), part in found.groupby(["code", "field"], sort=False):
                rows = part["line"].drop_duplicates().to_numpy()
                shown = shorten(next((v for v in part["value"] if v is not None), None))
                words = f"{code}{f' in {name}' if name else ''}: {CODES[str(code)]}"
                log.add(severity, str(code), str(name), rows, words + (f" (first: {shown})" if shown else ""))
        return log.problems(self.lines_read)

    @property
    def counts(self) -> pd.Series:
        """How many lines have each code."""
        return self.issues.drop_duplicates(["line", "code"])["code"].value_counts().sort_index()

    def codes(self, line: int) -> list[str]:
        """The codes of a line, ["OK"] where there are none."""
        mine = self.issues.loc[self.issues["line"] == line, "code"]
        return list(dict.fromkeys(mine)) or ["OK"]


def read_trials(
    source: str | Path | Iterable[Mapping[str, Any]],
    games: Sequence[str | Game | Instrument] = (),
    *,
    unique_reps: bool = False,
    strict: bool = False,
) -> Trials:
    """Trials from a .jsonl file or from records.

    games: instruments that the log names beside the study's four. A repeated number `rep` within a cell is an error
    (E_DUP_CELL_REP) where the whole trial is repeated, which would count it twice; where the content differs the
    trial is kept and told (W_REP_REUSED), unless unique_reps asks for an error there too.
    Raises DataError where nothing can be read, or, with strict, for the first E_ code.
    """
    known = {own.name: own for own in map(instrument, (*STUDY_GAMES, *games))}
    if isinstance(source, str | Path):
        read = read_records(source)
    else:
        read = Records("records", tuple((i, dict(r)) for i, r in enumerate(source, 1)), ())
    found: list[tuple[int, Finding]] = [(line, (code, "", message)) for line, code, message in read.bad]
    lines, records = [], []
    ids: set[str] = set()
    cells: dict[tuple[Any, ...], list[str]] = {}
    for line, record in read.good:
        mine = faults(record, known)
        if not _bad(mine):
            mine += _repeats(record, ids, cells, unique_reps)
        found += [(line, one) for one in mine]
        if _bad(mine):
            continue
        ids.add(record["trial_id"])
        cells.setdefault(_cell(record), []).append(_content(record))
        lines.append(line)
        records.append(record)
    found.sort(key=lambda one: one[0])
    issues = pd.DataFrame(
        [(line, *one) for line, one in found], columns=["line", "code", "field", "value"], dtype=object
    )
    trials = Trials(read.where, tuple(lines), tuple(records), known, issues, len(read.good) + len(read.bad))
    if strict and _bad(one for _, one in found):
        line, (code, name, value) = next((line, one) for line, one in found if _bad([one]))
        words = f"{code}{f' in {name}' if name else ''}: {CODES[code]}" + (f" ({shorten(value)})" if value else "")
        raise DataError(words, where=f"{read.where}, line {line}", fix="Mend the line, or leave --strict out")
    return trials


def _bad(found: Iterable[Finding]) -> bool:
    return any(code.startswith("E_") for code, _, _ in found)


def _cell(record: Mapping[str, Any]) -> tuple[Any, ...]:
    return (*(record.get(name) for name in CELL), record["rep"])


def _content(record: Mapping[str, Any]) -> str:
    return json.dumps({name: v for name, v in record.items() if name != "trial_id"}, sort_keys=True)


def _repeats(
    record: Mapping[str, Any], ids: set[str], cells: Mapping[tuple[Any, ...], list[str]], unique_reps: bool
) -> list[Finding]:
    if record["trial_id"] in ids:
        return [("E_DUP_ID", "trial_id", record["trial_id"])]
    before = cells.get(_cell(record), [])
    if not before:
        return []
    if unique_reps or _content(record) in before:
        return [("E_DUP_CELL_REP", "rep", record["rep"])]
    return [("W_REP_REUSED", "rep", record["rep"])]


def write_trials(records: Iterable[Mapping[str, Any]]) -> str:
    """Records as JSON lines."""
    return "".join(json.dumps(_native(r), ensure_ascii=False, allow_nan=False) + "\n" for r in records)


def _native(record: Mapping[str, Any]) -> dict[str, Any]:
    return {k: v.item() if isinstance(v, np.generic) else v for k, v in record.items()}
