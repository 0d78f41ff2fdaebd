"""Permutation tests of equality: exact where theory gives the answer, of the right size, and clusters kept whole."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import levelkit as lk

GAME = lk.game("competitive_base")


def made(rows: list[dict], counts) -> lk.Choices:
    cells = pd.DataFrame(rows).assign(game=GAME.name)
    return lk.Choices.from_counts(cells, np.asarray(counts, float), {GAME.name: GAME})


def test_two_by_two_is_fishers_exact_test():
    """One role, two of its actions taken: ordering tables by G or by probability rejects the same extreme ones here."""
    table = np.array([[9, 3, 0, 0, 0, 0], [3, 9, 0, 0, 0, 0]])
    found = lk.equality(made([{"who": "a"}, {"who": "b"}], table), "who", replicates=20_000).iloc[0]
    assert found["p"] == pytest.approx(stats.fisher_exact(table[:, :2])[1], abs=0.004)
    g = stats.chi2_contingency(table[:, :2], correction=False, lambda_="log-likelihood").statistic
    assert found["g"] == pytest.approx(g)
    assert found["p"] == found["p_max"]


def test_margins_stay():
    from levelkit.inference.equality import _Stratum

    rng = np.random.default_rng(0)
    counts = rng.multinomial(20, np.full(6, 1 / 6), size=5).astype(float)
    choices = made([{"who": w} for w in "aabbc"], counts)
    stratum = _Stratum.of(choices, np.arange(5), np.array([0, 0, 1, 1, 2]), None)
    drawn = stratum._draw([0, 1, 2], 200, rng)
    np.testing.assert_array_equal(drawn.sum(axis=1), np.broadcast_to(counts.sum(axis=0), (200, 6)))
    for role in GAME.slices:
        own = [counts[:2, role].sum(), counts[2:4, role].sum(), counts[4, role].sum()]
        np.testing.assert_array_equal(drawn[:, :, role].sum(axis=2), np.broadcast_to(own, (200, 3)))
    expected = counts.sum(axis=0)[GAME.slices[0]] * counts[4, GAME.slices[0]].sum() / counts[:, GAME.slices[0]].sum()
    np.testing.assert_allclose(drawn[:, 2, GAME.slices[0]].mean(axis=0), expected, atol=0.5)


@pytest.mark.parametrize("clustered", [False, True])
def test_size_under_the_null(clustered):
    """In 400 data sets without a difference 5% are rejected; with clusters only where these are kept whole."""
    rng = np.random.default_rng(1)
    p, naive = [], []
    for number in range(400):
        rows, counts = [], []
        for who in "ab":
            for session in range(8):
                share = rng.dirichlet([2.0, 2.0, 2.0]) if clustered else np.array([0.5, 0.3, 0.2])
                counts.append(np.concatenate([rng.multinomial(10, share), np.zeros(3)]))
                rows.append({"who": who, "session": f"{who}{session}"})
        choices = made(rows, counts)
        cluster = "session" if clustered else None
        p.append(lk.equality(choices, "who", cluster=cluster, replicates=199, seed=number)["p"].item())
        if clustered:
            naive.append(lk.equality(choices, "who", replicates=199, seed=number)["p"].item())
    assert stats.binomtest(int((np.array(p) <= 0.05).sum()), 400, 0.05).pvalue > 0.01
    if clustered:
        assert (np.array(naive) <= 0.05).mean() > 0.15, "exchanging choices of clusters singly rejects too often"


def test_largest_of_many_pairs():
    """With five equal groups some pair looks different often; the adjusted p does not."""
    rng = np.random.default_rng(2)
    single, adjusted = [], []
    for number in range(150):
        counts = rng.multinomial(15, np.full(6, 1 / 6), size=5)
        found = lk.equality(made([{"who": w} for w in "abcde"], counts), "who", replicates=199, seed=number)
        assert (found["p_max"] >= found["p"]).all()
        single.append(found["p"].min() <= 0.05)
        adjusted.append(found["p_max"].min() <= 0.05)
    assert np.mean(single) > 0.2
    assert stats.binomtest(int(np.sum(adjusted)), 150, 0.05, alternative="greater").pvalue > 0.01


def test_pairs_within_clusters_are_exchanged():
    """The same personas in both arms: what they differ in among themselves does not hide a difference between arms."""
    rng = np.random.default_rng(3)
    rows, counts = [], []
    for persona in range(20):
        base = rng.dirichlet([0.5, 0.5, 0.5])
        for arm, shift in (("plain", 0.0), ("cot", 0.25)):
            share = (1 - shift) * base + shift * np.array([1.0, 0.0, 0.0])
            counts.append(np.concatenate([rng.multinomial(30, share), np.zeros(3)]))
            rows.append({"arm": arm, "persona": persona})
    choices = made(rows, counts)
    inside = lk.equality(choices, "arm", cluster="persona", replicates=1999)["p"].item()
    assert inside < 0.01
    again = lk.equality(choices, "arm", cluster="persona", replicates=1999)["p"].item()
    assert inside == again


def test_a_model_whose_play_turns_round_with_chain_of_thought():
    """Claude 3 Opus, 15 plays a role: 3/5/7 and 0/6/9 without, 15/0/0 and 8/7/0 with chain of thought."""
    llm = lk.shipped_choices("llm_competitive").filter(model="Claude-3-Opus", game="competitive_base")
    found = lk.equality(llm, "cot", replicates=999)
    assert found["p"].tolist() == [0.001], "no permutation is as extreme"
    assert (found["n_a"].item(), found["n_b"].item()) == (30, 30)


def test_cells_without_a_group_are_refused():
    choices = made([{"who": "a"}, {"who": None}], np.ones((2, 6)))
    with pytest.raises(lk.DataError, match="1 cells have no 'who'"):
        lk.equality(choices, "who")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"column": "whom"}, "no column 'whom'"),
        ({"column": "who", "by": "who"}, "both"),
        ({"column": "who", "replicates": 5}, "replicates"),
        ({"column": "who", "pairs": [("a", "z")]}, "no stratum"),
    ],
)
def test_bad_requests(options, words):
    choices = made([{"who": "a"}, {"who": "b"}], np.ones((2, 6)))
    with pytest.raises(lk.UsageError, match=words):
        lk.equality(choices, **options)


def test_fractional_counts_are_refused():
    with pytest.raises(lk.DataError, match="fractional"):
        lk.equality(made([{"who": "a"}, {"who": "b"}], np.full((2, 6), 0.5)), "who")


def test_the_command(tmp_path, capsys):
    from levelkit.cli import main

    path = tmp_path / "c.csv"
    frame = lk.shipped_choices("sw10_humans").filter(game="sw10").frame()
    frame[["sample", "game", "player", "action", "count"]].to_csv(path, index=False)
    assert main(["equality", str(path), "--column", "sample", "--replicates", "999", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    own = lk.equality(lk.read_choices(path), "sample", replicates=999)
    assert [(r["a"], r["b"]) for r in rows] == list(zip(own["a"], own["b"], strict=True))
    assert [r["p"] for r in rows] == pytest.approx(own["p"].tolist())
    out = tmp_path / "t.md"
    assert main(["equality", str(path), "--column", "sample", "--pair", "wlb,rpc_table3", "--out", str(out)]) == 0
    assert "Single choices are exchanged" in capsys.readouterr().out
    assert "wlb" in out.read_text()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--pair", "wlb"], "two values"),
        (["--pair", "wlb,nobody"], "no 'nobody'"),
        (["--cluster", "persona"], "no column 'persona'"),
    ],
)
def test_what_the_command_cannot_do(tmp_path, capsys, options, said):
    from levelkit.cli import main

    path = tmp_path / "c.csv"
    frame = lk.shipped_choices("sw10_humans").filter(game="sw10").frame()
    frame[["sample", "game", "player", "action", "count"]].to_csv(path, index=False)
    assert main(["equality", str(path), "--column", "sample", *options]) == 2
    assert said in capsys.readouterr().err
