"""Learns which places of a page differ at every visit (clocks, tokens, counters) and masks them."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import NamedTuple

from honeyguide.change import Snapshot
from honeyguide.watch.compare import mask_names
from honeyguide.watch.compare.block_matching import BlockMatching, match_blocks
from honeyguide.watch.compare.page_change import (
    is_key_field,
    is_same_generated,
    links_changed,
    with_title,
)

_MOSTLY = 0.6
"""Share of the blocks at a path from which the whole path is meant, not some of its blocks."""
_SOME = 3
"""Quiet blocks at a path by which it is saved from that."""
_BESIDE = 5_000
"""Quiet blocks beside those that differ."""
_PAIRS = 1_000
"""Blocks looked at: where more differ, it is another page, not a restless one."""


@dataclass(slots=True)
class VolatileDiff:
    """Masks that would cover the differences, by what is behind them; filled once, then read."""

    soft: dict[str, float] = field(default_factory=dict)
    """What programs put into blocks; with the weight of the blocks."""
    hard: dict[str, float] = field(default_factory=dict)
    """Words; with the weight of the blocks."""
    other: set[str] = field(default_factory=set)
    """Links for which others stand now, fields, order, shape."""
    lone_links: set[str] = field(default_factory=set)
    """Links that only came or went."""
    successors: dict[str, str] = field(default_factory=dict)
    """Soft masks of blocks whose words were edited, and what they would be now."""
    edited_blocks: int = 0
    """Blocks of which the words differ."""


def diff_as_masks(old: Snapshot, new: Snapshot) -> VolatileDiff:
    matching = match_blocks(with_title(old), with_title(new))
    after = matching.new
    found = VolatileDiff()
    quiet: set[str] | None = None
    kept = Counter(after[at].path for at in matching.kept_new)
    changed = Counter(after[pair.new].path for pair in matching.pairs if pair.new >= 0)
    for pair in matching.pairs[:_PAIRS]:
        sides = matching.sides(pair)
        block, anchor = sides[-1]
        edited = len(sides) == 2 and sides[0][0].text != block.text
        if edited and is_same_generated(sides[0][0], block):
            key = mask_names.soft_mask(block.path, block.text)
            if quiet is None:
                quiet = _quiet_masks(matching, changed.keys())
            key = mask_names.anchored_mask(key, anchor) if key in quiet else key
            found.soft[key] = max(block.weight, found.soft.get(key, 0.0))
            continue
        if len(sides) == 2:
            one, over = sides[0]
            if not edited:
                found.other.add(mask_names.order_mask(block.path))
                continue
            was = mask_names.soft_mask(one.path, one.text)
            now = mask_names.soft_mask(block.path, block.text)
            found.successors[was] = now
            found.successors[mask_names.anchored_mask(was, over)] = mask_names.anchored_mask(
                now, anchor
            )
        found.edited_blocks += 1
        for side, over in sides:
            path = side.path
            mostly = changed[path] >= _MOSTLY * (changed[path] + kept[path]) and kept[path] < _SOME
            key = path if path and mostly else mask_names.anchored_mask(path, over)
            found.hard[key] = max(side.weight, found.hard.get(key, 0.0))
    found.other |= {mask_names.order_mask(after[pair.new].path) for pair in matching.moved}
    alike, found.lone_links = _link_masks(old, new)
    found.other |= alike
    was_data, now_data = Counter(old.data), Counter(new.data)
    fields = (was_data - now_data) | (now_data - was_data)
    found.other |= {mask_names.data_mask(name) for name, _ in fields}
    if old.shape != new.shape:
        found.other.add(mask_names.SHAPE_MASK)
    return found


def _quiet_masks(matching: BlockMatching, paths: Collection[str]) -> set[str]:
    """Soft masks of blocks that did not differ: others have the same words at the same path."""
    new = matching.new
    quiet = (new[at] for at in matching.kept_new if new[at].path in paths)
    return {mask_names.soft_mask(other.path, other.text) for other in islice(quiet, _BESIDE)}


def _link_masks(old: Snapshot, new: Snapshot) -> tuple[set[str], set[str]]:
    """Masks of links that were replaced by others of their kind, and of all others."""
    added, removed = links_changed(old, new)
    come, gone = _by_link_mask(added), _by_link_mask(removed)
    alike = come.keys() & gone.keys()
    alone = [url for key, url in (come | gone).items() if key not in alike]
    return alike, {mask_names.folder_mask(url) for url in alone}


def _by_link_mask(urls: Iterable[str]) -> dict[str, str]:
    return {mask_names.link_mask(url): url for url in urls}


# -- Learning masks --
#
# For every place that ever differed, the last eight visits are remembered as bits. A place is
# masked when it differed at three of the last four visits and no value it took was still there at
# the next; it is unmasked after four quiet visits. Two fetches seconds apart tell at once. People
# have the last word: what they opened stays open, what they masked stays masked.
#
# Olston and Pandey (2008) tell ephemeral from persistent fragments by the same observation; we
# decide per place instead of modelling rates of both. Beyond the rule: what differs in the main
# content after more than an hour, or its words after more than two minutes, is news, however often
# it does, and is never masked by itself; nor is a price, nor links that come without others going.


_MEMORY = 0xFF
_RECENT = 0xF
_RESTLESS = (0b0111, 0b1111)
"""The last four visits, the latest on the right: no value was there twice since it began."""
_HOUR, _MOMENT = 3_600.0, 120.0
_MAIN = 0.5
_MAX_PLACES = 300
"""Places remembered of one page."""
_MAX_KEY = 400
_MAX_KEPT = 100_000
"""Characters of a memory that are kept."""
_MAX_JSON = 200_000
"""Characters of a memory as JSON that are believed."""
_OTHER_PAGE = 0.5
"""Two fetches with more of their words different than this are not one restless page."""


class PlaceHabit(NamedTuple):
    """What one place did at the last visits."""

    bits: int
    masked: bool = False


@dataclass(frozen=True, slots=True)
class VolatileMemory:
    """What is known of a page's restlessness. A value: learning makes a new one."""

    habits: Mapping[str, PlaceHabit] = field(default_factory=dict)
    added: frozenset[str] = frozenset()
    """Masked by people."""
    opened: frozenset[str] = frozenset()
    """Kept open by people, whatever is learned."""

    def active_masks(self, template: Collection[str] = ()) -> frozenset[str]:
        """All that is masked; ``template``: what is masked on other pages of the host."""
        learned = {key for key, habit in self.habits.items() if habit.masked}
        return frozenset((learned | set(template)) - self.opened) | self.added

    def add_mask(self, key: str) -> VolatileMemory:
        return replace(self, added=self.added | {key[:_MAX_KEY]}, opened=self.opened - {key})

    def keep_open(self, key: str) -> VolatileMemory:
        return replace(self, added=self.added - {key}, opened=self.opened | {key[:_MAX_KEY]})

    def forget_edit(self, key: str) -> VolatileMemory:
        """What people said of it; what was learned stays."""
        return replace(self, added=self.added - {key}, opened=self.opened - {key})

    def to_json(self) -> str:
        # What people said goes first: a page can have any number of restless places.
        document: dict[str, object] = {"added": sorted(self.added), "opened": sorted(self.opened)}
        room = _MAX_KEPT - sum(map(len, (*self.added, *self.opened)))
        habits: dict[str, list[int]] = {}
        for key, habit in sorted(self.habits.items(), key=lambda item: not item[1].masked):
            room -= len(key) + 20
            if room >= 0:
                habits[key] = [habit.bits, int(habit.masked)]
        document["habits"] = habits
        parts = {name: part for name, part in document.items() if part}
        return json.dumps(parts, ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str) -> VolatileMemory:
        """What another collection, or another version of us, wrote: as far as it makes sense."""
        try:
            document = json.loads(text[:_MAX_JSON]) if text else {}
        except (ValueError, RecursionError):
            return cls()
        if not isinstance(document, dict):
            return cls()
        return cls(
            _parse_habits(document.get("habits")),
            _parse_strings(document.get("added")),
            _parse_strings(document.get("opened")),
        )


def initial_memory(masks: Iterable[str]) -> VolatileMemory:
    """A memory that begins with what :func:`find_volatile` found."""
    return VolatileMemory(
        {key: PlaceHabit(0b1, masked=True) for key in sorted(masks)[:_MAX_PLACES]}
    )


def find_volatile(old: Snapshot, new: Snapshot) -> frozenset[str]:
    """Masks for whatever differs between two fetches seconds apart."""
    found = diff_as_masks(old, new)
    if found.edited_blocks > max(3, _OTHER_PAGE * len(new.blocks)):
        return frozenset()
    # A server can tell a second look from a visit, and would have its words masked for good.
    hard = {key for key, weight in found.hard.items() if weight < _MAIN}
    other = {key for key in found.other if not _is_key_mask(key)}
    return frozenset(_drop_long_keys({*found.soft, *hard, *other, *found.lone_links}))


def observe_changed(
    memory: VolatileMemory, old: Snapshot, new: Snapshot, gap: float
) -> VolatileMemory:
    """The memory after a visit that brought another body, ``gap`` seconds after the one before."""
    found = diff_as_masks(old, new)
    habits = dict(memory.habits)
    for key, heir in found.successors.items():
        # The words around a clock were edited: it is still a clock.
        if heir not in habits and key in habits and habits[key].masked:
            habits[heir] = habits[key]
    return _update_habits(memory, habits, _drop_long_keys(_select_evidence(found, habits, gap)))


def observe_unchanged(memory: VolatileMemory) -> VolatileMemory:
    """The memory after a visit that brought the same body, or none (304)."""
    return _update_habits(memory, memory.habits, frozenset()) if memory.habits else memory


def common_masks(
    samples: Collection[Collection[str]], share: float = 0.6, least: int = 5
) -> frozenset[str]:
    """Masks of a host's template: those that so many of its sampled pages have in common.

    Only what programs put between words and into addresses: on a host of many people, some of
    them could otherwise have the words of all others masked.
    """
    if len(samples) < least:
        return frozenset()
    counts = Counter(key for masks in samples for key in set(masks) if _is_narrow(key))
    return frozenset(key for key, count in counts.items() if count >= share * len(samples))


def _is_narrow(key: str) -> bool:
    """Whether a mask leaves all words, and all pages that are linked to, in sight."""
    return "~" in key or (key.startswith("link:") and not key.endswith("*"))


def _select_evidence(found: VolatileDiff, habits: Mapping[str, PlaceHabit], gap: float) -> set[str]:
    """What differed, without what may well be news. What is masked already stays evidence."""
    masked = {key for key, habit in habits.items() if habit.masked}
    differed = {*found.soft, *found.hard, *found.other, *found.lone_links} & masked
    for part, most in ((found.soft, _HOUR), (found.hard, _MOMENT)):
        differed |= {key for key, weight in part.items() if weight < _MAIN or gap <= most}
    if gap <= _HOUR:
        differed |= {key for key in found.other if not _is_key_mask(key)}
    return differed


def _is_key_mask(key: str) -> bool:
    kind, _, name = key.partition(":")
    return kind == "data" and is_key_field(name)


def _update_habits(
    memory: VolatileMemory, habits: Mapping[str, PlaceHabit], differed: Collection[str]
) -> VolatileMemory:
    after: dict[str, PlaceHabit] = {}
    for key in {**habits, **dict.fromkeys(sorted(differed), PlaceHabit(0))}:
        bits, masked = habits.get(key, PlaceHabit(0))
        bits = (bits << 1 | (key in differed)) & _MEMORY
        recent = bits & _RECENT
        masked = recent != 0 if masked else recent in _RESTLESS
        if bits:
            after[key] = PlaceHabit(bits, masked)
    if len(after) > _MAX_PLACES:
        best = sorted(after, key=lambda key: (after[key].masked, after[key].bits.bit_count()))
        after = {key: after[key] for key in best[-_MAX_PLACES:]}
    return replace(memory, habits=after)


def _drop_long_keys(keys: Iterable[str]) -> frozenset[str]:
    return frozenset(key for key in keys if len(key) <= _MAX_KEY)


def _parse_habits(stored: object) -> dict[str, PlaceHabit]:
    if not isinstance(stored, dict):
        return {}
    found: dict[str, PlaceHabit] = {}
    for key, value in list(stored.items())[:_MAX_PLACES]:
        match value:
            case [int(bits), masked] if 0 < bits <= _MEMORY and len(key) <= _MAX_KEY:
                found[key] = PlaceHabit(bits, bool(masked))
    return found


def _parse_strings(value: object) -> frozenset[str]:
    if not isinstance(value, list):
        return frozenset()
    return frozenset(
        key for key in value[:_MAX_PLACES] if isinstance(key, str) and len(key) <= _MAX_KEY
    )
