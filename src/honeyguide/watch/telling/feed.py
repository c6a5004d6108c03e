"""The change feed: Atom 1.0 (RFC 4287) and RSS 2.0, for any feed reader.

The file is always written whole, from what the store holds, so that writing it twice does no harm
and a crash leaves the old one.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import format_datetime
from errno import EDQUOT, ENOSPC
from pathlib import Path
from uuid import UUID, uuid5
from xml.etree.ElementTree import Element, SubElement, tostring

from honeyguide.change import Change
from honeyguide.errors import DiskFull, StoreError
from honeyguide.watch.telling.digest import Entry, entries
from honeyguide.watch.telling.escaping import clean, link
from honeyguide.watch.telling.rendering import Html, headline, lines

ITEMS = 100
"""The newest changes that a feed holds."""
_OURS = UUID("6f0f5b0e-9d63-5b57-8a0c-0f3c2a9d7e11")
"""The name space of our ids."""
_ATOM = "http://www.w3.org/2005/Atom"
_FULL = frozenset({ENOSPC, EDQUOT})
_LAST = 253_402_300_799.0
"""The end of the year 9999, after which there are no dates."""


@dataclass(frozen=True, slots=True)
class Feed:
    """What the feed says of itself."""

    title: str
    key: str
    """Never changes for a collection: readers know the feed by it."""
    url: str = ""
    """Where it is published, if anywhere."""


def change_id(change: Change) -> str:
    """Which change it is, for ever: the same page found changed at the same time."""
    name = f"{change.at!r} {change.url}".encode("utf-8", "replace").decode()
    return uuid5(_OURS, name).urn


def atom(feed: Feed, changes: Sequence[Change]) -> bytes:
    shown = _newest(changes)
    root = Element("feed", xmlns=_ATOM)
    _add(root, "id", uuid5(_OURS, clean(feed.key)).urn)
    _add(root, "title", clean(feed.title) or "Changes")
    _add(root, "updated", _moment(shown[0].at if shown else 0).isoformat())
    _add(SubElement(root, "author"), "name", "Honeyguide")
    if target := link(feed.url):
        SubElement(root, "link", rel="self", href=target)
    for change in shown:
        item, entry = SubElement(root, "entry"), entries([change])[0]
        _add(item, "id", change_id(change))
        _add(item, "title", _title(entry))
        _add(item, "updated", _moment(change.at).isoformat())
        if target := link(change.url):
            SubElement(item, "link", rel="alternate", href=target)
        for kind in change.kinds:
            SubElement(item, "category", term=kind)
        _add(item, "content", _html(entry)).set("type", "html")
    return _written(root)


def rss(feed: Feed, changes: Sequence[Change]) -> bytes:
    shown = _newest(changes)
    root = Element("rss", version="2.0")
    channel = SubElement(root, "channel")
    _add(channel, "title", clean(feed.title) or "Changes")
    # RSS wants a link, also of a feed that has no place in the web.
    _add(channel, "link", link(feed.url) or uuid5(_OURS, clean(feed.key)).urn)
    _add(channel, "description", "What changed on the watched pages")
    _add(channel, "lastBuildDate", format_datetime(_moment(shown[0].at if shown else 0)))
    for change in shown:
        item, entry = SubElement(channel, "item"), entries([change])[0]
        _add(item, "title", _title(entry))
        if target := link(change.url):
            _add(item, "link", target)
        _add(item, "guid", change_id(change)).set("isPermaLink", "false")
        _add(item, "pubDate", format_datetime(_moment(change.at)))
        for kind in change.kinds:
            _add(item, "category", kind)
        _add(item, "description", _html(entry))
    return _written(root)


def write(path: Path, document: bytes) -> None:
    """Put the file in its place in one step; readers see the old one or the new one."""
    try:
        fd, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        try:
            with os.fdopen(fd, "wb") as file:
                file.write(document)
                file.flush()
                os.fsync(fd)
            Path(name).chmod(0o644)  # a web server may have to read it
            Path(name).replace(path)
        except BaseException:  # also an interruption must leave no half of a file behind
            Path(name).unlink(missing_ok=True)
            raise
    except OSError as error:
        kind = DiskFull if error.errno in _FULL else StoreError
        raise kind(f"the feed {path} cannot be written: {error.strerror or error}") from error


def _newest(changes: Sequence[Change]) -> list[Change]:
    """The newest first; two at the same time keep a fixed order."""
    return sorted(changes, key=lambda change: (-change.at, change.url))[:ITEMS]


def _title(entry: Entry) -> str:
    return f"{clean(entry.urls[0], 120)}: {headline(entry)}"


def _html(entry: Entry) -> str:
    return "\n".join(lines(entry, Html()))


def _moment(at: float) -> datetime:
    inside = min(max(at, 0.0), _LAST) if at == at else 0.0
    return datetime.fromtimestamp(int(inside), UTC)


def _add(parent: Element, name: str, text: str) -> Element:
    child = SubElement(parent, name)
    child.text = text
    return child


def _written(root: Element) -> bytes:
    document: bytes = tostring(root, encoding="utf-8", xml_declaration=True)
    return document
