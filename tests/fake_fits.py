"""Made-up fits with every status and every awkward number: what tables and figures must cope with, without
fitting anything.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd

from levelkit.models import TQRE, Model, PoissonCH

NAN, INF = np.nan, np.inf

# (estimate, se, low, high, status) of tau and gamma, one line a cell; a new status must be added here
CASES = [
    ((1.5417, 0.1216, 1.3103, 1.7899, "ok"), (0.1130, 0.0098, 0.0951, 0.1343, "ok")),
    ((2.3571, 0.3301, 1.7502, 3.0888, "ok"), (INF, NAN, 1.2201, INF, "boundary")),
    ((0.0, NAN, 0.0, 0.4123, "boundary"), (NAN, NAN, 0.0, INF, "flat")),
    ((NAN, NAN, 0.0, INF, "flat"), (NAN, NAN, 0.0, INF, "flat")),
    ((10.0, NAN, 2.1043, INF, "boundary"), (0.00021, 0.00003, 0.00015, 0.00034, "ok")),
    ((0.7521, 0.3004, 0.2811, 4.9034, "multimodal"), (3.2041, 2.1174, 0.5110, INF, "multimodal")),
    ((4.1049, 0.8850, 2.6021, 6.4470, "ok"), (12345.6, 802.2, 10800.0, 14100.0, "ok")),
    ((0.3310, 0.0800, 0.1900, 0.5120, "flat"), (0.0, NAN, 0.0, 0.0213, "boundary")),
]

NASTY = (
    "claude-3-5-sonnet-20240620-temperature-0.7-with-a-very-long-suffix-A",
    "claude-3-5-sonnet-20240620-temperature-0.7-with-a-very-long-suffix-B",
    "<script>alert('x')</script>",
    "tab\tand\nnewline",
    "日本語のとても長いモデルの名前、幅が二倍になる文字",
    "a|b & c_d % $e# {f} ~g^h \\i",
    "",
    "\x1b[31mred\x1b[0m",
)


def hill(tau: np.ndarray, gamma: np.ndarray) -> np.ndarray:
    """A curved ridge with its top, -40, at (1.54, 0.113), levelling off towards all limits."""
    u, v = np.log(np.maximum(tau, 0.02) / 1.54), np.log(np.clip(gamma, 3e-4, 30) / 0.113)
    return -40 - 30 * np.tanh(((v + 0.8 * u + 0.2 * u**2) ** 2) / 12 + u**2 / 14)


@dataclass(frozen=True)
class FakeFits:
    """Answers like `levelkit.inference.fit.Fits`."""

    keys: pd.DataFrame
    cases: list[tuple[tuple[Any, ...], ...]]
    model: Model = field(default_factory=TQRE)
    scale: str = "raw"
    interval: float = 0.95
    no_choice: float = 0.0
    fractional: bool = False

    @property
    def by(self) -> tuple[str, ...]:
        return tuple(self.keys.columns)

    @property
    def interval_kind(self) -> str:
        return "profile likelihood"

    @property
    def choices(self) -> Any:
        games = {
            "sw10": SimpleNamespace(payoff_range=80.0, name="sw10"),
            "pd": SimpleNamespace(payoff_range=5.0, name="pd"),
        }
        counts = np.full((len(self), 6), 10.25 if self.fractional else 10.0)
        return SimpleNamespace(games=games, counts=counts, problems=self.problems, n=counts.sum(axis=1))

    @property
    def problems(self) -> Any:
        return SimpleNamespace(
            text=lambda: "nothing was set aside, nothing to note", n_set_aside=0, frame=pd.DataFrame()
        )

    def __len__(self) -> int:
        return len(self.keys)

    def _n(self) -> np.ndarray:
        return 12.0 + 48 * (np.arange(len(self)) % 5)

    def frame(self) -> pd.DataFrame:
        names = [p.name for p in self.model.parameters]
        rows = []
        for i, case in enumerate(self.cases):
            for name, (estimate, se, low, high, status) in zip(names, case, strict=True):
                unit = "levels" if name == "tau" else "1/payoff"
                rows.append((i, name, estimate, se, low, high, status, self._n()[i], -40.125 - i, unit))
        names = ["parameter", "estimate", "se", "low", "high", "status", "n", "loglik", "unit"]
        body = pd.DataFrame(rows, columns=["at", *names])
        head = self.keys.iloc[body.pop("at").to_numpy(dtype=int)].reset_index(drop=True)
        return pd.concat([head, body], axis=1)

    def stats(self) -> pd.DataFrame:
        order = ("ok", "multimodal", "boundary", "flat")
        worst = [max((values[4] for values in case), key=order.index) for case in self.cases]
        m = len(self)
        none = np.where(np.arange(m) % 2 == 0, self.no_choice, 0.0)
        mean = np.array([np.nan if w == "flat" else 1.2 + 0.1 * (i % 7) for i, w in enumerate(worst)])
        return self.keys.assign(
            n=self._n(),
            no_choice=none,
            games=1,
            loglik=-40.125 - np.arange(m),
            loglik_uniform=-52.73,
            loglik_saturated=-39.0 - np.arange(m),
            multinomial_constant=11.5,
            free=len(self.model.parameters),
            aic=84.25,
            bic=88.0,
            gain=0.2,
            completeness=np.where(np.array(worst) == "flat", np.nan, 0.91),
            status=worst,
            mean_level=mean,
            mean_level_se=0.1,
            mean_level_low=1.0,
            mean_level_high=3.0,
            mean_level_shift=[1.3 if w == "boundary" else 0.001 for w in worst],
            optima=[2 if w == "multimodal" else 1 for w in worst],
            others=["tau=3.9, gamma=0.11 (-0.42)" if w == "multimodal" else "" for w in worst],
            note=["the likelihood is constant along a ridge: 2x2" if w == "flat" else "" for w in worst],
        )

    def predict(self) -> pd.DataFrame:
        rng = np.random.default_rng(5)
        parts = []
        for i in range(len(self)):
            p = rng.dirichlet([2.0, 2.0, 1.0])
            n = int(self._n()[i])
            observed = rng.multinomial(n, p) / n
            part = pd.DataFrame(
                {
                    "game": "sw10",
                    "player": "player 1",
                    "action": ["top", "middle <b>", "bottom"],
                    "n": float(n),
                    "observed": observed,
                    "predicted": p,
                }
            )
            head = self.keys.drop(columns="game", errors="ignore").iloc[[i] * 3].reset_index(drop=True)
            parts.append(pd.concat([head, part], axis=1))
        return pd.concat(parts, ignore_index=True)

    @property
    def fixed(self) -> dict[str, float]:
        return {}

    @property
    def representative(self) -> np.ndarray:
        return np.arange(len(self))

    @property
    def likelihood(self) -> Any:
        return SimpleNamespace(value=lambda unit, params: hill(params[0], params[1]))

    def surface(self, unit: int = 0) -> Any:
        x = np.concatenate([[0], np.geomspace(0.05, 10, 40)])
        y = np.concatenate([[0], np.geomspace(1e-3, 10, 60), [INF]])
        return SimpleNamespace(
            names=("tau", "gamma"),
            units=("levels", "1/payoff"),
            x=x,
            y=y,
            loglik=hill(x[:, None], y[None, :]),
            best=(1.54, 0.113),
            cutoff=-40 - 1.9207,
        )

    def profile(self, unit: int = 0, parameter: str | None = None) -> pd.DataFrame:
        value = np.concatenate([[0], np.geomspace(0.05, 10, 80)])
        loglik = -40 - 6 * np.log(np.maximum(value, 0.03) / 1.54) ** 2
        return pd.DataFrame({"value": value, "loglik": loglik})


def fake(n: int = 8, names: Sequence[object] | None = None, **options: Any) -> FakeFits:
    """`n` cells by model and game, cycling through all cases."""
    models = list(names) if names is not None else [f"model {chr(65 + i % 26)}{i // 26 or ''}" for i in range(n)]
    keys = pd.DataFrame({"model": models[:n], "game": [("sw10", "pd")[i % 2] for i in range(n)]})
    return FakeFits(keys, [CASES[i % len(CASES)] for i in range(n)], **options)


def one(**options: Any) -> FakeFits:
    """Everything pooled: one cell, no grouping columns."""
    return FakeFits(pd.DataFrame(index=range(1)), [CASES[0]], **options)


def one_parameter(n: int = 4) -> FakeFits:
    """A model with one parameter only."""
    fits = fake(n)
    return FakeFits(fits.keys, [(case[0],) for case in fits.cases], model=PoissonCH())
