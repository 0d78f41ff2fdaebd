"""Do 95% profile intervals hold the truth 95 times in 100? Two thousand simulated data sets, three games pooled."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import levelkit as lk

try:
    import reference as ref
except ModuleNotFoundError:
    from tests import reference as ref

TAU, GAMMA = 1.5, 0.3
GAMES = ("competitive_base", "competitive_high_stake", "sw94_8")
SETS, CHOICES = 2000, 200
PER_PLAYER = (34, 34, 33, 33, 33, 33)  # 200 choices a data set: three games, two players


def simulate(seed: int) -> lk.Choices:
    rng = np.random.default_rng(seed)
    assert sum(PER_PLAYER) == CHOICES
    sizes = iter(PER_PLAYER)
    blocks = []
    for name in GAMES:
        play = ref.tqre(lk.game(name), TAU, GAMMA)
        blocks.append(np.concatenate([rng.multinomial(next(sizes), p[:, 0], size=SETS) for p in play], axis=1))
    cells = pd.DataFrame({"data_set": np.tile(np.arange(SETS), 3), "game": np.repeat(GAMES, SETS)})
    return lk.Choices.from_counts(cells, np.concatenate(blocks), {name: lk.game(name) for name in GAMES})


@pytest.mark.slow
def test_profile_intervals_cover():
    frame = lk.fit(simulate(2009), lk.TQRE(), by="data_set", sensitivity=False).frame()
    for parameter, truth in (("tau", TAU), ("gamma", GAMMA)):
        rows = frame[frame["parameter"] == parameter]
        covered = ((rows["low"] <= truth) & (truth <= rows["high"])).mean()
        error = np.sqrt(covered * (1 - covered) / SETS)
        print(f"{parameter}: {covered:.4f} +- {error:.4f}; {rows['status'].value_counts().to_dict()}")
        assert 0.93 <= covered <= 0.97
