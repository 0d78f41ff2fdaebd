"""The floor of every comparison: players who choose at random. (The ceiling, observed frequencies, is no model: it
sees counts.)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import jax
import jax.numpy as jnp

from levelkit.models.base import GameArrays, Model, Parameter, Params


@dataclass(frozen=True)
class Uniform(Model):
    """Every action with the same probability; no parameters."""

    name: ClassVar[str] = "uniform"
    label: ClassVar[str] = "uniform play"

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """None."""
        return ()

    def probabilities(self, game: GameArrays, params: Params) -> tuple[jax.Array, ...]:
        """1 / A_i for every action."""
        return tuple(jnp.full_like(p, 1.0 / p.shape[0]) for p in game.level0)
