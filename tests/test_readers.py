"""Readers: the layouts and rules that `levelkit.readers` states, by their own words."""

from __future__ import annotations

import os
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from levelkit.choices import read_choices
from levelkit.errors import DataError, UsageError
from levelkit.games import Game

SHARED = Path(os.environ.get("LEVELKIT_SHARED", Path(__file__).resolve().parents[1] / ".." / "shared"))
SYMMETRIC = Game.symmetric("sym", [[1, 2, 3], [2, 1, 3], [3, 2, 1]], actions=("T", "M", "B"))
NUMBERED = Game.symmetric("num", [[1, 2, 3], [2, 1, 3], [3, 2, 1]], actions=("1", "2", "3"))
MATRIX = Game.bimatrix("mat", [[1, 2], [3, 4]], [[1, 2], [3, 4]], players=("seller", "buyer"))
GAMES = {game.name: game for game in (SYMMETRIC, NUMBERED, MATRIX)}


def rows(*values: tuple[Any, ...], columns: str = "game player action") -> pd.DataFrame:
    return pd.DataFrame(list(values), columns=columns.split(), dtype=object)


def test_cells_stand_in_order_of_first_appearance() -> None:
    frame = pd.DataFrame(
        {
            "model": ["z", "a", "z", "m", "a"],
            "game": ["sym", "mat", "mat", "sym", "mat"],
            "player": [1, "buyer", 1, None, "seller"],
            "action": ["B", 0, 1, "t", "1"],
        }
    )
    choices = read_choices(frame, GAMES)
    assert choices.cells.to_dict("list") == {
        "model": ["z", "a", "z", "m"],
        "game": ["sym", "mat", "mat", "sym"],
    }
    expected = [[0, 0, 1, 0, 0, 0], [0, 1, 1, 0, 0, 0], [0, 1, 0, 0, 0, 0], [1, 0, 0, 0, 0, 0]]
    np.testing.assert_array_equal(choices.counts, expected)
    assert len(choices.problems) == 0


@pytest.mark.parametrize(
    "one",
    [
        1,
        1.0,
        "1",
        "1.0",
        " 1 ",
        "+1",
        Fraction(1),
        Decimal("1"),
        Decimal("1.00"),
        np.int8(1),
        np.float32(1),
        np.str_("1"),
    ],
    ids=repr,
)
def test_numbers_of_every_kind_are_equal(one: Any) -> None:
    choices = read_choices(rows(("mat", one, one, one), columns="game player action count"), GAMES)
    np.testing.assert_array_equal(choices.counts, [[0, 1, 0, 0]])
    assert len(choices.problems) == 0


@pytest.mark.parametrize(
    "dtype", ["int64", "Int64", "float32", "Float64", "int64[pyarrow]", "category", "str", "object"]
)
def test_column_types_of_pandas_are_equal(dtype: str) -> None:
    frame = pd.DataFrame({"game": "mat", "player": [1, 2], "action": [1, 0], "count": [4, 2]})
    frame[["player", "action", "count"]] = frame[["player", "action", "count"]].astype(dtype)
    np.testing.assert_array_equal(read_choices(frame, GAMES).counts, [[0, 4, 2, 0]])


@pytest.mark.parametrize("missing", [None, np.nan, pd.NA, pd.NaT, "", " ", "NaN", "n/a", "None", "null"], ids=repr)
def test_a_missing_action_is_a_no_choice_and_a_missing_player_of_a_symmetric_game_is_the_first(
    missing: Any,
) -> None:
    choices = read_choices(rows(("sym", missing, "M"), ("sym", 1, missing)), GAMES)
    np.testing.assert_array_equal(choices.counts, [[0, 1, 0, 0, 0, 0]])
    np.testing.assert_array_equal(choices.no_choice, [1])
    assert choices.problems.codes == ("no_choice",)


def test_no_choices_count_as_often_as_their_count_says() -> None:
    frame = rows(("sym", 1, "pass", 3), ("sym", 1, None, 2), ("sym", 1, 0, 1), columns="game player action count")
    choices = read_choices(frame, GAMES)
    np.testing.assert_array_equal(choices.no_choice, [5])
    np.testing.assert_array_equal(choices.n, [1])


def test_player_2_of_a_symmetric_game_keeps_a_vector_of_its_own() -> None:
    choices = read_choices(rows(("sym", 2, "B"), ("sym", "col", "M"), ("sym", "ROW", "T")), GAMES)
    np.testing.assert_array_equal(choices.counts, [[1, 0, 0, 0, 1, 1]])


def test_a_label_wins_over_an_index_and_this_is_said() -> None:
    choices = read_choices(rows(("num", 1, 1), ("num", 1, "2"), ("num", 1, 3.0)), GAMES)
    np.testing.assert_array_equal(choices.counts[:, :3], [[1, 1, 1]])
    assert choices.problems.codes == ("label_or_index",)
    assert int(choices.problems.frame["rows"].iloc[0]) == 2  # 3 cannot be an index


def test_labels_and_indices_are_not_mixed_among_numbers() -> None:
    frame = rows(("num", 1, 0), ("num", 1, 1), ("num", 1, 2))
    choices = read_choices(frame, GAMES)
    np.testing.assert_array_equal(choices.counts[:, :3], [[1, 1, 0]])
    assert "mixed_action" in choices.problems.codes
    indexed = read_choices(frame, GAMES, actions="index")
    np.testing.assert_array_equal(indexed.counts[:, :3], [[1, 1, 1]])
    assert indexed.problems.n_set_aside == 0
    labelled = read_choices(frame, GAMES, actions="label")
    assert "action_outside" in labelled.problems.codes
    with pytest.raises(UsageError, match="auto, label, index"):
        read_choices(frame, GAMES, actions="both")


def test_labels_may_differ_in_case_and_close_ones_are_suggested() -> None:
    choices = read_choices(rows(("sym", 1, "t"), ("Sym", 1, "Tt")), GAMES)
    np.testing.assert_array_equal(choices.counts[0, :3], [1, 0, 0])
    game = Game.symmetric("pd", [[3, 0], [5, 1]], actions=("Cooperate", "Defect"))
    text = read_choices(rows(("pd", 1, "Coperate"), ("pd", 1, "Defect")), game).problems.text()
    assert "'Coperate' names no action (did you mean 'Cooperate'?)" in text


def test_column_map_and_groups() -> None:
    frame = pd.DataFrame({"LLM": ["a", "b"], "which": "sym", "choice": ["T", "B"], "times": [2, 3], "id": [1, 2]})
    columns = {"game": "which", "action": "choice", "count": "times", "model": "LLM"}
    choices = read_choices(frame, GAMES, columns=columns, groups=["model"])
    assert choices.groups == ("model",)
    np.testing.assert_array_equal(choices.n, [2, 3])
    with pytest.raises(DataError, match=r"no column 'chioce' \(for 'action'\).*Columns found: LLM, which"):
        read_choices(frame, GAMES, columns={"action": "chioce"})
    with pytest.raises(UsageError, match="did you mean 'action'"):
        read_choices(frame, GAMES, columns={"actions": "choice"})
    with pytest.raises(UsageError, match="groups= names 'modle'"):
        read_choices(frame, GAMES, columns=columns, groups=["modle"])
    with pytest.raises(DataError, match="another column 'action'"):
        read_choices(frame.assign(action="text"), GAMES, columns=columns)
    with pytest.raises(UsageError, match="twice"):
        read_choices(frame, GAMES, columns={"action": "choice", "count": "choice"})


def test_names_of_our_columns_may_differ_in_case() -> None:
    frame = pd.DataFrame({"Game": ["mat"], "PLAYER": ["Buyer"], "Action ": [1]})
    np.testing.assert_array_equal(read_choices(frame, GAMES).counts, [[0, 0, 0, 1]])


def test_one_game_given_needs_no_game_column() -> None:
    choices = read_choices(pd.DataFrame({"action": ["T", "T", "B"]}), SYMMETRIC)
    np.testing.assert_array_equal(choices.counts[0, :3], [2, 0, 1])
    assert choices.problems.codes == ("game_assumed",)


def test_group_types_do_not_depend_on_the_container(tmp_path: Path) -> None:
    frame = pd.DataFrame(
        {
            "n_shot": [0, 5],
            "t": [0.5, 1.0],
            "v": ["4.1", "4.10"],
            "ok": [True, False],
            "game": "sym",
            "action": "T",
        }
    )
    frame.to_csv(tmp_path / "a.csv", index=False)
    frame.to_parquet(tmp_path / "a.parquet")
    frame.to_json(tmp_path / "a.jsonl", orient="records", lines=True)
    read = [read_choices(source, GAMES) for source in (frame, *sorted(tmp_path.iterdir()))]
    for choices in read:
        cells = choices.cells
        assert [cells[c].dtype.kind for c in ("n_shot", "t")] == ["i", "f"]
        assert cells["v"].tolist() == ["4.1", "4.10"]
        assert cells["ok"].tolist() == ["True", "False"]
        assert choices.equals(read[0])


def test_a_named_index_becomes_a_group_and_a_plain_one_does_not() -> None:
    frame = pd.DataFrame({"game": ["sym", "sym"], "action": ["T", "B"]}, index=pd.Index(["a", "b"], name="model"))
    assert read_choices(frame, GAMES).groups == ("model",)
    assert read_choices(frame.rename_axis(None), GAMES).groups == ()


def test_frames_that_are_no_tables_are_refused() -> None:
    deep = pd.DataFrame([[1, 2]], columns=pd.MultiIndex.from_tuples([("a", "b"), ("a", "c")]))
    with pytest.raises(DataError, match="several levels"):
        read_choices(deep, GAMES)
    with pytest.raises(DataError, match="'game' appears 2 times"):
        read_choices(pd.DataFrame([["sym", "sym", 0]], columns=["game", "game", "action"]), GAMES)
    with pytest.raises(DataError, match="from a list"):
        read_choices([1, 2], GAMES)  # type: ignore[arg-type]


def test_percent_is_for_wide_tables_with_plays() -> None:
    with pytest.raises(UsageError, match="long rows"):
        read_choices(rows(("sym", 1, "T")), GAMES, percent=True)
    with pytest.raises(UsageError, match="needs the number of plays"):
        read_choices(pd.DataFrame({"game": ["sym"], "1:T": [50], "1:M": [50], "1:B": [0]}), GAMES, percent=True)


@pytest.mark.parametrize(
    "headers",
    [
        ["1:0", "1:1", "2:0", "2:1"],
        ["p1_0", "p1_1", "p2_0", "p2_1"],
        ["player 1_0", "player_1_1", "player2_0", "P2 1"],
        ["row_0", "row_1", "col_0", "Column_1"],
        ["seller: 0", "Seller:1", "buyer:0", "buyer : 1"],
        ["Row_0%", "row_1 %", "Col_0_percent", "col_1_pct"],
    ],
)
def test_wide_headers(headers: list[str]) -> None:
    frame = pd.DataFrame([["mat", "x", 1, 2, 3, 4]], columns=["game", "model", *headers])
    choices = read_choices(frame, GAMES)
    assert choices.groups == ("model",)
    np.testing.assert_array_equal(choices.counts, [[1, 2, 3, 4]])


def test_wide_labels_games_of_different_size_and_no_choice() -> None:
    columns = ["game", "player_1_name", "1:T", "1:M", "1:B", "2:0", "2:1", "no_choice"]
    frame = pd.DataFrame(
        [["sym", "a", 1, 2, 3, None, None, 4], ["mat", "a", None, None, None, 5, 6, None]], columns=columns
    )
    choices = read_choices(frame, GAMES)
    assert choices.groups == ("player_1_name",)
    np.testing.assert_array_equal(choices.counts, [[1, 2, 3, 0, 0, 0], [0, 0, 5, 6, 0, 0]])
    np.testing.assert_array_equal(choices.no_choice, [4, 0])
    assert len(choices.problems) == 0


@settings(max_examples=40, deadline=None)
@given(
    counts=st.lists(st.integers(0, 40), min_size=3, max_size=3).filter(lambda c: sum(c) > 0),
    decimals=st.integers(2, 4),
    share=st.booleans(),
)
def test_percentages_of_known_plays_turn_into_the_counts(counts: list[int], decimals: int, share: bool) -> None:
    n = sum(counts)
    shown = [round((1 if share else 100) * c / n, decimals + 2 * share) for c in counts]
    frame = pd.DataFrame([["sym", *shown, n]], columns=["game", "1:T", "1:M", "1:B", "n_1"])
    np.testing.assert_array_equal(read_choices(frame, GAMES, percent=True).counts[0, :3], counts)


def test_many_bad_rows_make_few_lines() -> None:
    n = 5000
    frame = pd.DataFrame({"game": "sym", "action": [f"refusal {i}" for i in range(n)] + ["T"] * 10})
    choices = read_choices(frame, GAMES)
    assert choices.no_choice.sum() == n
    assert len(choices.problems) == 21
    assert int(choices.problems.frame["rows"].sum()) == n
    assert len(choices.problems.text().splitlines()) == 22


def test_a_row_is_set_aside_for_one_reason_only() -> None:
    frame = rows(
        ("nope", 9, 7, -1),
        ("mat", 9, 7, -1),
        ("mat", 1, 7, -1),
        ("mat", 1, 7, 1),
        ("mat", 1, 1, 1),
        columns="game player action count",
    )
    problems = read_choices(frame, GAMES).problems
    assert problems.codes == ("unknown_game", "unknown_player", "negative_count", "action_outside")
    assert problems.n_set_aside == 4
    assert problems.frame["row"].tolist() == [1, 2, 3, 4]


def test_each_row_a_cell_is_said() -> None:
    frame = pd.DataFrame({"id": range(30), "game": "sym", "action": "T"})
    assert read_choices(frame, GAMES).problems.codes == ("cell_per_row",)
    assert read_choices(frame, GAMES, groups=[]).counts[0, 0] == 30


def test_a_quoted_field_may_span_lines_and_lines_stay_counted(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text('prompt,game,action\n"two\nlines",sym,T\n"a ""b"", c",sym,9\n')
    choices = read_choices(path, GAMES)
    assert choices.cells["prompt"].tolist() == ["two\nlines"]
    assert choices.problems.frame["row"].tolist() == [4]


def test_a_file_with_many_open_quotes_keeps_its_good_rows(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    lines = [f"m{i},sym,{chr(34) if i % 3 == 0 else ''}T" for i in range(3000)]
    path.write_text("\n".join(["model,game,action", *lines]))
    choices = read_choices(path, GAMES)
    assert choices.counts.sum() == 2000
    assert choices.problems.n_set_aside == 1000


@pytest.mark.parametrize("ending", [".csv", ".jsonl", ".parquet"])
def test_a_million_rows(ending: str, tmp_path: Path) -> None:
    n = 1_000_000
    rng = np.random.default_rng(5)
    model, game = rng.integers(0, 300, n), rng.integers(0, 2, n)
    player, action = rng.integers(1, 3, n), rng.integers(0, 2, n)
    frame = pd.DataFrame({"model": model, "game": np.array(["sym", "mat"])[game], "player": player, "action": action})
    path = tmp_path / f"big{ending}"
    if ending == ".csv":
        frame.to_csv(path, index=False)
    elif ending == ".jsonl":
        frame = frame.iloc[: n // 5]
        frame.to_json(path, orient="records", lines=True)
    else:
        frame.to_parquet(path)
    choices = read_choices(path, GAMES)
    assert len(choices) == 600
    assert choices.counts.sum() == len(frame)
    first = frame.iloc[0]
    mine = frame[(frame["model"] == first["model"]) & (frame["game"] == first["game"])]
    size = choices.game_of(0).shape[0]
    places = (mine["player"] - 1) * size + mine["action"]
    np.testing.assert_array_equal(choices.counts[0], np.bincount(places, minlength=6))


def test_the_released_personas_of_a_study_read_as_percentages() -> None:
    path = SHARED / "data" / "jia_tqre_llm" / "aggregated_demographic_100.csv"
    if not path.exists():
        pytest.skip("no shared data")
    frame = pd.read_csv(path).assign(game="competitive_base", n=15)
    choices = read_choices(frame, columns={"model": "Model", "persona": "File Name"}, percent=True)
    assert choices.groups == ("model", "persona")
    assert choices.problems.rows_read == len(frame)
    shown = frame.filter(like="%").to_numpy()
    of_15 = (np.abs(np.round(shown * 0.15) / 0.15 - shown) < 0.006).all(axis=1)
    assert choices.problems.n_set_aside == (~of_15).sum()
    assert set(choices.problems.codes) == {"percent_not_whole"}
    assert set(choices.filter(model="gpt-4o").n) == {30.0}


def test_groups_of_a_wide_table_leave_its_counts_alone() -> None:
    frame = pd.DataFrame({"game": ["sym"], "model": ["a"], "id": [7], "1:T": [1], "1:M": [2], "1:B": [3]})
    choices = read_choices(frame, GAMES, groups=["model"])
    assert choices.groups == ("model",)
    np.testing.assert_array_equal(choices.counts[0, :3], [1, 2, 3])
    with pytest.raises(UsageError, match="groups= names 'modle'"):
        read_choices(frame, GAMES, groups=["modle"])


def test_large_identifiers_and_bytes_keep_their_value() -> None:
    frame = pd.DataFrame({"id": [2**60, 2**60 + 1], "game": [b"sym", b"sym"], "action": [b"T", b"B"]})
    choices = read_choices(frame, GAMES)
    assert choices.cells["id"].tolist() == [2**60, 2**60 + 1]
    np.testing.assert_array_equal(choices.counts[:, :3], [[1, 0, 0], [0, 0, 1]])


def test_a_name_of_ours_gives_way_and_a_name_of_yours_does_not() -> None:
    frame = pd.DataFrame({"n": ["x"], "n_group": ["y"], "game": ["sym"], "action": [0]})
    assert read_choices(frame, GAMES).groups == ("n_group_group", "n_group")
    assert read_choices(frame, GAMES, columns={"shots": "n"}, groups=["shots", "game"]).groups == ("shots",)


def test_no_games_are_refused() -> None:
    with pytest.raises(UsageError, match="holds no game"):
        read_choices(pd.DataFrame({"game": ["sym"], "action": [0]}), {})
