"""The web page without a browser: what it answers, what it refuses, and that files are kept apart."""

from __future__ import annotations

import json
import socket
import threading
import urllib.error
import urllib.request

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("starlette")
pytest.importorskip("httpx2")
from starlette.testclient import TestClient

import levelkit as lk
from levelkit.app.server import create, finite, serve
from levelkit.app.uploads import MOST_KEPT, TABLES, Uploads
from levelkit.cli import main
from levelkit.errors import DataError
from levelkit.gametext import game_from_matrix
from levelkit.observer import catalogue, loss_table, posterior, simulate, steady_state

HERE = "http://127.0.0.1"
TABLE = "model,game,player,action,count\n" + "".join(
    f"{m},sw10,{p},{a},{n}\n"
    for m, counts in {"x": ((9, 3, 8), (7, 4, 9)), "y": ((2, 1, 30), (3, 2, 28))}.items()
    for p, row in enumerate(counts, start=1)
    for a, n in enumerate(row)
)


@pytest.fixture(scope="module")
def page():
    with TestClient(create(most_mb=0.5), base_url=HERE) as client:
        yield client


def send(page, text, name="mine.csv", kind="tables"):
    return page.post(f"/api/{kind}", params={"name": name}, content=text.encode() if isinstance(text, str) else text)


def token(page, *args, **kwargs):
    answer = send(page, *args, **kwargs)
    assert answer.status_code == 200, answer.text
    return answer.json()["token"]


def fit(page, **settings):
    lines = page.get("/api/fit", params=settings).text.splitlines()
    return json.loads(lines[-1])


# what is kept out


def test_every_answer_keeps_the_page_to_itself(page):
    for path in ("/", "/app.js", "/api/about", "/nothing"):
        headers = page.get(path).headers
        assert "default-src 'none'" in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
        assert "access-control-allow-origin" not in headers
    text = "".join(page.get(path).text for path in ("/", "/app.js", "/app.css", "/charts.js"))
    assert "https://" not in text
    assert {part.split('"')[0] for part in text.split("http://")[1:]} <= {"www.w3.org/2000/svg"}


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "192.168.1.5:8765"])
def test_other_host_names_are_refused(page, host):
    refused = page.get("/api/about", headers={"host": host})
    assert refused.status_code == 400
    assert "default-src 'none'" in refused.headers["content-security-policy"]


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "http://evil.example"},
        {"origin": "null"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},  # another port of this machine
    ],
)
def test_other_sites_are_refused(page, headers):
    assert page.post("/api/tables?name=a.csv", content=b"x", headers=headers).status_code == 403
    assert page.get("/api/about", headers=headers).status_code == 403


def test_it_listens_on_the_loopback_address_only():
    told = threading.Event()
    where = []

    def started(address):
        where.append(address)
        told.set()

    threading.Thread(target=serve, args=(0, 1.0, started), daemon=True).start()
    assert told.wait(20)
    port = int(where[0].rstrip("/").rpartition(":")[2])
    with urllib.request.urlopen(where[0], timeout=5) as answer:
        assert answer.status == 200
    with pytest.raises(
        (ConnectionError, TimeoutError)
    ):  # of this machine, too: a server that listens everywhere would answer
        socket.create_connection(("127.0.0.2", port), timeout=1)
    request = urllib.request.Request(f"{where[0]}api/tables?name=a.csv", data=b"x", method="POST")
    request.add_unredirected_header("Content-Length", str(50_000_000))  # stated; nothing of it is read
    with pytest.raises(urllib.error.HTTPError, match="413"):
        urllib.request.urlopen(request, timeout=5)


def test_a_port_that_is_taken_is_named():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(lk.UsageError, match=r"port \d+ cannot be used"):
            serve(taken.getsockname()[1], 1.0, print)


def test_without_the_extra_the_command_says_what_to_install(monkeypatch, capsys):
    monkeypatch.setitem(__import__("sys").modules, "uvicorn", None)
    assert main(["app", "--no-open"]) == 2
    assert "pip install 'levelkit[app]'" in capsys.readouterr().err


# files


def test_a_file_that_is_too_large_or_of_a_wrong_kind_is_refused_in_words(page):
    large = send(page, b"x" * 600_000)
    assert large.status_code == 413
    assert "larger than the 0.5 MB" in large.json()["error"]
    chunks = page.post("/api/tables?name=a.csv", content=(b"x" * 100_000 for _ in range(7)))  # no stated length
    assert chunks.status_code == 413
    wrong = send(page, "x", "photo.png")
    assert wrong.status_code == 422
    assert "photo.png: this is not a table of choices" in wrong.json()["error"]
    assert ".csv" in wrong.json()["error"]


@pytest.mark.parametrize(
    ("name", "data", "said"),
    [
        ("a.csv", b"", "the file is empty"),
        ("a.csv", b"PK\x03\x04zip", "Excel workbook"),
        ("a.parquet", b"PAR1 no", "not a Parquet file"),
        ("a.jsonl", b"[1, 2]\n", "a.jsonl"),
        ("a.csv", b"\xff\xfe\x00\x00\x01", "a.csv"),
    ],
)
def test_broken_tables_are_told_by_name_and_without_our_folders(page, name, data, said):
    kept = token(page, data, name)
    answer = page.get("/api/table", params={"table": kept})
    text = answer.json()["error"] if answer.status_code != 200 else fit(page, table=kept, by="")["error"]
    assert said in text
    assert "levelkit-app-" not in text
    assert "own account" not in text


@pytest.mark.parametrize("name", ["../../etc/passwd.csv", "..\\a.csv", "/tmp/x.csv", "a\x00b.csv", ".csv"])
def test_file_names_stay_inside_their_folder(tmp_path, name):
    kept = Uploads(tmp_path, 100)
    try:
        clean = kept.check(name, 1, TABLES)
    except DataError:
        return
    path = kept.get(kept.keep(clean, b"x")).path
    assert path.resolve().is_relative_to(tmp_path)
    assert path.parent.parent == tmp_path


def test_the_oldest_files_go(tmp_path):
    kept = Uploads(tmp_path, 100)
    tokens = [kept.keep("a.csv", b"x") for _ in range(MOST_KEPT + 1)]
    assert len(set(tokens)) == len(tokens)
    with pytest.raises(DataError, match="not here any more"):
        kept.get(tokens[0])
    assert kept.get(tokens[1]).path.is_file()
    assert len(list(tmp_path.iterdir())) == MOST_KEPT


def test_files_of_two_people_do_not_mix(page):
    one, two = token(page, TABLE), token(page, TABLE.replace("x,", "other,"))
    assert one != two
    for kept, names in ((one, {"x", "y"}), (two, {"other", "y"})):
        told = fit(page, table=kept, by="model")["result"]
        assert {row["keys"][0] for row in told["estimates"]} == names
    assert page.get("/api/table", params={"table": one[:-1]}).status_code == 422


# fit my choices


def test_a_fit_says_what_the_library_says(page):
    kept = token(page, TABLE + "x,sw10,1,9,4\nx,no such game,1,0,1\n")
    told = fit(page, table=kept, by="model")["result"]
    assert told["set_aside"] == 2
    assert "no such game" in told["problems"]
    text = page.get("/api/download/fits.csv", params={"table": kept, "by": "model"})
    assert "attachment" in text.headers["content-disposition"]
    from io import StringIO

    mine = pd.read_csv(StringIO(text.text))
    frame = pd.read_csv(StringIO(TABLE))
    own = lk.fit(lk.read_choices(frame), lk.TQRE(), "model").frame()
    assert np.allclose(mine["estimate"], own["estimate"], rtol=1e-9)
    assert mine["status"].tolist() == own["status"].tolist()
    assert [row["status"] for row in told["estimates"]] == own["status"].tolist()
    assert told["figure"].startswith("data:image/svg+xml;base64,")
    for name in ("report.html", "fits.json", "fits.tex", "fits.txt"):
        assert page.get(f"/api/download/{name}", params={"table": kept, "by": "model"}).status_code == 200
    assert page.get("/api/download/x.exe", params={"table": kept}).status_code == 422


def test_columns_are_mapped_and_games_of_ones_own_are_read(page, tmp_path):
    mine = lk.Game.bimatrix("mine", [[3.0, 0.0, 1.0], [5.0, 1.0, 0.0]], [[3.0, 5.0, 2.0], [0.0, 1.0, 4.0]])
    lk.write_games(mine, tmp_path / "g.toml")
    games = token(page, (tmp_path / "g.toml").read_text(), "g.toml", "gamefiles")
    text = TABLE.replace("sw10", "mine").replace("player,action", "role,choice").replace("mine,1,2", "mine,1,1")
    kept = token(page, text)
    described = page.get("/api/table", params={"table": kept}).json()
    assert described["guess"] == {"game": "game", "count": "count"}
    told = fit(page, table=kept, games=games, by="", player="role", action="choice", count="count", model="poisson-ch")
    assert told["result"]["model"] == "Poisson cognitive hierarchy"
    bad = fit(page, table=kept, by="", player="role", action="choice", model="poisson-ch")
    assert "mine" in bad["error"]
    named = fit(page, table=kept, games=games, by="", player="role", action="choice", count="-")
    assert "'count' reads as count" in named["error"]  # "none" would be read as the column all the same
    assert "no model" in fit(page, table=kept, model="x", player="role", action="choice", games=games)["error"]
    assert "nothing" in fit(page, table=kept, by="nothing", player="role", action="choice", games=games)["error"]


# explore a game


def test_play_is_that_of_the_model(page):
    told = page.get("/api/play", params={"game": "sw10", "tau": 2, "gamma": 4, "levels": 6}).json()
    own = lk.TQRE(levels=6).predict(lk.game("sw10"), tau=2, gamma=4 / 80)
    for player in told["players"]:
        assert np.allclose(player["overall"], own[player["name"]], atol=1e-12)
        assert np.allclose(np.array(told["shares"]) @ player["levels"], player["overall"], atol=1e-12)
    assert len(told["shares"]) == 7
    told = page.get("/api/play", params={"matrix": "1,-1 -1,1\n-1,1 1,-1", "model": "qre", "lam": 30}).json()
    assert np.allclose(told["players"][0]["overall"], 0.5)


def test_levels_mix_to_the_prediction_for_every_model_of_levels():
    values = {"tau": 1.7, "gamma": 0.04, "lam": 0.1, "eps": 0.2, "share_0": 0.1, "share_1": 0.4, "share_2": 0.5}
    game = lk.game("sw10")
    from levelkit import models

    for name, options in (
        ("tqre", {"belief": "step"}), ("quantal-ch", {}), ("poisson-ch", {"population": "geometric"}),
        ("level-k", {"levels": 2}), ("quantal-level-k", {"levels": 2}),
    ):  # fmt: skip
        model = models.get(name, **options)
        params = {p.name: values[p.name] for p in model.parameters}
        made, own = lk.play_by_level(game, model, **params), model.predict(game, **params)
        assert made.shares.sum() == pytest.approx(1, abs=1e-12)
        for player, overall in made.overall.items():
            assert np.allclose(overall, own[player], atol=1e-12)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"game": "sw1o"}, "sw10"),
        ({"matrix": "1 2\n3"}, "row 2 has 1 entry"),
        ({"tau": "x"}, "no number"),
        ({"tau": "nan"}, "outside"),
        ({"levels": "2.5"}, "whole number"),
        ({"model": "hqre"}, "choose from"),
        ({"matrix": "9" * 30_000}, "letters"),
    ],
)
def test_settings_that_make_no_sense_are_told(page, settings, said):
    answer = page.get("/api/play", params=settings)
    assert answer.status_code == 422
    assert said in answer.json()["error"]


def test_facts_and_branch_of_a_game(page):
    told = page.get("/api/facts", params={"game": "stag_hunt_base"}).json()
    assert not told["identified"]
    assert len(told["equilibria"]) == 3
    told = page.get("/api/facts", params={"matrix": "2,1 0,0\n0,0 1,2"}).json()
    assert told["replies"] == [[[0], [1]], [[0], [1]]]
    branch = page.get("/api/branch", params={"game": "sw10"}).json()
    sums = np.sum(branch["players"][0], axis=0)
    assert np.allclose(sums, 1)
    flat = page.get("/api/facts", params={"matrix": "1,1 1,1\n1,1 1,1"}).json()
    assert "all payoffs are equal" in flat["verdict"]
    assert page.get("/api/branch", params={"matrix": "1,1 1,1\n1,1 1,1"}).json()["lam"] == []
    for sets in page.get("/api/games").json():
        assert sets["games"]


@pytest.mark.parametrize(
    ("text", "shape"),
    [("3 0\n5 1", (2, 2)), ("[[3,3  0,5],\n [5,0  1,1]]", (2, 2)), ("1/2 | 3/4 | 5/6\n1/1;2/2;3/3\n", (2, 3))],
)
def test_a_pasted_matrix(text, shape):
    assert game_from_matrix(text).shape == shape


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "nothing in it"), ("a b\nc d", "row 1, entry 1 is 'a'"), ("1,2,3 1\n1 1", "entry 1 is '1,2,3'"),
        ("1 2 3\n4 5 6", "2 rows of 3 entries"), ("1,1 2\n3,3 4,4", "some entries are one number"),
        ("[[3,0],\n[5,1]]", "one entry in each row"), ("1 nan\n1 1", "row 1, entry 2"), ("1 inf\n1 1", "entry 2"),
    ],
)  # fmt: skip
def test_a_pasted_matrix_that_is_none(text, said):
    with pytest.raises(DataError, match=said.replace("[", "\\[")):
        game_from_matrix(text)


# observe


def test_a_match_is_the_simulated_one(page):
    told = page.get("/api/match", params={"one": "H", "two": "C", "seed": 7, "rounds": 60}).json()
    moves = simulate("H", "C", rounds=60, seed=7)[0]
    assert told["moves"] == moves.tolist()
    guesses = posterior(moves, window=50).guesses()
    assert told["guesses"] == ["-".join(g) if g else "" for g in guesses]
    assert np.allclose(told["law"], steady_state("H", "C").outcome)
    table = loss_table(("H", "C"), convention="proper")["union"].to_numpy().reshape(19, 19)
    assert np.allclose(told["losses"]["proper"], table)
    codes = catalogue().codes
    t, (one, two) = 30, guesses[30]
    assert told["unions"]["proper"][t] == pytest.approx(table[codes.index(one), codes.index(two)], abs=1e-6)
    assert 0 < told["ceiling"]["rate"] < 1


def test_an_own_mixture_and_another_game(page):
    told = page.get("/api/match", params={"one": "own", "mix1": "2,1,1", "two": "D"}).json()
    assert told["named"] is False
    assert "ceiling" not in told
    assert page.get("/api/match", params={"one": "own", "mix1": "2,x,1"}).status_code == 422
    assert page.get("/api/match", params={"warmup": "200", "rounds": "200"}).status_code == 422
    told = page.get("/api/match", params={"catalogue": "rpsls", "one": "own", "mix1": "0,0,0,0,1", "two": "L"})
    assert told.status_code == 200
    assert set(np.array(told.json()["moves"])[:, 0]) == {4}


def test_a_loaded_log_shows_guesses_and_reasons(page, tmp_path):
    from levelkit.observer.matches import MatchLog, dumps, simulated

    moves = simulate("H", "C", rounds=20, matches=2, seed=1)
    made = simulated(
        moves, ("H", "C"), [[("H", "C")] * 20, [("X", "Y")] * 20], warmup=5, history_limit=50, model="observer <b>",
        reasoning={8: "Paper is played each time.\u202e <script>"},
    )  # fmt: skip
    kept = token(page, dumps(MatchLog(tuple(made), catalogue())), "log.jsonl", "logs")
    told = page.get("/api/log", params={"log": kept}).json()
    assert [m["pair"] for m in told["matches"]] == ["H-C", "H-C"]
    first = page.get("/api/logmatch", params={"log": kept, "match": 0}).json()
    assert sum(r["correct"] for r in first["rounds"]) == 15
    assert first["rounds"][7]["reasoning"].startswith("Paper is played")
    assert first["observer"]["proper"][7] == pytest.approx(0, abs=1e-9)
    assert first["observer"]["proper"][2] is None
    second = page.get("/api/logmatch", params={"log": kept, "match": 1}).json()
    assert sum(r["correct"] for r in second["rounds"]) == 0
    assert page.get("/api/logmatch", params={"log": kept, "match": 2}).status_code == 422
    wide = simulate("R", "U", "rpsls", rounds=20, seed=2)
    made = simulated(wide, ("R", "U"), [[("R", "U")] * 20], warmup=5, history_limit=50)
    other = token(page, dumps(MatchLog(tuple(made), catalogue("rpsls"))), "five.jsonl", "logs")
    told = page.get("/api/logmatch", params={"log": other, "match": 0, "catalogue": "rpsls"}).json()
    assert len(told["losses"]["proper"]) == len(catalogue("rpsls"))
    bad = token(page, "{}\n", "bad.jsonl", "logs")
    assert "bad.jsonl: no usable match" in page.get("/api/log", params={"log": bad}).json()["error"]


def test_numbers_that_json_does_not_have_become_null():
    assert finite({"a": [float("nan"), (1.0, float("inf"))], 2: "x"}) == {"a": [None, [1.0, None]], "2": "x"}
