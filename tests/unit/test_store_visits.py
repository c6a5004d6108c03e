from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest
import zstandard

from honeyguide.errors import StoreError
from honeyguide.store import GenerationCount, Store
from honeyguide.store.visits import VisitRow, _visit_columns
from honeyguide.store.warc import NO_LOCATION
from honeyguide.types import Link, Page, Reason, Url, Verdict, Visit
from tests.unit.store_visits import bad, copy, good


@pytest.fixture
def store(tmp_path: Path):
    with Store.open(tmp_path, "crawl") as opened:
        yield opened


def append(store: Store, *visits: Visit) -> list[int]:
    with store.transaction():
        return store.append_visits(visits)


def test_a_visit_comes_back_with_everything(store: Store) -> None:
    visit = good(1)
    [number] = append(store, visit)
    [row] = store.visits.attempts_at(visit.link.url)
    assert row.id == number == 1
    for name in ("url", "source", "anchor", "before", "after", "depth", "channel", "parent"):
        assert getattr(row, name) == getattr(visit.link, name)
    assert (row.at, row.generation, row.queued, row.score) == (visit.at, 1, 0.25, 0.5)
    assert (row.status, row.ip, row.etag, row.elapsed) == (200, "192.0.2.7", '"e1"', 0.25)
    assert visit.response is not None
    assert row.size == len(visit.response.payload)
    assert row.payload_digest.startswith("sha1:")
    assert len(row.payload_digest) == 37
    assert (row.verdict, row.relevant, row.verdict_reasons) == (0.9, 1, (Reason("honey", 0.5),))
    assert row.failure is None
    assert visit.page is not None
    assert store.visits.latest_page(visit.link.url) == visit.page
    assert store.visits.page_text(number) == (visit.page.headings, visit.page.text)


def test_every_column_gets_its_value_by_name() -> None:
    """A name that is no column would be lost without a word."""
    for visit in (good(1), bad(2), copy(3, "https://example.org/")):
        assert _visit_columns(visit, True, None, NO_LOCATION, "").keys() == set(VisitRow._fields)


def test_attempts_at_one_address_stand_side_by_side(store: Store) -> None:
    first = bad(1)
    second = good(2)._replace(link=first.link, tries=2)
    append(store, first)
    append(store, second)
    tries = store.visits.attempts_at(first.link.url)
    assert [row.failure for row in tries] == ["timeout", None]
    assert (tries[0].status, tries[0].detail, tries[0].final) == (None, "no answer", 0)
    assert store.visits.latest_page("https://nowhere.example.org/") is None
    assert store.visits.attempts_at("https://nowhere.example.org/") == []


def test_counts_agree_with_the_journal(store: Store) -> None:
    assert store.counter.read_counts().visits == 0
    assert store.counter.harvest_curve() == []
    visits = [good(n, 0.9 if n % 2 else 0.1) for n in range(1, 21)]
    append(store, *visits[:9])
    append(store, *visits[9:], bad(1), bad(2, "dns"), copy(99, visits[0].link.url))
    counts = store.counter.read_counts()
    assert (counts.visits, counts.pages, counts.relevant, counts.copies) == (23, 21, 10, 1), (
        "a copy is not relevant"
    )
    assert counts.failures == {"timeout": 1, "dns": 1}
    assert counts.hosts == 4
    assert counts.harvest_rate == pytest.approx(10 / 23)
    assert counts.bytes == sum(row.size for row in store.visits.iter_visits())
    assert counts.first == visits[0].at
    assert counts.last == good(99).at
    assert counts.generations[1] == GenerationCount(9, 5)
    assert store.counter.harvest_curve()[-1] == (23, 10)
    assert store.counter.harvest_curve()[8] == (9, 5)
    down = next(host for host in store.counter.top_hosts() if host.host == "down.example.org")
    assert (down.visits, down.relevant, down.failures) == (2, 0, 2)


def test_the_curve_stays_short_and_ends_with_the_crawl(store: Store) -> None:
    link = Link(Url("https://example.org/"))
    visits = [Visit(link, float(n), verdict=Verdict(float(n % 4 == 0))) for n in range(1, 6032)]
    append(store, *visits)
    curve = store.counter.harvest_curve()
    assert len(curve) <= 500
    assert curve[-1] == (6031, 6031 // 4)
    assert all(a < c and b <= d for (a, b), (c, d) in pairwise(curve))
    assert all(relevant == n // 4 for n, relevant in curve)
    assert len(store.counter.harvest_curve(10)) <= 10


def test_visits_are_filtered_and_streamed(store: Store) -> None:
    append(store, *(good(n, n / 1000) for n in range(1000)), bad(1))
    assert [row.id for row in store.visits.iter_visits(limit=3)] == [1, 2, 3]
    assert [row.id for row in store.visits.iter_visits(since=998)] == [999, 1000, 1001]
    assert sum(1 for _ in store.visits.iter_visits(relevant=True)) == 500
    assert sum(1 for _ in store.visits.iter_visits(relevant=False)) == 501
    assert sum(1 for _ in store.visits.iter_visits(page=True)) == 1000
    here = list(store.visits.iter_visits(host="host1.example.org", relevant=True))
    assert {row.url.split("/")[2] for row in here} == {"host1.example.org"}
    assert len(here) == sum(1 for n in range(500, 1000) if n % 3 == 1)
    assert list(store.visits.iter_visits(host="unknown.example.org")) == []


def test_the_threshold_decides_what_is_relevant(store: Store) -> None:
    with store.transaction():
        store.set_threshold(0.7)
    append(store, good(1, 0.6))
    append(store, good(2, 0.7))
    assert [row.relevant for row in store.visits.iter_visits()] == [0, 1]
    with store.transaction():
        store.set_threshold(0.6)
    assert [row.relevant for row in store.visits.iter_visits()] == [1, 1]
    assert store.counter.read_counts().relevant == 2


def test_a_failed_transaction_leaves_nothing(store: Store) -> None:
    append(store, good(1))

    def interrupted() -> None:
        with store.transaction():
            store.append_visits([good(2), good(3)])
            store.frontier_log.append(b"index", b"text")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert store.counter.read_counts().visits == 1
    assert list(store.frontier_log.scan_entries()) == []
    assert append(store, good(3)) == [2]
    assert [host.visits for host in store.counter.top_hosts()] == [1, 1]


def test_appending_needs_one_transaction(store: Store) -> None:
    with pytest.raises(StoreError, match="inside a transaction"):
        store.append_visits([good(1)])
    with store.transaction(), pytest.raises(StoreError, match="already open"), store.transaction():
        pass


def test_only_a_crawl_appends(store: Store, tmp_path: Path) -> None:
    with (
        Store.open(tmp_path, "write") as other,
        other.transaction(),
        pytest.raises(StoreError, match="opened to crawl"),
    ):
        other.append_visits([good(1)])
    assert not (tmp_path / "warc").exists()


def test_hostile_strings_do_not_stop_the_journal(store: Store) -> None:
    ugly = "\ud800\x00\x1b[2J\u202e" + "x" * 100_000
    url = Url("https://example.org/ugly")
    page = Page(url, ugly, ugly, (ugly,), ugly, charset=ugly)
    link = Link(url, anchor=ugly, before=ugly, rel=ugly)
    reasons = (Reason(ugly, float("nan")), Reason("inf", float("inf")))
    visit = Visit(link, 1.0, page=page, verdict=Verdict(0.9, reasons))
    append(store, visit)
    [row] = store.visits.attempts_at(url)
    assert len(row.title) == 4096
    assert row.anchor.startswith("?\x00\x1b")
    assert row.verdict_reasons[0].weight == 0.0
    found = store.visits.latest_page(url)
    assert found is not None
    assert found.text.endswith("xxx")


def test_the_log_keeps_entries_in_order(store: Store) -> None:
    with store.transaction():
        numbers = [store.frontier_log.append(bytes([n]), b"text%d" % n) for n in range(250)]
    assert numbers == sorted(set(numbers))
    assert [index for _, index in store.frontier_log.scan_entries()] == [
        bytes([n]) for n in range(250)
    ]
    assert store.frontier_log.read_text(numbers[7]) == b"text7"
    with pytest.raises(StoreError, match="no entry"):
        store.frontier_log.read_text(10_000)


def test_robots_are_kept_for_a_day(store: Store) -> None:
    store.robots.save_robots("https://a.example", 1000.0, 200, "User-agent: *\nDisallow: /x")
    store.robots.save_robots("https://b.example", 90_000.0, 404, "")
    with store.transaction():
        store.robots.save_robots("https://c.example", 90_001.0, 200, "\ud800" + "x" * 500_000)
    assert {row.origin for row in store.robots.iter_fresh(90_001.0)} == {
        "https://b.example",
        "https://c.example",
    }
    store.robots.save_robots("https://a.example", 90_001.0, 200, "Allow: /")
    again = {row.origin: row for row in store.robots.iter_fresh(90_001.0)}
    assert again["https://a.example"] == ("https://a.example", 90_001.0, 200, "Allow: /")
    assert list(store.robots.iter_fresh(1e9)) == []


def test_robots_of_somebody_else_are_not_believed(store: Store) -> None:
    names = [f"https://{name}.example" for name in "abcde"]
    for name in names:
        store.robots.save_robots(name, 90_000.0, 200, "User-agent: *\nDisallow: /")
    forged = zstandard.compress(b"User-agent: *\nAllow: /")
    for change in (
        "data = (SELECT data FROM robots WHERE origin LIKE '%e.ex%') WHERE origin LIKE '%a.ex%'",
        "at = 90000.5 WHERE origin LIKE '%b.ex%'",
        "status = 404 WHERE origin LIKE '%c.ex%'",
        f"data = x'{forged.hex()}' WHERE origin LIKE '%d.ex%'",
    ):
        store.database.execute(f"UPDATE robots SET {change}")
    assert [row.origin for row in store.robots.iter_fresh(90_001.0)] == [names[4]]
    store.database.execute("UPDATE robots SET data = 'text'")
    assert list(store.robots.iter_fresh(90_001.0)) == []


def test_meta(store: Store) -> None:
    assert store.get_meta("generation") is None
    store.set_meta("generation", "3")
    store.set_meta("generation", "4")
    assert store.get_meta("generation") == "4"
    assert store.free_mb() > 0
