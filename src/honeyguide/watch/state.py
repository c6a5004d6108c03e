"""The state of a running watch: pages under way, and what is written of them.

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
from honeyguide.config.settings import WatchSettings
from honeyguide.errors import FetchError, StoreError
from honeyguide.fetch.decode import decode_body
from honeyguide.store.store import Store
from honeyguide.store.versions import VersionRow, body_digest
from honeyguide.store.watch_list import WatchedRow
from honeyguide.types import Response, Url, Visit
from honeyguide.url import host_of
from honeyguide.watch import record
from honeyguide.watch.compare.page_change import RelevanceFunction, compare_snapshots
from honeyguide.watch.compare.revisit_comparison import (
    PreviousVersion,
    RevisitComparison,
    cached_snapshot,
    check_health,
)
from honeyguide.watch.compare.volatile import VolatileMemory, common_masks
from honeyguide.watch.notify.delivery import NotifyRule, queue_change
from honeyguide.watch.record import HeldChange, RevisitRecord, ScheduleUpdate, VisitedPage
from honeyguide.watch.revisit_flow import DuePage, RevisitOutcome
from honeyguide.watch.schedule.change_rate import Belief, RatePriors

_log = getLogger(__name__)

_GROUP_SIZE = 200
_LINGER_S = 0.5
"""What is finished is written together: so many revisits, or all of half a second."""
_PAGES_PER_HOST = 20
"""Pages of a host whose masks are held against each other."""
_MAX_HOSTS = 5_000
_BYTES, _RATIO = 10_000_000, 200.0
"""Of a body that the crawl kept."""
_TITLE = 500


class VisitPurpose(IntEnum):
    """What a page is visited for: the key under which it is due."""

    REVISIT = 0
    SECOND_LOOK = 1
    """A second look, at once, to see what differs at every visit."""
    DISCOVER = 2
    """Nobody has seen it before."""


@dataclass
class RevisitState:
    """One for a run."""

    store: Store
    settings: WatchSettings
    priors: RatePriors
    rules: Sequence[NotifyRule]
    """What makes a page relevant."""
    clock: Callable[[], float]
    relevance: RelevanceFunction | None = None
    under_way: dict[Url, WatchedRow] = field(default_factory=dict)
    _batch: dict[Url, RevisitRecord] = field(default_factory=dict)
    _written: float = 0.0
    _masks: OrderedDict[str, dict[Url, frozenset[str]]] = field(default_factory=OrderedDict)
    """Of each host, what is masked on some of its pages."""

    def due_page(self, url: Url, errand: VisitPurpose = VisitPurpose.REVISIT) -> DuePage | None:
        """A page to be visited now, as it is known; None: it is not watched, or under way."""
        if url in self._batch:
            self.commit()  # what was seen a moment ago is known to the store only then
        row = self.store.watched.find_row(url)
        if row is None or row.state != "watched" or url in self.under_way:
            return None
        if not row.digest and row.by == "crawl":
            row = self._adopt_crawled_copy(row)
        self.under_way[url] = row
        if errand is VisitPurpose.SECOND_LOOK:  # an answer is wanted, not that nothing is new
            return DuePage(url, errand, digest=row.digest)
        return DuePage(url, errand, row.etag, row.modified, row.digest)

    def _adopt_crawled_copy(self, row: WatchedRow) -> WatchedRow:
        """The crawl's own copy of a page is its first version."""
        visits = [visit for visit in self.store.visits.attempts_at(row.url) if visit.has_page]
        try:
            found = self.store.archived_response(visits[-1]) if visits else None
            if found is None:
                return row
            coding = found.header("content-encoding")
            body = decode_body(row.url, found.payload, coding, limit=_BYTES, ratio=_RATIO)
        except (StoreError, FetchError):
            return row  # as if it had not been kept
        kind, at = found.header("content-type"), found.started
        row = row._replace(
            digest=body_digest(body),
            etag=found.header("etag"),
            modified=found.header("last-modified"),
            succeeded=at,
        )
        with self.store.transaction():
            self.store.versions.add_version(row.url, body, at, kind, found.status)
            self.store.watched.save_rows([row])
        return row

    def previous_version(self, page: DuePage) -> PreviousVersion:
        """What is known of a page that brought another body."""
        row = self.under_way.get(page.url)
        if row is None or not page.digest:
            return PreviousVersion()
        latest = self.store.versions.latest_version(page.url)
        try:
            body = self.store.versions.read_body(page.url, latest.number) if latest else None
        except StoreError as error:
            _log.warning("%s starts again: %s", page.url, error)
            body = None
        if latest is None or body is None:
            return PreviousVersion()
        return PreviousVersion(
            body,
            latest.content_type,
            row.succeeded or latest.last_seen,
            VolatileMemory.from_json(row.masks),
            self._host_template(row),
            second_look=page.key == VisitPurpose.SECOND_LOOK,
            compare_later=page.key != VisitPurpose.SECOND_LOOK and self._lacks_masks(row),
        )

    def take_outcome(
        self, outcome: RevisitOutcome[RevisitComparison]
    ) -> tuple[RevisitRecord, ScheduleUpdate]:
        """Process the outcome of a visit: what is stored of it, and the update of the schedule."""
        made, plan = self._record_outcome(self.under_way.pop(outcome.page.url), outcome)
        self._batch[made.row.url] = made
        return made, plan

    def _record_outcome(
        self, row: WatchedRow, outcome: RevisitOutcome[RevisitComparison]
    ) -> tuple[RevisitRecord, ScheduleUpdate]:
        seen, response = outcome.found, outcome.response
        finding = seen.finding if seen is not None else None
        if outcome.state == "aside" and response is not None:
            finding = check_health(response)
        page = VisitedPage(row, outcome, self.priors.prior_for(row.url), self._known_problem(row))
        if finding is not None:
            made = page.record_problem(finding, self.settings.gone_after)
            moved = Url(finding.detail) if made.problem == "moved" else None
            return made, ScheduleUpdate(False, record.retry_delay(made.row, outcome), moved=moved)
        if outcome.state == "unchanged" or seen is not None:
            made = self._record_look(page, seen)
            return made, ScheduleUpdate(True, look_again=made.held is not None)
        made = page.record_failed()
        return made, ScheduleUpdate(False, record.retry_delay(made.row, outcome))

    def _record_look(self, page: VisitedPage, seen: RevisitComparison | None) -> RevisitRecord:
        """The page was seen; without ``seen``, it is as it was."""
        row = page.row
        held = None if row.masks else self._held_change(row)
        again = page.outcome.page.key == VisitPurpose.SECOND_LOOK
        if held is not None and (again or seen is None):
            memory = seen.memory if seen else VolatileMemory()
            made = self._release_held(row, held, memory, page.prior)
        elif again or seen is None:
            made = page.record_unchanged()
        elif not row.digest:
            made = page.record_first()
        elif self._lacks_masks(row):
            latest = self.store.versions.latest_version(row.url)
            number = latest.number if latest is not None else 0
            made = page.record_held(held or HeldChange(number, row.succeeded))
        else:
            made = page.record_changed(seen)
        if made.row.masks != row.masks:
            self.sample_masks(row.url, VolatileMemory.from_json(made.row.masks))
        if made.row.rate:
            self.priors.learn(row.url, made.row.rate, row.rate)
        return made

    def _lacks_masks(self, row: WatchedRow) -> bool:
        """Whether nobody knows yet what differs on it at every visit."""
        return not row.masks and self.settings.second_look_s > 0

    def _held_change(self, row: WatchedRow) -> HeldChange | None:
        match self.store.watch_facts.get("held", row.url):
            case [int(old), int() | float() | None as last]:
                return HeldChange(old, last)
        return None

    def _release_held(
        self, row: WatchedRow, held: HeldChange, memory: VolatileMemory, prior: Belief
    ) -> RevisitRecord:
        """The change that waited for a second look, without what differs at every visit."""
        new = self.store.versions.latest_version(row.url)
        old = next(
            (v for v in self.store.versions.list_versions(row.url) if v.number == held.old), None
        )
        if new is None:
            return RevisitRecord(row._replace(masks=memory.to_json()))
        change = None
        if old is not None and new.number != old.number:
            change = self._compare_versions(row, old, new, memory)
        return record.record_released(row, held, new, change, memory, prior)

    def _compare_versions(
        self, row: WatchedRow, old: VersionRow, new: VersionRow, memory: VolatileMemory
    ) -> Change | None:
        try:
            one, other = (
                cached_snapshot(
                    self.store.versions.read_body(row.url, v.number), row.url, v.content_type
                )
                for v in (old, new)
            )
        except StoreError as error:
            _log.warning("%s cannot be compared: %s", row.url, error)
            return None
        masks = memory.active_masks(self._host_template(row))
        return compare_snapshots(one, other, masks, self.relevance, at=new.at, since=old.last_seen)

    def admit_discovery(
        self, visit: Visit, outcome: RevisitOutcome[RevisitComparison], room: bool
    ) -> WatchedRow | None:
        """A page that was discovered goes into the journal and, if it is relevant and there is
        room, on the list; what the list then says of it."""
        store, url, page = self.store, visit.link.url, visit.page
        visit = visit._replace(
            duplicate=store.duplicates.find_duplicate(url, page.text if page else "")
        )
        score = visit.verdict.score if visit.verdict else 0.0
        with store.transaction():
            store.append_visits([visit])
            if score < store.threshold or visit.duplicate is not None or not room:
                return None
            store.watched.add_pages([url], "crawl", outcome.at)
            row = store.watched.find_row(url)
            if row is None or visit.response is None:
                return None
            page_seen = VisitedPage(row, outcome, self.priors.prior_for(url), None)
            made = page_seen.record_first()
            version = self._keep_version(url, visit.response, outcome.at)
            store.watched.save_rows([made.row])
            title = page.title[:_TITLE] if page else ""
            change = Change(url, outcome.at, ("new",), score, detail=title)
            queue_change(
                store.outbox, self.rules, store.changes.append(change, None, version), change
            )
        return made.row

    def _keep_version(self, url: Url, response: Response, at: float) -> int:
        kind = response.header("content-type")
        return self.store.versions.add_version(url, response.body, at, kind, response.status)

    def commit_if_due(self) -> None:
        """Write what is finished, if there is enough of it or it waits for long."""
        lingered = self.clock() - self._written >= _LINGER_S
        if self._batch and (lingered or len(self._batch) >= _GROUP_SIZE):
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
                before = store.versions.latest_version(url)
                new = None
                if made.body is not None:
                    new = self._keep_version(url, made.body, at)
                    store.warc_archive.add_response(made.body, whole=True)
                elif made.confirmed_by is not None:
                    store.versions.mark_unchanged(url, at)
                    if before is None:
                        store.warc_archive.add_response(made.confirmed_by, whole=True)
                    else:
                        store.warc_archive.add_revisit(made.confirmed_by, before.at)
                if made.held is not None:
                    store.watch_facts.set("held", url, list(made.held))
                elif made.versions is not None:
                    store.watch_facts.set("held", url, None)
                if made.change is not None:
                    old = before.number if before is not None else None
                    old, new = made.versions or (old, new)
                    number = store.changes.append(made.change, old, new)
                    queue_change(store.outbox, self.rules, number, made.change)
                if made.problem or (made.row.failures == 0 and made.change is not None):
                    store.watch_facts.set("ill", url, made.problem)
                if made.problem == "moved":
                    store.watched.edit_page(url, note=made.row.note)
            store.watched.save_rows([made.row for made in batch])

    def _host_template(self, row: WatchedRow) -> frozenset[str]:
        known = self._masks.get(host_of(row.url), {})
        return common_masks([masks for url, masks in known.items() if url != row.url])

    def sample_masks(self, url: Url, memory: VolatileMemory) -> None:
        pages = self._masks.setdefault(host_of(url), {})
        pages.pop(url, None)
        pages[url] = memory.active_masks()
        while len(pages) > _PAGES_PER_HOST:
            pages.pop(next(iter(pages)))
        while len(self._masks) > _MAX_HOSTS:
            self._masks.popitem(last=False)

    def _known_problem(self, row: WatchedRow) -> ChangeKind | None:
        found = self.store.watch_facts.get("ill", row.url) if row.failures else None
        return found if found in ("gone", "blocked", "soft_404", "moved") else None
