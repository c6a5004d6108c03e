"""Deleting entries that no restore needs any more, a few at a time. Claims stay for ever."""

from __future__ import annotations

from collections import deque
from contextlib import suppress

from honeyguide.cluster.vault.entry import unpack
from honeyguide.cluster.vault.log import name, number_of, place
from honeyguide.cluster.vault.object_store import Vault
from honeyguide.errors import ClusterError, Unreached

_ONCE = 100
"""Entries deleted after one save: on a slow storage more of them could outlast the lease."""


class Tidy:
    """For the owner whose claim has that number."""

    def __init__(self, vault: Vault, shard: int, claim: int) -> None:
        self._vault = vault
        self._shard = shard
        self._claim = claim
        self._claims: dict[int, bool] = {claim: True}
        self._rubbish: deque[int] = deque()

    def know(self, seen: dict[int, bool]) -> None:
        """Which entries are claims, as far as they were read anyway."""
        self._claims |= seen

    def before(self, base: int) -> None:
        """A whole copy of the database begins at ``base``, and it is complete."""
        with suppress(Unreached):  # then after the next one
            numbers = map(number_of, self._vault.names(place(self._shard)))
            self._rubbish = deque(n for n in numbers if n < base and not self._claims.get(n))

    def some(self) -> None:
        with suppress(Unreached):  # the rest next time
            for _ in range(min(_ONCE, len(self._rubbish))):
                number = self._rubbish[0]
                if not self._is_claim(number):
                    self._vault.delete(name(self._shard, number))
                self._rubbish.popleft()

    def _is_claim(self, number: int) -> bool:
        if number not in self._claims:
            self._claims[number] = number < self._claim and self._reads_as_claim(number)
        return self._claims[number]

    def _reads_as_claim(self, number: int) -> bool:
        """Somebody else's entry, which we had no other reason to read."""
        where = name(self._shard, number)
        if (data := self._vault.read(where)) is None:
            return False
        try:
            return unpack(data, where, self._shard, number).head.kind == "claim"
        except ClusterError:
            return True  # who knows what it was: it may stay
