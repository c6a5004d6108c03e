"""What to believe of a page before its first look: that it is like its siblings.

Pages of one host, and more so those whose addresses are of one pattern (``/news/#/*``), change
alike. A group's prior is the mean of its members' beliefs; few members lean on the wider circle.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Iterable
from functools import lru_cache
from itertools import islice

import numpy as np

from honeyguide.types import Url
from honeyguide.url import host, path
from honeyguide.watch.when.rates import RATES, Belief, Floats, pack, share, shares_of, unpack

_LEAN = 3.0
"""The wider circle counts like so many members."""
_RARE = 1e-5
"""No rate is thought impossible because no sibling has it."""
_DEPTH, _LONGEST = 3, 40
"""Steps of a path that make its pattern, and characters of a step."""
_CHANGING = re.compile(r"[^/]*\d[^/]*")


def pattern(url: Url) -> str:
    """``example.org/news/#/*`` of ``https://example.org/news/2024/a-title.html``.

    Steps with digits are all the same, and so are last ones: they name pages, not their kinds.
    """
    way, _, query = path(url).partition("?")
    *steps, _ = way[1:].split("/", _DEPTH + 1)[: _DEPTH + 1]
    kinds = ("#" if _CHANGING.fullmatch(s) else s[:_LONGEST] for s in steps)
    names = "&".join(sorted(n.partition("=")[0][:_LONGEST] for n in query.split("&")[:_DEPTH]))
    return "/".join((host(url), *kinds, "*")) + ("?" + names if names else "")


@lru_cache(maxsize=4_096)
def _circles(url: Url) -> tuple[str, str]:
    """The groups it belongs to, the wider one first; a look asks twice."""
    return host(url), pattern(url)


class Priors:
    """Groups of pages and what is believed of them; of too many, the longest untouched go."""

    def __init__(self, most: int = 10_000) -> None:
        self._most = most
        self._groups: OrderedDict[str, Floats] = OrderedDict()
        """Sums of the members' shares; what they add up to is how many there are."""

    def __len__(self) -> int:
        return len(self._groups)

    def of(self, url: Url) -> Belief:
        """What to believe of a page that nobody looked at twice."""
        mean = np.full(RATES, 1 / RATES)
        for name in _circles(url):
            if (group := self._groups.get(name)) is not None:
                mean = (group + _LEAN * mean) / (float(group.sum()) + _LEAN)
        return pack(np.log(mean + _RARE))

    def learn(self, url: Url, new: Belief, old: Belief = b"") -> None:
        """A page's belief has changed; ``old`` is what was told of it before, if anything."""
        gain = shares_of(new)
        if old:
            gain = gain - shares_of(old)
        for name in _circles(url):
            group = self._groups.get(name)
            group = gain if group is None else group + gain
            # A group that was dropped hears of changes to members that it no longer counts.
            self._groups[name] = np.maximum(group, 0.0)
            self._groups.move_to_end(name)
        while len(self._groups) > self._most:
            self._groups.popitem(last=False)

    def learn_all(self, pages: Iterable[tuple[Url, Belief]]) -> None:
        """When a watch begins: all that is known of all pages."""
        rest = iter(pages)
        while batch := list(islice(rest, 4_096)):
            shares = share(np.array([unpack(belief) for _, belief in batch]))
            sums: dict[str, Floats] = {}
            for (url, _), mine in zip(batch, shares, strict=True):
                for name in _circles(url):
                    if name in sums:
                        sums[name] += mine
                    else:
                        sums[name] = mine.copy()
            for name, total in sums.items():
                group = self._groups.get(name)
                self._groups[name] = total if group is None else group + total
            while len(self._groups) > self._most:
                self._groups.popitem(last=False)

    def forget(self, url: Url, old: Belief) -> None:
        """A page is not watched any more."""
        gone = shares_of(old)
        for name in _circles(url):
            if (group := self._groups.get(name)) is not None:
                self._groups[name] = np.maximum(group - gone, 0.0)
