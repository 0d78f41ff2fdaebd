"""`levelkit fit`: estimates from a table of choices."""

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
    model: Annotated[
        str,
        typer.Option(
            help="tqre, poisson-ch, quantal-ch, level-k, quantal-level-k, qre, hqre, noisy-introspection, "
            "nash-tremble or uniform."
        ),
    ] = "tqre",
    set_: Annotated[
        Texts, typer.Option("--set", help="An option of the model, such as levels=20.", show_default=False)
    ] = [],  # noqa: B006
    by: Annotated[
        Texts,
        typer.Option(help="Columns: one estimate for each combination, such as model,game.", show_default=False),
    ] = [],  # noqa: B006
    vary: Annotated[Texts, typer.Option(help="Let one parameter vary more: gamma=game.", show_default=False)] = [],  # noqa: B006
    fix: Annotated[Texts, typer.Option(help="Hold a parameter: tau=1.5.", show_default=False)] = [],  # noqa: B006
    scale: Annotated[str, typer.Option(help="raw payoffs, or divided by each game's range.")] = "raw",
    interval: Annotated[float, typer.Option(help="Probability of the intervals.")] = 0.95,
    columns: Annotated[
        Texts, typer.Option(help="Our names to yours: action=choice,player=role.", show_default=False)
    ] = [],  # noqa: B006
    out: Annotated[
        list[Path],
        typer.Option(
            help="Write to .csv, .tsv, .json, .parquet, .tex, .md, .txt, or .html for a report.",
            show_default=False,
        ),
    ] = [],  # noqa: B006
    plot: Annotated[Path | None, typer.Option(help="Draw the estimates into .svg, .png or .pdf.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")] = False,
    strict: Annotated[bool, typer.Option("--strict", help="Stop if any row has to be set aside.")] = False,
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
        _folder(path)
    if plot is not None:
        plots.suffix_of(plot)
        _folder(plot)

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


def _folder(path: Path) -> None:
    if path.is_dir():
        raise UsageError(f"{path} is a folder; give a file name")
    if not path.resolve().parent.is_dir():
        raise UsageError(f"cannot write {path}: the folder {path.parent} does not exist; make it first")
