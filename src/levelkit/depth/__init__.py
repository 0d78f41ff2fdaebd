"""Depth games: instruments that tell levels of iterated reasoning apart, and what choices in them show.

Which action each level takes (`sequence`, `check`), what opponents of a level play (`histories`), trial logs and their
scoring (`read_trials`, `score`), what an ideal reasoner could do (`ceiling`), estimates (`estimate`), and the search
for better games (`search`). Names load what they need when first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

_WHERE = {
    "Instrument": "levelkit.depth.instruments",
    "instrument": "levelkit.depth.instruments",
    "best_responses": "levelkit.depth.sequences",
    "sequence": "levelkit.depth.sequences",
    "Sequence": "levelkit.depth.sequences",
    "Window": "levelkit.depth.windows",
    "anchor_report": "levelkit.depth.anchors",
    "mixture_rank": "levelkit.depth.rank",
    "check": "levelkit.depth.checks",
    "Check": "levelkit.depth.checks",
    "opponent": "levelkit.depth.quantal",
    "histories": "levelkit.depth.draws",
    "infer_scale": "levelkit.depth.draws",
    "Trials": "levelkit.depth.trials",
    "read_trials": "levelkit.depth.trials",
    "read_sweep": "levelkit.depth.sweep",
    "score": "levelkit.depth.scoring",
    "simulate_log": "levelkit.depth.agents",
    "behaviours": "levelkit.depth.behaviour",
    "ceiling": "levelkit.depth.ceilings",
    "estimate": "levelkit.depth.estimates",
    "search": "levelkit.depth.searches",
}

__all__ = [*_WHERE]

if TYPE_CHECKING:
    from levelkit.depth.agents import simulate_log
    from levelkit.depth.anchors import anchor_report
    from levelkit.depth.behaviour import behaviours
    from levelkit.depth.ceilings import ceiling
    from levelkit.depth.checks import Check, check
    from levelkit.depth.draws import histories, infer_scale
    from levelkit.depth.estimates import estimate
    from levelkit.depth.instruments import Instrument, instrument
    from levelkit.depth.quantal import opponent
    from levelkit.depth.rank import mixture_rank
    from levelkit.depth.scoring import score
    from levelkit.depth.searches import search
    from levelkit.depth.sequences import Sequence, best_responses, sequence
    from levelkit.depth.sweep import read_sweep
    from levelkit.depth.trials import Trials, read_trials
    from levelkit.depth.windows import Window


def __getattr__(name: str) -> Any:
    if name in _WHERE:
        module = importlib.import_module(_WHERE[name])
        globals()[name] = value = getattr(module, name)
        return value
    raise AttributeError(f"module 'levelkit.depth' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
