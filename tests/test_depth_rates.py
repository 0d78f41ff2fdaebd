"""Intervals, cluster bootstrap and stratified differences against golden values and hand calculation."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binomtest

from levelkit import binomial
from levelkit.depth.rates import bootstrap_ratio, mantel_haenszel, rate
from levelkit.errors import UsageError

CELL = {"game": "nash", "condition": "recursive", "k_target": 1, "lambda": np.nan}


def frame(**columns) -> pd.DataFrame:
    return pd.DataFrame(
        {**{name: [value] * len(next(iter(columns.values()))) for name, value in CELL.items()}, **columns}
    )


def test_binomial_intervals(golden):
    kinds = {"wald": "wald", "wilson": "wilson", "clopper-pearson": "clopper_pearson"}
    for case in golden("levelk.json")["interval_cases"]:
        for kind, key in kinds.items():
            low, high = binomial.interval(case["x"], case["n"], kind)
            assert (float(low), float(high)) == pytest.approx(case[key], abs=1e-9)


def test_binomial_intervals_against_scipy():
    for x, n in ((0, 7), (3, 7), (7, 7), (41, 977)):
        for kind, method in (("wilson", "wilson"), ("clopper-pearson", "exact")):
            want = binomtest(x, n).proportion_ci(0.9, method)
            low, high = binomial.interval(x, n, kind, 0.9)
            assert (float(low), float(high)) == pytest.approx((want.low, want.high), abs=1e-9)
    assert all(np.isnan(end) for kind in binomial.KINDS for end in binomial.interval(0, 0, kind))
    with pytest.raises(UsageError, match="choose wilson"):
        binomial.interval(1, 2, "exact")


def test_cluster_bootstrap(golden):
    case = golden("levelk.json")["cluster_bootstrap_cases"][0]
    x, n = np.array(case["successes"], float), np.array(case["n"], float)
    drawn = bootstrap_ratio(x, n, 40000, seed=1)
    assert drawn.std() == pytest.approx(case["analytic_se_Binfty"], rel=0.02)
    assert np.quantile(drawn, [0.025, 0.975]) == pytest.approx(case["percentile_95"], abs=0.01)
    rows = [
        {**CELL, "k_target": i, "accurate": j < s}
        for i, (s, m) in enumerate(zip(x, n, strict=True))
        for j in range(int(m))
    ]
    told = rate(pd.DataFrame(rows), "accurate", replicates=20000)
    assert told.value == case["estimate"]
    assert told.widths == pytest.approx(case["width_ratio_vs_wald"], rel=0.03)
    assert told.wider == (told.cluster_low, told.cluster_high)
    assert not told.few


def test_a_bootstrap_of_whole_cells_cannot_be_wider_than_the_root_of_their_size():
    rows = [{**CELL, "k_target": i, "accurate": i % 2 == 0} for i in range(200) for _ in range(20)]
    told = rate(pd.DataFrame(rows), "accurate", replicates=4000)
    assert told.widths == pytest.approx(np.sqrt(20), rel=0.05)
    assert told.design_effect == pytest.approx(20, rel=0.1)


def test_few_clusters_are_told_and_one_gives_no_interval():
    told = rate(frame(accurate=[True, False, True]), "accurate")
    assert (told.clusters, told.few, np.isnan(told.cluster_low)) == (1, True, True)
    assert told.wider == (told.low, told.high)
    assert rate(frame(accurate=[None, None]), "accurate").n == 0


def test_the_stratified_difference_by_hand():
    # two strata: 8 of 10 against 5 of 10, and 3 of 20 against 1 of 20; weights 5 and 10
    rows = []
    for k, (with_, without, n) in {1: (8, 5, 10), 2: (3, 1, 20)}.items():
        rows += [{**CELL, "k_target": k, "y": i < with_, "z": True} for i in range(n)]
        rows += [{**CELL, "k_target": k, "y": i < without, "z": False} for i in range(n)]
    rows += [{**CELL, "k_target": 3, "y": True, "z": True}] * 5  # nothing to compare with
    told = mantel_haenszel(pd.DataFrame(rows), "y", "z")
    assert told.value == pytest.approx((5 * 0.3 + 10 * 0.1) / 15)
    assert (told.strata, told.n) == (2, 60)
    assert told.low < told.value < told.high


def test_pooled_shares_mislead_where_the_stratified_difference_does_not():
    rng = np.random.default_rng(0)
    rows = []
    for k, hard in ((1, 0.9), (2, 0.1)):  # the split is common where cells are easy, and does nothing
        for _ in range(4000):
            z = rng.random() < (0.8 if k == 1 else 0.2)
            rows.append({**CELL, "k_target": k, "y": rng.random() < hard, "z": z})
    table = pd.DataFrame(rows)
    told = mantel_haenszel(table, "y", "z")
    pooled = table.loc[table["z"], "y"].mean() - table.loc[~table["z"], "y"].mean()
    assert pooled > 0.4
    assert told.low < 0 < told.high


def test_the_interval_of_the_stratified_difference_covers():
    rng = np.random.default_rng(1)
    hit = 0
    for _ in range(200):
        y, z, k = [], [], []
        for cell in range(20):
            truth = rng.random(40) < 0.5
            y += list(rng.random(40) < np.where(truth, 0.25 + 0.02 * cell, 0.15 + 0.02 * cell))
            z += list(truth)
            k += [cell] * 40
        told = mantel_haenszel(frame(y=y, z=z).assign(k_target=k), "y", "z")
        hit += told.low <= 0.1 <= told.high
    assert 180 <= hit <= 199
