"""A frontier's log may come from a stranger: it neither bursts nor leads astray."""

from __future__ import annotations

import struct
from math import inf, nan

import msgspec
import numpy as np
import pytest
import zstandard

from honeyguide.errors import CollectionCorrupt
from honeyguide.frontier import log_codec
from honeyguide.frontier.frontier import LinkFrontier
from honeyguide.frontier.log_codec import LogCodec, index_size
from honeyguide.frontier.order import BestFirstOrder
from honeyguide.frontier.replay import find_logged_link, iter_batches
from honeyguide.types import Candidate, Link, Url
from tests.contracts.logs import MemoryFrontierLog

GOOD = Link(Url("http://a.org/"))


def log_of(link: Link) -> MemoryFrontierLog:
    """A log whose only link was exchanged after it was pushed."""
    log = MemoryFrontierLog()
    frontier = LinkFrontier(log, BestFirstOrder())
    frontier.push([Candidate(GOOD, 0.5)])
    frontier._links.fresh[0] = link
    frontier.flush()
    return log


def test_an_honest_link_pops() -> None:
    candidate = LinkFrontier(log_of(GOOD), BestFirstOrder()).pop(0.0)
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
        LinkFrontier(log_of(link), BestFirstOrder()).pop(0.0)


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
    index = next(log.scan_entries())[1]
    bad = MemoryFrontierLog()
    bad.append(index, msgspec.msgpack.encode([frame]))
    with pytest.raises(CollectionCorrupt):
        LinkFrontier(bad, BestFirstOrder()).pop(0.0)
    with pytest.raises(CollectionCorrupt):
        find_logged_link(bad, GOOD.url)


def index(*counts: int, frame: bytes, prints: int = 0) -> bytes:
    """An index that claims these: new, again, raised, done, tried, parked, bytes of names."""
    return log_codec._INDEX_HEAD.pack(1, *counts) + bytes(8 * prints) + frame


def test_an_index_that_is_a_bomb() -> None:
    for bad in (
        index(0, 0, 0, 0, 0, 0, 80_000_000, frame=bomb(80_000_000)),
        index(0, 0, 0, 0, 0, 0, 1, frame=bomb(2)),
        index(0, 0, 0, 0, 0, 0, 1, frame=UNSIZED),
        index(0, 0, 0, 0, 0, 0, 1, frame=HUGE),
        index(0, 0, 0, 10_000_000, 0, 0, 1, frame=bomb(40_000_001)),
        index(1 << 31, 0, 0, 0, 0, 0, 1, frame=b""),
    ):
        log = MemoryFrontierLog()
        log.append(bad, b"")
        with pytest.raises(CollectionCorrupt):
            LinkFrontier(log, BestFirstOrder())
        with pytest.raises(CollectionCorrupt):
            find_logged_link(log, GOOD.url)


def test_indexes_are_held_together_by_what_they_unpack_to(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    log = MemoryFrontierLog()
    for _ in range(10):
        log.append(index(0, 0, 0, 0, 0, 0, 1000, frame=bomb(1000)), b"")
    assert index_size(next(log.scan_entries())[1]) == 1000
    monkeypatch.setattr("honeyguide.frontier.replay.BATCH_BYTES", 3500)
    assert [len(numbers) for numbers, _ in iter_batches(log)] == [3, 3, 3, 1]


def test_odd_numbers_in_a_log() -> None:
    log = log_of(GOOD)
    codec = LogCodec()
    entry, _ = codec.unpack_indexes([next(log.scan_entries())[1]])
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
    bad = MemoryFrontierLog()
    bad.append(codec.pack_index(odd), log.read_text(0))
    candidate = LinkFrontier(bad, BestFirstOrder(), now=5.0, delay=1.0).pop(6.0)
    assert candidate is not None
    assert (candidate.score, candidate.initial_score, candidate.tries) == (1.0, 0.0, 1)
