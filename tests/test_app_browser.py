"""The web page in a real browser: what a person does and sees. Skipped where there is no Chromium."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

import levelkit as lk
from levelkit.observer import catalogue, simulate
from levelkit.observer.matches import MatchLog, dumps, simulated

pytest.importorskip("selenium")
pytest.importorskip("uvicorn")
from selenium import webdriver
from selenium.common.exceptions import StaleElementReferenceException
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import Select, WebDriverWait

CHROMIUM = next((p for name in ("chromium", "chromium-browser", "google-chrome") if (p := shutil.which(name))), None)
DRIVER = shutil.which("chromedriver")
pytestmark = [
    pytest.mark.skipif(not (CHROMIUM and DRIVER), reason="needs chromium and chromedriver"),
]
QUIET = [
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--window-size=1280,1000",
]
PATIENCE = 90
SHOTS = os.environ.get("LEVELKIT_SHOTS")  # a folder: keep a picture of each stage for a person to look at


@pytest.fixture(scope="module")
def address():
    """The page as a user starts it."""
    command = [sys.executable, "-m", "levelkit.cli", "app", "--no-open", "--port", "0", "--most-mb", "1"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as server:
        line = server.stderr.readline()
        assert "http://127.0.0.1:" in line, line
        yield line.split()[3]
        server.terminate()


@pytest.fixture(scope="module")
def profile(tmp_path_factory):
    return tmp_path_factory.mktemp("chromium")


def start(folder):
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for argument in (*QUIET, f"--user-data-dir={folder}"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    return webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))


@pytest.fixture(scope="module")
def browser(profile):
    driver = start(profile)
    yield driver
    driver.quit()


class Page:
    def __init__(self, driver, address):
        self.driver, self.address = driver, address

    def open(self, query=""):
        self.driver.get(self.address + query)
        self.until(lambda: self.driver.execute_script("return document.body.dataset.ready") == "yes")
        return self

    def until(self, true):
        return WebDriverWait(self.driver, PATIENCE, 0.05, [StaleElementReferenceException]).until(lambda _: true())

    def __getitem__(self, name):
        return self.driver.find_element(By.ID, name)

    def text(self, name):
        return self[name].text

    def click(self, name):
        self[name].click()

    def slide(self, name, keys):
        self[name].send_keys(keys)

    def choose(self, key, value):
        Select(self.driver.find_element(By.CSS_SELECTOR, f"[data-key={key}]")).select_by_value(value)

    def error(self):
        self.until(lambda: self["error"].is_displayed())
        return self.text("error")

    def shot(self, name):
        if SHOTS:
            height = self.driver.execute_script("return document.documentElement.scrollHeight")
            self.driver.set_window_size(self.driver.get_window_size()["width"], min(height + 150, 4000))
            self.driver.save_screenshot(str(Path(SHOTS) / f"{name}.png"))


@pytest.fixture
def page(browser, address):
    browser.get_log("browser")
    yield Page(browser, address)
    told = [entry["message"] for entry in browser.get_log("browser") if entry["level"] == "SEVERE"]
    ours = [line for line in told if "status of 4" not in line]  # refusals that the page shows in words
    assert ours == []


def test_a_slider_changes_the_numbers_and_a_reload_keeps_them(page):
    page.open()
    page.until(lambda: "0.398" in page.text("levels-table"))
    page.until(lambda: page.text("verdict"))
    assert page.text("verdict").startswith("Yes")
    before = page.text("levels-table")
    page.slide("tau", Keys.ARROW_RIGHT * 20)
    page.until(lambda: page.text("levels-table") != before and "tau = 2.5" in page.text("values"))
    page.slide("gamma", Keys.ARROW_RIGHT * 35)
    page.until(lambda: "gamma = 0.125" in page.text("values"))
    own = lk.TQRE().predict(lk.game("sw10"), tau=2.5, gamma=10 ** (0.3 + 0.7) / 80)["player 1"]
    page.until(lambda: f"{own[0]:.3f}" in page.text("levels-table").split("overall")[1])
    page.until(lambda: "tau=2.5" in page.driver.current_url)
    after = page.text("levels-table")
    page.until(lambda: len(page.driver.find_elements(By.CSS_SELECTOR, "#branch svg path")) >= 6)
    page.shot("explore")
    page.driver.refresh()
    page.until(lambda: page.text("levels-table") == after)
    assert page["tau"].get_attribute("value") == "2.5"


def test_a_pasted_matrix_and_one_that_is_none(page):
    page.open("?game=sw10&model=qre")
    page.driver.execute_script("document.getElementById('paste').open = true")
    page["matrix"].send_keys("2,1 0,0\n0,0 1,2")
    page.until(lambda: page.text("game-name") == "my game")
    page.until(lambda: len(page.driver.find_elements(By.CSS_SELECTOR, "#equilibria li")) == 3)
    assert len(page.driver.find_elements(By.CSS_SELECTOR, "#replies path[marker-end]")) == 4
    page["matrix"].send_keys("\n7")
    assert "row 3 has 1 entry" in page.error()
    page["matrix"].send_keys(Keys.BACKSPACE * 2)
    page.until(lambda: not page["error"].is_displayed())
    page.driver.refresh()
    page.until(lambda: page.text("game-name") == "my game")


def test_it_is_worked_by_keyboard(page):
    page.open()
    page["tab-explore"].send_keys(Keys.ARROW_RIGHT)
    page.until(lambda: page["fit"].is_displayed())
    page.driver.switch_to.active_element.send_keys(Keys.END)
    page.until(lambda: page["observe"].is_displayed() and page.text("round").endswith("/ 200"))
    assert page["tab-observe"].get_attribute("aria-selected") == "true"
    page["play"].send_keys(Keys.ENTER)
    page.until(lambda: int(page.text("round").split()[0]) >= 3)
    page["play"].send_keys(Keys.SPACE)
    at = page.text("round")
    assert page.text("play") == "Play"
    time.sleep(0.5)  # four rounds, were it still playing
    assert page.text("round") == at


def write_table(path, model="alpha"):
    rows = [("alpha", 1, (9, 3, 8)), ("alpha", 2, (7, 4, 9)), ("beta", 1, (2, 1, 30)), ("beta", 2, (3, 2, 28))]
    lines = ["llm,game,player,choice,count"]
    lines += [f"{m.replace('alpha', model)},sw10,{p},{a},{n}" for m, p, counts in rows for a, n in enumerate(counts)]
    path.write_text("\n".join([*lines, "alpha,sw10,1,9,5", "alpha,no such game,1,0,1"]) + "\n")
    return path


def test_a_table_is_fitted_and_a_bad_one_refused(page, tmp_path):
    page.open("?tab=fit")
    page["table-file"].send_keys(str(write_table(tmp_path / "mine.csv")))
    page.until(lambda: "14 rows" in page.text("table-name"))
    page.choose("c_action", "choice")
    page.driver.find_element(By.CSS_SELECTOR, "#by-boxes input[value=llm]").click()
    page.click("run-fit")
    page.until(lambda: page["estimates"].is_displayed() and "beta" in page.text("estimates"))
    assert "no such game" in page.text("set-aside")
    assert "2 rows set aside" in page.text("fit-status")
    choices = lk.read_choices(tmp_path / "mine.csv", columns={"action": "choice"})
    fits = lk.fit(choices, lk.TQRE(), "llm")
    for status in fits.frame()["status"]:
        assert status in page.text("estimates")
    assert "beta: gamma" in page.text("findings").replace("llm = beta", "beta").replace("sw10, ", "")
    page.until(lambda: page.driver.execute_script("return document.getElementById('fit-figure').naturalWidth") > 100)
    page.shot("fit")
    shown = page.text("estimates")
    page.driver.refresh()
    page.until(lambda: page["estimates"].is_displayed() and page.text("estimates") == shown)

    (tmp_path / "photo.png").write_bytes(b"\x89PNG")
    page["table-file"].send_keys(str(tmp_path / "photo.png"))
    assert "photo.png: this is not a table of choices" in page.error()
    (tmp_path / "broken.csv").write_bytes(b"PK\x03\x04 a workbook")
    page["table-file"].send_keys(str(tmp_path / "broken.csv"))
    page.until(lambda: "Excel workbook" in page.text("error"))
    with (tmp_path / "huge.csv").open("wb") as huge:
        huge.truncate(50_000_000)
    page["table-file"].send_keys(str(tmp_path / "huge.csv"))
    page.until(lambda: "50 MB, larger than the 1 MB this page takes" in page.text("error"))
    page.shot("refused")


def test_two_people_at_once_do_not_mix(page, profile, tmp_path):
    other = Page(start(tmp_path / "other"), page.address)
    try:
        for one, name in ((page, "mine"), (other, "hers")):
            one.open("?tab=fit")
            one["table-file"].send_keys(str(write_table(tmp_path / f"{name}.csv", name)))
            one.until(lambda one=one, name=name: f"{name}.csv" in one.text("table-name"))
            one.choose("c_action", "choice")
            one.driver.find_element(By.CSS_SELECTOR, "#by-boxes input[value=llm]").click()
        for one in (page, other):
            one.click("run-fit")
        for one, name, not_name in ((page, "mine", "hers"), (other, "hers", "mine")):
            one.until(lambda one=one: one["estimates"].is_displayed() and "beta" in one.text("estimates"))
            assert name in one.text("estimates")
            assert not_name not in one.text("estimates")
    finally:
        other.driver.quit()


def test_fifty_rounds_are_played_and_a_reload_finds_them(page):
    page.open("?tab=observe&seed=7")
    page.until(lambda: page.text("round") == "0 / 200")
    page.driver.find_element(By.CSS_SELECTOR, "[data-step='50']").click()
    page.until(lambda: page.text("round") == "50 / 200")
    moves = simulate("H", "C", rounds=200, seed=7)[0]
    names = catalogue().moves
    first = page.driver.find_element(By.CSS_SELECTOR, "#rounds tbody tr").text.split()
    assert first[:3] == ["50", names[moves[49, 0]], names[moves[49, 1]]]
    assert len(page.driver.find_elements(By.CSS_SELECTOR, "#rounds tbody tr")) == 50
    score = page.text("score")
    assert "Played 50 of 200 rounds of H-C" in score
    assert "ceiling" in score
    assert len(page.driver.find_elements(By.CSS_SELECTOR, "#heat rect")) >= 361
    page.choose("convention", "released")
    page.until(lambda: "released" in page.text("heat-title"))
    page.until(lambda: "t=50" in page.driver.current_url and "released" in page.driver.current_url)
    page.shot("observe")
    page.driver.refresh()
    page.until(lambda: page.text("round") == "50 / 200" and page.text("score") == score)
    assert "released" in page.text("heat-title")


def test_an_own_mixture_is_played(page):
    page.open("?tab=observe&one=own&mix1=0,0,5&two=C&t=20")
    page.until(lambda: "cannot be named" in page.text("score"))
    rows = [row.text.split() for row in page.driver.find_elements(By.CSS_SELECTOR, "#rounds tbody tr")]
    assert {row[1] for row in rows} == {"scissors"}
    page.driver.find_element(By.CSS_SELECTOR, "#mix1 input").send_keys(Keys.END)
    page.until(lambda: "mix1=10" in page.driver.current_url)
    page.until(
        lambda: (
            {row.text.split()[1] for row in page.driver.find_elements(By.CSS_SELECTOR, "#rounds tbody tr")}
            != {"scissors"}
        )
    )


def test_a_log_is_shown_beside_the_rounds(page, tmp_path):
    moves = simulate("H", "C", rounds=40, seed=3)
    made = simulated(
        moves, ("H", "C"), [[("H", "C")] * 40], warmup=10, history_limit=50, model="some-llm",
        reasoning={t: f"Round {t}: player 2 never leaves paper. <b>not bold</b>" for t in range(11, 41, 5)},
    )  # fmt: skip
    path = tmp_path / "watched.jsonl"
    path.write_text(dumps(MatchLog(tuple(made), catalogue())))
    page.open("?tab=observe")
    page.until(lambda: page.text("round") == "0 / 200")
    page["log-file"].send_keys(str(path))
    page.until(lambda: page.text("round") == "0 / 40")
    page.driver.find_element(By.CSS_SELECTOR, "[data-step='1000']").click()
    page.until(lambda: page.text("round") == "40 / 40")
    assert "<b>not bold</b>" in page.text("rounds")
    assert "some-llm in 30" in page.text("score")
    page.shot("log")
    page.until(lambda: "t=40" in page.driver.current_url)
    page.driver.refresh()
    page.until(lambda: page.text("round") == "40 / 40" and "some-llm in 30" in page.text("score"))
    page.click("close-log")
    page.until(lambda: page.text("round").endswith("/ 200"))


def test_it_fits_a_small_screen(page):
    size = page.driver.get_window_size()
    try:
        page.driver.execute_cdp_cmd(
            "Emulation.setDeviceMetricsOverride", {"width": 390, "height": 844, "deviceScaleFactor": 1, "mobile": True}
        )
        for tab, done in (("explore", "verdict"), ("fit", "table-limit"), ("observe", "score")):
            page.open(f"?tab={tab}&t=60")
            page.until(lambda done=done: page.text(done))
            assert page.driver.execute_script("return document.documentElement.scrollWidth") <= 390
            page.shot(f"small-{tab}")
    finally:
        page.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
        page.driver.set_window_size(size["width"], size["height"])


def test_nothing_is_asked_of_other_machines(page):
    page.open("?tab=observe&t=10")
    page.until(lambda: page.text("score"))
    names = page.driver.execute_script("return performance.getEntriesByType('resource').map((e) => e.name)")
    assert len(names) >= 5
    assert all(name.startswith((page.address, "data:")) for name in names)
