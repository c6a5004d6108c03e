"""A crawl that asks the lab's search engine, over real sockets and in simulated time."""

from __future__ import annotations

from pathlib import Path

import pytest

from honeyguide.config import parse
from honeyguide.crawl.collection import Collection
from honeyguide.crawl.create import create
from honeyguide.lab.engine import ADDRESS, engine_over
from honeyguide.lab.made.parameters import plan_of
from honeyguide.lab.made.web import MadeWeb
from honeyguide.lab.responses import Desk
from honeyguide.lab.serve import serve_in_thread
from honeyguide.lab.simulate import crawl
from honeyguide.url import host
from tests.end_to_end.crawling import journal

PLAN = "seed=7,hosts=30,pages=300,scattered=0.9,zipf=0.2,focus=0.9,mirrors=0,islands=0,languages=0"
WEB = MadeWeb(plan_of(PLAN))
TOPIC = WEB.topics[0]
ENGINE = engine_over(WEB)
HOME = next(name for name in WEB.homes(TOPIC) if name in WEB.scattered)
WORDS = TOPIC.split("-")
PAGES = 40


def tables(engine: bool) -> dict[str, dict[str, object]]:
    search: dict[str, object] = {"engine": "searxng", "url": ADDRESS, "per_minute": 0}
    return {
        "crawl": {"strategy": "keyword", "pages": PAGES, "concurrency": 1},
        "politeness": {"loopback_delay_s": 0.0},
        "search": search | {"queries": [" ".join(WORDS)]} if engine else {},
    }


def boards(folder: Path) -> set[str]:
    """Scattered hosts that gave a page, but for the one it began on."""
    return {host(row.url) for row in journal(folder) if row.has_page} & WEB.scattered - {HOME}


@pytest.mark.parametrize("engine", [True, False])
def test_boards_are_found_through_the_engine_alone(engine: bool, tmp_path: Path) -> None:
    contact, seeds = "tester@example.org", [f"http://{HOME}/"]
    with serve_in_thread(WEB, engine=ENGINE) as address:
        create(
            tmp_path / "real",
            seeds=seeds,
            keywords=WORDS,
            contact=contact,
            fetch={"lab": address},
            **tables(engine),  # type: ignore[arg-type]
        )
        Collection(tmp_path / "real").crawl()
    topic = {"topic": {"keywords": WORDS, "seeds": seeds}}
    lab = {"fetch": {"contact": contact, "lab": "http://127.0.0.1:1"}}
    (tmp_path / "simulated").mkdir()
    crawl(tmp_path / "simulated", parse(topic | lab | tables(engine)), Desk(WEB, engine=ENGINE))
    for name in ("real", "simulated"):
        found = boards(tmp_path / name)
        assert len(found) >= 3 if engine else not found, name
