"""What could be had at best in a cell, and what a payoff maximiser would do there.

In an inductive trial a player sees draws of a quantal opponent of level k - 1 and is scored by a^(k). Four reasoners:

- the ideal Bayesian knows the opponents' law and precision, and finds the level: how often is it right?
- the level plug-in replies to the level that the Bayesian found: its accuracy is the ceiling of the task
- the payoff maximiser does what pays best, against the posterior mean of opponents (`maximiser`) or against the
  observed frequencies (`empirical`): where it does not play a^(k), playing well is scored as wrong
- the mode responder replies to the most frequent action

Of equally good actions a reasoner takes the smallest, the study's rule, or each equally often (ties="split"); of
equally probable levels each.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from levelkit.depth.certificates import aligned
from levelkit.depth.draws import DRAWS
from levelkit.depth.instruments import STUDY_GAMES, Array, Instrument, instrument
from levelkit.depth.quantal import DEFAULT_SCALE, SCALES, opponent
from levelkit.depth.trialrules import DEEPEST
from levelkit.depth.trials import Trials, read_trials
from levelkit.depth.windows import Window
from levelkit.errors import DataError, UsageError
from levelkit.games import Game

REASONERS = ("plugin", "maximiser", "empirical", "mode")
LAMBDAS = (1.0, 3.0, 10.0)


def ceiling(
    source: Trials | str | Path | pd.DataFrame | None = None,
    *,
    games: Sequence[str | Game | Instrument] = STUDY_GAMES,
    k_targets: Iterable[int] = range(1, DEEPEST + 1),
    lam: float | Sequence[float] = LAMBDAS,
    known_lam: bool = True,
    scale: str = DEFAULT_SCALE,
    draws: int = DRAWS,
    ties: str = "first",
    simulations: int = 4000,
    seed: int = 0,
) -> pd.DataFrame:
    """Ceilings per cell: on the histories of a log (one row per history), or by simulation (one row per cell).

    source: a trial log, its path, or a scored-like frame with game, k_target, lambda and history; None simulates the
    cells games x k_targets x lam. known_lam: False lets the Bayesian weigh the precisions in `lam` equally.
    ties: "first" or "split". simulations: histories drawn for a cell. Prior: uniform over opponents of levels 0 to 9.

    Columns: game, k_target, lambda, payoff_scale, histories, draws, target, counted (False where a^(k) is shared by
    two depths), aligned (a^(k) is the only payoff-maximising reply to the true opponents), identified (probability
    that the most probable level is right), then for each of plugin, maximiser, empirical and mode the accuracy and
    `<name>_within_one`; in logs also history_id.
    """
    if scale not in SCALES:
        raise UsageError(f"scale = {scale!r}: choose {', '.join(SCALES)}")
    precisions = [float(lam)] if isinstance(lam, int | float) else [float(one) for one in lam]
    for name, many in (("draws", draws), ("simulations", simulations)):
        if not (isinstance(many, int) and many >= 1):
            raise UsageError(f"{name} = {many!r}: give a whole number of at least 1")
    if ties not in ("first", "split"):
        raise UsageError(f"ties = {ties!r}: choose first or split")
    if source is not None:
        return _of_log(source, games, precisions, known_lam, ties)
    rows = []
    for own in map(instrument, games):
        for k in k_targets:
            for precision in precisions:
                name = f"{own.name}-{k}-{precision:g}-{scale}-{draws}"
                rng = np.random.default_rng([seed, zlib.crc32(name.encode())])
                counts = rng.multinomial(draws, opponent(own, k - 1, precision, scale), size=simulations)
                cell = _cell(own, k, precision, scale)
                told = _reason(own, counts, k, precisions if not known_lam else [precision], scale, ties)
                rows.append({**cell, "histories": simulations, "draws": draws, **_means(told)})
    return pd.DataFrame(rows)


def _cell(own: Instrument, k: int, lam: float, scale: str) -> dict[str, Any]:
    window = Window.of(own, 0, DEEPEST)
    target = window.sequence.actions[k]
    return {
        "game": own.name,
        "k_target": k,
        "lambda": lam,
        "payoff_scale": scale,
        "target": target,
        "counted": target not in window.ambiguous,
        "aligned": aligned(own, k, lam, scale),
    }


def _means(told: Mapping[str, Array]) -> dict[str, float]:
    return {name: float(values.mean()) for name, values in told.items()}


def _reason(
    own: Instrument, counts: Array, k: int, precisions: Sequence[float], scale: str, ties: str
) -> dict[str, Array]:
    """For each history (H, A) of draws: is the level found, and is each reasoner right, or right within one."""
    levels = range(DEEPEST)
    laws = np.array([[opponent(own, level, lam, scale) for level in levels] for lam in precisions])  # (P, L, A)
    with np.errstate(divide="ignore"):
        logs = np.maximum(np.log(laws), -1e6)
    every, size = len(precisions) * DEEPEST, laws.shape[-1]
    joint = counts @ logs.reshape(every, size).T
    joint = np.exp(joint - joint.max(axis=1, keepdims=True))
    joint /= joint.sum(axis=1, keepdims=True)
    posterior = joint.reshape(len(counts), -1, DEEPEST).sum(axis=1)  # (H, L)
    payoffs, tolerance = own.game.payoffs[0], own.tolerance
    probable = posterior >= posterior.max(axis=1, keepdims=True) * (1 - 1e-12)
    probable = probable / probable.sum(axis=1, keepdims=True)
    window = Window.of(own, 0, DEEPEST)
    plays = np.array([own.require(window.sequence.actions[level + 1]) for level in levels])
    plugin = probable @ np.eye(payoffs.shape[0])[plays]
    believed = joint @ laws.reshape(every, size)
    mode = _choice(counts.T, 0.0, ties).T
    replies = _choice(payoffs, tolerance, ties).T  # (belief, action)
    answers = {
        "plugin": plugin,
        "maximiser": _choice(payoffs @ believed.T, tolerance, ties).T,
        "empirical": _choice((payoffs @ counts.T) / counts.sum(axis=1), tolerance, ties).T,
        "mode": mode @ replies,
    }
    right = _credit(own, window, [k], k)
    near = _credit(own, window, [k - 1, k, k + 1], k)
    told: dict[str, Array] = {"identified": probable[:, k - 1]}
    for name in REASONERS:
        told[name] = answers[name] @ right
        told[f"{name}_within_one"] = answers[name] @ near
    return told


def _choice(utility: Array, tolerance: float, ties: str) -> Array:
    """All weight on the best actions (first axis): on the first of them, or split evenly."""
    top = utility >= utility.max(axis=0) - tolerance
    if ties == "first":
        top &= top.cumsum(axis=0) == 1
    return np.asarray(top / top.sum(axis=0))


def _credit(own: Instrument, window: Window, depths: Sequence[int], k: int) -> Array:
    """1 for actions that count: a^(k), or those that resolve to one of the depths."""
    credit = np.zeros(len(own.values[0]))
    if list(depths) == [k]:
        credit[own.require(window.sequence.actions[k])] = 1.0
        return credit
    for place, value in enumerate(own.values[0]):
        credit[place] = window.resolve(value)[0] in depths
    return credit


def _of_log(
    source: Trials | str | Path | pd.DataFrame,
    games: Sequence[str | Game | Instrument],
    precisions: Sequence[float],
    known_lam: bool,
    ties: str,
) -> pd.DataFrame:
    if isinstance(source, pd.DataFrame):
        records: list[dict[str, Any]] = [{str(k): v for k, v in one.items()} for one in source.to_dict("records")]
    else:
        trials = source if isinstance(source, Trials) else read_trials(source, games)
        records, games = [dict(r) for r in trials.records], list(trials.games.values())
    known = {own.name: own for own in map(instrument, games)}
    seen: dict[tuple[Any, ...], dict[str, Any]] = {}
    groups: dict[tuple[str, int, float, str], list[tuple[Any, ...]]] = {}
    for record in records:
        history, lam = record.get("history"), record.get("lambda")
        if not isinstance(history, list) or lam is None or lam != lam or record["game"] not in known:
            continue
        stated = record.get("payoff_scale")
        cell = (record["game"], int(record["k_target"]), float(lam), stated if stated in SCALES else DEFAULT_SCALE)
        key = (*cell, tuple(history))
        if key not in seen:
            seen[key] = record
            groups.setdefault(cell, []).append(key)
    if not groups:
        raise DataError("no trial has a history", fix="Ceilings on a log need inductive trials with their histories")
    rows = []
    for (name, k, lam, scale), keys in groups.items():
        own = known[name]
        size = len(own.values[0])
        counts = np.array([np.bincount([own.require(v) for v in key[-1]], minlength=size) for key in keys])
        told = _reason(own, counts, k, [lam] if known_lam else precisions, scale, ties)
        for h, key in enumerate(keys):
            row = {**_cell(own, k, lam, scale), "history_id": seen[key].get("history_id"), "histories": 1}
            rows.append({**row, "draws": len(key[-1]), **{n: float(v[h]) for n, v in told.items()}})
    return pd.DataFrame(rows)
