"""What differs between two versions of a page: for people to look at, in words or side by side."""

from __future__ import annotations

import shlex
from bisect import bisect_left
from collections.abc import Iterator
from typing import Literal, NamedTuple

from honeyguide.change import Block, Change, Snapshot
from honeyguide.errors import ConfigError
from honeyguide.parse.blocks import read_snapshot
from honeyguide.store.store import Store
from honeyguide.store.versions import VersionRow
from honeyguide.types import Url
from honeyguide.watch.compare.detect import compare, with_title
from honeyguide.watch.compare.mask_names import data_key
from honeyguide.watch.compare.masks import covered_pair, narrowest
from honeyguide.watch.compare.match import Matching, Pair, match
from honeyguide.watch.compare.volatile import Memory

_NEAR = 1
"""Blocks shown before and after one that differs."""
_LOOKED_AT = 20
"""Newest changes of a page among which the last one with both versions is looked for."""


class Between(NamedTuple):
    old: VersionRow
    new: VersionRow
    change: Change | None
    """None: nothing that is not masked differs."""
    before: Snapshot
    after: Snapshot
    masks: frozenset[str]


class Shown(NamedTuple):
    """A block of one version beside that of the other."""

    what: Literal["same", "added", "removed", "changed", "moved", "data", "left"]
    """``left``: some that are the same were left out; ``new`` says how many."""
    path: str
    old: str = ""
    new: str = ""
    masked: bool = False
    mask: str = ""
    """What to mask if this is to be told no more."""


def between(
    store: Store, url: Url, old: int = 0, new: int = 0, *, everything: bool = False
) -> Between:
    """Two versions by their numbers; without them, those of the last change.

    ``everything``: also what differs at every visit and is masked.
    """
    versions = {row.number: row for row in store.versions.history(url)}
    numbers = sorted(versions)
    if len(numbers) < 2 and not (old and new):
        raise ConfigError(f"there is only one version of {url}" if numbers else none(store, url))
    if not old and not new:
        for last in store.changes.newest(url=url, limit=_LOOKED_AT):
            if last.old in versions and last.new in versions:
                old, new = last.old or 0, last.new or 0
                break
    new = new or numbers[-1]
    old = old or max((n for n in numbers if n < new), default=numbers[0])
    for number in (old, new):
        check(number, numbers)
    one, other = (
        read_snapshot(store.versions.body(url, n), url, versions[n].content_type)
        for n in (old, new)
    )
    row = store.watched.find(url)
    masks = Memory.from_json(row.masks).masks() if row and not everything else frozenset()
    at, since = versions[new].at, versions[old].last_seen
    found = compare(one, other, masks, at=at, since=since)
    return Between(versions[old], versions[new], found, one, other, masks)


def none(store: Store, url: Url) -> str:
    """That there is no version of a page, and how to have some."""
    place = shlex.quote(str(store.folder))
    return f"no version of {url} is kept; a watch keeps them: honeyguide watch {place}"


def check(number: int, kept: list[int]) -> None:
    if number not in kept:
        some = ", ".join(map(str, kept[:20])) + (" …" if len(kept) > 20 else "")
        raise ConfigError(f"there is no version {number}; kept are {some}")


def side_by_side(found: Between) -> Iterator[Shown]:
    """All blocks that differ in the order of the new version, with their neighbours, and the
    fields of the page's data at the end."""
    old, new = with_title(found.before), with_title(found.after)
    matching = match(old, new)
    yield from _near(_aligned(old, new, matching, found.masks))
    for edit in found.change.edits if found.change else ():
        if edit.what == "data":
            yield Shown("data", edit.path, edit.old, edit.new, mask=data_key(edit.path))


def _aligned(
    old: tuple[Block, ...], new: tuple[Block, ...], matching: Matching, masks: frozenset[str]
) -> Iterator[Shown]:
    pairs = {pair.new: pair for pair in matching.pairs if pair.new >= 0}
    moved = {pair.new for pair in matching.moved}
    gone: dict[int, list[Pair]] = {}
    for pair in matching.pairs:
        if pair.new < 0:
            # It stands behind as many blocks that stayed as it did before.
            behind = bisect_left(matching.kept_old, pair.old)
            place = matching.kept_new[behind - 1] + 1 if behind else 0
            gone.setdefault(place, []).append(pair)
    for at in range(len(new) + 1):
        for pair in gone.get(at, ()):
            block = old[pair.old]
            masked = _masked(pair, old, new, matching, masks)
            mask = narrowest(pair, old, new, matching)
            yield Shown("removed", block.path, block.text, "", masked, mask)
        if at == len(new):
            return
        block = new[at]
        if (found := pairs.get(at)) is None:
            yield Shown("moved" if at in moved else "same", block.path, block.text, block.text)
            continue
        before = old[found.old].text if found.old >= 0 else ""
        masked = _masked(found, old, new, matching, masks)
        what: Literal["added", "moved", "changed"] = (
            "added" if found.old < 0 else "moved" if before == block.text else "changed"
        )
        mask = narrowest(found, old, new, matching)
        yield Shown(what, block.path, before, block.text, masked, mask)


def _masked(
    pair: Pair,
    old: tuple[Block, ...],
    new: tuple[Block, ...],
    matching: Matching,
    masks: frozenset[str],
) -> bool:
    return bool(masks) and covered_pair(pair, old, new, matching, masks)


def _near(blocks: Iterator[Shown]) -> Iterator[Shown]:
    """Leave out what is the same, but for the neighbours of what is not."""
    same: list[Shown] = []
    begun = False
    for block in blocks:
        if block.what == "same":
            same.append(block)
            continue
        yield from _some(same, _NEAR if begun else 0, _NEAR)
        yield block
        same, begun = [], True
    yield from _some(same, _NEAR if begun else 0, 0)


def _some(same: list[Shown], first: int, last: int) -> Iterator[Shown]:
    if len(same) <= first + last:
        yield from same
        return
    yield from same[:first]
    yield Shown("left", "", new=str(len(same) - first - last))
    yield from same[len(same) - last :]
