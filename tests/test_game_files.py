"""Game files: TOML and Gambit .nfg read, write and read back; bad files say where they are bad."""

from __future__ import annotations

import math
import os
import tomllib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from levelkit.errors import DataError, UsageError
from levelkit.gamefiles import game_from_nfg, game_to_nfg, games_from_toml
from levelkit.games import Game, read_games, write_games

SHARED = Path(os.environ.get("LEVELKIT_SHARED", Path(__file__).resolve().parents[1] / ".." / "shared"))
NFG_FILES = SHARED / "data" / "wlb_bogota" / "nfg"


def assert_same(one: Game, other: Game, *, nfg: bool = False) -> None:
    """Every field equal, payoffs to the last bit; an .nfg file does not keep all fields."""
    for mine, theirs in zip(one.payoffs, other.payoffs, strict=True):
        assert mine.shape == theirs.shape
        assert mine.tobytes() == theirs.tobytes()
    for field in ("name", "players", "actions", "title", "note"):
        assert getattr(one, field) == getattr(other, field), field
    if not nfg:
        for field in ("source", "form", "observed", "symmetric"):
            assert getattr(one, field) == getattr(other, field), field
        for mix, same in zip(one.level0, other.level0, strict=True):
            assert (mix is None) == (same is None)
            assert mix is None or mix.tobytes() == same.tobytes()


# random games

floats = st.one_of(
    st.integers(-100, 100).map(float),
    st.floats(-8e307, 8e307),
    st.sampled_from([0.1 + 0.2, -0.0, 5e-324, 8.9e307, 1e16, 1e-7, 1 / 3, 123456789.123456789]),
)
sign = st.one_of(st.characters(exclude_categories=["Cs", "Cc"]), st.sampled_from(list("\"'\\{},#= é中[]")))
words = st.text(sign, min_size=1, max_size=8).map(str.strip).filter(bool)
prose = st.text(st.one_of(sign, st.sampled_from("\n\t\x7f\r\x00")), max_size=20)


def unlike_numbers(names: list[str]) -> bool:
    return not any(name.casefold().removeprefix("player").strip(" #").isdigit() for name in names)


@st.composite
def games(draw: st.DrawFn, text: st.SearchStrategy[str] = prose, label: st.SearchStrategy[str] = words) -> Game:
    n = draw(st.integers(1, 4))
    shape = tuple(draw(st.lists(st.integers(2, 3), min_size=n, max_size=n)))
    size = math.prod(shape)
    payoffs = [np.array(draw(st.lists(floats, min_size=size, max_size=size))).reshape(shape) for _ in range(n)]
    kind = draw(st.sampled_from(["plain", "symmetric"])) if n == 2 and shape[0] == shape[1] else "plain"
    labels = [draw(st.lists(label, min_size=k, max_size=k, unique=True)) for k in shape]
    mixes = [draw(st.one_of(st.none(), st.just(np.full(k, 1 / k)), st.just(np.eye(k)[0]))) for k in shape]
    about = {key: draw(text) for key in ("title", "source", "note")}
    if kind == "symmetric":
        return Game.symmetric(draw(label), payoffs[0], actions=labels[0], level0=(mixes[0], mixes[0]), **about)
    players = draw(
        st.one_of(
            st.just([]),
            st.lists(label, min_size=n, max_size=n, unique_by=str.casefold).filter(unlike_numbers),
        )
    )
    observed = [True, *draw(st.lists(st.booleans(), min_size=n - 1, max_size=n - 1))]
    form = draw(st.sampled_from(["normal_form", "bimatrix" if n == 2 else "sequential", "bayesian"]))
    return Game.normal_form(
        draw(label),
        payoffs,
        players=players,
        actions=labels if draw(st.booleans()) else [],
        level0=mixes,
        observed=observed,
        form=form,
        **about,
    )


@settings(max_examples=120, deadline=None)
@given(games())
def test_toml_round_trip_loses_nothing(game: Game) -> None:
    (back,) = games_from_toml(game.to_toml())
    assert_same(game, back)


gambit_text = st.text(sign, max_size=15).map(str.strip).filter(lambda s: '\\"' not in s and not s.endswith("\\"))


@settings(max_examples=120, deadline=None)
@given(games(text=gambit_text, label=gambit_text.filter(bool)))
def test_nfg_round_trip_keeps_payoffs_labels_and_texts(game: Game) -> None:
    back = game_from_nfg(game_to_nfg(game), game.name)
    if game.title == game.name:
        game = Game.normal_form(game.name, game.payoffs, players=game.players, actions=game.actions, note=game.note)
    assert_same(game, back, nfg=True)


@pytest.mark.skipif(not NFG_FILES.is_dir(), reason="no shared game files")
def test_public_nfg_files_read_and_write_back_to_the_same_payoffs(tmp_path: Path) -> None:
    found = read_games(NFG_FILES)
    assert len(found) == len(list(NFG_FILES.glob("*.nfg"))) > 100
    write_games(found, tmp_path / "again")
    write_games(found, tmp_path / "all.toml")
    for again in (read_games(tmp_path / "again"), read_games(tmp_path / "all.toml")):
        assert set(again) == set(found)
        assert all(game.same_payoffs(again[name]) for name, game in found.items())
    # kreps_basic.nfg lists 200 50 | 0 -250 | 0 45 | ...: the first player's strategy varies fastest
    assert found["kreps_basic"].payoffs[0].tolist() == [[200, 0, 10, 20], [0, 10, 30, 50]]
    assert found["kreps_basic"].payoffs[1].tolist() == [[50, 45, 30, -250], [-250, -100, 30, 40]]


# Gambit by hand

SELTEN = """NFG 1 R "Selten (IJGT, 75), Figure 2, normal form"
{ "Player 1" "Player 2" } { 3 2 }

1 1 0 2 0 2 1 1 0 3 2 0
"""


def test_payoff_version_with_counts() -> None:
    game = game_from_nfg(SELTEN, "e02")
    assert game.shape == (3, 2)
    assert game.payoffs[0].tolist() == [[1, 1], [0, 0], [0, 2]]
    assert game.payoffs[1].tolist() == [[1, 1], [2, 3], [2, 0]]
    assert game.players == ("Player 1", "Player 2")
    assert game.actions == (("0", "1", "2"), ("0", "1"))
    assert game.title == "Selten (IJGT, 75), Figure 2, normal form"


def test_outcome_version_is_the_same_game() -> None:
    text = """NFG 1 R "Selten (IJGT, 75), Figure 2, normal form" { "Player 1" "Player 2" }
    { { "1" "2" "3" } { "1" "2" } }
    "a comment"
    { { "" 1, 1 } { "x" 0, 2 } { "" 0, 3 } { "" 2, 0 } }
    1 2 2 1 3 4
    """
    game = game_from_nfg(text, "e02")
    assert game.same_payoffs(game_from_nfg(SELTEN, "e02"))
    assert game.actions == (("1", "2", "3"), ("1", "2"))
    assert game.note == "a comment"


def test_outcome_version_with_three_players_and_the_null_outcome() -> None:
    text = """NFG 1 R "three" { "A" "B" "C" } { { "a" "b" } { "c" "d" } { "e" "f" } }
    { { "one" 1 2 3 } { "two" -1/2, .5, 1e2 } }
    1 2 0 1 2 2 1 0"""
    game = game_from_nfg(text, "three")
    one, two, null = [1, 2, 3], [-0.5, 0.5, 100], [0, 0, 0]
    # profile (a, b, c) stands at a + 2 b + 4 c
    listed = [one, two, null, one, two, two, one, null]
    for at, payoffs in enumerate(listed):
        profile = (at % 2, at // 2 % 2, at // 4)
        assert [own[profile] for own in game.payoffs] == payoffs
    assert game.form == "normal_form"


def test_numbers_of_every_kind() -> None:
    text = 'NFG 1 D "n" {"A" "B"} {2 2} 1/3 -2/4 +1.5 -.25 3. 1E-3, 0 -0.0'
    game = game_from_nfg(text, "n")
    assert game.payoffs[0].T.ravel().tolist() == [1 / 3, 1.5, 3.0, 0.0]
    assert game.payoffs[1].T.ravel().tolist() == [-0.5, -0.25, 0.001, -0.0]


def test_quotes_title_and_odd_player_names() -> None:
    text = 'NFG 1 R {"0" "1"} {{"say \\"hi\\"" "b"} {"" ""}} 1 2 3 4 5 6 7 8'
    game = game_from_nfg(text, "q")
    assert game.actions == (('say "hi"', "b"), ("0", "1"))
    assert game.players == ("player 1", "player 2")
    assert game.title == ""


def test_written_numbers_have_no_exponents() -> None:
    text = game_to_nfg(Game.bimatrix("g", [[1e-7, 1e22], [0.1, -3]], np.eye(2)))
    assert text.endswith("\n0.0000001 1 0.1 0\n10000000000000000000000 0 -3 1\n")


def test_a_label_the_format_cannot_hold_is_refused() -> None:
    game = Game.bimatrix("g", np.eye(2), np.eye(2), actions=[["a\\", "b"], ["c", "d"]])
    with pytest.raises(UsageError, match=r"write \.toml instead"):
        game_to_nfg(game)


HEAD = 'NFG 1 R "t" { "A" "B" } '
BAD_NFG = [
    ("EFG 2 R", "line 1: this is no Gambit strategic game. The file must begin with NFG 1 R"),
    ("", "line 1: this is no Gambit strategic game"),
    ("NFG 2 R", "format version '2' is unknown"),
    ("NFG 1 X", "'X' stands where R or D must"),
    ('NFG 1 R "t" { }', "there are no players"),
    ('NFG 1 R "t" { "A" B }', "expected the player names in quotes, but there is 'B'"),
    ('NFG 1 R "t" { "A"', "expected the player names in quotes, but the file ends"),
    ('NFG 1 R "t', "a quoted text has no end. Close it"),
    (HEAD + "{ 2 }", "2 players, but strategies for 1"),
    (HEAD + "{ 2 0 }", "player 2 has no strategies"),
    (HEAD + "{ 2 x }", "the number of strategies must be a whole number, not 'x'"),
    (HEAD + "{ 2 2 }\n1 2 3 4 5 6 7", "line 2: 7 payoffs, but 4 profiles of 2 players need 8"),
    (HEAD + "{ 2 2 }\n1 2 3 4 5 6\n7 eight", "line 3: 'eight' is not a number. Write 3, -0.5, 1e-3 or 1/3"),
    (HEAD + "{ 2 2 }\n1 2 3 4 5 6 7 1/0", "'1/0' divides by zero"),
    (HEAD + "{ 2 2 }\n1 2 3 4 5 6 7 nan", "'nan' is not a number"),
    (HEAD + "{ 2 2 }\n1 2 3 4 5 6 7 1e999", "'1e999' is too large"),
    (HEAD + '{ 2 2 } { { "" 1 } } 1 1 1 1', "outcome 1 has 1 payoffs for 2 players"),
    (HEAD + '{ 2 2 } { { "" 1 2 } } 1 1 1', "3 outcome numbers, but there are 4 profiles"),
    (HEAD + '{ 2 2 }\n{ { "" 1 2 } }\n1 1 1 2', "line 3: outcome 2 is not among the 1 listed"),
    (HEAD + '{ 2 2 } { { "" 1 2 } } 1 1 1 -1', "an outcome number must be a whole number, not '-1'"),
    (HEAD + '{ {"a" "a"} {"b" "c"} } 1 2 3 4 5 6 7 8', "two actions of A are called 'a'"),
]


@pytest.mark.parametrize(("text", "words"), BAD_NFG)
def test_bad_nfg_files_say_line_and_fix(text: str, words: str, tmp_path: Path) -> None:
    file = tmp_path / "bad.nfg"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(DataError) as caught:
        read_games(file)
    assert str(caught.value).startswith(str(file))
    assert words in str(caught.value)


# TOML by hand

EVERY_KIND = """
[set]
title = "All kinds"

[[game]]
name = "nf"
players = ["Ann", "Bob"]
actions = [["a", "b"], ["c", "d"]]
payoffs = [[[1, 2], [3, 4]], [[5, 6], [7, 8]]]

[[game]]
name = "bi"
row = [[1, 2], [3, 4]]
col = [[5, 6], [7, 8]]
level0 = [[0.5, 0.5], "1"]

[[game]]
name = "sym"
row = [[1, 2], [3, 4]]
actions = ["s", "t"]
level0 = "t"

[[game]]
name = "bay"
states = [[0.5, [[1, 2], [3, 4]], [[0, 0], [0, 0]]], [0.5, [[3, 2], [3, 0]], [[2, 0], [0, 4]]]]

[[game]]
name = "seq"
kind = "sequential"
players = ["first", "second"]
row = [[1, 2], [3, 4]]
col = [[5, 6], [7, 8]]

[[game]]
name = "mis"
true_row = [[1, 2], [3, 4]]
true_col = [[5, 6], [7, 8]]
shown_row = [[1, 0], [0, 1]]
shown_col = [[0, 1], [1, 0]]
"""


def test_toml_reads_every_kind_of_game(tmp_path: Path) -> None:
    file = tmp_path / "games.toml"
    file.write_text("\ufeff" + EVERY_KIND, encoding="utf-8")  # with a byte order mark, as some editors write
    games_read = read_games(file)
    row, col = [[1, 2], [3, 4]], [[5, 6], [7, 8]]
    made = {
        "nf": Game.normal_form("nf", [row, col]),
        "bi": Game.bimatrix("bi", row, col),
        "sym": Game.symmetric("sym", row),
        "bay": Game.bimatrix("bay", [[2, 2], [3, 2]], [[1, 0], [0, 2]]),
        "seq": Game.sequential("seq", row, col),
        "mis": Game.misperceived("mis", row, col, [[1, 0], [0, 1]], [[0, 1], [1, 0]]),
    }
    assert list(games_read) == list(made)
    for name, game in made.items():
        assert games_read[name].same_payoffs(game), name
    assert games_read["nf"].players == ("Ann", "Bob")
    assert [mix.tolist() for mix in games_read["bi"].level0] == [[0.5, 0.5], [0, 1]]
    assert [mix.tolist() for mix in games_read["sym"].level0] == [[0, 1], [0, 1]]
    assert games_read["seq"].players == ("first", "second after 0", "second after 1")
    assert [game.form for game in games_read.values()] == [
        "normal_form",
        "bimatrix",
        "symmetric",
        "bayesian",
        "sequential",
        "misperceived",
    ]
    write_games(games_read, tmp_path / "again.toml")
    for name, game in read_games(tmp_path / "again.toml").items():
        assert_same(games_read[name], game)


def test_toml_is_plain_to_read() -> None:
    game = Game.symmetric("pd", [[3, 0], [5, 1.5]], actions=["c", "d"], source="here")
    assert game.to_toml() == (
        '[[game]]\nname = "pd"\nsource = "here"\nactions = ["c", "d"]\nkind = "symmetric"\nrow = [[3, 0], [5, 1.5]]\n'
    )
    assert tomllib.loads(game.to_toml())["game"][0]["row"] == [[3, 0], [5, 1.5]]


G = '[[game]]\nname = "g"\n'
BAD_TOML = [
    ("[[game]\n", "not valid TOML"),
    ("", "no [[game]] table. Begin each game with [[game]]"),
    ('[game]\nname = "g"', "'game' is not a list of tables. Write [[game]], in double brackets"),
    ("[[games]]\n", "unknown top-level entry 'games'"),
    ("[[game]]\nrow = [[1, 2], [3, 4]]", "game number 1: the game has no name"),
    (G, "game 'g': the game has no payoffs"),
    (G + "paoyffs = [[1, 2]]", "unknown field 'paoyffs' and no payoffs. Did you mean 'payoffs'?"),
    (
        G + "row = [[1, 2], [3, 4]]\nactoins = []",
        "unknown field 'actoins' for a symmetric game. Did you mean 'actions'?",
    ),
    (G + 'kind = "bimatrx"\nrow = []', "unknown kind 'bimatrx'. Did you mean 'bimatrix'?"),
    (G + "kind = [1]\nrow = [[1, 2], [3, 4]]", "unknown kind [1]. Kinds are normal_form, bimatrix"),
    (G + "row = [[9e307, 0], [0, -1e308]]", "game 'g': the payoffs span more than a double can hold"),
    (G + 'kind = "bimatrix"\nrow = [[1, 2], [3, 4]]', "a bimatrix game needs 'col'"),
    (G + "col = [[1, 2], [3, 4]]", "the game has no payoffs"),
    (G + 'row = "[[1, 2]]"', "row must be a list in brackets"),
    (G + 'row = [[1, 2], [3, "x"]]', "game 'g', row: 'x' in row 2, column 2 is not a number"),
    (G + "row = [[1, 2], [3, nan]]", "game 'g', row: payoff in row 2, column 2 is nan"),
    (G + "row = [[1, 2], [3]]", "row 2 has 1 entry, row 1 has 2 entries"),
    (G + "row = [[1, 2], [3, 4]]\ncol = [[1, 2, 3], [3, 4, 5]]", "col is 2x3, row is 2x2"),
    (G + "row = [[1, 2], [3, 4]]\nlevel0 = [0.5, 0.4]", "sums to 0.9, not 1"),
    (G + "row = [[1, 2], [3, 4]]\nlevel0 = 3", "level 0 of player 1 is 3"),
    (G + "row = [[1, 2], [3, 4]]\nsource = 3", "source must be text, not 3"),
    (G + "states = [[0.5, [[1, 2], [3, 4]]]]", "state 1 has 2 parts"),
    (G + "states = [1]", "state 1"),
    (
        G + "payoffs = [[[1, 2], [3, 4]]]",
        "payoffs of player 1: payoffs must be a list of numbers, not a matrix",
    ),
    (G + "row = [[1, 2], [3, 4]]\n" + G + "row = [[1, 2], [3, 4]]", "a second game is called 'g'"),
]


@pytest.mark.parametrize(("text", "words"), BAD_TOML)
def test_bad_toml_files_say_game_field_and_fix(text: str, words: str, tmp_path: Path) -> None:
    file = tmp_path / "bad.toml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(DataError) as caught:
        read_games(file)
    assert str(caught.value).startswith(str(file))
    assert words in str(caught.value)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no such file or folder"):
        read_games(tmp_path / "none.toml")
    with pytest.raises(DataError, match=r"no \.toml or \.nfg file in this folder"):
        read_games(tmp_path)
    (tmp_path / "x.csv").write_text("a")
    with pytest.raises(DataError, match="hold no games"):
        read_games(tmp_path / "x.csv")
    (tmp_path / "x.nfg").write_bytes(b'NFG 1 R "\xff"')
    with pytest.raises(DataError, match="byte 10 is not UTF-8"):
        read_games(tmp_path / "x.nfg")


def test_a_folder_may_mix_both_kinds_of_file_but_not_names(tmp_path: Path) -> None:
    one, two = Game.bimatrix("one", np.eye(2), np.eye(2)), Game.bimatrix("two", np.eye(3), np.eye(3))
    write_games(one, tmp_path / "a.toml")
    write_games(two, tmp_path / "two.nfg")
    assert list(read_games(tmp_path)) == ["one", "two"]
    write_games([one], tmp_path / "one.nfg")
    with pytest.raises(DataError, match=r"one\.nfg: a second game is called 'one'"):
        read_games(tmp_path)


def test_writing_refuses_what_it_cannot_do(tmp_path: Path) -> None:
    one = Game.bimatrix("one", np.eye(2), np.eye(2))
    with pytest.raises(UsageError, match="holds one game, not 2"):
        write_games([one, one.renamed("two")], tmp_path / "x.nfg")
    with pytest.raises(UsageError, match="no game to write"):
        write_games([], tmp_path / "x.toml")
    with pytest.raises(UsageError, match=r"not to 'x\.csv'"):
        write_games(one, tmp_path / "x.csv")
    with pytest.raises(UsageError, match="cannot name a file"):
        write_games(one.renamed("a/b"), tmp_path / "folder")
    assert not (tmp_path / "folder").exists()
