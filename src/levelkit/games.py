"""Games in normal form: one type for every game, with labels, and the constructors that lead to it.

Models see payoff arrays only. Files are read and written by `levelkit.gamefiles`; the games that come with
the package are found by `levelkit.gamelibrary`. Player 2's matrix is u_2(row, col): always indexed
[action of player 1][action of player 2].
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, overload

import numpy as np

from levelkit import agentforms
from levelkit import gamechecks as check
from levelkit.errors import DataError, UsageError

__all__ = ["Game", "game", "library", "library_sets", "read_games", "write_games"]

FORMS = ("bimatrix", "symmetric", "normal_form", "bayesian", "sequential", "misperceived")
LARGEST_AGENT_FORM = 10**7  # payoff entries per agent of a sequential game's agent form

Labels = Sequence[Any]
Matrix = Any  # nested sequences, numpy array or DataFrame of numbers


class _Symmetric:
    """`Game.symmetric(...)` makes a symmetric game; `game.symmetric` says whether a game is one."""

    @overload
    def __get__(self, instance: None, owner: type[Game]) -> Callable[..., Game]: ...
    @overload
    def __get__(self, instance: Game, owner: type[Game]) -> bool: ...
    def __get__(self, instance: Game | None, owner: type[Game]) -> Callable[..., Game] | bool:
        return owner._make_symmetric if instance is None else instance._is_symmetric()


@dataclass(frozen=True, eq=False, repr=False)
class Game:
    """A finite game in normal form; build it with a constructor such as `Game.bimatrix`.

    payoffs: one read-only float64 array per agent, all of shape (A_1, ..., A_n), axes in the players' order.
    actions: labels per agent. observed: agents that may carry counts (imagined agents do not).
    level0: level-0 probabilities per agent, None for uniform. form: the constructor that made it.
    Raises DataError, naming the game and the field, where these do not fit together.
    """

    name: str
    players: tuple[str, ...]
    actions: tuple[tuple[str, ...], ...]
    payoffs: tuple[np.ndarray, ...]
    observed: tuple[bool, ...] = ()
    level0: tuple[np.ndarray | None, ...] = ()
    title: str = ""
    source: str = ""
    note: str = ""
    form: str = "normal_form"

    symmetric = _Symmetric()

    def __post_init__(self) -> None:
        name = check.clean_text(self.name, "game", "the name")
        here = f"game '{name}'"
        if not isinstance(self.payoffs, list | tuple | np.ndarray) or not len(self.payoffs):
            raise DataError("payoffs must be one array per player", where=here)
        n = len(self.payoffs)
        arrays = tuple(
            check.clean_array(own, f"{here}, payoffs of player {i}", ndim=n)
            for i, own in enumerate(self.payoffs, start=1)
        )
        for i, own in enumerate(arrays[1:], start=2):
            check.same_shape(arrays[0], own, ("payoffs of player 1", f"payoffs of player {i}"), here)
        players = check.clean_players(self.players, n, f"{here}, players")
        for player, size in zip(players, arrays[0].shape, strict=True):
            if size < 1:
                raise DataError(f"{player} has no action", where=here)
        actions = check.clean_actions(self.actions, arrays[0].shape, players, f"{here}, actions")
        observed = tuple(bool(seen) for seen in self.observed) or (True,) * n
        if len(observed) != n or not any(observed):
            raise DataError(f"observed must hold {n} truth values, at least one true", where=here)
        if self.form not in FORMS:
            raise DataError(f"unknown form '{self.form}'", where=here, fix=f"Use one of {', '.join(FORMS)}")
        level0 = check.clean_level0(self.level0, actions, players, f"{here}, level0")
        texts = {key: self._text(key, here) for key in ("title", "source", "note")}
        clean = {"name": name, "payoffs": arrays, "players": players, "actions": actions}
        for key, value in {**clean, **texts, "observed": observed, "level0": level0}.items():
            object.__setattr__(self, key, value)
        if np.isinf(self.payoff_range):
            raise DataError("the payoffs span more than a double can hold", where=here, fix="Rescale them")

    def _text(self, key: str, here: str) -> str:
        value = getattr(self, key)
        if not isinstance(value, str):
            raise DataError(f"{key} must be text, not {value!r}", where=here)
        return value

    def __repr__(self) -> str:
        return f"Game('{self.name}', {check.shape_text(self.shape)}, {self.form})"

    # shape and look-up

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of actions of each agent."""
        return self.payoffs[0].shape

    @property
    def n_players(self) -> int:
        """Number of agents."""
        return len(self.players)

    @property
    def n_counts(self) -> int:
        """Actions of all agents together: the length of a vector of counts."""
        return sum(self.shape)

    @property
    def slices(self) -> tuple[slice, ...]:
        """For each agent its part of the concatenated action axis."""
        ends = np.cumsum(self.shape)
        return tuple(slice(int(end) - size, int(end)) for end, size in zip(ends, self.shape, strict=True))

    @property
    def payoff_range(self) -> float:
        """Largest minus smallest payoff over all agents, in payoff units; 0 if all payoffs are equal."""
        return max(float(own.max()) for own in self.payoffs) - min(float(own.min()) for own in self.payoffs)

    def _is_symmetric(self) -> bool:
        if self.n_players != 2 or not np.array_equal(self.payoffs[1], self.payoffs[0].T):
            return False
        first, second = self.level0
        if first is None or second is None:
            return first is second
        return np.array_equal(first, second)

    def player_index(self, player: str | int) -> int:
        """The index from 0 of an agent given by number from 1, "1", "player 1" or name (any case)."""
        if isinstance(player, str):
            names = [name.casefold() for name in self.players]
            if player.strip().casefold() in names:
                return names.index(player.strip().casefold())
            number = check.NUMBERED.fullmatch(player.strip())
            asked = int(number[1]) if number else 0
        else:
            asked = 0 if isinstance(player, bool) else int(player)
        if 1 <= asked <= self.n_players:
            return asked - 1
        known = ", ".join(f"{i} = '{name}'" for i, name in enumerate(self.players, start=1))
        raise UsageError(f"game '{self.name}' has no player {player!r}; its players are {known}")

    def action_index(self, player: str | int, action: str | int) -> int:
        """The index from 0 of an action given by label (also another case) or, if no label fits, by index."""
        labels = self.actions[self.player_index(player)]
        text = "" if isinstance(action, bool) else str(action).strip()
        if text in labels:
            return labels.index(text)
        alike = [i for i, label in enumerate(labels) if label.casefold() == text.casefold()]
        if len(alike) == 1:
            return alike[0]
        if text.isascii() and text.isdigit() and int(text) < len(labels):
            return int(text)
        raise UsageError(
            f"{player!r} has no action {action!r} in game '{self.name}'; the actions are {', '.join(labels)}"
        )

    # variants

    def renamed(self, name: str) -> Game:
        """The same game under another name."""
        return replace(self, name=name)

    def scaled(self, factor: float) -> Game:
        """The game with all payoffs multiplied by a positive factor (another unit of payoff)."""
        if not (np.isfinite(factor) and factor > 0):
            raise UsageError(f"payoffs can be scaled by a positive number only, not {factor}")
        return replace(self, payoffs=tuple(own * float(factor) for own in self.payoffs))

    def same_payoffs(self, other: Game) -> bool:
        """Whether both games have the same shape and exactly the same payoffs, whatever their labels."""
        return self.n_players == other.n_players and all(
            np.array_equal(mine, theirs) for mine, theirs in zip(self.payoffs, other.payoffs, strict=True)
        )

    def to_toml(self) -> str:
        """The game as one [[game]] table of a TOML games file; reading it back gives the same game."""
        from levelkit.gamefiles import game_to_toml

        return game_to_toml(self)

    # constructors

    @classmethod
    def normal_form(
        cls,
        name: str,
        payoffs: Sequence[Matrix],
        *,
        players: Labels = (),
        actions: Sequence[Any] = (),
        level0: Sequence[Any] = (),
        observed: Sequence[bool] = (),
        title: str = "",
        source: str = "",
        note: str = "",
        form: str = "normal_form",
    ) -> Game:
        """A game of n players from one payoff array per player, each indexed [a_1][a_2]...[a_n]."""
        return cls(
            name,
            _listed(players),
            _listed(actions),
            _listed(payoffs),
            observed=_listed(observed),
            level0=_listed(level0),
            title=title,
            source=source,
            note=note,
            form=form,
        )

    @classmethod
    def bimatrix(cls, name: str, row: Matrix, col: Matrix, **labels: Any) -> Game:
        """A two-player game; row and col are u_1 and u_2, both indexed [action of player 1][of player 2].

        labels: players, actions, level0, title, source, note, as for `normal_form`.
        """
        first, second = _matrices(name, row=row, col=col)
        return cls.normal_form(name, (first, second), form="bimatrix", **labels)

    @classmethod
    def _make_symmetric(
        cls, name: str, row: Matrix, *, actions: Sequence[Any] = (), level0: Any = (), **labels: Any
    ) -> Game:
        """A symmetric two-player game from player 1's square matrix; player 2's is its transpose.

        actions: one list of labels, for both. level0: probabilities or an action's label, for both.
        """
        (own,) = _matrices(name, row=row)
        if own.shape[0] != own.shape[1]:
            raise DataError(
                f"the matrix is {check.shape_text(own.shape)}",
                where=f"game '{name}', row",
                fix="A symmetric game needs a square matrix; use a bimatrix otherwise",
            )
        sets, mixes = _listed(actions), _listed(level0)
        if sets and isinstance(sets[0], str | int | np.integer):
            sets = (sets, sets)
        if isinstance(level0, str) or (mixes and isinstance(mixes[0], int | float | np.number)):
            mixes = (level0, level0)
        return cls.normal_form(name, (own, own.T), actions=sets, level0=mixes, form="symmetric", **labels)

    @classmethod
    def bayesian(cls, name: str, states: Sequence[tuple[float, Matrix, Matrix]], **labels: Any) -> Game:
        """A two-player game whose state nobody knows: the prior-weighted mean of (probability, row, col)."""
        here = f"game '{name}'"
        if not states:
            raise DataError("no states", where=here, fix="Give (probability, row, col) for each")
        triples = [_listed(state) for state in states]
        for k, triple in enumerate(triples, start=1):
            if len(triple) != 3:
                raise DataError(f"state {k} has {len(triple)} parts", where=here, fix="Give (probability, row, col)")
        prior = check.clean_mix([p for p, _, _ in triples], len(triples), "the prior over states", here)
        worlds = []
        for k, (_, row, col) in enumerate(triples, start=1):
            keys = (f"row of state {k}", f"col of state {k}")
            worlds.append(np.stack(_matrices(name, **{keys[0]: row, keys[1]: col})))
            check.same_shape(worlds[0][0], worlds[-1][0], ("state 1", f"state {k}"), here)
        mean = agentforms.prior_mean(prior, worlds)
        return cls.normal_form(name, tuple(mean), form="bayesian", **labels)

    @classmethod
    def sequential(
        cls,
        name: str,
        row: Matrix,
        col: Matrix,
        *,
        players: Labels = (),
        actions: Sequence[Any] = (),
        level0: Sequence[Any] = (),
        **labels: Any,
    ) -> Game:
        """A leader and a follower who sees the move, in agent form: one follower agent per leader action.

        The leader's payoff is row[a][f_a], that of the follower agent after a is col[a][f_a] whatever the
        leader does. players, actions, level0: of leader and follower (level0 also per agent).
        """
        here = f"game '{name}'"
        first, second = _matrices(name, row=row, col=col)
        leads, follows = first.shape
        if leads * follows**leads > LARGEST_AGENT_FORM:
            raise DataError(
                f"the agent form of a {leads}x{follows} game has {leads}x{follows}^{leads} entries",
                where=here,
                fix="Give the leader fewer actions",
            )
        sets = check.clean_actions(actions, first.shape, ("the leader", "the follower"), f"{here}, actions")
        leader, follower = check.clean_players(players or ("leader", "follower"), 2, f"{here}, players")
        mixes = _listed(level0)
        if len(mixes) == 2 and leads > 1:
            mixes = (mixes[0],) + (mixes[1],) * leads
        names = (leader, *(f"{follower} after {label}" for label in sets[0]))
        every = (sets[0],) + (sets[1],) * leads
        agents = agentforms.leader_and_followers(first, second)
        return cls.normal_form(name, agents, players=names, actions=every, level0=mixes, form="sequential", **labels)

    @classmethod
    def misperceived(
        cls,
        name: str,
        true_row: Matrix,
        true_col: Matrix,
        shown_row: Matrix,
        shown_col: Matrix,
        *,
        players: Labels = (),
        actions: Sequence[Any] = (),
        level0: Sequence[Any] = (),
        **labels: Any,
    ) -> Game:
        """A sender who knows the true payoffs and a receiver who was shown others and takes them for true.

        Three agents: the sender (true payoffs, faces the receiver), the receiver (shown payoffs, faces the
        imagined sender) and the imagined sender (shown payoffs, faces the receiver), who makes no choices.
        players, actions, level0: of sender and receiver (players and level0 also of all three).
        """
        first, _, third, fourth = _matrices(
            name, true_row=true_row, true_col=true_col, shown_row=shown_row, shown_col=shown_col
        )
        agents = agentforms.sender_and_receiver(first, third, fourth)
        names = _listed(players) or ("sender", "receiver")
        mixes, sets = _listed(level0), _listed(actions)
        return cls.normal_form(
            name,
            agents,
            players=names if len(names) == 3 else (*names, f"imagined {names[0]}"),
            actions=(*sets, sets[0]) if len(sets) == 2 else sets,
            level0=(*mixes, mixes[0]) if len(mixes) == 2 else mixes,
            observed=(True, True, False),
            form="misperceived",
            **labels,
        )


def _matrices(name: str, **given: Matrix) -> list[np.ndarray]:
    """The matrices of a two-player game by field name, checked to have one shape."""
    here = f"game '{name}'"
    clean = {field: check.clean_array(own, f"{here}, {field}", ndim=2) for field, own in given.items()}
    first, *rest = clean
    for field in rest:
        check.same_shape(clean[first], clean[field], (first, field), here)
    return list(clean.values())


def _listed(values: Any) -> tuple[Any, ...]:
    """A sequence as a tuple; a single text or number is one entry, None is none."""
    if values is None:
        return ()
    return tuple(values) if hasattr(values, "__iter__") and not isinstance(values, str) else (values,)


def game(name: str) -> Game:
    """A game of the shipped library by name; raises UsageError, with the closest names, if there is none."""
    from levelkit import gamelibrary

    return gamelibrary.game(name)


def library() -> dict[str, Game]:
    """All games that come with the package, by name."""
    from levelkit import gamelibrary

    return gamelibrary.library()


def library_sets() -> dict[str, tuple[str, tuple[str, ...]]]:
    """The sets of games that come with the package: set name to (title, names of its games)."""
    from levelkit import gamelibrary

    return gamelibrary.library_sets()


def read_games(path: str | Path) -> dict[str, Game]:
    """Games by name from a .toml file, a Gambit .nfg file or a folder of them; raises DataError."""
    from levelkit import gamefiles

    return gamefiles.read_games(path)


def write_games(games: Mapping[str, Game] | Sequence[Game] | Game, path: str | Path) -> None:
    """Write games to a .toml file (lossless), one game to a .nfg file, or each to a .nfg file in a folder."""
    from levelkit import gamefiles

    gamefiles.write_games(games, path)
