"""Links, and what became of them, survive being split into shards and put together again."""

from __future__ import annotations

import random
from functools import partial

import pytest

from honeyguide.cluster.sharded_frontier import ShardPartition, shard_of
from honeyguide.frontier.frontier import LinkFrontier
from honeyguide.frontier.order import make_order
from honeyguide.frontier.replay import LogCopySource, LogCopyWriter, copy_log
from honeyguide.types import Candidate, Link, Url
from honeyguide.url import host_of
from tests.contracts.logs import MemoryFrontierLog

Facts = dict[str, tuple[object, ...]]


def _frontier(log: MemoryFrontierLog) -> LinkFrontier:
    return LinkFrontier(log, make_order("best", 1), now=1000.0, delay=0.0)


def _used(dice: random.Random) -> MemoryFrontierLog:
    """A frontier with a past: links that are done, failed, seen again, raised; parked hosts."""
    log = MemoryFrontierLog()
    frontier = _frontier(log)
    urls = [Url(f"http://h{dice.randrange(30)}.org/{n}") for n in range(1500)]
    for start in range(0, len(urls), 100):
        links = [
            Link(url, anchor=f"to {url}", depth=dice.randrange(9)) for url in urls[start:][:100]
        ]
        seen = [*links, *dice.choices(links, k=30)]
        frontier.push(Candidate(link, dice.random(), dice.random()) for link in seen)
        for _ in range(20):
            if (taken := frontier.pop(1000.0 + start)) is not None:
                if dice.random() < 0.7:
                    frontier.finish(taken, 1000.0, 0.0)
                else:
                    frontier.retry(taken, 1000.0, 0.0, 1000.0 + dice.randrange(3000))
        frontier.flush()
        frontier.confirm_flush()
    frontier.park_host("h3.org", 9e9)
    frontier.flush()
    frontier.confirm_flush()
    return log


def _facts(log: MemoryFrontierLog) -> Facts:
    """Everything that a frontier over this log would serve, and what it would not."""
    frontier = _frontier(log)
    found: Facts = {}
    now = 1000.0
    while (wake := frontier.wake_at()) is not None and wake < 8e9:
        now = max(now, wake)
        taken = frontier.pop(now)
        if taken is not None:
            link = taken.link
            found[link.url] = (
                link.anchor,
                link.depth,
                link.inlinks,
                taken.score,
                taken.initial_score,
                taken.tries,
            )
            frontier.finish(taken, now, 0.0)
    return found


@pytest.mark.parametrize("shards", [1, 2, 7])
def test_what_is_split_and_joined_is_what_it_was(shards: int) -> None:
    log = _used(random.Random(shards))
    parts = [MemoryFrontierLog() for _ in range(shards)]
    copy_log(
        LogCopySource(log),
        [LogCopyWriter(part) for part in parts],
        partial(shard_of, shards=shards),
    )
    before = _facts(log)
    assert len(before) > 1000
    split = [_facts(part) for part in parts]
    assert {url: fact for part in split for url, fact in part.items()} == before
    for number, part in enumerate(split):
        assert {shard_of(host_of(url), shards) for url in part} <= {number}
    joined = MemoryFrontierLog()
    writer = LogCopyWriter(joined)
    for part in parts:
        copy_log(LogCopySource(part), [writer], lambda _: 0)
    assert _facts(joined) == before


def test_links_that_are_done_stay_so() -> None:
    log = _used(random.Random(1))
    whole = _frontier(log)
    parts = [MemoryFrontierLog(), MemoryFrontierLog()]
    copy_log(
        LogCopySource(log), [LogCopyWriter(part) for part in parts], partial(shard_of, shards=2)
    )
    halves = [_frontier(part) for part in parts]
    links = [Url(f"http://h{n % 30}.org/{n}") for n in range(1500)]
    for url in links:
        home = halves[shard_of(host_of(url), 2)]
        assert whole.still_wanted([url]) == home.still_wanted([url])
    assert len(whole) == sum(map(len, halves))


def test_a_domain_lives_in_one_place_for_ever() -> None:
    assert shard_of("www.bbc.co.uk", 64) == shard_of("news.bbc.co.uk", 64) == 52
    assert shard_of("127.0.0.1", 7) == 3
    for shards in (2, 3, 10):
        homes = [shard_of(f"site{n}.org", shards) for n in range(3000)]
        assert min(homes.count(n) for n in range(shards)) > 0.8 * 3000 / shards
    part = ShardPartition(1, 2)
    for url in ("http://a.org/x", "http://a.org:8080/y", "https://me@b.org/"):
        assert part.owns_url(Url(url)) == (shard_of(host_of(url), 2) == 1)
