"""Counts of a running crawl, the report at its end, and the status of a collection."""

from __future__ import annotations

import json
import time
from collections import Counter, deque
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime
from decimal import ROUND_HALF_UP, Decimal
from typing import Any, NamedTuple, Self

from honeyguide.config.settings import Settings
from honeyguide.crawl import stopping
from honeyguide.errors import ConfigError
from honeyguide.languages.gate import wanted_languages
from honeyguide.learning import topics
from honeyguide.learning.coverage import CoverageEstimate
from honeyguide.learning.relevance_cut import RelevanceCut, read_cut
from honeyguide.learning.unlearned import UnlearnedLabels, find_unlearned
from honeyguide.run_status import RunStatus, visit_rate
from honeyguide.store.collection_files import lock_holder
from honeyguide.store.counters import CollectionCounts, HostRow
from honeyguide.store.row_checks import parse_decimal
from honeyguide.store.store import Store
from honeyguide.types import Url, Visit

_HOPELESS_WAIT_S = 5.0


class ShardTraffic(NamedTuple):
    """Link batches that the shards of a crawl sent to each other."""

    letters: int
    bytes: int
    links: int


@dataclass(frozen=True, slots=True)
class Report:
    """How a run ended."""

    progress: RunStatus
    reason: str
    seconds: float
    next_at: float | None = None
    """When hosts that rest will be ready again, if links still wait."""
    failed: str = ""
    """Not a single page was fetched: the last failures, in words."""
    warnings: tuple[str, ...] = ()
    estimate: CoverageEstimate = field(default_factory=CoverageEstimate)
    """How much of the topic is found."""
    exchanged: ShardTraffic | None = None
    """None: the crawl had no shards."""
    kept: RelevanceCut | None = None
    """Which pages count as relevant, and how right that is; None: the run failed."""

    def __repr__(self) -> str:
        """In a sentence, as the command line says it."""
        now = self.progress
        counts = (
            (now.visits, "visit"),
            (now.relevant, "relevant page"),
            (now.failures, "failure"),
            (now.waiting, "link"),
        )
        visits, relevant, failures, waiting = (f"{n} {noun}{'s' * (n != 1)}" for n, noun in counts)
        copies = f", {now.copies} cop{'y' if now.copies == 1 else 'ies'}" if now.copies else ""
        found = f"{relevant} (harvest rate {now.harvest:.0%})"
        return f"{visits}, {found}{copies}, {failures}, {waiting} waiting. Stopped: {self.reason}."


@dataclass
class CrawlTally:
    """The counts of a collection, kept up to date visit by visit."""

    threshold: float
    visits: int = 0
    pages: int = 0
    relevant: int = 0
    failures: int = 0
    copies: int = 0
    language_counts: Counter[str] = field(default_factory=Counter)
    """Pages by detected language."""
    _last: deque[str] = field(default_factory=lambda: deque(maxlen=3))
    _failing: set[Url] = field(default_factory=set)
    """Links that failed and will be tried again, as long as no page was seen."""

    @classmethod
    def from_counts(cls, counts: CollectionCounts, threshold: float) -> Self:
        tally = cls(threshold)
        tally.restart_from(counts)
        return tally

    def restart_from(self, counts: CollectionCounts) -> None:
        """Count on from what a collection holds by now."""
        self.visits, self.pages, self.relevant = counts.visits, counts.pages, counts.relevant
        self.failures, self.copies = sum(counts.failures.values()), counts.copies
        self.language_counts = Counter(counts.tongues)

    def count_visit(self, visit: Visit) -> bool:
        """Count it; whether it was relevant."""
        relevant = visit.is_relevant(self.threshold)
        self.visits += visit.was_requested
        self.pages += visit.page is not None
        self.relevant += relevant
        self.copies += visit.duplicate is not None
        if visit.page is not None and visit.page.detected_language:
            self.language_counts[visit.page.detected_language] += 1
        if self.pages:
            self._failing.clear()
        elif visit.failure is not None and not visit.failure.final:
            self._failing.add(visit.link.url)
        else:
            self._failing.discard(visit.link.url)
        if visit.failure is not None:
            self.failures += 1
            self._last.append(f"{visit.link.url}: {visit.failure.kind} {visit.failure.detail}")
        return relevant

    def host_patience(self, waiting: int, settings: Settings) -> float:
        """How long to wait for a host: a crawl whose seeds are all out of reach says so soon."""
        hopeless = not self.pages and self._failing and waiting <= len(self._failing)
        return _HOPELESS_WAIT_S if hopeless else settings.crawl.patience_s

    def failure_summary(self) -> str:
        """The last failures, if nothing but failures was seen; else ''."""
        return "; ".join(self._last) if self.failures and not self.pages else ""

    def run_status(self, settings: Settings, **now: Any) -> RunStatus:
        """These counts, with what goes on ``now``."""
        return RunStatus(
            self.visits,
            self.pages,
            self.relevant,
            self.failures,
            copies=self.copies,
            last_failure=self._last[-1] if self._last else "",
            foreign=other_language_counts(self.language_counts, wanted_languages(settings)),
            **now,
        )


def other_language_counts(pages: Mapping[str, int], wanted: Collection[str]) -> dict[str, int]:
    """Pages in other languages than these, the most first; none where every language will do."""
    if not wanted:
        return {}
    found = sorted(pages.items(), key=lambda item: -item[1])
    return {code: pages for code, pages in found if code not in wanted}


def format_money(amount: float) -> str:
    """What something costs. Half a cent is rounded up, also where its binary form lies below."""
    return f"{Decimal(repr(round(amount, 9))).quantize(Decimal('0.01'), ROUND_HALF_UP)}"


def format_span(seconds: float) -> str:
    """A while, in words."""
    return f"{seconds:.0f} seconds" if seconds < 120 else f"{seconds / 60:.0f} minutes"


REFUSING_SETTINGS: dict[str, str] = {
    "forbidden": "fetch.private_addresses",
    "too_large": "fetch.html_mb",
    "too_many_redirects": "fetch.redirects",
    "language": "topic.language",
}
"""Kind of failure, or a page's language → the setting that may admit the page. What the scope
refuses names its own."""
_MAX_NAMED = 3
"""Of each kind, those that are named one by one."""


def missing_page_notes(store: Store, settings: Settings, since: float = 0.0) -> Iterator[str]:
    """What was tried since and brought no page, and why, in sentences."""
    labels = topics.best_example_labels(settings)
    yield from _missing_notes(
        store, "seed", [url for url in topics.seed_urls(settings) if url not in labels], since
    )
    for kind, good in (("good", True), ("bad", False)):
        urls = [url for url, value in labels.items() if (value >= 0.5) is good]
        advice = (
            f", so nothing is learned from it: name another under topic.{kind}, or save the page "
            f"and give it as a file (topic.{kind}_files)"
        )
        yield from _missing_notes(store, f"{kind} example", urls, since, advice)


def _missing_notes(
    store: Store, what: str, urls: list[Url], since: float, advice: str = ""
) -> Iterator[str]:
    found = [
        rows[-1]
        for url in urls
        if (rows := store.visits.attempts_at(url)) and rows[-1].failure and rows[-1].at >= since
    ]
    for row in found[:_MAX_NAMED]:
        why = describe_failure(row.failure or "", row.detail)
        yield f"the {what} {row.url} returned no page ({why}){advice}"
    if len(found) > _MAX_NAMED:
        yield f"so did {len(found) - _MAX_NAMED} more of the {what}s"


def describe_failure(kind: str, detail: str) -> str:
    """A failure in words, with the setting that may have caused it."""
    setting = f" ({REFUSING_SETTINGS[kind]})" if kind in REFUSING_SETTINGS else ""
    return (f"{kind}: {detail}" if detail else kind) + setting


@dataclass(frozen=True, slots=True)
class SearchStatus:
    """What a search engine was asked for a collection, and what it answered. These requests are no
    visits."""

    engine: str
    """The one that is set; '': none any more."""
    queries: int
    """Different ones."""
    asked: int
    """Requests, of which …"""
    failed: int
    """… were not answered."""
    results: int
    fresh: int
    """Results that were not known otherwise."""
    month: int
    """Requests of this calendar month …"""
    cost: float
    """… and what they cost."""
    trouble: str = ""
    """Why the newest request was not answered; '': it was."""


@dataclass(frozen=True, slots=True)
class CollectionStatus(CollectionCounts):
    """The counts of a collection, and what goes on around them."""

    budget: int = 0
    """``crawl.pages``; 0: no limit."""
    waiting: int | None = None
    """Links in the frontier at the last commit; None: not known."""
    redirects: int = 0
    statuses: dict[int, int] | None = None
    """Refusals by HTTP status."""
    rate: float | None = None
    """Visits per second in the last run."""
    strategy: str = ""
    generation: int | None = None
    shards: int = 1
    """Processes that it is crawled in."""
    crawler_pid: int | None = None
    """The process that crawls it now."""
    estimate: CoverageEstimate | None = None
    """How much of the topic is found; None: not known."""
    watched: int = 0
    """Pages that a watch comes back to …"""
    changes: int = 0
    """… and changes that it found so far."""
    foreign: dict[str, int] = field(default_factory=dict)
    """Pages in languages that are not wanted, by language."""
    searched: SearchStatus | None = None
    """None: no engine was ever asked."""
    unlearned: UnlearnedLabels = field(default_factory=UnlearnedLabels)
    """Labels and examples that are not in force yet …"""
    unlearned_notes: tuple[str, ...] = ()
    """… in sentences, with the command that learns."""
    lost: tuple[str, ...] = ()
    """The topic's own seeds and examples that brought no page, in sentences."""
    per_host: tuple[HostRow, ...] = ()
    """The hosts visited most."""
    kept: RelevanceCut | None = None
    """Which pages count as relevant, and how right that is."""


def collection_status(store: Store, settings: Settings, hosts: int) -> CollectionStatus:
    counts = store.counter.read_counts()
    waiting = store.get_meta("waiting") or ""
    redirects, statuses = store.visits.count_responses()
    links = parse_decimal(waiting)
    pid = lock_holder(store.folder / "lock")
    unlearned = find_unlearned(store, settings)
    return CollectionStatus(
        **{item.name: getattr(counts, item.name) for item in fields(CollectionCounts)},
        budget=settings.crawl.pages,
        waiting=links,
        redirects=redirects,
        statuses=statuses,
        rate=_visit_rate(counts, store.get_meta("run")),
        strategy=settings.crawl.strategy,
        generation=store.generations.live_number(),
        shards=store.shard_count,
        crawler_pid=pid,
        estimate=stopping.coverage_estimate(store, links or 0, crawled=pid is not None),
        watched=store.watched.count_by_state().get("watched", 0),
        changes=len(store.changes),
        foreign=other_language_counts(counts.tongues, wanted_languages(settings)),
        searched=_search_status(store, settings, time.time()),
        unlearned=unlearned,
        unlearned_notes=tuple(unlearned.describe_labels(store)),
        lost=_missing_pages(store, settings),
        per_host=tuple(store.counter.top_hosts(limit=hosts)),
        kept=read_cut(store),
    )


def _missing_pages(store: Store, settings: Settings) -> tuple[str, ...]:
    try:
        return tuple(missing_page_notes(store, settings))
    except ConfigError:
        return ()  # the topic has no seeds (yet): a crawl reports it


def mark_run_start(store: Store, visits: int, now: float) -> None:
    """Store when a run begins, and after how many visits; for its rate."""
    store.set_meta("run", json.dumps([now, visits]))


def _search_status(store: Store, settings: Settings, now: float) -> SearchStatus | None:
    last = store.searches.newest_search()
    if last is None:
        return None
    month = datetime.fromtimestamp(now, UTC).replace(day=1, hour=0, minute=0, second=0)
    sums, lately = store.searches.search_totals(), store.searches.search_totals(month.timestamp())
    return SearchStatus(
        settings.search.engine,
        sums.queries,
        sums.asked,
        sums.failed,
        sums.results,
        sums.fresh,
        lately.asked,
        lately.price,
        f"{last.outcome}: {last.detail}".rstrip(": ") if last.outcome else "",
    )


def _visit_rate(counts: CollectionCounts, run: str | None) -> float | None:
    if run is None or counts.last is None:
        return None
    try:
        began, visits = map(float, json.loads(run))
    except (ValueError, TypeError, OverflowError, RecursionError):
        return None  # not written by us
    return visit_rate(max(0.0, counts.visits - visits), counts.last - began) or None
