"""Arguments and options that several commands share, each with one help text."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Texts = list[str]

Choices = Annotated[Path, typer.Argument(help="Table of choices: .csv, .tsv, .jsonl or .parquet.", show_default=False)]
Games = Annotated[Path | None, typer.Option(help="Games: .toml, .nfg or a folder; else those that come along.")]
ModelName = Annotated[
    str,
    typer.Option(
        help="tqre, poisson-ch, quantal-ch, level-k, quantal-level-k, qre, hqre, noisy-introspection, nash-tremble "
        "or uniform."
    ),
]
Set = Annotated[Texts, typer.Option("--set", help="An option of the model, such as levels=20.", show_default=False)]
By = Annotated[
    Texts, typer.Option(help="Columns: one estimate for each combination, such as model,game.", show_default=False)
]
Fix = Annotated[Texts, typer.Option(help="Hold a parameter: tau=1.5.", show_default=False)]
Scale = Annotated[str, typer.Option(help="raw payoffs, or divided by each game's range.")]
Interval = Annotated[float, typer.Option(help="Probability of the intervals.")]
Seed = Annotated[int, typer.Option(help="Same seed, same numbers.")]
Columns = Annotated[Texts, typer.Option(help="Our names to yours: action=choice,player=role.", show_default=False)]
Out = Annotated[
    list[Path],
    typer.Option(help="Write to .csv, .tsv, .json, .parquet, .md, .tex or .txt.", show_default=False),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")]
Strict = Annotated[bool, typer.Option("--strict", help="Stop if any row has to be set aside.")]
