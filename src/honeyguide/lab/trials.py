"""What is compared: a web, a topic, a strategy and a draw of seeds; and what came of it."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import astuple, dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from honeyguide import __version__
from honeyguide.lab.graph import WebGraph
from honeyguide.lab.responses import LabResponder, ServingOptions
from honeyguide.lab.search_engine import LabSearchIndex
from honeyguide.lab.synthetic.parameters import parse_plan
from honeyguide.lab.synthetic.web import SyntheticWeb
from honeyguide.lab.web import LabWeb, RecordedWeb, read_aliases, without_scheme
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
    closed: bool = True
    """Links to pages that were not recorded are taken out."""
    seeds: tuple[str, ...] = ()
    """Fixed seeds; none: drawn from the topic's pages."""
    aliases: tuple[str, ...] = ()
    """Files of redirects, besides those that lie beside the pages."""
    error_rate: float = 0.0
    latency_s: float = 0.0
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

    @property
    def key(self) -> str:
        """Everything that the result depends on, but for our own code: its version is in it."""
        facts = astuple(self)
        if not self.web.reach:
            facts = (facts[0][:-1], *facts[1:])  # as it was before there were engines
        if self.start is None:
            facts = facts[:-1]  # as it was before there were other starts
        return json.dumps([__version__, *facts], separators=(",", ":"))


@dataclass(frozen=True, slots=True)
class TrialResult:
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
