"""Recorded webs: JSON lines, aliases, WARC files."""

from __future__ import annotations

import gzip
import json
import lzma
from io import BytesIO
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter

from honeyguide.errors import ConfigError
from honeyguide.lab.web import (
    RecordedResponse,
    RecordedWeb,
    gunzip_bytes,
    gzip_bytes,
    parse_http_response,
)


def page(url: str, html: str = "<p>hello", **more: object) -> dict[str, object]:
    return {"url": url, "charset": "utf-8", "content_type": "text/html", "html": html, **more}


def write(path: Path, *lines: dict[str, object]) -> Path:
    text = "".join(json.dumps(line) + "\n" for line in lines).encode()
    path.write_bytes(lzma.compress(text) if path.suffix == ".xz" else gzip.compress(text))
    return path


def warc(*records: tuple[str, str, bytes, str]) -> bytes:
    """Records of (type, address, content, payload digest), each its own gzip member."""
    out = b""
    for kind, url, content, digest in records:
        head = f"WARC/1.1\r\nWARC-Type: {kind}\r\nWARC-Target-URI: {url}\r\n"
        head += f"WARC-Payload-Digest: {digest}\r\nContent-Length: {len(content)}\r\n\r\n"
        out += gzip.compress(head.encode() + content + b"\r\n\r\n")
    return out


def http(body: bytes, *headers: str, status: int = 200) -> bytes:
    head = [f"HTTP/1.1 {status} Word", "Content-Type: text/html", *headers]
    return "\r\n".join(head).encode() + b"\r\n\r\n" + body


@pytest.mark.parametrize("suffix", [".jsonl.gz", ".jsonl.xz"])
def test_pages_are_read_from_json_lines(tmp_path: Path, suffix: str) -> None:
    path = write(
        tmp_path / f"w{suffix}",
        page("http://a.org/", "<p>ş€", charset="iso-8859-9", labels=["x"]),
        page("https://b.org/x", title="B", kind="unknown fields are no trouble"),
        {"id": "no page at all"},
    )
    web = RecordedWeb.load([path])
    assert len(web) == 2
    assert web.hosts == {"a.org", "b.org"}
    first = web.find("https://A.org")
    assert first is not None
    assert first.body == "<p>ş".encode("iso-8859-9") + b"&#8364;"
    assert first.header("content-type") == "text/html; charset=iso-8859-9"
    assert first.labels == web.labels_of("http://a.org/") == ("x",)
    assert web.urls_labelled("x") == ["http://a.org/"]
    assert web.labels_of("http://nowhere.org/") == ()


def test_an_impossible_charset_becomes_utf8(tmp_path: Path) -> None:
    path = write(tmp_path / "w.jsonl.gz", page("http://a.org/", "é", charset="no-such"))
    record = RecordedWeb.load([path]).find("http://a.org/")
    assert record is not None
    assert record.body.decode() == "é"
    assert record.header("content-type").endswith("utf-8")


def test_alias_files_beside_a_page_file_are_redirects(tmp_path: Path) -> None:
    path = write(tmp_path / "corpus-small.jsonl.gz", page("http://a.org/x/"), page("http://a.org/"))
    write(
        tmp_path / "corpus.aliases.jsonl.gz",
        {"alias": "http://a.org/x", "url": "http://a.org/x/"},
        {"alias": "http://a.org/", "url": "http://a.org/x/"},
    )
    write(tmp_path / "other.aliases.jsonl.gz", {"alias": "http://c.org/", "url": "http://a.org/"})
    web = RecordedWeb.load([path])
    alias = web.find("http://a.org/x")
    assert alias is not None
    assert (alias.status, alias.header("location")) == (301, "http://a.org/x/")
    assert web.find("http://a.org/").status == 200  # type: ignore[union-attr]
    assert web.find("http://c.org/") is None
    assert len(web) == 2, "redirects are no pages"


def test_escapes_are_read_as_servers_read_them() -> None:
    tilde = RecordedResponse("http://a.org/~joe/", 200, (), b"")
    space = RecordedResponse("http://a.org/a%20b%2Fc", 200, (), b"")
    web = RecordedWeb([tilde, space])
    assert web.find("http://a.org/%7Ejoe/") is tilde
    assert web.find("http://a.org/a b%2fc") is space


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("w.jsonl.gz", gzip.compress(b'{"url": 5}\n', mtime=0), "line 1"),
        ("w.jsonl.gz", gzip.compress(b"{}\n", mtime=0)[:-9], "cannot be read"),
        ("w.jsonl.gz", b"not gzip", "cannot be read"),
        ("w.jsonl.xz", b"not xz", "cannot be read"),
        ("w.jsonl.gz", gzip.compress(b'{"id": 1}\n', mtime=0), "no web pages"),
        ("w.zip", b"", "not a recorded web"),
        ("w.warc", b"GET / HTTP/1.1\r\n", "not a readable WARC"),
        ("w.warc.gz", b"this is no gzip at all", "not a readable WARC"),
    ],
)
def test_bad_files_are_named(tmp_path: Path, name: str, content: bytes, says: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ConfigError, match=says):
        RecordedWeb.load([tmp_path / name])


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"gone\.jsonl"):
        RecordedWeb.load([tmp_path / "gone.jsonl"])


def test_warc_responses_and_revisits(tmp_path: Path) -> None:
    zipped = gzip.compress(b"<p>two")
    chunked = b"5\r\n<p>ab\r\n3;x=y\r\ncde\r\n0\r\n\r\n"
    path = tmp_path / "w.warc.gz"
    path.write_bytes(
        warc(
            ("warcinfo", "", b"software: x", ""),
            ("response", "http://a.org/", http(b"", "Location: https://a.org/", status=301), ""),
            ("response", "https://a.org/", http(b"<p>one"), "sha1:1"),
            ("response", "http://a.org/zip", http(zipped, "Content-Encoding: gzip"), ""),
            ("response", "http://a.org/chunks", http(chunked, "Transfer-Encoding: chunked"), ""),
            ("response", "http://a.org/liar", http(b"plain", "Transfer-Encoding: chunked"), ""),
            ("response", "http://a.org/bad", http(b"x" * 40, "Content-Encoding: gzip"), ""),
            ("request", "http://a.org/req", b"GET / HTTP/1.1\r\n\r\n", ""),
            ("revisit", "http://a.org/copy", b"HTTP/1.1 200 OK\r\n\r\n", "sha1:1"),
            ("revisit", "http://a.org/lost", b"HTTP/1.1 200 OK\r\n\r\n", "sha1:2"),
            ("response", "http://a.org/", http(b"gone", status=404), ""),
            ("response", "dns:a.org", b"1.2.3.4", ""),
        )
    )  # fmt: skip
    web = RecordedWeb.load([path])
    assert {record.url: record.body for record in web} == {
        "https://a.org/": b"<p>one",
        "http://a.org/zip": b"<p>two",
        "http://a.org/chunks": b"<p>abcde",
        "http://a.org/liar": b"plain",
        "http://a.org/copy": b"<p>one",
    }


def test_a_warc_file_that_is_still_being_written(tmp_path: Path) -> None:
    whole = warc(("response", "http://a.org/", http(b"<p>one"), ""))
    more = warc(("response", "http://a.org/2", http(b"<p>two" * 99), ""))
    (tmp_path / "w.warc.gz").write_bytes(whole + more[:-20])
    (tmp_path / "w.warc").write_bytes(gzip.decompress(whole) + gzip.decompress(more)[:-50])
    for name in ("w.warc.gz", "w.warc"):
        assert [r.url for r in RecordedWeb.load([tmp_path / name])] == ["http://a.org/"]


def test_a_warc_file_of_another_program(tmp_path: Path) -> None:
    headers = StatusAndHeaders("200 OK", [("Content-Type", "text/html")], "HTTP/1.1")
    with (tmp_path / "w.warc.gz").open("wb") as file, BytesIO(b"<p>one") as body:
        writer = WARCWriter(file, gzip=True)
        first = writer.create_warc_record("http://a.org/", "response", body, http_headers=headers)
        writer.write_record(first)
        first.raw_stream.close()
        digest = first.rec_headers.get_header("WARC-Payload-Digest")
        writer.write_record(
            writer.create_revisit_record(
                "http://a.org/copy", digest, "http://a.org/", "2026-01-01T00:00:00Z", headers
            )
        )
    bodies = {record.url: record.body for record in RecordedWeb.load([tmp_path / "w.warc.gz"])}
    assert bodies == {"http://a.org/": b"<p>one", "http://a.org/copy": b"<p>one"}


@given(st.binary(max_size=300))
def test_no_recorded_answer_crashes_the_reader(content: bytes) -> None:
    for start in (b"", b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", b"HTTP/1.0 "):
        answer = parse_http_response(start + content)
        assert answer is None or 100 <= answer.status <= 999


@given(st.binary(max_size=3000))
def test_packing_keeps_everything(body: bytes) -> None:
    assert gunzip_bytes(gzip_bytes(body)) == body
    assert gzip.decompress(gzip_bytes(body)) == body if body else gzip_bytes(body) == b""
