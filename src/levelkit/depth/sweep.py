"""Importing lambda_sweep.csv: one row per model, game, target depth and precision, with accuracy and mean signals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from levelkit import binomial
from levelkit.depth.instruments import STUDY_GAMES
from levelkit.depth.rates import FEW, Rate, bootstrap_ratio
from levelkit.depth.trialrules import DEEPEST
from levelkit.depth.windows import Window
from levelkit.errors import DataError, UsageError
from levelkit.problems import NOTED, SET_ASIDE, Problems
from levelkit.readers.files import load

KEYS = ("model", "game", "k_target", "lambda")
NEEDED = (*KEYS, "accuracy", "K_L", "K_B")
ASSUMED_N = 20
WHOLE = 0.02
"""How far accuracy times n may be from a whole number."""


@dataclass(frozen=True, eq=False)
class Sweep:
    """cells: model, game, k_target, lambda, n, x, accuracy, k_l, k_b, counted (False for ambiguous targets).

    missing: cells that a full sweep over what occurs would have and this one lacks.
    """

    cells: pd.DataFrame
    missing: tuple[tuple[Any, ...], ...]
    assumed_n: bool
    problems: Problems

    def accuracy(self, by: Sequence[str] = ("model",), *, replicates: int = 2000, seed: int = 0) -> pd.DataFrame:
        """Pooled accuracy of counted cells: the `by` columns, x, n, accuracy, low, high (the wider of Wilson and the
        cell-cluster bootstrap), clusters. Raises UsageError for an unknown column.
        """
        for name in by:
            if name not in KEYS:
                raise UsageError(f"by names {name!r}; choose from {', '.join(KEYS)}")
        kept = self.cells[self.cells["counted"]]
        rows = []
        for key, part in kept.groupby(list(by), sort=False) if by else [((), kept)]:
            told = _rate(part, replicates, seed)
            low, high = told.wider
            row = dict(zip(by, key, strict=True)) | {"x": told.x, "n": told.n, "accuracy": told.value}
            rows.append(row | {"low": low, "high": high, "clusters": told.clusters, "few": told.clusters < FEW})
        return pd.DataFrame(rows)


def _rate(part: pd.DataFrame, replicates: int, seed: int) -> Rate:
    cells = part.groupby(["game", "k_target", "lambda"], sort=True)[["x", "n"]].sum()
    x, n = int(cells["x"].sum()), int(cells["n"].sum())
    low, high = (float(end) for end in binomial.interval(x, n))
    ends = [np.nan, np.nan]
    if len(cells) > 1 and replicates:
        drawn = bootstrap_ratio(cells["x"].to_numpy(float), cells["n"].to_numpy(float), replicates, seed)
        ends = list(np.quantile(drawn, [0.025, 0.975]))
    return Rate(x, n, low, high, float(ends[0]), float(ends[1]), np.nan, np.nan, len(cells))


def read_sweep(source: str | Path | pd.DataFrame, *, full: bool = False) -> Sweep:
    """Read a sweep; n is taken to be 20 where the table has no such column, which is noted.

    Rows are set aside where the game is unknown, k_target is no depth from 1 to 10, lambda is not positive, accuracy is
    outside [0, 1] (85 for 85% is not guessed), accuracy x n is not within .02 of a whole number, or the cell occurred
    before. full: raise DataError where cells are missing (a full sweep of four models has 480).
    Raises DataError where the table lacks a column.
    """
    raw = load(source)
    lacking = [name for name in NEEDED if name not in raw.columns]
    if lacking:
        raise DataError(f"no column '{lacking[0]}'", where=raw.log.where, fix=f"Columns: {', '.join(NEEDED)}")
    names = [*NEEDED, *(["n"] if "n" in raw.columns else [])]
    columns = [[raw.columns[name].values[c] for c in raw.columns[name].codes] for name in names]
    assumed = "n" not in raw.columns
    if assumed:
        raw.log.note("assumed_n", f"no column n: {ASSUMED_N} trials a cell are assumed", column="n", value=ASSUMED_N)
    windows = {name: Window.of(name) for name in STUDY_GAMES}
    rows: list[dict[str, Any]] = []
    bad: dict[tuple[str, str], list[int]] = {}
    seen: set[tuple[Any, ...]] = set()
    for line, values in zip(raw.rows, zip(*columns, strict=True), strict=True):
        row, fault = _row(dict(zip(names, values, strict=True)))
        key = tuple(row.get(name) for name in KEYS)
        if not fault and key in seen:
            fault = ("E_DUP_CELL", "the cell occurred before")
        if fault:
            bad.setdefault(fault, []).append(int(line))
            continue
        seen.add(key)
        window = windows[row["game"]]
        row["counted"] = window.sequence.actions[row["k_target"]] not in window.ambiguous
        rows.append(row)
    for (code, message), lines in bad.items():
        raw.log.add(SET_ASIDE, code, "", np.array(lines), f"{code}: {message}")
    cells = pd.DataFrame(rows, columns=[*KEYS, "n", "x", "accuracy", "k_l", "k_b", "counted"])
    absent = _absent(cells)
    if absent:
        words = f"{len(absent)} of {len(cells) + len(absent)} cells of a full sweep are missing, first {absent[0]}"
        if full:
            raise DataError(words, where=raw.log.where, fix="Complete the table, or read it without full")
        raw.log.add(NOTED, "W_MISSING_CELL", "", np.array([1]), words)
    if not len(cells):
        raise DataError("no row can be used", where=raw.log.where, fix=raw.log.problems(raw.rows_read).text())
    return Sweep(cells, absent, assumed, raw.log.problems(raw.rows_read))


def _row(given: dict[str, Any]) -> tuple[dict[str, Any], tuple[str, str] | None]:
    """A clean row, or what is wrong with it (code, words)."""
    number = {name: _number(given.get(name)) for name in ("k_target", "lambda", "accuracy", "K_L", "K_B", "n")}
    k, lam, share = (number[name] for name in ("k_target", "lambda", "accuracy"))
    n = ASSUMED_N if "n" not in given else number["n"]
    game = str(given["game"]).strip()
    row = {"model": str(given["model"]), "game": game, "k_target": k, "lambda": lam}
    if game not in STUDY_GAMES:
        return row, ("E_GAME", f"there is no game '{game}'; there are {', '.join(STUDY_GAMES)}")
    if k is None or not float(k).is_integer() or not 1 <= k <= DEEPEST:
        return row, ("E_KRANGE", f"k_target is no whole number from 1 to {DEEPEST}")
    if lam is None or not 0 < lam < np.inf:
        return row, ("E_LAMBDA", "lambda is no positive number")
    if n is None or not (float(n).is_integer() and n >= 1):
        return row, ("E_N", "n is no whole number of at least 1")
    if share is None or share < 0 or share > 100:
        return row, ("E_ACCURACY", "accuracy is no share from 0 to 1")
    if share > 1:
        return row, ("E_PERCENT", "accuracy looks like per cent; give a share from 0 to 1")
    x = round(share * n)
    if abs(share * n - x) > WHOLE:
        return row, ("E_COUNT", f"accuracy times n is not within {WHOLE} of a whole number")
    row |= {"k_target": int(k), "n": int(n), "x": x, "accuracy": share}
    return row | {"k_l": _nan(number["K_L"]), "k_b": _nan(number["K_B"])}, None


def _number(value: Any) -> float | None:
    try:
        found = float(value)
    except (TypeError, ValueError):
        return None
    return None if np.isnan(found) else found


def _nan(value: float | None) -> float:
    return float("nan") if value is None else value


def _absent(cells: pd.DataFrame) -> tuple[tuple[Any, ...], ...]:
    """Cells that are missing from the product of models, the study's games, depths 1 to 10 and precisions."""
    have = set(zip(*(cells[name] for name in KEYS), strict=True))
    models, lams = dict.fromkeys(cells["model"]), sorted(set(cells["lambda"]))
    every = [(m, g, k, lam) for m in models for g in STUDY_GAMES for k in range(1, DEEPEST + 1) for lam in lams]
    return tuple(cell for cell in every if cell not in have)
