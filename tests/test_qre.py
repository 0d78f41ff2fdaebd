"""Logit QRE: against values of independent code, theory, and a branch followed by another method."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.integrate import solve_ivp
from scipy.optimize import fsolve

import levelkit as lk
from levelkit.models import branches

SHAPES = ((2, 2), (3, 3), (2, 4), (5, 5), (2, 2, 2), (3, 3, 3))
FIXTURES = Path(__file__).parent / "fixtures"
LAMS = (0.1, 0.5, 1.0, 2.0, 5.0, 10.0)


def one_cell(game: lk.Game, counts) -> lk.Choices:
    return lk.Choices.from_counts(pd.DataFrame({"game": [game.name]}), np.array([counts], float), {game.name: game})


def utilities(game: lk.Game, p: list[np.ndarray]) -> list[np.ndarray]:
    """Expected payoffs by plain summation over profiles."""
    out = [np.zeros(n) for n in game.shape]
    for profile in np.ndindex(*game.shape):
        for i in range(len(game.shape)):
            weight = np.prod([p[j][profile[j]] for j in range(len(p)) if j != i])
            out[i][profile[i]] += weight * game.payoffs[i][profile]
    return out


def softmax(v: np.ndarray) -> np.ndarray:
    e = np.exp(v - v.max())
    return e / e.sum()


def residual(game: lk.Game, lam: float, p: list[np.ndarray]) -> float:
    return max(np.abs(q - softmax(lam * u)).max() for q, u in zip(p, utilities(game, p), strict=True))


def random_games(n: int, shape: tuple[int, ...], seed: int) -> list[lk.Game]:
    rng = np.random.default_rng(seed)
    return [lk.Game.normal_form(f"g{i}", tuple(rng.uniform(0, 1, shape) for _ in shape)) for i in range(n)]


def by_ode(game: lk.Game, lams: np.ndarray) -> np.ndarray:
    """The branch as a differential equation in lam, (lams, W): log p' = U + lam dU/dlam, less its mean."""
    stops = np.cumsum(game.shape)
    cut = lambda v: [v[b - a : b] for a, b in zip(game.shape, stops, strict=True)]  # noqa: E731

    def gap(z, lam):
        p = [softmax(v) for v in cut(z)]
        return z - lam * np.concatenate([u - q @ u for q, u in zip(p, utilities(game, p), strict=True)])

    def slope(lam, z):
        h = 1e-6
        jacobian = np.stack([(gap(z + h * e, lam) - gap(z - h * e, lam)) / (2 * h) for e in np.eye(len(z))], axis=1)
        by_lam = (gap(z, lam + h) - gap(z, lam - h)) / (2 * h)
        return -np.linalg.solve(jacobian, by_lam)

    path = solve_ivp(slope, (0, lams[-1]), np.zeros(stops[-1]), t_eval=lams, rtol=1e-8, atol=1e-10)
    out = []
    for lam, z in zip(lams, path.y.T, strict=False):
        exact = fsolve(gap, z, args=(lam,), xtol=1e-13)
        out.append(np.concatenate([softmax(v) for v in cut(exact)]))
    return np.array(out)


@pytest.mark.parametrize("shape", SHAPES)
def test_random_games_against_a_differential_equation(shape):
    games = [g for g in random_games(9, shape, 7) if not branches.turns(g)][:4]
    model = lk.LogitQRE()
    for game in games:
        lams = np.array(LAMS) / game.payoff_range
        want = by_ode(game, lams)
        for lam, row in zip(lams, want, strict=False):
            mine = np.concatenate(list(model.predict(game, lam=lam).values()))
            assert np.abs(mine - row).max() < 1e-6


@pytest.mark.parametrize("shape", SHAPES)
def test_two_hundred_random_games_are_equilibria(shape):
    games = random_games(40, shape, 11)
    branches.prepare(games)
    for game in games:
        frame = lk.LogitQRE().branch(game)
        assert frame["lam"].iloc[-1] * game.payoff_range >= branches.LAST, "the branch reaches its limit"
        labels = frame.columns[3:]
        for k in range(1, len(frame), 6):
            lam = frame["lam"].iloc[k]
            if lam * game.payoff_range > 1e3:
                break
            p = np.split(frame.loc[k, labels].to_numpy(float), np.cumsum(shape)[:-1])
            assert residual(game, lam, p) < 1e-9


@pytest.mark.parametrize("shape", SHAPES)
def test_two_hundred_random_games_against_pygambit(shape):
    body = json.loads((FIXTURES / "qre_pygambit_random.json").read_text())
    rows = [r for r in body["games"] if tuple(r["shape"]) == shape]
    tables = []
    for row in rows:
        rng = np.random.default_rng([body["seed"], *shape, row["number"]])
        tables.append(tuple(rng.uniform(0, 1, shape).round(4) for _ in shape))
    games = [lk.Game.normal_form(f"g{i}", t) for i, t in enumerate(tables)]
    branches.prepare(games)
    assert len(games) >= 33
    for game, own, row in zip(games, tables, rows, strict=True):
        lams = np.array(body["lams_per_range"]) / max(np.ptp(t) for t in own)
        mine = lk.LogitQRE().branch(game, lams).iloc[:, 1:].to_numpy()
        assert np.abs(mine - row["probabilities"]).max() < 1e-7


def test_branch_at_given_precisions():
    game = random_games(1, (3, 3), 5)[0]
    frame = lk.LogitQRE().branch(game, [0.0, 2.0, np.inf])
    assert frame.iloc[0, 1:].to_numpy() == pytest.approx(np.full(6, 1 / 3))
    p = np.split(frame.iloc[1, 1:].to_numpy(float), [3])
    assert residual(game, 2.0, p) < 1e-9
    assert frame.iloc[2, 1:].to_numpy() == pytest.approx(np.concatenate(list(lk.LogitQRE().limit(game).values())))
    with pytest.raises(lk.UsageError, match="from 0 up"):
        lk.LogitQRE().branch(game, [-1.0])


def golden(shared):
    return json.loads((shared / "golden" / "qre_pygambit.json").read_text())


def test_golden_estimates(shared):
    for case in golden(shared)["qre_mle"]:
        game = lk.Game.normal_form(case["name"], tuple(np.array(p, float) for p in case["payoffs"]))
        fits = lk.fit(one_cell(game, np.concatenate([np.ravel(c) for c in case["counts"]])), lk.LogitQRE())
        row = fits.frame().iloc[0]
        assert row["loglik"] == pytest.approx(case["loglik"], abs=1e-6)
        if case.get("lam_own") is None:
            assert row["status"] == "flat"
            assert np.isnan(row["estimate"])
        else:
            assert row["estimate"] == pytest.approx(case["lam_own"], rel=1e-6)
            assert row["se"] == pytest.approx(case["se_lambda_observed_info"], rel=1e-5)


def test_ochs_block_of_mckelvey_and_palfrey():
    game = lk.Game.bimatrix("ochs", [[1.1141, 0], [0, 0.2785]], [[0, 1.1141], [1.1141, 0]])
    counts = [128 * 0.527, 128 * 0.473, 128 * 0.366, 128 * 0.634]
    row = lk.fit(one_cell(game, counts), lk.LogitQRE()).frame().iloc[0]
    assert row["estimate"] == pytest.approx(1.8456, abs=1e-4)
    assert row["loglik"] == pytest.approx(-174.7645, abs=1e-4)
    assert row["se"] == pytest.approx(0.7713, abs=1e-4)


def test_turocy_blocks_both_estimators(shared):
    block = golden(shared)["ochs_blocks_turocy2016"]
    game = lk.Game.normal_form("mp", tuple(np.array(p, float) for p in block["payoffs"]))
    fixed, empirical = [], []
    for row in block["rows"]:
        n, up, left = row["n"], row["p"], row["q"]
        data = one_cell(game, [n * up, n * (1 - up), n * left, n * (1 - left)])
        fixed.append(lk.fit(data, lk.LogitQRE()).frame().iloc[0])
        empirical.append(lk.fit(lk.empirical_payoffs(data), lk.LogitQRE()).frame().iloc[0])
    assert [r["estimate"] for r in fixed] == pytest.approx([1.845871, 1.567977, 3.306454, np.inf], abs=2e-5)
    assert fixed[3]["status"] == "boundary"
    assert [r["loglik"] for r in fixed[:3]] == pytest.approx([r["loglik"] for r in block["rows"][:3]], abs=1e-5)
    assert [r["estimate"] for r in empirical[:3]] == pytest.approx([1.007, 1.518, 3.345], abs=1e-3)
    assert empirical[3]["status"] in ("flat", "boundary")


def test_selten_chmura(shared):
    block = golden(shared)["selten_chmura_2008"]
    games, counts = {}, []
    for case in block["games"]:
        name, n, up, left = f"g{len(games) + 1}", case["n"], case["up"], case["left"]
        games[name] = lk.Game.bimatrix(name, case["row"], case["col"])
        counts.append([up, n - up, left, n - left])
    data = lk.Choices.from_counts(pd.DataFrame({"game": list(games)}), np.array(counts, float), games)
    pooled = lk.fit(data, lk.LogitQRE()).frame().iloc[0]
    assert pooled["estimate"] == pytest.approx(1.324257, abs=1e-5)
    assert pooled["loglik"] == pytest.approx(-49881.9126, abs=1e-3)
    assert pooled["se"] == pytest.approx(0.027004, abs=1e-5)
    own = lk.fit(data, lk.LogitQRE(), by="game", intervals=False).frame()["estimate"]
    want = [1.910868, 0.667536, 1.271387, 1.254541, 1.461140, 1.294872]
    assert own[:6].tolist() == pytest.approx(want, abs=1e-4)


# frequencies of all 200 rounds (Selten & Chmura 2008): U and L of n
FULL = (
    (759, 6625, 9600), (2082, 5059, 9600), (1565, 7610, 9600), (2744, 7064, 9600), (3143, 6371, 9600),
    (4274, 5726, 9600), (678, 2705, 4800), (1200, 2815, 4800), (1219, 3970, 4800), (1754, 3358, 4800),
    (1590, 3130, 4800), (2108, 2901, 4800),
)  # fmt: skip


def test_selten_chmura_full_counts():
    games = {f"sc_{i}": lk.game(f"sc_{i}") for i in range(1, 13)}
    counts = np.array([[u, n - u, left, n - left] for u, left, n in FULL], float)
    data = lk.Choices.from_counts(pd.DataFrame({"game": list(games)}), counts, games)
    assert lk.fit(data, lk.LogitQRE(), intervals=False).frame()["estimate"][0] == pytest.approx(0.99, abs=0.005)
    model, lams = lk.LogitQRE(), np.arange(0.9, 1.2, 0.01)
    error = []
    for lam in lams:
        total = 0.0
        for game, (u, left, n) in zip(games.values(), FULL, strict=True):
            p = list(model.predict(game, lam=lam).values())
            total += (p[0][0] - u / n) ** 2 + (p[1][0] - left / n) ** 2
        error.append(total)
    assert lams[int(np.argmin(error))] == pytest.approx(1.05, abs=0.011)


def test_stahl_wilson_1995():
    data = lk.shipped_choices("sw95")
    pooled = lk.fit(data, lk.LogitQRE()).frame().iloc[0]
    assert pooled["estimate"] == pytest.approx(0.106383, abs=1e-5)
    assert pooled["loglik"] == pytest.approx(-556.3273, abs=1e-3)
    assert pooled["se"] == pytest.approx(0.010905, abs=1e-5)
    own = lk.fit(data, lk.LogitQRE(), by="game", intervals=False).frame()
    want = [
        0.108980,
        0.404995,
        0.081907,
        0.062238,
        0.168269,
        np.nan,
        0.024796,
        0.774226,
        0.095672,
        0.582483,
        np.inf,
        0.064587,
    ]
    assert own["estimate"].tolist() == pytest.approx(want, abs=1e-5, nan_ok=True)
    assert own["status"][5] == "flat"
    assert own["status"][10] == "boundary"


# lam per point and minus the log-likelihood; the scan behind game 4 ended at 2
SW94 = {
    1: (0.046, 31.93), 2: (0.090, 39.93), 3: (0.096, 28.04), 4: (2.0, 25.24), 5: (0.128, 36.29), 6: (0.089, 20.76),
    7: (0.244, 27.07), 8: (0.038, 42.86), 9: (0.078, 36.26), 10: (0.125, 23.13),
}  # fmt: skip


def test_stahl_wilson_1994():
    own = lk.fit(lk.shipped_choices("sw94"), lk.LogitQRE(), by="game", intervals=False).frame().set_index("game")
    for number, (lam, minus) in SW94.items():
        row = own.loc[f"sw94_{number}"]
        if number == 4:  # still rising there
            scanned = lk.LogitQRE().loglik(lk.shipped_choices("sw94").filter(game="sw94_4"), lam=2.0)
            assert -scanned == pytest.approx(minus, abs=0.0051)
            assert row["estimate"] > 2
            assert row["loglik"] > scanned
            continue
        assert -row["loglik"] == pytest.approx(minus, abs=0.0051), number
        assert row["estimate"] == pytest.approx(lam, abs=0.0006), number


@pytest.mark.parametrize(
    ("name", "counts", "lam", "minus", "top", "left"),
    [
        ("gh_asymmetric_mp", [24, 1, 4, 21], 0.0426, 17.67, 0.833, 0.243),
        ("gh_reversed_mp", [2, 23, 20, 5], 0.0981, 24.59, 0.350, 0.765),
        ("gh_symmetric_mp", [12, 13, 12, 13], None, 34.66, 0.5, 0.5),
    ],
)
def test_goeree_and_holt_matching_pennies(name, counts, lam, minus, top, left):
    """Payoffs in cents, 25 pairs: the game with 320, with 44, and the symmetric one."""
    fits = lk.fit(one_cell(lk.game(name), np.array(counts, float)), lk.LogitQRE())
    row = fits.frame().iloc[0]
    assert -row["loglik"] == pytest.approx(minus, abs=0.0051)
    if lam is None:
        assert row["status"] == "flat"
        return
    assert row["estimate"] == pytest.approx(lam, abs=0.0001)
    play = list(lk.LogitQRE().predict(lk.game(name), lam=row["estimate"]).values())
    assert play[0][0] == pytest.approx(top, abs=0.0006)
    assert play[1][0] == pytest.approx(left, abs=0.0006)


# named cases


def test_a_branch_that_turns_back():
    games = [g for g in random_games(60, (5, 5), 3) if branches.turns(g)]
    assert games
    game = games[0]
    frame = lk.LogitQRE().branch(game)
    turning = frame["lam"].to_numpy()
    k = int(np.flatnonzero(np.diff(turning) < 0)[0])
    lam = (turning[k] + turning[k + 1]) / 2
    seen = [np.concatenate(list(lk.LogitQRE(crossing=c).predict(game, lam=lam).values())) for c in range(3)]
    for p in seen:
        assert residual(game, lam, np.split(p, [5])) < 1e-9
    assert np.abs(seen[0] - seen[1]).max() > 1e-4
    assert np.abs(seen[1] - seen[2]).max() > 1e-4
    # choices made in the last of the three are fitted by it, not by the first
    data = one_cell(game, np.round(1e5 * seen[2]))
    row = lk.fit(data, lk.LogitQRE()).frame().iloc[0]
    assert row["loglik"] >= lk.LogitQRE(crossing=2).loglik(data, lam=lam) - 1e-9
    assert row["loglik"] > lk.LogitQRE(crossing=0).loglik(data, lam=lam) + 1


@pytest.mark.parametrize("lam", [0.5, 5.0, 50.0, 1e4, np.inf])
def test_cyclic_games_stay_uniform(lam):
    rps = lk.Game.symmetric("rps", [[0, -1, 1], [1, 0, -1], [-1, 1, 0]])
    pennies = lk.Game.bimatrix("mp", [[1, -1], [-1, 1]], [[-1, 1], [1, -1]])
    for game in (rps, pennies):
        for p in lk.LogitQRE().predict(game, lam=lam).values():
            assert p == pytest.approx(1 / len(p), abs=1e-12)


def test_three_player_cycle():
    """McKelvey & McLennan's 2x2x2: everybody wants to differ from the next; the branch ends fully mixed."""
    different = np.array([[0.0, 1.0], [1.0, 0.0]])
    one = np.broadcast_to(different[:, :, None], (2, 2, 2)).copy()
    two = np.broadcast_to(different[None], (2, 2, 2)).copy()
    three = np.broadcast_to(different.T[:, None, :], (2, 2, 2)).copy()
    game = lk.Game.normal_form("cycle", (one, two, three))
    for p in lk.LogitQRE().limit(game).values():
        assert p == pytest.approx(0.5, abs=1e-6)


def test_coordination_where_fixed_points_cycle():
    game = lk.Game.bimatrix("pure", [[4, 0], [0, 3]], [[4, 0], [0, 3]])
    assert lk.LogitQRE().limit(game)["player 1"] == pytest.approx([1, 0], abs=1e-9)
    for lam in (0.1, 1.0, 10.0):
        p = list(lk.LogitQRE().predict(game, lam=lam).values())
        assert residual(game, lam, p) < 1e-12


@pytest.mark.parametrize(
    ("matrix", "share"), [([[0, 7], [2, 6]], 1 / 3), ([[0, 1], [1, 0]], 0.5), ([[2, 0], [0, 1]], 1.0)]
)
def test_symmetric_games_stay_symmetric(matrix, share):
    game = lk.Game.symmetric("s", matrix)
    for lam in (0.3, 1.0, 3.0, 10.0, 100.0):
        one, two = lk.LogitQRE().predict(game, lam=lam).values()
        assert one == pytest.approx(two, abs=1e-14)
        assert residual(game, lam, [one, two]) < 1e-12
    assert lk.LogitQRE().limit(game)["player 1"][0] == pytest.approx(share, abs=1e-6)


def test_forks_of_symmetric_games():
    """Anti-coordination: the symmetric branch is uniform and forks where lam p (1 - p) 2 = 1, at lam = 2."""
    assert lk.LogitQRE().bifurcations(lk.Game.symmetric("anti", [[0, 1], [1, 0]])) == pytest.approx([2.0], abs=1e-6)
    assert len(lk.LogitQRE().bifurcations(lk.game("eleven_twenty_basic"))) >= 1
    assert lk.LogitQRE().bifurcations(lk.Game.bimatrix("pd", [[3, 0], [5, 1]], [[3, 5], [0, 1]])) == []


def test_data_off_the_principal_branch_are_reported():
    game = lk.Game.bimatrix("stag", [[10, 1], [8, 5]], [[10, 8], [1, 5]])
    fits = lk.fit(one_cell(game, [95, 5, 93, 7]), lk.LogitQRE())
    assert fits.frame()["loglik"][0] == pytest.approx(-138.63, abs=0.01)
    note = fits.stats()["note"][0]
    assert "off the principal branch" in note
    assert "lam=1.67" in note
    assert "(-45.39)" in note
    assert "another equilibrium" in fits.summary()


# extremes


@pytest.mark.parametrize("size", [1e-6, 1.0, 1e3, 1e9])
@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_any_payoffs_any_precision(size, offset):
    rng = np.random.default_rng(5)
    pay = tuple(size * (rng.uniform(0, 1, (3, 3)) + offset) for _ in range(2))
    game = lk.Game.normal_form("g", pay)
    for lam in (0.0, 1e-9, 1.0, 1e3, np.inf):
        for p in lk.LogitQRE().predict(game, lam=lam).values():
            assert np.isfinite(p).all()
            assert p.sum() == pytest.approx(1, abs=1e-12)
    unit = lk.Game.normal_form("u", tuple((p - offset * size) / size for p in pay))
    for lam in (0.5, 5.0):
        mine = np.concatenate(list(lk.LogitQRE().predict(game, lam=lam / size).values()))
        base = np.concatenate(list(lk.LogitQRE().predict(unit, lam=lam).values()))
        assert mine == pytest.approx(base, abs=1e-7)


def test_dominated_duplicate_and_equal_actions():
    equal = lk.Game.bimatrix("equal", [[2, 2], [2, 2]], [[2, 2], [2, 2]])
    fits = lk.fit(one_cell(equal, [9, 1, 5, 5]), lk.LogitQRE())
    assert fits.frame()["status"][0] == "flat"
    assert lk.LogitQRE().predict(equal, lam=1e3)["player 1"] == pytest.approx([0.5, 0.5])
    twin = lk.Game.bimatrix("twin", [[3, 0], [3, 0], [1, 2]], [[1, 2], [1, 2], [3, 0]])
    for lam in (0.5, 10.0, np.inf):
        p = lk.LogitQRE().predict(twin, lam=lam)["player 1"]
        assert p[0] == pytest.approx(p[1], abs=1e-12)
    dominated = lk.Game.bimatrix("dom", [[3, 4], [1, 2]], [[1, 0], [0, 1]])
    assert lk.LogitQRE().predict(dominated, lam=np.inf)["player 1"] == pytest.approx([1, 0], abs=1e-12)


def test_one_player_without_a_choice_leaves_a_decision():
    wide = lk.Game.bimatrix("wide", [[5, 2, 4]], [[3, 1, 0]])
    for lam in (0.3, 2.0):
        p = lk.LogitQRE().predict(wide, lam=lam)
        assert p["player 1"].tolist() == [1.0]
        assert p["player 2"] == pytest.approx(
            np.exp(lam * np.array([3, 1, 0])) / np.exp(lam * np.array([3, 1, 0])).sum()
        )
    assert lk.LogitQRE().limit(wide)["player 2"] == pytest.approx([1, 0, 0], abs=1e-12)
    frame = lk.fit(one_cell(wide, [30, 9, 4, 2]), lk.LogitQRE()).frame()
    # the score is zero where the mean payoff expected is the mean payoff obtained
    p = lk.LogitQRE().predict(wide, lam=frame["estimate"][0])["player 2"]
    assert p @ [3, 1, 0] == pytest.approx((9 * 3 + 4) / 15, abs=1e-8)
    assert frame["n"][0] == 15  # what is forced is no choice


def test_nobody_has_a_choice():
    none = lk.Game.bimatrix("none", [[5.0]], [[2.0]])
    frame = lk.fit(one_cell(none, [3, 4]), lk.LogitQRE()).frame()
    assert frame["status"].tolist() == ["flat"]
    assert frame["n"].tolist() == [0]


def test_payoff_units():
    data = lk.shipped_choices("rpc2009").filter(game="rpc_sw1")
    raw = lk.fit(data, lk.LogitQRE()).frame().iloc[0]
    ranged = lk.fit(data, lk.LogitQRE(), scale="range").frame().iloc[0]
    assert ranged["estimate"] == pytest.approx(raw["estimate"] * lk.game("rpc_sw1").payoff_range, rel=1e-6)
    assert ranged["unit"] == "1/range"


def test_recovery_from_simulated_choices():
    """The mean of estimates over samples drawn at lam = 1.5 (Turocy's experiment: 1.496 in his 100 samples)."""
    game = lk.Game.bimatrix("mp", [[1.1140, 0], [0, 0.2785]], [[0, 1.1141], [1.1141, 0]])
    rng = np.random.default_rng(2016)
    p = list(lk.LogitQRE().predict(game, lam=1.5).values())
    counts = np.concatenate([rng.multinomial(400, q, size=300) for q in p], axis=1)
    cells = pd.DataFrame({"sample": np.arange(300), "game": "mp"})
    frame = lk.fit(
        lk.Choices.from_counts(cells, counts.astype(float), {"mp": game}), lk.LogitQRE(), by="sample"
    ).frame()
    assert frame["estimate"].median() == pytest.approx(1.5, abs=0.08)
    covered = (frame["low"] <= 1.5) & (frame["high"] >= 1.5)
    assert 0.91 < covered.mean() < 0.99


def test_branch_figure(tmp_path):
    for name in ("rpc_sw10", "competitive_base"):
        figure = lk.LogitQRE().plot(lk.game(name))
        assert len(figure.axes) == (1 if lk.game(name).symmetric else 2)
        figure.savefig(tmp_path / "b.png")
