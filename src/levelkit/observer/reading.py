"""From a log file of an observer (schema rps-observer/1, JSON lines or CSV) to matches. Bad records are set aside."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from levelkit.errors import DataError
from levelkit.observer import logrules as rules
from levelkit.observer.catalogues import Catalogue, catalogue
from levelkit.observer.logrules import Fault
from levelkit.observer.matches import Match, MatchLog
from levelkit.problems import NOTED, SET_ASIDE, ProblemLog
from levelkit.readers.delimited import decode
from levelkit.readers.files import existing, file_bytes
from levelkit.readers.jsonlines import BadLine, parse_line, split_lines

NUMBERS = frozenset({"temperature", "top_p", "confidence"})
WHOLE = (rules.SETTINGS | rules.MOVES) - NUMBERS
SUFFIXES = (".jsonl", ".ndjson", ".csv")


class Faults:
    """Faults found, with the lines they stand on, until they go to a `ProblemLog`, a line for each kind and value."""

    def __init__(self) -> None:
        self._found: dict[tuple[str, str, str], list[tuple[int, str]]] = {}

    def add(self, line: int, faults: list[Fault]) -> None:
        """A record is set aside for its first error; the others and the warnings are noted."""
        blamed = False
        for fault in faults:
            severity = SET_ASIDE if fault.is_error and not blamed else NOTED
            blamed |= fault.is_error
            self._found.setdefault((severity, fault.code, fault.column), []).append((line, fault.shown))

    def tell(self, log: ProblemLog) -> None:
        """Hand everything over."""
        for (severity, code, column), found in self._found.items():
            values = list(dict.fromkeys(value for _, value in found))
            codes = np.array([values.index(value) for _, value in found])
            lines = np.array([line for line, _ in found])
            log.add(severity, code, column, lines, partial(rules.message, code), codes=codes, values=values)


def read_log(source: str | Path, catalogue_: Any = None, *, strict: bool = False) -> MatchLog:
    """A log in JSON lines or CSV (the same names; empty is null), each record checked.

    Records with an error are not scored; `problems` says which and why, with stable codes (`logrules.CODES`). A round
    whose guess alone is wrong keeps its moves. strict: raise if any record has an error. Raises DataError where the
    file cannot be read or holds no usable match.
    """
    known = catalogue(catalogue_)
    path, where = existing(source, "a log")
    suffixes = [suffix.lower() for suffix in path.suffixes]
    zipped = suffixes[-1:] == [".gz"]
    kind = (suffixes[-2:-1] if zipped else suffixes[-1:]) or [""]
    if kind[0] not in SUFFIXES:
        raise DataError(f"no reader for '{path.name}'", where=where, fix=f"A log ends in {', '.join(SUFFIXES)}")
    text_log = ProblemLog(where, "line")
    text = decode(file_bytes(path, where, zipped), text_log)
    faults = Faults()
    lines = _csv_lines(text, known) if kind[0] == ".csv" else _json_lines(text, faults)
    return assemble(lines, known, text_log, faults, strict=strict)


def assemble(
    lines: Iterator[tuple[int, dict[str, Any]]],
    known: Catalogue,
    log: ProblemLog,
    faults: Faults,
    *,
    strict: bool = False,
) -> MatchLog:
    """Matches of records with their line numbers. Raises DataError as `read_log` does."""
    open_: dict[str, _Open] = {}
    read = 0
    for number, record in lines:
        read += 1
        faults.add(number, list(_take(record, number, open_, known)))
    for match in open_.values():
        faults.add(match.line, match.closing_faults(known))
    faults.tell(log)
    problems = log.problems(read)
    made = MatchLog(tuple(match.close(log.where, known) for match in open_.values()), known, problems)
    if not made.matches:
        fix = "A log starts with a header: schema, type 'match', match_id, s1, s2, rounds, warmup"
        raise DataError(f"no usable match\n{problems.text()}", where=log.where, fix=fix)
    if strict and made.has_errors:
        raise DataError(problems.text(), where=log.where, fix="Correct the records, or skip the bad ones")
    return made


class _Open:
    """A match whose rounds are being read."""

    def __init__(self, header: dict[str, Any], line: int) -> None:
        self.header, self.line, self.last = header, line, 0
        self.codes = (header["s1"], header["s2"])
        rounds = header["rounds"]
        self.taken: set[int] = set()
        self.moves = np.full((rounds, 2), -1, np.int8)
        self.statuses = ["warm-up" if t < header["warmup"] else "no record" for t in range(rounds)]
        self.guesses: list[tuple[str, str] | None] = [None] * rounds
        self.confidence = np.full(rounds, np.nan)
        self.reasoning: dict[int, str] = {}
        self.beliefs: dict[int, tuple[dict[str, float], dict[str, float]]] = {}

    def take(self, record: dict[str, Any], known: Catalogue) -> Iterator[Fault]:
        """Check a round and record what of it can be used."""
        faults = list(rules.place_faults(record, self.header["rounds"], self.last, self.taken))
        misplaced = any(fault.code in ("E_ROUND_RANGE", "E_ROUND_DUP") for fault in faults)
        if not misplaced:
            self.last = record["round"]
            faults += rules.move_faults(record, self.codes, known)
            faults += rules.guess_faults(record, self.header, known)
            errors = {fault.code for fault in faults if fault.is_error}
            if errors <= rules.KEEP_MOVES:
                self.moves[self.last - 1] = record["move1"], record["move2"]
            self._judge(record, errors, known)
        yield from faults

    def _judge(self, record: dict[str, Any], errors: set[str], known: Catalogue) -> None:
        at = self.last - 1
        if record.get("reasoning"):
            self.reasoning[self.last] = str(record["reasoning"])
        if at < self.header["warmup"]:
            self.taken |= set() if errors else {self.last}
            return
        guess = [record.get("guess_s1"), record.get("guess_s2")]
        if errors:
            self.statuses[at] = "invalid" if errors == {"E_GUESS_CODE"} else "set aside"
            return
        self.taken.add(self.last)
        if None in guess:
            self.statuses[at] = "missing" if guess == [None, None] else "half"
        else:
            one, two = (str(rules.repaired(code, known)) for code in guess)
            self.statuses[at], self.guesses[at] = "guess", (one, two)
        if record.get("confidence") is not None:
            self.confidence[at] = record["confidence"]
        if record.get("p1_probs") is not None and record.get("p2_probs") is not None:
            self.beliefs[self.last] = record["p1_probs"], record["p2_probs"]

    def closing_faults(self, known: Catalogue) -> list[Fault]:
        """What shows only when the match is whole: rounds missing at the end, rules that nobody followed."""
        found = []
        if self.last < self.header["rounds"]:
            found.append(Fault("E_ROUND_GAP", "round", f"the match ends after {self.last} of {self.header['rounds']}"))
        if self.header.get("engine") == "reactive":
            moves = self.close("", known)
            for player, code in enumerate(self.codes):
                strategy = known.strategy(code)
                last, own = moves.lag_pairs(player)
                against = int(np.sum(strategy.table[last, own] == 0)) if strategy.is_reactive else 0
                if against:
                    words = f"player {player + 1} ({code}) breaks the rule in {against} of {len(own)} rounds"
                    found.append(Fault("W_ENGINE_IID", "engine", words))
        return found

    def close(self, source: str, known: Catalogue) -> Match:
        """The match as it stands."""
        head = self.header
        return Match(
            str(head["match_id"]), self.codes, self.moves, head["warmup"], tuple(self.statuses), tuple(self.guesses),
            self.confidence, self.reasoning, self.beliefs, str(head.get("model") or ""), head.get("history_limit"),
            head.get("reasoning_interval"), head.get("engine"), head.get("seed"), head.get("temperature"),
            head.get("top_p"), source,
        )  # fmt: skip


def _take(record: dict[str, Any], line: int, open_: dict[str, _Open], known: Catalogue) -> Iterator[Fault]:
    """Check one record and put it where it belongs."""
    kind, name = record.get("type"), str(record.get("match_id"))
    if record.get("schema") != rules.SCHEMA or kind not in ("match", "round"):
        yield Fault("E_SCHEMA", "schema", f"{record.get('schema')!r} and {kind!r}")
    elif kind == "match":
        faults = list(rules.header_faults(record, known))
        if name in open_:
            faults.insert(0, Fault("E_DUP_MATCH", "match_id", name))
        elif not any(fault.is_error for fault in faults):
            open_[name] = _Open(record, line)
        yield from faults
    elif name not in open_:
        yield Fault("E_NO_MATCH_HEADER", "match_id", name)
    else:
        yield from open_[name].take(record, known)


def _json_lines(text: str, faults: Faults) -> Iterator[tuple[int, dict[str, Any]]]:
    lines = split_lines(text)
    while lines and not lines[-1].strip():
        lines.pop()
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            faults.add(number, [Fault("W_EMPTY_LINE")])
            continue
        try:
            yield number, parse_line(line, strict=True)
        except BadLine as error:
            faults.add(number, [Fault("E_JSON", "", str(error))])


def _csv_lines(text: str, known: Catalogue) -> Iterator[tuple[int, dict[str, Any]]]:
    reader = csv.DictReader(io.StringIO(text, newline=""))
    for row in reader:
        record = {name: _plain(name, value, known) for name, value in row.items() if name and value not in (None, "")}
        yield reader.line_num, record


def _plain(name: str, value: str, known: Catalogue) -> Any:
    """A CSV field as the type its name asks for; a text that is none is left, and found wanting by the rules."""
    for kind, names in ((int, WHOLE), (float, NUMBERS)):
        if name in names:
            try:
                return kind(value)
            except ValueError:
                return value
    if name in ("p1_probs", "p2_probs"):
        return _belief(value, known)
    return value


def _belief(value: str, known: Catalogue) -> Any:
    """Probabilities from p;p;... in catalogue order, or from CODE=p;CODE=p;..."""
    try:
        if "=" not in value:
            return dict(zip(known.codes, map(float, value.split(";")), strict=True))
        return {code.strip(): float(p) for code, p in (part.split("=") for part in value.split(";"))}
    except ValueError:
        return value
