"""Rogers, Palfrey & Camerer 2009, table 3: 17 games by Poisson-CH, QRE, TQRE and HQRE, beside the printed values.

The counts behind the table were recovered from its printed likelihoods (data/choices/README.md).
"""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from levelkit.datafiles import data_path
from levelkit.inference.fit import fit
from levelkit.models import TQRE, HeterogeneousQRE, LogitQRE, Model, PoissonCH
from levelkit.shipped import shipped_choices
from levelkit.studies.base import Part, Request, Study

MODELS: dict[str, Model] = {
    "poisson-ch": PoissonCH(levels=30, tau_max=20.0),
    "qre": LogitQRE(),
    "tqre": TQRE(levels=50, tau_max=20.0),
    "hqre": HeterogeneousQRE(spread="uniform"),
}
TOLERANCE = 0.05

# Why a likelihood differs from print by more than TOLERANCE.
EXPLAINED = {
    ("rpc_sw3", "saturated"): "misprint: 53.26 for 63.26, below every possible likelihood of these counts",
    (
        "rpc_unp",
        "poisson-ch",
    ): "with levels up to 30 the printed tau of 10.19 does not reach print: it depends on where levels end",
    ("rpc_sw10", "poisson-ch"): "tau depends on where levels end: with each cap another piece fits best",
    ("rpc_sw10", "tqre"): "runs along a ridge that depends on where levels end",
    ("rpc_sw8", "tqre"): "print is at tau 51, beyond the cap of levels: an artefact of truncation",
    ("rpc_sw5", "tqre"): "a trifle better than uniform play with tau at the cap; the data do not tell",
    ("rpc_sw6", "poisson-ch"): "another piece of a likelihood that jumps fits better, at a tau near the cap of levels",
    ("rpc_sw8", "poisson-ch"): "print stays at uniform play (tau 0); a narrow piece at tau 6.66 fits better",
    ("rpc_sw4", "poisson-ch"): "the printed value is not reached at the printed tau (56.94 there)",
    ("rpc_sw4", "tqre"): "a better optimum than the printed one, at finite precision",
    ("rpc_sw4", "qre"): "print 56.40 is short of the limit: the branch ends in equilibrium .675, .265, .060",
    ("rpc_sw2", "poisson-ch"): "ties between best responses are split evenly here",
    ("rpc_sw12", "poisson-ch"): "a better piece of a likelihood that jumps",
    ("pooled", "poisson-ch"): "ties between best responses are split evenly here; the printed tau gives 1238.09",
    ("pooled", "qre"): "print is better than the maximum over lam on these counts: a few choices behind it may differ",
    ("pooled", "hqre"): "rounding of the printed parameters",
}


@dataclass(frozen=True, eq=False)
class Reproduction:
    """table: one row per game (or "pooled"), model and parameter."""

    table: pd.DataFrame

    @property
    def unexplained(self) -> pd.DataFrame:
        """Rows whose likelihood differs by more than the tolerance, for which there is no explanation."""
        return self.table[(self.table["difference"].abs() > TOLERANCE) & (self.table["why"] == "")]


def published() -> pd.DataFrame:
    """The printed values: game, model, parameter, estimate, negloglik."""
    return pd.read_csv(data_path("published/rpc2009_table3.csv"))


def run() -> Reproduction:
    """Fit everything again: game, model, parameter, printed, estimate, status, both likelihoods, difference, why."""
    data, printed = shipped_choices("rpc2009"), published()
    parts = []
    for name, model in MODELS.items():
        own = fit(data, model, "game", intervals=False, sensitivity=False)
        pooled = fit(data, model, intervals=False, sensitivity=False)
        frames = [own.frame(), pooled.frame().assign(game="pooled")]
        parts.append(pd.concat(frames, ignore_index=True).assign(model=name))
        if name == "poisson-ch":
            ceiling = pd.concat([own.stats(), pooled.stats().assign(game="pooled")], ignore_index=True)
            parts.append(
                pd.DataFrame({"game": ceiling["game"], "model": "saturated", "loglik": ceiling["loglik_saturated"]})
            )
    ours = pd.concat(parts, ignore_index=True)
    ours["negloglik"] = -ours["loglik"]
    printed = printed.rename(columns={"estimate": "printed", "negloglik": "printed_negloglik"})
    # print gives the width eps of the precisions' range; ours is its half relative to the mean
    width = (printed["model"] == "hqre") & (printed["parameter"] == "eps")
    mean = printed[(printed["model"] == "hqre") & (printed["parameter"] == "lam")].set_index("game")["printed"]
    printed.loc[width, "printed"] = printed["printed"] / (2 * printed["game"].map(mean))
    printed.loc[width, "parameter"] = "spread"
    printed = printed.loc[(printed["game"] != "sum") & printed["model"].isin(["saturated", *MODELS])].copy()
    for frame in (ours, printed):
        frame["parameter"] = frame["parameter"].fillna("") if "parameter" in frame else ""
    wanted = ["game", "model", "parameter", "estimate", "status", "negloglik"]
    table = printed.merge(ours[wanted], on=["game", "model", "parameter"], how="outer")
    table["difference"] = table["negloglik"] - table["printed_negloglik"]
    far = table["difference"].abs() > TOLERANCE
    keys = list(zip(table["game"], table["model"], strict=True))
    table["why"] = [EXPLAINED.get(k, "") if f else "" for k, f in zip(keys, far, strict=True)]
    games = [*data.games, "pooled"]
    order = {m: i for i, m in enumerate(["saturated", *MODELS])}
    table["_game"], table["_model"] = table["game"].map(games.index), table["model"].map(order)
    table = table.sort_values(["_game", "_model", "parameter"], kind="stable", ignore_index=True)
    columns = ["game", "model", "parameter", "printed", "estimate", "status"]
    return Reproduction(table[[*columns, "printed_negloglik", "negloglik", "difference", "why"]])


def _parts(request: Request) -> list[Part]:
    table = run().table
    shown = table.assign(model=table["model"].mask(table.duplicated(["game", "model"]), ""))
    far = table[table["difference"].abs() > TOLERANCE].drop_duplicates(["game", "model"])
    notes = [
        f"{row.game}, {row.model}: {row.negloglik:.2f} against {row.printed_negloglik:.2f}: "
        + str(row.why or "not explained")
        for row in far.itertuples()
    ]
    heads = {c: c for c in ("game", "model", "parameter", "printed", "estimate", "status")}
    heads |= {"printed_negloglik": "printed -LL", "negloglik": "-LL", "difference": "diff"}
    title = (
        f"Table 3 of Rogers, Palfrey & Camerer 2009; differences in -LL of more than {TOLERANCE} are explained below"
    )
    digits = {"printed_negloglik": 2, "negloglik": 2, "difference": 3}
    return [Part("table3", title, table.assign(model=shown["model"]), heads, digits, 3, notes)]


STUDY = Study(
    name="rpc2009",
    about="Rogers, Palfrey & Camerer 2009: 17 games by Poisson-CH, QRE, TQRE and HQRE",
    parts={"table3": "estimates and likelihoods beside the printed ones"},
    default=("table3",),
    run=_parts,
)
