"""A person who knows the truth and labels with the keyboard alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

_SHOWN = "section[aria-label='The page to judge'] a.outside"
_OTHER = (
    'old => { const link = document.querySelector("' + _SHOWN.replace("'", "\\'") + '");'
    " return link ? link.href !== old"
    " : document.querySelector(\"section[aria-label=\\'The page to judge\\'] .empty\") !== null; }"
)


def label(page: Any, relevant: Callable[[str], bool], count: int) -> dict[str, bool]:
    """So many pages on the Label screen that stands: r or n each; fewer where it has no more to
    ask. What was said of each."""
    given: dict[str, bool] = {}
    kept: list[bool] = []

    def heard(answer: Any) -> None:
        if answer.request.method == "POST" and answer.url.endswith("/label"):
            kept.append(answer.ok)

    page.on("response", heard)
    page.wait_for_function(_OTHER, arg="")
    while len(given) < count and (link := page.locator(_SHOWN)).count():
        address = link.get_attribute("href") or ""
        assert address not in given, f"asked twice: {address}"
        given[address] = relevant(address)
        page.keyboard.press("r" if given[address] else "n")
        page.wait_for_function(_OTHER, arg=address)
    # Answers are sent while the next page is read already.
    for _ in range(100):
        if len(kept) == len(given):
            break
        page.wait_for_timeout(100)
    assert kept == [True] * len(given)
    page.remove_listener("response", heard)
    return given
