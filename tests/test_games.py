"""Games: the constructors' translations, look-up by label or number, and what is refused at the border."""

from __future__ import annotations

import itertools
import subprocess
import sys
from fractions import Fraction

import numpy as np
import pytest

from levelkit.errors import DataError, UsageError
from levelkit.games import Game

ROW = [[3, 0, 1], [5, 1, 2]]
COL = [[3, 5, 0], [0, 1, 4]]


def test_bimatrix_has_labels_shape_and_read_only_payoffs() -> None:
    game = Game.bimatrix("g", ROW, COL, actions=[["up", "down"], ["a", "b", "c"]], title="T", source="S", note="N")
    assert game.players == ("player 1", "player 2")
    assert game.actions == (("up", "down"), ("a", "b", "c"))
    assert (game.shape, game.n_players, game.n_counts) == ((2, 3), 2, 5)
    assert game.slices == (slice(0, 2), slice(2, 5))
    assert game.observed == (True, True)
    assert game.level0 == (None, None)
    assert (game.title, game.source, game.note, game.form) == ("T", "S", "N", "bimatrix")
    assert game.payoffs[1][1, 2] == 4  # u_2(row, col)
    assert game.payoffs[0].dtype == np.float64
    with pytest.raises(ValueError, match="read-only"):
        game.payoffs[0][0, 0] = 9
    assert not game.symmetric


def test_payoffs_are_copied() -> None:
    row = np.array(ROW, dtype=float)
    game = Game.bimatrix("g", row, COL)
    row[0, 0] = 99
    assert game.payoffs[0][0, 0] == 3


def test_payoff_range_is_over_all_agents() -> None:
    assert Game.bimatrix("g", [[0, 1], [2, 3]], [[-4, 0], [0, 10]]).payoff_range == 14
    assert Game.bimatrix("g", [[7, 7], [7, 7]], [[7, 7], [7, 7]]).payoff_range == 0


def test_default_labels_count_from_zero() -> None:
    assert Game.bimatrix("g", ROW, COL).actions == (("0", "1"), ("0", "1", "2"))


def test_numbers_of_any_kind_are_payoffs() -> None:
    game = Game.bimatrix("g", [[Fraction(1, 3), np.float32(0.5)], [np.int64(2), 1e-300]], np.eye(2, dtype=int))
    assert game.payoffs[0].tolist() == [[1 / 3, 0.5], [2.0, 1e-300]]


def test_symmetric_game_transposes_and_shares_labels_and_level0() -> None:
    game = Game.symmetric("g", [[1, 2], [3, 4]], actions=["a", "b"], level0="b")
    assert game.payoffs[1].tolist() == [[1, 3], [2, 4]]
    assert game.actions == (("a", "b"), ("a", "b"))
    assert [mix.tolist() for mix in game.level0 if mix is not None] == [[0, 1], [0, 1]]
    assert game.symmetric
    assert game.form == "symmetric"
    assert Game.symmetric("g", [[1, 2], [3, 4]], level0=[0.25, 0.75]).level0[1].tolist() == [0.25, 0.75]
    assert Game.symmetric("g", [[1, 2], [3, 4]], actions=range(11, 13)).actions[1] == ("11", "12")


def test_symmetry_is_a_matter_of_payoffs_and_level0_not_of_the_constructor() -> None:
    row = np.array([[1.0, 2.0], [3.0, 4.0]])
    assert Game.bimatrix("g", row, row.T).symmetric
    assert not Game.bimatrix("g", row, row).symmetric
    assert not Game.bimatrix("g", row, row.T, level0=[None, [1, 0]]).symmetric
    assert not Game.bimatrix("g", row, row.T, level0=[[0, 1], [1, 0]]).symmetric
    cube = np.zeros((2, 2, 2))
    assert not Game.normal_form("g", (cube, cube, cube)).symmetric


def test_bayesian_game_is_the_prior_weighted_mean() -> None:
    game = Game.bayesian("b", [(0.9, [[10, 5], [7, 3]], [[10, 2], [5, 3]]), (0.1, [[8, 6], [5, 2]], [[8, 3], [4, 2]])])
    np.testing.assert_allclose(game.payoffs[0], [[9.8, 5.1], [6.8, 2.9]], rtol=1e-14)
    np.testing.assert_allclose(game.payoffs[1], [[9.8, 2.1], [4.9, 2.9]], rtol=1e-14)
    assert game.form == "bayesian"


def test_sequential_game_has_a_follower_agent_per_leader_action() -> None:
    row, col = [[0, 1], [5, 3], [2, 4]], [[5, 3], [2, 3], [4, 6]]
    game = Game.sequential("s", row, col, actions=[["x", "y", "z"], ["l", "r"]], level0=["y", "r"])
    assert game.players == ("leader", "follower after x", "follower after y", "follower after z")
    assert game.shape == (3, 2, 2, 2)
    assert game.actions == (("x", "y", "z"),) + (("l", "r"),) * 3
    for a, *replies in itertools.product(range(3), *[range(2)] * 3):
        assert game.payoffs[0][(a, *replies)] == row[a][replies[a]]
        for node in range(3):
            assert game.payoffs[node + 1][(a, *replies)] == col[node][replies[node]]
    assert [mix.tolist() for mix in game.level0 if mix is not None] == [[0, 1, 0]] + [[0, 1]] * 3
    assert all(game.observed)


def test_misperceived_game_has_an_imagined_sender_who_is_not_observed() -> None:
    true_row, true_col = [[5, 2, 7], [3, 1, 8]], [[5, 1, 0], [2, 0, 9]]
    shown_row, shown_col = [[4, 6, 1], [2, 1, 3]], [[4, 3, 5], [3, 2, 6]]
    game = Game.misperceived("m", true_row, true_col, shown_row, shown_col, actions=[["a", "b"], ["x", "y", "z"]])
    assert game.players == ("sender", "receiver", "imagined sender")
    assert game.observed == (True, True, False)
    assert game.actions == (("a", "b"), ("x", "y", "z"), ("a", "b"))
    for i, j, k in itertools.product(range(2), range(3), range(2)):
        assert game.payoffs[0][i, j, k] == true_row[i][j]
        assert game.payoffs[1][i, j, k] == shown_col[k][j]
        assert game.payoffs[2][i, j, k] == shown_row[k][j]


def test_normal_form_of_three_players() -> None:
    payoffs = np.arange(36.0).reshape(3, 2, 3, 2)
    game = Game.normal_form("n", payoffs, players=["Ann", "Bob", "Cy"], level0=[None, [0.2, 0.3, 0.5], []])
    assert game.shape == (2, 3, 2)
    assert game.payoffs[2][1, 2, 1] == payoffs[2, 1, 2, 1]
    assert game.level0[0] is None
    assert game.level0[1].tolist() == [0.2, 0.3, 0.5]
    assert game.level0[2] is None


def test_players_are_found_by_number_and_name() -> None:
    game = Game.bimatrix("g", ROW, COL, players=["Row", "Column"])
    for asked in (2, "2", "player 2", "Player 2", "COLUMN", " column "):
        assert game.player_index(asked) == 1
    for asked in (0, 3, -1, "player 3", "nobody", "", True):
        with pytest.raises(UsageError, match=r"1 = 'Row', 2 = 'Column'"):
            game.player_index(asked)


def test_actions_are_found_by_label_first_then_by_index() -> None:
    game = Game.bimatrix("g", ROW, COL, actions=[["Up", "Down"], ["11", "12", "13"]])
    assert game.action_index(1, "Down") == 1
    assert game.action_index(1, "down") == 1
    assert game.action_index(1, 0) == 0
    assert game.action_index(1, "1") == 1
    assert game.action_index("player 2", 12) == 1
    assert game.action_index("player 2", 2) == 2
    for asked in ("left", 2, -1, True, "²", ""):
        with pytest.raises(UsageError, match="Up, Down"):
            game.action_index(1, asked)


def test_labels_that_differ_by_case_only_are_kept_apart() -> None:
    game = Game.bimatrix("g", ROW, COL, actions=[["a", "A"], ["x", "y", "z"]])
    assert (game.action_index(1, "a"), game.action_index(1, "A")) == (0, 1)


def test_renamed_and_scaled_leave_the_rest_alone() -> None:
    game = Game.bimatrix("g", ROW, COL, actions=[["u", "d"], ["a", "b", "c"]], note="n", level0=["u", "c"])
    other = game.renamed("h").scaled(0.5)
    assert other.name == "h"
    assert other.payoffs[1].tolist() == (np.array(COL) / 2).tolist()
    assert (other.actions, other.note, other.form) == (game.actions, game.note, game.form)
    assert other.level0[0].tolist() == [1, 0]
    for factor in (0, -1, np.nan, np.inf):
        with pytest.raises(UsageError, match="positive"):
            game.scaled(factor)


def test_same_payoffs_ignores_names_and_sees_every_bit() -> None:
    game = Game.bimatrix("g", ROW, COL)
    assert game.same_payoffs(Game.bimatrix("h", ROW, COL, players=["A", "B"]))
    assert not game.same_payoffs(Game.bimatrix("g", COL, ROW))
    assert not game.same_payoffs(Game.bimatrix("g", np.array(ROW) + 1e-15, COL))
    assert not game.same_payoffs(Game.bimatrix("g", [[1, 2], [3, 4]], [[1, 2], [3, 4]]))


def test_one_player_is_a_decision() -> None:
    game = Game.normal_form("d", [[1.0, 2.0, 4.0]])
    assert (game.shape, game.players, game.symmetric) == ((3,), ("player 1",), False)


BAD = [
    (lambda: Game.bimatrix("g", [[1, 2], [3]], COL), "game 'g', row: row 2 has 1 entry, row 1 has 2"),
    (lambda: Game.bimatrix("g", ROW, [[1, 2], [3, 4]]), "game 'g': col is 2x2, row is 2x3"),
    (
        lambda: Game.bimatrix("g", [[1, float("nan")], [3, 4]], np.eye(2)),
        "row: payoff in row 1, column 2 is nan",
    ),
    (lambda: Game.bimatrix("g", np.eye(2), [[1, 2], [-np.inf, 4]]), "col: payoff in row 2, column 1 is -inf"),
    (lambda: Game.bimatrix("g", [["3", 1], [2, 2]], np.eye(2)), "'3' in row 1, column 1 is not a number"),
    (lambda: Game.bimatrix("g", [[True, 1], [2, 2]], np.eye(2)), "True in row 1, column 1 is not a number"),
    (lambda: Game.bimatrix("g", [[10**400, 1], [2, 2]], np.eye(2)), "row 1, column 1 is too large"),
    (lambda: Game.bimatrix("g", [[1j, 1], [2, 2]], np.eye(2)), "is not a number"),
    (lambda: Game.bimatrix("g", np.array([["a"]]), np.eye(2)), "row: payoffs of type <U1 are not numbers"),
    (
        lambda: Game.bimatrix("g", [1, 2], np.eye(2)),
        "row: payoffs must be a matrix: a list of rows, not a list",
    ),
    (lambda: Game.bimatrix("g", 3, np.eye(2)), "not a number"),
    (lambda: Game.bimatrix("g", [], []), "payoffs are empty"),
    (lambda: Game.bimatrix("g", [[], []], [[], []]), "the list in place 1 is empty"),
    (lambda: Game.bimatrix("g", np.zeros((2, 0)), np.zeros((2, 0))), "no action"),
    (lambda: Game.bimatrix("g", ROW, COL, actions=[["a", "b"], ["a", "b"]]), "2 action labels for player 2"),
    (lambda: Game.bimatrix("g", ROW, COL, actions=[["a", "b"]]), "action labels for 1 players"),
    (lambda: Game.bimatrix("g", ROW, COL, actions=["ab", "abc"]), "actions of player 1 must be a list"),
    (lambda: Game.bimatrix("g", ROW, COL, actions=[1, 2]), "actions of player 1 must be a list"),
    (
        lambda: Game.bimatrix("g", ROW, COL, actions=[["a", "a"], "xyz"]),
        "two actions of player 1 are called 'a'",
    ),
    (lambda: Game.bimatrix("g", ROW, COL, actions=[["a", " "], []]), "an action of player 1 is empty"),
    (
        lambda: Game.bimatrix("g", ROW, COL, actions=[["a", "b\n"], ["x\ty", "y", "z"]]),
        "holds a control character",
    ),
    (
        lambda: Game.bimatrix("g", ROW, COL, actions=[["a", 1.5], []]),
        "an action of player 1 must be text, not 1.5",
    ),
    (lambda: Game.bimatrix("g", ROW, COL, players=["A"]), "1 player names for 2 players"),
    (lambda: Game.bimatrix("g", ROW, COL, players=["A", "a"]), "two players are called 'a'"),
    (
        lambda: Game.bimatrix("g", ROW, COL, players=["player 2", "player 1"]),
        "reads as another player's number",
    ),
    (lambda: Game.bimatrix("g", ROW, COL, players=["0", "1"]), "player 1 is called '0'"),
    (lambda: Game.bimatrix("", ROW, COL), "the name is empty"),
    (lambda: Game.bimatrix(None, ROW, COL), "the name must be text"),
    (lambda: Game.bimatrix("g", ROW, COL, title=3), "title must be text, not 3"),
    (
        lambda: Game.bimatrix("g", ROW, COL, level0=[[0.5, 0.6], None]),
        "level 0 of player 1 sums to 1.1, not 1",
    ),
    (lambda: Game.bimatrix("g", ROW, COL, level0=[[1.5, -0.5], None]), "negative probability"),
    (lambda: Game.bimatrix("g", ROW, COL, level0=[None, [0.5, 0.5]]), "2 probabilities for 3 actions"),
    (lambda: Game.bimatrix("g", ROW, COL, level0=[[0.5, np.nan], None]), "payoff in place 2 is nan|is nan"),
    (
        lambda: Game.bimatrix("g", ROW, COL, level0=["2", None]),
        "anchored at '2', which is no action of theirs",
    ),
    (lambda: Game.bimatrix("g", ROW, COL, level0=["0"]), "level0 has 1 entries for 2 players"),
    (lambda: Game.bimatrix("g", ROW, COL, level0=[1, 0]), "level 0 of player 1 is 1"),
    (lambda: Game.symmetric("g", ROW), "game 'g', row: the matrix is 2x3"),
    (lambda: Game.bayesian("g", []), "no states"),
    (
        lambda: Game.bayesian("g", [(0.5, ROW, COL), (0.6, ROW, COL)]),
        "the prior over states sums to 1.1, not 1",
    ),
    (lambda: Game.bayesian("g", [(1, ROW)]), "state 1 has 2 parts"),
    (
        lambda: Game.bayesian("g", [(0.5, ROW, COL), (0.5, np.eye(2), np.eye(2))]),
        "state 2 is 2x2, state 1 is 2x3",
    ),
    (lambda: Game.sequential("g", np.ones((9, 9)), np.ones((9, 9))), "9x9\\^9 entries"),
    (lambda: Game.misperceived("g", ROW, COL, ROW, np.eye(2)), "shown_col is 2x2, true_row is 2x3"),
    (lambda: Game.normal_form("g", [np.zeros((2, 2)), np.zeros((3, 2))]), "payoffs of player 2 is 3x2"),
    (lambda: Game.normal_form("g", [np.zeros((2, 2))] * 3), "payoffs must be nested 3 levels deep"),
    (lambda: Game.normal_form("g", []), "one array per player"),
    (lambda: Game.normal_form("g", [np.eye(2)] * 2, observed=[False, False]), "at least one true"),
    (lambda: Game.normal_form("g", [np.eye(2)] * 2, form="tree"), "unknown form 'tree'"),
]


@pytest.mark.parametrize(("build", "words"), BAD)
def test_bad_games_are_refused_with_the_place(build, words: str) -> None:
    with pytest.raises(DataError, match=words.replace("(", "\\(")) as caught:
        build()
    assert caught.value.where, "the error must say where"


def test_an_error_names_game_field_and_fix() -> None:
    with pytest.raises(DataError) as caught:
        Game.bimatrix("dilemma", ROW, np.transpose(COL))
    assert str(caught.value) == (
        "game 'dilemma': col is 3x2, row is 2x3. Index both matrices [action of player 1][action of player 2]"
    )


def test_games_need_numpy_only() -> None:
    heavy = "{'jax', 'pandas', 'scipy', 'nashpy'}"
    loaded = "{name.split('.')[0] for name in sys.modules}"
    code = f"import sys, levelkit.games as games; games.library(); print({heavy} & {loaded})"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "set()"
