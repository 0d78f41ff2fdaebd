"""Ceilings, scores and audits of observers in words and tables."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import pandas as pd

from levelkit.report import records, words
from levelkit.report.sheets import grid

if TYPE_CHECKING:
    from levelkit.observer.audits import Audit

WIDTH = 100
ABOUT_CEILING = (
    "rate: share of all rounds, warm-up included, in which the observer names both strategies; the range is that of "
    "single matches, the (s.e.) that of the simulation. scored: the same among rounds in which a guess is due."
)
ABOUT_SCORE = (
    "rate: share of all rounds, warm-up included, in which both strategies are named (missing and invalid guesses are "
    "wrong), with an interval over matches; scored: among rounds in which a guess was due."
)
ABOUT_IDEAL = (
    "ideal: rate of the ideal observer on simulated matches of the pair, with the 95% range of single matches; share: "
    "rate / ideal; below, above: how often its mean over as many matches is at most, at least the observer's rate."
)
ABOUT_MEANS = "Losses are means over rounds with a guess: ce in nats, brier 0-2, ev 0-4, union by the convention named."


def ceilings(frame: pd.DataFrame, notes: Sequence[str] = ()) -> str:
    """Text of a table of `levelkit.observer.ceiling_table`, with notes below."""
    head = ["pair", "engine", "observer", "window", "matches", "rate (s.e.)", "range", "scored", "last round"]
    body = [
        [
            row.pair,
            row.engine,
            row.observer,
            _window(row.window),
            f"{row.matches:,}",
            f"{_percent(row.rate)} ({100 * row.error:.2f})",
            f"{_percent(row.low)} to {_percent(row.high)}",
            _percent(row.rate_scored),
            _percent(row.final),
        ]
        for row in _rows(frame)
    ]
    lines = [grid(head, body, left=3)]
    if len(frame) > 1:
        lines.append(f"\n  mean over {len(frame)} pairs {_percent(frame['rate'].mean())}; {_below(frame)}")
    return _page([*lines, "", *_filled(notes), _fill(ABOUT_CEILING)])


def scores(frame: pd.DataFrame, convention: str, notes: Sequence[str] = ()) -> str:
    """Text of a table of `levelkit.observer.score`, with notes below."""
    with_ideal = "ceiling" in frame
    head = ["model", "pair", "matches", "rate [95%]", "scored"]
    head += ["ideal", "range of a match", "share", "below", "above"] if with_ideal else []
    body, losses = [], []
    for row in _rows(frame):
        interval = "" if pd.isna(row.low) else f" [{100 * row.low:.1f}, {100 * row.high:.1f}]"
        one = [words.plain(row.model) or "-", row.pair, f"{row.matches:,}", _percent(row.rate) + interval]
        one.append(_percent(row.rate_scored))
        if with_ideal:
            one += [_percent(row.ceiling), f"{_percent(row.ceiling_low)} to {_percent(row.ceiling_high)}"]
            one += ["-" if pd.isna(row.share) else f"{row.share:.2f}", f"{row.at_most:.3f}", f"{row.at_least:.3f}"]
        body.append(one)
        losses.append([one[0], row.pair, *(words.number(getattr(row, n)) for n in ("ce", "brier", "ev", "union"))])
    lines = [grid(head, body, left=2), ""]
    lines += [grid(["model", "pair", "ce", "brier", "ev", f"union ({convention})"], losses, left=2), ""]
    alone = int((frame["matches"] == 1).sum())
    if alone:
        said = f"{words.plural(alone, 'row')} with one match: no interval, since rounds of a match are not independent."
        notes = [*notes, said]
    about = [ABOUT_SCORE, *([ABOUT_IDEAL] if with_ideal else []), ABOUT_MEANS]
    return _page([*lines, *_filled(notes), *map(_fill, about)])


def audit(found: Audit) -> str:
    """Text of an audit: matches by observer and engine, players by behaviour, the findings."""
    matches = _counted(found.matches, ["model", "pair", "engine", "found"])
    players = found.players.merge(found.matches[["match_id", "model", "pair"]], on="match_id")
    behaviours = [
        [
            *(*keys[:-1], str(len(mine)), f"{mine['moves'].sum():,}", _share(mine["hits"].mean())),
            *(_share(mine["chance"].mean()), words.number(mine["p"].min()), keys[-1]),
        ]
        for keys, mine in _groups(players, ["model", "pair", "player", "code", "kind", "behaviour"])
    ]
    head = ["observer", "pair", "player", "code", "kind", "matches", "moves", "follows rule", "by chance", "least p"]
    lines = [grid(["observer", "pair", "engine declared", "found", "matches"], matches, left=4), ""]
    lines += [grid([*head, "behaviour"], behaviours, left=5), ""]
    return _page([*lines, *(_filled(found.findings) or ["nothing amiss"])])


def _counted(frame: pd.DataFrame, keys: list[str]) -> list[list[str]]:
    return [[*names, str(len(mine))] for names, mine in _groups(frame, keys)]


def _groups(frame: pd.DataFrame, keys: list[str]) -> Iterator[tuple[list[str], pd.DataFrame]]:
    for values, mine in frame.groupby(keys, sort=False):
        yield [words.plain(v) if v != "" else "-" for v in values], mine


def losses(frame: pd.DataFrame, pair: str, convention: str, law: Sequence[float], most: int = 15) -> str:
    """Text of a table of `levelkit.observer.loss_table`: the guesses that score best, and what that says."""
    best = frame.sort_values("union", kind="stable").head(most)
    body = [
        [f"{row.guess1}-{row.guess2}", *(words.number(getattr(row, n)) for n in ("ce", "brier", "ev", "union"))]
        for row in _rows(best)
    ]
    truth = frame.loc[frame["guess1"].str.cat(frame["guess2"], sep="-") == pair, "union"]
    lines = [f"{pair}: win {law[0]:.4f}, draw {law[1]:.4f}, loss {law[2]:.4f} (player 1)", ""]
    lines += [grid(["guess", "ce", "brier", "ev", f"union ({convention})"], body), ""]
    if len(truth):
        better = int((frame["union"] < truth.iloc[0] - 1e-9).sum())
        same = int(((frame["union"] - truth.iloc[0]).abs() <= 1e-9).sum()) - 1
        lines.append(
            _fill(
                f"Of {len(frame) - 1} wrong guesses {better} score better than the truth and {same} score the same"
                + ("; this convention does not reward the truth here." if better else ".")
            )
        )
    return _page(lines)


def record(frame: pd.DataFrame, **more: Any) -> dict[str, Any]:
    """A table as plain data for JSON, with what else belongs to it."""
    return {"levelkit": words.version(), **more, "rows": records.rows(frame)}


def _below(frame: pd.DataFrame) -> str:
    return f"{int((frame['rate'] < 0.5).sum())} pairs below 50%, {int((frame['rate'] == 0).sum())} never identified"


def _percent(share: float) -> str:
    return "-" if pd.isna(share) else f"{100 * share:.1f}%"


def _share(share: float) -> str:
    return "" if pd.isna(share) else f"{share:.3f}"


def _window(window: Any) -> str:
    return "all" if window is None or pd.isna(window) else f"{window:g}"


def _rows(frame: pd.DataFrame) -> Iterator[Any]:
    return frame.itertuples()


def _fill(text: str) -> str:
    return textwrap.fill(text, WIDTH)


def _filled(notes: Iterable[str]) -> list[str]:
    return [textwrap.fill(note, WIDTH, initial_indent="- ", subsequent_indent="  ") for note in notes]


def _page(lines: Sequence[str]) -> str:
    return "\n".join(lines) + "\n"
