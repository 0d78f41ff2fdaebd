"""Plays and percentages of wide tables: checks of sums, and whole counts behind printed percentages.

Percentages are not counts: without the number of plays they say nothing about precision.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from levelkit.errors import UsageError
from levelkit.games import Game
from levelkit.problems import NOTED, SET_ASIDE
from levelkit.readers.layout import PLAYS, Layout
from levelkit.readers.raw import Column, RawTable
from levelkit.readers.resolve import read_count
from levelkit.readers.rows import Rows
from levelkit.readers.wide import WideTable, read_numbers, wide_rows, wide_table

SUM_SLACK = 0.011  # relative: 99 or 101 per cent still count as 100
DECIMALS = 6  # the most decimals a printed percentage is taken to have


def read_wide(
    layout: Layout, which: np.ndarray, games: list[Game], raw: RawTable, mode: str, percent: bool
) -> tuple[Rows, dict[str, Column]]:
    """The usable counts of a wide table, and the columns left over for grouping.

    With `percent` the count columns are percentages or shares of plays; raises UsageError without plays.
    """
    table, fine, others = wide_table(layout, which, games, raw, mode)
    plays = _plays(layout)
    if percent and not plays:
        raise UsageError("percent=True needs the number of plays: a column 'n', or 'n_1', 'n_2', ...")
    if percent:
        counts, fine = _from_percent(table, plays, fine)
    else:
        counts, fine = table.counts, _sums_agree(table, plays, fine)
        _note_percent(table, fine)
    lost = np.zeros(len(fine))
    if "no_choice" in layout.own:
        lost, fine = read_numbers(layout.own["no_choice"], "no_choice", raw, fine)
    return wide_rows(table, counts, np.nan_to_num(lost), fine), others


def _plays(layout: Layout) -> dict[int, np.ndarray]:
    """Plays by agent (0-based; -1: every player alike), nan where not given."""
    found: dict[int, np.ndarray] = {}
    for name, column in layout.own.items():
        if name == "n" or PLAYS.fullmatch(name):
            numbers = np.array([read_count(value)[0] for value in column.values], dtype=np.float64)
            found[-1 if name == "n" else int(name[2:]) - 1] = numbers[column.codes]
    return found


def _of(plays: Mapping[int, np.ndarray], agent: int, size: int) -> np.ndarray:
    return plays.get(agent, plays.get(-1, np.full(size, np.nan)))


def _sums_agree(table: WideTable, plays: Mapping[int, np.ndarray], fine: np.ndarray) -> np.ndarray:
    """The fine rows whose counts add to the plays, where these are given."""
    fine = fine.copy()
    for g, agent, mine in table.sides():
        n = _of(plays, agent, len(fine))
        counts = table.counts[:, mine]
        off = np.abs(np.nansum(counts, axis=1) - n) > 1e-9 * np.maximum(n, 1)
        bad = (table.which == g) & fine & np.isfinite(n) & off & ~np.isnan(counts).all(axis=1)
        words = f"the counts of player {agent + 1} do not add to n (percentages need percent=True)"
        table.raw.log.add(SET_ASIDE, "sum_not_n", "n", table.raw.rows[bad], words)
        fine &= ~bad
    return fine


def _note_percent(table: WideTable, fine: np.ndarray) -> None:
    """Say so where counts are not whole: percentages if all rows add to about 100 (or 1), else weights."""
    broken, round_sum = np.zeros(len(fine), dtype=bool), np.ones(len(fine), dtype=bool)
    for g, _, mine in table.sides():
        counts = np.nan_to_num(table.counts[:, mine])
        total = counts.sum(axis=1)
        rows = (table.which == g) & fine & (total > 0)
        broken |= rows & (counts != np.floor(counts)).any(axis=1)
        close = (np.abs(total - 100) <= 100 * SUM_SLACK) | (np.abs(total - 1) <= SUM_SLACK)
        round_sum &= ~rows | close
    log, rows = table.raw.log, table.raw.rows[broken]
    if round_sum[fine].all():
        words = (
            "the columns add to about 100 (or 1) and look like percentages; they are used as they stand, as "
            "if that many choices had been made: give a column n (or n_1, n_2) of plays and say percent=True"
        )
        log.add(NOTED, "percent_like", "", rows, words)
    else:
        log.add(NOTED, "fractional_count", "", rows, "counts that are not whole: used as weights")


def _from_percent(table: WideTable, plays: Mapping[int, np.ndarray], fine: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Whole counts behind percentages (or shares) of n plays; rows without such counts are set aside."""
    made, fine = np.nan_to_num(table.counts), fine.copy()
    slack, log, numbers = _printed_slack(made), table.raw.log, table.raw.rows
    for g, agent, mine in table.sides():
        n = _of(plays, agent, len(fine))
        shown = np.nan_to_num(table.counts[:, mine])
        total = shown.sum(axis=1)
        rows = (table.which == g) & fine & (total > 0)
        given = np.isfinite(n) & (n > 0) & (n == np.floor(n))
        words = f"percentages of player {agent + 1}, but n is missing or not a whole number"
        log.add(SET_ASIDE, "missing_n", "n", numbers[rows & ~given], words)
        unit = np.where(np.abs(total - 1) <= 2 * SUM_SLACK, 1.0, 100.0) / np.where(given, n, 1.0)
        whole = np.round(shown / unit[:, None])
        off = (np.abs(whole * unit[:, None] - shown) > slack[:, None]).any(axis=1) | (whole.sum(axis=1) != n)
        words = f"the percentages of player {agent + 1} are not whole counts of n plays within rounding error"
        log.add(SET_ASIDE, "percent_not_whole", "n", numbers[rows & given & off], words)
        fine &= ~(rows & (~given | off))
        take = np.flatnonzero(rows & fine)
        made[np.ix_(take, mine)] = whole[take]
    return made, fine


def _printed_slack(shown: np.ndarray) -> np.ndarray:
    """Half a unit of the last decimal that each row shows."""
    decimals = np.zeros(len(shown))
    for d in range(DECIMALS, 0, -1):
        shows = (np.abs(np.round(shown, d - 1) - shown) > 1e-9).any(axis=1)
        decimals = np.maximum(decimals, np.where(shows, d, 0))
    return 0.5 * 10.0**-decimals + 1e-9
