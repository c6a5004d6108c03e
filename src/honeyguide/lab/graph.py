"""The links of a whole web, as our own parser reads them: for the judge, never for a crawler."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable
from typing import NamedTuple

from honeyguide.lab.page_reader import Reader
from honeyguide.lab.responses import Desk
from honeyguide.lab.web import without_scheme
from honeyguide.types import Url
from honeyguide.url import canonical

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
        self._reader = Reader(desk)
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
        url, reader = Url("http://" + key), self._reader
        response = reader.answer(url)
        if 300 <= response.status < 400:
            target = canonical(response.header("location"), url)
            return _Node((without_scheme(target),) if target and reader.may(target) else ())
        page = reader.page(response)
        if page is None:
            return _Node(())
        found = (
            without_scheme(link.url)
            for link in page.links
            if link.url.startswith("http://") and reader.may(link.url)
        )
        return _Node(tuple(found), page.index)
