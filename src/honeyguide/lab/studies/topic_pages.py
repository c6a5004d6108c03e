"""Pages of a topic for a study, what they link to, and crawls in simulated time.

Negative pages are neighbours of positive ones, as they were for the papers' users, who judged what
a crawl from good pages had brought. Pages drawn from a whole web would be told apart too easily.
Where a user judged pages himself, pages without a label are neither.
"""

from __future__ import annotations

import random
import tempfile
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from honeyguide.config.loading import parse_settings
from honeyguide.config.settings import Settings
from honeyguide.errors import ParseError
from honeyguide.lab.search_engine import LAB_ENGINE_URL, LabSearchEngine
from honeyguide.lab.simulate import simulate_crawl
from honeyguide.lab.trials import WebSpec, index_web, open_web, too_few_pages
from honeyguide.lab.web import without_scheme
from honeyguide.parse.read import parse_page
from honeyguide.protocols import Strategy
from honeyguide.store.store import Store
from honeyguide.types import UNREQUESTED, Example, Link, Page, Response, Url
from honeyguide.url import canonical_url

_MIN_TEXT = 500
"""Characters of text that a page must have to be judged by its text."""


class LinkedPage(NamedTuple):
    """A page, and a link that leads to it."""

    link: Link
    page: Page
    good: bool


@lru_cache(maxsize=16)
def relevant_keys(spec: WebSpec, topic: tuple[str, ...]) -> frozenset[str]:
    """Addresses (without scheme) of pages with one of these labels, or one below it."""
    pages = open_web(spec).responder.web
    return frozenset(
        without_scheme(record.url)
        for record in pages
        if any(f"{label}.".startswith(f"{one}.") for label in record.labels for one in topic)
    )


@lru_cache(maxsize=16)
def judged_keys(spec: WebSpec) -> frozenset[str] | None:
    """Addresses that the user judged; None: all pages of the web are, by their labels."""
    if not any(".labels." in Path(file).name for file in spec.files):
        return None
    pages = open_web(spec).responder.web
    return frozenset(without_scheme(record.url) for record in pages if record.labels)


def read_page(spec: WebSpec, link: Link) -> Page | None:
    """The page as a crawl would read it; None: there is none, or next to nothing on it."""
    answer = open_web(spec).responder.respond(without_scheme(link.url))
    if answer.status != 200:
        return None
    body, headers = answer.body, (("Content-Type", "text/html"),)
    try:
        page = parse_page(
            Response(link.url, 200, headers, body, body, b"", b"", "", 0.0, 0.0), link
        )
    except ParseError:
        return None
    return page if len(page.text) >= _MIN_TEXT else None


@lru_cache(maxsize=4_000)
def links_of(spec: WebSpec, key: str) -> tuple[Link, ...]:
    """The links of a page that a crawl may follow."""
    page = read_page(spec, Link(Url(f"http://{key}")))
    allowed = set(open_web(spec).graph.page_links(key))
    return tuple(k for k in page.links if without_scheme(k.url) in allowed) if page else ()


class PageNeighbourhood:
    """Links from some pages, one for each page they lead to, in an order of chance."""

    def __init__(
        self, spec: WebSpec, topic: tuple[str, ...], sources: Iterable[str], dice: random.Random
    ) -> None:
        self._spec = spec
        self._good = relevant_keys(spec, topic)
        judged = judged_keys(spec)
        first: dict[str, Link] = {}
        for source in sources:
            for link in links_of(spec, source):
                key = without_scheme(link.url)
                if judged is None or key in judged:
                    first.setdefault(key, link)
        self._keys = sorted(first)
        dice.shuffle(self._keys)
        self._first = first

    def sample_pages(
        self,
        good: bool,
        most: int,
        without: Collection[str] = (),
        part: Collection[str] | None = None,
    ) -> list[LinkedPage]:
        """At most so many pages of one kind, some addresses aside; of ``part``, if it is given."""
        found: list[LinkedPage] = []
        for key, link in self._links_to(good):
            if len(found) >= most:
                break
            if part is not None and key not in part:
                continue
            if key not in without and (page := read_page(self._spec, link)) is not None:
                found.append(LinkedPage(link, page, good))
        return found

    def _links_to(self, good: bool) -> Iterator[tuple[str, Link]]:
        return ((key, self._first[key]) for key in self._keys if (key in self._good) == good)


# --------------------------------------------------------------------------------------------------
# Draws of a topic, and a crawl with its journal.
# --------------------------------------------------------------------------------------------------


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
    start: tuple[str, ...] = ()
    """Seeds of one's own instead of drawn ones."""


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
        web = open_web(draw.web).responder.web
        raise too_few_pages(web, topic, len(everything), draw.web.name)
    dice = random.Random(f"{draw.web.name} {draw.topic} {draw.number}")
    order = sorted(everything)
    dice.shuffle(order)
    # Some pages ask not to be followed, and would end a crawl before it began.
    seeds = list(islice((key for key in order if links_of(draw.web, key)), draw.seeds))
    if draw.start:
        seeds = [without_scheme(canonical_url(url) or url) for url in draw.start]
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
    queries: Sequence[str] | None = None,
) -> Settings:
    """``every``: pages between two lessons; 0: what was learned before the crawl is all.
    ``queries``: what a user asks the lab's search engine at first; None: no engine is asked."""
    engine = {"engine": "searxng", "url": LAB_ENGINE_URL, "queries": list(queries or ())}
    return parse_settings(
        {
            "topic": {"seeds": list(seeds), **(topic or {})},
            "crawl": {
                "strategy": strategy,
                "order": order,
                "pages": budget,
                "concurrency": 1,
                "random_seed": draw + 1,
            },
            "scope": {"sitemaps": "never"},
            "fetch": {"contact": "https://example.org/lab", "lab": "http://127.0.0.1:1"},
            "politeness": {"loopback_delay_s": 0.0, "response_factor": 0.0},
            "store": {"warc": False, "min_free_mb": 0},
            "learn": {"teacher": "automatic" if every else "none", "every": every or 14},
            "search": {} if queries is None else engine,
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
        engine = LabSearchEngine(index_web(web, 1.0)) if chosen.search.engine else None
        desk = open_web(web).responder.with_engine(engine)
        simulate_crawl(path, chosen, desk, strategy=strategy, examples=examples)
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
