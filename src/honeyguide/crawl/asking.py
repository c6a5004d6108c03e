"""Which visited pages to ask a person about: what the store holds, as ``learning/asking`` wants it.

Only reads, so it may be asked while a crawl runs, and of any strategy.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from honeyguide import registry
from honeyguide.config import Settings
from honeyguide.crawl import examples
from honeyguide.errors import ModelError
from honeyguide.learning.asking import TEXT, Askable, Told, Why, choose
from honeyguide.protocols import Strategy
from honeyguide.store.store import Store
from honeyguide.store.visits import VisitRow
from honeyguide.types import UNASKED, Example, Page, Reason, Url, Verdict
from honeyguide.url import domain, host

_PAGES = 5_000
"""Newest pages that are looked at …"""
_ROWS = 20_000
"""… among so many visits."""
_ANEW = 1_000
"""Most pages that are judged anew, where the generation that judged them is gone."""
_LABELS = 1_000
"""Newest labels whose pages the others are compared with."""
_SNIPPET = 200
_BECAUSE: dict[Why, str] = {
    "unsure": "its verdict is among the nearest to the threshold of {threshold:g}",
    "strange": "it is unlike anything you labelled or are asked about",
    "unknown": "nothing that the strategy knows of the topic speaks for it or against it",
    "site": "a whole site hangs on it: {alike} pages fetched",
    "sure": "it is among those that the strategy finds most relevant: is it right?",
    "missed": "the strategy finds it far from relevant, but it resembles pages that are",
}


class Question(NamedTuple):
    """A page to ask about, and what the generation that decides now thinks of it."""

    row: VisitRow
    verdict: float
    relevant: bool
    reasons: tuple[Reason, ...]
    why: Why
    because: str
    """The same in words."""
    snippet: str


class Asked(NamedTuple):
    """What to ask a person, and how often they may still be asked."""

    left: int | None
    """Labels that ``learn.budget`` still has; None: it has no limit."""
    questions: list[Question]


def ask(store: Store, folder: Path, settings: Settings, count: int) -> Asked:
    """The pages of a collection to ask about, at most ``count`` and what the budget has left."""
    budget = settings.learn.budget
    left = max(0, budget - store.counts().labels) if budget else None
    count = count if left is None else min(count, left)
    if count < 1:
        return Asked(left, [])
    given = examples.examples_of(folder, settings)
    return Asked(left, questions(store, settings, count, given))


def questions(
    store: Store, settings: Settings, count: int, given: Iterable[Example] = ()
) -> list[Question]:
    """The pages whose labels would help most; ``given``: the topic's examples that lie on disk."""
    labels = [label for _, label in store.labels()]
    judged = examples.judged(settings) | {label.url: label.value for label in labels}
    told = [Told(_words(example.page), example.target, "-") for example in given]
    for url, value in list(judged.items())[-_LABELS:]:
        if (page := store.page(url)) is not None:
            told.append(Told(_words(page), value, domain(host(url))))
    rows, threshold = unlabelled(store, judged), settings.topic.threshold
    seen = list(_seen(store, rows, threshold))
    pages = [
        Askable(one.verdict.score, one.words, domain(host(row.url)), bool(one.verdict.reasons))
        for row, one in zip(rows, seen, strict=True)
    ]
    sites = Counter(page.site for page in pages)
    return [
        Question(
            rows[place],
            seen[place].verdict.score,
            seen[place].verdict.score >= threshold,
            seen[place].verdict.reasons,
            why,
            _BECAUSE[why].format(threshold=threshold, alike=sites[pages[place].site]),
            seen[place].snippet,
        )
        for place, why in choose(pages, told, count, threshold=threshold, given=len(labels))
    ]


def unlabelled(store: Store, judged: Iterable[Url]) -> list[VisitRow]:
    """The newest pages that nobody judged, one of each group of near copies, oldest first."""
    counts = store.counts()
    newest = counts.visits + sum(counts.failures.get(kind, 0) for kind in UNASKED)
    visits = store.visits(page=True, since=max(0, newest - _ROWS))
    latest = {row.url: row for row in deque(visits, maxlen=_PAGES) if row.verdict is not None}
    settled = set(judged)
    # A label speaks for the copies as well.
    settled |= {row.copy_of for row in latest.values() if row.url in settled and row.copy_of}
    found: dict[Url, VisitRow] = {}
    for row in latest.values():
        group = row.copy_of or row.url
        if row.url not in settled and group not in settled:
            found.setdefault(group, row)
    return list(found.values())


class _Seen(NamedTuple):
    """What is kept of a page while it is thought about: there are thousands."""

    verdict: Verdict
    words: str
    snippet: str


def _seen(store: Store, rows: list[VisitRow], threshold: float) -> Iterator[_Seen]:
    """Each page with its verdict. Verdicts of an older generation are given anew where it counts:
    for those nearest to the threshold."""
    live = store.live()
    stale = sorted(
        (row for row in rows if row.generation != live),
        key=lambda row: abs((row.verdict or 0.0) - threshold),
    )
    anew = {row.id for row in stale[:_ANEW]}
    strategy = _strategy(store, live) if anew else None
    for row in rows:
        page = store.page_of(row)
        verdict = Verdict(row.verdict or 0.0, row.why)
        if strategy is not None and row.id in anew and (page.text or page.headings):
            verdict = strategy.judge(page)
        yield _Seen(verdict, _words(page), (page.description or page.text)[:_SNIPPET])


def _strategy(store: Store, live: int | None) -> Strategy | None:
    try:
        return None if live is None else store.load_generation(live, registry.find)
    except ModelError:
        return None  # what was said of the pages then will have to do


def _words(page: Page) -> str:
    """What a page is compared by; where no text is kept, its name and its address."""
    words = (page.title, page.description, *page.headings[:20], page.text[:TEXT] or page.url)
    return " ".join(words)[:TEXT]
