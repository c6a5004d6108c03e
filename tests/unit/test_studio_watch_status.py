"""What Live tells of hosts and of a watch: with the rest where that is cheap, and when it was."""

from __future__ import annotations

import os
from pathlib import Path

from honeyguide.change import Change
from honeyguide.store.collection_files import CollectionLock
from honeyguide.store.store import Store
from honeyguide.studio import monitoring
from honeyguide.studio.monitoring import LiveViewCache, WatchStatusCache
from honeyguide.types import Url
from honeyguide.watch.watcher import RUNNING_FACT
from tests.unit.store_visits import good
from tests.unit.studio_here import keep

PAGE = Url("https://a.org/")


def test_hosts_add_up_to_the_headline_at_every_tick(tmp_path: Path) -> None:
    folder = keep(tmp_path / "c", [good(n) for n in range(5)])
    now = [1000.0]
    pulse = LiveViewCache(folder, lambda: now[0])
    for more in range(3):
        _, state = pulse.newest_view()
        assert sum(host.visits for host in state.hosts) == state.visits == 5 + more
        assert state.hosts_at == now[0]
        keep(folder, [good(10 + more)])
        now[0] += monitoring.TICK_S


def test_where_counting_takes_long_it_is_done_now_and_then(tmp_path: Path) -> None:
    keep(tmp_path, [good(1)])
    clock = [0.0]

    def timer() -> float:
        clock[0] += 0.2
        return clock[0]

    standing = WatchStatusCache(timer)
    with Store.open(tmp_path, "read") as store:
        counted = []
        for now in range(100, 130, 2):
            standing.refresh_counts(store, float(now))
            counted.append(standing.at)
    assert sorted(set(counted)) == [100.0, 110.0, 120.0], "a fiftieth of the time"


def test_a_watch_is_told_of(tmp_path: Path) -> None:
    folder = keep(tmp_path / "c", [good(1)])
    assert LiveViewCache(folder).newest_view()[1].watch is None, "nothing was ever watched"
    with Store.open(folder, "crawl") as store:
        store.watched.add_pages([PAGE, Url("https://b.org/")], "user", 1.0)
        row = store.watched.find_row(PAGE)
        assert row is not None
        store.watched.save_rows([row._replace(visits=7, visited=50.0)])
        store.changes.append(Change(PAGE, 50.0, ("content",), 0.5))
        store.watch_facts.set(*RUNNING_FACT, os.getpid())
    state = LiveViewCache(folder).newest_view()[1].watch
    assert state is not None
    assert (state.pages, state.visits, state.changes, state.last) == (2, 7, 1, 50.0)
    assert not state.running, "it runs no more"
    lock = CollectionLock(folder / "lock")
    try:
        running = LiveViewCache(folder).newest_view()[1].watch
        assert running is not None
        assert running.running
        with Store.open(folder, "write") as store:
            store.watch_facts.set(*RUNNING_FACT, os.getpid() + 1)
        crawling = LiveViewCache(folder).newest_view()[1].watch
        assert crawling is not None
        assert not crawling.running, "somebody else holds the lock: a crawl"
    finally:
        lock.close()
