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
import time
from collections import OrderedDict, deque
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from honeyguide.config import WatchSettings
from honeyguide.errors import ParseError
from honeyguide.parse.read import read
from honeyguide.protocols import Strategy
from honeyguide.store.said import Said
from honeyguide.store.store import Store
from honeyguide.store.versions import Retention
from honeyguide.store.watched_rows import WatchedRow
from honeyguide.types import Change, ChangeKind, Link, Page, Response, Url, Visit
from honeyguide.url import host
from honeyguide.watch import record
from honeyguide.watch.channels import Messenger
from honeyguide.watch.discover import Discoveries
from honeyguide.watch.due import Due, Outcome
from honeyguide.watch.flow import Flow
from honeyguide.watch.health import examine
from honeyguide.watch.look import Known, Seen
from honeyguide.watch.notify import Rule
from honeyguide.watch.priors import Priors
from honeyguide.watch.rates import rate
from honeyguide.watch.record import Record
from honeyguide.watch.schedule import Schedule
from honeyguide.watch.tell import queue, tell
from honeyguide.watch.volatile import Memory, common

_GROUP = 200
_LINGER_S = 0.5
"""What is finished is written together: so many revisits, or all of half a second."""
_LISTEN_S = 1.0
"""How often people's words about the list are listened for …"""
_ENTER_S = 30.0
"""… and new relevant pages looked for."""
_TELL_S = 2.0
_SAMPLES = 20
"""Pages of a host whose masks are held against each other."""
_HOSTS = 5_000
_TIDY_S = 86_400.0
_DISCOVERY = -1
_SECOND = -2


class Tally(NamedTuple):
    """How a watch stands, for those who look on."""

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


@dataclass
class Watch:
    """Use :func:`honeyguide.watch.build.opened`. One run at a time."""

    store: Store
    settings: WatchSettings
    threshold: float
    flow: Flow[Known, Seen]
    schedule: Schedule
    priors: Priors
    strategy: Strategy
    generation: int
    discoveries: Discoveries
    channels: Sequence[tuple[Rule, Messenger]]
    said: Callable[[], Said]
    name: str = ""
    clock: Callable[[], float] = time.time
    tally: Tally = field(default_factory=lambda: Tally())
    _rows: dict[Url, WatchedRow] = field(default_factory=dict)
    """Pages under way."""
    _links: dict[Url, tuple[Link, float]] = field(default_factory=dict)
    """Links under way that nobody has followed before, with their scores."""
    _second: list[tuple[float, Url]] = field(default_factory=list)
    _batch: list[Record] = field(default_factory=list)
    _masks: OrderedDict[str, dict[Url, frozenset[str]]] = field(default_factory=OrderedDict)
    _heard: int = 0
    _entered: int = 0
    _stopping: bool = False
    _news: asyncio.Event = field(default_factory=asyncio.Event)
    _latest: deque[Change] = field(default_factory=lambda: deque(maxlen=5))

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
        teller = asyncio.create_task(self._tell_on())
        written = self.clock()
        try:
            async for outcome in self.flow.run(pages):
                self._take(outcome)
                now = self.clock()
                if len(self._batch) >= _GROUP or now - written >= _LINGER_S:
                    self._commit()
                    written = now
                self._news.set()
        finally:
            teller.cancel()
            await asyncio.gather(teller, return_exceptions=True)
            self._commit()
        await self._tell()
        return self.tally

    def look_at(self, page: Due) -> Known:
        """What is known of a page that brought another body."""
        row = self._rows.get(page.url)
        if row is None or not page.digest:
            return Known()
        latest = self.store.versions.latest(page.url)
        if latest is None:
            return Known()
        template = self._template(row)
        return Known(
            self.store.versions.body(page.url, latest.number),
            latest.content_type,
            row.succeeded or latest.last_seen,
            Memory.from_json(row.masks),
            template,
            page.key == _SECOND,
        )

    # -- pages out -------------------------------------------------------------------------------

    def _all(self) -> list[Url]:
        """Every page, those first that were not seen for longest."""
        rows = ((row.visited or 0.0, row.url) for row in self.store.watched.each())
        return [url for _, url in sorted(rows)]

    async def _round(self, urls: Iterable[Url]) -> AsyncIterator[Due]:
        for url in urls:
            if self._stopping:
                return
            if (due := self._due(url)) is not None:
                yield due
        while (self._rows or self._second) and not self._stopping:
            async for due in self._seconds():
                yield due

    async def _seconds(self) -> AsyncIterator[Due]:
        now = self.clock()
        while self._second and self._second[0][0] <= now:
            _, url = heapq.heappop(self._second)
            if (due := self._due(url, _SECOND)) is not None:
                yield due
        await self._nap(self._second[0][0] - now if self._second else _LISTEN_S)

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
                self.store.versions.thin(retention(self.settings), now)
            if (due := self._next(now)) is not None:
                yield due
                continue
            wake = self.schedule.wake_at(now)
            self.tally = self.tally._replace(next_at=wake)
            ahead = [t for t in (wake, self._second[0][0] if self._second else None) if t]
            await self._nap(min([_LISTEN_S, *(t - now for t in ahead)]))

    def _next(self, now: float) -> Due | None:
        if self._second and self._second[0][0] <= now:
            _, again = heapq.heappop(self._second)
            return self._due(again, _SECOND)
        spend = self.schedule.spend(now, self.discoveries.best)
        if spend == "discover" and (taken := self.discoveries.take()) is not None:
            self.schedule.discovered(now)
            self._links[taken[0].url] = taken
            return Due(taken[0].url, _DISCOVERY)
        if spend == "revisit" and (url := self.schedule.due(now)) is not None:
            due = self._due(url)
            if due is None:
                self.schedule.remove(url)
            return due
        return None

    def _due(self, url: Url, key: int = 0) -> Due | None:
        if any(made.row.url == url for made in self._batch):
            self._commit()  # what was seen a moment ago is known to the store only then
        row = self.store.watched.find(url)
        if row is None or row.state != "watched" or url in self._rows:
            return None
        self._rows[url] = row
        self.tally = self.tally._replace(now=url)
        validated = key != _SECOND
        return Due(
            url,
            key,
            row.etag if validated else "",
            row.modified if validated else "",
            row.digest,
        )

    async def _nap(self, seconds: float) -> None:
        self._news.clear()
        try:
            async with asyncio.timeout(max(seconds, 0.005)):
                await self._news.wait()
        except TimeoutError:
            pass

    # -- outcomes in -----------------------------------------------------------------------------

    def _take(self, outcome: Outcome[Seen]) -> None:
        if outcome.page.key == _DISCOVERY:
            self._discovered(outcome)
            return
        url, now = outcome.page.url, self.clock()
        row = self._rows.pop(url)
        made, plan = self._recorded(row, outcome)
        self._batch.append(made)
        self._count(outcome, made)
        if outcome.page.key == _SECOND:
            return
        row = made.row
        if row.state != "watched":
            self.schedule.remove(url)
        elif url in self.schedule:
            if plan.seen:
                self.schedule.visited(url, now, rate=rate(row.rate))
            else:
                self.schedule.failed(url, now, again=plan.again, asked=plan.asked)

    def _recorded(self, row: WatchedRow, outcome: Outcome[Seen]) -> tuple[Record, record.Plan]:
        prior = self.priors.of(row.url)
        if outcome.state == "unchanged":
            made = record.unchanged(row, outcome, prior, self._was(row))
            self._learned(row, made.row)
            return made, record.Plan(True)
        seen, response = outcome.found, outcome.response
        finding = seen.finding if seen is not None else examine(response) if response else None
        if finding is not None:
            was = self._was(row)
            made = record.ailing(row, outcome, finding, was, self.settings.gone_after)
            if finding.kind == "moved":
                self._follow(made.row, Url(finding.detail), outcome.at)
            return made, record.Plan(False, record.patience(made.row, outcome))
        if outcome.state != "changed" or seen is None or response is None:
            made = record.failed(row, outcome)
            asked = outcome.state != "later"
            return made, record.Plan(False, record.patience(made.row, outcome), asked)
        if outcome.page.key == _SECOND:
            self._sample(row.url, seen.memory)
            return record.second(row, seen), record.Plan(True)
        if not row.digest:
            made = record.first(row, outcome, prior)
            if self.settings.second_look_s and not (outcome.etag or outcome.modified):
                heapq.heappush(self._second, (self.clock() + self.settings.second_look_s, row.url))
        else:
            made = record.changed(row, outcome, seen, prior, self._was(row))
            self._sample(row.url, seen.memory)
            if self.settings.discover and seen.change is not None and seen.change.links_added:
                self.discoveries.offer(response, 1.0, frozenset(seen.change.links_added))
        self._learned(row, made.row)
        return made, record.Plan(True)

    def _discovered(self, outcome: Outcome[Seen]) -> None:
        """A link that nobody had followed: if it leads to a relevant page, that is news."""
        link, score = self._links.pop(outcome.page.url)
        self.tally = self.tally._replace(visits=self.tally.visits + 1)
        response = outcome.response
        if outcome.state != "changed" or response is None:
            return
        page = _page(response, link)
        if page is None or not page.index:
            return
        verdict = self.strategy.judge(page)
        visit = Visit(
            link, outcome.at, self.generation, score, score, 1, response, page, verdict,
            self.store.find_copy(link.url, page.text),
        )  # fmt: skip
        with self.store.transaction():
            self.store.append([visit], self.threshold)
            if verdict.score < self.threshold or visit.copy is not None:
                return
            self.store.watched.add([link.url], "crawl", outcome.at)
            self.store.versions.add(
                link.url,
                response.body,
                outcome.at,
                response.header("content-type"),
                response.status,
            )
            row = self.store.watched.find(link.url)
            if row is not None:
                made = record.first(row, outcome, self.priors.of(link.url))
                self.store.watched.save([made.row])
                self._planned(made.row)
            change = Change(link.url, outcome.at, ("new",), verdict.score, detail=page.title[:500])
            number = self.store.changes.append(change, None, 1)
            queue(self.store.outbox, [rule for rule, _ in self.channels], number, change)
        self.tally = self.tally._replace(
            discovered=self.tally.discovered + 1, changes=self.tally.changes + 1
        )

    def _was(self, row: WatchedRow) -> ChangeKind | None:
        found = self.store.facts.get("ill", row.url) if row.failures else None
        return found if found in ("gone", "blocked", "soft_404") else None

    def _learned(self, old: WatchedRow, new: WatchedRow) -> None:
        if new.rate:
            self.priors.learn(new.url, new.rate, old.rate)

    def _follow(self, row: WatchedRow, target: Url, at: float) -> None:
        """A page that moved is watched where it is now."""
        if self.store.watched.add([target], "crawl", at, row.weight, f"moved from {row.url}"):
            found = self.store.watched.find(target)
            if found is not None:
                self._planned(found)

    def _template(self, row: WatchedRow) -> frozenset[str]:
        known = self._masks.get(host(row.url), {})
        return common([masks for url, masks in known.items() if url != row.url])

    def _sample(self, url: Url, memory: Memory) -> None:
        pages = self._masks.setdefault(host(url), {})
        pages.pop(url, None)
        pages[url] = memory.masks()
        while len(pages) > _SAMPLES:
            pages.pop(next(iter(pages)))
        while len(self._masks) > _HOSTS:
            self._masks.popitem(last=False)

    def _count(self, outcome: Outcome[Seen], made: Record) -> None:
        tally = self.tally
        lost = outcome.state in ("failed", "aside")
        why = outcome.failure.detail or outcome.failure.kind if outcome.failure else ""
        self.tally = tally._replace(
            watched=len(self.schedule),
            visits=tally.visits + (outcome.state != "later"),
            unchanged=tally.unchanged + (outcome.state == "unchanged"),
            changes=tally.changes + (made.change is not None),
            failures=tally.failures + lost,
            trouble=f"{outcome.page.url}: {why or outcome.status}" if lost else tally.trouble,
        )

    # -- the store -------------------------------------------------------------------------------

    def _commit(self) -> None:
        batch, self._batch = self._batch, []
        if not batch:
            return
        store, rules = self.store, [rule for rule, _ in self.channels]
        with store.transaction():
            for made in batch:
                url, at = made.row.url, made.row.visited or 0.0
                before = store.versions.latest(url)
                new = None
                if made.body is not None:
                    kind = made.body.header("content-type")
                    new = store.versions.add(url, made.body.body, at, kind, made.body.status)
                    store.archive(made.body)
                elif made.seen is not None:
                    store.versions.seen(url, at)
                    store.archive(made.seen, before.at if before is not None else None)
                if made.change is not None:
                    old = before.number if before is not None else None
                    number = store.changes.append(made.change, old, new)
                    queue(store.outbox, rules, number, made.change)
                if made.ill or (made.row.failures == 0 and made.change is not None):
                    store.facts.set("ill", url, made.ill)
            store.watched.save([made.row for made in batch])

    def _listen(self) -> None:
        """What people said of the list since: added, paused, weighed."""
        for row in self.store.watched.edited(self._heard):
            self._heard = max(self._heard, row.edited)
            if row.state == "watched":
                self._planned(row)
            elif row.url in self.schedule:
                if row.state == "paused":
                    self.schedule.pause(row.url)
                else:
                    self.schedule.remove(row.url)
        self.tally = self.tally._replace(watched=len(self.schedule))

    def _enter(self, now: float) -> None:
        """New relevant pages enter the watch by themselves; those that people disown leave."""
        said, newest = self.said(), self.store.counts().visits
        room = self.settings.pages - len(self.schedule)
        urls = [row.url for row in self.store.watched.enter(self._entered, said)][: max(room, 0)]
        with self.store.transaction():
            self.store.watched.add(urls, "crawl", now)
            for row in list(self.store.watched.leave(said)):
                self.store.watched.remove(row.url)
            self.store.facts.set("watch", "entered", newest)
        self._entered = newest
        self._listen()

    def _planned(self, row: WatchedRow) -> None:
        belief = row.rate or self.priors.of(row.url)
        self.schedule.add(
            row.url, host(row.url), rate=rate(belief), weight=row.weight, last=row.succeeded
        )

    # -- people ----------------------------------------------------------------------------------

    async def _tell_on(self) -> None:
        while True:
            await asyncio.sleep(_TELL_S)
            await self._tell()

    async def _tell(self) -> None:
        for rule, messenger in self.channels:
            done = await tell(
                self.store.outbox, self.store.changes, rule, messenger, self.clock(), self.name
            )
            sent = sum(delivery.outcome.state == "sent" for delivery in done)
            self.tally = self.tally._replace(told=self.tally.told + sent)


def retention(settings: WatchSettings) -> Retention:
    if settings.keep == "last":
        return Retention(last=max(1, settings.keep_last))
    return Retention(days=30) if settings.keep == "thin" else Retention()


def _page(response: Response, link: Link) -> Page | None:
    try:
        return read(response, link)
    except ParseError:
        return None
