"""What a revisit leaves behind: the page's row, a version, a change. Pure; told what is known."""

from __future__ import annotations

from email.utils import parsedate_to_datetime
from typing import NamedTuple

from honeyguide.change import Change, ChangeKind
from honeyguide.config import WatchSettings
from honeyguide.store.versions import Retention, VersionRow
from honeyguide.store.watched_rows import WatchedRow
from honeyguide.types import Response, Url
from honeyguide.url import host
from honeyguide.watch.compare.health import Finding, turn
from honeyguide.watch.compare.step import Seen
from honeyguide.watch.compare.volatile import Memory, quiet
from honeyguide.watch.visit.due import Outcome
from honeyguide.watch.when.rates import Belief, begin, learn, rate
from honeyguide.watch.when.schedule import Schedule

_HOUR = 3_600.0
_DAY = 86_400.0
_NEWS: frozenset[ChangeKind] = frozenset({"content", "data"})
_HALF: frozenset[ChangeKind] = frozenset({"minor", "links"})
_LOST = 3 * _DAY
"""Who cannot be seen for so long is told of, whatever the reason."""
_CONFIRMED = 2
"""Visits in a row that must find a page gone before it is told."""


class Held(NamedTuple):
    """A change of which nobody knows yet whether it is one."""

    old: int
    """The version before it …"""
    last: float | None
    """… and when that was last seen."""


class Record(NamedTuple):
    """All that is written of one revisit, in one transaction."""

    row: WatchedRow
    body: Response | None = None
    """A version to keep."""
    seen: Response | None = None
    """The newest version was found unchanged by this answer."""
    change: Change | None = None
    ill: ChangeKind | None = None
    """What is the matter with the page from now on."""
    held: Held | None = None
    """It differs for the first time: whether that is news is known after a second look."""
    of: tuple[int, int] | None = None
    """The versions that the change is between, where it is not the last two."""


class Plan(NamedTuple):
    """What the schedule is told."""

    seen: bool
    """The page was seen; otherwise it is tried again …"""
    again: float = 0.0
    """… after so many seconds."""
    asked: bool = True
    moved: Url | None = None
    """Where it is now."""
    look_again: bool = False
    """A second look will tell whether it changed."""


def unchanged(
    row: WatchedRow, outcome: Outcome[Seen], prior: Belief, was: ChangeKind | None
) -> Record:
    memory = Memory.from_json(row.masks)
    rested = quiet(memory)
    row = _answered(row, outcome)._replace(
        rate=_rate(row, prior, outcome, 0.0),
        masks=row.masks if rested is memory else rested.to_json(),
    )
    return Record(row, seen=outcome.response, change=_health(row, outcome, turn(was, None)))


def first(row: WatchedRow, outcome: Outcome[Seen], prior: Belief) -> Record:
    """The version that later ones are compared with."""
    belief = begin(prior, now=outcome.at, modified=moment(outcome.modified))
    return Record(_answered(row, outcome)._replace(rate=belief), body=outcome.response)


def hold(row: WatchedRow, outcome: Outcome[Seen], held: Held) -> Record:
    """Kept, and looked at again at once: what differs then differs always."""
    return Record(_answered(row, outcome), body=outcome.response, held=held)


def release(
    row: WatchedRow,
    held: Held,
    new: VersionRow,
    change: Change | None,
    memory: Memory,
    prior: Belief,
) -> Record:
    """After the second look: what of the change is news."""
    weight = weighs(change)
    belief = row.rate or prior
    if held.last is not None:
        belief = learn(belief, prior, last=held.last, now=new.at, changed=weight)
    row = row._replace(rate=belief, masks=memory.to_json())
    if weight:
        row = row._replace(changes=row.changes + 1, changed=new.at)
    return Record(row, change=change, of=(held.old, new.number))


def changed(
    row: WatchedRow, outcome: Outcome[Seen], seen: Seen, prior: Belief, was: ChangeKind | None
) -> Record:
    change = seen.change
    weight = weighs(change)
    row = _answered(row, outcome)._replace(
        rate=_rate(row, prior, outcome, weight), masks=seen.memory.to_json()
    )
    if weight:
        row = row._replace(changes=row.changes + 1, changed=outcome.at)
    if (back := turn(was, None)) is not None:
        kinds = change.kinds if change is not None else ()
        made = change or Change(row.url, outcome.at, ())
        change = Change(
            made.url, made.at, (back.kind, *kinds), made.significance, made.since, made.edits,
            made.links_added, made.links_removed, made.masked, back.detail,
        )  # fmt: skip
    return Record(row, body=outcome.response, change=change)


def ailing(
    row: WatchedRow,
    outcome: Outcome[Seen],
    finding: Finding,
    was: ChangeKind | None,
    gone_after: int,
) -> Record:
    """What came is not the page: it is gone, it moved, somebody is in the way."""
    row = row._replace(visited=outcome.at, visits=row.visits + 1, failures=row.failures + 1)
    gone = finding.kind in ("gone", "soft_404", "moved")
    if gone and row.failures < _CONFIRMED:
        return Record(row)  # a site that is being mended answers so, too
    if finding.kind == "moved":
        row = row._replace(note=f"moved to {finding.detail}")
        return Record(row, change=_health(row, outcome, turn(was, finding)), ill="moved")
    if gone and row.failures >= gone_after:
        row = row._replace(state="gone")
    return Record(row, change=_health(row, outcome, turn(was, finding)), ill=finding.kind)


def failed(row: WatchedRow, outcome: Outcome[Seen], was: ChangeKind | None) -> Record:
    """No answer, or none that says anything about the page. If that lasts, it is told."""
    asked = outcome.status > 0 or (outcome.failure is not None and outcome.failure.kind != "robots")
    row = row._replace(
        visited=outcome.at if asked else row.visited,
        visits=row.visits + asked,
        failures=row.failures + asked,
    )
    lost = row.succeeded is not None and outcome.at - row.succeeded > _LOST
    if not lost or row.failures < _CONFIRMED or was is not None:
        return Record(row)
    why = str(outcome.status) if outcome.failure is None else outcome.failure.kind
    finding = Finding("blocked", f"not seen for {_LOST / _DAY:.0f} days: {why}")
    return Record(row, change=_health(row, outcome, finding), ill="blocked")


def patience(row: WatchedRow, outcome: Outcome[Seen]) -> float:
    """Seconds until a page that could not be seen is tried again."""
    if outcome.again:
        return max(60.0, outcome.again - outcome.at)
    if outcome.failure is not None and outcome.failure.kind == "robots":
        return _DAY
    return min(_HOUR * 2.0 ** min(max(row.failures - 1, 0), 8), _DAY)


def weighs(change: Change | None) -> float:
    """How much of a change it is, to the estimate of how often there is one."""
    if change is None:
        return 0.0
    if any(kind in _NEWS for kind in change.kinds):
        return 1.0
    return 0.3 if any(kind in _HALF for kind in change.kinds) else 0.0


def moment(modified: str) -> float | None:
    """A Last-Modified as Unix time; None for what is none."""
    if not modified:
        return None
    try:
        return parsedate_to_datetime(modified).timestamp()
    except (ValueError, TypeError, OverflowError, IndexError):
        return None


def _answered(row: WatchedRow, outcome: Outcome[Seen]) -> WatchedRow:
    return row._replace(
        visited=outcome.at,
        succeeded=outcome.at,
        visits=row.visits + 1,
        failures=0,
        # A validator that stayed while the body changed is worse than none.
        etag="" if outcome.lied else outcome.etag,
        modified="" if outcome.lied else outcome.modified,
        digest=outcome.digest,
    )


def _rate(row: WatchedRow, prior: Belief, outcome: Outcome[Seen], weight: float) -> Belief:
    if row.succeeded is None:
        return row.rate or prior
    return learn(
        row.rate or prior,
        prior,
        last=row.succeeded,
        now=outcome.at,
        changed=weight,
        modified=moment(outcome.modified),
    )


def _health(row: WatchedRow, outcome: Outcome[Seen], finding: Finding | None) -> Change | None:
    if finding is None:
        return None
    # Nothing on it can be weighed: that the page is not what it was is all that matters.
    kinds, since = (finding.kind,), row.succeeded or 0.0
    return Change(row.url, outcome.at, kinds, 1.0, since, detail=finding.detail)


def plan(schedule: Schedule, row: WatchedRow, belief: Belief, now: float) -> None:
    """Have a page of the list visited."""
    # A clock may have been wrong, or the collection is a stranger's.
    last = None if row.succeeded is None else min(row.succeeded, now)
    schedule.add(row.url, host(row.url), rate=rate(belief), weight=row.weight, last=last)


def retention(settings: WatchSettings) -> Retention:
    if settings.keep == "last":
        return Retention(last=max(1, settings.keep_last))
    return Retention(days=30) if settings.keep == "thin" else Retention()
