"""The demonstration: truncated QRE fitted to the choices that come with the package, language models beside
people.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from levelkit.errors import UsageError
from levelkit.report import words
from levelkit.report.words import clip, number, pad

if TYPE_CHECKING:
    from levelkit.inference.results import Fits

Progress = Callable[[int, int], None]

JOBS = (
    ("llm_competitive", ("model", "game", "cot"), "20 language models, three competitive 3x3 games"),
    ("sw95", ("game",), "People: Stahl & Wilson 1995, game by game"),
    ("rpc2009", (), "People: Rogers, Palfrey & Camerer 2009, 17 games pooled"),
    ("sw10_humans", ("sample",), "People: one game, four samples that are easily confused"),
    ("eleven_twenty", ("game",), "People: the 11-20 game, two versions"),
)
"""What is fitted: shipped choices, by which columns, and a heading."""

# Sets whose fits are not repeated with twice the levels, which would compile as much again.
_SETTLED = ("rpc2009", "eleven_twenty")

_NAME = 20
_CELL = 19


@dataclass(frozen=True, eq=False)
class Demo:
    """Fits of the demonstration by name of the choices, in the order of `JOBS`."""

    fits: dict[str, Fits]

    def frame(self) -> pd.DataFrame:
        """All estimates below one another: column choices (which set), the grouping columns of all sets,
        then as in a fit.
        """
        parts = [fits.frame().assign(choices=name) for name, fits in self.fits.items()]
        keys = list(dict.fromkeys(k for fits in self.fits.values() for k in fits.by))
        whole = pd.concat(parts, ignore_index=True)
        own = [c for c in parts[0].columns if c not in (*keys, "choices")]
        return whole[["choices", *keys, *own]].astype({"cot": "Int64"})

    def text(self) -> str:
        """One table of at most 80 columns, and where to look next."""
        lines = ["Reasoning level tau by truncated QRE (levels 0 to 10), with 95% intervals", "=" * 80]
        lines += _models(self.fits["llm_competitive"])
        lines += [pad("People", _NAME) + f"{'n':>6}  {pad('tau', _CELL + 2)}gamma (1/payoff)", "-" * 80]
        for name, _, _ in JOBS[1:]:
            lines += _people(name, self.fits[name])
        lines += ["-" * 80, *_LEGEND, "", *self._look()]
        return "\n".join(line.rstrip() for line in lines) + "\n"

    def _look(self) -> list[str]:
        """What to look at, with the numbers of this run."""
        llm = self.fits["llm_competitive"].frame()
        tau = llm["status"][llm["parameter"] == "tau"]
        text = (
            f"Look first at what is not told: in {(tau == 'ok').sum()} of {len(tau)} cells of language "
            f"models tau has one answer with an interval around it; in {(tau == 'flat').sum()} it is "
            "flat. A few dozen plays of one 3x3 game seldom tell how deep a player reasons. Then at "
            "sw10: four samples of people in one game, and what comes out depends on the highest level "
            "allowed (see the report). Pooled over 17 games (rpc2009) both parameters are told well. "
            "report.html has all of it with figures; fits.csv has all digits."
        )
        return textwrap.wrap(text, 80)


_LEGEND = (
    ">= <=: bounded from one side only   m: another answer fits about as well",
    "flat: the data do not tell it      gamma: per payoff unit, compare within a game",
)


def run(progress: Progress | None = None) -> Demo:
    """Fit everything. progress: called with (cells done, cells in all)."""
    from levelkit.choices import shipped_choices
    from levelkit.inference.fit import fit
    from levelkit.models import TQRE

    sets = {name: shipped_choices(name) for name, _, _ in JOBS}
    fits: dict[str, Fits] = {}
    # most of the time goes into compiling, which leaves the interpreter free: two at a time on two cores
    with ThreadPoolExecutor(2) as pool:
        waiting = {
            pool.submit(fit, sets[name], TQRE(), by, sensitivity=name not in _SETTLED): name for name, by, _ in JOBS
        }
        for done, one in enumerate(as_completed(waiting), 1):
            fits[waiting[one]] = one.result()
            if progress is not None:
                progress(done, len(JOBS) + 1)  # the last step is the writing
    return Demo({name: fits[name] for name, _, _ in JOBS})


def write(demo: Demo, folder: str | Path) -> tuple[Path, ...]:
    """Write report.html, fits.csv and the choices into a folder, which is made. Raises UsageError where that
    fails.
    """
    from levelkit.report.files import write_whole
    from levelkit.report.html import pages

    home = Path(folder)
    try:
        (home / "choices").mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"cannot make the folder {home}: {error.strerror or error}") from None
    written = [
        write_whole(
            home / "report.html",
            pages(
                [(title, demo.fits[name]) for name, _, title in JOBS],
                "Reasoning levels of language models and people",
            ),
        ),
        write_whole(home / "fits.csv", demo.frame().to_csv(index=False, lineterminator="\n")),
    ]
    for name, fits in demo.fits.items():
        table = fits.choices.frame().to_csv(index=False, lineterminator="\n")
        written.append(write_whole(home / "choices" / f"{name}.csv", table))
    return tuple(written)


def _models(fits: Fits) -> list[str]:
    """One line for each language model, one column for each game, without and with chain of thought."""
    tau = fits.frame()
    tau = tau[tau["parameter"] == "tau"]
    games = list(dict.fromkeys(tau["game"]))
    heads = "".join(pad(clip(g.removeprefix("competitive_").replace("_", " "), _CELL), _CELL + 1) for g in games)
    short = words.shorten_all([words.plain(m) for m in tau["model"]], _NAME - 1)
    lines = []
    for cot, part in tau.groupby("cot", sort=True):
        low, high = part["n"].min(), part["n"].max()
        title = f"Language models{', chain of thought' if cot else ''} ({low:g} to {high:g} choices a cell)"
        lines += [title, pad("", _NAME) + heads, "-" * 80]
        for model, rows in part.groupby("model", sort=False):
            by_game = {row["game"]: row for _, row in rows.iterrows()}
            cells = [pad(_cell(by_game[g]) if g in by_game else "", _CELL + 1) for g in games]
            lines.append(pad(short[words.plain(model)], _NAME) + "".join(cells))
        lines.append("")
    return lines


def _people(name: str, fits: Fits) -> list[str]:
    frame = fits.frame()
    lines = []
    for i in range(0, len(frame), 2):
        tau, gamma = frame.iloc[i], frame.iloc[i + 1]
        who = ", ".join(words.plain(tau[k]) for k in fits.by) or "rpc2009, 17 games"
        who = f"sw10, {who}" if name == "sw10_humans" else who.replace("eleven_twenty", "11-20,").replace("_", " ")
        lines.append(
            pad(clip(who, _NAME - 1), _NAME)
            + f"{words.count(tau['n']):>6}  {pad(_cell(tau), _CELL + 2)}{_cell(gamma, number)}"
        )
    return lines


def _two(value: float) -> str:
    return f"{value:.2f}"


def _cell(row: pd.Series, show: Callable[[float], str] = _two) -> str:
    """An estimate with its status in a few letters."""
    status, estimate, low, high = (row[c] for c in ("status", "estimate", "low", "high"))
    if status == "flat":
        return "flat"
    if status == "boundary":
        bound = f"<= {show(high)}" if estimate <= 0 else f">= {show(low)}"
        return bound if low > 0 or high < float("inf") else "no bound"
    mark = {"ok": "", "multimodal": " m"}.get(str(status), f" {status}")
    return f"{show(estimate)} [{show(low)}, {show(high)}]{mark}"
