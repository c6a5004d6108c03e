"""Entities of an XML file: small texts that stand for longer ones, and may fill any memory.

Honest ontologies use them for the addresses of their vocabularies. The parser takes declarations
wherever they stand and fills them in at once, so the whole file is looked through beforehand.
"""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

from honeyguide.errors import ConfigError
from honeyguide.text.ontology.lines import opened

_DECLARED = b"<!ENTITY"
_DECLARATION = re.compile(
    rb"<!ENTITY[ \t\r\n]*(?:%[ \t\r\n]*)?([A-Za-z_:][A-Za-z0-9_.:-]{0,99})[ \t\r\n]+"
    rb"(?:\"([^\"]*)\"|'([^']*)')"
)
_USED = re.compile(rb"&([A-Za-z_:][A-Za-z0-9_.:-]{0,99});").findall
_HEAD = 1 << 20
"""Bytes within which all declarations stand."""
_LONG = 1_000
"""Bytes of one entity."""
_CHUNK = 1 << 20
_REACH = 128
"""Bytes that a use, or the beginning of a declaration, can be long."""
MOST = 50_000_000
"""Bytes that entities may add; in a larger file, as many as it has."""


def refuse_bombs(path: Path) -> None:
    """Raises ConfigError if an entity holds another, or much text, or if all its uses add up."""
    with opened(path) as file:
        head = file.read(_HEAD)
        lengths = _declared(path, head)
        size, uses, rest = 0, Counter[bytes](), b""
        chunk = head
        while chunk:
            size += len(chunk)
            piece = rest + chunk
            if size > _HEAD and _DECLARED in piece:
                raise _refused(path, "its XML entities stand too far from its beginning")
            # What may go on in the next piece is left for it.
            cut = max(0, len(piece) - len(_DECLARED) + 1)
            begun = piece.find(b"&", max(0, len(piece) - _REACH), cut)
            cut = begun if begun >= 0 else cut
            if lengths:
                uses.update(name for name in _USED(piece, 0, cut) if name in lengths)
            rest = piece[cut:]
            chunk = file.read(_CHUNK)
    uses.update(name for name in _USED(rest) if name in lengths)
    added = sum(count * lengths[name] for name, count in uses.items())
    if added > max(MOST, size):
        raise _refused(path, f"its XML entities make {added:,} bytes of it")


def _declared(path: Path, head: bytes) -> dict[bytes, int]:
    """The lengths of the entities, by their names."""
    lengths: dict[bytes, int] = {}
    place = head.find(_DECLARED)
    while place >= 0:
        found = _DECLARATION.match(head, place)
        if found is None:
            raise _refused(path, "its XML entities lie elsewhere, or have no end")
        value = found[2] if found[2] is not None else found[3]
        if b"&" in value or b"%" in value or len(value) > _LONG:
            raise _refused(path, "its XML entities are too much")
        lengths[found[1]] = max(len(value), lengths.get(found[1], 0))
        place = head.find(_DECLARED, place + 1)
    return lengths


def _refused(path: Path, why: str) -> ConfigError:
    return ConfigError(f"the ontology {path} cannot be read: {why}")
