"""Bytes to text: encodings, and gzip files that came as a body.

A byte-order mark has priority, then the Content-Type header, then a declaration in the first 4 KiB,
then detection. Labels mean what the WHATWG standard says (latin1 is windows-1252). Unknown labels
are ignored, and so is a UTF-8 label on bytes that are not UTF-8.
"""

from __future__ import annotations

import re
import zlib
from functools import lru_cache

import turbohtml

from honeyguide.errors import ParseError
from honeyguide.types import Url

_BINARY = re.compile(rb"%PDF-|PK\x03\x04|\x89PNG|GIF8|\xff\xd8\xff|RIFF|OggS|\x00\x00\x01\x00")
_CONTROLS = bytes(set(range(32)) - set(b"\t\n\r\f\x1b"))
_UTF16 = re.compile(rb"\xff\xfe|\xfe\xff|<\x00|\x00<")
_BINARY_HEAD = 1024
"""Bytes at the start of a body that are looked at."""

_BOMS = ((b"\xef\xbb\xbf", "utf-8"), (b"\xff\xfe", "utf-16le"), (b"\xfe\xff", "utf-16be"))
_WIDE = ((b"<\0", "utf-16le"), (b"\0<", "utf-16be"))
"""Markup in UTF-16 without a byte-order mark."""

_HEADER = re.compile(r"charset\s*+=\s*+(?:[\"']\s*+)?([\w.:+-]{1,40})", re.IGNORECASE).search
_DECLARED = re.compile(
    rb"<meta[^<>]{0,500}?charset\s*+=\s*+(?:[\"']\s*+)?([\w.:+-]{1,40})"
    rb"|<\?xml[^<>]{0,200}?encoding\s*+=\s*+[\"']([\w.:+-]{1,40})",
    re.IGNORECASE,
).search
_DECLARATION = re.compile(rb"charset|encoding", re.IGNORECASE)
_LANGUAGE = re.compile(
    rb"<html[^<>]{0,1000}?\slang\s*+=\s*+(?:[\"']\s*+)?([a-zA-Z]{2})", re.IGNORECASE
)
_TLD = re.compile(r"[a-z][a-z0-9-]*\Z").match

_LABEL = 1_000
"""Characters of a Content-Type that are read."""
_PRESCAN = 4096
_SAMPLE = 65_536
"""Bytes that detection reads."""


def decode_body(body: bytes, content_type: str = "", host: str = "") -> tuple[str, str]:
    """The text and the name of its encoding. Never fails and never leaves a NUL."""
    text, charset = _decode_bytes(body, content_type, host)
    # Every encoding has ASCII's NUL. Looking for it in the bytes is several times faster.
    if b"\0" in body:
        text = text.replace("\0", "")
    return text, charset


def is_utf8(text: str, charset: str, body: bytes) -> bool:
    """Whether the body is exactly this text in UTF-8."""
    if charset != "utf-8" or b"\0" in body or body.startswith(_BOMS[0][0]):
        return False
    return "\ufffd" not in text


def _decode_bytes(body: bytes, content_type: str, host: str) -> tuple[str, str]:
    for mark, charset in _BOMS:
        if body.startswith(mark):
            return body[len(mark) :].decode(charset, "replace"), charset
    charset = _declared_charset(body, content_type)
    if charset.startswith("utf-16"):
        return body.decode(charset, "replace"), charset
    try:
        text = body.decode()
    except UnicodeDecodeError:
        if charset == "utf-8":
            text = body.decode("utf-8", "replace")
            if _is_mostly_utf8(text):
                return text, charset
            charset = ""
    else:
        # Whatever the label: legacy text is never valid UTF-8 by accident. Only pure ASCII
        # leaves room for doubt, since ISO-2022-JP hides in it.
        if charset in ("", "utf-8") or not text.isascii():
            return text, "utf-8"
    # It brings the standard's own decoders, is seldom needed, and slow to load.
    import turbohtml.detect  # noqa: F401

    charset = charset or _detect_charset(body, host)
    return body.decode(f"whatwg-{charset}"), charset


def _declared_charset(body: bytes, content_type: str) -> str:
    """The encoding that header or document declare, by its standard name; '' if none is known."""
    if (in_header := _HEADER(content_type[:_LABEL])) and (charset := _standard_name(in_header[1])):
        return charset
    start = body[:_PRESCAN]
    for mark, charset in _WIDE:
        if start.startswith(mark):
            return charset
    if in_document := _DECLARED(start):
        charset = _standard_name((in_document[1] or in_document[2]).decode("ascii", "replace"))
        # A declaration that could be read byte by byte does not stand in UTF-16.
        return "utf-8" if charset.startswith("utf-16") else charset
    return ""


def _detect_charset(body: bytes, host: str) -> str:
    from turbohtml.detect import Detection, detect

    declared = _LANGUAGE.search(body[:_PRESCAN])
    tld = (
        declared[1].decode().lower()
        if declared and declared[1].lower() == b"tr"
        else host.rpartition(".")[2]
    )
    hint = Detection(tld=tld if _TLD(tld) else None)
    # A declaration was weighed before and found wanting: keep it out of detection's sight.
    found = detect(_DECLARATION.sub(b"", body[:_SAMPLE]), hint).encoding
    return _standard_name(found or "") or "windows-1252"


def _is_mostly_utf8(text: str) -> bool:
    """Whether UTF-8 explains more of the non-ASCII letters than it spoils."""
    spoiled = text.count("\ufffd")
    beyond_ascii = len(text) - len(text.encode("ascii", "ignore"))
    return spoiled * 2 <= beyond_ascii


@lru_cache(maxsize=256)
def _standard_name(label: str) -> str:
    """The WHATWG name of an encoding in lower case; '' for an unknown label."""
    try:
        name = turbohtml.parse(b"", encoding=label).encoding or ""
    except (LookupError, ValueError):
        return ""
    return "" if name == "replacement" else name.lower()


# --- Gzip files, mostly sitemaps ---


GZIP_MAGIC = b"\x1f\x8b"
_MEMBERS = 64
"""Most gzip members of one file."""
_PIECE = 65_536
"""Bytes that are unpacked at a time: what follows a member is copied and must stay small."""


def inflate_gzip(url: Url, body: bytes, limit: int) -> bytes:
    """The content of the file, or as much of it as is intact and within the limit."""
    inflated: list[bytes] = []
    size = at = 0
    view = memoryview(body)
    try:
        for _ in range(_MEMBERS):
            engine = zlib.decompressobj(wbits=31)
            while size < limit and at < len(body) and not engine.eof:
                inflated.append(engine.decompress(view[at : at + _PIECE], limit - size))
                size += len(inflated[-1])
                at += _PIECE
            at = min(at, len(body)) - len(engine.unused_data)
            if size >= limit or not body.startswith(GZIP_MAGIC, at):
                break
    except zlib.error as error:
        if not size:
            raise ParseError(f"{url}: broken gzip: {error}") from error
    return b"".join(inflated)


def is_binary(body: bytes, content_type: str) -> bool:
    """Whether these bytes cannot be text in any supported encoding."""
    start = body[:_BINARY_HEAD]
    if _UTF16.match(start) or "utf-16" in content_type.lower():
        return False
    if _BINARY.match(start):
        return True
    if start.lstrip().startswith(b"<"):
        return False
    controls = len(start) - len(start.translate(None, _CONTROLS))
    return controls * 20 > len(start)
