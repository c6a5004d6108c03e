"""Correcting stored verdicts: after the first training, after new labels, or by a new generation.

A topic that is stated by good pages only is not known before the first training. Pages that were
visited before, the good pages among them, have :data:`~honeyguide.types.UNKNOWN_SCORE` as their
verdict. The first generation that can judge them does so, and all counts are corrected.

The first verdicts of a crawl are its worst. So all stored pages are judged again while it runs, a
few with each commit: after new labels, and when the crawl has grown. The end of a run judges those
again that an older generation judged. :func:`rescore_pages` does so without a crawl.

The cut (learning/relevance_cut.py) is chosen anew at these times as well, and all counts follow.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, cast

from honeyguide import registry
from honeyguide.config.loading import is_keep
from honeyguide.config.settings import Settings
from honeyguide.crawl import stopping
from honeyguide.crawl.from_settings import build_strategy
from honeyguide.crawl.live_generation import (
    OUTDATED_KEY,
    fall_back_to_generation,
    load_readable_generation,
)
from honeyguide.errors import ConfigError, HoneyguideError, ModelError, StoreError
from honeyguide.languages.gate import (
    GatedStrategy,
    LanguageGate,
    build_language_gate,
    judge_page,
    worth_to_links,
)
from honeyguide.learning import topics
from honeyguide.learning.coverage import Coverage
from honeyguide.learning.relevance_cut import (
    MIN_VERDICTS,
    RelevanceCut,
    decide_cut,
    is_settled,
    save_cut,
)
from honeyguide.learning.topics import reread_page
from honeyguide.links.host_trust import HostTrust
from honeyguide.links.ranking import LinkKnowledge
from honeyguide.multi_topic import topic_names
from honeyguide.net.politeness import DomainQuota
from honeyguide.protocols import Frontier, Strategy
from honeyguide.store.store import Store
from honeyguide.store.visits import VisitRow
from honeyguide.types import UNKNOWN_SCORE, Page, Url, Verdict, Visit
from honeyguide.url import domain_of

if TYPE_CHECKING:
    from honeyguide.crawl.status import CrawlTally

_log = logging.getLogger(__name__)

_MAX_BUGS = 10
_MAX_HOSTS = 1_000_000
_MAX_UNKNOWN = 1_000
"""Pages that are judged again; the first training comes after some fifty."""

_MAX_REREAD = 60
"""Of them, those that are read again for their links."""

_PASS_GROWTH = 2.0
"""Without new labels all pages are judged again when the crawl has grown so much."""
_BATCH_ROWS = 200
_CUT_GROWTH = 1.15
"""The cut is chosen anew when the crawl has grown so much."""
_TRUST_VISITS = 20_000
"""Visits from which trust in sites is restored."""
_WISH_KEY = "keep"
"""Where others leave ``topic.keep`` for a crawl that runs."""

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
    _outdated: bool = False
    """Whether a generation decides now that has not judged all pages."""
    _cursor: int = 0
    """The last visit that was judged again …"""
    _last: int = 0
    """… of those up to this one; 0: no pass over the pages is under way."""
    _next_pass: float = 0.0
    """Visits from which on the next pass may start without new labels."""
    _next_cut: float = MIN_VERDICTS
    """Visits from which on the cut is chosen anew."""

    def __post_init__(self) -> None:
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
        bugs: list[Url] = []
        with self.store.transaction():
            for url in self._unknown:
                for row in self.store.visits.attempts_at(url):
                    page = self.store.visits.rebuild_page(row)
                    if is_unknown(row.verdict, row.reasons) and (page.text or page.headings):
                        judged = _judge_stored(strategy, page, self.language_gate, bugs)
                        page, verdict = judged or (page, None)
                        if verdict and not is_unknown(verdict.score, verdict.reasons):
                            self.store.visits.update_verdict(
                                row.id, verdict, page.detected_language
                            )
                            done.append((row, verdict))
            threshold = self.store.threshold
            found = {
                row.id: row._replace(verdict=verdict.score).is_enough(threshold)
                for row, verdict in done
            }
            rows = [row for row, _ in done]
            self._mark_relevant(
                found | self._labelled_relevance(rows, labels_of(row.url for row in rows))
            )
        self._next_cut = 0.0
        for row, _ in done:
            self._unknown.pop(row.url, None)
        if self.link_knowledge is not None and frontier is not None:
            _correct_links(self.link_knowledge, self.store, frontier, done, self.language_gate)

    def expect_changes(self, *, labels: bool) -> None:
        """Another generation decides from now on; ``labels``: it learned from new ones."""
        self._outdated = True
        if labels:
            self._next_pass = 0.0

    def judge_some(self, strategy: Strategy, most: int, labels_of: LabelLookup) -> None:
        """Judge a few stored pages again, if their turn has come."""
        newest = self.store.counter.read_counts().visits
        if not self._last:
            if not self._outdated or newest < self._next_pass:
                return
            self._outdated, self._cursor, self._last = False, 0, newest
        rows = list(self.store.visits.iter_visits(page=True, since=self._cursor, limit=most))
        with self.store.transaction():
            relevant = judge_rows(self.store, strategy, rows, self.language_gate)
            labels = labels_of(row.url for row in rows)
            self._mark_relevant(relevant | self._labelled_relevance(rows, labels))
        self._cursor = rows[-1].id if rows else self._last
        if self._cursor >= self._last:
            self._next_pass, self._last = _PASS_GROWTH * self._last, 0
            self._next_cut = 0.0

    def settle_cut(self, *, now: bool = False) -> None:
        """Choose the cut anew if the crawl has grown or most verdicts are new, or ``now``."""
        visits, before = self.tally.visits, self.store.threshold
        if not now and visits < max(self._next_cut, MIN_VERDICTS):
            return
        self._next_cut = _CUT_GROWTH * visits
        hosts = {row.host: row.relevant for row in self.store.counter.top_hosts(limit=_MAX_HOSTS)}
        self.tally.threshold = settle_cut(self.store, self.settings).threshold
        if self.tally.threshold == before:
            return
        for row in self.store.counter.top_hosts(limit=_MAX_HOSTS):
            more = row.relevant - hosts.get(row.host, 0)
            self.quota.count_visits(domain_of(row.host), 0, more)
        self._recount()

    def take_wish(self) -> bool:
        """Take over a ``topic.keep`` that was changed meanwhile; whether it was."""
        wish = self.store.get_meta(_WISH_KEY) or ""
        if not is_keep(wish) or wish == self.settings.topic.keep:
            return False
        topic = replace(self.settings.topic, keep=wish)
        self.settings = replace(self.settings, topic=topic)
        return True

    def judge_rest(
        self, strategy: Strategy, labels_of: LabelLookup, is_cancelled: Callable[[], bool]
    ) -> None:
        """At the end of a run: judge all pages again that an older generation judged."""
        while (self._last or self._outdated) and not is_cancelled():
            self._next_pass = 0.0
            self.judge_some(strategy, _BATCH_ROWS, labels_of)

    def apply_labels(self, labels: Mapping[Url, float]) -> None:
        """These pages are what a person says they are, whatever their verdicts."""
        rows = [row for url in labels for row in self.store.visits.attempts_at(url)]
        if rows:
            with self.store.transaction():
                self._mark_relevant(self._labelled_relevance(rows, labels))

    def settle_probation(self, hosts: Collection[str], labels_of: LabelLookup) -> None:
        """Pages of these hosts do not count as relevant, those of hosts that were freed do."""
        with self.store.transaction():
            rows = self.store.visits.set_probation(hosts)
            found = {row.id: row.is_enough(self.tally.threshold) for row in rows}
            labels = labels_of(row.url for row in rows)
            self._mark_relevant(found | self._labelled_relevance(rows, labels))

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
            self._recount()

    def _recount(self) -> None:
        self.tally.relevant = self.store.counter.read_counts().relevant
        # In place, because the rule that ends a crawl looks at it, too.
        vars(self.coverage).update(vars(stopping.restore_coverage(self.store)))
        stopping.save_coverage(self.store, self.coverage)


def restore_host_trust(store: Store, settings: Settings) -> HostTrust | None:
    """Trust in sites, from the links that earlier runs followed; None: no site need wait."""
    share = settings.scope.unproven_share
    if share >= 1:
        return None
    good = topics.best_example_labels(settings).items()
    named = *topics.seed_urls(settings), *(url for url, value in good if value >= 0.5)
    newest = store.counter.read_counts().visits
    rows = store.visits.iter_visits(since=max(0, newest - _TRUST_VISITS))
    saved = store.get_meta("host_trust") or ""
    return HostTrust(share, named, (row.link for row in rows), saved)


def settle_cut(store: Store, settings: Settings) -> RelevanceCut:
    """Choose the cut by the settings and the pages that are visited by now; counts follow."""
    cut, calibration = decide_cut(store, settings)
    with store.transaction():
        store.set_meta(_WISH_KEY, "")
        if save_cut(store, cut, calibration):
            overrule_verdicts(store, settings)
            stopping.save_coverage(store, stopping.restore_coverage(store))
    return cut


def settle_changed_cut(folder: Path, settings: Settings) -> None:
    """Choose the cut anew if the settings ask for another; a crawl that runs does so soon."""
    if not (folder / "collection.db").exists():
        return
    try:
        with Store.open(folder, "read") as store:
            if is_settled(store, settings):
                return
        with Store.open(folder, "crawl", settings.store) as store:
            settle_cut(store, settings)
    except StoreError:
        with suppress(StoreError), Store.open(folder, "write") as store:
            store.set_meta(_WISH_KEY, settings.topic.keep)


def pinned_cut(settings: Settings, cut: RelevanceCut) -> Settings:
    """The same settings with a cut that does not move, for shards: each sees a part only."""
    return replace(settings, topic=replace(settings.topic, keep="", threshold=cut.threshold))


def overrule_verdicts(store: Store, settings: Settings, urls: Iterable[Url] | None = None) -> int:
    """Let labels of these pages, or of all, overrule the verdicts; for a collection that nobody
    crawls. Returns how many pages are relevant now."""
    labels = topics.load_effective_labels(store, settings)
    labelled = set(labels.labelled_urls())
    wanted = labelled.union(store.labels.taken_back()) if urls is None else urls
    rows = [row for url in wanted for row in store.visits.attempts_at(url) if row.has_page]
    unproven = urls is not None and store.visits.count_unproven(0.0)
    if unproven and (trust := restore_host_trust(store, settings)):
        trust.add_labels(store.labels.effective_after())
        with store.database.join_transaction():
            rows += store.visits.set_probation(trust.hosts_on_probation())
    # Where a label was taken back and there is no other, the verdict counts again.
    threshold = store.threshold
    found = {
        row.id: labels.is_relevant(row)
        if row.url in labelled or settings.topics
        else row.is_enough(threshold)
        for row in rows
    }
    with store.database.join_transaction():
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


def judge_rows(
    store: Store,
    strategy: Strategy,
    rows: Iterable[VisitRow],
    languages: LanguageGate | None,
) -> dict[int, bool]:
    """Judge stored pages again and store the verdicts; which of these visits are relevant."""
    found, threshold = {}, store.threshold
    bugs: list[Url] = []
    for row in rows:
        page = store.visits.rebuild_page(row)
        if (
            row.verdict is not None
            and (page.text or page.headings)
            and (judged := _judge_stored(strategy, page, languages, bugs))
        ):
            page, verdict = judged
            store.visits.update_verdict(row.id, verdict, page.detected_language)
            found[row.id] = row._replace(verdict=verdict.score).is_enough(threshold)
    return found


def _judge_stored(
    strategy: Strategy, page: Page, languages: LanguageGate | None, bugs: list[Url]
) -> tuple[Page, Verdict] | None:
    """None: our own code fails on this page, and its verdict stays. That must not end a crawl, now
    and on every resume, unless it fails on many of them (``bugs``)."""
    try:
        return judge_page(strategy, page, languages)
    except HoneyguideError:
        raise
    except Exception:  # whatever fails in a strategy: it is logged, and raised if it goes on
        bugs.append(page.url)
        if len(bugs) >= _MAX_BUGS:
            raise
        _log.exception("%s could not be judged again", page.url)
        return None


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
    languages = build_language_gate(settings)
    with Store.open(folder, "crawl", settings.store) as store:
        strategy, live, warning = _deciding_generation(store, settings)
        counts = store.counter.read_counts()
        before, of, pages, last = counts.relevant, counts.pages, 0, 0
        try:
            while batch := list(store.visits.iter_visits(page=True, since=last, limit=_BATCH_ROWS)):
                last = batch[-1].id
                with store.transaction():
                    pages += len(judge_rows(store, strategy, batch, languages))
                on_progress(min(pages, of), of)
            store.set_meta(OUTDATED_KEY, "")
        finally:
            with store.transaction():
                store.counter.recount_relevant(store.threshold)
                overrule_verdicts(store, settings)
                stopping.save_coverage(store, stopping.restore_coverage(store))
            settle_cut(store, settings)
            after = store.counter.read_counts().relevant
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
