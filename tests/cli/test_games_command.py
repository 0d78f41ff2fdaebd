"""`levelkit games`: every game can be shown within 80 columns, with what can be told from it."""

from __future__ import annotations

import json

import numpy as np
import pytest
from rich.cells import cell_len

from levelkit.cli import main
from levelkit.games import Game, library, library_sets, read_games
from levelkit.report import gamesheet


def run(capsys, *arguments: object) -> tuple[int, str, str]:
    code = main([str(a) for a in arguments])
    said = capsys.readouterr()
    assert "Traceback" not in said.out + said.err
    return code, said.out, said.err


def test_all_games_are_listed_by_set(capsys):
    code, out, _ = run(capsys, "games")
    assert code == 0
    for name in (*library_sets(), *library()):
        assert name in out
    assert max(map(cell_len, out.splitlines())) <= 80


def test_one_set(capsys):
    _, out, _ = run(capsys, "games", "--set", "sw94", "--json")
    assert {row["set"] for row in json.loads(out)} == {"sw94"}


def test_one_game_in_full(capsys):
    code, out, err = run(capsys, "games", "sw10")
    assert (code, err) == (0, "")
    for line in (
        "Form:        symmetric, 2 agents, 3 x 3 actions",
        "0    47, 47  51, 44  28, 43",
        "pure   player 1: 0; player 2: 0",
        "    0  any (equally)  any (equally)",
        "    1  2              2",
    ):
        assert line in out
    assert "Source:" in out


def test_a_2x2_game_is_said_not_to_tell_tau_and_gamma(capsys, tmp_path):
    games = tmp_path / "g.toml"
    games.write_text('[[game]]\nname = "pd"\nkind = "symmetric"\nrow = [[3, 0], [5, 1]]\n')
    code, out, _ = run(capsys, "games", "pd", "--games", games)
    assert code == 0
    assert "NOT identified" in out
    assert "strictly" in out  # cooperation is dominated


def test_json_of_one_game(capsys):
    _, out, _ = run(capsys, "games", "sw10", "--json")
    data = json.loads(out)
    assert data["payoffs"]["player 1"][1] == [44, 11, 43]
    assert data["equilibria"]["profiles"][0]["player 1"] == [1, 0, 0]
    assert data["level_play"]["step"]["player 1"][1] == [0, 0, 1]
    assert data["identification"]["identified"] is True


@pytest.mark.parametrize(("suffix", "same"), [(".toml", True), (".nfg", True)])
def test_a_game_can_be_taken_home(capsys, tmp_path, suffix, same):
    path = tmp_path / f"sw10{suffix}"
    code, _, err = run(capsys, "games", "sw10", "--out", path)
    assert (code, err) == (0, f"wrote {path}\n")
    assert read_games(path)["sw10"].same_payoffs(library()["sw10"]) is same


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["sw1o"], 2, "sw10"),
        (["nothing_like_it"], 2, "nothing_like_it"),
        (["--set", "sw59"], 2, "sw95"),
        (["sw10", "--set", "sw94"], 2, "sw10"),
        (["--games", "none.toml"], 1, "none.toml"),
        (["sw10", "--out", "sw10.docx"], 2, ".toml"),
    ],
)
def test_mistakes(capsys, arguments, code, said):
    got, out, err = run(capsys, "games", *arguments)
    assert (got, out) == (code, "")
    assert said in err
    assert len(err.splitlines()) == 1


MANY = np.arange(60.0).reshape(3, 20)
OPTIONS = [f"option number {i}" for i in range(20)]
AWKWARD = [
    Game.bimatrix("wide", MANY, -MANY, actions=[["a", "b", "c"], OPTIONS]),
    Game.normal_form("three", [np.ones((2, 2, 2)), np.arange(8.0).reshape(2, 2, 2), np.zeros((2, 2, 2))]),
    Game.bimatrix("constant", np.zeros((2, 2)), np.zeros((2, 2))),
    Game.bimatrix("名前が長い" * 12, np.eye(2), np.eye(2), actions=[["左" * 30, "右"], ["<b>", "a b"]]),
]


@pytest.mark.parametrize("game", AWKWARD, ids=["wide", "three players", "constant", "wide letters"])
def test_awkward_games_fit_the_screen(game):
    text = gamesheet.sheet(game)
    assert [line for line in text.splitlines() if cell_len(line) > 80] == []
    assert "\t" not in text
    json.dumps(gamesheet.record(game), allow_nan=False)


def test_all_columns_of_a_wide_game_are_shown():
    text = gamesheet.sheet(AWKWARD[0])
    assert all(f"{value:g}, {-value:g}" in text for value in range(1, 60))
