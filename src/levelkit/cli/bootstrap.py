"""`levelkit bootstrap`: how far estimates would scatter if the choices were collected again."""

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
    fix: arguments.Fix = [],  # noqa: B006
    scale: arguments.Scale = "raw",
    interval: arguments.Interval = 0.95,
    replicates: Annotated[int, typer.Option(help="How many times the choices are drawn again.")] = 1000,
    kind: Annotated[str, typer.Option(help="multinomial, parametric or cluster.")] = "multinomial",
    cluster: Annotated[str | None, typer.Option(help="Column whose values are drawn whole, such as persona.")] = None,
    ends: Annotated[str, typer.Option(help="Intervals shown: bca, percentile or basic (files hold all).")] = "bca",
    seed: arguments.Seed = 0,
    columns: arguments.Columns = [],  # noqa: B006
    out: arguments.Out = [],  # noqa: B006
    plot: Annotated[Path | None, typer.Option(help="Draw the replicates into .svg, .png or .pdf.")] = None,
    json: arguments.Json = False,
    strict: arguments.Strict = False,
) -> None:
    """Refit a model to choices drawn again many times: intervals, and how often the data would not tell.

    [dim]levelkit bootstrap choices.csv --by model --replicates 10000[/dim]
    [dim]levelkit bootstrap choices.csv --by model --kind cluster --cluster persona[/dim]
    """
    from levelkit import models
    from levelkit.report import bootstrap as report
    from levelkit.report import plots, records, sheets

    made, by_names = models.get(model, **parsing.values(set_)), parsing.names(by)
    fixed, level, mapped = parsing.numbers(fix, "--fix", "tau=1.5"), parsing.level(interval), parsing.columns(columns)
    parsing.choice(ends, "--ends", ("bca", "percentile", "basic"))
    for path in out:  # better now than after the work
        sheets.suffix_of(path)
        output.need_folder(path)
    if plot is not None:
        plots.suffix_of(plot)
        output.need_folder(plot)

    from levelkit.choices import read_choices
    from levelkit.inference.bootstrap import bootstrap
    from levelkit.inference.fit import fit

    table = read_choices(choices, games, columns=mapped, strict=strict)
    output.show_problems(table.problems)
    with output.progress("Resampling") as told:
        fits = fit(table, made, by_names, fixed=fixed, scale=scale, interval=level, intervals=False, sensitivity=False)
        result = bootstrap(fits, replicates, kind, cluster, seed, progress=told)
        body = records.dumps(records.rows(result.frame())) if json else report.text(result, ends)
        for path in out:
            report.write(result, path, ends)
        if plot is not None:
            plots.save(report.figure(result, interval=ends), plot)
    output.show(body)
    for path in [*out, *([plot] if plot is not None else [])]:
        output.tell(f"wrote {path}")
