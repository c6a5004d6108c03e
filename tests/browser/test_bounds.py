"""What a browser has little of: connections, and patience with a stranger's numbers."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from honeyguide.crawl import live_status
from tests.browser.looking import Looking
from tests.browser.served import SEARCH

HIDE = """yes => {
    Object.defineProperty(document, "hidden", {configurable: true, get: () => yes});
    document.dispatchEvent(new Event("visibilitychange"));
}"""


def test_a_tab_that_nobody_sees_holds_no_connection(looking: Looking) -> None:
    began: list[Any] = []
    ended: list[Any] = []
    page = looking.page

    def wait(until: Callable[[], bool]) -> None:
        for _ in range(200):
            if until():
                return
            page.wait_for_timeout(50)
        pytest.fail("it took more than ten seconds")

    page.on("request", lambda r: began.append(r) if "/events" in r.url else None)
    page.on("requestfailed", lambda r: ended.append(r) if "/events" in r.url else None)
    looking.go(SEARCH, "live")
    wait(lambda: bool(began))
    assert (len(began), len(ended)) == (1, 0)
    page.evaluate(HIDE, True)
    wait(lambda: bool(ended))
    page.wait_for_timeout(1_500)
    assert len(began) == 1, "it does not come back by itself"
    assert page.locator("main .notice.warn").count() == 0
    page.evaluate(HIDE, False)
    wait(lambda: len(began) == 2)
    looking.go(SEARCH, "collection")
    page.evaluate(HIDE, True)
    page.evaluate(HIDE, False)
    page.wait_for_timeout(300)
    assert len(began) == 2, "a screen that was left listens no more"


def test_bars_of_any_number_are_drawn(looking: Looking) -> None:
    """Not spread over arguments, of which a function has so many and no more."""
    drawn = looking.page.evaluate(
        """async () => {
            const {bars} = await import("/static/lib/chart.js");
            const rows = Array.from({length: 140000}, () => ["", 0]);
            const place = document.createElement("div");
            bars(place, {label: "x", rows});
            return place.querySelectorAll("*").length;
        }"""
    )
    assert drawn > 0


def test_a_strangers_glimpse_does_not_break_live(looking: Looking) -> None:
    path = looking.shown.root / SEARCH / live_status.LIVE_FILE
    before = path.read_bytes() if path.exists() else None
    said = {"at": 1.0, "pid": 1, "began": 0.0, "frontier": {"scores": [0] * 480_000}}
    path.write_text(json.dumps(said, separators=(",", ":")))
    try:
        looking.go(SEARCH, "live")
        assert "visits" in looking.text
    finally:
        path.unlink()
        if before is not None:
            path.write_bytes(before)


def test_what_speaks_against_a_page_is_marked_otherwise(looking: Looking) -> None:
    found = looking.page.evaluate(
        """async () => {
            const evidence = await import("/static/lib/evidence.js");
            const marks = [
                {start: 0, end: 5, what: "honey", weight: 0.5},
                {start: 6, end: 10, what: "shop", weight: -0.25},
            ];
            const place = document.createElement("p");
            place.append(...[evidence.text("honey shop", marks), evidence.legend(marks)].flat());
            document.querySelector("main").append(place);
            const shown = [...place.querySelectorAll("mark")].map((mark) => {
                const style = getComputedStyle(mark);
                const line = style.textDecorationLine;
                return [mark.textContent, mark.title, mark.className, style.backgroundColor, line];
            });
            place.remove();
            return shown;
        }"""
    )
    (honey, shop, *legend) = found
    assert honey[:3] == ["honey", "honey: for it, 0.50", "evidence"]
    assert shop[0] == "shop"
    assert "against it" in shop[1]
    assert honey[3] != shop[3]
    assert (honey[4], shop[4]) == ("none", "underline")
    assert [mark[0] for mark in legend] == ["for it", "against it"]
