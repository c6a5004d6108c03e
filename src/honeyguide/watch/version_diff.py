"""Diffs of two versions of a page for people: word by word, and side by side."""

from __future__ import annotations

import shlex
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator
from difflib import SequenceMatcher
from typing import Literal, NamedTuple

from honeyguide.change import Change, Snapshot
from honeyguide.errors import ConfigError
from honeyguide.parse.blocks import read_snapshot
from honeyguide.store.store import Store
from honeyguide.store.versions import VersionRow
from honeyguide.types import Url
from honeyguide.watch.compare import page_change
from honeyguide.watch.compare.block_matching import (
    BlockMatching,
    BlockPair,
    equal_ends,
    match_blocks,
)
from honeyguide.watch.compare.mask_names import data_mask
from honeyguide.watch.compare.volatile import VolatileMemory

DiffPiece = tuple[Literal["same", "removed", "added"], str]

_MAX_MATCHES = 10_000
"""Pairs of equal words up to which a matcher may be asked: it looks at each again and again."""
_MAX_LETTERS = 100_000
"""Letters that anybody would look at."""


def diff_words(old: str, new: str) -> list[DiffPiece]:
    """Pieces that, without the added ones, read as the old text, and without the removed ones as
    the new, white space aside."""
    before, after = old[:_MAX_LETTERS].split(), new[:_MAX_LETTERS].split()
    start, end = equal_ends(before, after)
    pieces: list[DiffPiece] = []
    _add_piece(pieces, "same", before[:start])
    gone, come = before[start : len(before) - end], after[start : len(after) - end]
    if gone and come and _count_matches(gone, come) <= _MAX_MATCHES:
        _add_matched(pieces, gone, come)
    else:
        _add_piece(pieces, "removed", gone)
        _add_piece(pieces, "added", come)
    _add_piece(pieces, "same", before[len(before) - end :])
    return pieces


def _add_matched(pieces: list[DiffPiece], gone: list[str], come: list[str]) -> None:
    for _, low, high, start, stop in SequenceMatcher(None, gone, come, False).get_opcodes():
        if gone[low:high] == come[start:stop]:
            _add_piece(pieces, "same", gone[low:high])
        else:
            _add_piece(pieces, "removed", gone[low:high])
            _add_piece(pieces, "added", come[start:stop])


def _count_matches(gone: list[str], come: list[str]) -> int:
    counts = Counter(come)
    return sum(count * counts[word] for word, count in Counter(gone).items())


def _add_piece(
    pieces: list[DiffPiece], what: Literal["same", "removed", "added"], words: list[str]
) -> None:
    if not words:
        return
    text = " ".join(words)
    if pieces and pieces[-1][0] == what:
        pieces[-1] = (what, f"{pieces[-1][1]} {text}")
    else:
        pieces.append((what, text))


# -- Side by side --


_CONTEXT_BLOCKS = 1
"""Blocks shown before and after one that differs."""
_RECENT_CHANGES = 20
"""Newest changes of a page among which the last one with both versions is looked for."""


class VersionDiff(NamedTuple):
    old: VersionRow
    new: VersionRow
    change: Change | None
    """None: nothing that is not masked differs."""
    before: Snapshot
    after: Snapshot
    masks: frozenset[str]


class BlockDiff(NamedTuple):
    """A block of one version beside that of the other."""

    what: Literal["same", "added", "removed", "changed", "moved", "data", "left"]
    """``left``: some that are the same were left out; ``new`` says how many."""
    path: str
    old: str = ""
    new: str = ""
    masked: bool = False
    mask: str = ""
    """The mask that would hide this difference."""


def diff_versions(
    store: Store, url: Url, old: int = 0, new: int = 0, *, everything: bool = False
) -> VersionDiff:
    """Two versions by their numbers; without them, those of the last change.

    ``everything``: also what differs at every visit and is masked.
    """
    versions = {row.number: row for row in store.versions.list_versions(url)}
    numbers = sorted(versions)
    if len(numbers) < 2 and not (old and new):
        raise ConfigError(
            f"there is only one version of {url}" if numbers else no_versions_hint(store, url)
        )
    if not old and not new:
        for last in store.changes.iter_newest(url=url, limit=_RECENT_CHANGES):
            if last.old in versions and last.new in versions:
                old, new = last.old or 0, last.new or 0
                break
    new = new or numbers[-1]
    old = old or max((n for n in numbers if n < new), default=numbers[0])
    for number in (old, new):
        check_version(number, numbers)
    one, other = (
        read_snapshot(store.versions.read_body(url, n), url, versions[n].content_type)
        for n in (old, new)
    )
    row = store.watched.find_row(url)
    masks = (
        VolatileMemory.from_json(row.masks).active_masks()
        if row and not everything
        else frozenset()
    )
    at, since = versions[new].at, versions[old].last_seen
    found = page_change.compare_snapshots(one, other, masks, at=at, since=since)
    return VersionDiff(versions[old], versions[new], found, one, other, masks)


def no_versions_hint(store: Store, url: Url) -> str:
    """That there is no version of a page, and how to have some."""
    place = shlex.quote(str(store.folder))
    return f"no version of {url} is stored; a watch stores them: honeyguide watch {place}"


def check_version(number: int, numbers: list[int]) -> None:
    if number not in numbers:
        some = ", ".join(map(str, numbers[:20])) + (" …" if len(numbers) > 20 else "")
        raise ConfigError(f"there is no version {number}; stored are {some}")


def diff_side_by_side(found: VersionDiff) -> Iterator[BlockDiff]:
    """All blocks that differ in the order of the new version, with their neighbours, and the
    fields of the page's data at the end."""
    old, new = page_change.with_title(found.before), page_change.with_title(found.after)
    yield from _with_neighbours(_align_blocks(match_blocks(old, new), found.masks))
    for edit in found.change.edits if found.change else ():
        if edit.what == "data":
            yield BlockDiff("data", edit.path, edit.old, edit.new, mask=data_mask(edit.path))


def _align_blocks(matching: BlockMatching, masks: frozenset[str]) -> Iterator[BlockDiff]:
    old, new = matching.old, matching.new
    pairs = {pair.new: pair for pair in matching.pairs if pair.new >= 0}
    moved = {pair.new for pair in matching.moved}
    gone: dict[int, list[BlockPair]] = {}
    for pair in matching.pairs:
        if pair.new < 0:
            # It stands behind as many blocks that stayed as it did before.
            behind = bisect_left(matching.kept_old, pair.old)
            place = matching.kept_new[behind - 1] + 1 if behind else 0
            gone.setdefault(place, []).append(pair)

    def describe_mask(pair: BlockPair) -> tuple[bool, str]:
        masked = bool(masks) and page_change.is_pair_masked(pair, matching, masks)
        return masked, page_change.narrowest_mask(pair, matching)

    for at in range(len(new) + 1):
        for pair in gone.get(at, ()):
            block = old[pair.old]
            yield BlockDiff("removed", block.path, block.text, "", *describe_mask(pair))
        if at == len(new):
            return
        block = new[at]
        if (found := pairs.get(at)) is None:
            yield BlockDiff("moved" if at in moved else "same", block.path, block.text, block.text)
            continue
        before = old[found.old].text if found.old >= 0 else ""
        what: Literal["added", "moved", "changed"] = (
            "added" if found.old < 0 else "moved" if before == block.text else "changed"
        )
        yield BlockDiff(what, block.path, before, block.text, *describe_mask(found))


def _with_neighbours(blocks: Iterator[BlockDiff]) -> Iterator[BlockDiff]:
    """Leave out what is the same, but for the neighbours of what is not."""
    same: list[BlockDiff] = []
    begun = False
    for block in blocks:
        if block.what == "same":
            same.append(block)
            continue
        yield from _shorten_run(same, _CONTEXT_BLOCKS if begun else 0, _CONTEXT_BLOCKS)
        yield block
        same, begun = [], True
    yield from _shorten_run(same, _CONTEXT_BLOCKS if begun else 0, 0)


def _shorten_run(same: list[BlockDiff], first: int, last: int) -> Iterator[BlockDiff]:
    if len(same) <= first + last:
        yield from same
        return
    yield from same[:first]
    yield BlockDiff("left", "", new=str(len(same) - first - last))
    yield from same[len(same) - last :]
