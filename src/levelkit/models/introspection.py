"""Noisy introspection (Goeree & Holt 2004): thinking about thinking, with noise that grows at every step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np

from levelkit.errors import UsageError
from levelkit.models.base import GameArrays, Limit, Model, Parameter, Params, Prior
from levelkit.models.baselines import Uniform
from levelkit.models.levels import LAM
from levelkit.models.responses import SHARPEST, expected_payoffs, logit_response

TELESCOPE = Parameter(
    "t",
    1.0,
    np.inf,
    "log",
    2.0,
    Prior("lognormal", (0.7, 0.7)),
    "growth of noise per step of introspection",
    "ratio",
    (1.05, 30.0),
)


@dataclass(frozen=True)
class NoisyIntrospection(Model):
    """Logit response with noise mu to beliefs that are a logit response with noise mu t to beliefs with mu t^2, ...

    lam = 1 / mu is the precision of the choice itself, t >= 1 how fast noise grows; t = infinity is a logit response to
    uniform play. As t falls to one, play nears a logit equilibrium where introspection converges. steps: after this
    many steps others are taken to play at random; estimates of t close to one depend on it.
    """

    name: ClassVar[str] = "noisy-introspection"
    label: ClassVar[str] = "noisy introspection"

    steps: int = 30

    def __post_init__(self) -> None:
        if not (isinstance(self.steps, int) and 1 <= self.steps <= 1000):
            raise UsageError(f"steps = {self.steps!r}: give a whole number from 1 to 1000")

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """lam and t."""
        return (LAM, TELESCOPE)

    @property
    def limits(self) -> tuple[Limit, ...]:
        """Uniform play."""
        return (Limit(Uniform(), "lam", 0.0),)

    def probabilities(self, game: GameArrays, params: Params) -> tuple[jax.Array, ...]:
        """The last of a chain of responses that starts from uniform play."""
        lam, t = jnp.asarray(params["lam"], float), jnp.asarray(params["t"], float)
        shape = jnp.broadcast_shapes(game.payoff_range.shape, lam.shape)
        lam = jnp.broadcast_to(jnp.minimum(lam, SHARPEST / game.payoff_range), shape)
        shrink = jnp.cumprod(jnp.broadcast_to(1 / t, (self.steps, *shape)), axis=0)
        precision = jnp.concatenate([shrink[::-1], jnp.ones((1, *shape))]) * lam
        uniform = tuple(jnp.full((p.shape[0], *shape), 1.0 / p.shape[0]) for p in game.level0)

        def think(beliefs: Any, sharp: jax.Array) -> tuple[Any, None]:
            payoffs = expected_payoffs(game.payoffs, beliefs)
            return tuple(logit_response(u, sharp, game.payoff_range) for u in payoffs), None

        return jax.lax.scan(think, uniform, precision)[0]
