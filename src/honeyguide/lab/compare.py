"""Run strategies on webs and topics, in simulated time and in parallel, and keep the results.

Each crawl is one line of ``results.jsonl``; a comparison that was interrupted goes on where it
ended, and one with more strategies adds only what is missing.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import random
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, astuple, dataclass, replace
from functools import lru_cache
from pathlib import Path

from honeyguide import __version__
from honeyguide.config import Settings, parse
from honeyguide.errors import ConfigError
from honeyguide.lab.graph import Graph
from honeyguide.lab.keywords import telling_words
from honeyguide.lab.made.plan import plan_of
from honeyguide.lab.made.web import MadeWeb
from honeyguide.lab.references import REFERENCES
from honeyguide.lab.serving import Desk, Serving
from honeyguide.lab.simulate import crawl
from honeyguide.lab.web import RecordedWeb, Web, without_scheme
from honeyguide.protocols import Strategy
from honeyguide.store.store import Store
from honeyguide.types import UNASKED


@dataclass(frozen=True, slots=True)
class WebSpec:
    """A web and how it is served; the same for every strategy."""

    name: str
    files: tuple[str, ...] = ()
    made: str = ""
    """Instead of files: a plan such as ``seed=7,pages=20000``."""
    robots: str = ""
    strip: tuple[str, ...] = ()
    closed: bool = True
    """Links to pages that were not recorded are taken out."""
    seeds: tuple[str, ...] = ()
    """Fixed seeds; none: drawn from the topic's pages."""


@dataclass(frozen=True, slots=True)
class Trial:
    """One crawl to be made."""

    web: WebSpec
    topic: str
    strategy: str
    draw: int
    budget: int
    """0: as many visits as there are relevant pages."""
    seeds: int = 3
    examples: int = 10
    concurrency: int = 1

    @property
    def key(self) -> str:
        """Everything that the result depends on, but for our own code: its version is in it."""
        return json.dumps([__version__, *astuple(self)], separators=(",", ":"))


@dataclass(frozen=True, slots=True)
class Result:
    """What a crawl brought in, against the truth."""

    key: str
    web: str
    topic: str
    strategy: str
    draw: int
    visits: int
    found: tuple[int, ...]
    """Relevant pages found after each visit; seeds and examples do not count."""
    relevant: int
    """Relevant pages that can be reached, seeds and examples not counted."""
    judged: int
    """Pages the crawler itself called relevant."""
    right: int
    """Those of them that truly are."""
    cpu_ms: float
    """CPU per visit."""


def compare(
    trials: Sequence[Trial],
    folder: Path,
    *,
    workers: int = 0,
    done: Callable[[int, int], None] = lambda _n, _of: None,
) -> list[Result]:
    """Make every trial that has no result yet; all results, in the order of the trials."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "results.jsonl"
    known = {result.key: result for result in _read(path)}
    missing = [trial for trial in trials if trial.key not in known]
    done(len(trials) - len(missing), len(trials))
    with path.open("a", encoding="utf-8") as file:
        for number, result in enumerate(_run(missing, workers or os.cpu_count() or 1), 1):
            file.write(json.dumps(asdict(result), separators=(",", ":")) + "\n")
            file.flush()
            known[result.key] = result
            done(len(trials) - len(missing) + number, len(trials))
    return [known[trial.key] for trial in trials]


def _read(path: Path) -> Iterator[Result]:
    if path.exists():
        for line in path.read_text("utf-8").splitlines():
            try:
                raw = json.loads(line)
                yield Result(**raw | {"found": tuple(raw["found"])})
            except (ValueError, TypeError, KeyError):
                continue  # the last line of an interrupted run


def _run(trials: Sequence[Trial], workers: int) -> Iterator[Result]:
    if workers == 1 or len(trials) < 2:
        yield from map(perform, trials)
        return
    with ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("spawn")) as pool:
        yield from pool.map(perform, trials)


def perform(trial: Trial) -> Result:
    """One crawl."""
    import time

    desk, graph = _web(trial.web)
    topic = _drawn(trial)
    with tempfile.TemporaryDirectory(prefix="honeyguide-lab-") as folder:
        began = time.process_time()
        crawl(
            Path(folder),
            _settings(trial, topic),
            desk,
            strategy=_reference(trial, topic),
        )
        spent = time.process_time() - began
        return _judge(trial, topic, graph, Path(folder), spent)


@dataclass(frozen=True, slots=True)
class Drawn:
    """A topic as one draw states it."""

    relevant: tuple[str, ...]
    """All relevant addresses, without scheme."""
    seeds: tuple[str, ...]
    examples: tuple[str, ...]
    keywords: tuple[str, ...]
    budget: int


@lru_cache(maxsize=4)
def _web(spec: WebSpec) -> tuple[Desk, Graph]:
    web: Web = (
        MadeWeb(replace(plan_of(spec.made), traps=0.0))  # the judge could not count traps
        if spec.made
        else RecordedWeb.load([Path(file) for file in spec.files])
    )
    closed = spec.closed and not spec.made
    desk = Desk(web, Serving(robots=spec.robots or None, strip=spec.strip, closed=closed))
    return desk, Graph(desk)


@lru_cache(maxsize=64)
def _stated(spec: WebSpec, label: str, draw: int, seeds: int, examples: int, budget: int) -> Drawn:
    web = _web(spec)[0].web
    relevant = sorted(without_scheme(url) for url in web.labelled(label))
    if len(relevant) <= seeds + examples:
        raise ConfigError(f"the topic {label!r} has only {len(relevant)} pages in {spec.name}")
    dice = random.Random(f"{spec.name} {label} {draw}")
    chosen = dice.sample(relevant, seeds + examples)
    others = sorted(without_scheme(r.url) for r in web if label not in r.labels)
    bodies = [_web(spec)[0].answer(key).body for key in chosen[seeds:]]
    background = [_web(spec)[0].answer(key).body for key in dice.sample(others, 40)]
    starts = spec.seeds or tuple(f"http://{key}" for key in chosen[:seeds])
    return Drawn(
        tuple(relevant),
        starts,
        tuple(f"http://{key}" for key in chosen[seeds:]),
        telling_words(label, bodies, background),
        budget or len(relevant),
    )


def _drawn(trial: Trial) -> Drawn:
    return _stated(trial.web, trial.topic, trial.draw, trial.seeds, trial.examples, trial.budget)


def _settings(trial: Trial, topic: Drawn) -> Settings:
    named = trial.strategy if trial.strategy not in REFERENCES else "breadth"
    return parse(
        {
            "topic": {
                "name": trial.topic,
                "keywords": list(topic.keywords),
                "seeds": list(topic.seeds),
            },
            "crawl": {
                "strategy": named,
                "order": "strategy" if trial.strategy == named else "best",
                "pages": topic.budget,
                "concurrency": trial.concurrency,
                "seed": trial.draw + 1,
            },
            "scope": {"sitemaps": "never"},
            "fetch": {"contact": "https://example.org/lab", "lab": "http://127.0.0.1:1"},
            "store": {"warc": False, "min_free_mb": 0},
        },
        "the lab",
    )


def _reference(trial: Trial, topic: Drawn) -> Strategy | None:
    made = REFERENCES.get(trial.strategy)
    return made(relevant=topic.relevant) if made else None


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
