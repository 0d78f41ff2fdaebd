"""An observer of a repeated game: who plays what, how well can one tell, and how well did somebody tell?

lk.observer.outcome("H", "C")                       # what two strategies come to
lk.observer.losses(("H", "C"), ("K", "C"))          # how far a guess is off
lk.observer.posterior(moves)                        # the ideal observer
lk.observer.ceiling(("H", "C"))                     # how often it is right
lk.observer.score(lk.observer.read_log("log.jsonl"))
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

_WHERE = {
    "Catalogue": "catalogues",
    "Strategy": "catalogues",
    "catalogue": "catalogues",
    "Steady": "steady",
    "damped": "steady",
    "outcome": "steady",
    "outcomes": "steady",
    "steady_state": "steady",
    "results": "engine",
    "simulate": "engine",
    "guessed_law": "scoring",
    "loss_table": "scoring",
    "losses": "scoring",
    "properness": "scoring",
    "unstable": "scoring",
    "Posterior": "ideal",
    "posterior": "ideal",
    "Ceiling": "ceilings",
    "ceiling": "ceilings",
    "ceiling_table": "ceilings",
    "move_twins": "ambiguity",
    "outcome_classes": "ambiguity",
    "twins_by_moves": "ambiguity",
    "twins_by_outcomes": "ambiguity",
    "Match": "matches",
    "MatchLog": "matches",
    "simulated": "matches",
    "write_log": "matches",
    "read_log": "reading",
    "read_detail_sheet": "detailsheet",
    "Identification": "scores",
    "identification": "scores",
    "score": "scores",
    "score_matches": "scores",
    "score_rounds": "scores",
    "Audit": "audits",
    "audit": "audits",
    "Permutation": "permutation",
    "compare_observers": "permutation",
    "permutation_test": "permutation",
}

__all__ = list(_WHERE)

if TYPE_CHECKING:
    from levelkit.observer.ambiguity import move_twins, outcome_classes, twins_by_moves, twins_by_outcomes
    from levelkit.observer.audits import Audit, audit
    from levelkit.observer.catalogues import Catalogue, Strategy, catalogue
    from levelkit.observer.ceilings import Ceiling, ceiling, ceiling_table
    from levelkit.observer.detailsheet import read_detail_sheet
    from levelkit.observer.engine import results, simulate
    from levelkit.observer.ideal import Posterior, posterior
    from levelkit.observer.matches import Match, MatchLog, simulated, write_log
    from levelkit.observer.permutation import Permutation, compare_observers, permutation_test
    from levelkit.observer.reading import read_log
    from levelkit.observer.scores import Identification, identification, score, score_matches, score_rounds
    from levelkit.observer.scoring import guessed_law, loss_table, losses, properness, unstable
    from levelkit.observer.steady import Steady, damped, outcome, outcomes, steady_state


def __getattr__(name: str) -> Any:
    if name in _WHERE:
        value = getattr(importlib.import_module(f"levelkit.observer.{_WHERE[name]}"), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'levelkit.observer' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
