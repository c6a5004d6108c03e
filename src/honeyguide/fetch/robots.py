"""The robots.txt files of all sites: which are known, which to fetch, what they allow.

Does no I/O: the ring asks :meth:`Robots.rules`, fetches :meth:`Robots.request_url` when it
gets None, and hands the outcome to :meth:`Robots.learn`, again while that returns None.

    2xx            the file's rules                 24 hours
    3xx            up to five hops; then as 4xx
    3xx, astray    everything disallowed            1 hour
    429, 5xx, 999  everything disallowed            1 hour
    other 4xx      everything allowed               24 hours
    no answer      everything disallowed            1 hour

RFC 9309, section 2.3.1.2, has redirects followed even to other hosts. We follow them to a
``/robots.txt`` anywhere, and to any path of the same registrable domain (sites send everything
to their new front page). Any other path of a stranger is not asked for: its own robots.txt might
forbid it, and anybody could send us there at will.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Final, NamedTuple

from honeyguide.errors import FetchError
from honeyguide.fetch.robots_groups import CHARACTERS, Group, read
from honeyguide.fetch.robots_rules import Rules, rules_of
from honeyguide.types import Response, Url
from honeyguide.url import authority, canonical, domain, host, path

DAY: Final = 86_400.0
HOUR: Final = 3_600.0
HOPS: Final = 5
ORIGINS: Final = 20_000
MEMORY: Final = 64 * 2**20
"""Most characters of robots.txt kept altogether."""
READY: Final = 32 * 2**20
"""Most bytes of rules kept ready for use; others are made again from the text."""
UNREACHABLE: Final = 0
"""The status under which a failed attempt is written down."""
_RULE = 200
"""About what a rule costs in memory besides its text."""


class Entry(NamedTuple):
    fetched_at: float
    status: int
    text: str
    """Of a file, only what concerns us: see :mod:`honeyguide.fetch.robots_groups`."""

    @property
    def expires(self) -> float:
        return self.fetched_at + (HOUR if self.closed else DAY)

    @property
    def closed(self) -> bool:
        return self.status in (UNREACHABLE, 429) or self.status >= 500

    @property
    def weight(self) -> int:
        """Bytes that its rules take, about."""
        return _RULE + 2 * len(self.text) + _RULE * self.text.count("\n")


class Robots:
    """A bounded cache of rules, by origin (scheme, host and port)."""

    def __init__(self, agent: str = "honeyguide") -> None:
        self._agent = agent
        self._entries: OrderedDict[str, Entry] = OrderedDict()
        self._ready: OrderedDict[str, Rules] = OrderedDict()
        self._pending: OrderedDict[str, tuple[int, Url]] = OrderedDict()
        self._characters = 0
        self._weight = 0

    def __len__(self) -> int:
        return len(self._entries)

    def rules(self, origin: str, now: float) -> Rules | None:
        """The rules that hold now, or None: robots.txt must be fetched first."""
        entry = self._entries.get(origin)
        # A time of fetching that lies ahead means that somebody set the clock back.
        if entry is None or not entry.fetched_at <= now < entry.expires:
            return None
        self._entries.move_to_end(origin)
        rules = self._ready.get(origin)
        if rules is None:
            return self._prepare(origin, entry)
        self._ready.move_to_end(origin)
        return rules

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
            if target is not None and not _may_follow(origin, target):
                return self.load(origin, now, UNREACHABLE, "")
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
        """Take in what a site's robots.txt said, whole or as :meth:`dump` gave it."""
        group = read(text if 200 <= status < 300 else "", self._agent, origin)
        self.restore(origin, fetched_at, status, group.text)
        return self._prepare(origin, Entry(fetched_at, status, group.text), group)

    def restore(self, origin: str, fetched_at: float, status: int, text: str) -> None:
        """Take in an entry as :meth:`dump` gave it, however old it is; read when first needed."""
        self._forget(origin)
        entry = Entry(fetched_at, status, text if 200 <= status < 300 else "")
        self._entries[origin] = entry
        self._characters += len(entry.text)
        if len(self._entries) > ORIGINS:
            self._forget(next(iter(self._entries)))
        while self._characters > MEMORY:
            self._forget(self._greediest(origin))

    def dump(self, origin: str) -> tuple[str, float, int, str] | None:
        """An entry for the store: origin, time, status, text; None if it is forgotten."""
        entry = self._entries.get(origin)
        return None if entry is None else (origin, *entry)

    def _prepare(self, origin: str, entry: Entry, group: Group | None = None) -> Rules:
        if entry.closed:
            rules = Rules(expires=entry.expires, closed=True)
        else:
            rules = rules_of(group or read(entry.text, self._agent, origin), entry.expires)
        if origin in self._entries:
            self._ready[origin] = rules
            self._weight += entry.weight
            while self._weight > READY and len(self._ready) > 1:
                self._shelve(next(iter(self._ready)))
        return rules

    def _greediest(self, newest: str) -> str:
        """Who goes when memory is short: the oldest of those that have more than their share.

        So that a few sites with huge files cannot drive out the many with small ones.
        """
        share = MEMORY // ORIGINS
        greedy = (o for o, e in self._entries.items() if len(e.text) > share and o != newest)
        return next(greedy, None) or next(iter(self._entries))

    def _shelve(self, origin: str) -> None:
        if self._ready.pop(origin, None) is not None:
            self._weight -= self._entries[origin].weight

    def _forget(self, origin: str) -> None:
        self._shelve(origin)
        entry = self._entries.pop(origin, None)
        if entry is not None:
            self._characters -= len(entry.text)


def _may_follow(origin: str, target: Url) -> bool:
    """Whether robots.txt may be looked for there: under its own name, or on the same site."""
    if path(target) == "/robots.txt":
        return True
    home = f"{origin}/"
    port = authority(target).rpartition("@")[2].removeprefix(host(target))
    own_port = authority(home).removeprefix(host(home))
    return domain(host(target)) == domain(host(home)) and port in ("", own_port)
