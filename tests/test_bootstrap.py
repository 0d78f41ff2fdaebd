"""The bootstrap: every replicate is what a fit of its counts would say, and intervals are what they claim."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import levelkit as lk
from levelkit.inference import quantiles, resampling
from levelkit.inference.bootstrap import refit

TQRE = lk.TQRE()


@pytest.fixture(scope="module")
def fits() -> lk.Fits:
    """Two units that pool three games each."""
    rng = np.random.default_rng(3)
    games = {name: lk.game(name) for name in ("competitive_base", "stag_hunt_base", "prisoners_dilemma_base")}
    rows, counts = [], []
    for who in "ab":
        for session in range(4):
            for name, game in games.items():
                p = TQRE.predict(game, tau=1.6, gamma=4 / game.payoff_range)
                own = np.concatenate([rng.multinomial(20, np.asarray(v) / np.sum(v)) for v in p.values()])
                rows.append({"who": who, "session": session, "game": name})
                counts.append(np.pad(own, (0, 6 - len(own))))
    choices = lk.Choices.from_counts(pd.DataFrame(rows), np.array(counts, float), games)
    return lk.fit(choices, TQRE, by="who", scale="range", intervals=False, sensitivity=False)


def test_replicates_are_fits_of_their_counts(fits):
    rng = np.random.default_rng(0)
    counts = resampling.multinomial(fits.rows, fits.rows.counts, 6, rng)
    estimate, status = refit(fits, counts)
    for b in range(6):
        frame = fits.rows.keys.iloc[fits.rows.owner].reset_index(drop=True)
        frame = frame.assign(game=[fits.rows.games[g].name for g in fits.rows.game])
        again = lk.fit(
            lk.Choices.from_counts(frame, counts[b], fits.choices.games),
            TQRE,
            by="who",
            scale="range",
            intervals=False,
            sensitivity=False,
        ).frame()
        assert [lk.Status(int(s)).word for s in status[:, b]] == again["status"].tolist()
        told = again["status"] != "flat"
        assert estimate[told, b] == pytest.approx(again["estimate"][told].to_numpy(), rel=1e-5)


def test_counts_keep_their_totals_and_the_seed_its_numbers(fits):
    rng = np.random.default_rng(0)
    counts = resampling.multinomial(fits.rows, fits.rows.counts, 2000, rng)
    assert (counts.sum(axis=2) == fits.rows.counts.sum(axis=1)).all()
    assert counts.mean(axis=0) == pytest.approx(fits.rows.counts, abs=0.4)  # five standard errors of a mean
    one, two, other = (lk.bootstrap(fits, 40, seed=s) for s in (1, 1, 2))
    assert np.array_equal(one.estimate, two.estimate, equal_nan=True)
    assert not np.array_equal(one.estimate, other.estimate, equal_nan=True)


@pytest.mark.parametrize(("kind", "cluster"), [("multinomial", None), ("parametric", None), ("cluster", "session")])
def test_frames_say_what_became_of_the_replicates(fits, kind, cluster):
    made = lk.bootstrap(fits, 60, kind, cluster, seed=4)
    frame = made.frame()
    assert len(frame) == 4 * 3
    assert frame[["ok", "multimodal", "boundary", "flat"]].sum(axis=1).to_numpy() == pytest.approx(np.ones(12))
    assert (frame["low"] <= frame["high"]).all()
    assert set(frame["interval"]) == {"percentile", "basic", "bca"}
    assert len(made.replicates()) == 4 * 60
    assert "replicates" in made.summary()


def test_contrasts(fits):
    made = lk.bootstrap(fits, 100, seed=4)
    same = made.contrast("gamma", {"who": "a"}, {"who": "a"})
    assert (same[["estimate", "low", "high"]].to_numpy() == 0).all()
    ratio = made.contrast("gamma", {"who": "a"}, {"who": "b"}, how="ratio")
    back = made.contrast("gamma", {"who": "b"}, {"who": "a"}, how="ratio")
    assert ratio["estimate"].iloc[0] == pytest.approx(1 / back["estimate"].iloc[0])


def test_percentile_and_bca_of_known_draws():
    draws = np.random.default_rng(0).normal(size=200_000)
    low, high = quantiles.ends("percentile", draws, 0.0, 0.95, 0.0)
    assert (low, high) == pytest.approx((-1.96, 1.96), abs=0.02)
    assert quantiles.ends("bca", draws, 0.0, 0.95, 0.0) == pytest.approx((-1.96, 1.96), abs=0.03)
    assert quantiles.ends("basic", draws, 1.0, 0.95, 0.0) == pytest.approx((2 - 1.96, 2 + 1.96), abs=0.03)


def test_the_spread_is_the_sandwich_error():
    fits = lk.fit(lk.shipped_choices("rpc2009"), TQRE, errors="sandwich", sensitivity=False)
    made = lk.bootstrap(fits, 400, seed=1)
    sd = made.estimate.std(axis=1)
    # resampling within games is the variance that the sandwich estimates, not that of the observed information
    assert sd == pytest.approx(fits.frame()["se"].to_numpy(), rel=0.25)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"kind": "block"}, "kind = 'block': choose multinomial, parametric or cluster"),
        ({"kind": "cluster"}, "goes with kind='cluster'"),
        ({"kind": "multinomial", "cluster": "session"}, "only with it"),
        ({"kind": "cluster", "cluster": "persona"}, "persona"),
        ({"replicates": 0}, "positive"),
    ],
)
def test_bad_calls(fits, options, words):
    with pytest.raises(lk.UsageError, match=words):
        lk.bootstrap(fits, **{"replicates": 10, **options})


def test_the_command_line(tmp_path, capsys):
    from levelkit.cli import main

    path = tmp_path / "c.csv"
    path.write_text(
        "game,player,action,count\n"
        + "".join(f"competitive_base,{p},{a},{n}\n" for p in (1, 2) for a, n in enumerate((9, 15, 6)))
    )
    out = tmp_path / "b.csv"
    assert main(["bootstrap", str(path), "--replicates", "50", "--out", str(out)]) == 0
    said = capsys.readouterr().out
    assert "tau" in said
    assert "flat" in said
    assert len(pd.read_csv(out)) >= 2
    assert main(["bootstrap", str(path), "--kind", "cluster"]) == 2
