"""The search for new instruments: games of a family that tell levels apart to a wanted depth, as well as can be.

Candidates come in batches: new ones and children of the best so far. A batch depends on the seed, its number and the
best so far alone, so that a search stopped and taken up again (`state`) goes on as if it had never stopped. Games that
reach the depth, and if asked turn back on the way, are ranked by

    share of levels aligned with payoff maximisation + share of level-0 rules that reach the depth + margin.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np

from levelkit.depth.certificates import Certificate, certify
from levelkit.depth.families import Family, family, tables
from levelkit.depth.maps import BLOCK, Maps, aligned_levels, best_reply_maps, family_maps, orbits
from levelkit.depth.quantal import DEFAULT_SCALE
from levelkit.errors import DataError, UsageError
from levelkit.games import Game
from levelkit.numerics import setup_jax

Array = np.ndarray
_ELITE = 32
_SHORTLIST = 256
"""Of a batch so many games that reach the depth are judged in full."""


@dataclass(frozen=True, eq=False)
class Search:
    """games: the best first, none where nothing reached the depth. certificates: one for each.

    deepest: the greatest depth seen. examined: games looked at. reached: how many of them met the demands.
    """

    family: str
    depth: int
    games: tuple[Game, ...]
    certificates: tuple[Certificate, ...]
    deepest: int
    examined: int
    reached: int


@dataclass(frozen=True, eq=False)
class _Elite:
    """The best candidates so far, best first: parameters (E, numbers) and scores (E,); what has been seen."""

    parameters: Array
    scores: Array
    batch: int = 0
    deepest: int = 0
    examined: int = 0
    reached: int = 0


def search(
    family_name: str,
    actions: int = 20,
    depth: int = 15,
    *,
    non_monotone: bool = True,
    lam: float = 10.0,
    batches: int = 50,
    batch: int = 2048,
    keep: int = 3,
    seed: int = 0,
    state: str | Path | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Search:
    """Look for games of a family in which levels 0 to `depth` differ.

    family_name: money-request, ring, demand, contest or matrix. non_monotone: the sequence must go up and down, so
    that a constant step does not reach the actions. lam: precision of the opponents against whom alignment counts.
    batches, batch: how many, of how many games; a search with `state` counts the batches done before. state: a .json
    file to go on from and to save to after each batch. Raises UsageError for impossible values and DataError for a
    state that belongs to another search.
    """
    own = family(family_name)
    _check(actions, depth, batches, batch, keep, lam)
    setup_jax()
    about = {"family": family_name, "actions": actions, "depth": depth, "non_monotone": non_monotone, "lam": lam}
    about |= {"batch": batch, "seed": seed}
    elite = _load(state, about) or _Elite(np.zeros((0, 0), int), np.zeros(0))
    for number in range(elite.batch, batches):
        rng = np.random.default_rng([seed, number])
        candidates = _candidates(own, elite, rng, actions, batch)
        elite = _best(elite, candidates, *_judge(own, candidates, actions, depth, non_monotone, lam))
        if state is not None:
            _save(state, about, elite)
        if progress is not None:
            progress(number + 1, batches)
    return _result(own, elite, actions, depth, lam, keep)


def _check(actions: int, depth: int, batches: int, batch: int, keep: int, lam: float) -> None:
    for name, many, least in (("batches", batches, 1), ("batch", batch, 2), ("keep", keep, 1), ("actions", actions, 3)):
        if not (isinstance(many, int) and many >= least):
            raise UsageError(f"{name} = {many!r}: give a whole number of at least {least}")
    if not (isinstance(depth, int) and 2 <= depth < actions):
        raise UsageError(f"depth = {depth!r}: {actions} actions tell at most levels 0 to {actions - 1} apart")
    if not (0 < lam < np.inf):
        raise UsageError(f"lam = {lam!r}: give a positive number")


def _candidates(own: Family, elite: _Elite, rng: np.random.Generator, size: int, many: int) -> Array:
    """Half new, half children of the best so far."""
    if not len(elite.scores):
        return own.draw(rng, size, many)
    fresh = own.draw(rng, size, many // 2)
    parents = elite.parameters[rng.integers(0, len(elite.scores), many - len(fresh))]
    return np.concatenate([fresh, own.mutate(rng, parents, size)])


def _judge(
    own: Family, candidates: Array, size: int, depth: int, non_monotone: bool, lam: float
) -> tuple[Array, Array, Array]:
    """Score, whether the demands are met, and K_max of each candidate.

    Scores of games that fall short are below 0 and rise with the depth they reach, so that children climb.
    """
    whole = -(-len(candidates) // BLOCK) * BLOCK  # filled up to whole blocks, and cut again
    filled = np.resize(candidates, (whole, candidates.shape[1]))
    maps = Maps(*(one[..., : len(candidates)] for one in family_maps(own.table, jnp.asarray(filled.T), size)))
    anchor = _anchors(own, candidates, maps.anchors, size)
    main = orbits(maps, anchor, depth)
    reach = np.asarray(main.depth)
    turns = np.asarray(main.up & main.down)
    good = (reach >= depth) & (turns | (not non_monotone)) & (np.asarray(main.margin) > 0)
    scores = np.minimum(reach, depth) / depth - 2.0 + 0.01 * turns
    # of the games that meet the demands those with the greatest margin are judged in full
    chosen = np.flatnonzero(good)
    chosen = chosen[np.argsort(-np.asarray(main.margin)[chosen], kind="stable")][:_SHORTLIST]
    if len(chosen):
        padded = np.resize(chosen, _SHORTLIST)  # one shape, compiled once
        payoffs = tables(own, candidates[padded], size)
        levels = aligned_levels(payoffs, main.sequence[:, padded], lam)[: len(chosen)]
        rules = [np.asarray(orbits(maps, rule, depth).depth)[chosen] >= depth for rule in maps.anchors]
        robust = (1.0 + np.sum(rules, axis=0)) / (1 + len(rules))  # the anchor's own rule, and the others
        scores[good] = 0.0
        scores[chosen] = np.asarray(levels) / depth + robust + np.asarray(main.margin)[chosen]
    return scores, good, reach


def _anchors(own: Family, candidates: Array, rules: Any, size: int) -> Any:
    """Level 0 of each candidate: where every bonus is granted, else the best reply to uniform play."""
    if own.granted is None:
        return rules[2]
    actions = own.actions(size)
    return jnp.asarray([int(np.argmax(own.granted(p, actions))) for p in candidates])


def _best(elite: _Elite, candidates: Array, scores: Array, good: Array, reach: Array) -> _Elite:
    pool = np.concatenate([elite.parameters.reshape(-1, candidates.shape[1]), candidates])
    worth = np.concatenate([elite.scores, scores])
    _, first = np.unique(pool, axis=0, return_index=True)
    order = first[np.argsort(-worth[first], kind="stable")][:_ELITE]
    return _Elite(
        pool[order],
        worth[order],
        elite.batch + 1,
        max(elite.deepest, int(reach.max())),
        elite.examined + len(candidates),
        elite.reached + int(good.sum()),
    )


def _result(own: Family, elite: _Elite, size: int, depth: int, lam: float, keep: int) -> Search:
    found: list[tuple[Certificate, Game]] = []
    seen: set[tuple[str, ...]] = set()
    for parameters, value in zip(elite.parameters, elite.scores, strict=True):
        if value <= 0 or len(found) == keep:
            break
        game = build(own, parameters, size, f"{own.name.replace('-', '_')}_{size}_{len(found) + 1}")
        made = tuple(int(p) for p in parameters) if own.names else ()
        told = certify(game, lam, DEFAULT_SCALE, family=own.name, parameters=made)
        if told.sequence not in seen:
            seen.add(told.sequence)
            found.append((told, game))
    certificates, games = tuple(c for c, _ in found), tuple(g for _, g in found)
    return Search(own.name, depth, games, certificates, elite.deepest, elite.examined, elite.reached)


def build(own: Family, parameters: Array, size: int, name: str) -> Game:
    """The game of some parameters, with its anchor as level 0 and its rules as a note."""
    setup_jax()
    actions = own.actions(size)
    payoffs = tables(own, np.asarray(parameters)[None], size)
    anchor = int(_anchors(own, np.asarray(parameters)[None], best_reply_maps(payoffs).anchors, size)[0])
    return Game.symmetric(
        name,
        np.asarray(payoffs)[:, :, 0],
        actions=[str(a) for a in actions],
        level0=str(actions[anchor]),
        title=own.title,
        source=f"found by levelkit depth search, family {own.name}",
        note=own.rules.format(*(int(p) for p in parameters)) if own.names else own.rules,
    )


def _load(state: str | Path | None, about: dict[str, Any]) -> _Elite | None:
    if state is None or not Path(state).is_file():
        return None
    try:
        kept = json.loads(Path(state).read_text(encoding="utf-8"))
        elite = kept["elite"]
        same = {name: kept["search"].get(name) for name in about} == about
        made = _Elite(
            np.array(elite["parameters"], int),
            np.array(elite["scores"], float),
            *(int(elite[n]) for n in ("batch", "deepest", "examined", "reached")),
        )
    except (ValueError, KeyError, TypeError, AttributeError):
        raise DataError("not the state of a search", where=str(state), fix="Name another file") from None
    if not same:
        differs = next(n for n in about if kept["search"].get(n) != about[n])
        raise DataError(
            f"the state of another search: its {differs} is {kept['search'].get(differs)!r}, not {about[differs]!r}",
            where=str(state),
            fix="Give the same options, or name another file",
        )
    return made


def _save(state: str | Path, about: dict[str, Any], elite: _Elite) -> None:
    kept = {
        "search": about,
        "elite": {
            "parameters": elite.parameters.tolist(),
            "scores": elite.scores.tolist(),
            "batch": elite.batch,
            "deepest": elite.deepest,
            "examined": elite.examined,
            "reached": elite.reached,
        },
    }
    target = Path(state)
    if not target.resolve().parent.is_dir():
        raise UsageError(f"cannot write {state}: the folder {target.parent} does not exist; make it first")
    temporary = target.with_name(f".{target.name}.tmp")
    temporary.write_text(json.dumps(kept), encoding="utf-8")
    temporary.replace(target)
