"""Published studies computed again, one file each; a new one is a file with a `STUDY` and a line here."""

from __future__ import annotations

import difflib
import importlib
from typing import TYPE_CHECKING

from levelkit.errors import UsageError

if TYPE_CHECKING:
    from levelkit.studies.base import Study

STUDIES = {
    "rpc2009": "rpc2009",
    "tqre-llm": "tqre_llm",
    "depth2026": "depth2026",
    "eleven-twenty": "eleven_twenty",
    "humans": "humans",
}
"""Names as a user types them, and the module of each."""


def get(name: str) -> Study:
    """A study by name. Raises UsageError for an unknown one."""
    if name not in STUDIES:
        near = difflib.get_close_matches(name, list(STUDIES), 1)
        hint = f"; did you mean {near[0]!r}?" if near else f"; choose from {', '.join(STUDIES)}"
        raise UsageError(f"there is no study {name!r}{hint}")
    study: Study = importlib.import_module(f"levelkit.studies.{STUDIES[name]}").STUDY
    return study
