"""Whatever a server sends, our WARC files are read by others' tools, and give it back."""

from __future__ import annotations

import gzip
import io

from hypothesis import given, settings
from hypothesis import strategies as st
from warcio.archiveiterator import ArchiveIterator

from honeyguide.store import warc
from honeyguide.types import Response, Url

texts = st.text(max_size=60)
heads = st.one_of(
    st.binary(max_size=200),
    st.binary(max_size=100).map(lambda b: b"HTTP/1.1 200 OK\r\nX: " + b + b"\r\n\r\n"),
    st.just(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n"),
)
answers = st.builds(
    Response,
    url=texts.map(lambda t: Url("https://e.org/" + t)),
    status=st.integers(100, 999),
    headers=st.lists(st.tuples(texts, texts), max_size=5).map(tuple),
    payload=st.binary(max_size=500),
    body=st.binary(max_size=10),
    request_head=st.binary(max_size=100),
    head=heads,
    ip=texts,
    started=st.floats(),
    elapsed=st.just(0.1),
)


@given(st.lists(answers, min_size=1, max_size=4))
@settings(max_examples=150)
def test_every_file_is_valid(found: list[Response]) -> None:
    file = [warc.warcinfo_record("x.warc.gz", 0.0)]
    expected: list[tuple[str, bytes | None]] = [("warcinfo", None)]
    for answer in found:
        identity = warc.new_record_id()
        digest = warc.sha1_digest(answer.payload)
        file.append(warc.response_record(answer, digest, identity))
        expected.append(("response", answer.payload))
        file.append(
            warc.revisit_record(answer, warc.IDENTICAL_PAYLOAD, digest, answer.url, 1.0, identity)
        )
        expected.append(("revisit", b""))
        if asked := warc.request_record(answer, identity):
            file.append(asked)
            expected.append(("request", None))
    read = ArchiveIterator(io.BytesIO(b"".join(file)), check_digests="raise")
    for record, (kind, payload) in zip(read, expected, strict=True):
        content = record.raw_stream.read()
        assert record.rec_type == kind
        assert record.digest_checker.passed is not False
        if payload is not None:
            assert content == payload


@given(answers)
def test_a_record_says_its_own_length_and_no_more(answer: Response) -> None:
    plain = gzip.decompress(warc.response_record(answer, "sha1:X", "<urn:x>"))
    head, _, rest = plain.partition(b"\r\n\r\n")
    fields = [line.split(b": ", 1) for line in head.split(b"\r\n")[1:]]
    names = [name for name, _ in fields]
    assert len(names) == len(set(names))
    assert dict(fields)[b"Content-Length"] == str(len(rest) - 4).encode()
    assert rest.endswith(answer.payload + b"\r\n\r\n")
