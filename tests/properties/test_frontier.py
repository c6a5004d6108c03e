"""The frontier beside a plain model of itself, through any sequence of events."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from math import inf, isqrt
from pathlib import Path
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)

from honeyguide.frontier.frontier import LinkFrontier
from honeyguide.frontier.order import BestFirstOrder
from honeyguide.protocols import FrontierLog
from honeyguide.types import Candidate, Link, Url
from tests.contracts.logs import FileLog, MemoryFrontierLog

HOSTS = ["a.one.org", "b.one.org", "c.one.org", "two.org"]
scores = st.integers(0, 16).map(lambda n: n / 16)
hosts = st.sampled_from(HOSTS)
pages = st.lists(st.tuples(hosts, st.integers(0, 30), scores), max_size=20)


def site(host: str) -> str:
    return ".".join(host.split(".")[-2:])


@dataclass
class Known:
    """What the model knows of an address."""

    number: int
    host: str
    queued: float
    written: float
    """The score without what rerankings made of it."""
    score: float
    state: str = "waiting"
    tries: int = 0
    due: float = 0.0
    inlinks: int = 1


@dataclass
class Model:
    links: dict[str, Known] = field(default_factory=dict)
    parked: dict[str, float] = field(default_factory=dict)
    remembered: dict[str, float] = field(default_factory=dict)
    """Parking that the log will tell."""


class Machine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.now = 1000.0
        self.model = Model()
        self.flushed = Model()
        self.rests: dict[str, float] = {}
        self.out: list[Candidate] = []
        self.taken: set[str] = set()
        self.limits = {"site_links": 0, "site_hosts": 0, "site_busy": 0}
        self.open()

    def log(self) -> FrontierLog:
        return FileLog(Path(self.folder.name) / "log")

    def open(self) -> None:
        self.frontier = LinkFrontier(
            self.log(), BestFirstOrder(), now=self.now, delay=5.0, **self.limits
        )

    def teardown(self) -> None:
        self.folder.cleanup()

    def free_at(self, host: str) -> float:
        return max(self.rests.get(host, 0.0), self.model.parked.get(host, 0.0))

    def busy(self) -> set[str]:
        return {known.host for known in self.model.links.values() if known.state == "busy"} | (
            self.taken
        )

    def full(self, host: str) -> bool:
        """Whether as many hosts of its site are busy as may be."""
        busy = sum(site(other) == site(host) for other in self.busy())
        return 0 < self.limits["site_busy"] <= busy

    def room(self, host: str) -> bool:
        """Whether a new link of this host is taken in."""
        mine = [known for known in self.model.links.values() if site(known.host) == site(host)]
        # Hosts that were only taken or parked are known too, without a link.
        known = {view.host for view in self.before}
        hosts = {known.host for known in mine} | {h for h in known if site(h) == site(host)}
        links, most = self.limits["site_links"], self.limits["site_hosts"]
        return (not links or len(mine) < links) and (host in hosts or not most or len(hosts) < most)

    def waiting(self) -> list[Known]:
        return [known for known in self.model.links.values() if known.state == "waiting"]

    @initialize(
        salt=st.integers(0, 50),
        links=st.sampled_from([0, 45, 60]),
        hosts=st.sampled_from([0, 1, 2]),
        busy=st.sampled_from([0, 1, 2]),
    )
    def begin(self, salt: int, links: int, hosts: int, busy: int) -> None:
        """Enough links to fill a host's hot part."""
        self.limits = {"site_links": links, "site_hosts": hosts, "site_busy": busy}
        self.open()
        self.push([(HOSTS[n % 5 // 4], n, (n * 11 + salt) % 17 / 16) for n in range(40)])

    @rule(page=pages)
    def push(self, page: list[tuple[str, int, float]]) -> None:
        batch, new = [], 0
        for host, number, score in page:
            url = f"http://{host}/{number}"
            batch.append(Candidate(Link(Url(url), anchor=f"{number}"), score))
        links = self.model.links
        self.before = list(self.frontier.iter_hosts())
        dropped = self.frontier.dropped
        # The frontier first: a reranking under way takes its step before the links come in.
        told = self.frontier.push(batch)
        turned_away: set[str] = set()
        for host, number, score in page:
            url = f"http://{host}/{number}"
            known = links.get(url)
            if known is None and not self.room(host):
                turned_away.add(url)
            elif known is None:
                links[url] = Known(len(links), host, score, score, score)
                new += 1
            else:
                known.inlinks += 1
                if known.state == "waiting" and score > known.score:
                    known.score = known.written = score
        assert told == new
        assert self.frontier.dropped == dropped + len(turned_away)

    @rule(later=st.sampled_from([0.0, 0.0, 0.5, 1.0, 40.0]))
    def pop(self, later: float) -> None:
        self.now += later
        candidate = self.frontier.pop(self.now)
        busy = self.busy()
        able = [
            known
            for known in self.waiting()
            if known.host not in busy
            and not self.full(known.host)
            and self.free_at(known.host) <= self.now
            and known.due <= self.now
        ]
        if candidate is None:
            assert not able
            wake = self.frontier.wake_at()
            assert wake is None or wake > self.now, "nobody should spin"
            return
        best = min(able, key=lambda known: (-known.score, known.number))
        assert candidate.link.url == f"http://{best.host}/{candidate.link.anchor}"
        assert self.model.links[candidate.link.url] is best
        assert candidate.score == best.score
        assert (candidate.initial_score, candidate.tries) == (best.queued, best.tries)
        assert candidate.link.inlinks == best.inlinks
        best.state = "busy"
        self.out.append(candidate)

    @precondition(lambda self: self.out)
    @rule(rest=st.sampled_from([0.0, 0.5, 2.0]))
    def finish(self, rest: float) -> None:
        candidate = self.out.pop(0)
        self.frontier.finish(candidate, self.now, rest)
        known = self.model.links[candidate.link.url]
        known.state = "done"
        self.rests[known.host] = self.now + rest

    @precondition(lambda self: self.out)
    @rule(rest=st.sampled_from([0.0, 1.0]), wait=st.sampled_from([0.0, 0.5, 3.0]))
    def retry(self, rest: float, wait: float) -> None:
        candidate = self.out.pop()
        self.frontier.retry(candidate, self.now, rest, self.now + wait)
        known = self.model.links[candidate.link.url]
        known.state, known.due = "waiting", self.now + wait
        known.tries += 1
        self.rests[known.host] = self.now + rest

    @rule(host=hosts)
    def take(self, host: str) -> None:
        again = self.frontier.claim_host(host, self.now)
        if host in self.busy():
            assert again > self.now
        elif self.free_at(host) > self.now:
            assert again == self.free_at(host)
        else:
            assert again == 0.0
            self.taken.add(host)

    @precondition(lambda self: self.taken)
    @rule(rest=st.sampled_from([0.0, 1.5]))
    def release(self, rest: float) -> None:
        host = self.taken.pop()
        self.frontier.release_host(host, self.now, rest)
        self.rests[host] = self.now + rest

    @rule(host=hosts, wait=st.sampled_from([-1.0, 0.0, 10.0, 90.0, inf]))
    def park(self, host: str, wait: float) -> None:
        until = self.now + wait
        # A park is told no time: the frontier goes by the last one it heard.
        self.frontier.wake_at()
        self.frontier.park_host(host, until)
        heard = self.frontier._heap.now
        self.model.parked[host] = until if until > heard else 0.0
        if until > heard + 30 or host in self.model.remembered:
            self.model.remembered[host] = self.model.parked[host]

    @rule(salt=st.integers(0, 1000))
    def rerank(self, salt: int) -> None:
        def rank(links: Sequence[Link]) -> list[float]:
            found = []
            for link in links:
                known = self.model.links[link.url]
                assert known.state == "waiting"
                assert link.inlinks == known.inlinks
                known.score = (known.number * 7919 + salt) % 17 / 16
                found.append(known.score)
            return found

        self.frontier.rerank_all(rank)

    @rule(confirmed=st.booleans())
    def flush(self, confirmed: bool) -> None:
        self.frontier.flush()
        if confirmed:
            self.frontier.confirm_flush()
        self.flushed = deepcopy(self.model)

    @rule()
    def fail(self) -> None:
        """A transaction takes back what was flushed into it."""
        path = Path(self.folder.name) / "log"
        before = path.read_bytes()
        self.frontier.flush()
        path.write_bytes(before)

    @rule(wait=st.sampled_from([0.0, 2.0, 10.0]))
    def crash(self, wait: float) -> None:
        """What was flushed is there again; what was out waits."""
        self.now += wait
        self.model = deepcopy(self.flushed)
        self.model.parked = dict(self.model.remembered)
        self.out, self.taken, self.rests = [], set(), {}
        for known in self.model.links.values():
            if known.state == "done" or known.tries:
                self.rests[known.host] = self.now + 5.0
            if known.state == "busy":
                known.state = "waiting"
            known.score = known.written
        self.flushed = deepcopy(self.model)
        self.open()

    @invariant()
    def counts(self) -> None:
        assert len(self.frontier) == len(self.waiting())
        views = {view.host: view for view in self.frontier.iter_hosts()}
        for host, view in views.items():
            assert view.waiting == sum(known.host == host for known in self.waiting())
            assert view.busy == (host in self.busy())

    @invariant()
    def wakes_in_time(self) -> None:
        wake = self.frontier.wake_at()
        assert (wake is None) == (not self.waiting())
        busy = self.busy()
        times = [
            max(self.free_at(known.host), known.due)
            for known in self.waiting()
            if known.host not in busy and not self.full(known.host)
        ]
        assert wake is None or wake <= max(self.now, min(times, default=inf))


@pytest.fixture(autouse=True)
def small() -> object:
    """Limits so small that a few links reach all of them."""
    share = "honeyguide.frontier.{}.hot_share"
    with (
        patch("honeyguide.frontier.host_queues.MIN_HOT", 2),
        patch("honeyguide.frontier.host_queues.HOT_LIMIT", 4),
        patch("honeyguide.frontier.waiting_links.HOT_LIMIT", 4),
        patch("honeyguide.frontier.replay.HOT_LIMIT", 4),
        patch(share.format("host_queues"), lambda count: max(2, isqrt(count))),
        patch(share.format("replay"), lambda count: max(2, isqrt(count))),
        patch("honeyguide.frontier.waiting_links.SLICE_LINKS", 5),
        patch("honeyguide.frontier.waiting_links.WINDOW_ROWS", 16),
        patch("honeyguide.frontier.waiting_links.FRONT_LINKS", 8),
        patch("honeyguide.frontier.log.ENTRY_LINKS", 12),
        patch("honeyguide.frontier.log.CHUNK_LINKS", 4),
        patch("honeyguide.frontier.log.CACHED_CHUNKS", 2),
        patch("honeyguide.frontier.log_codec.CHUNK_LINKS", 4),
        patch("honeyguide.frontier.rows.MAX_NEWEST", 6),
        patch("honeyguide.frontier.rows.RUN_GROWTH", 2),
        patch("honeyguide.frontier.replay.BATCH_BYTES", 200),
    ):
        yield


class TestFrontier(Machine.TestCase):  # type: ignore[misc, name-defined]
    settings = settings(max_examples=60, stateful_step_count=40, deadline=None)


@given(st.lists(pages, max_size=8), st.integers(1, 4))
@settings(max_examples=30)
def test_memory_and_file_agree(batches: list[list[tuple[str, int, float]]], every: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        logs: list[FrontierLog] = [MemoryFrontierLog(), FileLog(Path(folder) / "log")]
        told = []
        for log in logs:
            frontier = LinkFrontier(log, BestFirstOrder())
            popped: list[Candidate | None] = []
            for number, batch in enumerate(batches):
                frontier.push(
                    Candidate(Link(Url(f"http://{host}/{n}")), score) for host, n, score in batch
                )
                popped.append(candidate := frontier.pop(number))
                if candidate is not None:
                    frontier.finish(candidate, number, 0.5)
                if number % every == 0:
                    frontier.flush()
            told.append(
                (popped, list(log.scan_entries()) and [index for _, index in log.scan_entries()])
            )
        assert told[0] == told[1]
