"""Learning what differs at every visit: clocks, tokens, counters, advertisements.

For every place that ever differed, the last eight visits are remembered as bits. A place is
masked when it differed at three of the last four visits and no value it took was still there at
the next; it is unmasked after four quiet visits. Two fetches seconds apart tell at once. People
have the last word: what they opened stays open, what they masked stays masked.

Olston and Pandey (2008) tell ephemeral from persistent fragments by the same observation; we
decide per place instead of modelling rates of both. Beyond the rule: what differs in the main
content after more than an hour, or its words after more than two minutes, is news, however often
it does, and is never masked by itself; nor is a price, nor links that come without others going.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from honeyguide.change import Snapshot
from honeyguide.watch.compare.edit_counts import ASKED_FOR
from honeyguide.watch.compare.volatile_diff import Differing, differing

_MEMORY = 0xFF
_RECENT = 0xF
_RESTLESS = (0b0111, 0b1111)
"""The last four visits, the latest on the right: no value was there twice since it began."""
_HOUR, _MOMENT = 3_600.0, 120.0
_MAIN = 0.5
_KEYS = 300
"""Places remembered of one page."""
_LENGTH = 400
_KEPT = 100_000
"""Characters of a memory that are kept."""
_SAID = 200_000
"""Characters of a memory as JSON that are believed."""
_OTHER_PAGE = 0.5
"""Two fetches with more of their words different than this are not one restless page."""


class Habit(NamedTuple):
    """What one place did at the last visits."""

    bits: int
    masked: bool = False


@dataclass(frozen=True, slots=True)
class Memory:
    """What is known of a page's restlessness. A value: learning makes a new one."""

    habits: Mapping[str, Habit] = field(default_factory=dict)
    added: frozenset[str] = frozenset()
    """Masked by people."""
    opened: frozenset[str] = frozenset()
    """Kept open by people, whatever is learned."""

    def masks(self, template: Collection[str] = ()) -> frozenset[str]:
        """All that is masked; ``template``: what is masked on other pages of the host."""
        learned = {key for key, habit in self.habits.items() if habit.masked}
        return frozenset((learned | set(template)) - self.opened) | self.added

    def mask(self, key: str) -> Memory:
        return replace(self, added=self.added | {key[:_LENGTH]}, opened=self.opened - {key})

    def open(self, key: str) -> Memory:
        return replace(self, added=self.added - {key}, opened=self.opened | {key[:_LENGTH]})

    def forget(self, key: str) -> Memory:
        """What people said of it; what was learned stays."""
        return replace(self, added=self.added - {key}, opened=self.opened - {key})

    def to_json(self) -> str:
        # What people said goes first: a page can have any number of restless places.
        said: dict[str, object] = {"added": sorted(self.added), "opened": sorted(self.opened)}
        room = _KEPT - sum(map(len, (*self.added, *self.opened)))
        habits: dict[str, list[int]] = {}
        for key, habit in sorted(self.habits.items(), key=lambda item: not item[1].masked):
            room -= len(key) + 20
            if room >= 0:
                habits[key] = [habit.bits, int(habit.masked)]
        said["habits"] = habits
        parts = {name: part for name, part in said.items() if part}
        return json.dumps(parts, ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str) -> Memory:
        """What another collection, or another version of us, wrote: as far as it makes sense."""
        try:
            said = json.loads(text[:_SAID]) if text else {}
        except (ValueError, RecursionError):
            return cls()
        if not isinstance(said, dict):
            return cls()
        return cls(
            _habits(said.get("habits")), _strings(said.get("added")), _strings(said.get("opened"))
        )


def started(masks: Iterable[str]) -> Memory:
    """A memory that begins with what :func:`early` found."""
    return Memory({key: Habit(0b1, masked=True) for key in sorted(masks)[:_KEYS]})


def early(old: Snapshot, new: Snapshot) -> frozenset[str]:
    """Masks for whatever differs between two fetches seconds apart."""
    found = differing(old, new)
    if found.worded > max(3, _OTHER_PAGE * len(new.blocks)):
        return frozenset()
    # A server can tell a second look from a visit, and would have its words masked for good.
    hard = {key for key, weight in found.hard.items() if weight < _MAIN}
    other = {key for key in found.other if not _asked_for(key)}
    return frozenset(_short({*found.soft, *hard, *other, *found.lone}))


def observe(memory: Memory, old: Snapshot, new: Snapshot, gap: float) -> Memory:
    """The memory after a visit that brought another body, ``gap`` seconds after the one before."""
    found = differing(old, new)
    habits = dict(memory.habits)
    for key, heir in found.heirs.items():
        # The words around a clock were edited: it is still a clock.
        if heir not in habits and key in habits and habits[key].masked:
            habits[heir] = habits[key]
    return _remembered(memory, habits, _short(_evidence(found, habits, gap)))


def quiet(memory: Memory) -> Memory:
    """The memory after a visit that brought the same body, or none (304)."""
    return _remembered(memory, memory.habits, frozenset()) if memory.habits else memory


def common(
    samples: Collection[Collection[str]], share: float = 0.6, least: int = 5
) -> frozenset[str]:
    """Masks of a host's template: those that so many of its sampled pages have in common.

    Only what programs put between words and into addresses: on a host of many people, some of
    them could otherwise have the words of all others masked.
    """
    if len(samples) < least:
        return frozenset()
    counts = Counter(key for masks in samples for key in set(masks) if _narrow(key))
    return frozenset(key for key, count in counts.items() if count >= share * len(samples))


def _narrow(key: str) -> bool:
    """Whether a mask leaves all words, and all pages that are linked to, in sight."""
    return "~" in key or (key.startswith("link:") and not key.endswith("*"))


def _evidence(found: Differing, habits: Mapping[str, Habit], gap: float) -> set[str]:
    """What differed, without what may well be news. What is masked already stays evidence."""
    masked = {key for key, habit in habits.items() if habit.masked}
    differed = {*found.soft, *found.hard, *found.other, *found.lone} & masked
    for part, most in ((found.soft, _HOUR), (found.hard, _MOMENT)):
        differed |= {key for key, weight in part.items() if weight < _MAIN or gap <= most}
    if gap <= _HOUR:
        differed |= {key for key in found.other if not _asked_for(key)}
    return differed


def _asked_for(key: str) -> bool:
    kind, _, name = key.partition(":")
    return kind == "data" and name.rpartition(".")[2].lower() in ASKED_FOR


def _remembered(memory: Memory, habits: Mapping[str, Habit], differed: Collection[str]) -> Memory:
    after: dict[str, Habit] = {}
    for key in {**habits, **dict.fromkeys(sorted(differed), Habit(0))}:
        bits, masked = habits.get(key, Habit(0))
        bits = (bits << 1 | (key in differed)) & _MEMORY
        recent = bits & _RECENT
        masked = recent != 0 if masked else recent in _RESTLESS
        if bits:
            after[key] = Habit(bits, masked)
    if len(after) > _KEYS:
        best = sorted(after, key=lambda key: (after[key].masked, after[key].bits.bit_count()))
        after = {key: after[key] for key in best[-_KEYS:]}
    return replace(memory, habits=after)


def _short(keys: Iterable[str]) -> frozenset[str]:
    return frozenset(key for key in keys if len(key) <= _LENGTH)


def _habits(said: object) -> dict[str, Habit]:
    if not isinstance(said, dict):
        return {}
    found: dict[str, Habit] = {}
    for key, value in list(said.items())[:_KEYS]:
        match value:
            case [int(bits), masked] if 0 < bits <= _MEMORY and len(key) <= _LENGTH:
                found[key] = Habit(bits, bool(masked))
    return found


def _strings(said: object) -> frozenset[str]:
    if not isinstance(said, list):
        return frozenset()
    return frozenset(key for key in said[:_KEYS] if isinstance(key, str) and len(key) <= _LENGTH)
