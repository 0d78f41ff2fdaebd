"""Counted choices: which actions were taken, in which game, under which conditions.

Knows games; knows nothing of files (see `levelkit.readers`) and nothing of models.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from levelkit.errors import DataError, UsageError
from levelkit.games import Game
from levelkit.problems import Problems

__all__ = ["RESERVED", "Choices", "Problems", "read_choices", "shipped_choices", "shipped_sets"]

RESERVED = frozenset(
    """
    game player action count no_choice n parameter estimate se low high status loglik unit observed predicted
    value games loglik_uniform loglik_saturated multinomial_constant free aic bic gain completeness mean_level
    mean_level_se mean_level_low mean_level_high mean_level_shift optima others note replicate
    """.split()  # noqa: SIM905 - a list of 35 quoted words is harder to read
)
"""Names that choices and results use for their own columns; a grouping column cannot have one of them."""


@dataclass(frozen=True, eq=False)
class Choices:
    """Counts of actions by cell; a cell is one combination of the grouping columns and a game.

    cells: one row per cell, the grouping columns and then "game".
    counts: (cells, width) float64 >= 0; the columns follow the cell's game (actions of agent 1, then of
    agent 2, ...) and are padded with 0; width is that of the widest game.
    no_choice: (cells,) answers that named no action. games: the games that occur, by name.
    problems: what was set aside or noted when the choices were read.
    """

    cells: pd.DataFrame
    counts: np.ndarray
    no_choice: np.ndarray
    games: Mapping[str, Game]
    problems: Problems = field(default_factory=Problems)

    @classmethod
    def from_counts(
        cls,
        cells: pd.DataFrame,
        counts: np.ndarray,
        games: Mapping[str, Game],
        *,
        no_choice: np.ndarray | None = None,
        problems: Problems | None = None,
    ) -> Choices:
        """Choices from ready counts: the fast road for simulated data.

        cells: frame with the grouping columns and "game"; counts: (cells, width); games: those named.
        Raises DataError where shapes disagree or a count is negative, missing or infinite.
        """
        if "game" not in cells.columns:
            raise DataError(f"no column 'game' among {', '.join(map(str, cells.columns))}", where="cells")
        clash = sorted(RESERVED.intersection(map(str, cells.columns)) - {"game"})
        if clash:
            raise DataError(f"'{clash[0]}' is a name of levelkit's own", where="cells", fix="rename the column")
        groups = [name for name in cells.columns if name != "game"]
        frame = cells.reset_index(drop=True)[[*groups, "game"]]
        names = [str(name) for name in pd.unique(frame["game"])]
        unknown = [name for name in names if name not in games]
        if unknown:
            raise DataError(f"game '{unknown[0]}' is not among the games given", where="cells")
        used = {name: games[name] for name in names}
        width = max((game.n_counts for game in used.values()), default=0)
        table = np.asarray(counts, dtype=np.float64)
        if table.shape != (len(frame), width):
            want = f"({len(frame)}, {width})"
            raise DataError(f"counts have shape {table.shape}, not {want}", fix="one row per cell, widest game")
        empty = np.zeros(len(frame)) if no_choice is None else np.asarray(no_choice, dtype=np.float64)
        if empty.shape != (len(frame),):
            raise DataError(f"no_choice has shape {empty.shape}, not ({len(frame)},)")
        for name, array in (("counts", table), ("no_choice", empty)):
            if not np.isfinite(array).all() or (array < 0).any():
                raise DataError(f"{name} must be finite and not negative")
        return cls(frame, _frozen(table), _frozen(empty), used, Problems() if problems is None else problems)

    def __len__(self) -> int:
        return len(self.cells)

    def __repr__(self) -> str:
        by = ", ".join(self.groups) or "no groups"
        return f"Choices({len(self)} cells, {self.counts.sum():g} choices, {len(self.games)} games; by {by})"

    @property
    def groups(self) -> tuple[str, ...]:
        """Names of the grouping columns, without "game"."""
        return tuple(str(name) for name in self.cells.columns if name != "game")

    @property
    def n(self) -> np.ndarray:
        """Choices in each cell, all players together, answers without a choice left out."""
        return np.asarray(self.counts.sum(axis=1))

    def game_of(self, i: int) -> Game:
        """The game of cell i."""
        return self.games[str(self.cells["game"].iloc[i])]

    def counts_for(self, i: int) -> tuple[np.ndarray, ...]:
        """The counts of cell i, one vector per agent of its game (zeros for agents nobody observes)."""
        return tuple(self.counts[i, part] for part in self.game_of(i).slices)

    def frame(self) -> pd.DataFrame:
        """The choices as a long tidy frame: the grouping columns, game, player, action, count.

        Every action of every observed player has its row, also with count 0. Answers without a choice stand
        on a row with an empty action; `read_choices` reads all of it back to the same choices.
        """
        names = self.cells["game"].to_numpy(dtype=object)
        parts = []
        for name, game in self.games.items():
            at = np.flatnonzero(names == name)
            for order, (agent, columns) in enumerate(zip(range(game.n_players), game.slices, strict=True)):
                if not game.observed[agent]:
                    continue
                labels = game.actions[agent]
                parts.append(self._rows(at, order, game.players[agent], labels, self.counts[at, columns].ravel()))
            lost = at[self.no_choice[at] > 0]
            first = game.players[game.observed.index(True)]
            parts.append(self._rows(lost, game.n_players, first, ("",), self.no_choice[lost]))
        long = pd.concat(parts, ignore_index=True) if parts else pd.DataFrame()
        if not len(long):
            return pd.DataFrame(columns=[*self.groups, "game", "player", "action", "count"])
        long = long.sort_values(["cell", "order", "place"], kind="stable", ignore_index=True)
        head = self.cells.iloc[long.pop("cell").to_numpy()].reset_index(drop=True)
        return pd.concat([head, long.drop(columns=["order", "place"])], axis=1)

    @staticmethod
    def _rows(at: np.ndarray, order: int, player: str, labels: Sequence[str], counts: np.ndarray) -> pd.DataFrame:
        """Rows of `frame` for one player of one game in the cells `at`, with keys for their order."""
        many = len(labels)
        return pd.DataFrame(
            {
                "cell": np.repeat(at, many),
                "order": order,
                "place": np.tile(np.arange(many), len(at)),
                "player": player,
                "action": np.tile(np.asarray(labels, dtype=object), len(at)),
                "count": counts,
            }
        )

    def filter(self, mask: Any = None, /, **equals: Any) -> Choices:
        """The cells where `mask` (booleans, one per cell) holds and each named column equals the value given.

        A list, tuple or set of values means any of them: `choices.filter(game=["sw10", "rpc_sw1"], cot=0)`.
        Raises UsageError for a column that does not exist or a mask of another length.
        """
        keep = np.ones(len(self), dtype=bool)
        if mask is not None:
            given = np.asarray(mask)
            if given.shape != (len(self),) or given.dtype != np.bool_:
                raise UsageError(f"the mask must hold {len(self)} booleans, one per cell")
            keep &= given
        for name, wanted in equals.items():
            if name not in self.cells.columns:
                near = difflib.get_close_matches(name, list(map(str, self.cells.columns)), 1)
                hint = f"; did you mean '{near[0]}'?" if near else ""
                raise UsageError(f"no column '{name}' among {', '.join(map(str, self.cells.columns))}{hint}")
            several = list(wanted) if isinstance(wanted, list | tuple | set | frozenset) else [wanted]
            keep &= self.cells[name].isin(several).to_numpy()
        cells = self.cells.loc[keep].reset_index(drop=True)
        games = {str(name): self.games[str(name)] for name in pd.unique(cells["game"])}
        width = max((game.n_counts for game in games.values()), default=0)
        return Choices(cells, self.counts[keep][:, :width], self.no_choice[keep], games, self.problems)

    def equals(self, other: Choices) -> bool:
        """Whether both hold the same cells in the same order with the same counts and game names."""
        return (
            self.groups == other.groups
            and self.cells.astype(object).equals(other.cells.astype(object))
            and list(self.games) == list(other.games)
            and np.array_equal(self.counts, other.counts)
            and np.array_equal(self.no_choice, other.no_choice)
        )


def _frozen(array: np.ndarray) -> np.ndarray:
    view = array.view()
    view.flags.writeable = False
    return view


def read_choices(
    source: str | Path | pd.DataFrame,
    games: Mapping[str, Game] | Iterable[Game] | Game | str | Path | None = None,
    *,
    columns: Mapping[str, str] | None = None,
    groups: Sequence[str] | None = None,
    actions: str = "auto",
    percent: bool = False,
    strict: bool = False,
) -> Choices:
    """Choices from a table: a .csv, .tsv, .jsonl, .ndjson or .parquet file (also .gz) or a DataFrame.

    See `levelkit.readers` for layouts, rules and options. Raises DataError where nothing can be read.
    """
    from levelkit import readers

    return readers.read_choices(
        source, games, columns=columns, groups=groups, actions=actions, percent=percent, strict=strict
    )


def shipped_choices(name: str) -> Choices:
    """A set of choices that comes with the package, by name (see `shipped_sets`)."""
    from levelkit import shipped

    return shipped.shipped_choices(name)


def shipped_sets() -> dict[str, str]:
    """Names of the sets of choices that come with the package, with a line on each."""
    from levelkit import shipped

    return shipped.shipped_sets()
