"""Recorded webs: reading WARC and JSON lines, looking pages up, labels."""

from __future__ import annotations

import gzip
import lzma
import tomllib
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib.resources import as_file, files
from itertools import chain
from pathlib import Path
from typing import IO, Any, NamedTuple, Protocol, Self, TypeVar, cast
from urllib.parse import unquote

import msgspec
from isal import igzip, isal_zlib

from honeyguide.config.validation import build_dataclass
from honeyguide.errors import ConfigError, FetchError
from honeyguide.fetch.decode import decode_body
from honeyguide.url import canonical_url

_GZIP_WINDOW = 31
"""zlib's window number for a gzip head and tail."""

_IsalError = cast("type[Exception]", isal_zlib.error)  # its stub calls the class an instance
UNREADABLE_ERRORS = (OSError, EOFError, zlib.error, lzma.LZMAError, _IsalError)
"""What reading a damaged or missing file raises."""


def gzip_bytes(body: bytes) -> bytes:
    """gzip, without a time in its head: the same body packs to the same bytes."""
    return isal_zlib.compress(body, 1, _GZIP_WINDOW) if body else b""


def gunzip_bytes(packed: bytes) -> bytes:
    return isal_zlib.decompress(packed, _GZIP_WINDOW) if packed else b""


def open_compressed(path: Path) -> IO[bytes]:
    """A file to read, whether its name says gzip, xz or nothing."""
    if path.suffix == ".gz":
        return cast("IO[bytes]", igzip.open(path, "rb"))  # type: ignore[no-untyped-call]
    if path.suffix == ".xz":
        return lzma.open(path, "rb")
    return path.open("rb")


# --------------------------------------------------------------------------------------------------
# A web held in memory: addresses and the answers that were recorded for them.
#
# http and https are one web here, so an address is known by what follows its scheme. Bodies
# rest gzip'd, as they will mostly be served, so that tens of thousands of pages are comfortable.
# --------------------------------------------------------------------------------------------------


Headers = tuple[tuple[str, str], ...]


class RecordedResponse(NamedTuple):
    """One recorded answer."""

    url: str
    """Canonical, with the scheme it was recorded under."""
    status: int
    headers: Headers
    packed: bytes
    """The body, content coding undone, then gzip'd."""
    labels: tuple[str, ...] = ()
    """What the judge knows; never served."""

    @property
    def body(self) -> bytes:
        return gunzip_bytes(self.packed)

    def header(self, name: str) -> str:
        """The first header of that (lower-case) name, or ''."""
        return next((value for key, value in self.headers if key.lower() == name), "")

    @property
    def is_redirect(self) -> bool:
        return self.status in (301, 302, 303, 307, 308)


class LabWeb(Protocol):
    """What the lab serves: recorded or made."""

    @property
    def hosts(self) -> frozenset[str]: ...

    def lookup(self, key: str) -> RecordedResponse | None:
        """The answer for a canonical address without its scheme: ``host/path?query``."""

    def labels_of(self, url: str) -> tuple[str, ...]:
        """What the judge knows of an address."""

    def urls_labelled(self, label: str) -> Iterable[str]:
        """Addresses of the pages that carry this label."""

    def page_urls(self) -> Iterable[str]:
        """Addresses of all pages."""

    def is_endless(self, url: str) -> bool:
        """Whether it is one of addresses without end, such as a calendar's months."""

    def __iter__(self) -> Iterator[RecordedResponse]: ...

    def __len__(self) -> int: ...


class RecordedWeb:
    """Address → recorded answer."""

    def __init__(
        self, records: Iterable[RecordedResponse] = (), aliases: Mapping[str, str] | None = None
    ) -> None:
        """``aliases``: addresses that redirect to others; a recorded answer goes before one."""
        self._records: dict[str, RecordedResponse] = {}
        for record in records:
            self._add_record(record)
        for alias, target in (aliases or {}).items():
            source, goal = canonical_url(alias), canonical_url(target)
            if source and goal and without_scheme(source) not in self._records:
                self._add_record(RecordedResponse(source, 301, (("Location", goal),), b""))
        self.hosts: frozenset[str] = frozenset(key.partition("/")[0] for key in self._records)
        # Servers read %7E and ~ alike, so a miss is looked up once more with escapes undone.
        self._loose = {unquote(key): key for key in self._records if "%" in key}

    @classmethod
    def load(cls, paths: Iterable[Path]) -> Self:
        """Read gzip'd or xz'd JSON lines and WARC files; alias files beside them come along. Where
        files of labels are named, pages have these labels and no others."""

        files = [Path(path) for path in paths]
        alias_files = {path for path in files if ".aliases." in path.name}
        label_files = [path for path in files if ".labels." in path.name]
        pages: list[Iterator[RecordedResponse]] = []
        for path in files:
            if path in alias_files or path in label_files:
                continue
            if path.name.endswith((".warc", ".warc.gz")):
                pages.append(read_warc(path))
            else:
                pages.append(read_pages(path))
                alias_files.update(sibling_alias_files(path))
        aliases: dict[str, str] = {}
        for path in sorted(alias_files):
            aliases.update(read_aliases(path))
        records: Iterator[RecordedResponse] = chain.from_iterable(pages)
        if label_files:
            labels = read_page_labels(label_files)
            records = (r._replace(labels=labels.get(without_scheme(r.url), ())) for r in records)
        web = cls(records, aliases)
        if not len(web):
            raise ConfigError(f"no web pages in {', '.join(map(str, files)) or 'no files'}")
        return web

    def find(self, url: str) -> RecordedResponse | None:
        """The answer for an address in any spelling, any scheme."""
        known = canonical_url(url)
        return None if known is None else self.lookup(without_scheme(known))

    def lookup(self, key: str) -> RecordedResponse | None:
        """The answer for a canonical address without its scheme: ``host/path?query``."""
        record = self._records.get(key)
        if record is None and "%" in key:
            plain = unquote(key)
            record = self._records.get(self._loose.get(plain, plain))
        return record

    def labels_of(self, url: str) -> tuple[str, ...]:
        record = self.find(url)
        return record.labels if record else ()

    def urls_labelled(self, label: str) -> list[str]:
        """Addresses of the pages that carry this label, or all of several: ``a & b``."""
        wanted = set(label.split(" & "))
        return [record.url for record in self if wanted.issubset(record.labels)]

    def page_urls(self) -> list[str]:
        return [record.url for record in self]

    def is_endless(self, url: str) -> bool:  # noqa: ARG002 - what was recorded has an end
        return False

    def __iter__(self) -> Iterator[RecordedResponse]:
        """The pages: answers that are not redirects."""
        return (record for record in self._records.values() if not record.is_redirect)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def _add_record(self, record: RecordedResponse) -> None:
        key = without_scheme(record.url)
        if record.is_redirect:
            goal = canonical_url(record.header("location"), canonical_url(record.url))
            if goal and without_scheme(goal) == key:
                return  # http → https of one address: here they are the same
        known = self._records.get(key)
        if known is None or known.status != 200 or record.status == 200:
            self._records[key] = record


def without_scheme(url: str) -> str:
    return url[url.index("//") + 2 :]


# --------------------------------------------------------------------------------------------------
# Read pages and aliases from compressed JSON lines, one page a line.
# --------------------------------------------------------------------------------------------------


JSONL_SUFFIXES = (".jsonl.gz", ".jsonl.xz", ".jsonl")

T = TypeVar("T")
_MAX_LANGUAGE_LENGTH = 20
"""Characters of a language's name."""


class PageLine(msgspec.Struct):
    """A line of a page file; fields that are not named here are skipped."""

    url: str = ""
    html: str | None = None
    charset: str | None = None
    content_type: str | None = None
    labels: list[str] = []
    lang: Any = None
    """Told by whoever recorded it; a page in Turkish is labelled ``language=tr``."""


class AliasLine(msgspec.Struct):
    alias: str
    url: str


def read_pages(path: Path) -> Iterator[RecordedResponse]:
    """Every line that has an address and HTML; other lines are not pages and are skipped."""
    for line in _decode_lines(path, PageLine):
        url = canonical_url(line.url)
        if url is None or line.html is None:
            continue
        charset, body = _encode_html(line.html, line.charset or "utf-8")
        yield RecordedResponse(
            url,
            200,
            (("Content-Type", _with_charset(line.content_type or "text/html", charset)),),
            gzip_bytes(body),
            (*line.labels, *_language_label(line.lang)),
        )


def read_page_labels(paths: Iterable[Path]) -> dict[str, tuple[str, ...]]:
    """Address without scheme → labels, from lines with ``url`` and ``labels``."""
    lines = chain.from_iterable(_decode_lines(path, PageLine) for path in paths)
    known = ((canonical_url(line.url), tuple(line.labels)) for line in lines)
    return {without_scheme(url): labels for url, labels in known if url is not None}


def read_aliases(path: Path) -> dict[str, str]:
    return {line.alias: line.url for line in _decode_lines(path, AliasLine)}


def sibling_alias_files(path: Path) -> Iterable[Path]:
    """Alias files that belong to a page file: ``x.aliases.jsonl.gz`` to ``x`` and ``x-small``."""
    name = _file_stem(path)
    for other in path.parent.glob("*.aliases.jsonl*"):
        theirs = _file_stem(other).removesuffix(".aliases")
        if name == theirs or name.startswith(theirs + "-"):
            yield other


def _decode_lines(path: Path, kind: type[T]) -> Iterator[T]:
    if not path.name.endswith(JSONL_SUFFIXES):
        raise ConfigError(
            f"{path} is not a recorded web: {', '.join(JSONL_SUFFIXES)}, .warc or .warc.gz"
        )
    decoder = msgspec.json.Decoder(kind)
    number = 0
    try:
        with open_compressed(path) as file:
            for line in file:
                number += 1
                if not line.isspace():
                    yield decoder.decode(line)
    except msgspec.MsgspecError as error:
        raise ConfigError(f"{path}, line {number}: {error}") from error
    except UNREADABLE_ERRORS as error:
        raise ConfigError(f"{path} cannot be read: {error}") from error


def _language_label(name: object) -> tuple[str, ...]:
    known = isinstance(name, str) and 0 < len(name) < _MAX_LANGUAGE_LENGTH
    return (f"language={name}",) if known else ()


def _file_stem(path: Path) -> str:
    return next(
        (path.name.removesuffix(s) for s in JSONL_SUFFIXES if path.name.endswith(s)), path.stem
    )


def _encode_html(html: str, charset: str) -> tuple[str, bytes]:
    try:
        return charset, html.encode(charset, "xmlcharrefreplace")
    except (LookupError, UnicodeError):
        return "utf-8", html.encode("utf-8", "replace")


def _with_charset(content_type: str, charset: str) -> str:
    # The corpora were transcoded, so a page's own meta charset may be wrong: the header says.
    if content_type.startswith("text/") and "charset=" not in content_type.lower():
        return f"{content_type}; charset={charset}"
    return content_type


# --------------------------------------------------------------------------------------------------
# Read the answers out of WARC files, of our own writing or anybody's.
#
# Only what a lab needs: response and revisit records of http(s) addresses. A file that ends in
# the middle of a record (its crawl may still be running) is read up to there.
# --------------------------------------------------------------------------------------------------


MAX_RECORD_BYTES = 64 << 20
"""Records and bodies beyond this are passed over."""


class WarcRecord(NamedTuple):
    headers: dict[str, str]
    content: bytes


class WarcHttpResponse(NamedTuple):
    status: int
    headers: Headers
    body: bytes


def read_warc(path: Path) -> Iterator[RecordedResponse]:
    """Responses in file order; revisits of other addresses' bodies come last."""
    digests: dict[str, RecordedResponse] = {}
    revisits: list[tuple[str, str]] = []
    for record in _read_records(path):
        url = canonical_url(record.headers.get("warc-target-uri", "").strip("<>"))
        digest = record.headers.get("warc-payload-digest", "")
        if url is None:
            continue
        kind = record.headers.get("warc-type")
        if kind == "revisit":
            revisits.append((url, digest))
        elif kind == "response" and (answer := parse_http_response(record.content)):
            found = RecordedResponse(url, answer.status, answer.headers, gzip_bytes(answer.body))
            if digest:
                digests.setdefault(digest, found)
            yield found
    for again, digest in revisits:
        if (earlier := digests.get(digest)) and earlier.url != again:
            yield earlier._replace(url=again)


def parse_http_response(content: bytes) -> WarcHttpResponse | None:
    """An HTTP answer as it was recorded; None if it is not one or does not decode."""
    head, gap, body = content.partition(b"\r\n\r\n")
    if not gap:
        head, _, body = content.partition(b"\n\n")
    first, *rest = head.decode("latin-1").splitlines() or [""]
    parts = first.split(None, 2)
    if len(parts) < 2 or not parts[0].startswith("HTTP/") or not parts[1].isdecimal():
        return None
    status = int(parts[1])
    if not 100 <= status <= 999:
        return None
    pairs = [(k.strip(), v.strip()) for k, colon, v in (r.partition(":") for r in rest) if colon]
    named = {key.lower(): value for key, value in pairs}
    if named.get("transfer-encoding", "").lower().endswith("chunked"):
        body = _join_chunks(body)
    try:
        body = decode_body(
            "", body, named.get("content-encoding", ""), limit=MAX_RECORD_BYTES, ratio=1000
        )
    except FetchError:
        return None
    return WarcHttpResponse(status, tuple(pairs), body)


def _read_records(path: Path) -> Iterator[WarcRecord]:
    try:
        # isal's reader would lose what stands before the end of a file that is still growing.
        with gzip.open(path) if path.suffix == ".gz" else open_compressed(path) as file:
            while (record := _read_record(file)) is not None:
                yield record
    except EOFError:
        return
    except (*UNREADABLE_ERRORS, ValueError) as error:
        raise ConfigError(f"{path} is not a readable WARC file: {error}") from error


def _read_record(file: IO[bytes] | gzip.GzipFile) -> WarcRecord | None:
    line = b"\r\n"
    while line in (b"\r\n", b"\n"):
        line = file.readline(1024)
    if not line:
        return None
    if not line.startswith(b"WARC/"):
        raise ValueError(f"a record starts with {line[:40]!r}")
    headers: dict[str, str] = {}
    for _ in range(1000):
        line = file.readline(65_536)
        if line in (b"\r\n", b"\n", b""):
            break
        name, _, value = line.decode("utf-8", "replace").partition(":")
        headers[name.strip().lower()] = value.strip()
    length = int(headers.get("content-length", "0"))
    if length > MAX_RECORD_BYTES:
        while length > 0 and (piece := file.read(min(length, 1 << 20))):
            length -= len(piece)
        return WarcRecord({}, b"")
    content = file.read(max(length, 0))
    return WarcRecord(headers, content) if len(content) == length else None


def _join_chunks(body: bytes) -> bytes:
    """Chunks put together; a body that is not chunked although it says so stays as it is."""
    parts: list[bytes] = []
    at = 0
    while True:
        end = body.find(b"\r\n", at, at + 100)
        try:
            size = int(body[at:end].partition(b";")[0], 16) if end >= 0 else -1
        except ValueError:
            size = -1
        if size < 0:
            return b"".join(parts) if parts else body
        if size == 0:
            return b"".join(parts)
        parts.append(body[end + 2 : end + 2 + size])
        at = end + 2 + size + 2


# --------------------------------------------------------------------------------------------------
# The web that comes with the package: manuals of free software, with three judged topics.
#
# ``tools/make_demo_web.py`` packs it; ``demo_data/LICENSES.md`` says whose work it is.
# --------------------------------------------------------------------------------------------------


_DEMO_FOLDER = files("honeyguide.lab") / "demo_data"


@dataclass(frozen=True, slots=True)
class DemoTopic:
    """One topic of the demo, as a user would state it; its name is the label to judge by."""

    title: str
    description: str
    keywords: tuple[str, ...]
    seeds: tuple[str, ...]
    good: tuple[str, ...]


def load_demo_web() -> RecordedWeb:
    with as_file(_DEMO_FOLDER) as folder:
        return RecordedWeb.load(sorted(folder.glob("*.jsonl.xz")))


def demo_files() -> tuple[str, ...]:
    """The files of the embedded web, where the package is unpacked on disk, as it mostly is."""
    with as_file(_DEMO_FOLDER) as folder:
        return tuple(str(path) for path in sorted(folder.glob("*.jsonl.xz")))


def load_demo_topics() -> dict[str, DemoTopic]:
    raw = tomllib.loads((_DEMO_FOLDER / "topics.toml").read_text("utf-8"))
    return {
        name: cast("DemoTopic", build_dataclass(DemoTopic, table, "topics.toml", f"{name}."))
        for name, table in raw.items()
    }
