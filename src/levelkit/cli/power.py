"""`levelkit power`: what a design can tell before anybody plays."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from levelkit.cli import arguments, output, parsing
from levelkit.errors import UsageError

if TYPE_CHECKING:
    import pandas as pd

    from levelkit.games import Game
    from levelkit.models.base import Model
    from levelkit.report.sheets import Sheet


def command(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="GAME...", help="Games that are played.", show_default=False)
    ] = None,
    at: Annotated[list[str], typer.Option(help="The supposed truth: tau=1.5,gamma=3.", show_default=False)] = [],  # noqa: B006
    n: Annotated[int, typer.Option(help="Choices of each player in each game.")] = 30,
    needed: Annotated[bool, typer.Option("--needed", help="Find the smallest n instead.")] = False,
    aim: Annotated[float, typer.Option(help="With --needed: the share of fits that have to succeed.")] = 0.8,
    within: Annotated[
        float | None, typer.Option(help="With --needed: interval ends at most this many times apart, such as 3.")
    ] = None,
    parameter: Annotated[str | None, typer.Option(help="With --needed: which; default the model's first.")] = None,
    next_: Annotated[int, typer.Option("--next", help="Choose this many further games instead.")] = 0,
    criterion: Annotated[str, typer.Option(help="With --next: D, A or a parameter.")] = "D",
    games: arguments.Games = None,
    model: arguments.ModelName = "tqre",
    set_: arguments.Set = [],  # noqa: B006
    scale: arguments.Scale = "range",
    interval: arguments.Interval = 0.95,
    replicates: Annotated[int, typer.Option(help="How many data sets are simulated.")] = 500,
    seed: arguments.Seed = 0,
    out: arguments.Out = [],  # noqa: B006
    json: arguments.Json = False,
) -> None:
    """How well games would determine a model's parameters: errors, statuses, intervals; or how many choices it takes.

    [dim]levelkit power competitive_base rpc_sw1 --at tau=1.5,gamma=3 --n 30[/dim]
    [dim]levelkit power competitive_base --at tau=1.5,gamma=3 --next 2[/dim]
    """
    from levelkit import models
    from levelkit.report import records, sheets

    if needed and next_:
        raise UsageError("--needed and --next are two questions; ask one at a time")
    truth = parsing.numbers(parsing.names(at), "--at", "tau=1.5,gamma=3")
    parsing.level(interval)
    chosen = models.get(model, **parsing.values(set_))
    for path in out:  # better now than after the work
        sheets.suffix_of(path)
        output.need_folder(path)
    own = _own(games)
    played = _played(names or [], own)
    if not played and not next_:
        raise UsageError("no game is given; levelkit games lists them, and --next chooses some")
    with output.progress("Searching for n" if needed else "Fitting simulated data") as told:
        options: dict[str, Any] = {"scale": scale, "interval": interval, "replicates": replicates, "seed": seed}
        if next_:
            frame, shown = _next(played, chosen, own, truth, steps=next_, by=criterion, n=n, scale=scale)
        elif needed:
            goal = {"aim": aim, "within": within, "parameter": parameter, "progress": told}
            frame, shown = _needed(played, chosen, truth, **goal, **options)
        else:
            frame, shown = _power(played, chosen, truth, n=n, progress=told, **options)
    record = {"rows": records.rows(frame), "notes": list(shown.notes)}
    for path in out:
        sheets.write(path, frame, lambda format: sheets.shown([shown], format), lambda: record)
    output.show(records.dumps(record) if json else shown.text())
    for path in out:
        output.tell(f"wrote {path}")


def _power(games: list[Game | str], model: Model, truth: dict[str, Any], **options: Any) -> tuple[pd.DataFrame, Sheet]:
    from levelkit.inference.power import power
    from levelkit.report import power as report

    made = power(games, model, **options, **truth)
    return made.frame(), report.sheet(made)


def _needed(games: list[Game | str], model: Model, truth: dict[str, Any], **options: Any) -> tuple[pd.DataFrame, Sheet]:
    from levelkit.inference.power import needed
    from levelkit.report import power as report
    from levelkit.report import words

    made = needed(games, model, **options, **truth)
    named = words.few([g if isinstance(g, str) else g.name for g in games])
    return made.tried, report.needed_sheet(made, named)


def _next(
    games: list[Game | str], model: Model, own: dict[str, Game], truth: dict[str, Any], **options: Any
) -> tuple[pd.DataFrame, Sheet]:
    from levelkit.inference.power import next_games
    from levelkit.report import power as report

    frame = next_games(games or None, model, candidates=list(own.values()) or None, **options, **truth)
    return frame, report.next_sheet(frame, truth)


def _own(path: Path | None) -> dict[str, Game]:
    if path is None:
        return {}
    from levelkit.games import read_games

    return dict(read_games(path))


def _played(names: list[str], own: dict[str, Game]) -> list[Game | str]:
    """Games by name, the user's own before the library's."""
    return [own.get(name, name) for name in parsing.names(names)]
