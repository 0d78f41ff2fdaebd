"""A fit as plain data for JSON: no NaN and no Infinity, which JSON does not have; nothing is lost."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pandas as pd

from levelkit.report import words
from levelkit.report.findings import findings
from levelkit.report.view import FitsLike, View

ABOUT = (
    "estimates: one record per fitted cell and parameter; cells: one record per fitted cell. A number "
    "that JSON cannot hold is null, and a field of the same name with _is says why: 'infinite' (the "
    "limit, or no bound on that side), '-infinite', or 'none' (not determined or not defined, see status "
    "and note). loglik in nats, without the multinomial constant."
)
"""What a reader of the JSON has to know; it is part of it."""


def record(fits: FitsLike) -> dict[str, Any]:
    """A fit as nested dictionaries, lists, texts, finite numbers, booleans and None."""
    view = View.of(fits)
    return {
        "levelkit": words.version(),
        "about": ABOUT,
        "model": {
            "name": fits.model.name,
            "label": fits.model.label,
            "options": _plain(fits.model.options()),
        },
        "by": list(fits.by),
        "fixed": _plain(dict(getattr(fits, "fixed", {}))),
        "scale": fits.scale,
        "interval": {"level": fits.interval, "kind": view.interval_kind},
        "units": view.units(),
        "statuses": words.glossary(),
        "estimates": rows(view.frame),
        "cells": rows(view.stats),
        "not_told": [
            {"kind": f.kind, "text": f.text, "cells": list(f.cells), "count": f.count} for f in findings(view)
        ],
        "set_aside": {
            "rows": int(fits.choices.problems.n_set_aside),
            "problems": rows(fits.choices.problems.frame),
        },
    }


def rows(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """A frame as records; an infinite or missing number is null, with its reason beside it."""
    numeric = {c for c in frame.columns if pd.api.types.is_float_dtype(frame[c])}
    out = []
    for values in frame.itertuples(index=False, name=None):
        one: dict[str, Any] = {}
        for name, value in zip(frame.columns, values, strict=True):
            one[str(name)] = _plain(value)
            if name in numeric and one[str(name)] is None:
                one[f"{name}_is"] = "none" if math.isnan(value) else "infinite" if value > 0 else "-infinite"
        out.append(one)
    return out


def dumps(data: object) -> str:
    """Strict JSON with a line end; keys in the order given."""
    return json.dumps(_plain(data), indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple | np.ndarray):
        return [_plain(v) for v in value]
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode("utf-8")
    return None if pd.isna(value) else str(value)
