"""The change between two versions of a page: which blocks differ, what is masked, and how
significant the rest is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from math import sqrt
from typing import Literal

from honeyguide.change import Block, Change, ChangeKind, PageEdit, Snapshot
from honeyguide.parse.blocks import read_snapshot
from honeyguide.types import Url
from honeyguide.watch.compare import mask_names
from honeyguide.watch.compare.block_matching import BlockMatching, BlockPair, match_blocks


def is_pair_masked(
    pair: BlockPair, matching: BlockMatching, masks: frozenset[str], closely: bool = True
) -> bool:
    """Whether all that differs here is masked: the block, or what a program put into it."""
    sides = matching.sides(pair)
    blocks = [block for block, _ in sides]
    if all(block.path in masks for block in blocks):
        return True
    if not closely:
        return False
    if all(mask_names.line_mask(block.path, block.text) in masks for block in blocks):
        return True
    if all(is_place_masked(block, anchor, masks) for block, anchor in sides):
        return True
    one, other = blocks[0], blocks[-1]
    if len(sides) < 2 or not is_same_generated(one, other):
        return False
    key = mask_names.soft_mask(other.path, other.text)
    return key in masks or any(
        mask_names.anchored_mask(key, anchor) in masks for _, anchor in reversed(sides)
    )


def is_same_generated(one: Block, other: Block) -> bool:
    """Whether they stand at one path, and only what programs put between words differs."""
    return one.path == other.path and (
        mask_names.word_skeleton(one.text) == mask_names.word_skeleton(other.text)
    )


def is_place_masked(block: Block, above: mask_names.BlockAnchor, masks: frozenset[str]) -> bool:
    """Whether anything may stand at this place."""
    return block.path in masks or mask_names.anchored_mask(block.path, above) in masks


def narrowest_mask(pair: BlockPair, matching: BlockMatching) -> str:
    """The mask that covers what differs here and as little else as can be; '': there is none."""
    sides = matching.sides(pair)[::-1]
    tried = (
        *(mask_names.line_mask(block.path, block.text) for block, _ in sides),
        *(mask_names.anchored_mask(block.path, above) for block, above in sides),
        *(block.path for block, _ in sides),
    )
    fitting = (key for key in tried if is_pair_masked(pair, matching, frozenset((key,))))
    return next(fitting, "")


# -- Counting edits --


MAX_EDITS = 200
_TEXT = 4_000
_CLOSE_PAIRS = 2_000
"""Blocks of which more than the path is looked up among the masks."""
_MAIN_WEIGHT = 0.5
"""Weight from which a block belongs to what the page is about."""
_FEW_WORDS = 4
_MINOR_SHARE = 0.05
"""A change of so few words, which are no larger part of the page, is minor."""
_KEY_FIELDS = frozenset({"price", "lowprice", "highprice", "pricecurrency", "availability"})
"""Data fields that people watch a page for."""
_KEY_FIELD, _FIELD, _LINK = 0.3, 0.02, 0.01
"""Significance of a change in a key field, in any other field, and of a link."""
_MOST = 0.2
"""What all other fields, or all links, count for together."""

RelevanceFunction = Callable[[str], float]


@dataclass(slots=True)
class EditCounter:
    """What was found between two versions, while it is being counted."""

    masks: frozenset[str]
    relevance: RelevanceFunction | None
    edits: list[tuple[PageEdit, float]] = field(default_factory=list)
    """Each edit with its weighted number of new letters."""
    masked: int = 0
    total: float = 0.0
    """Weighted letters of both versions; equal text is counted once."""
    letters: float = 0.0
    """Weighted letters that differ, whatever their relevance."""
    words: int = 0
    """That differ in what the page is about."""
    data: int = 0
    links: int = 0
    key_fields: int = 0
    """Fields that differ and that people ask for."""
    rebuilt: bool = False
    """A text now stands in other elements."""
    restyled: bool = False
    """A text stands in another class, or elsewhere in the order."""

    def count_blocks(self, matching: BlockMatching) -> None:
        old, new = matching.old, matching.new
        self.total = sum(block.weight * len(block.text) for block in new)
        for number, pair in enumerate(matching.pairs):
            closely = number < _CLOSE_PAIRS  # where thousands differ, it is no matter of a clock
            if self.masks and is_pair_masked(pair, matching, self.masks, closely):
                self.masked += 1
            elif pair.old < 0:
                self._count_whole_block("added", new[pair.new])
            elif pair.new < 0:
                block = old[pair.old]
                self.total += block.weight * len(block.text)
                self._count_whole_block("removed", block)
            else:
                self._count_pair(old[pair.old], new[pair.new])
        for pair in matching.moved:
            path = new[pair.new].path
            if not self.masks & {path, mask_names.order_mask(path)}:
                self._add_moved(new[pair.new])

    def _add_moved(self, block: Block) -> None:
        self.restyled = True
        if len(self.edits) < MAX_EDITS:
            self.edits.append((PageEdit("moved", block.path, block.text, block.text), 0.0))

    def _count_whole_block(self, what: Literal["added", "removed"], block: Block) -> None:
        old, new = ("", block.text) if what == "added" else (block.text, "")
        self._count_edit(PageEdit(what, block.path, old, new), block, len(block.text), block.text)

    def _count_pair(self, old: Block, new: Block) -> None:
        if old.text == new.text:
            if mask_names.order_mask(new.path) in self.masks:
                self.masked += 1
                return
            self.rebuilt = self.rebuilt or element_names(old.path) != element_names(new.path)
            self._add_moved(new)
            return
        letters, words = _word_difference(old.text, new.text)
        block = old if old.weight > new.weight else new
        self.total += block.weight * max(0, len(old.text) - len(new.text))
        edit = PageEdit("changed", new.path, old.text, new.text)
        self._count_edit(edit, block, letters, new.text, words)

    def _count_edit(
        self, edit: PageEdit, block: Block, letters: int, text: str, words: int = 0
    ) -> None:
        amount = block.weight * letters
        self.letters += amount
        if block.weight >= _MAIN_WEIGHT:
            self.words += words or text.count(" ") + 1
        if self.relevance is not None:
            amount *= min(1.0, max(0.0, self.relevance(text)))
        self.edits.append((edit, amount))

    def count_fields(
        self, old: tuple[tuple[str, str], ...], new: tuple[tuple[str, str], ...]
    ) -> None:
        if old == new:
            return
        before, after = Counter(old), Counter(new)
        gone, come = (
            [pair for pair in fields if mask_names.data_mask(pair[0]) not in self.masks]
            for fields in (before - after, after - before)
        )
        waiting: dict[str, list[str]] = {}
        for name, value in gone:
            waiting.setdefault(name, []).append(value)
        for name, value in come:
            known = waiting.get(name)
            self._count_field(name, known.pop(0) if known else "", value)
        for name, values in waiting.items():
            for value in values:
                self._count_field(name, value, "")

    def _count_field(self, name: str, old: str, new: str) -> None:
        self.data += 1
        self.key_fields += is_key_field(name)
        self.edits.append((PageEdit("data", name, old, new), 0.0))

    def change_kinds(self, reshaped: bool) -> tuple[ChangeKind, ...]:
        """The weightiest first."""
        changed = self.letters > 0
        small = self.words <= _FEW_WORDS and self.letters <= _MINOR_SHARE * self.total
        minor = changed and (self.words == 0 or small)
        kinds: dict[ChangeKind, bool] = {
            "content": changed and not minor,
            "data": self.data > 0,
            "links": self.links > 0,
            "minor": minor,
            "structure": self.rebuilt,
        }
        # A masked block may bring its own tags along.
        restyled = self.restyled or (reshaped and not self.masked)
        kinds["cosmetic"] = restyled and not any(kinds.values())
        return tuple(kind for kind, seen in kinds.items() if seen)

    def significance(self) -> float:
        """0..1. The square root lets one new paragraph of thirty be seen: 0.18; one word of a
        thousand remains nothing: 0.03."""
        unchanged = 1.0 - min(_MOST, _FIELD * (self.data - self.key_fields)) if self.data else 1.0
        if self.key_fields:
            unchanged *= 1.0 - _KEY_FIELD
        if self.links:
            unchanged *= 1.0 - min(_MOST, _LINK * self.links)
        return 1.0 - (1.0 - self._text_significance()) * unchanged

    def _text_significance(self) -> float:
        """What the words alone would come to."""
        amount = sum(amount for _, amount in self.edits)
        return min(1.0, sqrt(amount / self.total)) if self.total > 0 else 0.0

    def weightiest_edits(self) -> tuple[PageEdit, ...]:
        """The edits that count most, in the order found, each with its share."""
        edits = self.edits
        if len(edits) > MAX_EDITS:
            least = sorted((amount for _, amount in edits), reverse=True)[MAX_EDITS - 1]
            edits = [pair for pair in edits if pair[1] >= least][:MAX_EDITS]
        whole = sum(amount for _, amount in self.edits)
        scale = self._text_significance() / whole if whole else 0.0
        return tuple(
            edit._replace(
                old=edit.old[:_TEXT],
                new=edit.new[:_TEXT],
                weight=_edit_weight(edit, amount * scale),
            )
            for edit, amount in edits
        )


def _edit_weight(edit: PageEdit, of_text: float) -> float:
    if edit.what != "data":
        return of_text
    return _KEY_FIELD if is_key_field(edit.path) else _FIELD


def is_key_field(name: str) -> bool:
    """Whether people watch a page for this field of its data."""
    return name.rpartition(".")[2].lower() in _KEY_FIELDS


def _word_difference(old: str, new: str) -> tuple[int, int]:
    """Letters and words that are in one text and not in the other: in that which has more."""
    counts = dict(Counter(old.split()))
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


def element_names(path: str) -> list[str]:
    """The elements' names alone."""
    return [step.partition(".")[0].partition("#")[0] for step in path.split("/")]


# -- Comparing snapshots --
#
# The upper steps of the ladder: equal bodies never come here. Blocks are matched as multisets
# (:mod:`honeyguide.watch.compare.block_matching`), what is known to differ at every visit is masked
# (:mod:`honeyguide.watch.compare.mask_names`), and the rest is weighed: how much of the main
# content is new, how much it has to do with the topic, and whether such blocks stay (Olston and
# Pandey 2008 tell ephemeral from persistent content; we multiply by persistence where they model
# it).


_MAX_LINKS = 500


def compare_snapshots(
    old: Snapshot,
    new: Snapshot,
    masks: Collection[str] = (),
    relevance: RelevanceFunction | None = None,
    *,
    at: float = 0.0,
    since: float = 0.0,
) -> Change | None:
    """The change from one version to the next; None: nothing that is not masked differs.

    ``relevance`` says how much a changed text has to do with the topic, 0..1.
    """
    if (
        old.blocks == new.blocks
        and old.links == new.links
        and old.data == new.data
        and (old.title, old.shape) == (new.title, new.shape)
    ):
        return None
    masks = frozenset(masks)
    counter = EditCounter(masks, relevance)
    counter.count_blocks(match_blocks(with_title(old), with_title(new)))
    counter.count_fields(old.data, new.data)
    added, removed = links_changed(old, new, masks)
    counter.links = len(added) + len(removed)
    kinds = counter.change_kinds(old.shape != new.shape and mask_names.SHAPE_MASK not in masks)
    if not kinds:
        return None
    return Change(
        new.url,
        at,
        kinds,
        counter.significance(),
        since,
        counter.weightiest_edits(),
        added[:_MAX_LINKS],
        removed[:_MAX_LINKS],
        counter.masked,
    )


def compare_bodies(
    old: bytes,
    new: bytes,
    url: str = "http://localhost/",
    masks: Collection[str] = (),
    content_type: str = "text/html",
) -> Change | None:
    """The change between two bodies of a page, without anything else being known of it."""
    if old == new:
        return None
    address = Url(url)
    return compare_snapshots(
        read_snapshot(old, address, content_type), read_snapshot(new, address, content_type), masks
    )


def with_title(snapshot: Snapshot) -> tuple[Block, ...]:
    if not snapshot.title:
        return snapshot.blocks
    return (Block(mask_names.TITLE_PATH, snapshot.title), *snapshot.blocks)


def links_changed(
    old: Snapshot, new: Snapshot, masks: Collection[str] = ()
) -> tuple[tuple[Url, ...], tuple[Url, ...]]:
    """Links added and removed, as far as they are not masked."""
    if old.links == new.links:
        return (), ()
    before, after = set(old.links), set(new.links)
    if before == after:
        return (), ()
    added = [url for url in new.links if url not in before]
    removed = [url for url in old.links if url not in after]
    if any(mask.startswith("link:") for mask in masks):
        added = [url for url in added if not _is_link_masked(url, masks)]
        removed = [url for url in removed if not _is_link_masked(url, masks)]
    return tuple(added), tuple(removed)


def _is_link_masked(url: Url, masks: Collection[str]) -> bool:
    return mask_names.link_mask(url) in masks or mask_names.folder_mask(url) in masks
