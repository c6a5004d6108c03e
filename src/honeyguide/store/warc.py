"""WARC 1.1 records, each in a gzip member of its own, and the files that hold a collection's.

The records are those of ISO 28500:2017. They gather in memory. Before the database commits, they
are written to the file and the disk is told to keep them; the file's new length is a row of the
same transaction. After a crash or a power cut a file can therefore be longer than its row says,
never shorter: the tail belongs to a transaction that did not happen, and opening the collection
for a crawl cuts it off. If a file is shorter all the same (a disk that lied, or somebody took it
away), we say so.
"""

from __future__ import annotations

import os
import re
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import lru_cache
from hashlib import sha1
from pathlib import Path
from typing import Any, NamedTuple
from uuid import uuid4

from isal import isal_zlib
from xxhash import xxh3_64_intdigest

from honeyguide import __version__
from honeyguide.config.settings import StoreSettings
from honeyguide.errors import CollectionCorrupt
from honeyguide.store.collection_files import open_regular, sync_folder
from honeyguide.store.database import Database, to_int64
from honeyguide.types import Response
from honeyguide.url import url_fingerprint

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


def read_raw_record(path: Path, offset: int, length: int) -> bytes:
    """A record as it lies in the file; b'' if the file lost it, or is gone.

    Raises CollectionCorrupt unless the record is whole: its length, and its digest.
    """
    if data := _read_bytes(path, offset, length):
        _parse_record(data, path, offset)
    return data


def read_record(path: Path, offset: int, length: int) -> tuple[dict[str, str], bytes]:
    """The record's own headers and its block."""
    return _parse_record(_read_bytes(path, offset, length), path, offset)


def _read_bytes(path: Path, offset: int, length: int) -> bytes:
    numbers: tuple[Any, ...] = (offset, length)  # as a stranger's database says
    if not all(isinstance(number, int) and number >= 0 for number in numbers):
        raise CollectionCorrupt(f"there can be no record at byte {offset!r} of {path}")
    try:
        fd = open_regular(path, os.O_RDONLY)
    except FileNotFoundError:
        return b""
    with os.fdopen(fd, "rb") as file:
        if offset + length > os.fstat(fd).st_size:
            return b""
        file.seek(offset)
        return file.read(length)


def _parse_record(data: bytes, path: Path, offset: int) -> tuple[dict[str, str], bytes]:
    plain, whole = _unpack_member(data, _MAX_RECORD_BYTES, path, offset)
    head, mark, rest = plain.partition(b"\r\n\r\n")
    version, *lines = head.decode("utf-8", "replace").split("\r\n")
    headers = {}
    for line in lines:
        name, _, value = line.partition(":")
        headers[name] = value.strip()
    size, block = headers.get("Content-Length", ""), rest[:-4]
    whole = whole and bool(mark) and version.startswith("WARC/")
    if not (whole and _CONTENT_LENGTH(size) and len(rest) == int(size) + 4):
        raise CollectionCorrupt(f"{path} holds no whole record at byte {offset}")
    if headers.get("WARC-Block-Digest") not in (None, sha1_digest(block)):
        raise CollectionCorrupt(f"{path} holds a record at byte {offset} that was changed")
    return headers, block


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


# -- The files of a collection --


_WARC_NAME = re.compile(r"honeyguide-[0-9]{14}-[0-9]{5,}\.warc\.gz").fullmatch
_SHARD_DIGITS = 8
"""Digits of a file number of a shard."""
_CLUSTER_DIGITS = 12
"""Digits of a file number of a shard on a cluster."""


def warc_path(folder: Path, name: object) -> Path:
    """The file of that name in the folder of WARC files, if it is one that we could have made.

    The database says the name, and it may come from a stranger.
    """
    if not (isinstance(name, str) and _WARC_NAME(name)):
        raise CollectionCorrupt(
            f"{folder.parent} refers to a WARC file {name!r:.200}, a name that Honeyguide does "
            "not give. A collection changed by hand may name any file of yours; do not crawl or "
            "export it"
        )
    return folder / name


class WarcLocation(NamedTuple):
    """Where a response lies, and the digest of its payload."""

    digest: str = ""
    file: int | None = None
    offset: int | None = None
    length: int = 0
    request_length: int = 0
    """The request's record follows the response's at once."""
    payload_of: int | None = None
    """The visit whose record holds the payload, where ours only refers to it."""


NO_LOCATION = WarcLocation()


class WarcFolder(NamedTuple):
    """The folder that WARC files are written to, and which series of them is ours."""

    folder: Path
    series: int = 0
    epoch: int = 0
    """On a cluster: which of the shard's owners writes, so that no two give the same name."""
    safe_names: frozenset[str] | None = None
    """On a cluster: files that are safe elsewhere. None: all of them lie in the folder."""


@dataclass
class WarcArchive:
    """Writes during a crawl; otherwise it only says where files are.

    Shards of one collection write into the same folder, each its own series of files, and nobody
    touches those of another; a crawl without shards writes series 0.
    """

    db: Database
    settings: StoreSettings
    clock: Callable[[], float]
    shelf: WarcFolder
    warnings: list[str] = field(default_factory=list)
    lost: int = 0
    """Visits whose records were never brought to safety."""
    _short: dict[int, int] = field(default_factory=dict)
    """Files that lost something: number → bytes that are left."""
    _file: int | None = None
    _name: str = ""
    _fd: int = -1
    _committed: int = 0
    _length: int = 0
    _buffer: list[bytes] = field(default_factory=list)

    def recover(self) -> None:
        """Cut off what no transaction knows; say what is missing; go on with the last file."""
        if self.shelf.safe_names is not None:
            self._recover_remote(self.shelf.safe_names)
            return
        for number, name, length in self.db.fetch_all(
            "SELECT id, name, length FROM warcs ORDER BY id"
        ):
            path = warc_path(self.shelf.folder, name)
            if not (isinstance(length, int) and length >= 0):
                raise CollectionCorrupt(f"the length of {path} cannot be {length!r:.200}")
            ours = _series_number(name) == self.shelf.series
            with self.db.guard:
                size = _truncate_file(path, length if ours else None)
            if size < length:
                self._short[number] = size
                lost = "is missing" if size == 0 else f"is {length - size} bytes short"
                self.warnings.append(f"{path} {lost}: pages recorded there cannot be read back")
            if ours:
                self._file, self._name, self._committed = number, name, length
        if self._file in self._short:
            self._file = None
        self._length = self._committed

    def _recover_remote(self, safe_names: frozenset[str]) -> None:
        """Earlier files lie elsewhere, or were lost with a machine; a new one is begun."""
        for number, name, length in self.db.fetch_all("SELECT id, name, length FROM warcs"):
            warc_path(self.shelf.folder, name)
            if _series_number(name) == self.shelf.series and length and name not in safe_names:
                self._short[number] = 0
                sql = "SELECT count(*) FROM visits WHERE warc = ?"
                self.lost += self.db.fetch_number(sql, (number,))

    def roll_file(self) -> None:
        """Close the file, if anything is in it: the next transaction begins another."""
        if self._committed:
            self.close()
            self._file, self._name, self._committed, self._length = None, "", 0, 0

    def closed_files(self) -> list[Path]:
        """Files in the folder that nothing is added to any more."""
        with self.db.guard:
            found = (
                sorted(self.shelf.folder.glob("*.warc.gz")) if self.shelf.folder.is_dir() else []
            )
        return [path for path in found if path.name != self._name]

    def prepare_file(self) -> None:
        """Before a transaction: see that there is a file with room.

        Its row is committed first and alone, so that no file can exist without one.
        """
        if not self.settings.warc:
            return
        if self._file is not None and self._committed < self.settings.warc_mb * 1_000_000:
            return
        self.close()
        with self.db.transaction():
            number = self.db.fetch_number("SELECT max(id) FROM warcs") + 1
            stamp = datetime.fromtimestamp(self.clock(), UTC).strftime("%Y%m%d%H%M%S")
            series = f"{self.shelf.series:03d}" if self.shelf.series else ""
            if self.shelf.epoch:
                series += f"{self.shelf.epoch:04d}"
            while True:
                name = f"honeyguide-{stamp}-{series}{number:05d}.warc.gz"
                if not (self.shelf.folder / name).exists():
                    break
                number += 1  # of shards that are no more
            self.db.execute("INSERT INTO warcs VALUES(?, ?, 0)", (number, name))
        self._file, self._name, self._committed, self._length = number, name, 0, 0

    def add_response(self, answer: Response, *, whole: bool = False) -> WarcLocation:
        """Take an answer in; it reaches the file with the transaction.

        A payload that an earlier visit brought is only referred to, unless it is wanted ``whole``.
        """
        digest = sha1_digest(answer.payload)
        if self._file is None or not self.settings.warc:
            return WarcLocation(digest)
        earlier = None if whole else self._find_payload(answer, digest)
        lengths = self._buffer_answer(answer, digest, earlier[1:] if earlier else None)
        place = self._length - sum(lengths), *lengths, earlier[0] if earlier else None
        return WarcLocation(digest, self._file, *place)

    def add_revisit(self, answer: Response, since: float) -> None:
        """An answer that brought nothing new since the one of that time: a revisit record."""
        if self._file is not None and self.settings.warc:
            self._buffer_answer(answer, sha1_digest(answer.payload), (answer.url, since))

    def _buffer_answer(
        self, answer: Response, digest: str, earlier: tuple[str, float] | None
    ) -> tuple[int, int]:
        """Buffer the records of an answer and its request; their lengths.

        ``earlier``: the address and the time of an answer with the same payload, to refer to.
        """
        if self._length == 0:
            self._buffer_record(warcinfo_record(self._name, self.clock()))
        identity = new_record_id()
        if earlier is None:
            data = response_record(answer, digest, identity)
        else:
            profile = SERVER_NOT_MODIFIED if answer.status == 304 else IDENTICAL_PAYLOAD
            data = revisit_record(answer, profile, digest, *earlier, identity)
        request = request_record(answer, identity)
        self._buffer_record(data)
        self._buffer_record(request)
        return len(data), len(request)

    def read_record(self, file: str, offset: int, length: int) -> tuple[dict[str, str], bytes]:
        """The headers and the block of the record that begins there."""
        with self.db.guard:
            return read_record(warc_path(self.shelf.folder, file), offset, length)

    def remember_payload(self, place: WarcLocation, visit: int, size: int) -> None:
        """From now on, answers with this payload refer to this visit."""
        if place.file is not None and place.payload_of is None and size:
            key = _payload_key(place.digest)
            self.db.execute("INSERT OR REPLACE INTO payloads VALUES(?, ?)", (key, visit))

    def _find_payload(self, answer: Response, digest: str) -> tuple[int, str, float] | None:
        """The visit that already stored this payload, if its record can still be read."""
        columns = "SELECT id, url, started, warc, offset, length FROM visits WHERE "
        if answer.status == 304:
            where = (
                "id = (SELECT max(id) FROM visits WHERE url = ? AND fingerprint = ? "
                "AND status = 200 AND warc IS NOT NULL)"
            )
            row = self.db.fetch_one(
                columns + where, (answer.url, to_int64(url_fingerprint(answer.url)))
            )
        elif answer.payload:
            where = "id = (SELECT visit FROM payloads WHERE key = ?) AND payload_digest = ?"
            row = self.db.fetch_one(columns + where, (_payload_key(digest), digest))
        else:
            return None
        if row is None:
            return None
        visit, url, started, file, offset, length = row
        left = self._short.get(file)
        if left is not None and offset + length > left:
            return None
        return visit, url, started

    def _buffer_record(self, data: bytes) -> None:
        self._buffer.append(data)
        self._length += len(data)

    def flush(self) -> None:
        """Inside the transaction, last of all: write, and note the new length."""
        if not self._buffer:
            return
        data = memoryview(b"".join(self._buffer))
        with self.db.guard:
            if self._fd < 0:
                self._open_file()
            done = 0
            while done < len(data):
                done += os.pwrite(self._fd, data[done:], self._committed + done)
            # Whatever the system writes back first: no commit may outlive the bytes it refers to.
            os.fsync(self._fd)
        self.db.execute("UPDATE warcs SET length = ? WHERE id = ?", (self._length, self._file))

    def commit(self) -> None:
        self._buffer.clear()
        self._committed = self._length

    def rollback(self) -> None:
        self._buffer.clear()
        self._length = self._committed
        if self._fd >= 0:
            with self.db.guard:
                os.ftruncate(self._fd, self._committed)

    def _open_file(self) -> None:
        self.shelf.folder.mkdir(0o700, exist_ok=True)
        path = warc_path(self.shelf.folder, self._name)
        # A file that held something and is gone must not come back with a hole in it.
        new = self._committed == 0
        self._fd = open_regular(path, os.O_RDWR | (os.O_CREAT if new else 0))
        if not new:
            return
        try:
            # A name is kept by its folder, and the folder's name by the collection.
            sync_folder(self.shelf.folder)
            sync_folder(self.shelf.folder.parent)
        except OSError:
            self.close()  # so that the next attempt syncs them too
            raise

    def close(self) -> None:
        if self._fd >= 0:
            fd, self._fd = self._fd, -1
            os.close(fd)


def _series_number(name: str) -> int:
    """Which of the shards wrote it: their files have eight digits, or twelve and more where owners
    are counted as well, the first three being this."""
    number = name.removesuffix(".warc.gz").rpartition("-")[2]
    return int(number[:3]) if len(number) == _SHARD_DIGITS or len(number) >= _CLUSTER_DIGITS else 0


def _truncate_file(path: Path, length: int | None) -> int:
    """Cut off what lies behind that length, if one is given; how long the file was, 0 if there is
    none."""
    try:
        fd = open_regular(path, os.O_RDONLY)
    except FileNotFoundError:
        return 0
    try:
        size = os.fstat(fd).st_size
        if length is not None and size > length:
            os.close(fd)
            fd = open_regular(path, os.O_RDWR)
            os.ftruncate(fd, length)
    finally:
        os.close(fd)
    return size


def _payload_key(digest: str) -> int:
    """A payload's digest as the key of a table; the whole digest is compared afterwards."""
    return to_int64(xxh3_64_intdigest(digest.encode()))
