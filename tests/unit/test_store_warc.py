from __future__ import annotations

import base64
import gzip
import hashlib
import os
from pathlib import Path

import pytest

from honeyguide.config.settings import StoreSettings
from honeyguide.errors import CollectionCorrupt, StoreError
from honeyguide.store import Store, warc
from honeyguide.types import Url, Visit
from tests.unit.store_visits import answer, bad, good, records, warc_files

CLOCK = 1_700_000_000.0


def crawl(folder: Path, *visits: Visit, settings: StoreSettings | None = None) -> list[str]:
    with Store.open(folder, "crawl", settings, clock=lambda: CLOCK) as store:
        with store.transaction():
            store.append_visits(visits)
        return store.warc_archive.warnings


def test_every_answer_is_recorded_with_its_request(tmp_path: Path) -> None:
    moved = Visit(good(2).link, 2.0, response=answer(good(2).link.url, b"", 301))
    lost = Visit(good(3).link, 3.0, response=answer(good(3).link.url, b"gone", 404))
    crawl(tmp_path, good(1), moved, lost, bad(1))
    [path] = warc_files(tmp_path)
    assert path.name == "honeyguide-20231114221320-00001.warc.gz"
    found = list(records(path))
    assert [kind for kind, _, _ in found] == ["warcinfo"] + ["response", "request"] * 3
    assert found[1][1] == good(1).link.url
    assert found[5][2] == b"gone"


def test_a_record_can_be_read_back_alone(tmp_path: Path) -> None:
    crawl(tmp_path, good(1), good(2))
    with Store.open(tmp_path, "read") as store:
        [row] = store.visits.attempts_at(good(2).link.url)
        found = store.warc_record(row)
        assert found is not None
        headers, block = found
        assert store.warc_record(row._replace(warc=None)) is None
        with pytest.raises(CollectionCorrupt):
            store.warc_record(row._replace(offset=row.offset and row.offset + 1))
        with pytest.raises(CollectionCorrupt):
            store.warc_record(row._replace(length=row.length - 1))
        with pytest.raises(StoreError):
            store.warc_record(row._replace(warc="gone.warc.gz"))
    response = good(2).response
    assert response is not None
    assert block == response.head + response.payload
    assert headers["WARC-Date"] == "2023-11-14T22:13:20Z"
    assert headers["WARC-IP-Address"] == "192.0.2.7"
    assert (
        headers["WARC-Payload-Digest"] == row.payload_digest == warc.sha1_digest(response.payload)
    )


def test_digests_are_those_of_the_standard_library() -> None:
    for data in (b"", b"a", b"honey" * 1000):
        wanted = base64.b32encode(hashlib.sha1(data).digest()).decode()
        assert warc.sha1_digest(data[:2], data[2:]) == f"sha1:{wanted}"


def test_what_came_compressed_is_not_compressed_again() -> None:
    body = "".join(f"{n * n % 9973} words " for n in range(3000)).encode()
    plain = answer("https://example.org/")._replace(body=body, payload=body)
    packed = plain._replace(payload=gzip.compress(body, 5))
    record = warc.response_record(packed, "sha1:x", "<urn:x>")
    assert packed.payload in record, "as it came, in a gzip member of its own"
    assert gzip.decompress(record).endswith(packed.payload + b"\r\n\r\n")
    assert len(warc.response_record(plain, "sha1:x", "<urn:x>")) < len(body) / 2


def test_a_payload_seen_before_is_referred_to(tmp_path: Path) -> None:
    same = answer("https://other.example.org/", good(1).response.payload)  # type: ignore[union-attr]
    visits = [
        good(1),
        good(1)._replace(at=5.0),
        Visit(good(2).link, 6.0, response=same),
        Visit(good(3).link, 7.0, response=answer(good(3).link.url, b"", 302)),
        Visit(good(4).link, 8.0, response=answer(good(4).link.url, b"", 302)),
    ]
    crawl(tmp_path, *visits[:2])
    crawl(tmp_path, *visits[2:])
    [path] = warc_files(tmp_path)
    kinds = [kind for kind, _, _ in records(path) if kind != "request"]
    assert kinds == ["warcinfo", "response", "revisit", "revisit", "response", "response"]
    with Store.open(tmp_path, "read") as store:
        row = store.visits.visit_by_id(3)
        assert row is not None
        assert row.payload_of == 1
        found = store.warc_record(row)
        assert found is not None
        headers, block = found
    assert headers["WARC-Profile"].endswith("/identical-payload-digest")
    assert headers["WARC-Refers-To-Target-URI"] == good(1).link.url
    assert headers["WARC-Refers-To-Date"] == "2023-11-14T22:13:20Z"
    assert block == same.head


def test_not_modified_refers_to_the_last_answer(tmp_path: Path) -> None:
    fresh = answer(good(1).link.url, b"", 304)
    stranger = answer(good(9).link.url, b"", 304)
    crawl(
        tmp_path,
        good(1),
        Visit(good(1).link, 9.0, response=fresh),
        Visit(good(9).link, 9.0, response=stranger),
    )
    [path] = warc_files(tmp_path)
    kinds = [kind for kind, _, _ in records(path) if kind != "request"]
    assert kinds == ["warcinfo", "response", "revisit", "response"]
    with Store.open(tmp_path, "read") as store:
        row = store.visits.visit_by_id(2)
        assert row is not None
        found = store.warc_record(row)
        assert found is not None
    assert found[0]["WARC-Profile"].endswith("/server-not-modified")
    assert "WARC-Payload-Digest" not in found[0]


def test_a_full_file_is_followed_by_the_next(tmp_path: Path) -> None:
    settings = StoreSettings(warc_mb=0)
    crawl(tmp_path, good(1), good(2), settings=settings)
    with Store.open(tmp_path, "crawl", settings, clock=lambda: CLOCK) as store:
        for number in (3, 4):
            with store.transaction():
                store.append_visits([good(number)])
        names = [row.warc for row in store.visits.iter_visits()]
    assert len(set(names)) == 3
    assert [path.name for path in warc_files(tmp_path)] == sorted({str(name) for name in names})
    for path in warc_files(tmp_path):
        assert next(records(path))[0] == "warcinfo"


def test_no_files_without_warc(tmp_path: Path) -> None:
    crawl(tmp_path, good(1), settings=StoreSettings(warc=False))
    assert not (tmp_path / "warc").exists()
    with Store.open(tmp_path, "read") as store:
        assert next(store.visits.iter_visits()).warc is None
        assert next(store.visits.iter_visits()).payload_digest


def test_a_failed_transaction_leaves_no_records(tmp_path: Path, monkeypatch) -> None:
    crawl(tmp_path, good(1))
    [path] = warc_files(tmp_path)
    before = path.read_bytes()
    with Store.open(tmp_path, "crawl") as store:

        def failing() -> None:
            with store.transaction():
                store.append_visits([good(2)])
                store.warc_archive.flush()
                assert path.stat().st_size > len(before)
                raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            failing()
        assert path.read_bytes() == before
        with store.transaction():
            store.append_visits([good(3)])
    assert [target for kind, target, _ in records(path) if kind == "response"] == [
        good(1).link.url,
        good(3).link.url,
    ]


def test_the_tail_of_a_killed_process_is_cut_off(tmp_path: Path) -> None:
    crawl(tmp_path, good(1))
    [path] = warc_files(tmp_path)
    before = path.read_bytes()
    with path.open("ab") as file:
        file.write(b"half a rec")
    with Store.open(tmp_path, "read"):
        assert path.stat().st_size == len(before) + 10
    assert crawl(tmp_path) == []
    assert path.read_bytes() == before


def test_a_file_cut_short_is_told_and_not_continued(tmp_path: Path) -> None:
    crawl(tmp_path, good(1))
    [path] = warc_files(tmp_path)
    os.truncate(path, path.stat().st_size // 2)
    [warning] = crawl(tmp_path, good(2), good(1))
    assert "bytes short" in warning
    _, new = warc_files(tmp_path)
    # What was lost is stored in full again: a record that only refers to it would be worthless.
    assert [kind for kind, _, _ in records(new)].count("response") == 2


def test_a_deleted_file_is_told_and_its_payloads_stored_again(tmp_path: Path) -> None:
    crawl(tmp_path, good(1))
    warc_files(tmp_path)[0].unlink()
    [warning] = crawl(tmp_path, good(1))
    assert "is missing" in warning
    [path] = warc_files(tmp_path)
    assert [kind for kind, _, _ in records(path)] == ["warcinfo", "response", "request"]


def test_heads_that_would_confuse_readers_are_written_anew(tmp_path: Path) -> None:
    heads = [
        b"",
        b"HTTP/1.1 200 OK\r\nX: 1\r\n",
        b"HTTP/1.1 200 OK\r\n\r\nSmuggled: 1\r\n\r\n",
        b"HTTP/1.1 200 OK\nA: b\n\nrest\r\n\r\n",
        b"garbage\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
    ]
    hostile = (("X\r\nInjected: 1", "a\r\n\r\nWARC/1.1"), ("", ""), ("Ok", "\x00\ud800é"))
    visits = [
        good(n)._replace(response=answer(f"https://e.org/{n}", b"p%d" % n, head=h, headers=hostile))
        for n, h in enumerate(heads)
    ]
    crawl(tmp_path, *visits)
    [path] = warc_files(tmp_path)
    contents = [content for kind, _, content in records(path) if kind == "response"]
    assert contents == [b"p%d" % n for n in range(len(heads))]


def test_no_header_can_be_injected() -> None:
    url = Url("https://e.org/\r\nWARC-Type: evil\r\n\r\n \u00e9\ud800\x00")
    data = answer(url, ip="1.2.3.4\r\nEvil: 1", request_head=b"GET / HTTP/1.1\r\n")
    for record in (
        warc.response_record(data, "sha1:X\r\nEvil: 1", "<urn:x>\r\nEvil: 1"),
        warc.request_record(data, "<urn:x>\r\nEvil: 1"),
        warc.revisit_record(data, warc.IDENTICAL_PAYLOAD, "x", url, 1.0, "<urn:x>"),
    ):
        head = gzip.decompress(record).partition(b"\r\n\r\n")[0]
        names = [line.partition(b":")[0] for line in head.split(b"\r\n")[1:]]
        assert b"Evil" not in names
        assert names.count(b"WARC-Type") == 1
        assert b"WARC-IP-Address" not in names
        assert head.count(b"\n") == head.count(b"\r\n")


@pytest.mark.parametrize("at", [float("inf"), float("nan"), -1e18, 1e18, 0.0])
def test_no_time_breaks_the_date(at: float) -> None:
    assert len(warc.warc_date(at)) == 20
