"""One game for a reader: payoffs, equilibria, what each level plays, what its choices can tell."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from levelkit.games import Game
from levelkit.report import words
from levelkit.report.words import clip, pad, width
from levelkit.solve import dominated_actions, equilibria

if TYPE_CHECKING:
    from levelkit.models.base import Model

WIDTH = 80
LEVELS = 5
TAU = 1.5
_MOST_CELLS = 200  # payoff tables of more cells are left to --json
_MOST_EQUILIBRIA = 12
_CONSTANT = "all payoffs are equal: choices here tell nothing about the parameters"


def listing(sets: Mapping[str, tuple[str, Sequence[Game]]]) -> str:
    """Sets of games, (title, games) by name, as text: a line for each game."""
    lines = []
    for name, (title, games) in sets.items():
        lines += [f"{words.plain(name)}: {words.plain(title)}"] if title else [words.plain(name)]
        size = min(40, max((width(words.plain(g.name)) for g in games), default=0))
        for game in games:
            shape = " x ".join(map(str, game.shape))
            text = words.plain(game.title) if game.title else game.form.replace("_", " ")
            head = f"  {pad(clip(words.plain(game.name), size), size)}  {pad(shape, 9)}  "
            lines.append(clip(head + text, WIDTH, "head"))
        lines.append("")
    return "\n".join(_whole([*lines, "levelkit games NAME shows one of them."])) + "\n"


def sheet(game: Game) -> str:
    """One game as text of at most 80 columns."""
    parts = [
        [f"{words.plain(game.name)}: {words.plain(game.title)}" if game.title else words.plain(game.name)],
        ["=" * WIDTH],
    ]
    parts += [
        _fact("Form", _form(game)),
        _fact("Payoffs", f"from {game_low(game):g} to {game_high(game):g}, range {game.payoff_range:g}"),
    ]
    for i, player in enumerate(game.players):
        seen = "" if game.observed[i] else " (imagined: nobody sees these choices)"
        listed = ", ".join(map(words.plain, game.actions[i]))
        parts.append(_fact(words.plain(player), f"{words.plural(game.shape[i], 'action')}: {listed}{seen}"))
    parts += [_fact(name, words.plain(text)) for name, text in (("Source", game.source), ("Note", game.note)) if text]
    parts += [_section("Payoffs"), _payoffs(game), _section("Nash equilibria"), _equilibria(game)]
    dominated = _dominated(game)
    if dominated:
        parts += [_section("Dominated actions"), dominated]
    parts += [
        _section("What each level plays"),
        _levels(game),
        _section("Can tau and gamma be told from choices here?"),
    ]
    parts.append(textwrap.wrap(_sentence(verdict(game)[1]), WIDTH))
    return "\n".join(_whole([line.rstrip() for part in parts for line in part])) + "\n"


def record(game: Game) -> dict[str, Any]:
    """One game as plain data for JSON, with what `sheet` tells."""
    from levelkit.inference.design import identification, level_play

    found, known = equilibria(game), identification(game) if game.payoff_range > 0 else None
    return {
        "name": game.name,
        "title": game.title,
        "source": game.source,
        "note": game.note,
        "form": game.form,
        "symmetric": bool(game.symmetric),
        "players": list(game.players),
        "observed": list(game.observed),
        "actions": [list(labels) for labels in game.actions],
        "payoffs": {player: own.tolist() for player, own in zip(game.players, game.payoffs, strict=True)},
        "payoff_range": game.payoff_range,
        "equilibria": {
            "profiles": [
                {player: mix.tolist() for player, mix in zip(game.players, profile, strict=True)}
                for profile in found.profiles
            ],
            "complete": found.complete,
            "degenerate": found.degenerate,
            "note": found.note,
        },
        "level_play": {
            belief: {player: play.round(9).tolist() for player, play in level_play(game, LEVELS, belief, TAU).items()}
            for belief in ("step", "hierarchy")
        },
        "identification": {
            "identified": known is not None and known.identified,
            "rank": known.rank if known is not None else 0,
            "parameters": known.parameters if known is not None else 2,
            "text": known.text if known is not None else _CONSTANT,
        },
    }


def game_low(game: Game) -> float:
    """Smallest payoff of any agent."""
    return min(float(own.min()) for own in game.payoffs)


def game_high(game: Game) -> float:
    """Largest payoff of any agent."""
    return max(float(own.max()) for own in game.payoffs)


def _form(game: Game) -> str:
    kind = "symmetric" if game.symmetric and game.n_players == 2 else game.form.replace("_", " ")
    return f"{kind}, {words.plural(game.n_players, 'agent')}, {' x '.join(map(str, game.shape))} actions"


def _fact(name: str, text: str) -> list[str]:
    head = pad(clip(name, 18) + ":", 12) + " "
    return textwrap.wrap(text, WIDTH, initial_indent=head, subsequent_indent=" " * 13) or [head]


def _section(title: str) -> list[str]:
    return ["", title, "-" * len(title)]


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:] + ("" if text.endswith(".") else ".")


def _whole(lines: list[str]) -> list[str]:
    return [clip(line, WIDTH, "head") for line in lines]


def _payoffs(game: Game) -> list[str]:
    """Matrices of the first two agents, one for each combination of the others' actions."""
    if game.n_players == 1 or game.payoffs[0].size > _MOST_CELLS:
        return [
            f"{game.payoffs[0].size:,} outcomes: too many to print; levelkit games "
            f"{words.plain(game.name)} --json has them."
        ]
    others = list(np.ndindex(*game.shape[2:]))
    names = " and ".join(map(words.plain, game.players[:2]))
    everyone = ", ".join(map(words.plain, game.players))
    what = f"Each entry: payoffs of {everyone}. Rows: {words.plain(game.players[0])}."
    lines = textwrap.wrap(what, WIDTH)
    for rest in others:
        if rest:
            fixed = ", ".join(
                f"{words.plain(game.players[k])} {words.plain(game.actions[k][a])}" for k, a in enumerate(rest, 2)
            )
            lines += ["", clip(f"{names}, when {fixed}:", WIDTH)]
        lines += _matrix(game, rest)
    return lines


def _matrix(game: Game, rest: tuple[int, ...]) -> list[str]:
    rows, columns = ([clip(words.plain(a), 14) for a in labels] for labels in game.actions[:2])
    cells = [
        [", ".join(f"{own[(i, j, *rest)]:g}" for own in game.payoffs) for j in range(len(columns))]
        for i in range(len(rows))
    ]
    left = max(map(width, rows)) + 2
    sizes = [max(width(c), *(width(cells[i][j]) for i in range(len(rows)))) + 2 for j, c in enumerate(columns)]
    lines, first = [], 0
    while first < len(columns):  # as many columns side by side as fit
        last, used = first, left
        while last < len(columns) and (last == first or used + sizes[last] <= WIDTH):
            used += sizes[last]
            last += 1
        span = range(first, last)
        lines.append("" if first else " " * left + "".join(pad(columns[j], sizes[j], True) for j in span))
        if first:
            lines.append(" " * left + "".join(pad(columns[j], sizes[j], True) for j in span))
        lines += [
            pad(rows[i], left) + "".join(pad(cells[i][j], sizes[j], True) for j in span) for i in range(len(rows))
        ]
        first = last
    return lines


def mix(probabilities: np.ndarray, labels: Sequence[str]) -> str:
    """A mixed action in words: the label of a sure one, "any (equally)" for a uniform one, else shares.

    >>> mix(np.array([0.0, 1.0, 0.0]), ["T", "M", "B"]), mix(np.array([0.5, 0.5, 0.0]), ["T", "M", "B"])
    ('M', 'T (0.5), M (0.5)')
    """
    at = np.flatnonzero(probabilities > 1e-6)
    if len(at) == 1:
        return words.plain(labels[int(at[0])])
    if len(at) == len(labels) and np.ptp(probabilities) < 1e-9:
        return "any (equally)"
    return ", ".join(f"{words.plain(labels[int(a)])} ({probabilities[a]:.3g})" for a in at)


def profile_text(game: Game, profile: Sequence[np.ndarray]) -> str:
    """A strategy profile in words, player by player."""
    parts = zip(game.players, profile, game.actions, strict=True)
    return "; ".join(f"{words.plain(player)}: {mix(one, labels)}" for player, one, labels in parts)


def verdict(game: Game, model: Model | None = None) -> tuple[bool, str]:
    """Whether a model's parameters (default: TQRE's) are identified from choices in one game, and that in words."""
    from levelkit.inference.design import identification

    if game.payoff_range <= 0:
        return False, _CONSTANT
    known = identification(game, model)
    return known.identified, known.text


def _equilibria(game: Game) -> list[str]:
    found = equilibria(game)
    lines = []
    for profile in found.profiles[:_MOST_EQUILIBRIA]:
        pure = all(one.max() > 1 - 1e-9 for one in profile)
        lines += textwrap.wrap(
            profile_text(game, profile),
            WIDTH,
            initial_indent="pure   " if pure else "mixed  ",
            subsequent_indent=" " * 7,
        )
    if len(found) > _MOST_EQUILIBRIA:
        lines.append(
            f"and {len(found) - _MOST_EQUILIBRIA} more; levelkit games {words.plain(game.name)} --json has them"
        )
    if not lines:
        lines = ["none in pure strategies"] if not found.complete else ["none found"]
    if found.note:
        lines += textwrap.wrap(_sentence(found.note), WIDTH)
    return lines


def _dominated(game: Game) -> list[str]:
    lines = []
    for one in dominated_actions(game):
        how = "strictly" if one.strictly else "weakly"
        labels = game.actions[game.players.index(one.player)]
        share = np.array([one.by.get(label, 0.0) for label in labels])
        text = f"{words.plain(one.player)}: {words.plain(one.action)}, {how}, by {mix(share, labels)}"
        lines += textwrap.wrap(text, WIDTH, subsequent_indent="    ")
    return lines


def _levels(game: Game) -> list[str]:
    """A table of what best-responding levels do, under both beliefs."""
    from levelkit.inference.design import level_play

    twins = game.symmetric and game.n_players == 2
    players = game.players[:1] if twins else game.players
    plays = {belief: level_play(game, LEVELS, belief, TAU) for belief in ("step", "hierarchy")}
    lines = textwrap.wrap(
        "Best responses, ties split evenly. Below: everybody else is one level lower. All lower: the "
        f"others are spread over the lower levels as Poisson({TAU:g}).",
        WIDTH,
    )
    for player in players:
        labels = game.actions[game.players.index(player)]
        title = "both players" if twins else words.plain(player)
        told = {belief: [mix(p, labels) for p in plays[belief][player]] for belief in plays}
        size = min(34, max(8, *(width(t) for t in told["step"])))
        lines.append("")
        lines.append(f"level  {pad('below', size)}  all lower   ({title})")
        for k in range(LEVELS + 1):
            lines.append(
                f"{k:>5}  {pad(clip(told['step'][k], size), size)}  {clip(told['hierarchy'][k], WIDTH - size - 9)}"
            )
    return lines
