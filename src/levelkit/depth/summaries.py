"""A log in a few tables: accuracy beside its ceilings, signals by depth, chains, mentalizing, health of the run.

Two conventions. published: as Zhang & Sarkar 2026 compute. proper: uniform opponents (inductive, k = 1) do not count;
one rule of exclusion for all tables; beliefs are looked up to K_max only; actions that one level too many would also
give are left out of the mean depth at k = 10. Differences and reasons stand with each table.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd
from scipy.stats import t as student

from levelkit import binomial
from levelkit.depth.behaviour import behaviours
from levelkit.depth.ceilings import REASONERS, ceiling
from levelkit.depth.rates import CLUSTER, REPLICATES, mantel_haenszel, rate
from levelkit.depth.scoring import score
from levelkit.depth.trialrules import DEEPEST
from levelkit.depth.trials import Trials
from levelkit.errors import DataError, UsageError

Convention = Literal["published", "proper"]
HEADLINE_LAMBDA = 10.0
POOLED = "all"


@dataclass(frozen=True, eq=False)
class Summary:
    """Everything `levelkit depth score` shows of a log. See the functions of this module for the columns."""

    trials: Trials
    scored: pd.DataFrame
    convention: Convention
    interval: str
    level: float
    accuracy: pd.DataFrame
    rates: pd.DataFrame
    exclusion: pd.DataFrame
    mentalizing: pd.DataFrame
    signals: pd.DataFrame
    chains: pd.DataFrame
    agreement: pd.DataFrame
    behaviours: pd.DataFrame
    health: pd.DataFrame


def summarise(
    trials: Trials,
    *,
    convention: Convention = "proper",
    interval: str = "wilson",
    level: float = 0.95,
    replicates: int = REPLICATES,
    seed: int = 0,
) -> Summary:
    """All tables of a log. Raises UsageError for unknown options and DataError where no trial can be scored."""
    convention = convention_of(convention)
    if interval not in binomial.KINDS:
        raise UsageError(f"interval = {interval!r}: choose {', '.join(binomial.KINDS)}")
    if not len(trials):
        raise DataError("no trial can be scored", where=trials.where, fix="See what was set aside")
    scored = with_ceilings(score(trials), trials)
    if not len(counted(scored, convention)):
        raise DataError(
            f"none of {len(trials)} trials counts under the {convention} convention",
            where=trials.where,
            fix="Lost trials, ambiguous targets and, if proper, uniform opponents do not",
        )
    how: dict[str, Any] = {"kind": interval, "level": level, "replicates": replicates, "seed": seed}
    return Summary(
        trials,
        scored,
        convention,
        interval,
        level,
        accuracy_table(scored, convention, **how),
        rate_table(scored, convention, **how),
        exclusion_table(scored, **how),
        mentalizing_table(scored, convention, level=level),
        signal_table(scored, convention, level=level),
        chain_table(scored, level=level),
        agreement_table(scored, convention),
        behaviours(trials, level=level, seed=seed),
        health_table(trials, scored),
    )


def convention_of(word: str) -> Convention:
    """A convention by name. Raises UsageError for another."""
    if word == "published":
        return "published"
    if word == "proper":
        return "proper"
    raise UsageError(f"convention = {word!r}: choose published or proper")


def with_ceilings(scored: pd.DataFrame, trials: Trials) -> pd.DataFrame:
    """Scored trials with what reasoners would get on the very history of the trial: ceiling (level plug-in),
    identified, maximiser, empirical, mode, each also `_within_one` but identified; missing without a history.
    """
    names = ["identified", *REASONERS, *(f"{n}_within_one" for n in REASONERS)]
    seen = [i for i, r in enumerate(trials.records) if r.get("history") and r.get("lambda") is not None]
    out = scored.assign(**dict.fromkeys(names, np.nan))
    if not seen:
        return out
    key = ["game", "k_target", "lambda", "payoff_scale", "history"]
    mine = scored.iloc[seen][key[:4]].copy()
    mine["history"] = pd.Series([tuple(trials.records[i]["history"]) for i in seen], index=mine.index, dtype=object)
    mine["history_id"] = np.arange(len(mine))  # to find each history's row again
    first = mine.drop_duplicates(key)
    each = first.assign(history=first["history"].map(list))
    told = ceiling(each, games=list(trials.games.values())).set_index("history_id")
    where = mine[key].merge(first[[*key, "history_id"]], on=key, how="left")["history_id"]
    out.loc[out.index[seen], names] = told.loc[where, names].to_numpy()
    return out


def counted(scored: pd.DataFrame, convention: Convention) -> pd.DataFrame:
    """The trials that count under a convention."""
    return scored[scored["counted" if convention == "published" else "counted_proper"]]


def accuracy_table(scored: pd.DataFrame, convention: Convention, **how: Any) -> pd.DataFrame:
    """Accuracy by model, game and condition, and for all games together; one row each.

    Inductive rows have one value of lambda each. Columns: model, game, condition, lambda, n, x, accuracy, low, high
    (the wider of binomial and cluster interval), design_effect, clusters, within_one; payoff_consistent (share of
    actions that pay best against the history), aligned (share of trials whose scored action a payoff maximiser would
    take), ceiling (accuracy of an ideal reasoner), maximiser and maximiser_within_one (accuracy of a payoff maximiser
    who replies to the observed frequencies), mode.
    """
    kept = counted(scored, convention)
    near = "within_one" if convention == "published" else "within_one_set"
    rows = []
    for (model, condition, lam), part in kept.groupby(["model", "condition", "lambda"], dropna=False, sort=False):
        for game in [*dict.fromkeys(part["game"]), POOLED]:
            own = part if game == POOLED else part[part["game"] == game]
            told = rate(own, "accurate", **how)
            low, high = told.wider
            rows.append(
                {
                    "model": model,
                    "game": game,
                    "condition": condition,
                    "lambda": lam,
                    "n": told.n,
                    "x": told.x,
                    "accuracy": told.value,
                    "low": low,
                    "high": high,
                    "design_effect": told.design_effect,
                    "clusters": told.clusters,
                    "within_one": _mean(own[near]),
                    "payoff_consistent": _mean(own["eu_consistent"]),
                    "aligned": _mean(own["aligned"]),
                    "ceiling": _mean(own["plugin"]),
                    "maximiser": _mean(own["empirical"]),
                    "maximiser_within_one": _mean(own["empirical_within_one"]),
                    "mode": _mean(own["mode"]),
                }
            )
    return pd.DataFrame(rows)


def _mean(values: pd.Series) -> float:
    told = values.dropna()
    return float(told.astype(float).mean()) if len(told) else float("nan")


RATES = {
    "accurate": "level accuracy",
    "within_one_set": "within one level",
    "br": "action fits stated belief",
    "eu_consistent": "pays best against history",
    "grounded": "quotes found in transcript",
    "chain": "right steps in chains",
    "mentalizing": "mentalizing stated",
}
"""What `rate_table` holds."""


def rate_table(scored: pd.DataFrame, convention: Convention, **how: Any) -> pd.DataFrame:
    """Shares by model and for all, with both intervals: model, rate, x, n, value, low, high, cluster_low,
    cluster_high, design_effect, widths, clusters. Quotes and steps count one by one, all else by trial.
    """
    kept = counted(scored, convention)
    many = {"grounded": ("quotes_grounded", "quotes"), "chain": ("chain_ok", "chain_steps")}
    rows = []
    for model in [*dict.fromkeys(kept["model"]), POOLED]:
        part = kept if model == POOLED else kept[kept["model"] == model]
        for name in RATES:
            own, column = (_unfold(part, *many[name]), "truth") if name in many else (part, name)
            told = rate(own, column, **how)
            rows.append(
                {
                    "model": model,
                    "rate": name,
                    "x": told.x,
                    "n": told.n,
                    "value": told.value,
                    "low": told.low,
                    "high": told.high,
                    "cluster_low": told.cluster_low,
                    "cluster_high": told.cluster_high,
                    "design_effect": told.design_effect,
                    "widths": told.widths,
                    "clusters": told.clusters,
                }
            )
    return pd.DataFrame(rows)


def _unfold(part: pd.DataFrame, good: str, total: str) -> pd.DataFrame:
    """One row for each counted thing (quote, step) of each trial."""
    yes, every = part[good].to_numpy(dtype=int), part[total].to_numpy(dtype=int)
    cells = part[list(CLUSTER)]
    right, wrong = (cells.iloc[np.repeat(np.arange(len(part)), m)] for m in (yes, every - yes))
    return pd.concat([right.assign(truth=1.0), wrong.assign(truth=0.0)], ignore_index=True)


def exclusion_table(scored: pd.DataFrame, **how: Any) -> pd.DataFrame:
    """What leaving out ambiguous targets (the Ring at k = 10) does: scope (model and game, or all), n and accuracy
    without and with them, and how many of the left-out trials are scored as right.
    """
    alive = scored[scored["accurate"].notna()]
    rows = []
    touched = dict.fromkeys(alive.loc[~alive["counted"], "game"])
    for game in touched:
        for model, part in alive[alive["game"] == game].groupby("model", sort=False):
            rows.append({"scope": f"{model}, {game}", **_exclusion(part)})
    if touched:
        rows.append({"scope": POOLED, **_exclusion(alive)})
    columns = ["scope", "n_excluding", "excluding", "n_including", "including", "excluded", "excluded_right"]
    return pd.DataFrame(rows, columns=columns)


def _exclusion(part: pd.DataFrame) -> dict[str, Any]:
    kept, out = part[part["counted"]], part[~part["counted"]]
    return {
        "n_excluding": len(kept),
        "excluding": _mean(kept["accurate"]),
        "n_including": len(part),
        "including": _mean(part["accurate"]),
        "excluded": len(out),
        "excluded_right": int(out["accurate"].astype(float).sum()),
    }


def mentalizing_table(scored: pd.DataFrame, convention: Convention, *, level: float = 0.95) -> pd.DataFrame:
    """Inductive trials split by whether the transcript says that the opponent reasons about the player.

    Columns: model, n, mentalizing (share), with, without (pooled accuracies), difference (pooled), mh, mh_low,
    mh_high (Mantel-Haenszel, stratified by cell), mh_n (trials in cells with both). The published table counts the
    ambiguous Ring trials, which no other table does; so does this one under that convention.
    """
    part = scored[(scored["condition"] == "inductive") & scored["accurate"].notna() & scored["mentalizing"].notna()]
    if convention == "proper":
        part = part[part["counted_proper"]]
    rows = []
    for model in [*dict.fromkeys(part["model"]), POOLED]:
        own = part if model == POOLED else part[part["model"] == model]
        split = own["mentalizing"].astype(bool)
        strata = CLUSTER if model != POOLED else ("model", *CLUSTER)
        told = mantel_haenszel(own, "accurate", "mentalizing", strata=strata, level=level)
        yes, no = _mean(own.loc[split, "accurate"]), _mean(own.loc[~split, "accurate"])
        row = {"model": model, "n": len(own), "mentalizing": _mean(split), "with": yes, "without": no}
        row |= {"difference": yes - no, "mh": told.value, "mh_low": told.low, "mh_high": told.high, "mh_n": told.n}
        rows.append(row)
    columns = ["model", "n", "mentalizing", "with", "without", "difference", "mh", "mh_low", "mh_high", "mh_n"]
    return pd.DataFrame(rows if len(part) else [], columns=columns)


def signal_table(scored: pd.DataFrame, convention: Convention, *, level: float = 0.95) -> pd.DataFrame:
    """Mean depth of actions (k_b) and of stated beliefs (k_l) where they resolve, by model, condition, lambda, depth.

    Columns: model, condition, lambda, k_target, signal, n, resolved (share of trials), mean, low, high. Intervals
    follow from the wider of the ordinary and the cell-clustered standard error.
    """
    kept = scored[scored["counted"]]
    belief = "k_l" if convention == "published" else "k_l_proper"
    rows = []
    keys = ["model", "condition", "lambda", "k_target"]
    for key, part in kept.groupby(keys, dropna=False, sort=False):
        for signal, column in (("k_b", "k_b"), ("k_l", belief)):
            values = part[column]
            if signal == "k_b" and convention == "proper" and key[3] == DEEPEST:
                values = values.where(~part["alias_11"])
            told = values.notna().to_numpy()
            mean, half = _mean_with_error(values[told].to_numpy(dtype=float), part.loc[told, list(CLUSTER)], level)
            least = 0 if signal == "k_b" else 1  # a mean lies between the least and the greatest depth there is
            rows.append(
                {
                    **dict(zip(keys, key, strict=True)),
                    "signal": signal,
                    "n": int(told.sum()),
                    "resolved": float(told.mean()),
                    "mean": mean,
                    "low": max(mean - half, least),
                    "high": min(mean + half, least + DEEPEST),
                }
            )
    return pd.DataFrame(rows)


def _mean_with_error(values: np.ndarray, cells: pd.DataFrame, level: float) -> tuple[float, float]:
    n = len(values)
    if not n:
        return float("nan"), float("nan")
    mean = float(values.mean())
    if n < 2:
        return mean, float("nan")
    plain = values.std(ddof=1) / np.sqrt(n) * float(student.ppf(0.5 + level / 2, n - 1))
    codes = cells.groupby(list(CLUSTER), dropna=False).ngroup().to_numpy()
    clusters = int(codes.max()) + 1
    if clusters < 2:
        return mean, float(plain)
    spread = np.bincount(codes, values - mean)
    error = np.sqrt(clusters / (clusters - 1) * (spread**2).sum()) / n
    return mean, float(max(plain, error * float(student.ppf(0.5 + level / 2, clusters - 1))))


def chain_table(scored: pd.DataFrame, *, level: float = 0.95) -> pd.DataFrame:
    """Written runs of actions in recursive trials, by model and depth: model, k_target, n, steps, per_step (pooled),
    low, high (Wilson), per_step_mean (mean of trials' shares), length (mean), repeats, own_action (shares of trials
    whose run holds a value twice, or ends with the trial's own action).
    """
    part = scored[scored["counted"] & (scored["condition"] == "recursive")]
    rows = []
    key: Any
    for key, own in part.groupby(["model", "k_target"], sort=False):
        model, k = key
        steps, good = own["chain_steps"].to_numpy(dtype=float), own["chain_ok"].to_numpy(dtype=float)
        total = steps.sum()
        low, high = binomial.interval(good.sum(), total, level=level)
        some = steps > 0
        rows.append(
            {
                "model": model,
                "k_target": int(k),
                "n": len(own),
                "steps": int(total),
                "per_step": float(good.sum() / total) if total else float("nan"),
                "low": float(low),
                "high": float(high),
                "per_step_mean": float((good[some] / steps[some]).mean()) if some.any() else float("nan"),
                "length": _mean(own["chain_m"]),
                "repeats": _mean(own["chain_repeats"]),
                "own_action": _mean(own["includes_own_action"]),
            }
        )
    return pd.DataFrame(rows)


def agreement_table(scored: pd.DataFrame, convention: Convention) -> pd.DataFrame:
    """Depth of belief against depth of action where both resolve: model, condition, n, resolved (share of trials),
    equal, belief_deeper, action_deeper. proper: depths 1 to 10 only, which both signals can take.
    """
    kept = scored[scored["counted"]]
    belief = "k_l" if convention == "published" else "k_l_proper"
    rows = []
    for (model, condition), part in kept.groupby(["model", "condition"], sort=False):
        both = part[part[belief].notna() & part["k_b"].notna()]
        if convention == "proper":
            both = both[both[belief].between(1, DEEPEST) & both["k_b"].between(1, DEEPEST)]
        gap = (both[belief] - both["k_b"]).to_numpy(dtype=float)
        shares = [float(np.mean(truth)) if len(gap) else float("nan") for truth in (gap == 0, gap > 0, gap < 0)]
        row = {"model": model, "condition": condition, "n": len(both), "resolved": len(both) / len(part)}
        rows.append(row | dict(zip(("equal", "belief_deeper", "action_deeper"), shares, strict=True)))
    return pd.DataFrame(rows)


def health_table(trials: Trials, scored: pd.DataFrame) -> pd.DataFrame:
    """How runs ended: model, trials, one column for each status and for actions that are none, and excluded."""
    rows = []
    for model, part in scored.groupby("model", sort=False):
        row: dict[str, Any] = {"model": model, "trials": len(part)}
        row |= _tally(part["status"], ("ok", "no_submission", "turn_cap", "refusal", "api_error"))
        row |= _tally(part["action_status"], ("non_integer", "unparseable", "out_of_range"))
        row["excluded"] = int((~part["counted"] & part["accurate"].notna()).sum())
        rows.append(row)
    return pd.DataFrame(rows)


def _tally(values: Iterable[Any], names: Sequence[str]) -> dict[str, int]:
    listed = list(values)
    return {name: listed.count(name) for name in names}
