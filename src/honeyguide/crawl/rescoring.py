"""Verdicts that were given too early, and pages of which a person said what they are.

A topic that is stated by good pages only is not known until the first lesson: what was visited
before, the good pages among it, got :data:`~honeyguide.types.UNKNOWN` for a verdict. As soon as a
generation knows better, it judges these few pages, and everybody who counted them is told.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from honeyguide.config import Settings
from honeyguide.crawl import stopping as exhausted
from honeyguide.crawl import topics
from honeyguide.crawl.languages import Languages, judged, worth
from honeyguide.crawl.limits import Quota
from honeyguide.crawl.progress import Tally
from honeyguide.crawl.ranking import Telling
from honeyguide.crawl.reread import reread
from honeyguide.errors import StoreError
from honeyguide.learning.coverage import Coverage
from honeyguide.protocols import Frontier, Strategy
from honeyguide.store.store import Store
from honeyguide.store.visits import VisitRow
from honeyguide.types import UNKNOWN, Url, Verdict, Visit
from honeyguide.url import domain

_MOST = 1_000
"""Pages that are judged anew: an untaught crawl waits for some fifty, not for a whole site."""

_READ = 60
"""Of them, those that are read again for their links."""

Said = Callable[[Iterable[Url]], Mapping[Url, float]]
"""What people say of pages."""


@dataclass
class Rejudge:
    """Sees every visit; corrects what was counted. Works between two commits of the ring."""

    store: Store
    settings: Settings
    tally: Tally
    coverage: Coverage
    quota: Quota
    ledger: Telling | None
    languages: Languages | None = None
    _unknown: dict[Url, None] = field(default_factory=dict)
    """Pages of which nothing could be said."""

    def __post_init__(self) -> None:
        self._threshold = self.settings.topic.threshold
        early = self.store.visits(page=True, limit=_MOST)
        self._unknown.update((row.url, None) for row in early if unknown(row.verdict, row.reasons))

    @property
    def waiting(self) -> int:
        """Pages that nobody could judge yet."""
        return len(self._unknown)

    @property
    def warnings(self) -> tuple[str, ...]:
        if not self._unknown:
            return ()
        number = len(self._unknown)
        pages = "1 visited page is" if number == 1 else f"{number} visited pages are"
        return (
            f"{pages} not judged yet, since too little is known of the topic: crawl on, add "
            f"keywords or {self._lacking()} pages to topic.toml, or label some",
        )

    def _lacking(self) -> str:
        """Which pages nobody named yet."""
        said = {value >= 0.5 for value in topics.best(self.settings).values()}
        said |= {label.value >= 0.5 for _, label in self.store.labels()}
        for one in topics.each(self.settings):
            said |= {True} if one.topic.good_files else set()
            said |= {False} if one.topic.bad_files else set()
        if len(said) == 1:
            return "bad" if True in said else "good"
        return "good and bad"

    def visited(self, visit: Visit) -> None:
        verdict = visit.verdict
        page = visit.page
        if page is None or not (page.text or page.headings) or len(self._unknown) >= _MOST:
            return
        if verdict is not None and unknown(verdict.score, verdict.reasons):
            self._unknown[visit.link.url] = None

    def anew(self, strategy: Strategy, frontier: Frontier | None, said: Said) -> None:
        """Judge what could not be judged; what it still cannot judge waits for the next.

        Without a frontier nobody is told again which links wait on these pages."""
        if not self._unknown:
            return
        done: list[tuple[VisitRow, Verdict]] = []
        with self.store.transaction():
            for url in self._unknown:
                for row in self.store.visit(url):
                    page = self.store.page_of(row)
                    if unknown(row.verdict, row.reasons) and (page.text or page.headings):
                        page, verdict = judged(strategy, page, self.languages)
                        if not unknown(verdict.score, verdict.reasons):
                            self.store.rejudge(row.id, verdict, page.tongue)
                            done.append((row, verdict))
            found = {row.id: verdict.score >= self._threshold for row, verdict in done}
            rows = [row for row, _ in done]
            self._mark(found | self._called(rows, said(row.url for row in rows)))
        for row, _ in done:
            self._unknown.pop(row.url, None)
        if self.ledger is not None and frontier is not None:
            _tell(self.ledger, self.store, frontier, done, self.languages)

    def heed(self, people: Mapping[Url, float]) -> None:
        """These pages are what a person says they are, whatever their verdicts."""
        rows = [row for url in people for row in self.store.visit(url)]
        if rows:
            with self.store.transaction():
                self._mark(self._called(rows, people))

    def _called(self, rows: Iterable[VisitRow], people: Mapping[Url, float]) -> dict[int, bool]:
        """What is bad for one of several topics may be good for another."""
        known = [row for row in rows if row.has_page and row.url in people]
        if not known or not self.settings.topics:
            return {row.id: people[row.url] >= 0.5 for row in known}
        every = topics.said(self.store, self.settings)
        return {row.id: every.relevant(row) for row in known}

    def _mark(self, relevant: Mapping[int, bool]) -> None:
        more = self.store.mark(relevant)
        for name, pages in more.items():
            self.quota.count(domain(name), 0, pages)
        if more:
            self.tally.relevant = self.store.counts().relevant
            # In place, because the rule that ends a crawl looks at it, too.
            vars(self.coverage).update(vars(exhausted.recall(self.store)))
            exhausted.keep(self.store, self.coverage)


def overrule(store: Store, settings: Settings, urls: Iterable[Url] | None = None) -> int:
    """Nobody crawls, or the crawl is over: what people said of these pages, or of any, goes first.
    How many pages are relevant now."""
    people = topics.said(store, settings)
    spoken = set(people.urls())
    wanted = spoken.union(store.people.taken_back()) if urls is None else urls
    rows = [row for url in wanted for row in store.visit(url) if row.has_page]
    # Where a label was taken back and there is no other, the verdict counts again.
    threshold = settings.topic.threshold
    found = {
        row.id: people.relevant(row)
        if row.url in spoken or settings.topics
        else (row.verdict or 0.0) >= threshold
        for row in rows
    }
    with store.transaction():
        if store.mark(found):
            exhausted.keep(store, exhausted.recall(store))
    return store.counts().relevant


def count_labels(folder: Path, settings: Settings, urls: Iterable[Url]) -> None:
    """What people said shows in what is counted at once; a running crawl does it by itself. The
    labels are kept in any case."""
    with suppress(StoreError), Store.open(folder, "crawl", settings.store) as store:
        overrule(store, settings, urls)


def unknown(score: float | None, reasons: object) -> bool:
    return score == UNKNOWN and not reasons


def _tell(
    ledger: Telling,
    store: Store,
    frontier: Frontier,
    done: Sequence[tuple[VisitRow, Verdict]],
    languages: Languages | None,
) -> None:
    """Tell it again, now rightly; what it was told before fades. Pages are read again for their
    links, which holds up the ring: the newest few."""
    for row, verdict in done[-_READ:]:
        page = reread(store, row)
        links = page.links if page is not None else ()
        waits = frontier.wanted([link.url for link in links])
        waiting = [link for link, wanted in zip(links, waits, strict=True) if wanted]
        ledger.found(row.link, worth(verdict, languages), waiting)
    for row, verdict in done:
        ledger.followed(row.followed(verdict))
