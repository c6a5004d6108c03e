"""A topic whose every page attacks the studio: nothing runs, nothing breaks the layout."""

from __future__ import annotations

import re

from tests.browser.hostile import MARK
from tests.browser.looking import Looking
from tests.browser.served import EVIL
from tests.browser.test_screens import SCREENS


def test_attacks_are_shown_as_text(either: Looking) -> None:
    seen = ""
    for screen in SCREENS:
        either.go(EVIL, screen)
        assert either.wide() <= 0, f"{screen} is wider than the window"
        either.unharmed()
        seen += either.text
    assert f"<img src=x onerror=window.{MARK}=1>" in seen, "they were there"


def test_pages_of_an_attacker(looking: Looking) -> None:
    looking.go(EVIL, "collection")
    rows = looking.page.locator("main table.rows tbody tr a")
    rows.first.wait_for()
    addresses = rows.evaluate_all("nodes => nodes.map(node => node.getAttribute('href'))")
    pages = [address for address in addresses if address.startswith("#/c/")]
    assert len(pages) >= 17
    for address in pages[:17]:
        looking.at(address)
        assert looking.wide() <= 0, address
        looking.unharmed()
    for label in ("Rendered", "As rendered"):
        button = looking.page.locator("main button, main summary", has_text=label)
        if button.count():
            button.first.click()
            looking.page.wait_for_timeout(500)
    looking.unharmed()


def test_the_rendered_view_runs_nothing_and_asks_nobody(looking: Looking) -> None:
    looking.go(EVIL, "label")
    page = looking.page
    page.locator("section[aria-label='The page to judge'] h2").wait_for()
    page.locator("main button", has_text="As rendered").click()
    frame = page.locator("main iframe")
    frame.wait_for()
    page.wait_for_timeout(700)
    rules = frame.get_attribute("sandbox")
    assert rules is not None, "it is sandboxed"
    assert "allow-scripts" not in rules
    assert "allow-same-origin" not in rules
    answer = page.request.get(
        looking.shown.origin + (frame.get_attribute("src") or ""),
    )
    policy = answer.headers["content-security-policy"]
    assert "sandbox" in policy
    assert "default-src 'none'" in policy
    assert "<script" not in answer.text().lower()
    loads = r"<[^>]*\s(?:src|srcset|href|action|data|poster|background)\s*="
    assert not re.findall(loads, answer.text(), re.IGNORECASE)


def test_a_difference_that_attacks(looking: Looking) -> None:
    looking.go(EVIL, "changes")
    link = looking.page.locator("main a[href*='/diff']").first
    link.wait_for()
    looking.at(link.get_attribute("href") or "")
    assert "queen" in looking.text
    assert looking.page.locator("ins").count() > 0
    assert looking.wide() <= 0
    looking.unharmed()
    for button in looking.page.locator("main button[aria-pressed]").all():
        button.click()
        looking.unharmed()


def test_links_lead_to_the_web_only(looking: Looking) -> None:
    for screen in SCREENS:
        looking.go(EVIL, screen)
        links = looking.page.locator("main a").evaluate_all(
            "nodes => nodes.map(node => [node.getAttribute('href'), node.rel, node.target])"
        )
        for address, relation, target in links:
            assert address.startswith(("#", "/", "http://", "https://")), address
            if address.startswith("http"):
                assert "noopener" in relation
                assert "noreferrer" in relation
                assert target == "_blank"


REFUSED: list[dict[str, str]] = [
    {"href": "javascript:alert(1)"},
    {"href": " JavaScript:alert(1)"},
    {"href": "//evil.invalid/"},
    {"href": "/\\evil.invalid/"},
    {"src": "data:text/html,x"},
    {"onclick": "alert(1)"},
    {"ONCLICK": "alert(1)"},
    {"style": "background:url(//evil.invalid)"},
    {"srcdoc": "<script>"},
]
TAKEN: list[dict[str, str]] = [
    {"href": "#/c/x/live"},
    {"href": "/api/c/x"},
    {"href": "https://example.org/"},
    {"title": "javascript:alert(1)"},
]


def test_elements_refuse_what_could_carry_code(looking: Looking) -> None:
    made = looking.page.evaluate(
        """async tries => {
          const { el } = await import("/static/lib/dom.js");
          return tries.map(attributes => {
            try { el("a", attributes, "<b>text</b>"); return true; } catch { return false; }
          });
        }""",
        REFUSED + TAKEN,
    )
    assert made == [False] * len(REFUSED) + [True] * len(TAKEN)
