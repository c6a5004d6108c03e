"""Edits of the watch list and of masks by people, and descriptions of masks in words."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import reduce
from itertools import islice
from typing import Literal, NamedTuple, get_args

from honeyguide.change import Block
from honeyguide.errors import ConfigError, HoneyguideError
from honeyguide.parse.blocks import read_snapshot
from honeyguide.store.store import Store
from honeyguide.store.watch_list import WatchedState
from honeyguide.types import Url
from honeyguide.watch.compare import mask_names
from honeyguide.watch.compare.page_change import with_title
from honeyguide.watch.compare.volatile import VolatileMemory

ListAction = Literal["add", "remove", "pause", "resume", "weight"]

_STATES: dict[ListAction, WatchedState] = {
    "remove": "removed",
    "pause": "paused",
    "resume": "watched",
}
_LIGHTEST, _HEAVIEST = 0.001, 1000.0


def edit_watch_list(
    store: Store, action: ListAction, urls: Sequence[Url], now: float, weight: float | None = None
) -> int:
    """Apply an action of a person; returns how many pages changed. A running watch notices it."""
    if action not in get_args(ListAction):
        raise ConfigError(
            f"a watch list has no action {action!r}; known: {', '.join(get_args(ListAction))}"
        )
    if action == "add":
        return store.watched.add_pages(urls, "user", now)
    if action == "weight" and (weight is None or not _LIGHTEST <= weight <= _HEAVIEST):
        raise ConfigError("a weight lies between 0.001 and 1000; 1 is the default")
    for url in urls:
        if not store.watched.edit_page(url, state=_STATES.get(action), weight=weight):
            raise ConfigError(
                f"{url} is not watched; add it with: "
                f"honeyguide watch {shlex.quote(str(store.folder))} add {shlex.quote(url)}"
            )
    return len(urls)


# -- Masks --


class WatchMask(NamedTuple):
    mask: str
    where: str
    """For people to read; '': the whole page."""
    by: str
    """``person``, or ``habit``: it differs every time."""


class WatchMasks(NamedTuple):
    url: Url
    masks: tuple[WatchMask, ...]
    opened: tuple[str, ...]
    """What people keep open, whatever is learned."""


def list_masks(store: Store, url: Url) -> WatchMasks:
    return _masks_from_memory(url, _load_memory(store, url))


def mask_places(store: Store, url: Url, keys: Iterable[str]) -> WatchMasks:
    """Mask these places: their differences are not reported."""
    return _edit_memory(store, url, keys, VolatileMemory.add_mask)


def unmask_places(store: Store, url: Url, keys: Iterable[str]) -> WatchMasks:
    """Unmask these places, whatever is learned."""

    def keep_open(memory: VolatileMemory, key: str) -> VolatileMemory:
        if key not in memory.active_masks():
            raise ConfigError(f"{key!r} is not masked; see: watch NAME masks {url}")
        return memory.keep_open(key)

    return _edit_memory(store, url, keys, keep_open)


def forget_mask_edits(store: Store, url: Url, keys: Iterable[str]) -> WatchMasks:
    """Take back what people said of these: only what is learned counts again."""
    return _edit_memory(store, url, keys, VolatileMemory.forget_edit)


def _edit_memory(
    store: Store,
    url: Url,
    keys: Iterable[str],
    edit: Callable[[VolatileMemory, str], VolatileMemory],
) -> WatchMasks:
    memory = reduce(edit, keys, _load_memory(store, url))
    store.watched.edit_page(url, masks=memory.to_json())
    return _masks_from_memory(url, memory)


def _load_memory(store: Store, url: Url) -> VolatileMemory:
    row = store.watched.find_row(url)
    if row is None:
        raise ConfigError(f"{url} is not watched")
    return VolatileMemory.from_json(row.masks)


def _masks_from_memory(url: Url, memory: VolatileMemory) -> WatchMasks:
    found = (
        WatchMask(key, mask_names.mask_path(key), "person" if key in memory.added else "habit")
        for key in sorted(memory.active_masks())
    )
    return WatchMasks(url, tuple(found), tuple(sorted(memory.opened)))


# -- Masks in words --


_MAX_QUOTE = 80
_MAX_MASKS = 400
_MAX_BEHIND = 50
"""So far behind another block, a place is looked for."""
_ORDINALS = ("", "the block", "the second block", "the third block")
_KINDS = {
    "data:": "the field {} of its data",
    "order:": "the order of the blocks in {}",
    "link:": "links like {}",
}


def describe_masks(store: Store, url: Url, masks: Iterable[str]) -> dict[str, str]:
    """Of each mask, what it covers on the newest version of the page that is kept."""
    page = _MaskedPage(_newest_blocks(store, url))
    return {mask: page.describe_mask(mask) for mask in islice(masks, _MAX_MASKS)}


def _newest_blocks(store: Store, url: Url) -> tuple[Block, ...]:
    history = store.versions.list_versions(url)
    if not history:
        return ()
    last = history[-1]
    try:
        body = store.versions.read_body(url, last.number)
    except HoneyguideError:
        return ()  # it cannot be read; masks can be looked at all the same
    return with_title(read_snapshot(body, url, last.content_type))


class _MaskedPage:
    """The blocks of a page, by what names them."""

    def __init__(self, blocks: tuple[Block, ...]) -> None:
        self._blocks = blocks
        self._at = Counter(block.path for block in blocks)
        self._known: dict[str, str] = {}
        self._anchors: dict[str, list[int]] = {}
        for place, (path, text, _) in enumerate(blocks):
            self._known.setdefault(mask_names.soft_mask(path, text), text)
            self._known.setdefault(mask_names.line_mask(path, text), text)
            anchor = mask_names.text_digest(mask_names.word_skeleton(text))
            self._anchors.setdefault(anchor, []).append(place)

    def describe_mask(self, mask: str) -> str:
        if mask == mask_names.SHAPE_MASK:
            return "its tags, without their texts"
        for kind, words in _KINDS.items():
            if mask.startswith(kind):
                return words.format(mask.removeprefix(kind) or "it")
        path = mask_names.mask_path(mask)
        if mask == path:
            count = self._at[path]
            blocks = f"{count} block{'' if count == 1 else 's'} now"
            return f"everything in {path or 'the page'} ({blocks})"
        key, caret, anchor = mask.rpartition("^")
        if caret:
            return self._describe_anchored(path, anchor, "~" in key)
        text = self._known.get(mask, "")
        if "~" in mask.removeprefix(path):
            return f"numbers and dates in {_quote_text(text) or f'a line of {path} as it was'}"
        if not text:
            return f"a line of {path} that is not there now"
        return f"the line {_quote_text(text)}, whatever its numbers"

    def _describe_anchored(self, path: str, anchor: str, numbers: bool) -> str:
        digest, _, count = anchor.partition("+")
        behind = int(count) if count.isdecimal() and len(count) < 6 else 0
        what = "numbers and dates in " if numbers else ""
        places = self._anchors.get(digest, [])
        if not places or not 0 < behind <= _MAX_BEHIND:
            return f"{what}one place in {path}"
        ordinal = _ORDINALS[behind] if behind < len(_ORDINALS) else f"block {behind}"
        words = f"{what}{ordinal} after {_quote_text(self._blocks[places[0]].text)}"
        following = places[0] + behind
        if following < len(self._blocks) and self._blocks[following].path == path:
            return f"{words}: now {_quote_text(self._blocks[following].text)}"
        return words


def _quote_text(text: str) -> str:
    if not text:
        return ""
    return f"“{text if len(text) <= _MAX_QUOTE else text[: _MAX_QUOTE - 1].rstrip() + '…'}”"
