"""Xu, Yoon & Tourassi 2014, section 4: a user's utility, learned, against an adaptive crawler.

The two-tier utility learner against Barbosa & Freire 2007, with many and with few examples: how
much each brings in, how much of what it calls relevant is, and how far the two find the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import accumulate
from pathlib import Path
from typing import Any

from honeyguide.lab.metrics import BootstrapEstimate, bootstrap_mean
from honeyguide.lab.overlap import ComparedDocument, SharedCounts, compare_documents, to_document
from honeyguide.lab.trials import WebSpec, open_web

from .arithmetic import by_topic, relative_gain
from .crawls import (
    StudyDraw,
    StudyTopic,
    StudyVisit,
    draw_study_topic,
    run_study_crawl,
    study_settings,
)
from .neighbours import relevant_keys
from .study import JobOutcome, StudyTable, study_web

TITLE = "Xu, Yoon & Tourassi 2014: two-tier utility learner"
ABOUT = """\
As in the paper: both crawlers get the same rated pages, many or half as many, six to seven bad
ones for each good one, and start from the same pages. Raw volume counts pages fetched, gross
volume those that the crawler itself calls relevant, net volume those of them that are. Precision
is net ÷ gross: of the output, not harvest rate. Rated pages and seeds are in no count.

Differs: the web is an encyclopedia and truth is its subjects, so every result is judged and not
one in 50; time is visits, 600 of them, told in five parts, not 21 hours; 40 good and 260 bad
examples, at most a third of a topic (halved: 20 and 130), instead of 133 and 875; links drawn
blindly for the first 30 visits and not for 1,000; no search engine, so the pool grows by links
alone, from 10 seeds. The rival is run as the paper did it again, reading addresses only, and as
its authors published it. It learns every 100 pages. Its critic, which the paper does not
describe, is a linear support vector machine on the same rated pages. *house* is ours: the same
two learners, and the best link first.
"""
SCHOOLS = (
    "Science.Biology.Health_and_medicine",
    "Science.Biology.Birds",
    "Science.Physics",
    "Design_and_Technology",
)
"""Four with more than a hundred pages; chosen before anything was measured."""
DEMO = ("backup-and-replication",)
PARTS = 5
_OURS = "user_utility"
_PUBLISHED: dict[str, Any] = {"alone": True, "believes": 0, "neighbours": False}
"""The rival without what is ours: words of links alone, no neighbours, and a critic that
people alone teach."""
CRAWLERS: Mapping[str, tuple[str, dict[str, Any]]] = {
    _OURS: ("user_utility", {}),
    f"{_OURS}, house": ("user_utility", {"house": True}),
    "adaptive_links, url": ("adaptive_links", {"fields": ["url"], **_PUBLISHED}),
    "adaptive_links": ("adaptive_links", _PUBLISHED),
}
"""Name → strategy and its parameters."""
_EVERY = 100
_PAPER = (
    ("breast cancer, 133/875 examples", "74.7–79.4 %", "32.8–37.0 %"),
    ("lung cancer, 73/700", "56.7–61.2 %", "29.3–32.4 %"),
    ("breast cancer, 67/438", "44.6–54.9 %", "24.3–26.3 %"),
    ("lung cancer, 50/400", "35.7–46.7 %", "24.1–29.6 %"),
)
_PAPER_OVERLAP = {"sites": "27–34 %", "documents": "66–70 %", "words": "60–80 %"}


@dataclass(frozen=True, slots=True)
class XuJob:
    web: WebSpec
    topic: str
    draw: int
    budget: int
    warmup: int
    seeds: int
    good: int
    bad: int
    halved: bool


def list_jobs(folder: Path | None, draws: int) -> list[XuJob]:
    where, topics = study_web(folder), SCHOOLS if folder else DEMO
    sizes = (600, 30, 10, 40, 260) if folder else (200, 20, 5, 20, 120)
    return [
        XuJob(where, topic, draw, *sizes, halved)
        for draw in range(draws)
        for topic in topics
        for halved in (False, True)
    ]


def run_job(job: XuJob) -> JobOutcome:
    good = min(job.good, len(relevant_keys(job.web, (job.topic,))) // 3)
    known = draw_study_topic(StudyDraw(job.web, (job.topic,), job.draw, job.seeds, good, job.bad))
    if job.halved:
        known = known._replace(examples=_halve_examples(known))
    visits = {name: _crawl_with(job, known, name) for name in CRAWLERS}
    texts = {name: _called_documents(known, some) for name, some in visits.items()}
    reach = (
        known.relevant & open_web(job.web).graph.reachable_from(known.seeds)
    ) - known.known_keys
    rated = sum(e.target >= 0.5 for e in known.examples)
    return {
        "topic": job.topic,
        "draw": job.draw,
        "halved": job.halved,
        "examples": [rated, len(known.examples) - rated],
        "reach": len(reach),
        "parts": {name: _volume_parts(job, known, some) for name, some in visits.items()},
        "overlap": {
            name: asdict(compare_documents(texts[_OURS], texts[name]))
            for name in CRAWLERS
            if name != _OURS
        },
    }


def _halve_examples(known: StudyTopic) -> tuple[Any, ...]:
    """Every other example of each kind."""
    kinds = [[e for e in known.examples if (e.target >= 0.5) == kind] for kind in (True, False)]
    kept = {example.link.url for some in kinds for example in some[::2]}
    return tuple(example for example in known.examples if example.link.url in kept)


def _crawl_with(job: XuJob, known: StudyTopic, name: str) -> list[StudyVisit]:
    strategy, parameters = CRAWLERS[name]
    if name == _OURS:
        parameters = {"warmup": job.warmup}
    word = job.topic.rpartition(".")[2].replace("_", " ").replace("-", " ").lower()
    chosen = study_settings(
        strategy,
        known.seeds,
        job.budget,
        job.draw,
        topic={"keywords": [word]},
        parameters=parameters,
        every=_EVERY,
    )
    return run_study_crawl(job.web, chosen, examples=known.examples, texts=True)


def _volume_parts(job: XuJob, known: StudyTopic, visits: Sequence[StudyVisit]) -> list[list[int]]:
    """Raw, gross and net volume of each fifth of the budget, and relevant pages fetched."""
    counts = [[0, 0, 0, 0] for _ in range(PARTS)]
    for place, visit in enumerate(visits):
        if visit.page and visit.key not in known.known_keys:
            good = visit.key in known.relevant
            part = counts[min(PARTS - 1, place * PARTS // job.budget)]
            for n, one in enumerate((True, visit.called, visit.called and good, good)):
                part[n] += one
    return counts


def _called_documents(known: StudyTopic, visits: Iterable[StudyVisit]) -> list[ComparedDocument]:
    return [
        to_document(f"http://{visit.key}", visit.text)
        for visit in visits
        if visit.called and visit.page and visit.key not in known.known_keys
    ]


def result_tables(outcomes: Sequence[JobOutcome]) -> list[StudyTable]:
    made = []
    for halved in (False, True):
        some = [o for o in outcomes if o["halved"] == halved]
        if some:
            good, bad = (max(o["examples"][kind] for o in some) for kind in (0, 1))
            name = f"{'few' if halved else 'many'} examples (up to {good} good, {bad} bad)"
            made += [
                _volume_table(name, some),
                _precision_table(name, some),
                _overlap_table(name, some),
            ]
    return [*made, _topic_table(outcomes), _paper_table()]


def _total_counts(outcome: JobOutcome, name: str) -> list[int]:
    return [sum(part[n] for part in outcome["parts"][name]) for n in range(4)]


def _volume_table(name: str, outcomes: Sequence[JobOutcome]) -> StudyTable:
    groups, rows = by_topic(outcomes), []

    def over(crawler: str, what: int, of: int | None = None) -> BootstrapEstimate:
        each = [
            [_count_share(_total_counts(o, crawler), what, of) for o in group] for group in groups
        ]
        return bootstrap_mean([[share for share in some if share is not None] for some in each])

    for crawler in CRAWLERS:
        raw, gross, net = (f"{over(crawler, n).mean:.0f}" for n in range(3))
        precision, rate = str(over(crawler, 2, 1)), str(over(crawler, 3, 0))
        ratios = (_precision_ratio(outcomes, crawler, measure) for measure in ((2, 1), (3, 0)))
        rows.append((crawler, raw, gross, net, precision, rate, *ratios))
    head = (
        "crawler", "raw", "gross", "net", "precision: net ÷ gross",
        "harvest: all relevant ÷ raw", f"precision of {_OURS} ÷ its precision", "÷ its harvest",
    )  # fmt: skip
    reach = sum(o["reach"] for o in outcomes) / len(outcomes)
    note = (
        f"Mean over {len(groups)} topics of the mean over draws ({len(outcomes)} crawls by each); "
        f"{reach:.0f} relevant pages in reach. A crawl without output has no precision."
    )
    return StudyTable(f"Volumes, {name}", head, tuple(rows), note)


def _count_share(counts: Sequence[int], what: int, of: int | None) -> float | None:
    """None: a share of nothing."""
    if of is None:
        return float(counts[what])
    return counts[what] / counts[of] if counts[of] else None


def _precision_ratio(outcomes: Sequence[JobOutcome], crawler: str, measure: tuple[int, int]) -> str:
    """How many times more exact our output is than the other's output, or than all it fetched."""
    if crawler == _OURS and measure == (2, 1):
        return "–"
    both = [
        (ours, theirs)
        for o in outcomes
        if (ours := _count_share(_total_counts(o, _OURS), 2, 1)) is not None
        and (theirs := _count_share(_total_counts(o, crawler), *measure)) is not None
    ]
    if not both:
        return "–"
    found = relative_gain(*zip(*both, strict=True))
    return f"{1 + found.mean:.2f} [{1 + found.low:.2f}, {1 + found.high:.2f}]"


def _precision_table(name: str, outcomes: Sequence[JobOutcome]) -> StudyTable:
    """Pooled over topics and draws, part by part."""
    rows = []
    for crawler in CRAWLERS:
        sums = [
            [sum(o["parts"][crawler][part][n] for o in outcomes) for n in (1, 2)]
            for part in range(PARTS)
        ]
        so_far = list(accumulate(sums, lambda a, b: [a[0] + b[0], a[1] + b[1]]))
        cells = [
            f"{_format_precision(now)}, {_format_precision(then)}"
            for now, then in zip(sums, so_far, strict=True)
        ]
        rows.append((crawler, *cells))
    head = ("crawler", *(f"{100 * (part + 1) // PARTS} % of the visits" for part in range(PARTS)))
    note = "In that part of the crawl alone (temporal), and since its beginning (cumulative)."
    return StudyTable(f"Precision of the output as time goes by, {name}", head, tuple(rows), note)


def _format_precision(counts: Sequence[int]) -> str:
    gross, net = counts
    return f"{net / gross:.2f}" if gross else "–"


def _overlap_table(name: str, outcomes: Sequence[JobOutcome]) -> StudyTable:
    rows = []
    for what, told in _PAPER_OVERLAP.items():
        cells = []
        for crawler in (c for c in CRAWLERS if c != _OURS):
            both = [SharedCounts(**o["overlap"][crawler][what]).shares for o in outcomes]
            ours, theirs = (sum(s[n] for s in both) / len(both) for n in (0, 1))
            cells.append(f"{ours:.0%} of its, {theirs:.0%} of the other's")
        rows.append(("key words" if what == "words" else what, told, *cells))
    head = ("shared", "paper", *(f"with {c}" for c in CRAWLERS if c != _OURS))
    note = f"Of what {_OURS} called relevant, and of what the other did; examples left out."
    return StudyTable(f"Overlap of the results, {name}", head, tuple(rows), note)


def _topic_table(outcomes: Sequence[JobOutcome]) -> StudyTable:
    rows = []
    for group in by_topic(outcomes):
        for halved in (False, True):
            some = [o for o in group if o["halved"] == halved]
            if some:
                cells = []
                for crawler in CRAWLERS:
                    totals = [_total_counts(o, crawler) for o in some]
                    gross, net = (sum(t[n] for t in totals) for n in (1, 2))
                    cells.append(f"{_format_precision((gross, net))} ({net / len(some):.0f})")
                rows.append((some[0]["topic"], "few" if halved else "many", *cells))
    head = ("topic", "examples", *CRAWLERS)
    return StudyTable("Each topic: cumulative precision (and net volume)", head, tuple(rows))


def _paper_table() -> StudyTable:
    head = ("cumulative precision, hour 5 to the end", "theirs", "Barbosa & Freire, redone by them")
    return StudyTable("What the paper reports", head, _PAPER)
