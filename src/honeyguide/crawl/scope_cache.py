"""Whether addresses lie within the fence, remembered: the same links stand on page after page."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from honeyguide.scope import Fence
from honeyguide.types import Link, Url

LONG = 500
"""Characters of an address that is remembered for speed."""
_MEMO = 50_000


@dataclass(frozen=True, slots=True)
class Inside:
    fence: Fence
    _known: dict[Url, bool] = field(default_factory=dict)

    def __call__(self, url: Url) -> bool:
        inside = self._known.get(url)
        if inside is None:
            if len(self._known) >= _MEMO:
                self._known.clear()
            inside = self.fence.refuses(Link(url)) is None
            if len(url) <= LONG:
                self._known[url] = inside
        return inside

    def of(self, urls: Iterable[Url]) -> list[Url]:
        """Those of them that lie within."""
        known = self._known.get
        return [url for url in urls if known(url) or (known(url) is None and self(url))]
