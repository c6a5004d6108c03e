"""The webs that golden crawls visit, who answers for them, and the crawls themselves."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import honeyguide
from honeyguide import Collection
from honeyguide.config.loading import parse_settings
from honeyguide.config.settings import Settings
from honeyguide.lab.responses import LabResponder
from honeyguide.lab.search_engine import LAB_ENGINE_URL, LabSearchEngine, LabSearchIndex
from honeyguide.lab.simulate import simulate_crawl
from honeyguide.lab.synthetic.topology import parse_plan
from honeyguide.lab.synthetic.web import SyntheticWeb
from honeyguide.lab.web import LabWeb, load_demo_web, without_scheme

PAGES = 70
STRATEGIES = (
    "adaptive_links", "backlinks", "breadth", "honeyguide", "hybrid_svm", "keyword",
    "link_sorter", "ontology_ann", "ontology_weights", "topic_cnn", "user_utility",
)  # fmt: skip

_PLANS = {
    "made": (
        "seed=11,hosts=30,pages=1500,topics=sqlite+django+borg,zipf=0.6,locality=0.5,traps=0.2,"
        "mirrors=0.1,islands=0.1,errors=0.05,redirects=0.08"
    ),
    "forums": (
        "seed=7,hosts=30,pages=900,topics=borg+whoosh+python,scattered=0.6,zipf=0.3,focus=0.9,"
        "mirrors=0,islands=0"
    ),
    "tongues": (
        "seed=3,hosts=20,pages=900,topics=sqlite+borg,languages=0.5,tongues=tr+az,"
        "tongue_urls=0.5,tongue_lies=0.2"
    ),
}


class Topic(NamedTuple):
    """What a crawl of a web is after."""

    label: str
    keywords: tuple[str, ...]
    good: int = 6
    bad: int = 6


_TOPICS = {
    "demo": Topic(
        "full-text-search",
        ("full text search", "index documents", "stemming", "ranking", "highlighting",
         "tokenizer", "search query", "tsvector"),
    ),
    "made": Topic("sqlite", ("sqlite", "virtual table", "rowid", "pragma", "vacuum")),
    "forums": Topic("borg", ("borg", "backup", "archive", "repository", "prune", "deduplication")),
    "tongues": Topic("borg", ("borg", "backup", "archive", "repository", "chunk")),
}  # fmt: skip


@cache
def web_of(name: str) -> LabWeb:
    return load_demo_web() if name == "demo" else SyntheticWeb(parse_plan(_PLANS[name]))


@cache
def desk_of(name: str) -> LabResponder:
    return LabResponder(web_of(name))


@cache
def _engine() -> LabSearchEngine:
    return LabSearchEngine(
        LabSearchIndex.from_responder(desk_of("forums"), reach=0.5), latency_s=0.3
    )


@cache
def _told(web: str) -> tuple[list[str], list[str], list[str]]:
    """Seeds, good and bad addresses: some of the label's, spread over all of them."""
    label, found = _TOPICS[web].label, web_of(web)
    good = sorted(found.urls_labelled(label))
    truth = set(good)
    bad = [url for url in sorted(found.page_urls()) if url not in truth]
    seeds = _spread(good, 3)
    good = [url for url in _spread(good, 20) if url not in seeds]
    return seeds, good[: _TOPICS[web].good], _spread(bad, _TOPICS[web].bad)


def _spread(urls: list[str], count: int) -> list[str]:
    return [f"http://{without_scheme(urls[n * len(urls) // count])}" for n in range(count)]


class Truthful(Mapping[Any, tuple[float, Any]]):
    """Somebody who answers truly for every fifth page that comes by."""

    def __init__(self, web: str, label: str) -> None:
        self._relevant = {without_scheme(url) for url in web_of(web).urls_labelled(label)}
        self._pages = 0
        self._said: dict[str, tuple[float, Any]] = {}

    def __getitem__(self, url: str) -> tuple[float, Any]:
        if url not in self._said:
            self._pages += 1
            if self._pages % 5:
                raise KeyError(url)
            self._said[url] = (float(without_scheme(url) in self._relevant), "user")
        return self._said[url]

    def __iter__(self) -> Iterator[Any]:
        return iter(self._said)

    def __len__(self) -> int:
        return len(self._said)


class Case(NamedTuple):
    """One golden crawl."""

    web: str
    strategy: str
    variant: str = ""
    tables: Mapping[str, Any] = {}
    people: bool = True
    engine: bool = False
    latency: bool = False

    @property
    def name(self) -> str:
        return "-".join(filter(None, (self.web, self.strategy, self.variant)))


_PLAIN = [Case(web, strategy) for web in ("demo", "made", "forums") for strategy in STRATEGIES]
_OTHER = [
    Case("made", "keyword", "proportional", {"crawl": {"order": "proportional"}}),
    Case("made", "honeyguide", "breadth", {"crawl": {"order": "breadth"}}),
    Case("made", "hybrid_svm", "untaught", {"learn": {"teacher": "none"}}, people=False),
    Case("demo", "honeyguide", "automatic", {"learn": {"teacher": "automatic"}}, people=False),
    Case(
        "made",
        "honeyguide",
        "together",
        {"crawl": {"concurrency": 8}, "politeness": {"loopback_delay_s": 2.0}},
        latency=True,
    ),
    Case(
        "demo",
        "honeyguide",
        "topics",
        {
            "topic": {"name": "search"},
            "topics": [
                {
                    "name": "backup",
                    "keywords": ["backup", "restore", "replication", "standby server", "archive"],
                }
            ],
        },
    ),
    Case("tongues", "honeyguide", "english", {"topic": {"language": ["en"]}}),
    Case(
        "tongues",
        "keyword",
        "turkish",
        {"topic": {"language": ["tr", "az"], "keyword_language": "en"}},
    ),
    Case(
        "demo",
        "keyword",
        "scope",
        {"scope": {"rule": "domain", "sitemaps": "always", "exclude": ["genindex"]}},
    ),
    Case(
        "forums",
        "honeyguide",
        "engine",
        {
            "search": {
                "engine": "searxng",
                "url": LAB_ENGINE_URL,
                "queries": ["borg backup", "prune"],
            }
        },
        engine=True,
        latency=True,
    ),
    Case(
        "demo",
        "ontology_ann",
        "cell",
        {"topic": {"keywords": [], "ontology": "cell", "concept": "tissue"}},
    ),
    Case(
        "demo",
        "ontology_weights",
        "mammal",
        {"topic": {"keywords": [], "ontology": "mammal", "concept": "mammal"}},
    ),
]
CASES = {case.name: case for case in (*_PLAIN, *_OTHER)}


def tables_of(case: Case) -> dict[str, Any]:
    """The tables of its topic.toml."""
    seeds, good, bad = _told(case.web)
    tables: dict[str, Any] = {
        "topic": {
            "keywords": list(_TOPICS[case.web].keywords),
            "seeds": seeds,
            "good": good,
            "bad": bad,
        },
        "crawl": {"strategy": case.strategy, "pages": PAGES, "concurrency": 1, "random_seed": 5},
        "fetch": {"contact": "tester@example.org", "lab": "http://127.0.0.1:1"},
        "politeness": {"loopback_delay_s": 0.0},
        "store": {"min_free_mb": 0, "keep_text": "all"},
        "learn": {"teacher": "both", "every": 15},
    }
    for name, table in case.tables.items():
        if isinstance(table, Mapping):
            tables[name] = tables.get(name, {}) | dict(table)
        else:
            tables[name] = table
    return tables


def create(case: Case, folder: Path, **more: Any) -> Collection:
    """A collection as a person would make it, for that case; ``more``: other tables."""
    tables = tables_of(case) | more
    topic = tables.pop("topic")
    topic.pop("name", "")  # it is the folder's
    return honeyguide.create(folder, contact="tester@example.org", **topic, **tables)


def visit(
    case: Case,
    folder: Path,
    settings: Settings | None = None,
    latency: Callable[[str], float] | None = None,
) -> None:
    """Crawl in simulated time; ``settings`` in place of the case's own."""
    folder.mkdir(exist_ok=True)
    hosts = web_of(case.web)
    slow = hosts.host_latency if case.latency and isinstance(hosts, SyntheticWeb) else lambda _: 1.0
    simulate_crawl(
        folder,
        settings or parse_settings(tables_of(case)),
        desk_of(case.web).with_engine(_engine() if case.engine else None),
        latency=latency or slow,
        people=Truthful(case.web, _TOPICS[case.web].label) if case.people else None,
    )
