"""What a site saw: one hit per request, and what hits say about politeness."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from math import inf

Headers = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Call:
    """One request as it arrived."""

    method: str
    host: str
    """Of the request target, else of the Host header, else the address connected to; no port."""
    path: str
    """With its query."""
    headers: Headers
    proxied: bool
    """It came in absolute form, as to a forward proxy."""

    def header(self, name: str) -> str:
        """The first header of that name, or ''."""
        return first(self.headers, name)


@dataclass(frozen=True, slots=True)
class Hit:
    """One request and when it was under way, as the server saw it."""

    call: Call
    connection: int
    received: float
    """Monotonic time at which the request's head was complete."""
    wall: float
    """The same instant in Unix time."""
    finished: float = inf
    """Monotonic time of the last byte, or of the disconnection; infinity: still under way."""
    status: int = 0
    """What was answered; 0 where that was no HTTP."""
    sent: Headers = ()
    """The headers answered with."""

    @property
    def host(self) -> str:
        return self.call.host

    @property
    def path(self) -> str:
        return self.call.path

    @property
    def wall_finished(self) -> float:
        return self.wall + (self.finished - self.received)


class Book:
    """Every hit of a site in order of arrival; lives in the site's own thread."""

    def __init__(self) -> None:
        self.hits: list[Hit] = []
        self.faults: list[Exception] = []
        """What behaviours raised: mistakes of a test, shown when the site closes."""

    def begin(self, call: Call, connection: int) -> int:
        """Note a request; the number under which its end is noted."""
        self.hits.append(Hit(call, connection, time.monotonic(), time.time()))
        return len(self.hits) - 1

    def end(self, number: int, status: int, sent: Headers) -> None:
        hit = self.hits[number]
        self.hits[number] = replace(hit, finished=time.monotonic(), status=status, sent=sent)


def first(headers: Headers, name: str) -> str:
    wanted = name.lower()
    return next((value for key, value in headers if key.lower() == wanted), "")


def by_host(hits: Iterable[Hit]) -> dict[str, list[Hit]]:
    """Each host's hits in order of arrival."""
    hosts: dict[str, list[Hit]] = {}
    for hit in sorted(hits, key=lambda hit: hit.received):
        hosts.setdefault(hit.host, []).append(hit)
    return hosts


def overlaps(hits: Iterable[Hit]) -> list[tuple[Hit, Hit]]:
    """Pairs of requests to one host that were under way at once."""
    return [
        (earlier, later)
        for same in by_host(hits).values()
        for earlier, later in _pairs(same)
        if later.received < earlier.finished
    ]


def gaps(hits: Iterable[Hit]) -> list[float]:
    """Seconds from the end of all earlier requests of one host to the start of the next."""
    (same,) = by_host(hits).values() or ([],)
    return [later.received - earlier.finished for earlier, later in _pairs(same)]


def _pairs(same: list[Hit]) -> Iterator[tuple[Hit, Hit]]:
    """Every hit with the earlier one that ended last."""
    last = None
    for hit in same:
        if last is not None:
            yield last, hit
        if last is None or hit.finished > last.finished:
            last = hit
