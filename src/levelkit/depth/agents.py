"""Logs with planted behaviour: agents whose rules are known, to see that scoring and estimates find them.

Each cell (model, game, condition, target depth, precision) holds every agent in exact proportion to its share, so that
planted rates are rates of the log and not only of the population it was drawn from; histories are random.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from levelkit.depth.draws import histories
from levelkit.depth.instruments import STUDY_GAMES, Instrument, instrument
from levelkit.depth.quantal import DEFAULT_SCALE
from levelkit.depth.sequences import Sequence as Iterated
from levelkit.depth.sequences import best, sequence
from levelkit.depth.trialrules import DEEPEST, MENTALIZING, SCHEMA
from levelkit.errors import UsageError

AGENTS = ("accurate", "one short", "extrapolating", "maximising", "random")
"""What an agent does: a^(k); a^(k - 1); arithmetic from the first two levels; the best reply to the history (a^(k)
where there is none); anything.
"""

PLAN: dict[str, dict[str, float]] = {
    "agent-a": {"accurate": 0.55, "one short": 0.15, "extrapolating": 0.1, "maximising": 0.15, "random": 0.05},
    "agent-b": {"accurate": 0.2, "one short": 0.55, "extrapolating": 0.05, "maximising": 0.1, "random": 0.1},
    "agent-c": {"accurate": 0.15, "one short": 0.05, "extrapolating": 0.1, "maximising": 0.65, "random": 0.05},
    "agent-d": {"accurate": 0.3, "one short": 0.1, "extrapolating": 0.4, "maximising": 0.1, "random": 0.1},
}


@dataclass(frozen=True, eq=False)
class SyntheticLog:
    """records: a log of schema levelk-trial/1. planted: trial_id, model, agent and what was planted for each trial."""

    records: tuple[Mapping[str, Any], ...]
    planted: pd.DataFrame


def simulate_log(
    plan: Mapping[str, Mapping[str, float]] = PLAN,
    *,
    games: Sequence[str] = STUDY_GAMES,
    k_targets: Sequence[int] = range(1, DEEPEST + 1),
    lam: Sequence[float] = (1.0, 3.0, 10.0),
    reps: int = 20,
    mentalizing: tuple[float, float] = (0.5, 0.25),
    ungrounded: float = 0.05,
    lost: int = 13,
    seed: int = 0,
) -> SyntheticLog:
    """A log of len(plan) x len(games) x len(k_targets) x (1 + len(lam)) x reps trials (12,800 by default).

    plan: shares of `AGENTS` for each model; reps times a share must be whole. mentalizing: its rate where the scored
    action is taken, and elsewhere. ungrounded: share of quotes that are not in the transcript. lost: trials that end
    in an error, spread at random. Raises UsageError where shares do not fit.
    """
    rng = np.random.default_rng(seed)
    known = {name: instrument(name) for name in games}
    told = {name: sequence(own, DEEPEST) for name, own in known.items()}
    drawn = histories(games, k_targets, lam, seed=seed)
    past = {
        (row["game"], row["k_target"], row["lambda"]): _Past.of(known[str(row["game"])], row)
        for row in drawn.to_dict("records")
    }
    records: list[dict[str, Any]] = []
    planted: list[dict[str, Any]] = []
    for model, shares in plan.items():
        team = _team(model, shares, reps)
        for game in known:
            for k in k_targets:
                for precision in (None, *lam):
                    seen = past.get((game, k, precision))
                    for rep, agent in enumerate(rng.permutation(team)):
                        one = _trial(told[game], str(agent), k, seen, rng, mentalizing, ungrounded)
                        name = f"{model}-{game}-{k}-{'rec' if precision is None else f'{precision:g}'}-{rep}"
                        head = {"schema": SCHEMA, "trial_id": name, "model": model, "game": game}
                        records.append({**head, "k_target": k, "rep": rep, **one})
                        planted.append({"trial_id": name, "model": model, "agent": str(agent), "lost": False})
    for i in rng.choice(len(records), size=lost, replace=False) if lost else ():
        records[i] |= {"status": "api_error", "action": None}
        planted[i]["lost"] = True
    return SyntheticLog(tuple(records), pd.DataFrame(planted))


def _team(model: str, shares: Mapping[str, float], reps: int) -> list[str]:
    unknown = [name for name in shares if name not in AGENTS]
    if unknown:
        raise UsageError(f"there is no agent {unknown[0]!r}; there are {', '.join(AGENTS)}")
    many = {name: round(share * reps) for name, share in shares.items()}
    if sum(many.values()) != reps or any(abs(many[n] - s * reps) > 1e-6 for n, s in shares.items()):
        raise UsageError(f"{model}: {reps} trials a cell cannot be divided by the shares; they must sum to one")
    return [name for name, count in many.items() for _ in range(count)]


@dataclass(frozen=True)
class _Past:
    """A history, what it is called, its action counts and the first of the best replies to it."""

    lam: float
    name: str
    history: list[int]
    support: list[tuple[int, int]]
    reply: int

    @classmethod
    def of(cls, own: Instrument, row: Mapping[Any, Any]) -> _Past:
        values = [int(v) for v in own.values[0]]
        counts = np.array([row["history"].count(v) for v in values])
        reply = values[best(own.game.payoffs[0] @ (counts / counts.sum()), own.tolerance)[0]]
        support = [(v, int(n)) for v, n in zip(values, counts, strict=True) if n]
        return cls(row["lambda"], row["history_id"], row["history"], support, reply)


def _trial(
    told: Iterated,
    agent: str,
    k: int,
    past: _Past | None,
    rng: np.random.Generator,
    mentalizing: tuple[float, float],
    ungrounded: float,
) -> dict[str, Any]:
    """One record without its head: what the agent does, writes and is quoted with."""
    right = [int(a) for a in told.actions[: k + 1] if a is not None]
    condition = "recursive" if past is None else "inductive"
    action, chain = right[-1], right[:-1]
    support: list[tuple[int, int]] = []
    if agent == "one short":
        action, chain = right[-2], right[:-2]
    elif agent == "extrapolating":
        guess = told.extrapolated(k)
        action, chain = guess[-1], list(guess[:-1])
    elif agent == "maximising" and past is not None:
        action, chain, support = past.reply, [], past.support
    elif agent == "random":
        action, chain = int(rng.choice(told.instrument.values[0])), []
    written = [f"level {level} plays {value}" for level, value in enumerate(chain)]
    cot = f"I think it through: {', then '.join(written) or 'hard to say'}. I choose {action}."
    quoted = [q if rng.random() >= ungrounded else f"surely {q}" for q in written]
    judge: dict[str, Any] = {
        "final_belief_point": chain[-1] if chain else None,
        "belief_support": [{"value": v, "weight": w} for v, w in support],
        MENTALIZING[condition]: bool(rng.random() < mentalizing[0 if action == right[-1] else 1]),
    }
    if condition == "recursive":
        entries = zip(chain, quoted, strict=True)
        judge["chain"] = [{"value": v, "attributed_to": f"L{i}", "quote": q} for i, (v, q) in enumerate(entries)]
    one: dict[str, Any] = {"condition": condition, "lambda": None, "status": "ok", "action": action}
    one |= {"cot": cot, "judge": judge}
    if past is not None:
        one |= {"lambda": past.lam, "history": past.history, "history_id": past.name, "payoff_scale": DEFAULT_SCALE}
    return one
