"""`levelkit fit` as a person meets it: answers, files, exit codes, and one clear line for every mistake."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from levelkit.cli import main

GOOD = """model,game,player,action,count
a,sw10,1,0,40
a,sw10,1,1,12
a,sw10,1,2,22
b,sw10,1,0,20
b,sw10,1,1,20
b,sw10,1,2,20
"""


@pytest.fixture
def good(tmp_path) -> Path:
    path = tmp_path / "choices.csv"
    path.write_text(GOOD)
    return path


@pytest.fixture
def bad(tmp_path) -> Path:
    path = tmp_path / "bad.csv"
    path.write_text(GOOD + "b,sw10,1,7,3\nb,nowhere,1,0,1\nb,sw10,1,,4\n")
    return path


def run(capsys, *arguments: object) -> tuple[int, str, str]:
    code = main([str(a) for a in arguments])
    said = capsys.readouterr()
    assert "Traceback" not in said.out + said.err
    return code, said.out, said.err


def test_a_fit_prints_its_summary_and_nothing_else(capsys, good):
    code, out, err = run(capsys, "fit", good, "--model", "poisson-ch", "--by", "model")
    assert (code, err) == (0, "")
    assert "Poisson cognitive hierarchy: 2 fitted cells" in out
    assert max(map(len, out.splitlines())) <= 80


def test_json_is_all_there_is_on_standard_output(capsys, bad):
    code, out, err = run(capsys, "fit", bad, "--model", "poisson-ch", "--by", "model", "--json")
    assert code == 0
    data = json.loads(out)
    assert {row["model"] for row in data["estimates"]} == {"a", "b"}
    assert data["set_aside"]["rows"] == 2
    assert [cell["no_choice"] for cell in data["cells"]] == [0, 4]
    assert "2 of 9 rows set aside" in err
    assert "nowhere" in err


def test_strict_turns_rows_set_aside_into_an_error(capsys, bad):
    code, out, err = run(capsys, "fit", bad, "--strict")
    assert (code, out) == (1, "")
    assert "nowhere" in err


def test_files_are_written_by_suffix(capsys, good, tmp_path):
    files = [tmp_path / name for name in ("f.csv", "f.json", "f.tex", "f.html", "f.png")]
    given = [part for file in files[:-1] for part in ("--out", file)]
    code, _, err = run(capsys, "fit", good, "--model", "poisson-ch", "--by", "model", *given, "--plot", files[-1])
    assert code == 0
    assert [f"wrote {file}" for file in files] == err.splitlines()
    assert pd.read_csv(files[0])["model"].tolist() == ["a", "b"]
    json.loads(files[1].read_text())
    assert "</html>" in files[3].read_text()
    assert files[4].read_bytes().startswith(b"\x89PNG")


def test_options_reach_the_model_and_the_fit(capsys, good):
    code, out, _ = run(
        capsys, "fit", good, "--set", "levels=3", "--set", "belief=step", "--fix", "tau=1.5",
        "--scale", "range", "--interval", "0.9", "--by", "model", "--json",
    )  # fmt: skip
    data = json.loads(out)
    assert code == 0
    assert data["model"]["options"]["levels"] == 3
    assert data["model"]["options"]["belief"] == "step"
    assert (data["scale"], data["interval"]["level"], data["fixed"]) == ("range", 0.9, {"tau": 1.5})
    assert {row["parameter"] for row in data["estimates"]} == {"gamma"}


def test_columns_can_have_other_names(capsys, tmp_path):
    path = tmp_path / "own.csv"
    path.write_text(GOOD.replace("player,action", "role,choice"))
    code, out, _ = run(
        capsys,
        "fit",
        path,
        "--model",
        "uniform",
        "--columns",
        "action=choice,player=role",
        "--by",
        "model",
        "--json",
    )
    assert code == 0
    assert [cell["n"] for cell in json.loads(out)["cells"]] == [74, 60]


def test_games_of_ones_own(capsys, tmp_path):
    games = tmp_path / "games.toml"
    games.write_text('[[game]]\nname = "mine"\nkind = "bimatrix"\nrow = [[3, 0], [5, 1]]\ncol = [[3, 5], [0, 1]]\n')
    table = tmp_path / "c.csv"
    table.write_text("game,player,action,count\nmine,1,0,5\nmine,1,1,15\nmine,2,1,20\n")
    code, out, _ = run(capsys, "fit", table, "--games", games, "--model", "poisson-ch", "--json")
    assert code == 0
    assert json.loads(out)["cells"][0]["n"] == 40


MISTAKES = [
    (["nofile.csv"], 1, ["nofile.csv"]),
    (["{good}", "--model", "tqr"], 2, ["tqr", "tqre"]),
    (["{good}", "--set", "level=20"], 2, ["level", "levels"]),
    (["{good}", "--set", "levels"], 2, ["levels=20"]),
    (["{good}", "--set", "levels=many"], 2, ["levels"]),
    (["{good}", "--by", "modle"], 2, ["modle", "model"]),
    (["{good}", "--fix", "tau=soon"], 2, ["soon", "no number"]),
    (["{good}", "--fix", "lam=1"], 2, ["lam", "tau, gamma"]),
    (["{good}", "--fix", "tau=1", "--fix", "tau=2"], 2, ["twice"]),
    (["{good}", "--vary", "gamma"], 2, ["gamma=game"]),
    (["{good}", "--scale", "log"], 2, ["raw or range"]),
    (["{good}", "--interval", "95"], 2, ["95% is 0.95"]),
    (["{good}", "--interval", "high"], 2, ["interval"]),
    (["{good}", "--columns", "choice"], 2, ["action=choice"]),
    (["{good}", "--out", "fits.xlsx"], 2, [".csv"]),
    (["{good}", "--out", "no/such/folder/fits.csv"], 2, ["does not exist"]),
    (["{good}", "--plot", "fits.jpg"], 2, [".svg"]),
    (["{good}", "--games", "nogames.toml"], 1, ["nogames.toml"]),
    (["{good}", "--modle", "tqre"], 2, ["--modle", "--model"]),
    ([], 2, ["fit --help"]),
]


@pytest.mark.parametrize(
    ("arguments", "code", "said"), MISTAKES, ids=[" ".join(m[0][1:] or m[0]) or "nothing" for m in MISTAKES]
)
def test_mistakes_are_answered_in_a_line_or_two(capsys, good, arguments, code, said):
    got, out, err = run(capsys, "fit", *[a.format(good=good) for a in arguments])
    assert got == code
    assert out == ""
    assert err.startswith("levelkit: ")
    assert len(err.splitlines()) <= 2
    for words in said:
        assert words in err


@pytest.mark.parametrize(
    "content",
    ["", "game,player,action\n", "\x00\x01\x02", "a,b\n1,2\n"],
    ids=["empty", "head only", "binary", "other"],
)
def test_files_without_choices_are_problems_of_the_data(capsys, tmp_path, content):
    path = tmp_path / "odd.csv"
    path.write_text(content)
    code, _, err = run(capsys, "fit", path)
    assert code == 1
    assert "odd.csv" in err


def python(*arguments: str, **options: object) -> subprocess.CompletedProcess[str]:
    source = str(Path(__file__).parents[2] / "src")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([source, os.environ.get("PYTHONPATH", "")])}
    return subprocess.run(
        [sys.executable, *arguments],
        capture_output=True,
        text=True,
        env=environment,
        timeout=120,
        check=False,
        **options,
    )


def test_help_does_not_load_what_only_fits_need():
    check = (
        "import sys; from levelkit.cli import main; code = main(['--help'])\n"
        "heavy = {'jax', 'pandas', 'matplotlib', 'scipy'} & set(sys.modules)\n"
        "sys.exit(str(heavy) if heavy else code)"
    )
    done = python("-c", check)
    assert (done.returncode, done.stderr) == (0, "")
    for verb in ("demo", "games", "fit"):
        assert verb in done.stdout


def test_a_reader_who_leaves_early_gets_no_complaint():
    child = "import sys; from levelkit.cli import main; sys.exit(main(['games', '--json']))"
    parent = (
        "import subprocess, sys\n"
        f"child = subprocess.Popen([sys.executable, '-c', {child!r}], stdout=-1, stderr=-1)\n"
        "child.stdout.close()\n"
        "print(child.stderr.read().decode(), child.wait())"
    )
    done = python("-c", parent)
    assert done.stdout.strip() == "0"


def test_an_interrupt_is_told_in_a_word(capsys, good, monkeypatch):
    def stop(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("levelkit.inference.fit.fit", stop)
    code, _, err = run(capsys, "fit", good)
    assert (code, err) == (130, "levelkit: interrupted.\n")


def test_an_error_of_our_own_is_owned(capsys, good, monkeypatch):
    def fail(*_: object, **__: object) -> None:
        raise ZeroDivisionError("oh")

    monkeypatch.setattr("levelkit.inference.fit.fit", fail)
    monkeypatch.delenv("LEVELKIT_DEBUG", raising=False)
    code, _, err = run(capsys, "fit", good)
    assert code == 70
    assert "ZeroDivisionError: oh" in err


def test_the_version_is_told(capsys):
    import levelkit

    assert run(capsys, "--version") == (0, f"levelkit {levelkit.__version__}\n", "")


def test_no_progress_bar_where_nobody_watches(capsys):
    from levelkit.cli import output

    with output.progress("Working") as told:
        told(1, 2)
    assert capsys.readouterr().err == ""


def test_a_progress_bar_appears_for_those_who_wait(monkeypatch):
    import io

    from levelkit.cli import output

    class Screen(io.StringIO):
        def isatty(self) -> bool:
            return True

    screen = Screen()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setattr(output, "_PATIENCE", 0.0)
    import time

    with output.progress("Working") as told:
        told(1, 2)
        until = time.monotonic() + 10
        while "Working" not in screen.getvalue() and time.monotonic() < until:
            time.sleep(0.01)
    assert "Working" in screen.getvalue()
    assert "1/2" in screen.getvalue()


def test_help_names_every_model(capsys):
    from levelkit.models import REGISTRY

    _, out, _ = run(capsys, "fit", "--help")
    words = " ".join(out.replace("│", " ").split())
    assert all(name in words for name in REGISTRY)
