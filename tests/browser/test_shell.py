"""The frame of the studio: list of topics, navigation, light and dark, keyboard, errors."""

from __future__ import annotations

from typing import Any

from tests.browser.looking import Looking
from tests.browser.served import EVIL, NEW, SEARCH, Studio


def test_topics_are_listed_with_how_they_stand(either: Looking) -> None:
    cards = either.page.locator(".topic-card")
    assert {EVIL, NEW, SEARCH} <= set(cards.locator("h2").all_inner_texts())
    assert "Nothing fetched yet" in cards.filter(has_text="Nothing").inner_text()
    assert either.wide() <= 0


def test_the_token_is_not_left_in_the_address(looking: Looking) -> None:
    assert "token" not in looking.page.url


def test_without_the_token_nothing_is_shown(chromium: Any, shown: Studio) -> None:
    context = chromium.new_context()
    page = context.new_page()
    asked: list[int] = []
    page.on("response", lambda one: asked.append(one.status) if "/api/" in one.url else None)
    page.goto(shown.origin + "/")
    page.get_by_text("honeyguide serve").wait_for()
    assert set(asked) == {401}
    context.close()


def test_a_second_tab_is_signed_in_and_one_without_its_key_says_how_to_come_back(
    looking: Looking,
) -> None:
    looking.allowed = ("401",)
    second = looking.page.context.new_page()
    second.goto(looking.shown.origin + "/")
    second.get_by_role("heading", name="Topics").wait_for()
    second.evaluate("() => localStorage.clear()")
    second.reload()
    second.get_by_text("honeyguide serve").wait_for()
    second.evaluate("address => { location.href = address; }", looking.shown.address)
    second.get_by_role("heading", name="Topics").wait_for()  # without a reload
    assert "token" not in second.url
    second.close()
    looking.at("#/new")


def test_an_address_that_was_used_here_goes_on_to_its_place(looking: Looking) -> None:
    looking.allowed = ("401",)
    looking.at(f"#token=used-before/c/{NEW}/start")
    assert looking.page.url.endswith(f"/#/c/{NEW}/start")
    assert NEW in looking.page.inner_text("#tabs")


def test_a_lost_cookie_says_how_to_come_back(looking: Looking) -> None:
    looking.allowed = ("401", "imported module")
    looking.page.context.clear_cookies()
    looking.go(SEARCH, "live")
    assert "honeyguide serve" in looking.text


def test_every_tab_is_reached_with_the_keyboard(looking: Looking) -> None:
    looking.go(SEARCH, "start")
    tabs = looking.page.locator("#tabs a")
    names = ["Live", "Label", "Queries", "Collection", "Changes", "Compare", "Steer"]
    assert tabs.all_inner_texts() == names
    assert tabs.locator("nth=6").get_attribute("aria-current") == "page"
    looking.page.locator("body").press("Tab")
    looking.page.locator("#tabs a").first.focus()
    looking.page.keyboard.press("Enter")
    looking.settled()
    assert looking.page.url.endswith("/live")
    assert looking.page.evaluate("() => document.activeElement.tagName") == "H1"


def test_focus_is_seen(looking: Looking) -> None:
    looking.page.keyboard.press("Tab")
    outline = looking.page.evaluate("() => getComputedStyle(document.activeElement).outlineStyle")
    assert outline == "solid"


def test_light_and_dark(looking: Looking) -> None:
    colour = "() => getComputedStyle(document.body).backgroundColor"
    looking.page.emulate_media(color_scheme="light")
    light = looking.page.evaluate(colour)
    looking.page.emulate_media(color_scheme="dark")
    dark = looking.page.evaluate(colour)
    assert light != dark
    looking.page.keyboard.press("t")
    assert looking.page.evaluate(colour) == light
    looking.page.reload()
    looking.settled()
    assert looking.page.evaluate(colour) == light, "what was chosen is kept"


def test_help_lists_the_shortcuts(looking: Looking) -> None:
    looking.page.keyboard.press("?")
    assert "light or dark" in looking.page.inner_text("dialog")
    looking.page.keyboard.press("Escape")
    looking.page.locator("dialog").wait_for(state="detached")


def test_a_name_is_kept_and_cleaned(looking: Looking) -> None:
    looking.page.click("#person")
    looking.page.keyboard.type("Şule <img src=x onerror=window.pwned=1>")
    looking.page.keyboard.press("Enter")
    assert looking.page.inner_text("#person").startswith("Şule <img")
    looking.page.reload()
    looking.settled()
    assert looking.page.inner_text("#person").startswith("Şule <img")


def test_an_unknown_screen_and_an_unknown_topic_say_what_to_do(looking: Looking) -> None:
    looking.allowed = ("404", "no collection", "no such screen")
    looking.at("#/c/search/nonsense")
    assert "no such screen" in looking.text
    looking.go("<img src=x onerror=window.pwned=1>")
    assert "no collection" in looking.text


def test_a_studio_that_is_gone_says_so(looking: Looking) -> None:
    looking.allowed = ("ERR_", "imported module")
    looking.page.context.set_offline(True)
    looking.page.evaluate("() => { location.hash = '#/c/search/start'; }")
    looking.page.wait_for_selector("main .notice.error")
    assert "honeyguide serve" in looking.text
    looking.page.context.set_offline(False)
