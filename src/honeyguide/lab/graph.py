"""The links of a whole web, as our own parser reads them: for the judge, never for a crawler."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

from honeyguide.errors import ParseError
from honeyguide.fetch.robots import Robots
from honeyguide.lab.serving import Desk
from honeyguide.lab.web import without_scheme
from honeyguide.parse.read import read
from honeyguide.types import Link, Response, Url
from honeyguide.url import canonical, origin


class Graph:
    """Which page leads where, robots.txt and redirects respected."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._robots = Robots()
        self._links: dict[str, tuple[str, ...]] = {}

    def reachable(self, seeds: Iterable[str]) -> set[str]:
        """Addresses (without scheme) that a crawl from these seeds could visit."""
        first = [without_scheme(seed) for seed in seeds]
        seen, waiting = set(first), deque(first)
        while waiting:
            for target in self.links(waiting.popleft()):
                if target not in seen:
                    seen.add(target)
                    waiting.append(target)
        return seen

    def links(self, key: str) -> tuple[str, ...]:
        """Where the page at ``host/path`` leads; read once, then remembered."""
        known = self._links.get(key)
        if known is None:
            known = self._links[key] = tuple(self._read(key))
        return known

    def _read(self, key: str) -> list[str]:
        url = Url("http://" + key)
        answer = self._desk.answer(key)
        lines = answer.head.decode("latin-1").split("\r\n")[1:]
        headers = tuple((k, v) for k, _, v in (line.partition(": ") for line in lines) if k)
        body = answer.body
        response = Response(url, answer.status, headers, body, body, b"", b"", "", 0.0, 0.0)
        if 300 <= answer.status < 400:
            target = canonical(response.header("location"), url)
            return [without_scheme(target)] if target and self._allowed(target) else []
        if answer.status != 200:
            return []
        try:
            page = read(response, Link(url))
        except ParseError:
            return []
        return [
            without_scheme(link.url)
            for link in page.links
            if link.url.startswith("http://") and self._allowed(link.url)
        ]

    def _allowed(self, url: Url) -> bool:
        place = origin(url)
        rules = self._robots.rules(place, 0.0)
        if rules is None:
            answer = self._desk.answer(without_scheme(place) + "/robots.txt")
            text = answer.body.decode("utf-8", "replace") if answer.status == 200 else ""
            rules = self._robots.load(place, 0.0, answer.status, text)
        return rules.allows(url)
