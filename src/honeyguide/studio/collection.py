"""The Collection screen: search, filter, sort, page by page, and take the selection along."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from honeyguide.errors import ConfigError
from honeyguide.parse.control_chars import eased
from honeyguide.store.database import signed
from honeyguide.store.effective_labels import Topics
from honeyguide.store.export import streamed
from honeyguide.store.store import Store
from honeyguide.store.visits import VisitRow
from honeyguide.studio import page
from honeyguide.studio.filters import FAILED, PAGE, RELEVANT, Hit, Sort, Wish, matching, phrases
from honeyguide.studio.indexing import Indexed, Indexer
from honeyguide.studio.routes import Here, Route, Stream
from honeyguide.studio.search import COUNTED, Index, IndexDamaged
from honeyguide.types import Label
from honeyguide.url import fingerprint

_SNIPPET, _TITLE, _HOST = 240, 500, 255
"""Characters that are shown: the journal may be a stranger's."""
_WAIT_S = 0.15
"""So long the index is waited for: a small collection is whole at the first look."""
_AT_ONCE = 200
"""Visits of a selection that are looked up together while it is exported."""
_KINDS: dict[str, tuple[int, ...]] = {
    "all": (),
    "page": (PAGE, RELEVANT),
    "relevant": (RELEVANT,),
    "other": (PAGE,),
    "failed": (FAILED,),
}
Chance = Annotated[float, Meta(ge=0, le=1)]
Moment = Annotated[float, Meta(ge=0, le=1e11)]
Short = Annotated[str, Meta(max_length=300)]


class Wanted(msgspec.Struct, frozen=True):
    """A selection of the collection's visits."""

    words: Short = ""
    """Words and "phrases" that pages must have; -word: must not; word*: may go on."""
    kind: Literal["page", "relevant", "other", "failed", "all"] = "page"
    """Pages, the relevant ones, the others, failures, or every visit."""
    least: Chance | None = None
    """Verdicts from here …"""
    most: Chance | None = None
    """… to there."""
    label: Literal["", "good", "bad", "any", "none"] = ""
    host: Short = ""
    language: Annotated[str, Meta(max_length=8)] = ""
    since: Moment | None = None
    """Fetched at this time or later, in seconds since 1970 …"""
    until: Moment | None = None
    """… and before this one."""
    changed: bool = False
    """Only pages that a watch saw change."""
    sort: Sort | Literal[""] = ""
    """Not given: the best match where there are words, else the newest first."""


class Asked(Wanted, frozen=True):
    after: Annotated[str, Meta(max_length=80)] = ""
    """Where to go on: ``next`` of the answer before."""
    limit: Annotated[int, Meta(ge=1, le=200)] = 50


class Taken(Wanted, frozen=True):
    format: Literal["csv", "jsonl", "parquet"] = "csv"
    text: bool = False
    """With the pages' texts."""


class Listed(msgspec.Struct, frozen=True):
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


class Found(msgspec.Struct, frozen=True):
    rows: list[Listed]
    next: str
    """Give it as ``after`` to go on; '': that was all."""
    total: int
    """How many there are in all …"""
    more: bool
    """… or more than that."""
    indexed: Indexed


class Choices(msgspec.Struct, frozen=True):
    """What can be chosen in filters."""

    languages: dict[str, int]
    hosts: list[str]
    labels: int
    topics: list[str]


def visits(here: Here, query: Asked) -> Found:
    if not _crawled(here):
        return Found([], "", 0, False, Indexed(0, 0, 0, done=True))
    try:
        return _found(here, query)
    except IndexDamaged:
        here.kept(Indexer).anew()
        return _found(here, query)


def _found(here: Here, query: Asked) -> Found:
    indexed = here.kept(Indexer).asked(_WAIT_S)
    with here.store() as store, closing(Index(here.kept(Indexer).path)) as index:
        wish = _wish(query, store)
        hits = index.find(wish, _sort(query), query.limit + 1, _cursor(query.after))
        total = index.count(wish)
        rows = [row for hit in hits[: query.limit] if (row := store.visit_at(hit.visit))]
        return Found(
            [_listed(store, row, query.words) for row in rows],
            f"{hits[query.limit - 1].key!r}:{hits[query.limit - 1].visit}"
            if len(hits) > query.limit
            else "",
            min(total, COUNTED),
            total > COUNTED,
            indexed,
        )


def choices(here: Here) -> Choices:
    topics = list(here.collection().topics)
    if not _crawled(here):
        return Choices({}, [], 0, topics)
    here.kept(Indexer).asked()
    with here.store() as store:
        counts, names = store.counts(), [row.host for row in store.hosts(limit=200)]
        return Choices(counts.tongues, names, counts.labels, topics)


def export(here: Here, query: Taken) -> Stream:
    if query.format == "parquet" and find_spec("pyarrow") is None:
        raise ConfigError("Parquet needs pyarrow; install it with: pip install pyarrow")
    if query.words.strip():  # what is wrong is told now: once the file has begun, nobody hears it
        matching(query.words)
    with here.store():
        pass
    collection = here.collection()
    topics = Topics(collection.topics, collection.settings.topic.threshold)
    here.kept(Indexer).asked()
    selection = _Selection(here.place, here.kept(Indexer).path, query)
    chunks = _exported(selection, query, topics if collection.topics else None)
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", collection.name).strip("-.") or "pages"
    media = {"csv": "text/csv; charset=utf-8", "jsonl": "application/x-ndjson"}
    disposition = f'attachment; filename="{name}.{query.format}"'
    kind = media.get(query.format, "application/vnd.apache.parquet")
    return Stream(chunks, kind, {"Content-Disposition": disposition, "Cache-Control": "no-store"})


def _crawled(here: Here) -> bool:
    """Whether there is anything to look at yet."""
    return (here.place / "collection.db").exists()


def _wish(query: Wanted, store: Store) -> Wish:
    among = besides = None
    if query.label:
        said = [
            signed(fingerprint(label.url))
            for _, label in store.labels()
            if query.label in ("any", "none") or (label.value >= 0.5) == (query.label == "good")
        ]
        among, besides = (None, said) if query.label == "none" else (said, None)
    return Wish(
        words=query.words.strip(),
        least=query.least,
        most=query.most,
        host=query.host.strip().lower(),
        tongue=query.language,
        since=query.since,
        until=query.until,
        kinds=_KINDS[query.kind],
        changed=query.changed,
        among=among,
        besides=besides,
    )


def _sort(query: Wanted) -> Sort:
    if query.sort and (query.sort != "match" or query.words.strip()):
        return query.sort
    return "match" if query.words.strip() else "newest"


def _cursor(text: str) -> Hit | None:
    if not text:
        return None
    key, _, visit = text.rpartition(":")
    try:
        if len(visit) < 19:
            return Hit(int(visit), float(key))
    except ValueError:
        pass
    raise ConfigError("after must be what an answer before called next")


def _listed(store: Store, row: VisitRow, words: str) -> Listed:
    label: Label | None = store.label_of(row.url)
    snippet, found = _snippet(store.text(row.id)[1], words) if words.strip() else ("", [])
    return Listed(
        visit=row.id,
        url=row.url,
        title=eased(row.title[:_TITLE]),
        host=row.url.split("/", 3)[2][:_HOST],
        at=row.at,
        verdict=row.verdict,
        relevant=bool(row.relevant),
        label=None if label is None else label.value,
        language=row.tongue or row.language[:_HOST],
        status=row.status,
        failure=row.failure and row.failure[:_HOST],
        copy_of=row.copy_of,
        generation=row.generation,
        snippet=snippet or row.description[:_SNIPPET],
        marks=found,
    )


def _snippet(text: str, words: str) -> tuple[str, list[tuple[int, int]]]:
    """The first place that has one of the words, and where in it they stand."""
    wanted = [
        re.escape(said) + ("" if longer or not said.isascii() else r"\b")
        for good, said, longer in phrases(words)
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


@dataclass
class _Selection:
    """All visits of a selection, page by page; opened when the first is asked for."""

    folder: Path
    path: Path
    query: Taken

    def rows(self, store: Store, index: Index) -> Iterator[VisitRow]:
        wish, sort, after = _wish(self.query, store), _sort(self.query), None
        while hits := index.find(wish, sort, _AT_ONCE, after):
            for hit in hits:
                if row := store.visit_at(hit.visit):
                    yield row
            after = hits[-1]


def _exported(selection: _Selection, query: Taken, topics: Topics | None) -> Iterator[bytes]:
    with Store.open(selection.folder, "read") as store, closing(Index(selection.path)) as index:
        rows = selection.rows(store, index)
        yield from streamed(store, rows, query.format, text=query.text, topics=topics)


ROUTES = (
    Route("GET", "/api/c/{name}/visits", visits, Asked, returns=Found,
          summary="Search, filter and sort the collection's visits"),
    Route("GET", "/api/c/{name}/choices", choices, returns=Choices,
          summary="Languages and hosts to choose from"),
    Route("GET", "/api/c/{name}/export", export, Taken, returns=Stream,
          summary="The selection as a file"),
    *page.ROUTES,
)  # fmt: skip
