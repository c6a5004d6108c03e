"""Whatever two pages are: comparing them never fails and keeps its promises."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from honeyguide.change import Block, Snapshot
from honeyguide.parse.blocks import read_snapshot
from honeyguide.types import Url
from honeyguide.watch.compare.block_matching import match_blocks
from honeyguide.watch.compare.page_change import compare_bodies, compare_snapshots
from honeyguide.watch.compare.volatile import (
    VolatileMemory,
    find_volatile,
    initial_memory,
    observe_changed,
)
from honeyguide.watch.version_diff import diff_words

URL = Url("http://example.org/")
TEXTS = st.lists(st.sampled_from("a b c 1 22 12:30 x9f".split()), min_size=1, max_size=6).map(  # noqa: SIM905
    " ".join
)
BLOCKS = st.lists(
    st.builds(Block, st.sampled_from(["p", "p.x", "li"]), TEXTS, st.sampled_from([0.1, 0.5, 1.0])),
    max_size=12,
).map(tuple)
SNAPSHOTS = st.builds(
    Snapshot,
    st.just(URL),
    TEXTS | st.just(""),
    BLOCKS,
    st.lists(st.sampled_from([Url(f"http://example.org/{n}") for n in "abc"]), unique=True).map(
        tuple
    ),
    st.lists(st.tuples(st.sampled_from(["price", "b.c"]), TEXTS), max_size=3).map(tuple),
    st.integers(0, 2),
)


@given(SNAPSHOTS)
def test_a_version_does_not_differ_from_itself(snapshot: Snapshot) -> None:
    assert compare_snapshots(snapshot, snapshot) is None


@given(SNAPSHOTS, SNAPSHOTS)
def test_a_change_has_kinds_and_stays_within_bounds(old: Snapshot, new: Snapshot) -> None:
    change = compare_snapshots(old, new)
    if change is None:
        assert [b[:2] for b in old.blocks] == [b[:2] for b in new.blocks]
        assert set(old.links) == set(new.links)
        assert old.title == new.title
        return
    assert change.kinds
    assert len(set(change.kinds)) == len(change.kinds)
    assert 0.0 <= change.significance <= 1.0
    assert all(edit.weight >= 0.0 for edit in change.edits)


@given(BLOCKS, BLOCKS)
def test_every_block_is_accounted_for_once(old: tuple[Block, ...], new: tuple[Block, ...]) -> None:
    found = match_blocks(old, new)
    for kept, length, places in (
        (found.kept_old, len(old), [pair.old for pair in found.pairs]),
        (found.kept_new, len(new), [pair.new for pair in found.pairs]),
    ):
        assert sorted([*kept, *(at for at in places if at >= 0)]) == list(range(length))
        assert kept == sorted(kept)


@given(SNAPSHOTS, SNAPSHOTS)
def test_what_early_finds_covers_what_differed(old: Snapshot, new: Snapshot) -> None:
    """Beside the main content: words and prices of that are never masked by themselves."""
    old, new = (
        replace(
            one,
            title="",
            blocks=tuple(block._replace(weight=0.1) for block in one.blocks),
            data=tuple(field for field in one.data if field[0] != "price"),
        )
        for one in (old, new)
    )
    masks = find_volatile(old, new)
    if masks:
        assert compare_snapshots(old, new, masks) is None


@given(SNAPSHOTS, st.lists(SNAPSHOTS, max_size=6))
def test_a_memory_survives_being_written_down(first: Snapshot, others: list[Snapshot]) -> None:
    memory = initial_memory(find_volatile(first, others[0]) if others else ())
    for other in others:
        memory = observe_changed(memory, first, other, 60.0)
        first = other
        assert VolatileMemory.from_json(memory.to_json()) == memory


@given(st.text(max_size=200))
def test_a_stranger_s_memory_never_fails(text: str) -> None:
    memory = VolatileMemory.from_json(text)
    assert VolatileMemory.from_json(memory.to_json()) == memory


@given(st.binary(max_size=300), st.binary(max_size=300))
def test_any_two_bodies_can_be_compared(old: bytes, new: bytes) -> None:
    assert compare_bodies(old, old) is None
    change = compare_bodies(old, new)
    assert change is None or change.kinds
    for content_type in ("text/plain", "application/json", "application/xhtml+xml", ""):
        snapshot = read_snapshot(old, URL, content_type)
        assert all(block.text for block in snapshot.blocks)


@given(st.text("ab \n", max_size=60), st.text("ab \n", max_size=60))
def test_a_word_diff_reads_as_both_texts(old: str, new: str) -> None:
    pieces = diff_words(old, new)
    assert " ".join(text for what, text in pieces if what != "added").split() == old.split()
    assert " ".join(text for what, text in pieces if what != "removed").split() == new.split()
