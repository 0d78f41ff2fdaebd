"""Wide tables: one row per cell, a column of counts for each player and action.

Headers it knows (case does not matter; a per cent sign, `_pct` or `_percent` at the end is allowed):
`1:0`, `player 1: T`, `leader: In` (player, colon, action); `p1_0`, `p1_T`, `player1_0`, `player_1_0`,
`player 1_0`; `row_0`, `col_0`, `column_T` (two players). The action is an index from 0 or a label, by the
rule of long tables. Also `no_choice` (answers without a choice) and `n`, or `n_1`, `n_2` (plays of every, or
of each, player): see `levelkit.readers.percent`. An empty field is 0. A row with any unusable count is set
aside.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from levelkit.errors import DataError
from levelkit.games import Game
from levelkit.problems import NOTED, SET_ASIDE
from levelkit.readers.layout import Layout, only, refuse_missing
from levelkit.readers.raw import Column, RawTable
from levelkit.readers.resolve import parse, player_index, read_actions, read_count
from levelkit.readers.rows import Rows

PERCENT = re.compile(r"[ _]*(%|pct|percent)$", re.IGNORECASE)
HEADERS = (
    re.compile(r"(?P<player>[^:]+?)\s*:\s*(?P<action>.+)"),
    re.compile(r"(?:p|player)[ _]?(?P<player>[0-9]+)[ _](?P<action>.+)", re.IGNORECASE),
    re.compile(r"(?P<player>row|col|column)[ _](?P<action>.+)", re.IGNORECASE),
)


@dataclass(frozen=True)
class Header:
    """The name of a count column taken apart."""

    name: str
    player: str
    action: str


@dataclass(frozen=True)
class WideTable:
    """Count columns of a wide table and where they belong.

    headers: the count columns; places: for each game (by place in `games`) the position of a header in the
    game's count vector; counts: (rows, headers), nan where empty; which: the game of each row, or -1.
    """

    headers: list[Header]
    places: dict[int, dict[str, int]]
    counts: np.ndarray
    which: np.ndarray
    games: list[Game]
    raw: RawTable

    def sides(self) -> Iterator[tuple[int, int, np.ndarray]]:
        """Each game and agent with count columns: game, agent and the places of the columns in `headers`."""
        for g, game in enumerate(self.games):
            for agent, part in enumerate(game.slices):
                at = [self.places[g].get(header.name, -1) for header in self.headers]
                mine = [j for j, place in enumerate(at) if part.start <= place < part.stop]
                if mine:
                    yield g, agent, np.array(mine)


def split_header(name: str) -> Header | None:
    """Player and action of a count column's name, or None where it is no such name."""
    bare = PERCENT.sub("", name.strip())
    for pattern in HEADERS:
        match = pattern.fullmatch(bare)
        if match:
            return Header(name, match["player"].strip(), match["action"].strip())
    return None


def wide_table(
    layout: Layout, which: np.ndarray, games: list[Game], raw: RawTable, mode: str
) -> tuple[WideTable, np.ndarray, dict[str, Column]]:
    """The count columns, which rows are free of unusable counts, and the columns left over for grouping.

    Raises DataError where no column counts an action, or one names a player but none of the actions.
    """
    found = [header for header in map(split_header, layout.others) if header is not None]
    places = {g: _places(found, game, raw, mode) for g, game in enumerate(games)}
    used = [h for h in found if any(h.name in place for place in places.values()) or h.action.isdecimal()]
    if layout.groups is None:
        _judge_strays([header for header in found if header not in used], layout, games, raw)
    if games and not any(places.values()):
        hint = "Long rows need a column 'action' (say columns={'action': ...}), wide rows columns like '1:0'"
        raise refuse_missing("action", raw, hint)
    counts, fine = _numbers(used, layout, raw, which >= 0)
    table = WideTable(used, places, counts, which, games, raw)
    fine = _within_games(table, fine)
    names = {header.name for header in used}
    others = {name: column for name, column in layout.others.items() if name not in names}
    return table, fine, only(others, layout.groups)


def _places(headers: list[Header], game: Game, raw: RawTable, mode: str) -> dict[str, int]:
    """Position in the game's count vector for each header that names one of its actions."""
    by_player: dict[int, list[Header]] = {}
    for header in headers:
        agent = player_index(parse(header.player), game)
        if agent is not None and game.observed[agent]:
            by_player.setdefault(agent, []).append(header)
    found: dict[str, int] = {}
    for agent, mine in by_player.items():
        read = read_actions([parse(header.action) for header in mine], game.actions[agent], mode)
        whose = f"game '{game.name}', {game.players[agent]}"
        for header, index in zip(mine, read.index, strict=True):
            if index < 0:
                continue
            place = game.slices[agent].start + index
            twin = next((name for name, other in found.items() if other == place), None)
            if twin is not None:
                what = f"columns '{twin}' and '{header.name}' count the same action ({whose})"
                raise DataError(what, where=raw.log.where, fix="Leave one of them out")
            found[header.name] = place
        if read.ambiguous:
            words = f"{whose}: column names that are labels and could be indices are read as labels"
            raw.log.note("label_or_index", words)
        if read.by_index:
            raw.log.note("read_as_index", f"{whose}: the numbers in column names are read as indices from 0")
    return found


def _judge_strays(strays: list[Header], layout: Layout, games: list[Game], raw: RawTable) -> None:
    """Numeric columns that name a player but no action: an error if written `player:action`, else noted."""
    for header in strays:
        kinds = {parse(value).kind for value in layout.others[header.name].values}
        named = any(player_index(parse(header.player), game) is not None for game in games)
        if not named or not kinds <= {"nothing", "whole", "number"}:
            continue
        if ":" not in header.name:
            words = f"column '{header.name}' names no action of a game here: it is a grouping column, not counts"
            raw.log.note("not_counts", words, column=header.name)
        else:
            what = f"column '{header.name}' looks like counts of '{header.action}', which no game here has"
            raise DataError(what, where=raw.log.where, fix="Rename it, or name the grouping columns with groups=[...]")


def _numbers(used: list[Header], layout: Layout, raw: RawTable, good: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Counts (rows, count columns), nan where empty; and which rows are free of unusable counts."""
    table = np.full((len(good), len(used)), np.nan)
    fine = good.copy()
    for j, header in enumerate(used):
        table[:, j], fine = read_numbers(layout.others[header.name], header.name, raw, fine)
    return table, fine


def read_numbers(column: Column, name: str, raw: RawTable, fine: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The numbers of one column, nan where empty, and `fine` less the rows without a count (set aside)."""
    read = [read_count(value) for value in column.values]
    numbers = np.array([number for number, _ in read], dtype=np.float64)[column.codes]
    bad = np.array([problem not in {"", "missing_count"} for _, problem in read], dtype=bool)[column.codes] & fine

    def words(value: object) -> str:
        return f"column '{name}': '{parse(value).text}' is not a count (a number from 0)"

    raw.log.add(SET_ASIDE, "bad_count", name, raw.rows[bad], words, codes=column.codes[bad], values=column.values)
    return numbers, fine & ~bad


def _within_games(table: WideTable, fine: np.ndarray) -> np.ndarray:
    """Rows that count no action which their game lacks; notes where some counts of a player are empty."""
    fine = fine.copy()
    raw, positive = table.raw, np.nan_to_num(table.counts) > 0
    for j, header in enumerate(table.headers):
        lacking = [g for g, place in table.places.items() if header.name not in place]
        bad = np.isin(table.which, lacking) & fine & positive[:, j]
        words = f"column '{header.name}' holds a count, but the row's game has no such player or action"
        raw.log.add(SET_ASIDE, "action_outside", header.name, raw.rows[bad], words)
        fine &= ~bad
    partly = np.zeros(len(fine), dtype=bool)
    for g, _, mine in table.sides():
        empty = np.isnan(table.counts[:, mine])
        partly |= (table.which == g) & fine & empty.any(axis=1) & ~empty.all(axis=1)
    raw.log.add(NOTED, "empty_count", "", raw.rows[partly], "empty counts beside filled ones: read as 0")
    return fine


def wide_rows(table: WideTable, counts: np.ndarray, lost: np.ndarray, fine: np.ndarray) -> Rows:
    """One entry for each usable row and column of its game, and one for its answers without a choice."""
    parts = []
    for g, place in table.places.items():
        at = np.flatnonzero(fine & (table.which == g))
        for j, header in enumerate(table.headers):
            if header.name in place:
                parts.append((at, g, place[header.name], np.nan_to_num(counts[at, j])))
        parts.append((at, g, -1, lost[at]))
    if not parts:
        none = np.zeros(0, dtype=np.int64)
        return Rows(none, none, none, np.zeros(0), wide=True)
    at = np.concatenate([rows for rows, _, _, _ in parts])
    game = np.concatenate([np.full(len(rows), g, dtype=np.int64) for rows, g, _, _ in parts])
    where = np.concatenate([np.full(len(rows), p, dtype=np.int64) for rows, _, p, _ in parts])
    count = np.concatenate([part[3] for part in parts])
    order = np.argsort(at, kind="stable")
    return Rows(at[order], game[order], where[order], count[order], wide=True)
