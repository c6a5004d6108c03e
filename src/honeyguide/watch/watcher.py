"""How a watch stands, for those who look on."""

from __future__ import annotations

import asyncio
import heapq
import os
import time
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import aclosing
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, NamedTuple

from honeyguide.config.settings import WatchSettings
from honeyguide.store.labels import EffectiveLabels
from honeyguide.store.store import Store
from honeyguide.store.watch_list import WatchedRow
from honeyguide.types import Url
from honeyguide.url import host_of
from honeyguide.watch import record
from honeyguide.watch.compare.revisit_comparison import PreviousVersion, RevisitComparison
from honeyguide.watch.compare.volatile import VolatileMemory
from honeyguide.watch.discover import DiscoveryQueue
from honeyguide.watch.notify.delivery import NotifyLoop
from honeyguide.watch.record import RevisitRecord
from honeyguide.watch.schedule.change_rate import estimate_rate
from honeyguide.watch.schedule.schedule import Schedule
from honeyguide.watch.state import RevisitState, VisitPurpose
from honeyguide.watch.visit.flow import RevisitFlow
from honeyguide.watch.visit.revisit import DuePage, RevisitOutcome

RUNNING_FACT = ("watch", "process")
"""The fact under which a watch keeps its process's number."""


class WatchProgress(NamedTuple):
    """Of one run."""

    watched: int = 0
    visits: int = 0
    unchanged: int = 0
    changes: int = 0
    """That were told of as such, of any kind."""
    failures: int = 0
    discovered: int = 0
    """Relevant pages that were not watched before."""
    told: int = 0
    """Messages sent."""
    next_at: float | None = None
    now: Url | None = None
    trouble: str = ""

    def after_visit(
        self, outcome: RevisitOutcome[Any], made: RevisitRecord, watched: int
    ) -> WatchProgress:
        """Once a page came back."""
        lost = outcome.state in ("failed", "aside") and made.change is None
        looked = outcome.state in ("unchanged", "changed") and outcome.page.digest != b""
        why = outcome.failure.detail or outcome.failure.kind if outcome.failure else ""
        return self._replace(
            watched=watched,
            visits=self.visits + (outcome.state != "later"),
            unchanged=self.unchanged + (looked and made.change is None and made.held is None),
            changes=self.changes + (made.change is not None),
            failures=self.failures + lost,
            now=outcome.page.url,
            trouble=f"{outcome.page.url}: {why or outcome.status}" if lost else self.trouble,
        )


# --------------------------------------------------------------------------------------------------
# The watch: due pages go out, what came of them is compared, written down and told.
#
#     schedule ──due──▶ flow (fetch, 304, digest, compare) ──outcome──▶ record ──▶ store
#         ▲                                                               │        outbox ──▶ people
#         └────────────────── visited, rate ──────────────────────────────┘
#
# One page travels as :class:`DuePage`, :class:`RevisitOutcome` and :class:`Record`. A version, its
# change and who is to be told of it are one transaction; what is not committed is visited again.
# --------------------------------------------------------------------------------------------------


_LISTEN_S = 1.0
"""How often people's words about the list are listened for …"""
_ENTER_S = 30.0
"""… and new relevant pages looked for."""
_TIDY_S = 86_400.0
_ROUND_LINKS = 50
"""New links that a round over all pages follows."""


@dataclass
class Watcher:
    """Use :func:`honeyguide.watch.build.open_watch`. One run at a time."""

    store: Store
    settings: WatchSettings
    flow: RevisitFlow[PreviousVersion, RevisitComparison]
    schedule: Schedule
    state: RevisitState
    discoveries: DiscoveryQueue
    in_scope: Callable[[Url], bool]
    """Whether an address lies within the collection's fence."""
    notify_loop: NotifyLoop
    labels: Callable[[], EffectiveLabels]
    clock: Callable[[], float] = time.time
    progress: WatchProgress = field(default_factory=lambda: WatchProgress())
    _look_queue: list[tuple[float, Url]] = field(default_factory=list)
    _last_edit: int = 0
    _last_entered: int = 0
    _stopping: bool = False
    _woken: asyncio.Event = field(default_factory=asyncio.Event)

    def stop(self) -> None:
        """Begin nothing new; what is under way is finished and written."""
        self._stopping = True
        self.flow.stop()
        self._woken.set()

    async def run(self, *, once: bool = False, hours: float = 0.0) -> WatchProgress:
        """Until stopped, for so many hours, or ``once`` round all pages, whatever the budget."""
        until = self.clock() + hours * 3_600 if hours else float("inf")
        self._enter_relevant(self.clock())
        pages = self._round_pages(self._all_pages()) if once else self._scheduled_pages(until)
        self._load_discoveries()
        # Whoever looks from outside can tell it from a crawl, which holds the same lock.
        self.store.watch_facts.set(*RUNNING_FACT, os.getpid())
        over = asyncio.Event()
        telling = asyncio.create_task(self.notify_loop.run(over))
        try:
            async with aclosing(self.flow.run(pages)) as outcomes:
                async for outcome in outcomes:
                    self._take_outcome(outcome)
                    self.state.commit_if_due()
                    self._woken.set()
        finally:
            over.set()
            await telling
            self.state.commit()
            self._save_discoveries()
        await self.notify_loop.deliver_all()
        self.store.versions.thin_out(record.retention_of(self.settings), self.clock())
        trouble = self.notify_loop.trouble or self.progress.trouble
        return self.progress._replace(told=self.notify_loop.sent, trouble=trouble)

    # -- pages out -------------------------------------------------------------------------------

    def _all_pages(self) -> list[Url]:
        """Every page, those first that were not seen for longest."""
        rows = ((row.visited or 0.0, row.url) for row in self.store.watched.iter_rows())
        return [url for _, url in sorted(rows)]

    async def _round_pages(self, urls: Iterable[Url]) -> AsyncIterator[DuePage]:
        for url in urls:
            if self._stopping:
                return
            if (due := self.state.due_page(url)) is not None:
                yield due
        room = _ROUND_LINKS if self.settings.discover else 0
        while not self._stopping:
            if room and (link := self._next_discovery()) is not None:
                room -= 1
                yield link
            elif self.state.under_way or self._look_queue or self.discoveries.under_way:
                async for due in self._second_looks():
                    yield due
            else:
                return

    async def _second_looks(self) -> AsyncIterator[DuePage]:
        now = self.clock()
        while self._look_queue and self._look_queue[0][0] <= now:
            _, url = heapq.heappop(self._look_queue)
            if (due := self.state.due_page(url, VisitPurpose.SECOND_LOOK)) is not None:
                yield due
        await self._sleep_until_woken(
            self._look_queue[0][0] - now if self._look_queue else _LISTEN_S
        )

    async def _scheduled_pages(self, until: float) -> AsyncIterator[DuePage]:
        listened = entered = tidied = self.clock()
        while not self._stopping:
            now = self.clock()
            if now >= until:
                return
            if now - listened >= _LISTEN_S:
                listened = now
                self._apply_list_edits()
            if now - entered >= _ENTER_S:
                entered = now
                self._enter_relevant(now)
            if now - tidied >= _TIDY_S:
                tidied = now
                self.store.versions.thin_out(record.retention_of(self.settings), now)
            if (due := self._next_due(now)) is not None:
                yield due
                continue
            self.state.commit_if_due()
            wake = self.schedule.wake_at(now)
            self.progress = self.progress._replace(next_at=wake)
            ahead = [t for t in (wake, self._look_queue[0][0] if self._look_queue else None) if t]
            await self._sleep_until_woken(min([_LISTEN_S, *(t - now for t in ahead)]))

    def _next_due(self, now: float) -> DuePage | None:
        if self._look_queue and self._look_queue[0][0] <= now:
            _, again = heapq.heappop(self._look_queue)
            self.schedule.spent(now)
            return self.state.due_page(again, VisitPurpose.SECOND_LOOK)
        spend = self.schedule.choose_spending(now, self.discoveries.best_score)
        if spend == "discover" and (link := self._next_discovery()) is not None:
            self.schedule.discovered(now)
            return link
        if spend == "revisit" and (url := self.schedule.due(now)) is not None:
            if (due := self.state.due_page(url)) is not None:
                return due
            if url in self.state.under_way:  # its second look takes long
                self.schedule.failed(url, now, again=60.0, asked=False)
            else:
                self.schedule.remove(url)
        return None

    def _next_discovery(self) -> DuePage | None:
        """The best link that nobody has followed."""
        url = self.discoveries.take_best()
        return None if url is None else DuePage(url, VisitPurpose.DISCOVER)

    def _load_discoveries(self) -> None:
        """Links that an earlier run found and did not follow."""
        self.discoveries.load(self.store.watch_facts.get("watch", "links"))

    def _save_discoveries(self) -> None:
        self.store.watch_facts.set("watch", "links", self.discoveries.dump())

    async def _sleep_until_woken(self, seconds: float) -> None:
        self._woken.clear()
        try:
            async with asyncio.timeout(max(seconds, 0.005)):
                await self._woken.wait()
        except TimeoutError:
            pass

    # -- outcomes in -----------------------------------------------------------------------------

    def _take_outcome(self, outcome: RevisitOutcome[RevisitComparison]) -> None:
        if outcome.page.key == VisitPurpose.DISCOVER:
            self._take_discovery(outcome)
            return
        url, now = outcome.page.url, self.clock()
        made, plan = self.state.take_outcome(outcome)
        self.progress = self.progress.after_visit(outcome, made, len(self.schedule))
        row, response = made.row, outcome.response
        if plan.moved is not None:
            self.state.commit()
            self._follow_move(row, plan.moved, outcome.at)
        if plan.look_again:
            heapq.heappush(self._look_queue, (now + self.settings.second_look_s, url))
        added = made.change.links_added if made.change is not None else ()
        if self.settings.discover and response is not None and added:
            self.discoveries.offer_links(response, 1.0, frozenset(added))
        if row.state != "watched":
            self.schedule.remove(url)
        elif url in self.schedule and outcome.page.key != VisitPurpose.SECOND_LOOK:
            if plan.seen:
                self.schedule.visited(url, now, rate=estimate_rate(row.rate))
            else:
                self.schedule.failed(url, now, again=plan.retry_in_s, asked=plan.asked)

    def _take_discovery(self, outcome: RevisitOutcome[RevisitComparison]) -> None:
        """A link that nobody had followed: if it leads to a relevant page, that is news."""
        visit, tally = self.discoveries.judge_arrival(outcome), self.progress
        room = len(self.schedule) < self.settings.pages
        row = self.state.admit_discovery(visit, outcome, room) if visit is not None else None
        new = row is not None
        if row is not None:
            self._schedule_row(row)
        self.progress = tally._replace(
            visits=tally.visits + 1,
            discovered=tally.discovered + new,
            changes=tally.changes + new,
        )

    def _follow_move(self, row: WatchedRow, target: Url, at: float) -> None:
        """A page that moved is watched where it is now, if the fence allows and there is room."""
        if not self.in_scope(target) or len(self.schedule) >= self.settings.pages:
            return
        weight = row.weight if host_of(target) == host_of(row.url) else 1.0
        self.store.watched.add_pages([target], "crawl", at, weight, f"moved from {row.url}")
        now = self.store.watched.find_row(target)
        if now is not None and now.state == "watched":
            self.store.watched.edit_page(row.url, state="gone")
            self._apply_list_edits()

    # -- the store -------------------------------------------------------------------------------

    def _apply_list_edits(self) -> None:
        """What people said of the list since: added, paused, weighed."""
        while (
            last := (found := self.store.watched.edited_after(self._last_edit)).last
        ) > self._last_edit:
            self._last_edit = last
            for row in found.rows:
                if row.state == "watched":
                    self._schedule_row(row)
                elif row.url in self.schedule:
                    self.schedule.remove(row.url)
        self.progress = self.progress._replace(watched=len(self.schedule))

    def _enter_relevant(self, now: float) -> None:
        """New relevant pages enter the watch by themselves; those that people disown leave."""
        said, room = self.labels(), max(self.settings.pages - len(self.schedule), 0)
        found = list(islice(self.store.watched.pages_to_enter(self._last_entered, said), room))
        with self.store.transaction():
            self.store.watched.add_pages((row.url for row in found), "crawl", now)
            for left in list(self.store.watched.pages_to_leave(said)):
                self.store.watched.edit_page(left.url, state="removed")
        self._last_entered = max((self._last_entered, *(row.id for row in found)))
        self._apply_list_edits()

    def _schedule_row(self, row: WatchedRow) -> None:
        if row.masks:
            self.state.sample_masks(row.url, VolatileMemory.from_json(row.masks))
        record.schedule_page(
            self.schedule, row, row.rate or self.state.priors.prior_for(row.url), self.clock()
        )
