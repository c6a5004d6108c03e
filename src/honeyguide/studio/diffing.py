"""Two versions of a page side by side, and what is masked on it."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from honeyguide.crawl.open_store import existing
from honeyguide.crawl.user_urls import known
from honeyguide.store.store import Store
from honeyguide.store.versions import VersionRow
from honeyguide.studio.routes import Here, Route
from honeyguide.watch import mask_editing as masking
from honeyguide.watch.compare.detect import with_title
from honeyguide.watch.compare.word_diff import diff_words
from honeyguide.watch.mask_descriptions import spelled
from honeyguide.watch.version_diff import Between, Shown, between, side_by_side

_BLOCKS = 600
"""Blocks that are shown …"""
_LETTERS = 400_000
"""… and characters of all together."""
_LINKS, _VERSIONS, _TEXTS = 100, 200, 12
_CONTEXT = 60
"""Characters on each side of a cut."""

Address = Annotated[str, Meta(min_length=1, max_length=4_096)]
Number = Annotated[int, Meta(ge=0, le=(1 << 63) - 1)]
Piece = tuple[Literal["same", "removed", "added"], str]


class Two(msgspec.Struct, frozen=True):
    url: Address
    old: Number = 0
    """0: that of the last change."""
    new: Number = 0
    all: bool = False
    """Also what is masked."""


class Version(msgspec.Struct, frozen=True):
    number: int
    at: float
    last_seen: float
    status: int
    content_type: str
    size: int


class Beside(msgspec.Struct, frozen=True):
    what: str
    path: str
    old: str
    new: str
    pieces: list[Piece]
    masked: bool
    mask: str
    """What to mask if this is to be told no more, and as little else as can be."""


class Place(msgspec.Struct, frozen=True):
    """All that would go if a whole place were masked."""

    path: str
    blocks: int
    """That stand there in the newer version; if none do, that stood there in the older one."""
    texts: list[str]
    """The first few of them."""


class Difference(msgspec.Struct, frozen=True):
    url: str
    old: Version
    new: Version
    versions: list[Version]
    """The newest that are kept, oldest first."""
    kinds: list[str]
    """Empty: nothing that is not masked differs."""
    significance: float
    masked: int
    blocks: list[Beside]
    places: list[Place]
    """Where something differs."""
    cut: bool
    """Whether there are more blocks than are shown."""
    links_added: list[str]
    links_removed: list[str]


class Page(msgspec.Struct, frozen=True):
    url: Address


class Mask(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    url: Address
    mask: Annotated[str, Meta(min_length=1, max_length=400)]
    do: Literal["mask", "unmask", "forget"]
    """``forget``: what a person said of it before is taken back."""


class Masked(msgspec.Struct, frozen=True):
    mask: str
    where: str
    by: str


class Masks(msgspec.Struct, frozen=True):
    url: str
    masks: list[Masked]
    opened: list[str]
    words: dict[str, str]
    """Of each of them, what it covers."""


def pieces(old: str, new: str, most: int) -> list[Piece]:
    """Word by word; what is the same and long is cut in its middle."""
    found: list[Piece] = []
    for what, text in diff_words(old[: 4 * most], new[: 4 * most]):
        if what == "same" and len(text) > 2 * _CONTEXT + 20 and most < _LETTERS:
            found.append((what, f"{text[:_CONTEXT]} … {text[-_CONTEXT:]}"))
        else:
            found.append((what, text if len(text) <= most else f"{text[:most]} …"))
    return found


def difference(here: Here, query: Two) -> Difference:
    with here.store() as store:
        url = known(store, query.url)
        found = between(store, url, query.old, query.new, everything=query.all)
        versions = store.versions.history(url)[-_VERSIONS:]
    shown, cut = _blocks(found)
    change = found.change
    return Difference(
        url,
        _version(found.old),
        _version(found.new),
        [_version(row) for row in versions],
        list(change.kinds) if change else [],
        change.significance if change else 0.0,
        change.masked if change else 0,
        shown,
        _places(found, {block.path for block in shown if block.mask and block.what != "data"}),
        cut,
        list(change.links_added[:_LINKS]) if change else [],
        list(change.links_removed[:_LINKS]) if change else [],
    )


def _blocks(found: Between) -> tuple[list[Beside], bool]:
    shown: list[Beside] = []
    room = _LETTERS
    for block in side_by_side(found):
        room -= len(block.old) + len(block.new)
        if len(shown) >= _BLOCKS or room < 0:
            return shown, True
        shown.append(_block(block))
    return shown, False


def _places(found: Between, wanted: set[str]) -> list[Place]:
    standing: dict[str, list[str]] = {path: [] for path in sorted(wanted)}
    for snapshot in (found.after, found.before):
        bare = {path for path, texts in standing.items() if not texts}
        for path, text, _ in with_title(snapshot):
            if path in bare:
                standing[path].append(text)
    return [
        Place(path, len(texts), [_short(text) for text in texts[:_TEXTS]])
        for path, texts in standing.items()
    ]


def _block(block: Shown) -> Beside:
    old, new = block.old, block.new
    said: list[Piece] = []
    if block.what in ("changed", "data"):
        said = pieces(old, new, _LETTERS)
    elif block.what in ("same", "moved"):
        old, new = _short(old), _short(new)  # it is there for people to find their way by
    return Beside(block.what, block.path, old, new, said, block.masked, block.mask)


def _short(text: str) -> str:
    return text if len(text) <= 4 * _CONTEXT else f"{text[: 2 * _CONTEXT]} … {text[-_CONTEXT:]}"


def _version(row: VersionRow) -> Version:
    return Version(row.number, row.at, row.last_seen, row.status, row.content_type, row.size)


def masks(here: Here, query: Page) -> Masks:
    with here.store() as store:
        return _masks(store, masking.masks(store, known(store, query.url)))


def mask(here: Here, body: Mask) -> Masks:
    act = {"mask": masking.mask, "unmask": masking.unmask, "forget": masking.forget}[body.do]
    with existing(here.place, "write") as store:
        return _masks(store, act(store, known(store, body.url), [body.mask]))


def _masks(store: Store, found: masking.Masks) -> Masks:
    words = spelled(store, found.url, [*(one.mask for one in found.masks), *found.opened])
    return Masks(found.url, [Masked(*one) for one in found.masks], list(found.opened), words)


ROUTES: tuple[Route, ...] = (
    Route(
        "GET", "/api/c/{name}/diff", difference, query=Two, returns=Difference,
        summary="What differs between two versions of a page",
    ),
    Route(
        "GET", "/api/c/{name}/masks", masks, query=Page, returns=Masks,
        summary="What differs on a page at every visit and is not told",
    ),
    Route(
        "POST", "/api/c/{name}/masks", mask, body=Mask, returns=Masks,
        summary="Mask a place, open it, or take back what was said of it",
    ),
)  # fmt: skip
