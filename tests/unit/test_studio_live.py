"""What the Live screen is told: once for all who look, in bounded pieces, whatever lies there."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import msgspec
import pytest

from honeyguide.crawl import live_status
from honeyguide.crawl.live_status import LiveFrontier, LiveStatus, LiveStatusWriter, WaitingHost
from honeyguide.crawl.loop import CrawlLoop
from honeyguide.frontier.frontier import SCORE_BINS, LinkFrontier
from honeyguide.frontier.order import make_order
from honeyguide.store.collection_files import CollectionLock
from honeyguide.store.counters import CollectionCounts, GenerationCount
from honeyguide.store.store import Store
from honeyguide.studio import monitoring
from honeyguide.studio.monitoring import (
    LiveViewCache,
    event_chunks,
    generation_marks,
    harvest_curve,
)
from honeyguide.types import Candidate, Link, Url
from tests.contracts.logs import MemoryFrontierLog
from tests.end_to_end.crawling import collection
from tests.site.server import Site
from tests.site.web import weave
from tests.unit.crawling import FakeWeb, crawl
from tests.unit.store_visits import bad, good
from tests.unit.studio_here import here, keep


def candidate(number: int, score: float) -> Candidate:
    return Candidate(Link(Url(f"https://h{number % 7}.example/{number}")), score, score)


def frontier(candidates: list[Candidate]) -> LinkFrontier:
    made = LinkFrontier(MemoryFrontierLog(), make_order("best", 1))
    made.push(candidates)
    return made


def test_a_glance_adds_up() -> None:
    waiting = frontier([candidate(n, (n * 37 % 100) / 100) for n in range(300)])
    assert waiting.pop(10.0) is not None
    seen = waiting.get_overview(10.0, 3, 20)
    assert seen.waiting == sum(seen.scores) == len(waiting) == 299
    assert len(seen.scores) == SCORE_BINS
    assert (seen.hosts, seen.busy, len(seen.fullest_hosts)) == (7, 1, 3)
    assert [host.waiting for host in seen.fullest_hosts] == sorted(
        h.waiting for h in seen.fullest_hosts
    )[::-1]
    scores = [score for _, score in seen.best_links]
    assert len(scores) == 20
    assert scores == sorted(scores, reverse=True)
    assert min(scores) >= 0.9


def test_a_glance_at_nothing() -> None:
    seen = frontier([]).get_overview(0.0, 5, 5)
    assert (seen.waiting, seen.hosts, seen.fullest_hosts, seen.best_links) == (0, 0, (), ())


def test_a_ring_is_told_of(tmp_path: Path) -> None:
    """From another process: addresses under way, the frontier, and why hosts wait."""
    links = "".join(f"<a href='http://h{n}.example/'>bee {n}</a>" for n in range(30))
    web = FakeWeb({"http://a.example/": f"<p>honey bee {links}"})
    seen: list[LiveStatus] = []

    def meanwhile(ring: CrawlLoop) -> None:
        teller = LiveStatusWriter(tmp_path, web.now)
        kept = ring._record_outcome

        def keep_and_tell(*given: object) -> None:
            kept(*given)  # type: ignore[arg-type]
            teller.write_status(ring)
            if told := live_status.read_live_status(tmp_path):
                seen.append(told)

        ring._record_outcome = keep_and_tell  # type: ignore[assignment, method-assign]

    crawl(tmp_path, web, ["http://a.example/"], meanwhile=meanwhile)
    assert [told.visits for told in seen] == sorted(told.visits for told in seen)
    first = seen[0]
    assert first.frontier.waiting == 30
    assert {host.state for host in first.frontier.most} == {"ready"}
    assert first.frontier.top[0].anchor.startswith("bee")
    assert any(told.fetching for told in seen)
    assert not list(tmp_path.glob(".live*"))


def test_a_run_leaves_its_last_word(tmp_path: Path, site: Site) -> None:
    folder = tmp_path / "bees"
    weave(site, site.addresses[:2], pages=6)
    collection(folder, [site.url(site.addresses[0], "/")], crawl={"pages": 3}).crawl()
    told = live_status.read_live_status(folder)
    assert told is not None
    assert told.visits == 3
    assert "budget" in told.ended
    pulse = LiveViewCache(folder)
    _, state = pulse.newest_view()
    assert not state.running
    assert state.ended == told.ended
    assert state.frontier.waiting == told.frontier.waiting
    assert state.fetching == []


@pytest.mark.parametrize(
    "data",
    [b"", b"{", b"[]", b'{"at": "soon"}', b"\xff\xfe", b"[" * 100_000, b" " * 2_000_000],
)
def test_a_strange_glimpse_is_none(tmp_path: Path, data: bytes) -> None:
    (tmp_path / live_status.LIVE_FILE).write_bytes(data)
    assert live_status.read_live_status(tmp_path) is None


def test_a_glimpse_that_is_a_link_is_not_read(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_bytes(msgspec.json.encode(LiveStatus(at=1.0, pid=1, began=1.0)))
    (tmp_path / "bees").mkdir()
    (tmp_path / "bees" / live_status.LIVE_FILE).symlink_to(secret)
    assert live_status.read_live_status(tmp_path / "bees") is None


def test_nothing_is_written_through_a_link(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("mine")
    folder = tmp_path / "bees"
    folder.mkdir()
    (folder / f".{live_status.LIVE_FILE}.part").symlink_to(secret)

    def meanwhile(ring: CrawlLoop) -> None:
        LiveStatusWriter(folder, web.now).write_status(ring)

    web = FakeWeb({"http://a.example/": "honey"})
    crawl(folder, web, ["http://a.example/"], meanwhile=meanwhile)
    assert secret.read_text() == "mine"


def test_the_state_is_put_together_once_a_tick(tmp_path: Path) -> None:
    folder = keep(tmp_path / "c", [good(n, score=n % 2) for n in range(20)] + [bad(50)])
    now = [1000.0]
    pulse = LiveViewCache(folder, lambda: now[0])
    number, state = pulse.newest_view()
    assert (state.visits, state.relevant, state.failures) == (21, 10, {"timeout": 1})
    assert state.curve.visits[-1] == 21
    assert state.hosts[0].host == "host0.example.org"
    keep(folder, [good(60)])
    assert pulse.newest_view() == (number, state)
    now[0] += monitoring.TICK_S
    later, fresh = pulse.newest_view()
    assert (later, fresh.visits) == (number + 1, 22)
    now[0] += monitoring.TICK_S
    assert pulse.newest_view()[0] == later


def test_a_stale_glimpse_is_told_as_such(tmp_path: Path) -> None:
    folder = keep(tmp_path / "c", [good(1)])
    host = WaitingHost(
        "host1.example.org", 9, "left alone", None, "its robots.txt could not be fetched"
    )
    front = LiveFrontier(at=1000.0, most=[host])
    seen = LiveStatus(at=1000.0, pid=77, began=900.0, rate=2.0, frontier=front)
    (folder / live_status.LIVE_FILE).write_bytes(msgspec.json.encode(seen))
    _, state = LiveViewCache(folder, lambda: 1001.0).newest_view()
    assert not state.fresh
    assert state.rate is None
    assert (state.hosts[0].visits, state.hosts[0].waiting) == (1, 9)
    assert "robots" in state.hosts[0].why
    lock = CollectionLock(folder / "lock")
    try:
        _, state = LiveViewCache(folder, lambda: 1001.0).newest_view()
        assert state.running
        assert not state.fresh  # another process's glimpse
    finally:
        lock.close()


def test_a_collection_that_was_never_crawled(tmp_path: Path) -> None:
    (tmp_path / "c").mkdir()
    (tmp_path / "c" / "topic.toml").write_text('[topic]\nname = "c"\n')
    state = monitoring.live_view(here(tmp_path / "c"))
    assert (state.visits, state.running, state.curve.visits) == (0, False, [])


def test_events_tell_changes_and_signs_of_life(tmp_path: Path) -> None:
    folder = keep(tmp_path / "c", [good(1)])
    pulse = LiveViewCache(folder)
    waits: list[float] = []

    async def pause(seconds: float) -> None:
        waits.append(seconds)
        if len(waits) == 7:
            pulse.close()

    async def listen() -> list[bytes]:
        return [event async for event in event_chunks(pulse, pause)]

    events = asyncio.run(listen())
    assert [event.split(b"\n")[0] for event in events] == [b"event: tick", b"event: heartbeat"]
    assert json.loads(events[0].split(b"\n")[1].removeprefix(b"data: "))["visits"] == 1
    assert all(event.endswith(b"\n\n") for event in events)


def test_events_tell_trouble_and_go_on(tmp_path: Path) -> None:
    folder = keep(tmp_path / "c", [good(1)])
    (folder / "topic.toml").write_text("[topic]\nunknown = 1\n")
    pulse = LiveViewCache(folder)

    async def pause(_: float) -> None:
        pulse.close()

    async def listen() -> list[bytes]:
        return [event async for event in event_chunks(pulse, pause)]

    (event,) = asyncio.run(listen())
    assert event.startswith(b'event: trouble\ndata: {"error":')


def test_the_curve_has_few_points(tmp_path: Path) -> None:
    folder = keep(tmp_path / "c", [good(n, score=float(n < 300), text="") for n in range(900)])
    with Store.open(folder, "read") as store:
        curve = harvest_curve(store)
    assert len(curve.visits) <= 400
    assert curve.visits[-1] == 900
    assert curve.harvest[-1] == round(300 / 900, 4)
    assert curve.recent[-1] == 0.0
    assert 1.0 in curve.recent


def test_generations_stand_where_they_took_over() -> None:
    counted = {n: GenerationCount(10, n % 3) for n in range(200)}
    marks = generation_marks(CollectionCounts(generations=counted))
    assert len(marks) <= 30
    assert all(mark.visits == 10 * mark.generation for mark in marks)
    assert generation_marks(CollectionCounts()) == []
