"""The Changes screen: the change feed, trials of notification rules, diffs and masks."""

from __future__ import annotations

import time
from typing import Annotated, Literal, get_args

import msgspec
from msgspec import Meta

from honeyguide.api.user_urls import possible_urls, resolve_url
from honeyguide.change import Change, ChangeKind, PageEdit
from honeyguide.config.settings import NotifySettings, Settings
from honeyguide.store.change_feed import ChangeFilters, ChangeRow
from honeyguide.store.store import Store, open_existing_store
from honeyguide.studio.routes import RequestContext, ResourceMissing, Route, copy_fields
from honeyguide.types import Url
from honeyguide.url import host_of
from honeyguide.watch import manual_edits, version_diff
from honeyguide.watch.compare.page_change import with_title
from honeyguide.watch.manual_edits import describe_masks
from honeyguide.watch.notify.delivery import NotifyRule, count_by_significance

_BLOCKS_SHOWN = 600
"""Most blocks that are shown."""
_BLOCK_CHARS = 400_000
"""Most characters of all shown blocks together."""
_LINKS, _VERSIONS, _TEXTS = 100, 200, 12
_CONTEXT_CHARS = 60
"""Characters on each side of a cut."""

Address = Annotated[str, Meta(min_length=1, max_length=4_096)]
Number = Annotated[int, Meta(ge=0, le=(1 << 63) - 1)]
Piece = tuple[Literal["same", "removed", "added"], str]


class DiffQuery(msgspec.Struct, frozen=True):
    url: Address
    old: Number = 0
    """0: that of the last change."""
    new: Number = 0
    all: bool = False
    """Also what is masked."""


class DiffVersion(msgspec.Struct, frozen=True):
    number: int
    at: float
    last_seen: float
    status: int
    content_type: str
    size: int


class SideBySideBlock(msgspec.Struct, frozen=True):
    what: str
    path: str
    old: str
    new: str
    pieces: list[Piece]
    masked: bool
    mask: str
    """What to mask if this is to be told no more, and as little else as can be."""


class MaskPlace(msgspec.Struct, frozen=True):
    """All that would go if a whole place were masked."""

    path: str
    blocks: int
    """That stand there in the newer version; if none do, that stood there in the older one."""
    texts: list[str]
    """The first few of them."""


class PageDifference(msgspec.Struct, frozen=True):
    url: str
    old: DiffVersion
    new: DiffVersion
    versions: list[DiffVersion]
    """The newest that are kept, oldest first."""
    kinds: list[str]
    """Empty: nothing that is not masked differs."""
    significance: float
    masked: int
    blocks: list[SideBySideBlock]
    places: list[MaskPlace]
    """Where something differs."""
    cut: bool
    """Whether there are more blocks than are shown."""
    links_added: list[str]
    links_removed: list[str]


class MasksQuery(msgspec.Struct, frozen=True):
    url: Address


class MaskOrder(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    url: Address
    mask: Annotated[str, Meta(min_length=1, max_length=400)]
    do: Literal["mask", "unmask", "forget"]
    """``forget``: what a person said of it before is taken back."""


class MaskItem(msgspec.Struct, frozen=True):
    mask: str
    where: str
    by: str


class MaskItems(msgspec.Struct, frozen=True):
    url: str
    masks: list[MaskItem]
    opened: list[str]
    words: dict[str, str]
    """Of each of them, what it covers."""


def diff_pieces(old: str, new: str, most: int) -> list[Piece]:
    """Word by word; what is the same and long is cut in its middle."""
    found: list[Piece] = []
    for what, text in version_diff.diff_words(old[: 4 * most], new[: 4 * most]):
        if what == "same" and len(text) > 2 * _CONTEXT_CHARS + 20 and most < _BLOCK_CHARS:
            found.append((what, f"{text[:_CONTEXT_CHARS]} … {text[-_CONTEXT_CHARS:]}"))
        else:
            found.append((what, text if len(text) <= most else f"{text[:most]} …"))
    return found


def page_difference(context: RequestContext, query: DiffQuery) -> PageDifference:
    """What differs between two versions of a page."""
    with context.read_store() as store:
        url = resolve_url(store, query.url)
        found = version_diff.diff_versions(store, url, query.old, query.new, everything=query.all)
        versions = store.versions.list_versions(url)[-_VERSIONS:]
    shown, cut = _diff_blocks(found)
    change = found.change or Change(url, 0.0, ())
    return PageDifference(
        url,
        copy_fields(DiffVersion, found.old),
        copy_fields(DiffVersion, found.new),
        [copy_fields(DiffVersion, row) for row in versions],
        list(change.kinds),
        change.significance,
        change.masked,
        shown,
        _mask_places(found, {block.path for block in shown if block.mask and block.what != "data"}),
        cut,
        list(change.links_added[:_LINKS]),
        list(change.links_removed[:_LINKS]),
    )


def _diff_blocks(found: version_diff.VersionDiff) -> tuple[list[SideBySideBlock], bool]:
    shown: list[SideBySideBlock] = []
    room = _BLOCK_CHARS
    for block in version_diff.diff_side_by_side(found):
        room -= len(block.old) + len(block.new)
        if len(shown) >= _BLOCKS_SHOWN or room < 0:
            return shown, True
        shown.append(_diff_block(block))
    return shown, False


def _mask_places(found: version_diff.VersionDiff, wanted: set[str]) -> list[MaskPlace]:
    standing: dict[str, list[str]] = {path: [] for path in sorted(wanted)}
    for snapshot in (found.after, found.before):
        bare = {path for path, texts in standing.items() if not texts}
        for path, text, _ in with_title(snapshot):
            if path in bare:
                standing[path].append(text)
    return [
        MaskPlace(path, len(texts), [_short_text(text) for text in texts[:_TEXTS]])
        for path, texts in standing.items()
    ]


def _diff_block(block: version_diff.BlockDiff) -> SideBySideBlock:
    old, new = block.old, block.new
    pieces: list[Piece] = []
    if block.what in ("changed", "data"):
        pieces = diff_pieces(old, new, _BLOCK_CHARS)
    elif block.what in ("same", "moved"):
        old, new = _short_text(old), _short_text(new)  # it is there for people to find their way by
    return SideBySideBlock(block.what, block.path, old, new, pieces, block.masked, block.mask)


def _short_text(text: str) -> str:
    if len(text) <= 4 * _CONTEXT_CHARS:
        return text
    return f"{text[: 2 * _CONTEXT_CHARS]} … {text[-_CONTEXT_CHARS:]}"


def list_masks(context: RequestContext, query: MasksQuery) -> MaskItems:
    """What differs on a page at every visit and is not told."""
    with context.read_store() as store:
        return _mask_items(store, manual_edits.list_masks(store, resolve_url(store, query.url)))


def edit_mask(context: RequestContext, body: MaskOrder) -> MaskItems:
    """Mask a place, open it, or take back what was said of it."""
    act = {
        "mask": manual_edits.mask_places,
        "unmask": manual_edits.unmask_places,
        "forget": manual_edits.forget_mask_edits,
    }[body.do]
    with open_existing_store(context.collection_folder, "write") as store:
        return _mask_items(store, act(store, resolve_url(store, body.url), [body.mask]))


def _mask_items(store: Store, found: manual_edits.WatchMasks) -> MaskItems:
    words = describe_masks(store, found.url, [*(one.mask for one in found.masks), *found.opened])
    return MaskItems(found.url, [MaskItem(*one) for one in found.masks], list(found.opened), words)


# -- The feed --


_DAY_S = 86_400.0
_EDITS_SHOWN = 3
"""Edits of a change that the feed shows."""
_EDIT_CHARS = 300
"""Characters of an edit that the feed shows."""


class ChangeFilter(msgspec.Struct, frozen=True):
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


class ChangeEdit(msgspec.Struct, frozen=True):
    what: str
    path: str
    pieces: list[Piece]


class ChangeItem(msgspec.Struct, frozen=True):
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
    told: list[ChangeEdit]
    """The first few edits, or all, in words."""


class ChangeItems(msgspec.Struct, frozen=True):
    rows: list[ChangeItem]
    next: int | None
    total: int
    """Number of all changes."""
    passing: int
    """Number of changes that pass the filters."""
    newer: int
    """Number of changes that pass the filters and are newer than ``newest``."""
    watched: int


class ChangeQuery(msgspec.Struct, frozen=True):
    number: Annotated[int, Meta(ge=1, le=(1 << 63) - 1)]


class SeenUpdate(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    ids: Annotated[list[Annotated[int, Meta(ge=1, le=(1 << 63) - 1)]], Meta(max_length=500)]
    seen: bool = True


class SeenCount(msgspec.Struct, frozen=True):
    marked: int


class RuleTrialQuery(msgspec.Struct, frozen=True):
    days: Annotated[float, Meta(gt=0, le=3_650)] = 7.0
    rule: Annotated[int, Meta(ge=0, le=1_000)] = 0
    """Which of the [[notify]] tables; without any, a rule as new ones are."""


class NotifyRuleItem(msgspec.Struct, frozen=True):
    name: str
    significance: float
    kinds: list[str]
    narrow: bool
    """Whether it asks for pages or words as well, which the trial does not look at."""


class RuleTrial(msgspec.Struct, frozen=True):
    days: float
    rules: list[NotifyRuleItem]
    rule: int
    changes: int
    """All that there were."""
    told: list[int]
    """How many would have been told at a least significance of 0, 0.01 … 1."""


def list_changes(context: RequestContext, query: ChangeFilter) -> ChangeItems:
    """What changed on the watched pages, newest first."""
    asked: ChangeFilters = {
        "since": time.time() - query.days * _DAY_S if query.days else None,
        "kinds": query.kind,
        "significance": query.least,
        "url": Url(possible_urls(query.url)[0]) if query.url else None,
        "host": query.host.strip().lower() or None,
        "unseen": query.unseen,
    }
    with context.read_store() as store:
        changes = store.changes
        found = list(changes.iter_newest(**asked, before=query.after, limit=query.limit + 1))
        total, passing = len(changes), changes.count_matching(**asked)
        newer = changes.count_matching(**asked, beyond=query.newest) if query.newest else 0
        watched = store.watched.count_by_state().get("watched", 0)
    rows, more = found[: query.limit], len(found) > query.limit
    last = rows[-1].id if more else None
    return ChangeItems([_change_item(row) for row in rows], last, total, passing, newer, watched)


def show_change(context: RequestContext, query: ChangeQuery) -> ChangeItem:
    """One change with all that is kept of it."""
    with context.read_store() as store:
        found = store.changes.get_change(query.number)
    if found is None:
        raise ResourceMissing(f"there is no change {query.number}")
    return _change_item(found, len(found.change.edits))


def _change_item(row: ChangeRow, edits: int = _EDITS_SHOWN) -> ChangeItem:
    change = row.change
    return copy_fields(
        ChangeItem,
        change,
        **{name: getattr(row, name) for name in ("id", "old", "new", "seen")},
        host=host_of(change.url),
        kinds=list(change.kinds),
        edits=len(change.edits),
        links_added=len(change.links_added),
        links_removed=len(change.links_removed),
        told=[_change_edit(edit) for edit in change.edits[:edits]],
    )


def _change_edit(edit: PageEdit) -> ChangeEdit:
    if edit.what == "moved":
        return ChangeEdit(edit.what, edit.path, [("same", edit.new[:_EDIT_CHARS])])
    return ChangeEdit(edit.what, edit.path, diff_pieces(edit.old, edit.new, _EDIT_CHARS))


def mark_seen(context: RequestContext, body: SeenUpdate) -> SeenCount:
    """Mark changes as seen, or as not seen yet."""
    with open_existing_store(context.collection_folder, "write") as store:
        store.changes.mark_seen(body.ids, time.time() if body.seen else None)
    return SeenCount(len(body.ids))


def try_rule(context: RequestContext, query: RuleTrialQuery) -> RuleTrial:
    """How many changes each least significance would have told."""
    settings: Settings = context.open_collection().settings
    rules = settings.notify or (NotifySettings(to="", name="a new [[notify]]"),)
    place = min(query.rule, len(rules) - 1)
    chosen = rules[place]
    kinds = tuple(kind for kind in get_args(ChangeKind) if kind in chosen.kinds)
    now = time.time()
    with context.read_store() as store:
        counted = store.changes.count_by_significance(now - query.days * _DAY_S, now + _DAY_S)
    totals = count_by_significance(NotifyRule(channel="trial", kinds=kinds), counted)
    return RuleTrial(
        query.days,
        [
            copy_fields(
                NotifyRuleItem,
                rule,
                name=rule.name or rule.to.partition(":")[0],
                narrow=bool(rule.pages or rule.words),
            )
            for rule in rules
        ],
        place,
        sum(each.changes for each in counted),
        totals,
    )


_PATH = "/api/c/{name}/changes"
ROUTES: tuple[Route, ...] = (
    Route("GET", _PATH, list_changes),
    Route("POST", f"{_PATH}/seen", mark_seen),
    Route("GET", f"{_PATH}/trial", try_rule),
    Route("GET", f"{_PATH}/{{number}}", show_change),
    Route("GET", "/api/c/{name}/diff", page_difference),
    Route("GET", "/api/c/{name}/masks", list_masks),
    Route("POST", "/api/c/{name}/masks", edit_mask),
)
