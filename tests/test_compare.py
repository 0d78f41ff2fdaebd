"""Comparison of models: statistics by hand, nesting, held-out prediction, verdicts, files and the command line."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from scipy.stats import chi2, norm

import levelkit as lk
from levelkit.cli import main
from levelkit.studies import rpc2009


@pytest.fixture(scope="module")
def data():
    return lk.shipped_choices("rpc2009").filter(game=["rpc_sw1", "rpc_sw3", "rpc_sw9", "rpc_sw12"])


@pytest.fixture(scope="module")
def result(data):
    return lk.compare(data, [lk.TQRE(), lk.PoissonCH(), lk.LogitQRE(), lk.Uniform()], holdout="game")


def test_statistics_agree_with_single_fits(data, result):
    frame = result.frame().set_index("model")
    for model in (lk.TQRE(), lk.PoissonCH(), lk.LogitQRE()):
        stats = lk.fit(data, model, intervals=False, sensitivity=False).stats().iloc[0]
        row = frame.loc[model.name]
        for name in ("loglik", "aic", "bic", "gain", "completeness", "n", "free"):
            assert row[name] == pytest.approx(stats[name], rel=1e-9)
    assert frame.loc["uniform", "gain"] == pytest.approx(0, abs=1e-12)


def test_gain_interval_by_hand(data, result):
    fits = lk.fit(data, lk.LogitQRE(), intervals=False)
    p = fits.predict().query("n > 0")
    each = np.repeat(np.log(p["predicted"] / (1 / 3)), np.rint(p["n"] * p["observed"]).astype(int))
    row = result.frame().set_index("model").loc["qre"]
    assert row["gain"] == pytest.approx(each.mean(), rel=1e-9)
    half = 1.96 * each.std(ddof=0) / np.sqrt(len(each))
    assert row["gain_high"] - row["gain"] == pytest.approx(half, rel=1e-6)


def test_vuong_by_hand(data, result):
    logs = []
    for model in (lk.TQRE(), lk.LogitQRE()):
        p = lk.fit(data, model, intervals=False, sensitivity=False).predict().query("n > 0")
        logs.append(np.repeat(np.log(p["predicted"]), np.rint(p["n"] * p["observed"]).astype(int)).to_numpy())
    d = logs[0] - logs[1]
    n = len(d)
    z = (d.sum() - (2 - 1) / 2 * np.log(n)) / (np.sqrt(n) * d.std(ddof=0))
    tests = result.tests()
    row = tests[(tests["model_a"] == "tqre") & (tests["model_b"] == "qre")].iloc[0]
    assert row["test"] == "Vuong"
    assert row["statistic"] == pytest.approx(z, rel=1e-6)
    assert row["p"] == pytest.approx(2 * norm.sf(abs(z)), rel=1e-6)


def test_nested_models_by_likelihood_ratio(result):
    frame, tests = result.frame().set_index("model"), result.tests()
    row = tests[(tests["model_a"] == "qre") & (tests["model_b"] == "uniform")].iloc[0]
    statistic = 2 * (frame.loc["qre", "loglik"] - frame.loc["uniform", "loglik"])
    assert row["test"] == "likelihood ratio"
    assert row["statistic"] == pytest.approx(statistic)
    assert row["p"] == pytest.approx(chi2.sf(statistic, 1) / 2)
    assert "boundary" in row["note"]
    row = tests[(tests["model_a"] == "tqre") & (tests["model_b"] == "poisson-ch")].iloc[0]
    assert row["test"] == "likelihood ratio"
    assert row["df"] == 1
    assert "gamma = inf" in row["note"]


def test_left_out_games_by_hand(data, result):
    total = 0.0
    for game in data.games:
        rest = data.filter(game=[g for g in data.games if g != game])
        lam = lk.fit(rest, lk.LogitQRE(), intervals=False).frame()["estimate"][0]
        total += lk.LogitQRE().loglik(data.filter(game=game), lam=lam)
    row = result.frame().set_index("model").loc["qre"]
    assert row["held_out"] == pytest.approx(total, abs=1e-6)
    assert row["held_out"] < row["loglik"]
    assert row["held_out_se"] > 0


def test_verdicts_say_when_the_data_cannot_tell(data):
    few = lk.Choices.from_counts(data.cells, np.round(data.counts / 12), data.games)
    text = lk.compare(few, [lk.TQRE(), lk.LogitQRE()]).verdict()[0]
    assert "cannot tell" in text
    both = lk.compare(data, [lk.LogitQRE(), lk.Uniform()]).verdict()[0]
    assert both.startswith("qre has the lowest BIC")
    assert "cannot tell" not in both


def test_by_game(data):
    result = lk.compare(data, [lk.PoissonCH(), lk.LogitQRE()], by="game")
    frame = result.frame()
    assert len(frame) == 8
    assert list(frame["model"][:2]) == ["poisson-ch", "qre"]
    assert len(result.verdict()) == 4


def test_misuse(data):
    with pytest.raises(lk.UsageError, match="at least two"):
        lk.compare(data, [lk.TQRE()])
    with pytest.raises(lk.UsageError, match="also in by"):
        lk.compare(data, [lk.TQRE(), lk.Uniform()], by="game", holdout="game")
    with pytest.raises(lk.UsageError, match="no column"):
        lk.compare(data, [lk.TQRE(), lk.Uniform()], holdout="cat")
    with pytest.raises(lk.DataError, match="nothing can be left out"):
        lk.compare(data.filter(game="rpc_sw1"), [lk.TQRE(), lk.Uniform()], holdout="game")


def test_restrictiveness_orders_models(data):
    one = lk.restrictiveness(data, lk.LogitQRE(), draws=40, seed=1)
    two = lk.restrictiveness(data, lk.TQRE(), draws=40, seed=1)
    none = lk.restrictiveness(data, lk.Uniform(), draws=40, seed=1)
    assert none["restrictiveness"] == pytest.approx(1)
    assert 0 < two["restrictiveness"] < 1
    assert two["restrictiveness"] < one["restrictiveness"] < 1


def test_files_and_plots(result, tmp_path):
    for suffix in (".csv", ".tsv", ".json", ".parquet", ".md", ".txt"):
        assert result.save(tmp_path / f"c{suffix}").stat().st_size > 200
    assert len(pd.read_csv(tmp_path / "c.csv")) == 4
    assert json.loads((tmp_path / "c.json").read_text())["models"] == ["tqre", "poisson-ch", "qre", "uniform"]
    with pytest.raises(lk.UsageError, match="end it with"):
        result.save(tmp_path / "c.docx")
    for kind in ("gain", "frequencies"):
        result.plot(kind).savefig(tmp_path / f"{kind}.png")
    with pytest.raises(lk.UsageError, match="no plot"):
        result.plot("pie")


def test_leave_one_out_is_the_evidence_lost(data):
    """log p(choice | the others) is the difference of two marginal likelihoods, which quadrature gives exactly."""
    game, rows = lk.game("rpc_sw3"), np.array([[2, 9, 7, 0, 0, 0], [3, 3, 8, 0, 0, 0]], float)

    def cells(counts):
        frame = pd.DataFrame({"game": game.name, "who": ["a", "b"]})
        return lk.Choices.from_counts(frame, counts, {game.name: game})

    model, choices = lk.PoissonCH(), cells(rows)
    told = lk.compare(choices, [model, lk.LogitQRE(), lk.Uniform()], "who", loo=True)
    evidence = lk.posterior(choices, model, by="who").evidence()["evidence"]
    frame = told.frame().set_index(["model", "who"])
    for u, who in enumerate("ab"):
        each = []
        for action in range(3):
            less = rows.copy()
            less[u, action] -= 1
            without = lk.posterior(cells(less), model, by="who").evidence()["evidence"]
            each += [evidence[u] - without[u]] * int(rows[u, action])
        row = frame.loc[("poisson-ch", who)]
        assert row["loo"] == pytest.approx(sum(each), abs=0.05)
        assert row["loo_se"] == pytest.approx(np.std(each, ddof=1) * np.sqrt(len(each)), abs=0.02)
        assert row["loo"] < row["loglik"]
        assert frame.loc[("uniform", who), "loo"] == pytest.approx(frame.loc[("uniform", who), "loglik"], abs=1e-9)
        best = frame["loo"].xs(who, level="who").idxmax()
        assert told.chosen("loo").iloc[u] == best
    assert frame["unreliable"].sum() == 0
    assert "LOO" in told.summary()
    assert ")!" not in told.summary()


def test_leave_one_out_says_when_it_cannot_be_trusted():
    """One odd choice that the model all but forbids decides the posterior: reweighting cannot leave it out."""
    game = lk.game("rpc_sw3")
    counts = np.array([[1, 20, 0, 0, 0, 0]], float)
    choices = lk.Choices.from_counts(pd.DataFrame({"game": [game.name]}), counts, {game.name: game})
    told = lk.compare(choices, [lk.LogitQRE(), lk.Uniform()], loo=True)
    row = told.frame().set_index("model").loc["qre"]
    assert (row["unreliable"], row["pareto_k"] > 0.7) == (1, True)
    assert f"{row['loo']:.2f} ({row['loo_se']:.2f})!" in told.summary()
    assert "choices with Pareto k above 0.7: qre 1" in told.summary()


def test_command_line(data, tmp_path, capsys):
    data.frame().to_csv(tmp_path / "c.csv", index=False)
    code = main(["compare", str(tmp_path / "c.csv"), "--models", "poisson-ch,qre", "--holdout", "game"])
    out = capsys.readouterr().out
    assert code == 0
    assert "Vuong" in out
    assert "=> " in out
    assert main(["compare", str(tmp_path / "c.csv"), "--models", "qre"]) == 2
    assert main(["compare", str(tmp_path / "c.csv"), "--models", "qre,nonsense"]) == 2
    assert main(["compare", str(tmp_path / "none.csv")]) != 0
    assert main(["compare", str(tmp_path / "c.csv"), "--models", "qre,uniform", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["by"] == []
    assert main(["compare", str(tmp_path / "c.csv"), "--models", "poisson-ch,uniform", "--loo"]) == 0
    assert "LOO (s.e.)" in capsys.readouterr().out


def test_noisy_introspection_limits():
    game = lk.game("rpc_sw1")
    model = lk.NoisyIntrospection()
    one = model.predict(game, lam=0.1, t=np.inf)["player 1"]
    payoffs = game.payoffs[0].mean(axis=1)
    want = np.exp(0.1 * payoffs - (0.1 * payoffs).max())
    assert one == pytest.approx(want / want.sum(), abs=1e-12)
    near = lk.NoisyIntrospection(steps=400).predict(game, lam=0.1, t=1.02)["player 1"]
    qre = lk.LogitQRE().predict(game, lam=0.1)["player 1"]
    assert near == pytest.approx(qre, abs=0.02)


def test_heterogeneous_qre_is_a_fixed_point_and_nests_qre():
    game = lk.game("rpc_unp")
    qre = lk.LogitQRE().predict(game, lam=0.08)["player 1"]
    none = lk.HeterogeneousQRE(spread="uniform").predict(game, lam=0.08, spread=0.0)["player 1"]
    assert none == pytest.approx(qre, abs=1e-9)
    tau, gamma = 1.7, 0.05
    p = lk.HeterogeneousQRE(levels=10).predict(game, tau=tau, gamma=gamma)["player 1"]
    shares = np.array([tau**k / np.prod(np.arange(1.0, k + 1)) for k in range(11)])
    shares /= shares.sum()
    u = game.payoffs[0] @ p
    mix = sum(
        f * np.exp(gamma * k * (u - u.max())) / np.exp(gamma * k * (u - u.max())).sum() for k, f in enumerate(shares)
    )
    assert p == pytest.approx(mix, abs=1e-12)


def test_nash_with_trembles_takes_the_best_equilibrium():
    game = lk.Game.bimatrix("bos", [[3, 0], [0, 2]], [[2, 0], [0, 3]])
    cells = pd.DataFrame({"game": ["bos"]})
    data = lk.Choices.from_counts(cells, np.array([[3.0, 37.0, 2.0, 38.0]]), {"bos": game})
    fits = lk.fit(data, lk.NashTremble())
    row = fits.frame().iloc[0]
    assert row["estimate"] == pytest.approx(2 * 5 / 80, abs=1e-4)
    predicted = fits.predict()
    assert predicted["predicted"].to_numpy()[1] == pytest.approx(75 / 80, abs=1e-4)


PRINTED = {
    "unp": (0.06, 75.97), "cmp": (0.12, 71.72), "cshl": (0.15, 46.74), "cshh": (0.18, 41.88), "sw1": (0.13, 41.51),
    "sw2": (0.13, 46.75), "sw3": (0.07, 73.94), "sw5": (0.14, 80.5), "sw6": (0.05, 80.86), "sw7": (np.inf, 73.73),
    "sw8": (0.98, 73.25), "sw9": (0.08, 66.56), "sw10": (0.42, 73.17), "sw11": (0.17, 74.55), "sw12": (0.03, 72.94),
    "cjok": (0.16, 83.62),
}  # fmt: skip


@pytest.fixture(scope="module")
def seventeen_games():
    return rpc2009.run()


@pytest.mark.slow
def test_rpc2009_reproduced(seventeen_games):
    assert not len(seventeen_games.unexplained), seventeen_games.unexplained.to_string()
    table = seventeen_games.table.set_index(["game", "model", "parameter"])
    assert table.loc[("pooled", "tqre", "tau"), "estimate"] == pytest.approx(1.542, abs=0.003)
    assert table.loc[("pooled", "hqre", "lam"), "negloglik"] == pytest.approx(1182.95, abs=0.005)
    assert table.loc[("pooled", "hqre", "lam"), "estimate"] == pytest.approx(0.1248, abs=1e-3)
    assert table.loc[("pooled", "hqre", "spread"), "estimate"] == pytest.approx(1.0, abs=1e-3)


@pytest.mark.slow
def test_qre_of_rogers_palfrey_and_camerer(seventeen_games):
    own = seventeen_games.table.query("model == 'qre'").set_index("game")
    for name, (lam, minus) in PRINTED.items():
        row = own.loc[f"rpc_{name}"]
        assert row["estimate"] == pytest.approx(lam, abs=0.0051)
        assert row["negloglik"] == pytest.approx(minus, abs=0.01)
    assert own.loc["rpc_sw4", "status"] == "boundary"  # printed 56.40; the limit itself reaches 56.373
    assert own.loc["pooled", "estimate"] == pytest.approx(0.105, abs=0.001)
    assert own.loc["pooled", "negloglik"] == pytest.approx(1192.15, abs=0.01)
