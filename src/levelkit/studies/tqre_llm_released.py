"""The files that the authors of the TQRE study released, as choices.

`base.csv` and its kin hold one row a model, the aggregated persona files one row a model and persona; both hold the
percentages of each player's choices, without the number of plays, which is about 15. `Profile.csv` holds the personas'
features, the first row for persona 1.
"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pandas as pd

from levelkit.choices import Choices
from levelkit.errors import DataError
from levelkit.games import game as library_game
from levelkit.inference.kernels import Array
from levelkit.problems import NOTED, SET_ASIDE, ProblemLog
from levelkit.readers.features import read_features

PERSONA_FILES = {0: "aggregated_demographic_100.csv", 1: "aggregated_demographic_CoT_100.csv"}
PROFILE = "Profile.csv"
MODEL_FILES = {
    "base.csv": "competitive_base",
    "highstake.csv": "competitive_high_stake",
    "lowstake.csv": "competitive_low_stake",
}
PERSONAS = 105
"""How many personas the study's regressions use; of one model more were released."""

_PERCENT = [f"{side}_{k}%" for side in ("Row", "Col") for k in range(3)]
_PLAYS = (15, *range(14, 4, -1), *range(16, 31), 100)  # in this order: what the authors meant to play first
_SLACK = 0.0051


def plays(percentages: Array) -> Array:
    """Counts (N, 3) behind rounded percentages (N, 3): of 15 plays where that fits, else of the first number that does;
    missing where none does.
    """
    counts = np.full(percentages.shape, np.nan)
    for n in _PLAYS:
        whole = np.round(percentages * n / 100)
        fits = (np.abs(whole * 100 / n - percentages) <= _SLACK).all(axis=1) & (whole.sum(axis=1) == n)
        fits &= np.isnan(counts).any(axis=1)
        counts[fits] = whole[fits]
    return counts


def frequencies(path: str | Path) -> pd.DataFrame:
    """A released file as a table: model, cot, persona (missing in files without), and the six percentages as released.

    Raises DataError where the columns are not those of a released file.
    """
    frame, _ = read_features(path)
    missing = [c for c in ("File Name", *_PERCENT) if c not in frame.columns]
    if missing:
        raise DataError(f"no column {missing[0]!r}", where=str(path), fix="give a file as the authors released it")
    name = frame["File Name"].map(lambda v: v if isinstance(v, str) else "")
    chain = name.str.contains("CoT") | ("CoT" in Path(path).name)
    if "Model" in frame.columns:
        chain |= frame["Model"].str.contains("CoT")
        model = frame["Model"].str.removesuffix("-CoT")
        number = pd.to_numeric(name.str.extract(r"demographic_(\d+)")[0], errors="coerce")
        # two models' rows have no name and stand in the personas' order
        persona = number.fillna(frame.groupby("Model").cumcount() + 1.0)
    else:
        model = name.map(lambda v: re.sub(r"(_CoT)?_choices\.csv$", "", v))
        persona = pd.Series(np.nan, index=frame.index)
    head = pd.DataFrame({"model": model, "cot": chain.astype(int), "persona": persona})
    return pd.concat([head, frame[_PERCENT]], axis=1)


def read_released(path: str | Path, game: str | None = None) -> Choices:
    """The choices of a released file, by model, cot and (where there are any) persona.

    game: the game played (default: by the file's name; competitive_base for persona files). Rows whose percentages are
    no whole counts of up to 100 plays are set aside.
    """
    where = Path(path)
    table = frequencies(where)
    stem = where.name.replace("CoT", "")
    played = game or MODEL_FILES.get(stem, "competitive_base")
    log, rows = ProblemLog(str(path), "row"), np.arange(1, len(table) + 1)
    percent = table[_PERCENT].to_numpy(float)
    counts = np.concatenate([plays(percent[:, :3]), plays(percent[:, 3:])], axis=1)
    good = np.isfinite(counts).all(axis=1)
    words = "the percentages are no whole counts of up to 100 plays"
    log.add(SET_ASIDE, "percent_not_whole", "", rows[~good], words)
    sizes = np.stack([counts[:, :3].sum(axis=1), counts[:, 3:].sum(axis=1)], axis=1)
    other = good & (sizes != 15).any(axis=1)
    log.add(
        NOTED, "plays_not_15", "", rows[other], "not 15 plays a player: the number is inferred from the percentages"
    )
    cells = table[["model", "cot"]].copy()
    if table["persona"].notna().all():
        cells["persona"] = table["persona"].astype(int)
    cells["game"] = played
    kept = cells[good].reset_index(drop=True)
    return Choices.from_counts(kept, counts[good], {played: library_game(played)}, problems=log.problems(len(table)))


# features of tables 4 and 5: id, column of Profile.csv, values that count as one
FEATURES: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    ("age_below_25", "Age", ("15 to 24",)),
    ("age_above_55", "Age", ("55 to 64", "Over 65")),
    ("gender_female", "Gender", ("Female",)),
    ("education_graduate", "Education", ("Graduate",)),
    ("below_secondary", "Education", ("Below lower secondary", "Lower secondary", "Upper secondary")),
    ("marital_divorced", "Marital Status", ("Divorced",)),
    ("marital_married", "Marital Status", ("Married",)),
    ("marital_widowed", "Marital Status", ("Widowed",)),
    ("location_rural", "Location", ("Rural",)),
    ("sexual_asexual", "Sexual Orientation", ("Asexual",)),
    ("sexual_bisexual", "Sexual Orientation", ("Bisexual",)),
    ("sexual_homosexual", "Sexual Orientation", ("Homosexual",)),
    ("disability_physical", "Disability", ("physically-disabled",)),
    ("race_african", "Race", ("African",)),
    ("race_asian", "Race", ("Asian",)),
    ("race_hispanic", "Race", ("Hispanic",)),
    ("religion_atheist", "Religion", ("Atheist",)),
    ("religion_christian", "Religion", ("Christian",)),
    ("religion_jewish", "Religion", ("Jewish",)),
    ("political_obama_supporter", "Political Affiliation", ("Barack Obama Supporter",)),
    ("political_trump_supporter", "Political Affiliation", ("Donald Trump Supporter",)),
    ("political_republican", "Political Affiliation", ("lifelong Republican",)),
)


def personas(path: str | Path) -> pd.DataFrame:
    """The study's dummies of each persona, from `Profile.csv`: persona (from 1) and one column of 0 and 1 a feature."""
    frame, _ = read_features(path)
    missing = [column for _, column, _ in FEATURES if column not in frame.columns]
    if missing:
        raise DataError(f"no column {missing[0]!r}", where=str(path), fix="give the authors' table of personas")
    dummies = {name: frame[column].isin(values).astype(int) for name, column, values in FEATURES}
    return pd.DataFrame({"persona": np.arange(1, len(frame) + 1)} | dummies)


def released_regressions(path: str | Path) -> pd.DataFrame:
    """The authors' regression file: column (from 1), feature ("_cons" is the constant), coef, se, p; and N as a feature
    with coef only.
    """
    lines = [
        [cell.removeprefix("=").strip('"') for cell in line.strip().split(",")]
        for line in Path(path).read_text(encoding="utf-8-sig").splitlines()
    ]
    rows = []
    for k, cells in enumerate(lines):
        if cells[0] in {name for name, _, _ in FEATURES} | {"_cons"}:
            below = [lines[k + 1], lines[k + 2]]
            for number in range(1, len(cells)):
                one = {"column": number, "feature": cells[0], "coef": float(cells[number])}
                rows.append(one | {"se": float(below[0][number]), "p": float(below[1][number])})
        elif cells[0] == "N":
            rows += [{"column": i, "feature": "N", "coef": float(v)} for i, v in enumerate(cells) if i]
    if not rows:
        raise DataError("no coefficients found", where=str(path), fix="give the authors' regression file")
    return pd.DataFrame(rows)
