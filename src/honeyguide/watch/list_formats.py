"""Reads watch lists: one address a line, tables (CSV), and lists of changedetection.io."""

from __future__ import annotations

import csv
import io
import json
import re
import tomllib
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from itertools import islice
from typing import Any, BinaryIO, NamedTuple, TypeVar

from honeyguide.errors import ConfigError
from honeyguide.types import Url
from honeyguide.url import authority_of, canonical_url, host_of, is_ip
from honeyguide.watch.notify.message import clean_line

MAX_PAGES = 200_000
"""Pages of one list."""
_MAX_NAME = 300
_MAX_TAGS = 50
_MAX_URL = 2083
SENDS_FORM = "it sends a form; only pages that have an address of their own are watched"
FORMAT_TABLES: dict[str, Any] = tomllib.loads(
    files("honeyguide.watch").joinpath("list_formats.toml").read_text("utf-8")
)
"""Names in the lists of other programs, and reasons why something cannot be carried over."""
_UNITS: dict[str, int] = FORMAT_TABLES["units"]
Value = TypeVar("Value")

_PIECE = re.compile(r"(\d{1,9}(?:\.\d{1,6})?)\s*([a-z]+[\s,]*|$)").match


@dataclass(frozen=True, slots=True)
class ImportedPage:
    """One page to watch."""

    url: Url
    name: str = ""
    interval_s: float | None = None
    """How often the other program looked; None: it did not say."""
    tags: tuple[str, ...] = ()
    paused: bool = False


class SkippedEntry(NamedTuple):
    """Something that could not be carried over."""

    where: str
    """``line 12``, ``job 3 (line 20)``, or the page's address."""
    what: str
    why: str


@dataclass(slots=True)
class ImportCollector:
    """What was read so far; every page once."""

    pages: dict[Url, ImportedPage] = field(default_factory=dict)
    skipped: list[SkippedEntry] = field(default_factory=list)

    def add_page(
        self,
        where: str,
        address: str,
        name: str = "",
        interval_s: float | None = None,
        tags: Iterable[str] = (),
        *,
        paused: bool = False,
    ) -> bool:
        """Take a page in; if that cannot be, say why, and False."""
        url, why = parse_address(address)
        shown = clean_line(address, _MAX_NAME)
        if len(self.pages) >= MAX_PAGES:
            self.skip_entry(where, shown, f"a list may hold {MAX_PAGES:,} pages; split the file")
        elif url is None:
            # Of what may hold a password, nothing is repeated.
            self.skip_entry(where, "an address" if "@" in shown else shown, why)
        elif url in self.pages:
            self.skip_entry(where, shown, "the same page was there before; it is watched once")
        else:
            marks = dict.fromkeys(mark for tag in tags if (mark := clean_line(tag, _MAX_NAME)))
            chosen = tuple(islice(marks, _MAX_TAGS))
            self.pages[url] = ImportedPage(
                url, clean_line(name, _MAX_NAME), interval_s, chosen, paused
            )
            return True
        return False

    def skip_entry(self, where: str, what: str, why: str) -> None:
        if len(self.skipped) < MAX_PAGES:
            self.skipped.append(SkippedEntry(where, what, why))


def parse_address(address: str) -> tuple[Url | None, str]:
    """The page's canonical address; or None and, in words, why there is none."""
    text = address.strip().removeprefix("source:")
    if "{{" in text or "{%" in text:
        return None, "the address is computed by a template; write the address itself"
    bare = "://" not in text
    url = canonical_url(f"https://{text}" if bare else text)
    if not url or (bare and not _is_named(url)):
        return None, "this is not an http or https address, such as https://example.org/page"
    if "@" in authority_of(url):
        return None, "the address carries a user name or a password; such pages are not watched"
    if len(url) > _MAX_URL:
        return None, f"the address is longer than {_MAX_URL} characters"
    return url, ""


def parse_interval(text: str) -> float | None:
    """``30m``, ``6 hours``, ``1d 12h``, or seconds; None if it is nothing of the kind."""
    rest, total = text.strip().lower(), 0.0
    while rest:
        found = _PIECE(rest) if len(text) < 60 else None
        if not found:
            return None
        unit = found[2].rstrip(" \t,") or "s"
        size = _UNITS.get(unit) or _UNITS.get(unit.removesuffix("s"))
        if size is None:
            return None
        total += float(found[1]) * size
        rest = rest[found.end() :]
    return total or None


def _is_named(url: Url) -> bool:
    """Whether the host has a full name, or is this machine, or a number."""
    name = host_of(url)
    return "." in name.strip(".") or name == "localhost" or is_ip(name)


# -- Lists and tables --


_PROBE = 20
"""Lines that are looked at to see what separates the columns."""


def read_list(text: str) -> ImportCollector:
    """An address a line; behind it, tags. Lines that begin with # are comments."""
    collector = ImportCollector()
    for number, line in enumerate(text.splitlines(), 1):
        where, row = f"line {number}", line.strip()
        if not row or row.startswith("#"):
            continue
        if row.startswith("|"):
            collector.skip_entry(where, "command", "commands are never run")
            continue
        address, _, rest = row.partition(" ")
        if "=" in rest:
            collector.skip_entry(where, address, SENDS_FORM)
            continue
        collector.add_page(where, address, tags=rest.split(","))
    return collector


def read_table(text: str) -> ImportCollector:
    """CSV: the columns url, name, interval and tags by their headings, wherever they are; without
    headings, the first column is the address and the second the name."""
    collector = ImportCollector()
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=find_separator(text) or ",")
    columns: dict[str, int] | None = None
    try:
        for row in reader:
            cells = [cell.strip() for cell in row]
            if not any(cells) or cells[0].startswith("#"):
                continue
            if columns is None:
                columns = find_headings(cells)
                if columns:
                    continue
                columns = {"url": 0, "name": 1}
            _take_row(collector, f"line {reader.line_num}", cells, columns)
    except csv.Error as error:
        raise ConfigError(f"line {reader.line_num}: this is not CSV: {error}") from error
    return collector


def _take_row(
    collector: ImportCollector, where: str, cells: list[str], columns: dict[str, int]
) -> None:
    found = {name: cells[at] if at < len(cells) else "" for name, at in columns.items()}
    rhythm = found.get("interval", "")
    every = parse_interval(rhythm)
    tags = found.get("tags", "").replace(";", ",").split(",")
    if not found["url"]:
        collector.skip_entry(where, "row", "it has no address")
    elif collector.add_page(where, found["url"], found.get("name", ""), every, tags) and (
        rhythm and every is None
    ):
        collector.skip_entry(
            where, "interval", f"{rhythm[:40]!r} is not a time, such as 30m, 6h or 2 days"
        )


def find_headings(cells: list[str]) -> dict[str, int]:
    """Which column is which; empty if this is no line of headings."""
    names = [cell.strip().lower() for cell in cells]
    found = {
        column: at
        for column, words in FORMAT_TABLES["columns"].items()
        if (at := next((names.index(word) for word in words if word in names), -1)) >= 0
    }
    return found if "url" in found else {}


def find_separator(text: str) -> str:
    """What makes a table of it: a heading line, or an address before it in most lines; else ''."""
    lines = [line for line in text.splitlines()[: 10 * _PROBE] if line.strip()][:_PROBE]
    lines = [line for line in lines if not line.lstrip().startswith("#")]
    if not lines:
        return ""
    for mark in ",;\t":
        first = [cell.strip('" ') for cell in lines[0].split(mark)]
        if mark in lines[0] and find_headings(first):
            return mark
    if find_headings([lines[0].strip('" ')]):
        return ","  # one column with a heading
    for mark in "\t;,":
        # Addresses may hold commas and semicolons; none holds a space, as lists of tags do.
        fits = [mark in line and _is_address(line.split(mark)[0]) for line in lines]
        if sum(fits) > len(lines) / 2:
            return mark
    return ""


def _is_address(cell: str) -> bool:
    return " " not in cell.strip() and parse_address(cell.strip('" '))[0] is not None


# -- changedetection.io --

_SPAN_SECONDS = {"weeks": 604800, "days": 86400, "hours": 3600, "minutes": 60, "seconds": 1}
_LONGEST = 10 * 365 * 86400.0
_FILE = 200_000
"""Most bytes of one unpacked watch; about 4,000 are usual."""
_LIST = 30_000_000
"""Most bytes of an unpacked list of all watches."""
_ALL = 100_000_000
"""Most bytes that are unpacked of one backup."""
_MEMBERS = 1_000_000
_WANTED = ("/watch.json", "/tag.json", "changedetection.json", "url-watches.json")


def read_backup(file: BinaryIO) -> ImportCollector:
    """The pages of a backup."""
    try:
        with zipfile.ZipFile(file) as archive:
            files = dict(_read_members(archive))
    # What a damaged or hostile archive makes the module raise; RuntimeError: a password is needed,
    # and NotImplementedError: it is packed in a way that the module does not know.
    except (
        zipfile.BadZipFile, zlib.error, EOFError, OSError, ValueError, RuntimeError,
        NotImplementedError, OverflowError,
    ) as error:  # fmt: skip
        raise ConfigError(f"the zip file cannot be read: {error}; make a new backup") from error
    if old := files.get("url-watches.json"):
        return read_watches(_parse_json(old, "url-watches.json"))
    tags, watches = {}, {}
    for name, data in files.items():
        number, _, kind = name.rpartition("/")
        if kind == "tag.json":
            tags[number] = _parse_json(data, name)
        elif kind == "watch.json":
            watches[number] = _parse_json(data, name)
    if not watches:
        raise ConfigError(
            "the zip file holds no watch.json: it is not a backup of changedetection.io"
        )
    settings = _parse_json(files.get("changedetection.json", b"{}"), "changedetection.json")
    return _read_entries(watches, _default_interval(settings), tags)


def read_watches(raw: Any) -> ImportCollector:
    """The pages of ``url-watches.json``, of one watch, or of a mapping of watches."""
    if not isinstance(raw, dict):
        raise ConfigError(
            "this JSON is not a watch list of changedetection.io: it must be an object"
        )
    if isinstance(raw.get("watching"), dict):
        tags = _get_typed(_get_typed(raw, "settings", dict), "application", dict).get("tags")
        return _read_entries(
            raw["watching"], _default_interval(raw), tags if isinstance(tags, dict) else {}
        )
    watches = {"": raw} if isinstance(raw.get("url"), str) else raw
    if not any(isinstance(w, dict) and "url" in w for w in watches.values()):
        raise ConfigError(
            "this JSON is not a watch list of changedetection.io: it has neither “watching” nor "
            "“url”"
        )
    return _read_entries(watches, None, {})


def _read_members(archive: zipfile.ZipFile) -> Iterator[tuple[str, bytes]]:
    """The files that matter, unpacked in memory: nothing is written, so names can do no harm."""
    room = _ALL
    infos = archive.infolist()
    if len(infos) > _MEMBERS:
        raise ConfigError(f"the zip file holds more than {_MEMBERS:,} files")
    for info in infos:
        if not info.filename.endswith(_WANTED):
            continue
        with archive.open(info) as file:
            # What the archive says of its sizes may be a lie: count what comes.
            most = _FILE if info.filename.endswith(_WANTED[:2]) else _LIST
            data = file.read(min(most, room) + 1)
        room -= len(data)
        if len(data) > most or room < 0:
            raise ConfigError(f"{clean_line(info.filename, 80)} unpacks to more than is sensible")
        yield info.filename, data


def _parse_json(data: bytes, name: str) -> dict[str, Any]:
    try:
        raw = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{clean_line(name, 80)} is not JSON: {error}") from error
    return raw if isinstance(raw, dict) else {}


def _read_entries(
    watches: Mapping[str, Any], default: float | None, tags: Mapping[str, Any]
) -> ImportCollector:
    collector = ImportCollector()
    for number, watch in watches.items():
        if isinstance(watch, dict):
            _take_watch(collector, clean_line(str(number), 40) or "watch", watch, default, tags)
        else:
            collector.skip_entry(clean_line(str(number), 40), "watch", "it is not an object")
    return collector


def _take_watch(
    collector: ImportCollector,
    where: str,
    watch: Mapping[str, Any],
    default: float | None,
    tags: Mapping[str, Any],
) -> None:
    address = _get_typed(watch, "url", str)
    if _get_typed(watch, "method", str).upper() not in ("", "GET") or watch.get("body"):
        collector.skip_entry(where, clean_line(address), SENDS_FORM)
        return
    own = None if watch.get("time_between_check_use_default") else _check_interval(watch)
    named = [
        _get_typed(_get_typed(tags, str(tag), dict), "title", str)
        for tag in _get_typed(watch, "tags", list)
    ]
    if not collector.add_page(
        where,
        address,
        _get_typed(watch, "title", str) or _get_typed(watch, "page_title", str),
        own or default,
        [*named, *_get_typed(watch, "tag", str).split(",")],
        paused=bool(watch.get("paused")),
    ):
        return
    reasons: dict[str, str] = FORMAT_TABLES["changedetection"]
    for key, why in reasons.items():
        if watch.get(key):
            collector.skip_entry(where, key, why)
    if _get_typed(watch, "fetch_backend", str) not in ("", "system", "html_requests"):
        collector.skip_entry(where, "fetch_backend", reasons["browser_steps"])
    if _get_typed(watch, "processor", str) not in ("", "text_json_diff"):
        collector.skip_entry(
            where, "processor", "prices and stock that a page states are found automatically"
        )
    if _get_typed(watch, "time_schedule_limit", dict).get("enabled"):
        collector.skip_entry(
            where, "time_schedule_limit", "pages are visited when they are likely to change"
        )


def _check_interval(table: Mapping[str, Any]) -> float | None:
    """Seconds between two checks."""
    spans = _get_typed(table, "time_between_check", dict)
    total = 0.0
    for unit, size in _SPAN_SECONDS.items():
        count = spans.get(unit)
        if isinstance(count, int | float) and 0 < count < _LONGEST:
            total += count * size
    old = table.get("minutes_between_check")
    if not total and isinstance(old, int | float) and 0 < old < _LONGEST:
        total = old * 60.0
    return min(total, _LONGEST) or None


def _default_interval(raw: Mapping[str, Any]) -> float | None:
    return _check_interval(_get_typed(_get_typed(raw, "settings", dict), "requests", dict))


def _get_typed(raw: Mapping[str, Any], key: str, kind: type[Value]) -> Value:
    """The value, or an empty one where there is none of this type."""
    value = raw.get(key)
    return value if isinstance(value, kind) else kind()
