"""What a design can tell before anybody plays: errors, statuses and intervals by simulation, the n that is needed, and
which further game would tell most.

All of it is at parameters that are supposed to be true. Expected information is local: it knows nothing of a second
optimum or of an end of the range, which the simulated fits do; where the two disagree, believe the simulation.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from levelkit.choices import Choices
from levelkit.errors import UsageError
from levelkit.games import Game, game, library
from levelkit.inference.checks import scale as check_scale
from levelkit.inference.design import simplex_basis
from levelkit.inference.fit import fit
from levelkit.inference.kernels import Array, payoff_unit
from levelkit.inference.likelihood import Likelihood, group
from levelkit.inference.objective import slope
from levelkit.inference.status import Status
from levelkit.models.base import Model, Parameter
from levelkit.models.levels import TQRE

Progress = Callable[[int, int], None]
Games = Sequence[Game | str] | Game | str

REPLICATES = 500
MOST = 20_000
"""The largest n, per player and game, that `needed` tries."""

_WORDS = [s.word for s in Status]
_VOID = 1e-9  # information in a direction, relative to the largest, below which there is none
_CLOSE = 1.05  # n is found to within this ratio


@dataclass(frozen=True, eq=False)
class Power:
    """What fits of simulated choices look like.

    n: choices of each observed player in each game. se: expected standard errors in natural units, infinite where the
    design does not identify a parameter. fits: the simulated fits, one row for each replicate and parameter.
    """

    model: Model
    games: tuple[Game, ...]
    truth: Mapping[str, float]
    n: int
    scale: str
    interval: float
    replicates: int
    se: Mapping[str, float]
    fits: pd.DataFrame

    def frame(self) -> pd.DataFrame:
        """One row for each parameter.

        parameter, unit, truth, n, choices (in all), se (expected), the shares of fits that end ok, multimodal,
        boundary and flat, bounded (share of intervals with both ends inside the range), covered (share that hold the
        truth), estimate, low, high (medians over the fits; inf where half of them have no bound).
        """
        free = _choices_per_game(self.games)
        rows = []
        for name, own in self.fits.groupby("parameter", sort=False):
            truth = self.truth[str(name)]
            within = (own["low"] <= truth) & (truth <= own["high"])
            row: dict[str, object] = {"parameter": name, "unit": own["unit"].iloc[0], "truth": truth, "n": self.n}
            row |= {"choices": self.n * free, "se": self.se[str(name)]}
            row |= {word: float((own["status"] == word).mean()) for word in _WORDS}
            row |= {"bounded": float(_bounded(own).mean()), "covered": float(within.mean())}
            row |= {c: _median(own[c].to_numpy()) for c in ("estimate", "low", "high")}
            rows.append(row)
        return pd.DataFrame(rows)


def power(
    games: Games,
    model: Model | None = None,
    *,
    n: int,
    scale: str = "range",
    interval: float = 0.95,
    replicates: int = REPLICATES,
    seed: int = 0,
    progress: Progress | None = None,
    **params: float,
) -> Power:
    """How well the games, played n times by each player, pooled, would determine a model's parameters.

    params: the supposed truth, such as tau=1.5, gamma=3; precisions per payoff range, or per payoff unit with
    scale="raw".

    Raises:
        UsageError: parameters missing or impossible, n or replicates no positive whole number, unknown game or scale.

    >>> import levelkit as lk
    >>> lk.power("stag_hunt_base", n=50, tau=1.5, gamma=3, replicates=20).frame()["flat"].tolist()
    [1.0, 1.0]
    """
    chosen, model = _games(games), model or TQRE()
    truth = _checked(model, params, scale)
    _whole(n=n, replicates=replicates)
    choices = simulated(chosen, model, truth, n, scale, replicates, seed)
    fits = fit(choices, model, "draw", scale=scale, interval=interval, sensitivity=False, progress=progress)
    information = n * _information(chosen, model, truth, scale).sum(axis=0)
    return Power(model, chosen, truth, n, scale, interval, replicates, _errors(model, truth, information), fits.frame())


@dataclass(frozen=True, eq=False)
class Needed:
    """The smallest n found.

    n: choices of each player in each game; None where it is not reached. tried: n and the share of replicates that
    succeeded. why: a sentence.
    """

    n: int | None
    tried: pd.DataFrame
    why: str


def needed(
    games: Games,
    model: Model | None = None,
    *,
    aim: float = 0.8,
    within: float | None = None,
    parameter: str | None = None,
    scale: str = "range",
    interval: float = 0.95,
    replicates: int = REPLICATES,
    seed: int = 0,
    progress: Progress | None = None,
    **params: float,
) -> Needed:
    """The smallest n, to within 5%, with which a share `aim` of simulated fits succeeds.

    A fit succeeds where the status of the parameter (default: the model's first) is ok and, if `within` is given, its
    interval's upper end is at most `within` times its lower end. Raises UsageError as `power` does, and for an aim
    outside (0, 1) or a ratio not above 1.
    """
    chosen, model = _games(games), model or TQRE()
    truth = _checked(model, params, scale)
    if not 0 < aim < 1:
        raise UsageError(f"aim = {aim:g}: give a share between 0 and 1")
    if within is not None and not within > 1:
        raise UsageError(f"within = {within:g}: give a ratio of interval ends above 1, such as 3")
    names = [p.name for p in model.parameters]
    if not names or (parameter is not None and parameter not in names):
        raise UsageError(f"{model.label} has no {parameter or 'parameters'}; there are {', '.join(names) or 'none'}")
    target = parameter or names[0]
    error = _errors(model, truth, _information(chosen, model, truth, scale).sum(axis=0))[target]
    columns = ["n", "share"]
    if np.isinf(error):
        why = f"{target} is not identified from these games at these values, at any n"
        return Needed(None, pd.DataFrame(columns=columns), why)
    tried: dict[int, float] = {}

    def share(n: int) -> float:
        if n not in tried:
            choices = simulated(chosen, model, truth, n, scale, replicates, seed)
            frame = fit(choices, model, "draw", scale=scale, interval=interval, sensitivity=False).frame()
            own = frame[frame["parameter"] == target]
            good = own["status"] == "ok"
            if within is not None:
                good &= _bounded(own) & (own["high"] <= within * own["low"])
            tried[n] = float(good.mean())
            if progress is not None:
                progress(len(tried), 0)
        return tried[n]

    low, high = 0, 10
    while share(high) < aim and high < MOST:
        low, high = high, min(2 * high, MOST)
    reached = share(high) >= aim
    while reached and high - low > 1 and high > _CLOSE * max(low, 1):
        middle = (low + high) // 2
        low, high = (low, middle) if share(middle) >= aim else (middle, high)
    frame = pd.DataFrame(sorted(tried.items()), columns=columns)
    bound = "" if within is None else f" with an interval whose ends are at most {within:g} times apart"
    what = f"{aim:.0%} of fits have one answer for {target} inside its range{bound}"
    if not reached:
        top = frame["share"].max()
        return Needed(None, frame, f"not reached: of {what}, {top:.0%} at most up to n = {MOST:,} per player and game")
    return Needed(high, frame, f"with n = {high:,} per player and game {what}")


def next_games(
    base: Games | None = None,
    model: Model | None = None,
    *,
    candidates: Games | None = None,
    steps: int = 1,
    by: str = "D",
    n: int = 30,
    scale: str = "range",
    **params: float,
) -> pd.DataFrame:
    """Which further games tell most, one after another: greedy choice by expected information at supposed parameters.

    base: games already in the design. candidates: default all of the library. by: "D" (largest determinant of the
    information), "A" (smallest sum of squared errors on the searched scales, such as log tau), or a parameter's name
    (smallest error). n: choices of each player in each game.

    Returns one row for each step and candidate, best first: step, rank, game, choices (that the game adds), se_<name>
    for each parameter (natural units, after the game is added, inf where not identified), logdet.
    """
    model = model or TQRE()
    truth = _checked(model, params, scale)
    names = [p.name for p in model.parameters]
    if by not in ("D", "A", *names):
        raise UsageError(f"by = {by!r}: choose D, A, {', '.join(names)}")
    _whole(n=n, steps=steps)
    known = _games(base) if base else ()
    pool = list(_games(candidates) if candidates is not None else library().values())
    pool = [g for g in pool if g.name not in {k.name for k in known}]
    made = n * _information(tuple(pool), model, truth, scale)
    have = n * _information(known, model, truth, scale).sum(axis=0) if known else np.zeros(made.shape[1:])
    rows = []
    left = list(range(len(pool)))
    for step in range(1, steps + 1):
        if not left:
            break
        told = []
        for i in left:
            whole = have + made[i]
            errors = _errors(model, truth, whole)
            row: dict[str, object] = {"step": step, "game": pool[i].name, "choices": n * _choices_per_game((pool[i],))}
            row |= {f"se_{k}": v for k, v in errors.items()}
            told.append((_merit(model, truth, whole, by), i, row | {"logdet": _logdet(model, whole)}))
        told.sort(key=lambda one: -one[0])
        rows += [{**row, "rank": r} for r, (_, _, row) in enumerate(told, start=1)]
        have = have + made[told[0][1]]
        left.remove(told[0][1])
    columns = ["step", "rank", "game", "choices", *(f"se_{k}" for k in names), "logdet"]
    return pd.DataFrame(rows, columns=columns)


def simulated(
    games: Sequence[Game], model: Model, truth: Mapping[str, float], n: int, scale: str, replicates: int, seed: int
) -> Choices:
    """Choices drawn from a model, n of each observed player in each game, for every replicate (column "draw")."""
    rng = np.random.default_rng(seed)
    width = max(g.n_counts for g in games)
    counts = np.zeros((replicates, len(games), width))
    for k, one in enumerate(games):
        play = model.predict(one, **_raw(model, truth, one, scale))
        for player, seen, part in zip(one.players, one.observed, one.slices, strict=True):
            if seen:
                counts[:, k, part] = rng.multinomial(n, play[player], replicates)
    names = [g.name for g in games]
    cells = pd.DataFrame({"draw": np.repeat(np.arange(replicates), len(names)), "game": names * replicates})
    return Choices.from_counts(cells, counts.reshape(-1, width), {g.name: g for g in games})


def _raw(model: Model, truth: Mapping[str, float], one: Game, scale: str) -> dict[str, float]:
    unit = payoff_unit(one) if scale == "range" else 1.0
    return {p.name: truth[p.name] / (unit if p.is_precision else 1.0) for p in model.parameters}


def _information(games: Sequence[Game], model: Model, truth: Mapping[str, float], scale: str) -> Array:
    """Expected information of one choice by every observed player of each game, (G, P, P), on the searched scales."""
    width = max(g.n_counts for g in games)
    counts = np.zeros((len(games), width))
    for k, one in enumerate(games):
        for seen, part in zip(one.observed, one.slices, strict=True):
            counts[k, part] = seen / (part.stop - part.start)
    cells = pd.DataFrame({"game": [g.name for g in games]})
    units = group(Choices.from_counts(cells, counts, {g.name: g for g in games}), ["game"])
    params = np.repeat(np.array([[truth[p.name]] for p in model.parameters]), len(games), axis=1)
    seeds = np.array([_seed(p, row) for p, row in zip(model.parameters, params, strict=True)])
    found = Likelihood(model, units, scale).scores(np.arange(len(games)), params, seeds)[2]
    return np.moveaxis(found, -1, 0)


def _seed(parameter: Parameter, value: Array) -> Array:
    return np.ones_like(value) if parameter.transform == "simplex" else slope(parameter, value)


def _covariance(model: Model, information: Array) -> Array:
    """Of the parameters on the searched scales, (P, P); infinite variances where the information is silent."""
    basis = _basis(model)
    values, vectors = np.linalg.eigh(basis.T @ information @ basis)
    silent = values <= _VOID * max(values[-1], 1e-300)
    loads = basis @ vectors
    covariance = (loads[:, ~silent] / values[~silent]) @ loads[:, ~silent].T
    lost = (np.abs(loads[:, silent]) > 1e-6).any(axis=1)
    covariance[lost, lost] = np.inf
    return np.asarray(covariance)


def _basis(model: Model) -> Array:
    members = [i for i, p in enumerate(model.parameters) if p.transform == "simplex"]
    return simplex_basis(len(model.parameters), members) if members else np.eye(len(model.parameters))


def _errors(model: Model, truth: Mapping[str, float], information: Array) -> dict[str, float]:
    """Standard errors in natural units."""
    variance = np.diag(_covariance(model, information))
    return {
        p.name: float(_seed(p, np.array(truth[p.name])) * np.sqrt(v))
        for p, v in zip(model.parameters, variance, strict=True)
    }


def _logdet(model: Model, information: Array) -> float:
    basis = _basis(model)
    values = np.linalg.eigvalsh(basis.T @ information @ basis)
    return float(np.log(values).sum()) if values[0] > _VOID * max(values[-1], 1e-300) else -np.inf


def _merit(model: Model, truth: Mapping[str, float], information: Array, by: str) -> float:
    """What is made as large as possible; where nothing is identified yet, the most information in any direction."""
    if by == "D":
        value = _logdet(model, information)
    elif by == "A":
        value = -float(np.trace(_covariance(model, information)))
    else:
        value = -_errors(model, truth, information)[by]
    return value if np.isfinite(value) else -1e12 + min(float(np.trace(information)), 1e11)


def _checked(model: Model, params: Mapping[str, float], scale: str) -> dict[str, float]:
    check_scale(scale)
    truth = model.check(params)
    for p in model.parameters:
        if not p.low < truth[p.name] < p.limit:
            raise UsageError(f"{p.name} = {truth[p.name]:g} is an end of its range; suppose a value inside")
    return truth


def _games(given: Games) -> tuple[Game, ...]:
    several = [given] if isinstance(given, Game | str) else list(given)
    found = tuple(game(one) if isinstance(one, str) else one for one in several)
    names = [g.name for g in found]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise UsageError(f"{twice[0]} is given twice")
    if not found:
        raise UsageError("no game is given")
    return found


def _whole(**values: int) -> None:
    for name, value in values.items():
        if not (isinstance(value, int) and value > 0):
            raise UsageError(f"{name} = {value!r}: give a whole number from 1")


def _choices_per_game(games: Sequence[Game]) -> int:
    """Choices in all if everybody who is observed and has one makes one."""
    return sum(seen and size > 1 for one in games for seen, size in zip(one.observed, one.shape, strict=True))


def _bounded(frame: pd.DataFrame) -> pd.Series[bool]:
    return (frame["low"] > 0) & np.isfinite(frame["high"])


def _median(values: Array) -> float:
    """The middle of values of which some may be infinite or missing (the latter are left out)."""
    told = np.sort(values[~np.isnan(values)])
    return float(told[(len(told) - 1) // 2]) if len(told) else float("nan")
