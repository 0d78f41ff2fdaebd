"""Data from each of three models, and how often each criterion names the model that made them.

Run it to see the table: python -m tests.recovery.confusion
"""

from __future__ import annotations

import sys

import numpy as np
import pandas as pd

import levelkit as lk

GAMES = ("sw94_1", "sw94_3", "sw94_5", "sw94_8")
N = 100
MODELS = (lk.TQRE(), lk.PoissonCH(), lk.LogitQRE())


def simulated(model: lk.Model, sets: int, seed: int) -> lk.Choices:
    """`sets` data sets of N choices in each game, at parameters drawn anew for each set."""
    rng = np.random.default_rng(seed)
    games = {name: lk.game(name) for name in GAMES}
    counts, rows = [], []
    for s in range(sets):
        params = {"tau": rng.uniform(0.8, 2.5), "gamma": np.exp(rng.uniform(np.log(0.02), np.log(0.15)))}
        params["lam"] = np.exp(rng.uniform(np.log(0.02), np.log(0.2)))
        for name, game in games.items():
            p = model.predict(game, **{q.name: params[q.name] for q in model.parameters})["player 1"]
            counts.append(np.concatenate([rng.multinomial(N, p), np.zeros(len(p))]))
            rows.append({"set": s, "game": name})
    return lk.Choices.from_counts(pd.DataFrame(rows), np.array(counts), games)


def study(sets: int = 500) -> pd.DataFrame:
    """Rows: true model and criterion; columns: share of data sets in which each model is chosen."""
    out = []
    for k, model in enumerate(MODELS):
        result = lk.compare(simulated(model, sets, 100 + k), MODELS, by="set", holdout="game")
        for criterion in ("aic", "bic", "held_out"):
            shares = result.chosen(criterion).value_counts(normalize=True)
            out.append(
                {"truth": model.name, "criterion": criterion, **{m.name: shares.get(m.name, 0.0) for m in MODELS}}
            )
    return pd.DataFrame(out)


def right(table: pd.DataFrame, criterion: str) -> float:
    """Share of all data sets in which a criterion is right."""
    mine = table[table["criterion"] == criterion]
    return float(np.mean([row[row["truth"]] for _, row in mine.iterrows()]))


if __name__ == "__main__":
    found = study(int(sys.argv[1]) if len(sys.argv) > 1 else 500)
    print(found.round(3).to_string(index=False))
    for name in ("aic", "bic", "held_out"):
        print(f"{name}: right in {right(found, name):.3f}")
