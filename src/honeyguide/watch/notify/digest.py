"""Many changes, one message: what is the same on many pages is told once.

A new footer is one edit, not forty: an edit that at least three pages of a host share becomes one
entry, and what else changed on those pages stands on its own. Pages of a host that went the same
way (gone, blocked) are one entry, too.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from honeyguide.change import Change, ChangeKind, PageEdit
from honeyguide.types import Url
from honeyguide.url import host_of

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
    """How many more edits of this page are told in another entry, with other pages."""


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
    """Which changes, by their places, share a message where each is told at once."""
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
        said = {_edit_key(edit) for edit in change.edits}
        shared = {s for s in said if (name, s) in common}
        for one in shared:
            holders[name, one].append(place)
        if said - shared:
            alike[place].append(place)
        elif not shared or change.detail:
            sign = (name, change.kinds, change.detail, change.links_added, change.links_removed)
            alike[sign].append(place)
    # Edits that stand on the very same pages are one entry: a footer has several lines.
    together: dict[tuple[str, tuple[int, ...]], set[EditKey]] = defaultdict(set)
    for (name, one), places in holders.items():
        together[name, tuple(places)].add(one)
    groups = [
        _EntryGroup(_shared_entry([changes[place] for place in places], said), places)
        for (_, places), said in together.items()
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


def _shared_entry(changes: Sequence[Change], said: set[EditKey]) -> DigestEntry:
    """The entry of edits that these pages share."""
    edits = [edit for edit in changes[0].edits if _edit_key(edit) in said]
    return _make_entry(changes, edits, max(_significance_part(change, said) for change in changes))


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


def _significance_part(change: Change, said: set[EditKey]) -> float:
    """How much of the change's significance these edits make up."""
    whole = sum(edit.weight for edit in change.edits)
    if not whole:
        return change.significance
    part = sum(edit.weight for edit in change.edits if _edit_key(edit) in said)
    return change.significance * part / whole
