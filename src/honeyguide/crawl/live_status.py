"""``live.json``: what a running crawl does now, for the studio and other processes.

The pages that a crawl found are in its store, but what it is about to do is only in its process. So
it writes that every two seconds to a small file beside the store, which is replaced as a whole.
Readers must look at its time: a file that is no longer written shows an old state.
"""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Callable
from math import isfinite
from pathlib import Path
from typing import Annotated, Any, Protocol

import msgspec
from msgspec import Meta

from honeyguide.crawl.loop import CrawlLoop
from honeyguide.errors import StoreError
from honeyguide.frontier.frontier import HostView, LinkFrontier
from honeyguide.net.politeness import PolitenessGate
from honeyguide.run_status import Count, RunStatus, visit_rate
from honeyguide.store.collection_files import open_regular
from honeyguide.types import Candidate
from honeyguide.url import domain_of

LIVE_FILE = "live.json"
LIVE_INTERVAL_S = 2.0
"""Seconds between two writes."""
_SCAN_SHARE = 1000.0
"""Looking through the frontier takes at most a thousandth of the time: after a look that took
long, the next one waits."""
_MAX_FILE_BYTES = 1_000_000
"""Bytes of a file that is read."""
_MAX_HOSTS, _MAX_LINKS, _MAX_FETCHES, _MAX_BINS = 60, 20, 64, 100
"""Entries that are written, and so the most that are read: the file may be from a stranger."""
_MAX_TEXT = 500
"""Characters of an address or an anchor."""
_RATE_WINDOW_S = 30.0
"""The rate is that of so many last seconds."""


class ActiveFetch(msgspec.Struct, frozen=True):
    url: str
    score: float
    since: float
    """When it was first seen under way."""


class TopWaitingLink(msgspec.Struct, frozen=True):
    """A link in front of the frontier."""

    url: str
    anchor: str
    score: float
    source: str = ""


class WaitingHost(msgspec.Struct, frozen=True):
    host: str
    waiting: Count
    state: str
    """``asked``, ``resting``, ``left alone``, or ``ready``."""
    until: float | None = None
    """When it may be asked again; None: now, or nobody knows."""
    why: str = ""
    delay: float | None = None
    """Seconds that its robots.txt asks for between two requests."""


class LiveFrontier(msgspec.Struct, frozen=True):
    at: float = 0.0
    waiting: Count = 0
    scores: Annotated[list[Count], Meta(max_length=_MAX_BINS)] = []
    """Links by score, in equal steps from 0 to 1."""
    hosts: Count = 0
    busy: Count = 0
    resting: Count = 0
    parked: Count = 0
    most: Annotated[list[WaitingHost], Meta(max_length=_MAX_HOSTS)] = []
    top: Annotated[list[TopWaitingLink], Meta(max_length=_MAX_LINKS)] = []
    """The best links, if every host could be asked now."""


class LiveStatus(RunStatus, frozen=True, kw_only=True):
    """What the live file holds."""

    at: float
    pid: int
    began: float
    budget: Count | None = None
    """The run ends at so many visits; 0: at no number of them; None: not known."""
    rate: float = 0.0
    """Visits per second lately."""
    ended: str = ""
    """Why the run ended; '': it goes on, or was killed."""
    fetching: Annotated[list[ActiveFetch], Meta(max_length=_MAX_FETCHES)] = msgspec.field(
        default_factory=list
    )
    frontier: LiveFrontier = LiveFrontier()


_DECODER = msgspec.json.Decoder(LiveStatus)


def read_live_status(folder: Path) -> LiveStatus | None:
    """The last status that a crawl of this collection wrote; None if none can be read."""
    try:
        with os.fdopen(open_regular(folder / LIVE_FILE, os.O_RDONLY), "rb") as file:
            data = file.read(_MAX_FILE_BYTES + 1)
        return _DECODER.decode(data) if len(data) <= _MAX_FILE_BYTES else None
    except (OSError, StoreError, msgspec.MsgspecError, UnicodeError, RecursionError):
        return None


class RunningCrawl(Protocol):
    """A crawl loop, or a coordinator of several."""

    def progress(self) -> RunStatus: ...

    def under_way(self) -> list[Candidate]: ...


class LiveStatusWriter:
    """Writes the status of one run."""

    def __init__(
        self, folder: Path, clock: Callable[[], float] = time.time, budget: int | None = None
    ) -> None:
        self._folder = folder
        self._clock = clock
        self._budget = budget
        self._began = clock()
        self._counted: deque[tuple[float, int]] = deque(
            maxlen=int(_RATE_WINDOW_S / LIVE_INTERVAL_S) + 1
        )
        self._since: dict[str, float] = {}
        self._frontier = LiveFrontier()
        self._look_at = 0.0

    def write_status(self, crawl: RunningCrawl, ended: str = "") -> None:
        """Never fails: a crawl does not end because its status cannot be written."""
        part = self._folder / f".{LIVE_FILE}.part"
        try:
            data = msgspec.json.encode(self.current_status(crawl, ended))
            flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
            with os.fdopen(open_regular(part, flags), "wb") as file:
                file.write(data)
            part.replace(self._folder / LIVE_FILE)
        except (OSError, StoreError):
            return

    def current_status(self, crawl: RunningCrawl, ended: str = "") -> LiveStatus:
        now, progress = self._clock(), crawl.progress()
        self._counted.append((now, progress.visits))
        then, before = self._counted[0]
        under_way = crawl.under_way()
        urls = [candidate.link.url for candidate in under_way]
        self._since = {url: self._since.get(url, now) for url in urls}
        if now >= self._look_at or ended:
            self._scan_frontier(crawl, progress.waiting, now)
        counts: dict[str, Any] = {
            name: _safe_text(value) if isinstance(value, str) else value
            for name, value in msgspec.structs.asdict(progress).items()
        }
        return LiveStatus(
            **counts,
            at=now,
            pid=os.getpid(),
            began=self._began,
            budget=self._budget,
            rate=round(visit_rate(progress.visits - before, now - then), 3),
            ended=ended,
            fetching=[
                ActiveFetch(_safe_text(url), round(candidate.score, 4), self._since[url])
                for url, candidate in zip(urls[:_MAX_FETCHES], under_way, strict=False)
            ],
            frontier=self._frontier,
        )

    def _scan_frontier(self, crawl: RunningCrawl, waiting: int, now: float) -> None:
        if not (isinstance(crawl, CrawlLoop) and isinstance(crawl.frontier, LinkFrontier)):
            # Several shards, or another kind of frontier: nobody sees all waiting links.
            self._frontier = LiveFrontier(at=now, waiting=waiting)
            return
        began = time.thread_time()
        seen = crawl.frontier.get_overview(now, _MAX_HOSTS, _MAX_LINKS)
        self._frontier = LiveFrontier(
            at=now,
            waiting=seen.waiting,
            scores=list(seen.scores),
            hosts=seen.hosts,
            busy=seen.busy,
            resting=seen.resting,
            parked=seen.parked,
            most=[_host_status(view, crawl.politeness, now) for view in seen.fullest_hosts],
            top=[
                TopWaitingLink(
                    _safe_text(link.url),
                    _safe_text(link.anchor),
                    round(score, 4),
                    _safe_text(link.source),
                )
                for link, score in seen.best_links
            ],
        )
        self._look_at = now + _SCAN_SHARE * (time.thread_time() - began)


def _host_status(view: HostView, politeness: PolitenessGate, now: float) -> WaitingHost:
    rules = next(
        (
            found
            for scheme in ("https", "http")
            if (found := politeness.robots.get_rules(f"{scheme}://{view.host}", now))
        ),
        None,
    )
    delay = rules.crawl_delay if rules is not None else None
    state, until, why = "ready", None, ""
    if view.busy:
        state = "asked"
    elif view.parked:
        state, until = "left alone", view.parked if isfinite(view.parked) else None
        if politeness.quota.is_spent(domain_of(view.host)):
            why = "its domain reached its limit of visits (scope.pages_per_domain)"
        elif rules is not None and rules.closed:
            why = "its robots.txt could not be fetched"
        elif rules is not None and (slow := politeness.slowness_reason(rules)):
            why = slow
        else:
            why = "it failed again and again, or asked for a pause"
    elif view.rests_until > now:
        state, until = "resting", view.rests_until
        why = "delay between two requests"
    return WaitingHost(_safe_text(view.host), view.waiting, state, until, why, delay)


def _safe_text(text: str | None) -> str:
    return (text or "")[:_MAX_TEXT].encode("utf-8", "replace").decode()
