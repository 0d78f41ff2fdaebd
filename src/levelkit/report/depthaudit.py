"""The audit of the study of depth as text."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

import pandas as pd

from levelkit.report.depthtext import WIDTH, lines

if TYPE_CHECKING:
    from levelkit.studies.depth2026 import Audit


def entries(audit: Audit) -> pd.DataFrame:
    """Table 2 with the counts behind each percentage, lists as text."""
    flat = audit.entries.assign(counts=[" or ".join(map(str, c)) for c in audit.entries["counts"]])
    fits = ["; ".join(f"{x[0]}/{n}" for n, x in options.items()) for options in audit.entries["options"]]
    return flat.assign(options=fits)


def text(audit: Audit) -> str:
    """Counts, samples, and what a payoff maximiser would score."""
    out = ["Counts behind the printed percentages of table 2 (exact)"]
    exact = audit.entries[audit.entries["measure"] == "exact"]
    out += lines(
        ["model", "game", "condition", "printed", "n", "count"],
        [
            [
                r["model"],
                r["game"],
                r["condition"],
                r["percent"],
                str(r["n"]),
                " or ".join(map(str, r["counts"])) or "none",
            ]
            for r in exact.to_dict("records")
        ],
        left=3,
    )
    out += ["", "Ring, without and with k = 10"]
    ring = [
        [
            r["model"],
            f"{r['x_excluding'][0]}/{r['n_excluding']}",
            f"{r['x_including'][0]}/{r['n_including']}",
            " or ".join(f"+{g}" for g in r["gains"]),
        ]
        for r in audit.ring.to_dict("records")
    ]
    out += lines(["model", "without", "with", "ambiguous 20s"], ring)
    out += ["", "Correct trials in parts of the design"]
    out += lines(
        ["part", "n", "least", "most"],
        [
            [r["part"], f"{r['n']:,}", f"{r['right_least']:,}", f"{r['right_most']:,}"]
            for r in audit.bounds.to_dict("records")
        ],
    )
    out += ["", "Inductive, lambda 10: print beside what a payoff maximiser would score, exact (within one)"]
    rows = [
        [
            r["game"],
            *(f"{r[n]:.1f} ({r[f'{n}_within_one']:.1f})" for n in ("printed", "empirical", "mode")),
        ]
        for r in audit.inductive.to_dict("records")
    ]
    out += lines(["game", "printed, mean of 4", "reply to frequencies", "reply to mode"], rows)
    out += ["", "Findings"]
    out += [line for f in audit.findings for line in textwrap.wrap(f"- {f}.", WIDTH, subsequent_indent="  ")]
    return "\n".join(out) + "\n"
