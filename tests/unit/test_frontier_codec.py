from __future__ import annotations

import pytest

from honeyguide.errors import CollectionCorrupt, CollectionTooNew
from honeyguide.frontier.frontier import LinkFrontier
from honeyguide.frontier.log_codec import CHUNK_LINKS, LogCodec
from honeyguide.frontier.order import BestFirstOrder
from honeyguide.types import Candidate, Link, Url
from tests.contracts.logs import MemoryFrontierLog


def filled(links: int = 300) -> MemoryFrontierLog:
    log = MemoryFrontierLog()
    frontier = LinkFrontier(log, BestFirstOrder())
    for at in range(0, links, 50):
        frontier.push(
            Candidate(Link(Url(f"http://h{n % 9}.org/a/page-{n}.html"), anchor=f"Page {n}"), 0.5)
            for n in range(at, at + 50)
        )
        frontier.push([Candidate(Link(Url(f"http://h{at % 9}.org/a/page-{at}.html")), 0.75)])
        candidate = frontier.pop(at)
        assert candidate is not None
        if at % 100:
            frontier.finish(candidate, at, 1.0)
        else:
            frontier.retry(candidate, at, 1.0, at + 2.0)
        frontier.park_host(f"h{at}.org", at + 1000.0)
        frontier.flush()
    return log


def test_several_entries_read_as_one() -> None:
    codec = LogCodec()
    indexes = [index for _, index in filled().scan_entries()]
    whole, counts = codec.unpack_indexes(indexes)
    singles = [codec.unpack_indexes([index])[0] for index in indexes]
    assert counts == [50] * 6
    for name in whole._fields:
        parts = [getattr(single, name) for single in singles]
        assert list(getattr(whole, name)) == [item for part in parts for item in part], name
    assert len(whole.done) + len(whole.tried) == 6


def test_an_entry_packs_to_the_same_bytes_again() -> None:
    codec = LogCodec()
    for _, index in filled().scan_entries():
        assert codec.pack_index(codec.unpack_indexes([index])[0]) == index


def test_a_text_is_read_chunk_by_chunk() -> None:
    codec = LogCodec()
    links = [Link(Url(f"http://a.org/{n}")) for n in range(2 * CHUNK_LINKS + 1)]
    chunks = codec.unpack_text(codec.pack_text(links))
    assert len(chunks) == 3
    assert codec.unpack_link(codec.unpack_chunk(chunks, 1), 2) == links[CHUNK_LINKS + 2]
    assert codec.unpack_links(codec.unpack_chunk(chunks, 2)) == links[-1:]


def test_links_are_small() -> None:
    log = filled(3000)
    size = sum(len(index) + len(log.read_text(number)) for number, index in log.scan_entries())
    assert size / 3000 < 60


@pytest.mark.parametrize("at", [0, 1, 5, 30, 200, 420, -1])
def test_a_damaged_index_is_said_to_be_damaged(at: int) -> None:
    log = MemoryFrontierLog()
    for number, index in filled().scan_entries():
        damaged = bytearray(index)
        damaged[at] ^= 0xFF
        log.append(bytes(damaged) if number == 3 else index, b"")
    if at in (30, 200, 420):  # a fingerprint, or nothing that the format could notice
        LinkFrontier(log, BestFirstOrder())
        return
    with pytest.raises((CollectionCorrupt, CollectionTooNew)):
        LinkFrontier(log, BestFirstOrder())


@pytest.mark.parametrize("cut", [0, 3, 29, 100, 460])
def test_a_short_index_is_said_to_be_damaged(cut: int) -> None:
    log = MemoryFrontierLog()
    for _, index in filled().scan_entries():
        log.append(index[:cut], b"")
    with pytest.raises(CollectionCorrupt):
        LinkFrontier(log, BestFirstOrder())


@pytest.mark.parametrize("text", [b"", b"nonsense", b"\x91\xc4\x01x", b"\x90"])
def test_a_damaged_text_is_said_to_be_damaged(text: bytes) -> None:
    log = MemoryFrontierLog()
    for _, index in filled().scan_entries():
        log.append(index, text)
    frontier = LinkFrontier(log, BestFirstOrder())
    with pytest.raises(CollectionCorrupt):
        frontier.pop(1e6)


def test_rows_beyond_the_end_are_damage() -> None:
    log = MemoryFrontierLog()
    log.append(list(filled().scan_entries())[-1][1], b"")
    with pytest.raises(CollectionCorrupt, match="does not contain"):
        LinkFrontier(log, BestFirstOrder())
