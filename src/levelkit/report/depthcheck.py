"""The sheet of a depth check: sequence, anchors, aliases, shortcut, alignment; at most 80 columns of text."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from levelkit.depth.certificates import Certificate
from levelkit.depth.checks import Check
from levelkit.depth.instruments import labels_in_short
from levelkit.report import words

if TYPE_CHECKING:
    from levelkit.depth.searches import Search

WIDTH = 80


def sheet(found: Check) -> str:
    """All a check says, in plain words."""
    told, own = found.sequence, found.instrument
    game = own.game
    who = "" if own.symmetric else f", {game.players[told.player]}"
    verdict = "YES" if found.passes else "NO"
    lines = [f"{game.name}{who}: {game.title or words.plain(game.name)}", ""]
    lines += _pairs(
        [
            (f"levels {told.start} to {found.depth} all differ?", f"{verdict} (K_max = {told.k_max})"),
            ("actions", labels_in_short(own.values[told.player])),
            ("level 0", told.anchor),
            (f"levels {told.start}, {told.start + 1}, ...", ", ".join(map(str, told.actions[told.start :]))),
            ("direction", f"{told.direction} up to K_max"),
            ("reach", f"{words.plural(len(told.reach), 'action')}; repeats every {words.plural(told.period, 'level')}"),
            ("first repeat", f"level {told.first_repeat[0]} does what level {told.first_repeat[1]} does"),
            ("ties", _ties(found)),
            ("margin", _margin(found)),
        ]
    )
    lines += ["", "What a window of depths hides", "-" * 29, *_wrap(_aliases(found))]
    lines += ["", "Level 0 by other rules", "-" * 22, *_anchors(found)]
    if found.shortcut:
        lines += ["", "Does arithmetic from the first two levels get there?", "-" * 52, *_wrap(_shortcut(found))]
    if found.aligned:
        lines += ["", "Would a payoff maximiser do the same?", "-" * 37, *_aligned(found)]
    if found.ranks:
        lines += ["", "Shares of levels with noise, from choice frequencies", "-" * 52]
        lines += [line for rank in found.ranks for line in _wrap([rank.text])]
    return "\n".join(lines) + "\n"


def _pairs(pairs: Iterable[tuple[str, str]]) -> list[str]:
    listed = list(pairs)
    width = max(len(name) for name, _ in listed) + 2
    lines: list[str] = []
    for name, text in listed:
        lines += textwrap.wrap(f"{name:<{width}}{text}", WIDTH, subsequent_indent=" " * width, break_on_hyphens=False)
    return lines


def _wrap(texts: Iterable[str]) -> list[str]:
    return [line for text in texts for line in textwrap.wrap(text, WIDTH, subsequent_indent="  ")]


def _ties(found: Check) -> str:
    on = ", ".join(f"level {k}" for k in found.sequence.ties)
    off = ", ".join(map(str, found.tied_beliefs))
    return f"{f'at {on}' if on else 'none on the sequence'}; beliefs with several best replies: {off or 'none'}"


def _margin(found: Check) -> str:
    if found.margin != found.margin or found.margin == float("inf"):
        return words.DASH
    return f"best over second-best reply at least {100 * found.margin:.3g}% of the payoff range"


def _aliases(found: Check) -> list[str]:
    window, told = found.window, found.sequence
    lines = [
        f"- {value} is done at depths {_runs(depths)}: no depth can be read off it."
        for value, depths in window.ambiguous.items()
    ]
    beyond = f"{window.beyond} (level {window.last + 1})"
    if window.alias is not None:
        lines.append(f"- One level too many, {beyond}, reads as depth {window.alias}.")
    else:
        lines.append(f"- One level too many, {beyond}, reads as {window.resolve(window.beyond)[1]}.")
    size = len(found.instrument.values[told.player])
    one = sum(len(depths) == 1 for depths in window.depths.values())
    lines.append(
        f"- Of {size} actions {one} name one depth: random play has a depth {100 * one / size:.0f}% of the time."
    )
    return lines


def _anchors(found: Check) -> list[str]:
    lines = [f"{'rule':<18}{'actions':<16}{'K_max':>6}"]
    row: Any
    for row in found.anchors.itertuples():
        actions = ", ".join(map(str, row.actions)) or "not defined"
        k_max = words.DASH if row.k_max is None or row.k_max != row.k_max else f"{row.k_max:g}"
        lines.append(f"{row.rule:<18}{words.clip(actions, 15):<16}{k_max:>6}")
    uniform = found.uniform
    told = ", ".join(map(str, uniform.actions[1:]))
    lines += _wrap([f"With uniform level 0, levels 1, 2, ... do {told}: levels 1 to {uniform.k_max} differ."])
    return lines


def _shortcut(found: Check) -> list[str]:
    until = found.sequence.shortcut_until
    misses = [f"level {k}: {guess} for {action} ({how})" for k, action, guess, how in found.shortcut if how != "same"]
    if not misses:
        return [f"Yes, up to level {until}: reaching the right action does not show iteration."]
    return [f"Up to level {until}. Then not: {words.few(misses, 4)}."]


def _aligned(found: Check) -> list[str]:
    lines = []
    for lam, levels in found.aligned.items():
        told = f"{len(levels)} of {found.depth} levels" + (f" ({_runs(levels)})" if levels else "")
        lines.append(f"opponents of precision {lam:g}: {told}")
    return lines


def _runs(numbers: tuple[int, ...]) -> str:
    """2, 3, 4, 7 as "2-4, 7"."""
    runs: list[list[int]] = []
    for n in numbers:
        if runs and n == runs[-1][1] + 1:
            runs[-1][1] = n
        else:
            runs.append([n, n])
    return ", ".join(str(a) if a == b else f"{a}-{b}" for a, b in runs)


def certificate_text(certificate: Certificate, faults: list[str]) -> str:
    """A certificate and whether it holds."""
    head = f"certificate of {certificate.game}: {'holds' if not faults else 'DOES NOT HOLD'}"
    body = (
        f"levels 0 to {certificate.depth} differ, {certificate.direction}; margin {100 * certificate.margin:.3g}%; "
        f"{len(certificate.aligned)} of {certificate.depth} levels aligned at precision {certificate.lam:g}"
    )
    return "\n".join([head, *(f"  {line}" for line in (faults or _wrap([body])))]) + "\n"


def found_text(found: Search) -> str:
    """What a search found."""
    met = f"{found.reached:,} met the demands; deepest {found.deepest}"
    lines = _wrap([f"{found.family}: {found.examined:,} games examined, {met}"])
    for game, told in zip(found.games, found.certificates, strict=True):
        lines += ["", *_wrap([f"{game.name}: {game.note}"])]
        lines += _wrap([f"levels 0 to {told.depth}: {', '.join(told.sequence)} ({told.direction})"])
        lines += _wrap(
            [
                f"margin {100 * told.margin:.3g}% of the payoff range; {len(told.aligned)} of {told.depth} levels "
                f"aligned at precision {told.lam:g}; arithmetic reaches level {told.shortcut}; level 0 is "
                f"{told.anchor}; as deep by the rules: {', '.join(told.anchors) or 'none'}"
            ]
        )
    if not found.games:
        lines.append("none: lower --depth, allow --monotone, or run more --batches")
    return "\n".join(lines) + "\n"
