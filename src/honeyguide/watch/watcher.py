"""The watch: due pages go out, what came of them is compared, written down and told.

    schedule ──due──▶ flow (fetch, 304, digest, compare) ──outcome──▶ record ──▶ store
        ▲                                                               │        outbox ──▶ people
        └────────────────── visited, rate ──────────────────────────────┘

One page travels as :class:`Due`, :class:`Outcome` and :class:`Record`. A version, its change and
who is to be told of it are one transaction; what is not committed is visited again.
"""

from __future__ import annotations

import asyncio
import heapq
import os
import time
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import aclosing
from dataclasses import dataclass, field
from itertools import islice

from honeyguide.config import WatchSettings
from honeyguide.store.effective_labels import Said
from honeyguide.store.store import Store
from honeyguide.store.watched_rows import WatchedRow
from honeyguide.types import Url
from honeyguide.url import host
from honeyguide.watch import record
from honeyguide.watch.compare.step import Known, Seen
from honeyguide.watch.compare.volatile import Memory
from honeyguide.watch.discover import Discoveries
from honeyguide.watch.progress import RUNNING, Tally
from honeyguide.watch.state import Book, Errand
from honeyguide.watch.telling.delivery_loop import Teller
from honeyguide.watch.visit.due import Due, Outcome
from honeyguide.watch.visit.flow import Flow
from honeyguide.watch.when.rates import rate
from honeyguide.watch.when.schedule import Schedule

_LISTEN_S = 1.0
"""How often people's words about the list are listened for …"""
_ENTER_S = 30.0
"""… and new relevant pages looked for."""
_TIDY_S = 86_400.0
_ROUND_LINKS = 50
"""New links that a round over all pages follows."""


@dataclass
class Watch:
    """Use :func:`honeyguide.watch.build.opened`. One run at a time."""

    store: Store
    settings: WatchSettings
    flow: Flow[Known, Seen]
    schedule: Schedule
    book: Book
    discoveries: Discoveries
    fits: Callable[[Url], bool]
    """Whether an address lies within the collection's fence."""
    teller: Teller
    said: Callable[[], Said]
    clock: Callable[[], float] = time.time
    tally: Tally = field(default_factory=lambda: Tally())
    _again: list[tuple[float, Url]] = field(default_factory=list)
    _heard: int = 0
    _entered: int = 0
    _stopping: bool = False
    _news: asyncio.Event = field(default_factory=asyncio.Event)

    def stop(self) -> None:
        """Begin nothing new; what is under way is finished and written."""
        self._stopping = True
        self.flow.stop()
        self._news.set()

    async def run(self, *, once: bool = False, hours: float = 0.0) -> Tally:
        """Until stopped, for so many hours, or ``once`` round all pages, whatever the budget."""
        until = self.clock() + hours * 3_600 if hours else float("inf")
        self._enter(self.clock())
        pages = self._round(self._all()) if once else self._forever(until)
        self._recall()
        # Whoever looks from outside can tell it from a crawl, which holds the same lock.
        self.store.facts.set(*RUNNING, os.getpid())
        over = asyncio.Event()
        telling = asyncio.create_task(self.teller.run(over))
        try:
            async with aclosing(self.flow.run(pages)) as outcomes:
                async for outcome in outcomes:
                    self._take(outcome)
                    self.book.settle()
                    self._news.set()
        finally:
            over.set()
            await telling
            self.book.commit()
            self._remember()
        await self.teller.tell()
        self.store.versions.thin(record.retention(self.settings), self.clock())
        trouble = self.teller.trouble or self.tally.trouble
        return self.tally._replace(told=self.teller.sent, trouble=trouble)

    # -- pages out -------------------------------------------------------------------------------

    def _all(self) -> list[Url]:
        """Every page, those first that were not seen for longest."""
        rows = ((row.visited or 0.0, row.url) for row in self.store.watched.each())
        return [url for _, url in sorted(rows)]

    async def _round(self, urls: Iterable[Url]) -> AsyncIterator[Due]:
        for url in urls:
            if self._stopping:
                return
            if (due := self.book.due(url)) is not None:
                yield due
        room = _ROUND_LINKS if self.settings.discover else 0
        while not self._stopping:
            if room and (link := self._discovery()) is not None:
                room -= 1
                yield link
            elif self.book.under_way or self._again or self.discoveries.under_way:
                async for due in self._repeats():
                    yield due
            else:
                return

    async def _repeats(self) -> AsyncIterator[Due]:
        now = self.clock()
        while self._again and self._again[0][0] <= now:
            _, url = heapq.heappop(self._again)
            if (due := self.book.due(url, Errand.AGAIN)) is not None:
                yield due
        await self._nap(self._again[0][0] - now if self._again else _LISTEN_S)

    async def _forever(self, until: float) -> AsyncIterator[Due]:
        listened = entered = tidied = self.clock()
        while not self._stopping:
            now = self.clock()
            if now >= until:
                return
            if now - listened >= _LISTEN_S:
                listened = now
                self._listen()
            if now - entered >= _ENTER_S:
                entered = now
                self._enter(now)
            if now - tidied >= _TIDY_S:
                tidied = now
                self.store.versions.thin(record.retention(self.settings), now)
            if (due := self._next(now)) is not None:
                yield due
                continue
            self.book.settle()
            wake = self.schedule.wake_at(now)
            self.tally = self.tally._replace(next_at=wake)
            ahead = [t for t in (wake, self._again[0][0] if self._again else None) if t]
            await self._nap(min([_LISTEN_S, *(t - now for t in ahead)]))

    def _next(self, now: float) -> Due | None:
        if self._again and self._again[0][0] <= now:
            _, again = heapq.heappop(self._again)
            self.schedule.spent(now)
            return self.book.due(again, Errand.AGAIN)
        spend = self.schedule.spend(now, self.discoveries.best)
        if spend == "discover" and (link := self._discovery()) is not None:
            self.schedule.discovered(now)
            return link
        if spend == "revisit" and (url := self.schedule.due(now)) is not None:
            if (due := self.book.due(url)) is not None:
                return due
            if url in self.book.under_way:  # its second look takes long
                self.schedule.failed(url, now, again=60.0, asked=False)
            else:
                self.schedule.remove(url)
        return None

    def _discovery(self) -> Due | None:
        """The best link that nobody has followed."""
        url = self.discoveries.take()
        return None if url is None else Due(url, Errand.DISCOVER)

    def _recall(self) -> None:
        """Links that an earlier run found and did not follow."""
        self.discoveries.load(self.store.facts.get("watch", "links"))

    def _remember(self) -> None:
        self.store.facts.set("watch", "links", self.discoveries.dump())

    async def _nap(self, seconds: float) -> None:
        self._news.clear()
        try:
            async with asyncio.timeout(max(seconds, 0.005)):
                await self._news.wait()
        except TimeoutError:
            pass

    # -- outcomes in -----------------------------------------------------------------------------

    def _take(self, outcome: Outcome[Seen]) -> None:
        if outcome.page.key == Errand.DISCOVER:
            self._discovered(outcome)
            return
        url, now = outcome.page.url, self.clock()
        made, plan = self.book.take(outcome)
        self.tally = self.tally.after(outcome, made, len(self.schedule))
        row, response = made.row, outcome.response
        if plan.moved is not None:
            self.book.commit()
            self._follow(row, plan.moved, outcome.at)
        if plan.look_again:
            heapq.heappush(self._again, (now + self.settings.second_look_s, url))
        added = made.change.links_added if made.change is not None else ()
        if self.settings.discover and response is not None and added:
            self.discoveries.offer(response, 1.0, frozenset(added))
        if row.state != "watched":
            self.schedule.remove(url)
        elif url in self.schedule and outcome.page.key != Errand.AGAIN:
            if plan.seen:
                self.schedule.visited(url, now, rate=rate(row.rate))
            else:
                self.schedule.failed(url, now, again=plan.again, asked=plan.asked)

    def _discovered(self, outcome: Outcome[Seen]) -> None:
        """A link that nobody had followed: if it leads to a relevant page, that is news."""
        visit, tally = self.discoveries.arrived(outcome), self.tally
        room = len(self.schedule) < self.settings.pages
        row = self.book.admit(visit, outcome, room) if visit is not None else None
        new = row is not None
        if row is not None:
            self._planned(row)
        self.tally = tally._replace(
            visits=tally.visits + 1,
            discovered=tally.discovered + new,
            changes=tally.changes + new,
        )

    def _follow(self, row: WatchedRow, target: Url, at: float) -> None:
        """A page that moved is watched where it is now, if the fence allows and there is room."""
        if not self.fits(target) or len(self.schedule) >= self.settings.pages:
            return
        weight = row.weight if host(target) == host(row.url) else 1.0
        self.store.watched.add([target], "crawl", at, weight, f"moved from {row.url}")
        now = self.store.watched.find(target)
        if now is not None and now.state == "watched":
            self.store.watched.alter(row.url, state="gone")
            self._listen()

    # -- the store -------------------------------------------------------------------------------

    def _listen(self) -> None:
        """What people said of the list since: added, paused, weighed."""
        while (last := (found := self.store.watched.edited(self._heard)).last) > self._heard:
            self._heard = last
            for row in found.rows:
                if row.state == "watched":
                    self._planned(row)
                elif row.url in self.schedule:
                    self.schedule.remove(row.url)
        self.tally = self.tally._replace(watched=len(self.schedule))

    def _enter(self, now: float) -> None:
        """New relevant pages enter the watch by themselves; those that people disown leave."""
        said, room = self.said(), max(self.settings.pages - len(self.schedule), 0)
        found = list(islice(self.store.watched.enter(self._entered, said), room))
        with self.store.transaction():
            self.store.watched.add((row.url for row in found), "crawl", now)
            for left in list(self.store.watched.leave(said)):
                self.store.watched.remove(left.url)
        self._entered = max((self._entered, *(row.id for row in found)))
        self._listen()

    def _planned(self, row: WatchedRow) -> None:
        if row.masks:
            self.book.sample(row.url, Memory.from_json(row.masks))
        record.plan(self.schedule, row, row.rate or self.book.priors.of(row.url), self.clock())
