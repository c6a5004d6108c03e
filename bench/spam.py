"""What a spam farm takes of a crawl, and what the crawl still finds.

    python bench/spam.py [--farms …] [--strategies …] [--seeds …] [--pages 1000] [--shards 1] [--write]

Each crawl is one that a user would make from keywords and two seeds, on a synthetic web of 30 hosts
with 2,000 honest pages; only time is simulated. With ``--shards N`` it is crawled in so many
processes, over the lab's server, in real time. ``--write`` puts the table into the reference.
"""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from itertools import islice
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

from honeyguide.cluster.sharded_crawl import crawl_in_processes
from honeyguide.config.loading import parse_settings
from honeyguide.config.settings import Settings
from honeyguide.lab.simulate import simulate_crawl
from honeyguide.lab.trials import WebSpec, distinctive_words, open_web
from honeyguide.lab.web import without_scheme
from honeyguide.store.store import Store
from honeyguide.url import host_of

HONEST = (
    "hosts=30,pages=2000,islands=0,mirrors=0,traps=0,errors=0.01,locality=0.8,focus=0.8,zipf=0.6"
)
FARM = "farm=10000"
UNGUARDED = "500 domains, no trust in sites"
FARMS = {
    "none": "",
    UNGUARDED: FARM,
    "500 domains": FARM,
    "each its own design": f"{FARM},farm_designs=1",
    "no repeated words": f"{FARM},farm_stuffed=0,farm_designs=1",
    "links to true pages": f"{FARM},farm_outward=0.4",
    "links to itself only": f"{FARM},farm_outward=0",
    "50 domains": f"{FARM},farm_domains=50",
    "1 domain, 3,000 hosts": f"{FARM},farm_domains=1,farm_hosts=3000",
    "entered from true pages": f"{FARM},farm_good_entries=true",
    "entered from 30 pages": f"{FARM},farm_entries=30",
}
MAIN_FARMS = "none", "500 domains", "entered from true pages", "entered from 30 pages"
"""What all strategies are tried on."""
TOPICS = "sqlite", "django", "whoosh"
"""Topics of some hundred pages or less; a web's seed says which."""
HEAD = (
    "| farm | strategy | visits to the farm, mean (worst) | true pages found | … kept | farm kept |\n"
    "|---|---|--:|--:|--:|--:|\n"
)
PAGE = Path(__file__).parents[1] / "docs/reference/spam.md"


class SpamTrial(NamedTuple):
    """One crawl to be made."""

    farm: str
    strategy: str
    seed: int
    pages: int
    share: float
    """``scope.unproven_share``."""
    shards: int


class SpamScores(NamedTuple):
    """What came of it."""

    trial: SpamTrial
    spam: float
    """Share of the visits that went to the farm."""
    true: int
    """Pages on the topic …"""
    found: float
    """… and the share of them that was visited."""
    kept: float
    """Share of the true pages that counts as relevant in the end."""
    kept_spam: int
    """Pages of the farm that do."""


def run_trial(trial: SpamTrial) -> SpamScores:
    topic = TOPICS[trial.seed % len(TOPICS)]
    made = f"seed={trial.seed},{HONEST},farm_topic={topic}"
    if FARMS[trial.farm]:
        made = f"{made},{FARMS[trial.farm]}"
    opened = open_web(WebSpec("spam", made=made))
    web = opened.responder.web
    truth = {without_scheme(url) for url in web.urls_labelled(topic)}
    dice = random.Random(trial.seed)
    seeds = dice.sample(sorted(truth), 2)
    others = dice.sample(sorted(set(map(without_scheme, web.page_urls())) - truth), 60)
    body = [
        [opened.responder.respond(key).body for key in keys]
        for keys in (sorted(truth)[:40], others)
    ]
    settings = parse_settings(
        {
            "topic": {
                "name": "it",
                "keywords": distinctive_words(topic, *body)[:4],
                "seeds": [f"http://{key}" for key in seeds],
            },
            "scope": {"unproven_share": trial.share},
            "crawl": {"strategy": trial.strategy, "pages": trial.pages, "concurrency": 1},
            "fetch": {"contact": "https://example.org/lab", "lab": "http://127.0.0.1:1"},
            "politeness": {"loopback_delay_s": 0.0, "response_factor": 0.0},
            "store": {"warc": False, "min_free_mb": 0},
        },
        "the bench",
    )
    with tempfile.TemporaryDirectory(prefix="spam-", dir="/dev/shm") as folder:
        if trial.shards > 1:
            crawl_with_shards(Path(folder), settings, made, trial.shards)
        else:
            simulate_crawl(Path(folder), settings, opened.responder, latency=lambda _: 1.0)
        with Store.open(Path(folder), "read") as store:
            rows = list(store.visits.iter_visits())
    farm = web.farm_hosts
    spam = [row for row in rows if host_of(row.url) in farm]
    found = {without_scheme(row.url) for row in rows} & truth
    kept = [row for row in rows if row.relevant]
    return SpamScores(
        trial,
        len(spam) / len(rows),
        len(truth),
        len(found) / len(truth),
        sum(without_scheme(row.url) in truth for row in kept) / len(truth),
        sum(host_of(row.url) in farm for row in kept),
    )


def crawl_with_shards(folder: Path, settings: Settings, made: str, shards: int) -> None:
    """The same in processes, over a server of that web."""
    command = [sys.executable, "-m", "honeyguide", "lab", "serve", "--made", made, "--port", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as lab:
        try:
            assert lab.stderr is not None
            said = next(line for line in lab.stderr if "://" in line).partition(";")[0]
            fetch = replace(settings.fetch, lab=said.split()[-1])
            crawl_in_processes(folder, replace(settings, fetch=fetch), shards)
        finally:
            lab.terminate()


def table_row(farm: str, strategy: str, all_scores: Iterator[SpamScores]) -> str:
    """The means of some webs, and the worst of them."""
    scores = list(all_scores)
    spam, found = [one.spam for one in scores], [one.found for one in scores]
    return (
        f"| {farm} | {strategy} | {fmean(spam):.1%} ({max(spam):.1%}) | "
        f"{fmean(found):.0%} ({min(found):.0%}) | {fmean(one.kept for one in scores):.0%} | "
        f"{sum(one.kept_spam for one in scores)} |\n"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--farms", nargs="*", default=list(FARMS), choices=list(FARMS))
    parser.add_argument("--strategies", nargs="*", default=["keyword", "honeyguide", "hybrid_svm"])
    parser.add_argument("--pages", type=int, default=1000)
    parser.add_argument("--seeds", nargs="*", type=int, default=[11, 12, 13])
    parser.add_argument("--share", type=float, default=0.1)
    parser.add_argument("--shards", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--write", action="store_true", help=f"put the table into {PAGE.name}")
    chosen = parser.parse_args()
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    lines = [(farm, name) for name in chosen.strategies for farm in chosen.farms]
    if len(chosen.farms) == len(FARMS):
        lines = [(farm, name) for farm, name in lines if name == "keyword" or farm in MAIN_FARMS]
    trials = [
        SpamTrial(
            farm, name, seed, chosen.pages,
            1.0 if farm == UNGUARDED else chosen.share, chosen.shards,
        )
        for farm, name in lines
        for seed in chosen.seeds
    ]  # fmt: skip
    table = HEAD
    sys.stdout.write(HEAD)
    with ProcessPoolExecutor(chosen.jobs) as pool:
        scores = pool.map(run_trial, trials)
        for farm, name in lines:
            row = table_row(farm, name, islice(scores, len(chosen.seeds)))
            sys.stdout.write(row)
            sys.stdout.flush()
            table += row
    if chosen.write:
        head, _, rest = PAGE.read_text().partition("<!-- table -->\n")
        tail = rest.partition("<!-- end -->")[2]
        PAGE.write_text(f"{head}<!-- table -->\n{table}<!-- end -->{tail}", "utf-8")


if __name__ == "__main__":
    main()
