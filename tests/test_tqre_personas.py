"""The persona regressions of the TQRE study: the authors' own file comes out, and where it does not we know why."""

from __future__ import annotations

import shutil

import numpy as np
import pandas as pd
import pytest

from levelkit.studies import tqre_llm_personas as study
from levelkit.studies import tqre_llm_released as released


def test_counts_behind_percentages():
    shown = np.array(
        [[33.33, 53.33, 13.33], [28.57, 57.14, 14.29], [50.0, 30.0, 20.0], [91.0, 4.0, 5.0], [33.0, 33.0, 33.0]]
    )
    counts = released.plays(shown)
    assert counts[:4].tolist() == [[5, 8, 2], [4, 8, 2], [5, 3, 2], [91, 4, 5]]
    assert np.isnan(counts[4]).all()


def test_released_files(shared):
    folder = shared / "data" / "jia_tqre_llm"
    base = released.read_released(folder / "base.csv")
    assert len(base) == 20
    assert base.groups == ("model", "cot")
    assert set(base.games) == {"competitive_base"}
    many = released.read_released(folder / "aggregated_demographic_100.csv")
    assert many.groups == ("model", "cot", "persona")
    assert many.cells["model"].nunique() == 22
    assert {"percent_not_whole", "plays_not_15"} <= set(many.problems.codes)
    dummies = released.personas(folder / "Profile.csv")
    assert dummies.shape == (305, 23)
    assert dummies["gender_female"].iloc[0] == 1
    file = released.released_regressions(folder / "reg.csv")
    assert file["column"].nunique() == 20
    assert len(file) == 20 * 24


@pytest.mark.slow
def test_two_columns_of_table_four(shared, tmp_path):
    """DeepSeek-V3 comes out to the last digit; GLM 4 does once its taus are entered again without features."""
    folder = shared / "data" / "jia_tqre_llm"
    names = ["Pro_deepseek-ai_DeepSeek-V3", "THUDM_glm-4-9b-chat"]
    frame = pd.read_csv(folder / "aggregated_demographic_100.csv", dtype=str)
    frame[frame["Model"].isin(names)].to_csv(tmp_path / "aggregated_demographic_100.csv", index=False)
    for name in ("Profile.csv", "reg.csv"):
        shutil.copy(folder / name, tmp_path / name)
    table, ours, honest = study.coefficients(tmp_path, 0)
    models = study.agreement(table, ours, honest).set_index("released")
    assert set(models.index) == set(names)
    assert models.loc[names[0], "max_filed"] < 5e-4
    assert models.loc[names[0], "max_filed_se"] < 5e-4
    assert models.loc[names[0], "verdict"] == "comes out"
    # most of GLM 4's taus are where a search over flat ground stopped, which hangs on the processor's last digits
    glm = table[table["released"] == names[1]]
    assert (glm["again"] - glm["filed"]).abs().max() < 0.03
    np.testing.assert_allclose(glm["again_se"], glm["filed_se"], rtol=0.05)
    constant = glm[glm["feature"] == "_cons"]
    assert (constant["ours_se"] > 4 * constant["filed_se"]).all(), "not so from one entry each"
    assert models.loc[names[1], "flat"] > 90
    assert models.loc[names[1], "refused"].startswith("68 of 105")
