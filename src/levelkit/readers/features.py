"""Plain tables that hold no choices: features of players, or estimates that were saved."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from levelkit.errors import DataError
from levelkit.problems import Problems
from levelkit.readers.files import load


def read_features(path: str | Path) -> tuple[pd.DataFrame, Problems]:
    """A .csv, .tsv, .jsonl or .parquet file as a frame, with what was set aside: numbers where a whole column is
    numbers, texts otherwise, empty cells missing. Raises DataError where nothing can be read.
    """
    raw = load(path)
    columns = {}
    for name, column in raw.columns.items():
        values = [None if v is None or (isinstance(v, str) and not v.strip()) else v for v in column.values]
        texts = pd.Series(np.array([*values, None], dtype=object)[:-1][column.codes], dtype=object)
        numbers = pd.to_numeric(texts.map(lambda v: v.strip() if isinstance(v, str) else v), errors="coerce")
        whole = bool((numbers.notna() | texts.isna() | texts.isin(["nan", "NaN"])).all() and numbers.notna().any())
        columns[name] = numbers.astype(float) if whole else texts
    if not len(raw.rows):
        raise DataError("the table has no rows", where=str(path))
    return pd.DataFrame(columns), raw.log.problems(raw.rows_read)
