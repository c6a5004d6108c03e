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

from honeyguide.change import Change, ChangeKind, Edit
from honeyguide.types import Url
from honeyguide.url import host

MANY = 3
"""Pages on which an edit must stand to be one of the site, not of a page."""
MESSAGES = 10
"""More than so many entries at once become one message, whatever the rule says."""

Said = tuple[str, str, str]
"""An edit wherever it stands: what, old, new. The same footer may hang at another path."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One thing that happened, on one page or on many of a host."""

    host: str
    urls: tuple[Url, ...]
    """In the order found, each once."""
    kinds: tuple[ChangeKind, ...]
    significance: float
    at: float
    """When it was last found."""
    edits: tuple[Edit, ...] = ()
    """The weightiest first."""
    links_added: tuple[Url, ...] = ()
    links_removed: tuple[Url, ...] = ()
    detail: str = ""
    shared: int = 0
    """How many more edits of this page are told in another entry, with other pages."""


class _Group(NamedTuple):
    entry: Entry
    places: tuple[int, ...]
    """Of the changes that it is made of."""


def entries(changes: Sequence[Change]) -> list[Entry]:
    """What happened; hosts together, the most significant host and entry first."""
    found = [group.entry for group in _groups(changes)]
    best: dict[str, float] = defaultdict(float)
    for entry in found:
        best[entry.host] = max(best[entry.host], entry.significance)
    return sorted(found, key=lambda e: (-best[e.host], e.host, -e.significance, -e.at, e.urls))


def batches(changes: Sequence[Change]) -> list[tuple[int, ...]]:
    """Which changes, by their places, share a message where each is told at once."""
    groups = _groups(changes)
    if len(groups) > MESSAGES:
        return [tuple(range(len(changes)))]
    message: dict[int, set[int]] = {}
    for group in groups:
        # A page with an edit of its own and a shared one stands in two entries: one message.
        joined = set(group.places).union(*(message.get(place, ()) for place in group.places))
        message.update(dict.fromkeys(joined, joined))
    return sorted({tuple(sorted(batch)) for batch in message.values()})


def _groups(changes: Sequence[Change]) -> list[_Group]:
    common = _common(changes)
    holders: dict[tuple[str, Said], list[int]] = defaultdict(list)
    alike: dict[Hashable, list[int]] = defaultdict(list)
    for place, change in enumerate(changes):
        name = host(change.url)
        said = {_said(edit) for edit in change.edits}
        shared = {s for s in said if (name, s) in common}
        for one in shared:
            holders[name, one].append(place)
        if said - shared:
            alike[place].append(place)
        elif not shared or change.detail:
            sign = (name, change.kinds, change.detail, change.links_added, change.links_removed)
            alike[sign].append(place)
    # Edits that stand on the very same pages are one entry: a footer has several lines.
    together: dict[tuple[str, tuple[int, ...]], set[Said]] = defaultdict(set)
    for (name, one), places in holders.items():
        together[name, tuple(places)].add(one)
    groups = [
        _Group(_shared([changes[place] for place in places], said), places)
        for (_, places), said in together.items()
    ]
    groups += [
        _Group(_own([changes[place] for place in own], common), tuple(own))
        for own in alike.values()
    ]
    return groups


def _common(changes: Iterable[Change]) -> frozenset[tuple[str, Said]]:
    """Edits that stand on many pages of their host."""
    pages: dict[tuple[str, Said], set[Url]] = defaultdict(set)
    for change in changes:
        for edit in change.edits:
            pages[host(change.url), _said(edit)].add(change.url)
    return frozenset(key for key, urls in pages.items() if len(urls) >= MANY)


def _said(edit: Edit) -> Said:
    return edit.what, edit.old, edit.new


def _shared(changes: Sequence[Change], said: set[Said]) -> Entry:
    """The entry of edits that these pages share."""
    edits = [edit for edit in changes[0].edits if _said(edit) in said]
    return _entry(changes, edits, max(_part(change, said) for change in changes))


def _own(changes: Sequence[Change], common: frozenset[tuple[str, Said]]) -> Entry:
    """The entry of one page, or of several that went the same way."""
    first = changes[0]
    name = host(first.url)
    edits = [edit for edit in first.edits if (name, _said(edit)) not in common]
    entry_edits = {_said(edit) for edit in edits}
    weight = max(
        _part(change, entry_edits) if entry_edits else change.significance for change in changes
    )
    shared = len({_said(edit) for edit in first.edits}) - len(entry_edits)
    return _entry(changes, edits, weight, first, shared)


def _entry(
    changes: Sequence[Change],
    edits: Sequence[Edit],
    significance: float,
    whole: Change | None = None,
    shared: int = 0,
) -> Entry:
    """``whole``: the change whose links and detail belong to the entry, too."""
    first = changes[0]
    in_all = set(first.kinds).intersection(*(change.kinds for change in changes))
    once: dict[Said, Edit] = {}
    for edit in edits:
        once.setdefault(_said(edit), edit)
    return Entry(
        host(first.url),
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


def _part(change: Change, said: set[Said]) -> float:
    """How much of the change's significance these edits make up."""
    whole = sum(edit.weight for edit in change.edits)
    if not whole:
        return change.significance
    part = sum(edit.weight for edit in change.edits if _said(edit) in said)
    return change.significance * part / whole
