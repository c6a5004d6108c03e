"""What differs between two fetches, as the narrowest masks that would cover it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import islice

from honeyguide.change import Block, Snapshot
from honeyguide.watch.compare.detect import links_changed, with_title
from honeyguide.watch.compare.mask_names import (
    SHAPE,
    anchored,
    data_key,
    folder_key,
    link_key,
    order_key,
    skeleton,
    soft,
)
from honeyguide.watch.compare.match import Matching, Pair, match

_MOSTLY = 0.6
"""Share of the blocks at a path from which the whole path is meant, not some of its blocks."""
_SOME = 3
"""Quiet blocks at a path by which it is saved from that."""
_BESIDE = 5_000
"""Quiet blocks beside those that differ."""
_PAIRS = 1_000
"""Blocks looked at: where more differ, it is another page, not a restless one."""


@dataclass(slots=True)
class Differing:
    """Masks that would cover the differences, by what is behind them; filled once, then read."""

    soft: dict[str, float] = field(default_factory=dict)
    """What programs put into blocks; with the weight of the blocks."""
    hard: dict[str, float] = field(default_factory=dict)
    """Words; with the weight of the blocks."""
    other: set[str] = field(default_factory=set)
    """Links for which others stand now, fields, order, shape."""
    lone: set[str] = field(default_factory=set)
    """Links that only came or went."""
    heirs: dict[str, str] = field(default_factory=dict)
    """Soft masks of blocks whose words were edited, and what they would be now."""
    worded: int = 0
    """Blocks of which the words differ."""


def differing(old: Snapshot, new: Snapshot) -> Differing:
    before, after = with_title(old), with_title(new)
    matching = match(before, after)
    found = Differing()
    quiet: set[str] | None = None
    kept = Counter(after[at].path for at in matching.kept_new)
    changed = Counter(after[pair.new].path for pair in matching.pairs if pair.new >= 0)
    for pair in matching.pairs[:_PAIRS]:
        sides = [
            (blocks[at], above(blocks, at))
            for blocks, at, above in (
                (before, pair.old, matching.above_old),
                (after, pair.new, matching.above_new),
            )
            if at >= 0
        ]
        block, anchor = sides[-1]
        if _only_programs(pair, before, after):
            key = soft(block.path, block.text)
            if quiet is None:
                quiet = _quiet(after, matching, changed.keys())
            key = anchored(key, anchor) if key in quiet else key
            found.soft[key] = max(block.weight, found.soft.get(key, 0.0))
            continue
        if len(sides) == 2:
            one, over = sides[0]
            if one.text == block.text:
                found.other.add(order_key(block.path))
                continue
            was, now = soft(one.path, one.text), soft(block.path, block.text)
            found.heirs[was] = now
            found.heirs[anchored(was, over)] = anchored(now, anchor)
        found.worded += 1
        for side, over in sides:
            path = side.path
            mostly = changed[path] >= _MOSTLY * (changed[path] + kept[path]) and kept[path] < _SOME
            key = path if path and mostly else anchored(path, over)
            found.hard[key] = max(side.weight, found.hard.get(key, 0.0))
    found.other |= {order_key(after[pair.new].path) for pair in matching.moved}
    alike, found.lone = _links(old, new)
    found.other |= alike
    found.other |= {data_key(name) for name, _ in Counter(old.data) - Counter(new.data)}
    found.other |= {data_key(name) for name, _ in Counter(new.data) - Counter(old.data)}
    if old.shape != new.shape:
        found.other.add(SHAPE)
    return found


def _only_programs(pair: Pair, old: Sequence[Block], new: Sequence[Block]) -> bool:
    if pair.old < 0 or pair.new < 0 or old[pair.old].path != new[pair.new].path:
        return False
    one, other = old[pair.old].text, new[pair.new].text
    return one != other and skeleton(one) == skeleton(other)


def _quiet(new: Sequence[Block], matching: Matching, paths: Collection[str]) -> set[str]:
    """Soft masks of blocks that did not differ: others have the same words at the same path."""
    beside = (new[at] for at in matching.kept_new if new[at].path in paths)
    return {soft(other.path, other.text) for other in islice(beside, _BESIDE)}


def _links(old: Snapshot, new: Snapshot) -> tuple[set[str], set[str]]:
    """Masks of links that were replaced by others of their kind, and of all others."""
    added, removed = links_changed(old, new)
    come, gone = _by_key(added), _by_key(removed)
    alike = come.keys() & gone.keys()
    alone = [url for key, url in (come | gone).items() if key not in alike]
    return alike, {folder_key(url) for url in alone}


def _by_key(urls: Iterable[str]) -> dict[str, str]:
    return {link_key(url): url for url in urls}
