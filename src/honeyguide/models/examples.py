"""Which examples count when several speak of the same page."""

from __future__ import annotations

from collections.abc import Iterable

from honeyguide.types import Example, Url

_AUTHORITY = {"visit": 0, "judge": 1, "seed": 2, "user": 3}


def settled(examples: Iterable[Example]) -> dict[Url, Example]:
    """One example a page: a person's word before our own, and of equals the last."""
    best: dict[Url, Example] = {}
    for example in examples:
        known = best.get(example.page.url)
        if known is None or _AUTHORITY[example.by] >= _AUTHORITY[known.by]:
            best[example.page.url] = example
    return best
