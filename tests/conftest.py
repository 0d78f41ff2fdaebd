"""Where the material that is not part of the repository lies, and how much hypothesis tries."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

ROOT = Path(__file__).resolve().parents[1]

settings.register_profile(
    "levelkit",
    derandomize=True,
    deadline=None,
    database=None,
    max_examples=15,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("levelkit")


# A process may map 65,530 pieces of memory on Linux; every compiled program takes a few, and beyond that it ends.
_MANY_MAPS = 20_000


@pytest.fixture(autouse=True, scope="module")
def _room_for_programs():
    """Drop compiled programs between test modules where many have gathered; no user's process runs so many."""
    yield
    maps = Path("/proc/self/maps")
    if maps.is_file() and len(maps.read_bytes().splitlines()) > _MANY_MAPS:
        import jax

        jax.clear_caches()


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of reference data (environment variable LEVELKIT_SHARED, else ../shared); skips when it is absent."""
    folder = Path(os.environ.get("LEVELKIT_SHARED", ROOT.parent / "shared"))
    if not folder.is_dir():
        pytest.skip("no folder of reference data; set LEVELKIT_SHARED")
    return folder


@pytest.fixture(scope="session")
def golden(shared: Path):
    """Read one of the golden files by name."""

    def read(name: str) -> dict:
        path = shared / "golden" / name
        if not path.is_file():
            pytest.skip(f"no {name} among the reference data")
        return json.loads(path.read_text(encoding="utf-8"))

    return read
