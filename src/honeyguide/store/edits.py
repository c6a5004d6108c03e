"""What exactly differed in a change, packed: edits, links added, links removed. All of it bounded.

A page can change in a hundred thousand places; the weightiest are kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from honeyguide.change import Change, Edit
from honeyguide.errors import CollectionCorrupt
from honeyguide.store import row_checks as sound
from honeyguide.store.codec import Codec, clean
from honeyguide.types import Url

_EDITS = 500
_TEXT = 4_000
"""Characters of a block's text."""
_TEXTS = 500_000
"""Characters of all texts of a change."""
_PATH = 500
_LINKS = 1_000
"""Links that were added; and as many that were removed."""
_ADDRESS = 2_048
_BYTES = 16_000_000


class Details(NamedTuple):
    edits: tuple[Edit, ...] = ()
    added: tuple[Url, ...] = ()
    removed: tuple[Url, ...] = ()


_DECODER = msgspec.msgpack.Decoder(Details)
_DAMAGE = (CollectionCorrupt, msgspec.MsgspecError, UnicodeError, RecursionError)


def pack_details(codec: Codec, change: Change) -> bytes:
    """b'' where there is nothing."""
    details = Details(
        _edits(change.edits), _links(change.links_added), _links(change.links_removed)
    )
    return codec.pack(msgspec.msgpack.encode(details)) if any(details) else b""


def unpack_details(codec: Codec, data: object) -> Details:
    """Nothing where they are damaged: the change itself still says when and of what kind."""
    if not data:
        return Details()
    try:
        found = _DECODER.decode(codec.unpack(data, _BYTES))
    except _DAMAGE:
        return Details()
    return Details(
        tuple(edit._replace(weight=sound.chance(edit.weight)) for edit in found.edits[:_EDITS]),
        tuple(url for url in found.added[:_LINKS] if sound.is_address(url)),
        tuple(url for url in found.removed[:_LINKS] if sound.is_address(url)),
    )


def _edits(edits: Sequence[Edit]) -> tuple[Edit, ...]:
    """In their order; where there are too many, those that count most."""
    kept: dict[int, Edit] = {}
    room = _TEXTS
    for place in sorted(range(len(edits)), key=lambda n: -edits[n].weight)[:_EDITS]:
        edit = edits[place]
        short = Edit(
            edit.what, clean(edit.path[:_PATH]), _cut(edit.old), _cut(edit.new), edit.weight
        )
        room -= len(short.old) + len(short.new)
        if room < 0:
            break
        kept[place] = short
    return tuple(kept[place] for place in sorted(kept))


def _cut(text: str) -> str:
    return clean(text if len(text) <= _TEXT else text[: _TEXT - 1] + "…")


def _links(urls: Sequence[Url]) -> tuple[Url, ...]:
    return tuple(url for url in urls[:_LINKS] if len(url) <= _ADDRESS)
