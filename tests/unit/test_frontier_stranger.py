"""A frontier's log may come from a stranger: it neither bursts nor leads astray."""

from __future__ import annotations

import struct
from math import inf, nan

import msgspec
import numpy as np
import pytest
import zstandard

from honeyguide.errors import CollectionCorrupt
from honeyguide.frontier import codec as codecs
from honeyguide.frontier.codec import Codec, size
from honeyguide.frontier.frontier import LinkFrontier
from honeyguide.frontier.lookup import find
from honeyguide.frontier.memory import MemoryLog
from honeyguide.frontier.order import Best
from honeyguide.frontier.replay import batches
from honeyguide.types import Candidate, Link, Url

GOOD = Link(Url("http://a.org/"))


def log_of(link: Link) -> MemoryLog:
    """A log whose only link was exchanged after it was pushed."""
    log = MemoryLog()
    frontier = LinkFrontier(log, Best())
    frontier.push([Candidate(GOOD, 0.5)])
    frontier._texts.fresh[0] = link
    frontier.flush()
    return log


def test_an_honest_link_pops() -> None:
    candidate = LinkFrontier(log_of(GOOD), Best()).pop(0.0)
    assert candidate is not None
    assert candidate.link == GOOD


@pytest.mark.parametrize(
    "link",
    [
        GOOD._replace(url=Url("file:etc/passwd")), GOOD._replace(url=Url("")),
        GOOD._replace(url=Url("http://a.org")), GOOD._replace(url=Url("HTTP://A.org/")),
        GOOD._replace(url=Url("http://a.org/#x")), GOOD._replace(url=Url("//a.org/")),
        GOOD._replace(url=Url("http://victim.org/")), GOOD._replace(url=Url("http://a.org /")),
        GOOD._replace(depth=-1), GOOD._replace(depth=1 << 60), GOOD._replace(hops=1 << 60),
        GOOD._replace(parent=nan), GOOD._replace(parent=inf), GOOD._replace(parent=1e300),
    ],
)  # fmt: skip
def test_a_link_that_no_page_had(link: Link) -> None:
    with pytest.raises(CollectionCorrupt, match=r"no page of a\.org"):
        LinkFrontier(log_of(link), Best()).pop(0.0)


def bomb(length: int) -> bytes:
    squeeze = zstandard.ZstdCompressor().compressobj(size=length)
    zeros = bytes(1_000_000)
    parts = [squeeze.compress(zeros[: length - at]) for at in range(0, length, len(zeros))]
    return b"".join([*parts, squeeze.flush()])


UNSIZED = zstandard.ZstdCompressor(write_content_size=False).compress(b"\x90")
HUGE = b"\x28\xb5\x2f\xfd\xe0" + struct.pack("<Q", 1 << 40) + b"\x01\x00\x00"


@pytest.mark.parametrize("frame", [bomb(80_000_000), UNSIZED, HUGE, b"", b"\x28\xb5\x2f\xfd"])
def test_a_chunk_that_is_a_bomb(frame: bytes) -> None:
    log = log_of(GOOD)
    index = next(log.scan())[1]
    bad = MemoryLog()
    bad.append(index, msgspec.msgpack.encode([frame]))
    with pytest.raises(CollectionCorrupt):
        LinkFrontier(bad, Best()).pop(0.0)
    with pytest.raises(CollectionCorrupt):
        find(bad, GOOD.url)


def index(*counts: int, frame: bytes, prints: int = 0) -> bytes:
    """An index that claims these: new, again, raised, done, tried, parked, bytes of names."""
    return codecs._HEAD.pack(1, *counts) + bytes(8 * prints) + frame


def test_an_index_that_is_a_bomb() -> None:
    for bad in (
        index(0, 0, 0, 0, 0, 0, 80_000_000, frame=bomb(80_000_000)),
        index(0, 0, 0, 0, 0, 0, 1, frame=bomb(2)),
        index(0, 0, 0, 0, 0, 0, 1, frame=UNSIZED),
        index(0, 0, 0, 0, 0, 0, 1, frame=HUGE),
        index(0, 0, 0, 10_000_000, 0, 0, 1, frame=bomb(40_000_001)),
        index(1 << 31, 0, 0, 0, 0, 0, 1, frame=b""),
    ):
        log = MemoryLog()
        log.append(bad, b"")
        with pytest.raises(CollectionCorrupt):
            LinkFrontier(log, Best())
        with pytest.raises(CollectionCorrupt):
            find(log, GOOD.url)


def test_indexes_are_held_together_by_what_they_unpack_to(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    log = MemoryLog()
    for _ in range(10):
        log.append(index(0, 0, 0, 0, 0, 0, 1000, frame=bomb(1000)), b"")
    assert size(next(log.scan())[1]) == 1000
    monkeypatch.setattr("honeyguide.frontier.replay.BATCH", 3500)
    assert [len(numbers) for numbers, _ in batches(log)] == [3, 3, 3, 1]


def test_odd_numbers_in_a_log() -> None:
    log = log_of(GOOD)
    codec = Codec()
    entry, _ = codec.unpack_indexes([next(log.scan())[1]])
    odd = entry._replace(
        scores=np.array([nan], np.float32),
        raised=np.array([0], np.uint32),
        better=np.array([inf], np.float32),
        tried=np.array([0], np.uint32),
        tries=np.array([1], np.uint8),
        due=np.array([nan]),
        parked=np.array([0], np.uint32),
        until=np.array([nan]),
    )
    bad = MemoryLog()
    bad.append(codec.pack_index(odd), log.text(0))
    candidate = LinkFrontier(bad, Best(), now=5.0, delay=1.0).pop(6.0)
    assert candidate is not None
    assert (candidate.score, candidate.queued, candidate.tries) == (1.0, 0.0, 1)
