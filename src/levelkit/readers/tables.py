"""The road from a raw table to `Choices`: games named, rows judged (`long`, `wide`), cells summed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd

from levelkit.choices import Choices
from levelkit.errors import DataError, UsageError
from levelkit.games import Game, library, read_games
from levelkit.problems import SET_ASIDE
from levelkit.readers.files import load
from levelkit.readers.layout import Layout, arrange, group_columns, refuse_count_like, refuse_missing
from levelkit.readers.long import read_long
from levelkit.readers.percent import read_wide
from levelkit.readers.raw import Column, RawTable
from levelkit.readers.resolve import game_named, near, parse
from levelkit.readers.rows import Rows

GameSource = Mapping[str, Game] | Iterable[Game] | Game | str | Path | None
MODES = ("auto", "label", "index")
SHOWN = 8  # games listed in a message


def read_choices(
    source: str | Path | pd.DataFrame,
    games: GameSource = None,
    *,
    columns: Mapping[str, str] | None = None,
    groups: Sequence[str] | None = None,
    actions: str = "auto",
    percent: bool = False,
    strict: bool = False,
) -> Choices:
    """Choices from a csv, tsv, json lines or Parquet file or a DataFrame.

    games: games by name or in a list, one game, a games file, or None for the shipped library.
    columns: our column names to the user's, as {"action": "choice"}; groups: the grouping columns to keep.
    actions: "auto" (labels first, then indices), "label" or "index" for the numbers in the action column.
    percent: wide tables only; the columns are percentages (or shares) of `n` or `n_1`, `n_2` plays.
    strict: raise DataError if any row had to be set aside.
    Raises DataError where the source cannot be read or no row can be used, UsageError for options that clash.
    """
    if actions not in MODES:
        raise UsageError(f"actions must be one of {', '.join(MODES)}, not '{actions}'")
    raw = load(source)
    known = _games(games)
    if not known:
        raise UsageError("games= holds no game")
    layout = _with_game(arrange(raw, columns, groups), known, raw)
    if not raw.rows_read:
        raise DataError("there is a header but no row", where=raw.log.where)
    if layout.long and percent:
        raise UsageError("percent=True is for tables with a column for each action, not for long rows")
    which, used = _game_of_rows(layout.own["game"], known, raw)
    if layout.long:
        refuse_count_like(layout, raw)
        rows, others = read_long(layout, which, used, raw, actions), dict(layout.others)
    else:
        rows, others = read_wide(layout, which, used, raw, actions, percent)
    made = _assemble(rows, others, used, raw)
    if strict and made.problems.n_set_aside:
        raise DataError(made.problems.text(), where=raw.log.where, fix="Correct the rows or read without strict")
    return made


def _games(games: GameSource) -> Mapping[str, Game]:
    if games is None:
        return library()
    if isinstance(games, Game):
        return {games.name: games}
    if isinstance(games, str | Path):
        return read_games(games)
    if isinstance(games, Mapping):
        return games
    listed = list(games)
    for game in listed:
        if not isinstance(game, Game):
            raise UsageError(
                f"games= holds a {type(game).__name__}, not a Game; give games, or the path of a games file"
            )
    by_name = {game.name: game for game in listed}
    if len(by_name) < len(listed):
        raise UsageError("two of the games in games= have the same name; give each a name of its own")
    return by_name


def _with_game(layout: Layout, games: Mapping[str, Game], raw: RawTable) -> Layout:
    """The layout, with a game column made up where only one game was given and the table names none."""
    if "game" in layout.own:
        return layout
    if len(games) != 1:
        hint = "Name it with columns={'game': ...}, or pass the one game that was played as games="
        raise refuse_missing("game", raw, hint)
    only = next(iter(games))
    raw.log.note("game_assumed", f"no column 'game': all rows are of the one game given, '{only}'", value=only)
    column = Column(np.zeros(len(raw.rows), dtype=np.int64), [only])
    return replace(layout, own={**layout.own, "game": column})


def _game_of_rows(column: Column, games: Mapping[str, Game], raw: RawTable) -> tuple[np.ndarray, list[Game]]:
    """For each row the place of its game in the list returned, or -1 (set aside)."""
    places: dict[str, int] = {}
    of_value = np.full(len(column.values), -1, dtype=np.int64)
    for i, value in enumerate(column.values):
        name = game_named(value, games)
        if name is not None:
            of_value[i] = places.setdefault(name, len(places))
    which = of_value[column.codes]
    bad = which < 0
    names = list(games)

    def words(value: object) -> str:
        text = parse(value).text
        if not text:
            return "no game is named"
        known = ", ".join(names[:SHOWN]) + (", ..." if len(names) > SHOWN else "")
        return f"unknown game '{text}'{near(text, names) or f' (known: {known})'}"

    raw.log.add(SET_ASIDE, "unknown_game", "game", raw.rows[bad], words, codes=column.codes[bad], values=column.values)
    return which, [games[name] for name in places]


def _assemble(rows: Rows, others: Mapping[str, Column], games: list[Game], raw: RawTable) -> Choices:
    """Sum the rows of each cell; cells stand in order of first appearance."""
    if not len(rows.at):
        text = raw.log.problems(raw.rows_read).text()
        raise DataError(f"no row can be used\n{text}", where=raw.log.where)
    columns = group_columns(others, rows.at, raw)
    cell, first = _cells(columns, rows)
    game_at = rows.game[first]
    frame = pd.DataFrame(
        {name: pd.Series([column.values[int(c)] for c in column.codes[first]]) for name, column in columns.items()}
    )
    names = [game.name for game in games]
    frame["game"] = [names[int(g)] for g in game_at]
    order = [int(g) for g in pd.unique(game_at)]
    used = {names[g]: games[g] for g in order}
    width = max(game.n_counts for game in used.values())
    chose = rows.place >= 0
    flat = cell[chose] * width + rows.place[chose]
    counts = np.bincount(flat, weights=rows.count[chose], minlength=len(first) * width)
    lost = np.bincount(cell[~chose], weights=rows.count[~chose], minlength=len(first))
    _note_shape(rows, columns, len(first), raw)
    problems = raw.log.problems(raw.rows_read)
    table = counts.reshape(len(first), width)
    return Choices.from_counts(frame, table, used, no_choice=lost, problems=problems)


def _cells(columns: Mapping[str, Column], rows: Rows) -> tuple[np.ndarray, np.ndarray]:
    """The cell of each row and the first row of each cell."""
    key = rows.game
    for column in columns.values():
        key, _ = pd.factorize(key * max(len(column.values), 1) + column.codes)
    cell, seen = pd.factorize(key)
    first = np.full(len(seen), -1, dtype=np.int64)
    first[cell[::-1]] = np.arange(len(cell) - 1, -1, -1)
    return cell.astype(np.int64), first


def _note_shape(rows: Rows, columns: Mapping[str, Column], n_cells: int, raw: RawTable) -> None:
    """Say so where every row became a cell of its own, or wide rows were added up."""
    different = len(np.unique(rows.at))
    if rows.wide and n_cells < different:
        words = f"{different} rows make {n_cells} cells: rows with the same groups and game are added"
        raw.log.note("rows_added", words)
    if not rows.wide and n_cells == different and different >= 20:
        unique = [name for name, column in columns.items() if len(column.values) == different]
        if unique:
            words = f"column '{unique[0]}' has another value in every row, so each row is a cell of its own"
            raw.log.note("cell_per_row", f"{words}; groups=[...] keeps only the columns you name", column=unique[0])
