"""The report is one file that loads nothing, runs nothing, escapes what users wrote, and says everything."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest

from fake_fits import NASTY, fake, one, one_parameter
from levelkit.inference.status import Status
from levelkit.report import html

VOID = {"meta", "br", "link", "img", "hr", "use", "path", "rect"}


class Page(HTMLParser):
    """Tags with their attributes, and whether every tag that opens also closes."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.text: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        if tag not in VOID:
            assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


@pytest.fixture(scope="module")
def nasty() -> str:
    return html.page(fake(8, NASTY, no_choice=3))


def test_all_tags_close(nasty):
    assert Page(nasty).open == []


def test_nothing_is_loaded_and_nothing_runs(nasty):
    page = Page(nasty)
    assert {tag for tag, _ in page.tags}.isdisjoint(
        {"script", "link", "img", "iframe", "object", "embed", "base", "form"}
    )
    for tag, attributes in page.tags:
        for name, value in attributes.items():
            assert not name.startswith("on"), (tag, name)
            if name in ("src", "href", "xlink:href", "srcset", "data", "action"):
                assert value.startswith("#"), (tag, value)
    assert not re.search(r"https?:|@import|url\((?!#)", nasty)


def test_what_users_wrote_is_text(nasty):
    assert "<script" not in nasty
    assert "&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;" in nasty
    assert not [c for c in nasty if ord(c) < 32 and c != "\n"]


def test_ids_are_not_used_twice(nasty):
    ids = [attributes["id"] for _, attributes in Page(nasty).tags if "id" in attributes]
    assert len(ids) == len(set(ids))
    targets = set(re.findall(r'(?:href="|url\()#([^")]+)', nasty))
    assert targets <= set(ids)


def test_the_page_says_what_was_fitted_and_what_is_not_told(nasty):
    text = " ".join(Page(nasty).text)
    for words in (
        "levels=10",
        "raw (as given)",
        "95%, profile likelihood",
        "What the data do not tell",
        "12 answers without a choice",
    ):
        assert words in text
    for status in Status:
        assert status.meaning in text
    assert re.search(r"Made with levelkit .*numpy \d", text)


def test_every_estimate_is_in_the_table_with_its_status(nasty):
    rows = re.findall(r'<td><span class="status (\w+)">(\w+)</span></td><td class="n">', nasty)
    assert len(rows) == 16
    assert [a for a, _ in rows] == [b for _, b in rows]
    assert [a for a, _ in rows] == list(fake(8).frame()["status"])


def test_the_same_fit_gives_the_same_page(nasty):
    assert nasty == html.page(fake(8, NASTY, no_choice=3))


def test_figures_are_described_for_those_who_do_not_see_them(nasty):
    svgs = [attributes for tag, attributes in Page(nasty).tags if tag == "svg"]
    assert len(svgs) == 2 + 4  # estimates, frequencies, and a surface for one cell of each status
    assert all(a["role"] == "img" and a["aria-label"] for a in svgs)


@pytest.mark.parametrize("fits", [one(), one_parameter()], ids=["one cell", "one parameter"])
def test_small_fits_have_a_page_too(fits, tmp_path):
    path = html.write(fits, tmp_path / "r.html")
    assert Page(path.read_text(encoding="utf-8")).open == []


def test_huge_fits_are_cut_and_say_so():
    fits = fake(300)
    page = html.page(fits)
    assert "and 200 more rows" in page
    assert page.count('<tr class="first">') < 600


def test_several_fits_share_a_page():
    page = html.pages([("First & foremost", one()), ("Second", one_parameter())], "Both")
    assert "<h1>Both</h1>" in page
    assert "First &amp; foremost" in page
    assert Page(page).open == []


def test_long_lists_of_cells_fold_away_without_scripts():
    page = html.page(fake(300))
    assert "<summary>145 more</summary>" in page  # 150 cells with a boundary, five of them in sight
    assert page.count("<details>") == page.count("</details>") > 0
