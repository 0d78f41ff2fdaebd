"""Do logged matches hold what their headers say? Moves against the declared strategies, the engine, the design."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from levelkit.observer.catalogues import Array, Catalogue
from levelkit.observer.engine import ENGINES
from levelkit.observer.matches import Match, MatchLog

ALPHA = 0.001  # what is called a departure; matches are many
ENOUGH = 20  # matches for each model and pair; fewer cannot rank observers
REACTS, LAPSES, DEAF, UNTOLD = "reacts", "reacts with lapses", "does not react", "cannot be told"


@dataclass(frozen=True, eq=False)
class Audit:
    """players: a row for each player of each match. matches: a row for each match, with the engine found in the moves.
    designs: a row for each pair, with how many matches each observer saw and whether they saw the same ones.
    """

    players: pd.DataFrame
    matches: pd.DataFrame
    designs: pd.DataFrame

    @property
    def findings(self) -> list[str]:
        """What is amiss, in words, the gravest first; empty where nothing is."""
        return _findings(self)


def audit(log: MatchLog) -> Audit:
    """Check every match of a log.

    A reactive player is held against the declared rule: how many of the moves follow it, beside what would follow it
    by chance if moves did not depend on the opponent's last move (binomial test). Other players are held against the
    declared mixture (chi-squared test of the frequencies). The engine is found from whether the reactive players
    react.
    """
    players = pd.DataFrame([_player(match, i, log.catalogue) for match in log for i in (0, 1)])
    rows = []
    for match in log:
        behaviour = players.loc[(players["match_id"] == match.match_id) & (players["kind"] == "reactive"), "behaviour"]
        found = _engine(behaviour.tolist())
        agree = match.engine is None or found not in ENGINES or found == match.engine
        rows.append(
            {
                "match_id": match.match_id,
                "model": match.model,
                "pair": "-".join(match.truth),
                "engine": match.engine or "",
                "found": found,
                "agrees": agree,
                "rounds": match.rounds,
                "known": int((match.moves >= 0).all(axis=1).sum()),
                "no_guess": match.scored - match.count("guess"),
            }
        )
    return Audit(players, pd.DataFrame(rows), _designs(log))


def _player(match: Match, player: int, known: Catalogue) -> dict[str, Any]:
    code = match.truth[player]
    strategy = known.strategy(code)
    row: dict[str, Any] = {"match_id": match.match_id, "player": player + 1, "code": code, "kind": strategy.kind}
    last, own = match.lag_pairs(player)
    if strategy.is_reactive:
        return row | _reaction(strategy.table, last, own)
    moves = match.moves[:, player]
    counts = np.bincount(moves[moves >= 0], minlength=known.n_moves)
    p = _goodness(counts, strategy.mix)
    words = UNTOLD if np.isnan(p) else "fits" if p >= ALPHA else "does not fit the declared mixture"
    return row | {"moves": int(counts.sum()), "hits": np.nan, "chance": np.nan, "p": p, "behaviour": words}


def _reaction(table: Array, last: Array, own: Array) -> dict[str, Any]:
    """How often the moves follow a rule, and how often they would if they were shuffled over the rounds."""
    from scipy.stats import binomtest

    if not len(own):
        return {"moves": 0, "hits": np.nan, "chance": np.nan, "p": np.nan, "behaviour": UNTOLD}
    n = table.shape[1]
    reply = table[:n].argmax(axis=1)
    hits = int(np.sum(own == reply[last]))
    seen, played = (np.bincount(side, minlength=n) / len(own) for side in (last, own))
    chance = float(np.sum(seen * played[reply]))
    p = float(binomtest(hits, len(own), min(chance, 1.0), alternative="greater").pvalue) if chance < 1 else np.nan
    if chance == 1:  # one move against one move: following a rule and not following it look the same
        words = UNTOLD
    elif hits == len(own):
        words = REACTS
    else:
        words = LAPSES if p < ALPHA else DEAF
    return {"moves": len(own), "hits": hits / len(own), "chance": chance, "p": p, "behaviour": words}


def _goodness(counts: Array, mix: Array) -> float:
    """p value of the frequencies under a mixture; 0 where a move occurs that the mixture never plays."""
    from scipy.stats import chisquare

    total = counts.sum()
    if not total:
        return float("nan")
    if counts[mix == 0].any():
        return 0.0
    possible = mix > 0
    if possible.sum() == 1:
        return 1.0
    expected = mix[possible] / mix[possible].sum() * total
    return float(chisquare(counts[possible], expected).pvalue)


def _engine(behaviour: list[str]) -> str:
    told = {words for words in behaviour if words != UNTOLD}
    if not told:
        return UNTOLD if behaviour else "no reactive player"
    if told == {DEAF}:
        return "released_iid"
    return "reactive" if told <= {REACTS, LAPSES} else "mixed"


def _designs(log: MatchLog) -> pd.DataFrame:
    """For each pair: how many matches each observer saw, and how many of them all observers saw."""
    rows = []
    for pair in dict.fromkeys("-".join(match.truth) for match in log):
        mine = [match for match in log if "-".join(match.truth) == pair]
        seen: dict[str, set[bytes]] = {}
        for match in mine:
            seen.setdefault(match.model, set()).add(match.moves.tobytes())
        common = set.intersection(*seen.values())
        per_model = Counter(match.model for match in mine)
        rows.append(
            {
                "pair": pair,
                "observers": len(seen),
                "matches": len(mine),
                "fewest": min(per_model.values()),
                "different": len(set.union(*seen.values())),
                "seen_by_all": len(common),
                "same": len(seen) < 2 or all(matches == common for matches in seen.values()),
            }
        )
    return pd.DataFrame(rows)


def _findings(audit_: Audit) -> list[str]:
    said = []
    for found, group in audit_.matches[~audit_.matches["agrees"]].groupby("found", sort=False):
        names = _some(group["match_id"])
        what = "moves of reactive players do not depend on the opponent's last move, so nobody can see them react"
        words = what if found == "released_iid" else f"the moves look like engine '{found}'"
        said.append(
            f"The engine is not the declared one in {len(group)} of {len(audit_.matches)} matches ({names}): {words}."
        )
    deaf = audit_.matches[(audit_.matches["found"] == "released_iid") & audit_.matches["agrees"]]
    if len(deaf):
        said.append(
            f"In {len(deaf)} of {len(audit_.matches)} matches the reactive players do not react, as declared (engine "
            "released_iid or not stated): no observer can name them from the moves."
        )
    for row in _rows(audit_.players[audit_.players["behaviour"].str.startswith(("does not fit", LAPSES))]):
        said.append(f"Match {row.match_id}, player {row.player} ({row.code}) {row.behaviour} (p = {row.p:.2g}).")
    for row in _rows(audit_.designs):
        if not row.same:
            said.append(
                f"{row.pair}: {row.observers} observers saw {row.different} different matches, {row.seen_by_all} seen "
                "by all; differences between observers mix with differences between matches."
            )
        if row.fewest < ENOUGH:
            said.append(
                f"{row.pair}: {row.fewest} match{'es' if row.fewest > 1 else ''} for an observer; fewer than {ENOUGH} "
                "cannot rank observers."
            )
    return said


def _rows(frame: pd.DataFrame) -> Iterator[Any]:
    return frame.itertuples()


def _some(names: pd.Series) -> str:
    shown = [str(name) for name in names[:5]]
    return ", ".join(shown) + (", ..." if len(names) > 5 else "")
