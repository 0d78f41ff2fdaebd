"""A fit as a LaTeX table: one row for each cell, statuses as marks that a note under the table explains."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from levelkit.report import words
from levelkit.report.findings import one_sided
from levelkit.report.view import View

_ESCAPES = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': "''",
}
_SYMBOLS = {
    "tau": r"$\tau$",
    "gamma": r"$\gamma$",
    "lam": r"$\lambda$",
    "eps": r"$\varepsilon$",
    "mu": r"$\mu$",
}
_LONG = 40  # from this many rows a longtable


def escape(text: str) -> str:
    r"""A text so that LaTeX prints it as it is.

    >>> escape("50% of a_b")
    '50\\% of a\\_b'
    """
    return "".join(_ESCAPES.get(c, c) for c in text)


def latex(view: View) -> str:
    """The table. Needs the package booktabs, and longtable where there are more than 40 rows."""
    parameters = view.parameters
    keys = list(view.keys)
    groups: dict[tuple[str, ...], dict[str, int]] = {}
    for i, values in enumerate(
        zip(*([words.key(v) for v in view.frame[k]] for k in keys), strict=True) if keys else [()] * len(view.frame)
    ):
        groups.setdefault(tuple(values), {})[str(view.frame["parameter"].iloc[i])] = i
    used: dict[str, None] = {}
    body = []
    for values, rows in groups.items():
        cells = [escape(v) for v in values]
        for p in parameters:
            cells += _estimate(view, rows.get(p), used)
        n = view.frame["n"].iloc[next(iter(rows.values()))]
        body.append(" & ".join([*cells, words.count(n).replace(",", r"\,")]) + r" \\")
    heads = [escape(words.plain(k)) for k in keys]
    units = view.units()
    for p in parameters:
        heads += [f"{_SYMBOLS.get(p, escape(p))} ({escape(units[p])})", f"{escape(view.level)} interval"]
    columns = "@{}" + "l" * len(keys) + "rl" * len(parameters) + "r@{}"
    head = " & ".join([*heads, "$n$"]) + r" \\"
    notes = _notes(view, used)
    caption = f"{view.fits.model.label}: estimates with {view.level} intervals ({view.interval_kind})"
    return "\n".join(assemble(caption, columns, head, body, notes, long=len(body) > _LONG)) + "\n"


def assemble(caption: str, columns: str, head: str, body: list[str], notes: Sequence[str], *, long: bool) -> list[str]:
    """Lines of a table with a caption (plain text), column types, head, body and notes (LaTeX)."""
    said = " ".join(notes)
    rows = [r"\toprule", head, r"\midrule", *([r"\endhead"] if long else []), *body, r"\bottomrule"]
    if long:
        return [
            "% needs the packages booktabs and longtable",
            rf"\begin{{longtable}}{{{columns}}}",
            rf"\caption{{{escape(caption)}}} \\",
            *rows,
            r"\end{longtable}",
            rf"\noindent{{\footnotesize {said}\par}}",
        ]
    return [
        "% needs the package booktabs",
        r"\begin{table}",
        r"\centering",
        rf"\caption{{{escape(caption)}}}",
        rf"\begin{{tabular}}{{{columns}}}",
        *rows,
        r"\end{tabular}",
        rf"\par\smallskip\begin{{minipage}}{{\linewidth}}\footnotesize {said}\end{{minipage}}",
        r"\end{table}",
    ]


def _estimate(view: View, i: int | None, used: dict[str, None]) -> list[str]:
    """Estimate with its mark, and interval, of one row of the frame; nothing where a cell lacks that
    parameter.
    """
    if i is None:
        return ["", ""]
    row = view.frame.iloc[i]
    status = str(row["status"])
    if status != "ok":
        used.setdefault(status, None)
    mark = words.MARKS.get(status, escape(status))
    sup = rf"\textsuperscript{{{mark}}}" if mark else ""
    bare = np.isnan(row["low"]) and np.isnan(row["high"])
    interval = "--" if bare else f"[{_number(row['low'])}, {_number(row['high'])}]"
    return [f"{_number(row['estimate'])}{sup}", interval]


def _number(value: float) -> str:
    text = words.number(value)
    if text in ("inf", "-inf"):
        return r"$\infty$" if text == "inf" else r"$-\infty$"
    if "e" in text:
        mantissa, power = text.split("e")
        return rf"${mantissa} \times 10^{{{int(power)}}}$"
    return "--" if text == words.DASH else text


_SHORT = {
    "boundary": "at an end of its range: bounded from one side only",
    "multimodal": "another optimum fits about as well",
    "flat": "not determined by the data",
}


def _notes(view: View, used: dict[str, None]) -> list[str]:
    fits = view.fits
    options = f" ({view.options})" if view.options else ""
    notes = [
        escape(f"Model: {fits.model.name}{options}. Payoffs {view.scale_words}. $n$: choices.").replace(r"\$n\$", "$n$")
    ]
    for status in view.statuses:
        if status in used:
            mark = words.MARKS.get(status, status)
            notes.append(rf"\textsuperscript{{{escape(mark)}}}~{_SHORT.get(status, escape(status))}.")
    one = [
        f"{view.names[i]}: {one_sided(row, view.level)}"
        for i, row in enumerate(view.frame.itertuples(index=False))
        if row.status == "boundary"
    ]
    if 0 < len(one) <= 8:
        said = escape("; ".join(one)).replace(r"\textgreater{}=", r"$\geq$").replace(r"\textless{}=", r"$\leq$")
        notes.append(f"One-sided: {said}.")
    return notes
