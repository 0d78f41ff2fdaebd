"""Tables 4 and 5 of the TQRE study of language models: regressions of tau on what a persona is told to be.

Each persona's tau under the published convention (`published_tqre`) from the released percentages, regressed on the 22
dummies by least squares with classical errors, beside what was printed and the authors' regression file; then the same
by the general estimator, where a persona whose choices tell nothing has no tau.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from pathlib import Path

import numpy as np
import pandas as pd

from levelkit.choices import Choices
from levelkit.datafiles import data_path
from levelkit.games import game as library_game
from levelkit.inference import secondstep as second
from levelkit.inference.fit import fit
from levelkit.inference.kernels import Array
from levelkit.inference.regress import Column, Regression, regress
from levelkit.models import TQRE
from levelkit.studies.base import Part, Request
from levelkit.studies.published_tqre import matrices, published_fit, uniform_loglik
from levelkit.studies.tqre_llm_released import (
    FEATURES,
    PERSONA_FILES,
    PERSONAS,
    PROFILE,
    frequencies,
    personas,
    read_released,
    released_regressions,
)

GAME = "competitive_base"
NOTHING = 2e-4
"""Mean log-likelihood over uniform play below which a persona's choices tell nothing."""
SAME = 0.0005  # half a unit of the last printed decimal of a coefficient
NEAR = 0.003

# The columns of the regression file are the models in the order of their names, without these two.
_NOT_IN_FILE = ("granite3.1-dense:8b", "granite3.1-moe:3b")
_FORMULA = "tau ~ " + " + ".join(name for name, _, _ in FEATURES)

Progress = Callable[[int, int], None]


def printed() -> pd.DataFrame:
    """Tables 4 and 5 as printed: table, model, cot, released (name in the files), feature, coef, se, stars."""
    return pd.read_csv(data_path("published/tqre_llm_personas.csv"))


def _published(row: tuple[float, ...]) -> tuple[float, float]:
    found = published_fit(matrices(library_game(GAME)), (np.array(row[:3]), np.array(row[3:])))
    return found.tau, found.loglik


def published_taus(
    folder: Path, cot: int, progress: Progress | None = None, models: Collection[str] = ()
) -> pd.DataFrame:
    """Every persona's tau under the published convention: model, persona, estimate, loglik, status, parameter; of all
    models, or those named as in the files.

    status is flat where nothing beats uniform play, so that the estimate is where the search came to rest.
    """
    table = frequencies(folder / PERSONA_FILES[cot])
    table = table[table["persona"] <= PERSONAS]
    if models:
        table = table[table["model"].isin(list(models))]
    table = table.reset_index(drop=True)
    rows = [tuple(r) for r in (table.iloc[:, 3:].to_numpy(float) / 100).tolist()]
    different = list(dict.fromkeys(rows))
    found: dict[tuple[float, ...], tuple[float, float]] = {}
    for row in different:
        found[row] = _published(row)
        if progress is not None:
            progress(len(found), len(different))
    made = table[["model", "persona"]].copy()
    made["persona"] = made["persona"].astype(int)
    made["parameter"] = "tau"
    made["estimate"] = [found[r][0] for r in rows]
    made["loglik"] = [found[r][1] for r in rows]
    nothing = made["loglik"] - uniform_loglik(library_game(GAME)) < NOTHING
    made["status"] = np.where(nothing, "flat", "ok")
    return made[["model", "persona", "parameter", "estimate", "status", "loglik"]]


def proper_fits(folder: Path, cot: int) -> pd.DataFrame:
    """The same personas by the general TQRE: the frame of the fit."""
    choices = read_released(folder / PERSONA_FILES[cot], GAME)
    choices = choices.filter(choices.cells["persona"].to_numpy() <= PERSONAS)
    cells = choices.cells.drop(columns="cot")
    plain = Choices.from_counts(cells, choices.counts, choices.games, problems=choices.problems)
    return fit(plain, TQRE(), ["model", "persona"], sensitivity=False).frame()


def coefficients(
    folder: Path, cot: int, progress: Progress | None = None
) -> tuple[pd.DataFrame, Regression, Regression]:
    """All coefficients, one row per model and feature, and the two regressions (published convention, proper).

    released (name), model (as printed), feature, printed, printed_se, printed_stars, filed, filed_se, filed_n (the
    authors' file, without chain of thought), ours, ours_se, ours_stars, proper, proper_se, proper_stars.
    """
    taus = published_taus(folder, cot, progress)
    features = personas(folder / PROFILE).iloc[:PERSONAS]
    ours = regress(taus, _FORMULA, features, errors="nonrobust", methods="ols", flat="keep", force=True)
    honest = regress(proper_fits(folder, cot), _FORMULA, features, errors="HC3", methods="ols")
    table = printed().query("cot == @cot").rename(columns={"coef": "printed", "se": "printed_se"})
    table["printed_stars"] = table.pop("stars").map(lambda k: "*" * int(k))
    for result, name in ((ours, "ours"), (honest, "proper")):
        frame = result.frame().rename(columns={"column": "released", "term": "feature", "estimate": name})
        frame["feature"] = frame["feature"].replace("Intercept", "_cons")
        frame = frame.rename(columns={"se": f"{name}_se", "stars": f"{name}_stars"})
        frame[f"{name}_stars"] = frame[f"{name}_stars"].str.replace("+", "", regex=False)
        table = table.merge(frame[["released", "feature", name, f"{name}_se", f"{name}_stars"]], how="left")
    filed = folder / "reg.csv"
    if cot == 0 and filed.is_file():
        order = sorted(set(table["released"]) - set(_NOT_IN_FILE))
        file = released_regressions(filed)
        file["released"] = [order[i - 1] for i in file["column"]]
        count = file[file["feature"] == "N"].set_index("released")["coef"]
        file = file.rename(columns={"coef": "filed", "se": "filed_se"})
        table = table.merge(file[["released", "feature", "filed", "filed_se"]], how="left")
        table["filed_n"] = table["released"].map(count)
        table[["again", "again_se"]] = _again(table, taus, features)
    else:
        table[["filed", "filed_se", "filed_n", "again", "again_se"]] = np.nan
    return table.reset_index(drop=True), ours, honest


def _again(table: pd.DataFrame, taus: pd.DataFrame, features: pd.DataFrame) -> Array:
    """Coefficients and errors (N, 2) where a model's last taus stand a second time in the data, with no feature set:
    for models of which the authors' file counts more rows than there are personas; missing for the others.
    """
    found = np.full((len(table), 2), np.nan)
    x = np.column_stack([np.ones(len(features)), features[[name for name, _, _ in FEATURES]].to_numpy(float)])
    places = {name: k for k, name in enumerate(["_cons", *[name for name, _, _ in FEATURES]])}
    for released, part in table.groupby("released"):
        extra = int(part["filed_n"].iloc[0] - len(x)) if np.isfinite(part["filed_n"].iloc[0]) else 0
        if extra <= 0:
            continue
        if released not in set(taus["model"]):
            continue
        y = taus[taus["model"] == released].sort_values("persona")["estimate"].to_numpy(float)
        bare = np.zeros((extra, x.shape[1]))
        bare[:, 0] = 1
        rows = len(y) + extra
        both = second.ols(np.r_[y, y[-extra:]], np.r_[x, bare], "nonrobust", np.arange(rows), 0.95)
        at = [places[f] for f in part["feature"]]
        found[part.index] = np.column_stack([both.value, both.se])[at]
    return found


def agreement(table: pd.DataFrame, ours: Regression, honest: Regression) -> pd.DataFrame:
    """One row per model: how far our coefficients are from the printed and the filed ones, and how many stars stand.

    mean_printed, max_printed, mean_filed, max_filed (coefficients), max_filed_se; filed_n; flat, of (personas whose
    choices tell nothing under the published convention), proper_flat (under the general estimator), stars_printed,
    stars_ours, stars_proper (coefficients with one at least, without the constant), verdict.
    """
    by_name = {c.name: c for c in ours.columns}
    proper = {c.name: c for c in honest.columns}
    rows = []
    for (model, released), part in table.groupby(["model", "released"], sort=False):
        name = str(released)
        if name not in by_name:  # a folder with some of the models only
            continue
        rows.append({"model": model, "released": name} | _one(part, by_name[name], proper.get(name)))
    return pd.DataFrame(rows)


def _one(part: pd.DataFrame, ours: Column, honest: Column | None) -> dict[str, object]:
    to_print, to_file = (part["ours"] - part["printed"]).abs(), (part["ours"] - part["filed"]).abs()
    se = (part["ours_se"] - part["filed_se"]).abs()
    slopes = part[part["feature"] != "_cons"]
    stars = {f"stars_{c}": int((slopes[f"{c}_stars"] != "").sum()) for c in ("printed", "ours", "proper")}
    n = part["filed_n"].iloc[0]
    best = to_file if to_file.notna().all() else to_print
    again = max((part["again"] - part["filed"]).abs().max(), (part["again_se"] - part["filed_se"]).abs().max())
    if again <= SAME:
        verdict = f"comes out with {n - ours.rows:.0f} taus twice"
    elif best.max() <= SAME + 1e-9:
        verdict = "comes out"
    elif best.max() <= NEAR:
        verdict = "comes out nearly"
    else:
        verdict = "does not come out"
    row: dict[str, object] = {"mean_printed": to_print.mean(), "max_printed": to_print.max()}
    row |= {"mean_filed": to_file.mean(), "max_filed": to_file.max(), "max_filed_se": se.max(), "filed_n": n}
    row |= {"flat": ours.flat, "of": ours.rows, "proper_flat": np.nan if honest is None else honest.flat}
    return row | stars | {"refused": "" if honest is None else honest.refused, "verdict": verdict}


def parts(request: Request, number: int) -> list[Part]:
    """The pages of one of the two tables: agreement by model, and all coefficients."""
    cot = number - 4
    folder = request.need(PERSONA_FILES[cot], PROFILE)
    table, ours, honest = coefficients(folder, cot, request.progress)
    models = agreement(table, ours, honest)
    return [_agreement_part(models, table, number), _coefficients_part(table, number)]


def _agreement_part(models: pd.DataFrame, table: pd.DataFrame, number: int) -> Part:
    filed = bool(models["max_filed"].notna().any())
    heads = {"model": "model", "mean_printed": "mean off print", "max_printed": "max"}
    heads |= {"mean_filed": "mean off file", "max_filed": "max", "max_filed_se": "max se"} if filed else {}
    shown = models.assign(
        told=[f"{f} of {n}" for f, n in zip(models["flat"], models["of"], strict=True)],
        proper=[f"{v:.0f}" if np.isfinite(v) else "" for v in models["proper_flat"]],
        stars=[
            f"{a} / {b} / {'refused' if r else c}"
            for a, b, c, r in models[["stars_printed", "stars_ours", "stars_proper", "refused"]].itertuples(index=False)
        ],
    )
    heads |= {"told": "flat", "proper": "proper", "stars": "stars", "verdict": "verdict"}
    digits = dict.fromkeys(("mean_printed", "max_printed", "mean_filed", "max_filed", "max_filed_se"), 4)
    return Part(
        f"table{number}",
        f"Table {number}: tau on 22 persona features, printed against ours computed the same way",
        shown,
        heads,
        digits,
        1,
        _notes(models, table, filed),
    )


def _notes(models: pd.DataFrame, table: pd.DataFrame, filed: bool) -> list[str]:
    notes = [
        "off print, off file: differences of coefficients from the printed table"
        + (" and from the authors' regression file." if filed else "; there is no regression file."),
        f"flat: personas whose best fit is within {NOTHING:g} nats of uniform play for a pair of plays, so that tau "
        "is where the search stopped; proper: not determined by the general estimator (interval over the whole range). "
        "A table of such taus is a table of optimiser noise.",
        "stars: coefficients with one at least as printed / ours the same way / proper with HC3 errors, refused where "
        "most taus are flat.",
    ]
    several = models[models["flat"] > models["of"] / 2]
    if len(several):
        named = ", ".join(f"{m} ({f} of {n})" for m, f, n in several[["model", "flat", "of"]].itertuples(index=False))
        notes.append(f"Mostly flat: {named}.")
    for row in models[models["verdict"].str.endswith("taus twice")].to_dict("records"):
        part = table[table["model"] == row["model"]]
        gap = (part["again"] - part["filed"]).abs().max(), (part["again_se"] - part["filed_se"]).abs().max()
        notes.append(
            f"{row['model']}: the file has N = {row['filed_n']:.0f} for {row['of']} personas. Its coefficients and "
            f"errors come out to within {max(gap):.4f} when the last {row['filed_n'] - row['of']:.0f} taus stand in "
            "the data a second time with all features zero, as if of personas of the reference group. That, and "
            "not more data, is what makes the constant look so well known; entering whole rows twice does not give "
            "these errors."
        )
    off = models[models["verdict"] == "does not come out"]
    if len(off):
        notes.append(f"Not explained: {', '.join(off['model'])}.")
    return notes


def _coefficients_part(table: pd.DataFrame, number: int) -> Part:
    shown = table.copy()
    for name in ("printed", "ours", "proper"):
        shown[f"{name}_text"] = [
            "" if pd.isna(b) else f"{b:.3f}{s} ({se:.3f})"
            for b, se, s in zip(shown[name], shown[f"{name}_se"], shown[f"{name}_stars"].fillna(""), strict=True)
        ]
    heads = {"model": "model", "feature": "feature", "printed_text": "printed", "filed": "filed"}
    heads |= {"ours_text": "ours, same way", "proper_text": "proper, HC3"}
    if shown["filed"].isna().all():
        del heads["filed"]
    return Part(
        f"table{number}-coefficients",
        f"Table {number}, every coefficient (standard error)",
        shown,
        heads,
        {"filed": 4},
        2,
    )
