"""Pages of which people said what they are worth, and what that says of links.

What comes of a link to such a page is known before it is followed. And such a page links to others
like any page that was visited: what good pages link to is worth a look, what bad ones link to less.
Nothing here is fetched for it, and no link is followed because it stands on such a page alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Self

from honeyguide.types import Example, Link, LinkStats, Page, Url

_MAX_PAGE_LINKS = 300
"""Links of a page that are looked at."""
_MAX_LINKS = 50_000
"""Links that are remembered."""
_MAX_URL_LENGTH = 500
"""Characters of an address that is."""
NO_JUDGED_LINKS = 0.0, 0
"""No judged page links to it."""


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
        """What people said of each."""
        self.named: dict[Url, tuple[float, int]] = {}
        """Of a link: what the judged pages that link to it are worth together, and their number."""
        self._read: set[Url] = set()
        for page in pages:
            self.add_page(page)

    @classmethod
    def from_examples(cls, examples: Sequence[Example], labels: dict[Url, float]) -> Self:
        """Of pages that are here, and of addresses. What is good for one topic is good."""
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
        """Whether its links are counted here."""
        return url in self._read

    def add_page(self, page: Page) -> None:
        """The links of a judged page; they count once, however often it comes by."""
        value = self.values.get(page.url)
        if value is None or page.url in self._read:
            return
        self._read.add(page.url)
        for url in {link.url: None for link in page.links[:_MAX_PAGE_LINKS]}:
            if len(url) <= _MAX_URL_LENGTH and (url in self.named or len(self.named) < _MAX_LINKS):
                good, count = self.named.get(url, NO_JUDGED_LINKS)
                self.named[url] = good + value, count + 1


def _slash_variants(url: str) -> tuple[Url, Url]:
    """Of an address with and without a slash at its end, one redirects to the other."""
    bare = url.rstrip("/")
    return Url(bare), Url(f"{bare}/")


def as_chance(value: Any) -> float:
    """A verdict may come from a stranger's journal."""
    return float(value) if isinstance(value, int | float) and 0 <= value <= 1 else 0.0


# --------------------------------------------------------------------------------------------------
# A waiting link, and what is known of where it stands.
# --------------------------------------------------------------------------------------------------


NEIGHBOUR_PRIOR: float = LinkStats._field_defaults["beside"]
"""What is thought to come of a link while nothing is known of its neighbours; worth one neighbour
that stands at once beside it."""


class WaitingLinkStats:
    __slots__ = (
        "barren", "best", "count", "former", "good", "known", "places", "relevant", "sources",
        "total",
    )  # fmt: skip

    def __init__(self, barren: int = 0) -> None:
        self.sources: tuple[Url, ...] = ()
        """Pages that it stands on; not all, but of all …"""
        self.count = 0
        self.total = 0.0
        """… their verdicts together, …"""
        self.best = 0.0
        self.relevant = 0
        self.barren = barren
        """… and the fewest steps since a relevant one."""
        self.good = 0.0
        """What came of the links beside it, the nearest counting most, …"""
        self.known = 0.0
        """… and how much these count together."""
        self.places: tuple[Link, ...] = ()
        """It as it stands there, for a strategy that goes by its words."""
        self.former: tuple[Url, ...] = ()
        """What it was called where it stands, if that address led elsewhere."""

    def neighbour_mean(self) -> float:
        """What is to be thought of it by its neighbours: a chance."""
        return (self.good + NEIGHBOUR_PRIOR) / (self.known + 1)
