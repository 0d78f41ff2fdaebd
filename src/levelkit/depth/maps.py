"""Best-reply maps of many games at once, and how far the levels that follow from them differ (JAX, games last)."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from levelkit.polytopes import TIE


class Maps(NamedTuple):
    """reply (A, G): first best reply to each action. margin (A, G): its lead over the second best, as a share of the
    payoff range; 0 where best replies tie. anchors (R, G): maximin, maximax and the reply to uniform play.
    """

    reply: Any
    margin: Any
    anchors: Any


@jax.jit
def best_reply_maps(tables: Any) -> Maps:
    """Maps of payoff tables (A, A, G), own action first."""
    size = tables.shape[0]
    span = jnp.maximum(tables.max(axis=(0, 1)) - tables.min(axis=(0, 1)), 1e-300)
    top = tables.max(axis=0)
    near = tables >= top - TIE * span
    reply = jnp.argmax(near, axis=0)
    tied = near.sum(axis=0) > 1
    others = jnp.where(jnp.arange(size)[:, None, None] == reply, -jnp.inf, tables)
    margin = jnp.where(tied, 0.0, (top - others.max(axis=0)) / span)
    worth = (tables.min(axis=1), tables.max(axis=1), tables.mean(axis=1))
    anchors = jnp.stack([jnp.argmax(w >= w.max(axis=0) - TIE * span, axis=0) for w in worth])
    return Maps(reply, margin, anchors)


class Orbits(NamedTuple):
    """Along the sequence from an anchor, each (G,). depth: K_max. margin: least one up to the depth wanted. up, down:
    whether a step there goes up, or down. shortcut: deepest level there that arithmetic from the first two reaches.
    sequence (wanted + 1, G): its places.
    """

    depth: Any
    margin: Any
    up: Any
    down: Any
    shortcut: Any
    sequence: Any


@partial(jax.jit, static_argnums=2)
def orbits(maps: Maps, anchor: Any, wanted: int) -> Orbits:
    """Follow the sequences of G games from an anchor each (G,), to where they come round."""
    size, games = maps.reply.shape
    each = jnp.arange(games)
    steps = max(size, wanted)

    def climb(carry: Any, _: Any) -> tuple[Any, Any]:
        at, seen, alive, depth = carry
        seen = seen.at[at, each].set(True)
        after = maps.reply[at, each]
        alive = alive & ~seen[after, each]
        return (after, seen, alive, depth + alive), (at, maps.margin[at, each])

    start = (anchor, jnp.zeros((size, games), bool), jnp.ones(games, bool), jnp.zeros(games, int))
    (last, _, _, depth), (places, margins) = jax.lax.scan(climb, start, None, length=steps)
    sequence = jnp.concatenate([places, last[None]])[: wanted + 1]
    moves = jnp.diff(sequence, axis=0)
    right = jnp.cumprod(moves == moves[0], axis=0)
    return Orbits(
        depth,
        margins[:wanted].min(axis=0),
        (moves > 0).any(axis=0),
        (moves < 0).any(axis=0),
        right.sum(axis=0),
        sequence,
    )


@jax.jit
def aligned_levels(tables: Any, sequence: Any, lam: Any) -> Any:
    """How many levels k of a sequence (K + 1, G) take the only action that maximises payoff against a quantal opponent
    of level k - 1 with payoffs scaled by what is at stake (belief_range); (G,).
    """
    size = tables.shape[0]
    span = jnp.maximum(tables.max(axis=(0, 1)) - tables.min(axis=(0, 1)), 1e-300)

    def one(table: Any, places: Any, width: Any) -> Any:
        stakes = jnp.maximum(jnp.ptp(table, axis=0), 1e-300)
        law = jax.nn.softmax(lam * table / stakes, axis=0)  # column a: reply to a
        level0 = jnp.full((size, 1), 1 / size)
        opponents = jnp.concatenate([level0, law[:, places[:-2]]], axis=1)
        utility = table @ opponents  # (A, K)
        near = utility >= utility.max(axis=0) - TIE * width
        return ((near.sum(axis=0) == 1) & (jnp.argmax(near, axis=0) == places[1:])).sum()

    return jax.vmap(one, in_axes=(2, 1, 0))(tables, sequence, span)
