"""What game theory says of one game: best replies, dominated actions, Nash equilibria.

Pure functions of a `Game`; knows no models and no data. Ties are judged relative to the game's payoff range.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from levelkit.errors import UsageError
from levelkit.gamechecks import clean_mix
from levelkit.games import Game
from levelkit.polytopes import TIE, self_indifferent, vertices

MOST_SUPPORTS = 200_000
"""Most supports, or pairs of one size, that are tried; a 10x10 game has 184,755 pairs."""

Profile = tuple[np.ndarray, ...]
Beliefs = Any  # per player: probabilities or an action's label; see `best_responses`


@dataclass(frozen=True, eq=False)
class Equilibria:
    """Nash equilibria of a game: `profiles`, each one probability vector per agent, pure ones first.

    complete: whether all are listed (in a degenerate game all extreme ones, of which others are mixtures).
    degenerate: whether some equilibrium has more best replies than the other's support has actions, so that
    there may be a continuum. note: what is missing, in plain words, or "".
    """

    game: Game
    profiles: tuple[Profile, ...]
    complete: bool
    degenerate: bool
    note: str = ""

    def __len__(self) -> int:
        return len(self.profiles)

    def __iter__(self) -> Iterator[Profile]:
        return iter(self.profiles)

    @property
    def symmetric(self) -> tuple[Profile, ...]:
        """The equilibria in which all agents play alike; none unless the game is symmetric."""
        if not self.game.symmetric:
            return ()
        return tuple(one for one in self.profiles if np.allclose(one[0], one[1], atol=1e-9))

    @property
    def pure(self) -> tuple[tuple[str, ...], ...]:
        """The equilibria in pure strategies, as one action label per agent."""
        return tuple(
            tuple(labels[int(mix.argmax())] for labels, mix in zip(self.game.actions, profile, strict=True))
            for profile in self.profiles
            if all(mix.max() == 1.0 for mix in profile)
        )


@dataclass(frozen=True)
class Dominated:
    """An action of a player that is dominated by a mix `by` ({label: probability}) of the player's others."""

    player: str
    action: str
    strictly: bool
    by: Mapping[str, float]


def expected_payoffs(game: Game, player: str | int, beliefs: Beliefs) -> np.ndarray:
    """Expected payoff of each action of a player, (A_i,), against independent beliefs about the others.

    beliefs: as for `best_responses`.
    """
    i = game.player_index(player)
    payoffs = game.payoffs[i]
    mixes = _beliefs(game, i, beliefs)
    for j in reversed(range(game.n_players)):  # from the last axis, so that earlier axes keep their place
        if j != i:
            payoffs = np.tensordot(payoffs, mixes[j], axes=(j, 0))
    return np.asarray(payoffs)


def best_responses(game: Game, player: str | int, beliefs: Beliefs, *, tie: float = TIE) -> frozenset[str]:
    """All best replies of a player, as a set of labels; more than one where they tie.

    beliefs: one entry per player (the player's own is ignored) or a mapping from the others to entries; in a
    two-player game the entry alone will do. An entry is an action's label or a vector of probabilities.
    tie: payoffs within this share of the game's payoff range are equal.
    Raises UsageError or DataError where a belief does not fit.
    """
    i = game.player_index(player)
    return frozenset(game.actions[i][a] for a in _argmax(game, expected_payoffs(game, player, beliefs), tie))


def _argmax(game: Game, values: np.ndarray, tie: float = TIE) -> list[int]:
    return [int(a) for a in np.flatnonzero(values >= values.max() - tie * game.payoff_range)]


def _beliefs(game: Game, i: int, beliefs: Beliefs) -> list[np.ndarray]:
    """One vector per player; that of player i, which nobody needs, is uniform."""
    n = game.n_players
    entries: list[Any] = [None] * n
    if isinstance(beliefs, Mapping):
        for other, entry in beliefs.items():
            entries[game.player_index(other)] = entry
    elif n == 2 and (isinstance(beliefs, str | int | np.integer) or _plain(beliefs)):
        entries[1 - i] = beliefs
    elif isinstance(beliefs, str | int) or len(beliefs) != n:
        raise UsageError(f"beliefs need one entry for each of the {n} players of game '{game.name}'")
    else:
        entries = list(beliefs)
    mixes = []
    for j, entry in enumerate(entries):
        size = game.shape[j]
        if j == i:
            mixes.append(np.full(size, 1 / size))
        elif entry is None:
            raise UsageError(f"there is no belief about {game.players[j]} of game '{game.name}'")
        elif isinstance(entry, str | int | np.integer):
            mixes.append(np.eye(size)[game.action_index(j + 1, entry if isinstance(entry, str) else int(entry))])
        else:
            mixes.append(clean_mix(entry, size, f"the belief about {game.players[j]}", f"game '{game.name}'"))
    return mixes


def _plain(values: Sequence[Any]) -> bool:
    """Whether a sequence is a vector of numbers rather than one entry per player."""
    return all(isinstance(value, float | int | np.number) for value in values)


def replies_to_actions(game: Game) -> tuple[tuple[tuple[int, ...], ...], ...]:
    """Best replies in a two-player game: for each player and each action of the other, the places of best replies."""
    best = [own >= own.max(axis=i, keepdims=True) - TIE * game.payoff_range for i, own in enumerate(game.payoffs)]
    return tuple(
        tuple(tuple(map(int, np.flatnonzero(column))) for column in np.moveaxis(one, i, 1))
        for i, one in enumerate(best)
    )


def pure_equilibria(game: Game) -> tuple[tuple[str, ...], ...]:
    """All Nash equilibria in pure strategies, as one action label per agent, in the order of the actions."""
    stable = np.ones(game.shape, dtype=bool)
    for i, payoffs in enumerate(game.payoffs):
        stable &= payoffs >= payoffs.max(axis=i, keepdims=True) - TIE * game.payoff_range
    return tuple(
        tuple(labels[int(a)] for labels, a in zip(game.actions, at, strict=True)) for at in np.argwhere(stable)
    )


def equilibria(game: Game) -> Equilibria:
    """Nash equilibria: all extreme ones of a two-player game, else the pure ones.

    Two-player games beyond about 10x10 get their pure equilibria and, if the game is symmetric and has at
    most 17 actions, the symmetric ones; `complete` and `note` say so. Every equilibrium listed is verified.
    Method: pairs of vertices of the two best-reply polytopes (Avis, Rosenberg, Savani and von Stengel 2010).
    """
    if game.n_players == 2 and math.comb(sum(game.shape), game.shape[0]) <= MOST_SUPPORTS:
        return _result(game, _extreme(game), complete=True)
    pure = [
        tuple(
            np.eye(size)[labels.index(label)] for size, labels, label in zip(game.shape, game.actions, one, strict=True)
        )
        for one in pure_equilibria(game)
    ]
    if game.n_players == 1:
        return _result(game, pure, complete=True)
    if game.n_players > 2:
        return _result(game, pure, False, f"pure equilibria only: the game has {game.n_players} agents")
    size = "x".join(map(str, game.shape))
    if game.symmetric and 2 ** game.shape[0] <= MOST_SUPPORTS:
        note = f"pure and symmetric equilibria only: the game is {size}"
        return _result(game, [*pure, *_symmetric(game)], False, note)
    return _result(game, pure, False, f"pure equilibria only: the game is {size}")


def _extreme(game: Game) -> list[Profile]:
    """All pairs of vertices that are best replies to each other, by size of support."""
    first, second = game.payoffs
    xs, replies_to_x = vertices(second.T, game.payoff_range)
    ys, replies_to_y = vertices(first, game.payoff_range)
    # x may only use best replies to y, and the other way round
    misfits = (xs > 0).astype(int) @ ~replies_to_y.T + ~replies_to_x @ (ys > 0).astype(int).T
    pairs = [(xs[i].copy(), ys[j].copy()) for i, j in np.argwhere(misfits == 0)]
    return sorted(pairs, key=_by_support)


def _by_support(profile: Profile) -> tuple[object, ...]:
    used = np.concatenate(profile) > 0
    return (int(used.sum()), tuple(np.flatnonzero(used)), tuple(np.concatenate(profile)))


def _symmetric(game: Game) -> list[Profile]:
    """Candidates for symmetric mixed equilibria."""
    mixes = self_indifferent(game.payoffs[0], game.payoff_range)
    return [(mix.copy(), mix.copy()) for mix in mixes]


def _result(game: Game, profiles: Iterable[Profile], complete: bool, note: str = "") -> Equilibria:
    """The profiles that are equilibria, with a finding on degeneracy."""
    kept: list[Profile] = []
    degenerate = False
    for profile in profiles:
        if not _is_equilibrium(game, profile):
            continue
        replies = [len(_argmax(game, expected_payoffs(game, i + 1, profile))) for i in range(game.n_players)]
        sizes = [int((mix > 0).sum()) for mix in profile]
        # in a regular game nobody has more best replies than the others mix over
        degenerate |= any(many > _others(sizes, i) for i, many in enumerate(replies))
        for mix in profile:
            mix.setflags(write=False)
        kept.append(profile)
    if degenerate:
        more = "degenerate: mixtures of the equilibria listed may be equilibria too"
        note = f"{note}; {more}" if note else more
    return Equilibria(game, tuple(kept), complete, degenerate, note)


def _others(sizes: Sequence[int], i: int) -> int:
    return int(np.prod([size for j, size in enumerate(sizes) if j != i]))


def _is_equilibrium(game: Game, profile: Profile) -> bool:
    for i, mix in enumerate(profile):
        values = expected_payoffs(game, i + 1, profile)
        if (mix < 0).any() or values.max() - float(mix @ values) > 10 * TIE * game.payoff_range:
            return False
    return True


def dominated_actions(game: Game) -> tuple[Dominated, ...]:
    """Actions dominated by another action or by a mix of others (linear programme), player after player.

    Strict dominance is reported where it holds, else weak; a copy of another action is not dominated by it.
    """
    found = []
    for i, (player, labels) in enumerate(zip(game.players, game.actions, strict=True)):
        table = np.moveaxis(game.payoffs[i], i, 0).reshape(game.shape[i], -1)
        for a, label in enumerate(labels):
            found += [Dominated(player, label, *how) for how in _dominators(table, a, labels, game.payoff_range)]
    return tuple(found)


def _dominators(
    table: np.ndarray, a: int, labels: Sequence[str], scale: float
) -> list[tuple[bool, Mapping[str, float]]]:
    """At most one (strictly, by): pure strict, mixed strict, pure weak, mixed weak, the first that holds."""
    gap = (np.delete(table, a, axis=0) - table[a]) / (scale or 1.0)
    names = [label for k, label in enumerate(labels) if k != a]
    strict, weak = (gap > TIE).all(axis=1), (gap >= 0).all(axis=1) & (gap > TIE).any(axis=1)
    if strict.any():
        return [(True, {names[int(strict.argmax())]: 1.0})]
    mix, value = _best_mix(gap, every=True)
    if value > TIE:
        return [(True, _named(mix, names))]
    if weak.any():
        return [(False, {names[int(weak.argmax())]: 1.0})]
    mix, value = _best_mix(gap, every=False)
    return [(False, _named(mix, names))] if value > 1e-7 else []


def _named(mix: np.ndarray, names: Sequence[str]) -> dict[str, float]:
    return {name: float(p) for name, p in zip(names, mix, strict=True) if p > 1e-12}


def _best_mix(gap: np.ndarray, every: bool) -> tuple[np.ndarray, float]:
    """The mix of rows with the largest smallest gap (`every`), or the largest sum of gaps, none negative."""
    from scipy.optimize import linprog

    rows, columns = gap.shape
    if every:  # maximise v subject to mix @ gap >= v
        goal = np.r_[np.zeros(rows), -1.0]
        left = np.c_[-gap.T, np.ones(columns)]
        total = np.r_[np.ones(rows), 0.0][None, :]
        bounds: list[tuple[float | None, float | None]] = [(0, None)] * rows + [(None, None)]
    else:
        goal, left, total, bounds = -gap.sum(axis=1), -gap.T, np.ones((1, rows)), [(0, None)] * rows
    answer = linprog(goal, left, np.zeros(columns), total, [1.0], bounds)
    if not answer.success:
        return np.zeros(rows), 0.0
    return answer.x[:rows], -float(answer.fun)
