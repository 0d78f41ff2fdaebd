"""`levelkit posterior`: Bayesian estimates from a table of choices."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from levelkit.cli import arguments, output, parsing

Texts = list[str]


def command(
    choices: arguments.Choices,
    games: arguments.Games = None,
    model: arguments.ModelName = "tqre",
    set_: arguments.Set = [],  # noqa: B006
    by: arguments.By = [],  # noqa: B006
    pool: Annotated[
        Texts,
        typer.Option(help="Pool partially over columns: model,game, or tau=model,gamma=game.", show_default=False),
    ] = [],  # noqa: B006
    covariates: Annotated[
        Texts, typer.Option(help="Covariates of a parameter, such as 'tau=age + gender'.", show_default=False)
    ] = [],  # noqa: B006
    prior: Annotated[Texts, typer.Option(help="A prior, such as 'tau=lognormal(0.4, 0.7)'.", show_default=False)] = [],  # noqa: B006
    fix: arguments.Fix = [],  # noqa: B006
    scale: arguments.Scale = "raw",
    method: Annotated[str, typer.Option(help="auto, exact or nuts.")] = "auto",
    overdispersion: Annotated[
        bool, typer.Option("--overdispersion", help="Choices in a cell may hang together.")
    ] = False,
    draws: Annotated[int, typer.Option(help="Draws of each chain.")] = 1000,
    chains: Annotated[int, typer.Option(help="Chains.")] = 4,
    warmup: Annotated[int, typer.Option(help="Steps of each chain that adapt the sampler.")] = 1000,
    interval: Annotated[float, typer.Option(help="Mass of the highest-density intervals.")] = 0.95,
    seed: arguments.Seed = 0,
    ranks: Annotated[str | None, typer.Option(help="Rank the units by this parameter, such as tau.")] = None,
    within: Annotated[Texts, typer.Option(help="Rank within these columns.", show_default=False)] = [],  # noqa: B006
    resume: Annotated[
        Path | None, typer.Option(help="Keep the state of the sampler here, and go on from it.", show_default=False)
    ] = None,
    columns: arguments.Columns = [],  # noqa: B006
    out: Annotated[
        list[Path],
        typer.Option(help="Write to .nc (all of it), .csv, .json, .parquet, .md, .tex or .txt.", show_default=False),
    ] = [],  # noqa: B006
    plot: Annotated[Path | None, typer.Option(help="Draw estimates and intervals into .svg, .png or .pdf.")] = None,
    json: arguments.Json = False,
    strict: arguments.Strict = False,
) -> None:
    """Bayesian estimates: exact for one or two parameters, by NUTS where units are pooled.

    [dim]levelkit posterior choices.csv --by model,game --out posterior.nc[/dim]
    [dim]levelkit posterior choices.csv --by game --pool model --scale range --ranks tau --within game[/dim]
    """
    from levelkit import models
    from levelkit.report import plots, records
    from levelkit.report import posterior as report

    made, by_names, pooled = models.get(model, **parsing.values(set_)), parsing.names(by), parsing.pool(pool)
    fixed, level, mapped = parsing.numbers(fix, "--fix", "tau=1.5"), parsing.level(interval), parsing.columns(columns)
    beliefs = parsing.pairs(prior, "--prior", "'tau=lognormal(0.4, 0.7)'")
    linked = parsing.pairs(covariates, "--covariates", "'tau=age + gender'")
    for path in [*out, *([plot] if plot is not None else [])]:  # better now than after the work
        (plots.suffix_of if path is plot else report.suffix_of)(path)
        output.need_folder(path)

    from levelkit.choices import read_choices
    from levelkit.inference.bayes import posterior

    table = read_choices(choices, games, columns=mapped, strict=strict)
    output.show_problems(table.problems)
    with output.progress("Sampling" if pooled or linked or method == "nuts" else "Integrating") as told:
        post = posterior(
            table,
            made,
            by_names,
            pool=pooled,
            covariates=dict(linked),
            prior=dict(beliefs),
            fixed=fixed,
            scale=scale,
            method=method,
            overdispersion=overdispersion,
            draws=draws,
            chains=chains,
            warmup=warmup,
            seed=seed,
            interval=level,
            checkpoint=resume,
            progress=told,
        )
        body = records.dumps(report.record(post)) if json else report.text(post)
        if ranks is not None:
            body += "" if json else "\n" + report.ranking(post, ranks, parsing.names(within)).text()
        for path in out:
            report.write(post, path)
        if plot is not None:
            plots.save(post.plot("forest"), plot)
    output.show(body)
    for path in [*out, *([plot] if plot is not None else [])]:
        output.tell(f"wrote {path}")
