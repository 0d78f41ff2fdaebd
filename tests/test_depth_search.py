"""The search for instruments: what it finds holds when computed again, and it can be stopped and taken up."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import levelkit as lk
from levelkit.depth.certificates import certified_toml, certify, faults, read_certificates
from levelkit.depth.families import FAMILIES, tables
from levelkit.depth.instruments import instrument
from levelkit.depth.searches import build, search
from levelkit.errors import DataError, UsageError

QUICK = {"batches": 4, "batch": 512, "seed": 1}


@pytest.fixture(scope="module")
def ring():
    return search("ring", 20, 15, **QUICK)


@pytest.mark.parametrize(
    ("family", "actions", "depth"), [("ring", 20, 15), ("money-request", 30, 20), ("contest", 20, 15)]
)
def test_families_reach_the_depth_without_a_constant_step(family, actions, depth):
    found = search(family, actions, depth, **QUICK)
    assert found.games
    for game, told in zip(found.games, found.certificates, strict=True):
        again = lk.depth.sequence(game, depth)
        assert again.k_max >= depth
        assert again.direction == "non-monotone"
        assert len(set(again.actions)) == depth + 1
        assert told.margin > 0
        assert again.shortcut_until < depth
        assert len(told.aligned) >= depth - 2
        assert faults(told, game) == []


def test_free_matrices_reach_it_too():
    found = search("matrix", 12, 9, batches=6, batch=1024, seed=3)
    assert found.games
    assert found.reached > 0
    assert lk.depth.sequence(found.games[0], 9).k_max >= 9


def test_better_games_come_first_and_scores_do_not_fall(ring):
    longer = search("ring", 20, 15, **{**QUICK, "batches": 8})
    worth = lambda told: len([k for k in told.aligned if k <= 15]) / 15 + told.margin  # noqa: E731
    assert worth(longer.certificates[0]) >= worth(ring.certificates[0]) - 1e-9
    assert longer.examined == 2 * ring.examined


def test_what_nothing_reaches_is_said():
    found = search("demand", 20, 15, **QUICK)
    assert found.games == ()
    assert found.deepest > 0


def test_stopped_and_taken_up_again_is_as_if_never_stopped(tmp_path, ring):
    state = tmp_path / "state.json"
    search("ring", 20, 15, **{**QUICK, "batches": 2}, state=state)
    again = search("ring", 20, 15, **QUICK, state=state)
    assert again.certificates == ring.certificates
    assert (again.examined, again.reached) == (ring.examined, ring.reached)
    with pytest.raises(DataError, match="the state of another search: its depth is 15, not 14"):
        search("ring", 20, 14, **QUICK, state=state)
    state.write_text("{}")
    with pytest.raises(DataError, match="not the state of a search"):
        search("ring", 20, 15, **QUICK, state=state)


def test_certificates_are_written_read_and_verified(tmp_path, ring):
    path = tmp_path / "found.toml"
    path.write_text(certified_toml(zip(ring.certificates, ring.games, strict=True), "found"))
    pairs = read_certificates(path)
    assert [c for c, _ in pairs] == list(ring.certificates)
    assert all(faults(c, g) == [] for c, g in pairs)
    assert set(lk.read_games(path)) == {g.name for g in ring.games}


def test_a_certificate_that_lies_is_found_out(ring):
    told, game = ring.certificates[0], ring.games[0]
    for change in ({"depth": 3}, {"margin": told.margin + 0.01}, {"aligned": ()}, {"sequence": told.sequence[::-1]}):
        wrong = faults(dataclasses.replace(told, **change), game)
        assert len(wrong) == 1
        assert next(iter(change)) in wrong[0]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[[certificate]]\ngame = 'g'", "'anchor' is missing"),
        ("[[certificate]]\ngame = 'g'\nmood = 1", "unknown entry 'mood'"),
    ],
)
def test_broken_certificates_are_told(tmp_path, text, words):
    path = tmp_path / "g.toml"
    path.write_text(lk.game("nash").renamed("g").to_toml() + "\n" + text)
    with pytest.raises(DataError, match=words):
        read_certificates(path)


def test_the_studys_games_have_certificates():
    told = certify("m1120")
    assert (told.depth, told.direction, told.shortcut, told.period) == (10, "decreasing", 10, 11)
    assert told.aligned == (2, 3, 4, 5, 6, 7, 8, 9)
    assert told.margin == pytest.approx(4 / 42), "against 52: 74 by the bonus, 70 without it; payoffs span 42"


def test_tables_are_what_the_rules_say():
    own = FAMILIES["ring"]
    table = np.asarray(tables(own, np.array([[3, 7, 10, 3]]), 20))[:, :, 0]
    assert np.array_equal(table, instrument("ring").game.payoffs[0])
    assert build(own, np.array([3, 7, 10, 3]), 20, "r").level0[0].argmax() == 19
    contest = np.asarray(tables(FAMILIES["contest"], np.array([[12, 2, 5, 3]]), 8))[:, :, 0]
    assert contest[4, 2] == 12 - 4
    assert contest[3, 2] == -3
    assert contest[1, 4] == 5 - 1
    demand = np.asarray(tables(FAMILIES["demand"], np.array([[20, 8, 2]]), 20))[:, :, 0]
    assert demand[11, 7] == 12 + 2
    assert demand[10, 19] == pytest.approx(0.8 * 11)
    assert demand[19, 10] == 0


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: search("rings"), "there is no family 'rings'; choose from money-request, ring"),
        (lambda: search("ring", 20, 20), "20 actions tell at most levels 0 to 19 apart"),
        (lambda: search("ring", batches=0), "batches = 0"),
        (lambda: search("ring", lam=-1.0), "lam = -1.0"),
    ],
)
def test_mistakes_are_told(call, words):
    with pytest.raises(UsageError, match=words):
        call()
