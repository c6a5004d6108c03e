"""A trial of a comparison: web, topic, strategy and seeds; and its result."""

from __future__ import annotations

import json
import math
import random
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import astuple, dataclass, fields, replace
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, NamedTuple

from msgspec import Meta

from honeyguide import __version__, registry
from honeyguide.config.loading import parse_settings
from honeyguide.config.settings import Settings
from honeyguide.errors import ConfigError, ParseError, suggest_name
from honeyguide.lab.graph import WebGraph
from honeyguide.lab.responses import LabResponder, ServingOptions
from honeyguide.lab.search_engine import LabSearchIndex
from honeyguide.lab.synthetic.topology import parse_plan
from honeyguide.lab.synthetic.web import SyntheticWeb
from honeyguide.lab.variants import (
    REFERENCE_STRATEGIES,
    TEACHERS,
    parse_variant,
    strategy_table,
)
from honeyguide.lab.web import LabWeb, RecordedWeb, read_aliases, without_scheme
from honeyguide.parse.read import parse_body
from honeyguide.text.language import split_words, stems_of, stop_words
from honeyguide.types import Example, Link, Url
from honeyguide.url import canonical_url


@dataclass(frozen=True, slots=True)
class WebSpec:
    """A web and how it is served; the same for every strategy."""

    name: str
    files: tuple[str, ...] = ()
    made: str = ""
    """Instead of files: a plan such as ``seed=7,pages=20000``."""
    robots: str = ""
    """robots.txt of every host; '': its own."""
    strip: tuple[str, ...] = ()
    closed: bool = False
    """Links to pages that were not recorded are taken out; else they are dead, as on any web."""
    seeds: tuple[str, ...] = ()
    """Fixed seeds; none: drawn from the topic's pages."""
    aliases: tuple[str, ...] = ()
    """Files of redirects, besides those that lie beside the pages."""
    error_rate: float = 0.0
    latency_s: float = 1.0
    """Simulated seconds until an answer."""
    delay_s: float = 0.0
    """Simulated seconds that a host rests; 0: the best candidate always goes first."""
    language: str = "en"
    """Of the topics on it."""
    reach: float = 0.0
    """Share of it that a search engine knows, for whoever asks one; it counts as within reach of
    everybody, so that all are measured alike. 0: only what links lead to counts."""


@dataclass(frozen=True, slots=True)
class StartKnowledge:
    """How little a strategy is told, of what was drawn; nothing is told unless it stands here."""

    keywords: int = 0
    """The first so many."""
    good: int = 0
    bad: int = 0
    wrong: float = 0.0
    """Share of the pages, good and bad, that are called the opposite."""


@dataclass(frozen=True, slots=True)
class GivenKnowledge:
    """What a topic begins with besides words and pages; who cannot read it does without."""

    ontology: str = ""
    concept: str = ""
    model: str = ""
    categories: tuple[str, ...] = ()

    def readable_by(self, strategy: str) -> dict[str, Any]:
        """As settings of the topic."""
        halves = map(registry.find_strategy, registry.parts_of(strategy))
        has_model = any("model" in {f.name for f in fields(half)} for half in halves)
        names = ("ontology", "concept", *(("model", "categories") if has_model else ()))
        return {name: getattr(self, name) for name in names}


@dataclass(frozen=True, slots=True)
class CrawlTrial:
    """One crawl to be made."""

    web: WebSpec
    topic: str
    strategy: str
    draw: int
    budget: int
    """0: as many visits as there are relevant pages."""
    seeds: int = 3
    examples: int = 10
    """Good pages drawn, and up to twice as many others; they do not count as found."""
    concurrency: int = 1
    start: StartKnowledge | None = None
    """None: all that was drawn is told."""
    given: GivenKnowledge | None = None
    """None: nothing besides."""

    @property
    def key(self) -> str:
        """Everything that the result depends on, but for our own code: its version is in it."""
        facts = astuple(self)
        if not self.web.reach:
            facts = (facts[0][:-1], *facts[1:])  # as it was before there were engines
        if self.given is None:
            facts = facts[:-1]  # as it was before there was any
            if self.start is None:
                facts = facts[:-1]  # as it was before there were other starts
        return json.dumps([__version__, *facts], separators=(",", ":"))


PageCount = Annotated[int, Meta(ge=0, le=1_000_000_000)]


@dataclass(frozen=True, slots=True)
class TrialResult:
    """What a crawl brought in, against the truth."""

    key: str
    web: str
    topic: str
    strategy: str
    draw: int
    visits: int
    found: tuple[PageCount, ...]
    """Relevant pages found after each visit; seeds, examples and copies do not count."""
    relevant: PageCount
    """Relevant pages that can be reached, seeds, examples and copies not counted."""
    judged: int
    """Pages the crawler itself called relevant."""
    right: int
    """Those of them that truly are."""
    cpu_ms: float
    """CPU per visit."""


class OpenedWeb(NamedTuple):
    """A web ready to be crawled."""

    responder: LabResponder
    graph: WebGraph


@lru_cache(maxsize=4)
def open_web(spec: WebSpec) -> OpenedWeb:
    """The web of a spec, read once in each process."""
    web: LabWeb = (
        SyntheticWeb(parse_plan(spec.made))
        if spec.made
        else RecordedWeb.load([Path(file) for file in spec.files])
    )
    calm = ServingOptions(
        robots=spec.robots or None,
        strip=spec.strip,
        closed=spec.closed and not spec.made,
        aliases=read_redirects(spec.aliases),
    )
    # The judge's own desk never fails.
    return OpenedWeb(
        LabResponder(web, replace(calm, error_rate=spec.error_rate)),
        WebGraph(LabResponder(web, calm)),
    )


@lru_cache(maxsize=4)
def index_web(spec: WebSpec, reach: float) -> LabSearchIndex:
    """What an engine with that reach knows of the web."""
    return LabSearchIndex.from_responder(open_web(spec).graph.desk, reach=reach)


def read_redirects(files: Iterable[str | Path]) -> dict[str, str]:
    """What the alias files say, for :class:`ServingOptions`."""
    found: dict[str, str] = {}
    for file in files:
        for alias, target in read_aliases(Path(file)).items():
            source, goal = canonical_url(alias), canonical_url(target)
            if source and goal and without_scheme(source) != without_scheme(goal):
                found[without_scheme(source)] = goal
    return found


# --------------------------------------------------------------------------------------------------
# What a user would type for a topic: its name, and words that tell its examples from others.
# --------------------------------------------------------------------------------------------------


_MAX_KEYWORDS = 8


def distinctive_words(
    label: str, good: Sequence[bytes], others: Sequence[bytes]
) -> tuple[str, ...]:
    """Words of the label's last part, then those with the best odds between two sets of pages."""
    # ``language=tr`` is a fact about pages, and no name of a topic.
    labels = [one for one in label.split(" & ") if "=" not in one]
    name = labels[0].rpartition(".")[2].lower() if labels else ""
    named = [w for w in re.split(r"[^\w]+|_", name) if len(w) > 2]
    inside, outside = _page_counts(good), _page_counts(others)
    odds = {
        word: math.log((n + 0.5) / (len(good) - n + 0.5))
        - math.log((outside[word] + 0.5) / (len(others) - outside[word] + 0.5))
        for word, n in inside.items()
        if n >= max(2, len(good) // 3)
    }
    best = sorted(odds, key=lambda word: (-odds[word] * inside[word] ** 0.5, word))
    chosen: dict[str, str] = {}
    stems = stems_of("en")
    for word in (*named, *best):
        if len(chosen) < _MAX_KEYWORDS and word not in stop_words("en"):
            chosen.setdefault(stems[word], word)
    return tuple(chosen.values())


def _page_counts(bodies: Sequence[bytes]) -> Counter[str]:
    """In how many pages each word stands."""
    counts: Counter[str] = Counter()
    for body in bodies:
        try:
            page = parse_body(body, Link(Url("http://lab.invalid/")))
        except ParseError:
            continue
        text = f"{page.title} {' '.join(page.headings)} {page.text[:20_000]}"
        counts.update({word for word in split_words(text) if len(word) > 2 and word.isalpha()})
    return counts


# --------------------------------------------------------------------------------------------------
# A topic as a trial states it: what is relevant, where it starts, and what a strategy is told.
# --------------------------------------------------------------------------------------------------


_BACKGROUND_PAGES = 40
"""Pages that an example's words are told from."""


@dataclass(frozen=True, slots=True)
class DrawnTopic:
    """A topic as one draw states it."""

    relevant: tuple[str, ...]
    """All relevant addresses, without scheme."""
    seeds: tuple[str, ...]
    examples: tuple[str, ...]
    bad: tuple[str, ...]
    """Pages that are not relevant, for strategies that learn."""
    keywords: tuple[str, ...]
    budget: int


def too_few_pages(web: LabWeb, label: str, pages: int, name: str) -> ConfigError:
    """What to say of a topic with hardly a page; without one, which labels there are."""
    text = f"the topic {label!r} has only {pages} pages in {name}"
    common = Counter(one for record in web for one in record.labels).most_common()
    known = (
        suggest_name(label, (one for one, _ in common)) if common else "its pages have no labels"
    )
    return ConfigError(text if pages else f"{text}; {known}")


@lru_cache(maxsize=64)
def _draw_topic(
    spec: WebSpec, label: str, draw: int, seeds: int, examples: int, budget: int
) -> DrawnTopic:
    desk = open_web(spec).graph.desk  # the judge's: errors are for crawlers
    web = desk.web
    relevant = sorted(without_scheme(url) for url in web.urls_labelled(label))
    if len(relevant) <= seeds + examples:
        raise too_few_pages(web, label, len(relevant), spec.name)
    dice = random.Random(f"{spec.name} {label} {draw}")
    chosen = dice.sample(relevant, seeds + examples)
    # Nobody tells a user which pages are off topic: the background is any pages of the web.
    others = [key for key in _sorted_addresses(spec) if key not in chosen]
    bodies = [desk.respond(key).body for key in chosen[seeds:]]
    some = dice.sample(others, min(_BACKGROUND_PAGES, len(others)))
    background = [desk.respond(key).body for key in some]
    truth = set(relevant)
    bad = [key for key in some if key not in truth][: 2 * examples]
    starts = spec.seeds or tuple(f"http://{key}" for key in chosen[:seeds])
    return DrawnTopic(
        tuple(relevant),
        starts,
        tuple(f"http://{key}" for key in chosen[seeds:]),
        tuple(f"http://{key}" for key in bad),
        distinctive_words(label, bodies, background),
        budget or len(relevant),
    )


@lru_cache(maxsize=4)
def _sorted_addresses(spec: WebSpec) -> tuple[str, ...]:
    return tuple(sorted(map(without_scheme, open_web(spec).graph.desk.web.page_urls())))


def draw_topic(trial: CrawlTrial) -> DrawnTopic:
    """The topic, the same for all strategies, and for whatever they are told of it."""
    return _draw_topic(
        trial.web, trial.topic, trial.draw, trial.seeds, trial.examples, trial.budget
    )


def trial_settings(trial: CrawlTrial, topic: DrawnTopic) -> Settings:
    """What a user would have in topic.toml."""
    keywords = topic.keywords if trial.start is None else topic.keywords[: trial.start.keywords]
    chosen = parse_variant(
        trial.strategy if trial.strategy not in REFERENCE_STRATEGIES else "breadth"
    )
    return parse_settings(
        {
            "topic": {
                "name": trial.topic,
                "language": list(chosen.language),
                "keyword_language": trial.web.language,
                "keywords": list(keywords),
                "seeds": list(topic.seeds),
                **(trial.given.readable_by(chosen.name) if trial.given else {}),
            },
            "crawl": {
                "strategy": chosen.name,
                "order": "best" if trial.strategy in REFERENCE_STRATEGIES else chosen.order,
                "pages": topic.budget,
                "concurrency": trial.concurrency,
                "random_seed": trial.draw + 1,
            },
            "scope": {"sitemaps": "never"},
            "fetch": {"contact": "https://example.org/lab", "lab": "http://127.0.0.1:1"},
            # A rest would send the crawl to whatever host is free: on a web of many hosts, a good
            # part of the budget would go where the strategy did not want to.
            "politeness": {"loopback_delay_s": trial.web.delay_s, "response_factor": 0.0},
            "store": {"warc": False, "min_free_mb": 0},
            "learn": {"teacher": TEACHERS[chosen.teacher], "every": chosen.every},
            "language": {"predict": chosen.predict},
            "search": chosen.engine.search_settings(keywords) if chosen.engine else {},
            "strategy": strategy_table(chosen),
        },
        "the lab",
    )


def trial_examples(trial: CrawlTrial, topic: DrawnTopic) -> list[Example]:
    """The topic's good and bad pages, as a user would have them in files."""
    desk = open_web(trial.web).graph.desk
    found = []
    for url, target in _example_targets(trial, topic).items():
        body = desk.respond(without_scheme(url)).body
        link = Link(Url(url), channel="example")
        try:
            found.append(Example(link, parse_body(body, link), target, "seed"))
        except ParseError:
            continue
    return found


def _example_targets(trial: CrawlTrial, topic: DrawnTopic) -> dict[str, float]:
    """Which pages are called good and bad, rightly or not."""
    start = trial.start
    good = topic.examples if start is None else topic.examples[: start.good]
    bad = topic.bad if start is None else topic.bad[: start.bad]
    targets = dict.fromkeys(good, 1.0) | dict.fromkeys(bad, 0.0)
    if start is not None and start.wrong:
        dice = random.Random(f"{trial.web.name} {trial.topic} {trial.draw} wrong")
        for url in dice.sample(list(targets), round(start.wrong * len(targets))):
            targets[url] = 1 - targets[url]
    return targets
