"""Zheng, Kang & Kim 2008: does a network over an ontology's concepts find more?

Crawls from one seed, on two topics of biology: the network against weighted concept counts
(Ehrig & Maedche 2003), keyword spotting, breadth-first, and the network without an ontology.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from honeyguide.api.chart import svg_chart
from honeyguide.crawl.from_settings import build_strategy
from honeyguide.lab.metrics import BootstrapEstimate, bootstrap_mean, measure_harvest
from honeyguide.lab.studies.study import JobOutcome, StudyTable, by_topic, file_name, relative_gain
from honeyguide.lab.studies.topic_pages import (
    StudyDraw,
    StudyTopic,
    draw_study_topic,
    relevant_keys,
    run_study_crawl,
    study_settings,
)
from honeyguide.lab.trials import WebSpec, open_web
from honeyguide.lab.variants import TrueParentStrategy
from honeyguide.protocols import Strategy
from honeyguide.strategies.ontology_weights import OntologyWeights
from honeyguide.types import Concept, StrategyTraits

TITLE = "Zheng, Kang & Kim 2008: ontology and neural network"
ABOUT = """\
As in the paper: stage 1 is done (pages that were sorted into good and bad), stage 2 trains the
network before the crawl and never again, stage 3 crawls from one seed. Average harvest is the
mean of the cumulative harvest rate at every 50 visits. The paper's topics were *cell* (38
concepts within 3 edges, 64 good and 36 bad pages, 1,150 visits) and *mammal* (56 within 4 edges,
73 and 47, 980).

The paper does not say how links are ordered. To our network a link is worth what all the pages
that it stands on are worth together; to its rivals the verdict on the best of them. *Keyword
spotting, all pages* has the network's order.

Differs: training pages are at most half of the topic's pages, with bad ones in the paper's
proportion; bad ones are pages that the topic links to. The paper counts every relevant page;
since pages trained on are known by heart, they are also left out in a second count.
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
    """Training pages: at most so many good ones, and bad ones in that proportion."""
    start: tuple[str, ...] = ()
    """Seeds of one's own; none: one is drawn."""


_PAPER_GAINS: Mapping[str, tuple[float, float]] = {
    "ontology_weights": (41.6, 19.2),
    "keyword spotting": (87.1, 45.6),
    "breadth": (514.1, 152.6),
}
"""How much more the paper's network harvested than others, in percent: on cell, and on mammal."""
DEMO = OntologyTopic(
    "backup",
    ("backup-and-replication",),
    str(Path(__file__).parent / "backup.csv"),
    "backup",
    3,
    300,
    73,
    47,
)
_ANN = "ontology_ann"
_HALF = 500
"""Visits after which harvest is told besides: later there is little left to find."""
_EVERY = 50


@dataclass(frozen=True, slots=True)
class OntologyJob:
    """One draw of one topic."""

    web: WebSpec
    topic: OntologyTopic
    draw: int


def run_job(job: OntologyJob) -> JobOutcome:
    return run_crawls(job.web, job.topic, job.draw, tuple(CRAWLERS))


def run_crawls(
    web: WebSpec, topic: OntologyTopic, draw: int, crawlers: Sequence[str]
) -> JobOutcome:
    """What each of these crawlers finds, told the same pages and begun at the same seed."""
    good = min(topic.good, len(relevant_keys(web, topic.labels)) // 2)
    bad = round(good * topic.bad / topic.good)
    known = draw_study_topic(StudyDraw(web, topic.labels, draw, 1, good, bad, topic.start))
    goal = known.relevant & open_web(web).graph.reachable_from(known.seeds)
    found = {name: _found_counts(web, topic, draw, known, name) for name in crawlers}
    taught = sum(e.target >= 0.5 for e in known.examples)
    return {
        "topic": topic.name,
        "draw": draw,
        "budget": topic.budget,
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
    return [_harvest_table(some, new) for some in by_topic(outcomes) for new in (False, True)]


def draw_pictures(outcomes: Sequence[JobOutcome]) -> dict[str, str]:
    """The cumulative harvest rate of each crawler, the mean of the draws."""
    found = {}
    for some in by_topic(outcomes):
        name = some[0]["topic"]
        curves = {
            crawler: [
                ((place + 1.0) * _EVERY, sum(counts) / len(counts) / (place + 1) / _EVERY)
                for place, counts in enumerate(
                    zip(*(o["found"][crawler][0] for o in some), strict=False)
                )
            ]
            for crawler in some[0]["found"]
        }
        found[f"harvest-{file_name(name)}"] = svg_chart(
            f"Harvest rate: {name}", "visits", "relevant ÷ visits", curves
        )
    return found


def _harvest_table(outcomes: Sequence[JobOutcome], new: bool) -> StudyTable:
    budget = outcomes[0]["budget"]
    budgets = sorted({min(_HALF, budget), budget})

    def values(name: str, visits: int) -> list[float]:
        return [average_harvest(o["found"][name][new], visits) for o in outcomes]

    rows = []
    for name in outcomes[0]["found"]:
        last = [_final_rate(o["found"][name][new]) for o in outcomes]
        cells = [str(bootstrap_mean([values(name, n)])) for n in budgets]
        gains = [
            "–"
            if name == _ANN
            else _format_percent(relative_gain(values(_ANN, n), values(name, n)))
            for n in budgets
        ]
        told = (f"{gain:+} %" for gain in _PAPER_GAINS.get(name, ()))
        rows.append((name, *cells, f"{sum(last) / len(last):.3f}", *gains, ", ".join(told)))
    head = (
        "crawler",
        *(f"average harvest to {n}" for n in budgets),
        "harvest at the end",
        *(f"{_ANN} finds more, to {n}" for n in budgets),
        "in the paper: cell, mammal",
    )
    counted = "pages not trained on" if new else "all relevant pages"
    reach = sum(o["reach"][new] for o in outcomes) / len(outcomes)
    good, bad = outcomes[0]["taught"]
    note = (
        f"Mean over {len(outcomes)} draws and its 95 % interval; trained with {good} good and "
        f"{bad} bad pages; {reach:.0f} pages to be found in reach."
    )
    return StudyTable(f"{outcomes[0]['topic']}: {counted}", head, tuple(rows), note)


def _final_rate(found: Sequence[int]) -> float:
    return found[-1] / (len(found) * _EVERY) if found else 0.0


def _format_percent(share: BootstrapEstimate) -> str:
    return f"{share.mean:+.0%} [{share.low:+.0%}, {share.high:+.0%}]"
