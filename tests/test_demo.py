"""The demonstration runs on what comes along, fits the screen, and leaves its files behind."""

from __future__ import annotations

import pandas as pd
import pytest
from rich.cells import cell_len

from levelkit import demo
from levelkit.choices import read_choices, shipped_choices
from levelkit.errors import UsageError
from levelkit.inference.fit import fit
from levelkit.models import TQRE


@pytest.mark.slow
def test_the_whole_demonstration(tmp_path):
    steps = []
    made = demo.run(lambda done, total: steps.append((done, total)))
    files = demo.write(made, tmp_path / "new" / "folder")
    assert steps == [(k, 6) for k in range(1, 6)]
    assert [f.name for f in files[:2]] == ["report.html", "fits.csv"]
    table = pd.read_csv(files[1])
    assert table.groupby("choices").size().to_dict() == {
        "llm_competitive": 186,
        "sw95": 24,
        "rpc2009": 2,
        "sw10_humans": 8,
        "eleven_twenty": 4,
    }
    again = read_choices(next(f for f in files if f.name == "rpc2009.csv"))
    assert again.equals(shipped_choices("rpc2009"))
    text = made.text()
    assert max(map(cell_len, text.splitlines())) <= 80
    # Rogers, Palfrey & Camerer (2009), table 3, print tau 1.57 and gamma .11 for the pooled games
    assert "rpc2009, 17 games    1,210  1.54 [" in text
    page = files[0].read_text(encoding="utf-8")
    assert all(title in page.replace("&amp;", "&") for _, _, title in demo.JOBS)


@pytest.mark.parametrize(
    ("row", "text"),
    [
        (("ok", 1.5, 1.2, 1.9), "1.50 [1.20, 1.90]"),
        (("multimodal", 1.5, 1.2, float("inf")), "1.50 [1.20, inf] m"),
        (("boundary", 10.0, 2.1, float("inf")), ">= 2.10"),
        (("boundary", 0.0, 0.0, 0.4), "<= 0.40"),
        (("boundary", float("inf"), 0.0, float("inf")), "no bound"),
        (("flat", 1.0, 0.0, float("inf")), "flat"),
    ],
)
def test_no_number_without_its_status(row, text):
    assert demo._cell(pd.Series(dict(zip(("status", "estimate", "low", "high"), row, strict=True)))) == text


def test_a_folder_that_cannot_be_made_is_said(tmp_path):
    (tmp_path / "file").write_text("")
    fits = fit(shipped_choices("sw10_humans").filter(sample="sw95"), TQRE(), fixed={"tau": 1.5})
    with pytest.raises(UsageError, match="cannot make the folder"):
        demo.write(demo.Demo({"sw10_humans": fits}), tmp_path / "file" / "below")
