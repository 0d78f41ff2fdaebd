"""Every malformed file says what is wrong and where, and loses no good row."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Any

import pytest

from levelkit.choices import read_choices
from levelkit.errors import DataError, LevelkitError

FOLDER = Path(__file__).parent / "bad_input"
ENTRIES: list[dict[str, Any]] = json.loads((FOLDER / "expected.json").read_text())


def test_the_corpus_is_complete() -> None:
    present = {path.name for path in FOLDER.iterdir()} - {"expected.json", "README.md", ".gitattributes"}
    assert present == {entry["file"] for entry in ENTRIES} - {".", "does_not_exist.csv"}
    assert len(ENTRIES) >= 40


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry["file"])
def test_a_malformed_file(entry: dict[str, Any]) -> None:
    path = FOLDER / entry["file"]
    options = entry.get("options", {})
    if "error" in entry:
        with pytest.raises(DataError) as caught:
            read_choices(path, **options)
        text = str(caught.value)
        assert text.startswith(str(path))
        for part in entry["error"]:
            assert part in text
        return
    choices = read_choices(path, **options)
    problems = choices.problems
    assert set(problems.codes) == set(entry["codes"])
    for part in entry["message"]:
        assert part in problems.text()
    assert problems.rows_read - problems.n_set_aside == entry["good_rows"]
    assert choices.counts.sum() == entry["n"]
    assert choices.no_choice.sum() == entry["no_choice"]


@pytest.mark.parametrize("entry", [entry for entry in ENTRIES if "error" not in entry], ids=lambda entry: entry["file"])
def test_strict_stops_exactly_where_rows_are_set_aside(entry: dict[str, Any]) -> None:
    path, options = FOLDER / entry["file"], entry.get("options", {})
    text = read_choices(path, **options).problems
    if text.n_set_aside == 0:
        read_choices(path, strict=True, **options)
        return
    with pytest.raises(DataError, match="set aside") as caught:
        read_choices(path, strict=True, **options)
    assert text.text() in str(caught.value)


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry["file"])
def test_cutting_a_file_anywhere_ends_in_choices_or_in_a_levelkit_error(entry: dict[str, Any], tmp_path: Path) -> None:
    path = FOLDER / entry["file"]
    if not path.is_file():
        pytest.skip("not a file")
    data = path.read_bytes()
    for part in range(1, 12):
        cut = tmp_path / path.name
        cut.write_bytes(data[: len(data) * part // 12])
        with contextlib.suppress(LevelkitError):
            choices = read_choices(cut, **entry.get("options", {}))
            assert choices.problems.n_set_aside <= choices.problems.rows_read
