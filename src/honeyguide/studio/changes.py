"""The Changes screen: the feed, and what another threshold would have told."""

from __future__ import annotations

import time
from typing import Annotated, TypedDict, get_args

import msgspec
from msgspec import Meta

from honeyguide.change import Change, ChangeKind, Edit
from honeyguide.config import NotifySettings, Settings
from honeyguide.crawl.open_store import existing
from honeyguide.crawl.user_urls import possible
from honeyguide.store.changes import ChangeRow
from honeyguide.studio import diffing, watching
from honeyguide.studio.diffing import Piece, pieces
from honeyguide.studio.routes import Here, Missing, Route
from honeyguide.types import Url
from honeyguide.url import host
from honeyguide.watch.telling.notify import Rule, at_each

_DAY = 86_400.0
_EDITS = 3
"""Edits of a change that the feed shows …"""
_LETTERS = 300
"""… and characters of each."""


class Filter(msgspec.Struct, frozen=True):
    kind: Annotated[list[ChangeKind], Meta(max_length=12)] = []
    least: Annotated[float, Meta(ge=0, le=1)] = 0.0
    host: Annotated[str, Meta(max_length=300)] = ""
    url: Annotated[str, Meta(max_length=4_096)] = ""
    days: Annotated[float, Meta(ge=0, le=36_500)] = 0.0
    """Only the last so many; 0: all."""
    unseen: bool = False
    after: Annotated[int, Meta(ge=1, le=(1 << 63) - 1)] | None = None
    """A change's number, to go on from."""
    newest: Annotated[int, Meta(ge=0, le=(1 << 63) - 1)] = 0
    """The newest change that is known already: how many came since?"""
    limit: Annotated[int, Meta(ge=1, le=100)] = 30


class Told(msgspec.Struct, frozen=True):
    what: str
    path: str
    pieces: list[Piece]


class Item(msgspec.Struct, frozen=True):
    id: int
    url: str
    host: str
    at: float
    since: float
    kinds: list[str]
    significance: float
    detail: str
    masked: int
    old: int | None
    new: int | None
    seen: float | None
    edits: int
    links_added: int
    links_removed: int
    told: list[Told]
    """The first few edits, or all, in words."""


class Feed(msgspec.Struct, frozen=True):
    rows: list[Item]
    next: int | None
    total: int
    """Changes in all, whatever the filters …"""
    passing: int
    """… and those that pass them …"""
    newer: int
    """… of which so many are newer than the one that was named."""
    watched: int


class One(msgspec.Struct, frozen=True):
    number: Annotated[int, Meta(ge=1, le=(1 << 63) - 1)]


class Seen(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    ids: Annotated[list[Annotated[int, Meta(ge=1, le=(1 << 63) - 1)]], Meta(max_length=500)]
    seen: bool = True


class Marked(msgspec.Struct, frozen=True):
    marked: int


class Trying(msgspec.Struct, frozen=True):
    days: Annotated[float, Meta(gt=0, le=3_650)] = 7.0
    rule: Annotated[int, Meta(ge=0, le=1_000)] = 0
    """Which of the [[notify]] tables; without any, a rule as new ones are."""


class RuleNow(msgspec.Struct, frozen=True):
    name: str
    significance: float
    kinds: list[str]
    narrow: bool
    """Whether it asks for pages or words as well, which the trial does not look at."""


class Trial(msgspec.Struct, frozen=True):
    days: float
    rules: list[RuleNow]
    rule: int
    changes: int
    """All that there were."""
    told: list[int]
    """How many would have been told at a least significance of 0, 0.01 … 1."""


class Asked(TypedDict):
    """The filters as the store has them."""

    since: float | None
    kinds: list[ChangeKind]
    significance: float
    url: Url | None
    host: str | None
    unseen: bool


def feed(here: Here, query: Filter) -> Feed:
    url = Url(possible(query.url)[0]) if query.url else None
    asked = Asked(
        since=time.time() - query.days * _DAY if query.days else None,
        kinds=query.kind,
        significance=query.least,
        url=url,
        host=query.host.strip().lower() or None,
        unseen=query.unseen,
    )
    with here.store() as store:
        changes = store.changes
        found = list(changes.newest(**asked, before=query.after, limit=query.limit + 1))
        total, passing = len(changes), changes.count(**asked)
        newer = changes.count(**asked, beyond=query.newest) if query.newest else 0
        watched = store.watched.counts().get("watched", 0)
    rows, more = found[: query.limit], len(found) > query.limit
    last = rows[-1].id if more else None
    return Feed([_item(row) for row in rows], last, total, passing, newer, watched)


def one(here: Here, query: One) -> Item:
    with here.store() as store:
        found = store.changes.one(query.number)
    if found is None:
        raise Missing(f"there is no change {query.number}")
    return _item(found, len(found.change.edits))


def _item(row: ChangeRow, edits: int = _EDITS) -> Item:
    change: Change = row.change
    return Item(
        row.id,
        change.url,
        host(change.url),
        change.at,
        change.since,
        list(change.kinds),
        change.significance,
        change.detail,
        change.masked,
        row.old,
        row.new,
        row.seen,
        len(change.edits),
        len(change.links_added),
        len(change.links_removed),
        [_told(edit) for edit in change.edits[:edits]],
    )


def _told(edit: Edit) -> Told:
    if edit.what == "moved":
        return Told(edit.what, edit.path, [("same", edit.new[:_LETTERS])])
    return Told(edit.what, edit.path, pieces(edit.old, edit.new, _LETTERS))


def saw(here: Here, body: Seen) -> Marked:
    with existing(here.place, "write") as store:
        store.changes.saw(body.ids, time.time() if body.seen else None)
    return Marked(len(body.ids))


def trial(here: Here, query: Trying) -> Trial:
    settings: Settings = here.collection().settings
    rules = settings.notify or (NotifySettings(to="", name="a new [[notify]]"),)
    place = min(query.rule, len(rules) - 1)
    chosen = rules[place]
    kinds = tuple(kind for kind in get_args(ChangeKind) if kind in chosen.kinds)
    now = time.time()
    with here.store() as store:
        counted = store.changes.weighed(now - query.days * _DAY, now + _DAY)
    told = at_each(Rule(channel="trial", kinds=kinds), counted)
    return Trial(
        query.days,
        [
            RuleNow(
                rule.name or rule.to.partition(":")[0],
                rule.significance,
                list(rule.kinds),
                bool(rule.pages or rule.words),
            )
            for rule in rules
        ],
        place,
        sum(each.changes for each in counted),
        told,
    )


_HERE = "/api/c/{name}/changes"
ROUTES: tuple[Route, ...] = (
    Route(
        "GET", _HERE, feed, query=Filter, returns=Feed,
        summary="What changed on the watched pages, newest first",
    ),
    Route(
        "POST", f"{_HERE}/seen", saw, body=Seen, returns=Marked,
        summary="Mark changes as seen, or as not seen yet",
    ),
    Route(
        "GET", f"{_HERE}/trial", trial, query=Trying, returns=Trial,
        summary="How many changes each least significance would have told",
    ),
    Route(
        "GET", f"{_HERE}/{{number}}", one, query=One, returns=Item,
        summary="One change with all that is kept of it",
    ),
    *diffing.ROUTES,
    *watching.ROUTES,
)  # fmt: skip
