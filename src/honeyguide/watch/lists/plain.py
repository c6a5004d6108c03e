"""Watch lists that people keep themselves: an address a line, or a table from a spreadsheet."""

from __future__ import annotations

import csv
import io

from honeyguide.errors import ConfigError
from honeyguide.watch.lists.imported import Basket, interval, located

_COLUMNS = {
    "url": ("url", "address", "link", "uri", "page", "website"),
    "name": ("name", "title", "label"),
    "interval": ("interval", "interval_s", "every", "check every", "frequency"),
    "tags": ("tags", "tag", "groups", "group", "labels"),
}
_PROBE = 20
"""Lines that are looked at to see what separates the columns."""


def read_list(text: str) -> Basket:
    """An address a line; behind it, tags. Lines that begin with # are comments."""
    basket = Basket()
    for number, line in enumerate(text.splitlines(), 1):
        where, row = f"line {number}", line.strip()
        if not row or row.startswith("#"):
            continue
        if row.startswith("|"):
            basket.leave(where, "command", "commands are never run")
            continue
        address, _, rest = row.partition(" ")
        if "=" in rest:
            why = "it sends a form; only pages that have an address of their own are watched"
            basket.leave(where, address, why)
            continue
        basket.add(where, address, tags=rest.split(","))
    return basket


def read_table(text: str) -> Basket:
    """CSV: the columns url, name, interval and tags by their headings, wherever they are; without
    headings, the first column is the address and the second the name."""
    basket = Basket()
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator(text) or ",")
    columns: dict[str, int] | None = None
    try:
        for row in reader:
            cells = [cell.strip() for cell in row]
            if not any(cells) or cells[0].startswith("#"):
                continue
            if columns is None:
                columns = headings(cells)
                if columns:
                    continue
                columns = {"url": 0, "name": 1}
            _take(basket, f"line {reader.line_num}", cells, columns)
    except csv.Error as error:
        raise ConfigError(f"line {reader.line_num}: this is no CSV: {error}") from error
    return basket


def _take(basket: Basket, where: str, cells: list[str], columns: dict[str, int]) -> None:
    found = {name: cells[at] if at < len(cells) else "" for name, at in columns.items()}
    rhythm = found.get("interval", "")
    every = interval(rhythm)
    tags = found.get("tags", "").replace(";", ",").split(",")
    if not found["url"]:
        basket.leave(where, "row", "it has no address")
    elif basket.add(where, found["url"], found.get("name", ""), every, tags) and (
        rhythm and every is None
    ):
        basket.leave(where, "interval", f"{rhythm[:40]!r} is no time, such as 30m, 6h or 2 days")


def headings(cells: list[str]) -> dict[str, int]:
    """Which column is which; empty if this is no line of headings."""
    names = [cell.strip().lower() for cell in cells]
    found = {
        column: at
        for column, words in _COLUMNS.items()
        if (at := next((names.index(word) for word in words if word in names), -1)) >= 0
    }
    return found if "url" in found else {}


def separator(text: str) -> str:
    """What makes a table of it: a heading line, or an address before it in most lines; else ''."""
    lines = [line for line in text.splitlines()[: 10 * _PROBE] if line.strip()][:_PROBE]
    lines = [line for line in lines if not line.lstrip().startswith("#")]
    if not lines:
        return ""
    for mark in ",;\t":
        first = [cell.strip('" ') for cell in lines[0].split(mark)]
        if mark in lines[0] and headings(first):
            return mark
    if headings([lines[0].strip('" ')]):
        return ","  # one column with a heading
    for mark in "\t;,":
        # Addresses may hold commas and semicolons; none holds a space, as lists of tags do.
        fits = [mark in line and _is_address(line.split(mark)[0]) for line in lines]
        if sum(fits) > len(lines) / 2:
            return mark
    return ""


def _is_address(cell: str) -> bool:
    return " " not in cell.strip() and located(cell.strip('" '))[0] is not None
