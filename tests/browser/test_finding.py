"""Searching the collection: one address, one order; and everything is seen in a hand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.browser.looking import Looking, watched
from tests.browser.served import SEARCH, Studio


def first(looking: Looking, sort: str, act: Callable[[], object]) -> str:
    """The first row after this was done, which must have asked for that order."""
    with looking.page.expect_response(lambda answer: f"sort={sort}" in answer.url):
        act()
    looking.page.wait_for_timeout(200)  # until it is drawn
    assert looking.page.get_by_label("Order").input_value() == sort
    return str(looking.page.locator("main tbody tr a").first.inner_text())


def test_words_bring_the_best_match_first_until_somebody_says_otherwise(looking: Looking) -> None:
    page = looking.page
    looking.go(SEARCH, "collection")
    words, order = page.get_by_label("Words"), page.get_by_label("Order")
    assert order.input_value() == "newest"
    best = first(looking, "match", lambda: words.fill("stemming"))
    assert first(looking, "match", page.reload) == best, "the same address, the same order"
    first(looking, "newest", page.get_by_role("button", name="Fetched").click)
    assert "sort=newest" in page.url
    first(looking, "newest", lambda: words.fill("ranking"))
    first(looking, "match", lambda: order.select_option("match"))
    page.get_by_role("button", name="Export").click()
    with page.expect_request(lambda request: "/api/pass" in request.url) as sent:
        page.get_by_role("button", name="Save the file").click()
    assert "sort%3Dmatch" in sent.value.url


@pytest.fixture
def phone(hand: Any, shown: Studio) -> Any:
    with watched(hand, shown) as visitor:
        yield visitor


def inside(looking: Looking, what: str) -> bool:
    """Whether every one of these is seen, from side to side."""
    return bool(
        looking.page.evaluate(
            "what => [...document.querySelectorAll(what)].every((node) => {"
            " const box = node.getBoundingClientRect();"
            " return box.width > 0 && box.left >= 0 && box.right <= innerWidth; })",
            what,
        )
    )


def test_all_tabs_and_the_name_are_seen_in_a_hand(phone: Looking) -> None:
    phone.go(SEARCH, "start")
    assert inside(phone, "#tabs a, #tabs .topic")
    name = phone.page.locator("#tabs .topic")
    assert name.evaluate("node => node.scrollWidth <= node.clientWidth")


def test_rows_are_cards_in_a_hand(phone: Looking) -> None:
    phone.go(SEARCH, "collection")
    phone.page.locator("main tbody tr").first.wait_for()
    assert inside(phone, "main tbody td")
    assert "Fetched" in phone.page.locator("main tbody td").last.evaluate(
        "node => getComputedStyle(node, '::before').content"
    )
    phone.go(SEARCH, "compare")
    assert inside(phone, "main .panel tbody td:not(:empty)")
    table = phone.page.get_by_role("table", name="Generations")
    assert table.get_by_role("row").count() >= 2, "still a table to those who listen"
    phone.go(SEARCH, "live")
    assert inside(phone, "main .rows tbody td")


def test_the_legend_is_drawn_as_the_lines_are(looking: Looking) -> None:
    looking.go(SEARCH, "live")
    dashes = looking.page.evaluate(
        "() => [...document.querySelectorAll('.legend line')]"
        ".map((line) => line.getAttribute('stroke-dasharray'))"
    )
    assert dashes == [None, "8 4"]
    named = looking.page.evaluate(
        "import('/static/lib/chart.js').then((chart) => {"
        " const place = document.querySelector('main'); const x = [1, 2];"
        " chart.lines(place, {x, series: [{label: 'later', values: [null, null]},"
        " {label: 'now', values: [0, 1]}]}).stop();"
        " return place.querySelector('.legend').textContent; })"
    )
    assert named == "now"
