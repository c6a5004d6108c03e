"""One entry of a shard's log as bytes: a digest, a head that says what it is, and pages.

The digest covers everything after it, and each head holds the digest of the entry before: what
is damaged, missing, moved or from another log does not pass.
"""

from __future__ import annotations

import struct
from hashlib import blake2b
from typing import Literal

import msgspec

from honeyguide.errors import ClusterError

_MAGIC = b"honeyguide vault 1\n"
_DIGEST = 32
_START = len(_MAGIC) + _DIGEST + 4
_MOST_HEAD = 10_000


class Head(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What an entry is. Each says enough that who comes next has to read the last one only."""

    kind: Literal["claim", "segment", "farewell"]
    shard: int
    number: int
    epoch: int
    """Claims are counted; an entry belongs to the claim before it."""
    by: str
    nonce: str
    """Random: by it a writer knows its own."""
    before: str
    """Digest of the entry before; empty for the first."""
    lease_s: float
    """How long its owner acts after it last saw that it is the owner."""
    wait_s: float
    """How long the owner still had to wait for those before it: its heir has to as well."""
    base: int
    """Where the newest complete copy of the whole database begins; 0: there is none."""
    at: float = 0.0
    """Seconds since 1970 by its owner's clock, for people to read. Nothing is decided by it."""
    part: int = 0
    last: bool = True
    """A segment may be too large for one entry; without its last part it never happened."""
    whole: bool = False
    """All pages of the database, not only those that changed."""
    page_size: int = 0
    pages: int = 0
    """Length of the database in pages."""


class Entry(msgspec.Struct, frozen=True):
    head: Head
    body: bytes
    digest: str
    size: int


def pack(head: Head, body: bytes = b"") -> bytes:
    said = msgspec.json.encode(head)
    rest = struct.pack(">I", len(said)) + said
    return _MAGIC + _digest(rest, body) + rest + body


def unpack(data: bytes, name: str, shard: int, number: int) -> Entry:
    """The entry; raises ClusterError unless it is exactly what was once put there."""
    if not data.startswith(_MAGIC) or len(data) < _START:
        raise damaged(name, "it is no entry of a log")
    digest, rest = data[len(_MAGIC) : _START - 4], memoryview(data)[_START - 4 :]
    if _digest(rest) != digest:
        raise damaged(name, "its digest is wrong")
    length = struct.unpack_from(">I", rest)[0]
    if length > min(_MOST_HEAD, len(rest) - 4):
        raise damaged(name, "its head is cut off")
    try:
        head = msgspec.json.decode(rest[4 : 4 + length], type=Head)
    except msgspec.MsgspecError as error:
        raise damaged(name, f"its head does not read: {error}") from error
    if (head.shard, head.number) != (shard, number):
        raise damaged(name, f"it is number {head.number} of shard {head.shard}")
    return Entry(head, bytes(rest[4 + length :]), digest.hex(), len(data))


def digest_of(data: bytes) -> str:
    return data[len(_MAGIC) : _START - 4].hex()


def damaged(name: str, why: str) -> ClusterError:
    return ClusterError(
        f"{name} in the vault is damaged: {why}. Put it back from a copy of the vault; without it "
        "the shard cannot be restored further than to the entry before"
    )


def _digest(*parts: bytes | memoryview) -> bytes:
    value = blake2b(digest_size=_DIGEST)
    for part in parts:
        value.update(part)
    return value.digest()
