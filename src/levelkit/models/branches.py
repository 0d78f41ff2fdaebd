"""The principal branch of logit quantal response equilibria, followed from uniform play to its limit.

With payoffs in units of the game's range, an equilibrium of precision lam is a root of

    F(y, lam) = y - lam (U(p) - p . U(p)),   p = softmax(y) for each agent,

and the branch is the curve of roots that starts at y = 0, lam = 0 (McKelvey & Palfrey 1995). It may turn back in
lam, so it is followed in arclength: a step along the tangent, then Newton's method across it (Turocy 2005). y
holds log-odds, so probabilities near zero cost nothing; where a limit is mixed they stay finite. A symmetric game has a
symmetric branch, which may fork; there the system is restricted to symmetric play, where it is regular.

Arrays carry their batch last: y (W, *batch) with W the actions of all agents together.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from levelkit import numerics
from levelkit.models.responses import expected_payoffs

if TYPE_CHECKING:
    import pandas as pd

    from levelkit.games import Game

numerics.setup_jax()

# The branch is followed to this precision, per payoff range; beyond it play is that of the last point.
LAST = 1e7
_ROOM = 256
_TRIALS = 1500
_TOLERANCE = 1e-11
# The first Newton correction aimed at and the largest accepted, in log-odds; the largest turn (cosine) of the tangent.
_AIM, _LARGEST, _TURN = 0.06, 0.25, 0.94
_SIZES = (1, 16, 128)
_KEPT = 20_000


class Branch(NamedTuple):
    """Points of principal branches, padded with copies of the last: lam (N, *batch), per range; y (N, W, *batch);
    lam_slope, y_slope: derivatives by arclength; arc (N, *batch): arclength; symmetric (*batch). crossing (*batch):
    which of the points at one lam is read, from 0; the last one where there are fewer. which (*batch): where given, the
    other arrays hold a column for each game, and this is the game of each member of the batch.
    """

    lam: Any
    y: Any
    lam_slope: Any
    y_slope: Any
    arc: Any
    symmetric: Any
    crossing: Any = 0
    which: Any = None


def solve(matrix: jax.Array, right: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Solve (n, n, *batch) x = (n, *batch) by elimination with row exchanges; also the sign of the determinant."""
    n = len(matrix)
    table = jnp.concatenate([matrix, right[:, None]], axis=1)
    number = jnp.arange(n).reshape(n, *(1,) * (matrix.ndim - 2))

    def eliminate(k: Any, state: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        table, sign = state
        column = jnp.where(number >= k, jnp.abs(jax.lax.dynamic_index_in_dim(table, k, 1, keepdims=False)), -1.0)
        chosen = number == jnp.argmax(column, axis=0)[None]
        row = jnp.sum(jnp.where(chosen[:, None], table, 0.0), axis=0)
        old = jax.lax.dynamic_index_in_dim(table, k, 0, keepdims=False)
        table = jnp.where(chosen[:, None], old[None], table)
        pivot = jax.lax.dynamic_index_in_dim(row, k, 0, keepdims=False)
        sign = sign * jnp.sign(pivot) * jnp.where(jnp.sum(jnp.where(chosen, number, 0), axis=0) == k, 1.0, -1.0)
        row = row / jnp.where(pivot == 0, 1e-300, pivot)
        factor = jnp.where(number == k, 0.0, jax.lax.dynamic_index_in_dim(table, k, 1, keepdims=False))
        table = table - factor[:, None] * row[None]
        return jax.lax.dynamic_update_index_in_dim(table, row, k, 0), sign

    table, sign = jax.lax.fori_loop(0, n, eliminate, (table, jnp.ones(matrix.shape[2:])))
    return table[:, n], sign


def play(y: jax.Array, sizes: Sequence[int]) -> tuple[jax.Array, ...]:
    """Probabilities of each agent from log-odds y (W, *batch)."""
    stops = np.cumsum(sizes)
    return tuple(jax.nn.softmax(y[b - a : b], axis=0) for a, b in zip(sizes, stops, strict=True))


def respond(payoffs: tuple[jax.Array, ...], y: jax.Array, sizes: Sequence[int]) -> jax.Array:
    """Expected payoffs above what each agent's own play earns, (W, *batch)."""
    p = play(y, sizes)
    return jnp.concatenate(
        [u - jnp.sum(q * u, axis=0, keepdims=True) for u, q in zip(expected_payoffs(payoffs, p), p, strict=True)]
    )


def averaged(vector: jax.Array, symmetric: jax.Array, sizes: Sequence[int]) -> jax.Array:
    """Symmetric games' vectors (W, *batch) averaged over agents; others as they are."""
    if len(set(sizes)) > 1:
        return vector
    stacked = vector.reshape(len(sizes), sizes[0], *vector.shape[1:])
    mean = jnp.broadcast_to(jnp.mean(stacked, axis=0, keepdims=True), stacked.shape).reshape(vector.shape)
    return jnp.where(symmetric, mean, vector)


def _system(
    payoffs: tuple[jax.Array, ...], symmetric: jax.Array, y: jax.Array, lam: jax.Array, sizes: Sequence[int]
) -> tuple[jax.Array, jax.Array, jax.Array]:
    """F (W, *batch), its derivatives by y (W, W, *batch) and by lam (W, *batch), restricted to symmetric play."""
    w = len(y)
    gaps = respond(payoffs, y, sizes)

    def push(direction: jax.Array) -> jax.Array:
        tangent = averaged(jnp.broadcast_to(direction.reshape(w, *(1,) * (y.ndim - 1)), y.shape), symmetric, sizes)
        return jax.jvp(lambda v: respond(payoffs, v, sizes), (y,), (tangent,))[1]

    slopes = jax.vmap(push, out_axes=1)(jnp.eye(w))
    unit = jnp.eye(w).reshape(w, w, *(1,) * (y.ndim - 1))
    return averaged(y - lam * gaps, symmetric, sizes), unit - lam * slopes, -gaps


def at_lam(
    payoffs: tuple[jax.Array, ...], symmetric: jax.Array, y: jax.Array, lam: jax.Array, sizes: Sequence[int], steps: int
) -> jax.Array:
    """Newton's method from y at fixed lam. Differentiable in lam and payoffs: from an exact root two steps carry exact
    first and second derivatives (implicit function theorem).
    """

    def newton(_: Any, y: jax.Array) -> jax.Array:
        residual, by_y, _ = _system(payoffs, symmetric, y, lam, sizes)
        return y - averaged(solve(by_y, residual)[0], symmetric, sizes)

    return jax.lax.fori_loop(0, steps, newton, y)


class _State(NamedTuple):
    """Where each branch of a batch is: point z (W + 1, B) of y and lam, unit tangent, step, last accepted row."""

    z: jax.Array
    tangent: jax.Array
    step: jax.Array
    row: jax.Array
    done: jax.Array
    trials: jax.Array
    points: jax.Array
    tangents: jax.Array
    steps: jax.Array


def _bordered(
    payoffs: tuple[jax.Array, ...], symmetric: jax.Array, z: jax.Array, tangent: jax.Array, sizes: Sequence[int]
) -> tuple[jax.Array, jax.Array]:
    residual, by_y, by_lam = _system(payoffs, symmetric, z[:-1], z[-1], sizes)
    top = jnp.concatenate([by_y, by_lam[:, None]], axis=1)
    return residual, jnp.concatenate([top, tangent[None]], axis=0)


def _direction(
    payoffs: tuple[jax.Array, ...], symmetric: jax.Array, z: jax.Array, tangent: jax.Array, sizes: Sequence[int]
) -> jax.Array:
    """Unit tangent of the branch at z, pointing on from the given one."""
    _, matrix = _bordered(payoffs, symmetric, z, tangent, sizes)
    ahead = jnp.zeros_like(z).at[-1].set(1.0)
    new = solve(matrix, ahead)[0]
    new = jnp.concatenate([averaged(new[:-1], symmetric, sizes), new[-1:]])
    return new / jnp.sqrt(jnp.sum(new**2, axis=0))


@partial(jax.jit, static_argnames="sizes")
def _follow(payoffs: tuple[jax.Array, ...], symmetric: jax.Array, sizes: tuple[int, ...]) -> _State:
    batch = symmetric.shape
    w = sum(sizes)
    z = jnp.zeros((w + 1, *batch))
    start = jnp.zeros_like(z).at[-1].set(1.0)
    tangent = _direction(payoffs, symmetric, z, start, sizes)
    here = jnp.arange(batch[0])

    def trial(state: _State) -> _State:
        guess = state.z + state.step * state.tangent

        def newton(_: Any, at: tuple[jax.Array, jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array, jax.Array]:
            z, first, _ = at
            residual, matrix = _bordered(payoffs, symmetric, z, state.tangent, sizes)
            off = jnp.sum(state.tangent * (z - guess), axis=0)
            change = solve(matrix, jnp.concatenate([residual, off[None]]))[0]
            change = jnp.concatenate([averaged(change[:-1], symmetric, sizes), change[-1:]])
            size = jnp.max(jnp.abs(change), axis=0)
            return z - change, jnp.maximum(first, size), size

        none = jnp.zeros(batch)
        z, first, last = jax.lax.fori_loop(0, 4, newton, (guess, none, none))
        tangent = _direction(payoffs, symmetric, z, state.tangent, sizes)
        turn = jnp.sum(tangent * state.tangent, axis=0)
        scale = 1.0 + jnp.max(jnp.abs(z), axis=0)
        good = (last < _TOLERANCE * scale) & (first < _LARGEST) & (turn > _TURN) & (z[-1] >= 0)
        good &= jnp.isfinite(first) & ~state.done
        row = jnp.where(good, state.row + 1, state.row)
        z = jnp.where(good, z, state.z)
        tangent = jnp.where(good, tangent, state.tangent)
        ease = jnp.minimum(jnp.sqrt(_AIM / (first + 1e-9)), jnp.sqrt(0.02 / (1 - turn + 1e-9)))
        factor = jnp.where(good, jnp.clip(ease, 0.5, 3.0), 0.4)
        done = state.done | (z[-1] >= LAST) | (row == _ROOM - 1) | (state.step < 1e-9)
        step = jnp.where(state.done, state.step, state.step * factor)
        return _State(
            z,
            tangent,
            step,
            row,
            done,
            state.trials + 1,
            state.points.at[row, :, here].set(z.T),
            state.tangents.at[row, :, here].set(tangent.T),
            state.steps.at[row, here].set(jnp.where(good, state.step, state.steps[row, here])),
        )

    room = jnp.zeros((_ROOM, w + 1, *batch))
    first = _State(
        z,
        tangent,
        jnp.full(batch, 0.1),
        jnp.zeros(batch, int),
        jnp.zeros(batch, bool),
        jnp.zeros((), int),
        room,
        room.at[0].set(tangent),
        jnp.zeros((_ROOM, *batch)),
    )
    return jax.lax.while_loop(lambda s: (s.trials < _TRIALS) & ~s.done.all(), trial, first)


def prepare(games: Sequence[Game]) -> Branch:
    """Principal branches of games of one shape, stacked; each game's is followed once and kept."""
    keys = [_key(g) for g in games]
    missing = {k: g for k, g in zip(keys, games, strict=True) if k not in _branches}
    items = list(missing.items())
    while items:
        size = next((s for s in _SIZES if len(items) <= s), _SIZES[-1])
        part, items = items[:size], items[size:]
        _trace([k for k, _ in part], [g for _, g in part], size)
    for k in keys:
        _branches.move_to_end(k)
    kept = [_branches[k] for k in keys]
    longest = _rounded(max(len(b.lam) for b in kept))
    columns = zip(*(branch[:-1] for branch in kept), strict=True)
    stacked = Branch(*(np.stack([_lengthened(part, longest) for part in parts], axis=-1) for parts in columns))
    while len(_branches) > _KEPT:
        _branches.popitem(last=False)
    return stacked


_branches: OrderedDict[bytes, Branch] = OrderedDict()


def _key(game: Game) -> bytes:
    return repr(game.shape).encode() + b"".join(p.tobytes() for p in game.payoffs)


def _rounded(n: int) -> int:
    size = 32
    while size < n:
        size *= 2
    return size


def _lengthened(array: Any, length: int) -> Any:
    if np.ndim(array) == 0:
        return array
    return np.concatenate([array, np.repeat(array[-1:], length - len(array), axis=0)])


def normalised(payoffs: Sequence[Any], spread: Any) -> tuple[Any, ...]:
    """Payoffs (A_1, ..., A_n, *batch) in units of the range, what an agent cannot change taken off."""
    return tuple((own - own.mean(axis=i, keepdims=True)) / spread for i, own in enumerate(payoffs))


def _trace(keys: list[bytes], games: list[Game], size: int) -> None:
    padded = games + [games[-1]] * (size - len(games))
    spread = np.array([g.payoff_range or 1.0 for g in padded])
    payoffs = normalised(
        [np.stack([g.payoffs[i] for g in padded], axis=-1) for i in range(len(games[0].shape))], spread
    )
    symmetric = np.array([is_symmetric(g) for g in padded])
    end = _follow(payoffs, symmetric, games[0].shape)
    points, tangents, steps, rows = (np.asarray(a) for a in (end.points, end.tangents, end.steps, end.row))
    for b, key in enumerate(keys):
        n = int(rows[b]) + 1
        z, t = points[:n, :, b], tangents[:n, :, b]
        _branches[key] = Branch(z[:, -1], z[:, :-1], t[:, -1], t[:, :-1], np.cumsum(steps[:n, b]), symmetric[b])


def is_symmetric(game: Game) -> bool:
    """Whether exchanging any two players leaves the game as it is."""
    first = game.payoffs[0]
    n = first.ndim
    if len(set(game.shape)) > 1:
        return False
    own = all(np.array_equal(np.moveaxis(game.payoffs[i], i, 0), first) for i in range(1, n))
    return own and all(np.array_equal(np.swapaxes(first, i, i + 1), first) for i in range(1, n - 1))


def read(payoffs: tuple[jax.Array, ...], branch: Branch, lam: jax.Array, sizes: Sequence[int]) -> jax.Array:
    """Log-odds (W, *batch) of the equilibrium at lam (*batch), per payoff range, exact and differentiable."""
    shape = jnp.broadcast_shapes(lam.shape, branch.symmetric.shape)
    precision = branch.lam if branch.which is None else branch.lam[:, branch.which]
    lam = jnp.broadcast_to(jnp.minimum(lam, precision[-1]), shape)
    fixed = jax.lax.stop_gradient(lam)
    passed = jnp.broadcast_to(precision, (len(precision), *shape)) > fixed
    # the last point is where the search for larger lam ends
    passed = passed.at[-1].set(True)
    crosses = passed[1:] != passed[:-1]
    number = jnp.cumsum(crosses, axis=0)
    wanted = jnp.minimum(branch.crossing + 1, number[-1])
    left = jnp.argmax(crosses & (number == wanted), axis=0)

    def at(array: jax.Array, where: jax.Array) -> jax.Array:
        if branch.which is not None:
            return (
                jnp.moveaxis(array[where, ..., branch.which], -1, 0) if array.ndim > 2 else array[where, branch.which]
            )
        full = jnp.broadcast_to(array, (*array.shape[: array.ndim - branch.symmetric.ndim], *shape))
        index = where.reshape(1, *(1,) * (full.ndim - 1 - where.ndim), *where.shape)
        return jnp.take_along_axis(full, jnp.broadcast_to(index, (1, *full.shape[1:])), axis=0)[0]

    ends = [
        (at(a, left), at(a, left + 1)) for a in (branch.lam, branch.y, branch.lam_slope, branch.y_slope, branch.arc)
    ]
    (l0, l1), (y0, y1), (dl0, dl1), (dy0, dy1), (s0, s1) = ends
    width = s1 - s0

    def cubic(t: jax.Array, a: jax.Array, b: jax.Array, da: jax.Array, db: jax.Array) -> jax.Array:
        rest = 1 - t
        return (1 + 2 * t) * rest**2 * a + t * rest**2 * width * da + t**2 * (3 - 2 * t) * b - t**2 * rest * width * db

    rises = l1 >= l0

    def halve(_: Any, ends: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        low, high = ends
        middle = (low + high) / 2
        below = (cubic(middle, l0, l1, dl0, dl1) < fixed) == rises
        return jnp.where(below, middle, low), jnp.where(below, high, middle)

    low, high = jax.lax.fori_loop(0, 40, halve, (jnp.zeros(shape), jnp.ones(shape)))
    y = jax.lax.stop_gradient(cubic((low + high) / 2, y0, y1, dy0, dy1))
    still = jax.lax.stop_gradient(payoffs)
    y = jax.lax.stop_gradient(at_lam(still, branch.symmetric, y, fixed, sizes, 3))
    return at_lam(payoffs, branch.symmetric, y, lam, sizes, 2)


def of_game(game: Game) -> Branch:
    """The principal branch of one game, without padding."""
    key = _key(game)
    if key not in _branches:
        prepare([game])
    return _branches[key]


def turns(game: Game) -> int:
    """How often lam turns along the principal branch."""
    slope = of_game(game).lam_slope
    return int(np.sum(slope[1:] * slope[:-1] < 0))


def smooth_frame(game: Game, points: int = 300) -> pd.DataFrame:
    """As `frame`, at lam from 0.03 to 10,000 per payoff range; a branch that turns keeps its own points."""
    own = frame(game)
    spread = game.payoff_range or 1.0
    inside = (own["lam"] * spread >= 0.03) & (own["lam"] * spread <= 1e4)
    if turns(game):
        return own[inside].reset_index(drop=True)
    return frame_at(game, np.geomspace(0.03, 1e4, points) / spread)


def frame_at(game: Game, lams: np.ndarray, crossing: int = 0) -> pd.DataFrame:
    """Every action's probability at given lams per payoff unit, on one crossing of the principal branch."""
    import pandas as pd

    spread = game.payoff_range or 1.0
    payoffs = normalised(tuple(p[..., None] for p in game.payoffs), spread)
    branch = prepare([game])._replace(crossing=np.full(1, crossing))
    shares = np.asarray(_read_play(payoffs, branch, lams * spread, game.shape))
    return pd.DataFrame({"lam": lams} | dict(zip(_labels(game), shares, strict=True)))


def frame(game: Game) -> pd.DataFrame:
    """The principal branch as a table: lam per payoff unit, arclength, turns, and every action's probability."""
    import pandas as pd

    branch, sizes = of_game(game), game.shape
    probabilities = np.concatenate([np.asarray(p) for p in play(jnp.asarray(branch.y.T), sizes)])
    back = np.concatenate([[0], np.cumsum(branch.lam_slope[1:] * branch.lam_slope[:-1] < 0)])
    columns: dict[str, Any] = {"lam": branch.lam / (game.payoff_range or 1.0), "arclength": branch.arc, "turns": back}
    return pd.DataFrame(columns | dict(zip(_labels(game), probabilities, strict=True)))


def _labels(game: Game) -> list[str]:
    return [f"{p}: {a}" for p, actions in zip(game.players, game.actions, strict=True) for a in actions]


@partial(jax.jit, static_argnames="sizes")
def _side(
    payoffs: tuple[jax.Array, ...], y: jax.Array, lam: jax.Array, tangent: jax.Array, sizes: tuple[int, ...]
) -> jax.Array:
    """Sign of the determinant of the system, not restricted to symmetric play, bordered by the tangent."""
    z = jnp.concatenate([y, lam[None]])
    return solve(_bordered(payoffs, jnp.zeros((), bool), z, tangent, sizes)[1], z)[1]


@partial(jax.jit, static_argnames="sizes")
def _settle(
    payoffs: tuple[jax.Array, ...], symmetric: jax.Array, y: jax.Array, lam: jax.Array, sizes: tuple[int, ...]
) -> jax.Array:
    return at_lam(payoffs, symmetric, y, lam, sizes, 8)


def forks(game: Game) -> list[float]:
    """Where another branch crosses: the unrestricted system's bordered determinant changes its sign, by bisection."""
    branch, sizes = of_game(game), game.shape
    spread = game.payoff_range or 1.0
    payoffs = normalised(game.payoffs, spread)
    found = []
    tangents = np.concatenate([branch.y_slope, branch.lam_slope[:, None]], axis=1)
    sides = [float(_side(payoffs, branch.y[k], branch.lam[k], tangents[k], sizes)) for k in range(len(branch.lam))]
    for k in np.flatnonzero(np.diff(np.sign(sides)) != 0):
        low, high = branch.lam[k], branch.lam[k + 1]
        y = branch.y[k]
        for _ in range(50):
            middle = (low + high) / 2
            y = _settle(payoffs, branch.symmetric, y, middle, sizes)
            if float(_side(payoffs, y, middle, tangents[k], sizes)) == sides[k]:
                low = middle
            else:
                high = middle
        found.append(float((low + high) / 2 / spread))
    return found


# Precisions, per payoff range, at which equilibria near the observed frequencies are looked for.
_LOOK = np.geomspace(0.2, 500.0, 60)


def from_frequencies(game: Game, counts: np.ndarray, above: float) -> tuple[float, float] | None:
    """The best-fitting equilibrium that Newton's method reaches from the observed frequencies and that does not lie on
    the principal branch: lam per payoff unit, and log-likelihood of counts (W,). None where none is above `above`.

    A pool of starts, not a proof: equilibria far from what was played are not looked for.
    """
    sizes, spread = game.shape, game.payoff_range
    parts = [counts[s] for s in game.slices]
    if not spread or not all(p.sum() > 0 for p in parts):
        return None
    payoffs = normalised(tuple(p[..., None] for p in game.payoffs), spread)
    free = np.zeros(1, bool)
    smooth = [np.log((p + 0.5) / (p + 0.5).sum()) for p in parts]
    start = np.concatenate([v - np.sum(np.exp(v) * v) for v in smooth])
    lams = _LOOK
    best: tuple[float, float, np.ndarray] | None = None
    for _ in range(5):
        y, log_p, good = (np.asarray(a) for a in _roots(payoffs, free, start[:, None], lams, sizes))
        value = np.where(good, counts @ np.maximum(log_p, np.log(1e-300)), -np.inf)
        if not (value > above + 1e-6).any():
            break
        value = np.where(_on_branch(game, lams, np.exp(log_p)), -np.inf, value)
        top = int(np.argmax(value))
        if not np.isfinite(value[top]):
            break
        if best is None or value[top] > best[1]:
            best = float(lams[top]), float(value[top]), y[:, top]
        start = best[2]
        step = lams[1] / lams[0]
        lams = best[0] * np.geomspace(1 / step, step, len(_LOOK))
    return None if best is None or best[1] <= above else (best[0] / spread, best[1])


@partial(jax.jit, static_argnames="sizes")
def _roots(
    payoffs: tuple[jax.Array, ...], symmetric: jax.Array, start: jax.Array, lams: jax.Array, sizes: tuple[int, ...]
) -> tuple[jax.Array, jax.Array, jax.Array]:
    y = at_lam(payoffs, symmetric, jnp.broadcast_to(start, (len(start), len(lams))), lams, sizes, 25)
    off = jnp.max(jnp.abs(y - lams * respond(payoffs, y, sizes)), axis=0)
    return y, jnp.log(jnp.concatenate(play(y, sizes))), off < 1e-8 * (1 + lams)


@partial(jax.jit, static_argnames="sizes")
def _read_play(payoffs: tuple[jax.Array, ...], branch: Branch, lams: jax.Array, sizes: tuple[int, ...]) -> jax.Array:
    return jnp.concatenate(play(read(payoffs, branch, lams, sizes), sizes))


def _on_branch(game: Game, lams: np.ndarray, probabilities: np.ndarray) -> np.ndarray:
    """Whether points (W, m) at precisions (m,) lie on the principal branch."""
    branch = prepare([game])
    payoffs = normalised(tuple(p[..., None] for p in game.payoffs), game.payoff_range)
    near = np.zeros(len(lams), bool)
    for crossing in range(turns(game) + 1):
        here = np.asarray(_read_play(payoffs, branch._replace(crossing=np.full(1, crossing)), lams, game.shape))
        near |= np.abs(here - probabilities).max(axis=0) < 1e-5
    return near
