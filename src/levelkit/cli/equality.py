"""`levelkit equality`: do groups choose alike?"""

from __future__ import annotations

from typing import Annotated

import typer

from levelkit.cli import arguments, output, parsing
from levelkit.errors import UsageError


def command(
    choices: arguments.Choices,
    column: Annotated[str, typer.Option(help="The column whose values are compared, such as model.")],
    games: arguments.Games = None,
    by: Annotated[list[str], typer.Option(help="Columns that are never mixed.", show_default=True)] = ["game"],  # noqa: B006
    pair: Annotated[
        list[str], typer.Option(help="Two values, such as gpt-4o,people; without it, all pairs.", show_default=False)
    ] = [],  # noqa: B006
    cluster: Annotated[
        str | None, typer.Option(help="Column whose values are exchanged whole, such as persona.")
    ] = None,
    replicates: Annotated[int, typer.Option(help="How many permutations.")] = 9999,
    seed: arguments.Seed = 0,
    columns: arguments.Columns = [],  # noqa: B006
    out: arguments.Out = [],  # noqa: B006
    json: arguments.Json = False,
    strict: arguments.Strict = False,
) -> None:
    """Test by permutation whether groups choose alike, without any model of how they choose.

    [dim]levelkit equality choices.csv --column model --by game --cluster persona[/dim]
    """
    from levelkit.report import equality as report
    from levelkit.report import records, sheets

    by_names, mapped = parsing.names(by), parsing.columns(columns)
    for path in out:  # better now than after the work
        sheets.suffix_of(path)
        output.need_folder(path)

    from levelkit.choices import read_choices
    from levelkit.inference.equality import equality

    table = read_choices(choices, games, columns=mapped, strict=strict)
    output.show_problems(table.problems)
    known = {str(value): value for value in table.cells[column]} if column in table.cells else {}
    with output.progress("Permuting") as told:
        frame = equality(
            table, column, by_names, pairs=_pairs(pair, known) or None, cluster=cluster, replicates=replicates,
            seed=seed, progress=told,
        )  # fmt: skip
        shown = report.sheet(frame, column, by_names, cluster)
        for path in out:
            report.write(frame, shown, path)
    output.show(records.dumps(records.rows(frame)) if json else shown.text())
    for path in out:
        output.tell(f"wrote {path}")


def _pairs(given: list[str], known: dict[str, object]) -> list[tuple[object, object]]:
    """Pairs as typed, as the values of the column."""
    found = []
    for text in given:
        parts = [part.strip() for part in text.split(",")]
        if len(parts) != 2 or not all(parts):
            raise UsageError(f"--pair {text!r}: give two values with a comma between them")
        unknown = [part for part in parts if known and part not in known]
        if unknown:
            raise UsageError(f"--pair: there is no {unknown[0]!r}; there are {', '.join(list(known)[:12])}")
        found.append((known.get(parts[0], parts[0]), known.get(parts[1], parts[1])))
    return found
