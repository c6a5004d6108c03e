"""The list of collections, and the Collection screen: search, filter and export visits."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from honeyguide.api.explain import word_rows
from honeyguide.api.report_page import REPORT_POLICY
from honeyguide.config.loading import load_settings
from honeyguide.config.settings import Settings
from honeyguide.errors import ConfigError, HoneyguideError
from honeyguide.parse.sanitise import make_layout_safe
from honeyguide.store.database import to_int64
from honeyguide.store.export import stream_export
from honeyguide.store.labels import TopicSelection
from honeyguide.store.store import Store, open_existing_store
from honeyguide.store.visits import VisitRow
from honeyguide.studio import routes, search_index
from honeyguide.studio.routes import RawAnswer, RequestContext, Route, StreamAnswer, copy_fields
from honeyguide.studio.search_index import Indexer, SearchIndexProgress
from honeyguide.url import url_fingerprint

_SNIPPET, _TITLE, _HOST = 240, 500, 255
"""Characters that are shown: the journal may be a stranger's."""
_WAIT_S = 0.15
"""So long the index is waited for: a small collection is whole at the first look."""
_AT_ONCE = 200
"""Visits of a selection that are looked up together while it is exported."""
_KINDS_BY_NAME: dict[str, tuple[int, ...]] = {
    "all": (),
    "page": (search_index.PAGE, search_index.RELEVANT),
    "relevant": (search_index.RELEVANT,),
    "other": (search_index.PAGE,),
    "failed": (search_index.FAILED,),
}
Chance = Annotated[float, Meta(ge=0, le=1)]
Moment = Annotated[float, Meta(ge=0, le=1e11)]
Short = Annotated[str, Meta(max_length=300)]


class VisitSelection(msgspec.Struct, frozen=True):
    """A selection of the collection's visits."""

    words: Short = ""
    """Words and "phrases" that pages must have; -word: must not; word*: may go on."""
    kind: Literal["page", "relevant", "other", "failed", "all"] = "page"
    """Pages, the relevant ones, the others, failures, or every visit."""
    least: Chance | None = None
    """Lowest verdict."""
    most: Chance | None = None
    """Highest verdict."""
    label: Literal["", "good", "bad", "any", "none"] = ""
    host: Short = ""
    language: Annotated[str, Meta(max_length=8)] = ""
    since: Moment | None = None
    """Earliest time of the fetch, in seconds since 1970."""
    until: Moment | None = None
    """Latest time of the fetch, not included."""
    changed: bool = False
    """Only pages that a watch saw change."""
    sort: search_index.Sort | Literal[""] = ""
    """Not given: the best match where there are words, else the newest first."""


class VisitsQuery(VisitSelection, frozen=True):
    after: Annotated[str, Meta(max_length=80)] = ""
    """Where to go on: ``next`` of the answer before."""
    limit: Annotated[int, Meta(ge=1, le=200)] = 50


class ExportQuery(VisitSelection, frozen=True):
    format: Literal["csv", "jsonl", "parquet"] = "csv"
    text: bool = False
    """With the pages' texts."""


class VisitItem(msgspec.Struct, frozen=True):
    visit: int
    url: str
    title: str
    host: str
    at: float
    verdict: float | None
    relevant: bool
    label: float | None
    language: str
    status: int | None
    failure: str | None
    copy_of: str | None
    generation: int
    snippet: str = ""
    marks: list[tuple[int, int]] = []
    """Where the words stand in the snippet, in characters."""


class VisitItems(msgspec.Struct, frozen=True):
    rows: list[VisitItem]
    next: str
    """Give it as ``after`` to go on; '': that was all."""
    total: int
    """Number of all visits that pass the filters, up to a limit."""
    more: bool
    """Whether there are more than ``total``."""
    indexed: SearchIndexProgress


class FilterChoices(msgspec.Struct, frozen=True):
    """What can be chosen in filters."""

    languages: dict[str, int]
    hosts: list[str]
    labels: int
    topics: list[str]


def list_visits(context: RequestContext, query: VisitsQuery) -> VisitItems:
    """Search, filter and sort the collection's visits."""
    if not context.has_store:
        return VisitItems([], "", 0, False, SearchIndexProgress(0, 0, 0, done=True))
    try:
        return _search_visits(context, query)
    except search_index.IndexDamaged:
        context.shared_for(Indexer).rebuild_index()
        return _search_visits(context, query)


def _search_visits(context: RequestContext, query: VisitsQuery) -> VisitItems:
    indexed = context.shared_for(Indexer).keep_running(_WAIT_S)
    with (
        context.read_store() as store,
        search_index.SearchIndex(context.shared_for(Indexer).path) as index,
    ):
        wish = _index_filter(query, store)
        after = _parse_cursor(query.after)
        hits = index.find_hits(wish, _sort_order(query), query.limit + 1, after)
        more = len(hits) > query.limit
        total = index.count_hits(wish)
        rows = [row for hit in hits[: query.limit] if (row := store.visits.visit_by_id(hit.visit))]
        return VisitItems(
            [_visit_item(store, row, query.words) for row in rows],
            f"{hits[query.limit - 1].key!r}:{hits[query.limit - 1].visit}" if more else "",
            min(total, search_index.MAX_COUNTED),
            total > search_index.MAX_COUNTED,
            indexed,
        )


def filter_choices(context: RequestContext) -> FilterChoices:
    """Languages and hosts to choose from."""
    topics = list(context.open_collection().topics)
    if not context.has_store:
        return FilterChoices({}, [], 0, topics)
    context.shared_for(Indexer).keep_running()
    with context.read_store() as store:
        counts = store.counter.read_counts()
        names = [row.host for row in store.counter.top_hosts(limit=200)]
        return FilterChoices(counts.tongues, names, counts.labels, topics)


def export_selection(context: RequestContext, query: ExportQuery) -> StreamAnswer:
    """The selection as a file."""
    if query.format == "parquet" and find_spec("pyarrow") is None:
        raise ConfigError("Parquet needs pyarrow; install it with: pip install pyarrow")
    if query.words.strip():  # what is wrong is told now: once the file has begun, nobody hears it
        search_index.fts_expression(query.words)
    collection = context.open_collection()
    with context.read_store() as store:
        topics = TopicSelection(collection.topics, store.threshold)
    context.shared_for(Indexer).keep_running()
    chunks = _export_chunks(
        context.collection_folder,
        context.shared_for(Indexer).path,
        query,
        topics if collection.topics else None,
        collection.settings,
    )
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", collection.name).strip("-.") or "pages"
    media = {"csv": "text/csv; charset=utf-8", "jsonl": "application/x-ndjson"}
    disposition = f'attachment; filename="{name}.{query.format}"'
    kind = media.get(query.format, "application/vnd.apache.parquet")
    return StreamAnswer(
        chunks, kind, {"Content-Disposition": disposition, "Cache-Control": "no-store"}
    )


def _index_filter(query: VisitSelection, store: Store) -> search_index.IndexFilter:
    among = besides = None
    if query.label:
        labelled = [
            to_int64(url_fingerprint(label.url))
            for _, label in store.labels.effective_after()
            if query.label in ("any", "none") or (label.value >= 0.5) == (query.label == "good")
        ]
        among, besides = (None, labelled) if query.label == "none" else (labelled, None)
    same = ("least", "most", "language", "since", "until", "changed")
    return search_index.IndexFilter(
        words=query.words.strip(),
        host=query.host.strip().lower(),
        kinds=_KINDS_BY_NAME[query.kind],
        only_pages=among,
        without_pages=besides,
        **{name: getattr(query, name) for name in same},
    )


def _sort_order(query: VisitSelection) -> search_index.Sort:
    if query.sort and (query.sort != "match" or query.words.strip()):
        return query.sort
    return "match" if query.words.strip() else "newest"


def _parse_cursor(text: str) -> search_index.IndexHit | None:
    if not text:
        return None
    key, _, visit = text.rpartition(":")
    try:
        if len(visit) < 19:
            return search_index.IndexHit(int(visit), float(key))
    except ValueError:
        pass
    raise ConfigError("after must be what an answer before called next")


def _visit_item(store: Store, row: VisitRow, words: str) -> VisitItem:
    label = store.labels.effective_label(row.url)
    text = store.visits.page_text(row.id)[1] if words.strip() else ""
    snippet, found = _find_snippet(text, words)
    return copy_fields(
        VisitItem,
        row,
        visit=row.id,
        title=make_layout_safe(row.title[:_TITLE]),
        host=row.url.split("/", 3)[2][:_HOST],
        relevant=bool(row.relevant),
        label=None if label is None else label.value,
        language=row.tongue or row.language[:_HOST],
        failure=row.failure and row.failure[:_HOST],
        snippet=snippet or row.description[:_SNIPPET],
        marks=found,
    )


def _find_snippet(text: str, words: str) -> tuple[str, list[tuple[int, int]]]:
    """The first place that has one of the words, and where in it they stand."""
    wanted = [
        re.escape(phrase) + ("" if longer or not phrase.isascii() else r"\b")
        for good, phrase, longer in search_index.parse_phrases(words)
        if good
    ]
    if not wanted:
        return "", []
    pattern = re.compile("|".join(wanted), re.IGNORECASE)
    first = pattern.search(text)
    if first is None:
        return "", []  # its accents are written otherwise, or it stands in the title
    start = max(0, first.start() - _SNIPPET // 3)
    start = text.find(" ", start, first.start()) + 1 if start else 0
    piece = " ".join(text[start : start + _SNIPPET].split())
    return piece, [match.span() for match in pattern.finditer(piece)][:20]


def _export_chunks(
    folder: Path,
    path: Path,
    query: ExportQuery,
    topics: TopicSelection | None,
    settings: Settings,
) -> Iterator[bytes]:
    with Store.open(folder, "read") as store, search_index.SearchIndex(path) as index:
        rows = map(word_rows(store, settings), _selected_visits(store, index, query))
        yield from stream_export(store, rows, query.format, text=query.text, topics=topics)


def _selected_visits(
    store: Store, index: search_index.SearchIndex, query: ExportQuery
) -> Iterator[VisitRow]:
    """All visits of a selection, looked up some hundred at a time."""
    wish, sort, after = _index_filter(query, store), _sort_order(query), None
    while hits := index.find_hits(wish, sort, _AT_ONCE, after):
        for hit in hits:
            if row := store.visits.visit_by_id(hit.visit):
                yield row
        after = hits[-1]


# -- The list of collections --


_COLLECTIONS_COUNTED = 30
"""Collections whose stores are looked into for the list; others are only named."""
_COLLECTIONS_LISTED = 500


class CollectionItem(msgspec.Struct):
    """A collection in the list."""

    name: str
    description: str = ""
    running: str = ""
    """crawl or watch; elsewhere: by another process; '': not running."""
    visits: int | None = None
    relevant: int | None = None
    last: float | None = None
    problem: str = ""


class CollectionItems:
    """What was last seen of each collection: looked into again only when its files changed."""

    def __init__(self, _: Path) -> None:
        self._seen: dict[Path, tuple[object, CollectionItem]] = {}

    def item_of(self, folder: Path, counted: bool) -> CollectionItem:
        stamp = (counted, routes.collection_stamp(folder))
        known = self._seen.get(folder)
        if known is None or known[0] != stamp:
            known = self._seen[folder] = (stamp, _read_item(folder, counted))
            while len(self._seen) > _COLLECTIONS_LISTED:
                self._seen.pop(next(iter(self._seen)), None)
        return known[1]


def _read_item(folder: Path, counted: bool) -> CollectionItem:
    row = CollectionItem(folder.name)
    try:
        row.description = load_settings(folder / "topic.toml").topic.description[:500]
        if counted and (folder / "collection.db").exists():
            with open_existing_store(folder, "read") as store:
                counts = store.counter.read_counts()
            row.visits, row.relevant, row.last = counts.visits, counts.relevant, counts.last
    except (HoneyguideError, OSError) as error:
        row.problem = str(error)
    return row


def list_collections(context: RequestContext) -> list[CollectionItem]:
    """The collections in the folder, the one that was changed last first."""
    shelf, rows = context.shared.get(context.root, CollectionItems), []
    for place, folder in enumerate(routes.find_collections(context.root)[:_COLLECTIONS_LISTED]):
        row = shelf.item_of(folder, place < _COLLECTIONS_COUNTED)
        try:
            state = context.runs.run_state(folder)
        except (HoneyguideError, OSError) as error:  # no lock of ours: only this row says so
            rows.append(msgspec.structs.replace(row, problem=row.problem or str(error)))
            continue
        going = state.state in ("running", "stopping", "elsewhere")
        rows.append(
            msgspec.structs.replace(row, running=state.kind or state.state if going else "")
        )
    return rows


class ReportFormatQuery(msgspec.Struct, frozen=True):
    format: Literal["json", "html", "md"] = "json"


def collection_report(context: RequestContext, query: ReportFormatQuery) -> RawAnswer:
    """Volume and precision over time, results to judge, what is left: the report of `honeyguide
    report`."""
    found = context.open_collection().report()
    headers = {"Cache-Control": "no-store"}
    if query.format == "json":
        return RawAnswer(msgspec.json.encode(found.to_dict()), "application/json", headers)
    if query.format == "md":
        return RawAnswer(found.to_markdown().encode(), "text/markdown; charset=utf-8", headers)
    page, kind = found.to_html().encode("utf-8", "replace"), "text/html; charset=utf-8"
    return RawAnswer(page, kind, headers | {"Content-Security-Policy": f"{REPORT_POLICY}; sandbox"})


ROUTES = (
    Route("GET", "/api/collections", list_collections),
    Route("GET", "/api/c/{name}/report", collection_report),
    Route("GET", "/api/c/{name}/visits", list_visits),
    Route("GET", "/api/c/{name}/choices", filter_choices),
    Route("GET", "/api/c/{name}/export", export_selection),
)
