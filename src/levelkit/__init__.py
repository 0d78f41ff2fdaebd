"""levelkit: how deeply do players reason? Honest estimates of reasoning levels and precision from what they chose.

Importing this package imports nothing heavy; each name loads what it needs when first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_WHERE = {
    "Choices": "levelkit.choices",
    "read_choices": "levelkit.choices",
    "shipped_choices": "levelkit.choices",
    "shipped_sets": "levelkit.choices",
    "Game": "levelkit.games",
    "read_games": "levelkit.games",
    "write_games": "levelkit.games",
    "game": "levelkit.games",
    "library": "levelkit.games",
    "library_sets": "levelkit.games",
    "equilibria": "levelkit.solve",
    "fit": "levelkit.inference.fit",
    "posterior": "levelkit.inference.bayes",
    "Posterior": "levelkit.inference.posteriors",
    "read_posterior": "levelkit.inference.posteriors",
    "prior_predictive": "levelkit.inference.prior_predictive",
    "compare": "levelkit.inference.compare",
    "Comparison": "levelkit.inference.compare",
    "bootstrap": "levelkit.inference.bootstrap",
    "Bootstrap": "levelkit.inference.bootstrap",
    "equality": "levelkit.inference.equality",
    "regress": "levelkit.inference.regress",
    "Regression": "levelkit.inference.regress",
    "restrictiveness": "levelkit.inference.compare",
    "empirical_payoffs": "levelkit.inference.empirical",
    "Fits": "levelkit.inference.results",
    "Status": "levelkit.inference.status",
    "identification": "levelkit.inference.design",
    "power": "levelkit.inference.power",
    "needed": "levelkit.inference.power",
    "next_games": "levelkit.inference.power",
    "level_play": "levelkit.inference.design",
    "play_by_level": "levelkit.inference.design",
    "Model": "levelkit.models",
    "Parameter": "levelkit.models",
    "TQRE": "levelkit.models",
    "PoissonCH": "levelkit.models",
    "QuantalCH": "levelkit.models",
    "LevelK": "levelkit.models",
    "QuantalLevelK": "levelkit.models",
    "LogitQRE": "levelkit.models",
    "HeterogeneousQRE": "levelkit.models",
    "NoisyIntrospection": "levelkit.models",
    "NashTremble": "levelkit.models",
    "Uniform": "levelkit.models",
    "DataError": "levelkit.errors",
    "LevelkitError": "levelkit.errors",
    "UsageError": "levelkit.errors",
}

__all__ = ["__version__", *_WHERE]

if TYPE_CHECKING:
    from levelkit.choices import Choices, read_choices, shipped_choices, shipped_sets
    from levelkit.errors import DataError, LevelkitError, UsageError
    from levelkit.gamefiles import read_games, write_games
    from levelkit.games import Game, game, library, library_sets
    from levelkit.inference.bayes import posterior
    from levelkit.inference.bootstrap import Bootstrap, bootstrap
    from levelkit.inference.compare import Comparison, compare, restrictiveness
    from levelkit.inference.design import identification, level_play, play_by_level
    from levelkit.inference.empirical import empirical_payoffs
    from levelkit.inference.equality import equality
    from levelkit.inference.fit import fit
    from levelkit.inference.posteriors import Posterior, read_posterior
    from levelkit.inference.power import needed, next_games, power
    from levelkit.inference.prior_predictive import prior_predictive
    from levelkit.inference.regress import Regression, regress
    from levelkit.inference.results import Fits
    from levelkit.inference.status import Status
    from levelkit.models import (
        TQRE,
        HeterogeneousQRE,
        LevelK,
        LogitQRE,
        Model,
        NashTremble,
        NoisyIntrospection,
        Parameter,
        PoissonCH,
        QuantalCH,
        QuantalLevelK,
        Uniform,
    )
    from levelkit.solve import equilibria


def __getattr__(name: str) -> Any:
    if name in _WHERE:
        value = getattr(importlib.import_module(_WHERE[name]), name)
        globals()[name] = value
        return value
    if name in ("models", "depth", "observer", "studies"):
        return importlib.import_module(f"levelkit.{name}")
    raise AttributeError(f"module 'levelkit' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
