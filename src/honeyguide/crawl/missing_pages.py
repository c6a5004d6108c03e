"""Which of the topic's own addresses brought no page: seeds, and examples of good and bad pages.

Among a thousand failures theirs matter: nobody learns from an example that could not be had.
"""

from __future__ import annotations

from collections.abc import Iterator

from honeyguide.config import Settings
from honeyguide.crawl import topics
from honeyguide.crawl.from_settings import seeds_of
from honeyguide.store.store import Store
from honeyguide.types import Url

_NAMED = 3
"""Of each kind, those that are named one by one."""


def lost(store: Store, settings: Settings, since: float = 0.0) -> Iterator[str]:
    """What was tried since and brought no page, and why, in sentences."""
    said = topics.best(settings)
    yield from _told(store, "seed", [url for url in seeds_of(settings) if url not in said], since)
    for kind, good in (("good", True), ("bad", False)):
        urls = [url for url, value in said.items() if (value >= 0.5) is good]
        advice = (
            f", and teaches nothing: name another under topic.{kind}, or save the page and give "
            f"it as a file (topic.{kind}_files)"
        )
        yield from _told(store, f"{kind} example", urls, since, advice)


def _told(
    store: Store, what: str, urls: list[Url], since: float, advice: str = ""
) -> Iterator[str]:
    found = [
        rows[-1]
        for url in urls
        if (rows := store.visit(url)) and rows[-1].failure and rows[-1].at >= since
    ]
    for row in found[:_NAMED]:
        why = f"{row.failure}: {row.detail}" if row.detail else row.failure
        yield f"the {what} {row.url} brought no page ({why}){advice}"
    if len(found) > _NAMED:
        yield f"so did {len(found) - _NAMED} more of the {what}s"
