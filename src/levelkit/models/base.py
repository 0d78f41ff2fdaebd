"""The seam between a theory of play and everything inferred from it.

A model is a frozen dataclass of options that states its `parameters` and, in `probabilities`, how players choose.
It never sees counts. Maximum likelihood, intervals, tables, plots and the command line follow from these two.

Arrays carry their batch *last*: a payoff array is (A_1, ..., A_n, *batch), a probability vector (A_i, *batch), a
parameter (*batch). Written with elementwise operations and sums over leading axes, the same function serves one game
at one parameter, a grid, or thousands of games at once, and XLA vectorises over the contiguous last axis.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple

import numpy as np

from levelkit.errors import UsageError

if TYPE_CHECKING:
    import jax

    from levelkit.choices import Choices
    from levelkit.games import Game

Transform = Literal["log", "logit", "simplex"]

LEVELS, SHARE, PER_PAYOFF = "levels", "share", "1/payoff"


@dataclass(frozen=True)
class Prior:
    """A prior by family name and arguments, in the parameter's own units (precisions: per payoff range)."""

    family: str
    args: tuple[float, ...]

    def __str__(self) -> str:
        return f"{self.family}({', '.join(f'{a:g}' for a in self.args)})"


@dataclass(frozen=True)
class Parameter:
    """One parameter of a model.

    `low` and `high` are the ends of the range that is fitted; 0 and infinity are limits at which the model is still
    defined. `span` is where interior optima are expected and the search is dense, in natural units; for a parameter
    whose `unit` is "1/payoff" it is in units of 1 / (payoff range). `transform` is the scale on which it is
    searched and on which standard errors are symmetric; the members of one `simplex` sum to one.
    """

    name: str
    low: float
    high: float
    transform: Transform
    default: float
    prior: Prior
    label: str
    unit: str
    span: tuple[float, float]

    @property
    def limit(self) -> float:
        """The largest value at which the model is defined; a fit may search less far (`high`)."""
        return np.inf if self.transform == "log" else self.high

    @property
    def is_precision(self) -> bool:
        """Whether it is per payoff unit, so that its value depends on the payoff scale."""
        return self.unit == PER_PAYOFF


@dataclass(frozen=True)
class Limit:
    """A simpler model that this one becomes as a parameter reaches an end of its range."""

    model: Model
    parameter: str
    value: float


class GameArrays(NamedTuple):
    """What a model sees of a game.

    payoffs: one array per agent, (A_1, ..., A_n, *batch). level0: one per agent, (A_i, *batch).
    payoff_range: (*batch), largest minus smallest payoff of the game, used as the yardstick for ties.
    extra: what the model's `prepare` computed once for the game.
    """

    payoffs: tuple[jax.Array, ...]
    level0: tuple[jax.Array, ...]
    payoff_range: jax.Array
    extra: Any = ()


Params = Mapping[str, "jax.Array"]


@dataclass(frozen=True)
class Model:
    """Base of all behavioural models. Subclasses set `name` and `label` and define `parameters` and `probabilities`."""

    name: ClassVar[str]
    label: ClassVar[str]

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """The parameters, in the order in which tables show them."""
        raise TypeError(f"{type(self).__name__} must state its parameters")

    def probabilities(self, game: GameArrays, params: Params) -> tuple[jax.Array, ...]:
        """Choice probabilities, one (A_i, *batch) array per agent; finite and smooth at every legal parameter."""
        raise TypeError(f"{type(self).__name__} must state its probabilities")

    def prepare(self, games: Sequence[Game]) -> Any:
        """What is computed once for each game, whatever the parameters: a pytree of arrays, games along the last axis.

        games: of one shape. The model finds it in `GameArrays.extra`; it must not depend on the unit of payoffs.
        """
        return ()

    def gathered(self, extra: Any, which: jax.Array) -> Any:
        """What `prepare` made of some of its games (batch,), for `GameArrays.extra`; games may repeat."""
        import jax

        return jax.tree.map(lambda array: array[..., which], extra)

    def variants(self, games: Sequence[Game]) -> tuple[Model, ...]:
        """The members of a family told apart by a choice, not by a number (which equilibrium): each is fitted, the best
        one counts.
        """
        return (self,)

    @property
    def core(self) -> Model:
        """What is compiled: variants that differ only in what they prepare share it."""
        return self

    def elsewhere(self, game: Game, counts: np.ndarray, above: float) -> tuple[dict[str, float], float] | None:
        """A prediction that the parameters alone do not single out (another equilibrium) and that fits counts (W,)
        better than any other, and than `above`: parameters and log-likelihood; None where there is none.
        """
        return None

    @property
    def limits(self) -> tuple[Limit, ...]:
        """The simpler models nested in this one, for likelihood-ratio tests."""
        return ()

    @property
    def is_smooth(self) -> bool:
        """Whether probabilities change slowly with the parameters, so that a coarse search finds all optima."""
        return False

    @property
    def is_jumpy(self) -> bool:
        """Whether probabilities jump as parameters move (best responses), so that derivatives do not tell the
        optimum.
        """
        return False

    @property
    def depth(self) -> str | None:
        """Name of the parameter that governs the population of levels, or None when the model has no levels."""
        return None

    def mean_level(self, params: Mapping[str, Any]) -> Any:
        """Mean level of the truncated population; only for models of the level family."""
        raise UsageError(f"{self.label} has no levels")

    def with_levels(self, levels: int) -> Model:
        """The same model with another highest level; only for models of the level family."""
        raise UsageError(f"{self.label} has no levels")

    def options(self) -> dict[str, Any]:
        """The model's options by name."""
        return {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}

    def check(self, params: Mapping[str, float]) -> dict[str, float]:
        """Validate values given by a user: known names, none missing, within range. Raises UsageError."""
        names = [p.name for p in self.parameters]
        unknown = [n for n in params if n not in names]
        missing = [n for n in names if n not in params]
        if unknown or missing:
            problem = f"does not have {', '.join(unknown)}" if unknown else f"needs {', '.join(missing)}"
            raise UsageError(f"{self.label} {problem}; its parameters are {', '.join(names) or 'none'}")
        checked = {}
        for p in self.parameters:
            value = float(params[p.name])
            high = p.limit
            if not p.low <= value <= high:
                raise UsageError(f"{p.name} = {value:g} is outside [{p.low:g}, {high:g}]")
            checked[p.name] = value
        shares = [checked[p.name] for p in self.parameters if p.transform == "simplex"]
        if shares and abs(sum(shares) - 1) > 1e-8:
            raise UsageError(f"the shares of {self.label} sum to {sum(shares):.6g}; make them sum to 1")
        return checked

    def predict(self, game: Game, **params: float) -> dict[str, np.ndarray]:
        """Choice probabilities in one game: {player: (A_i,) array}.

        Precisions are per unit of the game's payoffs. Infinite precision and tau are the limits. Raises UsageError for
        unknown, missing or impossible values.

        >>> import levelkit as lk
        >>> lk.TQRE().predict(lk.game("sw10"), tau=1.5, gamma=0.05)["player 1"].round(4).tolist()
        [0.4157, 0.2281, 0.3562]
        """
        from levelkit.inference.kernels import predict

        return dict(zip(game.players, predict(self, game, self.check(params)), strict=True))

    def loglik(self, choices: Choices, scale: str = "raw", **params: float) -> float:
        """Log-likelihood (nats) of all cells together at given values; the multinomial constant is left out."""
        from levelkit.inference.fit import loglik

        return loglik(choices, self, self.check(params), scale=scale)
