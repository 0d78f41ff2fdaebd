"""Mean tau by what a persona is told to be (figures 6 and 7 of the TQRE study), with intervals, and its other reading.

The study draws the means of features that came out significant. Here are all values of two features for the two models
it draws, in both arms: the mean of the published taus with a 95% interval over personas, and the share of personas
whose choices tell nothing about tau, so that their number is where the search came to rest.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import stats

from levelkit.readers.features import read_features
from levelkit.studies.base import Part, Progress, Request
from levelkit.studies.tqre_llm_personas import published_taus
from levelkit.studies.tqre_llm_released import PERSONA_FILES, PERSONAS, PROFILE

FEATURES = ("Gender", "Sexual Orientation", "Religion")
MODELS = {
    "gpt-4o": "GPT-4o",
    "google_gemma-2-27b-it": "Gemma-2",
    "internlm_internlm2_5-20b-chat": "InternLM",
}
"""Those that the study names, as in the files and as in print."""
_ARMS = {0: "plain", 1: "chain of thought"}


def means(folder: Path, progress: Progress | None = None, models: Mapping[str, str] = MODELS) -> pd.DataFrame:
    """One row for each model, arm, feature and value: model, arm, feature, value, n (personas), mean, low, high, flat
    (share that tell nothing), p (Welch's test that all values of the feature have the same mean), p_holm (over all
    features of all models and arms).
    """
    profile, _ = read_features(folder / PROFILE)
    profile = profile.iloc[:PERSONAS].assign(persona=np.arange(1, PERSONAS + 1))
    rows, tests = [], []
    for cot, arm in _ARMS.items():
        taus = published_taus(folder, cot, progress, models).merge(profile, on="persona")
        taus["model"] = taus["model"].map(dict(models))
        for model, own in taus.groupby("model", sort=True):
            for feature in FEATURES:
                groups = [g["estimate"].to_numpy() for _, g in own.groupby(feature)]
                key = {"model": model, "arm": arm, "feature": feature}
                tests.append(key | {"p": _welch(groups)})
                for value, part in own.groupby(feature, sort=True):
                    rows.append(key | {"value": str(value), **_mean(part)})
    table = pd.DataFrame(tests)
    table["p_holm"] = _holm(table["p"].to_numpy())
    return pd.DataFrame(rows).merge(table, on=["model", "arm", "feature"])


def _mean(part: pd.DataFrame) -> dict[str, float]:
    values = part["estimate"].to_numpy()
    n, mean = len(values), float(values.mean())
    half = float(stats.t.ppf(0.975, n - 1) * values.std(ddof=1) / np.sqrt(n)) if n > 1 else np.inf
    flat = float((part["status"] == "flat").mean())
    return {"n": n, "mean": mean, "low": mean - half, "high": mean + half, "flat": flat}


def _welch(groups: list[np.ndarray]) -> float:
    from statsmodels.stats.oneway import anova_oneway

    several = [g for g in groups if len(g) > 1 and g.var() > 0]
    return float(anova_oneway(several, use_var="unequal").pvalue) if len(several) > 1 else float("nan")


def _holm(p: np.ndarray) -> np.ndarray:
    from statsmodels.stats.multitest import multipletests

    known = ~np.isnan(p)
    out = np.full(len(p), np.nan)
    out[known] = multipletests(p[known], method="holm")[1]
    return out


def parts(request: Request) -> list[Part]:
    """The page and its figure."""
    folder = request.need(*PERSONA_FILES.values(), PROFILE)
    table = means(folder, request.progress)
    shown = table.assign(
        tau=[f"{m:.2f} [{a:.2f}, {b:.2f}]" for m, a, b in table[["mean", "low", "high"]].itertuples(index=False)],
        told=[f"{f:.0%}" for f in table["flat"]],
    )
    tested = table.drop_duplicates(["model", "arm", "feature"])
    notes = [
        "Means of the published taus over personas with 95% intervals (Student). flat: personas whose choices tell "
        "nothing about tau; their number is where the search stopped, and goes into the mean all the same.",
        f"Of {len(tested)} features of a model and arm, {int((tested['p'] <= 0.05).sum())} differ between values at "
        f".05 by Welch's test, {int((tested['p_holm'] <= 0.05).sum())} after Holm's adjustment over all of them.",
    ]
    heads = {"model": "model", "arm": "arm", "feature": "feature", "value": "value", "tau": "mean tau, 95%"}
    heads |= {"n": "personas", "told": "flat", "p": "p", "p_holm": "p, Holm"}
    title = "Mean published tau by what a persona is told to be"
    digits = {"n": 0, "p": 4, "p_holm": 4}

    def figure() -> object:
        from levelkit.report.plots.dots import dots

        label = table["feature"] + ": " + table["value"]
        frame = table.assign(label=label, estimate=table["mean"], panel=table["model"], series=table["arm"], status="")
        return dots(frame, "mean published tau", title, linear=True)

    return [Part("features", title, shown, heads, digits, 5, notes, figure=figure)]  # type: ignore[arg-type]
