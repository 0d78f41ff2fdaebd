"""`levelkit compare`: which model explains a table of choices."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from levelkit.cli import arguments, output, parsing


def command(
    choices: arguments.Choices,
    games: arguments.Games = None,
    models_: Annotated[list[str], typer.Option("--models", help="Names, such as tqre,poisson-ch,qre.")] = [  # noqa: B006
        "tqre,poisson-ch,qre"
    ],
    by: arguments.By = [],  # noqa: B006
    holdout: Annotated[
        str | None, typer.Option(help="Leave out each value of this column in turn: game, or a group.")
    ] = None,
    loo: Annotated[bool, typer.Option("--loo", help="Also leave each choice out of the posterior.")] = False,
    scale: arguments.Scale = "raw",
    seed: arguments.Seed = 0,
    columns: arguments.Columns = [],  # noqa: B006
    out: Annotated[
        list[Path], typer.Option(help="Write to .csv, .tsv, .json, .parquet, .md or .txt.", show_default=False)
    ] = [],  # noqa: B006
    plot: Annotated[Path | None, typer.Option(help="Draw gains over uniform play into .svg, .png or .pdf.")] = None,
    json: arguments.Json = False,
    strict: arguments.Strict = False,
) -> None:
    """Compare models on the same choices: likelihood, AIC, BIC, tests, prediction of what was left out.

    [dim]levelkit compare choices.csv --models tqre,poisson-ch,qre --holdout game[/dim]
    """
    from levelkit import models
    from levelkit.report import comparison, plots, records, sheets

    by_names, mapped = parsing.names(by), parsing.columns(columns)
    made = [models.get(name) for name in parsing.names(models_)]
    for path in out:  # better now than after the work
        sheets.suffix_of(path, sheets.NO_LATEX)
    if plot is not None:
        plots.suffix_of(plot)

    from levelkit.choices import read_choices
    from levelkit.inference.compare import compare

    table = read_choices(choices, games, columns=mapped, strict=strict)
    output.show_problems(table.problems)
    with output.progress("Comparing"):
        result = compare(table, made, by_names, holdout=holdout, loo=loo, scale=scale, seed=seed)
        body = records.dumps(comparison.record(result)) if json else comparison.text(result)
        for path in out:
            comparison.write(result, path)
        if plot is not None:
            plots.save(result.plot("gain"), plot)
    output.show(body)
    for path in [*out, *([plot] if plot is not None else [])]:
        output.tell(f"wrote {path}")
