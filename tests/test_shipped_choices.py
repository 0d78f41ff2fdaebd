"""The shipped choices and published numbers are the facts they claim to be."""

from __future__ import annotations

import csv
import json
import math
import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from levelkit.choices import shipped_choices, shipped_sets
from levelkit.datafiles import data_path
from levelkit.errors import UsageError
from levelkit.games import library

SHARED = Path(os.environ.get("LEVELKIT_SHARED", Path(__file__).resolve().parents[1] / ".." / "shared"))
DATA = SHARED / "data"
needs_shared = pytest.mark.skipif(not DATA.is_dir(), reason="no shared data")


def counts_of(name: str, player: int = 0, **equals: object) -> dict[str, list[float]]:
    """Counts by game of a shipped set."""
    choices = shipped_choices(name).filter(**equals)
    games = choices.cells["game"].tolist()
    return {game: choices.counts_for(i)[player].tolist() for i, game in enumerate(games)}


def test_every_set_reads_without_a_problem_and_is_described() -> None:
    files = {path.stem for path in Path(str(data_path("choices/sets.toml"))).parent.glob("*.csv")}
    assert files == set(shipped_sets())
    readme = data_path("choices/README.md").read_text()
    for name, about in shipped_sets().items():
        choices = shipped_choices(name)
        assert len(choices.problems) == 0, name
        assert choices.n.min() > 0
        assert 20 < len(about) < 140
        assert f"{name}.csv" in readme
    with pytest.raises(UsageError, match="did you mean 'sw95'"):
        shipped_choices("sw96")


def test_numbers_of_people_are_those_of_the_papers() -> None:
    assert set(shipped_choices("sw94").n) == {40.0}
    assert set(shipped_choices("sw95").n) == {48.0}
    rpc = shipped_choices("rpc2009")
    n = dict(zip(rpc.cells["game"], rpc.n, strict=True))
    assert {n[f"rpc_{g}"] for g in ("cshl", "cshh", "cjok")} == {58.0}
    assert {value for game, value in n.items() if game not in {"rpc_cshl", "rpc_cshh", "rpc_cjok"}} == {74.0}
    assert shipped_choices("eleven_twenty").n.tolist() == [108.0, 53.0]
    humans = shipped_choices("sw10_humans")
    assert dict(zip(humans.cells["sample"], humans.n, strict=True)) == {
        "rpc_table3": 74.0,
        "wlb": 74.0,
        "rpc_table5": 54.0,
        "sw95": 48.0,
    }


def test_rpc_entropies_are_the_printed_empirical_column() -> None:
    # The counts were reconstructed from the print; entropy is one of the two things they must reproduce.
    table = pd.read_csv(data_path("published/rpc2009_table3.csv"), keep_default_na=False)
    printed = table[(table["model"] == "saturated") & (table["game"] != "sum")].set_index("game")["negloglik"]
    rpc = shipped_choices("rpc2009")
    total = 0.0
    for i, game in enumerate(rpc.cells["game"]):
        entropy = -sum(c * math.log(c / side.sum()) for side in rpc.counts_for(i) for c in side if c > 0)
        total += entropy
        misprint = 10.0 if game == "rpc_sw3" else 0.0  # printed 53.26 for 63.26
        assert entropy == pytest.approx(float(printed[game]) + misprint, abs=0.02), game
    assert total == pytest.approx(1054.55 + 10, abs=0.03)
    uniform = sum(side.sum() * math.log(len(side)) for i in range(len(rpc)) for side in rpc.counts_for(i))
    assert uniform == pytest.approx(1329.00, abs=0.05)


def test_the_four_samples_of_sw10_are_told_apart() -> None:
    rounded = [0.52, 0.19, 0.30]
    table5 = np.array(counts_of("sw10_humans", sample="rpc_table5")["sw10"])
    np.testing.assert_allclose(table5 / table5.sum(), rounded, atol=0.0051)
    wlb = counts_of("sw10_humans", sample="wlb")["sw10"]
    np.testing.assert_array_equal(wlb, np.round(74 * table5 / 54))
    assert counts_of("sw10_humans", sample="rpc_table3")["sw10"] == counts_of("rpc2009")["rpc_sw10"]
    assert counts_of("sw10_humans", sample="sw95")["sw95_10"] == counts_of("sw95")["sw95_10"]


def test_language_models_are_the_twenty_of_the_release() -> None:
    choices = shipped_choices("llm_competitive")
    cells = choices.cells
    assert len(choices) == 93
    assert cells["model"].nunique() == 20
    assert cells[cells["cot"] == 1]["model"].nunique() == 11
    assert set(cells["game"]) == {"competitive_base", "competitive_high_stake", "competitive_low_stake"}
    assert choices.counts_for(0)[0].tolist() == [3, 5, 7]  # Claude-3-Opus
    plays = np.array([[side.sum() for side in choices.counts_for(i)] for i in range(93)])
    assert set(np.unique(plays)) == {8, 12, 13, 14, 15}
    assert (plays == 15).mean() > 0.9


def test_published_tau_names_the_models_and_games_of_the_choices() -> None:
    tau = pd.read_csv(data_path("published/llm_competitive_tau.csv"))
    assert len(tau) == 105
    assert set(tau["game"]) <= set(library())
    keys = set(map(tuple, tau[["model", "cot", "game"]].to_numpy()))
    cells = shipped_choices("llm_competitive").cells
    assert set(map(tuple, cells[["model", "cot", "game"]].to_numpy())) <= keys


def test_published_intervals_hold_their_estimates() -> None:
    chc = pd.read_csv(data_path("published/chc2004_sw95_tau.csv"))
    games = chc["game"].tolist()
    assert [game for game in games if game in library()] == [f"sw95_{i}" for i in range(1, 13)]
    with_interval = chc.dropna()
    assert len(with_interval) == 13
    assert (with_interval["low"] <= with_interval["tau"]).all()
    assert (with_interval["tau"] <= with_interval["high"]).all()
    single = chc.loc[chc["game"].str.startswith("sw95_"), "tau"]
    assert chc.set_index("game").loc["median", "tau"] == pytest.approx(single.median(), abs=0.006)


def test_published_rpc_sums_are_the_sums_of_the_single_games() -> None:
    table = pd.read_csv(data_path("published/rpc2009_table3.csv"), keep_default_na=False)
    single = table[~table["game"].isin(["sum", "pooled"])].drop_duplicates(["game", "model"])
    for model in ("saturated", "poisson-ch", "qre", "tqre"):
        printed = float(table[(table["game"] == "sum") & (table["model"] == model)]["negloglik"].iloc[0])
        mine = single[single["model"] == model]
        assert len(mine) == 17
        assert mine["negloglik"].astype(float).sum() == pytest.approx(printed, abs=0.06), model


@needs_shared
def test_human_counts_equal_the_collected_table() -> None:
    with (DATA / "games_master.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    names = {"SW94": ("sw94", "sw94_{}"), "SW95": ("sw95", "sw95_{}"), "RPC09": ("rpc2009", "rpc_{}")}
    seen = 0
    for row in rows:
        if row["dataset"] in names:
            name, pattern = names[row["dataset"]]
            game = pattern.format(row["game"].lower())
            assert counts_of(name)[game] == json.loads(row["row_counts"])
            np.testing.assert_array_equal(library()[game].payoffs[0], json.loads(row["A_row"]))
            if row["col_counts"]:
                assert counts_of(name, 1)[game] == json.loads(row["col_counts"])
            seen += 1
    assert seen == 39
    basic, costless = (json.loads(row["row_counts"]) for row in rows if row["dataset"] == "AR12")
    assert list(counts_of("eleven_twenty").values()) == [basic, costless]


@needs_shared
def test_individual_choices_of_stahl_and_wilson_add_up_to_the_counts() -> None:
    for name, file in (("sw94", "sw94_individual_40x10.csv"), ("sw95", "sw95_individual_48x12.csv")):
        people = pd.read_csv(DATA / "stahl_wilson_individual" / file)
        for game, counts in counts_of(name).items():
            column = people["g" + game.split("_")[1]]
            assert [int((column == action).sum()) for action in "TMB"] == counts


@needs_shared
def test_language_model_counts_print_as_the_released_percentages() -> None:
    golden = json.loads((SHARED / "golden" / "tqre_published.json").read_text())["cells"]
    choices = shipped_choices("llm_competitive")
    keys = list(map(tuple, choices.cells[["model", "cot", "game"]].to_numpy()))
    assert {(cell["model"], cell["cot"], cell["game"]) for cell in golden} == set(keys)
    for cell in golden:
        sides = choices.counts_for(keys.index((cell["model"], cell["cot"], cell["game"])))
        for side, printed in zip(sides, (cell["freq_player1"], cell["freq_player2"]), strict=True):
            np.testing.assert_allclose(side / side.sum(), printed, atol=6e-5)


@needs_shared
def test_published_tau_equals_the_transcribed_tables() -> None:
    theirs = pd.read_csv(DATA / "published" / "tau.csv")
    theirs = theirs[theirs["game"].str.startswith("competitive")].set_index(["model", "cot", "game"])["tau"]
    ours = pd.read_csv(data_path("published/llm_competitive_tau.csv")).set_index(["model", "cot", "game"])["tau"]
    pd.testing.assert_series_equal(ours.sort_index(), theirs.sort_index())
