"""The links of a whole web, as our own parser reads them: for the judge, never for a crawler."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable
from typing import NamedTuple

from honeyguide.errors import ParseError
from honeyguide.fetch.robots import Robots
from honeyguide.lab.serving import Desk
from honeyguide.lab.web import without_scheme
from honeyguide.parse.read import read
from honeyguide.types import Link, Response, Url
from honeyguide.url import canonical, origin

_TRAPPED = 50
"""Addresses without end that are followed on one host: enough to find what stands beside them."""
_MOST = 5_000_000
"""Addresses that are remembered at all."""


class _Node(NamedTuple):
    links: tuple[str, ...]
    kept: bool = True
    """False: the page asks not to be kept, so no crawl can bring it."""


class Graph:
    """Which page leads where, robots.txt, redirects and the pages' own wishes respected."""

    def __init__(self, desk: Desk) -> None:
        self.desk = desk
        self._robots = Robots()
        self._nodes: dict[str, _Node] = {}

    def reachable(self, seeds: Iterable[str]) -> set[str]:
        """Addresses (without scheme) that a crawl from these seeds could bring.

        Traps are followed a few steps only: what can be reached in no other way than deep
        through one is left out.
        """
        first = [without_scheme(seed) for seed in seeds]
        seen, waiting = set(first), deque(first)
        trapped: Counter[str] = Counter()
        while waiting and len(seen) < _MOST:
            key = waiting.popleft()
            if self.desk.web.endless("http://" + key):
                host = key.partition("/")[0]
                trapped[host] += 1
                if trapped[host] > _TRAPPED:
                    continue
            for target in self.links(key):
                if target not in seen:
                    seen.add(target)
                    waiting.append(target)
        return {key for key in seen if key not in self._nodes or self._nodes[key].kept}

    def links(self, key: str) -> tuple[str, ...]:
        """Where the page at ``host/path`` leads; read once, then remembered."""
        known = self._nodes.get(key)
        if known is None:
            known = self._nodes[key] = self._read(key)
        return known.links

    def _read(self, key: str) -> _Node:
        url = Url("http://" + key)
        answer = self.desk.answer(key)
        lines = answer.head.decode("latin-1").split("\r\n")[1:]
        headers = tuple((k, v) for k, _, v in (line.partition(": ") for line in lines) if k)
        body = answer.body
        response = Response(url, answer.status, headers, body, body, b"", b"", "", 0.0, 0.0)
        if 300 <= answer.status < 400:
            target = canonical(response.header("location"), url)
            return _Node((without_scheme(target),) if target and self._allowed(target) else ())
        if answer.status != 200:
            return _Node(())
        try:
            page = read(response, Link(url))
        except ParseError:
            return _Node(())
        found = (
            without_scheme(link.url)
            for link in page.links
            if link.url.startswith("http://") and self._allowed(link.url)
        )
        return _Node(tuple(found), page.index)

    def _allowed(self, url: Url) -> bool:
        place = origin(url)
        rules = self._robots.rules(place, 0.0)
        if rules is None:
            answer = self.desk.answer(without_scheme(place) + "/robots.txt")
            text = answer.body.decode("utf-8", "replace") if answer.status == 200 else ""
            rules = self._robots.load(place, 0.0, answer.status, text)
        return rules.allows(url)
