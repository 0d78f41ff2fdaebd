"""Posteriors against closed forms, brute force, one another, and simulation."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import special, stats

import levelkit as lk
from levelkit.inference import arvizdata, collapsed, exact, hierarchy, priors, sampling
from levelkit.inference.likelihood import Likelihood, distinct, group
from levelkit.inference.pointwise import Observations

arviz = arvizdata.arviz
TQRE = lk.TQRE()


def cells(counts: dict[str, list[list[float]]], game: str) -> lk.Choices:
    """Cells of one library game by a column "who", each with its counts."""
    frame = pd.DataFrame({"who": list(counts), "game": game})
    table = np.array([np.concatenate(c) for c in counts.values()], float)
    return lk.Choices.from_counts(frame, table, {game: lk.game(game)})


@pytest.fixture(scope="module")
def two() -> lk.Posterior:
    made = cells({"a": [[9, 15, 6], [4, 8, 18]], "b": [[20, 5, 5], [3, 7, 20]]}, "competitive_base")
    return lk.posterior(made, TQRE, by="who", scale="range", draws=500, tolerance=1e-6)


class TestPriors:
    @pytest.mark.parametrize(
        ("text", "words"),
        [
            ("lognormal 0.4", "write lognormal(0.4, 0.7)"),
            ("normal(0, 1)", "no prior family 'normal'"),
            ("lognormal(a, b)", "no numbers"),
            ("lognormal(1)", "takes mu, sigma; 1 numbers"),
            ("gamma(-1, 2)", "must be positive"),
            ("uniform(3, 2)", "low must be less than high"),
            ("uniform(-1, 2)", "reaches from -1 to 2"),
            ("lognormal(inf, 1)", "must be finite"),
            ("", "no family"),
        ],
    )
    def test_bad_priors_say_what_is_wrong(self, text, words):
        with pytest.raises(lk.UsageError, match=words.replace("(", r"\(").replace(")", r"\)")):
            priors.chosen(TQRE, {"tau": text})

    def test_an_unknown_parameter_is_named(self):
        with pytest.raises(lk.UsageError, match=r"'lam'; the parameters .* are tau, gamma"):
            priors.chosen(TQRE, {"lam": "gamma(2, 1)"})

    @pytest.mark.parametrize("text", ["lognormal(0.4, 0.7)", "gamma(2, 3)", "halfnormal(2)", "exponential(1)",
                                      "uniform(0, 5)", "beta(2, 3)"])  # fmt: skip
    def test_densities_integrate_to_one_in_their_coordinate(self, text):
        prior = priors.parse(text)
        assert priors.parse(str(prior)) == prior
        z = np.linspace(*priors.reach(prior), 40001)
        assert np.trapezoid(np.exp(priors.log_density(prior, z)), z) == pytest.approx(1.0, abs=1e-9)
        value = priors.natural(prior, z[10000:30000:1000])
        assert priors.coordinate(prior, value) == pytest.approx(z[10000:30000:1000], abs=1e-3)


class TestExact:
    def test_evidence_has_its_closed_form_for_trembles(self):
        # prisoner's dilemma: a share eps / 2 does not defect, so that the evidence is an incomplete beta function
        made = cells({"a": [[3, 27], [0, 0]]}, "prisoners_dilemma_base")
        post = lk.posterior(made, lk.NashTremble(), prior={"eps": "uniform(0, 1)"}, tolerance=1e-9)
        k, n = 3, 30
        want = 2 * special.beta(k + 1, n - k + 1) * special.betainc(k + 1, n - k + 1, 0.5)
        assert post.evidence()["evidence"].item() == pytest.approx(np.log(want), abs=1e-7)
        mean = 4 * special.beta(k + 2, n - k + 1) * special.betainc(k + 2, n - k + 1, 0.5) / want
        assert post.frame()["mean"].item() == pytest.approx(mean, rel=1e-7)

    def test_a_fine_grid_gives_the_same(self, two):
        made = cells({"a": [[9, 15, 6], [4, 8, 18]]}, "competitive_base")
        bound = exact.Posteriors.of(Likelihood(TQRE, group(made, ["who"]), "range"), priors.chosen(TQRE, None), {})
        line = tuple(np.linspace(*priors.reach(a.prior), n) for a, n in zip(bound.axes, (2401, 1201), strict=True))
        density = bound.on_shared(np.array([0]), line)[0] + bound._prior(line)
        top = density.max()
        weight = np.exp(density - top)
        total = weight.sum()
        step = np.prod([n[1] - n[0] for n in line])
        assert two.evidence()["evidence"].iloc[0] == pytest.approx(np.log(total * step) + top, abs=1e-6)
        frame = two.frame()
        for a, axis in enumerate(bound.axes):
            value = axis.natural(line[a])
            marginal = weight.sum(axis=1 - a) / total
            mine = frame[(frame["who"] == "a") & (frame["parameter"] == axis.parameter.name)].iloc[0]
            mean = marginal @ value
            assert mine["mean"] == pytest.approx(mean, rel=1e-6)
            assert mine["sd"] == pytest.approx(np.sqrt(marginal @ value**2 - mean**2), rel=1e-4)

    def test_draws_follow_the_quantiles(self, two):
        made = cells({"a": [[9, 15, 6], [4, 8, 18]], "b": [[20, 5, 5], [3, 7, 20]]}, "competitive_base")
        few, representative = distinct(group(made, ["who"]))
        bound = exact.Posteriors.of(Likelihood(TQRE, few, "range"), priors.chosen(TQRE, None), {})
        solved = exact.solve(bound, representative, size=20000, mass=0.9, seed=3)
        for p in range(2):
            below = (solved.draws[p][:, :, None] < solved.quantiles[p][:, None, :]).mean(axis=1)
            assert below == pytest.approx(np.tile(exact.LEVELS_OF_CDF, (2, 1)), abs=0.015)
            inside = (solved.draws[p] >= solved.low[p][:, None]) & (solved.draws[p] <= solved.high[p][:, None])
            assert inside.mean(axis=1) == pytest.approx(0.9, abs=0.015)

    def test_a_likelihood_with_jumps_is_integrated(self):
        # NUTS cannot cross jumps: a histogram of a very fine grid is the judge
        made = cells({"a": [[9, 15, 6], [4, 8, 18]]}, "competitive_base")
        post = lk.posterior(made, lk.PoissonCH(), tolerance=1e-6)
        tau = np.exp(np.linspace(np.log(0.01), np.log(60), 200_001))
        weight = np.exp(
            Likelihood(lk.PoissonCH(), group(made, []), "raw").value(np.zeros(len(tau), int), tau[None]) + 60
        )
        weight *= stats.lognorm(s=0.7, scale=np.exp(0.4)).pdf(tau) * tau
        mean = (weight * tau).sum() / weight.sum()
        assert post.frame()["mean"].iloc[0] == pytest.approx(mean, rel=2e-4)

    @pytest.mark.parametrize("model", [lk.LogitQRE(), lk.QuantalCH()])
    def test_nuts_agrees(self, model):
        made = cells({"a": [[12, 10, 8], [8, 9, 13]], "b": [[14, 9, 7], [7, 10, 13]]}, "competitive_base")
        options = {"by": "who", "scale": "range", "prior": {p.name: "gamma(4, 2)" for p in model.parameters}}
        ours = lk.posterior(made, model, **options).frame()
        theirs = lk.posterior(made, model, method="nuts", draws=800, warmup=500, **options).frame()
        free = ours["parameter"] != "mean_level"
        error = theirs["sd"] / np.sqrt(theirs["ess_bulk"])
        assert (np.abs(ours["mean"] - theirs["mean"])[free] < 4 * error[free]).all()
        assert (np.abs(ours["median"] - theirs["median"])[free] < 6 * error[free]).all()

    def test_ranks_of_the_truth_are_uniform(self):
        rng = np.random.default_rng(11)
        size, n, game = 300, 20, lk.game("competitive_base")
        prior = {"tau": "lognormal(0.4, 0.5)", "gamma": "lognormal(0.5, 0.8)"}
        chosen = priors.chosen(TQRE, prior)
        truth = np.array([priors.draw(chosen[p], size, rng) for p in ("tau", "gamma")])
        counts = np.zeros((size, game.n_counts))
        for s in range(size):
            p = TQRE.predict(game, tau=truth[0, s], gamma=truth[1, s] / game.payoff_range)
            counts[s] = np.concatenate([rng.multinomial(n, np.asarray(v) / np.sum(v)) for v in p.values()])
        frame = pd.DataFrame({"set": np.arange(size), "game": game.name})
        made = lk.Choices.from_counts(frame, counts, {game.name: game})
        post = lk.posterior(made, TQRE, by="set", prior=prior, scale="range", draws=100, chains=1, tolerance=1e-2)
        for k, name in enumerate(("tau", "gamma")):
            rank = (post.draws(name) < truth[k][:, None]).sum(axis=1)
            seen = np.bincount(rank * 10 // 101, minlength=10)
            assert stats.chisquare(seen).pvalue > 0.01

    def test_nothing_seen_gives_the_prior_and_says_flat(self):
        made = cells({"a": [[0, 0, 0], [0, 0, 0]]}, "competitive_base")
        post = lk.posterior(made, TQRE)
        frame = post.frame()
        assert set(frame["status"]) == {"flat"}
        assert frame["mean"].iloc[0] == pytest.approx(stats.lognorm(s=0.7, scale=np.exp(0.4)).mean(), rel=1e-4)
        assert post.evidence()["evidence"].item() == pytest.approx(0.0, abs=1e-3)
        assert "says nothing" in post.summary() or "say nothing" in post.summary()

    def test_units_with_the_same_counts_have_draws_of_their_own(self):
        made = cells({"a": [[9, 15, 6], [4, 8, 18]], "b": [[9, 15, 6], [4, 8, 18]]}, "competitive_base")
        post = lk.posterior(made, TQRE, by="who", draws=250)
        p, error = post.probability("tau", {"who": "a"}, above={"who": "b"})
        assert p == pytest.approx(0.5, abs=4 * error)
        frame = post.frame()
        first, second = (frame[frame["who"] == w]["mean"].to_numpy()[:2] for w in "ab")
        assert (first == second).all()

    def test_huge_and_tiny_payoffs_do_not_matter_to_the_level(self):
        base = lk.game("competitive_base")
        means = []
        for factor in (1e-6, 1.0, 1e9):
            game = lk.Game.bimatrix("g", base.payoffs[0] * factor, base.payoffs[1] * factor)
            made = lk.Choices.from_counts(
                pd.DataFrame({"game": ["g"]}), np.array([[9.0, 15, 6, 4, 8, 18]]), {"g": game}
            )
            frame = lk.posterior(made, TQRE, draws=250).frame()
            means.append([frame["mean"][0], frame["mean"][1] * factor])
        assert means[0] == pytest.approx(means[1], rel=1e-9)
        assert means[2] == pytest.approx(means[1], rel=1e-9)


@pytest.fixture(scope="module")
def pooled() -> tuple[lk.Posterior, np.ndarray, lk.Choices]:
    rng = np.random.default_rng(5)
    game, size = lk.game("competitive_base"), 12
    tau = np.exp(rng.normal(np.log(3.0), 0.3, size))
    counts = [
        np.concatenate(
            [
                rng.multinomial(40, np.asarray(p) / np.sum(p))
                for p in TQRE.predict(game, tau=t, gamma=4 / game.payoff_range).values()
            ]
        )
        for t in tau
    ]
    frame = pd.DataFrame({"who": [f"m{i}" for i in range(size)], "game": game.name})
    made = lk.Choices.from_counts(frame, np.array(counts, float), {game.name: game})
    return lk.posterior(made, TQRE, pool="who", scale="range", draws=400, warmup=400, seed=2), tau, made


class TestPooling:
    def test_hat_weights_integrate_linear_interpolants(self):
        nodes = np.linspace(-3, 2, 21)
        mean, sd = np.array([-0.3, 0.7, -6.0, 1.234]), np.array([0.4, 0.05, 0.3, 1e-3])
        weight = np.asarray(collapsed.weights(nodes, mean, sd))
        assert weight.sum(axis=1) == pytest.approx(np.ones(4), abs=1e-12)
        fine = np.linspace(-12, 12, 2_000_001)
        f = np.sin(nodes) + 2
        for k in range(4):
            density = stats.norm(mean[k], sd[k]).pdf(fine)
            want = np.trapezoid(np.interp(fine, nodes, f) * density, fine)
            assert weight[k] @ f == pytest.approx(want, abs=1e-6)

    def test_the_population_is_recovered(self, pooled):
        post, _, _ = pooled
        typical = arvizdata.group(post, "posterior")["tau_typical"].to_numpy().ravel()
        assert np.quantile(typical, 0.01) < 3.0 < np.quantile(typical, 0.99)
        assert post.about["divergences"] == 0
        assert (post.frame()["rhat"] < 1.03).all()

    def test_units_shrink_towards_it(self, pooled):
        post, tau, made = pooled
        alone = lk.posterior(made, TQRE, by="who", scale="range", draws=250)
        wide, narrow = (p.frame().query("parameter == 'tau'") for p in (alone, post))
        assert narrow["mean"].std() < wide["mean"].std()
        assert np.mean((narrow["median"].to_numpy() - tau) ** 2) < np.mean((wide["median"].to_numpy() - tau) ** 2)

    def test_integrating_cells_out_agrees_with_sampling_them(self):
        # a smooth likelihood with plenty of choices, which a chain over all cells can sample as well
        made = cells(
            {w: [[24 + i, 20, 16 - i], [16, 18 + i, 26 - i]] for i, w in enumerate("abcde")}, "competitive_base"
        )
        model, chosen = lk.LogitQRE(), priors.chosen(lk.LogitQRE(), None)
        units = group(made, ["who"])
        likelihood = Likelihood(model.variants(units.games)[0], units, "range")
        structures = [hierarchy.structure(p, chosen[p.name], units.keys, [], ["who"]) for p in model.parameters]
        shares, ones = np.zeros(len(units), int), np.ones(len(units))
        full = hierarchy.in_full(model, structures, {}, Observations.of(likelihood), ones, shares, False)
        drawn, _ = sampling.sample(full, sampling.Run(600, 4, 500), "test")
        post = lk.posterior(made, model, pool="who", scale="range", draws=600, warmup=500)
        for name in ("lam_typical", "lam_sd_who"):
            ours = arvizdata.group(post, "posterior")[name].to_numpy().ravel()
            for share in (0.25, 0.5, 0.75):
                assert np.quantile(ours, share) == pytest.approx(np.quantile(drawn[name], share), rel=0.12)
        unit = post.frame()["median"].to_numpy()
        assert unit == pytest.approx(np.median(drawn["lam"], axis=(0, 1)), rel=0.06)

    def test_a_run_is_taken_up_where_it_stopped(self, pooled, tmp_path):
        _, _, made = pooled
        options = {"pool": "who", "scale": "range", "draws": 40, "warmup": 60, "chains": 2, "seed": 4}
        whole = lk.posterior(made, TQRE, **options)
        calls = []

        def interrupt(done: int, total: int) -> None:
            calls.append(done)
            if len(calls) == 1:
                raise KeyboardInterrupt

        path = tmp_path / "state"
        with pytest.raises(KeyboardInterrupt):
            lk.posterior(made, TQRE, checkpoint=path, progress=interrupt, **options)
        again = lk.posterior(made, TQRE, checkpoint=path, **options)
        assert again.draws("tau") == pytest.approx(whole.draws("tau"))
        with pytest.raises(lk.UsageError, match="belongs to another run"):
            lk.posterior(made, TQRE, checkpoint=path, **{**options, "seed": 5})
        path.write_text("no state")
        with pytest.raises(lk.UsageError, match="no checkpoint"):
            lk.posterior(made, TQRE, checkpoint=path, **options)

    def test_one_cell_groups_and_effects_in_one_model(self):
        made = cells({"a": [[9, 15, 6], [4, 8, 18]]}, "competitive_base")
        post = lk.posterior(made, TQRE, pool="who", draws=50, warmup=50, chains=2)
        assert len(post.frame()) == 3
        keys = pd.DataFrame({"model": ["a", "a", "b", "b"], "game": ["x", "y", "x", "y"]})
        s = hierarchy.structure(TQRE.parameters[0], TQRE.parameters[0].prior, keys, ["model", "game"], ["model"])
        assert (s.groups, s.deviation, [e.name for e in s.effects]) == (("x", "y"), "cell", ["model"])

    @pytest.mark.parametrize(
        ("options", "words"),
        [
            ({"pool": "nothing"}, "no column of the choices"),
            ({"pool": {"lam": "who"}}, "pool names 'lam'"),
            ({"pool": "who", "method": "exact"}, "without pooling"),
            ({"fixed": {"tau": 1.0, "gamma": 1.0}}, "nothing to estimate"),
            ({"method": "mcmc"}, "choose auto, exact or nuts"),
            ({"pool": {"tau": "who"}, "fixed": {"tau": 1.0}}, "both fixed and pooled"),
            ({"draws": 0}, "whole number"),
            ({"interval": 95}, "probability between 0 and 1"),
            ({"scale": "x"}, "raw or range"),
        ],
    )
    def test_bad_calls(self, options, words):
        made = cells({"a": [[9, 15, 6], [4, 8, 18]]}, "competitive_base")
        with pytest.raises(lk.UsageError, match=words):
            lk.posterior(made, TQRE, **options)


class TestCovariates:
    def test_slopes_are_recovered(self):
        rng = np.random.default_rng(8)
        game, size = lk.game("competitive_base"), 40
        age, old = rng.uniform(20, 70, size).round(), rng.integers(0, 2, size)
        tau = np.exp(0.8 + 0.02 * (age - age.mean()) - 0.6 * old)
        counts = [
            np.concatenate(
                [
                    rng.multinomial(60, np.asarray(p) / np.sum(p))
                    for p in TQRE.predict(game, tau=t, gamma=4 / game.payoff_range).values()
                ]
            )
            for t in tau
        ]
        frame = pd.DataFrame({"who": [f"p{i}" for i in range(size)], "age": age, "old": old, "game": game.name})
        made = lk.Choices.from_counts(frame, np.array(counts, float), {game.name: game})
        post = lk.posterior(
            made,
            TQRE,
            by="who",
            covariates={"tau": "age + old"},
            fixed={"gamma": 4 / game.payoff_range},
            draws=400,
            warmup=400,
        )
        slopes = post.effects().query("variable == 'tau_beta'").set_index("value")
        for name, truth in (("age", 0.02), ("old", -0.6)):
            assert abs(slopes.loc[name, "mean"] - truth) < 3 * slopes.loc[name, "sd"]
            assert slopes.loc[name, "sd"] < 0.3 * abs(truth) + 0.1
        assert "Covariates: tau by age + old" in post.summary()
        assert "tau_beta" in post.summary()

    @pytest.mark.parametrize(
        ("formulas", "words"),
        [
            ({"lam": "x"}, "covariates name 'lam'"),
            ({"tau": "height"}, "'height' is not defined"),
            ({"tau": "1"}, "no column that differs"),
            ({"tau": "x + y"}, "combinations of others"),
            ({"tau": "x +"}, "covariates 'x \\+'"),
        ],
    )
    def test_bad_formulas(self, formulas, words):
        game = lk.game("competitive_base")
        frame = pd.DataFrame({"x": [1, 2, 3], "y": [2, 4, 6], "game": game.name})
        made = lk.Choices.from_counts(frame, np.ones((3, 6)), {game.name: game})
        with pytest.raises(lk.UsageError, match=words):
            lk.posterior(made, TQRE, by=["x", "y"], covariates=formulas)


class TestPriorPredictive:
    def test_probabilities_are_the_models(self):
        game = lk.game("competitive_base")
        made = lk.prior_predictive(TQRE, game, draws=50, seed=3)
        row = made.params.iloc[7]
        want = TQRE.predict(game, tau=row["tau"], gamma=row["gamma"] / game.payoff_range)
        assert made.probabilities[game.name][7] == pytest.approx(np.concatenate(list(want.values())), abs=1e-12)
        assert made.counts[game.name].sum(axis=1).tolist() == [60] * 50
        tau = lk.prior_predictive(TQRE, game, draws=20_000).params["tau"]
        assert np.log(tau).mean() == pytest.approx(0.4, abs=0.02)

    def test_shares_fixed_values_and_the_figure(self, tmp_path):
        games = [lk.game("competitive_base"), lk.game("stag_hunt_base")]
        made = lk.prior_predictive(lk.QuantalLevelK(levels=2), games, fixed={"lam": 2.0}, draws=40)
        assert (made.params["lam"] == 2.0).all()
        assert made.params.filter(like="share").sum(axis=1).to_numpy() == pytest.approx(np.ones(40))
        assert len(made.frame()) == 6 + 4
        made.plot().savefig(tmp_path / "x.png")
        with pytest.raises(lk.UsageError, match="positive whole numbers"):
            lk.prior_predictive(TQRE, games, draws=0)


def test_more_parameters_are_sampled():
    made = cells({"a": [[9, 15, 6], [4, 8, 18]]}, "competitive_base")
    post = lk.posterior(made, lk.QuantalLevelK(levels=2), draws=100, warmup=150, chains=2)
    frame = post.frame()
    shares = frame[frame["parameter"].str.startswith("share")]
    assert shares["mean"].sum() == pytest.approx(1.0)


class TestOverdispersion:
    made = cells({"a": [[9, 15, 6], [4, 8, 18]]}, "competitive_base")
    observations = Observations.of(Likelihood(TQRE, group(made, []), "raw"))
    p = np.array([[0.2, 0.5, 0.3, 0.1, 0.3, 0.6], [0.4, 0.3, 0.3, 0.2, 0.2, 0.6]])

    def test_the_likelihood_is_dirichlet_multinomial(self):
        rho = np.array([0.05, 0.3])
        ours = self.observations.loglik(self.p, rho)
        for d in range(2):
            for o, (n, where) in enumerate((([9, 15, 6], slice(0, 3)), ([4, 8, 18], slice(3, 6)))):
                weight = self.p[d, where] * (1 - rho[d]) / rho[d]
                orders = special.gammaln(31) - special.gammaln(np.array(n) + 1).sum()
                want = stats.dirichlet_multinomial(weight, 30).logpmf(n) - orders
                assert ours[d, o] == pytest.approx(want, abs=1e-9)

    def test_little_correlation_is_independence(self):
        loose = self.observations.loglik(self.p, np.full(2, 1e-6))
        assert loose == pytest.approx(self.observations.loglik(self.p), abs=2e-3)

    def test_replicates_spread_as_they_should(self):
        rho, rng = 0.2, np.random.default_rng(1)
        drawn = self.observations.replicate(np.repeat(self.p[:1], 20_000, axis=0), rng, np.full(20_000, rho))
        p = self.p[0]
        assert drawn[:, :3].sum(axis=1) == pytest.approx(np.full(20_000, 30))
        assert drawn.mean(axis=0) == pytest.approx(30 * p, rel=0.03)
        assert drawn.var(axis=0) == pytest.approx(30 * p * (1 - p) * (1 + 29 * rho), rel=0.05)

    def test_a_sampled_posterior_carries_it(self):
        post = lk.posterior(self.made, TQRE, overdispersion=True, scale="range", draws=100, warmup=150, chains=2)
        rho = arvizdata.group(post, "posterior")["rho"].to_numpy()
        assert ((rho > 0) & (rho < 1)).all()
        kept = arvizdata.group(post, "log_likelihood")["choices"].to_numpy()
        draws = np.stack([post.draws(name) for name in ("tau", "gamma")])
        range_scaled = Observations.of(Likelihood(TQRE, group(self.made, []), "range"))
        p = range_scaled.probabilities(draws)
        assert kept.reshape(200, 2) == pytest.approx(range_scaled.loglik(p, rho.ravel()), abs=1e-8)
        assert np.abs(kept.reshape(200, 2) - range_scaled.loglik(p)).max() > 0.1


def test_arviz_takes_it_as_it_is(two, tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert len(arviz.summary(two)) == 6
        loo = arviz.loo(two)
        assert np.isfinite(float(loo["elpd_loo"] if arvizdata.OLD else loo.elpd))
        both = arviz.compare({"a": two, "b": two})
        assert len(both) == 2
    path = two.save(tmp_path / "post.nc")
    again = lk.read_posterior(path)
    pd.testing.assert_frame_equal(again.frame(), two.frame())
    assert again.summary() == two.summary()
    assert two.loo().k.shape == (4,)


def test_reading_what_is_no_posterior(tmp_path):
    with pytest.raises(lk.DataError, match="no such file"):
        lk.read_posterior(tmp_path / "none.nc")
    (tmp_path / "bad.nc").write_text("text")
    with pytest.raises(lk.DataError, match="not a netCDF file"):
        lk.read_posterior(tmp_path / "bad.nc")
    with pytest.raises(lk.UsageError, match=r"end the name with \.nc"):
        lk.posterior(cells({"a": [[1, 2, 3], [1, 2, 3]]}, "competitive_base"), TQRE, draws=10).save("x.csv")


def test_questions(two):
    p, error = two.probability("tau", {"who": "b"}, above={"who": "a"})
    assert 0 < p < 1
    assert error < 0.02
    ranks = two.ranks("tau")
    assert ranks["p_highest"].sum() == pytest.approx(1.0)
    assert ranks["rank_mean"].sum() == pytest.approx(3.0)
    with pytest.raises(lk.UsageError, match="no parameter here"):
        two.draws("lam")
    with pytest.raises(lk.UsageError, match="0 units match"):
        two.probability("tau", {"who": "c"}, above=1.0)


@pytest.mark.parametrize("kind", ["forest", "marginals", "pairs", "ranks", "predictive"])
def test_plots(two, kind, tmp_path):
    two.plot(kind).savefig(tmp_path / "x.png")
    with pytest.raises(lk.UsageError, match="choose from forest"):
        two.plot("other")


def test_the_command_line(tmp_path, capsys):
    from levelkit.cli import main

    rows = "who,game,player,action,count\n" + "".join(
        f"{w},competitive_base,{p},{a},{n}\n"
        for w, table in {"a": [[9, 15, 6], [4, 8, 18]], "b": [[20, 5, 5], [3, 7, 20]]}.items()
        for p, counts in enumerate(table, start=1)
        for a, n in enumerate(counts)
    )
    path = tmp_path / "c.csv"
    path.write_text(rows)
    code = main(["posterior", str(path), "--by", "who", "--prior", "tau=lognormal(0.4, 0.7)", "--draws", "100",
                 "--ranks", "tau", "--out", str(tmp_path / "p.nc"), "--out", str(tmp_path / "p.csv")])  # fmt: skip
    out = capsys.readouterr().out
    assert code == 0
    assert "by quadrature (exact)" in out
    assert "Ranks by tau" in out
    assert len(lk.read_posterior(tmp_path / "p.nc").frame()) == len(pd.read_csv(tmp_path / "p.csv")) == 6
    assert main(["posterior", str(path), "--prior", "tau=normal(0,1)"]) == 2
    assert "no prior family" in capsys.readouterr().err
    assert main(["posterior", str(path), "--pool", "who", "--pool", "tau=who"]) == 2
