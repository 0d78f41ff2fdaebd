"""Text tables (comma, tab, semicolon): every good row survives a bad one, and every row knows its line."""

from __future__ import annotations

import codecs
import csv
import io
from collections.abc import Iterator

import numpy as np

from levelkit.errors import DataError
from levelkit.problems import SET_ASIDE, ProblemLog
from levelkit.readers.raw import Factor, RawTable

CHUNK = 65536
BROKEN = {  # what csv says, in words that help
    "unexpected end of data": "a quote is opened and never closed",
    "expected after": "there is text after a closing quote",
    "field larger than field limit": "a field of more than 131072 characters, or a quote never closed",
}
BOMS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


def decode(data: bytes, log: ProblemLog) -> str:
    """The text of a file: UTF-8, any Unicode encoding with a byte order mark, else Windows-1252 (noted).

    Raises DataError where the bytes are no text.
    """
    for mark, encoding in BOMS:
        if data.startswith(mark):
            try:
                text = data.decode(encoding)
            except UnicodeDecodeError as error:
                raise DataError(f"starts as {encoding} but is not ({error.reason})", where=log.where) from None
            if encoding != "utf-8-sig":
                log.note("encoding", f"the file is {encoding.upper()}; read as such", value=encoding)
            return text
    if data.count(b"\0") * 4 > len(data):
        raise DataError("not text in UTF-8 (too many zero bytes)", where=log.where, fix="Save it as UTF-8")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        words = f"not UTF-8 (first at line {line}); read as Windows-1252 (Latin-1): check accented letters"
        log.note("encoding", words, value="cp1252")
        return data.decode("cp1252", errors="replace")


class _Lines:
    """Physical lines, counted, with the lines of the current record kept so that they can be read again."""

    def __init__(self, text: str) -> None:
        # TextIOWrapper, not StringIO, which would hold four bytes a character.
        self._source = io.TextIOWrapper(io.BytesIO(text.encode("utf-8", "replace")), "utf-8", newline="")
        self._again: list[str] = []
        self.record: list[str] = []
        self.number = 0

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        line = self._again.pop() if self._again else next(self._source)
        self.number += 1
        self.record.append(line)
        return line

    def peek(self) -> str:
        """The first line that is not blank, which is read again; blank lines before it are passed."""
        for line in self:
            if line.strip():
                self._again.append(line)
                self.number -= 1
                return line
        return ""

    def back_to_second(self) -> None:
        """Let the reader go on with the second line of the record, as if the first had not opened a quote."""
        self._again += reversed(self.record[1:])
        self.number -= len(self.record) - 1


def read_delimited(data: bytes, delimiter: str, log: ProblemLog) -> RawTable:
    """The raw table of a comma, tab or semicolon separated text; the first row names the columns.

    Rows with too many or too few fields, broken quotes or zero bytes are set aside; an unnamed column is left
    out.
    """
    text = decode(data, log)
    zero_bytes = "\0" in text
    lines = _Lines(text)
    del text
    delimiter = _delimiter(lines.peek(), delimiter, log)
    reader = csv.reader(lines, delimiter=delimiter, strict=True)
    try:
        names = [name.strip() for name in next(reader, [])]
    except csv.Error as error:
        raise DataError(f"the header is not readable ({error})", where=f"{log.where}, line 1") from None
    wanted = _named(names, log)
    width = len(names)
    factors = [Factor() for _ in names]
    rows: list[list[str]] = []
    numbers: list[int] = []
    bad: dict[tuple[str, str], list[int]] = {}
    if not names:
        raise DataError("the file is empty", where=log.where)
    read = 0

    def flush() -> None:
        for factor, values in zip(factors, zip(*rows, strict=True), strict=False):
            factor.extend(values, text_only=True)
        rows.clear()

    while True:
        lines.record.clear()
        start = lines.number + 1
        try:
            fields = next(reader)
        except StopIteration:
            break
        except csv.Error as error:
            why = next((words for part, words in BROKEN.items() if part in str(error)), str(error))
            fields, problem = [], ("broken_row", f"not readable as a row: {why}")
        else:
            if not any(fields):
                continue
            if len(fields) > width and not any(fields[width:]):
                fields = fields[:width]  # a spreadsheet's trailing separators
            if len(fields) == width:
                read += 1
                if zero_bytes and "\0" in "".join(fields):
                    bad.setdefault(("zero_bytes", "the row holds zero bytes"), []).append(start)
                    continue
                rows.append(fields)
                numbers.append(start)
                if len(rows) >= CHUNK:
                    flush()
                continue
            many = "many" if len(fields) > width else "few"
            problem = (f"too_{many}_fields", f"{len(fields)} fields where the header names {width}")
        read += 1
        bad.setdefault(problem, []).append(start)
        if len(lines.record) > 1:
            lines.back_to_second()
    flush()
    for (code, message), at in bad.items():
        log.add(SET_ASIDE, code, "", np.asarray(at, dtype=np.int64), message)
    columns = {names[i]: factors[i].column() for i in wanted}
    return RawTable(columns, np.asarray(numbers, dtype=np.int64), read, log)


def _delimiter(header: str, usual: str, log: ProblemLog) -> str:
    """The separator of the header: the usual one of the format unless only another occurs (noted)."""
    if usual in header:
        return usual
    for other, name in ((";", "semicolons"), ("\t", "tabs"), (",", "commas"), ("|", "bars")):
        if other in header:
            log.note("delimiter", f"the columns are separated by {name}", value=other.replace("\t", "tab"))
            return other
    return usual


def _named(names: list[str], log: ProblemLog) -> list[int]:
    """Places of the columns that have a name. Raises DataError where a name appears twice."""
    for name in dict.fromkeys(names):
        if name and names.count(name) > 1:
            fix = "Give each column its own name"
            raise DataError(f"column '{name}' appears {names.count(name)} times", where=f"{log.where}, line 1", fix=fix)
    empty = [i for i, name in enumerate(names) if not name]
    if empty:
        places = ", ".join(str(i + 1) for i in empty)
        which = f"column {places}" if len(empty) == 1 else f"columns {places}"
        log.note("unnamed_column", f"a column without a name is left out ({which})")
    return [i for i, name in enumerate(names) if name]
