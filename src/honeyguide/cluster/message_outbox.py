"""A shard's letters: kept with the pages that they tell of, sent until they are heard.

A letter is written in the transaction that writes its pages, sent when that is committed, and kept
until the shard that it is for says that it has committed it. A window of letters is under way to
each shard; the others wait on disk.
"""

from __future__ import annotations

from collections.abc import Callable

from honeyguide.cluster.messages import Heard, Letter
from honeyguide.store.shard_messages import Letters

WINDOW = 8
"""Letters to one shard that are sent and not heard."""
AGAIN_S = 15.0
"""A letter that was not heard for so long is sent again."""
FULL = 512
"""Letters that wait for one shard before ours slows down."""

KEPT = 64
"""Letters that were heard and are dropped together: each time costs the transaction a little."""


class _Way:
    """What is under way to one shard."""

    __slots__ = ("dropped", "heard", "sent", "since", "written")

    def __init__(self, written: int, heard: int) -> None:
        self.written = written
        self.sent = self.heard = self.dropped = heard
        self.since = 0.0
        """When the oldest of them was sent."""


class Post:
    def __init__(
        self,
        here: int,
        shards: int,
        letters: Letters,
        send: Callable[[Letter | Heard], None],
        window: int = WINDOW,
        again_s: float = AGAIN_S,
    ) -> None:
        self._window, self._again_s = window, again_s
        self._here = here
        self._letters = letters
        self._send = send
        self._ways: dict[int, _Way] = {}
        for shard in range(shards):
            if shard != here:
                kept = letters.after(shard, 0, 1)
                newest = letters.newest(shard)
                self._ways[shard] = _Way(newest, kept[0][0] - 1 if kept else newest)
        self._heard = letters.heard()
        self._fresh: dict[int, int] = {}
        """Of each shard the last letter that is taken in and not committed."""
        self._answers: dict[int, int] = {}
        self.written = self.taken = self.bytes = 0
        """Letters of this run: to others, and from others; and bytes of the first."""

    @property
    def settled(self) -> bool:
        """Every letter is where it belongs, and those that came are committed."""
        return not self._fresh and all(way.heard == way.written for way in self._ways.values())

    @property
    def under_way(self) -> int:
        """Letters that are not where they belong."""
        return sum(way.written - way.heard for way in self._ways.values())

    @property
    def full(self) -> bool:
        """Somebody does not keep up with us."""
        return any(way.written - way.heard > FULL for way in self._ways.values())

    def put(self, shard: int, data: bytes) -> None:
        """Write a letter, inside the transaction of its pages."""
        way = self._ways[shard]
        self._letters.put(shard, way.written + 1, data)
        way.written += 1
        self.written += 1
        self.bytes += len(data)

    def expects(self, by: int, number: int) -> bool:
        """Whether this letter is the next from there; one that came before is answered again."""
        known = self._heard.get(by, 0)
        if number <= known:
            if by not in self._fresh:
                self._send(Heard(self._here, by, known))
            return False
        # If the one before it was lost, both will come again.
        return number == known + 1

    def took(self, by: int, number: int) -> None:
        """Its links are in the frontier, to be written with the next transaction."""
        self._heard[by] = self._fresh[by] = number
        self.taken += 1

    def heard(self, by: int, number: int, now: float) -> None:
        way = self._ways[by]
        if way.heard < number <= way.written:
            way.heard = number
            way.sent = max(way.sent, number)
            way.since = now
            self.go(now)

    def flush(self) -> None:
        """Inside a transaction: what was heard by us, and by others."""
        for shard, number in self._fresh.items():
            self._letters.hear(shard, number)
        if sum(way.heard - way.dropped for way in self._ways.values()) >= KEPT:
            for shard, way in self._ways.items():
                if way.heard > way.dropped:
                    self._letters.drop(shard, way.heard)
                    way.dropped = way.heard
        self._answers, self._fresh = self._fresh, {}

    def flushed(self, now: float) -> None:
        """It is committed: say so, and send what was written."""
        answers, self._answers = self._answers, {}
        for shard, number in answers.items():
            self._send(Heard(self._here, shard, number))
        self.go(now)

    def go(self, now: float) -> None:
        """Send what the windows allow; and again what was not heard for long."""
        for shard, way in self._ways.items():
            if way.sent > way.heard and now - way.since > self._again_s:
                way.sent = way.heard
            room = self._window - (way.sent - way.heard)
            if way.sent == way.written or room <= 0:
                continue
            if way.sent == way.heard:
                way.since = now
            for number, data in self._letters.after(shard, way.sent, room):
                self._send(Letter(self._here, shard, number, data))
                way.sent = number
