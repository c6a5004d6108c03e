"""Counting what differs: edits, kinds of change, and how much of what matters is new."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import sqrt
from typing import Literal

from honeyguide.change import Block, ChangeKind, Edit
from honeyguide.watch.compare.mask_names import data_key, order_key
from honeyguide.watch.compare.masks import covered, covered_pair
from honeyguide.watch.compare.match import Matching

EDITS = 200
_TEXT = 4_000
_CLOSELY = 2_000
"""Blocks of which more than the path is looked up among the masks."""
_MAIN = 0.5
"""Weight from which a block belongs to what the page is about."""
_FEW_WORDS = 4
_SMALL = 0.05
"""A change of so few words, which are no larger part of the page, is minor."""
ASKED_FOR = frozenset({"price", "lowprice", "highprice", "pricecurrency", "availability"})
"""Fields that people watch a page for, and …"""
_TELLING, _FIELD, _LINK = 0.3, 0.02, 0.01
"""… what such fields count for, any other field, and a link."""
_MOST = 0.2
"""What all other fields, or all links, count for together."""

Relevance = Callable[[str], float]


@dataclass(slots=True)
class Tally:
    """What was found between two versions, while it is being counted."""

    masks: frozenset[str]
    relevance: Relevance | None
    persistence: Mapping[str, float]
    edits: list[tuple[Edit, float]] = field(default_factory=list)
    """With the letters that are new in each, as far as they count."""
    masked: int = 0
    total: float = 0.0
    """Letters of both versions, by weight, those that are the same counted once …"""
    letters: float = 0.0
    """… and those that differ, whatever their relevance and persistence."""
    words: int = 0
    """That differ in what the page is about."""
    data: int = 0
    links: int = 0
    telling: int = 0
    """Fields that differ and that people ask for."""
    rebuilt: bool = False
    """A text now stands in other elements."""
    restyled: bool = False
    """A text stands in another class, or elsewhere in the order."""

    def blocks(self, old: tuple[Block, ...], new: tuple[Block, ...], matching: Matching) -> None:
        self.total = sum(block.weight * len(block.text) for block in new)
        for number, pair in enumerate(matching.pairs):
            closely = number < _CLOSELY  # where thousands differ, it is no matter of a clock
            if self.masks and covered_pair(pair, old, new, matching, self.masks, closely):
                self.masked += 1
            elif pair.old < 0:
                self._whole("added", new[pair.new])
            elif pair.new < 0:
                block = old[pair.old]
                self.total += block.weight * len(block.text)
                self._whole("removed", block)
            else:
                self._pair(old[pair.old], new[pair.new])
        for pair in matching.moved:
            path = new[pair.new].path
            if order_key(path) in self.masks or covered(new[pair.new], None, self.masks):
                continue
            self.restyled = True
            if len(self.edits) < EDITS:
                text = new[pair.new].text
                self.edits.append((Edit("moved", path, text, text), 0.0))

    def _whole(self, what: Literal["added", "removed"], block: Block) -> None:
        old, new = ("", block.text) if what == "added" else (block.text, "")
        self._count(Edit(what, block.path, old, new), block, len(block.text), block.text)

    def _pair(self, old: Block, new: Block) -> None:
        if old.text == new.text:
            if order_key(new.path) in self.masks:
                self.masked += 1
                return
            self.restyled = True
            self.rebuilt = self.rebuilt or _tags(old.path) != _tags(new.path)
            if len(self.edits) < EDITS:
                self.edits.append((Edit("moved", new.path, old.text, new.text), 0.0))
            return
        letters, words = _difference(old.text, new.text)
        block = old if old.weight > new.weight else new
        self.total += block.weight * max(0, len(old.text) - len(new.text))
        edit = Edit("changed", new.path, old.text, new.text)
        self._count(edit, block, letters, new.text, words)

    def _count(self, edit: Edit, block: Block, letters: int, text: str, words: int = 0) -> None:
        amount = block.weight * letters
        self.letters += amount
        if block.weight >= _MAIN:
            self.words += words or text.count(" ") + 1
        if self.relevance is not None:
            amount *= min(1.0, max(0.0, self.relevance(text)))
        amount *= self.persistence.get(block.path, 1.0)
        self.edits.append((edit, amount))

    def fields(self, old: tuple[tuple[str, str], ...], new: tuple[tuple[str, str], ...]) -> None:
        if old == new:
            return
        before, after = Counter(old), Counter(new)
        gone = [pair for pair in before - after if data_key(pair[0]) not in self.masks]
        come = [pair for pair in after - before if data_key(pair[0]) not in self.masks]
        waiting: dict[str, list[str]] = {}
        for name, value in gone:
            waiting.setdefault(name, []).append(value)
        for name, value in come:
            known = waiting.get(name)
            self._field(name, known.pop(0) if known else "", value)
        for name, values in waiting.items():
            for value in values:
                self._field(name, value, "")

    def _field(self, name: str, old: str, new: str) -> None:
        self.data += 1
        self.telling += name.rpartition(".")[2].lower() in ASKED_FOR
        self.edits.append((Edit("data", name, old, new), 0.0))

    def kinds(self, reshaped: bool) -> tuple[ChangeKind, ...]:
        """The weightiest first."""
        found: list[ChangeKind] = []
        changed = self.letters > 0
        small = self.words <= _FEW_WORDS and self.letters <= _SMALL * self.total
        minor = changed and (self.words == 0 or small)
        if changed and not minor:
            found.append("content")
        if self.data:
            found.append("data")
        if self.links:
            found.append("links")
        if minor:
            found.append("minor")
        if self.rebuilt:
            found.append("structure")
        # A masked block may bring its own tags along.
        if not found and (self.restyled or (reshaped and not self.masked)):
            found.append("cosmetic")
        return tuple(found)

    def significance(self) -> float:
        """0..1. The square root lets one new paragraph of thirty be seen: 0.18; one word of a
        thousand remains nothing: 0.03."""
        said = 1.0 - min(_MOST, _FIELD * (self.data - self.telling)) if self.data else 1.0
        if self.telling:
            said *= 1.0 - _TELLING
        if self.links:
            said *= 1.0 - min(_MOST, _LINK * self.links)
        return 1.0 - (1.0 - self._worded()) * said

    def _worded(self) -> float:
        """What the words alone would come to."""
        amount = sum(amount for _, amount in self.edits)
        return min(1.0, sqrt(amount / self.total)) if self.total > 0 else 0.0

    def shown(self) -> tuple[Edit, ...]:
        """The edits that count most, in the order found, each with its share."""
        edits = self.edits
        if len(edits) > EDITS:
            least = sorted((amount for _, amount in edits), reverse=True)[EDITS - 1]
            edits = [pair for pair in edits if pair[1] >= least][:EDITS]
        whole = sum(amount for _, amount in self.edits)
        scale = self._worded() / whole if whole else 0.0
        return tuple(
            edit._replace(
                old=edit.old[:_TEXT],
                new=edit.new[:_TEXT],
                weight=_field_weight(edit.path) if edit.what == "data" else amount * scale,
            )
            for edit, amount in edits
        )


def _field_weight(name: str) -> float:
    return _TELLING if name.rpartition(".")[2].lower() in ASKED_FOR else _FIELD


def _difference(old: str, new: str) -> tuple[int, int]:
    """Letters and words that are in one text and not in the other: in that which has more."""
    counts: dict[str, int] = {}
    for word in old.split():
        counts[word] = counts.get(word, 0) + 1
    letters = words = 0
    for word in new.split():
        if left := counts.get(word, 0):
            counts[word] = left - 1
        else:
            letters += len(word) + 1
            words += 1
    gone = sum(counts.values())
    removed = sum((len(word) + 1) * count for word, count in counts.items())
    # The same words in another order are a change, if a small one.
    return max((letters, words), (removed, gone), (1, 1))


def _tags(path: str) -> list[str]:
    """The elements' names alone."""
    return [step.partition(".")[0].partition("#")[0] for step in path.split("/")]
