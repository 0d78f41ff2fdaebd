"""Running NUTS: chains side by side, in pieces, so that a run shows progress, can be stopped and taken up again."""

from __future__ import annotations

import hashlib
import os
import pickle
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

_PIECES = 8
STATISTICS = ("diverging", "accept_prob", "num_steps", "potential_energy", "energy")
_OUR_NAMES = {"accept_prob": "acceptance_rate", "num_steps": "n_steps", "potential_energy": "lp"}


@dataclass(frozen=True)
class Run:
    """How to sample: draws of each chain after warm-up, chains, target acceptance, seed, where to keep the state."""

    draws: int = 1000
    chains: int = 4
    warmup: int = 1000
    accept: float = 0.9
    seed: int = 0
    checkpoint: Path | None = None


@numerics.not_cached()
def sample(
    model: Callable[[], None], run: Run, kept: Callable[[str], bool], identity: str, progress: Progress | None = None
) -> tuple[dict[str, Array], dict[str, Array]]:
    """Draws (chains, draws, ...) of the variables wanted, and sampler statistics (chains, draws).

    identity: text that tells this run from others; a checkpoint of another run is refused with a UsageError.
    """
    from numpyro.infer import MCMC, NUTS, init_to_median

    kernel = NUTS(model, target_accept_prob=run.accept, max_tree_depth=8, init_strategy=init_to_median(num_samples=20))
    piece = max(1, -(-run.draws // _PIECES))
    mcmc = MCMC(
        kernel,
        num_warmup=run.warmup,
        num_samples=piece,
        num_chains=run.chains,
        chain_method="vectorized",
        progress_bar=False,
    )
    key = hashlib.sha256(
        f"{identity} {run.draws} {run.chains} {run.warmup} {run.accept} {run.seed}".encode()
    ).hexdigest()
    state, parts = _resumed(run.checkpoint, key)
    total = run.warmup + run.draws
    done = sum(len(p[0]) and next(iter(p[1].values())).shape[1] for p in parts)
    if state is None:
        mcmc.warmup(jax.random.PRNGKey(run.seed), extra_fields=STATISTICS)
        state = jax.block_until_ready(mcmc.post_warmup_state)
        _keep(run.checkpoint, key, state, parts)
    if progress is not None:
        progress(run.warmup + done, total)
    while done < run.draws:
        mcmc.post_warmup_state = state
        mcmc.run(state.rng_key, extra_fields=STATISTICS)
        state = mcmc.last_state
        drawn = {k: np.asarray(v) for k, v in mcmc.get_samples(group_by_chain=True).items() if kept(k)}
        told = {k: np.asarray(v) for k, v in mcmc.get_extra_fields(group_by_chain=True).items()}
        parts.append((drawn, told))
        done += piece
        _keep(run.checkpoint, key, state, parts)
        if progress is not None:
            progress(min(run.warmup + done, total), total)
    draws = _joined([p[0] for p in parts], run.draws)
    told = _joined([p[1] for p in parts], run.draws)
    return draws, {_OUR_NAMES.get(name, name): value for name, value in told.items()}


def _joined(parts: list[dict[str, Array]], draws: int) -> dict[str, Array]:
    return {name: np.concatenate([p[name] for p in parts], axis=1)[:, :draws] for name in parts[0]}


def _keep(path: Path | None, key: str, state: Any, parts: list[Any]) -> None:
    if path is None:
        return
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    temporary.write_bytes(pickle.dumps((key, jax.device_get(state), parts)))
    os.replace(temporary, path)


def _resumed(path: Path | None, key: str) -> tuple[Any, list[Any]]:
    if path is None or not path.exists():
        return None, []
    try:
        kept, state, parts = pickle.loads(path.read_bytes())
    except Exception as error:
        raise UsageError(f"{path} is no checkpoint of levelkit; remove it or name another file") from error
    if kept != key:
        raise UsageError(
            f"{path} belongs to another run (data, model, priors, seed or draws differ); name another file"
        )
    return state, parts
