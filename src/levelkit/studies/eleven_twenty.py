"""Kader and Lee 2024: a cognitive hierarchy in the 11-20 game, six language models and people.

Their model was found from their numbers. Types 0 to 4 and "5 or more" have Poisson(tau) shares. Type 0 asks for any
amount with equal chance, type 1 for 20, and each further type for one less than the rounded mean of what types 1 and up
below it ask for, weighted as Poisson types 0 and up. As tau moves, a rounded mean jumps, and so does the likelihood.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from levelkit.datafiles import data_path
from levelkit.inference.fit import fit
from levelkit.models import TQRE, PoissonCH
from levelkit.shipped import shipped_choices
from levelkit.studies.base import Part, Request, Study, estimate_text

LOW, HIGH, TOP = 11, 20, 5
TOLERANCE = 0.02
REPLICATES = 1000
_GRID = np.concatenate([[0.0], np.geomspace(1e-6, 0.05, 40), np.linspace(0.055, 8.0, 7946)])
_FLOOR = 1e-300
_JUMP = 0.25  # nats; a larger step between neighbours of the grid is a jump


def requests(tau: np.ndarray) -> np.ndarray:
    """What types 1 to 5 ask for, (5, m)."""
    weights = _poisson_terms(tau)
    asked = [np.full(len(tau), float(HIGH))]
    for _ in range(1, TOP):
        below = np.array(asked)
        mean = (weights[: len(below)] * below).sum(axis=0) / weights[: len(below)].sum(axis=0)
        asked.append(np.maximum(np.floor(mean + 0.5) - 1, LOW))
    return np.array(asked)


def probabilities(tau: np.ndarray) -> np.ndarray:
    """Chances of the requests 11 to 20, (10, m)."""
    tau = np.asarray(tau, float)
    shares = np.exp(-tau) * _poisson_terms(tau)
    shares[-1] = np.maximum(1 - shares[:-1].sum(axis=0), 0)
    play = np.tile(shares[0] / (HIGH - LOW + 1), (HIGH - LOW + 1, 1))
    for share, asked in zip(shares[1:], requests(tau), strict=True):
        play[asked.astype(int) - LOW, np.arange(len(tau))] += share
    return play


def loglik(counts: np.ndarray, tau: np.ndarray) -> np.ndarray:
    """Log-likelihood of counts (..., 10) at each tau, (..., m)."""
    return counts @ np.log(np.maximum(probabilities(tau), _FLOOR))


def _poisson_terms(tau: np.ndarray) -> np.ndarray:
    factorials = np.array([1.0, 1, 2, 6, 24, 120])
    return tau ** np.arange(TOP + 1.0)[:, None] / factorials[:, None]


def published() -> pd.DataFrame:
    """Their estimates: game, model, temperature, tau, low, high."""
    return pd.read_csv(data_path("published/kader_lee_ch.csv"))


def observed() -> pd.DataFrame:
    """Counts of the requests 11 to 20, a row for each game, model and temperature; people without a temperature."""
    parts = []
    for name in ("llm_eleven_twenty", "eleven_twenty"):
        choices = shipped_choices(name)
        for i in range(len(choices)):
            row = {"model": "people", "temperature": np.nan} | dict(choices.cells.iloc[i])
            parts.append(row | {"counts": choices.counts_for(i)[0]})
    frame = pd.DataFrame(parts)
    return frame.assign(temperature=frame["temperature"].astype(float))


def run(replicates: int = REPLICATES, seed: int = 0) -> pd.DataFrame:
    """Everything again: published and best tau and interval, likelihoods, verdict; the general models beside them."""
    table = published().merge(observed(), on=["game", "model", "temperature"], how="left", validate="1:1")
    counts = np.stack(table["counts"].to_list())
    values = loglik(counts, _GRID)
    best = values.argmax(axis=1)
    rng = np.random.default_rng(seed)
    rows = []
    for i, row in enumerate(table.to_dict("records")):
        at = float(loglik(counts[i], np.array([row["tau"]]))[0])
        piece = _piece(row["tau"])
        low, high, piece_low, piece_high = _intervals(counts[i], piece, replicates, rng)
        rows.append(
            {
                "n": counts[i].sum(),
                "best": _GRID[best[i]],
                "best_low": low,
                "best_high": high,
                "piece_low": piece_low,
                "piece_high": piece_high,
                "loglik_published": at,
                "loglik_best": float(values[i, best[i]]),
                "verdict": _verdict(row["tau"], _GRID[best[i]], values[i], piece),
                "at_jump": _at_jump(values[i], int(best[i])),
            }
        )
    found = pd.concat([table.drop(columns="counts"), pd.DataFrame(rows)], axis=1)
    found["agrees"] = (found["tau"] - found["best"]).abs() <= TOLERANCE
    for name in ("best", "piece"):
        off = [(found[end] - found[f"{name}_{end}"]).abs() for end in ("low", "high")]
        found[f"{name}_interval_agrees"] = (off[0] <= TOLERANCE) & (off[1] <= TOLERANCE)
    return found.merge(_proper(), on=["game", "model", "temperature"], how="left")


def _piece(tau: float) -> slice:
    """The part of the grid around tau on which all types ask for the same, so that the likelihood is smooth."""
    asked, here = requests(_GRID), int(np.abs(_GRID - tau).argmin())
    other = np.flatnonzero((asked != asked[:, [here]]).any(axis=0))
    before, after = other[other < here], other[other > here]
    return slice(int(before[-1]) + 1 if len(before) else 0, int(after[0]) if len(after) else len(_GRID))


def _verdict(tau: float, best: float, values: np.ndarray, piece: slice) -> str:
    """Whether the published tau is the best fit of their model, the best of its smooth piece, or neither."""
    if abs(tau - best) <= TOLERANCE:
        return "global optimum"
    top = _GRID[piece][values[piece].argmax()]
    return "local optimum" if abs(tau - top) <= TOLERANCE else "no optimum"


def _at_jump(values: np.ndarray, best: int) -> bool:
    """Whether the likelihood drops at once next to its largest value."""
    beside = values[[max(best - 1, 0), min(best + 1, len(values) - 1)]]
    return bool((values[best] - beside > _JUMP).any())


def _intervals(
    counts: np.ndarray, piece: slice, replicates: int, rng: np.random.Generator
) -> tuple[float, float, float, float]:
    """95% percentile intervals of the best tau over resampled choices: of all tau, and of those on the piece."""
    drawn = rng.multinomial(int(counts.sum()), counts / counts.sum(), size=replicates)
    values = loglik(drawn, _GRID)
    best = _GRID[values.argmax(axis=1)], _GRID[piece][values[:, piece].argmax(axis=1)]
    low, high, piece_low, piece_high = (float(q) for b in best for q in np.quantile(b, [0.025, 0.975]))
    return low, high, piece_low, piece_high


def _proper() -> pd.DataFrame:
    """tau of the Poisson cognitive hierarchy and of truncated QRE, with intervals and statuses."""
    parts = []
    for name, by in (("llm_eleven_twenty", ["model", "temperature", "game"]), ("eleven_twenty", ["game"])):
        wide: pd.DataFrame | None = None
        for label, model in (("ch", PoissonCH()), ("tqre", TQRE())):
            frame = fit(shipped_choices(name), model, by, sensitivity=False).frame()
            own = frame.loc[frame["parameter"] == "tau", [*by, "estimate", "low", "high", "status"]]
            own = own.rename(columns={c: f"{label}_{c}" for c in ("estimate", "low", "high", "status")})
            wide = own if wide is None else wide.merge(own, on=by)
        assert wide is not None
        parts.append(wide if "model" in wide else wide.assign(model="people", temperature=np.nan))
    frame = pd.concat(parts, ignore_index=True)
    return frame.assign(temperature=frame["temperature"].astype(float))


def _parts(request: Request) -> list[Part]:
    found = run()
    best = _with_interval(found, "best", "best_low", "best_high")
    shown = found.assign(
        game=found["game"].str.removeprefix("eleven_twenty_"),
        temperature=["" if np.isnan(t) else f"{t:g}" for t in found["temperature"]],
        printed=_with_interval(found, "tau", "low", "high"),
        ours=[t + " |" * j for t, j in zip(best, found["at_jump"], strict=True)],
        gain=(found["loglik_best"] - found["loglik_published"]).round(2) + 0.0,  # no "-0.00"
        ch=_with_interval(found, "ch_estimate", "ch_low", "ch_high", "ch_status"),
        tqre=_with_interval(found, "tqre_estimate", "tqre_low", "tqre_high", "tqre_status"),
    )
    agree, whole = int(found["agrees"].sum()), int((found["agrees"] & found["best_interval_agrees"]).sum())
    other = found[~found["agrees"]]
    notes = [
        f"{agree} of {len(found)} taus agree to {TOLERANCE} with the best fit of the model found from the numbers; "
        f"in {whole} of these {agree} both ends of the bootstrap interval do, too.",
        *(_lesser(row) for row in other.itertuples()),
        *(_narrower(row) for row in found[found["agrees"] & ~found["best_interval_agrees"]].itertuples()),
        "|: the best tau is where a rounded mean jumps; the likelihood falls at once beyond it, and the value is the "
        "place of the jump whatever the choices.",
        "CH and TQRE are the models of this package, with uniform level 0 and best or logit replies to payoffs.",
    ]
    heads = {
        "game": "game",
        "model": "model",
        "temperature": "temp",
        "printed": "printed",
        "ours": "best fit, their model",
    }
    heads |= {"gain": "nats", "verdict": "printed is a", "ch": "CH", "tqre": "TQRE"}
    title = "Kader & Lee 2024, 11-20 game: tau with 95% intervals, printed, computed again, and by the general models"
    return [Part("table", title, shown, heads, {"gain": 2}, 5, notes)]


def _named(row: Any) -> str:
    game = str(row.game).removeprefix("eleven_twenty_")
    return f"{row.model}, {game}" + ("" if np.isnan(row.temperature) else f", {row.temperature:g}")


def _lesser(row: Any) -> str:
    what = {"local optimum": "a lesser optimum", "no optimum": "no optimum"}[row.verdict]
    gain = row.loglik_best - row.loglik_published
    return (
        f"{_named(row)}: printed {row.tau:.3f} is {what} of that model; {row.best:.3f} fits better by {gain:.1f} nats"
    )


def _narrower(row: Any) -> str:
    printed, own = f"[{row.low:.3f}, {row.high:.3f}]", f"[{row.best_low:.3f}, {row.best_high:.3f}]"
    return f"{_named(row)}: the interval is printed {printed}, ours is {own}: {_why(row)}"


def _why(row: Any) -> str:
    if row.piece_interval_agrees:
        own = f"[{row.piece_low:.3f}, {row.piece_high:.3f}]"
        return f"a search that stays on the smooth piece where the printed tau lies gives {own}, within {TOLERANCE:g}"
    return "not explained; a search that stays on one smooth piece does not give it either"


def _with_interval(frame: pd.DataFrame, value: str, low: str, high: str, status: str = "") -> list[str]:
    said = frame[status] if status else [""] * len(frame)
    columns = zip(frame[value], frame[low], frame[high], said, strict=True)
    return [estimate_text(*one, digits=3) for one in columns]


STUDY = Study(
    name="eleven-twenty",
    about="Kader & Lee 2024: six language models and people in the 11-20 game, a cognitive hierarchy of its own kind",
    parts={"table": "tau and bootstrap intervals beside the printed ones and beside the general models"},
    default=("table",),
    run=_parts,
)
