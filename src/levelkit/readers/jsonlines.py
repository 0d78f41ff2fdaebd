"""JSON lines: one object a line, keys are columns. A line that is no object is set aside, the others stay."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from levelkit.errors import DataError
from levelkit.problems import SET_ASIDE, ProblemLog, shorten
from levelkit.readers.delimited import decode
from levelkit.readers.raw import Factor, RawTable

CHUNK = 65536


class BadLine(ValueError):
    """A line that holds no JSON object. `code`: duplicate_key, not_json or not_object."""

    def __init__(self, code: str, message: str) -> None:
        self.code = code
        super().__init__(message)


def parse_line(line: str, *, strict: bool = False) -> dict[str, Any]:
    """The object of one line. strict: NaN and Infinity, which are no JSON, are refused too. Raises BadLine."""
    try:
        record = json.loads(line, parse_constant=_no_constant if strict else None)
        if isinstance(record, dict) and line.count('":') != len(record):
            record = json.loads(line, object_pairs_hook=_object)  # nested, oddly spaced, or a key twice
    except BadLine:
        raise
    except (ValueError, RecursionError) as error:
        raise BadLine("not_json", f"not JSON: {getattr(error, 'msg', 'nested too deep')}") from None
    if not isinstance(record, dict):
        raise BadLine("not_object", f"a JSON {_kind(record)}, not an object: {shorten(line)}")
    return record


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        keys = [key for key, _ in pairs]
        twin = next(key for key in keys if keys.count(key) > 1)
        raise BadLine("duplicate_key", f"the key '{twin}' appears twice in the line")
    return made


def _no_constant(name: str) -> None:
    raise BadLine("not_json", f"not JSON: {name} is no JSON number")


def read_json_lines(data: bytes, log: ProblemLog) -> RawTable:
    """The raw table of a JSON lines file; a key missing from a line is a missing value."""
    text = decode(data, log)
    factors: dict[str, Factor] = {}
    records: list[dict[str, Any]] = []
    shapes: dict[tuple[str, ...], None] = {}  # the different sets of keys, in order
    lines: list[int] = []
    done = 0  # rows already in the factors
    bad: list[tuple[int, str, str]] = []
    read = 0

    def flush() -> None:
        nonlocal done
        for name in dict.fromkeys(name for names in shapes for name in names):
            if name not in factors:
                factors[name] = Factor()
                factors[name].extend([None] * done)
        for name, factor in factors.items():
            factor.extend([record.get(name) for record in records])
        done += len(records)
        records.clear()
        shapes.clear()

    for number, line in enumerate(split_lines(text), start=1):
        if not line.strip():
            continue
        read += 1
        try:
            record = parse_line(line)
        except BadLine as error:
            bad.append((number, error.code, str(error)))
            continue
        records.append(record)
        shapes[tuple(record)] = None
        lines.append(number)
        if len(records) >= CHUNK:
            flush()
    flush()
    for code, message in dict.fromkeys((code, message) for _, code, message in bad):
        rows = np.array([n for n, c, m in bad if (c, m) == (code, message)], dtype=np.int64)
        log.add(SET_ASIDE, code, "", rows, message)
    if not factors:
        reason = f"; line {bad[0][0]}: {bad[0][2]}" if bad else ""
        raise DataError(f"no line holds a JSON object{reason}", where=log.where, fix="One JSON object per line")
    columns = {name.strip(): factor.column() for name, factor in factors.items()}
    return RawTable(columns, np.asarray(lines, dtype=np.int64), read, log)


def split_lines(text: str) -> list[str]:
    """Lines ended by \\n, \\r\\n or \\r; not by the other separators that JSON strings may hold."""
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")


def _kind(value: Any) -> str:
    names = {list: "list", str: "text", bool: "boolean", type(None): "null"}
    return names.get(type(value), "number")
