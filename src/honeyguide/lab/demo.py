"""The demonstration: a focused crawl of the embedded web, judged against breadth-first."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path

from honeyguide.api.chart import svg_chart
from honeyguide.api.collection import Collection
from honeyguide.api.create import create
from honeyguide.crawl.status import Report
from honeyguide.errors import ConfigError, HoneyguideError
from honeyguide.lab.metrics import Harvest, measure_harvest, sample_curve
from honeyguide.lab.web import RecordedWeb, load_demo_topics, load_demo_web
from honeyguide.run_status import StatusObserver
from honeyguide.store.store import Store
from honeyguide.types import UNREQUESTED

DEMO_MARKER = "made-by-honeyguide-demo"
"""A file that says: this folder may be replaced by the next demonstration."""


@dataclass(frozen=True, slots=True)
class DemoRun:
    """One strategy's crawl, and how it compares with the truth."""

    title: str
    collection: Collection
    report: Report
    harvest: Harvest


ProgressDisplay = Callable[[str, int], AbstractContextManager[StatusObserver]]
"""Shows one crawl's progress: called with a title and a budget."""


def run_demo(folder: Path, topic_name: str, pages: int, watch: ProgressDisplay) -> list[DemoRun]:
    """Crawl the embedded web twice, focused and breadth first, and draw both curves."""
    topics = load_demo_topics()
    if topic_name not in topics:
        raise ConfigError(
            f"the demo has no topic {topic_name!r}; choose one of {', '.join(topics)}"
        )
    topic = topics[topic_name]
    _make_room(folder)
    web = load_demo_web()
    truth = len(web.urls_labelled(topic_name))
    runs = []
    with serve_demo_web() as address:
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
            judged = _true_relevance(collection.folder, web, topic_name)
            runs.append(DemoRun(title, collection, report, measure_harvest(judged, truth)))
    title = f"Relevant pages found: {topic.title}"
    curves = {run.title: curve_points(run) for run in runs}
    chart = svg_chart(title, "pages visited", "relevant pages found", curves)
    (folder / "harvest.svg").write_text(chart, "utf-8")
    return runs


def curve_points(run: DemoRun) -> list[tuple[float, float]]:
    return [(0.0, 0.0), *((float(n), y) for n, y in sample_curve(run.harvest.found, 300))]


def _true_relevance(folder: Path, web: RecordedWeb, topic: str) -> list[bool]:
    """The truth about each visit, in order; what must not be asked for is no visit."""
    with Store.open(folder, "read") as store:
        return [
            bool(row.has_page) and topic in web.labels_of(row.url)
            for row in store.visits.iter_visits()
            if row.status is not None or row.failure not in UNREQUESTED
        ]


def _make_room(folder: Path) -> None:
    """Replace an earlier demonstration, but nothing else."""
    if folder.exists() and any(folder.iterdir()):
        if not (folder / DEMO_MARKER).exists():
            raise ConfigError(
                f"{folder} exists and is not from an earlier demo; choose another with --folder"
            )
        shutil.rmtree(folder)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / DEMO_MARKER).write_text("honeyguide demo may replace this folder.\n", "utf-8")


@contextmanager
def serve_demo_web() -> Iterator[str]:
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
