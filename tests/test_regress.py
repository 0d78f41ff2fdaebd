"""Regressions of levels on features: against statsmodels, closed forms, other fits, and planted effects."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
import statsmodels.formula.api as smf

import levelkit as lk
from levelkit.cli import main
from levelkit.inference import secondstep as second
from levelkit.inference.likelihood import Likelihood
from levelkit.inference.onestep import Linked
from levelkit.inference.solved import bind

GAMES = ("competitive_base", "sw10")


def planted(effect: float, n: int = 40, plays: int = 60, seed: int = 0) -> tuple[lk.Choices, pd.DataFrame]:
    """Players whose log tau is log 1.2 + effect * female, with gamma 4 per payoff range, in two games."""
    rng = np.random.default_rng(seed)
    games = {name: lk.game(name) for name in GAMES}
    female = np.arange(n) % 2
    rows, counts = [], []
    for i in range(n):
        for name, game in games.items():
            p = lk.TQRE().predict(game, tau=1.2 * np.exp(effect * female[i]), gamma=4 / game.payoff_range)
            counts.append(np.concatenate([rng.multinomial(plays, np.asarray(v) / np.sum(v)) for v in p.values()]))
            rows.append({"player_id": i, "game": name})
    choices = lk.Choices.from_counts(pd.DataFrame(rows), np.array(counts, float), games)
    features = {"player_id": range(n), "female": female, "age": rng.uniform(20, 60, n), "team": np.arange(n) // 4}
    return choices, pd.DataFrame(features)


@pytest.fixture(scope="module")
def fitted() -> tuple[lk.Fits, pd.DataFrame]:
    choices, features = planted(0.4)
    return lk.fit(choices, lk.TQRE(), by="player_id", scale="range", sensitivity=False), features


def estimates(values, status="ok", se=0.1) -> pd.DataFrame:
    n = len(values)
    status = [status] * n if isinstance(status, str) else status
    frame = {"player_id": range(n), "parameter": "tau", "estimate": values, "se": se, "status": status}
    return pd.DataFrame(frame)


@pytest.mark.parametrize(
    ("errors", "cluster"), [("nonrobust", None), ("HC1", None), ("HC3", None), ("cluster", "team")]
)
def test_least_squares_is_statsmodels(fitted, errors, cluster):
    fits, features = fitted
    mine = lk.regress(fits, "np.log(tau) ~ female + age", features, errors=errors, cluster=cluster, methods="ols")
    frame = fits.frame().query("parameter == 'tau'").merge(features, on="player_id")
    frame = frame[(frame["status"] != "flat") & np.isfinite(np.log(frame["estimate"]))]
    more = {"cov_kwds": {"groups": frame["team"]}} if cluster else {}
    theirs = smf.ols("np.log(estimate) ~ female + age", frame).fit(cov_type=errors, use_t=True, **more)
    got = mine.frame()
    np.testing.assert_allclose(got["estimate"], theirs.params, rtol=1e-10)
    np.testing.assert_allclose(got["se"], theirs.bse, rtol=1e-10)
    np.testing.assert_allclose(got["p"], theirs.pvalues, rtol=1e-8)
    np.testing.assert_allclose(got[["low", "high"]], theirs.conf_int(), rtol=1e-8)
    joint = mine.tests().query("feature == 'all'")["f"].item()
    assert joint == pytest.approx(float(theirs.f_test("female = 0, age = 0").fvalue))


def test_weights_by_first_step_errors():
    rng = np.random.default_rng(1)
    x = np.column_stack([np.ones(200), rng.normal(size=200)])
    first = rng.uniform(0.1, 2.0, 200)
    y = x @ [1.0, 0.5] + rng.normal(size=200) * np.hypot(first, 0.3)
    rows = np.arange(200)
    found = second.fgls(y, x, first, "nonrobust", rows, 0.95)
    residual = y - x @ np.linalg.lstsq(x, y, rcond=None)[0]
    hat = x @ np.linalg.inv(x.T @ x) @ x.T
    rest = (residual @ residual - (first**2).sum() + np.trace(hat @ np.diag(first**2))) / 198
    w = 1 / (first**2 + max(rest, 0))
    want = np.linalg.solve(x.T @ (x * w[:, None]), x.T @ (w * y))
    np.testing.assert_allclose(found.value, want, rtol=1e-10)
    plain = second.ols(y, x, "nonrobust", rows, 0.95)
    assert found.se[1] < 0.8 * plain.se[1], "rows that are known well count for more"
    same = second.fgls(y, x, np.full(200, 0.2), "HC1", rows, 0.95)
    np.testing.assert_allclose(same.value, plain.value, rtol=1e-10)


def test_one_step_is_the_shared_fit(fitted):
    """One feature of two values: the same maximum as two taus that share one gamma."""
    fits, features = fitted
    one = lk.regress(fits, "tau ~ female", features, methods="one-step", errors="nonrobust")
    choices = planted(0.4)[0]
    cells = choices.cells.merge(features, on="player_id")[["female", "game"]]
    grouped = lk.Choices.from_counts(cells, choices.counts, choices.games)
    shared = lk.fit(grouped, lk.TQRE(), vary={"tau": ["female"]}, scale="range", intervals=False)
    tau = shared.frame().query("parameter == 'tau'").set_index("female")["estimate"]
    got = one.frame().set_index("term")["estimate"]
    assert got["Intercept"] == pytest.approx(np.log(tau[0]), abs=1e-5)
    assert got["female"] == pytest.approx(np.log(tau[1] / tau[0]), abs=1e-5)
    gamma = shared.frame().query("parameter == 'gamma'")["estimate"].item()
    assert one.columns[0].other["gamma"] == pytest.approx(gamma, rel=1e-5)


def test_one_step_derivatives(fitted):
    fits, features = fitted
    objective = bind(Likelihood(fits.model, fits.units, fits.scale), {})
    x = np.column_stack([np.ones(len(features)), features["female"], (features["age"] - 40) / 10])
    problem = Linked(objective, x, 0)
    z = np.array([[0.2], [0.3], [-0.05], [1.1]])
    one = np.zeros(1, int)
    value, gradient, hessian = problem.hessians(one, z)
    h = 1e-5
    for k in range(4):
        step = np.zeros((4, 1))
        step[k] = h
        up, down = problem.value(one, z + step)[0], problem.value(one, z - step)[0]
        assert gradient[k, 0] == pytest.approx((up - down) / (2 * h), rel=1e-5, abs=1e-4)
        above, below = problem.hessians(one, z + step)[1][:, 0], problem.hessians(one, z - step)[1][:, 0]
        np.testing.assert_allclose(hessian[k, :, 0], (above - below) / (2 * h), rtol=1e-4, atol=1e-3)
    np.testing.assert_allclose(problem.unit_scores(z[:, 0]).sum(axis=0), gradient[:, 0], rtol=1e-9)
    assert value[0] == pytest.approx(problem.value(one, z)[0])


def test_every_method_finds_a_planted_effect(fitted):
    fits, features = fitted
    frame = lk.regress(fits, "np.log(tau) ~ female", features, seed=3).frame()
    slopes = frame[frame["term"] == "female"].set_index("method")
    assert list(slopes.index) == ["ols", "fgls", "bootstrap", "one-step"]
    assert (slopes["low"] < 0.4).all()
    assert (slopes["high"] > 0.4).all()
    assert (slopes["low"] > 0)["one-step"], "the one-step model has the power to see it"
    again = lk.regress(fits, "np.log(tau) ~ female", features, seed=3).frame()
    pd.testing.assert_frame_equal(frame, again)


def test_bootstrap_of_units_agrees_with_robust_errors():
    rng = np.random.default_rng(5)
    features = pd.DataFrame({"player_id": range(300), "x": rng.normal(size=300)})
    values = 2 + 0.5 * features["x"] + rng.normal(size=300) * (0.2 + features["x"].abs())
    made = lk.regress(estimates(values), "tau ~ x", features, methods=["ols", "bootstrap"], errors="HC3").frame()
    se = made[made["term"] == "x"].set_index("method")["se"]
    assert se["bootstrap"] == pytest.approx(se["ols"], rel=0.12)


def test_clusters_inside_units_repeat_both_steps():
    rng = np.random.default_rng(2)
    choices, features = planted(0.3, n=20)
    halves = []
    cells = []
    for half in (0, 1):
        counts = rng.binomial(choices.counts.astype(int), 0.5)
        halves.append(counts)
        cells.append(choices.cells.assign(session=half))
    table = pd.concat(cells, ignore_index=True)[["player_id", "session", "game"]]
    many = lk.Choices.from_counts(table, np.concatenate(halves).astype(float), choices.games)
    fits = lk.fit(many, lk.TQRE(), by="player_id", scale="range", intervals=False, sensitivity=False)
    made = lk.regress(fits, "tau ~ female", features, methods="bootstrap", cluster="session", replicates=150)
    column = made.columns[0].by_method["bootstrap"]
    assert any("both steps" in note for note in column.notes)
    said = lk.regress(fits, "tau ~ female", features, methods="ols", errors="cluster", cluster="session")
    assert said.errors == "HC3", "never called clustered when it is not"
    assert any("lies inside the units" in note for note in said.notes)
    assert np.isfinite(column.se).all()
    assert (column.se > 0).all()


def test_flat_columns_are_refused_stars():
    rng = np.random.default_rng(0)
    features = pd.DataFrame({"player_id": range(60), "x": rng.normal(size=60)})
    values = 1 + features["x"]
    mostly = ["flat"] * 40 + ["ok"] * 20
    made = lk.regress(estimates(values + 0.01 * rng.normal(size=60), mostly), "tau ~ x", features, methods="ols")
    column = made.columns[0]
    assert column.refused == "40 of 60 estimates are not determined by the choices"
    assert column.used == 20
    assert (made.frame()["stars"] == "").all()
    assert "no stars: 40 of 60" in " ".join(made.summary().split())
    forced = lk.regress(estimates(values, mostly), "tau ~ x + I(x**2)", features, methods="ols", force=True)
    assert "WARNING" in forced.summary()
    few = lk.regress(
        estimates(values + rng.normal(size=60), ["flat"] * 6 + ["ok"] * 54), "tau ~ x", features, methods="ols"
    )
    assert few.frame()["stars"].tolist()[1] == "***"
    assert few.columns[0].used == 54
    kept = lk.regress(estimates(values + rng.normal(size=60), mostly), "tau ~ x", features, methods="ols", flat="keep")
    assert kept.columns[0].used == 60
    assert kept.columns[0].refused


def test_features_that_are_combinations_have_no_coefficient():
    rng = np.random.default_rng(0)
    x = rng.normal(size=50)
    features = pd.DataFrame({"player_id": range(50), "x": x, "twice": 2 * x, "nobody": 0})
    made = lk.regress(estimates(x + rng.normal(size=50)), "tau ~ x + twice + nobody", features, methods="ols")
    frame = made.frame().set_index("term")
    assert np.isfinite(frame["estimate"]["x"])
    assert frame["estimate"][["twice", "nobody"]].isna().all()
    assert frame["stars"]["twice"] == ""


def test_adjusted_p_values():
    rng = np.random.default_rng(0)
    features = pd.DataFrame(rng.normal(size=(80, 6)), columns=list("abcdef")).assign(player_id=range(80))
    made = lk.regress(estimates(rng.normal(size=80)), "tau ~ a + b + c + d + e + f", features, methods="ols")
    frame = made.frame().query("term != 'Intercept'").sort_values("p")
    holm = np.minimum(1, np.maximum.accumulate(frame["p"].to_numpy() * np.arange(6, 0, -1)))
    np.testing.assert_allclose(frame["p_holm"], holm)
    bh = np.minimum.accumulate((frame["p"].to_numpy() * 6 / np.arange(1, 7))[::-1])[::-1]
    np.testing.assert_allclose(frame["p_bh"], np.minimum(bh, 1))


def test_joins_say_what_is_left_out():
    made = lk.regress(
        estimates(np.random.default_rng(0).normal(size=30)).assign(player_id=[f"{i:03d}" for i in range(30)]),
        "tau ~ x",
        pd.DataFrame({"player_id": np.arange(28.0), "x": [np.nan, *np.random.default_rng(1).normal(size=27)]}),
        methods="ols",
    )
    assert made.columns[0].used == 27
    assert made.columns[0].missing == 1
    assert "2 estimates have no row of features" in made.summary()


@pytest.mark.parametrize(
    ("formula", "features", "options", "words"),
    [
        ("tau", {}, {}, "write for instance"),
        ("nu ~ x", {}, {}, "must name one parameter"),
        ("tau ~ z", {}, {}, "z"),
        ("tau ~ x", {}, {"methods": "wls"}, "methods"),
        ("tau ~ x", {}, {"errors": "HC9"}, "errors"),
        ("tau ~ x", {}, {"errors": "cluster"}, "needs the column"),
        ("tau ~ x", {}, {"cluster": "nothing"}, "cluster names"),
        ("tau ~ x", {}, {"adjust": "bonferroni"}, "adjust"),
        ("tau ~ x", {}, {"replicates": 3}, "replicates"),
        ("tau ~ x", {"player_id": [0] * 20}, {}, "given twice"),
        ("tau ~ x", {"player_id": [f"p{i}" for i in range(20)]}, {}, "same way in both"),
        ("tau ~ x", {"status": "good"}, {}, "levelkit's own"),
    ],
)
def test_bad_requests(formula, features, options, words):
    table = pd.DataFrame({"player_id": range(20), "x": np.arange(20.0)} | features)
    with pytest.raises(lk.LevelkitError, match=words):
        lk.regress(estimates(np.arange(20.0)), formula, table, **options)
    with pytest.raises(lk.DataError, match="share no column"):
        lk.regress(estimates(np.arange(20.0)), "tau ~ x", table.rename(columns={"player_id": "who"}))


def test_command(tmp_path, capsys):
    choices, features = planted(0.4, n=20)
    choices.frame().to_csv(tmp_path / "choices.csv", index=False)
    features.to_csv(tmp_path / "people.csv", index=False)
    formula = ["--formula", "tau ~ female", "--personas", str(tmp_path / "people.csv")]
    arguments = [str(tmp_path / "choices.csv"), "--by", "player_id", "--scale", "range", *formula]
    out = tmp_path / "table.tex"
    assert main(["regress", *arguments, "--method", "ols,one-step", "--out", str(out)]) == 0
    shown = capsys.readouterr().out
    assert "one-step" in shown
    assert "female" in shown
    assert "toprule" in out.read_text()
    assert main(["fit", str(tmp_path / "choices.csv"), "--by", "player_id", "--out", str(tmp_path / "fits.csv")]) == 0
    capsys.readouterr()
    assert main(["regress", str(tmp_path / "fits.csv"), *formula, "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert {r["method"] for r in rows} == {"ols", "fgls", "bootstrap"}
    assert main(["regress", str(tmp_path / "choices.csv"), *formula]) == 2
    assert "--by" in capsys.readouterr().err
    assert main(["regress", str(tmp_path / "fits.csv"), "--formula", "tau ~ female", "--personas", "no.csv"]) == 1
    assert "no such file" in capsys.readouterr().err
