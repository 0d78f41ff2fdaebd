"""Three ways to fit the TQRE to many cells, side by side in one process; then memory and the command line's start.

A  100,000 cells over the 13 small games of the TQRE study, n = 15 choices a player
B  10,000 cells that each play their own random 3x3 game, n = 15
C  100,000 to 1,000,000 cells of A's kind with n = 40: time and peak memory, each size in a process of its own
D  `levelkit fit` on a file of 20 cells, with an empty and with a filled compilation cache

    python benchmarks/run.py [--quick] [--problem A] [--problem B] ...

Prints a table; a full run also replaces the rows of its problems in benchmarks/results/latest.csv.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import platform
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import cells
import levelkit as lk
import loop
from cells import Problem

# scipy's L-BFGS-B calls BLAS on vectors of length two; with a thread pool behind it the loop is several times slower.
# One thread is the loop's best case.
ONE_THREAD = dict.fromkeys(("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS"), "1")

RESULTS = Path(__file__).parent / "results" / "latest.csv"
BETTER = 1e-6  # nats by which one optimum has to beat another
SEEDS = {"A": 1001, "B": 1002, "C": 1003, "D": 1004}
Row = tuple[str, str, str, float | str, str]


@dataclass(frozen=True)
class Sizes:
    """How much of each problem is run."""

    cells: dict[str, int] = field(default_factory=lambda: {"A": 100_000, "B": 10_000})
    subset: int = 300
    intervals: int = 2_000
    warm: int = 2_000
    memory: tuple[int, ...] = (100_000, 300_000, 1_000_000)
    starts: int = 3
    jaxopt: bool = True


# jaxopt's compilation alone takes longer than a quick look should
QUICK = Sizes({"A": 1_000, "B": 400}, 20, 100, 1_000, (10_000,), 1, False)


def timed(work: Callable[[], Any]) -> tuple[Any, float, float]:
    """Result, seconds by the clock, seconds of processor time."""
    wall, cpu = time.perf_counter(), time.process_time()
    result = work()
    return result, time.perf_counter() - wall, time.process_time() - cpu


def fit(problem: Problem, intervals: bool = False) -> lk.Fits:
    return lk.fit(
        problem.choices, lk.TQRE(levels=cells.LEVELS), by=["cell", "game"], intervals=intervals, sensitivity=False
    )


def estimates(fits: lk.Fits) -> np.ndarray:
    """(cells, 2): tau and gamma where the likelihood is highest, also where no estimate is reported."""
    return fits.result.params[:, fits.sub_of_row].T


def make(name: str, size: int, seed: int) -> Problem:
    return cells.random_games(size, seed) if name == "B" else cells.study(size, seed)


def side_by_side(name: str, sizes: Sizes) -> list[Row]:
    """Speed of three ways, and which finds the better optimum on a subset of the cells."""
    say(f"{name}: drawing {sizes.cells[name]:,} cells, warming up on {sizes.warm:,} others")
    problem = make(name, sizes.cells[name], SEEDS[name])
    other = make(name, sizes.warm, SEEDS[name] + 1)
    fit(other)
    fit(other.subset(np.arange(min(sizes.intervals, sizes.warm))), intervals=True)
    few = np.sort(np.random.default_rng(SEEDS[name]).choice(len(problem), sizes.subset, replace=False))
    subset = problem.subset(few)
    rows: list[Row] = []

    def speed(way: str, size: int, wall: float, cpu: float) -> None:
        rows.extend(
            [
                (name, way, "cells", size, "cells"),
                (name, way, "time", wall, "s"),
                (name, way, "speed", size / wall, "cells/s"),
            ]
        )
        rows.append((name, way, "speed per processor", size / cpu, "cells/cpu-s"))

    say(f"{name}: levelkit")
    fits, wall, cpu = timed(lambda: fit(problem))
    speed("levelkit", len(problem), wall, cpu)
    found = estimates(fits)
    values = cells.logliks(problem, *found.T)
    legal = problem.tau <= 10
    truth = np.where(legal, cells.logliks(problem, problem.tau, problem.gamma), -np.inf)
    rows += [
        (name, "levelkit", "distinct cells", len(fits.result.value), "cells"),
        (
            name,
            "levelkit",
            "reported minus reference",
            np.abs(values - fits.result.value[fits.representative]).max(),
            "nats",
        ),
        (name, "levelkit", "share below the truth", float((truth > values + BETTER).mean()), "share"),
    ]
    for word in ("ok", "multimodal", "boundary", "flat"):
        rows.append((name, "levelkit", f"status {word}", float((fits.status == word).mean()), "share"))
    part = problem.subset(np.sort(np.random.default_rng(0).choice(len(problem), sizes.intervals, replace=False)))
    _, wall, cpu = timed(lambda: fit(part, intervals=True))
    speed("levelkit, intervals", len(part), wall, cpu)

    say(f"{name}: scipy loop on {sizes.subset} of the cells")
    looped, wall, cpu = timed(lambda: loop.fit(subset))
    speed("scipy loop", len(subset), wall, cpu)
    rows += verdict(name, "scipy loop", values[few], cells.logliks(subset, looped[:, 0], looped[:, 1]))
    if sizes.jaxopt:
        import jaxopt_batch

        say(f"{name}: jaxopt, compiling")
        run = jaxopt_batch.prepare(subset)
        batched, wall, cpu = timed(run)
        speed("jaxopt vmap", len(subset), wall, cpu)
        rows += verdict(name, "jaxopt vmap", values[few], cells.logliks(subset, *batched.T))
    base = {r[2]: float(r[3]) for r in rows if r[1] == "scipy loop"}
    for way in ("levelkit", "levelkit, intervals", "jaxopt vmap"):
        own = {r[2]: float(r[3]) for r in rows if r[1] == way}
        if own:
            rows.append((name, way, "ratio to loop", own["speed"] / base["speed"], "times"))
            each = own["speed per processor"] / base["speed per processor"]
            rows.append((name, way, "ratio to loop per processor", each, "times"))
    # cells with the same counts are fitted once; what is left of the ratio if the loop did so, too
    own = {r[2]: float(r[3]) for r in rows if r[1] == "levelkit"}
    fair = own["distinct cells"] / own["time"] / base["speed"]
    rows.append((name, "levelkit", "ratio to loop, distinct cells", fair, "times"))
    return rows


def verdict(name: str, way: str, levelkit: np.ndarray, rival: np.ndarray) -> list[Row]:
    """Who found the better optimum, both valued by the numpy reference."""
    ahead = np.nan_to_num(rival, nan=-np.inf) - levelkit
    return [
        (name, way, "beats levelkit", float((ahead > BETTER).mean()), "share"),
        (name, way, "beats levelkit by up to", max(0.0, float(ahead.max())), "nats"),
        (name, way, "falls short of levelkit", float((ahead < -BETTER).mean()), "share"),
        (name, way, "falls short by up to", max(0.0, float(-ahead.min())), "nats"),
    ]


def child(size: int) -> dict[str, float]:
    """One size of problem C, in this process: time of the fit, and the peak of memory with and without it."""
    fit(cells.study(2_000, SEEDS["C"] + 1, 40))
    problem = cells.study(size, SEEDS["C"], 40, "C")
    before = peak()
    fits, wall, cpu = timed(lambda: fit(problem))
    return {"time": wall, "cpu": cpu, "distinct": len(fits.result.value), "before": before, "peak": peak()}


def peak() -> float:
    """Peak resident memory of this process so far, MiB (the kernel reports KiB; on macOS bytes)."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10)


def memory(sizes: Sizes) -> list[Row]:
    """Problem C: each size in its own process, because a peak is never taken back."""
    rows: list[Row] = []
    for size in sizes.memory:
        say(f"C: {size:,} cells")
        command = [sys.executable, __file__, "--child", str(size)]
        out = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        way = f"levelkit, {size:,} cells"
        rows += [
            ("C", way, "cells", size, "cells"),
            ("C", way, "time", out["time"], "s"),
            ("C", way, "speed", size / out["time"], "cells/s"),
            ("C", way, "speed per processor", size / out["cpu"], "cells/cpu-s"),
            ("C", way, "distinct cells", out["distinct"], "cells"),
            ("C", way, "time per cell", out["time"] / size * 1e6, "us"),
            ("C", way, "time per distinct cell", out["time"] / out["distinct"] * 1e6, "us"),
            ("C", way, "peak memory before the fit", out["before"], "MiB"),
            ("C", way, "peak memory", out["peak"], "MiB"),
        ]
    return rows


def starts(sizes: Sizes) -> list[Row]:
    """Problem D: the command line on a small file, from an empty and from a filled compilation cache."""
    say("D: levelkit fit on a file of 20 cells")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "choices.csv")
        cells.study(20, SEEDS["D"]).choices.frame().to_csv(file, index=False)
        command = [sys.executable, "-m", "levelkit.cli", "fit", str(file), "--by", "cell,game"]
        environment = {**os.environ, "LEVELKIT_CACHE": str(Path(folder, "cache"))}
        environment.pop("JAX_COMPILATION_CACHE_DIR", None)

        def run() -> None:
            subprocess.run(command, check=True, capture_output=True, env=environment)

        cold = timed(run)[1]
        warm = statistics.median(timed(run)[1] for _ in range(sizes.starts))
        bare = [sys.executable, "-c", "import levelkit, jax, pandas, typer, rich"]
        floor = statistics.median(timed(lambda: subprocess.run(bare, check=True))[1] for _ in range(sizes.starts))
    return [
        ("D", "levelkit fit, empty cache", "time", cold, "s"),
        ("D", "levelkit fit, filled cache", "time", warm, "s"),
        ("D", "imports alone", "time", floor, "s"),
    ]


def machine() -> list[tuple[str, str]]:
    """What the numbers were measured on."""
    import jax
    import scipy

    model = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists():
        model = next(
            (s.split(":")[1].strip() for s in info.read_text().splitlines() if s.startswith("model name")), model
        )
    pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**30
    versions = (
        f"Python {platform.python_version()}, numpy {np.__version__}, scipy {scipy.__version__}, jax {jax.__version__}"
    )
    load = ", ".join(f"{x:.1f}" for x in os.getloadavg())
    return [
        ("processor", f"{model}, {os.cpu_count()} cores, {pages:.0f} GiB"),
        ("software", f"levelkit {lk.__version__}, {versions}"),
        ("date", time.strftime("%Y-%m-%d")),
        ("load before the run (1, 5, 15 minutes)", load),
    ]


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def table(rows: list[Row]) -> str:
    """The compact table: one line per problem and way."""
    lines = [
        f"{'':2}{'way':28}{'cells':>10}{'cells/s':>10}{'per cpu-s':>11}{'x loop':>9}{'(cpu)':>8}"
        f"{'better':>9}{'by':>9}{'worse':>8}{'by':>9}"
    ]
    ways = list(dict.fromkeys((r[0], r[1]) for r in rows if r[1] != "machine"))
    for problem, way in ways:
        own = {r[2]: r[3] for r in rows if r[:2] == (problem, way)}

        def put(key: str, shape: str, width: int, own: dict[str, Any] = own) -> str:
            return f"{format(own[key], shape) if key in own else '':>{width}}"

        line = f"{problem:2}{way:28}{put('cells', ',', 10)}"
        if problem in "AB":
            line += put("speed", ",.1f", 10) + put("speed per processor", ",.1f", 11) + put("ratio to loop", ",.1f", 9)
            line += put("ratio to loop per processor", ",.1f", 8) + put("beats levelkit", ".2%", 9)
            line += put("beats levelkit by up to", ".2g", 9) + put("falls short of levelkit", ".1%", 8)
            line += put("falls short by up to", ".2g", 9)
        elif problem == "C":
            line += put("speed", ",.1f", 10) + put("speed per processor", ",.1f", 11)
            line += f"   {own['distinct cells']:,.0f} distinct, {own['time per cell']:.0f} us a cell"
            line += f", peak {own['peak memory']:,.0f} MiB"
        else:
            line += f"   {own['time']:.2f} s"
        lines.append(line)
    for problem in ("A", "B"):
        own = {r[2]: r[3] for r in rows if r[:2] == (problem, "levelkit")}
        if own:
            lines.append(
                f"{problem}: {own['distinct cells']:,} cells differ (ratio to the loop by these: "
                f"{own['ratio to loop, distinct cells']:.1f}); levelkit's log-likelihoods agree with the reference to "
                f"{own['reported minus reference']:.1g}; below the truth: {own['share below the truth']:.2%}"
            )
    lines.append(
        "better, worse: share of the loop's cells where that way's optimum beats or misses levelkit's by > 1e-6 nats"
    )
    return "\n".join(lines)


def write(rows: list[Row], problems: list[str]) -> None:
    """Replace the rows of the problems just run."""
    kept: list[list[str]] = []
    if RESULTS.exists():
        with RESULTS.open(newline="") as file:
            kept = [r for r in list(csv.reader(file))[1:] if r and r[0] not in problems]
    fresh = [[str(v) if not isinstance(v, float) else f"{v:.6g}" for v in r] for r in rows]
    RESULTS.parent.mkdir(exist_ok=True)
    with RESULTS.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["problem", "way", "quantity", "value", "unit"])
        writer.writerows(sorted([*kept, *fresh], key=lambda r: r[0]))


def main() -> None:
    parser = argparse.ArgumentParser(description="Speed and accuracy side by side.")
    parser.add_argument("--quick", action="store_true", help="small sizes, neither jaxopt nor D, nothing written")
    parser.add_argument(
        "--problem", action="append", choices=["A", "B", "C", "D"], help="only this one; may be repeated"
    )
    parser.add_argument("--child", type=int, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.child:
        print(json.dumps(child(asked.child)))
        return
    if any(os.environ.get(name) != one for name, one in ONE_THREAD.items()):
        # BLAS reads it once, when numpy is imported: start again
        os.execve(sys.executable, [sys.executable, *sys.argv], {**os.environ, **ONE_THREAD})
    # D compiles everything anew, which a quick look has no time for
    sizes, problems = (QUICK, list("ABC")) if asked.quick else (Sizes(), list("ABCD"))
    problems = asked.problem or problems
    rows: list[Row] = []
    for name in problems:
        rows += [(name, "machine", what, value, "") for what, value in machine()]
        rows += memory(sizes) if name == "C" else starts(sizes) if name == "D" else side_by_side(name, sizes)
    print(*(f"{what}: {value}" for what, value in machine()), table(rows), sep="\n")
    if not asked.quick:
        write(rows, problems)
        say(f"wrote {RESULTS.relative_to(Path.cwd()) if RESULTS.is_relative_to(Path.cwd()) else RESULTS}")


if __name__ == "__main__":
    main()
