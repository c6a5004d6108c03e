"""Pages of which people said what they are worth, and what that says of links.

What comes of a link to such a page is known before it is followed. And such a page links to others
like any page that was visited: what good pages link to is worth a look, what bad ones link to less.
Nothing here is fetched for it, and no link is followed because it stands on such a page alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Self

from honeyguide.types import Example, Page, Url

_LINKS = 300
"""Links of a page that are looked at."""
_MOST = 50_000
"""Links that are remembered."""
_LONG = 500
"""Characters of an address that is."""
UNNAMED = 0.0, 0
"""No judged page links to it."""


class Given:
    """Judged pages by address, and the links on those whose links are known."""

    def __init__(
        self, values: Mapping[Url, float] | None = None, pages: Iterable[Page] = ()
    ) -> None:
        self.values = {
            name: chance(value) for url, value in (values or {}).items() for name in _both(url)
        }
        """What people said of each."""
        self.named: dict[Url, tuple[float, int]] = {}
        """Of a link: what the judged pages that link to it are worth together, and their number."""
        self._read: set[Url] = set()
        for page in pages:
            self.read(page)

    @classmethod
    def of(cls, examples: Sequence[Example], said: dict[Url, float]) -> Self:
        """Of pages that are here, and of addresses. What is good for one topic is good."""
        values: dict[Url, float] = {}
        for example in examples:
            url = example.page.url
            values[url] = max(values.get(url, 0.0), example.target)
        return cls(values | said, (example.page for example in examples))

    def __bool__(self) -> bool:
        return bool(self.values)

    def __contains__(self, url: Url) -> bool:
        return url in self.values

    def has_read(self, url: Url) -> bool:
        """Whether its links are counted here."""
        return url in self._read

    def read(self, page: Page) -> None:
        """The links of a judged page; they count once, however often it comes by."""
        value = self.values.get(page.url)
        if value is None or page.url in self._read:
            return
        self._read.add(page.url)
        for url in {link.url: None for link in page.links[:_LINKS]}:
            if len(url) <= _LONG and (url in self.named or len(self.named) < _MOST):
                good, count = self.named.get(url, UNNAMED)
                self.named[url] = good + value, count + 1


def _both(url: str) -> tuple[Url, Url]:
    """Of an address with and without a slash at its end, one redirects to the other."""
    bare = url.rstrip("/")
    return Url(bare), Url(f"{bare}/")


def chance(value: Any) -> float:
    """A verdict may come from a stranger's journal."""
    return float(value) if isinstance(value, int | float) and 0 <= value <= 1 else 0.0
