"""How often `honeyguide advise` says something, and what accepting it brings.

    python bench/advice.py FOLDER [--half choose|report|other|all] [--starts …] [--pages 300]

From each start of bench/verdicts.py a real crawl is made. Where there is advice that can be
accepted, the crawl goes on for as many visits, once as it is and once with the advice accepted; F1
is of all pages visited by then, at the crawl's own cut. `wanted`: whether at least half of the pages
that the advice names are of the topic, by which a person would decide. Only time is simulated.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import verdicts

from honeyguide.api.advice import find_advice
from honeyguide.config.loading import parse_settings
from honeyguide.lab.compare import run_in_processes
from honeyguide.lab.simulate import simulate_crawl
from honeyguide.lab.trials import open_web
from honeyguide.lab.web import without_scheme
from honeyguide.store.store import Store

STARTS = ("keywords", "keyword", "sentence", "three pages", "keywords+seed")


def advise_trial(trial: verdicts.VerdictTrial) -> dict[str, Any]:
    """The crawl, the advice, and F1 with and without it."""
    spec = verdicts.named_web(trial.statement.web, trial.folder)
    web = open_web(spec)
    urls = web.responder.web.urls_labelled(trial.statement.label)
    truth = frozenset(without_scheme(url) for url in urls)
    topic, given = verdicts.stated_topic(trial, spec, web, sorted(truth))

    def crawl(folder: Path, pages: int, **accepted: Any) -> float:
        """F1 after so many visits in all."""
        settings = parse_settings(tables(pages) | {"topic": stated | accepted}, "the bench")
        simulate_crawl(folder, settings, web.responder, latency=lambda _: 1.0, people=None)
        with Store.open(folder, "read") as store:
            rows = {
                without_scheme(row.url): row
                for row in store.visits.iter_visits(page=True)
                if not row.copy_of
            }
        judged = [(k, r.verdict or 0.0, int(k in truth)) for k, r in rows.items() if k not in given]
        return float(verdicts.score_pages(judged, settings.topic.threshold)["f1"])

    stated = {"name": "it", "keyword_language": spec.language, **topic}
    with tempfile.TemporaryDirectory(prefix="advice-", dir="/dev/shm") as parent:
        folder = Path(parent, "first")
        folder.mkdir()
        result: dict[str, Any] = {"label": trial.statement.label, "start": trial.start}
        result["f1"] = crawl(folder, trial.pages)
        settings = parse_settings(tables(trial.pages) | {"topic": stated}, "the bench")
        found = find_advice(folder, settings)
        result["advice"] = [f"{one.kind}: {one}" for one in found]
        one = next((one for one in found if "topic" in one.changes), None)
        if one is not None:
            shown = [without_scheme(url) in truth for url in one.pages]
            result["wanted"] = 2 * sum(shown) >= len(shown)
            other = Path(shutil.copytree(folder, Path(parent, "second")))
            result["as_it_is"] = crawl(folder, 2 * trial.pages)
            result["accepted"] = crawl(other, 2 * trial.pages, **one.changes["topic"])
    return result


def tables(pages: int) -> dict[str, Any]:
    return {
        "crawl": {"pages": pages, "concurrency": 1, "random_seed": 1},
        "scope": {"sitemaps": "never"},
        "fetch": {"contact": "https://example.org/lab", "lab": "http://127.0.0.1:1"},
        "politeness": {"loopback_delay_s": 0.0, "response_factor": 0.0},
        "store": {"warc": False, "min_free_mb": 0},
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", help="where the recorded webs are")
    parser.add_argument("--half", choices=verdicts.HALVES, default="report")
    parser.add_argument("--starts", nargs="+", choices=verdicts.STARTS, default=list(STARTS))
    parser.add_argument("--topics", nargs="+", default=[""], help="parts of names of topics")
    parser.add_argument("--pages", type=int, default=300)
    parser.add_argument("--workers", type=int, default=1)
    chosen = parser.parse_args()
    first = verdicts.VerdictTrial(chosen.folder, verdicts.CHOOSE[0], "", 0, pages=chosen.pages)
    trials = [
        replace(first, statement=statement, start=start)
        for statement in verdicts.HALVES[chosen.half]
        if any(part in statement.label for part in chosen.topics)
        for start in chosen.starts
    ]
    for result in run_in_processes(advise_trial, trials, chosen.workers):
        sys.stdout.write(json.dumps(result, ensure_ascii=False) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
