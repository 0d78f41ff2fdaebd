"""`levelkit reproduce`: a published table computed again, beside what was printed."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import Annotated, Any

import typer

from levelkit.cli import output
from levelkit.errors import UsageError

STUDIES = ("rpc2009", "depth2026")


def command(
    study: Annotated[
        str,
        typer.Argument(
            help="rpc2009: table 3 of Rogers, Palfrey & Camerer 2009. depth2026: do the printed numbers of Zhang & "
            "Sarkar 2026 fit together?"
        ),
    ],
    out: Annotated[Path | None, typer.Option(help="Write the table to a .csv file as well.")] = None,
) -> None:
    """Compute published numbers again and explain every difference."""
    if study not in STUDIES:
        raise UsageError(f"there is no study {study!r}; choose from {', '.join(STUDIES)}")
    if out is not None and out.suffix.lower() != ".csv":
        raise UsageError(f"cannot write {out}; end it with .csv")
    if study == "depth2026":
        _depth(out)
        return
    from levelkit.report.files import write_whole
    from levelkit.studies import rpc2009

    with output.progress("Fitting"):
        result = rpc2009.run()
    table = result.table
    shown = table.drop(columns="why").rename(
        columns={"printed_negloglik": "printed -LL", "negloglik": "-LL", "difference": "diff"}
    )
    shown["model"] = shown["model"].mask(shown.duplicated(["game", "model"]), "")
    text = shown.to_string(index=False, na_rep="", float_format=lambda v: f"{v:.4g}" if abs(v) < 20 else f"{v:.2f}")
    lines = [text, "", f"Differences in -LL of more than {rpc2009.TOLERANCE}:"]
    far = table[table["difference"].abs() > rpc2009.TOLERANCE].drop_duplicates(["game", "model"])
    row: Any
    for row in far.itertuples():
        why = row.why or "not explained"
        one = f"{row.game}, {row.model}: {row.negloglik:.2f} against {row.printed_negloglik:.2f}: {why}"
        lines.append(textwrap.fill(one, 100, initial_indent="- ", subsequent_indent="  "))
    output.show("\n".join(lines) + "\n")
    if out is not None:
        write_whole(out, table.to_csv(index=False, lineterminator="\n"))
        output.tell(f"wrote {out}")


def _depth(out: Path | None) -> None:
    from levelkit.report import depthaudit
    from levelkit.report.files import write_whole
    from levelkit.studies import depth2026

    with output.progress("Simulating"):
        audit = depth2026.run()
    output.show(depthaudit.text(audit))
    if out is not None:
        write_whole(out, depthaudit.entries(audit).to_csv(index=False, lineterminator="\n"))
        output.tell(f"wrote {out}")
