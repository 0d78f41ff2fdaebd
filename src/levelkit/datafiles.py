"""Where the facts that come with the package lie: games, choices, published tables."""

from __future__ import annotations

from pathlib import Path

_HERE = Path(__file__).resolve()


def data_path(*parts: str) -> Path:
    """A path inside the shipped data: `levelkit/_data` of an installation, else `data` of the source tree."""
    packed = _HERE.parent / "_data"
    root = packed if packed.is_dir() else _HERE.parents[2] / "data"
    return root.joinpath(*parts)
