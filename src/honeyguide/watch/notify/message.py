"""Notification messages: grouping of changes, escaping of text from pages, and text, Markdown,
HTML and JSON forms.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from html import escape
from itertools import groupby
from typing import Any, NamedTuple

from honeyguide.change import Change, ChangeKind, PageEdit
from honeyguide.types import Url
from honeyguide.url import authority_of, canonical_url, host_of
from honeyguide.watch.compare.block_matching import equal_ends

MANY_PAGES = 3
"""Pages on which an edit must stand to be one of the site, not of a page."""
MAX_MESSAGES = 10
"""More than so many entries at once become one message, whatever the rule says."""

EditKey = tuple[str, str, str]
"""An edit wherever it stands: what, old, new. The same footer may hang at another path."""


@dataclass(frozen=True, slots=True)
class DigestEntry:
    """One thing that happened, on one page or on many of a host."""

    host: str
    urls: tuple[Url, ...]
    """In the order found, each once."""
    kinds: tuple[ChangeKind, ...]
    significance: float
    at: float
    """When it was last found."""
    edits: tuple[PageEdit, ...] = ()
    """The weightiest first."""
    links_added: tuple[Url, ...] = ()
    links_removed: tuple[Url, ...] = ()
    detail: str = ""
    shared: int = 0
    """Number of further edits of this page that stand in another entry, shared with other pages."""


class _EntryGroup(NamedTuple):
    entry: DigestEntry
    places: tuple[int, ...]
    """Of the changes that it is made of."""


def digest_entries(changes: Sequence[Change]) -> list[DigestEntry]:
    """What happened; hosts together, the most significant host and entry first."""
    found = [group.entry for group in _group_changes(changes)]
    best: dict[str, float] = defaultdict(float)
    for entry in found:
        best[entry.host] = max(best[entry.host], entry.significance)
    return sorted(found, key=lambda e: (-best[e.host], e.host, -e.significance, -e.at, e.urls))


def batch_changes(changes: Sequence[Change]) -> list[tuple[int, ...]]:
    """Which changes, by their positions, share a message where each is sent at once."""
    groups = _group_changes(changes)
    if len(groups) > MAX_MESSAGES:
        return [tuple(range(len(changes)))]
    message: dict[int, set[int]] = {}
    for group in groups:
        # A page with an edit of its own and a shared one stands in two entries: one message.
        joined = set(group.places).union(*(message.get(place, ()) for place in group.places))
        message.update(dict.fromkeys(joined, joined))
    return sorted({tuple(sorted(batch)) for batch in message.values()})


def _group_changes(changes: Sequence[Change]) -> list[_EntryGroup]:
    common = _common_edits(changes)
    holders: dict[tuple[str, EditKey], list[int]] = defaultdict(list)
    alike: dict[Hashable, list[int]] = defaultdict(list)
    for place, change in enumerate(changes):
        name = host_of(change.url)
        keys = {_edit_key(edit) for edit in change.edits}
        shared = {s for s in keys if (name, s) in common}
        for one in shared:
            holders[name, one].append(place)
        if keys - shared:
            alike[place].append(place)
        elif not shared or change.detail:
            sign = (name, change.kinds, change.detail, change.links_added, change.links_removed)
            alike[sign].append(place)
    # Edits that stand on the very same pages are one entry: a footer has several lines.
    together: dict[tuple[str, tuple[int, ...]], set[EditKey]] = defaultdict(set)
    for (name, one), places in holders.items():
        together[name, tuple(places)].add(one)
    groups = [
        _EntryGroup(_shared_entry([changes[place] for place in places], keys), places)
        for (_, places), keys in together.items()
    ]
    groups += [
        _EntryGroup(_own_entry([changes[place] for place in own], common), tuple(own))
        for own in alike.values()
    ]
    return groups


def _common_edits(changes: Iterable[Change]) -> frozenset[tuple[str, EditKey]]:
    """Edits that stand on many pages of their host."""
    pages: dict[tuple[str, EditKey], set[Url]] = defaultdict(set)
    for change in changes:
        for edit in change.edits:
            pages[host_of(change.url), _edit_key(edit)].add(change.url)
    return frozenset(key for key, urls in pages.items() if len(urls) >= MANY_PAGES)


def _edit_key(edit: PageEdit) -> EditKey:
    return edit.what, edit.old, edit.new


def _shared_entry(changes: Sequence[Change], keys: set[EditKey]) -> DigestEntry:
    """The entry of edits that these pages share."""
    edits = [edit for edit in changes[0].edits if _edit_key(edit) in keys]
    return _make_entry(changes, edits, max(_significance_part(change, keys) for change in changes))


def _own_entry(changes: Sequence[Change], common: frozenset[tuple[str, EditKey]]) -> DigestEntry:
    """The entry of one page, or of several that went the same way."""
    first = changes[0]
    name = host_of(first.url)
    edits = [edit for edit in first.edits if (name, _edit_key(edit)) not in common]
    entry_edits = {_edit_key(edit) for edit in edits}
    weight = max(
        _significance_part(change, entry_edits) if entry_edits else change.significance
        for change in changes
    )
    shared = len({_edit_key(edit) for edit in first.edits}) - len(entry_edits)
    return _make_entry(changes, edits, weight, first, shared)


def _make_entry(
    changes: Sequence[Change],
    edits: Sequence[PageEdit],
    significance: float,
    whole: Change | None = None,
    shared: int = 0,
) -> DigestEntry:
    """``whole``: the change whose links and detail belong to the entry, too."""
    first = changes[0]
    in_all = set(first.kinds).intersection(*(change.kinds for change in changes))
    once: dict[EditKey, PageEdit] = {}
    for edit in edits:
        once.setdefault(_edit_key(edit), edit)
    return DigestEntry(
        host_of(first.url),
        tuple(dict.fromkeys(change.url for change in changes)),
        tuple(kind for kind in first.kinds if kind in in_all) or first.kinds,
        significance,
        max(change.at for change in changes),
        tuple(sorted(once.values(), key=lambda edit: -edit.weight)),
        whole.links_added if whole else (),
        whole.links_removed if whole else (),
        whole.detail if whole else "",
        shared,
    )


def _significance_part(change: Change, keys: set[EditKey]) -> float:
    """How much of the change's significance these edits make up."""
    whole = sum(edit.weight for edit in change.edits)
    if not whole:
        return change.significance
    part = sum(edit.weight for edit in change.edits if _edit_key(edit) in keys)
    return change.significance * part / whole


# -- Escaping --

_UNSEEN = re.compile(
    "["
    "\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f"  # control characters; XML refuses most of them
    "\xad\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f"  # bidi marks, invisible signs
    "\ud800-\udfff\ufdd0-\ufdef\ufeff\ufff0-\ufffb\ufffe\uffff"  # what is no character
    "\U000e0000-\U000e0fff"  # tags: a text inside the text that nobody sees
    "]+"
)
_MARKUP = re.compile(r"[\\`*_\[\]]|~(?=~)|(?<=~)~")
_MENTION = re.compile(r"@(?=\w)")
_MAX_URL = 2083
"""Longer addresses are shown, cut, but are no links."""


def clean_line(text: str, letters: int = 200) -> str:
    """One line of at most so many characters, nothing invisible in it."""
    # White space and what we take out may hide a long text's end: look further, but not for ever.
    part = text[: 4 * letters + 64]
    line = " ".join(_UNSEEN.sub("", part).split())
    cut = len(line) > letters or len(part) < len(text)
    return line[: letters - 1].rstrip() + "…" if cut else line


def safe_link(url: str) -> str:
    """The address if it may be a link, else ''.

    Only http and https, and nothing before the host: ``https://bank.example@evil.example/`` leads
    to the latter.
    """
    if len(url) > _MAX_URL or not url.startswith(("http://", "https://")):
        return ""
    found = canonical_url(url)
    return found if found and "@" not in authority_of(found) else ""


def escape_markdown(text: str) -> str:
    """Text in which nothing is markup, and nobody is called: ``@everyone`` would wake a chat."""
    # Not every Markdown takes a backslash before "<": the entities are safe in all of them.
    plain = escape(text, quote=False)
    return defuse_mentions(_MARKUP.sub(r"\\\g<0>", plain))


def defuse_mentions(text: str) -> str:
    """In which no @name reaches anybody."""
    return _MENTION.sub("@\u200b", text)


def markdown_link(url: str, text: str) -> str:
    """Brackets round the address keep its own parentheses from ending it."""
    if not (target := safe_link(url)):
        return escape_markdown(text)
    target = target.replace("<", "%3C").replace(">", "%3E").replace("\\", "%5C")
    return f"[{escape_markdown(text)}](<{target}>)"


def html_link(url: str, text: str) -> str:
    if not (target := safe_link(url)):
        return escape(text)
    return f'<a href="{escape(target)}" rel="noopener noreferrer nofollow">{escape(text)}</a>'


# -- Formats --
#
# Every text from the web passes :func:`~honeyguide.watch.notify.message.clean_line` and the form's
# own escape here, and nowhere else.


SHOWN_EDITS = 5
"""Shown of one entry."""
SHOWN_PAGES = 5
"""Addresses shown of an entry that many pages share."""
_CONTEXT_WORDS = 4
"""Words shown before and after what differs."""

_KIND_WORDS: dict[ChangeKind, str] = {
    "new": "new page", "content": "changed", "minor": "changed a little", "data": "data changed",
    "links": "links changed", "structure": "layout changed", "cosmetic": "looks changed",
    "moved": "moved", "gone": "gone", "back": "back again", "blocked": "blocked the request",
    "soft_404": "says “not found”",
}  # fmt: skip


class MessageFormat(NamedTuple):
    """How each part is written; what comes in is clean."""

    text: Callable[[str], str]
    page: Callable[[str], str]
    """Its address, as a link where the form has links."""
    host: Callable[[str], str]
    old: Callable[[str], str]
    new: Callable[[str], str]
    line: Callable[[str, int], str]
    """A text and its depth."""


PLAIN_FORMAT = MessageFormat(
    text=defuse_mentions,  # a chat may read it
    page=lambda url: defuse_mentions(clean_line(url, 300)),
    host=str,
    old=lambda text: f"- {defuse_mentions(text)}",
    new=lambda text: f"+ {defuse_mentions(text)}",
    line=lambda text, depth: "  " * depth + text,
)
MARKDOWN_FORMAT = MessageFormat(
    text=escape_markdown,
    page=lambda url: markdown_link(url, clean_line(url, 120)),
    host=lambda name: f"**{escape_markdown(name)}**",
    old=lambda text: f"was: {escape_markdown(text)}",
    new=lambda text: f"now: {escape_markdown(text)}",
    line=lambda text, depth: f"{'  ' * (depth - 1)}- {text}" if depth else f"\n{text}\n",
)
HTML_FORMAT = MessageFormat(
    text=escape,
    page=lambda url: html_link(url, clean_line(url, 120)),
    host=lambda name: f"<strong>{escape(name)}</strong>",
    old=lambda text: f'<del dir="auto">{escape(text)}</del>',
    new=lambda text: f'<ins dir="auto">{escape(text)}</ins>',
    line=lambda text, depth: f'<p style="margin:0 0 .3em {depth}em">{text}</p>',
)


def entry_lines(entry: DigestEntry, form: MessageFormat) -> Iterator[str]:
    """One entry, written."""
    head = form.text(entry_headline(entry))
    if len(entry.urls) == 1:
        yield form.line(f"{form.page(entry.urls[0])} {head}", 1)
    else:
        yield form.line(f"{head} of {form.text(clean_line(entry.host, 80))}", 1)
    if entry.detail:
        yield form.line(form.text(clean_line(entry.detail)), 2)
    for edit in entry.edits[:SHOWN_EDITS]:
        old, new = shorten_edit(edit)
        if old and edit.what != "moved":
            yield form.line(form.old(old), 2)
        if new:
            yield form.line(form.new(new), 2)
    if len(entry.urls) > 1:
        for url in entry.urls[:SHOWN_PAGES]:
            yield form.line(form.page(url), 2)
    for count, what in (
        (len(entry.urls) - SHOWN_PAGES, "more pages"),
        (len(entry.edits) - SHOWN_EDITS, "more edits"),
        (entry.shared, "edits that other pages share"),
        (len(entry.links_added), "links added"),
        (len(entry.links_removed), "links removed"),
    ):
        if count > 0:
            yield form.line(form.text(f"and {count} {what}"), 2)


def entry_headline(entry: DigestEntry) -> str:
    """What happened, in a few words of our own."""
    words = ", ".join(_KIND_WORDS[kind] for kind in entry.kinds) or "changed"
    if len(entry.urls) == 1:
        return words
    if entry.edits:
        edits = "the same edit" if len(entry.edits) == 1 else f"the same {len(entry.edits)} edits"
        return f"{edits} on {len(entry.urls)} pages"
    return f"{words}: {len(entry.urls)} pages"


def shorten_edit(edit: PageEdit) -> tuple[str, str]:
    """Old and new text around what differs: equal beginnings and ends are cut to a few words."""
    old, new = edit.old.split(), edit.new.split()
    head, tail = (0, 0) if edit.what == "moved" else equal_ends(old, new)
    start = max(0, head - _CONTEXT_WORDS)
    return _cut_words(old, start, tail), _cut_words(new, start, tail)


def _cut_words(words: Sequence[str], start: int, tail: int) -> str:
    end = len(words) - max(0, tail - _CONTEXT_WORDS)
    before, after = "… " if start else "", " …" if end < len(words) else ""
    return clean_line(f"{before}{' '.join(words[start:end])}{after}")


# -- Messages --


SHOWN_ENTRIES = 40
"""Shown in one message; how many more there are is said."""
_SHOWN_URLS = 100
"""Addresses of one entry in what machines get."""


@dataclass(frozen=True, slots=True)
class ChangeMessage:
    """What is sent through one channel at once."""

    id: str
    """The same changes for the same channel have the same id: a receiver that was told already,
    before a crash of ours, can tell."""
    at: float
    """When the newest of its changes was found."""
    title: str
    entries: tuple[DigestEntry, ...]
    """All of them; what is shown of them is bounded."""
    collection: str = ""

    def to_text(self) -> str:
        return "\n".join(self._format_lines(PLAIN_FORMAT))

    def to_markdown(self) -> str:
        return "\n".join(self._format_lines(MARKDOWN_FORMAT))

    def to_html(self) -> str:
        return "\n".join(self._format_lines(HTML_FORMAT))

    def to_data(self) -> dict[str, Any]:
        """For machines; every text bounded and without control characters."""
        return {
            "id": self.id,
            "at": self.at,
            "collection": clean_line(self.collection),
            "title": self.title,
            "entries": [_entry_data(entry) for entry in self.entries[:SHOWN_ENTRIES]],
            "more": max(0, len(self.entries) - SHOWN_ENTRIES),
        }

    def _format_lines(self, form: MessageFormat) -> Iterator[str]:
        shown = self.entries[:SHOWN_ENTRIES]
        for name, group in groupby(shown, key=lambda entry: entry.host):
            yield form.line(form.host(clean_line(name, 80)), 0)
            for entry in group:
                yield from entry_lines(entry, form)
        if more := len(self.entries) - len(shown):
            yield form.line(form.text(f"and {more} more"), 0)


def compose_message(
    channel: str, changes: Sequence[Change], collection: str = "", key: str = ""
) -> ChangeMessage:
    """One message of these changes; ``key`` is its id, if it has one already."""
    found = tuple(digest_entries(changes))
    at = max((change.at for change in changes), default=0.0)
    return ChangeMessage(
        key or _message_id(channel, changes),
        at,
        _message_title(found, collection),
        found,
        collection,
    )


def _message_id(channel: str, changes: Sequence[Change]) -> str:
    digest = sha256(channel.encode("utf-8", "replace"))
    for url, at in sorted((change.url, change.at) for change in changes):
        digest.update(f"\n{at!r} {url}".encode("utf-8", "replace"))
    return f"msg_{digest.hexdigest()[:32]}"


def _message_title(found: Sequence[DigestEntry], collection: str) -> str:
    pages = {url for entry in found for url in entry.urls}
    hosts = {entry.host for entry in found}
    if len(pages) == 1:
        # Not the address: a title is shown as it is, by whatever reads it.
        what = f"{entry_headline(found[0])}: a page of {clean_line(next(iter(hosts)), 80)}"
    else:
        where = clean_line(next(iter(hosts)), 80) if len(hosts) == 1 else f"{len(hosts)} hosts"
        what = f"{len(pages)} pages of {where} changed"
    return f"[{clean_line(collection, 40)}] {what}" if collection else what


def _entry_data(entry: DigestEntry) -> dict[str, Any]:
    return {
        "host": clean_line(entry.host),
        "pages": len(entry.urls),
        "urls": _safe_links(entry.urls, _SHOWN_URLS),
        "kinds": list(entry.kinds),
        "significance": round(entry.significance, 4),
        "at": entry.at,
        "detail": clean_line(entry.detail),
        "links_added": _safe_links(entry.links_added, SHOWN_EDITS),
        "links_removed": _safe_links(entry.links_removed, SHOWN_EDITS),
        "edits": [
            {
                "what": edit.what,
                "path": clean_line(edit.path),
                "old": clean_line(edit.old, 1000),
                "new": clean_line(edit.new, 1000),
            }
            for edit in entry.edits[:SHOWN_EDITS]
        ],
    }


def _safe_links(urls: Sequence[str], most: int) -> list[str]:
    return [found for url in urls[:most] if (found := safe_link(url))]
