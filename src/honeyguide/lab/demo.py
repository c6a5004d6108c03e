"""The demonstration: a focused crawl of the embedded web, judged against breadth-first."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path

from honeyguide.crawl.collection import Collection
from honeyguide.crawl.create import create
from honeyguide.crawl.progress import Observer, Report
from honeyguide.errors import ConfigError, HoneyguideError
from honeyguide.lab.chart import svg
from honeyguide.lab.demo_web import DemoTopic, load, topics
from honeyguide.lab.metrics import Harvest, harvest, sampled
from honeyguide.lab.web import RecordedWeb
from honeyguide.store.store import Store
from honeyguide.types import UNASKED

MARK = "made-by-honeyguide-demo"
"""A file that says: this folder may be replaced by the next demonstration."""


@dataclass(frozen=True, slots=True)
class Run:
    """One strategy's crawl, and how it compares with the truth."""

    title: str
    collection: Collection
    report: Report
    harvest: Harvest


Watch = Callable[[str, int], AbstractContextManager[Observer]]
"""Shows one crawl's progress: called with a title and a budget."""


def demonstrate(folder: Path, topic_name: str, pages: int, watch: Watch) -> list[Run]:
    """Crawl the embedded web twice, focused and breadth first, and draw both curves."""
    topic = _topic(topic_name)
    _make_room(folder)
    web = load()
    truth = len(web.labelled(topic_name))
    runs = []
    with _served() as address:
        for title, strategy in (("honeyguide", "honeyguide"), ("breadth-first", "breadth")):
            collection = create(
                folder / strategy,
                seeds=topic.seeds,
                contact="https://example.org/honeyguide-demo",
                keywords=topic.keywords,
                description=topic.description,
                strategy=strategy,
                pages=pages,
                fetch={"lab": address},
                politeness={"loopback_delay_s": 0.0},
                # Few at once: a crowd would ask poor hosts while the good one is busy.
                crawl={"concurrency": 4},
            )
            with watch(title, pages) as observer:
                report = collection.crawl(observer=observer)
            judged = _judged(collection.folder, web, topic_name)
            runs.append(Run(title, collection, report, harvest(judged, truth)))
    (folder / "harvest.svg").write_text(curve(topic, runs), "utf-8")
    return runs


def curve(topic: DemoTopic, runs: list[Run]) -> str:
    return svg(
        f"Relevant pages found: {topic.title}",
        "pages visited",
        "relevant pages found",
        {run.title: points(run) for run in runs},
    )


def points(run: Run) -> list[tuple[float, float]]:
    return [(0.0, 0.0), *((float(n), y) for n, y in sampled(run.harvest.found, 300))]


def _judged(folder: Path, web: RecordedWeb, topic: str) -> list[bool]:
    """The truth about each visit, in order; what must not be asked for is no visit."""
    with Store.open(folder, "read") as store:
        return [
            bool(row.has_page) and topic in web.labels(row.url)
            for row in store.visits()
            if row.status is not None or row.failure not in UNASKED
        ]


def _topic(name: str) -> DemoTopic:
    known = topics()
    if name not in known:
        raise ConfigError(f"the demo has no topic {name!r}; choose one of {', '.join(known)}")
    return known[name]


def _make_room(folder: Path) -> None:
    """Replace an earlier demonstration, but nothing else."""
    if folder.exists() and any(folder.iterdir()):
        if not (folder / MARK).exists():
            raise ConfigError(
                f"{folder} exists and is not from an earlier demo; choose another with --folder"
            )
        shutil.rmtree(folder)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / MARK).write_text("honeyguide demo may replace this folder.\n", "utf-8")


@contextmanager
def _served() -> Iterator[str]:
    """The embedded web in a process of its own; its address."""
    process = subprocess.Popen(
        # -P: the folder that we stand in may be a stranger's, and is no place for modules.
        [sys.executable, "-P", "-m", "honeyguide.lab"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        # Ctrl-C is for the crawl; the lab goes when its input closes.
        start_new_session=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        address = process.stdout.readline().strip()
        if not address:
            raise HoneyguideError("the embedded web could not be started")
        yield address
    finally:
        process.stdin.close()
        process.stdout.close()
        try:
            process.wait(5)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
