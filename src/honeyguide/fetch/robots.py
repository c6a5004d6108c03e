"""The robots.txt files of all sites: which are known, which to fetch, what they allow.

Does no I/O: the ring asks :meth:`Robots.rules`, fetches :meth:`Robots.request_url` when it
gets None, and hands the outcome to :meth:`Robots.learn`, again while that returns None.

    2xx            the file's rules                 24 hours
    3xx            up to five hops; then as 4xx
    429, 5xx, 999  everything disallowed            1 hour
    other 4xx      everything allowed               24 hours
    no answer      everything disallowed            1 hour
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Final, NamedTuple

from honeyguide.errors import FetchError
from honeyguide.fetch.rules import CHARACTERS, Rules, parse
from honeyguide.types import Response, Url
from honeyguide.url import canonical

DAY: Final = 86_400.0
HOUR: Final = 3_600.0
HOPS: Final = 5
ORIGINS: Final = 20_000
MEMORY: Final = 64 * 2**20
"""Most characters of robots.txt kept altogether."""
UNREACHABLE: Final = 0
"""The status under which a failed attempt is written down."""


class Entry(NamedTuple):
    fetched_at: float
    status: int
    text: str
    rules: Rules


class Robots:
    """A bounded cache of rules, by origin (scheme, host and port)."""

    def __init__(self, agent: str = "honeyguide") -> None:
        self._agent = agent
        self._entries: OrderedDict[str, Entry] = OrderedDict()
        self._pending: OrderedDict[str, tuple[int, Url]] = OrderedDict()
        self._size = 0

    def __len__(self) -> int:
        return len(self._entries)

    def rules(self, origin: str, now: float) -> Rules | None:
        """The rules that hold now, or None: robots.txt must be fetched first."""
        entry = self._entries.get(origin)
        # A time of fetching that lies ahead means that somebody set the clock back.
        if entry is None or not entry.fetched_at <= now < entry.rules.expires:
            return None
        self._entries.move_to_end(origin)
        return entry.rules

    def request_url(self, origin: str, now: float) -> Url:  # noqa: ARG002 - time is always told
        """What to fetch for this origin next: its robots.txt, or where a redirect led."""
        hops, url = self._pending.get(origin, (0, Url("")))
        return url if hops else Url(f"{origin}/robots.txt")

    def learn(self, origin: str, outcome: Response | FetchError, now: float) -> Rules | None:
        """Take in an answer or a failure; None: a redirect leads on, ask request_url again."""
        hops, _ = self._pending.pop(origin, (0, Url("")))
        if isinstance(outcome, FetchError):
            return self.load(origin, now, UNREACHABLE, "")
        if outcome.status in (301, 302, 303, 307, 308) and hops < HOPS:
            location = outcome.header("location")
            target = canonical(location, outcome.url) if location else None
            if target is not None:
                self._pending[origin] = (hops + 1, target)
                if len(self._pending) > ORIGINS:
                    self._pending.popitem(last=False)
                return None
        text = ""
        if 200 <= outcome.status < 300:
            text = outcome.body[:CHARACTERS].decode("utf-8", "replace")
        return self.load(origin, now, outcome.status, text)

    def load(self, origin: str, fetched_at: float, status: int, text: str) -> Rules:
        """Take in an entry as :meth:`dump` gave it, however old it is."""
        if 200 <= status < 300:
            rules = parse(text, self._agent, origin, fetched_at + DAY)
        elif status == UNREACHABLE or status == 429 or status >= 500:
            rules, text = Rules(expires=fetched_at + HOUR, closed=True), ""
        else:
            rules, text = Rules(expires=fetched_at + DAY), ""
        self._forget(origin)
        self._entries[origin] = Entry(fetched_at, status, text[:CHARACTERS], rules)
        self._size += len(text[:CHARACTERS])
        while len(self._entries) > ORIGINS or self._size > MEMORY:
            self._forget(next(iter(self._entries)))
        return rules

    def dump(self, origin: str) -> tuple[str, float, int, str]:
        """An entry for the store: origin, time, status, text."""
        entry = self._entries[origin]
        return origin, entry.fetched_at, entry.status, entry.text

    def _forget(self, origin: str) -> None:
        entry = self._entries.pop(origin, None)
        if entry is not None:
            self._size -= len(entry.text)
