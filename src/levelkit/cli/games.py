"""`levelkit games`: the games that come along, or one of them in full."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from levelkit.cli import output
from levelkit.errors import UsageError

if TYPE_CHECKING:
    from levelkit.games import Game

Sets = Mapping[str, tuple[str, list["Game"]]]


def command(
    name: Annotated[str | None, typer.Argument(help="A game; without it, all are listed.", show_default=False)] = None,
    set_: Annotated[str | None, typer.Option("--set", help="Only the games of this set.", show_default=False)] = None,
    games: Annotated[Path | None, typer.Option(help="Games of yours: .toml, .nfg or a folder.")] = None,
    out: Annotated[
        Path | None, typer.Option(help="Write to .toml or .nfg (games), .json or .txt.", show_default=False)
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")] = False,
) -> None:
    """List games, or show one: payoffs, equilibria, what each level plays, whether tau and gamma can be told.

    [dim]levelkit games sw10[/dim]
    """
    if out is not None and out.suffix.lower() not in (".toml", ".nfg", ".json", ".txt"):
        raise UsageError(f"cannot tell a format from {str(out)!r}; end it with .toml, .nfg, .json or .txt")
    sets = _sets(games, set_)
    if name is None:
        _emit_all(sets, out, json)
    else:
        _emit_one(_find(name, sets, games), out, json)


def _sets(source: Path | None, wanted: str | None) -> Sets:
    from levelkit.games import library, library_sets, read_games

    if source is not None:
        if wanted is not None:
            raise UsageError("--set is for the games that come along; leave it out with --games")
        return {str(source): ("", list(read_games(source).values()))}
    known, titles = library(), library_sets()
    if wanted is not None and wanted not in titles:
        raise UsageError(f"there is no set of games {wanted!r}{_near(wanted, titles)}")
    return {s: (title, [known[n] for n in members]) for s, (title, members) in titles.items() if wanted in (None, s)}


def _near(name: str, known: Mapping[str, object]) -> str:
    import difflib

    near = difflib.get_close_matches(name, known, 1)
    return f"; did you mean {near[0]}?" if near else f"; there are {', '.join(list(known)[:12])}"


def _find(name: str, sets: Sets, source: Path | None) -> Game:
    known = {game.name: game for _, members in sets.values() for game in members}
    for asked in (name, name.strip().casefold()):
        if asked in known:
            return known[asked]
    if source is None:
        from levelkit.games import game

        found = game(name)  # raises with what is close, over all sets
        raise UsageError(f"{found.name} is not in this set{_near(name, known)}")
    raise UsageError(f"there is no game {name!r} in {source}{_near(name, known)}")


def _emit_all(sets: Sets, out: Path | None, json: bool) -> None:
    from levelkit.report import gamesheet
    from levelkit.report.records import dumps

    rows = [
        {
            "set": s,
            "name": g.name,
            "title": g.title,
            "shape": list(g.shape),
            "players": list(g.players),
            "form": g.form,
        }
        for s, (_, members) in sets.items()
        for g in members
    ]
    if out is not None:
        _write(out, [g for _, members in sets.values() for g in members], gamesheet.listing(sets), dumps(rows))
    if json:
        output.show(dumps(rows))
    elif out is None:
        output.show(gamesheet.listing(sets))


def _emit_one(game: Game, out: Path | None, json: bool) -> None:
    from levelkit.report import gamesheet
    from levelkit.report.records import dumps

    if out is not None:
        _write(out, [game], gamesheet.sheet(game), dumps(gamesheet.record(game)))
    if json:
        output.show(dumps(gamesheet.record(game)))
    elif out is None:
        output.show(gamesheet.sheet(game))


def _write(out: Path, games: list[Game], text: str, data: str) -> None:
    from levelkit.games import write_games
    from levelkit.report.files import write_whole

    if out.suffix.lower() in (".toml", ".nfg"):
        write_games(games, out)
    else:
        write_whole(out, data if out.suffix.lower() == ".json" else text)
    output.tell(f"wrote {out}")
