"""Best-reply maps of many games at once, and how far the levels that follow from them differ (JAX, games last)."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from levelkit.polytopes import TIE

BLOCK = 64
"""Games in a block: 400 payoffs each of a 20 x 20 game make 200 kB."""


class Maps(NamedTuple):
    """reply (A, G): first best reply to each action. margin (A, G): its lead over the second best, as a share of the
    payoff range; 0 where best replies tie. anchors (R, G): maximin, maximax and the reply to uniform play.
    """

    reply: Any
    margin: Any
    anchors: Any


def best_reply_maps(tables: Any) -> Maps:
    """Maps of payoff tables (A, A, G), own action first.

    Indices come from minima over the places that are best, which XLA vectorises over the games, as it does not argmax.
    """
    size = tables.shape[0]
    span = jnp.maximum(tables.max(axis=(0, 1)) - tables.min(axis=(0, 1)), 1e-300)
    top = tables.max(axis=0)
    near = tables >= top - TIE * span
    places = jnp.arange(size)[:, None]
    reply = jnp.where(near, places[:, None], size).min(axis=0)
    second = jnp.where(places[:, None] == reply, -jnp.inf, tables).max(axis=0)
    margin = jnp.where(near.sum(axis=0) > 1, 0.0, (top - second) / span)
    worth = (tables.min(axis=1), tables.max(axis=1), tables.mean(axis=1))
    anchors = [jnp.where(w >= w.max(axis=0) - TIE * span, places, size).min(axis=0) for w in worth]
    return Maps(reply, margin, jnp.stack(anchors))


@partial(jax.jit, static_argnums=(0, 2))
def family_maps(table: Callable[[Any, int], Any], parameters: Any, size: int) -> Maps:
    """Maps of games given by parameters (numbers, G), from which `table` makes payoffs: block after block, so that no
    table leaves the cache. G must be a multiple of `BLOCK`, or not above it.
    """
    numbers, games = parameters.shape
    block = min(games, BLOCK)
    blocks = parameters.reshape(numbers, -1, block).transpose(1, 0, 2)
    found = jax.lax.map(lambda p: best_reply_maps(table(p, size)), blocks)
    return Maps(*(jnp.moveaxis(one, 0, -2).reshape(*one.shape[1:-1], games) for one in found))


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
