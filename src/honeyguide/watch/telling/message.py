"""A message about changes: as plain text, Markdown, HTML and JSON, bounded however much changed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import groupby
from typing import Any

from honeyguide.change import Change
from honeyguide.watch.telling.digest import Entry, entries
from honeyguide.watch.telling.escaping import clean, link
from honeyguide.watch.telling.rendering import EDITS, Form, Html, Markdown, Plain, headline, lines

ENTRIES = 40
"""Shown in one message; how many more there are is said."""
_URLS = 100
"""Addresses of one entry in what machines get."""


@dataclass(frozen=True, slots=True)
class Message:
    """What is sent through one channel at once."""

    id: str
    """The same changes for the same channel have the same id: a receiver that was told already,
    before a crash of ours, can tell."""
    at: float
    """When the newest of its changes was found."""
    title: str
    entries: tuple[Entry, ...]
    """All of them; what is shown of them is bounded."""
    collection: str = ""

    def text(self) -> str:
        return "\n".join(self._lines(Plain()))

    def markdown(self) -> str:
        return "\n".join(self._lines(Markdown()))

    def html(self) -> str:
        return "\n".join(self._lines(Html()))

    def data(self) -> dict[str, Any]:
        """For machines; every text bounded and without control characters."""
        return {
            "id": self.id,
            "at": self.at,
            "collection": clean(self.collection),
            "title": self.title,
            "entries": [_data(entry) for entry in self.entries[:ENTRIES]],
            "more": max(0, len(self.entries) - ENTRIES),
        }

    def _lines(self, form: Form) -> Iterator[str]:
        shown = self.entries[:ENTRIES]
        for name, group in groupby(shown, key=lambda entry: entry.host):
            yield form.line(form.host(clean(name, 80)), 0)
            for entry in group:
                yield from lines(entry, form)
        if more := len(self.entries) - len(shown):
            yield form.line(form.said(f"and {more} more"), 0)


def compose(
    channel: str, changes: Sequence[Change], collection: str = "", key: str = ""
) -> Message:
    """One message of these changes; ``key`` is its id, if it has one already."""
    found = tuple(entries(changes))
    at = max((change.at for change in changes), default=0.0)
    return Message(key or _id(channel, changes), at, _title(found, collection), found, collection)


def _id(channel: str, changes: Sequence[Change]) -> str:
    digest = sha256(channel.encode("utf-8", "replace"))
    for url, at in sorted((change.url, change.at) for change in changes):
        digest.update(f"\n{at!r} {url}".encode("utf-8", "replace"))
    return f"msg_{digest.hexdigest()[:32]}"


def _title(found: Sequence[Entry], collection: str) -> str:
    pages = {url for entry in found for url in entry.urls}
    hosts = {entry.host for entry in found}
    if len(pages) == 1:
        # Not the address: a title is shown as it is, by whatever reads it.
        what = f"{headline(found[0])}: a page of {clean(next(iter(hosts)), 80)}"
    else:
        where = clean(next(iter(hosts)), 80) if len(hosts) == 1 else f"{len(hosts)} hosts"
        what = f"{len(pages)} pages of {where} changed"
    return f"[{clean(collection, 40)}] {what}" if collection else what


def _data(entry: Entry) -> dict[str, Any]:
    return {
        "host": clean(entry.host),
        "pages": len(entry.urls),
        "urls": _links(entry.urls, _URLS),
        "kinds": list(entry.kinds),
        "significance": round(entry.significance, 4),
        "at": entry.at,
        "detail": clean(entry.detail),
        "links_added": _links(entry.links_added, EDITS),
        "links_removed": _links(entry.links_removed, EDITS),
        "edits": [
            {
                "what": edit.what,
                "path": clean(edit.path),
                "old": clean(edit.old, 1000),
                "new": clean(edit.new, 1000),
            }
            for edit in entry.edits[:EDITS]
        ],
    }


def _links(urls: Sequence[str], most: int) -> list[str]:
    return [found for url in urls[:most] if (found := link(url))]
