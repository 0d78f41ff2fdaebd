"""How trials divide among rules of behaviour that may lead to the same action: a mixture, estimated by EM.

An action may be what several rules say (in the 11-20 game arithmetic is right at every depth), so that counting
matches does not give shares of rules. Each trial has a likelihood under each rule: 1 / m if its action is among m that
the rule allows, 0 if not; `random` is uniform over the actions. The log-likelihood is concave in the shares.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from levelkit.depth.agents import AGENTS
from levelkit.depth.instruments import Array, Instrument
from levelkit.depth.rates import CLUSTER
from levelkit.depth.scoring import score
from levelkit.depth.sequences import sequence
from levelkit.depth.trialrules import DEEPEST
from levelkit.depth.trials import Trials, read_trials
from levelkit.errors import UsageError

_STEPS = 3000
_STILL = 1e-10
_NIL = 1e-4


def behaviours(
    source: Trials | str | Path | Iterable[Mapping[str, Any]],
    by: Sequence[str] = ("model",),
    *,
    level: float = 0.95,
    replicates: int = 400,
    seed: int = 0,
) -> pd.DataFrame:
    """Shares of rules of behaviour: the `by` columns, behaviour, share, low, high, status, n, clusters.

    Intervals: percentiles of the bootstrap of whole cells or of single trials, the wider of the two. status: "ok",
    "boundary" (a share of nothing or everything), "flat" (the rules cannot be told apart in these trials: the
    likelihoods have less rank than there are rules).
    Trials without an action, lost ones, and games whose actions are no numbers are left out; no rows where nothing is
    left. Raises UsageError for an unknown column.
    """
    trials = source if isinstance(source, Trials) else read_trials(source)
    frame = score(trials)
    ordered = [name for name, own in trials.games.items() if own.is_ordered]
    keep = (frame["status"] == "ok") & frame["action"].notna() & frame["game"].isin(ordered)
    frame = frame[keep].reset_index(drop=True)
    unknown = [name for name in by if name not in frame.columns]
    if unknown:
        raise UsageError(f"by names {unknown[0]!r}, which is no column of scored trials")
    columns = [*by, "behaviour", "share", "low", "high", "status", "n", "clusters"]
    if not len(frame):
        return pd.DataFrame(columns=columns)
    table = _likelihoods(frame, trials.games)
    groups = frame.groupby(list(by), dropna=False, sort=False) if by else [((), frame)]
    rows = []
    for key, part in groups:
        codes = part.groupby(list(CLUSTER), dropna=False).ngroup().to_numpy()
        rows += _fit(dict(zip(by, key, strict=True)), table[part.index], codes, level, replicates, seed)
    return pd.DataFrame(rows, columns=columns)


def _likelihoods(frame: pd.DataFrame, games: Mapping[str, Instrument]) -> Array:
    """(trials, rules)."""
    told = {name: sequence(own, DEEPEST) for name, own in games.items() if own.is_ordered}
    table = np.zeros((len(frame), len(AGENTS)))
    row: Any
    for i, row in enumerate(frame.itertuples()):
        actions = told[row.game].actions
        k = int(row.k_target)
        best = row.eu_best_vs_history or [row.correct_action]
        allowed = ([actions[k]], [actions[k - 1]], [told[row.game].extrapolated(k)[k]], best)
        for rule, listed in enumerate(allowed):
            table[i, rule] = (row.action in listed) / len(listed)
        table[i, -1] = 1 / len(games[row.game].values[0])
    return table


def _fit(
    key: dict[str, Any], table: Array, codes: Array, level: float, replicates: int, seed: int
) -> list[dict[str, Any]]:
    patterns, which = np.unique(table, axis=0, return_inverse=True)
    many = np.zeros((codes.max() + 1, len(patterns)))
    np.add.at(many, (codes, which.ravel()), 1.0)
    shares = _em(patterns, many.sum(axis=0)[None])[0]
    rng = np.random.default_rng(seed)
    cells = rng.multinomial(len(many), np.full(len(many), 1 / len(many)), size=replicates) @ many
    trials = rng.multinomial(len(table), many.sum(axis=0) / len(table), size=replicates).astype(float)
    tails = [(1 - level) / 2, (1 + level) / 2]
    ends = np.stack([np.quantile(_em(patterns, w, shares), tails, axis=0) for w in (cells, trials)])
    wider = (ends[:, 1] - ends[:, 0]).argmax(axis=0)
    low, high = (ends[wider, end, np.arange(len(AGENTS))] for end in (0, 1))
    flat = np.linalg.matrix_rank(patterns) < len(AGENTS)
    rows = []
    for rule, name in enumerate(AGENTS):
        status = "flat" if flat else "boundary" if min(shares[rule], 1 - shares[rule]) < _NIL else "ok"
        told = (shares[rule], low[rule], high[rule]) if not flat else (np.nan, 0.0, 1.0)
        row = {**key, "behaviour": name, **dict(zip(("share", "low", "high"), map(float, told), strict=True))}
        rows.append({**row, "status": status, "n": len(table), "clusters": len(many)})
    return rows


def _em(patterns: Array, weights: Array, start: Array | None = None) -> Array:
    """Shares (R, rules) that maximise sum_i w_i log(L_i . share) for each row of weights (R, patterns)."""
    size = patterns.shape[1]
    first = np.full(size, 1 / size) if start is None else 0.98 * start + 0.02 / size
    shares = np.tile(first, (len(weights), 1))
    total = weights.sum(axis=1, keepdims=True)
    for _ in range(_STEPS):
        mixed = shares @ patterns.T
        new = shares * ((weights / np.maximum(mixed, 1e-300)) @ patterns) / total
        moved = np.abs(new - shares).max()
        shares = new
        if moved < _STILL:
            break
    return shares
