"""Long tables: one row per choice or per counted action, judged by game, player, count and action."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd

from levelkit.games import Game
from levelkit.problems import NOTED, SET_ASIDE, shorten
from levelkit.readers.layout import Layout
from levelkit.readers.raw import Column, RawTable
from levelkit.readers.resolve import near, parse, player_index, read_actions, read_count
from levelkit.readers.rows import Rows

SHOWN = 12  # labels listed in a message

ACTION_WORDS = {
    "no_choice": "no action given: counted apart as no choice",
    "unparsed": "'{value}' names no action{near}: counted apart as no choice",
    "boolean_action": "'{value}' is a boolean, not an action (actions: {labels})",
    "mixed_action": "'{value}' is no label, and other rows give labels, not indices (else actions='index')",
    "action_outside": "'{value}' is outside the action set ({labels})",
}
COUNT_WORDS = {
    "missing_count": "the count is missing or NaN",
    "count_not_number": "the count is not a number",
    "negative_count": "the count is negative",
    "infinite_count": "the count is infinite or above 1e15",
}


def read_long(layout: Layout, which: np.ndarray, games: list[Game], raw: RawTable, mode: str) -> Rows:
    """The usable rows of a long table."""
    good = np.flatnonzero(which >= 0)
    agent = _agents(layout.own.get("player"), which, games, raw, good)
    good, agent = good[agent >= 0], agent[agent >= 0]
    count, fine = _counts(layout.own.get("count"), raw, good)
    good, agent, count = good[fine], agent[fine], count[fine]
    place, fine = _actions(layout.own["action"], which[good], agent, games, raw, good, mode)
    return Rows(good[fine], which[good][fine], place[fine], count[fine])


def _agents(column: Column | None, which: np.ndarray, games: list[Game], raw: RawTable, good: np.ndarray) -> np.ndarray:
    """The agent of each good row, or -1 (set aside)."""
    if column is None:
        column = Column(np.zeros(len(which), dtype=np.int64), [None])
    seen = [parse(value) for value in column.values]
    pair, pairs = pd.factorize(which[good] * len(seen) + column.codes[good])
    agent = np.full(len(pairs), -1, dtype=np.int64)
    reasons: dict[tuple[str, int], tuple[np.ndarray, str]] = {}
    for i, both in enumerate(pairs):
        game, value = games[int(both) // len(seen)], seen[int(both) % len(seen)]
        found = player_index(value, game)
        known = ", ".join(f"{k} = '{name}'" for k, name in enumerate(game.players, start=1))
        if value.kind == "nothing":
            if game.symmetric or game.n_players == 1:
                agent[i] = 0
                continue
            code, words = "missing_player", f"no player, and game '{game.name}' is not symmetric"
        elif found is None:
            code, words = (
                "unknown_player",
                f"unknown player '{value.text}' in game '{game.name}' (players: {known})",
            )
        elif not game.observed[found]:
            code = "unobserved_player"
            words = f"player '{game.players[found]}' of game '{game.name}' is imagined and makes no choices"
        else:
            agent[i] = found
            continue
        reasons[code, i] = (pair == i, words)
    for (code, i), (rows, words) in reasons.items():
        values = [column.values[int(pairs[i]) % len(seen)]]
        zero = np.zeros(int(rows.sum()), dtype=np.int64)
        raw.log.add(SET_ASIDE, code, "player", raw.rows[good[rows]], words, codes=zero, values=values)
    return agent[pair]


def _counts(column: Column | None, raw: RawTable, good: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The count of each good row, and which of them are usable."""
    if column is None:
        return np.ones(len(good)), np.ones(len(good), dtype=bool)
    read = [read_count(value) for value in column.values]
    numbers = np.array([number for number, _ in read], dtype=np.float64)
    codes = column.codes[good]
    for code, words in COUNT_WORDS.items():
        mine = np.array([problem == code for _, problem in read], dtype=bool)[codes]
        message = _saying(words)
        raw.log.add(SET_ASIDE, code, "count", raw.rows[good[mine]], message, codes=codes[mine], values=column.values)
    count = numbers[codes]
    note_fractions(raw, good, count, "count")
    return count, np.isfinite(count)


def note_fractions(raw: RawTable, at: np.ndarray, count: np.ndarray, column: str) -> None:
    """Say so where counts are not whole numbers."""
    part = np.isfinite(count) & (count != np.floor(count))
    raw.log.add(NOTED, "fractional_count", column, raw.rows[at[part]], "counts that are not whole: used as weights")


def _saying(words: str) -> Callable[[object], str]:
    def say(value: object) -> str:
        text = parse(value).text
        return f"{words}: '{text}'" if text else words

    return say


def _actions(
    column: Column,
    which: np.ndarray,
    agent: np.ndarray,
    games: list[Game],
    raw: RawTable,
    good: np.ndarray,
    mode: str,
) -> tuple[np.ndarray, np.ndarray]:
    """Each good row's place in the count vector of its game (-1 = no choice), and which rows are usable."""
    many = max((game.n_players for game in games), default=1)
    codes = column.codes[good]
    side, sides = pd.factorize(which * many + agent)  # a side: one player of one game
    triple, triples = pd.factorize(side * len(column.values) + codes)
    place = np.full(len(triples), -1, dtype=np.int64)
    usable = np.ones(len(triples), dtype=bool)
    side_of = triples // max(len(column.values), 1)
    value_of = triples % max(len(column.values), 1)
    for s, key in enumerate(sides):
        game, player = games[int(key) // many], int(key) % many
        labels = game.actions[player]
        mine = np.flatnonzero(side_of == s)
        found = read_actions([parse(column.values[int(value_of[t])]) for t in mine], labels, mode)
        index = np.asarray(found.index, dtype=np.int64)
        place[mine] = np.where(index >= 0, index + game.slices[player].start, -1)
        whose = f"game '{game.name}', {game.players[player]}"
        for code, words in ACTION_WORDS.items():
            hit = mine[np.array([c == code for c in found.code], dtype=bool)]
            if not len(hit):
                continue
            lost = code not in {"no_choice", "unparsed"}
            usable[hit] &= not lost
            rows = np.isin(triple, hit)
            raw.log.add(
                SET_ASIDE if lost else NOTED,
                code,
                "action",
                raw.rows[good[rows]],
                _about(words, whose, labels),
                codes=codes[rows],
                values=column.values,
            )
        note_reading(raw, found.ambiguous and mine[found.ambiguous], found.by_index, triple, good, whose, labels)
    return place[triple], usable[triple]


def note_reading(
    raw: RawTable,
    ambiguous: np.ndarray | list[int],
    by_index: bool,
    triple: np.ndarray,
    good: np.ndarray,
    whose: str,
    labels: Sequence[str],
) -> None:
    """Say so where numbers could have been read in two ways."""
    if len(ambiguous):
        rows = np.isin(triple, ambiguous)
        words = f"{whose}: numbers that are labels and could be indices are read as labels (else actions='index')"
        raw.log.add(NOTED, "label_or_index", "action", raw.rows[good[rows]], words)
    if by_index:
        words = f"{whose}: no number is one of the labels {_list(labels)}; numbers are read as indices from 0"
        raw.log.note("read_as_index", words, column="action")


def _about(words: str, whose: str, labels: Sequence[str]) -> Callable[[object], str]:
    def say(value: object) -> str:
        text = parse(value).text
        hint = near(text, labels) if "{near}" in words else ""
        return f"{whose}: {words.format(value=shorten(text), near=hint, labels=_list(labels))}"

    return say


def _list(labels: Sequence[str]) -> str:
    return ", ".join(labels[:SHOWN]) + (", ..." if len(labels) > SHOWN else "")
