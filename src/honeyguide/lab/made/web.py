"""A made web: generated page by page from a seed, with the truth about every page.

It answers what a :class:`~honeyguide.lab.web.RecordedWeb` answers, and stores nothing: a web
of tens of millions of pages costs as much as one of a thousand. Everything follows from the
plan, in any order of asking and in any process.
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from functools import cached_property
from itertools import chain
from typing import Literal

from honeyguide.errors import ConfigError
from honeyguide.lab.gzip_io import pack
from honeyguide.lab.made.links import Roads
from honeyguide.lab.made.page import Mark, Writer
from honeyguide.lab.made.parameters import MadePlan
from honeyguide.lab.made.resolve import Spot, Spots, What
from honeyguide.lab.made.seeded_random import Dice
from honeyguide.lab.made.text import books
from honeyguide.lab.made.time import Calendar
from honeyguide.lab.made.topology import SLOTS, Ground
from honeyguide.lab.web import Recorded, without_scheme
from honeyguide.types import Url
from honeyguide.url import canonical

_COUNTABLE = 5_000_000
"""A larger web is not listed page by page."""
_BUSY_S = 60.0
"""A server that is busy now and then makes up its mind once a minute."""
_HTML = (("Content-Type", "text/html; charset=utf-8"),)
_TEXT = (("Content-Type", "text/plain; charset=utf-8"),)
_DEAD = {"gone": 404, "broken": 500, "busy": 503}


class MadeWeb:
    """Address → made answer. ``now`` counts seconds since the web was new."""

    def __init__(self, plan: MadePlan | None = None, now: float = 0.0) -> None:
        self.plan = plan or MadePlan()
        self.now = now
        self._dice = Dice(self.plan.seed)
        self._ground = Ground(self.plan, self._dice)
        self._changes = Calendar(self._dice, self.plan.changes)
        self.hosts = frozenset(map(self._ground.name, range(self.plan.hosts)))

    # The books are read when the first page is asked for: that takes a second.

    @cached_property
    def _roads(self) -> Roads:
        known = books()
        text = [known[subject] for subject in self._ground.subjects]
        return Roads(self.plan, self._dice, self._ground, text)

    @cached_property
    def _writer(self) -> Writer:
        return Writer(self.plan, self._dice, self._ground, self._roads)

    @cached_property
    def _spots(self) -> Spots:
        return Spots(self.plan, self._dice, self._ground, self._roads, self._writer)

    @property
    def topics(self) -> tuple[str, ...]:
        """Labels, the most frequent first."""
        return self._ground.subjects[: self._ground.topics]

    @cached_property
    def islands(self) -> frozenset[str]:
        """Hosts that only bridges lead to."""
        return frozenset(map(self._ground.name, self._ground.islands))

    @cached_property
    def scattered(self) -> frozenset[str]:
        """Forums and blogs that nobody links to."""
        return frozenset(map(self._ground.name, self._ground.scattered))

    def homes(self, topic: str) -> tuple[str, ...]:
        """Hosts that are about a topic before all others: where a crawl may begin."""
        subject, ground = self.topics.index(topic), self._ground
        return tuple(ground.name(h) for h, main in enumerate(ground.main) if main == subject)

    @cached_property
    def mirrors(self) -> dict[str, str]:
        """Host → the host that it repeats."""
        name, pairs = self._ground.name, enumerate(self._ground.source)
        return {name(host): name(source) for host, source in pairs if host != source}

    def at(self, now: float) -> MadeWeb:
        """The same web at another time."""
        other = copy(self)  # what is alike at all times is shared
        other.now = now
        return other

    def find(self, url: str) -> Recorded | None:
        """The answer for an address in any spelling, any scheme."""
        known = canonical(url)
        return None if known is None else self.lookup(without_scheme(known))

    def lookup(self, key: str) -> Recorded | None:
        """The answer for ``host/path?query``; None: there is no such host or page."""
        spot = self._spots.find(key)
        return None if spot is None else self._answer(key, spot)

    def what(self, url: str) -> What | Literal["session"] | None:
        """What stands at an address; None for nothing."""
        spot = self._spot(url)
        return "session" if spot and spot.session else spot and spot.what

    def endless(self, url: str) -> bool:
        """Whether it is one of the traps' addresses: a month, or a page with a session number."""
        return self.what(url) in ("calendar", "session")

    def labels(self, url: str) -> tuple[str, ...]:
        """The topic of a page. Listings, traps, errors and session addresses have none, nor have
        the front pages of forums and blogs."""
        spot = self._spot(url)
        return self._labels(spot) if spot else ()

    def language(self, url: str) -> str:
        """What a page is written in, whatever it says itself; '' for what is no page."""
        spot = self._spot(url)
        return self._roads.language(spot.host, spot.number) if spot and spot.alive else ""

    def labelled(self, label: str) -> Iterator[str]:
        """Addresses of all pages of a topic; of a web that is not too large for it."""
        self._countable()
        if label not in self.topics:
            return
        subject, ground = self.topics.index(label), self._ground
        for host, size in enumerate(ground.sizes):
            slots = [slot for slot, what in enumerate(ground.slots(host)) if what == subject]
            bridges = ground.bridges(host) if ground.main[host] == subject else []
            for page in chain(*(range(slot, size, SLOTS) for slot in slots), bridges):
                if not ground.front(host, page):
                    yield self._url(host, page)

    def __iter__(self) -> Iterator[Recorded]:
        """The pages and bridges of a web that is not too large; no listings, no traps."""
        return (record for url in self.urls() if (record := self.find(url)))

    def urls(self) -> Iterator[str]:
        """Addresses of the same."""
        self._countable()
        for host, size in enumerate(self._ground.sizes):
            for page in chain(range(size), self._ground.bridges(host)):
                yield self._url(host, page)

    def __len__(self) -> int:
        ground = self._ground
        return sum(ground.sizes) + sum(len(ground.bridges(h)) for h in range(len(ground.sizes)))

    def page(self, number: int) -> Url:
        """The address of some page: any number does, so that pages can be drawn at random."""
        host = self._dice.number("any host", number) % self.plan.hosts
        return self._url(host, self._dice.number("any page", number) % self._ground.sizes[host])

    def latency(self, host: str) -> float:
        """Seconds until a host answers."""
        number = self._ground.host(host)
        median, spread = self.plan.latency_s, self.plan.latency_spread
        return self._dice.lognormal("latency", -1 if number is None else number, median, spread)

    def original(self, url: str) -> str:
        """The address of the page that a near copy repeats; of any other page, its own."""
        spot = self._spot(url)
        if spot is None or not spot.alive:
            return url
        host = self._ground.host(url.split("/")[2])
        page = self._roads.original(spot.host, spot.number)
        return url if host is None or page == spot.number else self._url(host, page)

    def rate(self, url: str) -> float:
        """Changes a day of a page; 0 for what never changes."""
        spot = self._spot(url)
        return self._changes.rate(self._place(spot)) if spot and spot.alive else 0.0

    def version(self, url: str, now: float | None = None) -> int:
        """How often a page has changed until ``now``, or until the time of this web."""
        spot = self._spot(url)
        return self._version(spot, self.now if now is None else now) if spot else 0

    def _spot(self, url: str) -> Spot | None:
        known = canonical(url)
        return self._spots.find(without_scheme(known)) if known else None

    def _url(self, host: int, page: int) -> Url:
        return Url(f"http://{self._ground.name(host)}{self._roads.path(host, page)}")

    def _labels(self, spot: Spot) -> tuple[str, ...]:
        if not spot.alive or spot.session or self._ground.front(spot.host, spot.number):
            return ()
        subject = self._ground.subject(spot.host, spot.number)
        return (self._ground.subjects[subject],) if subject < self._ground.topics else ()

    def _place(self, spot: Spot) -> int:
        # A near copy changes with its original: it would not stay one otherwise.
        page = self._roads.original(spot.host, spot.number)
        return self._dice.number("place", spot.host, page)

    def _version(self, spot: Spot, now: float) -> int:
        return self._changes.version(self._place(spot), now) if spot.alive and now > 0 else 0

    def _answer(self, key: str, spot: Spot) -> Recorded:
        url = "http://" + key
        if spot.what == "moved":
            name = key.partition("/")[0]
            goal = f"http://{name}{self._roads.path(spot.host, spot.part)}"
            return Recorded(url, 301, (("Location", goal),), b"")
        status = _DEAD.get(spot.what, 200)
        if spot.what == "busy" and self._dice.number("busy", *spot[1:3], self._minute()) & 1:
            status = 200
        headers = _TEXT if spot.what == "robots" else _HTML
        body = self._body(spot) if status == 200 else b"<!DOCTYPE html><title>Sorry</title>\n"
        return Recorded(url, status, headers, pack(body), self._labels(spot))

    def _body(self, spot: Spot) -> bytes:
        writer, host, mark = self._writer, spot.host, self._mark(spot)
        match spot.what:
            case "listing":
                return writer.listing(host, spot.number, spot.part, mark)
            case "calendar":
                return writer.month(host, spot.number, spot.part, mark)
            case "robots":
                return b"User-agent: *\nDisallow: /private/\n"
            case "about" | "private":
                return writer.plain(host, spot.what.capitalize(), "<p>Nothing here.</p>", mark)
        return writer.page(host, spot.number, self._version(spot, self.now), mark)

    def _mark(self, spot: Spot) -> Mark:
        """Puts session numbers into links: into some, and into all once one was followed."""
        if not self._spots.sessions(spot.host):
            return str
        seed = int(spot.session or "0", 16)
        chance = self._dice.stream("session", spot.host, spot.number, spot.part, seed).random

        def mark(path: str) -> str:
            number = f"{int(chance() * 2**32):08x}"
            if not (spot.session or chance() < 0.3) or path.startswith(("/cal", "/about")):
                return path
            return f"{path}{'&' if '?' in path else '?'}sid={number}"

        return mark

    def _minute(self) -> int:
        return int(self.now // _BUSY_S)

    def _countable(self) -> None:
        if self.plan.pages > _COUNTABLE:
            raise ConfigError(
                f"a made web of {self.plan.pages:,} pages is not listed page by page; "
                f"up to {_COUNTABLE:,} are"
            )
