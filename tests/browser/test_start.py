"""A topic is made, tested, started, paused and resumed, all in the browser."""

from __future__ import annotations

import re
from pathlib import Path

from tests.browser.looking import Looking

_LONG_MS = 30_000


def test_from_nothing_to_a_running_crawl(looking: Looking, lab: str, tmp_path: Path) -> None:
    page = looking.page
    looking.at("#/new")
    page.get_by_label("Name", exact=True).fill("kütüphane 1")
    page.get_by_label("Keywords", exact=True).fill("search, full-text index\nstemming")
    page.get_by_label("Seeds", exact=True).fill(
        "whoosh.readthedocs.io/en/latest/\nhttp://www.sqlite.org/nope"
    )
    page.get_by_label("Contact").fill("me@example.org")
    page.get_by_text("Languages, ontology, strategy, limits").click()
    page.get_by_label("Lab").fill(lab)
    good = tmp_path / "good.html"
    good.write_text("<title>Stemming</title><p>A stemmer reduces words to their stems.</p>")
    page.get_by_label("Good files").set_input_files(str(good))
    page.get_by_role("button", name="Test the seeds").click()
    page.locator("tbody tr").nth(1).wait_for(timeout=_LONG_MS)
    assert "no page" in page.inner_text("tbody")
    page.get_by_role("button", name="Create the topic").click()
    page.wait_for_url(re.compile(r"#/c/k%C3%BCt%C3%BCphane%201/start"))
    looking.settled()
    page.get_by_role("button", name="Start the crawl").click()
    page.get_by_role("button", name="Pause").click(timeout=_LONG_MS)
    page.get_by_role("button", name="Resume").click(timeout=_LONG_MS)
    page.get_by_role("button", name="Stop").click(timeout=_LONG_MS)
    page.get_by_text("ended", exact=True).wait_for(timeout=_LONG_MS)
    looking.at("#/")
    assert "kütüphane 1" in looking.text


def test_a_mistake_is_told_where_it_was_made(looking: Looking) -> None:
    looking.allowed = ("400",)  # the browser notes refusals itself
    page = looking.page
    looking.at("#/new")
    page.get_by_label("Name", exact=True).fill("../up")
    page.get_by_label("Seeds", exact=True).fill("example.org")
    page.get_by_label("Contact").fill("me@example.org")
    page.get_by_role("button", name="Create the topic").click()
    page.locator(".field .wrong").wait_for()
    assert "../up" in page.inner_text(".field:has([name=name]) .wrong")
    assert page.get_by_label("Seeds", exact=True).input_value() == "example.org"


def test_an_ontology_is_looked_through(looking: Looking, tmp_path: Path) -> None:
    page = looking.page
    looking.at("#/new")
    page.get_by_text("Languages, ontology, strategy, limits").click()
    file = tmp_path / "zoo.csv"
    file.write_text("eagle,is-a,bird\nowl,is-a,bird\n")
    page.get_by_label("your own file").set_input_files(str(file))
    page.wait_for_function("() => document.querySelectorAll('datalist option').length === 3")
    page.get_by_label("The topic's concept").fill("ow")
    page.wait_for_function("() => document.querySelectorAll('datalist option').length === 1")
    assert page.locator("datalist option").get_attribute("value") == "owl"
