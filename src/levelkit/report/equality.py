"""Permutation tests that groups choose alike, in a table."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from levelkit.report import records, sheets, words
from levelkit.report.sheets import Sheet

if TYPE_CHECKING:
    from collections.abc import Sequence

LEVEL = 0.05
_MOST = 60  # rows printed; files hold all


def sheet(frame: pd.DataFrame, column: str, by: Sequence[str], cluster: str | None) -> Sheet:
    """A table of `levelkit.equality` as a reader sees it, the least likely pairs first within each stratum."""
    clustered = cluster is not None
    heads = [*map(words.plain, by), f"{words.plain(column)} a", "b", "n a", "n b"]
    heads += [*(["clusters a", "clusters b"] if clustered else []), "G", "p", "p adjusted"]
    ordered = frame.assign(_order=frame.groupby(list(by), sort=False).ngroup() if by else 0)
    ordered = ordered.sort_values(["_order", "p_max", "p"], kind="stable").head(_MOST)
    cells = []
    for row in ordered.to_dict("records"):
        one = [*(words.plain(str(row[c])) for c in by), words.plain(str(row["a"])), words.plain(str(row["b"]))]
        one += [f"{row['n_a']:g}", f"{row['n_b']:g}"]
        one += [f"{row['clusters_a']:g}", f"{row['clusters_b']:g}"] if clustered else []
        cells.append([*one, f"{row['g']:.2f}", f"{row['p']:.4f}", f"{row['p_max']:.4f}"])
    notes = [
        f"{int((frame['p_max'] <= LEVEL).sum())} of {len(frame)} pairs differ at {LEVEL:g} after adjustment; "
        f"{int((frame['p'] <= LEVEL).sum())} without it.",
        "G: likelihood-ratio statistic of equal choice probabilities, summed over games and players. p: how often "
        "permuted data have one as large. p adjusted: how often the largest of all pairs of the stratum is.",
        f"Clusters of {words.plain(str(cluster))} are exchanged whole."
        if clustered
        else "Single choices are exchanged: right only if they are independent. Name a cluster column if they are not.",
    ]
    if len(frame) > _MOST:
        notes.append(f"{len(frame) - _MOST} more pairs are in --out files.")
    return Sheet("Do groups choose alike? Permutation tests", heads, cells, notes, left=len(by) + 2)


def write(frame: pd.DataFrame, shown: Sheet, path: str | Path) -> Path:
    """Write all pairs (csv, tsv, parquet, json), or the table as shown."""
    return sheets.write(
        path, frame, lambda format: sheets.shown([shown], format), lambda: {"pairs": records.rows(frame)}
    )
