"""A lab's web as an honest reader sees it: pages through our own parser, robots.txt respected."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable
from typing import NamedTuple

from honeyguide.errors import ParseError
from honeyguide.lab.responses import LabResponder
from honeyguide.lab.web import without_scheme
from honeyguide.net.robots import RobotsCache
from honeyguide.parse.read import parse_page
from honeyguide.store.duplicates import TextSketch, TextSketcher, are_alike
from honeyguide.types import Link, Page, Response, Url
from honeyguide.url import canonical_url, site_origin


class LabPageReader:
    """Reads the pages of one desk, without a network and without a clock."""

    def __init__(self, desk: LabResponder) -> None:
        self._desk = desk
        self._robots = RobotsCache()

    def response_for(self, url: Url) -> Response:
        """What the desk says, as a fetcher would bring it."""
        return self._desk.respond(without_scheme(url)).to_response(url)

    def parse_page(self, response: Response) -> Page | None:
        """The page in an answer; None for redirects, errors and what cannot be parsed."""
        if response.status != 200:
            return None
        try:
            return parse_page(response, Link(response.url))
        except ParseError:
            return None

    def is_allowed(self, url: Url) -> bool:
        """Whether robots.txt lets anybody ask for it."""
        place = site_origin(url)
        rules = self._robots.get_rules(place, 0.0)
        if rules is None:
            answer = self._desk.respond(without_scheme(place) + "/robots.txt")
            text = answer.body.decode("utf-8", "replace") if answer.status == 200 else ""
            rules = self._robots.load_text(place, 0.0, answer.status, text)
        return rules.allows(url)


# --------------------------------------------------------------------------------------------------
# The links of a whole web, as our own parser reads them: for the judge, never for a crawler.
# --------------------------------------------------------------------------------------------------


_MAX_TRAP_STEPS = 50
"""Addresses without end that are followed on one host: enough to find what stands beside them."""
_MAX_ADDRESSES = 5_000_000
"""Addresses that are remembered at all."""


class _GraphNode(NamedTuple):
    links: tuple[str, ...]
    storable: bool = True
    """False: the page asks not to be stored, so no crawl can bring it."""


class WebGraph:
    """Which page leads where, robots.txt, redirects and the pages' own wishes respected."""

    def __init__(self, desk: LabResponder) -> None:
        self.desk = desk
        self._reader = LabPageReader(desk)
        self._nodes: dict[str, _GraphNode] = {}
        self._sketcher = TextSketcher()
        self._sketches: dict[str, TextSketch | None] = {}

    def find_originals(self, keys: Iterable[str]) -> dict[str, str]:
        """Each of these pages and the first among them with a text like its own: itself, unless it
        is a copy, as a crawl finds copies."""
        found: dict[str, str] = {}
        first: dict[int, tuple[str, TextSketch]] = {}
        for key in keys:
            found[key] = key
            if (sketch := self._read_sketch(key)) is None:
                continue
            signs = (sketch.digest, *sketch.bands)
            known = (first[sign] for sign in signs if sign in first)
            found[key] = next((one for one, its in known if are_alike(sketch, its)), key)
            if found[key] == key:
                for sign in signs:
                    first.setdefault(sign, (key, sketch))
        return found

    def _read_sketch(self, key: str) -> TextSketch | None:
        if key not in self._sketches:
            page = self._reader.parse_page(self._reader.response_for(Url("http://" + key)))
            self._sketches[key] = None if page is None else self._sketcher.sketch_text(page.text)
        return self._sketches[key]

    def reachable_from(self, seeds: Iterable[str]) -> set[str]:
        """Addresses (without scheme) that a crawl from these seeds could bring.

        Traps are followed a few steps only: what can be reached in no other way than deep
        through one is left out.
        """
        first = [without_scheme(seed) for seed in seeds]
        seen, waiting = set(first), deque(first)
        trapped: Counter[str] = Counter()
        while waiting and len(seen) < _MAX_ADDRESSES:
            key = waiting.popleft()
            if self.desk.web.is_endless("http://" + key):
                host = key.partition("/")[0]
                trapped[host] += 1
                if trapped[host] > _MAX_TRAP_STEPS:
                    continue
            for target in self.page_links(key):
                if target not in seen:
                    seen.add(target)
                    waiting.append(target)
        return {key for key in seen if key not in self._nodes or self._nodes[key].storable}

    def page_links(self, key: str) -> tuple[str, ...]:
        """Where the page at ``host/path`` leads; read once, then remembered."""
        known = self._nodes.get(key)
        if known is None:
            known = self._nodes[key] = self._read_node(key)
        return known.links

    def _read_node(self, key: str) -> _GraphNode:
        url, reader = Url("http://" + key), self._reader
        response = reader.response_for(url)
        if 300 <= response.status < 400:
            target = canonical_url(response.header("location"), url)
            return _GraphNode(
                (without_scheme(target),) if target and reader.is_allowed(target) else ()
            )
        page = reader.parse_page(response)
        if page is None:
            return _GraphNode(())
        found = (
            without_scheme(link.url)
            for link in page.links
            if link.url.startswith("http://") and reader.is_allowed(link.url)
        )
        return _GraphNode(tuple(found), page.index)
