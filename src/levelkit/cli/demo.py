"""`levelkit demo`: the main job on real data that come along."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from levelkit.cli import output


def command(
    out: Annotated[Path, typer.Option(help="Folder for report.html, fits.csv and the choices.")] = Path(
        "levelkit-demo"
    ),
    json: Annotated[bool, typer.Option("--json", help="Print the estimates as JSON and nothing else.")] = False,
) -> None:
    """Fit truncated QRE to choices of 20 language models and of people, and write a report. Takes under a
    minute.
    """
    from levelkit import demo
    from levelkit.report.records import dumps, rows

    with output.progress("Fitting and drawing") as told:
        made = demo.run(told)
        files = demo.write(made, out)
    output.show(dumps(rows(made.frame())) if json else made.text())
    for file in files:
        output.tell(f"wrote {file}")
