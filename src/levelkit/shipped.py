"""The choices that come with the package (data/choices): small tables of facts, each with its source.

Sources and cautions stand in data/choices/README.md.
"""

from __future__ import annotations

import difflib
import tomllib
from functools import cache

from levelkit.choices import Choices
from levelkit.datafiles import data_path
from levelkit.errors import UsageError
from levelkit.readers import read_choices


@cache
def _about() -> dict[str, str]:
    with data_path("choices/sets.toml").open("rb") as file:
        return {name: str(entry["about"]) for name, entry in tomllib.load(file).items()}


def shipped_sets() -> dict[str, str]:
    """Names of the sets of choices that come with the package, with a line on each."""
    return dict(_about())


@cache
def shipped_choices(name: str) -> Choices:
    """A set of choices that comes with the package, on games of the shipped library.

    Raises UsageError for an unknown name. The same object is returned every time.
    """
    known = _about()
    if name not in known:
        near = difflib.get_close_matches(name, list(known), 1)
        hint = f"; did you mean '{near[0]}'?" if near else ""
        raise UsageError(f"no shipped choices '{name}' (there are {', '.join(known)}){hint}")
    return read_choices(data_path(f"choices/{name}.csv"), strict=True)
