"""What earlier runs of a crawl found out about links, as far as the journal tells."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence

from honeyguide.config import Settings
from honeyguide.crawl import topics
from honeyguide.crawl.judged_pages import Given
from honeyguide.crawl.link_authority import Standing
from honeyguide.crawl.link_history import Ledger
from honeyguide.crawl.parent_pages import Parents, Places
from honeyguide.crawl.reread import reread
from honeyguide.crawl.source_bandit import Sources
from honeyguide.crawl.stages import LISTS, TRUST, same_path
from honeyguide.protocols import Frontier
from honeyguide.store.store import Store
from honeyguide.store.visits import VisitRow
from honeyguide.text.profile import Profile
from honeyguide.types import UNASKED, Example, Link, Url, Verdict, Visit

_log = logging.getLogger(__name__)

_RECALLED = 20_000
"""Newest visits that a resumed crawl counts again …"""
_REREAD = 1_000
"""… and of which it reads the pages, for a strategy that asks about their words."""
_LINKED = 200
"""Newest visits whose pages are read again for their links, for one that goes by every place of a
link: .6 s or so, and …"""
_PATIENCE_S = 3.0
"""… never much more than this; the newest go first."""
_FRESH = 1_000
"""Newest visits that still say what a source of links is worth."""


def ledger_of(
    store: Store,
    settings: Settings,
    standing: bool,
    examples: Sequence[Example],
    said: dict[Url, float],
) -> Ledger:
    """What earlier runs found out about links, as far as the journal tells."""
    newest = store.counts().visits
    given = given_of(store, examples, said)
    ledger = Ledger(settings.topic.threshold, _standing(settings) if standing else None, given)
    for row in store.visits(since=max(0, newest - _RECALLED)):
        if _asked(row):
            ledger.followed(_followed(row))
            if row.has_page:
                page = store.page_of(row) if standing and row.id > newest - _REREAD else None
                ledger.found(row.link, _worth(row, settings), (), page)
    return ledger


def recall_links(
    standing: Parents | Places,
    store: Store,
    settings: Settings,
    frontier: Frontier,
    admits: Callable[[Link], bool],
) -> None:
    """Where on pages of earlier runs the waiting links stand, and what came of those beside."""
    newest = store.visits(since=max(0, store.counts().visits - _LINKED))
    rows = [row for row in newest if _asked(row)]
    for row in rows:
        standing.followed(_followed(row))
    # Only then: links on these pages are told what came of those beside them when they are met.
    end = time.monotonic() + _PATIENCE_S
    for row in reversed(rows):
        if time.monotonic() > end:
            break
        try:
            page = reread(store, row, settings.scope) if _links_counted(row) else None
        except Exception:  # noqa: BLE001
            # Our own bug, met on one page: it must not end every resume.
            _log.exception("%s could not be read again", row.url)
            continue
        if page is not None:
            links = [link for link in page.links if admits(link)]
            waits = frontier.wanted([link.url for link in links])
            waiting = [link for link, wanted in zip(links, waits, strict=True) if wanted]
            worth = max(_worth(row, settings), TRUST if row.link.depth == 0 else 0.0)
            standing.found(row.link, worth, waiting, page)


def _links_counted(row: VisitRow) -> bool:
    """Whether its links were followed (crawl/stages.py): those of an example are not, nor those of
    a page that is the same under many queries, and what a list names stands on no page."""
    listed = not row.has_page or row.media_type in LISTS or row.link.channel == "example"
    trap = row.copy_of is not None and row.copy_exact and same_path(row.copy_of, row.url)
    return not (listed or trap)


def given_of(store: Store, examples: Sequence[Example], said: dict[Url, float]) -> Given:
    """Pages that people judged with the topic, and the links on those that are here."""
    given = Given.of(examples, said)
    for url in said:
        for row in store.visit(url)[-1:]:
            if row.has_page and row.link.channel == "example" and (page := reread(store, row)):
                given.read(page)
    return given


def sources_of(store: Store, settings: Settings) -> Sources:
    """What earlier runs got from links, sitemaps and searches."""
    sources = Sources(settings.crawl.seed)
    for row in store.visits(since=max(0, store.counts().visits - _FRESH)):
        sources.followed(_followed(row))
    return sources


def _asked(row: VisitRow) -> bool:
    """Whether its host was asked at all."""
    return row.status is not None or row.failure not in UNASKED


def _followed(row: VisitRow) -> Visit:
    return row.followed(None if row.verdict is None else Verdict(row.verdict))


def _worth(row: VisitRow, settings: Settings) -> float:
    """What its links inherit."""
    return (row.topical if settings.language.predict else row.verdict) or 0.0


def _standing(settings: Settings) -> Standing:
    language = settings.topic.spoken
    stated = [one.topic for one in topics.each(settings)]
    profiles = [Profile(topic.keywords, topic.description, language) for topic in stated]
    return Standing(profiles, language)
