"""The Queries screen: a search engine beside the lab's web is asked in the browser."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from honeyguide.store.collection_files import CollectionLock
from honeyguide.store.searches import SearchRow
from honeyguide.store.store import Store
from tests.browser.hostile import PAYLOADS
from tests.browser.looking import Looking
from tests.browser.served import SEARCH, Studio
from tests.unit.search_site import SearchSite, asking, search_site

NAME = "asked"


@pytest.fixture(scope="module")
def site() -> Iterator[SearchSite]:
    with search_site() as found:
        yield found


@pytest.fixture(scope="module")
def folder(shown: Studio, site: SearchSite) -> Iterator[Path]:
    """A collection that has asked a little, and met attacks in what came back; gone afterwards,
    because other tests count what they see."""
    made = asking(shown.root / NAME, site.url, per_month=0)
    hits = [(f"https://{n}.example/", PAYLOADS[n % len(PAYLOADS)], "") for n in range(10)]
    with Store.open(made.folder, "crawl") as store, store.transaction():
        store.searches.add_search(SearchRow(1e9, "searxng", f"honey {PAYLOADS[0]}", fresh=8), hits)
        store.searches.add_search(
            SearchRow(1e9, "searxng", "wax", outcome="slow", detail=PAYLOADS[1])
        )
        store.set_meta("searches_taken", "2")
    yield made.folder
    shutil.rmtree(made.folder)


def test_a_query_is_asked_with_the_keyboard(
    either: Looking, folder: Path, site: SearchSite
) -> None:
    page = either.page
    either.go(NAME, "queries")
    assert page.locator("main .notice.error").count() == 0, either.text
    assert "took too long" in either.text
    assert either.wide() <= 0
    page.keyboard.press("q")
    page.keyboard.type("brood comb")
    page.keyboard.press("Enter")
    page.get_by_text("10 results").wait_for()
    assert "https://brood1.example/3" in either.text
    assert ("brood comb", 1) in site.asked
    page.locator("table.rows tbody tr", has_text="brood comb").wait_for()
    assert either.wide() <= 0


def test_a_suggestion_is_run(looking: Looking, folder: Path, site: SearchSite) -> None:
    page = looking.page
    looking.go(NAME, "queries")
    card = page.locator("main li.card").first
    card.wait_for()
    said = card.locator("strong").inner_text()
    before = len(site.asked)
    card.get_by_role("button", name="Run").click()
    page.get_by_text("10 results").wait_for()
    assert site.asked[before:] == [(said, 1)]
    page.wait_for_function(
        "said => ![...document.querySelectorAll('main li.card strong')]"
        ".some((node) => node.innerText === said)",
        arg=said,
    )


def test_while_a_crawl_runs_it_is_left_to_it(looking: Looking, folder: Path) -> None:
    lock = CollectionLock(folder / "lock")
    try:
        looking.go(NAME, "queries")
        looking.page.get_by_label("Query", exact=True).fill("nosema")
        looking.page.get_by_role("button", name="Ask", exact=True).click()
        looking.page.get_by_text("will ask this next").wait_for()
        looking.page.get_by_text("The running crawl will ask these next:").wait_for()
        with Store.open(folder, "read") as store:
            assert [query for _, query, _ in store.searches.requested_queries()][-1] == "nosema"
    finally:
        lock.close()


def test_the_engine_is_tested_and_its_failure_told(
    looking: Looking, folder: Path, site: SearchSite
) -> None:
    looking.go(NAME, "queries")
    button = looking.page.get_by_role("button", name="Test the engine")
    asked = len(site.asked)
    site.status = 403
    try:
        button.click()
        looking.page.locator("main .notice.error", has_text="settings.yml").wait_for()
    finally:
        site.status = 200
    button.click()
    looking.page.locator("main .notice.good", has_text="answers").wait_for()
    assert len(site.asked) == asked + 2


def test_without_an_engine_it_says_how_to_set_one(looking: Looking) -> None:
    looking.go(SEARCH, "queries")
    assert "No search engine is set" in looking.text
    assert 'engine = "searxng"' in looking.text
