"""`levelkit regress`: estimated levels on features of players."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from levelkit.cli import arguments, output, parsing


def command(
    estimates: Annotated[
        Path,
        typer.Argument(help="Estimates saved by levelkit fit (.csv), or a table of choices.", show_default=False),
    ],
    formula: Annotated[str, typer.Option(help='Such as "tau ~ gender + C(age)".', show_default=False)],
    personas: Annotated[
        Path | None, typer.Option(help="Table of features, one row a player; joined on the columns it shares.")
    ] = None,
    errors: Annotated[str, typer.Option(help="nonrobust, HC1, HC3 or cluster.")] = "HC3",
    cluster: Annotated[str | None, typer.Option(help="Column whose values are the clusters.")] = None,
    method: Annotated[
        list[str], typer.Option(help="ols, fgls, bootstrap, one-step; all that can be had.", show_default=False)
    ] = [],  # noqa: B006
    adjust: Annotated[str, typer.Option(help="Stars by none, holm or bh adjusted p.")] = "none",
    replicates: Annotated[int, typer.Option(help="Bootstrap replicates.")] = 1000,
    flat: Annotated[str, typer.Option(help="Estimates that are not determined: drop, or keep as printed.")] = "drop",
    force: Annotated[bool, typer.Option("--force", help="Print stars where most estimates are flat.")] = False,
    games: arguments.Games = None,
    model: arguments.ModelName = "tqre",
    set_: arguments.Set = [],  # noqa: B006
    by: arguments.By = [],  # noqa: B006
    fix: arguments.Fix = [],  # noqa: B006
    scale: arguments.Scale = "raw",
    interval: arguments.Interval = 0.95,
    seed: arguments.Seed = 0,
    columns: arguments.Columns = [],  # noqa: B006
    out: arguments.Out = [],  # noqa: B006
    json: arguments.Json = False,
    strict: arguments.Strict = False,
) -> None:
    """Regress levels on features: two steps, their errors mended, and one step.

    From saved estimates come ols, fgls and the bootstrap of units. From choices (with --by) also the model with the
    features inside the likelihood, which needs no estimate for each player.

    [dim]levelkit regress fits.csv --personas personas.csv --formula "tau ~ gender + C(age)"[/dim]
    [dim]levelkit regress choices.csv --by model,persona --personas personas.csv --formula "tau ~ gender"[/dim]
    """
    from levelkit import models
    from levelkit.report import records, sheets
    from levelkit.report import regression as report

    made, by_names = models.get(model, **parsing.values(set_)), parsing.names(by)
    fixed, level, mapped = parsing.numbers(fix, "--fix", "tau=1.5"), parsing.level(interval), parsing.columns(columns)
    for path in out:  # better now than after the work
        sheets.suffix_of(path)
        output.need_folder(path)

    from levelkit.choices import read_choices
    from levelkit.errors import UsageError
    from levelkit.inference.fit import fit
    from levelkit.inference.regress import regress
    from levelkit.readers.features import read_features

    table, problems = read_features(estimates)
    features = None
    if personas is not None:
        features, set_aside = read_features(personas)
        output.show_problems(set_aside)
    saved = {"parameter", "estimate", "status"} <= set(table.columns)
    if not saved and not by_names:
        raise UsageError(f"{estimates} holds no estimates; for choices, say with --by what is estimated on its own")
    with output.progress("Regressing") as told:
        source: object = table
        if saved:
            output.show_problems(problems)
        else:
            choices = read_choices(estimates, games, columns=mapped, strict=strict)
            output.show_problems(choices.problems)
            source = fit(choices, made, by_names, fixed=fixed, scale=scale, sensitivity=False)
        result = regress(
            source,  # type: ignore[arg-type]
            formula,
            features,
            errors=errors,
            cluster=cluster,
            methods=parsing.names(method) or None,
            adjust=adjust,
            replicates=replicates,
            level=level,
            seed=seed,
            flat=flat,
            force=force,
            progress=told,
        )
        body = records.dumps(records.rows(result.frame())) if json else report.text(result)
        for path in out:
            report.write(result, path)
    output.show(body)
    for path in out:
        output.tell(f"wrote {path}")
