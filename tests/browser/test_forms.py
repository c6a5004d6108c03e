"""Mistakes are told beside their field, and messages go when their time is over."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.browser.looking import Looking
from tests.browser.served import NEW


def told(field: Any) -> str:
    """What a screen reader adds to a field that is wrong."""
    assert field.get_attribute("aria-invalid") == "true"
    return str(
        field.evaluate(
            "node => node.getAttribute('aria-describedby').split(' ')"
            ".map((id) => document.getElementById(id).textContent).join(' ')"
        )
    )


def test_an_empty_form_says_what_is_missing_where_it_is(looking: Looking) -> None:
    page = looking.page
    looking.at("#/new")
    name, seeds = (page.get_by_label(word, exact=True) for word in ("Name", "Seeds"))
    page.get_by_text("Languages, ontology, strategy, limits").click()
    page.get_by_label("Stop after so many visits").fill("-3")
    page.get_by_label("Contact").fill("")
    page.get_by_role("button", name="Create the topic").click()
    assert "Give the topic a name." in told(name)
    assert "at least one address" in told(seeds)
    assert "whole number" in told(page.get_by_label("Stop after so many visits"))
    assert "reach you" in told(page.get_by_label("Contact"))
    assert name.evaluate("node => node === document.activeElement")
    name.fill("b")
    assert name.get_attribute("aria-invalid") is None
    page.get_by_text("Also query a search engine").click()
    page.get_by_label("Engine").select_option("brave")
    assert seeds.get_attribute("aria-invalid") is None, "its cause is gone"
    assert page.locator(".wrong").count() == 2


def test_what_the_server_refuses_stands_beside_its_field(looking: Looking, tmp_path: Path) -> None:
    looking.allowed = ("400",)
    page = looking.page
    looking.at("#/new")
    name, files = page.get_by_label("Name", exact=True), page.get_by_label("Good files")
    name.fill("../up")
    page.get_by_label("Seeds", exact=True).fill("example.org")
    page.get_by_label("Contact").fill("me@example.org")
    picture = tmp_path / "pic.png"
    picture.write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 9)
    files.set_input_files(str(picture))
    page.get_by_role("button", name="Create the topic").click()
    page.locator(".wrong").wait_for()
    assert "'../up' cannot be the name" in told(name)
    assert name.evaluate("node => node === document.activeElement")
    assert page.get_by_label("Seeds", exact=True).input_value() == "example.org"
    name.fill("up")
    page.get_by_role("button", name="Create the topic").click()
    page.locator(".wrong").wait_for()
    assert "Pic.png holds no text" in told(files)
    assert str(looking.shown.root) not in looking.text


def test_an_error_stands_once_and_goes_with_the_screen(looking: Looking) -> None:
    toasts = looking.page.locator(".toast")
    looking.go(NEW, "start")
    say = (
        "import('/static/lib/parts.js').then((parts) => {"
        " for (const kind of ['error', 'error', 'warn']) parts.toast('It failed.', kind); })"
    )
    looking.page.evaluate(say)
    assert toasts.count() == 2
    looking.go(NEW, "live")
    assert toasts.count() == 1, "a hint is not lost by going on"
    looking.page.evaluate(say)
    looking.page.evaluate(
        "import('/static/lib/parts.js').then((parts) => {"
        " const one = parts.button('Do it', async () => {}); one.id = 'does';"
        " document.querySelector('main').append(one); })"
    )
    looking.page.click("#does")
    looking.page.wait_for_function("() => !document.querySelector('.toast.error')")
    toasts.get_by_label("Close this message").click()
    assert toasts.count() == 0


def test_commands_for_the_terminal_are_links_here(looking: Looking) -> None:
    looking.go(NEW, "start")
    looking.page.evaluate(
        "import('/static/lib/parts.js').then((parts) => parts.toast('Go back to an earlier "
        "generation with: /opt/x/bin/python -m honeyguide.cli.main generations', 'error'))"
    )
    toast = looking.page.locator(".toast")
    assert toast.locator("span").inner_text() == "Go back to an earlier generation under Compare"
    assert toast.locator("a").get_attribute("href") == f"#/c/{NEW}/compare"


def test_a_long_description_is_cut_between_words(looking: Looking) -> None:
    cut = looking.page.evaluate(
        "import('/static/screens/home.js').then((home) =>"
        " [home.shortened('one two, three', 9), home.shortened('short'),"
        " home.shortened('a'.repeat(200)).length])"
    )
    assert cut == ["one two …", "short", 162]
