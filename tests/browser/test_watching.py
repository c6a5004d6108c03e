"""What a watch found, looked at while it goes on: new changes, masks, reasons, the budget."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import pytest

from honeyguide.api.create import create
from honeyguide.change import Change, PageEdit
from honeyguide.store.collection_files import CollectionLock
from honeyguide.store.store import Store
from honeyguide.types import Url
from honeyguide.watch.watcher import RUNNING_FACT
from tests.browser.looking import Looking
from tests.browser.served import SEARCH, searching
from tests.end_to_end.crawling import honeyguide

SHOP = Url("https://shop.example.org/")
OLD = b"<main><p>Honey is sold here.</p><p>Price: 14 EUR</p><p>Ten bees live here.</p></main>"
NEW = b"<main><p>Honey is sold here.</p><p>Price: 15 EUR</p><p>No bee is left.</p></main>"


def change(number: int, at: float, url: Url = SHOP) -> Change:
    text = f"The {number}th line was written anew. " * 12
    return Change(
        url, at, ("content",), 0.5, at - 60, (PageEdit("added", "main/p", "", text, 0.5),)
    )


@pytest.fixture
def watched(looking: Looking, request: pytest.FixtureRequest) -> Path:
    """A topic whose pages were watched, without a process that did it."""
    folder: Path = looking.shown.root / request.node.name[:40].replace("[", "-").rstrip("]")
    create(folder, seeds=[SHOP], contact="tester@example.org", keywords=["honey"])
    now = time.time()
    with Store.open(folder, "crawl") as store:
        store.watched.add_pages([SHOP], "user", now)
        one = store.versions.add_version(SHOP, OLD, now - 120)
        two = store.versions.add_version(SHOP, NEW, now - 60)
        for number in range(6):
            store.changes.append(change(number, now - 600))
        store.changes.append(change(9, now - 60), one, two)
    return folder


def test_a_line_is_masked_and_the_others_are_still_told(looking: Looking, watched: Path) -> None:
    page = looking.page
    looking.go(watched.name, "diff/7")
    page.get_by_text("Does a part of this differ at every visit?").click()
    line = page.locator("ul.lines > li", has_text="Price: 15 EUR")
    assert page.locator("ul.lines > li").count() == 2
    line.get_by_role("button", name="Mask all of main/p").click()
    dialog = page.locator("dialog")
    said = dialog.inner_text()
    assert "Mask 3 blocks?" in said
    assert all(text in said for text in ("Honey is sold here.", "Price: 15 EUR", "No bee is left."))
    dialog.get_by_role("button", name="Cancel").click()
    line.get_by_role("button", name="Mask this line").click()
    page.get_by_text("Masked, no longer reported: the line “Price: 15 EUR”").first.wait_for()
    looking.settled()
    differing = page.locator("table.diff").inner_text()
    assert "No bee is left." in differing
    assert "Price" not in differing
    masks = page.locator("section[aria-label=Masks]").inner_text()
    assert "the line “Price: 15 EUR”, whatever its numbers" in masks
    assert "Left out: 1 masked place." in looking.text


def test_new_changes_are_announced_and_shown(looking: Looking, watched: Path) -> None:
    page = looking.page
    looking.go(watched.name, "changes")
    assert page.locator("article.card").count() == 7
    assert "7 changes in all, on 1 watched page" in looking.text
    with Store.open(watched, "write") as store:
        store.changes.append(change(10, time.time()))
        store.changes.append(change(11, time.time()))
    page.get_by_role("button", name="2 new: show").click(timeout=15_000)
    page.wait_for_function("() => document.querySelectorAll('article.card').length === 9")
    assert "The 11th line" in page.locator("article.card").first.inner_text()
    assert page.get_by_role("button", name="new: show").count() == 0
    page.locator("main select").first.select_option("gone")
    page.get_by_text("0 of 9 changes pass the filters").wait_for()


def test_the_chosen_change_stands_below_the_bar(looking: Looking, watched: Path) -> None:
    page = looking.page
    looking.go(watched.name, "changes")
    for key in "jjjjjkkkk":
        page.keyboard.press(key)
        top, bar = page.evaluate(
            "() => [document.activeElement.closest('article').getBoundingClientRect().top,"
            " document.querySelector('.top').getBoundingClientRect().bottom]"
        )
        assert top >= bar, (key, top, bar)


def test_live_tells_of_a_watch_that_runs(looking: Looking, watched: Path) -> None:
    with Store.open(watched, "write") as store:
        store.watch_facts.set(*RUNNING_FACT, os.getpid())
    lock = CollectionLock(watched / "lock")
    try:
        looking.go(watched.name, "live")
        panel = looking.page.locator("section[aria-label=Watch]")
        panel.get_by_text("Next visit").wait_for()
        said = panel.inner_text()
        assert "watching" in looking.text
        assert "changes found\n7" in said
        assert SHOP in said
        panel.get_by_role("link", name="What changed").click()
        looking.settled()
        assert looking.page.url.endswith("/changes")
    finally:
        lock.close()


def test_a_budget_that_is_used_up_is_said_at_once(looking: Looking, lab: str) -> None:
    folder = looking.shown.root / "budget"
    searching(folder, lab, pages=12, learn={"budget": 2})
    assert honeyguide("crawl", folder).returncode == 0
    looking.go("budget", "label")
    page = looking.page
    for key in "rn":
        page.locator("h2.question").wait_for()
        page.keyboard.press(key)
    page.get_by_text("The budget is used up").wait_for()
    page.get_by_text("0 of 2 left in the budget").wait_for()
    assert "You wanted to give 2 labels" in looking.text
    page.keyboard.press("z")
    page.get_by_text("1 of 2 left in the budget").wait_for()
    assert page.locator("h2.question").count() == 1


def test_going_back_says_what_it_means(looking: Looking) -> None:
    looking.go(SEARCH, "compare")
    buttons: Any = looking.page.get_by_role("button", name="Decide automatically")
    if not buttons.count():
        pytest.skip("only one generation was learned")
    buttons.first.click()
    said = looking.page.locator("dialog").inner_text()
    assert all(word in said for word in ("labels stay", "verdicts", "Waiting links"))
    looking.page.locator("dialog").get_by_role("button", name="Cancel").click()


def test_a_verdict_shows_its_side_of_the_threshold(looking: Looking) -> None:
    said = looking.page.evaluate(
        "async () => { const { verdict, count, percent } = await import('/static/lib/format.js');"
        " return [verdict(.497, .5), verdict(.49999, .5), verdict(.5, .5), verdict(.4, undefined),"
        " count(1, 'page'), count(12345, 'page'), percent(.21)]; }"
    )
    assert said == ["0.497", "just under 0.5", "0.50", "0.40", "1 page", "12\u202f345 pages", "21%"]
