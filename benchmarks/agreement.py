"""Exact posteriors beside NUTS, cell by cell: means and quantiles, in Monte-Carlo errors.

    python benchmarks/agreement.py [--cells 50] [--draws 2000]

Three models, fifty cells each over the 13 small games of the TQRE study, 15 choices a player. NUTS samples all cells
of a model in one run (4 chains), each cell's parameters independent of the others'. Where its own chains do not agree
(rhat above 1.01) or it had fewer than 400 effective draws there is nothing to compare with: such cells are counted
apart. A full run replaces benchmarks/results/agreement.csv.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import arviz
import numpy as np
import pandas as pd

import levelkit as lk
from cells import study

RESULTS = Path(__file__).parent / "results" / "agreement.csv"
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
MODELS = (lk.TQRE(), lk.PoissonCH(), lk.LogitQRE())
RHAT, ESS = 1.01, 400


def compare(model: lk.Model, cells: int, draws: int) -> pd.DataFrame:
    """One row for each cell, parameter and statistic: exact, nuts, mcse, and whether NUTS is to be trusted."""
    choices = study(cells, seed=31).choices
    exact = lk.posterior(choices, model, by="cell", scale="range", draws=25_000)
    nuts = lk.posterior(choices, model, by="cell", scale="range", method="nuts", draws=draws, warmup=1000, seed=5)
    frame = exact.frame().set_index(["cell", "parameter"])
    rows = []
    for parameter in (p.name for p in model.parameters):
        ours, theirs = exact.draws(parameter), nuts.draws(parameter)
        for u, cell in enumerate(exact.keys()["cell"]):
            chains = theirs[u].reshape(nuts.about["chains"], -1)
            rhat, ess = float(arviz.rhat(chains)), float(arviz.ess(chains))
            told = {"model": model.name, "cell": cell, "parameter": parameter, "rhat": rhat, "ess": ess}
            mean = frame.loc[(cell, parameter), "mean"]
            rows.append(
                told | {"what": "mean", "exact": mean, "nuts": chains.mean(), "mcse": float(arviz.mcse(chains))}
            )
            for q in QUANTILES:
                error = float(arviz.mcse(chains, method="quantile", prob=q))
                rows.append(
                    told
                    | {
                        "what": f"{q:.0%}",
                        "exact": np.quantile(ours[u], q),
                        "nuts": np.quantile(chains, q),
                        "mcse": error,
                    }
                )
    return pd.DataFrame(rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cells", type=int, default=50)
    parser.add_argument("--draws", type=int, default=2000)
    options = parser.parse_args()
    table = pd.concat([compare(m, options.cells, options.draws) for m in MODELS], ignore_index=True)
    table["z"] = (table["exact"] - table["nuts"]) / table["mcse"]
    table["trusted"] = (table["rhat"] <= RHAT) & (table["ess"] >= ESS)
    table["what"] = np.where(table["what"] == "mean", "mean", "quantile")
    rows = []
    for (model, parameter, what), part in table.groupby(["model", "parameter", "what"], sort=False):
        good = part[part["trusted"]]
        rows.append(
            {
                "model": model,
                "parameter": parameter,
                "what": what,
                "compared": len(good),
                "within_3": (good["z"].abs() <= 3).mean(),
                "largest_z": good["z"].abs().max(),
                "sd_of_z": good["z"].std(),
                "nuts_not_trusted": part.loc[~part["trusted"], "cell"].nunique(),
            }
        )
    found = pd.DataFrame(rows)
    print(found.to_string(index=False, float_format=lambda v: f"{v:.3f}"))
    share = (table.loc[table["trusted"], "z"].abs() <= 3).mean()
    print(f"in all {share:.4f} within 3 Monte-Carlo errors (by chance .9973)")
    if options.cells >= 50:
        found.to_csv(RESULTS, index=False, lineterminator="\n", float_format="%.4g")
        print(f"wrote {RESULTS.name}")


if __name__ == "__main__":
    main()
