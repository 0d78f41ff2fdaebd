"""What every table and figure reads of a fit, taken once: the seam between inference and report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol, overload

import numpy as np
import pandas as pd

from levelkit.errors import UsageError
from levelkit.report import words

if TYPE_CHECKING:
    from levelkit.choices import Choices
    from levelkit.models.base import Model, Parameter


class FitsLike(Protocol):
    """What report needs of a fit (see `levelkit.inference.fit.Fits`)."""

    @property
    def model(self) -> Model: ...  # noqa: D102
    @property
    def by(self) -> tuple[str, ...]: ...  # noqa: D102
    @property
    def scale(self) -> str: ...  # noqa: D102
    @property
    def interval(self) -> float: ...  # noqa: D102
    @property
    def choices(self) -> Choices: ...  # noqa: D102
    def __len__(self) -> int: ...
    def frame(self) -> pd.DataFrame: ...  # noqa: D102
    def stats(self) -> pd.DataFrame: ...  # noqa: D102
    def predict(self) -> pd.DataFrame: ...  # noqa: D102
    def surface(self, cell: int) -> Any: ...  # noqa: D102
    def profile(self, cell: int, parameter: str) -> pd.DataFrame: ...  # noqa: D102


@dataclass(frozen=True, eq=False)
class View:
    """The frames of a fit with names put to their rows.

    frame: one row per estimate; keys: its columns before "parameter"; names: a name in words for each of
    its rows. stats: one row per fitted cell; cells: a name in words for each of its rows.
    """

    fits: FitsLike
    frame: pd.DataFrame
    keys: tuple[str, ...]
    names: Names
    stats: pd.DataFrame
    cells: Names

    @classmethod
    def of(cls, fits: FitsLike) -> View:
        """Take the frames of a fit."""
        frame, stats = fits.frame(), fits.stats()
        keys = tuple(frame.columns[: list(frame.columns).index("parameter")])
        for name in keys:
            if name not in fits.by:  # None says that a parameter does not vary by it
                values = frame[name].to_numpy(dtype=object)
                values[frame[name].isna().to_numpy()] = None
                frame[name] = pd.Series(values, dtype="object")
        return cls(fits, frame, keys, Names(frame[list(keys)]), stats, Names(stats[list(fits.by)]))

    @cached_property
    def owner(self) -> np.ndarray:
        """For each row of `frame` the row of `stats` it belongs to; ascending."""
        return _numbered(self.frame, list(self.fits.by))

    @cached_property
    def key_ids(self) -> np.ndarray:
        """For each row of `frame` the number of its combination of keys, in order of appearance."""
        return _numbered(self.frame, list(self.keys))

    def rows_of(self, cell: int) -> np.ndarray:
        """Positions in `frame` of one fitted cell."""
        return np.arange(*np.searchsorted(self.owner, [cell, cell + 1]))

    @property
    def parameters(self) -> tuple[str, ...]:
        """Names of the parameters estimated, in the model's order."""
        return tuple(dict.fromkeys(map(str, self.frame["parameter"])))

    @property
    def statuses(self) -> tuple[str, ...]:
        """Statuses that occur or could occur, those of the glossary first."""
        found = dict.fromkeys(map(str, self.frame["status"]))
        return (*words.STATUSES, *(s for s in found if s not in words.STATUSES))

    def parameter(self, name: str) -> Parameter | None:
        """The model's parameter of that name; members of a family (share_0, share_1) have each their own."""
        return next((p for p in self.fits.model.parameters if p.name == name), None)

    def rows(self, parameter: str) -> np.ndarray:
        """Positions in `frame` of one parameter. Raises UsageError where it was not estimated."""
        at = np.flatnonzero((self.frame["parameter"] == parameter).to_numpy())
        if not len(at):
            known = ", ".join(self.parameters) or "none"
            raise UsageError(f"no estimates of {parameter!r}; the parameters estimated are {known}")
        return at

    @property
    def interval_kind(self) -> str:
        """Where the intervals come from, in words."""
        kind = str(getattr(self.fits, "interval_kind", "profile likelihood"))
        return kind if self.frame[["low", "high"]].notna().any(axis=None) else "none"

    @property
    def level(self) -> str:
        """The interval's level, such as "95%"."""
        return f"{100 * self.fits.interval:.6g}%"

    @property
    def scale_words(self) -> str:
        """How payoffs were scaled, in words."""
        ranges = "divided by each game's range (largest - smallest payoff)"
        return {"raw": "raw (as given)", "range": ranges}.get(self.fits.scale, self.fits.scale)

    @property
    def options(self) -> str:
        """The model's options, such as "levels=10, belief=hierarchy"."""
        return ", ".join(f"{k}={v}" for k, v in self.fits.model.options().items())

    def units(self) -> dict[str, str]:
        """The unit of each parameter."""
        first = self.frame.drop_duplicates("parameter")
        return {str(p): str(u) for p, u in zip(first["parameter"], first["unit"], strict=True)}


class Names(Sequence[str]):
    """Names in words of the rows of a frame of keys, made when asked for: there can be a million."""

    def __init__(self, keys: pd.DataFrame) -> None:
        self._columns = list(keys.columns)
        self._values = [keys[c].to_numpy(dtype=object) for c in self._columns]
        self._length = len(keys)

    def __len__(self) -> int:
        return self._length

    @overload
    def __getitem__(self, i: int) -> str: ...
    @overload
    def __getitem__(self, i: slice) -> tuple[str, ...]: ...
    def __getitem__(self, i: int | slice) -> str | tuple[str, ...]:
        if isinstance(i, slice):
            return tuple(self[k] for k in range(*i.indices(self._length)))
        if not -self._length <= i < self._length:
            raise IndexError(i)
        pairs = zip(self._columns, (values[i] for values in self._values), strict=True)
        return words.cell_name({k: v for k, v in pairs if v is not None})  # None: does not vary by it


def _numbered(frame: pd.DataFrame, columns: list[str]) -> np.ndarray:
    """Number of each row's combination of values, in order of appearance."""
    if not columns:
        return np.zeros(len(frame), dtype=int)
    return np.asarray(frame.groupby(columns, sort=False, dropna=False, observed=True).ngroup())


def find_cell(fits: FitsLike, cell: int | Mapping[str, Any] | None) -> int:
    """The number of a fitted cell given by number, by its grouping values, or (if there is one only) by
    nothing.

    Raises UsageError where none or several fit the description.
    """
    n = len(fits)
    if cell is None:
        if n == 1:
            return 0
        raise UsageError(
            f"there are {n:,} fitted cells; say which: a number from 0 or their values, such as {{'game': 'sw10'}}"
        )
    if isinstance(cell, Mapping):
        stats = fits.stats()
        unknown = [k for k in cell if k not in fits.by]
        if unknown:
            raise UsageError(f"the fit is not by {unknown[0]!r}; it is by {', '.join(fits.by) or 'nothing'}")
        mask = np.ones(n, bool)
        for name, value in cell.items():
            mask &= (stats[name] == value).to_numpy()
        at = np.flatnonzero(mask)
        if len(at) != 1:
            raise UsageError(
                f"{words.plural(len(at), 'fitted cell')} with {words.cell_name(cell)}; describe one exactly"
            )
        return int(at[0])
    if not -n <= int(cell) < n:
        raise UsageError(f"there is no fitted cell {cell}; they are numbered 0 to {n - 1}")
    return int(cell) % n
