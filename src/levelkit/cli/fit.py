"""`levelkit fit`: estimates from a table of choices."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from levelkit.cli import arguments, output, parsing


def command(
    choices: arguments.Choices,
    games: arguments.Games = None,
    model: arguments.ModelName = "tqre",
    set_: arguments.Set = [],  # noqa: B006
    by: arguments.By = [],  # noqa: B006
    vary: Annotated[list[str], typer.Option(help="Let one parameter vary more: gamma=game.", show_default=False)] = [],  # noqa: B006
    fix: arguments.Fix = [],  # noqa: B006
    scale: arguments.Scale = "raw",
    interval: arguments.Interval = 0.95,
    columns: arguments.Columns = [],  # noqa: B006
    out: Annotated[
        list[Path],
        typer.Option(
            help="Write to .csv, .tsv, .json, .parquet, .tex, .md, .txt, or .html for a report.",
            show_default=False,
        ),
    ] = [],  # noqa: B006
    plot: Annotated[Path | None, typer.Option(help="Draw the estimates into .svg, .png or .pdf.")] = None,
    json: arguments.Json = False,
    strict: arguments.Strict = False,
    no_intervals: Annotated[bool, typer.Option("--no-intervals", help="Leave intervals out; faster.")] = False,
) -> None:
    """Estimate reasoning levels and precision from choices.

    One row for each choice: columns game, player, action, optional count, and any others to group by.

    [dim]levelkit fit choices.csv --by model,game --out report.html[/dim]
    """
    from levelkit import models
    from levelkit.report import plots, tables

    by_names, fixed, varied = parsing.names(by), parsing.numbers(fix, "--fix", "tau=1.5"), parsing.vary(vary)
    made = models.get(model, **parsing.values(set_))
    level, mapped = parsing.level(interval), parsing.columns(columns)
    for path in out:  # better now than after the work
        tables.format_of(path)
        output.need_folder(path)
    if plot is not None:
        plots.suffix_of(plot)
        output.need_folder(plot)

    from levelkit.choices import read_choices
    from levelkit.inference.fit import fit

    table = read_choices(choices, games, columns=mapped, strict=strict)
    output.show_problems(table.problems)
    with output.progress("Fitting") as told:
        fits = fit(
            table,
            made,
            by_names,
            vary=varied,
            fixed=fixed,
            scale=scale,
            interval=level,
            intervals=not no_intervals,
            progress=told,
        )
        for path in out:
            tables.write(fits, path)
        if plot is not None:
            plots.save(plots.estimates(fits), plot)
    output.show(tables.table(fits, "json" if json else "text"))
    for path in [*out, *([plot] if plot is not None else [])]:
        output.tell(f"wrote {path}")
