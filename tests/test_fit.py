"""The fit's options, its bookkeeping, standard errors and fit statistics, each against a computation of its own."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import multinomial

import levelkit as lk
import reference as ref
from levelkit.errors import DataError, UsageError

NAMES = ("competitive_base", "competitive_high_stake")
GAMES = {name: lk.game(name) for name in NAMES}
TRUTH = {"a": (1.2, 0.15), "b": (2.5, 0.3), "c": (0.8, 0.4)}


def simulate(seed: int = 4, n: int = 150) -> lk.Choices:
    """Three models, two games, two temperatures: 12 cells, plus one model whose cells repeat those of "a"."""
    rng = np.random.default_rng(seed)
    cells, counts = [], []
    for model, (tau, gamma) in TRUTH.items():
        for name in NAMES:
            for warm in (0, 1):
                play = ref.tqre(GAMES[name], tau, gamma)
                cells.append({"model": model, "warm": warm, "game": name})
                counts.append(np.concatenate([rng.multinomial(n, p[:, 0]) for p in play]))
    for i in range(4):
        cells.append(cells[i] | {"model": "twin"})
        counts.append(counts[i])
    return lk.Choices.from_counts(pd.DataFrame(cells), np.array(counts, float), GAMES)


DATA = simulate()


@pytest.fixture(scope="module")
def by_model():
    return lk.fit(DATA, lk.TQRE(), by="model", sensitivity=False)


def estimates(fits: lk.Fits, **where) -> np.ndarray:
    frame = fits.frame()
    for column, value in where.items():
        frame = frame[frame[column] == value]
    return frame[["estimate", "se", "low", "high", "loglik"]].to_numpy(float)


# which cells go together


def test_cells_of_a_unit_are_pooled(by_model):
    alone = lk.fit(DATA.filter(model="b"), lk.TQRE(), sensitivity=False)
    np.testing.assert_allclose(estimates(alone), estimates(by_model, model="b"), rtol=1e-6)
    assert by_model.stats()["n"].tolist() == [150 * 2 * 2 * 2] * 4
    assert by_model.stats()["games"].tolist() == [2] * 4
    # the two temperatures of a game add up to one row of counts
    added = DATA.filter(model="b")
    counts = np.stack([added.counts[:2].sum(axis=0), added.counts[2:].sum(axis=0)])
    merged = lk.Choices.from_counts(pd.DataFrame({"game": list(NAMES)}), counts, GAMES)
    merged_fit = lk.fit(merged, lk.TQRE(), sensitivity=False)
    np.testing.assert_allclose(estimates(merged_fit), estimates(alone), rtol=1e-7)


def test_units_by_several_columns_and_by_game():
    fits = lk.fit(DATA, lk.TQRE(), by=["model", "game"], intervals=False)
    assert len(fits) == 8
    assert list(fits.stats().columns[:2]) == ["model", "game"]
    assert fits.stats()[["model", "game"]].drop_duplicates().shape[0] == 8
    frame = fits.frame()
    assert frame["low"].isna().all()
    assert fits.interval_kind == "none"
    unit = fits.locate(model="c", game=NAMES[1])
    part = DATA.filter(model="c", game=NAMES[1])
    alone = lk.fit(part, lk.TQRE(), intervals=False).stats()["loglik"][0]
    assert fits.stats()["loglik"][unit] == pytest.approx(alone, abs=1e-9)


def test_pooling_everything_and_repeated_columns():
    assert len(lk.fit(DATA, lk.TQRE(), intervals=False)) == 1
    assert lk.fit(DATA, lk.TQRE(), by=["model", "model"], intervals=False).by == ("model",)


def test_maximum_of_independent_search(by_model):
    """No point of a fine grid, computed by other code, is better, and the best of them is near."""
    tau, gamma = ref.grid_2d(np.geomspace(0.2, 9.9, 90), np.geomspace(0.02, 3, 110))
    for model in TRUTH:
        surface = ref.loglik(DATA.filter(model=model), lambda g: ref.tqre(g, tau, gamma))
        best = surface.argmax()
        frame = by_model.frame().query(f"model == '{model}'").set_index("parameter")
        assert surface[best] <= frame["loglik"].iloc[0] + 1e-9
        assert surface[best] > frame["loglik"].iloc[0] - 0.6
        assert frame.loc["tau", "estimate"] == pytest.approx(tau[best], rel=0.06)
        assert frame.loc["gamma", "estimate"] == pytest.approx(gamma[best], rel=0.06)


def test_shuffled_cells_give_the_same(by_model):
    order = np.random.default_rng(0).permutation(len(DATA))
    shuffled = lk.Choices.from_counts(DATA.cells.iloc[order], DATA.counts[order], GAMES)
    fits = lk.fit(shuffled, lk.TQRE(), by="model", sensitivity=False)
    assert set(fits.stats()["model"]) == {*TRUTH, "twin"}
    for model in (*TRUTH, "twin"):
        np.testing.assert_allclose(estimates(fits, model=model), estimates(by_model, model=model), rtol=1e-6)


def test_same_input_same_output(by_model):
    again = lk.fit(simulate(), lk.TQRE(), by="model", sensitivity=False)
    pd.testing.assert_frame_equal(again.frame(), by_model.frame(), check_exact=True)
    pd.testing.assert_frame_equal(again.stats(), by_model.stats(), check_exact=True)
    pd.testing.assert_frame_equal(again.predict(), by_model.predict(), check_exact=True)
    assert repr(again) == repr(by_model)
    assert "4 units by model" in repr(by_model)


def test_units_with_the_same_choices_are_fitted_once(by_model):
    assert len(by_model.result.value) == 3
    np.testing.assert_array_equal(estimates(by_model, model="a"), estimates(by_model, model="twin"))


def test_progress_is_reported():
    seen = []
    lk.fit(DATA, lk.TQRE(), by="model", intervals=False, progress=lambda done, total: seen.append((done, total)))
    assert seen
    assert seen[-1][0] == seen[-1][1]


# fixed, scale, weights


def test_fixed_parameters():
    fits = lk.fit(DATA, lk.TQRE(), by="model", fixed={"gamma": 0.25}, sensitivity=False)
    frame = fits.frame()
    assert set(frame["parameter"]) == {"tau"}
    assert fits.stats()["free"].tolist() == [1] * 4
    tau = np.linspace(0.05, 9.9, 2000)
    for model in TRUTH:
        line = ref.loglik(DATA.filter(model=model), lambda g: ref.tqre(g, tau, np.full(2000, 0.25)))
        mine = frame.query(f"model == '{model}'").iloc[0]
        assert line.max() - 1e-9 <= mine["loglik"] <= line.max() + 0.01
        assert mine["estimate"] == pytest.approx(tau[line.argmax()], abs=0.01)


def test_everything_fixed_is_the_likelihood():
    fits = lk.fit(DATA, lk.TQRE(), by="model", fixed={"gamma": 0.25, "tau": 1.5})
    assert len(fits.frame()) == 0
    want = [ref.loglik(DATA.filter(model=m), lambda g: ref.tqre(g, 1.5, 0.25))[0] for m in fits.stats()["model"]]
    np.testing.assert_allclose(fits.stats()["loglik"], want, atol=1e-8)
    assert fits.stats()["aic"].tolist() == pytest.approx([-2 * v for v in want])


def test_fixed_at_a_limit():
    part = DATA.filter(model="b")
    sharp = lk.fit(part, lk.TQRE(), fixed={"gamma": np.inf}, intervals=False, sensitivity=False).stats()["loglik"][0]
    best = lk.fit(part, lk.PoissonCH(), intervals=False, sensitivity=False).stats()["loglik"][0]
    assert sharp == pytest.approx(best, abs=1e-6)


def test_scale_range_is_gamma_times_the_range():
    part = DATA.filter(model="a", game="competitive_base")
    raw = lk.fit(part, lk.TQRE(), sensitivity=False).frame()
    ranged = lk.fit(part, lk.TQRE(), scale="range", sensitivity=False).frame()
    assert raw["unit"].tolist() == ["levels", "1/payoff"]
    assert ranged["unit"].tolist() == ["levels", "1/range"]
    for column in ("estimate", "se", "low", "high"):
        # payoffs of the game run from -10 to 10
        np.testing.assert_allclose(ranged[column], raw[column] * [1, 20], rtol=1e-4)
    np.testing.assert_allclose(ranged["loglik"], raw["loglik"], rtol=1e-10)


def test_counts_as_weights():
    part = DATA.filter(model="c")
    halved = lk.Choices.from_counts(part.cells, part.counts / 2 + 0.0, part.games)
    one, two = lk.fit(part, lk.TQRE(), sensitivity=False), lk.fit(halved, lk.TQRE(), sensitivity=False)
    np.testing.assert_allclose(two.frame()["estimate"], one.frame()["estimate"], rtol=1e-6)
    np.testing.assert_allclose(two.frame()["se"], one.frame()["se"] * np.sqrt(2), rtol=1e-5)
    assert "fractional counts" in two.stats()["note"][0]
    assert "fractional counts" not in one.stats()["note"][0]


# nothing to fit


def test_units_without_choices():
    cells = pd.DataFrame({"model": ["empty", "full"], "game": [NAMES[0]] * 2})
    choices = lk.Choices.from_counts(
        cells, np.array([[0.0] * 6, [30, 20, 10, 10, 20, 30]]), GAMES, no_choice=np.array([7.0, 0])
    )
    fits = lk.fit(choices, lk.TQRE(), by="model", sensitivity=False)
    stats, frame = fits.stats(), fits.frame()
    assert stats["n"].tolist() == [0, 120]
    assert stats["no_choice"].tolist() == [7, 0]
    assert stats["note"][0].startswith("no choices")
    assert frame["status"][:2].tolist() == ["flat", "flat"]
    assert frame["estimate"][:2].isna().all()
    assert np.isnan(stats["gain"][0])
    alone = lk.fit(choices.filter(model="full"), lk.TQRE(), sensitivity=False)
    np.testing.assert_allclose(estimates(fits, model="full"), estimates(alone), rtol=1e-6)


def test_no_cells_at_all():
    with pytest.raises(DataError, match="no cells to fit"):
        lk.fit(DATA.filter(model="nobody"), lk.TQRE())


# misuse


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"by": "modell"}, "by names 'modell'.*model, warm, game"),
        ({"vary": {"tua": "game"}}, "vary names 'tua'.*tau, gamma"),
        ({"vary": {"gamma": "gaem"}}, "gaem"),
        ({"vary": {"gamma": "game"}, "fixed": {"gamma": 1}}, "both fixed and asked to vary"),
        ({"fixed": {"lambda": 1}}, "fixed names 'lambda'.*tau, gamma"),
        ({"fixed": {"tau": -1}}, "tau = -1 is outside"),
        ({"fixed": {"gamma": float("nan")}}, "gamma = nan is outside"),
        ({"scale": "log"}, "raw or range"),
        ({"errors": "robust"}, "observed or sandwich"),
        ({"interval": 95}, "between 0 and 1"),
        ({"interval": 0.0}, "between 0 and 1"),
        ({"optimizer": "bfgs", "vary": {"gamma": "game"}}, "newton or jaxopt"),
        ({"optimizer": "bfgs"}, "newton or jaxopt"),
    ],
)
def test_misuse_is_explained(options, message):
    with pytest.raises(UsageError, match=message):
        lk.fit(DATA.filter(model="a"), lk.TQRE(), intervals=False, **options)


def test_shares_are_not_held_or_varied_one_by_one():
    with pytest.raises(UsageError, match="shares sum to one"):
        lk.fit(DATA, lk.LevelK(), fixed={"share_0": 0.5})
    with pytest.raises(UsageError, match="put the column into by"):
        lk.fit(DATA, lk.LevelK(), vary={"share_0": "game"})


def test_unknown_units_are_explained(by_model):
    with pytest.raises(UsageError, match="0 units match"):
        by_model.locate(model="zzz")
    with pytest.raises(UsageError, match="no column 'temperature'"):
        by_model.locate(temperature=1)
    with pytest.raises(UsageError, match="unit 9 does not exist"):
        by_model.surface(9)
    with pytest.raises(UsageError, match="not a free parameter"):
        by_model.profile(0, "lam")


# standard errors


def derivatives(part: lk.Choices, tau: float, gamma: float) -> tuple[np.ndarray, np.ndarray]:
    """Second derivatives of the log-likelihood and the sum of outer products of choices' scores, by differences."""
    at, step = np.array([tau, gamma]), np.array([tau, gamma]) * 1e-4

    def value(x: np.ndarray) -> float:
        return ref.loglik(part, lambda g: ref.tqre(g, x[0], x[1]))[0]

    hessian = np.empty((2, 2))
    for i in range(2):
        for j in range(2):
            e, f = np.eye(2)[i] * step, np.eye(2)[j] * step
            hessian[i, j] = (value(at + e + f) - value(at + e - f) - value(at - e + f) + value(at - e - f)) / (
                4 * step[i] * step[j]
            )
    outer = np.zeros((2, 2))
    for c in range(len(part)):
        game, counts = part.game_of(c), np.concatenate(part.counts_for(c))
        ends = []
        for i in range(2):
            e = np.eye(2)[i] * step
            up, down = (ref.log_table(ref.tqre(game, *(at + s * e)))[:, 0] for s in (1, -1))
            ends.append((up - down) / (2 * step[i]))
        score = np.stack(ends)
        outer += (score * counts) @ score.T
    return hessian, outer


def test_standard_errors_by_finite_differences(by_model):
    robust = lk.fit(DATA, lk.TQRE(), by="model", errors="sandwich", intervals=False)
    for model in TRUTH:
        frame = by_model.frame().query(f"model == '{model}'").set_index("parameter")
        hessian, outer = derivatives(DATA.filter(model=model), *frame["estimate"])
        bread = np.linalg.inv(-hessian)
        np.testing.assert_allclose(frame["se"], np.sqrt(np.diag(bread)), rtol=1e-4)
        mine = robust.frame().query(f"model == '{model}'")["se"]
        np.testing.assert_allclose(mine, np.sqrt(np.diag(bread @ outer @ bread)), rtol=1e-4)


def test_sandwich_agrees_under_the_model_and_not_under_another():
    big = simulate(seed=9, n=200_000).filter(model="a")
    observed = lk.fit(big, lk.TQRE(), intervals=False, sensitivity=False).frame()["se"]
    robust = lk.fit(big, lk.TQRE(), errors="sandwich", intervals=False, sensitivity=False).frame()["se"]
    np.testing.assert_allclose(robust, observed, rtol=0.02)
    # frequencies that no TQRE has: the two part
    other = lk.Choices.from_counts(
        pd.DataFrame({"game": list(NAMES)}),
        np.array([[283.0, 749, 468, 273, 682, 545], [305, 672, 523, 1017, 132, 351]]),
        GAMES,
    )
    observed = lk.fit(other, lk.TQRE(), intervals=False, sensitivity=False).frame()["se"]
    robust = lk.fit(other, lk.TQRE(), errors="sandwich", intervals=False, sensitivity=False).frame()["se"]
    assert (np.abs(np.log(robust / observed)) > 0.2).all()


# statistics and predictions


def test_statistics_by_hand(by_model):
    stats = by_model.stats()
    for i, model in enumerate(stats["model"]):
        part, row = DATA.filter(model=model), stats.iloc[i]
        # pooled over temperatures: one multinomial per game and player
        uniform = saturated = constant = 0.0
        for name in NAMES:
            counts = part.filter(game=name).counts.sum(axis=0)
            for c in (counts[:3], counts[3:6]):
                n = c.sum()
                uniform += n * np.log(1 / 3)
                saturated += float((c[c > 0] * np.log(c[c > 0] / n)).sum())
                p = np.full(3, 1 / 3)
                constant += multinomial.logpmf(c, int(n), p) - n * np.log(1 / 3)
        n, loglik = part.counts.sum(), row["loglik"]
        assert row["loglik_uniform"] == pytest.approx(uniform)
        assert row["loglik_saturated"] == pytest.approx(saturated)
        assert row["multinomial_constant"] == pytest.approx(constant)
        assert row["free"] == 2
        assert row["aic"] == pytest.approx(4 - 2 * loglik)
        assert row["bic"] == pytest.approx(2 * np.log(n) - 2 * loglik)
        assert row["gain"] == pytest.approx((loglik - uniform) / n)
        assert row["completeness"] == pytest.approx((loglik - uniform) / (saturated - uniform))
        assert 0 < row["completeness"] < 1


def test_mean_level_by_hand(by_model):
    stats, frame = by_model.stats(), by_model.frame()
    tau = frame[frame["parameter"] == "tau"].reset_index(drop=True)
    levels = np.arange(11)

    def mean(t: float) -> float:
        return float(levels @ ref.poisson(t, 10)[:, 0])

    for i in range(len(stats)):
        row, t = stats.iloc[i], tau.iloc[i]
        assert row["mean_level"] == pytest.approx(mean(t["estimate"]), rel=1e-9)
        assert row["mean_level_low"] == pytest.approx(mean(t["low"]), rel=1e-9)
        assert row["mean_level_high"] == pytest.approx(mean(t["high"]), rel=1e-9)
        slope = (mean(t["estimate"] + 1e-5) - mean(t["estimate"] - 1e-5)) / 2e-5
        assert row["mean_level_se"] == pytest.approx(slope * t["se"], rel=1e-3)
    assert stats["mean_level_shift"].isna().all()


def test_mean_level_shift_is_a_second_fit():
    part = DATA.filter(model="b")
    shift = lk.fit(part, lk.TQRE(levels=5), sensitivity=True, intervals=False).stats()["mean_level_shift"][0]
    five = lk.fit(part, lk.TQRE(levels=5), sensitivity=False, intervals=False).stats()["mean_level"][0]
    ten = lk.fit(part, lk.TQRE(levels=10), sensitivity=False, intervals=False).stats()["mean_level"][0]
    assert shift == pytest.approx(ten - five, abs=1e-6)


def test_predictions_reproduce_the_likelihood(by_model):
    frame = by_model.predict()
    assert list(frame.columns) == ["model", "game", "player", "action", "n", "observed", "predicted"]
    assert len(frame) == 4 * 2 * 6
    sums = frame.groupby(["model", "game", "player"])[["observed", "predicted"]].sum()
    np.testing.assert_allclose(sums, 1.0)
    loglik = (frame["n"] * frame["observed"] * np.log(frame["predicted"])).groupby(frame["model"]).sum()
    stats = by_model.stats().set_index("model")["loglik"]
    np.testing.assert_allclose(loglik[stats.index], stats, atol=1e-8)
    row = by_model.frame().query("model == 'b'").set_index("parameter")["estimate"]
    want = ref.tqre(GAMES[NAMES[1]], row["tau"], row["gamma"])
    mine = frame[(frame["model"] == "b") & (frame["game"] == NAMES[1])]["predicted"]
    np.testing.assert_allclose(mine, np.concatenate(want)[:, 0], atol=1e-9)


def test_imagined_players_are_not_predicted():
    fits = lk.fit(
        ref.cell(lk.game("signaling"), [22, 8], [23, 7], [0, 0]),
        lk.TQRE(),
        intervals=False,
        sensitivity=False,
    )
    assert fits.predict()["player"].unique().tolist() == list(lk.game("signaling").players[:2])
    assert fits.stats()["loglik_uniform"][0] == pytest.approx(60 * np.log(0.5))


def test_surface_and_profile_hold_the_maximum(by_model):
    surface = by_model.surface(1)
    assert surface.names == ("tau", "gamma")
    assert surface.loglik.shape == (len(surface.x), len(surface.y))
    top = by_model.stats()["loglik"][1]
    assert top - 1.0 < surface.loglik.max() <= top + 1e-9
    assert surface.cutoff == pytest.approx(top - 1.920729, abs=1e-6)
    i, j = len(surface.x) // 2, len(surface.y) // 2
    model = by_model.stats()["model"][1]
    want = ref.loglik(DATA.filter(model=model), lambda g: ref.tqre(g, surface.x[i], surface.y[j]))[0]
    assert surface.loglik[i, j] == pytest.approx(want, abs=1e-7)
    line = by_model.profile(1, "tau")
    np.testing.assert_allclose(line["loglik"], surface.loglik.max(axis=1))
    np.testing.assert_allclose(line["value"], surface.x)


def test_uniform_model_fits_nothing():
    fits = lk.fit(DATA, lk.models.get("uniform"), by="model")
    assert len(fits.frame()) == 0
    np.testing.assert_allclose(fits.stats()["gain"], 0, atol=1e-12)
    np.testing.assert_allclose(fits.stats()["loglik"], fits.stats()["loglik_uniform"])
