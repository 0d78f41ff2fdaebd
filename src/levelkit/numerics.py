"""How JAX is set up, before anything is computed with it."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator

import jax


def setup_jax() -> None:
    """Switch to float64 and, unless the user has set one, to a persistent compilation cache."""
    jax.config.update("jax_enable_x64", True)
    if getattr(jax.config, "jax_compilation_cache_dir", None) is None:
        root = os.environ.get("LEVELKIT_CACHE") or os.path.join(
            os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache"),
            "levelkit",
            "jax",
        )
        jax.config.update("jax_compilation_cache_dir", root)
        jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.1)
        jax.config.update("jax_persistent_cache_min_entry_size_bytes", 0)


@contextlib.contextmanager
def not_cached() -> Iterator[None]:
    """Compile without the persistent cache: for programs that hold the data, which never come again.

    Samplers' programs are also large: afterwards what is compiled is dropped, since a process can map only so much.
    """
    from jax.experimental.compilation_cache import compilation_cache

    before = bool(getattr(jax.config, "jax_enable_compilation_cache", True))
    jax.config.update("jax_enable_compilation_cache", False)
    compilation_cache.reset_cache()
    try:
        yield
    finally:
        jax.config.update("jax_enable_compilation_cache", before)
        compilation_cache.reset_cache()
        jax.clear_caches()
