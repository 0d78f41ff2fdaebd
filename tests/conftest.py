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
