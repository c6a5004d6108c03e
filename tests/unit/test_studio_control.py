"""The reins tell how far a crawl has come, and where it stops."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from pathlib import Path

import msgspec

from honeyguide.crawl.live_status import LIVE_FILE, LiveStatus
from honeyguide.store.store import Store
from honeyguide.studio.monitoring import LiveViewCache, event_chunks
from tests.unit.store_visits import good
from tests.unit.studio_client import Client
from tests.unit.studio_here import keep

_SLEEPS = (sys.executable, "-c", "import time; time.sleep(60)")


def limited(folder: Path, pages: int) -> None:
    with (folder / "topic.toml").open("a") as file:
        file.write(f"[crawl]\npages = {pages}\n")


def test_the_limit_is_that_of_the_run_and_else_that_of_the_topic(tmp_path: Path) -> None:
    limited(keep(tmp_path / "birds", [good(1), good(2)]), 2)
    client = Client(tmp_path, _SLEEPS)
    run = client.get("/api/c/birds/run").json
    assert (run["visits"], run["limit"]) == (2, 2), "there is nothing left to do"
    begun = client.post("/api/c/birds/run", {"do": "start", "pages": 900}).json
    assert (begun["state"], begun["limit"]) == ("running", 900)
    ended = client.post("/api/c/birds/run", {"do": "kill"}).json
    assert ended["limit"] == (900 if ended["pid"] else 2)
    client.close()


def test_a_run_of_somebody_else_tells_its_limit(tmp_path: Path) -> None:
    folder = keep(tmp_path / "birds", [good(1)])
    limited(folder, 2)
    client = Client(tmp_path)
    seen = LiveStatus(at=0.0, pid=os.getpid(), began=0.0, budget=0)
    (folder / LIVE_FILE).write_bytes(msgspec.json.encode(seen))
    with Store.open(folder, "crawl"):
        run = client.get("/api/c/birds/run").json
    assert (run["state"], run["limit"]) == ("elsewhere", 0)
    client.close()


def test_what_was_never_crawled_has_no_visits(tmp_path: Path) -> None:
    (tmp_path / "birds").mkdir()
    (tmp_path / "birds" / "topic.toml").write_text("[crawl]\npagse = 1\n")
    client = Client(tmp_path)
    run = client.get("/api/c/birds/run").json
    assert (run["state"], run["visits"], run["limit"]) == ("idle", 0, 0)
    client.close()


def test_live_counts_towards_the_limit_of_the_run(tmp_path: Path) -> None:
    folder = keep(tmp_path / "birds", [good(1)])
    limited(folder, 2)
    assert LiveViewCache(folder).newest_view()[1].budget == 2
    seen = LiveStatus(at=time.time(), pid=os.getpid(), began=0.0, budget=900)
    (folder / LIVE_FILE).write_bytes(msgspec.json.encode(seen))
    assert LiveViewCache(folder).newest_view()[1].budget == 2, "that run is over"
    with Store.open(folder, "crawl"):
        assert LiveViewCache(folder).newest_view()[1].budget == 900


def test_a_collection_that_is_deleted_is_said_to_be_gone(tmp_path: Path) -> None:
    folder = keep(tmp_path / "birds", [good(1)])
    pulse = LiveViewCache(folder, iter(range(0, 100, 5)).__next__)

    async def pause(_: float) -> None:
        (folder / "topic.toml").unlink(missing_ok=True)

    async def heard() -> list[bytes]:
        stream = event_chunks(pulse, pause)
        return [await anext(stream) for _ in range(2)]

    tick, trouble = asyncio.run(heard())
    assert tick.startswith(b"event: tick")
    assert trouble.startswith(b"event: trouble")
    assert b'"gone":true' in trouble
