"""One page of the collection: what it says, why it is here, how it came, and how it changed."""

from __future__ import annotations

import time
from typing import Annotated

import msgspec
from msgspec import Meta

from honeyguide.crawl import explain as explaining
from honeyguide.crawl.user_urls import known
from honeyguide.parse.control_chars import eased
from honeyguide.store.store import Store
from honeyguide.store.visits import VisitRow
from honeyguide.studio.evidence import Marked, Why, marked, spoken, told
from honeyguide.studio.routes import Here, Missing, Route

_TEXT = 100_000
"""Characters of a text that are shown."""
_LINE, _LINES = 500, 2_000
"""Characters of a title or a link, and of a few sentences: the journal may be a stranger's."""
_MOST = 200
"""Attempts, versions and changes that are told."""


class Which(msgspec.Struct, frozen=True):
    """By its address, or by the number of a visit."""

    url: Annotated[str, Meta(max_length=8_000)] = ""
    visit: Annotated[int, Meta(ge=0, le=1 << 60)] = 0


class Stop(msgspec.Struct, frozen=True):
    """A page on the way from a seed, and the link there that led on."""

    url: str
    anchor: str
    verdict: float | None


class Attempt(msgspec.Struct, frozen=True):
    visit: int
    at: float
    status: int | None
    failure: str | None
    detail: str
    generation: int
    verdict: float | None


class Said(msgspec.Struct, frozen=True):
    value: float
    by: str
    at: float
    topic: str


class Version(msgspec.Struct, frozen=True):
    number: int
    at: float
    last_seen: float
    size: int


class Changed(msgspec.Struct, frozen=True):
    id: int
    at: float
    kinds: list[str]
    significance: float


class PageView(msgspec.Struct, frozen=True):
    url: str
    answer: str
    """Why it was fetched, or why not, in a sentence."""
    visit: int | None = None
    title: str = ""
    description: str = ""
    headings: list[str] = []
    text: str = ""
    cut: bool = False
    """The text goes on."""
    marks: list[Marked] = []
    """Evidence in the text, in characters."""
    verdict: float | None = None
    topics: dict[str, float] = {}
    relevant: bool = False
    threshold: float = 0.5
    """From which a page is relevant."""
    reasons: list[Why] = []
    """Why the page was judged so."""
    link_score: float | None = None
    """What was thought of the link before it was followed …"""
    link_reasons: list[Why] = []
    """… and why."""
    anchor: str = ""
    before: str = ""
    after: str = ""
    way: list[Stop] = []
    """From a seed to this page."""
    attempts: list[Attempt] = []
    labels: list[Said] = []
    versions: list[Version] = []
    changes: list[Changed] = []
    language: str = ""
    declared: str = ""
    at: float | None = None
    media_type: str = ""
    size: int = 0
    copy_of: str | None = None
    archived: bool = False
    """Its answer is in the WARC files: there is a rendered view."""
    generation: int | None = None


def page(here: Here, query: Which) -> PageView:
    settings = here.collection().settings
    with here.store() as store:
        url = _address(store, query)
        found = explaining.explain(here.place, settings, url, time.time())
        row = next((row for row in reversed(found.visits) if row.has_page), None)
        row = row or (found.visits[-1] if found.visits else None)
        if row is None and found.waiting is None and not query.url:
            raise Missing("there is no such visit")
        headings, text = store.text(row.id) if row else ((), "")
        reasons = row.why if row else ()
        link = row.link if row else found.waiting.link if found.waiting else None
        shown = eased(text[:_TEXT])
        said = "\n".join((row.title if row else "", *headings, text))
        return PageView(
            url=found.url,
            answer=found.answer[:_LINES],
            visit=row.id if row else None,
            title=eased(row.title[:_LINE]) if row else "",
            description=eased(row.description[:_LINES]) if row else "",
            headings=[eased(heading[:_LINE]) for heading in headings[:100]],
            text=shown,
            cut=len(text) > _TEXT,
            marks=marked(settings, shown, reasons),
            verdict=row.verdict if row else None,
            topics=row.scores if row else {},
            relevant=bool(row and row.relevant),
            reasons=spoken(settings, said, reasons),
            threshold=settings.topic.threshold,
            link_score=row.score if row else found.waiting.queued if found.waiting else None,
            link_reasons=told(found.reasons),
            anchor=eased(link.anchor[:_LINE]) if link else "",
            before=eased(link.before[:_LINE]) if link else "",
            after=eased(link.after[:_LINE]) if link else "",
            way=[Stop(step.url, eased(step.anchor[:_LINE]), step.verdict) for step in found.way],
            attempts=[_attempt(each) for each in found.visits[-_MOST:]],
            labels=[
                Said(label.value, label.by, label.at, label.topic)
                for label in store.label_history(found.url)[-_MOST:]
            ],
            versions=[
                Version(v.number, v.at, v.last_seen, v.size)
                for v in store.versions.history(found.url)[-_MOST:]
            ],
            changes=[
                Changed(c.id, c.change.at, list(c.change.kinds), c.change.significance)
                for c in store.changes.newest(url=found.url, limit=_MOST)
            ],
            language=row.tongue if row else "",
            declared=row.language[:_LINE] if row else "",
            at=row.at if row else None,
            media_type=row.media_type[:_LINE] if row else "",
            size=row.size if row else 0,
            copy_of=row.copy_of if row else None,
            archived=bool(row and row.status is not None and row.warc),
            generation=row.generation if row else None,
        )


def _address(store: Store, query: Which) -> str:
    if query.url:
        return known(store, query.url, waiting=True)
    row = store.visit_at(query.visit)
    if row is None:
        raise Missing("there is no such visit")
    return row.url


def _attempt(row: VisitRow) -> Attempt:
    failure, detail = row.failure and row.failure[:_LINE], row.detail[:_LINES]
    return Attempt(row.id, row.at, row.status, failure, detail, row.generation, row.verdict)


ROUTES = (
    Route("GET", "/api/c/{name}/page", page, Which, returns=PageView,
          summary="One page: its text, reasons, way from a seed, versions"),
)  # fmt: skip
