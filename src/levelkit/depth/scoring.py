"""What each trial shows: depth of the action, depth of the stated belief, and whether the two fit each other.

Definitions follow Zhang & Sarkar 2026, appendix A and D. Where the study leaves a choice open or makes one that hides
something, the frame holds both: `k_l` and `k_l_proper`, `within_one` and `within_one_set`.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from levelkit.depth.certificates import aligned
from levelkit.depth.draws import DRAWS
from levelkit.depth.instruments import Instrument
from levelkit.depth.quantal import DEFAULT_SCALE, SCALES
from levelkit.depth.quotes import SHORT, grounded, normal, quotes
from levelkit.depth.sequences import best, mixture
from levelkit.depth.trialrules import DEEPEST, MENTALIZING
from levelkit.depth.trials import Trials, read_trials
from levelkit.depth.windows import AMBIGUOUS, RESOLVED, Window
from levelkit.games import Game

_INTEGER = re.compile(r"[+-]?\d+")
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


def coerce_action(raw: object, own: Instrument) -> tuple[Any, str]:
    """A submission as a number and what it is: ok, ok_string_integer, non_integer, unparseable, out_of_range,
    boolean_rejected or no_submission. Actions that are labels are taken as they are.

    >>> from levelkit.depth.instruments import instrument
    >>> [coerce_action(raw, instrument("m1120")) for raw in (58.0, "58", 58.5, 71)]
    [(58, 'ok'), (58, 'ok_string_integer'), (None, 'non_integer'), (71, 'out_of_range')]
    """
    if raw is None:
        return None, "no_submission"
    if isinstance(raw, bool):
        return None, "boolean_rejected"
    if own.index(raw) is not None and isinstance(raw, str):
        return raw, "ok"
    value, status = raw, "ok"
    if isinstance(raw, str):
        text = raw.strip()
        if not _NUMBER.fullmatch(text):
            return None, "unparseable"
        if not _INTEGER.fullmatch(text):
            return None, "non_integer" if not float(text).is_integer() else "unparseable"
        value, status = int(text), "ok_string_integer"
    elif isinstance(raw, float):
        if not raw.is_integer():
            return None, "non_integer"
        value = int(raw)
    return (value, status) if own.index(value) is not None else (value, "out_of_range")


@dataclass(frozen=True, eq=False)
class _Scorer:
    """One game's tables, made once: depths, targets, best replies."""

    own: Instrument

    @cached_property
    def window(self) -> Window:
        """Depths 0 to 10, in which actions are looked up."""
        return Window.of(self.own, 0, DEEPEST)

    @cached_property
    def beliefs(self) -> Window:
        """Depths in which beliefs are looked up by the proper convention: to K_max only, so that the anchor counts."""
        return Window.of(self.own, 0, min(DEEPEST, self.window.sequence.k_max))

    def target(self, k: int) -> Any:
        """a^(k)."""
        return self.window.sequence.actions[k]

    @cached_property
    def replies(self) -> tuple[frozenset[int], ...]:
        """Places of the best replies to each action."""
        table = self.own.game.payoffs[0]
        return tuple(frozenset(best(table[:, a], self.own.tolerance)) for a in range(table.shape[1]))

    def is_reply(self, action: object, belief: object) -> bool:
        """Whether an action is a best reply to a belief; never to what is no action of the game."""
        a, b = self.own.index(action), self.own.index(belief)
        return a is not None and b is not None and a in self.replies[b]


@lru_cache(maxsize=4096)
def _aligned(own: Instrument, k: int, lam: float, scale: str) -> bool:
    """As `aligned`, once for each cell."""
    return aligned(own, k, lam, scale)


def score(
    source: Trials | str | Path | Iterable[Mapping[str, Any]], games: Sequence[str | Game | Instrument] = ()
) -> pd.DataFrame:
    """One row per trial, in the order of the log.

    Columns: trial_id, model, game, condition, k_target, opponent_level, lambda, rep, status, history_id, action,
    action_status, correct_action; k_b, k_b_status (depth of the action), k_l, k_l_status (one above the depth of the
    stated belief), k_l_proper; accurate, within_one, within_one_set, alias_11; counted, reason, counted_proper;
    br_point, br_support, br_any, br_all, br (support if stated, else point), br_used; chain_m, chain_steps, chain_ok,
    chain_repeats, includes_own_action, starts_at_anchor; quotes, quotes_grounded, quotes_short; mentalizing;
    eu_best_vs_history, eu_consistent, eu_regret (payoff units); aligned; payoff_scale; extrapolated (what arithmetic
    from the first two levels gives) and one_short, both as truths.
    A missing truth is None. Raises DataError where nothing can be read.
    """
    trials = source if isinstance(source, Trials) else read_trials(source, games)
    scorers = {name: _Scorer(own) for name, own in trials.games.items()}
    rows = [_row(record, scorers[record["game"]]) for record in trials.records]
    frame = pd.DataFrame(rows, columns=list(COLUMNS), dtype=object)
    kinds = dict.fromkeys(_TRUTHS, "boolean") | dict.fromkeys(_WHOLE, "Int64")
    kinds |= {"lambda": "float64", "eu_regret": "float64"}
    return frame.astype(kinds)


_TRUTHS = (
    "accurate",
    "within_one",
    "within_one_set",
    "one_short",
    "extrapolated",
    "alias_11",
    "counted",
    "counted_proper",
    "br_point",
    "br_support",
    "br_any",
    "br_all",
    "br",
    "mentalizing",
    "chain_repeats",
    "includes_own_action",
    "starts_at_anchor",
    "eu_consistent",
    "aligned",
)
_WHOLE = (
    "k_target",
    "opponent_level",
    "rep",
    "k_b",
    "k_l",
    "k_l_proper",
    "chain_m",
    "chain_steps",
    "chain_ok",
    "quotes",
    "quotes_grounded",
    "quotes_short",
)
COLUMNS = (
    "trial_id",
    "model",
    "game",
    "condition",
    "k_target",
    "lambda",
    "rep",
    "status",
    "opponent_level",
    "history_id",
    "payoff_scale",
    "action",
    "action_status",
    "correct_action",
    "k_b",
    "k_b_status",
    "accurate",
    "within_one",
    "within_one_set",
    "one_short",
    "extrapolated",
    "alias_11",
    "counted",
    "reason",
    "counted_proper",
    "belief",
    "k_l",
    "k_l_status",
    "k_l_proper",
    "br_point",
    "br_support",
    "br_any",
    "br_all",
    "br",
    "br_used",
    "mentalizing",
    "chain_m",
    "chain_steps",
    "chain_ok",
    "chain_repeats",
    "includes_own_action",
    "starts_at_anchor",
    "quotes",
    "quotes_grounded",
    "quotes_short",
    "eu_best_vs_history",
    "eu_consistent",
    "eu_regret",
    "aligned",
)
"""Columns of a scored log."""


def _row(record: Mapping[str, Any], scorer: _Scorer) -> dict[str, Any]:
    k, lam = record["k_target"], record.get("lambda")
    scale = record.get("payoff_scale") if record.get("payoff_scale") in SCALES else DEFAULT_SCALE
    history = record.get("history")
    cell = f"{record['game']}-{record['condition']}-k{k}-lam{lam}"
    row: dict[str, Any] = {
        name: record.get(name)
        for name in ("trial_id", "model", "game", "condition", "k_target", "lambda", "rep", "status")
    }
    row["opponent_level"] = k - 1
    row["history_id"] = record.get("history_id") or (cell if history else None)
    row["payoff_scale"] = scale if lam is not None else None
    row |= _behaviour(record, scorer, k)
    row |= _language(record, scorer, row["action"], row["action_status"])
    row |= _payoffs(scorer, row["action"], history)
    # without noise the action that is scored is the best reply by construction
    row["aligned"] = True if lam is None else _aligned(scorer.own, k, float(lam), str(scale))
    return row


def _behaviour(record: Mapping[str, Any], scorer: _Scorer, k: int) -> dict[str, Any]:
    """What the action alone shows."""
    own, window = scorer.own, scorer.window
    failed = record["status"] != "ok"
    action, status = (None, "no_submission") if failed else coerce_action(record.get("action"), own)
    status = "ok" if status == "ok_string_integer" else status
    target = scorer.target(k)
    submitted = status != "no_submission"
    k_b, k_b_status = window.resolve(action) if action is not None or not submitted else (None, "unmatched")
    matches = window.match(action)
    lost = record["status"] == "api_error"
    unreadable = target in window.ambiguous
    guess = window.sequence.extrapolated(k)[k] if own.is_ordered else None
    reason = "api_error" if lost else f"{own.name}_k{k}_excluded" if unreadable else None
    return {
        "action": action,
        "action_status": status,
        "correct_action": target,
        "k_b": k_b,
        "k_b_status": k_b_status,
        "accurate": None if lost else action == target and status == "ok",
        "within_one": None if lost or unreadable else k_b is not None and abs(k_b - k) <= 1,
        "within_one_set": None if lost else any(abs(depth - k) <= 1 for depth in matches),
        "one_short": None if lost else k_b is not None and k_b == k - 1,
        "extrapolated": None if lost or guess is None else action == guess,
        "alias_11": action is not None and action == window.beyond and bool(matches),
        "counted": reason is None,
        "reason": reason,
        # proper: uniform opponents (inductive, k = 1) have no level to be replied to
        "counted_proper": reason is None and not (record["condition"] == "inductive" and k == 1),
    }


def _language(record: Mapping[str, Any], scorer: _Scorer, action: Any, status: str) -> dict[str, Any]:
    """What the judge extracted from the transcript, and whether the action fits it."""
    judge = record.get("judge") or {}
    own = scorer.own
    point, _ = coerce_action(judge.get("final_belief_point"), own)
    depth, found = scorer.window.resolve(point)
    if judge.get("final_belief_ambiguous") and point is None:
        found = AMBIGUOUS
    proper, _ = scorer.beliefs.resolve(point)
    played = status in ("ok", "out_of_range")
    br_point = scorer.is_reply(action, point) if played and point is not None else None
    candidates = [v for v, _ in (coerce_action(c, own) for c in judge.get("final_belief_candidates") or [])]
    each = [scorer.is_reply(action, c) for c in candidates] if played and candidates else []
    br_support = _supported(own, action, judge.get("belief_support") or []) if played else None
    used = "support" if br_support is not None else "point" if br_point is not None else "none"
    name = MENTALIZING[record["condition"]]
    other = next(n for n in MENTALIZING.values() if n != name)
    mentalizing = judge.get(name) if judge.get(name) is not None else judge.get(other)
    return {
        "belief": point,
        "k_l": None if depth is None else depth + 1,
        "k_l_status": found if found != RESOLVED or depth is not None else AMBIGUOUS,
        "k_l_proper": None if proper is None else proper + 1,
        "br_point": br_point,
        "br_support": br_support,
        "br_any": any(each) if each else br_point,
        "br_all": all(each) if each else br_point,
        "br": br_support if br_support is not None else br_point,
        "br_used": used,
        "mentalizing": mentalizing if isinstance(mentalizing, bool) else None,
        **_chain(judge.get("chain") or [], scorer, action),
        **_grounding(judge, record.get("cot") or ""),
    }


def _supported(own: Instrument, action: Any, support: list[Mapping[str, Any]]) -> bool | None:
    """Whether the action maximises expected payoff under the stated distribution; None where there is none, or
    where it holds what is no action.
    """
    pairs = [(coerce_action(entry.get("value"), own)[0], float(entry["weight"])) for entry in support]
    if not pairs or any(own.index(value) is None for value, _ in pairs):
        return None
    utility = own.game.payoffs[0] @ mixture(own, pairs, 0)
    return own.index(action) in best(utility, own.tolerance)


def _chain(chain: list[Mapping[str, Any]], scorer: _Scorer, action: Any) -> dict[str, Any]:
    """Length and steps of the written run of actions; a step is right if it is a best reply to the one before."""
    values = [coerce_action(entry.get("value"), scorer.own)[0] for entry in chain]
    steps = [scorer.is_reply(after, before) for before, after in itertools.pairwise(values)]
    return {
        "chain_m": len(values),
        "chain_steps": len(steps),
        "chain_ok": sum(steps),
        "chain_repeats": len(set(values)) < len(values),
        "includes_own_action": bool(values) and len(values) > 1 and action is not None and values[-1] == action,
        "starts_at_anchor": bool(values) and values[0] == scorer.target(0),
    }


def _grounding(judge: Mapping[str, Any], text: str) -> dict[str, int]:
    every = list(quotes(judge))
    found = [q for q in every if grounded(q, text)]
    return {
        "quotes": len(every),
        "quotes_grounded": len(found),
        "quotes_short": sum(len(normal(q)) < SHORT for q in found),
    }


def _payoffs(scorer: _Scorer, action: Any, history: list[Any] | None) -> dict[str, Any]:
    """Whether the action maximises payoff against the history that the player saw."""
    own = scorer.own
    if not history:
        return {"eu_best_vs_history": None, "eu_consistent": None, "eu_regret": math.nan}
    counts = np.bincount([own.require(v) for v in history], minlength=len(own.values[0]))
    utility = own.game.payoffs[0] @ (counts / DRAWS)
    top = best(utility, own.tolerance)
    place = own.index(action)
    return {
        "eu_best_vs_history": [own.values[0][a] for a in top],
        "eu_consistent": None if action is None else place in top,
        "eu_regret": math.nan if place is None else float(utility.max() - utility[place]),
    }
