"""Parameters shared across games, and free shares of levels, against optimisation written here."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize, minimize_scalar

import levelkit as lk
import reference as ref

NAMES = ("competitive_base", "competitive_high_stake")
GAMES = {name: lk.game(name) for name in NAMES}


def simulate(truth: dict[str, tuple[float, dict[str, float]]], n: int, seed: int) -> lk.Choices:
    rng = np.random.default_rng(seed)
    cells, counts = [], []
    for model, (tau, gammas) in truth.items():
        for name in NAMES:
            cells.append({"model": model, "game": name})
            play = ref.tqre(GAMES[name], tau, gammas[name])
            counts.append(np.concatenate([rng.multinomial(n, p[:, 0]) for p in play]))
    return lk.Choices.from_counts(pd.DataFrame(cells), np.array(counts, float), GAMES)


DATA = simulate(
    {"x": (1.5, dict(zip(NAMES, (0.3, 0.1), strict=True))), "y": (2.2, dict(zip(NAMES, (0.15, 0.12), strict=True)))},
    400,
    11,
)


@pytest.fixture(scope="module")
def shared():
    return lk.fit(DATA, lk.TQRE(), by="model", vary={"gamma": "game"})


def best_given_tau(part: lk.Choices, tau: float) -> tuple[float, list[float]]:
    """Every game's own gamma, maximised alone with tau held: log-likelihood and gammas."""
    total, found = 0.0, []
    for name in NAMES:
        one = part.filter(game=name)
        logs = np.linspace(np.log(0.005), np.log(20), 120)
        start = logs[ref.loglik(one, lambda g, x=logs: ref.tqre(g, np.full(120, tau), np.exp(x))).argmax()]
        best = minimize_scalar(
            lambda x, o=one: -ref.loglik(o, lambda g: ref.tqre(g, tau, np.exp(x)))[0],
            bounds=(start - 0.1, start + 0.1),
            method="bounded",
            options={"xatol": 1e-10},
        )
        total, found = total - best.fun, [*found, float(np.exp(best.x))]
    return total, found


def test_one_tau_and_a_gamma_per_game(shared):
    frame = shared.frame()
    assert list(frame.columns[:3]) == ["model", "game", "parameter"]
    assert len(frame) == 2 * 3
    assert shared.stats()["free"].tolist() == [3, 3]
    for model in ("x", "y"):
        part = DATA.filter(model=model)
        mine = frame[frame["model"] == model]
        taus = np.linspace(0.6, 6, 46)
        start = taus[np.argmax([best_given_tau(part, t)[0] for t in taus])]
        best = minimize_scalar(
            lambda t, p=part: -best_given_tau(p, t)[0],
            bounds=(start - 0.12, start + 0.12),
            method="bounded",
            options={"xatol": 1e-7},
        )
        assert mine["loglik"].iloc[0] == pytest.approx(-best.fun, abs=1e-6)
        row = mine[mine["parameter"] == "tau"].iloc[0]
        assert pd.isna(row["game"])
        assert row["estimate"] == pytest.approx(best.x, rel=1e-3)
        gammas = mine[mine["parameter"] == "gamma"].set_index("game")["estimate"]
        np.testing.assert_allclose(gammas[list(NAMES)], best_given_tau(part, best.x)[1], rtol=1e-3)
        # the profile of tau falls by half a chi-squared quantile at the ends of its interval
        for end in (row["low"], row["high"]):
            assert best_given_tau(part, end)[0] == pytest.approx(-best.fun - 1.920729, abs=2e-3)


def test_shared_parameters_have_the_errors_of_the_joint_hessian(shared):
    part = DATA.filter(model="x")
    frame = shared.frame().query("model == 'x'")
    at = frame["estimate"].to_numpy(float)
    gamma_of = dict(zip(frame["game"][1:], range(1, 3), strict=True))

    def value(x: np.ndarray) -> float:
        return ref.loglik(part, lambda g: ref.tqre(g, x[0], x[gamma_of[g.name]]))[0]

    step = at * 2e-4
    hessian = np.empty((3, 3))
    for i in range(3):
        for j in range(3):
            e, f = np.eye(3)[i] * step, np.eye(3)[j] * step
            hessian[i, j] = (value(at + e + f) - value(at + e - f) - value(at - e + f) + value(at - e - f)) / (
                4 * step[i] * step[j]
            )
    assert frame["parameter"].tolist()[0] == "tau"
    np.testing.assert_allclose(frame["se"], np.sqrt(np.diag(np.linalg.inv(-hessian))), rtol=1e-3)


def test_predictions_use_each_game_s_gamma(shared):
    frame, estimates = shared.predict(), shared.frame().query("model == 'y'")
    tau = estimates.query("parameter == 'tau'")["estimate"].iloc[0]
    for name in NAMES:
        gamma = estimates[estimates["game"] == name]["estimate"].iloc[0]
        mine = frame[(frame["model"] == "y") & (frame["game"] == name)]["predicted"]
        np.testing.assert_allclose(mine, np.concatenate(ref.tqre(GAMES[name], tau, gamma))[:, 0], atol=1e-9)


def test_nothing_shared_is_the_same_as_by():
    part = DATA.filter(model="x")
    joint = lk.fit(part, lk.TQRE(), vary={"tau": "game", "gamma": "game"}).frame()
    apart = lk.fit(part, lk.TQRE(), by="game", sensitivity=False).frame()
    assert joint["loglik"].iloc[0] == pytest.approx(apart.groupby("game")["loglik"].first().sum(), abs=1e-6)
    for name in NAMES:
        one, two = (f[f["game"] == name].sort_values("parameter") for f in (joint, apart))
        np.testing.assert_allclose(
            one[["estimate", "se"]].to_numpy(float), two[["estimate", "se"]].to_numpy(float), rtol=1e-3
        )
        if set(two["status"]) == {"ok"}:
            np.testing.assert_allclose(
                one[["low", "high"]].to_numpy(float), two[["low", "high"]].to_numpy(float), rtol=5e-3
            )


def test_columns_already_in_by_vary_anyway():
    same = lk.fit(DATA, lk.TQRE(), by=["model", "game"], vary={"gamma": "game"}, intervals=False)
    plain = lk.fit(DATA, lk.TQRE(), by=["model", "game"], intervals=False)
    pd.testing.assert_frame_equal(same.frame(), plain.frame())


def test_the_other_optimizer_agrees(shared):
    part = DATA.filter(model="x")
    other = lk.fit(part, lk.TQRE(), vary={"gamma": "game"}, intervals=False, optimizer="jaxopt").frame()
    mine = shared.frame().query("model == 'x'")
    assert other["loglik"].iloc[0] == pytest.approx(mine["loglik"].iloc[0], abs=1e-5)
    np.testing.assert_allclose(other["estimate"].to_numpy(float), mine["estimate"].to_numpy(float), rtol=2e-3)


def test_spike_poisson_has_three_parameters():
    fits = lk.fit(DATA.filter(model="y"), lk.TQRE(population="spike-poisson"), intervals=False)
    frame = fits.frame().set_index("parameter")
    assert list(frame.index) == ["tau", "gamma", "spike"]
    at = frame["estimate"]
    play = lambda g, t, c, s: ref.mixture(g, ref.spiked(t, s, 10), lambda k: c * k)  # noqa: E731
    part = DATA.filter(model="y")
    if at.notna().all():
        reached = ref.loglik(part, lambda g: play(g, at["tau"], at["gamma"], at["spike"]))[0]
        assert reached == pytest.approx(frame["loglik"].iloc[0], abs=1e-6)
    starts = [(1.0, 0.1, 0.1), (2.5, 0.15, 0.05), (4.0, 0.1, 0.4)]
    best = max(
        -minimize(
            lambda x: -ref.loglik(part, lambda g: play(g, x[0], x[1], x[2]))[0],
            s,
            bounds=[(0.01, 10), (0.001, 20), (0, 0.99)],
            method="L-BFGS-B",
        ).fun
        for s in starts
    )
    assert frame["loglik"].iloc[0] >= best - 1e-5


# free shares


def share_data(seed: int = 2) -> tuple[lk.Choices, list[np.ndarray]]:
    """Counts in 11-20 by a known mixture of levels 0..3 with trembles; and each level's play."""
    game = lk.game("eleven_twenty_basic")
    level = [p[0][:, 0] for p in ref.levels_of(game, np.ones((4, 1)) / 4, None, "step")]
    truth = np.array([0.15, 0.4, 0.3, 0.15])
    play = 0.15 * level[0] + sum(truth[k] * (0.9 * level[k] + 0.1 / 10) for k in range(1, 4))
    counts = np.random.default_rng(seed).multinomial(500, play).astype(float)
    return ref.cell(game, counts, np.zeros(10)), level


def test_shares_against_em():
    data, level = share_data()
    counts = data.counts_for(0)[0]
    shown = np.stack([level[0], *(0.9 * s + 0.01 for s in level[1:])])
    shares = np.full(4, 0.25)
    for _ in range(20_000):  # concave in the shares: EM climbs to the top
        weight = shares[:, None] * shown
        shares = (counts * weight / weight.sum(axis=0)).sum(axis=1) / counts.sum()
    best = counts @ np.log(shares @ shown)
    fits = lk.fit(data, lk.LevelK(), fixed={"eps": 0.1})
    frame = fits.frame().set_index("parameter")
    assert frame["loglik"].iloc[0] == pytest.approx(best, abs=1e-6)
    np.testing.assert_allclose(frame["estimate"], shares, atol=1e-4)
    assert frame["estimate"].sum() == pytest.approx(1, abs=1e-9)
    assert set(frame["status"]) == {"ok"}
    assert fits.stats()["free"][0] == 3
    # errors of the shares: information of the multinomial mixture on the simplex
    basis = np.linalg.svd(np.ones((1, 4)))[2][1:].T
    information = (shown * counts / (shares @ shown) ** 2) @ shown.T
    covariance = basis @ np.linalg.inv(basis.T @ information @ basis) @ basis.T
    np.testing.assert_allclose(frame["se"], np.sqrt(np.diag(covariance)), rtol=1e-3)
    assert fits.stats()["mean_level"][0] == pytest.approx(shares @ np.arange(4), abs=1e-3)


def test_profile_of_a_share():
    data, level = share_data()
    counts = data.counts_for(0)[0]
    shown = np.stack([level[0], *(0.9 * s + 0.01 for s in level[1:])])
    frame = lk.fit(data, lk.LevelK(), fixed={"eps": 0.1}).frame().set_index("parameter")
    for k in range(4):
        for end in (frame.loc[f"share_{k}", "low"], frame.loc[f"share_{k}", "high"]):
            others = [j for j in range(4) if j != k]
            rest = np.full(3, 1 / 3)
            for _ in range(5000):
                play = end * shown[k] + (1 - end) * (rest @ shown[others])
                weight = (1 - end) * rest[:, None] * shown[others]
                rest = (counts * weight / play).sum(axis=1)
                rest = rest / rest.sum()
            value = counts @ np.log(end * shown[k] + (1 - end) * (rest @ shown[others]))
            assert value == pytest.approx(frame["loglik"].iloc[0] - 1.920729, abs=5e-3)


def test_level_k_with_free_trembles_is_not_identified():
    """Level 0 is uniform and so is a tremble: shares and eps trade off, whatever the data."""
    data, level = share_data()
    first = np.array([0.15, 0.4, 0.3, 0.15])
    # the same choice probabilities from another share of level 0 and another tremble rate
    eps = 0.05
    second = np.concatenate([[1 - 0.85 * 0.9 / 0.95], first[1:] * 0.9 / 0.95])
    one, two = (
        s[0] * level[0] + sum(s[k] * ((1 - e) * level[k] + e / 10) for k in range(1, 4))
        for s, e in ((first, 0.1), (second, eps))
    )
    np.testing.assert_allclose(one, two, atol=1e-12)
    fits = lk.fit(data, lk.LevelK())
    frame = fits.frame().set_index("parameter")
    assert frame.loc["eps", "status"] == "flat"
    assert frame.loc["share_0", "status"] == "flat"
    assert np.isnan(frame.loc["eps", "estimate"])
    assert "not identified" in fits.stats()["note"][0]
    assert not lk.identification(lk.game("eleven_twenty_basic"), lk.LevelK()).identified


def test_quantal_level_k_against_slsqp():
    game = lk.game("competitive_base")
    rng = np.random.default_rng(8)
    model = lk.QuantalLevelK(levels=2)
    truth = np.array([0.3, 0.4, 0.3])
    play = ref.mixture(game, truth[:, None], lambda k: 0.4, "step")
    data = ref.cell(game, *(rng.multinomial(3000, p[:, 0]) for p in play))
    counts = np.concatenate(data.counts_for(0))

    def minus(x: np.ndarray) -> float:
        return -float(counts @ ref.log_table(ref.mixture(game, x[:3, None], lambda k: np.exp(x[3]), "step"))[:, 0])

    found = [
        minimize(
            minus,
            [*s, np.log(lam)],
            bounds=[(1e-9, 1)] * 3 + [(-5, 4)],
            constraints={"type": "eq", "fun": lambda x: x[:3].sum() - 1},
            method="SLSQP",
            options={"ftol": 1e-13, "maxiter": 500},
        )
        for s in ([1 / 3] * 3, [0.6, 0.2, 0.2], [0.1, 0.1, 0.8], [0.1, 0.8, 0.1])
        for lam in (0.1, 0.5, 2.0)
    ]
    best = min(found, key=lambda r: r.fun)
    fits = lk.fit(data, model)
    frame = fits.frame().set_index("parameter")
    assert frame["loglik"].iloc[0] >= -best.fun - 1e-5
    if frame["loglik"].iloc[0] < -best.fun + 1e-4:
        np.testing.assert_allclose(frame["estimate"][:3], best.x[:3], atol=5e-3)
        assert frame.loc["lam", "estimate"] == pytest.approx(np.exp(best.x[3]), rel=1e-2)
    at = frame["estimate"]
    reached = ref.mixture(game, at.to_numpy()[:3, None], lambda k: at["lam"], "step")
    assert counts @ ref.log_table(reached)[:, 0] == pytest.approx(frame["loglik"].iloc[0], abs=1e-6)
