"""Which shard a host lives in: by its registrable domain, the same for ever and everywhere.

All hosts of a domain live together, so that politeness, robots.txt, quotas and copies within a site
are one shard's business. How many shards there are is fixed while they live; a machine that comes
or goes moves whole shards.
"""

from __future__ import annotations

from honeyguide.store.shards import shard_of as shard_of
from honeyguide.types import Url
from honeyguide.url import host

MOST = 999
"""Shards that a collection can have: their number is part of the names of WARC files."""
_MEMO = 100_000


class Partition:
    """Whose an address is, remembered by what stands between its slashes."""

    def __init__(self, here: int, shards: int) -> None:
        self.here = here
        self.shards = shards
        self._known: dict[str, int] = {}

    def of(self, url: Url) -> int:
        place = url.split("/", 3)[2]
        shard = self._known.get(place)
        if shard is None:
            if len(self._known) >= _MEMO:
                self._known.clear()
            shard = self._known[place] = shard_of(host(url), self.shards)
        return shard

    def owns(self, url: Url) -> bool:
        return self.of(url) == self.here
