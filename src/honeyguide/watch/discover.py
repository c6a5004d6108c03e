"""New links on pages that changed: relevant pages appear where others are known.

From here a link goes out as a page that is due, and comes back as a visit, read and judged.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from heapq import heapify, heappop, heappush, nsmallest
from typing import Any

from honeyguide.errors import ParseError
from honeyguide.parse.read import parse_page
from honeyguide.protocols import Strategy
from honeyguide.types import Link, Page, Response, Url, Visit
from honeyguide.url import canonical_url
from honeyguide.watch.visit.revisit import RevisitOutcome

_MAX_LINKS = 2_000
"""Links that are remembered; the worst are forgotten first."""
_PER_PAGE = 50
"""New links of one page that are looked at: more are no news but another page."""
_KEPT_LINKS = 500
"""Links that outlive a run."""
_MAX_OFFERED = 100_000
"""Addresses that are known to have been offered."""


class DiscoveryQueue:
    """Links to pages that nobody has seen, the best first."""

    def __init__(
        self,
        strategy: Strategy,
        generation: int,
        known: Callable[[Url], bool],
        fits: Callable[[Url], bool],
    ) -> None:
        """``known``: visited or watched already; ``fits``: within the collection's fence."""
        self._strategy = strategy
        self._generation = generation
        self.under_way: dict[Url, tuple[Link, float]] = {}
        """Links that were taken, with their scores."""
        self._known = known
        self._fits = fits
        self._heap: list[tuple[float, Url, Link]] = []
        self._offered: dict[Url, None] = {}

    def __len__(self) -> int:
        return len(self._heap)

    @property
    def best_score(self) -> float:
        """What the best of them is worth; 0: there is none."""
        return -self._heap[0][0] if self._heap else 0.0

    def offer_links(self, response: Response, verdict: float, added: Collection[Url]) -> None:
        """A watched page changed, and these links are new on it."""
        page = _read_page(response, Link(response.url))
        if page is None or not page.follow:
            return
        new = {
            link.url: link._replace(parent=verdict)
            for link in page.links
            if link.url in added and self._is_new(link.url)
        }
        links = list(new.values())[:_PER_PAGE]
        for link, score in zip(links, self._strategy.rank(links), strict=True):
            self._offered[link.url] = None
            if score > 0:
                heappush(self._heap, (-score, link.url, link))
        while len(self._offered) > _MAX_OFFERED:
            self._offered.pop(next(iter(self._offered)))
        if len(self._heap) > _MAX_LINKS:
            self._heap = nsmallest(_MAX_LINKS // 2, self._heap)
            heapify(self._heap)

    def take_best(self) -> Url | None:
        """The best of them, to be followed; see :meth:`judge_arrival`."""
        if not self._heap:
            return None
        score, _, link = heappop(self._heap)
        self.under_way[link.url] = link, -score
        return link.url

    def judge_arrival(self, outcome: RevisitOutcome[Any]) -> Visit | None:
        """What came of a link that was taken, judged; None if no page did."""
        link, score = self.under_way.pop(outcome.page.url)
        response = outcome.response
        page = _read_page(response, link) if response and outcome.state == "changed" else None
        if page is None or not page.index:
            return None
        verdict = self._strategy.judge(page)
        return Visit(
            link, outcome.at, self._generation, score, score,
            response=response, page=page, verdict=verdict,
        )  # fmt: skip

    def dump(self) -> list[list[object]]:
        """The best of them, for another run."""
        best = nsmallest(_KEPT_LINKS, self._heap)
        return [[-score, *link[:6]] for score, _, link in best]

    def load(self, said: object) -> None:
        """What :meth:`dump` gave; a stranger's collection may hold anything."""
        for one in said if isinstance(said, list) else ():
            match one:
                case [float(score), str(url), str() | None as source, *words] if (
                    0 < score <= 1 and len(words) == 4 and all(isinstance(w, str) for w in words)
                ):
                    address, page = canonical_url(url), canonical_url(source) if source else None
                    if address and self._is_new(address):
                        self._offered[address] = None
                        heappush(self._heap, (-score, address, Link(address, page, *words)))

    def _is_new(self, url: Url) -> bool:
        return url not in self._offered and self._fits(url) and not self._known(url)


def _read_page(response: Response, link: Link) -> Page | None:
    try:
        return parse_page(response, link)
    except ParseError:
        return None
