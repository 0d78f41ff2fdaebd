"""What a study is to the rest: a name, parts by name, and a function that computes them again as tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from levelkit.errors import DataError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Progress = Callable[[int, int], None]


def estimate_text(value: float, low: float, high: float, status: str = "", digits: int = 2) -> str:
    """An estimate with its interval and status, e.g. "1.54 [1.20, 2.10] ok"; "-" where there is none."""
    number = "-" if np.isnan(value) else f"{value:.{digits}f}"
    return f"{number} [{low:.2f}, {high:.2f}] {status}".rstrip()


@dataclass(frozen=True, eq=False)
class Part:
    """One table computed again.

    frame: all its numbers. heads: which columns a reader is shown, and under what head; digits: decimals of some of
    them. left: how many of the first columns are words. notes: plain words on what came out. figure: draws it, if it is
    drawn.
    """

    name: str
    title: str
    frame: pd.DataFrame
    heads: Mapping[str, str]
    digits: Mapping[str, int] = field(default_factory=dict)
    left: int = 1
    notes: Sequence[str] = ()
    figure: Callable[[], Figure] | None = None


@dataclass(frozen=True)
class Request:
    """What a user asked for: parts by name, a folder of files the authors released, and whom to tell of progress."""

    parts: tuple[str, ...]
    released: Path | None = None
    progress: Progress | None = None

    def need(self, *files: str) -> Path:
        """The folder of released files. Raises DataError where it was not given, or lacks one of `files`."""
        if self.released is None:
            raise DataError(
                f"this part needs files that the authors released ({', '.join(files)}), which do not come along",
                fix="give their folder with --released",
            )
        for name in files:
            if not (self.released / name).is_file():
                raise DataError(f"there is no file {name}", where=str(self.released), fix="give the released folder")
        return self.released


@dataclass(frozen=True)
class Study:
    """parts: name and a line on each. default: what is computed if nothing is asked for."""

    name: str
    about: str
    parts: Mapping[str, str]
    default: tuple[str, ...]
    run: Callable[[Request], list[Part]]
