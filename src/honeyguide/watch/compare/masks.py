"""Whether a block that differs is one that is known to differ at every visit."""

from __future__ import annotations

from collections.abc import Sequence

from honeyguide.change import Block
from honeyguide.watch.compare.mask_names import Anchor, anchored, named, skeleton, soft
from honeyguide.watch.compare.match import Matching, Pair


def covered_pair(
    pair: Pair,
    old: Sequence[Block],
    new: Sequence[Block],
    matching: Matching,
    masks: frozenset[str],
    closely: bool = True,
) -> bool:
    """Whether all that differs here is masked: the block, or what a program put into it."""
    sides = [blocks[at] for blocks, at in ((old, pair.old), (new, pair.new)) if at >= 0]
    if all(block.path in masks for block in sides):
        return True
    if not closely:
        return False
    if all(named(block.path, block.text) in masks for block in sides):
        return True
    if pair.old < 0:
        return covered(new[pair.new], matching.above_new(new, pair.new), masks)
    if pair.new < 0:
        return covered(old[pair.old], matching.above_old(old, pair.old), masks)
    one, other = old[pair.old], new[pair.new]
    over_one = matching.above_old(old, pair.old)
    over_other = matching.above_new(new, pair.new)
    if covered(one, over_one, masks) and covered(other, over_other, masks):
        return True
    if one.path != other.path or skeleton(one.text) != skeleton(other.text):
        return False
    key = soft(other.path, other.text)
    return key in masks or anchored(key, over_other) in masks or anchored(key, over_one) in masks


def covered(block: Block, above: Anchor | None, masks: frozenset[str]) -> bool:
    """Whether anything may stand at this place."""
    if block.path in masks:
        return True
    return above is not None and anchored(block.path, above) in masks


def narrowest(pair: Pair, old: Sequence[Block], new: Sequence[Block], matching: Matching) -> str:
    """The mask that covers what differs here and as little else as can be; '': there is none."""
    sides: list[tuple[Block, Anchor]] = []
    if pair.new >= 0:
        sides.append((new[pair.new], matching.above_new(new, pair.new)))
    if pair.old >= 0:
        sides.append((old[pair.old], matching.above_old(old, pair.old)))
    tried = (
        *(named(block.path, block.text) for block, _ in sides),
        *(anchored(block.path, above) for block, above in sides),
        *(block.path for block, _ in sides),
    )
    fitting = (key for key in tried if covered_pair(pair, old, new, matching, frozenset((key,))))
    return next(fitting, "")
