"""What a design can tell: expected errors against closed forms and simulation, and designs that tell nothing."""

from __future__ import annotations

import json
import warnings

import numpy as np
import pandas as pd
import pytest

import levelkit as lk
from levelkit.cli import main

TAU, GAMMA = 1.5, 3.0


def test_expected_error_is_the_closed_form():
    """QRE in matching pennies with one stake changed: information of a binomial whose probability moves with lam."""
    game = lk.Game.bimatrix("pennies", [[4, 0], [0, 1]], [[0, 1], [1, 0]])
    lam, step, n = 0.8, 1e-4, 50
    at = [lk.LogitQRE().predict(game, lam=lam + d) for d in (-step, 0.0, step)]
    information = 0.0
    for player in game.players:
        p, slope = at[1][player][0], (at[2][player][0] - at[0][player][0]) / (2 * step)
        information += n * slope**2 / (p * (1 - p))
    made = lk.power(game, lk.LogitQRE(), n=n, scale="raw", replicates=5, lam=lam)
    assert made.se["lam"] == pytest.approx(information**-0.5, rel=1e-5)


def test_scale_changes_units_and_nothing_else():
    game = lk.game("competitive_base")
    unit = float(np.ptp(np.concatenate([np.ravel(p) for p in game.payoffs])))
    in_range = lk.power(game, n=40, tau=TAU, gamma=GAMMA, replicates=5).se
    raw = lk.power(game, n=40, scale="raw", tau=TAU, gamma=GAMMA / unit, replicates=5).se
    assert in_range["tau"] == pytest.approx(raw["tau"], rel=1e-8)
    assert in_range["gamma"] == pytest.approx(raw["gamma"] * unit, rel=1e-8)


def test_expected_errors_are_those_of_simulated_fits():
    """Where n is large, estimates spread as the information says, and intervals cover."""
    made = lk.power(["m1120", "nash", "ring"], n=400, tau=TAU, gamma=GAMMA, replicates=300, seed=3)
    frame = made.frame().set_index("parameter")
    assert (frame["ok"] > 0.97).all()
    for name in ("tau", "gamma"):
        own = made.fits.loc[made.fits["parameter"] == name, "estimate"]
        assert own.std() == pytest.approx(frame.loc[name, "se"], rel=0.15)
        assert 0.91 <= frame.loc[name, "covered"] <= 0.985
    assert (frame["choices"] == 3 * 2 * 400).all()


def test_a_game_that_cannot_tell():
    made = lk.power("stag_hunt_base", n=500, tau=TAU, gamma=GAMMA, replicates=30)
    assert np.isinf(list(made.se.values())).all()
    assert (made.frame()["flat"] == 1).all()
    found = lk.needed("stag_hunt_base", tau=TAU, gamma=GAMMA, replicates=20)
    assert found.n is None
    assert "not identified" in found.why
    assert found.tried.empty


def test_one_parameter_held_by_the_model_is_told():
    """What tau and gamma together are not, tau alone is: CH in a dominance-solvable 2x2 game."""
    made = lk.power("prisoners_dilemma_base", lk.PoissonCH(), n=100, tau=0.5, replicates=20)
    assert np.isfinite(made.se["tau"])


def test_needed_n_is_enough_and_not_far_from_the_least():
    found = lk.needed("m1120", within=3.0, aim=0.8, replicates=60, seed=5, tau=TAU, gamma=GAMMA)
    assert found.n is not None
    shares = found.tried.set_index("n")["share"]
    assert shares[found.n] >= 0.8
    below = shares[shares.index < found.n]
    assert (below < 0.8).all()
    assert found.n / below.index.max() <= 1.06 or found.n - below.index.max() == 1


def test_not_reached_is_said(monkeypatch):
    monkeypatch.setattr("levelkit.inference.power.MOST", 40)
    found = lk.needed("competitive_base", tau=TAU, gamma=GAMMA, within=1.2, replicates=20)
    assert found.n is None
    assert "up to n = 40" in found.why


def test_next_games_are_the_best_by_brute_force():
    """The first step equals what `power` says of each game; each step takes the best and adds information."""
    pool = ["competitive_base", "rpc_sw1", "m1120", "stag_hunt_base", "sequential"]
    table = lk.next_games(None, candidates=pool, steps=3, by="tau", n=30, tau=TAU, gamma=GAMMA)
    first = table[table["step"] == 1].set_index("game")
    for name in pool:
        alone = lk.power(name, n=30, tau=TAU, gamma=GAMMA, replicates=2).se
        assert first.loc[name, "se_tau"] == pytest.approx(alone["tau"], rel=1e-9)
    assert first.index[0] == first["se_tau"].idxmin()
    chosen = table[table["rank"] == 1]
    assert chosen["game"].is_unique
    assert chosen["se_tau"].is_monotonic_decreasing
    pooled = lk.power(list(chosen["game"]), n=30, tau=TAU, gamma=GAMMA, replicates=2).se
    assert pooled["gamma"] == pytest.approx(chosen["se_gamma"].iloc[-1], rel=1e-9)


@pytest.mark.parametrize("by", ["D", "A", "tau"])
def test_criteria(by):
    pool = ["m1120", "nash", "ring", "competitive_base"]
    table = lk.next_games("sequential", candidates=pool, by=by, tau=TAU, gamma=GAMMA)
    value = {"D": table["logdet"], "tau": -table["se_tau"]}.get(by)
    if value is None:  # squared errors on the searched scale, which is the logarithm of both
        value = -((table["se_tau"] / TAU) ** 2 + (table["se_gamma"] / GAMMA) ** 2)
    assert value.is_monotonic_decreasing


def test_shares_of_levels_are_on_the_simplex():
    """Free shares: k - 1 directions. A game whose levels all play differently tells them; one of two actions cannot."""
    shares = {"share0": 0.2, "share1": 0.4, "share2": 0.3, "share3": 0.1}
    names = [p.name for p in lk.LevelK().parameters]
    truth = {name: dict(zip(names, [*shares.values(), 0.1], strict=False)).get(name) for name in names}
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        table = lk.next_games(None, lk.LevelK(), candidates=["m1120", "stag_hunt_base"], **truth)
    errors = table.set_index("game").filter(like="se_")
    assert np.isinf(errors.loc["stag_hunt_base"]).any()


def test_the_same_seed_gives_the_same_and_another_does_not():
    one, two, other = (lk.power("m1120", n=20, tau=TAU, gamma=GAMMA, replicates=20, seed=s).fits for s in (1, 1, 2))
    pd.testing.assert_frame_equal(one, two)
    assert not one["estimate"].equals(other["estimate"])


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: lk.power("m1120", n=0, tau=1, gamma=1), "n = 0"),
        (lambda: lk.power("m1120", n=10, replicates=0, tau=1, gamma=1), "replicates = 0"),
        (lambda: lk.power("m1120", n=10, tau=1), "needs gamma"),
        (lambda: lk.power("m1120", n=10, tau=0, gamma=1), "end of its range"),
        (lambda: lk.power("m1120", n=10, tau=1, gamma=1, lam=2), "does not have lam"),
        (lambda: lk.power("nowhere", n=10, tau=1, gamma=1), "nowhere"),
        (lambda: lk.power(["m1120", "m1120"], n=10, tau=1, gamma=1), "twice"),
        (lambda: lk.power([], n=10, tau=1, gamma=1), "no game"),
        (lambda: lk.needed("m1120", aim=1.5, tau=1, gamma=1), "aim"),
        (lambda: lk.needed("m1120", within=1, tau=1, gamma=1), "within"),
        (lambda: lk.needed("m1120", parameter="lam", tau=1, gamma=1), "lam"),
        (lambda: lk.next_games(None, by="E", tau=1, gamma=1), "by = 'E'"),
        (lambda: lk.next_games(None, steps=0, tau=1, gamma=1), "steps"),
    ],
)
def test_bad_calls(call, said):
    with pytest.raises(lk.UsageError, match=said):
        call()


def test_command(capsys, tmp_path):
    out = tmp_path / "power.csv"
    code = main(["power", "m1120", "ring", "--at", "tau=1.5,gamma=3", "--replicates", "20", "--out", str(out)])
    shown = capsys.readouterr()
    assert code == 0
    assert "20 simulated data sets" in shown.out
    frame = pd.read_csv(out)
    assert list(frame["parameter"]) == ["tau", "gamma"]
    assert main(["power", "m1120", "--at", "tau=1.5,gamma=3", "--replicates", "20", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["rows"][0]["parameter"] == "tau"
    assert main(["power", "ring", "--at", "tau=1.5,gamma=3", "--next", "2", "--criterion", "tau"]) == 0
    assert "game to add" in capsys.readouterr().out
    assert main(["power", "stag_hunt_base", "--at", "tau=1.5,gamma=3", "--needed"]) == 0
    assert "not identified" in capsys.readouterr().out


def test_command_with_own_games(capsys, tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text(
        '[[game]]\nname = "mine"\nplayers = ["a", "b"]\nactions = [["x", "y"], ["x", "y"]]\n'
        "payoffs = [[[4, 0], [0, 1]], [[0, 1], [1, 0]]]\n"
    )
    code = main(["power", "mine", "--games", str(path), "--model", "qre", "--at", "lam=2", "--replicates", "10"])
    assert code == 0
    assert "mine" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "no game is given"),
        (["m1120"], "needs tau, gamma"),
        (["m1120", "--at", "tau=x"], "no number"),
        (["m1120", "--at", "tau=1,gamma=3", "--needed", "--next", "1"], "one at a time"),
        (["m1120", "--at", "tau=1,gamma=3", "--out", "power.doc"], "power.doc"),
        (["m1120", "--at", "tau=1,gamma=3", "--interval", "95"], "0.95"),
    ],
)
def test_command_mistakes(capsys, arguments, said):
    assert main(["power", *arguments]) == 2
    assert said in capsys.readouterr().err
