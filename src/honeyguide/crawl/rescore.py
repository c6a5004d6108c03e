"""Correcting stored verdicts: after the first training, after new labels, or by a new generation.

A topic that is stated by good pages only is not known before the first training. Pages that were
visited before, the good pages among them, have :data:`~honeyguide.types.UNKNOWN_SCORE` as their
verdict. The first generation that can judge them does so, and all counts are corrected.
:func:`rescore_pages` judges all pages of a collection with its live generation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, cast

from honeyguide import registry
from honeyguide.config.settings import Settings
from honeyguide.crawl import stopping
from honeyguide.crawl.from_settings import build_strategy
from honeyguide.crawl.live_generation import fall_back_to_generation, load_readable_generation
from honeyguide.errors import ConfigError, ModelError, StoreError
from honeyguide.languages.gate import (
    GatedStrategy,
    LanguageGate,
    build_language_gate,
    judge_page,
    worth_to_links,
)
from honeyguide.learning import topics
from honeyguide.learning.coverage import Coverage
from honeyguide.learning.topics import reread_page
from honeyguide.links.ranking import LinkKnowledge
from honeyguide.multi_topic import topic_names
from honeyguide.net.politeness import DomainQuota
from honeyguide.protocols import Frontier, Strategy
from honeyguide.store.store import Store
from honeyguide.store.visits import VisitRow
from honeyguide.types import UNKNOWN_SCORE, Url, Verdict, Visit
from honeyguide.url import domain_of

if TYPE_CHECKING:
    from honeyguide.crawl.status import CrawlTally

_MAX_UNKNOWN = 1_000
"""Pages that are judged again; the first training comes after some fifty."""

_MAX_REREAD = 60
"""Of them, those that are read again for their links."""

LabelLookup = Callable[[Iterable[Url]], Mapping[Url, float]]
"""Labels of pages."""


@dataclass
class VerdictCorrector:
    """Sees every visit and corrects verdicts and counts; works between two commits of the loop."""

    store: Store
    settings: Settings
    tally: CrawlTally
    coverage: Coverage
    quota: DomainQuota
    link_knowledge: LinkKnowledge | None
    language_gate: LanguageGate | None = None
    _unknown: dict[Url, None] = field(default_factory=dict)
    """Pages that could not be judged."""

    def __post_init__(self) -> None:
        self._threshold = self.settings.topic.threshold
        early = self.store.visits.iter_visits(page=True, limit=_MAX_UNKNOWN)
        self._unknown.update(
            (row.url, None) for row in early if is_unknown(row.verdict, row.reasons)
        )

    @property
    def unknown_count(self) -> int:
        """Pages that nobody could judge yet."""
        return len(self._unknown)

    @property
    def warnings(self) -> tuple[str, ...]:
        if not self._unknown:
            return ()
        number = len(self._unknown)
        pages = "1 visited page is" if number == 1 else f"{number} visited pages are"
        return (
            f"{pages} not judged yet, since too little is known of the topic: continue the crawl, "
            f"add keywords or {self._missing_examples()} pages to topic.toml, or label some",
        )

    def _missing_examples(self) -> str:
        """Which kind of example pages is missing."""
        named = {value >= 0.5 for value in topics.best_example_labels(self.settings).values()}
        named |= {label.value >= 0.5 for _, label in self.store.labels.effective_after()}
        for one in topics.settings_per_topic(self.settings):
            named |= {True} if one.topic.good_files else set()
            named |= {False} if one.topic.bad_files else set()
        if len(named) == 1:
            return "bad" if True in named else "good"
        return "good and bad"

    def record_visit(self, visit: Visit) -> None:
        verdict = visit.verdict
        page = visit.page
        if page is None or not (page.text or page.headings) or len(self._unknown) >= _MAX_UNKNOWN:
            return
        if verdict is not None and is_unknown(verdict.score, verdict.reasons):
            self._unknown[visit.link.url] = None

    def judge_again(
        self, strategy: Strategy, frontier: Frontier | None, labels_of: LabelLookup
    ) -> None:
        """Judge what could not be judged; what it still cannot judge waits for the next.

        Without a frontier, the link knowledge is not corrected."""
        if not self._unknown:
            return
        done: list[tuple[VisitRow, Verdict]] = []
        with self.store.transaction():
            for url in self._unknown:
                for row in self.store.visits.attempts_at(url):
                    page = self.store.visits.rebuild_page(row)
                    if is_unknown(row.verdict, row.reasons) and (page.text or page.headings):
                        page, verdict = judge_page(strategy, page, self.language_gate)
                        if not is_unknown(verdict.score, verdict.reasons):
                            self.store.visits.update_verdict(
                                row.id, verdict, page.detected_language
                            )
                            done.append((row, verdict))
            found = {row.id: verdict.score >= self._threshold for row, verdict in done}
            rows = [row for row, _ in done]
            self._mark_relevant(
                found | self._labelled_relevance(rows, labels_of(row.url for row in rows))
            )
        for row, _ in done:
            self._unknown.pop(row.url, None)
        if self.link_knowledge is not None and frontier is not None:
            _correct_links(self.link_knowledge, self.store, frontier, done, self.language_gate)

    def apply_labels(self, labels: Mapping[Url, float]) -> None:
        """These pages are what a person says they are, whatever their verdicts."""
        rows = [row for url in labels for row in self.store.visits.attempts_at(url)]
        if rows:
            with self.store.transaction():
                self._mark_relevant(self._labelled_relevance(rows, labels))

    def _labelled_relevance(
        self, rows: Iterable[VisitRow], labels: Mapping[Url, float]
    ) -> dict[int, bool]:
        """What is bad for one of several topics may be good for another."""
        known = [row for row in rows if row.has_page and row.url in labels]
        if not known or not self.settings.topics:
            return {row.id: labels[row.url] >= 0.5 for row in known}
        every = topics.load_effective_labels(self.store, self.settings)
        return {row.id: every.is_relevant(row) for row in known}

    def _mark_relevant(self, relevant: Mapping[int, bool]) -> None:
        more = self.store.counter.mark_relevant(relevant)
        for name, pages in more.items():
            self.quota.count_visits(domain_of(name), 0, pages)
        if more:
            self.tally.relevant = self.store.counter.read_counts().relevant
            # In place, because the rule that ends a crawl looks at it, too.
            vars(self.coverage).update(vars(stopping.restore_coverage(self.store)))
            stopping.save_coverage(self.store, self.coverage)


def overrule_verdicts(store: Store, settings: Settings, urls: Iterable[Url] | None = None) -> int:
    """Let labels of these pages, or of all, overrule the verdicts; for a collection that nobody
    crawls. Returns how many pages are relevant now."""
    labels = topics.load_effective_labels(store, settings)
    labelled = set(labels.labelled_urls())
    wanted = labelled.union(store.labels.taken_back()) if urls is None else urls
    rows = [row for url in wanted for row in store.visits.attempts_at(url) if row.has_page]
    # Where a label was taken back and there is no other, the verdict counts again.
    threshold = settings.topic.threshold
    found = {
        row.id: labels.is_relevant(row)
        if row.url in labelled or settings.topics
        else (row.verdict or 0.0) >= threshold
        for row in rows
    }
    with store.transaction():
        if store.counter.mark_relevant(found):
            stopping.save_coverage(store, stopping.restore_coverage(store))
    return store.counter.read_counts().relevant


def apply_new_labels(folder: Path, settings: Settings, urls: Iterable[Url]) -> None:
    """Apply labels to the counts at once; a running crawl does it by itself. The labels are stored
    in any case."""
    with suppress(StoreError), Store.open(folder, "crawl", settings.store) as store:
        overrule_verdicts(store, settings, urls)


def is_unknown(score: float | None, reasons: object) -> bool:
    return score == UNKNOWN_SCORE and not reasons


def _correct_links(
    link_knowledge: LinkKnowledge,
    store: Store,
    frontier: Frontier,
    done: Sequence[tuple[VisitRow, Verdict]],
    languages: LanguageGate | None,
) -> None:
    """Record the corrected verdicts; the earlier ones decay. Only the newest pages are read again
    for their links, because the crawl waits meanwhile."""
    for row, verdict in done[-_MAX_REREAD:]:
        page = reread_page(store, row)
        links = page.links if page is not None else ()
        waits = frontier.still_wanted([link.url for link in links])
        waiting = [link for link, wanted in zip(links, waits, strict=True) if wanted]
        link_knowledge.record_page(row.link, worth_to_links(verdict, languages), waiting)
    for row, verdict in done:
        link_knowledge.record_visit(row.to_followed_visit(verdict))


_BATCH_ROWS = 200

RescoreProgress = Callable[[int, int], None]
"""Pages done, of how many."""


class RescoreResult(NamedTuple):
    generation: int
    pages: int
    before: int
    """Relevant pages before …"""
    after: int
    """… and now."""
    warning: str = ""
    """The live generation is damaged, and which one decides."""


def current_judge(folder: Path, settings: Settings) -> tuple[Strategy, int]:
    """Who judges in this collection now: its live generation, and that generation's number; behind
    the language gate, where there is one."""
    languages = build_language_gate(settings)
    strategy, number = None, 0
    if (folder / "collection.db").exists():
        with Store.open(folder, "read") as store:
            strategy, number, _ = load_readable_generation(store, topics.topic_names(settings))
            if languages is not None:
                languages.restore(store)
    strategy = strategy or build_strategy(settings)
    if languages is not None:
        return cast("Strategy", GatedStrategy(strategy, languages)), number
    return strategy, number


def rescore_pages(
    folder: Path, settings: Settings, on_progress: RescoreProgress = lambda _done, _of: None
) -> RescoreResult:
    """Replace the stored verdicts by those of the live generation; labels stay as they are.

    Nobody may crawl meanwhile. Interrupted, it leaves whole batches, old or new.
    """
    threshold, languages = settings.topic.threshold, build_language_gate(settings)
    with Store.open(folder, "crawl", settings.store) as store:
        strategy, live, warning = _deciding_generation(store, settings)
        counts = store.counter.read_counts()
        before, of, pages, last = counts.relevant, counts.pages, 0, 0
        try:
            while batch := list(store.visits.iter_visits(page=True, since=last, limit=_BATCH_ROWS)):
                last = batch[-1].id
                with store.transaction():
                    for row in batch:
                        page = store.visits.rebuild_page(row)
                        if row.verdict is not None and (page.text or page.headings):
                            page, verdict = judge_page(strategy, page, languages)
                            store.visits.update_verdict(row.id, verdict, page.detected_language)
                            pages += 1
                on_progress(min(pages, of), of)
        finally:
            with store.transaction():
                store.counter.recount_relevant(threshold)
                stopping.save_coverage(store, stopping.restore_coverage(store))
            after = overrule_verdicts(store, settings)
        return RescoreResult(live, pages, before, after, warning)


def _deciding_generation(store: Store, settings: Settings) -> tuple[Strategy, int, str]:
    """The live generation, or the one that decides instead of it if it is damaged."""
    live = store.generations.live_number()
    if live is None:
        raise ConfigError(f"{store.folder} has no generation yet; crawl it first")
    names = topics.topic_names(settings)
    try:
        found: Strategy = store.generations.load(live, registry.find_strategy)
    except ModelError:
        earlier, number, warning = load_readable_generation(store, names)
        if earlier is None:
            raise
        fall_back_to_generation(store, number)
        return earlier, number, warning
    if topic_names(found) != names:
        raise ConfigError(
            f"generation {live} was trained for other topics than those in topic.toml; crawl a "
            "little first, so that there is one for these"
        )
    return found, live, ""
