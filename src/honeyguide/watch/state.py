"""What a watch knows of the pages under way, and what it writes down of them.

Rows are read from the store when a page is due, and written together when it was seen; in between
nobody else needs them.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from logging import getLogger

from honeyguide.change import Change, ChangeKind
from honeyguide.config import WatchSettings
from honeyguide.errors import FetchError, StoreError
from honeyguide.fetch.decode import decode
from honeyguide.store.bodies import digest
from honeyguide.store.store import Store
from honeyguide.store.versions import VersionRow
from honeyguide.store.warc_response import answer
from honeyguide.store.watched_rows import WatchedRow
from honeyguide.types import Response, Url, Visit
from honeyguide.url import host
from honeyguide.watch import record
from honeyguide.watch.compare.detect import compare
from honeyguide.watch.compare.health import examine
from honeyguide.watch.compare.step import Known, Relevance, Seen, read
from honeyguide.watch.compare.volatile import Memory, common
from honeyguide.watch.record import Held, Record
from honeyguide.watch.telling.deliver import queue
from honeyguide.watch.telling.notify import Rule
from honeyguide.watch.visit.due import Due, Outcome
from honeyguide.watch.when.priors import Priors
from honeyguide.watch.when.rates import Belief

_log = getLogger(__name__)

_GROUP = 200
_LINGER_S = 0.5
"""What is finished is written together: so many revisits, or all of half a second."""
_SAMPLES = 20
"""Pages of a host whose masks are held against each other."""
_HOSTS = 5_000
_BYTES, _RATIO = 10_000_000, 200.0
"""Of a body that the crawl kept."""
_TITLE = 500


class Errand(IntEnum):
    """What a page is visited for: the key under which it is due."""

    REVISIT = 0
    AGAIN = 1
    """A second look, at once, to see what differs at every visit."""
    DISCOVER = 2
    """Nobody has seen it before."""


@dataclass
class Book:
    """One for a run."""

    store: Store
    settings: WatchSettings
    priors: Priors
    rules: Sequence[Rule]
    threshold: float
    """What makes a page relevant."""
    clock: Callable[[], float]
    relevance: Relevance | None = None
    under_way: dict[Url, WatchedRow] = field(default_factory=dict)
    _batch: dict[Url, Record] = field(default_factory=dict)
    _written: float = 0.0
    _masks: OrderedDict[str, dict[Url, frozenset[str]]] = field(default_factory=OrderedDict)
    """Of each host, what is masked on some of its pages."""

    def due(self, url: Url, errand: Errand = Errand.REVISIT) -> Due | None:
        """A page to be visited now, as it is known; None: it is not watched, or under way."""
        if url in self._batch:
            self.commit()  # what was seen a moment ago is known to the store only then
        row = self.store.watched.find(url)
        if row is None or row.state != "watched" or url in self.under_way:
            return None
        if not row.digest and row.by == "crawl":
            row = self._crawled(row)
        self.under_way[url] = row
        if errand is Errand.AGAIN:  # an answer is wanted, not that nothing is new
            return Due(url, errand, digest=row.digest)
        return Due(url, errand, row.etag, row.modified, row.digest)

    def _crawled(self, row: WatchedRow) -> WatchedRow:
        """The crawl's own copy of a page is its first version."""
        visits = [visit for visit in self.store.visit(row.url) if visit.has_page]
        try:
            found = answer(self.store, visits[-1]) if visits else None
            if found is None:
                return row
            coding = found.header("content-encoding")
            body = decode(row.url, found.payload, coding, limit=_BYTES, ratio=_RATIO)
        except (StoreError, FetchError):
            return row  # as if it had not been kept
        kind, at = found.header("content-type"), found.started
        row = row._replace(
            digest=digest(body),
            etag=found.header("etag"),
            modified=found.header("last-modified"),
            succeeded=at,
        )
        with self.store.transaction():
            self.store.versions.add(row.url, body, at, kind, found.status)
            self.store.watched.save([row])
        return row

    def known(self, page: Due) -> Known:
        """What is known of a page that brought another body."""
        row = self.under_way.get(page.url)
        if row is None or not page.digest:
            return Known()
        latest = self.store.versions.latest(page.url)
        try:
            body = self.store.versions.body(page.url, latest.number) if latest else None
        except StoreError as error:
            _log.warning("%s begins anew: %s", page.url, error)
            body = None
        if latest is None or body is None:
            return Known()
        return Known(
            body,
            latest.content_type,
            row.succeeded or latest.last_seen,
            Memory.from_json(row.masks),
            self._template(row),
            second=page.key == Errand.AGAIN,
            hold=page.key != Errand.AGAIN and self._green(row),
        )

    def take(self, outcome: Outcome[Seen]) -> tuple[Record, record.Plan]:
        """A page comes back: what is written down of it, and what the schedule is told."""
        made, plan = self._recorded(self.under_way.pop(outcome.page.url), outcome)
        self._batch[made.row.url] = made
        return made, plan

    def _recorded(self, row: WatchedRow, outcome: Outcome[Seen]) -> tuple[Record, record.Plan]:
        seen, response = outcome.found, outcome.response
        finding = seen.finding if seen is not None else None
        if outcome.state == "aside" and response is not None:
            finding = examine(response)
        if finding is not None:
            was = self._was(row)
            made = record.ailing(row, outcome, finding, was, self.settings.gone_after)
            moved = Url(finding.detail) if made.ill == "moved" else None
            return made, record.Plan(False, record.patience(made.row, outcome), moved=moved)
        if outcome.state == "unchanged" or seen is not None:
            made = self._looked(row, outcome, seen)
            return made, record.Plan(True, look_again=made.held is not None)
        made = record.failed(row, outcome, self._was(row))
        asked = outcome.state != "later"
        return made, record.Plan(False, record.patience(made.row, outcome), asked)

    def _looked(self, row: WatchedRow, outcome: Outcome[Seen], seen: Seen | None) -> Record:
        """The page was seen; without ``seen``, it is as it was."""
        prior, was = self.priors.of(row.url), self._was(row)
        held = None if row.masks else self._held(row)
        again = outcome.page.key == Errand.AGAIN
        if held is not None and (again or seen is None):
            made = self._released(row, held, seen.memory if seen else Memory(), prior)
        elif again or seen is None:
            made = record.unchanged(row, outcome, prior, was)
        elif not row.digest:
            made = record.first(row, outcome, prior)
        elif self._green(row):
            latest = self.store.versions.latest(row.url)
            number = latest.number if latest is not None else 0
            made = record.hold(row, outcome, held or Held(number, row.succeeded))
        else:
            made = record.changed(row, outcome, seen, prior, was)
        if made.row.masks != row.masks:
            self.sample(row.url, Memory.from_json(made.row.masks))
        if made.row.rate:
            self.priors.learn(row.url, made.row.rate, row.rate)
        return made

    def _green(self, row: WatchedRow) -> bool:
        """Whether nobody knows yet what differs on it at every visit."""
        return not row.masks and self.settings.second_look_s > 0

    def _held(self, row: WatchedRow) -> Held | None:
        match self.store.facts.get("held", row.url):
            case [int(old), int() | float() | None as last]:
                return Held(old, last)
        return None

    def _released(self, row: WatchedRow, held: Held, memory: Memory, prior: Belief) -> Record:
        """The change that waited for a second look, without what differs at every visit."""
        new = self.store.versions.latest(row.url)
        old = next((v for v in self.store.versions.history(row.url) if v.number == held.old), None)
        if new is None:
            return Record(row._replace(masks=memory.to_json()))
        change = None
        if old is not None and new.number != old.number:
            change = self._between(row, old, new, memory)
        return record.release(row, held, new, change, memory, prior)

    def _between(
        self, row: WatchedRow, old: VersionRow, new: VersionRow, memory: Memory
    ) -> Change | None:
        try:
            one, other = (
                read(self.store.versions.body(row.url, v.number), row.url, v.content_type)
                for v in (old, new)
            )
        except StoreError as error:
            _log.warning("%s cannot be compared: %s", row.url, error)
            return None
        masks = memory.masks(self._template(row))
        return compare(one, other, masks, self.relevance, at=new.at, since=old.last_seen)

    def admit(self, visit: Visit, outcome: Outcome[Seen], room: bool) -> WatchedRow | None:
        """A page that was discovered goes into the journal and, if it is relevant and there is
        room, on the list; what the list then says of it."""
        store, url, page = self.store, visit.link.url, visit.page
        visit = visit._replace(copy=store.find_copy(url, page.text if page else ""))
        score = visit.verdict.score if visit.verdict else 0.0
        with store.transaction():
            store.append([visit], self.threshold)
            if score < self.threshold or visit.copy is not None or not room:
                return None
            store.watched.add([url], "crawl", outcome.at)
            row = store.watched.find(url)
            if row is None or visit.response is None:
                return None
            made = record.first(row, outcome, self.priors.of(url))
            version = self._keep(url, visit.response, outcome.at)
            store.watched.save([made.row])
            title = page.title[:_TITLE] if page else ""
            change = Change(url, outcome.at, ("new",), score, detail=title)
            queue(store.outbox, self.rules, store.changes.append(change, None, version), change)
        return made.row

    def _keep(self, url: Url, response: Response, at: float) -> int:
        kind = response.header("content-type")
        return self.store.versions.add(url, response.body, at, kind, response.status)

    def settle(self) -> None:
        """Write what is finished, if there is enough of it or it waits for long."""
        lingered = self.clock() - self._written >= _LINGER_S
        if self._batch and (lingered or len(self._batch) >= _GROUP):
            self.commit()

    def commit(self) -> None:
        batch, self._batch = list(self._batch.values()), {}
        self._written = self.clock()
        if not batch:
            return
        store = self.store
        with store.transaction():
            for made in batch:
                url, at = made.row.url, made.row.visited or 0.0
                before = store.versions.latest(url)
                new = None
                if made.body is not None:
                    new = self._keep(url, made.body, at)
                    store.archive(made.body)
                elif made.seen is not None:
                    store.versions.seen(url, at)
                    store.archive(made.seen, before.at if before is not None else None)
                if made.held is not None:
                    store.facts.set("held", url, list(made.held))
                elif made.of is not None:
                    store.facts.set("held", url, None)
                if made.change is not None:
                    old = before.number if before is not None else None
                    old, new = made.of or (old, new)
                    number = store.changes.append(made.change, old, new)
                    queue(store.outbox, self.rules, number, made.change)
                if made.ill or (made.row.failures == 0 and made.change is not None):
                    store.facts.set("ill", url, made.ill)
                if made.ill == "moved":
                    store.watched.alter(url, note=made.row.note)
            store.watched.save([made.row for made in batch])

    def _template(self, row: WatchedRow) -> frozenset[str]:
        known = self._masks.get(host(row.url), {})
        return common([masks for url, masks in known.items() if url != row.url])

    def sample(self, url: Url, memory: Memory) -> None:
        pages = self._masks.setdefault(host(url), {})
        pages.pop(url, None)
        pages[url] = memory.masks()
        while len(pages) > _SAMPLES:
            pages.pop(next(iter(pages)))
        while len(self._masks) > _HOSTS:
            self._masks.popitem(last=False)

    def _was(self, row: WatchedRow) -> ChangeKind | None:
        found = self.store.facts.get("ill", row.url) if row.failures else None
        return found if found in ("gone", "blocked", "soft_404", "moved") else None
