"""Tables say everything a fit knows, in every format, whatever the user's names look like."""

from __future__ import annotations

import csv
import io
import json
import math
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from rich.cells import cell_len

from fake_fits import CASES, NASTY, FakeFits, fake, one, one_parameter
from levelkit.errors import UsageError
from levelkit.inference.status import Status
from levelkit.report import tables, words
from levelkit.report.findings import findings, one_sided
from levelkit.report.view import View, find_cell

STATUSES = [s.word for s in Status]
EVERYTHING = ["text", "csv", "tsv", "json", "latex", "markdown", "html"]


def many_columns() -> FakeFits:
    fits = fake(6)
    keys = pd.DataFrame({f"a rather long column name {i}": [f"value {i}.{j}" for j in range(6)] for i in range(7)})
    return FakeFits(keys, fits.cases)


def test_the_statuses_shown_are_those_of_the_package():
    assert sorted(words.STATUSES) == sorted(STATUSES)
    assert {status for case in CASES for *_, status in case} == set(STATUSES)


@pytest.mark.parametrize(
    "fits",
    [
        fake(8),
        fake(8, NASTY, no_choice=3, fractional=True),
        fake(300),
        one(),
        one_parameter(),
        many_columns(),
    ],
    ids=["plain", "nasty", "many", "one", "one parameter", "many columns"],
)
def test_no_line_is_wider_than_a_terminal(fits):
    wide = [line for line in tables.summary(fits).splitlines() if cell_len(line) > 80]
    assert wide == []


def test_text_has_no_control_characters_and_no_tabs():
    text = tables.summary(fake(8, NASTY))
    assert not [c for c in text if c != "\n" and ord(c) < 32]


def test_every_estimate_has_its_line_with_interval_status_and_n():
    text = tables.summary(fake(8))
    body = text[: text.index("What the data do not tell")]
    for line in (
        r"model A +sw10 +1\.542 +0\.122 +\[ *1\.310, +1\.790\] +ok +12$",
        r"model B +pd +inf +- +\[ *1\.220, +inf\] +boundary +60$",
        r"model D +pd +- +- +\[ *0, +inf\] +flat +156$",
        r"model F +pd +0\.752 +0\.300 +\[ *0\.281, +4\.903\] +multimodal +12$",
    ):
        assert re.search(line, body, re.MULTILINE), line
    assert len(re.findall(r"^model [A-H] ", body, re.MULTILINE)) == 16


def test_shortened_names_stay_different_and_are_explained():
    text = tables.summary(fake(8, NASTY))
    rows = re.findall(r"^(claude\S+) ", text, re.MULTILINE)
    assert len(set(rows)) == 2
    for name in NASTY[:2]:
        assert re.sub(r"\s+", "", name) in re.sub(r"\s+", "", text)


@pytest.mark.parametrize("to", [6, 9, 14, 40])
def test_names_that_differ_only_in_the_middle_are_told_apart(to):
    texts = [f"experiment-{i:03d}-of-the-long-series" for i in range(120)]
    short = words.shorten_all(texts, to)
    assert len(set(short.values())) == 120
    assert max(map(cell_len, short.values())) <= to


def test_many_cells_show_the_first_and_count_the_rest():
    text = tables.summary(fake(300))
    assert len(text.splitlines()) < 140
    assert text.count("and 280 more") == 2
    counts = dict(
        zip(
            ("ok", "multimodal", "boundary", "flat"),
            map(int, re.search(r"^tau +(\d+) +(\d+) +(\d+) +(\d+)$", text, re.MULTILINE).groups()),
            strict=True,
        )
    )
    frame = fake(300).frame()
    tau = frame[frame["parameter"] == "tau"]["status"].value_counts()
    assert counts == {s: tau[s] for s in counts}


def test_one_sided_statements():
    rows = {f"{r.model} {r.parameter}": r for r in fake(8).frame().itertuples(index=False)}
    assert one_sided(rows["model E tau"], "95%") == "tau >= 2.104 (95%)"
    assert one_sided(rows["model C tau"], "95%") == "tau <= 0.412 (95%)"
    assert one_sided(rows["model B gamma"], "90%") == "gamma >= 1.220 (90%)"


def test_what_the_data_do_not_tell_is_told():
    found = {f.kind: f for f in findings(View.of(fake(8, no_choice=3, fractional=True)))}
    assert "tau in 2 of 8, gamma in 2 of 8" in found["flat"].text
    assert "model E, sw10: tau >= 2.104 (95%)" in found["boundary"].cells
    assert found["multimodal"].cells == ("model F, pd: tau = 0.752, gamma = 3.204; or tau=3.9, gamma=0.11 (-0.42)",)
    assert "from 10 to 20" in found["levels"].text
    assert "5 to 80" in found["units"].text
    assert found["few"].cells == ("model A, sw10: n = 12", "model F, pd: n = 12")
    assert "12 answers without a choice" in found["no choice"].text
    assert "fractional" in found
    assert any("ridge" in cell for cell in found["notes"].cells)


def test_payoff_units_are_no_matter_once_payoffs_are_divided_by_their_range():
    assert "units" not in {f.kind for f in findings(View.of(fake(8, scale="range")))}


def test_nothing_is_said_where_nothing_is_amiss():
    fits = FakeFits(pd.DataFrame({"model": ["a"], "game": ["pd"]}), [CASES[0]], scale="range")
    kinds = {f.kind for f in findings(View.of(fits))}
    assert kinds == {"few"}


@pytest.mark.parametrize("format", EVERYTHING)
def test_no_status_is_dropped_from_any_format(format):
    text = tables.table(fake(8), format)
    if format == "latex":  # statuses are marks there, explained below the table
        assert text.count(r"\textsuperscript{b}") == 4 + 1
        assert text.count(r"\textsuperscript{m}") == 2 + 1
        assert text.count(r"\textsuperscript{f}") == 4 + 1
        return
    for status in STATUSES:
        assert status in text


@pytest.mark.parametrize("format", EVERYTHING)
@pytest.mark.parametrize("names", [None, NASTY], ids=["plain", "nasty"])
def test_the_same_fit_gives_the_same_bytes(format, names):
    assert tables.table(fake(8, names), format) == tables.table(fake(8, names), format)


def test_json_is_strict_and_says_what_null_means():
    def refuse(token: str) -> float:
        raise AssertionError(token)

    data = json.loads(tables.table(fake(8, NASTY, no_choice=3), "json"), parse_constant=refuse)
    rows = {(r["model"], r["parameter"]): r for r in data["estimates"]}
    assert len(rows) == 16
    assert rows[NASTY[0], "tau"]["estimate"] == 1.5417
    assert "estimate_is" not in rows[NASTY[0], "tau"]
    unbounded = rows[NASTY[1], "gamma"]
    assert (unbounded["estimate"], unbounded["estimate_is"]) == (None, "infinite")
    assert (unbounded["se"], unbounded["se_is"]) == (None, "none")
    assert (unbounded["high"], unbounded["high_is"]) == (None, "infinite")
    assert rows[NASTY[3], "tau"]["estimate_is"] == "none"
    assert "_is says why" in data["about"]
    assert data["interval"] == {"level": 0.95, "kind": "profile likelihood"}
    assert set(data["statuses"]) == set(STATUSES)


@pytest.mark.parametrize(("suffix", "separator"), [(".csv", ","), (".tsv", "\t")])
def test_delimited_text_reads_back_to_the_same_frame(tmp_path, suffix, separator):
    fits = fake(8, NASTY)
    path = tables.write(fits, tmp_path / f"fits{suffix}")
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file, delimiter=separator))
    frame = fits.frame()
    assert rows[0] == list(frame.columns)
    for row, expected in zip(rows[1:], frame.itertuples(index=False, name=None), strict=True):
        for text, value in zip(row, expected, strict=True):
            if isinstance(value, float):
                assert float(text or "nan") == value or math.isnan(value)
            else:
                assert text == value


def test_parquet_reads_back_with_what_was_fitted(tmp_path):
    import pyarrow.parquet as pq

    fits = fake(8, [1, "two", 3.5, None, "x", "y", "z", "w"])
    path = tables.write(fits, tmp_path / "fits.parquet")
    back = pq.read_table(path)
    assert json.loads(back.schema.metadata[b"levelkit"])["scale"] == "raw"
    frame = back.to_pandas()
    assert frame["status"].tolist() == fits.frame()["status"].tolist()
    np.testing.assert_array_equal(frame["high"], fits.frame()["high"])
    assert path.read_bytes() == tables.write(fits, tmp_path / "again.parquet").read_bytes()


def test_latex_escapes_what_latex_would_obey():
    text = tables.table(fake(8, NASTY), "latex")
    assert r"a\textbar{}b \& c\_d \% \$e\# \{f\} \textasciitilde{}g\textasciicircum{}h \textbackslash{}i" in text
    assert r"\textless{}script\textgreater{}" in text
    assert r"\toprule" in text
    body = [line for line in text.splitlines() if line.endswith(r" \\") and "caption" not in line]
    assert {len(re.findall(r"(?<!\\)&", line)) for line in body} == {6}
    assert len(body) == 9


def test_latex_grows_into_a_long_table():
    text = tables.table(fake(60), "latex")
    assert r"\begin{longtable}" in text
    assert r"\begin{table}" not in text


def test_markdown_rows_have_as_many_cells_as_the_head():
    lines = [line for line in tables.table(fake(8, NASTY), "markdown").splitlines() if line.startswith("|")]
    assert len(lines) == 18
    assert {line.count("|") for line in lines} == {9}
    assert "<script>" not in "".join(lines)


def test_a_failed_write_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "fits.csv"
    path.write_text("old")

    def no(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.replace", no)
    with pytest.raises(UsageError, match="No space left"):
        tables.write(fake(2), path)
    assert path.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["fits.csv"]


def test_a_link_keeps_pointing_to_the_file(tmp_path):
    (tmp_path / "real.csv").write_text("old")
    (tmp_path / "link.csv").symlink_to("real.csv")
    tables.write(fake(2), tmp_path / "link.csv")
    assert (tmp_path / "link.csv").is_symlink()
    assert (tmp_path / "real.csv").read_text().startswith("model,game,parameter")


@pytest.mark.parametrize(
    ("name", "said"),
    [("fits.xlsx", r"\.csv"), ("fits", r"\.csv"), ("no/such/folder/fits.csv", "does not exist")],
)
def test_a_bad_file_name_is_refused_with_advice(tmp_path, name, said):
    with pytest.raises(UsageError, match=said):
        tables.write(fake(2), tmp_path / name)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (math.inf, "inf"),
        (-math.inf, "-inf"),
        (math.nan, "-"),
        (None, "-"),
        (1.5417, "1.542"),
        (-1.5417, "-1.542"),
        (0.0995, "0.0995"),
        (0.00212, "0.00212"),
        (2.1e-4, "2.1e-04"),
        (12345.6, "12346"),
        (123.456, "123.5"),
        (1e9, "1.0e+09"),
    ],
)
def test_numbers_for_people(value, text):
    assert words.number(value) == text


def test_cells_are_found_by_number_and_by_their_values():
    fits = fake(8)
    assert find_cell(fits, 3) == 3
    assert find_cell(fits, -1) == 7
    assert find_cell(fits, {"model": "model C", "game": "sw10"}) == 2
    assert find_cell(one(), None) == 0
    for wrong in (8, {"model": "nobody"}, {"game": "pd"}, {"colour": "red"}, None):
        with pytest.raises(UsageError):
            find_cell(fits, wrong)


def test_a_csv_can_be_read_by_anything(tmp_path: Path):
    text = tables.table(fake(2), "csv")
    assert "\r" not in text
    assert pd.read_csv(io.StringIO(text))["high"].iloc[3] == math.inf


def test_parameters_that_vary_within_cells_carry_what_they_vary_by():
    class Varying(FakeFits):
        """One tau a model, one gamma a model and game: keys that do not apply are None, as in a real fit."""

        def frame(self) -> pd.DataFrame:
            rows = []
            for model, status in (("a", "multimodal"), ("b", "ok")):
                rows.append((model, None, "tau", 1.5, 0.1, 1.2, 1.9, status, 24.0, -40.0, "levels"))
                for game in ("sw10", "pd"):
                    rows.append((model, game, "gamma", 0.2, 0.1, 0.1, 0.4, status, 24.0, -40.0, "1/payoff"))
            names = [
                "model",
                "game",
                "parameter",
                "estimate",
                "se",
                "low",
                "high",
                "status",
                "n",
                "loglik",
                "unit",
            ]
            return pd.DataFrame(rows, columns=names)

    fits = Varying(pd.DataFrame({"model": ["a", "b"]}), [CASES[5], CASES[0]])
    found = {f.kind: f for f in findings(View.of(fits))}
    assert found["multimodal"].cells[0].startswith("a: tau = 1.500, gamma (sw10) = 0.200, gamma (pd) = 0.200; or ")
    assert re.search(r"^a +\(all\) +1\.500", tables.summary(fits), re.MULTILINE)
    assert "(all)" in tables.table(fits, "markdown")
    rows = [line for line in tables.table(fits, "latex").splitlines() if line.startswith(("a &", "b &"))]
    assert len(rows) == 6


def test_a_million_cells_are_not_named_one_by_one(monkeypatch):
    fits = fake(3000)
    asked = []
    plain = words.plain
    monkeypatch.setattr(words, "plain", lambda value: asked.append(value) or plain(value))
    found = {f.kind: f for f in findings(View.of(fits))}
    assert found["boundary"].count == 1500
    assert len(found["boundary"].cells) == 1000
    assert len(asked) < 20_000
