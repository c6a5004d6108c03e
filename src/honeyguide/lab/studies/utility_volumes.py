"""Xu, Yoon & Tourassi, section 5: a user's utility, learned, against an adaptive crawler.

The two-tier utility learner with its search engine against Barbosa & Freire 2007, with many and
with few examples: how much each brings in, how much of what it calls relevant is, and how far the
two find the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, astuple, dataclass
from typing import Any, NamedTuple

from honeyguide.api.chart import svg_chart
from honeyguide.lab.metrics import BootstrapEstimate, bootstrap_mean
from honeyguide.lab.overlap import ComparedDocument, SharedCounts, compare_documents, to_document
from honeyguide.lab.studies.study import JobOutcome, StudyTable, by_topic, relative_gain
from honeyguide.lab.studies.topic_pages import (
    StudyDraw,
    StudyTopic,
    StudyVisit,
    draw_study_topic,
    relevant_keys,
    run_study_crawl,
    study_settings,
)
from honeyguide.lab.trials import WebSpec, open_web
from honeyguide.store.volumes import CrawlVolume, cumulative_volumes

TITLE = "Xu, Yoon & Tourassi 2014: two-tier utility learner"
ABOUT = """\
As in the paper: all crawlers get the same rated pages, many or half as many, six to seven bad
ones for each good one, and start from the same pages; the paper's crawler also asks a search
engine, with the topic's name and with queries that it composes itself. Raw volume counts pages
fetched, gross volume those that the crawler itself calls relevant, net volume those of them that
are. Precision is net ÷ gross: of the output, not harvest rate. Rated pages and seeds are in no
count. Net volume is known exactly, since every page has a label; beside it stands the precision
that people would report who judge one result in fifty, as in the paper.

Differs: time is visits, told in five parts, not 20 hours; 40 good and 260 bad examples, at most a
third of a topic (halved: 20 and 130), instead of 133 and 875; links drawn blindly for the first
twentieth of the visits and not for 1,000. The engine is the lab's: it knows the whole web and
ranks by BM25. The rival is run as the paper did it again, reading addresses only, and as its
authors published it. It learns every 100 pages. Its page classifier, which the paper does not
describe, is a linear support vector machine on the same rated pages. *house* is ours: the same
two learners, and the best link first.
"""
DEMO_TOPICS = ("backup-and-replication",)
PARTS = 5
JUDGED_ONE_IN = 50
"""Results of which the paper's users judged one."""
_OURS = "user_utility, engine"
_PUBLISHED: dict[str, Any] = {"alone": True, "believes": 0, "neighbours": False}
"""The rival without what is ours: words of links alone, no neighbours, and a page classifier
that people alone teach."""
CRAWLERS: Mapping[str, tuple[str, dict[str, Any]]] = {
    _OURS: ("user_utility", {}),
    "user_utility, links only": ("user_utility", {}),
    "user_utility, house, engine": ("user_utility", {"house": True}),
    "adaptive_links, url": ("adaptive_links", {"fields": ["url"], **_PUBLISHED}),
    "adaptive_links": ("adaptive_links", _PUBLISHED),
}
"""Name → strategy and its parameters; whose name says so asks the engine."""
_EVERY = 100
_PAPER = (
    ("breast cancer, 133/875 examples", "74.7–79.4 %", "32.8–37.0 %"),
    ("lung cancer, 73/700", "56.7–61.2 %", "29.3–32.4 %"),
    ("breast cancer, 67/438", "44.6–54.9 %", "24.3–26.3 %"),
    ("lung cancer, 50/400", "35.7–46.7 %", "24.1–29.6 %"),
)
_PAPER_OVERLAP = {"sites": "27–34 %", "documents": "66–70 %", "words": "60–80 %"}


# --------------------------------------------------------------------------------------------------
# Volumes: what each part of a crawl brought in.
# --------------------------------------------------------------------------------------------------


class VolumeResult(NamedTuple):
    """A page that was fetched."""

    at: float
    """The number of the visit."""
    gross: bool
    """The crawler calls it relevant."""
    net: bool | None = None
    """It is relevant; None: nobody knows."""


def sample_judged(found: Iterable[VolumeResult], every: int = 50) -> list[VolumeResult]:
    """The same results, judged only at one of every so many that the crawler calls relevant."""
    kept, count = [], 0
    for result in found:
        count += result.gross
        judged = result.gross and count % every == 0
        kept.append(result if judged else result._replace(net=None))
    return kept


def volumes_per_part(found: Sequence[VolumeResult], budget: float) -> list[CrawlVolume]:
    """Volumes of each fifth of the budget, those without results included."""
    sums = [[0, 0, 0, 0] for _ in range(PARTS)]
    for result in found:
        judged = result.gross and result.net is not None
        part = sums[min(PARTS - 1, int(result.at * PARTS / budget))]
        for n, one in enumerate((True, result.gross, judged, judged and bool(result.net))):
            part[n] += one
    return [CrawlVolume((n + 1) * budget / PARTS, *counts) for n, counts in enumerate(sums)]


def net_volume(volume: CrawlVolume) -> float:
    """Gross volume × precision: exact where every result was judged."""
    return volume.gross * (volume.precision or 0.0)


# --------------------------------------------------------------------------------------------------
# One topic, one draw: all crawlers.
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class UtilityJob:
    """One draw of one topic, with all examples or half of them."""

    web: WebSpec
    topic: str
    draw: int
    budget: int
    seeds: int
    good: int
    bad: int
    halved: bool
    start: tuple[str, ...] = ()
    """Seeds of one's own; none: drawn."""


def run_job(job: UtilityJob) -> JobOutcome:
    good = min(job.good, len(relevant_keys(job.web, (job.topic,))) // 3)
    drawn = StudyDraw(job.web, (job.topic,), job.draw, job.seeds, good, job.bad, job.start)
    known = draw_study_topic(drawn)
    if job.halved:
        known = known._replace(examples=_halve_examples(known))
    visits = {name: _crawl_with(job, known, name) for name in CRAWLERS}
    texts = {name: _called_documents(known, some) for name, some in visits.items()}
    given = known.known_keys
    reach = known.relevant & open_web(job.web).graph.reachable_from(known.seeds)
    rated = sum(e.target >= 0.5 for e in known.examples)
    return {
        "topic": job.topic,
        "draw": job.draw,
        "halved": job.halved,
        "budget": job.budget,
        "examples": [rated, len(known.examples) - rated],
        "reach": len(reach - given),
        "results": {name: _list_results(known, some) for name, some in visits.items()},
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


def _crawl_with(job: UtilityJob, known: StudyTopic, name: str) -> list[StudyVisit]:
    strategy, parameters = CRAWLERS[name]
    if strategy == "user_utility" and "house" not in parameters:
        parameters = {"warmup": max(1, job.budget // 20)}
    word = job.topic.rpartition(".")[2].replace("_", " ").replace("-", " ").lower()
    chosen = study_settings(
        strategy,
        known.seeds,
        job.budget,
        job.draw,
        topic={"keywords": [word]},
        parameters=parameters,
        every=_EVERY,
        queries=[word] if "engine" in name else None,
    )
    return run_study_crawl(job.web, chosen, examples=known.examples, texts=True)


def _list_results(known: StudyTopic, visits: Sequence[StudyVisit]) -> list[list[int]]:
    """The number of each visit that brought a page, whether it is called relevant, and is."""
    given = known.known_keys
    return [
        [place, int(visit.called), int(visit.key in known.relevant)]
        for place, visit in enumerate(visits)
        if visit.page and visit.key not in given
    ]


def _called_documents(known: StudyTopic, visits: Iterable[StudyVisit]) -> list[ComparedDocument]:
    return [
        to_document(f"http://{visit.key}", visit.text)
        for visit in visits
        if visit.called and visit.page and visit.key not in known.known_keys
    ]


# --------------------------------------------------------------------------------------------------
# Tables and pictures.
# --------------------------------------------------------------------------------------------------


def result_tables(outcomes: Sequence[JobOutcome]) -> list[StudyTable]:
    made = []
    for halved in (False, True):
        some = [o for o in outcomes if o["halved"] == halved]
        if some:
            good, bad = (max(o["examples"][kind] for o in some) for kind in (0, 1))
            name = f"{'few' if halved else 'many'} examples (up to {good} good, {bad} bad)"
            made += [
                _volume_table(name, some),
                _time_table(name, some),
                _overlap_table(name, some),
            ]
    return [*made, _topic_table(outcomes), _paper_table()]


def draw_pictures(outcomes: Sequence[JobOutcome]) -> dict[str, str]:
    """Net volume and cumulative precision as time goes by."""
    found = {}
    for halved in (False, True):
        some = [o for o in outcomes if o["halved"] == halved]
        if not some:
            continue
        kind = "few" if halved else "many"
        volumes = {name: cumulative_volumes(_pooled_volumes(some, name)) for name in CRAWLERS}
        net = {
            name: [(one.until, net_volume(one) / len(some)) for one in each]
            for name, each in volumes.items()
        }
        exact = {
            name: [(one.until, 100 * (one.precision or 0.0)) for one in each]
            for name, each in volumes.items()
        }
        title, what = f"Net volume, {kind} examples", "relevant pages in the output"
        found[f"net-{kind}"] = svg_chart(title, "visits", what, net)
        title, what = f"Cumulative precision, {kind} examples", "net ÷ gross, per cent"
        found[f"precision-{kind}"] = svg_chart(title, "visits", what, exact)
    return found


def _results_of(outcome: JobOutcome, name: str) -> list[VolumeResult]:
    return [VolumeResult(at, bool(g), bool(good)) for at, g, good in outcome["results"][name]]


def _pooled_volumes(
    outcomes: Sequence[JobOutcome], name: str, *, one_in: int = 1
) -> list[CrawlVolume]:
    """The sums over topics and draws, part by part."""
    judged = ((sample_judged(_results_of(o, name), one_in), o["budget"]) for o in outcomes)
    parts = zip(*(volumes_per_part(found, budget) for found, budget in judged), strict=True)
    return [
        CrawlVolume(part[0].until, *map(sum, zip(*(astuple(v)[1:] for v in part), strict=True)))
        for part in parts
    ]


def _total_counts(outcome: JobOutcome, name: str) -> list[int]:
    """Raw, gross, net, and relevant pages fetched."""
    found = _results_of(outcome, name)
    gross = [one for one in found if one.gross]
    return [
        len(found),
        len(gross),
        sum(bool(o.net) for o in gross),
        sum(bool(o.net) for o in found),
    ]


def _volume_table(name: str, outcomes: Sequence[JobOutcome]) -> StudyTable:
    groups, rows = by_topic(outcomes), []

    def over(crawler: str, what: int, of: int | None = None) -> BootstrapEstimate:
        each = [
            [_count_share(_total_counts(o, crawler), what, of) for o in group] for group in groups
        ]
        return bootstrap_mean([[share for share in some if share is not None] for some in each])

    for crawler in CRAWLERS:
        raw, gross, net = (f"{over(crawler, n).mean:.0f}" for n in range(3))
        judged = _total_volume(_pooled_volumes(outcomes, crawler, one_in=JUDGED_ONE_IN))
        asked = f"{judged.confirmed} of {judged.judged}" if judged.judged else "–"
        precision, rate = str(over(crawler, 2, 1)), str(over(crawler, 3, 0))
        ratio = _precision_ratio(outcomes, crawler)
        rows.append((crawler, raw, gross, net, precision, asked, rate, ratio))
    head = (
        "crawler", "raw", "gross", "net", "precision: net ÷ gross",
        f"one result in {JUDGED_ONE_IN} judged", "harvest: all relevant ÷ raw",
        f"precision of {_OURS} ÷ its precision",
    )  # fmt: skip
    reach = sum(o["reach"] for o in outcomes) / len(outcomes)
    note = (
        f"Mean over {len(groups)} topics of the mean over draws ({len(outcomes)} crawls by each); "
        f"{reach:.0f} relevant pages in reach of links. A crawl without output has no precision."
    )
    return StudyTable(f"Volumes, {name}", head, tuple(rows), note)


def _total_volume(volumes: Sequence[CrawlVolume]) -> CrawlVolume:
    return cumulative_volumes(volumes)[-1]


def _count_share(counts: Sequence[int], what: int, of: int | None) -> float | None:
    """None: a share of nothing."""
    if of is None:
        return float(counts[what])
    return counts[what] / counts[of] if counts[of] else None


def _precision_ratio(outcomes: Sequence[JobOutcome], crawler: str) -> str:
    """How many times more exact the output of the paper's crawler is than the other's."""
    both = [
        (ours, theirs)
        for o in outcomes
        if (ours := _count_share(_total_counts(o, _OURS), 2, 1)) is not None
        and (theirs := _count_share(_total_counts(o, crawler), 2, 1)) is not None
    ]
    if crawler == _OURS or not both:
        return "–"
    found = relative_gain(*zip(*both, strict=True))
    return f"{1 + found.mean:.2f} [{1 + found.low:.2f}, {1 + found.high:.2f}]"


def _time_table(name: str, outcomes: Sequence[JobOutcome]) -> StudyTable:
    """Means over topics and draws, part by part; precision is pooled."""
    rows = []
    for crawler in CRAWLERS:
        parts = _pooled_volumes(outcomes, crawler)
        cells = []
        for now, so_far in zip(parts, cumulative_volumes(parts), strict=True):
            volumes = (f"{n / len(outcomes):.0f}" for n in (now.raw, now.gross, net_volume(now)))
            precision = (_format_precision(v) for v in (now, so_far))
            cells.append(f"{' / '.join(volumes)}; {', '.join(precision)}")
        rows.append((crawler, *cells))
    head = ("crawler", *(f"{100 * (part + 1) // PARTS} % of the visits" for part in range(PARTS)))
    note = (
        "Raw / gross / net volume of that part; precision in it (temporal), and since the "
        "beginning (cumulative)."
    )
    return StudyTable(f"As time goes by, {name}", head, tuple(rows), note)


def _format_precision(volume: CrawlVolume) -> str:
    return "–" if volume.precision is None else f"{volume.precision:.2f}"


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
                    exact = f"{net / gross:.2f}" if gross else "–"
                    cells.append(f"{exact} ({net / len(some):.0f})")
                rows.append((some[0]["topic"], "few" if halved else "many", *cells))
    head = ("topic", "examples", *CRAWLERS)
    return StudyTable("Each topic: cumulative precision (and net volume)", head, tuple(rows))


def _paper_table() -> StudyTable:
    head = ("cumulative precision, hour 5 to the end", "theirs", "Barbosa & Freire, redone by them")
    return StudyTable("What the paper reports", head, _PAPER)
