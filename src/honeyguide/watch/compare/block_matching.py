"""Matches the blocks of two versions of a page, in nearly linear time.

Blocks with the same path and text are the same block. Of the rest, those belong together that
have the same text elsewhere, then those of which only numbers differ, then those that share
unusual pairs of words, then those at the same path, in order.
No text is ever compared letter by letter.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import defaultdict, deque
from collections.abc import Callable, Hashable, Sequence
from itertools import pairwise
from typing import NamedTuple

from honeyguide.change import Block
from honeyguide.watch.compare.mask_names import TITLE_PATH, BlockAnchor, word_skeleton

_COMMON = 4
"""Word pairs that stand in more blocks than this say little about which is which."""
_PAIRS = 48
"""Most word pairs of a block."""
_ALL_PAIRS = 60_000
"""Most word pairs of all blocks together."""
_NUMBER = re.compile(r"\d").search
_FEW = 500
"""Blocks up to which it is looked into what programs put into them."""
_ALIKE = 0.5
"""Share of words in common (Jaccard) from which two texts are one that was edited."""
_STRANGE = 0.1
_LONG = 8
"""Long blocks with fewer words in common than that do not belong together, same path or not."""


class BlockPair(NamedTuple):
    """Places of a block in both versions; -1: it is in one of them only."""

    old: int
    new: int


class BlockMatching(NamedTuple):
    old: Sequence[Block]
    new: Sequence[Block]
    pairs: list[BlockPair]
    """Blocks that differ, in the order of the new version, removed ones last."""
    moved: list[BlockPair]
    """Blocks that are the same and stand elsewhere in the order."""
    kept_old: list[int]
    kept_new: list[int]
    """Places of the blocks that are the same, ascending."""

    def sides(self, pair: BlockPair) -> list[tuple[Block, BlockAnchor]]:
        """The block in each version that has it, the old one first, with the last block before it
        that is the same in both versions."""
        versions = (self.kept_old, self.old, pair.old), (self.kept_new, self.new, pair.new)
        return [
            (blocks[at], _anchor_above(kept, blocks, at))
            for kept, blocks, at in versions
            if at >= 0
        ]


class _UnmatchedBlocks(NamedTuple):
    """Two versions, and places of the blocks that have no counterpart yet."""

    old: Sequence[Block]
    new: Sequence[Block]
    gone: list[int]
    come: list[int]


def match_blocks(old: Sequence[Block], new: Sequence[Block]) -> BlockMatching:
    start, end = equal_ends(old, new)
    same, gone, come = _split_equal_blocks(old, new, range(start, len(old) - end), len(new) - end)
    return BlockMatching(
        old,
        new,
        _pair_blocks(_UnmatchedBlocks(old, new, gone, come)),
        _moved_pairs(same),
        [*range(start), *sorted(pair.old for pair in same), *range(len(old) - end, len(old))],
        [*range(start), *(pair.new for pair in same), *range(len(new) - end, len(new))],
    )


def equal_ends(old: Sequence[object], new: Sequence[object]) -> tuple[int, int]:
    """How many items both begin with, and how many of the rest both end with."""
    most = min(len(old), len(new))
    start = next((at for at in range(most) if old[at] != new[at]), most)
    most -= start
    return start, next((at for at in range(most) if old[-1 - at] != new[-1 - at]), most)


def _anchor_above(places: list[int], blocks: Sequence[Block], at: int) -> BlockAnchor:
    place = bisect_left(places, at)
    if not place:
        return BlockAnchor("", at + 1)
    last = places[place - 1]
    return BlockAnchor(blocks[last].text, at - last)


def _split_equal_blocks(
    old: Sequence[Block], new: Sequence[Block], within: range, stop: int
) -> tuple[list[BlockPair], list[int], list[int]]:
    """Between the equal beginnings and ends: blocks that are in both, in the order of the new
    version, and the rest of each."""
    places: dict[tuple[str, str], list[int]] = {}
    for at in reversed(within):
        places.setdefault(old[at][:2], []).append(at)
    same: list[BlockPair] = []
    come: list[int] = []
    for at in range(within.start, stop):
        known = places.get(new[at][:2])
        if known:
            same.append(BlockPair(known.pop(), at))
        else:
            come.append(at)
    if len(same) == len(within):
        return same, [], come
    return same, sorted(at for rest in places.values() for at in rest), come


def _pair_blocks(rest: _UnmatchedBlocks) -> list[BlockPair]:
    found: dict[int, int] = {}
    for step in (_by_text, _by_skeleton, _by_words, _by_path):
        if not rest.gone or not rest.come:
            break
        found |= step(rest)
        taken = set(found.values())
        rest = rest._replace(
            gone=[at for at in rest.gone if at not in taken],
            come=[at for at in rest.come if at not in found],
        )
    pairs = [BlockPair(found.get(at, -1), at) for at in sorted([*found, *rest.come])]
    return pairs + [BlockPair(at, -1) for at in rest.gone]


def _by_text(rest: _UnmatchedBlocks) -> dict[int, int]:
    return _by_key(rest, lambda block: (block.text, block.path == TITLE_PATH))


def _by_skeleton(rest: _UnmatchedBlocks) -> dict[int, int]:
    def key(block: Block) -> Hashable:
        return (block.path, word_skeleton(block.text)) if _NUMBER(block.text) else None

    return _by_key(rest, key) if len(rest.gone) + len(rest.come) <= _FEW else {}


def _by_key(rest: _UnmatchedBlocks, key: Callable[[Block], Hashable]) -> dict[int, int]:
    """Pairs of blocks with the same key, in order; None is no key."""
    places: defaultdict[Hashable, deque[int]] = defaultdict(deque)
    for at in rest.gone:
        places[key(rest.old[at])].append(at)
    places.pop(None, None)
    return {at: waiting.popleft() for at in rest.come if (waiting := places.get(key(rest.new[at])))}


def _by_words(rest: _UnmatchedBlocks) -> dict[int, int]:
    """Votes of unusual word pairs name one candidate; only that one is looked at."""
    old, new, gone, come = rest
    most = min(_PAIRS, max(4, _ALL_PAIRS // (len(gone) + len(come))))
    posted: defaultdict[tuple[str, str], list[int]] = defaultdict(list)
    for at in gone:
        for pair in _word_pairs(old[at].text, most):
            if len(places := posted[pair]) <= _COMMON:
                places.append(at)
    found: dict[int, int] = {}
    taken: set[int] = set()
    for at in come:
        votes: dict[int, int] = {}
        for pair in _word_pairs(new[at].text, most):
            known = posted.get(pair)
            if known and len(known) <= _COMMON:
                for place in known:
                    votes[place] = votes.get(place, 0) + 1
        best = max(
            (place for place in votes if place not in taken and old[place].path != TITLE_PATH),
            key=lambda place: (votes[place], old[place].path == new[at].path, -abs(place - at)),
            default=-1,
        )
        alike = best >= 0 and word_overlap(old[best].text, new[at].text) >= _ALIKE
        if alike and new[at].path != TITLE_PATH:
            found[at] = best
            taken.add(best)
    return found


def _word_pairs(text: str, most: int) -> set[tuple[str, str]]:
    words = text.split(None, most + 1)[: most + 1]
    return set(pairwise(words))


def _by_path(rest: _UnmatchedBlocks) -> dict[int, int]:
    old, new, gone, come = rest
    places: defaultdict[str, deque[int]] = defaultdict(deque)
    for at in gone:
        places[old[at].path].append(at)
    found: dict[int, int] = {}
    for at in come:
        waiting = places.get(new[at].path)
        if waiting and not _are_strangers(old[waiting[0]].text, new[at].text):
            found[at] = waiting.popleft()
    return found


def _are_strangers(old: str, new: str) -> bool:
    long = old.count(" ") >= _LONG and new.count(" ") >= _LONG
    return long and word_overlap(old, new) < _STRANGE


def word_overlap(old: str, new: str) -> float:
    """Share of words in common, 0..1 (Jaccard)."""
    one, other = set(old.split()), set(new.split())
    return len(one & other) / (len(one | other) or 1)


def _moved_pairs(same: list[BlockPair]) -> list[BlockPair]:
    """The fewest blocks whose going elsewhere explains the new order (patience sorting)."""
    if all(one.old < other.old for one, other in pairwise(same)):
        return []
    tails: list[int] = []
    ends: list[int] = []
    back: list[int] = []
    for number, pair in enumerate(same):
        at = bisect_left(tails, pair.old)
        back.append(ends[at - 1] if at else -1)
        tails[at : at + 1] = [pair.old]
        ends[at : at + 1] = [number]
    staying = set()
    number = ends[-1]
    while number >= 0:
        staying.add(number)
        number = back[number]
    return [pair for number, pair in enumerate(same) if number not in staying]
