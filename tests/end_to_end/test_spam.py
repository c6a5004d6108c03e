"""A spam farm takes a small share of a crawl, and what is true is found."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from pathlib import Path

import pytest

from honeyguide.api.explain import explain_url
from honeyguide.cluster.sharded_crawl import crawl_in_processes
from honeyguide.cluster.sharded_frontier import shard_of
from honeyguide.config.loading import parse_settings
from honeyguide.config.settings import Settings
from honeyguide.crawl.rescore import apply_new_labels
from honeyguide.lab.responses import LabResponder
from honeyguide.lab.simulate import SIMULATION_START, simulate_crawl
from honeyguide.lab.synthetic.topology import parse_plan
from honeyguide.lab.synthetic.web import SyntheticWeb
from honeyguide.lab.web import without_scheme
from honeyguide.store.export import export_collection
from honeyguide.store.store import Store
from honeyguide.store.visits import VisitRow
from honeyguide.types import Label
from honeyguide.url import host_of
from tests.lab_thread import serve_in_thread

HONEST = "seed=3,hosts=30,pages=2000,islands=0,mirrors=0,traps=0,locality=0.8,focus=0.8,zipf=0.6"
WEB = SyntheticWeb(parse_plan(f"{HONEST},farm=2000,farm_domains=200,farm_topic=sqlite"))
TRUE = {without_scheme(url) for url in WEB.urls_labelled("sqlite")}


def settings(strategy: str, pages: int, share: float = 0.1) -> Settings:
    seeds = random.Random(3).sample(sorted(TRUE), 2)
    return parse_settings(
        {
            "topic": {
                "keywords": ["sqlite", "table", "column", "database"],
                "seeds": [f"http://{key}" for key in seeds],
            },
            "crawl": {"strategy": strategy, "pages": pages, "concurrency": 4},
            "scope": {"unproven_share": share},
            "fetch": {"contact": "https://example.org/lab", "lab": "http://127.0.0.1:1"},
            "politeness": {"loopback_delay_s": 0.0, "response_factor": 0.0},
            "store": {"warc": False, "min_free_mb": 0},
        }
    )


def crawl(folder: Path, wanted: Settings) -> list[VisitRow]:
    simulate_crawl(folder, wanted, LabResponder(WEB), latency=lambda _: 1.0)
    with Store.open(folder, "read") as store:
        return list(store.visits.iter_visits())


def spam_count(rows: list[VisitRow]) -> int:
    return sum(host_of(row.url) in WEB.farm_hosts for row in rows)


@pytest.mark.parametrize("strategy", ["keyword", "breadth"])
def test_a_farm_gets_its_share_over_several_runs(strategy: str, tmp_path: Path) -> None:
    pages = 700
    for part in (pages // 2, pages):
        rows = crawl(tmp_path, settings(strategy, part))
    assert len(rows) >= pages
    assert spam_count(rows) <= 0.15 * pages
    if strategy == "keyword":
        found = {without_scheme(row.url) for row in rows} & TRUE
        assert len(found) >= 0.8 * len(TRUE)


def test_pages_of_a_farm_are_set_aside_until_a_label(tmp_path: Path) -> None:
    wanted = settings("keyword", 300)
    rows = crawl(tmp_path, wanted)
    spam = [row for row in rows if host_of(row.url) in WEB.farm_hosts]
    assert spam
    assert all(row.unproven and not row.relevant for row in spam)
    assert not any(row.unproven for row in rows if row not in spam)
    answer = explain_url(tmp_path, wanted, spam[-1].url, SIMULATION_START).answer
    assert "judged relevant" in answer
    assert "on probation, so it does not count as relevant" in answer
    with Store.open(tmp_path, "read") as store:
        before = store.counter.read_counts().relevant
        done = export_collection(store, tmp_path / "found.jsonl")
        assert done.unproven == store.visits.count_unproven(store.threshold) > 0.8 * len(spam)
        everything = export_collection(store, tmp_path / "every.jsonl", everything=True)
    for path, unproven in ((done.path, 0), (everything.path, len(spam))):
        told = map(json.loads, path.read_text("utf-8").splitlines())
        assert sum(row["unproven"] for row in told) == unproven
    with Store.open(tmp_path, "write") as store:
        store.labels.add([Label(spam[0].url, 1.0)])
    apply_new_labels(tmp_path, wanted, [spam[0].url])
    with Store.open(tmp_path, "read") as store:
        assert store.counter.read_counts().relevant > before
        assert store.visits.attempts_at(spam[0].url)[-1].relevant
    # Where the setting is switched off, nothing is set aside any more.
    rows = crawl(tmp_path, settings("keyword", 310, share=1.0))
    assert not any(row.unproven for row in rows)
    assert any(row.relevant for row in rows if row.url == spam[-1].url)


def test_a_waiting_link_says_why_and_a_label_decides(tmp_path: Path) -> None:
    wanted = settings("keyword", 700)
    rows = crawl(tmp_path, wanted)
    spam = [row.url for row in rows if host_of(row.url) in WEB.farm_hosts]
    answers = [
        explain_url(tmp_path, wanted, f"http://p{n}.s{n}.example/{n + 200}.html", SIMULATION_START)
        for n in range(200)
    ]
    assert any("Its site is on probation" in found.answer for found in answers)
    with Store.open(tmp_path, "write") as store:
        store.labels.add([Label(spam[-1], 0.0)])
    closed = spam_count(crawl(tmp_path, settings("keyword", 800)))
    assert closed <= len(spam) + 5
    with Store.open(tmp_path, "write") as store:
        store.labels.add([Label(url, 1.0) for url in spam[-3:]])
    assert spam_count(crawl(tmp_path, settings("keyword", 950))) > closed + 60


def test_shards_hold_a_farm_back_together(tmp_path: Path) -> None:
    wanted = settings("keyword", 700)
    with serve_in_thread(WEB) as address:
        lab = replace(wanted, fetch=replace(wanted.fetch, lab=address))
        folder = tmp_path / "it"
        for pages in (400, 700):
            crawl_in_processes(folder, replace(lab, crawl=replace(lab.crawl, pages=pages)), 3)
        with Store.open(folder, "read") as store:
            rows = list(store.visits.iter_visits())
            relevant = store.counter.read_counts().relevant
        spam = [row for row in rows if host_of(row.url) in WEB.farm_hosts]
        assert len(rows) == 700
        assert 0 < len(spam) <= 0.15 * 700
        found = {without_scheme(row.url) for row in rows} & TRUE
        assert len(found) >= 0.6 * len(TRUE)
        aside = [row for row in rows if row.unproven]
        assert not any(row.relevant for row in aside)
        assert sum(row in spam for row in aside) >= 0.8 * len(spam), "three sites are free"
        assert len(aside) <= len(spam)
        assert sum(row.relevant for row in rows) == relevant
        # A good label is heard of by the shards that do not have its page.
        with Store.open(folder, "write") as store:
            store.labels.add([Label(row.url, 1.0) for row in spam[-3:]])
        crawl_in_processes(folder, replace(lab, crawl=replace(lab.crawl, pages=900)), 3)
    with Store.open(folder, "read") as store:
        rows = list(store.visits.iter_visits())
    freed = [row for row in rows[700:] if host_of(row.url) in WEB.farm_hosts and not row.unproven]
    assert len(freed) > 60
    assert len({shard_of(host_of(row.url), 3) for row in freed}) == 3
