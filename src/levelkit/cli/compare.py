"""`levelkit compare`: which model explains a table of choices."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from levelkit.cli import output, parsing
from levelkit.errors import UsageError

Texts = list[str]


def command(
    choices: Annotated[
        Path, typer.Argument(help="Table of choices: .csv, .tsv, .jsonl or .parquet.", show_default=False)
    ],
    games: Annotated[
        Path | None, typer.Option(help="Games: .toml, .nfg or a folder; else those that come along.")
    ] = None,
    models_: Annotated[Texts, typer.Option("--models", help="Names, such as tqre,poisson-ch,qre.")] = [  # noqa: B006
        "tqre,poisson-ch,qre"
    ],
    by: Annotated[Texts, typer.Option(help="Columns: one comparison for each combination.", show_default=False)] = [],  # noqa: B006
    holdout: Annotated[
        str | None, typer.Option(help="Leave out each value of this column in turn: game, or a group.")
    ] = None,
    scale: Annotated[str, typer.Option(help="raw payoffs, or divided by each game's range.")] = "raw",
    columns: Annotated[
        Texts, typer.Option(help="Our names to yours: action=choice,player=role.", show_default=False)
    ] = [],  # noqa: B006
    out: Annotated[
        list[Path], typer.Option(help="Write to .csv, .tsv, .json, .parquet, .md or .txt.", show_default=False)
    ] = [],  # noqa: B006
    plot: Annotated[Path | None, typer.Option(help="Draw gains over uniform play into .svg, .png or .pdf.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")] = False,
    strict: Annotated[bool, typer.Option("--strict", help="Stop if any row has to be set aside.")] = False,
) -> None:
    """Compare models on the same choices: likelihood, AIC, BIC, tests, prediction of what was left out.

    [dim]levelkit compare choices.csv --models tqre,poisson-ch,qre --holdout game[/dim]
    """
    from levelkit import models
    from levelkit.report import comparison, frames, plots, records

    by_names, mapped = parsing.names(by), parsing.columns(columns)
    made = [models.get(name) for name in parsing.names(models_)]
    if scale not in ("raw", "range"):
        raise UsageError(f"--scale {scale!r}: choose raw or range")
    for path in out:  # better now than after the work
        frames.suffix_of(path)
    if plot is not None:
        plots.suffix_of(plot)

    from levelkit.choices import read_choices
    from levelkit.inference.compare import compare

    table = read_choices(choices, games, columns=mapped, strict=strict)
    output.show_problems(table.problems)
    with output.progress("Comparing"):
        result = compare(table, made, by_names, holdout=holdout, scale=scale)
        body = records.dumps(comparison.record(result)) if json else comparison.text(result)
        for path in out:
            comparison.write(result, path)
        if plot is not None:
            plots.save(result.plot("gain"), plot)
    output.show(body)
    for path in [*out, *([plot] if plot is not None else [])]:
        output.tell(f"wrote {path}")
