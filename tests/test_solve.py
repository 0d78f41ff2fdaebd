"""Best replies, dominance and Nash equilibria against published and independently computed solutions."""

from __future__ import annotations

import itertools
import json
import os
from pathlib import Path

import nashpy
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from levelkit.errors import DataError, UsageError
from levelkit.games import Game, game, library
from levelkit.solve import best_responses, dominated_actions, equilibria, expected_payoffs, pure_equilibria

SHARED = Path(os.environ.get("LEVELKIT_SHARED", Path(__file__).resolve().parents[1] / ".." / "shared"))
SOLVED = SHARED / "golden" / "study_games_solutions.json"


def whole_games(largest: int) -> st.SearchStrategy[Game]:
    sizes = st.tuples(st.integers(2, 4), st.integers(2, 4))

    def build(shape: tuple[int, int]) -> st.SearchStrategy[Game]:
        flat = st.lists(st.integers(0, largest), min_size=2 * shape[0] * shape[1], max_size=2 * shape[0] * shape[1])
        return flat.map(lambda xs: Game.bimatrix("g", *np.array(xs, dtype=float).reshape(2, *shape)))

    return sizes.flatmap(build)


def brute_pure(one: Game) -> set[tuple[str, ...]]:
    """Pure equilibria by trying every deviation."""
    found = set()
    for at in itertools.product(*map(range, one.shape)):
        stays = all(
            one.payoffs[i][at] >= one.payoffs[i][(*at[:i], other, *at[i + 1 :])]
            for i in range(one.n_players)
            for other in range(one.shape[i])
        )
        if stays:
            found.add(tuple(labels[a] for labels, a in zip(one.actions, at, strict=True)))
    return found


def regrets(one: Game, profile: tuple[np.ndarray, ...]) -> list[float]:
    """What each player of a two-player game could gain by deviating."""
    x, y = profile
    return [
        float((one.payoffs[0] @ y).max() - x @ one.payoffs[0] @ y),
        float((x @ one.payoffs[1]).max() - x @ one.payoffs[1] @ y),
    ]


@pytest.mark.skipif(not SOLVED.is_file(), reason="no shared golden values")
def test_equilibria_of_the_study_games() -> None:
    solved = json.loads(SOLVED.read_text(encoding="utf-8"))
    assert len(solved) == 18
    for name, values in solved.items():
        found = equilibria(Game.bimatrix(name, values["A"], values["B"]))
        assert len(found) == len(values["nash"]), name
        assert found.complete
        assert not found.degenerate
        for wanted in values["nash"]:
            close = [all(np.allclose(a, b, atol=1e-6) for a, b in zip(wanted, mine, strict=True)) for mine in found]
            assert sum(close) == 1, name


def test_published_equilibria_of_the_eleven_twenty_games() -> None:
    # the article prints the one symmetric equilibrium; there are others in which the two play differently
    for version, printed in (
        ("basic", [0, 0, 0, 0, 0.25, 0.25, 0.2, 0.15, 0.1, 0.05]),
        ("cycle", [0, 0, 0, 0, 0.25, 0.25, 0.2, 0.15, 0.1, 0.05]),
        ("costless", [0, 0, 0, 0.1, 0.15, 0.15, 0.15, 0.15, 0.15, 0.15]),
    ):
        found = equilibria(game(f"eleven_twenty_{version}"))
        ((mix, same),) = found.symmetric
        np.testing.assert_allclose(mix, printed, atol=1e-12)
        np.testing.assert_allclose(same, printed, atol=1e-12)
        assert found.complete
        assert len(found) > 1
        assert all(max(regrets(found.game, profile)) < 1e-9 for profile in found)


def test_large_games_get_what_can_be_had() -> None:
    size = 12
    pennies = Game.bimatrix("large", np.eye(size), 1 - np.eye(size))
    found = equilibria(pennies)
    assert (len(found), found.complete) == (0, False)
    assert found.note == "pure equilibria only: the game is 12x12"
    request = np.add.outer(np.arange(11.0, 11 + size), np.zeros(size)) + 20 * np.eye(size, k=1)
    found = equilibria(Game.symmetric("request", request))
    assert (len(found.symmetric), len(found), found.complete) == (1, 1, False)
    assert found.note == "pure and symmetric equilibria only: the game is 12x12"
    np.testing.assert_allclose(found.profiles[0][0][-6:], [0.25, 0.25, 0.2, 0.15, 0.1, 0.05], atol=1e-12)


def test_published_equilibria_of_selten_and_chmura() -> None:
    # the article's table: probabilities of U and L, in games 1 to 6 and again in 7 to 12
    printed = [(0.091, 0.909), (0.182, 0.727), (0.273, 0.909), (0.364, 0.818), (0.364, 0.727), (0.455, 0.636)]
    for k, (up, left) in enumerate(printed * 2, start=1):
        (only,) = equilibria(game(f"sc_{k}"))
        assert only[0][0] == pytest.approx(up, abs=5e-4)
        assert only[1][0] == pytest.approx(left, abs=5e-4)


def test_equilibrium_of_stahl_wilson_4_as_rescaled() -> None:
    (only,) = equilibria(game("rpc_sw4"))
    np.testing.assert_allclose(only[0], [0.675, 0.265, 0.060], atol=5e-4)


def test_equilibria_of_a_coordination_game() -> None:
    found = equilibria(Game.symmetric("s", [[4, 0], [3, 2]], actions=["stag", "hare"]))
    assert found.pure == (("stag", "stag"), ("hare", "hare"))
    assert [mix.tolist() for mix in found.profiles[2]] == [pytest.approx([2 / 3, 1 / 3])] * 2
    assert (len(found), found.complete, found.degenerate, found.note) == (3, True, False, "")


def test_a_continuum_is_flagged() -> None:
    found = equilibria(Game.bimatrix("d", [[1, 1], [1, 0]], [[1, 0], [0, 0]]))
    assert found.degenerate
    assert found.note == "degenerate: mixtures of the equilibria listed may be equilibria too"
    assert ("0", "0") in found.pure
    clones = equilibria(game("rpc_cmp"))  # U and L with either clone on either side
    assert (len(clones), clones.degenerate, clones.complete) == (4, True, True)
    flat = equilibria(Game.bimatrix("flat", np.zeros((2, 2)), np.zeros((2, 2))))
    assert flat.degenerate
    assert len(flat.pure) == 4


def test_supports_of_unequal_size_are_found() -> None:
    # player 1's third action has two best replies, 1 and 3; values of nashpy's vertex enumeration
    first = [[2, 6, 5, 5], [7, 5, 7, 1], [3, 5, 5, 7], [1, 1, 6, 9]]
    second = [[1, 0, 7, 7], [4, 3, 9, 2], [0, 8, 6, 8], [0, 6, 9, 3]]
    found = equilibria(Game.bimatrix("u", first, second))
    assert (len(found), found.degenerate) == (4, True)
    mixes = [y.tolist() for x, y in found if x.tolist() == [0, 0, 1, 0]]
    assert mixes == [pytest.approx([0, 1 / 3, 0, 2 / 3]), pytest.approx([0, 2 / 3, 0, 1 / 3])]


def test_more_than_two_agents_get_pure_equilibria_and_a_word_on_it() -> None:
    found = equilibria(game("sequential"))
    # by backward induction: the follower answers 0, 1, 0; the leader then chooses between 0, 3 and 2
    assert found.pure == (("1", "0", "1", "0"),)
    assert not found.complete
    assert found.note == "pure equilibria only: the game has 4 agents"
    assert equilibria(game("signaling")).pure == (("0", "0", "0"),)


def test_a_decision_has_its_best_actions() -> None:
    found = equilibria(Game.normal_form("d", [[1.0, 3.0, 3.0]]))
    assert found.pure == (("1",), ("2",))


@settings(max_examples=60, deadline=None)
@given(whole_games(9))
def test_equilibria_are_equilibria_and_include_all_pure_ones(one: Game) -> None:
    found = equilibria(one)
    assert set(pure_equilibria(one)) == set(found.pure) == brute_pure(one)
    assert len(found) >= 1
    for profile in found:
        assert max(regrets(one, profile)) < 1e-7
        assert all(mix.sum() == pytest.approx(1) and (mix >= 0).all() for mix in profile)
    if not found.degenerate:
        assert len(found) % 2 == 1, "a regular game has an odd number of equilibria"


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.tuples(st.integers(2, 4), st.integers(2, 4)))
def test_all_equilibria_of_generic_games_against_nashpy(seed: int, shape: tuple[int, int]) -> None:
    first, second = np.random.default_rng(seed).normal(size=(2, *shape))
    theirs = list(nashpy.Game(first, second).vertex_enumeration())
    mine = equilibria(Game.bimatrix("g", first, second))
    assert not mine.degenerate
    assert len(mine) == len(theirs)
    for one in theirs:
        close = [all(np.allclose(a, b, atol=1e-8) for a, b in zip(one, other, strict=True)) for other in mine]
        assert sum(close) == 1


@settings(max_examples=40, deadline=None)
@given(whole_games(9), st.sampled_from([1e-6, 0.3, 1e6]), st.sampled_from([0.0, -7.3, 1e3]))
def test_equilibria_do_not_depend_on_the_unit_of_payoff(one: Game, factor: float, shift: float) -> None:
    other = Game.bimatrix("o", one.payoffs[0] * factor + shift * factor, one.payoffs[1] * factor)
    mine, theirs = equilibria(one), equilibria(other)
    assert len(mine) == len(theirs)
    for a, b in zip(mine, theirs, strict=True):
        np.testing.assert_allclose(np.concatenate(a), np.concatenate(b), atol=1e-6)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(0, 3), min_size=36, max_size=36))
def test_pure_equilibria_of_three_players(flat: list[int]) -> None:
    one = Game.normal_form("g", np.array(flat, dtype=float).reshape(3, 2, 3, 2))
    assert set(pure_equilibria(one)) == brute_pure(one)


def test_best_responses_take_labels_mixes_and_mappings() -> None:
    eleven = game("eleven_twenty_basic")
    assert best_responses(eleven, 1, "20") == {"19"}
    assert best_responses(eleven, 2, "11") == {"20"}
    assert best_responses(eleven, "player 1", {"player 2": "15"}) == {"14"}
    assert best_responses(eleven, 1, [None, "15"]) == {"14"}
    assert best_responses(eleven, 1, equilibria(eleven).symmetric[0]) == {"15", "16", "17", "18", "19", "20"}
    assert best_responses(game("stag_hunt_asymmetric"), 1, [0.5, 0.5]) == {"stag", "hare"}
    assert best_responses(game("stag_hunt_asymmetric"), 2, [0.5, 0.5]) == {"hare"}


def test_best_responses_in_games_of_several_agents() -> None:
    sequential = game("sequential")
    assert best_responses(sequential, 1, [None, "0", "0", "0"]) == {"1"}
    assert best_responses(sequential, 1, [None, "0", "2", "1"]) == {"2"}
    for leader in ("0", "1", "2"):
        assert best_responses(sequential, 2, [leader, None, "0", "0"]) == {"0"}
    values = expected_payoffs(sequential, 1, [None, [0.5, 0.5, 0], [0, 0.5, 0.5], [0.25, 0.25, 0.5]])
    assert values.tolist() == [0, 1, 1.5]


def test_ties_are_judged_by_the_payoff_range() -> None:
    one = Game.bimatrix("g", [[0.1 + 0.2, 0], [0.3, 0]], np.eye(2))
    assert best_responses(one, 1, "0") == {"0", "1"}
    assert best_responses(one, 1, "0", tie=0) == {"0"}
    near = Game.bimatrix("g", [[1000, 0], [999.999, 0]], np.eye(2))
    assert best_responses(near, 1, "0") == {"0"}
    assert best_responses(near, 1, "0", tie=1e-5) == {"0", "1"}


def test_beliefs_that_do_not_fit_are_refused() -> None:
    one = game("sequential")
    with pytest.raises(UsageError, match="one entry for each of the 4 players"):
        best_responses(one, 1, ["0", "0"])
    with pytest.raises(UsageError, match="no belief about follower after 1"):
        best_responses(one, 1, [None, "0", None, "0"])
    with pytest.raises(DataError, match=r"sums to 0\.9"):
        best_responses(game("sw10"), 1, [0.3, 0.3, 0.3])
    with pytest.raises(DataError, match="2 probabilities for 3 actions"):
        best_responses(game("sw10"), 1, [0.5, 0.5])
    with pytest.raises(UsageError, match="no action '7'"):
        best_responses(game("sw10"), 1, "7")


def found_dominated(name: str) -> dict[tuple[str, str], bool]:
    return {(one.player, one.action): one.strictly for one in dominated_actions(game(name))}


def test_dominated_actions_of_known_games() -> None:
    assert found_dominated("prisoners_dilemma_base") == {
        ("player 1", "cooperate"): True,
        ("player 2", "cooperate"): True,
    }
    assert found_dominated("prisoners_dilemma_high_punishment") == {("player 2", "cooperate"): True}
    assert found_dominated("competitive_base") == {}
    assert found_dominated("cgcb_2a") == {("player 1", "R2"): True}
    assert found_dominated("sw95_3") == {("player 1", "T"): False, ("player 2", "T"): False}
    assert found_dominated("rpc_cmp") == {}, "a clone does not dominate its like"


def test_dominance_by_a_mix() -> None:
    one = Game.bimatrix("g", [[4, 0], [0, 4], [1, 1]], np.zeros((3, 2)))
    (middle,) = dominated_actions(one)
    assert (middle.player, middle.action, middle.strictly) == ("player 1", "2", True)
    assert sum(middle.by.values()) == pytest.approx(1)
    mix = np.array([middle.by.get(label, 0.0) for label in one.actions[0]])
    assert (mix @ one.payoffs[0] > one.payoffs[0][2]).all()
    weak = Game.bimatrix("g", [[4, 0, 1], [0, 4, 1], [2, 2, 0]], np.zeros((3, 3)))
    assert [(d.action, d.strictly, dict(d.by)) for d in dominated_actions(weak)] == [
        ("2", False, {"0": pytest.approx(0.5), "1": pytest.approx(0.5)})
    ]


def test_strictly_dominated_actions_are_in_no_equilibrium() -> None:
    checked = 0
    for one in library().values():
        if one.n_players != 2:
            continue
        for what in dominated_actions(one):
            i = one.player_index(what.player)
            if what.strictly:
                checked += 1
                at = one.action_index(what.player, what.action)
                assert all(profile[i][at] == pytest.approx(0, abs=1e-9) for profile in equilibria(one))
    assert checked > 20
