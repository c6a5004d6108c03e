"""What dead links take of a crawl, and what heeding them costs where there are none.

    python bench/dead_links.py FOLDER [--subjects …] [--strategies …] [--pages 1500] [--clean-draws 3]

FOLDER holds the recorded webs (see docs/how-to/compare.md). Every crawl is made on the encyclopedia
with its dead links. On clean webs, the encyclopedia and the departments without dead links and
without farms, crawls are made with and without the rules against both. Writes
docs/reference/dead-links.md. Interrupted, it goes on where it ended.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any
from unittest.mock import patch

import webs

from honeyguide.lab.metrics import bootstrap_mean, measure_harvest, paired_difference
from honeyguide.lab.simulate import simulate_crawl
from honeyguide.lab.studies.study import finished_jobs, run_jobs
from honeyguide.lab.trials import CrawlTrial, draw_topic, open_web, trial_examples, trial_settings
from honeyguide.lab.web import without_scheme
from honeyguide.links.dead_links import DeadLinks
from honeyguide.store.store import Store
from honeyguide.store.visits import VisitRow
from honeyguide.types import UNREQUESTED

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "reference" / "dead-links.md"
CHOSEN_ON = (
    "Science.Biology.Birds",
    "Science.Biology.Health_and_medicine",
    "Science.Chemistry.Chemical_elements",
)
"""Subjects that settings were chosen on."""
SUBJECTS = (
    "Science.Biology.Mammals",
    "Science.Biology.Plants",
    "Science.Physics.Space_Astronomy",
)
"""Subjects that are reported."""
CLEAN = {"schools": SUBJECTS[1:], "webkb": ("course", "student")}
"""Webs without dead links and without farms, and their reported subjects."""
STRATEGIES = ("honeyguide", "hybrid_svm", "keyword", "adaptive_links")
GIVEN_UP = 20
"""Failures after which a pattern is known to be dead."""
_EXTENSION = re.compile(r"(?:\.[A-Za-z]\w{0,4}){1,2}\Z")


@dataclass(frozen=True, slots=True)
class DeadLinkTrial:
    """One crawl to be made."""

    folder: str
    web: str
    subject: str
    strategy: str
    draw: int
    pages: int
    closed: bool
    """Whether dead links are taken out of the web."""
    heeds: bool
    """Whether scores are multiplied by the chance of a page, and unproven sites held back."""


def run_trial(job: DeadLinkTrial) -> dict[str, Any]:
    recorded = webs.webkb if job.web == "webkb" else webs.schools
    web = replace(recorded(Path(job.folder)), closed=job.closed)
    trial = CrawlTrial(web, job.subject, job.strategy, job.draw, job.pages)
    topic, graph = draw_topic(trial), open_web(web).graph
    given = {without_scheme(url) for url in (*topic.seeds, *topic.examples)}
    goal = (set(topic.relevant) & graph.reachable_from(topic.seeds)) - given
    with tempfile.TemporaryDirectory(prefix="dead-links-") as folder, ExitStack() as off:
        if not job.heeds:
            off.enter_context(patch.object(DeadLinks, "weigh_scores", lambda _, links, all: all))
            off.enter_context(
                patch.object(DeadLinks, "limit_scores", lambda _, links: [1.0] * len(links))
            )
        settings, examples = trial_settings(trial, topic), trial_examples(trial, topic)
        if not job.heeds:
            settings = replace(settings, scope=replace(settings.scope, unproven_share=1.0))
        simulate_crawl(
            Path(folder), settings, open_web(web).responder.fresh_copy(), examples=examples
        )
        with Store.open(Path(folder), "read") as store:
            rows = [
                row
                for row in store.visits.iter_visits()
                if row.status is not None or row.failure not in UNREQUESTED
            ]
    good = [_brings_page(row) and without_scheme(row.url) in goal for row in rows]
    return {
        "visits": len(rows),
        "lost": sum(not _brings_page(row) for row in rows) / len(rows),
        "to_dead": sum(visits_to_dead_patterns(rows)) / len(rows),
        "area": measure_harvest(good, len(goal)).area,
    }


def visits_to_dead_patterns(rows: Iterable[VisitRow]) -> Iterator[bool]:
    """Whether each visit went to a pattern that had failed 20 times, in a row or more often than
    not. A pattern is the first folder and the extension: the crawler's own are finer."""
    pages: Counter[tuple[str, str]] = Counter()
    failed: Counter[tuple[str, str]] = Counter()
    in_a_row: Counter[tuple[str, str]] = Counter()
    for row in rows:
        folder, _, name = without_scheme(row.url).partition("?")[0].rpartition("/")
        extension = _EXTENSION.search(name)
        pattern = "/".join(folder.split("/")[:2]), extension[0] if extension else ""
        often = failed[pattern] >= max(GIVEN_UP, pages[pattern])
        yield often or in_a_row[pattern] >= GIVEN_UP
        if _brings_page(row):
            pages[pattern] += 1
            in_a_row[pattern] = 0
        else:
            failed[pattern] += 1
            in_a_row[pattern] += 1


def _brings_page(row: VisitRow) -> bool:
    return bool(row.has_page) and row.copy_of is None


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--results", type=Path, default=ROOT / "bench" / "results" / "dead-links")
    parser.add_argument("--subjects", nargs="*", default=SUBJECTS)
    parser.add_argument("--strategies", nargs="*", default=STRATEGIES)
    parser.add_argument("--pages", type=int, default=1500)
    parser.add_argument("--clean-pages", type=int, default=300, help="visits on clean webs")
    parser.add_argument("--clean-draws", type=int, default=3, help="draws of each subject there")
    parser.add_argument("--unheeded", action="store_true", help="also where dead links are open")
    parser.add_argument("--workers", type=int, default=0)
    parser.add_argument("--done", action="store_true", help="make no crawl: the page of those made")
    parser.add_argument("--dry", action="store_true", help="write no page")
    chosen = parser.parse_args()
    folder = str(chosen.folder)
    jobs = [
        DeadLinkTrial(folder, "schools", subject, strategy, 0, chosen.pages, False, heeds)
        for heeds in ((True, False) if chosen.unheeded else (True,))
        for strategy, subject in product(chosen.strategies, chosen.subjects)
    ] + [
        DeadLinkTrial(folder, web, subject, strategy, draw, chosen.clean_pages, True, heeds)
        for draw, strategy in product(range(chosen.clean_draws), chosen.strategies)
        for web, subjects in CLEAN.items()
        for subject, heeds in product(subjects, (True, False))
    ]
    if chosen.done:
        jobs = finished_jobs(jobs, chosen.results, name="crawls")
    found = run_jobs(
        run_trial, jobs, chosen.results, name="crawls", workers=chosen.workers, done=_tell
    )
    text = page(list(zip(jobs, found, strict=True)), chosen)
    sys.stdout.write(text)
    if not chosen.dry:
        PAGE.write_text(text, "utf-8")


def page(crawls: Sequence[tuple[DeadLinkTrial, dict[str, Any]]], chosen: Any) -> str:
    def values(
        key: str, strategy: str, subjects: Iterable[str], closed: bool, heeds: bool
    ) -> list[list[float]]:
        return [
            [
                outcome[key]
                for job, outcome in crawls
                if (job.strategy, job.subject, job.closed, job.heeds)
                == (strategy, subject, closed, heeds)
            ]
            for subject in subjects
        ]

    clean = (one for subjects in CLEAN.values() for one in subjects)
    names = [
        ", ".join(subject.rpartition(".")[2] for subject in some)
        for some in (chosen.subjects, CHOSEN_ON, clean)
    ]
    out = [
        "# Dead links",
        "",
        "Made by `python bench/dead_links.py FOLDER` (`make bench-dead-links FOLDER=…`). How links",
        "lose score by what came of links like them: [honeyguide](../strategies/honeyguide.md).",
        "",
        "Real crawls in simulated time; 3 seeds (of departments: their home pages) and 10 good pages.",
        f"Settings were chosen on other subjects ({names[1]}).",
        "",
        f"## With dead links, {chosen.pages} visits",
        "",
        f"An encyclopedia of 2007 for schools ({names[0]}).",
        "Links to pages that were not recorded stay and answer 404; most are pages of pictures.",
        "*Lost*: visits without a page of their own; articles that ask not to be kept are among them.",
        "*To dead patterns*: visits to a first folder and extension that had failed",
        f"{GIVEN_UP} times before, in a row or more often than not; the goal is less than 8 %. *Heeded*: whether",
        "scores were multiplied by the chance of a page (`--unheeded` makes crawls without).",
        "",
        "| strategy | heeded | crawls | lost | to dead patterns | the worst crawl | area |",
        "|---|---|--:|--:|--:|--:|--:|",
    ]
    for strategy, heeds in product(chosen.strategies, (True, False)):
        lost, dead, area = (
            values(key, strategy, chosen.subjects, False, heeds)
            for key in ("lost", "to_dead", "area")
        )
        if any(lost):
            cells = [f"{sum(map(len, lost))}"]
            cells += [f"{bootstrap_mean(some).mean:.1%}" for some in (lost, dead)]
            cells += [
                f"{max(share for each in dead for share in each):.1%}",
                f"{bootstrap_mean(area).mean:.3f}",
            ]
            out.append(f"| `{strategy}` | {'yes' if heeds else 'no'} | {' | '.join(cells)} |")
    out += [
        "",
        f"## Clean webs, {chosen.clean_pages} visits",
        "",
        "The encyclopedia and the computer science departments of 1997 (WebKB) without dead links: links to",
        f"pages that were not recorded are taken out ({names[2]}).",
        "No farm is there either. Each subject is crawled with the rules against dead links and",
        "[spam farms](spam.md), and without both, from the same start; draws of each: "
        f"{chosen.clean_draws}. Harvest must not",
        "be lower: means of the area under the curve with 95 % intervals (bootstrap over subjects and draws).",
        "",
        "| web | strategy | crawls | lost | area without | area with the rules | difference |",
        "|---|---|--:|--:|---|---|---|",
    ]
    for (web, subjects), strategy in product(CLEAN.items(), chosen.strategies):
        before, after = (values("area", strategy, subjects, True, on) for on in (False, True))
        if any(after):
            means = bootstrap_mean(before), bootstrap_mean(after), paired_difference(after, before)
            lost = values("lost", strategy, subjects, True, True)
            cells = [str(sum(map(len, lost))), f"{bootstrap_mean(lost).mean:.1%}", *map(str, means)]
            out.append(f"| {web} | `{strategy}` | {' | '.join(cells)} |")
    return "\n".join([*out, ""])


def _tell(done: int, of: int) -> None:
    sys.stderr.write(json.dumps({"crawls": done, "of": of}) + "\n")


if __name__ == "__main__":
    main()
