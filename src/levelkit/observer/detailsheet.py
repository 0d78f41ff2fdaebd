"""The authors' detail sheet (one row a round, xlsx or CSV) as matches; its loss columns are computed again and
compared.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from levelkit.errors import DataError
from levelkit.observer.catalogues import Array, Catalogue, catalogue
from levelkit.observer.logrules import SCHEMA, Fault
from levelkit.observer.matches import MatchLog
from levelkit.observer.reading import Faults, assemble
from levelkit.observer.scoring import brier, cross_entropy, ev_loss, scaled_ce
from levelkit.observer.steady import outcomes
from levelkit.problems import ProblemLog, Problems
from levelkit.readers.files import existing

SHEET = "per_run_detail"
NEEDED = ("combo_id", "round", "move1_label", "move2_label", "true_strategy1", "true_strategy2", "rounds")
LOSS_TOLERANCE = 1e-6
_HEADER = {
    "rounds": "rounds",
    "warmup_rounds": "warmup",
    "history_limit": "history_limit",
    "reasoning_interval": "reasoning_interval",
}


def read_detail_sheet(source: str | Path, catalogue_: Any = None, *, strict: bool = False) -> MatchLog:
    """Matches of the released detail sheet: .xlsx (sheet per_run_detail; needs openpyxl) or .csv.

    A match is a (combo_id, repeat_idx) of the file. The engine is released_iid, as in the code that wrote such
    sheets; an audit says whether the moves agree. Loss columns that differ from the released convention computed
    again are noted (W_LOSS_MISMATCH), with the largest difference. Raises DataError where the file cannot be used.
    """
    known = catalogue(catalogue_)
    path, where = existing(source, "a detail sheet")
    table = _table(path, where)
    missing = [name for name in NEEDED if name not in table]
    if missing:
        raise DataError(f"there is no column '{missing[0]}'", where=where, fix="Give the authors' per-round sheet")
    log, faults = ProblemLog(where, "row"), Faults()
    for column, words, rows in _differing(table, known):
        for row in rows:
            faults.add(row, [Fault("W_LOSS_MISMATCH", column, words)])
    made = assemble(_lines(table, known), known, log, faults, strict=strict)
    problems = replace(made.problems, rows_read=len(table))
    return MatchLog(made.matches, known, Problems(problems.frame, len(table), "row"))


def is_detail_sheet(path: str | Path) -> bool:
    """Whether a file is such a sheet rather than a log: a workbook, or a CSV with its columns."""
    given = Path(path)
    if given.suffix.lower() in (".xlsx", ".xlsm"):
        return True
    if given.suffix.lower() != ".csv" or not given.is_file():
        return False
    with given.open(encoding="utf-8", errors="replace") as file:
        return {"combo_id", "move1_label"} <= set(file.readline().strip().lstrip("\ufeff").replace('"', "").split(","))


def _table(path: Path, where: str) -> pd.DataFrame:
    suffix = path.suffix.lower()
    try:
        if suffix == ".csv":
            return pd.read_csv(path, dtype=object, keep_default_na=False, na_values=[""])
        if suffix in (".xlsx", ".xlsm"):
            sheets = pd.read_excel(path, sheet_name=None, dtype=object)
            return sheets.get(SHEET, next(iter(sheets.values())))
    except ImportError:
        raise DataError(
            "reading a workbook needs openpyxl", where=where, fix="pip install 'levelkit[excel]', or save it as .csv"
        ) from None
    except (ValueError, OSError, KeyError, pd.errors.ParserError) as error:
        raise DataError(f"cannot be read as a table ({error})", where=where) from None
    raise DataError(f"no reader for '{path.name}'", where=where, fix="A detail sheet ends in .xlsx or .csv")


def _lines(table: pd.DataFrame, known: Catalogue) -> Iterator[tuple[int, dict[str, Any]]]:
    """The sheet as records of the log schema, a header before the first round of each match. Row 1 is the header."""
    seen: set[str] = set()
    for line, row in enumerate(table.to_dict("records"), start=2):
        value = {name: None if _absent(v) else v for name, v in row.items()}
        name = f"{_text(value['combo_id'])}/{_text(value.get('repeat_idx')) or '1'}"
        if name not in seen:
            seen.add(name)
            head = {new: _whole(value.get(old)) for old, new in _HEADER.items()}
            head["warmup"] = head["warmup"] or 0
            yield (
                line,
                {"schema": SCHEMA, "type": "match", "match_id": name, "model": _text(value.get("model"))}
                | {"s1": value["true_strategy1"], "s2": value["true_strategy2"], "engine": "released_iid"}
                | head,
            )
        record = {"schema": SCHEMA, "type": "round", "match_id": name, "round": _whole(value["round"])}
        for new, old in (("move1", "move1_label"), ("move2", "move2_label")):
            record[new] = known.moves.index(value[old]) if value[old] in known.moves else value[old]
        record |= {"result": _whole(value.get("result")), "reasoning": value.get("reasoning")}
        record |= {new: _code(value.get(new)) for new in ("guess_s1", "guess_s2")}
        yield line, record | {"confidence": _number(value.get("confidence"))}


def _differing(table: pd.DataFrame, known: Catalogue) -> Iterator[tuple[str, str, list[int]]]:
    """Loss columns that differ from the released convention: column, what to say, rows."""
    sides = ("true_strategy1", "true_strategy2", "guess_s1", "guess_s2")
    if not set(sides) <= set(table.columns):
        return
    usable = np.flatnonzero(np.all([table[side].isin(known.codes) for side in sides], axis=0))
    places = [np.array([known.index(code) for code in table[side].iloc[usable]], dtype=int) for side in sides]
    laws = outcomes(known)
    truth, guess = laws[places[0], places[1]], laws[places[2], places[3]]
    for column, ours in _losses(truth, guess, laws.reshape(-1, 3)).items():
        if column not in table:
            continue
        theirs = pd.to_numeric(table[column].iloc[usable], errors="coerce").to_numpy(float)
        gap = np.abs(theirs - ours)
        far = np.flatnonzero(gap > LOSS_TOLERANCE)
        if len(far):
            words = f"{column} by up to {gap[far].max():.3g} in {len(far)} of {len(usable)} rows"
            yield column, words, [int(usable[i]) + 2 for i in far]


def _losses(truth: Array, guess: Array, laws: Array) -> dict[str, Array]:
    ce, squared, ev = cross_entropy(truth, guess), brier(truth, guess), ev_loss(truth, guess)
    scaled = scaled_ce(truth, guess, "released", laws)
    return {
        "ce_loss": ce,
        "brier_loss": squared,
        "ev_loss": ev,
        "union_loss": (ce + squared + ev) / 3,
        "normalized_ce_loss": scaled,
        "normalized_ev_loss": ev,
        "normalized_union_loss": (scaled + squared + ev) / 3,
    }


def _absent(value: object) -> bool:
    return value is None or value == "" or (isinstance(value, float) and np.isnan(value))


def _text(value: object) -> str:
    return "" if value is None else str(value).strip()


def _code(value: object) -> str | None:
    return None if value is None else _text(value)


def _number(value: object) -> Any:
    """A number if it can be read as one, else the value, which the rules will find wanting."""
    try:
        return None if value is None else float(str(value))
    except ValueError:
        return value


def _whole(value: object) -> Any:
    number = _number(value)
    return int(number) if isinstance(number, float) and number.is_integer() else number
