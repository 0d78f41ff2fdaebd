"""Choice probabilities against published values, separate code, limits, and a plain numpy implementation."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

import levelkit as lk
import reference as ref
from levelkit import models
from levelkit.errors import UsageError
from levelkit.games import Game

# Reference probabilities from separate code, 20 levels, tau 1.5 (reference data, golden/README.md).
GH320 = Game.bimatrix("gh320", [[320, 40], [40, 80]], [[40, 80], [80, 40]])
DILEMMA = Game.bimatrix("dilemma", [[3, 0], [5, 1]], [[3, 5], [0, 1]])
COMPETITIVE = Game.bimatrix(
    "competitive", [[10, 0, -5], [-10, 5, 8], [0, 5, -5]], [[-10, 5, 8], [10, 0, -5], [0, -5, 5]]
)
GOLDEN = [
    (lk.PoissonCH(levels=20), {}, GH320, [0.8884349199], [0.2789127002]),
    (lk.PoissonCH(levels=20), {}, DILEMMA, [0.1115650801], [0.1115650801]),
    (
        lk.PoissonCH(levels=20),
        {},
        COMPETITIVE,
        [0.4090719603, 0.5165513197, 0.0743767200],
        [0.0743767200, 0.1400191744, 0.7856041055],
    ),
    (lk.QuantalCH(levels=20), {"lam": 0.02}, GH320, [0.8202139500], [0.4522212175]),
    (lk.QuantalCH(levels=20), {"lam": 0.5}, DILEMMA, [0.3664663470], [0.3664663470]),
    (
        lk.QuantalCH(levels=20),
        {"lam": 0.1},
        COMPETITIVE,
        [0.3485080724, 0.3436047366, 0.3078871911],
        [0.3076146670, 0.3115064497, 0.3808788833],
    ),
    (lk.TQRE(levels=20), {"gamma": 0.02}, GH320, [0.8582191058], [0.3839783686]),
    (lk.TQRE(levels=20), {"gamma": 0.5}, DILEMMA, [0.2877261488], [0.2877261488]),
    (
        lk.TQRE(levels=20),
        {"gamma": 0.1},
        COMPETITIVE,
        [0.3500112223, 0.3678836931, 0.2821050846],
        [0.2834839886, 0.2922009630, 0.4243150484],
    ),
]


@pytest.mark.parametrize(("model", "more", "game", "row", "col"), GOLDEN)
def test_probabilities_of_separate_code(model, more, game, row, col):
    play = model.predict(game, tau=1.5, **more)
    assert_allclose(play["player 1"][: len(row)], row, atol=6e-11)
    assert_allclose(play["player 2"][: len(col)], col, atol=6e-11)


@pytest.mark.parametrize(("levels", "value"), [(3, 0.34279639), (5, 0.31743686), (10, 0.30964830), (20, 0.30960384)])
def test_where_the_levels_are_cut_off(levels, value):
    play = lk.TQRE(levels=levels).predict(COMPETITIVE, tau=3, gamma=0.1)
    assert play["player 1"][0] == pytest.approx(value, abs=6e-9)


def test_the_library_game_is_the_one_tested():
    assert lk.game("competitive_base").same_payoffs(COMPETITIVE)


def test_level_play_of_separate_code(golden):
    checked = 0
    for name, entry in golden("study_games_solutions.json").items():
        if "levelk_det" not in entry:
            continue
        game = Game.bimatrix(name, entry["A"], entry["B"])
        play = lk.level_play(game, levels=5)
        for player, agent in (("p1", "player 1"), ("p2", "player 2")):
            assert_allclose(play[agent], entry["levelk_det"][player], atol=1e-8, err_msg=name)
            checked += 1
            if "levelk_logit_gamma0p5" not in entry:
                continue
            for k in range(6):
                # with tau infinite everybody is at the highest level
                if k == 0:
                    mine = lk.TQRE(belief="step").predict(game, tau=0, gamma=0.5)
                else:
                    mine = lk.TQRE(levels=k, belief="step").predict(game, tau=np.inf, gamma=0.5)
                want = entry["levelk_logit_gamma0p5"][player][k]
                assert_allclose(mine[agent], want, atol=6e-9, err_msg=f"{name} level {k}")
    assert checked >= 26


def test_all_mass_on_one_level_is_iterated_best_replies():
    # 11-20: level 1 asks for 19 (worth 19 + 20 / 10 against uniform play), each further level for one less
    game = lk.game("eleven_twenty_basic")
    want = {k: str(20 - k) for k in range(1, 10)}
    play = lk.level_play(game, levels=9)[game.players[0]]
    for level, label in want.items():
        shares = {f"share_{k}": float(k == level) for k in range(10)}
        mixed = lk.LevelK(levels=9).predict(game, **shares, eps=0)[game.players[0]]
        assert_allclose(mixed, np.array(game.actions[0]) == label, atol=1e-12)
        assert_allclose(play[level], mixed, atol=1e-12)
    sharp = lk.QuantalLevelK(levels=9).predict(game, **{f"share_{k}": float(k == 4) for k in range(10)}, lam=np.inf)
    assert_allclose(sharp[game.players[0]], np.array(game.actions[0]) == "16", atol=1e-12)


SHAPES = [(2, 4), (3, 2, 2)]
FAMILY = [
    (lk.TQRE, {"gamma": 0.21}),
    (lk.QuantalCH, {"lam": 0.33}),
    (lk.PoissonCH, {}),
]


def _shares(population: str, levels: int, tau: float, spike: float) -> np.ndarray:
    if population == "geometric":
        return ref.geometric(tau, levels)
    return ref.spiked(tau, spike, levels) if population == "spike-poisson" else ref.poisson(tau, levels)


@pytest.mark.parametrize("population", ["poisson", "geometric", "spike-poisson"])
@pytest.mark.parametrize("belief", ["hierarchy", "step"])
@pytest.mark.parametrize(("kind", "more"), FAMILY, ids=lambda v: getattr(v, "name", ""))
def test_against_plain_numpy(kind, more, belief, population):
    rng = np.random.default_rng(20)
    precision = {"tqre": lambda k: k * 0.21, "quantal-ch": lambda k: 0.33}.get(kind.name)
    model = kind(levels=4, belief=belief, population=population)
    for shape in SHAPES:
        game = ref.random_game(rng, shape, size=3.0)
        for tau in (0.4, 1.7, 6.0):
            spike = {"spike": 0.25} if population == "spike-poisson" else {}
            mine = model.predict(game, tau=tau, **more, **spike)
            want = ref.mixture(game, _shares(population, 4, tau, 0.25), precision, belief)
            for player, w in zip(game.players, want, strict=True):
                assert_allclose(mine[player], w[:, 0], atol=1e-12)


@pytest.mark.parametrize("belief", ["hierarchy", "step"])
def test_free_shares_against_plain_numpy(belief):
    rng = np.random.default_rng(21)
    for shape in SHAPES:
        game = ref.random_game(rng, shape, size=3.0)
        free = rng.dirichlet(np.ones(4))
        named = {f"share_{k}": s for k, s in enumerate(free)}
        mine = lk.QuantalLevelK(belief=belief).predict(game, **named, lam=0.4)
        want = ref.mixture(game, free[:, None], lambda k: 0.4, belief)
        for player, w in zip(game.players, want, strict=True):
            assert_allclose(mine[player], w[:, 0], atol=1e-11)
        if belief == "step":
            mine = lk.LevelK().predict(game, **named, eps=0.2)
            want = ref.mixture(game, free[:, None], None, "step", tremble=0.2)
            for player, w in zip(game.players, want, strict=True):
                assert_allclose(mine[player], w[:, 0], atol=1e-11)


@pytest.mark.parametrize("population", ["poisson", "geometric", "spike-poisson"])
def test_mean_level_is_the_mean_of_the_shares(population):
    model = lk.TQRE(levels=7, population=population)
    for tau in (0.3, 2.0, 9.0):
        params = {"tau": tau, "gamma": 1.0} | ({"spike": 0.4} if population == "spike-poisson" else {})
        want = np.arange(8) @ _shares(population, 7, tau, 0.4)[:, 0]
        assert float(model.mean_level(params)) == pytest.approx(want, rel=1e-12)


# limits

GAMES = [lk.game("sw10"), lk.game("competitive_base"), lk.game("cgcb_4a")]


@pytest.mark.parametrize("game", GAMES, ids=lambda g: g.name)
@pytest.mark.parametrize("belief", ["hierarchy", "step"])
def test_tau_zero_is_level_zero(game, belief):
    for model, more in ((lk.TQRE, {"gamma": 0.3}), (lk.QuantalCH, {"lam": 0.3}), (lk.PoissonCH, {})):
        for tau, close in ((0.0, 1e-14), (1e-9, 2e-9)):
            for player, play in model(belief=belief).predict(game, tau=tau, **more).items():
                size = game.shape[game.players.index(player)]
                assert_allclose(play, np.full(size, 1 / size), atol=close)


@pytest.mark.parametrize("population", ["poisson", "geometric", "spike-poisson"])
def test_ends_of_every_parameter_are_legal(population):
    spikes = (0.0, 0.3, 1.0) if population == "spike-poisson" else (None,)
    for game in GAMES:
        for tau in (0.0, 1.2, 10.0, np.inf):
            for gamma in (0.0, 0.4, np.inf):
                for spike in spikes:
                    more = {} if spike is None else {"spike": spike}
                    model = lk.TQRE(population=population)
                    play = model.predict(game, tau=tau, gamma=gamma, **more)
                    for p in play.values():
                        assert np.isfinite(p).all(), (game.name, tau, gamma, spike)
                        assert p.sum() == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize("game", GAMES, ids=lambda g: g.name)
def test_gamma_zero_is_uniform(game):
    for gamma, close in ((0.0, 1e-14), (1e-12, 1e-9)):
        for play in lk.TQRE().predict(game, tau=2, gamma=gamma).values():
            assert_allclose(play, 1 / len(play), atol=close)


@pytest.mark.parametrize("belief", ["hierarchy", "step"])
def test_sharp_tqre_is_poisson_ch(belief):
    rng = np.random.default_rng(5)
    for shape in ((3, 3), (2, 4), (2, 2, 3)):
        game = ref.random_game(rng, shape)
        for tau in (0.7, 2.2, 5.0):
            ch = lk.PoissonCH(belief=belief).predict(game, tau=tau)
            for gamma in (1e9, np.inf):
                sharp = lk.TQRE(belief=belief).predict(game, tau=tau, gamma=gamma)
                for player in game.players:
                    assert_allclose(sharp[player], ch[player], atol=1e-9)


def test_infinite_tau_puts_everybody_at_the_highest_level():
    game = lk.game("competitive_base")
    play = lk.PoissonCH(levels=3, belief="step").predict(game, tau=np.inf)
    assert_allclose(play["player 1"], [0, 1, 0], atol=1e-12)
    assert_allclose(play["player 2"], [1, 0, 0], atol=1e-12)


def test_ties_are_split_evenly():
    # rows 1 and 2 earn 2 each against uniform columns, row 3 earns 1
    game = Game.bimatrix("tie", [[4, 0], [0, 4], [1, 1]], [[0, 0], [0, 0], [0, 0]])
    for model, more in ((lk.PoissonCH, {}), (lk.TQRE, {"gamma": np.inf})):
        play = model(levels=1).predict(game, tau=1.0, **more)
        # with one level and tau 1 half of the players are at level 0
        assert_allclose(play["player 1"], [1 / 6 + 0.25, 1 / 6 + 0.25, 1 / 6], atol=1e-12)
        assert_allclose(play["player 2"], [0.5, 0.5], atol=1e-12)


def test_ties_do_not_depend_on_rounding():
    # thirds cannot be written in binary: sums of equal expected payoffs differ in the last digit
    row = np.array([[0.1, 0.2, 0.3], [0.3, 0.1, 0.2], [0.2, 0.3, 0.1]])
    for factor in (1e-8, 1.0, 1e8):
        game = Game.symmetric("thirds", row * factor)
        for model, more in (
            (lk.PoissonCH, {}),
            (lk.TQRE, {"gamma": np.inf}),
            (lk.QuantalCH, {"lam": np.inf}),
        ):
            for p in model().predict(game, tau=2.0, **more).values():
                assert_allclose(p, 1 / 3, atol=1e-12)


def test_equal_payoffs_everywhere():
    game = Game.bimatrix("nothing at stake", np.full((2, 3), 4.0), np.full((2, 3), 4.0))
    for model, more in ((lk.PoissonCH, {}), (lk.TQRE, {"gamma": 2.0}), (lk.TQRE, {"gamma": np.inf})):
        play = model().predict(game, tau=2.0, **more)
        assert_allclose(play["player 1"], 1 / 2)
        assert_allclose(play["player 2"], 1 / 3)


def test_another_level_zero():
    anchored = Game.bimatrix(
        "anchored", COMPETITIVE.payoffs[0], COMPETITIVE.payoffs[1], level0=[[0.2, 0.5, 0.3], [1, 0, 0]]
    )
    assert_allclose(lk.TQRE().predict(anchored, tau=0, gamma=1)["player 2"], [1, 0, 0], atol=1e-12)
    # against column 0 the first row earns 10; against (.2, .5, .3) the columns earn 3, -.5 and .6
    level1 = lk.level_play(anchored, levels=1)
    assert_allclose(level1["player 1"][1], [1, 0, 0], atol=1e-12)
    assert_allclose(level1["player 2"][1], [1, 0, 0], atol=1e-12)
    mine = lk.TQRE(levels=5).predict(anchored, tau=1.3, gamma=0.2)
    want = ref.tqre(anchored, 1.3, 0.2, levels=5)
    assert_allclose(mine["player 1"], want[0][:, 0], atol=1e-12)
    assert_allclose(mine["player 2"], want[1][:, 0], atol=1e-12)


def test_hierarchy_level_play_against_plain_numpy():
    for game in GAMES:
        play = lk.level_play(game, levels=4, belief="hierarchy", tau=1.1)
        want = ref.levels_of(game, ref.poisson(1.1, 4), None, "hierarchy")
        for i, player in enumerate(game.players):
            assert_allclose(play[player], [w[i][:, 0] for w in want], atol=1e-7)


@pytest.mark.parametrize("name", ["sequential", "signaling", "bayesian_p50"])
def test_games_in_agent_form(name):
    game = lk.game(name)
    mine = lk.TQRE(levels=6).predict(game, tau=1.5, gamma=0.4)
    for player, want in zip(game.players, ref.tqre(game, 1.5, 0.4, levels=6), strict=True):
        assert_allclose(mine[player], want[:, 0], atol=1e-12)


def test_loglik_is_sum_of_n_log_p():
    data = lk.shipped_choices("rpc2009")
    want = ref.loglik(data, lambda g: ref.tqre(g, 1.57, 0.11))[0]
    assert lk.TQRE().loglik(data, tau=1.57, gamma=0.11) == pytest.approx(want, abs=1e-8)
    ranges = {n: max(p.max() for p in g.payoffs) - min(p.min() for p in g.payoffs) for n, g in data.games.items()}
    want = ref.loglik(data, lambda g: ref.tqre(g, 1.57, 5.0 / ranges[g.name]))[0]
    assert lk.TQRE().loglik(data, scale="range", tau=1.57, gamma=5.0) == pytest.approx(want, abs=1e-8)


def test_uniform_model():
    play = models.get("uniform").predict(lk.game("cgcb_4a"))
    assert [p.tolist() for p in play.values()] == [[1 / len(p)] * len(p) for p in play.values()]


# misuse


@pytest.mark.parametrize(
    ("act", "message"),
    [
        (lambda: models.get("tqr"), "did you mean tqre"),
        (lambda: models.get("tqre", level=3), "no option 'level'"),
        (lambda: models.get("bogus-model-name"), "choose from"),
        (lambda: lk.TQRE(levels=0), "levels = 0"),
        (lambda: lk.TQRE(levels=2.5), "levels = 2.5"),
        (lambda: lk.TQRE(belief="steps"), "choose hierarchy or step"),
        (lambda: lk.TQRE(population="gamma"), "poisson, geometric or spike-poisson"),
        (lambda: lk.TQRE().predict(GH320, tau=1), "needs gamma"),
        (lambda: lk.TQRE().predict(GH320, tau=1, lam=1), "does not have lam"),
        (lambda: lk.TQRE().predict(GH320, tau=-1, gamma=1), "tau = -1 is outside"),
        (lambda: lk.TQRE().predict(GH320, tau=1, gamma=float("nan")), "gamma = nan is outside"),
        (lambda: lk.LevelK().predict(GH320, share_0=1, share_1=1, share_2=0, share_3=0, eps=0), "sum to 2"),
        (
            lambda: lk.LevelK(levels=1).predict(GH320, share_0=0.5, share_1=0.5, eps=1.5),
            "eps = 1.5 is outside",
        ),
        (lambda: models.get("uniform").mean_level({}), "has no levels"),
        (lambda: models.get("uniform").with_levels(3), "has no levels"),
    ],
)
def test_misuse_is_explained(act, message):
    with pytest.raises(UsageError) as caught:
        act()
    assert message in str(caught.value)


def test_get_makes_every_model():
    for name, kind in models.REGISTRY.items():
        assert isinstance(models.get(name), kind)
    assert models.get("tqre", levels=4, belief="step") == lk.TQRE(levels=4, belief="step")
