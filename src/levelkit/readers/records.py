"""Strict JSON lines for logs with nested records: one object a line, UTF-8, no NaN, every line accounted for.

Tables of choices are read by `jsonlines`, which flattens; here records stay whole. A line that is no record gets a
code instead: E_ENCODING, E_JSON, E_NONFINITE, or W_EMPTY_LINE.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from levelkit.errors import DataError
from levelkit.readers.files import MAGIC


@dataclass(frozen=True)
class Records:
    """good: (line number, object). bad: (line number, code, message). where: the file."""

    where: str
    good: tuple[tuple[int, dict[str, Any]], ...]
    bad: tuple[tuple[int, str, str], ...]


class _NotFinite(ValueError):
    """NaN or Infinity, which JSON does not have."""


def _refuse(word: str) -> NoReturn:
    raise _NotFinite(word)


def read_records(path: str | Path) -> Records:
    """The records of a file. Raises DataError where there is no such file or it cannot be text."""
    file = Path(path)
    if not file.is_file():
        raise DataError(
            "no such file" if not file.exists() else "this is no file", where=str(path), fix="Check the path"
        )
    try:
        data = file.read_bytes()
    except OSError as error:
        raise DataError(f"cannot be read ({error.strerror})", where=str(path)) from None
    for start, kind, _ in MAGIC:
        if data.startswith(start):
            raise DataError(f"this is {kind}, not a log", where=str(path), fix="Logs are JSON lines: one object a line")
    return parse_records(data.removeprefix(b"\xef\xbb\xbf"), str(path))


def parse_records(data: bytes, where: str = "") -> Records:
    """The records of the bytes of a file."""
    good: list[tuple[int, dict[str, Any]]] = []
    bad: list[tuple[int, str, str]] = []
    lines = data.split(b"\n")
    if lines and not lines[-1]:
        lines.pop()  # the end of the last line
    for number, line in enumerate(lines, 1):
        if not line.strip():
            bad.append((number, "W_EMPTY_LINE", "the line is empty"))
            continue
        try:
            record = json.loads(line.decode("utf-8"), parse_constant=_refuse)
        except UnicodeDecodeError as error:
            bad.append((number, "E_ENCODING", f"byte {error.start + 1} of the line is not UTF-8"))
        except _NotFinite as error:
            bad.append((number, "E_NONFINITE", f"{error} is no JSON; write null"))
        except (ValueError, RecursionError) as error:
            bad.append((number, "E_JSON", f"not JSON: {getattr(error, 'msg', 'nested too deep')}"))
        else:
            if isinstance(record, dict):
                good.append((number, record))
            else:
                bad.append((number, "E_JSON", f"a {type(record).__name__}, not an object"))
    return Records(where, tuple(good), tuple(bad))
