"""The rules of the trial log, schema levelk-trial/1: what is wrong with one record, by code.

A record with an E_ code is set aside; W_ codes are told and the record is scored. Codes of a whole file (E_DUP_ID,
E_DUP_CELL_REP, W_REP_REUSED) need the other records and are found in `trials`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from levelkit.depth.draws import DRAWS
from levelkit.depth.instruments import Instrument
from levelkit.depth.quantal import SCALES
from levelkit.depth.quotes import grounded, quotes

SCHEMA = "levelk-trial/1"
CONDITIONS = ("recursive", "inductive")
STATUSES = ("ok", "no_submission", "turn_cap", "refusal", "api_error")
DEEPEST = 10
REQUIRED = ("trial_id", "model", "game", "condition", "k_target", "rep", "status")
OPTIONAL = (
    "schema",
    "opponent_level",
    "lambda",
    "action",
    "history",
    "history_id",
    "history_calls",
    "payoff_scale",
    "cot",
    "provider",
    "temperature",
    "top_p",
    "max_tokens",
    "turns",
    "reasoning",
    "judge",
)
MENTALIZING = {"recursive": "opponent_models_me", "inductive": "spurious_recursion"}

CODES = {
    "E_JSON": "not a JSON object",
    "E_ENCODING": "not UTF-8",
    "E_NONFINITE": "NaN or Infinity, which JSON does not have",
    "E_SCHEMA": f"the schema is not {SCHEMA}",
    "E_MISSING": "a required field is missing or empty",
    "E_TYPE": "a field has the wrong type",
    "E_GAME": "an unknown game",
    "E_CONDITION": "the condition is neither recursive nor inductive",
    "E_KTYPE": "k_target is not a whole number",
    "E_KRANGE": "k_target is out of range",
    "E_LEVEL_MISMATCH": "opponent_level is not k_target - 1",
    "E_LAMBDA": "lambda must be null in recursive trials, a positive number in inductive ones",
    "E_STATUS": "an unknown status",
    "E_ACTION_BOOL": "the action is true or false",
    "E_HISTORY_LEN": f"the history does not hold {DRAWS} actions",
    "E_HISTORY_VALUE": "the history holds what is no action of the game",
    "E_SUPPORT_WEIGHT": "a weight of the stated belief is not a positive number",
    "E_SUPPORT_ZERO": "a weight of the stated belief is zero",
    "E_DUP_ID": "the trial_id occurred before",
    "E_DUP_CELL_REP": "the same trial again: its cell, number and content occurred before",
    "W_REP_REUSED": "the number rep occurred before in this cell, with another content; kept",
    "W_EMPTY_LINE": "an empty line",
    "W_ACTION_ON_ERROR": "an action although the status says that there was none; not scored",
    "W_ACTION_NULL": "status ok but no action; counted as wrong",
    "W_HISTORY_MISSING": "an inductive trial without its history; payoff-consistency cannot be scored",
    "W_SCALE_MISSING": "the payoff scale of the history is not stated, or unknown; taken to be belief_range",
    "W_QUOTE_UNGROUNDED": "a quote of the judge does not occur in the transcript",
    "W_QUOTE_EMPTY": "a quote of the judge is empty",
    "W_MENTALIZING_FIELD": "the mentalizing field of the other condition; taken for this one's",
    "W_UNKNOWN_FIELD": "an unknown field; kept, not scored",
}
"""Every code and what it means. E: the record is not scored. W: it is."""

Finding = tuple[str, str, object]  # code, field, value


def faults(record: Mapping[str, Any], games: Mapping[str, Instrument]) -> list[Finding]:
    """Everything wrong with a record taken alone; games: instruments by name."""
    if record.get("schema") != SCHEMA:
        return [("E_SCHEMA", "schema", record.get("schema"))]
    missing = [name for name in REQUIRED if record.get(name) is None or record.get(name) == ""]
    found: list[Finding] = [("E_MISSING", name, None) for name in missing]
    if missing:
        return found
    found += _basics(record, games)
    if any(code in ("E_TYPE", "E_GAME", "E_CONDITION") for code, _, _ in found):
        return found
    own = games[record["game"]]
    found += _depth(record)
    found += _action(record)
    found += _history(record, own)
    found += _judge(record)
    found += [("W_UNKNOWN_FIELD", n, n) for n in record if n not in REQUIRED and n not in OPTIONAL]
    return found


def _basics(record: Mapping[str, Any], games: Mapping[str, Instrument]) -> Iterator[Finding]:
    for name in ("trial_id", "model"):
        if not isinstance(record[name], str):
            yield "E_TYPE", name, record[name]
    rep = record["rep"]
    if isinstance(rep, bool) or not isinstance(rep, int) or rep < 0:
        yield "E_TYPE", "rep", rep
    for name, kind in (("cot", str), ("judge", dict)):
        if record.get(name) is not None and not isinstance(record[name], kind):
            yield "E_TYPE", name, record[name]
    if not isinstance(record["game"], str) or record["game"] not in games:
        yield "E_GAME", "game", record["game"]
    if record["condition"] not in CONDITIONS:
        yield "E_CONDITION", "condition", record["condition"]
    if record["status"] not in STATUSES:
        yield "E_STATUS", "status", record["status"]


def _depth(record: Mapping[str, Any]) -> Iterator[Finding]:
    k, level, lam = record["k_target"], record.get("opponent_level"), record.get("lambda")
    if isinstance(k, bool) or not isinstance(k, int):
        yield "E_KTYPE", "k_target", k
    elif not 1 <= k <= DEEPEST:
        yield "E_KRANGE", "k_target", k
    elif level is not None and (isinstance(level, bool) or level != k - 1):
        yield "E_LEVEL_MISMATCH", "opponent_level", level
    if record["condition"] == "recursive":
        bad = lam is not None
    else:
        bad = isinstance(lam, bool) or not isinstance(lam, int | float) or not (math.isfinite(lam) and lam > 0)
    if bad:
        yield "E_LAMBDA", "lambda", lam


def _action(record: Mapping[str, Any]) -> Iterator[Finding]:
    action = record.get("action")
    if isinstance(action, bool):
        yield "E_ACTION_BOOL", "action", action
    elif isinstance(action, float) and not math.isfinite(action):
        yield "E_NONFINITE", "action", action
    elif action is not None and not isinstance(action, int | float | str):
        yield "E_TYPE", "action", action
    elif record["status"] != "ok" and action is not None:
        yield "W_ACTION_ON_ERROR", "action", action
    elif record["status"] == "ok" and action is None:
        yield "W_ACTION_NULL", "action", action


def _history(record: Mapping[str, Any], own: Instrument) -> Iterator[Finding]:
    history = record.get("history")
    if history is None:
        if record["condition"] == "inductive" and record["status"] != "api_error":
            yield "W_HISTORY_MISSING", "history", None
        return
    if not isinstance(history, list) or len(history) != DRAWS:
        yield "E_HISTORY_LEN", "history", len(history) if isinstance(history, list) else history
        return
    strange = [v for v in history if own.index(v) is None]
    if strange:
        yield "E_HISTORY_VALUE", "history", strange[0]
    elif record.get("payoff_scale") not in SCALES:
        yield "W_SCALE_MISSING", "payoff_scale", record.get("payoff_scale")


def _judge(record: Mapping[str, Any]) -> Iterator[Finding]:
    judge = record.get("judge")
    if not judge:
        return
    yield from _belief(judge)
    chain = judge.get("chain")
    if chain is not None and not _entries(chain):
        yield "E_TYPE", "judge.chain", chain
    condition = record["condition"]
    other = MENTALIZING["inductive" if condition == "recursive" else "recursive"]
    if judge.get(other) is not None and judge.get(MENTALIZING[condition]) is None:
        yield "W_MENTALIZING_FIELD", f"judge.{other}", other
    for quote in quotes(judge):
        if not isinstance(quote, str) or not quote.strip():
            yield "W_QUOTE_EMPTY", "judge", quote
        elif not grounded(quote, record.get("cot") or ""):
            yield "W_QUOTE_UNGROUNDED", "judge", quote


def _belief(judge: Mapping[str, Any]) -> Iterator[Finding]:
    point = judge.get("final_belief_point")
    if isinstance(point, bool) or not (point is None or isinstance(point, int | float | str)):
        yield "E_TYPE", "judge.final_belief_point", point
    candidates = judge.get("final_belief_candidates")
    if candidates is not None and not isinstance(candidates, list):
        yield "E_TYPE", "judge.final_belief_candidates", candidates
    support = judge.get("belief_support")
    if support is None:
        return
    if not _entries(support):
        yield "E_TYPE", "judge.belief_support", support
        return
    for entry in support:
        weight = entry.get("weight")
        if isinstance(weight, bool) or not isinstance(weight, int | float) or not math.isfinite(weight) or weight < 0:
            yield "E_SUPPORT_WEIGHT", "judge.belief_support", weight
        elif weight == 0:
            yield "E_SUPPORT_ZERO", "judge.belief_support", weight


def _entries(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(entry, dict) for entry in value)
