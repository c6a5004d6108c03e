"""What a watch list of another program gives: pages, and what could not be carried over."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import islice
from typing import NamedTuple

from honeyguide.errors import ConfigError
from honeyguide.types import Url
from honeyguide.url import authority_of, canonical_url, host_of, is_ip
from honeyguide.watch.notify.message import clean_line

MAX_PAGES = 200_000
"""Pages of one list."""
_MAX_NAME = 300
_MAX_TAGS = 50
_MAX_URL = 2083
_UNITS = {
    "s": 1, "sec": 1, "second": 1, "m": 60, "min": 60, "minute": 60, "h": 3600, "hour": 3600,
    "d": 86400, "day": 86400, "w": 604800, "week": 604800,
}  # fmt: skip
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


# --------------------------------------------------------------------------------------------------
# Watch lists that people keep themselves: an address a line, or a table from a spreadsheet.
# --------------------------------------------------------------------------------------------------


_COLUMNS = {
    "url": ("url", "address", "link", "uri", "page", "website"),
    "name": ("name", "title", "label"),
    "interval": ("interval", "interval_s", "every", "check every", "frequency"),
    "tags": ("tags", "tag", "groups", "group", "labels"),
}
_PROBE = 20
"""Lines that are looked at to see what separates the columns."""


def read_list(text: str) -> ImportCollector:
    """An address a line; behind it, tags. Lines that begin with # are comments."""
    basket = ImportCollector()
    for number, line in enumerate(text.splitlines(), 1):
        where, row = f"line {number}", line.strip()
        if not row or row.startswith("#"):
            continue
        if row.startswith("|"):
            basket.skip_entry(where, "command", "commands are never run")
            continue
        address, _, rest = row.partition(" ")
        if "=" in rest:
            why = "it sends a form; only pages that have an address of their own are watched"
            basket.skip_entry(where, address, why)
            continue
        basket.add_page(where, address, tags=rest.split(","))
    return basket


def read_table(text: str) -> ImportCollector:
    """CSV: the columns url, name, interval and tags by their headings, wherever they are; without
    headings, the first column is the address and the second the name."""
    basket = ImportCollector()
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
            _take_row(basket, f"line {reader.line_num}", cells, columns)
    except csv.Error as error:
        raise ConfigError(f"line {reader.line_num}: this is not CSV: {error}") from error
    return basket


def _take_row(
    basket: ImportCollector, where: str, cells: list[str], columns: dict[str, int]
) -> None:
    found = {name: cells[at] if at < len(cells) else "" for name, at in columns.items()}
    rhythm = found.get("interval", "")
    every = parse_interval(rhythm)
    tags = found.get("tags", "").replace(";", ",").split(",")
    if not found["url"]:
        basket.skip_entry(where, "row", "it has no address")
    elif basket.add_page(where, found["url"], found.get("name", ""), every, tags) and (
        rhythm and every is None
    ):
        basket.skip_entry(
            where, "interval", f"{rhythm[:40]!r} is not a time, such as 30m, 6h or 2 days"
        )


def find_headings(cells: list[str]) -> dict[str, int]:
    """Which column is which; empty if this is no line of headings."""
    names = [cell.strip().lower() for cell in cells]
    found = {
        column: at
        for column, words in _COLUMNS.items()
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
