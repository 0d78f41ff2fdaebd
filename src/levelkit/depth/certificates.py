"""What a game is warranted to tell, in numbers anybody can compute again from its payoff table.

A games file may carry `[[certificate]]` tables beside its `[[game]]` tables; `levelkit depth check FILE` computes every
entry again and names the first that does not hold.
"""

from __future__ import annotations

import dataclasses
import json
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from levelkit.depth.anchors import anchor_report
from levelkit.depth.instruments import Array, Instrument, instrument
from levelkit.depth.quantal import DEFAULT_SCALE, opponent
from levelkit.depth.sequences import best, sequence
from levelkit.errors import DataError
from levelkit.gamefiles import game_to_toml, read_games
from levelkit.games import Game

CLOSE = 1e-9


@dataclass(frozen=True)
class Certificate:
    """Depth to which a symmetric game tells levels apart, and how well.

    depth: K_max. sequence: actions of levels 0 to depth. margin: smallest gap between best and second-best payoff
    along it, as a share of the payoff range. shortcut: deepest level that arithmetic from the first two levels
    reaches, -1 for unordered actions. anchors: rules for level 0 from which levels up to `depth` differ as well.
    lam, scale: the opponents for which `aligned` holds: levels k >= 1 whose action is also the only best reply to a
    quantal opponent of level k - 1, so that a payoff maximiser and a level-k reasoner do the same.
    """

    game: str
    anchor: str
    depth: int
    sequence: tuple[str, ...]
    period: int
    direction: str
    shortcut: int
    margin: float
    anchors: tuple[str, ...]
    lam: float
    scale: str
    aligned: tuple[int, ...]
    family: str = ""
    parameters: tuple[int, ...] = ()


def certify(source: str | Game | Instrument, lam: float = 10.0, scale: str = DEFAULT_SCALE, **made: Any) -> Certificate:
    """Compute a game's certificate. made: family and parameters, where a search found it."""
    own = instrument(source)
    told = sequence(own, 1)
    told = sequence(own, max(told.k_max, 1))
    report = anchor_report(own)
    deep = report[report["k_max"].notna() & (report["k_max"].fillna(-1) >= told.k_max)]
    shortcut = told.shortcut_until
    return Certificate(
        game=own.name,
        anchor=told.anchor,
        depth=told.k_max,
        sequence=tuple(str(a) for a in told.actions[told.start : told.k_max + 1]),
        period=told.period,
        direction=told.direction,
        shortcut=-1 if shortcut is None else shortcut,
        margin=float(margins(own, told.k_max).min(initial=np.inf)) if told.k_max else 0.0,
        anchors=tuple(deep["rule"]),
        lam=float(lam),
        scale=scale,
        aligned=tuple(int(k) for k in range(1, told.k_max + 1) if aligned(own, k, lam, scale)),
        **made,
    )


def margins(own: Instrument, depth: int) -> Array:
    """(depth,) gap between best and second-best payoff against a^(0), ..., a^(depth - 1), as shares of the payoff
    range; 0 where best replies tie.
    """
    told = sequence(own, max(depth, 1))
    if told.start:
        depth, believed = depth - 1, told.actions[1 : depth + 1]
    else:
        believed = told.actions[:depth]
    table = own.game.payoffs[0][:, [own.require(a) for a in believed[:depth]]]
    top = np.sort(table, axis=0)
    return np.asarray((top[-1] - top[-2]) / (own.game.payoff_range or 1.0))


def aligned(own: Instrument, k: int, lam: float, scale: str = DEFAULT_SCALE) -> bool:
    """Whether what level k does is the only payoff-maximising reply to a quantal opponent of level k - 1."""
    utility = own.game.payoffs[0] @ opponent(own, k - 1, lam, scale)
    target = sequence(own, k).actions[k]
    return [own.values[0][a] for a in best(utility, own.tolerance)] == [target]


def faults(certificate: Certificate, source: Game | Instrument) -> list[str]:
    """Entries of a certificate that do not hold for a game, in words; none for a good one."""
    made = {"family": certificate.family, "parameters": certificate.parameters}
    found = certify(source, certificate.lam, certificate.scale, **made)
    wrong = []
    for field in dataclasses.fields(Certificate):
        said, true = getattr(certificate, field.name), getattr(found, field.name)
        same = abs(said - true) <= CLOSE if isinstance(said, float) and isinstance(true, float) else said == true
        if not same:
            wrong.append(f"{field.name} is {_shown(true)}, the certificate says {_shown(said)}")
    return wrong


def _shown(value: Any) -> str:
    return (
        ", ".join(map(str, value))
        if isinstance(value, tuple)
        else f"{value:.6g}"
        if isinstance(value, float)
        else str(value)
    )


def read_certificates(path: str | Path) -> list[tuple[Certificate, Game]]:
    """The certificates of a games file, each with its game; none where the file has none.

    Raises DataError where the file is no games file or a certificate is not whole.
    """
    games = read_games(path)
    with Path(path).open("rb") as file:
        tables = tomllib.load(file).get("certificate", [])
    return [_one(table, number, games, str(path)) for number, table in enumerate(tables, 1)]


def _one(table: dict[str, Any], number: int, games: dict[str, Game], where: str) -> tuple[Certificate, Game]:
    here = f"{where}, certificate {number}"
    known = {field.name: field for field in dataclasses.fields(Certificate)}
    unknown = [name for name in table if name not in known]
    missing = [n for n, f in known.items() if n not in table and f.default is dataclasses.MISSING]
    if unknown or missing:
        words = f"unknown entry '{unknown[0]}'" if unknown else f"'{missing[0]}' is missing"
        raise DataError(words, where=here, fix=f"Entries are {', '.join(known)}")
    if table["game"] not in games:
        raise DataError(f"there is no game '{table['game']}' in the file", where=here)
    clean: dict[str, Any] = {name: tuple(v) if isinstance(v, list) else v for name, v in table.items()}
    for name in ("lam", "margin"):
        if isinstance(clean[name], bool) or not isinstance(clean[name], int | float):
            raise DataError(f"{name} must be a number, not {clean[name]!r}", where=here)
        clean[name] = float(clean[name])
    return Certificate(**clean), games[str(table["game"])]


def certified_toml(pairs: Iterable[tuple[Certificate, Game]], title: str) -> str:
    """Games with their certificates as the text of one TOML games file."""
    lines = ["[set]", f"title = {json.dumps(title)}", ""]
    for certificate, game in pairs:
        lines += [game_to_toml(game), "[[certificate]]"]
        for name, value in dataclasses.asdict(certificate).items():
            entry = list(value) if isinstance(value, tuple) else value
            lines.append(f"{name} = {json.dumps(entry, ensure_ascii=False)}")
        lines.append("")
    return "\n".join(lines).rstrip() + "\n"
