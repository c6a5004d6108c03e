"""Limits of a crawl, what is said when it is at its end, and when nobody answers."""

from __future__ import annotations

import shutil
from pathlib import Path

from honeyguide.config.loading import load_settings
from tests.browser.looking import Looking
from tests.browser.served import SEARCH, searching

_LONG_MS = 30_000


def slow(folder: Path, lab: str, pages: int) -> None:
    """A topic whose crawl can be looked at while it runs."""
    searching(folder, lab, pages)
    file = folder / "topic.toml"
    file.write_text(file.read_text().replace("loopback_delay_s = 0.0", "loopback_delay_s = 0.4"))


def test_at_its_limit_a_crawl_is_offered_to_go_on(looking: Looking, lab: str) -> None:
    searching(looking.shown.root / "limited", lab, 5)
    page = looking.page
    looking.go("limited", "start")
    page.get_by_role("button", name="Start the crawl").click()
    to = page.get_by_label("5 visits are reached. Continue to")
    to.wait_for(timeout=_LONG_MS)
    assert to.input_value() == "10"
    assert page.get_by_role("button", name="Start the crawl").count() == 0
    to.fill("4")
    page.get_by_role("button", name="Continue").click()
    assert "Write more than 5" in page.inner_text(".wrong")
    to.fill("10")
    page.get_by_role("button", name="Continue").click()
    page.get_by_label("10 visits are reached. Continue to").wait_for(timeout=_LONG_MS)


def test_the_limit_of_a_run_is_shown_while_it_runs(looking: Looking, lab: str) -> None:
    slow(looking.shown.root / "slow", lab, 3)
    page = looking.page
    looking.go("slow", "start")
    page.get_by_text("Limits of this run").click()
    page.get_by_label("Stop at so many visits in all").fill("900")
    page.get_by_role("button", name="Start the crawl").click()
    page.get_by_text("of 900 visits").wait_for(timeout=_LONG_MS)
    page.get_by_role("link", name="Look at it live").click()
    page.get_by_text("visits of 900").wait_for(timeout=_LONG_MS)
    looking.go("slow", "start")
    page.get_by_role("button", name="Pause").click()
    page.get_by_role("button", name="Resume").wait_for(timeout=_LONG_MS)
    assert "you asked for it" not in looking.text
    looking.go("slow", "live")
    assert "You stopped it." in looking.text


def test_live_knows_a_lost_sign_in_from_a_lost_server(looking: Looking) -> None:
    looking.allowed = ("401", "ERR_")
    page = looking.page
    looking.go(SEARCH, "live")
    page.context.set_offline(True)
    page.evaluate("() => document.dispatchEvent(new Event('visibilitychange'))")
    page.get_by_text("check whether honeyguide serve is still running").wait_for()
    page.context.set_offline(False)
    page.context.clear_cookies()
    page.get_by_text("This page is not signed in").wait_for(timeout=_LONG_MS)
    assert page.locator("main .notice").count() == 1


def test_a_deleted_topic_is_said_to_be_gone(looking: Looking, lab: str) -> None:
    looking.allowed = ("404",)
    page, folder = looking.page, looking.shown.root / "brief"
    searching(folder, lab, 5)
    looking.go("brief", "live")
    page.wait_for_timeout(500)
    shutil.rmtree(folder)
    page.get_by_text("This topic is gone").wait_for(timeout=_LONG_MS)
    assert "honeyguide new" not in looking.text
    page.evaluate("() => document.dispatchEvent(new Event('visibilitychange'))")  # a new stream
    page.get_by_role("link", name="All topics").last.click()
    looking.settled()
    assert page.url.endswith("#/")


def test_a_topic_is_changed_where_it_is_steered(looking: Looking, lab: str) -> None:
    looking.allowed = ("400",)
    folder = looking.shown.root / "changing"
    searching(folder, lab, 5)
    page = looking.page
    looking.go("changing", "start")
    page.get_by_role("button", name="Change the topic").click()
    page.get_by_label("Keywords").fill("beekeeping\nroyal jelly, wax")
    page.get_by_label("Seeds").fill("no address")
    page.get_by_label("Stop at so many visits in all").last.fill("55")
    page.get_by_role("button", name="Keep").click()
    page.locator(".wrong").wait_for()
    assert "no address" in page.inner_text(".field:has([name=seeds]) .wrong")
    page.get_by_label("Seeds").fill("http://docs.demo.example/")
    page.get_by_role("button", name="Keep").click()
    page.get_by_text("Kept.").first.wait_for()
    assert "royal jelly" in looking.text
    said = load_settings(folder / "topic.toml")
    assert said.topic.keywords == ("beekeeping", "royal jelly", "wax")
    assert (said.crawl.pages, said.topic.seeds) == (55, ("http://docs.demo.example/",))
