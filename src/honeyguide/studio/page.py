"""The Page screen: text, reasons, history and a sandboxed preview of one page."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Annotated

import msgspec
from msgspec import Meta

from honeyguide.api import explain
from honeyguide.api.user_urls import resolve_url
from honeyguide.config.settings import Settings
from honeyguide.errors import FetchError
from honeyguide.fetch.decode import decode_body
from honeyguide.parse.charset import is_binary
from honeyguide.parse.sanitise import make_layout_safe, safe_html
from honeyguide.store.store import Store
from honeyguide.store.visits import VisitRow
from honeyguide.studio.routes import RawAnswer, RequestContext, ResourceMissing, Route, copy_fields
from honeyguide.text.highlights import find_highlights, highlight_terms
from honeyguide.types import Link, Reason, Url

_MAX_REASONS, _REASON_CHARS = 200, 500
"""Most reasons in an answer, and characters of each: the journal may be a stranger's."""


class ReasonItem(msgspec.Struct, frozen=True):
    what: str
    weight: float


class TextMark(msgspec.Struct, frozen=True):
    """From one character of a text to another."""

    start: int
    end: int
    what: str
    weight: float


def reason_items(reasons: Iterable[Reason]) -> list[ReasonItem]:
    return [
        ReasonItem(reason.what[:_REASON_CHARS], reason.weight)
        for reason in islice(reasons, _MAX_REASONS)
    ]


def mark_evidence(settings: Settings, text: str, reasons: tuple[Reason, ...]) -> list[TextMark]:
    """Evidence is looked for as the keywords are: in their own language."""
    found = find_highlights(text, highlight_terms(settings, reasons), settings.topic.word_language)
    return [TextMark(*mark) for mark in found]


# -- Preview --


PREVIEW_POLICY = (
    "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'self'"
)
"""No scripts, no network, an origin of its own, and only our own pages may frame it."""
_PREVIEW_BYTES = 10_000_000
_DECODE_RATIO = 200.0


class PageViewQuery(msgspec.Struct, frozen=True):
    """By its address, or by the number of a visit."""

    url: Annotated[str, Meta(max_length=8_000)] = ""
    visit: Annotated[int, Meta(ge=0, le=1 << 60)] = 0


class PreviewQuery(PageViewQuery, frozen=True):
    version: Annotated[int, Meta(ge=0, le=1 << 60)] = 0
    """A version that a watch kept, instead of the crawl's answer."""


def render_preview(context: RequestContext, query: PreviewQuery) -> RawAnswer:
    """A page as it looked, for a sandboxed frame."""
    with context.read_store() as store:
        url, body, kind = _kept_body(store, query)
    if is_binary(body, kind):
        raise ResourceMissing("this is a file that cannot be shown here")
    html = safe_html(body, url, kind)
    headers = {
        "Content-Security-Policy": PREVIEW_POLICY,
        "X-Frame-Options": "SAMEORIGIN",
        "Cache-Control": "no-store",
    }
    return RawAnswer(html.encode("utf-8", "replace"), "text/html; charset=utf-8", headers)


def _kept_body(store: Store, query: PreviewQuery) -> tuple[Url, bytes, str]:
    """Address, body and content type of what is to be shown."""
    row = store.visits.visit_by_id(query.visit) if query.visit else None
    if row is None and not query.url:
        raise ResourceMissing("there is no such visit")
    url = row.url if row else resolve_url(store, query.url)
    if query.version:
        history = {version.number: version for version in store.versions.list_versions(url)}
        if query.version not in history:
            raise ResourceMissing("there is no such version")
        kind = history[query.version].content_type
        return url, store.versions.read_body(url, query.version), kind
    row = row or _newest_page(store.visits.attempts_at(url))
    bare = store.archived_response(row) if row else None
    if bare is None:
        raise ResourceMissing(
            "its response was not stored (store.warc), so only the text can be shown"
        )
    try:
        coding = bare.header("content-encoding")
        body = decode_body(url, bare.payload, coding, limit=_PREVIEW_BYTES, ratio=_DECODE_RATIO)
    except FetchError as error:
        raise ResourceMissing(f"the stored response cannot be unpacked: {error.detail}") from error
    return url, body, bare.header("content-type") or "text/html"


def _newest_page(visits: Sequence[VisitRow]) -> VisitRow | None:
    return next((row for row in reversed(visits) if row.has_page), None)


# -- The page --


_TEXT_CHARS = 100_000
"""Characters of a text that are shown."""
_LINE_CHARS, _LINES_CHARS = 500, 2_000
"""Characters of a title or a link, and of a few sentences: the journal may be a stranger's."""
_MAX_ITEMS = 200
"""Most attempts, versions and changes in an answer."""


class PathPage(msgspec.Struct, frozen=True):
    """A page on the way from a seed, and the link there that led on."""

    url: str
    anchor: str
    verdict: float | None


class VisitAttempt(msgspec.Struct, frozen=True):
    visit: int
    at: float
    status: int | None
    failure: str | None
    detail: str
    generation: int
    verdict: float | None


class PageLabel(msgspec.Struct, frozen=True):
    value: float
    by: str
    at: float
    topic: str


class KeptVersion(msgspec.Struct, frozen=True):
    number: int
    at: float
    last_seen: float
    size: int


class PageChange(msgspec.Struct, frozen=True):
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
    marks: list[TextMark] = []
    """Evidence in the text, in characters."""
    verdict: float | None = None
    topics: dict[str, float] = {}
    relevant: bool = False
    threshold: float = 0.5
    """From which a page is relevant."""
    reasons: list[ReasonItem] = []
    """Why the page was judged so."""
    link_score: float | None = None
    """Score of the link before it was followed."""
    link_reasons: list[ReasonItem] = []
    """Reasons of that score."""
    anchor: str = ""
    before: str = ""
    after: str = ""
    way: list[PathPage] = []
    """From a seed to this page."""
    attempts: list[VisitAttempt] = []
    labels: list[PageLabel] = []
    versions: list[KeptVersion] = []
    changes: list[PageChange] = []
    language: str = ""
    declared: str = ""
    at: float | None = None
    media_type: str = ""
    size: int = 0
    copy_of: str | None = None
    archived: bool = False
    """Its answer is in the WARC files: there is a rendered view."""
    generation: int | None = None


def page_view(context: RequestContext, query: PageViewQuery) -> PageView:
    """One page: its text, reasons, way from a seed, versions."""
    settings = context.open_collection().settings
    with context.read_store() as store:
        url = _page_url(store, query)
        found = explain.explain_url(context.collection_folder, settings, url, time.time())
        row = _newest_page(found.visits) or (found.visits[-1] if found.visits else None)
        if row is None and found.waiting is None and not query.url:
            raise ResourceMissing("there is no such visit")
        headings, text = store.visits.page_text(row.id) if row else ((), "")
        reasons = row.verdict_reasons if row else ()
        link = row.link if row else found.waiting.link if found.waiting else Link(found.url)
        shown = make_layout_safe(text[:_TEXT_CHARS])
        labels = store.labels.label_history(found.url)
        versions = store.versions.list_versions(found.url)
        return PageView(
            url=found.url,
            answer=found.answer[:_LINES_CHARS],
            visit=row.id if row else None,
            title=make_layout_safe(row.title[:_LINE_CHARS]) if row else "",
            description=make_layout_safe(row.description[:_LINES_CHARS]) if row else "",
            headings=[make_layout_safe(heading[:_LINE_CHARS]) for heading in headings[:100]],
            text=shown,
            cut=len(text) > _TEXT_CHARS,
            marks=mark_evidence(settings, shown, reasons),
            verdict=row.verdict if row else None,
            topics=row.topic_scores if row else {},
            relevant=bool(row and row.relevant),
            reasons=reason_items(reasons),
            threshold=store.threshold,
            link_score=row.score if row else found.waiting.queued if found.waiting else None,
            link_reasons=reason_items(found.reasons),
            anchor=make_layout_safe(link.anchor[:_LINE_CHARS]),
            before=make_layout_safe(link.before[:_LINE_CHARS]),
            after=make_layout_safe(link.after[:_LINE_CHARS]),
            way=[
                PathPage(step.url, make_layout_safe(step.anchor[:_LINE_CHARS]), step.verdict)
                for step in found.way
            ],
            attempts=[_visit_attempt(each) for each in found.visits[-_MAX_ITEMS:]],
            labels=[copy_fields(PageLabel, each) for each in labels[-_MAX_ITEMS:]],
            versions=[copy_fields(KeptVersion, each) for each in versions[-_MAX_ITEMS:]],
            changes=[
                copy_fields(PageChange, each.change, id=each.id, kinds=list(each.change.kinds))
                for each in store.changes.iter_newest(url=found.url, limit=_MAX_ITEMS)
            ],
            language=row.tongue if row else "",
            declared=row.language[:_LINE_CHARS] if row else "",
            at=row.at if row else None,
            media_type=row.media_type[:_LINE_CHARS] if row else "",
            size=row.size if row else 0,
            copy_of=row.copy_of if row else None,
            archived=bool(row and row.status is not None and row.warc),
            generation=row.generation if row else None,
        )


def _page_url(store: Store, query: PageViewQuery) -> str:
    if query.url:
        return resolve_url(store, query.url, waiting=True)
    row = store.visits.visit_by_id(query.visit)
    if row is None:
        raise ResourceMissing("there is no such visit")
    return row.url


def _visit_attempt(row: VisitRow) -> VisitAttempt:
    failure, detail = row.failure and row.failure[:_LINE_CHARS], row.detail[:_LINES_CHARS]
    return copy_fields(VisitAttempt, row, visit=row.id, failure=failure, detail=detail)


ROUTES = (
    Route("GET", "/api/c/{name}/page", page_view),
    Route("GET", "/api/c/{name}/page/rendered", render_preview),
)
