"""Pages for a study: those of a topic, and those that they link to.

Negative pages are neighbours of positive ones, as they were for the papers' users, who judged what
a crawl from good pages had brought. Pages drawn from a whole web would be told apart too easily.
"""

from __future__ import annotations

import random
from collections.abc import Collection, Iterable, Iterator
from functools import lru_cache
from typing import NamedTuple

from honeyguide.errors import ParseError
from honeyguide.lab.trials import WebSpec, open_web
from honeyguide.lab.web import without_scheme
from honeyguide.parse.read import parse_page
from honeyguide.types import Link, Page, Response, Url

_MIN_TEXT = 500
"""Characters of text that a page must have to be judged by its text."""


class LinkedPage(NamedTuple):
    """A page, and a link that leads to it."""

    link: Link
    page: Page
    good: bool


@lru_cache(maxsize=16)
def relevant_keys(spec: WebSpec, topic: tuple[str, ...]) -> frozenset[str]:
    """Addresses (without scheme) of pages with one of these labels, or one below it."""
    pages = open_web(spec).responder.web
    return frozenset(
        without_scheme(record.url)
        for record in pages
        if any(f"{label}.".startswith(f"{one}.") for label in record.labels for one in topic)
    )


def read_page(spec: WebSpec, link: Link) -> Page | None:
    """The page as a crawl would read it; None: there is none, or next to nothing on it."""
    answer = open_web(spec).responder.respond(without_scheme(link.url))
    if answer.status != 200:
        return None
    body, headers = answer.body, (("Content-Type", "text/html"),)
    try:
        page = parse_page(
            Response(link.url, 200, headers, body, body, b"", b"", "", 0.0, 0.0), link
        )
    except ParseError:
        return None
    return page if len(page.text) >= _MIN_TEXT else None


@lru_cache(maxsize=4_000)
def links_of(spec: WebSpec, key: str) -> tuple[Link, ...]:
    """The links of a page that a crawl may follow."""
    page = read_page(spec, Link(Url(f"http://{key}")))
    allowed = set(open_web(spec).graph.page_links(key))
    return tuple(k for k in page.links if without_scheme(k.url) in allowed) if page else ()


class PageNeighbourhood:
    """Links from some pages, one for each page they lead to, in an order of chance."""

    def __init__(
        self, spec: WebSpec, topic: tuple[str, ...], sources: Iterable[str], dice: random.Random
    ) -> None:
        self._spec = spec
        self._good = relevant_keys(spec, topic)
        first: dict[str, Link] = {}
        for source in sources:
            for link in links_of(spec, source):
                first.setdefault(without_scheme(link.url), link)
        self._keys = sorted(first)
        dice.shuffle(self._keys)
        self._first = first

    def sample_pages(
        self, good: bool, most: int, without: Collection[str] = ()
    ) -> list[LinkedPage]:
        """At most so many pages of one kind, some addresses aside."""
        found: list[LinkedPage] = []
        for key, link in self._links_to(good):
            if len(found) >= most:
                break
            if key not in without and (page := read_page(self._spec, link)) is not None:
                found.append(LinkedPage(link, page, good))
        return found

    def _links_to(self, good: bool) -> Iterator[tuple[str, Link]]:
        return ((key, self._first[key]) for key in self._keys if (key in self._good) == good)
