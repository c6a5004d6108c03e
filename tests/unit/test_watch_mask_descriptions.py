"""Masks as people mean them: a line by its words, and what a mask covers in words."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from honeyguide.change import Block
from honeyguide.store.store import Store
from honeyguide.types import Url
from honeyguide.watch.compare.block_matching import match_blocks
from honeyguide.watch.compare.mask_names import (
    BlockAnchor,
    anchored_mask,
    line_mask,
    mask_path,
    soft_mask,
)
from honeyguide.watch.compare.page_change import compare_bodies, is_pair_masked, narrowest_mask
from honeyguide.watch.manual_edits import describe_masks

URL = Url("https://a.org/")
PAGE = b"""<main><p>Honey is sold here.</p><p>Price: %d EUR</p><p>%s</p></main>
<footer>Made at %d:30 for you</footer>"""


def shop(price: int = 14, line: str = "Ten bees live here.", hour: int = 12) -> bytes:
    return PAGE % (price, line.encode(), hour)


def test_a_line_is_masked_by_its_words_and_no_other_is() -> None:
    masks = [line_mask("main/p", "Price: 14 EUR")]
    assert compare_bodies(shop(14), shop(15)) is not None, "a price is news"
    assert compare_bodies(shop(14), shop(15), masks=masks) is None
    assert compare_bodies(shop(14), shop(9999), masks=masks) is None
    found = compare_bodies(shop(14), shop(15, "No bee is left here."), masks=masks)
    assert found is not None
    assert [edit.new for edit in found.edits] == ["No bee is left here."]
    assert found.masked == 1


def test_a_line_that_comes_and_goes_is_masked_both_times() -> None:
    without = b"<main><p>Honey is sold here.</p></main>"
    lure = without.replace(b"</p>", b"</p><p>Only 3 left!</p>")
    masks = [line_mask("main/p", "Only 7 left!")]
    assert compare_bodies(without, lure) is not None
    assert compare_bodies(without, lure, masks=masks) is None
    assert compare_bodies(lure, without, masks=masks) is None


texts = st.sampled_from(["One hive", "Two hives 3", "Price: 4 EUR", "Price: 5 EUR", "Bees", "4"])
blocks = st.lists(st.builds(Block, st.sampled_from(["p", "ul/li", ""]), texts), max_size=8)


@given(blocks, blocks)
def test_the_mask_offered_covers_its_pair(old: list[Block], new: list[Block]) -> None:
    matching = match_blocks(old, new)
    for pair in matching.pairs:
        mask = narrowest_mask(pair, matching)
        if mask:
            assert is_pair_masked(pair, matching, frozenset({mask}))
        elif pair.old < 0 or pair.new < 0:
            raise AssertionError("what only came or went has a name")


def test_the_narrowest_mask_is_preferred() -> None:
    old = [Block("p", "Stays"), Block("p", "Price: 4 EUR"), Block("p", "one two three")]
    new = [Block("p", "Stays"), Block("p", "Price: 5 EUR"), Block("p", "four five six")]
    matching = match_blocks(old, new)
    masks = [narrowest_mask(pair, matching) for pair in matching.pairs]
    assert masks == [line_mask("p", "Price: 4 EUR"), anchored_mask("p", BlockAnchor("Stays", 2))]


@pytest.mark.parametrize("path", ["p", "div.a=b/p", "title", "ul.x/li"])
def test_where_a_named_line_stands(path: str) -> None:
    assert mask_path(line_mask(path, "Price: 4 EUR")) == path


def test_masks_in_words(tmp_path: Path) -> None:
    with Store.open(tmp_path, "crawl") as store:
        store.versions.add_version(URL, shop(), 1.0)
        price = line_mask("main/p", "Price: 99 EUR")
        clock = soft_mask("footer", "Made at 11:30 for you")
        behind = anchored_mask("main/p", BlockAnchor("Honey is sold here.", 1))
        gone = line_mask("main/p", "It was there once")
        masks = [price, clock, behind, gone, "main/p", "data:offers.price", "shape:", "footer"]
        found = describe_masks(store, URL, masks)
    assert found == {
        price: "the line “Price: 14 EUR”, whatever its numbers",
        clock: "numbers and dates in “Made at 12:30 for you”",
        behind: "the block after “Honey is sold here.”: now “Price: 14 EUR”",
        gone: "a line of main/p that is not there now",
        "main/p": "everything in main/p (3 blocks now)",
        "data:offers.price": "the field offers.price of its data",
        "shape:": "its tags, without their texts",
        "footer": "everything in footer (1 block now)",
    }


@given(st.lists(st.text(max_size=30), max_size=5))
def test_whatever_is_called_a_mask_has_words(masks: list[str]) -> None:
    from honeyguide.watch.manual_edits import _MaskedPage

    page = _MaskedPage((Block("p", "Bees"), Block("p", "4")))
    assert all(
        page.describe_mask(mask) for mask in [*masks, "p^x+1", "p^x+99999999", "~", "=", "^+"]
    )
