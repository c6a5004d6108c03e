"""A crawl in simulated time takes the decisions of a real one."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

import pytest

from honeyguide.api.collection import Collection
from honeyguide.api.create import create
from honeyguide.config.loading import parse_settings
from honeyguide.config.settings import Settings
from honeyguide.lab.responses import LabResponder
from honeyguide.lab.simulate import simulate_crawl
from honeyguide.lab.web import load_demo_topics, load_demo_web
from tests.end_to_end.crawling import journal
from tests.lab_thread import serve_in_thread

PAGES = 80


def raw(strategy: str, order: str, delay: float) -> dict[str, dict[str, object]]:
    topic = load_demo_topics()["full-text-search"]
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
    web = load_demo_web()
    settings: Settings = parse_settings(raw(strategy, order, 0.0))
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
    simulate_crawl(tmp_path / "simulated", lab, LabResponder(web))
    real, simulated = decisions(tmp_path / "real"), decisions(tmp_path / "simulated")
    assert len(real) >= PAGES
    assert real == simulated


def test_politeness_costs_no_wall_time(tmp_path: Path) -> None:
    settings = parse_settings(raw("keyword", "best", 20.0))
    lab = replace(settings, fetch=replace(settings.fetch, lab="http://127.0.0.1:1"))
    began = time.monotonic()
    report = simulate_crawl(tmp_path, lab, LabResponder(load_demo_web()), latency=lambda _: 1.5)
    assert report.seconds > 100, "simulated time passes"
    assert time.monotonic() - began < 90
