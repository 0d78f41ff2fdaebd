"""`levelkit reproduce`: a published table computed again, beside what was printed."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from levelkit import studies
from levelkit.cli import arguments, output
from levelkit.errors import UsageError


def command(
    study: Annotated[str | None, typer.Argument(help="Which study; without it, a list.", show_default=False)] = None,
    parts: Annotated[
        list[str] | None, typer.Argument(help="Which tables; without them, the main ones.", show_default=False)
    ] = None,
    released: Annotated[
        Path | None, typer.Option(help="Folder of files that the authors released, for parts that need them.")
    ] = None,
    plots: Annotated[
        Path | None, typer.Option(help="Folder for the figures of the parts that have one (.svg).", show_default=False)
    ] = None,
    out: arguments.Out = [],  # noqa: B006
    json: arguments.Json = False,
) -> None:
    """Compute a published table again and explain every difference.

    [dim]levelkit reproduce tqre-llm table2 table3[/dim]
    """
    from levelkit.report import sheets
    from levelkit.report import studies as report
    from levelkit.studies.base import Request

    if study is None:
        output.show(_list())
        return
    found = studies.get(study)
    wanted = tuple(dict.fromkeys(parts or found.default))
    unknown = [p for p in wanted if p not in found.parts]
    if unknown:
        raise UsageError(f"{study} has no part {unknown[0]!r}; choose from {', '.join(found.parts)}")
    for path in out:  # better now than after the work
        sheets.suffix_of(path)
        output.need_folder(path)
    if plots is not None and plots.exists() and not plots.is_dir():
        raise UsageError(f"--plots {plots} is a file; give a folder")
    from levelkit.report.records import dumps

    with output.progress("Computing") as told:
        made = found.run(Request(wanted, released, told))
        for path in out:
            report.write(made, path)
        drawn = report.draw(made, plots) if plots is not None else []
    output.show(dumps(report.record(made)) if json else report.text(made))
    for path in [*out, *drawn]:
        output.tell(f"wrote {path}")


def _list() -> str:
    lines = []
    for name in studies.STUDIES:
        found = studies.get(name)
        lines.append(f"{name}: {found.about}")
        lines += [f"  {part}: {about}" for part, about in found.parts.items()]
    return "\n".join(lines)
