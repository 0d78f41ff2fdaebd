"""Covariates of reasoning: a formula over the choices' columns, as a design matrix with one row for each unit."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from levelkit.errors import UsageError
from levelkit.inference.kernels import Array
from levelkit.models.base import Model


@dataclass(frozen=True, eq=False)
class Design:
    """Columns (U, D) without a constant, their names, and by what each is divided for its slope's prior (D,).

    Columns of zeros and ones are left as they are (divisor one); others are centred, and divided by their standard
    deviation, so that one prior suits all of them. Slopes are reported per unit of the column as it was given.
    """

    values: Array
    terms: tuple[str, ...]
    divisor: Array


def columns_of(formulas: Mapping[str, str], known: Sequence[str]) -> list[str]:
    """The columns that formulas name, in the order of `known`."""
    text = " ".join(formulas.values())
    return [c for c in known if re.search(rf"(?<![\w.]){re.escape(c)}(?![\w.(])", text)]


def check(model: Model, formulas: Mapping[str, str], fixed: Mapping[str, float]) -> None:
    """Raises UsageError for a parameter that does not exist, is held fixed or is a share."""
    known = {p.name: p for p in model.parameters}
    for name in formulas:
        if name not in known:
            names = ", ".join(known) or "none"
            raise UsageError(f"covariates name {name!r}; the parameters of {model.label} are {names}")
        if name in fixed:
            raise UsageError(f"{name} is both fixed and given covariates")
        if known[name].transform == "simplex":
            raise UsageError(f"{name} is one of several shares, which take no covariates; choose another parameter")


def design(formula: str, keys: pd.DataFrame) -> Design:
    """The design of a formula, such as "age + gender". Raises UsageError where it cannot be read or evaluated."""
    import patsy

    table = keys.copy()
    for column in table:
        number = pd.to_numeric(table[column], errors="coerce")
        if number.notna().all():
            table[column] = number
    try:
        matrix = patsy.dmatrix(formula, table, return_type="dataframe", NA_action="raise")
    except Exception as error:
        reason = str(error).splitlines()[0]
        raise UsageError(f"covariates {formula!r}: {reason}; the columns are {', '.join(map(str, keys))}") from None
    matrix = matrix.drop(columns="Intercept", errors="ignore")
    values = matrix.to_numpy(float)
    if not values.shape[1]:
        raise UsageError(f"covariates {formula!r} name no column that differs; write for instance 'age + gender'")
    if np.linalg.matrix_rank(np.column_stack([np.ones(len(values)), values])) <= values.shape[1]:
        raise UsageError(f"covariates {formula!r}: some columns are combinations of others; leave one out")
    indicator = np.isin(values, (0.0, 1.0)).all(axis=0)
    centred = np.where(indicator, values, values - values.mean(axis=0))
    divisor = np.where(indicator, 1.0, values.std(axis=0))
    return Design(centred, tuple(map(str, matrix.columns)), divisor)
