"""Every screen, on a desk and in a hand: it opens, fits, and the browser has nothing to say."""

from __future__ import annotations

from tests.browser.looking import Looking
from tests.browser.served import NEW, SEARCH

SCREENS = ("live", "label", "queries", "collection", "changes", "compare", "start")


def test_every_screen_opens_and_fits(either: Looking) -> None:
    for screen in SCREENS:
        either.go(SEARCH, screen)
        assert either.page.locator("main .notice.error").count() == 0, (screen, either.text)
        assert either.wide() <= 0, f"{screen} is wider than the window"
        assert either.page.locator("h1").count() == 1


def test_every_screen_of_a_new_topic_says_what_to_do_next(either: Looking) -> None:
    either.allowed = ("409",)  # the browser notes refusals itself
    for screen in SCREENS:
        either.go(NEW, screen)
        assert either.page.locator("main .notice.error").count() == 0, (screen, either.text)
        assert either.wide() <= 0, f"{screen} is wider than the window"
    either.at("#/new")
    assert either.wide() <= 0


def test_live_shows_the_curve_and_the_hosts(looking: Looking) -> None:
    looking.go(SEARCH, "live")
    assert looking.page.locator(".canvas canvas").count() >= 1
    said = looking.page.locator(".canvas").first.get_attribute("aria-label") or ""
    assert "points" in said
    assert "whoosh.readthedocs.io" in looking.text
    assert "120" in looking.text


def test_collection_is_searched_and_a_page_explained(looking: Looking) -> None:
    looking.go(SEARCH, "collection")
    page = looking.page
    page.locator("main table.rows tbody tr").first.wait_for()
    everything = page.locator("main table.rows tbody tr").count()
    assert everything >= 30
    page.locator("main input").first.fill("stemming")
    page.wait_for_function(
        f"() => {{ const rows = document.querySelectorAll('main table.rows tbody tr').length;"
        f" return rows > 0 && rows < {everything}; }}"
    )
    page.locator("main table.rows tbody tr a").first.click()
    looking.settled()
    assert "/page" in page.url
    assert looking.page.locator("mark").count() > 0, "the words that counted are marked"


def test_a_table_is_sorted_and_paged_with_the_keyboard(looking: Looking) -> None:
    looking.go(SEARCH, "collection")
    page = looking.page
    page.locator("main table.rows tbody tr").first.wait_for()
    heading = page.locator("main thead th button", has_text="Verdict").first
    heading.focus()
    page.keyboard.press("Enter")
    page.wait_for_selector("main thead th[aria-sort]:has-text('Verdict')")
    looking.settled()
    first = page.locator("main tbody tr").first.inner_text()
    page.locator(".pages button", has_text="Next").focus()
    page.keyboard.press("Enter")
    page.wait_for_function(
        "first => document.querySelector('main tbody tr').innerText !== first", arg=first
    )
    assert "51" in page.inner_text(".pages .where")


def test_a_page_is_labelled_and_the_label_undone(looking: Looking) -> None:
    looking.go(SEARCH, "label")
    page = looking.page
    page.locator("section[aria-label='The page to judge'] h2").wait_for()
    before = page.inner_text("section[aria-label='The page to judge']")
    with page.expect_response(lambda answer: answer.request.method == "POST") as sent:
        page.keyboard.press("r")
    assert sent.value.ok
    page.wait_for_function(
        "old => document.querySelector(\"section[aria-label='The page to judge']\").innerText"
        " !== old",
        arg=before,
    )
    with page.expect_response(lambda answer: answer.request.method in ("POST", "DELETE")) as undone:
        page.keyboard.press("z")
    assert undone.value.ok


def test_shortcuts_leave_typing_alone(looking: Looking) -> None:
    looking.go(SEARCH, "collection")
    box = looking.page.locator("main input").first
    box.focus()
    looking.page.keyboard.type("tent?")
    assert box.input_value() == "tent?"
    looking.page.locator("dialog").wait_for(state="detached")


def test_charts_follow_the_theme(looking: Looking) -> None:
    looking.go(SEARCH, "live")
    picture = "() => document.querySelector('.canvas canvas')?.toDataURL().length"
    looking.page.wait_for_function(f"() => ({picture})() > 0")
    before = looking.page.evaluate(picture)
    looking.page.keyboard.press("t")
    looking.page.wait_for_function(f"old => ({picture})() !== old", arg=before)
    assert looking.page.evaluate(picture) != before
