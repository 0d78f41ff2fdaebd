"""`levelkit depth ...` as a person meets it."""

from __future__ import annotations

import json

import pandas as pd
import pytest

import levelkit as lk
from levelkit.cli import main
from levelkit.depth.trials import write_trials


def run(capsys, *arguments: object) -> tuple[int, str, str]:
    code = main([str(a) for a in arguments])
    said = capsys.readouterr()
    assert "Traceback" not in said.out + said.err
    return code, said.out, said.err


@pytest.fixture(scope="module")
def log(tmp_path_factory):
    plan = {"one": {"accurate": 0.6, "maximising": 0.4}, "two": {"one short": 0.8, "random": 0.2}}
    made = lk.depth.simulate_log(plan, k_targets=range(1, 6), lam=(10.0,), reps=5, lost=2, seed=3)
    path = tmp_path_factory.mktemp("log") / "trials.jsonl"
    path.write_text(write_trials(made.records))
    return path


def test_the_group_alone_shows_its_help(capsys):
    code, out, err = run(capsys, "depth")
    assert (code, err) == (2, "")
    for name in ("check", "histories", "score", "ceiling", "estimate", "search"):
        assert name in out


def test_check_prints_a_sheet_within_80_columns(capsys):
    for name in ("ring", "nash", "m1120", "allpay", "sw10", "sequential"):
        code, out, _ = run(capsys, "depth", "check", name)
        assert code == 0
        assert max(map(len, out.splitlines())) <= 80
    assert "K_max = 9" in run(capsys, "depth", "check", "ring")[1]


def test_check_fails_where_the_depth_is_not_reached(capsys):
    assert run(capsys, "depth", "check", "ring", "--depth", 9)[0] == 0
    assert run(capsys, "depth", "check", "ring", "--depth", 10)[0] == 1
    assert run(capsys, "depth", "check", "nash", "--depth", 5, "--anchor", "uniform")[0] == 1


def test_check_as_json_and_to_a_file(capsys, tmp_path):
    code, out, _ = run(capsys, "depth", "check", "nash", "--json", "--out", tmp_path / "nash.json")
    told = json.loads(out)
    assert code == 0
    assert told["actions"][:3] == [20, 19, 18]
    assert told["uniform_level0"]["k_max"] == 1
    assert json.loads((tmp_path / "nash.json").read_text()) == told


def test_search_and_check_its_certificates(capsys, tmp_path):
    found = tmp_path / "found.toml"
    code, out, err = run(capsys, "depth", "search", "ring", "--batches", 2, "--batch", 512, "--out", found)
    assert code == 0
    assert "non-monotone" in out
    assert str(found) in err
    code, out, _ = run(capsys, "depth", "check", found)
    assert (code, "holds" in out) == (0, True)
    found.write_text(found.read_text().replace("\ndepth = 1", "\ndepth = 2", 1))
    code, out, _ = run(capsys, "depth", "check", found)
    assert code == 1
    assert "DOES NOT HOLD" in out
    code, out, _ = run(capsys, "depth", "search", "demand", "--batches", 1, "--batch", 64, "--out", found)
    assert code == 1
    assert "none: lower --depth" in out


def test_histories_are_drawn_written_and_their_scale_inferred(capsys, tmp_path):
    path = tmp_path / "h.jsonl"
    code, _, err = run(capsys, "depth", "histories", "--scale", "raw", "--seed", 4, "--out", path)
    assert (code, "120 histories" in err) == (0, True)
    assert "raw is" in run(capsys, "depth", "histories", "--infer", path)[1]
    code, out, _ = run(capsys, "depth", "histories", "ring", "--k", "2-3", "--lam", 10)
    assert [json.loads(line)["k_target"] for line in out.splitlines()] == [2, 3]
    run(capsys, "depth", "histories", "ring", "--k", "2", "--out", tmp_path / "h.csv")
    assert len(pd.read_csv(tmp_path / "h.csv")["history"][0].split(";")) == 30


def test_score_writes_page_tables_and_rows(capsys, log, tmp_path):
    outs = [tmp_path / name for name in ("r.html", "r.csv", "r.json", "r.txt")]
    options = [word for out in outs for word in ("--out", out)]
    code, out, err = run(capsys, "depth", "score", log, *options, "--replicates", 200)
    assert code == 0
    assert "accuracy is made of" in out
    assert all(f"wrote {path}" in err for path in outs)
    assert len(pd.read_csv(outs[1])) == 400
    assert json.loads(outs[2].read_text())["trials"] == 400
    assert outs[0].read_text().startswith("<!doctype html>")
    assert outs[3].read_text() == out
    again = json.loads(
        run(capsys, "depth", "score", log, "--json", "--replicates", 200, "--figures", tmp_path)[1],
    )
    assert {path.name for path in tmp_path.glob("*.svg")} == {"recursive.svg", "inductive.svg", "chains.svg"}
    assert again == json.loads(outs[2].read_text())


def test_score_tells_bad_lines_and_fails_unless_told_not_to(capsys, log, tmp_path):
    bad = tmp_path / "bad.jsonl"
    bad.write_text(log.read_text() + '{"schema": "levelk-trial/1"}\n{nonsense\n')
    code, _, err = run(capsys, "depth", "score", bad, "--replicates", 0)
    assert code == 1
    assert "2 of 402 rows set aside" in err
    assert "E_JSON" in err
    assert run(capsys, "depth", "score", bad, "--replicates", 0, "--skip-bad")[0] == 0
    code, _, err = run(capsys, "depth", "score", bad, "--strict")
    assert (code, "line 401: E_MISSING" in err) == (1, True)


def test_conventions_and_intervals(capsys, log):
    proper = run(capsys, "depth", "score", log, "--replicates", 0)[1]
    published = run(capsys, "depth", "score", log, "--replicates", 0, "--convention", "published")[1]
    assert "360 counted" not in published
    assert proper != published
    assert "wald intervals" in run(capsys, "depth", "score", log, "--replicates", 0, "--interval", "wald")[1]


def test_ceilings_simulated_and_on_a_log(capsys, log, tmp_path):
    out = tmp_path / "c.csv"
    code, text, _ = run(capsys, "depth", "ceiling", "--game", "nash", "--k", "2-3", "--simulations", 50, "--out", out)
    assert code == 0
    assert "level plug-in" in text
    assert len(pd.read_csv(out)) == 6
    code, text, _ = run(capsys, "depth", "ceiling", log)
    assert (code, "histories of the log" in text) == (0, True)


def test_estimate(capsys, log, tmp_path):
    out = tmp_path / "fits.csv"
    code, text, err = run(
        capsys, "depth", "estimate", log, "--model", "tqre", "--level0", "uniform", "--no-intervals", "--out", out
    )
    assert code == 0
    assert "level 0: uniform" in err
    assert set(pd.read_csv(out)["model"]) == {"one", "two"}
    assert "TQRE" in text


def test_the_audit_of_the_study(capsys, tmp_path):
    code, text, _ = run(capsys, "reproduce", "depth2026", "--out", tmp_path / "audit.csv")
    assert code == 0
    assert "table 3 cannot rest on the sample of table 2" in " ".join(text.split())
    assert (pd.read_csv(tmp_path / "audit.csv")["part"] == "table2").sum() == 64


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("check", "rinf"), 2, "Did you mean"),
        (("check", "ring", "--depth", 0), 2, "give a level of at least 1"),
        (("check", "ring", "--anchor", 99), 2, "99 is no action of ring"),
        (("check", "ring", "--out", "x.pdf"), 2, "end it with .txt or .json"),
        (("check", "none.toml"), 1, "no such file"),
        (("score", "none.jsonl"), 1, "no such file"),
        (("score", "none.jsonl", "--level", 95), 2, "0.95"),
        (("score", "none.jsonl", "--out", "x.doc"), 2, "end it with .html"),
        (("score", "none.jsonl", "--figures", "nowhere"), 2, "there is no such folder"),
        (("histories", "--k", "2..3"), 2, "write depths such as 1-10"),
        (("histories", "--lam", "high"), 2, "write numbers such as"),
        (("ceiling", "--scale", "big"), 2, "choose belief_range"),
        (("estimate", "none.jsonl", "--condition", "x"), 2, "choose recursive"),
        (("search", "ring", "--depth", 20), 2, "tell at most levels 0 to 19"),
        (("search", "ring", "--out", "x.csv"), 2, "end it with .toml"),
    ],
)
def test_one_clear_line_for_every_mistake(capsys, arguments, code, words):
    found, out, err = run(capsys, "depth", *arguments)
    assert (found, out) == (code, "")
    assert words in err
    assert err.startswith("levelkit: ")
