"""Best-reply maps of many games: batched with JAX, batched with numpy, and a numpy loop over games, in one process.

    python benchmarks/depth.py [--quick]

A map is the best reply to each action of one game with its margin, and three anchors, from the game's parameters: the
inner step of the search. All ways do the same work, and their results are compared. Prints a table; a full run also
writes benchmarks/results/depth.csv.
"""

from __future__ import annotations

import argparse
import csv
import os
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from levelkit.depth.families import family
from levelkit.depth.maps import family_maps, orbits
from levelkit.numerics import setup_jax

RESULTS = Path(__file__).parent / "results" / "depth.csv"
ACTIONS, DEPTH, SEED = 20, 15, 2001


def loop(parameters: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """One game after the other, as one would write it: table, best replies, margins, three anchors."""
    s = np.arange(1.0, ACTIONS + 1)[:, None]
    replies, margins, anchors = [], [], []
    for down, up, first, second in parameters:
        table = s + first * (s == s.T - down) + second * (s == s.T + up)
        order = np.sort(table, axis=0)
        replies.append(table.argmax(axis=0))
        margins.append((order[-1] - order[-2]) / (table.max() - table.min()))
        anchors.append([w.argmax() for w in (table.min(axis=1), table.max(axis=1), table.mean(axis=1))])
    return np.array(replies), np.array(margins), np.array(anchors)


def batched(parameters: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The same with numpy, blocks of games at once."""
    parts = []
    s = np.arange(1.0, ACTIONS + 1)
    for block in np.array_split(parameters, max(1, len(parameters) // 64)):
        down, up, first, second = (block[:, i, None, None] for i in range(4))
        own, other = s[None, :, None], s[None, None, :]
        table = own + first * (own == other - down) + second * (own == other + up)
        top = np.partition(table, -2, axis=1)[:, -2:]
        span = table.max(axis=(1, 2)) - table.min(axis=(1, 2))
        worth = (table.min(axis=2), table.max(axis=2), table.mean(axis=2))
        anchors = np.stack([w.argmax(axis=1) for w in worth], axis=1)
        parts.append((table.argmax(axis=1), (top[:, 1] - top[:, 0]) / span[:, None], anchors))
    replies, margins, anchors = zip(*parts, strict=True)
    return np.concatenate(replies), np.concatenate(margins), np.concatenate(anchors)


def depth_loop(replies: np.ndarray) -> np.ndarray:
    """K_max of each game from its last action, one after the other."""
    found = []
    for reply in replies:
        at, seen = ACTIONS - 1, set()
        while at not in seen:
            seen.add(at)
            at = int(reply[at])
        found.append(len(seen) - 1)
    return np.array(found)


def median_of(work: Callable[[], Any], times: int) -> tuple[Any, float]:
    seconds = []
    for _ in range(times):
        start = time.perf_counter()
        result = work()
        seconds.append(time.perf_counter() - start)
    return result, statistics.median(seconds)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer games; nothing is written")
    quick = parser.parse_args().quick
    games, few, times = (20_480, 2_048, 3) if quick else (204_800, 20_480, 5)
    setup_jax()
    own = family("ring")
    drawn = own.draw(np.random.default_rng(SEED), ACTIONS, games)
    given = jnp.asarray(drawn.T)
    anchor = np.full(games, ACTIONS - 1)
    jax.block_until_ready(orbits(family_maps(own.table, given, ACTIONS), anchor, DEPTH))  # compile

    maps, t_jax = median_of(lambda: jax.block_until_ready(family_maps(own.table, given, ACTIONS)), times)
    walked, t_orbits = median_of(lambda: jax.block_until_ready(orbits(maps, anchor, DEPTH)), times)
    numpy_maps, t_numpy = median_of(lambda: batched(drawn), times)
    loop_maps, t_loop = median_of(lambda: loop(drawn[:few]), times)
    depths, t_depths = median_of(lambda: depth_loop(loop_maps[0]), times)

    for (replies, margins, _), many in ((numpy_maps, games), (loop_maps, few)):
        margin = np.asarray(maps.margin).T[:many]
        assert np.array_equal(np.asarray(maps.reply).T[:many], replies)
        assert np.allclose(margin, margins, atol=1e-12)
    assert np.array_equal(np.asarray(walked.depth)[:few], depths)

    speed = {"jax, batched": games / t_jax, "numpy, batched": games / t_numpy, "numpy loop": few / t_loop}
    follow = {"jax, batched": games / t_orbits, "python loop": few / t_depths}
    rows = [("machine", "cores", float(os.cpu_count() or 0), ""), ("problem", "actions", float(ACTIONS), "")]
    rows += [(way, "best-reply maps", value, "maps/s") for way, value in speed.items()]
    rows += [(way, "sequences followed", value, "games/s") for way, value in follow.items()]
    rows += [("jax over numpy loop", "best-reply maps", speed["jax, batched"] / speed["numpy loop"], "times")]
    rows += [("jax over numpy batched", "best-reply maps", speed["jax, batched"] / speed["numpy, batched"], "times")]
    rows += [("jax over python loop", "sequences followed", follow["jax, batched"] / follow["python loop"], "times")]
    for way, quantity, value, unit in rows:
        print(f"{way:<24}{quantity:<20}{value:>14,.1f} {unit}")
    if not quick:
        with RESULTS.open("w", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(["way", "quantity", "value", "unit"])
            writer.writerows([(w, q, f"{v:.6g}", u) for w, q, v, u in rows])


if __name__ == "__main__":
    main()
