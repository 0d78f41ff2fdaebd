"""A match of Rock-Paper-Scissors as an observer sees it: moves, losses, beliefs round by round, and the ceiling."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from levelkit.app import settings
from levelkit.app.uploads import Upload
from levelkit.errors import UsageError
from levelkit.observer.catalogues import Catalogue, catalogue
from levelkit.observer.ceilings import ceiling
from levelkit.observer.detailsheet import is_detail_sheet, read_detail_sheet
from levelkit.observer.engine import ENGINES, simulate
from levelkit.observer.ideal import Posterior, posterior
from levelkit.observer.matches import Match, MatchLog
from levelkit.observer.reading import read_log
from levelkit.observer.scores import score_rounds
from levelkit.observer.scoring import CONVENTIONS, loss_table, union
from levelkit.observer.steady import outcomes, steady_state
from levelkit.report import words

CATALOGUES = ("paper_table4", "rpsls")
OWN = "own"
MOST_ROUNDS = 500
SHOWN_PAIRS = 8
_CEILING_MATCHES = 400
_MOST_REASONING = 2_000


def strategies(query: settings.Query) -> dict[str, Any]:
    """The catalogue: moves, strategies with what they do."""
    known = _known(query)
    return {
        "moves": list(known.moves),
        "strategies": [
            {
                "code": s.code,
                "name": words.plain(s.name),
                "kind": s.kind,
                "mix": None if s.is_reactive else s.mix.tolist(),
            }
            for s in known.strategies
        ],
    }


def match(query: settings.Query) -> dict[str, Any]:
    """One match in full; the page shows as many rounds of it as have been played.

    Settings: one, two (codes, or "own" with mix1, mix2: weights joined by commas), engine, window, warmup, rounds,
    seed, catalogue.
    """
    known = _known(query)
    first, second = ("H", "C") if "H" in known else known.codes[:2]
    truth = _strategy(query, "one", "mix1", first, known), _strategy(query, "two", "mix2", second, known)
    rounds = settings.whole(query, "rounds", 200, 1, MOST_ROUNDS)
    seed = settings.whole(query, "seed", 0, 0, 2**31 - 1)
    engine = settings.choice(query, "engine", ENGINES)
    moves = simulate(*truth, known, rounds=rounds, engine=engine, seed=seed)[0]
    warmup, window = _watch(query, rounds)
    beliefs = posterior(moves, known, window=window)
    law = np.asarray(steady_state(*truth, known).outcome)
    named = all(isinstance(side, str) for side in truth)
    answer = {
        "moves": moves.tolist(),
        "law": law.tolist(),
        "truth": [side if isinstance(side, str) else OWN for side in truth],
        "named": named,
        "warmup": warmup,
        **_seen(beliefs, law, known),
        "losses": _losses(truth, known),
    }
    if named:
        answer["ceiling"] = dict(_ceiling(known.name, truth, rounds, warmup, window, engine))
    return answer


def log_matches(upload: Upload, query: settings.Query) -> dict[str, Any]:
    """The matches of a loaded log, and what was set aside while it was read."""
    log = _log(upload, query)
    return {
        "name": upload.name,
        "matches": [
            {"id": m.match_id, "model": settings.said(m.model), "pair": "-".join(m.truth), "rounds": m.rounds}
            for m in log
        ],
        "problems": upload.plainly(log.problems.text()),
    }


def log_match(upload: Upload, query: settings.Query) -> dict[str, Any]:
    """One match of a loaded log, with the observer's guesses and reasons beside the ideal observer's beliefs.

    Settings: match (its place in the log, from 0), catalogue.
    """
    log = _log(upload, query)
    place = settings.whole(query, "match", 0, 0, len(log) - 1)
    one = log.matches[place]
    law = outcomes(log.catalogue)[log.catalogue.index(one.truth[0]), log.catalogue.index(one.truth[1])]
    answer = {
        "id": one.match_id,
        "model": settings.said(one.model),
        "truth": list(one.truth),
        "named": True,
        "moves": one.moves.tolist(),
        "warmup": one.warmup,
        "law": law.tolist(),
        "rounds": _rounds(one),
        "observer": {c: _series(score_rounds(MatchLog((one,), log.catalogue), convention=c), one) for c in CONVENTIONS},
        "losses": _losses(one.truth, log.catalogue),
    }
    if one.complete:
        answer |= _seen(posterior(one.moves, log.catalogue, window=one.history_limit), law, log.catalogue)
        engine = one.engine or "reactive"
        answer["ceiling"] = dict(
            _ceiling(log.catalogue.name, one.truth, one.rounds, one.warmup, one.history_limit, engine)
        )
    return answer


def _losses(truth: Any, known: Catalogue) -> dict[str, list[list[float]]]:
    """Union loss of every guess by convention, player 1's strategies down."""
    size = len(known)
    return {
        c: loss_table(truth, known, convention=c)["union"].to_numpy().reshape(size, size).tolist() for c in CONVENTIONS
    }


def _known(query: settings.Query) -> Catalogue:
    return catalogue(settings.choice(query, "catalogue", CATALOGUES))


def _strategy(query: settings.Query, name: str, mix: str, default: str, known: Catalogue) -> Any:
    code = query.get(name) or default
    if code != OWN:
        known.index(code)
        return code
    parts = [part for part in query.get(mix, "").split(",") if part]
    try:
        weights = np.array([float(part) for part in parts])
    except ValueError:
        weights = np.zeros(0)
    if len(weights) != known.n_moves or not np.isfinite(weights).all() or weights.min() < 0 or weights.sum() <= 0:
        raise UsageError(f"{mix} = {query.get(mix, '')[:40]!r}: give {known.n_moves} weights, such as 2,1,1")
    return weights / weights.sum()


def _watch(query: settings.Query, rounds: int) -> tuple[int, int | None]:
    warmup = settings.whole(query, "warmup", 10, 0, MOST_ROUNDS)
    if warmup >= rounds:
        raise UsageError(f"a warm-up of {warmup} in {rounds} rounds leaves nothing to guess")
    return warmup, settings.whole(query, "window", 50, 0, MOST_ROUNDS) or None


def _seen(beliefs: Posterior, law: np.ndarray, known: Catalogue) -> dict[str, Any]:
    """The ideal observer: guesses, the pairs that are ever most likely, and the losses of its guess by convention."""
    codes = known.codes
    pairs = np.nan_to_num(beliefs.p1)[:, :, None] * np.nan_to_num(beliefs.p2)[:, None, :]
    flat = pairs.reshape(len(pairs), -1)
    best = np.argsort(-flat.mean(axis=0), kind="stable")[:SHOWN_PAIRS]
    guesses = beliefs.guesses()
    laws = outcomes(known)
    implied = np.full((len(guesses), 3), np.nan)
    for t, guess in enumerate(guesses):
        if guess is not None:
            implied[t] = laws[known.index(guess[0]), known.index(guess[1])]
    truths = np.broadcast_to(law, implied.shape)
    return {
        "guesses": ["-".join(guess) if guess else "" for guess in guesses],
        "pairs": {f"{codes[k // len(codes)]}-{codes[k % len(codes)]}": _numbers(flat[:, k]) for k in best},
        "unions": {c: _numbers(union(truths, implied, c, laws.reshape(-1, 3))) for c in CONVENTIONS},
    }


@lru_cache(maxsize=256)
def _ceiling(
    name: str, truth: tuple[str, str], rounds: int, warmup: int, window: int | None, engine: str
) -> tuple[tuple[str, float], ...]:
    made = ceiling(
        truth, name, rounds=rounds, warmup=warmup, window=window, engine=engine,
        matches=_CEILING_MATCHES,
    )  # fmt: skip
    low, high = made.range
    return ("rate", made.rate), ("low", low), ("high", high), ("matches", float(_CEILING_MATCHES))


def _log(upload: Upload, query: settings.Query) -> MatchLog:
    source = settings.choice(query, "catalogue", CATALOGUES)
    with upload.lock:
        if source not in upload.made:
            read = read_detail_sheet if is_detail_sheet(upload.path) else read_log
            with upload.naming():
                upload.made[source] = read(upload.path, source)
        log: MatchLog = upload.made[source]
    return log


def _rounds(one: Match) -> list[dict[str, Any]]:
    return [
        {
            "status": one.statuses[t],
            "guess": "-".join(guess) if guess else "",
            "correct": guess == one.truth,
            "confidence": None if np.isnan(one.confidence[t]) else float(one.confidence[t]),
            "reasoning": settings.said(one.reasoning.get(t + 1))[:_MOST_REASONING],
        }
        for t, guess in enumerate(one.guesses)
    ]


def _series(frame: Any, one: Match) -> list[float | None]:
    values = np.full(one.rounds, np.nan)
    values[frame["round"].to_numpy() - 1] = frame["union"].to_numpy()
    return _numbers(values)


def _numbers(values: np.ndarray) -> list[float | None]:
    """Numbers for JSON, six digits; nothing where there is none."""
    return [None if np.isnan(v) else round(float(v), 6) for v in values]
