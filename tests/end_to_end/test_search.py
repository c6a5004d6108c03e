"""Crawls that ask a search engine, in processes of their own: found, told, killed and resumed."""

from __future__ import annotations

import gzip
import json
import random
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from honeyguide.api.create import create
from honeyguide.errors import StoreError
from honeyguide.lab.search_engine import LAB_ENGINE_URL, make_lab_engine
from honeyguide.lab.web import RecordedResponse, RecordedWeb
from honeyguide.store.store import Store
from tests.end_to_end.crawling import honeyguide, journal, start
from tests.lab_thread import serve_in_thread

PAGES = 60
KILLS = 8


def record(number: int) -> RecordedResponse:
    """A page on a host of its own, which nobody links to."""
    body = f"<title>Hive {number}</title><p>Honey bee, honey bee, hive number {number}. Honey bee."
    url = f"http://h{number}.test/"
    return RecordedResponse(
        url, 200, (("Content-Type", "text/html"),), gzip.compress(body.encode())
    )


@pytest.fixture(scope="module")
def lab() -> Iterator[str]:
    web = RecordedWeb([record(number) for number in range(PAGES)])
    with serve_in_thread(web, engine=make_lab_engine(web, latency_s=0.02)) as address:
        yield address


def collection(folder: Path, lab: str, **search: object) -> Path:
    create(
        folder,
        seeds=[],
        contact="tester@example.org",
        keywords=["honey", "bee"],
        strategy="keyword",
        crawl={"pages": 0, "concurrency": 4},
        fetch={"lab": lab},
        politeness={"loopback_delay_s": 0.0},
        search={"engine": "searxng", "url": LAB_ENGINE_URL, "per_minute": 0, "compose": False,
                "mode": "search_only", "queries": ["honey bee"], **search},
    )  # fmt: skip
    return folder


def test_everything_is_found_and_told(lab: str, tmp_path: Path) -> None:
    folder = collection(tmp_path / "bees", lab)
    done = honeyguide("crawl", folder, "--quiet", "--json")
    assert done.returncode == 0, done.stderr
    facts = json.loads(done.stdout)
    assert facts["relevant"] == facts["visits"] == PAGES
    assert facts["estimate"]["channels"]["search"] == PAGES
    status = json.loads(honeyguide("status", folder, "--json").stdout)
    asked = status["searched"]
    assert asked["queries"] == 1
    assert (asked["results"], asked["fresh"], asked["failed"]) == (PAGES, PAGES, 0)
    assert facts["asked"] == asked["asked"] >= PAGES // 10
    told = honeyguide("status", folder).stdout
    assert "1 query asked in" in told
    why = honeyguide("explain", folder, "http://h7.test/").stdout
    assert "Found by the query honey bee (user): result" in why
    assert "of searxng" in why
    for file in (folder / "warc").glob("*.warc.gz"):
        assert b"search.lab" not in gzip.decompress(file.read_bytes()), "a question was archived"


def test_kills_lose_no_answer_and_ask_nothing_twice(lab: str, tmp_path: Path) -> None:
    folder = collection(tmp_path / "bees", lab)
    dice = random.Random(9)
    kept: set[int] = set()
    for _ in range(KILLS):
        crawl = start("crawl", folder, "--quiet")
        wanted = len(kept) + dice.randrange(0, 3)
        deadline = time.monotonic() + 20
        while len(searches(folder)) < wanted and time.monotonic() < deadline:
            if crawl.poll() is not None:
                break
            time.sleep(0.005)
        time.sleep(dice.random() * 0.2)
        crawl.kill()
        crawl.wait()
        now = set(searches(folder))
        assert kept <= now, "an answer was lost"
        kept = now
    assert kept, "the kills came too early to mean anything"
    done = honeyguide("crawl", folder, "--quiet", timeout=120)
    assert done.returncode == 0, done.stderr
    assert max(Counter(row.url for row in journal(folder)).values()) == 1
    assert len(journal(folder)) == PAGES, "a result was lost"
    with Store.open(folder, "read") as store:
        asked = [(search.query, search.page) for search in store.searches.list_searches()]
        assert len(asked) == len(set(asked)), "a page of results was asked for twice"
        assert store.searches.search_totals().fresh == PAGES


def searches(folder: Path) -> list[int]:
    try:
        with Store.open(folder, "read") as store:
            return [search.id for search in store.searches.list_searches()]
    except StoreError:
        return []  # killed before the database was made
