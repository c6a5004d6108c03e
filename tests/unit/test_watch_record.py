"""What a revisit leaves behind: told only when it is sure."""

from __future__ import annotations

from honeyguide.store.watch_list import WatchedRow
from honeyguide.types import Failure, Url
from honeyguide.watch import record
from honeyguide.watch.compare.revisit_comparison import HealthFinding
from honeyguide.watch.record import VisitedPage
from honeyguide.watch.revisit_flow import DuePage, RevisitOutcome

URL = Url("http://e.org/page")
DAY = 86_400.0
ROW = WatchedRow(1, URL, 1, 0.0, "user", 1.0, "watched", succeeded=0.0, digest=b"x" * 16)


def failed(at: float) -> RevisitOutcome[object]:
    return RevisitOutcome(
        DuePage(URL), "failed", at, failure=Failure("timeout", "slow", final=False)
    )


def refused(at: float) -> RevisitOutcome[object]:
    return RevisitOutcome(DuePage(URL), "aside", at, status=404)


def test_a_page_that_cannot_be_seen_for_days_is_told_of_once() -> None:
    row, was, told = ROW, None, []
    for day in range(1, 8):
        made = VisitedPage(row, failed(day * DAY), b"", was).record_failed()  # type: ignore[arg-type]
        row, was = made.row, made.problem or was
        told += [made.change.detail] if made.change else []
    assert told == ["not seen for 3 days: timeout"]
    assert row.failures == 7


def test_gone_and_moved_are_confirmed() -> None:
    for kind, detail in (("gone", "404"), ("moved", "http://e.org/there")):
        finding = HealthFinding(kind, detail)  # type: ignore[arg-type]
        first = VisitedPage(ROW, refused(1.0), b"", None).record_problem(finding, 3)  # type: ignore[arg-type]
        assert first.change is None
        again = VisitedPage(first.row, refused(2.0), b"", None).record_problem(finding, 3)  # type: ignore[arg-type]
        assert again.change is not None
        assert (again.change.kinds, again.change.significance) == ((kind,), 1.0)
        third = VisitedPage(again.row, refused(3.0), b"", again.problem).record_problem(finding, 3)  # type: ignore[arg-type]
        assert third.change is None, "told once"
        assert (third.row.state == "gone") is (kind == "gone")


def test_patience_grows_and_follows_what_hosts_ask_for() -> None:
    waits = [record.retry_delay(ROW._replace(failures=n), failed(0.0)) for n in (1, 2, 3, 20)]  # type: ignore[arg-type]
    assert waits == [3600.0, 7200.0, 14400.0, DAY]
    later = RevisitOutcome(DuePage(URL), "later", 10.0, retry_at=5010.0)  # type: ignore[var-annotated]
    assert record.retry_delay(ROW, later) == 5000.0


def test_moments_that_are_none() -> None:
    assert record.parse_last_modified("Tue, 15 Nov 1994 12:45:26 GMT") == 784903526.0
    for text in ("", "yesterday", "Tue, 99 Nov 1994 12:45:26 GMT", "\x00", "9" * 400):
        assert record.parse_last_modified(text) is None
