"""Games in files: our TOML (lossless), Gambit's .nfg (payoffs, labels, title), or a folder of either."""

from __future__ import annotations

import json
import math
import tomllib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from levelkit import nfg
from levelkit.errors import DataError, UsageError
from levelkit.gamechecks import NUMBERED, close
from levelkit.games import Game

SET_FIELDS = frozenset({"title", "source", "note"})
COMMON = frozenset({"name", "kind", "players", "actions", "level0", "title", "source", "note"})
FIELDS: dict[str, tuple[str, ...]] = {
    "normal_form": ("payoffs",),
    "bimatrix": ("row", "col"),
    "symmetric": ("row",),
    "bayesian": ("states",),
    "sequential": ("row", "col"),
    "misperceived": ("true_row", "true_col", "shown_row", "shown_col"),
}
"""Fields of each kind of game, in the order of the constructor's arguments."""

EXTRA = frozenset({"observed", "form"})  # of a normal form only: what another constructor had said
ALL_FIELDS = COMMON | EXTRA | {field for fields in FIELDS.values() for field in fields}
LONGEST_LINE = 100


def read_games(path: str | Path) -> dict[str, Game]:
    """Games by name from a .toml file, a Gambit .nfg file or a folder of them (not its subfolders).

    A game from an .nfg file is named after the file; the title inside is kept as its title.
    Raises DataError that names the file, the game and the field.
    """
    path = Path(path)
    if path.is_dir():
        files = sorted(file for file in path.iterdir() if file.suffix.lower() in {".toml", ".nfg"})
        if not files:
            raise DataError("no .toml or .nfg file in this folder", where=str(path))
    elif path.is_file():
        files = [path]
    else:
        raise DataError("no such file or folder", where=str(path), fix="Check the path")
    games: dict[str, Game] = {}
    for file in files:
        for one in _read_file(file):
            if one.name in games:
                raise DataError(f"a second game is called '{one.name}'", where=str(file), fix="Rename one of them")
            games[one.name] = one
    return games


def write_games(games: Mapping[str, Game] | Sequence[Game] | Game, path: str | Path) -> None:
    """Write games to `path`: .toml (lossless), .nfg (one game), or a folder (one .nfg file per game).

    An .nfg file keeps payoffs, names, labels and title; level-0 play and imagined agents have no place in it.
    """
    path = Path(path)
    several = games.values() if isinstance(games, Mapping) else games
    listed = [several] if isinstance(several, Game) else list(several)
    if not listed:
        raise UsageError("there is no game to write")
    suffix = path.suffix.lower()
    if suffix == ".toml":
        path.write_text("\n".join(game_to_toml(one) for one in listed), encoding="utf-8", newline="\n")
    elif suffix == ".nfg":
        if len(listed) > 1:
            raise UsageError(f"an .nfg file holds one game, not {len(listed)}; name a folder or a .toml file")
        path.write_text(game_to_nfg(listed[0]), encoding="utf-8", newline="\n")
    elif suffix:
        raise UsageError(f"games are written to .toml, .nfg or a folder, not to '{path.name}'")
    else:
        texts = {_file_name(one): game_to_nfg(one) for one in listed}
        path.mkdir(parents=True, exist_ok=True)
        for name, text in texts.items():
            (path / name).write_text(text, encoding="utf-8", newline="\n")


def _file_name(one: Game) -> str:
    if any(sign in one.name for sign in '/\\:*?"<>|') or one.name.startswith("."):
        raise UsageError(f"game '{one.name}' cannot name a file; use .renamed(...) first")
    return f"{one.name}.nfg"


def _read_file(file: Path) -> list[Game]:
    try:
        text = file.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError(
            f"byte {error.start + 1} is not UTF-8 text", where=str(file), fix="Save the file as UTF-8"
        ) from None
    except OSError as error:
        raise DataError(f"cannot be read: {error.strerror}", where=str(file)) from None
    suffix = file.suffix.lower()
    if suffix == ".nfg":
        return [game_from_nfg(text, file.stem, str(file))]
    if suffix == ".toml":
        return games_from_toml(text, str(file))
    raise DataError(f"'{suffix}' files hold no games", where=str(file), fix="Use .toml or .nfg")


# Gambit


def game_from_nfg(text: str, name: str, where: str = "") -> Game:
    """A game from the text of an .nfg file (payoff or outcome version).

    Missing or empty labels, and names that read as another player's number, give way to the default ones.
    """
    parsed = nfg.parse(text, where)
    players = parsed.players
    actions = [labels if all(label.strip() for label in labels) else () for labels in parsed.strategies]
    numbers = [NUMBERED.fullmatch(player.strip()) for player in players]
    plain = any(number and int(number[1]) != i for i, number in enumerate(numbers, start=1))
    try:
        return Game.normal_form(
            name,
            parsed.payoffs,
            players=() if plain or not all(p.strip() for p in players) else players,
            actions=actions,
            title="" if parsed.title == name else parsed.title,
            note=parsed.comment,
            form="bimatrix" if len(players) == 2 else "normal_form",
        )
    except DataError as error:
        raise _within(where, error) from None


def game_to_nfg(one: Game) -> str:
    """The text of an .nfg file, payoff version; payoffs read back exactly.

    Raises UsageError for a label that the format cannot hold (a backslash before a quote or at the end).
    """
    return nfg.render(
        nfg.StrategicGame(one.title or one.name, one.players, one.actions, one.note, one.payoffs), one.name
    )


# TOML


def games_from_toml(text: str, where: str = "") -> list[Game]:
    """Games from the text of a TOML games file, in its order; see data/games/README.md for the fields."""
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise DataError(f"not valid TOML: {error}", where=where, fix="Text goes in quotes, lists in brackets") from None
    unknown = set(content) - {"game", "set", "certificate"}  # certificates are read by levelkit.depth
    if unknown:
        raise DataError(f"unknown top-level entry '{min(unknown)}'", where=where, fix="Games are [[game]] tables")
    tables = content.get("game", [])
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        raise DataError("'game' is not a list of tables", where=where, fix="Write [[game]], in double brackets")
    if not tables:
        raise DataError("no [[game]] table", where=where, fix="Begin each game with [[game]]")
    return [_game_from_table(table, k, where) for k, table in enumerate(tables, start=1)]


def _game_from_table(table: Mapping[str, Any], k: int, where: str) -> Game:
    named = table.get("name")
    here = f"game '{named}'" if isinstance(named, str) and named.strip() else f"game number {k}"
    try:
        if "name" not in table:
            raise DataError("the game has no name", where=here, fix='Add name = "..."')
        kind = _kind(table, here)
        allowed = COMMON | set(FIELDS[kind]) | (EXTRA if kind in {"normal_form", "bimatrix"} else set())
        for field in table:
            if field not in allowed:
                hint = close(field, allowed - set(table)) or f"Fields of a {kind}: {', '.join(FIELDS[kind])}"
                raise DataError(f"unknown field '{field}' for a {kind} game", where=here, fix=hint)
        for field in FIELDS[kind]:
            if field not in table:
                raise DataError(f"a {kind} game needs '{field}'", where=here, fix=f"Add {field} = [...]")
        for field in ("players", "actions", "observed", *FIELDS[kind]):
            if field in table and not isinstance(table[field], list):
                raise DataError(f"{field} must be a list in brackets", where=here)
        build: Callable[..., Game] = getattr(Game, kind)
        required = [table[field] for field in FIELDS[kind]]
        extra = {key: value for key, value in table.items() if key not in {"name", "kind", *FIELDS[kind]}}
        if kind == "bimatrix" and EXTRA & set(extra):
            return Game.normal_form(table["name"], required, **{"form": kind, **extra})
        return build(table["name"], *required, **extra)
    except DataError as error:
        raise _within(where, error) from None


def _kind(table: Mapping[str, Any], here: str) -> str:
    if "kind" in table:
        kind = table["kind"]
        if not isinstance(kind, str) or kind not in FIELDS:
            hint = close(str(kind), FIELDS) or f"Kinds are {', '.join(FIELDS)}"
            raise DataError(f"unknown kind {kind!r}", where=here, fix=hint)
        return kind
    for kind in ("normal_form", "bayesian", "misperceived", "bimatrix", "symmetric"):
        if FIELDS[kind][0] in table and (kind != "bimatrix" or "col" in table):
            return kind
    for field in table:
        hint = close(field, ALL_FIELDS) if field not in ALL_FIELDS else ""
        if hint:
            raise DataError(f"unknown field '{field}' and no payoffs", where=here, fix=hint)
    raise DataError("the game has no payoffs", where=here, fix="Add payoffs = [...] or row = [...] and col")


def _within(where: str, error: DataError) -> DataError:
    """The same error with the file in front of the place."""
    return DataError(error.what, where=", ".join(part for part in (where, error.where) if part), fix=error.fix)


def game_to_toml(one: Game) -> str:
    """One [[game]] table; `read_games` gives back the same game, to the last bit of every payoff."""
    lines = ["[[game]]", f"name = {_text(one.name)}"]
    lines += [f"{key} = {_text(getattr(one, key))}" for key in ("title", "source", "note") if getattr(one, key)]
    default = tuple(f"player {i}" for i in range(1, one.n_players + 1))
    if one.players != default:
        lines.append(f"players = {_inline(one.players)}")
    shared = one.form == "symmetric" and one.symmetric and one.actions[0] == one.actions[1]
    if any(labels != tuple(map(str, range(len(labels)))) for labels in one.actions):
        lines.append(f"actions = {_inline(one.actions[0] if shared else one.actions)}")
    if shared:
        lines += ['kind = "symmetric"', _matrix("row", one.payoffs[0])]
    elif one.n_players == 2:
        lines += [_matrix("row", one.payoffs[0]), _matrix("col", one.payoffs[1])]
    else:
        lines.append("payoffs = [\n" + "".join(f"{_nested(own, 1)},\n" for own in one.payoffs) + "]")
    plain = {"bimatrix"} if one.n_players == 2 else {"normal_form"}
    if not shared and one.form not in plain:
        lines.append(f"form = {_text(one.form)}")
    if not all(one.observed):
        lines.append("observed = [" + ", ".join(str(seen).lower() for seen in one.observed) + "]")
    if any(mix is not None for mix in one.level0):
        mixes = [[] if mix is None else mix.tolist() for mix in one.level0]
        lines.append(f"level0 = {_inline(mixes)}")
    return "\n".join(lines) + "\n"


def _text(value: str) -> str:
    # JSON's escapes are TOML's, but for DEL, which TOML does not allow bare
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _number(value: float) -> str:
    """The shortest text that reads back to the same double; whole numbers without a point."""
    whole = value.is_integer() and abs(value) < 1e15 and not (value == 0 and math.copysign(1, value) < 0)
    return str(int(value)) if whole else repr(value)


def _inline(value: Any) -> str:
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, float):
        return _number(value)
    return "[" + ", ".join(_inline(part) for part in value) + "]"


def _matrix(field: str, matrix: np.ndarray) -> str:
    one_line = f"{field} = {_inline(matrix.tolist())}"
    if len(one_line) <= LONGEST_LINE and matrix.shape[0] <= 2:
        return one_line
    return f"{field} = [\n" + "".join(f"  {_inline(row)},\n" for row in matrix.tolist()) + "]"


def _nested(array: np.ndarray, depth: int) -> str:
    """A nested list, one line for each innermost row."""
    pad = "  " * depth
    if array.ndim == 1:
        return pad + _inline(array.tolist())
    inside = "".join(f"{_nested(part, depth + 1)},\n" for part in array)
    return f"{pad}[\n{inside}{pad}]"
