"""What cannot send the page's key along (frames, downloads, events) is let in all the same; and the
page that --open starts a browser with leads in."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from honeyguide.cli.crawl import redirect_page
from tests.browser.looking import Looking
from tests.browser.served import SEARCH, Studio


def test_the_page_on_the_disk_leads_to_its_place(chromium: Any, shown: Studio) -> None:
    context = chromium.new_context()
    try:
        page = context.new_page()
        with redirect_page(f"{shown.address}/c/{SEARCH}/start") as file:
            assert file is not None
            page.goto(file.as_uri())
            page.wait_for_url(f"{shown.origin}/#/c/{SEARCH}/start")
            page.locator("main h1").wait_for()
            assert page.locator("main .notice.error").count() == 0
    finally:
        context.close()


def test_a_selection_is_saved(looking: Looking) -> None:
    looking.go(SEARCH, "collection")
    looking.page.get_by_role("button", name="Export …").click()
    with looking.page.expect_download() as waiting:
        looking.page.get_by_role("button", name="Save the file").click()
    saved = Path(waiting.value.path()).read_text("utf-8")
    assert saved.startswith("url,")
    assert len(saved.splitlines()) > 10
    assert waiting.value.suggested_filename.endswith(".csv")


def test_a_page_is_framed_and_its_address_is_soon_worth_nothing(looking: Looking) -> None:
    looking.go(SEARCH, "collection")
    looking.page.locator("main a[href*='/page']").first.click()
    looking.page.get_by_role("button", name="As rendered").click()
    body = looking.page.frame_locator("main iframe").locator("body")
    body.locator("> *").first.wait_for()  # before, the frame is there and still empty
    assert len(body.inner_text()) > 50
    address = looking.page.locator("main iframe").get_attribute("src") or ""
    assert looking.page.request.get(looking.shown.origin + address).status == 200
    plain = address.partition("pass=")[0]
    assert looking.page.request.get(looking.shown.origin + plain).status == 401


def test_events_are_heard(looking: Looking) -> None:
    with looking.page.expect_response(lambda answer: "/events?pass=" in answer.url) as waiting:
        looking.go(SEARCH, "live")
    assert waiting.value.status == 200
    assert looking.page.locator("main .notice.warn").count() == 0
