"""WARC 1.1 records, each in a gzip member of its own.

ISO 28500:2017. Values and bytes only; which file they go to is the archive's business.
"""

from __future__ import annotations

import os
import re
import zlib
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import lru_cache
from hashlib import sha1
from pathlib import Path
from typing import Any
from uuid import uuid4

from isal import isal_zlib

from honeyguide import __version__
from honeyguide.errors import CollectionCorrupt
from honeyguide.store.collection_files import open_regular
from honeyguide.types import Response

IDENTICAL_PAYLOAD = "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest"
SERVER_NOT_MODIFIED = "http://netpreserve.org/warc/1.1/revisit/server-not-modified"

WarcFields = Sequence[tuple[str, str]]

_UNSAFE_CHARS = re.compile(r"[^\x21-\x7e]")
_LINE_BREAKS = re.compile(r"[\x00\r\n]+")
_CONTENT_LENGTH = re.compile(r"[0-9]{1,18}").fullmatch
_IP_ADDRESS = re.compile(r"[0-9A-Fa-f:.]{2,45}").fullmatch
_TRANSFER_ENCODING = re.compile(rb"^transfer-encoding(?=[ \t]*:)", re.IGNORECASE | re.MULTILINE)
_MAX_RECORD_BYTES = 1 << 28
"""No record unpacks to more bytes than this."""
_BASE32 = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
_BASE32_PAIRS = [high + low for high in _BASE32 for low in _BASE32]


def sha1_digest(*parts: bytes) -> str:
    """``sha1:`` and base 32, the form that other tools expect."""
    value = sha1(usedforsecurity=False)
    for part in parts:
        value.update(part)
    number = int.from_bytes(value.digest(), "big")
    # Ten bits at a time: the standard library's b32encode costs as much as the hash itself.
    return "sha1:" + "".join(
        [_BASE32_PAIRS[number >> shift & 1023] for shift in range(150, -1, -10)]
    )


def warc_date(at: float) -> str:
    try:
        return _iso_second(int(at))
    except (ValueError, OverflowError, OSError):
        return "1970-01-01T00:00:00Z"


@lru_cache(maxsize=64)
def _iso_second(second: int) -> str:
    return datetime.fromtimestamp(second, UTC).isoformat()[:19] + "Z"


def make_record(
    kind: str,
    at: float,
    fields: WarcFields,
    *block: bytes,
    identity: str = "",
    level: int | None = 2,
) -> bytes:
    """One finished record. No field can bring a line break with it.

    Level 2 of isal takes a tenth of zlib's time for files a sixth larger; level 0 takes half
    of that, for what is short. None: it is compressed already, and any level would add a quarter.
    """
    size = sum(map(len, block))
    lines = [
        "WARC/1.1",
        f"WARC-Type: {kind}",
        f"WARC-Record-ID: {_LINE_BREAKS.sub(' ', identity) or new_record_id()}",
        f"WARC-Date: {warc_date(at)}",
        *(f"{name}: {_LINE_BREAKS.sub(' ', value)}" for name, value in fields),
        f"WARC-Block-Digest: {sha1_digest(*block)}",
        f"Content-Length: {size}",
        "\r\n",
    ]
    head = "\r\n".join(lines).encode("utf-8", "replace")
    data = b"".join((head, *block, b"\r\n\r\n"))
    if level is None:
        return zlib.compress(data, 0, 31)
    return bytes(isal_zlib.compress(data, level, 31))


def new_record_id() -> str:
    return f"<urn:uuid:{uuid4()}>"


def warcinfo_record(name: str, at: float) -> bytes:
    """The record that begins a file."""
    block = (
        f"software: Honeyguide/{__version__}\r\n"
        "format: WARC File Format 1.1\r\n"
        "conformsTo: https://iipc.github.io/warc-specifications/specifications/"
        "warc-format/warc-1.1/\r\n"
        "robots: obey\r\n"
    ).encode()
    fields = (("WARC-Filename", name), ("Content-Type", "application/warc-fields"))
    return make_record("warcinfo", at, fields, block)


def response_record(answer: Response, payload_digest: str, identity: str) -> bytes:
    fields = [
        *_target_fields(answer),
        ("WARC-Payload-Digest", payload_digest),
        ("Content-Type", "application/http; msgtype=response"),
    ]
    block = (http_head(answer), answer.payload)
    level = 2 if answer.payload == answer.body else None
    return make_record("response", answer.started, fields, *block, identity=identity, level=level)


def request_record(answer: Response, identity: str) -> bytes:
    """The request that brought the answer with this record id; b'' if it was not kept."""
    if not answer.request_head:
        return b""
    head = answer.request_head
    if not head.endswith(b"\r\n\r\n"):
        head = head.rstrip(b"\r\n") + b"\r\n\r\n"
    fields = [
        *_target_fields(answer),
        ("WARC-Concurrent-To", identity),
        ("Content-Type", "application/http; msgtype=request"),
    ]
    return make_record("request", answer.started, fields, head, level=0)


def revisit_record(
    answer: Response, profile: str, payload_digest: str, of: str, at: float, identity: str
) -> bytes:
    """An answer whose payload is that of an earlier one: of this address, at that time."""
    fields = [
        *_target_fields(answer),
        ("WARC-Profile", profile),
        ("WARC-Refers-To-Target-URI", safe_url(of)),
        ("WARC-Refers-To-Date", warc_date(at)),
        ("Content-Type", "application/http; msgtype=response"),
    ]
    if profile == IDENTICAL_PAYLOAD:
        fields.append(("WARC-Payload-Digest", payload_digest))
    return make_record("revisit", answer.started, fields, http_head(answer), identity=identity)


def safe_url(url: str) -> str:
    """The address with whatever could break a header line percent-encoded."""
    return _UNSAFE_CHARS.sub(
        lambda m: "".join(f"%{byte:02X}" for byte in m[0].encode("utf-8", "replace")), url
    )


def http_head(answer: Response) -> bytes:
    """Status line and headers, ending in the only blank line.

    The payload is stored without its transfer coding, so a header that announces one is kept
    under another name. A head that would confuse readers is written anew from its fields.
    """
    head = answer.head
    whole = head.startswith(b"HTTP/1.") and head.endswith(b"\r\n\r\n")
    if not whole or head.find(b"\n\r\n") != len(head) - 3 or b"\n\n" in head or b"\0" in head:
        lines = [f"HTTP/1.1 {answer.status} "]
        lines += [f"{_one_line(name)}: {_one_line(value)}" for name, value in answer.headers]
        head = ("\r\n".join(lines) + "\r\n\r\n").encode("utf-8", "replace")
    return _TRANSFER_ENCODING.sub(b"X-Archive-Orig-Transfer-Encoding", head)


def read_raw_records(path: Path, offset: int, *lengths: int) -> bytes:
    """Records that follow one another, as they lie in the file; b'' if it lost any of them.

    Raises CollectionCorrupt if something else lies there.
    """
    numbers: tuple[Any, ...] = (offset, *lengths)  # as a stranger's database says
    if not all(isinstance(number, int) and number >= 0 for number in numbers):
        raise CollectionCorrupt(f"there can be no record at byte {offset!r} of {path}")
    try:
        fd = open_regular(path, os.O_RDONLY)
    except FileNotFoundError:
        return b""
    with os.fdopen(fd, "rb") as file:
        if offset + sum(lengths) > os.fstat(fd).st_size:
            return b""
        file.seek(offset)
        parts = [file.read(length) for length in lengths if length]
    for part in parts:
        if _unpack_member(part, 5, path, offset)[0] != b"WARC/":
            raise CollectionCorrupt(f"{path} holds no record at byte {offset}")
        offset += len(part)
    return b"".join(parts)


def read_record(path: Path, offset: int, length: int) -> tuple[dict[str, str], bytes]:
    """The record's own headers and its block."""
    data = read_raw_records(path, offset, length)
    plain, whole = _unpack_member(data, _MAX_RECORD_BYTES, path, offset)
    head, mark, rest = plain.partition(b"\r\n\r\n")
    headers = {}
    for line in head.decode("utf-8", "replace").split("\r\n")[1:]:
        name, _, value = line.partition(":")
        headers[name] = value.strip()
    size = headers.get("Content-Length", "")
    if not (whole and mark and _CONTENT_LENGTH(size) and len(rest) == int(size) + 4):
        raise CollectionCorrupt(f"{path} holds no whole record at byte {offset}")
    return headers, rest[:-4]


def _unpack_member(data: bytes, most: int, path: Path, offset: int) -> tuple[bytes, bool]:
    """The beginning of a gzip member, and whether that and nothing else was all."""
    unpacker = zlib.decompressobj(wbits=31)
    try:
        plain = unpacker.decompress(data, most)
    except zlib.error as error:
        raise CollectionCorrupt(f"{path} is damaged at byte {offset}: {error}") from error
    return plain, unpacker.eof and not unpacker.unused_data


def _target_fields(answer: Response) -> list[tuple[str, str]]:
    fields = [("WARC-Target-URI", safe_url(answer.url))]
    if _IP_ADDRESS(answer.ip):
        fields.append(("WARC-IP-Address", answer.ip))
    return fields


def _one_line(text: str) -> str:
    return _LINE_BREAKS.sub(" ", text).strip() or "-"
