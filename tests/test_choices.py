"""Choices: cells and counts stay together through frames, filters and files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from levelkit.choices import Choices, Problems, read_choices
from levelkit.errors import DataError, UsageError
from levelkit.games import Game

GAMES = {
    "dilemma": Game.symmetric("dilemma", [[3, 0], [5, 1]], actions=("C", "D")),
    "numbers": Game.symmetric("numbers", [[1, 2, 3], [2, 1, 3], [3, 2, 1]], actions=("1", "2", "3")),
    "wide": Game.bimatrix("wide", [[1, 2, 3], [4, 5, 6]], [[1, 2, 3], [4, 5, 6]], players=("leader", "follower")),
}


def small() -> Choices:
    cells = pd.DataFrame({"model": ["a", "b", "a"], "cot": [0, 1, 1], "game": ["dilemma", "wide", "dilemma"]})
    counts = np.array([[3, 1, 0, 0, 0], [2, 2, 1, 0, 3], [0, 4, 5, 0, 0]], dtype=float)
    return Choices.from_counts(cells, counts, GAMES, no_choice=np.array([0, 2, 0]))


def test_from_counts_keeps_cells_counts_and_used_games() -> None:
    choices = small()
    assert len(choices) == 3
    assert choices.groups == ("model", "cot")
    assert list(choices.games) == ["dilemma", "wide"]
    np.testing.assert_array_equal(choices.n, [4, 8, 9])
    leader, follower = choices.counts_for(1)
    np.testing.assert_array_equal(leader, [2, 2])
    np.testing.assert_array_equal(follower, [1, 0, 3])
    np.testing.assert_array_equal(choices.counts_for(2)[1], [5, 0])
    assert repr(choices) == "Choices(3 cells, 21 choices, 2 games; by model, cot)"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"counts": np.zeros((3, 4))}, r"shape \(3, 4\), not \(3, 5\)"),
        ({"counts": np.full((3, 5), np.nan)}, "finite"),
        ({"counts": np.full((3, 5), -1.0)}, "not negative"),
        ({"no_choice": np.zeros(2)}, r"shape \(2,\)"),
        ({"games": {"wide": GAMES["wide"]}}, "'dilemma' is not among"),
    ],
)
def test_from_counts_checks_shapes_and_finiteness(change: dict[str, object], message: str) -> None:
    choices = small()
    given_ = {"counts": choices.counts, "games": GAMES, "no_choice": None, **change}
    with pytest.raises(DataError, match=message):
        Choices.from_counts(choices.cells, **given_)  # type: ignore[arg-type]


def test_from_counts_refuses_names_of_its_own() -> None:
    cells = pd.DataFrame({"estimate": [1.0], "game": ["dilemma"]})
    with pytest.raises(DataError, match="'estimate' is a name of levelkit's own"):
        Choices.from_counts(cells, np.zeros((1, 4)), GAMES)
    with pytest.raises(DataError, match="no column 'game'"):
        Choices.from_counts(pd.DataFrame({"model": ["a"]}), np.zeros((1, 4)), GAMES)


def test_counts_are_read_only() -> None:
    with pytest.raises(ValueError, match="read-only"):
        small().counts[0, 0] = 7
    with pytest.raises(ValueError, match="read-only"):
        read_choices(small().frame(), GAMES).counts[0, 0] = 7


def test_frame_names_players_and_actions_and_keeps_zeros() -> None:
    frame = small().frame()
    assert list(frame.columns) == ["model", "cot", "game", "player", "action", "count"]
    cell = frame[(frame["game"] == "wide")]
    assert cell["player"].tolist() == ["leader"] * 2 + ["follower"] * 3 + ["leader"]
    assert cell["action"].tolist() == ["0", "1", "0", "1", "2", ""]
    assert cell["count"].tolist() == [2, 2, 1, 0, 3, 2]
    assert frame["model"].tolist() == ["a"] * 4 + ["b"] * 6 + ["a"] * 4


def test_filter_by_values_lists_and_mask() -> None:
    choices = small()
    assert choices.filter(model="a").cells["cot"].tolist() == [0, 1]
    assert len(choices.filter(model=["a", "b"], cot=1)) == 2
    only = choices.filter(game="dilemma")
    assert list(only.games) == ["dilemma"]
    assert only.counts.shape == (2, 4)
    np.testing.assert_array_equal(choices.filter(choices.n > 4).n, [8, 9])
    assert len(choices.filter(model="nobody")) == 0
    with pytest.raises(UsageError, match="did you mean 'model'"):
        choices.filter(modle="a")
    with pytest.raises(UsageError, match="3 booleans"):
        choices.filter([True])


def test_no_problems_is_said() -> None:
    assert Problems().text() == "nothing was set aside, nothing to note"
    assert Problems().n_set_aside == 0


LABEL = st.text(st.characters(codec="utf-8", exclude_categories=("C", "Z")), min_size=1, max_size=6)


@st.composite
def any_choices(draw: st.DrawFn) -> Choices:
    """Choices with text, whole and decimal groups, one to three games and some answers without a choice."""
    rows = draw(
        st.lists(
            st.tuples(
                LABEL,
                st.integers(-3, 3),
                st.sampled_from([0.25, 0.5, 1.5]),
                st.sampled_from(sorted(GAMES)),
                st.lists(st.integers(0, 9), min_size=6, max_size=6),
                st.integers(0, 2),
            ),
            min_size=1,
            max_size=8,
            unique_by=lambda row: row[:4],
        )
    )
    cells = pd.DataFrame([row[:4] for row in rows], columns=["who", "level", "temperature", "game"])
    width = max(GAMES[name].n_counts for name in cells["game"])
    counts = np.zeros((len(rows), width))
    for i, row in enumerate(rows):
        size = GAMES[row[3]].n_counts
        counts[i, :size] = row[4][:size]
    return Choices.from_counts(cells, counts, GAMES, no_choice=np.array([float(row[5]) for row in rows]))


def plain(choices: Choices) -> Choices:
    """The same choices with the group types a reader gives (a text column of numbers becomes numbers)."""
    return read_choices(choices.frame(), GAMES)


@settings(max_examples=25, deadline=None)
@given(choices=any_choices(), ending=st.sampled_from([".csv", ".tsv", ".jsonl", ".parquet", ".csv.gz"]))
def test_choices_survive_every_format(choices: Choices, ending: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("round") / f"choices{ending}"
    frame = choices.frame()
    write(frame, path, ending)
    again = read_choices(path, GAMES)
    assert again.problems.n_set_aside == 0
    np.testing.assert_array_equal(again.counts, choices.counts)
    np.testing.assert_array_equal(again.no_choice, choices.no_choice)
    assert again.cells.astype(str).equals(choices.cells.astype(str)) or has_numbers_as_text(choices)
    assert again.equals(plain(choices))


def has_numbers_as_text(choices: Choices) -> bool:
    return all(pd.to_numeric(choices.cells["who"], errors="coerce").notna())


def write(frame: pd.DataFrame, path: Path, ending: str) -> None:
    if ending == ".parquet":
        frame.to_parquet(path)
    elif ending == ".jsonl":
        frame.to_json(path, orient="records", lines=True, double_precision=15)
    else:
        frame.to_csv(path, index=False, sep="\t" if ending == ".tsv" else ",")


def test_games_may_come_as_a_list():
    import pandas as pd

    import levelkit as lk

    game = lk.Game.bimatrix("mine", [[1, 0], [0, 1]], [[0, 1], [1, 0]])
    frame = pd.DataFrame({"game": ["mine"], "player": [1], "action": [0]})
    assert lk.read_choices(frame, games=[game]).counts.tolist() == [[1.0, 0.0, 0.0, 0.0]]
    for bad, words in (([game, game], "same name"), ([1], "not a Game"), ([], "holds no game")):
        with pytest.raises(lk.UsageError, match=words):
            lk.read_choices(frame, games=bad)
