"""The main loop of a watch, its progress, and discovery of new links on changed pages."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncIterator, Callable, Collection, Iterable
from contextlib import aclosing, suppress
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush, nsmallest
from itertools import islice
from typing import Any, NamedTuple

from honeyguide.config.settings import WatchSettings
from honeyguide.errors import ParseError
from honeyguide.parse.read import parse_page
from honeyguide.protocols import Strategy
from honeyguide.store.labels import EffectiveLabels
from honeyguide.store.store import Store
from honeyguide.store.watch_list import WatchedRow
from honeyguide.types import Link, Page, Response, Url, Visit
from honeyguide.url import canonical_url, host_of
from honeyguide.watch import record
from honeyguide.watch.compare.revisit_comparison import PreviousVersion, RevisitComparison
from honeyguide.watch.compare.volatile import VolatileMemory
from honeyguide.watch.notify.delivery import NotifyLoop
from honeyguide.watch.record import RevisitRecord
from honeyguide.watch.revisit_flow import DuePage, RevisitFlow, RevisitOutcome
from honeyguide.watch.schedule.change_rate import estimate_rate
from honeyguide.watch.schedule.schedule import Schedule
from honeyguide.watch.state import RevisitState, VisitPurpose

_MAX_LINKS = 2_000
"""Links that are remembered; the worst are forgotten first."""
_PER_PAGE = 50
"""New links of one page that are looked at: more are no news but another page."""
_KEPT_LINKS = 500
"""Links that outlive a run."""
_MAX_OFFERED = 100_000
"""Addresses that are known to have been offered."""


@dataclass
class DiscoveryQueue:
    """Links to pages that nobody has seen, the best first."""

    strategy: Strategy
    generation: int
    known: Callable[[Url], bool]
    """Visited or watched already."""
    fits: Callable[[Url], bool]
    """Within the collection's scope."""
    under_way: dict[Url, tuple[Link, float]] = field(default_factory=dict)
    """Links that were taken, with their scores."""
    _heap: list[tuple[float, Url, Link]] = field(default_factory=list)
    _offered: dict[Url, None] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self._heap)

    @property
    def best_score(self) -> float:
        """What the best of them is worth; 0: there is none."""
        return -self._heap[0][0] if self._heap else 0.0

    def offer_links(self, response: Response, verdict: float, added: Collection[Url]) -> None:
        """A watched page changed, and these links are new on it."""
        page = _read_page(response, Link(response.url))
        if page is None or not page.follow:
            return
        new = {
            link.url: link._replace(parent=verdict)
            for link in page.links
            if link.url in added and self._is_new(link.url)
        }
        links = list(new.values())[:_PER_PAGE]
        for link, score in zip(links, self.strategy.rank(links), strict=True):
            self._offered[link.url] = None
            if score > 0:
                heappush(self._heap, (-score, link.url, link))
        while len(self._offered) > _MAX_OFFERED:
            self._offered.pop(next(iter(self._offered)))
        if len(self._heap) > _MAX_LINKS:
            self._heap = nsmallest(_MAX_LINKS // 2, self._heap)
            heapify(self._heap)

    def take_best(self) -> Url | None:
        """The best of them, to be followed; see :meth:`judge_arrival`."""
        if not self._heap:
            return None
        score, _, link = heappop(self._heap)
        self.under_way[link.url] = link, -score
        return link.url

    def judge_arrival(self, outcome: RevisitOutcome[Any]) -> Visit | None:
        """What came of a link that was taken, judged; None if no page did."""
        link, score = self.under_way.pop(outcome.page.url)
        response = outcome.response
        page = _read_page(response, link) if response and outcome.state == "changed" else None
        if page is None or not page.index:
            return None
        verdict = self.strategy.judge(page)
        return Visit(
            link, outcome.at, self.generation, score, score,
            response=response, page=page, verdict=verdict,
        )  # fmt: skip

    def dump(self) -> list[list[object]]:
        """The best of them, for another run."""
        best = nsmallest(_KEPT_LINKS, self._heap)
        return [[-score, *link[:6]] for score, _, link in best]

    def load(self, stored: object) -> None:
        """What :meth:`dump` gave; a stranger's collection may hold anything."""
        for one in stored if isinstance(stored, list) else ():
            match one:
                case [float(score), str(url), str() | None as source, *words] if (
                    0 < score <= 1 and len(words) == 4 and all(isinstance(w, str) for w in words)
                ):
                    address, page = canonical_url(url), canonical_url(source) if source else None
                    if address and self._is_new(address):
                        self._offered[address] = None
                        heappush(self._heap, (-score, address, Link(address, page, *words)))

    def _is_new(self, url: Url) -> bool:
        return url not in self._offered and self.fits(url) and not self.known(url)


def _read_page(response: Response, link: Link) -> Page | None:
    try:
        return parse_page(response, link)
    except ParseError:
        return None


# -- Progress --

RUNNING_FACT = ("watch", "process")
"""The fact under which a watch keeps its process's number."""


class WatchProgress(NamedTuple):
    """Of one run."""

    watched: int = 0
    visits: int = 0
    unchanged: int = 0
    changes: int = 0
    """Reported changes of any kind."""
    failures: int = 0
    discovered: int = 0
    """Relevant pages that were not watched before."""
    told: int = 0
    """Messages sent."""
    next_at: float | None = None
    now: Url | None = None
    trouble: str = ""
    configuration: str = "adaptive"
    fetchers: int = 0
    loaders: int = 0
    comparers: int = 0
    longest_queue: int = 0
    """What the configuration is made of: see :class:`FlowFigures`."""
    seconds: float = 0.0
    """From the start to the last visit."""
    effective_ms: float = 0.0
    """Effective time per page: seconds ÷ visits, equation 1 of Meegahapola et al."""

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


# -- The main loop --
#
#     schedule ──due──▶ flow (fetch, 304, digest, compare) ──outcome──▶ record ──▶ store
#         ▲                                                               │        outbox ──▶ people
#         └────────────────── visited, rate ──────────────────────────────┘
#
# One page travels as :class:`DuePage`, :class:`RevisitOutcome` and :class:`Record`. A version, its
# change and who is to be told of it are one transaction; what is not committed is visited again.


_LISTEN_S = 1.0
"""Seconds between two looks for edits of the list."""
_ENTER_S = 30.0
"""Seconds between two looks for new relevant pages."""
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
    """Whether an address lies within the collection's scope."""
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
        self.discoveries.load(self.store.watch_facts.get("watch", "links"))
        began = self.clock()
        # Whoever looks from outside can tell it from a crawl, which holds the same lock.
        self.store.watch_facts.set(*RUNNING_FACT, os.getpid())
        over = asyncio.Event()
        notifying = asyncio.create_task(self.notify_loop.run(over))
        try:
            async with aclosing(self.flow.run(pages)) as outcomes:
                async for outcome in outcomes:
                    self._take_outcome(outcome)
                    self._measure_time(self.clock() - began)
                    self.state.commit_if_due()
                    self._woken.set()
        finally:
            over.set()
            await notifying
            self.state.commit()
            self.store.watch_facts.set("watch", "links", self.discoveries.dump())
        await self.notify_loop.deliver_all()
        self.store.versions.thin_out(record.retention_of(self.settings), self.clock())
        trouble = self.notify_loop.trouble or self.progress.trouble
        return self.progress._replace(told=self.notify_loop.sent, trouble=trouble)

    def _measure_time(self, seconds: float) -> None:
        visits = self.progress.visits
        self.progress = self.progress._replace(
            configuration=self.settings.configuration,
            **self.flow.figures._asdict(),
            seconds=seconds,
            effective_ms=1_000 * seconds / visits if visits else 0.0,
        )

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
            _, url = heappop(self._look_queue)
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
            _, again = heappop(self._look_queue)
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
                self.schedule.failed(url, now, again=60.0)
            else:
                self.schedule.remove(url)
        return None

    def _next_discovery(self) -> DuePage | None:
        """The best link that nobody has followed."""
        url = self.discoveries.take_best()
        return None if url is None else DuePage(url, VisitPurpose.DISCOVER)

    async def _sleep_until_woken(self, seconds: float) -> None:
        self._woken.clear()
        with suppress(TimeoutError):
            await asyncio.wait_for(self._woken.wait(), max(seconds, 0.005))

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
            heappush(self._look_queue, (now + self.settings.second_look_s, url))
        added = made.change.links_added if made.change is not None else ()
        if self.settings.discover and response is not None and added:
            self.discoveries.offer_links(response, 1.0, frozenset(added))
        if row.state != "watched":
            self.schedule.remove(url)
        elif url in self.schedule and outcome.page.key != VisitPurpose.SECOND_LOOK:
            if plan.seen:
                self.schedule.visited(url, now, rate=estimate_rate(row.rate))
            else:
                self.schedule.failed(url, now, again=plan.retry_in_s)

    def _take_discovery(self, outcome: RevisitOutcome[RevisitComparison]) -> None:
        """A link that nobody had followed: if it leads to a relevant page, that is news."""
        visit, progress = self.discoveries.judge_arrival(outcome), self.progress
        room = len(self.schedule) < self.settings.pages
        row = self.state.admit_discovery(visit, outcome, room) if visit is not None else None
        new = row is not None
        if row is not None:
            self._schedule_row(row)
        self.progress = progress._replace(
            visits=progress.visits + 1,
            discovered=progress.discovered + new,
            changes=progress.changes + new,
        )

    def _follow_move(self, row: WatchedRow, target: Url, at: float) -> None:
        """Watch a moved page at its new address, if it is in scope and there is room."""
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
        while (found := self.store.watched.edited_after(self._last_edit)).last > self._last_edit:
            self._last_edit = found.last
            for row in found.rows:
                if row.state == "watched":
                    self._schedule_row(row)
                elif row.url in self.schedule:
                    self.schedule.remove(row.url)
        self.progress = self.progress._replace(watched=len(self.schedule))

    def _enter_relevant(self, now: float) -> None:
        """New relevant pages enter the watch by themselves; those that people disown leave."""
        labels, room = self.labels(), max(self.settings.pages - len(self.schedule), 0)
        pages = self.store.watched.pages_to_enter(
            self._last_entered, labels, threshold=self.store.threshold
        )
        found = list(islice(pages, room))
        with self.store.transaction():
            self.store.watched.add_pages((row.url for row in found), "crawl", now)
            for left in list(self.store.watched.pages_to_leave(labels)):
                self.store.watched.edit_page(left.url, state="removed")
        self._last_entered = max((self._last_entered, *(row.id for row in found)))
        self._apply_list_edits()

    def _schedule_row(self, row: WatchedRow) -> None:
        if row.masks:
            self.state.sample_masks(row.url, VolatileMemory.from_json(row.masks))
        record.schedule_page(
            self.schedule, row, row.rate or self.state.priors.prior_for(row.url), self.clock()
        )
