"""How a message is written: plain text, Markdown, HTML. One entry in, its lines out.

Every text from the web passes :func:`~honeyguide.watch.telling.escaping.clean` and the form's own
escape here, and nowhere else.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from typing import Protocol

from honeyguide.change import ChangeKind, Edit
from honeyguide.watch.telling.digest import Entry
from honeyguide.watch.telling.escaping import clean, html_link, markdown, markdown_link, uncalled

EDITS = 5
"""Shown of one entry."""
PAGES = 5
"""Addresses shown of an entry that many pages share."""
_CONTEXT = 4
"""Words shown before and after what differs."""

_SAYS: dict[ChangeKind, str] = {
    "new": "new page", "content": "changed", "minor": "changed a little", "data": "data changed",
    "links": "links changed", "structure": "layout changed", "cosmetic": "looks changed",
    "moved": "moved", "gone": "gone", "back": "back again", "blocked": "blocked us",
    "soft_404": "says that it was not found",
}  # fmt: skip


class Form(Protocol):
    """How each part is written; what comes in is clean."""

    def said(self, text: str) -> str: ...
    def page(self, url: str) -> str: ...
    def host(self, name: str) -> str: ...
    def old(self, text: str) -> str: ...
    def new(self, text: str) -> str: ...
    def line(self, text: str, depth: int) -> str: ...


class Plain:
    """A chat may read it, so nobody is called in it."""

    def said(self, text: str) -> str:
        return uncalled(text)

    def page(self, url: str) -> str:
        return uncalled(clean(url, 300))

    def host(self, name: str) -> str:
        return name

    def old(self, text: str) -> str:
        return f"- {uncalled(text)}"

    def new(self, text: str) -> str:
        return f"+ {uncalled(text)}"

    def line(self, text: str, depth: int) -> str:
        return "  " * depth + text


class Markdown:
    def said(self, text: str) -> str:
        return markdown(text)

    def page(self, url: str) -> str:
        return markdown_link(url, clean(url, 120))

    def host(self, name: str) -> str:
        return f"**{markdown(name)}**"

    def old(self, text: str) -> str:
        return f"was: {markdown(text)}"

    def new(self, text: str) -> str:
        return f"now: {markdown(text)}"

    def line(self, text: str, depth: int) -> str:
        return f"{'  ' * (depth - 1)}- {text}" if depth else f"\n{text}\n"


class Html:
    def said(self, text: str) -> str:
        return escape(text)

    def page(self, url: str) -> str:
        return html_link(url, clean(url, 120))

    def host(self, name: str) -> str:
        return f"<strong>{escape(name)}</strong>"

    def old(self, text: str) -> str:
        return f'<del dir="auto">{escape(text)}</del>'

    def new(self, text: str) -> str:
        return f'<ins dir="auto">{escape(text)}</ins>'

    def line(self, text: str, depth: int) -> str:
        return f'<p style="margin:0 0 .3em {depth}em">{text}</p>'


def lines(entry: Entry, form: Form) -> Iterator[str]:
    """One entry, written."""
    head = form.said(headline(entry))
    if len(entry.urls) == 1:
        yield form.line(f"{form.page(entry.urls[0])} {head}", 1)
    else:
        yield form.line(f"{head} of {form.said(clean(entry.host, 80))}", 1)
    if entry.detail:
        yield form.line(form.said(clean(entry.detail)), 2)
    for edit in entry.edits[:EDITS]:
        old, new = shortened(edit)
        if old and edit.what != "moved":
            yield form.line(form.old(old), 2)
        if new:
            yield form.line(form.new(new), 2)
    if len(entry.urls) > 1:
        for url in entry.urls[:PAGES]:
            yield form.line(form.page(url), 2)
    for count, what in (
        (len(entry.urls) - PAGES, "more pages"),
        (len(entry.edits) - EDITS, "more edits"),
        (entry.shared, "edits that other pages share"),
        (len(entry.links_added), "links that came"),
        (len(entry.links_removed), "links that went"),
    ):
        if count > 0:
            yield form.line(form.said(f"and {count} {what}"), 2)


def headline(entry: Entry) -> str:
    """What happened, in a few words of our own."""
    said = ", ".join(_SAYS[kind] for kind in entry.kinds) or "changed"
    if len(entry.urls) == 1:
        return said
    if entry.edits:
        edits = "the same edit" if len(entry.edits) == 1 else f"the same {len(entry.edits)} edits"
        return f"{edits} on {len(entry.urls)} pages"
    return f"{said}: {len(entry.urls)} pages"


def shortened(edit: Edit) -> tuple[str, str]:
    """Old and new text around what differs: equal beginnings and ends are cut to a few words."""
    old, new = edit.old.split(), edit.new.split()
    least = min(len(old), len(new))
    head = next((i for i in range(least) if old[i] != new[i]), least)
    rest = least - head
    tail = next((i for i in range(rest) if old[-1 - i] != new[-1 - i]), rest)
    if edit.what == "moved":
        head = tail = 0
    start = max(0, head - _CONTEXT)
    return _between(old, start, tail), _between(new, start, tail)


def _between(words: Sequence[str], start: int, tail: int) -> str:
    end = len(words) - max(0, tail - _CONTEXT)
    before, after = "… " if start else "", " …" if end < len(words) else ""
    return clean(f"{before}{' '.join(words[start:end])}{after}")
