"""What is stored of one revisit: the row of the page, a version and a change. Pure functions."""

from __future__ import annotations

from dataclasses import replace
from email.utils import parsedate_to_datetime
from typing import NamedTuple

from honeyguide.change import Change, ChangeKind
from honeyguide.config.settings import WatchSettings
from honeyguide.store.versions import Retention, VersionRow
from honeyguide.store.watch_list import WatchedRow
from honeyguide.types import Response, Url
from honeyguide.url import host_of
from honeyguide.watch.compare.revisit_comparison import (
    HealthFinding,
    RevisitComparison,
    health_news,
)
from honeyguide.watch.compare.volatile import VolatileMemory, observe_unchanged
from honeyguide.watch.revisit_flow import RevisitOutcome
from honeyguide.watch.schedule.change_rate import (
    DAY,
    Belief,
    estimate_rate,
    initial_belief,
    update_belief,
)
from honeyguide.watch.schedule.prices import HOUR
from honeyguide.watch.schedule.schedule import Schedule

_NEWS_KINDS: frozenset[ChangeKind] = frozenset({"content", "data"})
_MINOR_KINDS: frozenset[ChangeKind] = frozenset({"minor", "links"})
_LOST_S = 3 * DAY
"""Seconds after which a page that cannot be seen is reported, whatever the reason."""
_CONFIRM_VISITS = 2
"""Visits in a row that must find a page gone before it is reported."""


class HeldChange(NamedTuple):
    """A change of which nobody knows yet whether it is one."""

    old: int
    """Number of the version before the change."""
    last: float | None
    """When that version was last seen."""


class RevisitRecord(NamedTuple):
    """All that is written of one revisit, in one transaction."""

    row: WatchedRow
    body: Response | None = None
    """A version to keep."""
    confirmed_by: Response | None = None
    """The newest version was found unchanged by this answer."""
    change: Change | None = None
    problem: ChangeKind | None = None
    """What is the matter with the page from now on."""
    held: HeldChange | None = None
    """It differs for the first time: whether that is news is known after a second look."""
    versions: tuple[int, int] | None = None
    """The versions that the change is between, where it is not the last two."""


class ScheduleUpdate(NamedTuple):
    """The update of the schedule after a visit."""

    seen: bool
    """Whether the page was seen; otherwise it is tried again."""
    retry_in_s: float = 0.0
    """Seconds until it is tried again."""
    moved: Url | None = None
    """Where it is now."""
    look_again: bool = False
    """A second look will tell whether it changed."""


class VisitedPage(NamedTuple):
    """A page of the list that was visited, and what was known of it."""

    row: WatchedRow
    outcome: RevisitOutcome[RevisitComparison]
    prior: Belief
    was: ChangeKind | None
    """What was the matter with it."""

    def record_unchanged(self) -> RevisitRecord:
        memory = VolatileMemory.from_json(self.row.masks)
        rested = observe_unchanged(memory)
        row = self._answered_row()._replace(
            rate=self._updated_belief(0.0),
            masks=self.row.masks if rested is memory else rested.to_json(),
        )
        change = self._health_change(health_news(self.was, None))
        return RevisitRecord(row, confirmed_by=self.outcome.response, change=change)

    def record_first(self) -> RevisitRecord:
        """The version that later ones are compared with."""
        at, modified = self.outcome.at, parse_last_modified(self.outcome.modified)
        belief = initial_belief(self.prior, now=at, modified=modified)
        row = self._answered_row()._replace(rate=belief)
        return RevisitRecord(row, body=self.outcome.response)

    def record_held(self, held: HeldChange) -> RevisitRecord:
        """Kept, and looked at again at once: what differs then differs always."""
        return RevisitRecord(self._answered_row(), body=self.outcome.response, held=held)

    def record_changed(self, seen: RevisitComparison) -> RevisitRecord:
        change = seen.change
        weight = change_weight(change)
        row = self._answered_row()._replace(
            rate=self._updated_belief(weight), masks=seen.memory.to_json()
        )
        if weight:
            row = row._replace(changes=row.changes + 1, changed=self.outcome.at)
        if (back := health_news(self.was, None)) is not None:
            kinds = change.kinds if change is not None else ()
            made = change or Change(row.url, self.outcome.at, ())
            change = replace(made, kinds=(back.kind, *kinds), detail=back.detail)
        return RevisitRecord(row, body=self.outcome.response, change=change)

    def record_problem(self, finding: HealthFinding, gone_after: int) -> RevisitRecord:
        """What came is not the page: it is gone, it moved, somebody is in the way."""
        row, at = self.row, self.outcome.at
        row = row._replace(visited=at, visits=row.visits + 1, failures=row.failures + 1)
        gone = finding.kind in ("gone", "soft_404", "moved")
        if gone and row.failures < _CONFIRM_VISITS:
            return RevisitRecord(row)  # a site that is being mended answers so, too
        if finding.kind == "moved":
            row = row._replace(note=f"moved to {finding.detail}")
        elif gone and row.failures >= gone_after:
            row = row._replace(state="gone")
        change = self._health_change(health_news(self.was, finding))
        return RevisitRecord(row, change=change, problem=finding.kind)

    def record_failed(self) -> RevisitRecord:
        """No answer, or none that says anything about the page. It is reported if it lasts."""
        row, outcome = self.row, self.outcome
        failure = outcome.failure
        asked = outcome.status > 0 or (failure is not None and failure.kind != "robots")
        row = row._replace(
            visited=outcome.at if asked else row.visited,
            visits=row.visits + asked,
            failures=row.failures + asked,
        )
        lost = row.succeeded is not None and outcome.at - row.succeeded > _LOST_S
        if not lost or row.failures < _CONFIRM_VISITS or self.was is not None:
            return RevisitRecord(row)
        why = str(outcome.status) if failure is None else failure.kind
        finding = HealthFinding("blocked", f"not seen for {_LOST_S / DAY:.0f} days: {why}")
        return RevisitRecord(row, change=self._health_change(finding), problem="blocked")

    def _answered_row(self) -> WatchedRow:
        outcome = self.outcome
        return self.row._replace(
            visited=outcome.at,
            succeeded=outcome.at,
            visits=self.row.visits + 1,
            failures=0,
            # A validator that stayed while the body changed is worse than none.
            etag="" if outcome.validator_lied else outcome.etag,
            modified="" if outcome.validator_lied else outcome.modified,
            digest=outcome.digest,
        )

    def _updated_belief(self, weight: float) -> Belief:
        row, prior, outcome = self.row, self.prior, self.outcome
        if row.succeeded is None:
            return row.rate or prior
        return update_belief(
            row.rate or prior, prior, last=row.succeeded, now=outcome.at, changed=weight,
            modified=parse_last_modified(outcome.modified),
        )  # fmt: skip

    def _health_change(self, finding: HealthFinding | None) -> Change | None:
        if finding is None:
            return None
        # Nothing on it can be weighed: that the page is not what it was is all that matters.
        kinds, since = (finding.kind,), self.row.succeeded or 0.0
        return Change(self.row.url, self.outcome.at, kinds, 1.0, since, detail=finding.detail)


def record_released(
    row: WatchedRow,
    held: HeldChange,
    new: VersionRow,
    change: Change | None,
    memory: VolatileMemory,
    prior: Belief,
) -> RevisitRecord:
    """After the second look: what of the change is news."""
    weight = change_weight(change)
    belief = row.rate or prior
    if held.last is not None:
        belief = update_belief(belief, prior, last=held.last, now=new.at, changed=weight)
    row = row._replace(rate=belief, masks=memory.to_json())
    if weight:
        row = row._replace(changes=row.changes + 1, changed=new.at)
    return RevisitRecord(row, change=change, versions=(held.old, new.number))


def retry_delay(row: WatchedRow, outcome: RevisitOutcome[RevisitComparison]) -> float:
    """Seconds until a page that could not be seen is tried again."""
    if outcome.retry_at:
        return max(60.0, outcome.retry_at - outcome.at)
    if outcome.failure is not None and outcome.failure.kind == "robots":
        return DAY
    return min(HOUR * 2.0 ** min(max(row.failures - 1, 0), 8), DAY)


def change_weight(change: Change | None) -> float:
    """How much of a change it is, to the estimate of how often there is one."""
    if change is None:
        return 0.0
    if any(kind in _NEWS_KINDS for kind in change.kinds):
        return 1.0
    return 0.3 if any(kind in _MINOR_KINDS for kind in change.kinds) else 0.0


def parse_last_modified(modified: str) -> float | None:
    """A Last-Modified as Unix time; None for what is none."""
    if not modified:
        return None
    try:
        return parsedate_to_datetime(modified).timestamp()
    except (ValueError, TypeError, OverflowError, IndexError):
        return None


def schedule_page(schedule: Schedule, row: WatchedRow, belief: Belief, now: float) -> None:
    """Have a page of the list visited."""
    # A clock may have been wrong, or the collection is a stranger's.
    last = None if row.succeeded is None else min(row.succeeded, now)
    schedule.add(
        row.url, host_of(row.url), rate=estimate_rate(belief), weight=row.weight, last=last
    )


def retention_of(settings: WatchSettings) -> Retention:
    if settings.keep == "last":
        return Retention(last=max(1, settings.keep_last))
    return Retention(days=30) if settings.keep == "thin" else Retention()
