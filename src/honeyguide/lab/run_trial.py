"""One crawl of a comparison: a topic is drawn, crawled in simulated time, and judged."""

from __future__ import annotations

import random
import shutil
import tempfile
import time
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from honeyguide.config import Settings
from honeyguide.crawl.from_settings import strategy_of
from honeyguide.crawl.training_feed import Answers
from honeyguide.lab.engine import LabEngine
from honeyguide.lab.graph import Graph
from honeyguide.lab.oracles import REFERENCES
from honeyguide.lab.simulate import crawl
from honeyguide.lab.simulated_annotator import Interview
from honeyguide.lab.topic_sampling import Drawn, drawn, examples_of, settings_of
from honeyguide.lab.trials import Result, Trial, indexed, opened
from honeyguide.lab.variants import Person, variant
from honeyguide.lab.web import without_scheme
from honeyguide.protocols import Strategy
from honeyguide.store.store import Store
from honeyguide.types import UNASKED, Example

_MEMORY = "/dev/shm"  # noqa: S108 - the folder made in it has a name nobody can guess
_PLENTY = 2 << 30


def perform(trial: Trial) -> Result:
    """One crawl."""
    web = opened(trial.web)
    topic = drawn(trial)
    with tempfile.TemporaryDirectory(prefix="honeyguide-lab-", dir=_scratch()) as folder:
        began = time.process_time()
        settings, examples = settings_of(trial, topic), examples_of(trial, topic)
        people = _people(trial, topic, Path(folder), settings, examples)
        crawl(
            Path(folder),
            settings,
            web.desk.with_engine(_engine(trial)),
            strategy=_strategy(trial, topic, settings),
            latency=lambda _: _latency(trial),
            examples=examples,
            people=people,
        )
        spent = time.process_time() - began
        return _judge(trial, topic, web.graph, Path(folder), spent)


def _scratch() -> str | None:
    """Where a collection that is thrown away lies: in memory, if there is plenty of room."""
    try:
        return _MEMORY if shutil.disk_usage(_MEMORY).free > _PLENTY else None
    except OSError:
        return None  # the system's own place for such things


def _people(
    trial: Trial, topic: Drawn, folder: Path, settings: Settings, examples: Sequence[Example]
) -> Answers | None:
    """Who knows the truth about the topic, and how they are asked."""
    chosen, truth = variant(trial.strategy), frozenset(topic.relevant)
    if not chosen.people:
        return None
    if chosen.asks == "passing":
        return Person(truth, chosen.answers, chosen.one_in)
    dice = random.Random(trial.draw) if chosen.asks == "random" else None
    return Interview(folder, settings, truth, chosen.answers, examples, dice)


def _engine(trial: Trial) -> LabEngine | None:
    """The search engine at the crawler's side."""
    enquiry = variant(trial.strategy).enquiry
    if enquiry is None:
        return None
    return LabEngine(indexed(trial.web, enquiry.reach), latency_s=enquiry.thinks)


def _latency(trial: Trial) -> float:
    """Labels that come through the store are heard once a second, and an engine is asked so many
    times a minute: let time pass."""
    chosen = variant(trial.strategy)
    hurried = chosen.asks == "passing" and chosen.enquiry is None
    return trial.web.latency_s if hurried else max(1.0, trial.web.latency_s)


def _strategy(trial: Trial, topic: Drawn, settings: Settings) -> Strategy | None:
    """A reference, which no registry knows, or one that begins without keywords; else None."""
    if made := REFERENCES.get(trial.strategy):
        return made(topic.relevant, trial.draw)
    if settings.topic.keywords or trial.start is None or not trial.start.good:
        return None
    # Its examples are handed over and lie in no files; it wants to know that there are some.
    named = replace(settings.topic, good_files=("given",))
    return strategy_of(replace(settings, topic=named))


def _known(trial: Trial) -> Iterable[str]:
    """What engines on this web know."""
    enquiry = variant(trial.strategy).enquiry
    reach = max(trial.web.reach, enquiry.reach if enquiry else 0.0)
    return indexed(trial.web, reach).urls if reach else ()


def _judge(trial: Trial, topic: Drawn, graph: Graph, folder: Path, spent: float) -> Result:
    truth = set(topic.relevant)
    given = {without_scheme(url) for url in (*topic.seeds, *topic.examples)}
    goal = (truth & graph.reachable((*topic.seeds, *_known(trial)))) - given
    found: list[int] = []
    running = judged = right = visits = 0
    with Store.open(folder, "read") as store:
        for row in store.visits():
            if row.status is None and row.failure in UNASKED:
                continue
            visits += 1
            key = without_scheme(row.url)
            if row.relevant:
                judged += 1
                right += key in truth
            if key in given:
                continue
            if row.has_page and key in goal:
                goal.discard(key)
                running += 1
            found.append(running)
    return Result(
        trial.key,
        trial.web.name,
        trial.topic,
        trial.strategy,
        trial.draw,
        visits,
        tuple(found),
        running + len(goal),
        judged,
        right,
        round(spent / max(1, visits) * 1000, 3),
    )
