"""What twenty labels buy, given with the keyboard in the studio's Label screen.

    python -m bench.labelling [--seeds 1 2 3] [--topics postgresql django] [--write]

A synthetic web, a topic stated in one vague word, and 100 pages crawled. Then the collection is doubled:
of one, a person who knows the truth labels 20 pages in a real browser, pressing r or n; the other is
left as it is. Both go on for 200 pages. The crawls run in simulated time with the same seeds and stand
still while the labels are given, so that the labels are all that differs. Truth is the web's own.
"""

from __future__ import annotations

import argparse
import json
import shutil
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from tests.browser.driving import browser
from tests.browser.keyboard import label
from tests.browser.looking import visitors, watched
from tests.browser.served import studio

from honeyguide.api.create import create
from honeyguide.lab.responses import LabResponder
from honeyguide.lab.simulate import simulate_crawl
from honeyguide.lab.synthetic.topology import parse_plan
from honeyguide.lab.synthetic.web import SyntheticWeb
from honeyguide.store.store import Store

ROOT = Path(__file__).parents[1]
TOPICS = {"borg": "backup", "whoosh": "search", "postgresql": "database", "django": "web"}
"""Manuals of which the topic is made, and the one word that the person begins with."""
BEFORE, AFTER, LABELS = 100, 200, 20
RESULT = ROOT / "bench" / "results" / "labelling.json"


@dataclass(frozen=True)
class Result:
    seed: int
    topic: str
    word: str
    labels: int
    good: int
    """Of the labels."""
    with_labels: int
    """Relevant pages among the next."""
    without: int


def measure(seed: int, topic: str, room: Path) -> Result:
    web = SyntheticWeb(parse_plan(f"seed={seed},hosts=60,pages=8000"))

    def relevant(address: str) -> bool:
        return topic in web.labels_of(address)

    first = create(
        room / "labelled",
        seeds=sorted(web.urls_labelled(topic))[:2],
        contact="https://example.org/honeyguide-bench",
        keywords=[TOPICS[topic]],
        pages=BEFORE,
        fetch={"lab": "http://127.0.0.1:1"},
        crawl={"concurrency": 1},
    )
    simulate_crawl(first.folder, first.settings, LabResponder(web))
    shutil.copytree(first.folder, room / "unlabelled")
    with (
        studio(room) as shown,
        browser() as chromium,
        visitors(chromium) as context,
        watched(context, shown) as visitor,
    ):
        visitor.go("labelled", "label")
        given = label(visitor.page, relevant, LABELS)
    more = replace(first.settings, crawl=replace(first.settings.crawl, pages=BEFORE + AFTER))
    for name in ("labelled", "unlabelled"):
        simulate_crawl(room / name, more, LabResponder(web))
    return Result(
        seed,
        topic,
        TOPICS[topic],
        len(given),
        sum(given.values()),
        *(_found(room / name, relevant) for name in ("labelled", "unlabelled")),
    )


def _found(folder: Path, relevant: Callable[[str], bool]) -> int:
    """Relevant pages among the visits after the labels."""
    with Store.open(folder, "read") as store:
        return sum(
            relevant(row.url) for row in list(store.visits.iter_visits())[BEFORE : BEFORE + AFTER]
        )


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seeds", nargs="+", type=int, default=[1, 2, 3])
    parser.add_argument("--topics", nargs="+", choices=TOPICS, default=list(TOPICS))
    parser.add_argument("--write", action="store_true", help=f"keep the figures in {RESULT}")
    chosen = parser.parse_args(arguments)
    results = []
    for seed in chosen.seeds:
        for topic in chosen.topics:
            with tempfile.TemporaryDirectory() as room:
                results.append(measure(seed, topic, Path(room)))
            print(json.dumps(asdict(results[-1])), flush=True)
    if chosen.write:
        RESULT.write_text(json.dumps([asdict(one) for one in results], indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
