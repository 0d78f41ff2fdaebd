"""The shipped games are the published ones: payoffs, orientation, oddities, and how to look them up."""

from __future__ import annotations

import csv
import json
import os
import re
from pathlib import Path

import numpy as np
import pytest

from levelkit.datafiles import data_path
from levelkit.errors import UsageError
from levelkit.games import Game, game, library, library_sets, read_games

SHARED = Path(os.environ.get("LEVELKIT_SHARED", Path(__file__).resolve().parents[1] / ".." / "shared"))
needs_shared = pytest.mark.skipif(not (SHARED / "data").is_dir(), reason="no shared data")

TQRE = (
    "competitive_base competitive_high_stake competitive_low_stake stag_hunt_base stag_hunt_high_payoff "
    "stag_hunt_asymmetric prisoners_dilemma_base prisoners_dilemma_high_punishment "
    "prisoners_dilemma_low_punishment sequential bayesian_p50 bayesian_p90 signaling sw10"
)


def test_sets_and_their_sizes() -> None:
    sets = library_sets()
    assert {name: len(games) for name, (_, games) in sets.items()} == {
        "cgcb98": 14,
        "depth": 4,
        "eleven_twenty": 3,
        "goeree_holt2001": 5,
        "rpc2009": 17,
        "selten_chmura2008": 12,
        "sw94": 10,
        "sw95": 12,
        "tqre_llm": 14,
    }
    assert " ".join(sets["tqre_llm"][1]) == TQRE
    assert [name for _, games in sets.values() for name in games] == list(library())


@pytest.mark.parametrize("name", list(library()))
def test_every_game_states_title_source_and_payoff_unit(name: str) -> None:
    one = game(name)
    assert one.name == name == name.lower()
    assert one.title
    assert re.search(r"\(\d{4}\)", one.source), "a source needs its year"
    assert one.note.startswith("Payoffs in ")


def test_every_set_is_described_in_the_readme() -> None:
    text = data_path("games", "README.md").read_text(encoding="utf-8")
    assert all(f"`{name}.toml`" in text for name in library_sets())


def test_look_up_forgives_case_and_offers_close_names() -> None:
    assert game("SW10") is game("sw10")
    with pytest.raises(UsageError, match="Did you mean 'stag_hunt_base'"):
        game("stag_hunt_bse")
    with pytest.raises(UsageError, match="'sw95' is a set of games: sw95_1, sw95_2"):
        game("sw95")
    with pytest.raises(UsageError, match="The sets of games are cgcb98, depth, eleven_twenty"):
        game("qqqqqq")


def test_the_library_cannot_be_spoiled_by_its_users() -> None:
    library().clear()
    assert len(library()) == 91
    with pytest.raises(ValueError, match="read-only"):
        game("sw10").payoffs[0][0, 0] = 0


def test_shipped_files_are_ordinary_game_files() -> None:
    assert set(read_games(data_path("games"))) == set(library())


# the study's games, from the cells as printed: (player 1, player 2)

PRINTED = {
    "competitive_base": "10,-10 0,5 -5,8 | -10,10 5,0 8,-5 | 0,0 5,-5 -5,5",
    "competitive_high_stake": "20,-20 0,10 -10,15 | -20,20 10,0 15,-10 | 0,0 10,-10 -10,10",
    "competitive_low_stake": "3,-3 0,1 -1,2 | -3,3 1,0 2,-1 | 0,0 1,-1 -1,1",
    "stag_hunt_base": "8,8 0,7 | 7,0 5,5",
    "stag_hunt_high_payoff": "20,20 0,7 | 7,0 5,5",
    "stag_hunt_asymmetric": "12,8 0,7 | 7,0 5,5",
    "prisoners_dilemma_base": "3,3 0,5 | 5,0 1,1",
    "prisoners_dilemma_high_punishment": "10,10 0,15 | 15,0 -5,5",
    "prisoners_dilemma_low_punishment": "3,3 0,4 | 4,0 2,2",
    "sw10": "47,47 51,44 28,43 | 44,51 11,11 43,91 | 43,28 91,43 11,11",
}


def cells(text: str) -> list[np.ndarray]:
    """Both players' matrices from printed cells."""
    table = np.array([[cell.split(",") for cell in row.split()] for row in text.split("|")], dtype=float)
    return [table[:, :, 0], table[:, :, 1]]


@pytest.mark.parametrize("name", PRINTED)
def test_study_games_as_printed(name: str) -> None:
    assert game(name).same_payoffs(Game.normal_form(name, cells(PRINTED[name])))


def test_study_games_of_other_forms() -> None:
    sequential = Game.sequential("s", *cells("0,5 0,3 0,0 | 5,2 3,3 -1,-1 | 2,4 4,3 0,-2"))
    assert game("sequential").same_payoffs(sequential)
    signal = Game.misperceived("m", *cells("5,5 2,1 | 3,2 1,0"), *cells("4,4 6,3 | 2,3 1,2"))
    assert game("signaling").same_payoffs(signal)
    assert game("signaling").observed == (True, True, False)
    one, two = cells("10,10 5,2 | 7,5 3,3"), cells("8,8 6,3 | 5,4 2,2")
    for name, p in (("bayesian_p50", 0.5), ("bayesian_p90", 0.9)):
        for mine, first, second in zip(game(name).payoffs, one, two, strict=True):
            np.testing.assert_allclose(mine, p * first + (1 - p) * second, rtol=1e-14)


def test_oddities_of_the_study_are_kept() -> None:
    for name in ("competitive_base", "competitive_high_stake", "competitive_low_stake"):
        total = sum(game(name).payoffs)
        assert (total != 0).sum() == 4
        assert "not constant-sum" in game(name).note
    for name in ("prisoners_dilemma_high_punishment", "stag_hunt_asymmetric"):
        assert len(set(game(name).payoffs[0].mean(axis=1))) == 1, "indifferent against uniform play"


def test_eleven_twenty_follows_its_rules() -> None:
    for name, one in ((n, game(f"eleven_twenty_{n}")) for n in ("basic", "cycle", "costless")):
        assert one.symmetric
        assert one.actions[0] == tuple(str(k) for k in range(11, 21))
        for mine in range(11, 21):
            for other in range(11, 21):
                sure = mine if name != "costless" else 17 + 3 * (mine == 20)
                bonus = 20 * (mine == other - 1) + 20 * (name == "cycle" and (mine, other) == (20, 11))
                at = one.action_index(1, str(mine)), one.action_index(2, str(other))
                assert one.payoffs[0][at] == sure + bonus


def test_rogers_palfrey_camerer_rescaled_stahl_wilson_but_for_two_cells_of_game_2() -> None:
    shift = dict(zip(range(1, 13), [15, 19, 13, 18, 13, 15, 13, 11, 18, 11, 17, 18], strict=True))
    for k, c in shift.items():
        off = np.abs(0.8 * game(f"sw95_{k}").payoffs[0] + c - game(f"rpc_sw{k}").payoffs[0]) > 0.5 + 1e-9
        assert off.tolist() == ([[0, 0, 0], [1, 0, 0], [1, 0, 0]] if k == 2 else [[0] * 3] * 3)
    assert game("rpc_sw10").same_payoffs(game("sw10"))
    assert game("sw95_12").payoffs[0][2, 2] == 55


def test_selten_chmura_games_come_in_pairs_with_equal_best_replies() -> None:
    for k in range(1, 7):
        constant, other = game(f"sc_{k}"), game(f"sc_{k + 6}")
        assert np.ptp(sum(constant.payoffs)) == 0
        assert np.ptp(sum(other.payoffs)) > 0
        for i in (0, 1):
            differences = [np.diff(one.payoffs[i], axis=i) for one in (constant, other)]
            assert np.array_equal(*differences)


def test_clones_are_clones() -> None:
    for name, player, first, second in (
        ("rpc_cmp", 1, "D1", "D2"),
        ("rpc_cmp", 2, "R1", "R2"),
        ("rpc_cshl", 1, "S1", "S2"),
        ("rpc_cshh", 1, "S1", "S2"),
        ("rpc_cjok", 1, "J1", "J2"),
    ):
        one = game(name)
        for payoffs in one.payoffs:
            a, b = (payoffs.take(one.action_index(player, label), axis=player - 1) for label in (first, second))
            assert np.array_equal(a, b)


def test_kreps_positive_frame_adds_300() -> None:
    for basic, positive in zip(game("gh_kreps").payoffs, game("gh_kreps_positive").payoffs, strict=True):
        assert np.array_equal(basic + 300, positive)


# against independent transcriptions

NAMES = {
    "SW94": "sw94_{}",
    "SW95": "sw95_{}",
    "CGCB98": "cgcb_{}",
    "SC08": "sc_{}",
    "RPC09": "rpc_{}",
    "GH01": "{}",
    "AR12": "{}",
}
OTHER_NAMES = {
    "symmetricmatchingpennies": "gh_symmetric_mp",
    "asymmetricmatchingpennies": "gh_asymmetric_mp",
    "reversedasymmetrymatchingpennies": "gh_reversed_mp",
    "basickrepsgame": "gh_kreps",
    "positivepayoffframekrepsgame": "gh_kreps_positive",
    "11-20 basic": "eleven_twenty_basic",
    "11-20 costless (v3)": "eleven_twenty_costless",
}


@needs_shared
def test_payoffs_and_orientation_against_the_master_table() -> None:
    with (SHARED / "data" / "games_master.csv").open(encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["dataset"] in NAMES]
    seen = set()
    for row in rows:
        name = NAMES[row["dataset"]].format(OTHER_NAMES.get(row["game"], row["game"].lower()))
        other = Game.bimatrix(name, json.loads(row["A_row"]), json.loads(row["B_col"]))
        assert game(name).same_payoffs(other), name
        pooled = row["symmetric_pooled"] == "1"
        assert (game(name).form == "symmetric") == pooled, name
        for key, i in (("row_counts", 0), ("col_counts", 1)):
            if row[key]:
                assert len(json.loads(row[key])) == game(name).shape[i]
        seen.add(name)
    assert len(seen) == len(rows) == 72


@needs_shared
def test_payoffs_against_gambit_files() -> None:
    files = read_games(SHARED / "data" / "wlb_bogota" / "nfg")
    pairs = {name: name for name in library() if name.startswith(("sw94_", "sw95_"))}
    pairs |= {f"rpc_sw{k}": f"sw{k}" for k in range(1, 13)}
    pairs |= {"rpc_unp": "unprofitable", "rpc_cmp": "cloned_matching_pennies", "rpc_cjok": "cloned_joker"}
    pairs |= {"rpc_cshl": "cloned_stag_hunt_low", "rpc_cshh": "cloned_stag_hunt_hi"}
    pairs |= {"gh_kreps": "kreps_basic", "gh_kreps_positive": "kreps_positive"}
    pairs |= {
        "gh_symmetric_mp": "matching_pennies_symmetric",
        "gh_asymmetric_mp": "matching_pennies_asymmetric",
    }
    pairs |= {"gh_reversed_mp": "matching_pennies_asymmetric_reversed"}
    for mine, theirs in pairs.items():
        if mine != "rpc_sw3":
            assert game(mine).same_payoffs(files[theirs]), mine
    # one cell of that file contradicts itself: player 1 gets 83 where player 2, mirrored, gets 93
    assert not files["sw3"].symmetric
    off = game("rpc_sw3").payoffs[0] - files["sw3"].payoffs[0]
    assert off.tolist() == [[0, 0, 0], [0, 0, 0], [10, 0, 0]]
    assert np.array_equal(game("rpc_sw3").payoffs[1], files["sw3"].payoffs[1])


@needs_shared
def test_study_games_against_solved_ones() -> None:
    solved = json.loads((SHARED / "golden" / "study_games_solutions.json").read_text(encoding="utf-8"))
    keys = dict(zip(TQRE.split()[:9], list(solved)[:9], strict=True))
    keys |= {"bayesian_p50": "bayes_p50", "bayesian_p90": "bayes_p90", "sw10": "SW10"}
    for name, key in keys.items():
        for mine, theirs in zip(game(name).payoffs, (solved[key]["A"], solved[key]["B"]), strict=True):
            np.testing.assert_allclose(mine, theirs, rtol=1e-13)
    sender, receiver = solved["sig_sender"], solved["sig_receiver"]
    again = Game.misperceived("m", sender["A"], sender["B"], receiver["A"], receiver["B"])
    assert game("signaling").same_payoffs(again)
    assert game("sequential").same_payoffs(Game.sequential("s", solved["seq"]["A"], solved["seq"]["B"]))
