"""Is what a judge quotes in the transcript? Exact substring after white space is brought to single blanks."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

_SPACE = re.compile(r"\s+")
SHORT = 8
"""Quotes of fewer characters prove little: a bare "20" is found in almost any transcript."""


def normal(text: str) -> str:
    """A text with every run of Unicode white space as one blank, without blanks at its ends."""
    return _SPACE.sub(" ", text).strip()


def grounded(quote: object, text: str) -> bool:
    """Whether a quote occurs in a text, case counting; an empty one does not.

    >>> grounded("picks 70. So", "Level 0 picks 70.\\n\\nSo level 1"), grounded(" ", "a b")
    (True, False)
    """
    if not isinstance(quote, str):
        return False
    wanted = normal(quote)
    return bool(wanted) and wanted in normal(text)


def quotes(judge: Any) -> Iterator[Any]:
    """Every value of a field "quote" in what a judge extracted, however deep."""
    if isinstance(judge, Mapping):
        for name, value in judge.items():
            if name == "quote":
                yield value
            else:
                yield from quotes(value)
    elif isinstance(judge, list):
        for entry in judge:
            yield from quotes(entry)
