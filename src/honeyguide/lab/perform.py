"""One crawl of a comparison: a topic is drawn, crawled in simulated time, and judged."""

from __future__ import annotations

import random
import shutil
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from honeyguide.config import Settings, parse
from honeyguide.crawl.lessons import Answers
from honeyguide.errors import ConfigError, ParseError
from honeyguide.lab.graph import Graph
from honeyguide.lab.interview import Interview
from honeyguide.lab.keywords import telling_words
from honeyguide.lab.references import REFERENCES
from honeyguide.lab.simulate import crawl
from honeyguide.lab.trials import Result, Trial, WebSpec, opened
from honeyguide.lab.variants import Person, variant
from honeyguide.lab.web import without_scheme
from honeyguide.parse.read import read
from honeyguide.protocols import Strategy
from honeyguide.store.store import Store
from honeyguide.types import UNASKED, Example, Link, Response, Url

_BACKGROUND = 40
"""Pages that an example's words are told from."""
_MEMORY = "/dev/shm"  # noqa: S108 - the folder made in it has a name nobody can guess
_PLENTY = 2 << 30


def perform(trial: Trial) -> Result:
    """One crawl."""
    web = opened(trial.web)
    topic = _drawn(trial)
    with tempfile.TemporaryDirectory(prefix="honeyguide-lab-", dir=_scratch()) as folder:
        began = time.process_time()
        settings, examples = _settings(trial, topic), _examples(trial.web, topic)
        people = _people(trial, topic, Path(folder), settings, examples)
        crawl(
            Path(folder),
            settings,
            web.desk.anew(),
            strategy=_reference(trial, topic),
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


@dataclass(frozen=True, slots=True)
class Drawn:
    """A topic as one draw states it."""

    relevant: tuple[str, ...]
    """All relevant addresses, without scheme."""
    seeds: tuple[str, ...]
    examples: tuple[str, ...]
    bad: tuple[str, ...]
    """Pages that are not relevant, for strategies that learn."""
    keywords: tuple[str, ...]
    budget: int


@lru_cache(maxsize=64)
def _stated(spec: WebSpec, label: str, draw: int, seeds: int, examples: int, budget: int) -> Drawn:
    desk = opened(spec).graph.desk  # the judge's: errors are for crawlers
    web = desk.web
    relevant = sorted(without_scheme(url) for url in web.labelled(label))
    if len(relevant) <= seeds + examples:
        raise ConfigError(f"the topic {label!r} has only {len(relevant)} pages in {spec.name}")
    dice = random.Random(f"{spec.name} {label} {draw}")
    chosen = dice.sample(relevant, seeds + examples)
    # Nobody tells a user which pages are off topic: the background is any pages of the web.
    others = [key for key in _addresses(spec) if key not in chosen]
    bodies = [desk.answer(key).body for key in chosen[seeds:]]
    some = dice.sample(others, min(_BACKGROUND, len(others)))
    background = [desk.answer(key).body for key in some]
    truth = set(relevant)
    bad = [key for key in some if key not in truth][: 2 * examples]
    starts = spec.seeds or tuple(f"http://{key}" for key in chosen[:seeds])
    return Drawn(
        tuple(relevant),
        starts,
        tuple(f"http://{key}" for key in chosen[seeds:]),
        tuple(f"http://{key}" for key in bad),
        telling_words(label, bodies, background),
        budget or len(relevant),
    )


@lru_cache(maxsize=4)
def _addresses(spec: WebSpec) -> tuple[str, ...]:
    return tuple(sorted(map(without_scheme, opened(spec).graph.desk.web.urls())))


def _drawn(trial: Trial) -> Drawn:
    return _stated(trial.web, trial.topic, trial.draw, trial.seeds, trial.examples, trial.budget)


def _settings(trial: Trial, topic: Drawn) -> Settings:
    chosen = variant(trial.strategy if trial.strategy not in REFERENCES else "breadth")
    return parse(
        {
            "topic": {
                "name": trial.topic,
                "language": trial.web.language,
                "keywords": list(topic.keywords),
                "seeds": list(topic.seeds),
            },
            "crawl": {
                "strategy": chosen.name,
                "order": "best" if trial.strategy in REFERENCES else "strategy",
                "pages": topic.budget,
                "concurrency": trial.concurrency,
                "seed": trial.draw + 1,
            },
            "scope": {"sitemaps": "never"},
            "fetch": {"contact": "https://example.org/lab", "lab": "http://127.0.0.1:1"},
            # A rest would send the crawl to whatever host is free: on a web of many hosts, a good
            # part of the budget would go where the strategy did not want to.
            "politeness": {"loopback_delay_s": trial.web.delay_s, "response_factor": 0.0},
            "store": {"warc": False, "min_free_mb": 0},
            "learn": chosen.learn(),
            "strategy": dict(chosen.parameters),
        },
        "the lab",
    )


def _examples(spec: WebSpec, topic: Drawn) -> list[Example]:
    """The topic's good and bad pages, as a user would have them in files."""
    desk = opened(spec).graph.desk
    found = []
    for target, urls in ((1.0, topic.examples), (0.0, topic.bad)):
        for url in map(Url, urls):
            body = desk.answer(without_scheme(url)).body
            headers = (("Content-Type", "text/html"),)
            answer = Response(url, 200, headers, body, body, b"", b"", "", 0.0, 0.0)
            link = Link(url, channel="example")
            try:
                found.append(Example(link, read(answer, link), target, "seed"))
            except ParseError:
                continue
    return found


def _people(
    trial: Trial, topic: Drawn, folder: Path, settings: Settings, examples: Sequence[Example]
) -> Answers | None:
    """Who knows the truth about the topic, and how they are asked."""
    chosen, truth = variant(trial.strategy), frozenset(topic.relevant)
    if not chosen.people:
        return None
    if chosen.asks == "passing":
        return Person(truth, chosen.answers)
    dice = random.Random(trial.draw) if chosen.asks == "random" else None
    return Interview(folder, settings, truth, chosen.answers, examples, dice)


def _latency(trial: Trial) -> float:
    """Labels that come through the store are heard once a second: let one pass."""
    hurried = trial.strategy in REFERENCES or variant(trial.strategy).asks == "passing"
    return trial.web.latency_s if hurried else max(1.0, trial.web.latency_s)


def _reference(trial: Trial, topic: Drawn) -> Strategy | None:
    made = REFERENCES.get(trial.strategy)
    return made(topic.relevant, trial.draw) if made else None


def _judge(trial: Trial, topic: Drawn, graph: Graph, folder: Path, spent: float) -> Result:
    truth = set(topic.relevant)
    given = {without_scheme(url) for url in (*topic.seeds, *topic.examples)}
    goal = (truth & graph.reachable(topic.seeds)) - given
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
