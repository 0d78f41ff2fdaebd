"""Running NUTS: chains side by side, in pieces, so that a run shows progress, can be stopped and taken up again."""

from __future__ import annotations

import hashlib
import os
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import numpy as np

from levelkit import numerics
from levelkit.errors import UsageError
from levelkit.inference.kernels import Array
from levelkit.inference.solved import Progress

_PIECE = 50
_DEPTH = 8  # of trajectories: 2^8 steps at most
_STATISTICS = {
    "diverging": "diverging",
    "accept_prob": "acceptance_rate",
    "num_steps": "n_steps",
    "potential_energy": "potential_energy",
    "energy": "energy",
}


@dataclass(frozen=True)
class Run:
    """How to sample: draws of each chain after warm-up, chains, target acceptance, seed, where to keep the state."""

    draws: int = 1000
    chains: int = 4
    warmup: int = 1000
    accept: float = 0.95
    seed: int = 0
    checkpoint: Path | None = None


@dataclass
class _State:
    """Where a run is: steps done, the sampler's state, and pieces of draws and statistics after warm-up."""

    key: str
    done: int
    sampler: Any
    draws: list[dict[str, Array]]
    told: list[dict[str, Array]]


def nuts(model: Callable[[], None], accept: float) -> Any:
    """The sampler, with a target acceptance."""
    from numpyro.infer import NUTS, init_to_median

    return NUTS(model, target_accept_prob=accept, max_tree_depth=_DEPTH, init_strategy=init_to_median(num_samples=20))


@numerics.not_cached()
def sample(
    model: Callable[[], None], run: Run, identity: str, progress: Progress | None = None
) -> tuple[dict[str, Array], dict[str, Array]]:
    """Draws (chains, draws, ...) of the model's variables, and statistics of the sampler (chains, draws).

    identity: text that tells this run from others; a checkpoint of another run is refused with a UsageError.
    """
    kernel = nuts(model, run.accept)
    told = f"{identity} {run.draws} {run.chains} {run.warmup} {run.accept} {run.seed}"
    key = hashlib.sha256(told.encode()).hexdigest()
    keys = jax.random.split(jax.random.PRNGKey(run.seed), run.chains)
    # needed also where a run is taken up: it prepares the kernel, for all chains side by side
    first = kernel.init(keys, run.warmup, None, (), {})
    state = _resumed(run.checkpoint, key, first) or _State(key, 0, first, [], [])
    natural = jax.jit(jax.vmap(jax.vmap(kernel.postprocess_fn((), {}))))

    def step(sampler: Any, _: Any) -> tuple[Any, Any]:
        sampler = kernel.sample(sampler, (), {})
        return sampler, (sampler.z, {name: getattr(sampler, name) for name in _STATISTICS})

    advance = jax.jit(lambda sampler: jax.lax.scan(step, sampler, None, length=_PIECE))
    total = run.warmup + run.draws
    while state.done < total:
        sampler, (z, statistics) = advance(state.sampler)
        if state.done + _PIECE > run.warmup:
            # steps of warm-up within the piece are left out, and what is beyond the last draw
            kept = slice(max(run.warmup - state.done, 0), min(_PIECE, total - state.done))
            by_chain = jax.tree.map(lambda a: np.moveaxis(np.asarray(a)[kept], 0, 1), (z, statistics))  # noqa: B023
            state.draws.append({k: np.asarray(v) for k, v in natural(by_chain[0]).items()})
            state.told.append({_STATISTICS[k]: v for k, v in by_chain[1].items()})
        state.sampler, state.done = jax.block_until_ready(sampler), state.done + _PIECE
        _keep(run.checkpoint, state)
        if progress is not None:
            progress(min(state.done, total), total)
    return _joined(state.draws), _joined(state.told)


def _joined(parts: list[dict[str, Array]]) -> dict[str, Array]:
    return {name: np.concatenate([p[name] for p in parts], axis=1) for name in parts[0]}


def _keep(path: Path | None, state: _State) -> None:
    """Write a run's state as plain arrays, in place of an earlier one."""
    if path is None:
        return
    arrays: dict[str, Any] = {"key": np.array(state.key), "done": np.array(state.done)}
    for number, leaf in enumerate(jax.tree.leaves(state.sampler)):
        arrays[f"sampler {number}"] = np.asarray(leaf)
    for what, pieces in (("draws", state.draws), ("told", state.told)):
        arrays.update({f"{what} {name}": values for name, values in (_joined(pieces) if pieces else {}).items()})
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    with temporary.open("wb") as file:
        np.savez(file, **arrays)
    os.replace(temporary, path)


def _resumed(path: Path | None, key: str, first: Any) -> _State | None:
    """The state kept in a file; `first` has the form of the sampler's state.

    Raises UsageError where the file is something else or belongs to another run.
    """
    if path is None or not path.exists():
        return None
    try:
        with np.load(path, allow_pickle=False) as kept:
            arrays = dict(kept)
        found, done = str(arrays["key"]), int(arrays["done"])
    except (OSError, ValueError, KeyError, TypeError, zipfile.BadZipFile) as error:
        raise UsageError(f"{path} is no checkpoint of levelkit; remove it or name another file") from error
    if found != key:
        raise UsageError(
            f"{path} belongs to another run (data, model, priors, seed or draws differ); name another file"
        )
    leaves, form = jax.tree.flatten(first)
    sampler = jax.tree.unflatten(form, [arrays[f"sampler {n}"] for n in range(len(leaves))])
    draws, told = (
        {k.removeprefix(f"{what} "): v for k, v in arrays.items() if k.startswith(f"{what} ")}
        for what in ("draws", "told")
    )
    return _State(key, done, sampler, [draws] if draws else [], [told] if told else [])
