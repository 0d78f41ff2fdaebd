"""Behavioural models and their registry by command-line name."""

from __future__ import annotations

import dataclasses
import difflib
from typing import Any

from levelkit.errors import UsageError
from levelkit.models.base import GameArrays, Model, Parameter, Prior
from levelkit.models.baselines import Uniform
from levelkit.models.equilibrium import LogitQRE
from levelkit.models.heterogeneous import HeterogeneousQRE
from levelkit.models.introspection import NoisyIntrospection
from levelkit.models.levels import TQRE, LevelK, LevelModel, PoissonCH, QuantalCH, QuantalLevelK
from levelkit.models.tremble import NashTremble

REGISTRY: dict[str, type[Model]] = {
    m.name: m
    for m in (
        TQRE,
        PoissonCH,
        QuantalCH,
        LevelK,
        QuantalLevelK,
        LogitQRE,
        HeterogeneousQRE,
        NoisyIntrospection,
        NashTremble,
        Uniform,
    )
}


def get(name: str, **options: Any) -> Model:
    """A model by its command-line name, with its options. Raises UsageError naming what is close.

    >>> get("tqre", levels=20)
    TQRE(levels=20, belief='hierarchy', population='poisson', tau_max=10.0)
    """
    if name not in REGISTRY:
        near = difflib.get_close_matches(name, REGISTRY, n=1)
        hint = f"did you mean {near[0]}?" if near else f"choose from {', '.join(REGISTRY)}"
        raise UsageError(f"there is no model {name!r}; {hint}")
    kind = REGISTRY[name]
    fields = [f.name for f in dataclasses.fields(kind)]
    unknown = [o for o in options if o not in fields]
    if unknown:
        raise UsageError(f"{name} has no option {unknown[0]!r}; its options are {', '.join(fields) or 'none'}")
    return kind(**options)


__all__ = [
    "REGISTRY",
    "TQRE",
    "GameArrays",
    "HeterogeneousQRE",
    "LevelK",
    "LevelModel",
    "LogitQRE",
    "Model",
    "NashTremble",
    "NoisyIntrospection",
    "Parameter",
    "PoissonCH",
    "Prior",
    "QuantalCH",
    "QuantalLevelK",
    "Uniform",
    "get",
]
