"""A crawl in simulated time takes the decisions of a real one."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

import pytest

from honeyguide.config import Settings, parse
from honeyguide.crawl.collection import Collection
from honeyguide.crawl.create import create
from honeyguide.lab.demo_web import load, topics
from honeyguide.lab.responses import Desk
from honeyguide.lab.serve import serve_in_thread
from honeyguide.lab.simulate import crawl
from tests.end_to_end.crawling import journal

PAGES = 80


def raw(strategy: str, order: str, delay: float) -> dict[str, dict[str, object]]:
    topic = topics()["full-text-search"]
    return {
        "topic": {"keywords": list(topic.keywords), "seeds": list(topic.seeds)},
        "crawl": {"strategy": strategy, "order": order, "pages": PAGES, "concurrency": 1},
        "fetch": {"contact": "tester@example.org"},
        "politeness": {"loopback_delay_s": delay},
    }


def decisions(folder: Path) -> list[tuple[object, ...]]:
    return [
        (row.url, row.source, round(row.queued, 5), round(row.score, 5), row.status, row.verdict)
        for row in journal(folder)
    ]


@pytest.mark.parametrize(
    ("strategy", "order"),
    [("keyword", "best"), ("breadth", "strategy"), ("keyword", "proportional")],
)
def test_simulated_and_real_crawls_agree(strategy: str, order: str, tmp_path: Path) -> None:
    web = load()
    settings: Settings = parse(raw(strategy, order, 0.0))
    with serve_in_thread(web) as address:
        made = raw(strategy, order, 0.0)
        made["fetch"]["lab"] = address
        topic = made.pop("topic")
        create(
            tmp_path / "real",
            seeds=topic["seeds"],  # type: ignore[arg-type]
            keywords=topic["keywords"],  # type: ignore[arg-type]
            contact="tester@example.org",
            **made,
        )
        Collection(tmp_path / "real").crawl()
    lab = replace(settings, fetch=replace(settings.fetch, lab="http://127.0.0.1:1"))
    (tmp_path / "simulated").mkdir()
    crawl(tmp_path / "simulated", lab, Desk(web))
    real, simulated = decisions(tmp_path / "real"), decisions(tmp_path / "simulated")
    assert len(real) >= PAGES
    assert real == simulated


def test_politeness_costs_no_wall_time(tmp_path: Path) -> None:
    settings = parse(raw("keyword", "best", 20.0))
    lab = replace(settings, fetch=replace(settings.fetch, lab="http://127.0.0.1:1"))
    began = time.monotonic()
    report = crawl(tmp_path, lab, Desk(load()), latency=lambda _: 1.5)
    assert report.seconds > 100, "simulated time passes"
    assert time.monotonic() - began < 30
