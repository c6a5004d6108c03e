"""Crawls of a study: drawn seeds and labelled pages, a crawl in simulated time, its journal."""

from __future__ import annotations

import random
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from honeyguide.config.loading import parse_settings
from honeyguide.config.settings import Settings
from honeyguide.errors import ConfigError
from honeyguide.lab.simulate import simulate_crawl
from honeyguide.lab.trials import WebSpec, open_web
from honeyguide.lab.web import without_scheme
from honeyguide.protocols import Strategy
from honeyguide.store.store import Store
from honeyguide.types import UNREQUESTED, Example, Link, Url

from .neighbours import PageNeighbourhood, links_of, read_page, relevant_keys


@dataclass(frozen=True, slots=True)
class StudyDraw:
    """How a topic is drawn: so many seeds and so many labelled pages of either kind."""

    web: WebSpec
    topic: tuple[str, ...]
    """Labels; what is below them belongs to it."""
    number: int
    seeds: int
    good: int
    bad: int


class StudyTopic(NamedTuple):
    """A topic as one draw states it."""

    relevant: frozenset[str]
    """Addresses without scheme."""
    seeds: tuple[str, ...]
    examples: tuple[Example, ...]

    @property
    def known_keys(self) -> frozenset[str]:
        """Addresses that were given away, without scheme."""
        return frozenset(map(without_scheme, (*self.seeds, *(e.link.url for e in self.examples))))


def draw_study_topic(draw: StudyDraw) -> StudyTopic:
    """Good pages by chance; bad ones that pages of the topic link to."""
    everything = relevant_keys(draw.web, draw.topic)
    if len(everything) < draw.seeds + draw.good + 1:
        topic = " and ".join(draw.topic)
        raise ConfigError(f"the topic {topic} has only {len(everything)} pages in {draw.web.name}")
    dice = random.Random(f"{draw.web.name} {draw.topic} {draw.number}")
    order = sorted(everything)
    dice.shuffle(order)
    # Some pages ask not to be followed, and would end a crawl before it began.
    seeds = list(islice((key for key in order if links_of(draw.web, key)), draw.seeds))
    rest = [key for key in order if key not in seeds]
    links = [Link(Url(f"http://{key}"), channel="example") for key in rest]
    good: list[Example] = []
    for link in links:
        page = read_page(draw.web, link) if len(good) < draw.good else None
        if page is not None:
            good.append(Example(link, page, 1.0, "seed"))
    near = PageNeighbourhood(draw.web, draw.topic, order, dice)
    bad = [
        Example(Link(seen.link.url, channel="example"), seen.page, 0.0, "seed")
        for seen in near.sample_pages(False, draw.bad)
    ]
    # Learners that go through their examples in order should not meet one kind first.
    examples = [*good, *bad]
    dice.shuffle(examples)
    return StudyTopic(everything, tuple(f"http://{key}" for key in seeds), tuple(examples))


def study_settings(
    strategy: str,
    seeds: Sequence[str],
    budget: int,
    draw: int,
    *,
    topic: dict[str, Any] | None = None,
    parameters: dict[str, Any] | None = None,
    every: int = 0,
    order: str = "strategy",
) -> Settings:
    """``every``: pages between two lessons; 0: what was learned before the crawl is all."""
    return parse_settings(
        {
            "topic": {"seeds": list(seeds), **(topic or {})},
            "crawl": {
                "strategy": strategy,
                "order": order,
                "pages": budget,
                "concurrency": 1,
                "seed": draw + 1,
            },
            "scope": {"sitemaps": "never"},
            "fetch": {"contact": "https://example.org/lab", "lab": "http://127.0.0.1:1"},
            "politeness": {"loopback_delay_s": 0.0, "response_factor": 0.0},
            "store": {"warc": False, "min_free_mb": 0},
            "learn": {"teacher": "automatic" if every else "none", "every": every or 14},
            "strategy": parameters or {},
        },
        "the lab",
    )


class StudyVisit(NamedTuple):
    """A visit, as a study needs it."""

    key: str
    """The address without scheme."""
    page: bool
    called: bool
    """The crawler calls it relevant."""
    text: str


def run_study_crawl(
    web: WebSpec,
    chosen: Settings,
    *,
    strategy: Strategy | None = None,
    examples: Sequence[Example] = (),
    texts: bool = False,
) -> list[StudyVisit]:
    """The journal of one crawl; ``texts``: with the texts of the pages called relevant."""
    with tempfile.TemporaryDirectory(prefix="honeyguide-lab-") as folder:
        path = Path(folder)
        simulate_crawl(
            path, chosen, open_web(web).responder.fresh_copy(), strategy=strategy, examples=examples
        )
        with Store.open(path, "read") as store:
            return [
                StudyVisit(
                    without_scheme(row.url),
                    bool(row.has_page),
                    bool(row.relevant),
                    f"{row.title}\n{store.visits.page_text(row.id)[1]}"
                    if texts and row.relevant
                    else "",
                )
                for row in store.visits.iter_visits()
                if row.status is not None or row.failure not in UNREQUESTED
            ]
