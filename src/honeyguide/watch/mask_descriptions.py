"""What a mask covers, in words: a person who looks at ``footer~4c6af27ae0`` sees nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from itertools import islice

from honeyguide.change import Block
from honeyguide.errors import HoneyguideError
from honeyguide.parse.blocks import read_snapshot
from honeyguide.store.store import Store
from honeyguide.types import Url
from honeyguide.watch.compare.detect import with_title
from honeyguide.watch.compare.mask_names import SHAPE, Anchor, anchored, named, path_of, soft

_LETTERS = 80
_MASKS = 400
_BEHIND = 50
"""So far behind another block, a place is looked for."""
_ORDINALS = ("", "the block", "the second block", "the third block")
_KINDS = {
    "data:": "the field {} of its data",
    "order:": "the order of what stands in {}",
    "link:": "links like {}",
}


def spelled(store: Store, url: Url, masks: Iterable[str]) -> dict[str, str]:
    """Of each mask, what it covers on the newest version of the page that is kept."""
    blocks = _newest(store, url)
    page = _Page(blocks)
    return {mask: page.words(mask) for mask in islice(masks, _MASKS)}


def _newest(store: Store, url: Url) -> tuple[Block, ...]:
    history = store.versions.history(url)
    if not history:
        return ()
    last = history[-1]
    try:
        body = store.versions.body(url, last.number)
    except HoneyguideError:
        return ()  # it cannot be read; masks can be looked at all the same
    return with_title(read_snapshot(body, url, last.content_type))


class _Page:
    """The blocks of a page, by what names them."""

    def __init__(self, blocks: tuple[Block, ...]) -> None:
        self._blocks = blocks
        self._at = Counter(block.path for block in blocks)
        self._known: dict[str, str] = {}
        self._anchors: dict[str, list[int]] = {}
        for place, (path, text, _) in enumerate(blocks):
            self._known.setdefault(soft(path, text), text)
            self._known.setdefault(named(path, text), text)
            self._anchors.setdefault(_digest(text), []).append(place)

    def words(self, mask: str) -> str:
        if mask == SHAPE:
            return "its tags, without their texts"
        for kind, said in _KINDS.items():
            if mask.startswith(kind):
                return said.format(mask.removeprefix(kind) or "it")
        path = path_of(mask)
        if mask == path:
            count = self._at[path]
            blocks = f"{count} block{'' if count == 1 else 's'} now"
            return f"everything in {path or 'the page'} ({blocks})"
        key, caret, anchor = mask.rpartition("^")
        if caret:
            return self._behind(path, anchor, "~" in key)
        text = self._known.get(mask, "")
        if "~" in mask.removeprefix(path):
            return f"numbers and dates in {_quoted(text) or f'a line of {path} as it was'}"
        if not text:
            return f"a line of {path} that is not there now"
        return f"the line {_quoted(text)}, whatever its numbers"

    def _behind(self, path: str, anchor: str, numbers: bool) -> str:
        digest, _, count = anchor.partition("+")
        behind = int(count) if count.isdecimal() and len(count) < 6 else 0
        what = "numbers and dates in " if numbers else ""
        places = self._anchors.get(digest, [])
        if not places or not 0 < behind <= _BEHIND:
            return f"{what}one place in {path}"
        ordinal = _ORDINALS[behind] if behind < len(_ORDINALS) else f"block {behind}"
        words = f"{what}{ordinal} after {_quoted(self._blocks[places[0]].text)}"
        following = places[0] + behind
        if following < len(self._blocks) and self._blocks[following].path == path:
            return f"{words}: now {_quoted(self._blocks[following].text)}"
        return words


def _digest(text: str) -> str:
    return anchored("", Anchor(text, 0))[1:].partition("+")[0]


def _quoted(text: str) -> str:
    if not text:
        return ""
    return f"“{text if len(text) <= _LETTERS else text[: _LETTERS - 1].rstrip() + '…'}”"
