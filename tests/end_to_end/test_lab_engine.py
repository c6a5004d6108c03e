"""A crawl that asks the lab's search engine, over real sockets and in simulated time."""

from __future__ import annotations

from pathlib import Path

import pytest

from honeyguide.api.collection import Collection
from honeyguide.api.create import create
from honeyguide.config.loading import parse_settings
from honeyguide.lab.responses import LabResponder
from honeyguide.lab.search_engine import LAB_ENGINE_URL, make_lab_engine
from honeyguide.lab.simulate import simulate_crawl
from honeyguide.lab.synthetic.topology import parse_plan
from honeyguide.lab.synthetic.web import SyntheticWeb
from honeyguide.url import host_of
from tests.end_to_end.crawling import journal
from tests.lab_thread import serve_in_thread

PLAN = "seed=7,hosts=30,pages=300,scattered=0.9,zipf=0.2,focus=0.9,mirrors=0,islands=0,languages=0"
WEB = SyntheticWeb(parse_plan(PLAN))
TOPIC = WEB.topics[0]
ENGINE = make_lab_engine(WEB)
HOME = next(name for name in WEB.home_hosts(TOPIC) if name in WEB.scattered_hosts)
WORDS = TOPIC.split("-")
PAGES = 40


def tables(engine: bool) -> dict[str, dict[str, object]]:
    search: dict[str, object] = {"engine": "searxng", "url": LAB_ENGINE_URL, "per_minute": 0}
    return {
        "crawl": {"strategy": "keyword", "pages": PAGES, "concurrency": 1},
        "politeness": {"loopback_delay_s": 0.0},
        "search": search | {"queries": [" ".join(WORDS)]} if engine else {},
    }


def boards(folder: Path) -> set[str]:
    """Scattered hosts that gave a page, but for the one it began on."""
    return {host_of(row.url) for row in journal(folder) if row.has_page} & WEB.scattered_hosts - {
        HOME
    }


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
    simulate_crawl(
        tmp_path / "simulated",
        parse_settings(topic | lab | tables(engine)),
        LabResponder(WEB, engine=ENGINE),
    )
    for name in ("real", "simulated"):
        found = boards(tmp_path / name)
        assert len(found) >= 3 if engine else not found, name
