"""The text summary of a fit: at most 80 columns, a line for each estimate, and what the data do not tell."""

from __future__ import annotations

import textwrap

from levelkit.report import words
from levelkit.report.findings import Finding, findings
from levelkit.report.view import FitsLike, View
from levelkit.report.words import number, pad

WIDTH = 80
MOST_LINES = 60
_SHOWN_WHEN_MANY = 20  # rows of each parameter, where not all are shown
_CELLS_NAMED = 6  # cells named below each finding
_NARROWEST_KEY = 4
_KEYS_EXPLAINED = 12


def summary(fits: FitsLike) -> str:
    """A fit as text: what was fitted, a line for each cell and parameter, and what the data do not tell."""
    view = View.of(fits)
    lines = [*_header(view), *_body(view)]
    found = findings(view)
    if found:
        lines += ["", "What the data do not tell", "-" * 25]
        for finding in found:
            lines += _finding(finding)
    return "\n".join(line.rstrip() for line in lines) + "\n"


def _header(view: View) -> list[str]:
    fits, stats = view.fits, view.stats
    title = f"{fits.model.label}: {words.plural(len(fits), 'fitted cell')}"
    free = sorted({int(f) for f in stats["free"]})
    n, none = stats["n"].sum(), stats["no_choice"].sum()
    games = list(fits.choices.games)
    facts = [
        ("Model", f"{fits.model.name}" + (f" ({view.options})" if view.options else "")),
        ("Fitted by", ", ".join(map(words.plain, fits.by)) or words.ALL_TOGETHER),
        (
            "Choices",
            f"{words.count(n)} in {words.plural(len(games), 'game')}"
            + (f"; {words.count(none)} without a choice" if none else ""),
        ),
        ("Payoffs", view.scale_words),
        ("Intervals", f"{view.level}, {view.interval_kind}" if view.interval_kind != "none" else "none"),
    ]
    units = {unit: [p for p, u in view.units().items() if u == unit] for unit in dict.fromkeys(view.units().values())}
    if units:
        facts.append(("Units", "; ".join(f"{', '.join(names)}: {unit}" for unit, names in units.items())))
    facts.append(("Fit", _fit_line(view, free)))
    facts += [(words.plain(k), f"{words.plain(v)} (in all rows)") for k, v in _constant(view).items() if len(fits) > 1]
    if len(fits) == 1 and fits.by:
        facts.append(("Cell", view.cells[0]))
    size = min(20, max(words.width(name) for name, _ in facts) + 1)
    lines = [title[:WIDTH], "=" * WIDTH]
    for name, fact in facts:
        lines += _wrap(fact, head=pad(words.clip(name, size - 1) + ":", size + 1))
    return [*lines, "=" * WIDTH]


def _fit_line(view: View, free: list[int]) -> str:
    stats = view.stats
    parts = [f"log-likelihood {stats['loglik'].sum():.3f}", f"uniform {stats['loglik_uniform'].sum():.3f}"]
    parts.append(f"saturated {stats['loglik_saturated'].sum():.3f}")
    each = "/".join(map(str, free))
    parts.append(f"{each} free {'parameter' if free == [1] else 'parameters'}" + (" a cell" if len(stats) > 1 else ""))
    return ", ".join(parts)


def _constant(view: View) -> dict[str, object]:
    """Key columns with one value in all rows: said once, in the header."""
    return {k: view.frame[k].iloc[0] for k in view.keys if len(view.frame) and view.frame[k].nunique(dropna=False) == 1}


def _body(view: View) -> list[str]:
    if not len(view.frame):
        return ["This model has no free parameters here; there is nothing to estimate."]
    n_lines = len(view.frame)
    limit = _SHOWN_WHEN_MANY if n_lines > MOST_LINES else n_lines
    if len(view.fits) == 1 and not set(view.keys) - set(view.fits.by):
        return _table(view, [list(range(n_lines))], named=False)
    blocks = [view.rows(p).tolist() for p in view.parameters]
    lines = _table(view, [rows[:limit] for rows in blocks], named=True, totals=[len(rows) for rows in blocks])
    return [*lines, *_status_counts(view)]


def _table(view: View, blocks: list[list[int]], *, named: bool, totals: list[int] | None = None) -> list[str]:
    """Lines of the table. A block holds the rows of one parameter (named: its rows carry the cell's keys)."""
    shown = [i for rows in blocks for i in rows]
    frame = view.frame.iloc[shown]
    low, high = ([number(v) for v in frame[c]] for c in ("low", "high"))
    wide_low, wide_high = max(map(len, low)), max(map(len, high))
    bare = frame[["low", "high"]].isna().all(axis=1)
    ends = [
        words.DASH if b else f"[{lo:>{wide_low}}, {hi:>{wide_high}}]" for lo, hi, b in zip(low, high, bare, strict=True)
    ]
    columns = {
        "estimate": [number(v) for v in frame["estimate"]],
        "se": [number(v) for v in frame["se"]],
        f"{view.level} interval": ends,
        "status": [words.clip(words.plain(s), 12) for s in frame["status"]],
        "n": [words.count(v) for v in frame["n"]],
    }
    sizes = {name: max(len(name), max(map(words.width, cells))) for name, cells in columns.items()}
    room = WIDTH - sum(sizes.values()) - 2 * len(sizes)
    if named:
        keys = [k for k in view.keys if k not in _constant(view)] or list(view.keys[-1:])
        heads, names, legend = _key_columns(view, keys, shown, room)
    else:
        heads, legend = ["parameter"], []
        names = [[words.clip(words.plain(p), room)] for p in frame["parameter"]]
    key_sizes = [max([words.width(h), *(words.width(row[j]) for row in names)]) for j, h in enumerate(heads)]
    right = {"estimate", "se", "n"}

    def line(keys: list[str], cells: list[str]) -> str:
        left = "  ".join(pad(k, size) for k, size in zip(keys, key_sizes, strict=True))
        rest = "".join("  " + pad(c, s, name in right) for c, (name, s) in zip(cells, sizes.items(), strict=True))
        return left + rest

    head = line(heads, [pad(name, sizes[name], name in right) for name in columns])
    lines, at = [head, "-" * WIDTH], 0
    for b, rows in enumerate(blocks):
        if named:
            parameter = view.parameters[b]
            lines.append(_parameter_title(view, parameter))
        for _ in rows:
            lines.append(line(names[at], [cells[at] for cells in columns.values()]))
            at += 1
        if totals and totals[b] > len(rows):
            lines.append(f".. and {totals[b] - len(rows):,} more: see .frame(), or save to a .csv file")
    lines.append("-" * WIDTH)
    if frame["se"].isna().any() and frame["se"].notna().any():
        lines += _wrap(
            "se '-': at an end of the range or flat, the likelihood has no curvature to measure; use the interval."
        )
    return [*lines, *legend]


def _parameter_title(view: View, parameter: str) -> str:
    known = view.parameter(parameter)
    label = known.label if known else ""
    label = label.removesuffix(parameter).strip() if label.endswith(f" {parameter}") else label
    unit = view.units().get(parameter, "")
    title = f"{parameter}: {label}" if label and label != parameter else parameter
    return f"{title} ({unit})" if unit and unit not in title else title


def _key_columns(
    view: View, keys: list[str], shown: list[int], room: int
) -> tuple[list[str], list[list[str]], list[str]]:
    """Heads and texts of the key columns, shortened to fit, and lines that explain what was shortened."""
    texts = {k: [words.key(v) for v in view.frame[k].iloc[shown].to_numpy(dtype=object)] for k in keys}
    if len(keys) * (_NARROWEST_KEY + 2) - 2 > room:  # too many columns: put them into one
        texts = {"cell": [view.names[i] for i in shown]}
    sizes = {k: max([words.width(words.plain(k)), *map(words.width, cells)]) for k, cells in texts.items()}
    content = {k: max(map(words.width, cells)) for k, cells in texts.items()}
    space = room - 2 * (len(texts) - 1)
    while sum(sizes.values()) > space:
        # heads give way before contents, then the widest column
        heads = [k for k in sizes if sizes[k] > max(content[k], _NARROWEST_KEY)]
        widest = max(heads or sizes, key=lambda k: sizes[k])
        sizes[widest] -= 1
    short = {k: words.shorten_all(cells, sizes[k]) for k, cells in texts.items()}
    heads = [words.clip(words.plain(k), sizes[k]) for k in texts]
    rows = [[short[k][t] for k, t in zip(texts, row, strict=True)] for row in zip(*texts.values(), strict=True)]
    changed = {s: full for table in short.values() for full, s in table.items() if s != full}
    legend = ["Shortened above:"] if changed else []
    for s, full in list(changed.items())[:_KEYS_EXPLAINED]:
        legend += _wrap(full, head=f"  {s} = ", hang=4)
    if len(changed) > _KEYS_EXPLAINED:
        legend.append(f"  and {len(changed) - _KEYS_EXPLAINED:,} more: see .frame()")
    return heads, rows, legend


def _status_counts(view: View) -> list[str]:
    """How often each status occurs, by parameter; left out where a look at the table tells it."""
    if len(view.frame) <= 8:
        return []
    table = {p: view.frame["status"].iloc[view.rows(p)].value_counts() for p in view.parameters}
    size = max(10, *(words.width(p) for p in table))
    wide = [max(len(s), 6) for s in view.statuses]
    lines = [
        "",
        pad("Status", size) + "".join(f"  {s:>{w}}" for s, w in zip(view.statuses, wide, strict=True)),
    ]
    for p, counts in table.items():
        lines.append(
            pad(p, size) + "".join(f"  {counts.get(s, 0):>{w},}" for s, w in zip(view.statuses, wide, strict=True))
        )
    return lines


def _finding(finding: Finding) -> list[str]:
    lines = _wrap(finding.text, head="* ", hang=2)
    for cell in finding.cells[:_CELLS_NAMED]:
        lines += _wrap(cell, head="    - ", hang=6)
    if finding.count > _CELLS_NAMED:
        lines.append(f"    - and {finding.count - _CELLS_NAMED:,} more")
    return lines


def _wrap(text: str, head: str = "", hang: int | None = None) -> list[str]:
    """Lines of at most 80 terminal columns; long words are broken."""
    space = " " * (words.width(head) if hang is None else hang)
    if words.width(text) == len(text) and words.width(head) == len(head):
        wrapped = textwrap.wrap(text, WIDTH, initial_indent=head, subsequent_indent=space, break_on_hyphens=False)
        return wrapped or [head]
    lines, line = [], head
    for word in text.split(" "):
        while words.width(space + word) > WIDTH:  # break what no line can hold
            part = words._take(word, WIDTH - words.width(line) - 1)
            lines.append(f"{line}{part}")
            word, line = word[len(part) :], space
        if words.width(line) + words.width(word) + 1 > WIDTH:
            lines.append(line.rstrip())
            line = space
        line += word + " "
    return [*lines, line.rstrip()]
