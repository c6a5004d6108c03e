"""Statistics of one waiting link, and pages that people judged.

The yield of a link to a judged page is known before it is followed, and a judged page counts like
any visited page for the links on it. No page is fetched for that, and no link is followed only
because it stands on such a page.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Self

from honeyguide.types import Example, Link, LinkStats, Page, Url

_MAX_PAGE_LINKS = 300
"""Links of a page that are read."""
_MAX_LINKS = 50_000
"""Links that are stored."""
_MAX_URL_LENGTH = 500
"""Longest address that is stored."""
NO_JUDGED_LINKS = 0.0, 0
"""Of a link that no judged page contains."""


class JudgedPages:
    """Judged pages by address, and the links on those whose links are known."""

    def __init__(
        self, values: Mapping[Url, float] | None = None, pages: Iterable[Page] = ()
    ) -> None:
        self.values = {
            name: as_chance(value)
            for url, value in (values or {}).items()
            for name in _slash_variants(url)
        }
        """Address → value by people."""
        self.named: dict[Url, tuple[float, int]] = {}
        """Link → sum of the values of the judged pages with it, and their number."""
        self._read: set[Url] = set()
        for page in pages:
            self.add_page(page)

    @classmethod
    def from_examples(cls, examples: Sequence[Example], labels: dict[Url, float]) -> Self:
        """From example pages and labels of addresses; the best value over all topics counts."""
        values: dict[Url, float] = {}
        for example in examples:
            url = example.page.url
            values[url] = max(values.get(url, 0.0), example.target)
        return cls(values | labels, (example.page for example in examples))

    def __bool__(self) -> bool:
        return bool(self.values)

    def __contains__(self, url: Url) -> bool:
        return url in self.values

    def has_read(self, url: Url) -> bool:
        """Whether its links are counted."""
        return url in self._read

    def add_page(self, page: Page) -> None:
        """Count the links of a judged page, once."""
        value = self.values.get(page.url)
        if value is None or page.url in self._read:
            return
        self._read.add(page.url)
        for url in {link.url: None for link in page.links[:_MAX_PAGE_LINKS]}:
            if len(url) <= _MAX_URL_LENGTH and (url in self.named or len(self.named) < _MAX_LINKS):
                good, count = self.named.get(url, NO_JUDGED_LINKS)
                self.named[url] = good + value, count + 1


def _slash_variants(url: str) -> tuple[Url, Url]:
    """The address with and without a slash at its end: one redirects to the other."""
    bare = url.rstrip("/")
    return Url(bare), Url(f"{bare}/")


def as_chance(value: Any) -> float:
    """A score between 0 and 1; 0 for anything else, since a store may come from a stranger."""
    return float(value) if isinstance(value, int | float) and 0 <= value <= 1 else 0.0


# --- Waiting links ---


NEIGHBOUR_PRIOR: float = LinkStats._field_defaults["beside"]
"""Expected yield of a link without known neighbours, with the weight of one adjacent neighbour."""


class WaitingLinkStats:
    """Statistics of one waiting link."""

    __slots__ = (
        "barren", "best", "count", "former", "good", "known", "places", "relevant", "sources",
        "total",
    )  # fmt: skip

    def __init__(self, barren: int = 0) -> None:
        self.sources: tuple[Url, ...] = ()
        """Pages that it stands on, at most a few."""
        self.count = 0
        self.total = 0.0
        """Sum of the verdicts of all its pages."""
        self.best = 0.0
        self.relevant = 0
        self.barren = barren
        """Fewest steps since a relevant page."""
        self.good = 0.0
        """Weighted yield of its neighbours, the nearest counting most."""
        self.known = 0.0
        """Sum of the weights of these neighbours."""
        self.places: tuple[Link, ...] = ()
        """The link as it stands on each of its pages, for strategies that use its words."""
        self.former: tuple[Url, ...] = ()
        """Its former addresses, if these redirected."""

    def neighbour_mean(self) -> float:
        """Mean yield of its neighbours."""
        return (self.good + NEIGHBOUR_PRIOR) / (self.known + 1)
