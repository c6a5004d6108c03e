"""Zheng, Kang & Kim 2008, section 4: does a network over an ontology's concepts find more?

Crawls from one seed, on two topics of biology: the network against weighted concept counts
(Ehrig & Maedche 2003), keyword spotting, breadth-first, and the network without an ontology.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from honeyguide.crawl.from_settings import build_strategy
from honeyguide.lab.metrics import BootstrapEstimate, bootstrap_mean, measure_harvest
from honeyguide.lab.trials import WebSpec, open_web
from honeyguide.lab.variants import TrueParentStrategy
from honeyguide.protocols import Strategy
from honeyguide.strategies.ontology_weights import OntologyWeights
from honeyguide.types import Concept, StrategyTraits

from .arithmetic import relative_gain
from .crawls import (
    StudyDraw,
    StudyTopic,
    draw_study_topic,
    run_study_crawl,
    study_settings,
)
from .neighbours import relevant_keys
from .study import JobOutcome, StudyTable, study_web

TITLE = "Zheng, Kang & Kim 2008: ontology and neural network"
ABOUT = """\
As in the paper: two topics, *mammal* (56 concepts within 4 edges, 980 visits) and *cell* (38
concepts within 3 edges, 1,150 visits); one seed; the network is trained before the crawl and
never again. Average harvest is the mean of the cumulative harvest rate at every 50 visits.

The paper does not say how links are ordered. To our network a link is worth what all the pages that
it stands on are worth together; to its rivals the verdict on the best of them. *Keyword spotting,
all pages* has the network's order.

Differs: the web is an encyclopedia of 4,654 articles, not the open web, and truth is its
subjects: *Mammals* (114 articles); for *cell* there is no such subject, so that general biology,
evolution and organisms together (80) stand for it, of which few articles are about cells. The
ontologies are our own, of the paper's sizes. The paper has 73 good and 47 bad training pages
(cell: 64 and 36), which would be most of the topic here: they are at most half of its pages,
with bad ones in the paper's proportion. Bad ones are pages that the topic links to. The paper
counts every relevant page; since pages trained on are known by heart, they are also left out in
a second count.
"""


@dataclass(frozen=True, slots=True)
class OntologyTopic:
    name: str
    labels: tuple[str, ...]
    ontology: str
    concept: str
    distance: int
    budget: int
    good: int
    bad: int
    gains: Mapping[str, float] | None = None
    """The paper's: how much more the network harvested than others, in percent."""


_MAMMAL_GAINS = {"ontology_weights": 19.2, "keyword spotting": 45.6, "breadth": 152.6}
_CELL_GAINS = {"ontology_weights": 41.6, "keyword spotting": 87.1, "breadth": 514.1}
SCHOOLS = (
    OntologyTopic(
        "mammal", ("Science.Biology.Mammals",), "mammal", "mammal", 4, 980, 73, 47, _MAMMAL_GAINS
    ),
    OntologyTopic(
        "cell",
        (
            "Science.Biology.General_Biology",
            "Science.Biology.Evolution_and_reproduction",
            "Science.Biology.Organisms",
        ),
        "cell",
        "cell",
        3,
        1150,
        64,
        36,
        _CELL_GAINS,
    ),
)
DEMO_ONTOLOGY = Path(__file__).parent / "backup.csv"
DEMO = (
    OntologyTopic(
        "backup", ("backup-and-replication",), str(DEMO_ONTOLOGY), "backup", 3, 300, 73, 47
    ),
)
_ANN = "ontology_ann"
_HALF = 500
"""Visits after which harvest is told besides: later there is little left to find."""
_EVERY = 50


@dataclass(frozen=True, slots=True)
class ZhengJob:
    web: WebSpec
    topic: str
    draw: int


def list_jobs(folder: Path | None, draws: int) -> list[ZhengJob]:
    where, topics = study_web(folder), SCHOOLS if folder else DEMO
    return [ZhengJob(where, topic.name, draw) for draw in range(draws) for topic in topics]


def run_job(job: ZhengJob) -> JobOutcome:
    topic = next(t for t in (*SCHOOLS, *DEMO) if t.name == job.topic)
    return run_crawls(job.web, topic, job.draw, tuple(CRAWLERS))


def run_crawls(
    web: WebSpec, topic: OntologyTopic, draw: int, crawlers: Sequence[str]
) -> JobOutcome:
    """What each of these crawlers finds, told the same pages and begun at the same seed."""
    good = min(topic.good, len(relevant_keys(web, topic.labels)) // 2)
    bad = round(good * topic.bad / topic.good)
    known = draw_study_topic(StudyDraw(web, topic.labels, draw, 1, good, bad))
    goal = known.relevant & open_web(web).graph.reachable_from(known.seeds)
    found = {name: _found_counts(web, topic, draw, known, name) for name in crawlers}
    taught = sum(e.target >= 0.5 for e in known.examples)
    return {
        "topic": topic.name,
        "draw": draw,
        "taught": [taught, len(known.examples) - taught],
        "reach": [len(goal), len(goal - known.known_keys)],
        "found": found,
    }


def _found_counts(
    web: WebSpec, topic: OntologyTopic, draw: int, known: StudyTopic, name: str
) -> list[list[int]]:
    """Relevant pages found at every 50 visits: all of them, and those not trained on."""
    stated: dict[str, Any] = {
        "keywords": [topic.concept],
        "ontology": topic.ontology,
        "concept": topic.concept,
        "distance": topic.distance,
    }
    base, parameters = CRAWLERS[name]
    # A yardstick has no name in the registry; breadth lends its own.
    chosen = study_settings(
        base or "breadth",
        known.seeds,
        topic.budget,
        draw,
        topic=stated,
        parameters=parameters,
        order="strategy" if base else "best",
    )
    made = build_strategy(chosen) if base else _YARDSTICKS[name](topic, known)
    visits = run_study_crawl(web, chosen, strategy=made.learn(known.examples) if base else made)
    counts = []
    for wanted in (known.relevant, known.relevant - known.known_keys):
        curve = measure_harvest(
            (visit.page and visit.key in wanted for visit in visits), len(wanted)
        )
        counts.append([curve.found[n - 1] for n in range(_EVERY, len(visits) + 1, _EVERY)])
    return counts


class _KeywordSpotting(OntologyWeights):
    """With the order of links that our network has: all the pages count that a link stands on."""

    traits = StrategyTraits(parent_score="all")


CRAWLERS: Mapping[str, tuple[str, dict[str, Any]]] = {
    _ANN: ("ontology_ann", {}),
    "ontology_ann, house": ("ontology_ann", {"house": True}),
    "network without ontology": ("ontology_ann", {"inputs": "terms"}),
    "ontology_weights": ("ontology_weights", {}),
    "keyword spotting": ("", {}),
    "keyword spotting, all pages": ("", {}),
    "keyword (reads links)": ("keyword", {}),
    "breadth": ("breadth", {}),
    "true parent": ("", {}),
}
"""Name → strategy of the registry and its parameters; no strategy: a yardstick."""
_YARDSTICKS: Mapping[str, Callable[[OntologyTopic, StudyTopic], Strategy]] = {
    # A page is worth n/(n + 1) with n occurrences of the topic's name, so one is enough.
    "keyword spotting": lambda topic, _: OntologyWeights((Concept(topic.concept, 0),), theta=1.0),
    "keyword spotting, all pages": lambda topic, _: _KeywordSpotting(
        (Concept(topic.concept, 0),), theta=1.0
    ),
    "true parent": lambda _, known: TrueParentStrategy(tuple(sorted(known.relevant))),
}


def average_harvest(found: Sequence[int], visits: int) -> float:
    """The mean of the cumulative harvest rate at every 50 visits, up to so many."""
    rates = [n / ((place + 1) * _EVERY) for place, n in enumerate(found[: visits // _EVERY])]
    return sum(rates) / len(rates) if rates else 0.0


def result_tables(outcomes: Sequence[JobOutcome]) -> list[StudyTable]:
    made = []
    for topic in (*SCHOOLS, *DEMO):
        some = [o for o in outcomes if o["topic"] == topic.name]
        if some:
            made += [_harvest_table(topic, some, new) for new in (False, True)]
    return made


def _harvest_table(topic: OntologyTopic, outcomes: Sequence[JobOutcome], new: bool) -> StudyTable:
    budgets = sorted({min(_HALF, topic.budget), topic.budget})

    def values(name: str, visits: int) -> list[float]:
        return [average_harvest(o["found"][name][new], visits) for o in outcomes]

    rows = []
    for name in CRAWLERS:
        last = [_final_rate(o["found"][name][new]) for o in outcomes]
        cells = [str(bootstrap_mean([values(name, n)])) for n in budgets]
        gains = [
            "–"
            if name == _ANN
            else _format_percent(relative_gain(values(_ANN, n), values(name, n)))
            for n in budgets
        ]
        told = (topic.gains or {}).get(name)
        row = (name, *cells, f"{sum(last) / len(last):.3f}", *gains)
        rows.append((*row, "" if told is None else f"+{told} %") if topic.gains else row)
    head = (
        "crawler",
        *(f"average harvest to {n}" for n in budgets),
        "harvest at the end",
        *(f"{_ANN} finds more, to {n}" for n in budgets),
        *(("in the paper",) if topic.gains else ()),
    )
    counted = "pages not trained on" if new else "all relevant pages"
    reach = sum(o["reach"][new] for o in outcomes) / len(outcomes)
    good, bad = outcomes[0]["taught"]
    note = (
        f"Mean over {len(outcomes)} draws and its 95 % interval; trained with {good} good and "
        f"{bad} bad pages; {reach:.0f} pages to be found in reach."
    )
    return StudyTable(f"{topic.name}: {counted}", head, tuple(rows), note)


def _final_rate(found: Sequence[int]) -> float:
    return found[-1] / (len(found) * _EVERY) if found else 0.0


def _format_percent(share: BootstrapEstimate) -> str:
    return f"{share.mean:+.0%} [{share.low:+.0%}, {share.high:+.0%}]"
