"""From a path or a DataFrame to a `RawTable`: the only part that opens files."""

from __future__ import annotations

import gzip
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from levelkit.errors import DataError
from levelkit.problems import ProblemLog
from levelkit.readers.delimited import read_delimited
from levelkit.readers.jsonlines import read_json_lines
from levelkit.readers.raw import RawTable, factor_series

DELIMITERS = {".csv": ",", ".tsv": "\t", ".tab": "\t", ".txt": ","}
JSON_LINES = {".jsonl", ".ndjson"}
FORMATS = ".csv, .tsv, .jsonl, .ndjson, .parquet (text formats also with .gz)"

# How files of other kinds start, and what to tell who named one .csv.
MAGIC = (
    (b"PK\x03\x04", "a zip file or an Excel workbook", "Save the sheet as .csv"),
    (b"\xd0\xcf\x11\xe0", "an old Excel workbook", "Save the sheet as .csv"),
    (b"PAR1", "a Parquet file", "Give it the ending .parquet"),
    (b"\x1f\x8b", "a gzip file", "Add .gz to its name"),
    (b"%PDF", "a PDF", "Copy the table into a .csv file"),
)


def load(source: str | Path | pd.DataFrame) -> RawTable:
    """The raw table of a file or DataFrame.

    Raises DataError where the source does not exist, is a folder, is empty, or is not what its name says.
    """
    if isinstance(source, pd.DataFrame):
        return read_frame(source, ProblemLog("DataFrame", "row"))
    if not isinstance(source, str | Path):
        raise DataError(f"choices cannot be read from a {type(source).__name__}", fix="Give a path or a DataFrame")
    path, where = existing(source, "a table of choices")
    suffixes = [suffix.lower() for suffix in path.suffixes]
    zipped = suffixes[-1:] == [".gz"]
    kind = (suffixes[-2:-1] if zipped else suffixes[-1:]) or [""]
    if kind[0] not in {*DELIMITERS, *JSON_LINES, ".parquet"} or (zipped and kind[0] == ".parquet"):
        raise DataError(f"no reader for '{path.name}'", where=where, fix=f"Known endings: {FORMATS}")
    if kind[0] == ".parquet":
        return _read_parquet(path, where)
    data = file_bytes(path, where, zipped)
    log = ProblemLog(where, "line")
    if kind[0] in JSON_LINES:
        return read_json_lines(data, log)
    return read_delimited(data, DELIMITERS[kind[0]], log)


def existing(source: str | Path, kind: str) -> tuple[Path, str]:
    """A file that is there, and its name in messages. Raises DataError for a folder or where nothing is there."""
    path, where = Path(source), str(source) or "."
    if path.is_dir():
        raise DataError(f"this is a folder, not {kind}", where=where, fix="Name the file inside it")
    if not path.exists():
        raise DataError("no such file", where=where, fix=_near(path))
    return path, where


def _near(path: Path) -> str:
    """A hint for a file that does not exist: what else its folder holds."""
    import difflib

    if not path.parent.is_dir():
        return f"The folder '{path.parent}' does not exist either"
    near = difflib.get_close_matches(path.name, sorted(p.name for p in path.parent.iterdir()), 1)
    return f"Did you mean '{near[0]}'?" if near else "Check the path"


def file_bytes(path: Path, where: str, zipped: bool) -> bytes:
    """The bytes of a text file, unzipped. Raises DataError for a broken or empty file and for what is no text."""
    try:
        data = path.read_bytes()
        if zipped:
            data = gzip.decompress(data)
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise DataError(f"not a whole gzip file ({error})", where=where, fix="Compress it again") from None
    except OSError as error:
        raise DataError(f"cannot be read ({error.strerror})", where=where) from None
    for start, kind, fix in MAGIC:
        if data.startswith(start):
            raise DataError(f"this is {kind}, not a text table", where=where, fix=fix)
    if not data.strip():
        raise DataError("the file is empty", where=where)
    return data


def _read_parquet(path: Path, where: str) -> RawTable:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        table = pq.ParquetFile(path).read()
    except (pa.ArrowException, OSError) as error:
        reason = str(error).splitlines()[0].rstrip(".")
        raise DataError(f"not a Parquet file ({reason})", where=where) from None
    names = [str(name) for name in table.column_names]
    _refuse_twins(names, where)
    keep = [name for name in names if not name.startswith("__index_level_")]
    frame = table.select(keep).to_pandas(ignore_metadata=True)
    return read_frame(frame, ProblemLog(where, "row"))


def read_frame(frame: pd.DataFrame, log: ProblemLog) -> RawTable:
    """The raw table of a DataFrame; rows are numbered from 1, named index levels become columns."""
    if isinstance(frame.columns, pd.MultiIndex):
        raise DataError("the columns have several levels", where=log.where, fix="Flatten them to one level")
    if any(name is not None for name in frame.index.names):
        levels = [name for name in frame.index.names if name is not None and name not in frame.columns]
        frame = frame.reset_index(level=levels)
    names = [str(name).strip() for name in frame.columns]
    _refuse_twins(names, log.where)
    columns = {name: factor_series(frame.iloc[:, i]) for i, name in enumerate(names)}
    return RawTable(columns, np.arange(1, len(frame) + 1), len(frame), log)


def _refuse_twins(names: list[Any], where: str) -> None:
    twins = [name for name in dict.fromkeys(names) if names.count(name) > 1]
    if twins:
        raise DataError(f"column '{twins[0]}' appears {names.count(twins[0])} times", where=where, fix="Rename one")
