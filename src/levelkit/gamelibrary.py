"""The games that come with the package: data/games/*.toml, one file per set, each game with its source."""

from __future__ import annotations

import tomllib
from functools import cache

from levelkit.datafiles import data_path
from levelkit.errors import DataError, UsageError
from levelkit.gamechecks import close
from levelkit.gamefiles import games_from_toml
from levelkit.games import Game


@cache
def _sets() -> dict[str, tuple[str, dict[str, Game]]]:
    """Set name to its title and games, in the order of the file names."""
    found: dict[str, tuple[str, dict[str, Game]]] = {}
    seen: dict[str, str] = {}
    for file in sorted(data_path("games").glob("*.toml")):
        text = file.read_text(encoding="utf-8")
        games = {one.name: one for one in games_from_toml(text, str(file))}
        for name in games:
            if name in seen:
                raise DataError(f"game '{name}' is also in {seen[name]}", where=str(file))
            seen[name] = str(file)
        found[file.stem] = (str(tomllib.loads(text)["set"]["title"]), games)
    if not found:
        raise DataError("the shipped games are missing", where=str(data_path("games")), fix="Install again")
    return found


def library() -> dict[str, Game]:
    """All games that come with the package, by name, set after set."""
    return {name: one for _, games in _sets().values() for name, one in games.items()}


def library_sets() -> dict[str, tuple[str, tuple[str, ...]]]:
    """Set name to its title and the names of its games, in the order of the set's file."""
    return {name: (title, tuple(games)) for name, (title, games) in _sets().items()}


def game(name: str) -> Game:
    """A game by name (any case); raises UsageError, offering the closest names, if there is none."""
    games = library()
    for asked in (name, name.strip().casefold()):
        if asked in games:
            return games[asked]
    sets = library_sets()
    if name in sets:
        raise UsageError(f"'{name}' is a set of games: {', '.join(sets[name][1])}")
    hint = close(name, games) or f"The sets of games are {', '.join(sets)}."
    raise UsageError(f"there is no game '{name}' in the library. {hint}")
