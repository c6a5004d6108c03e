"""What differs between two versions: kinds, significance, edits."""

from __future__ import annotations

import random
import time
from collections.abc import Callable

import pytest

from honeyguide.change import Block, Change, Snapshot
from honeyguide.parse.blocks import read_snapshot
from honeyguide.types import Url
from honeyguide.watch.compare.block_matching import BlockPair, match_blocks
from honeyguide.watch.compare.mask_names import BlockAnchor, anchored_mask, soft_mask, word_skeleton
from honeyguide.watch.compare.page_change import compare_bodies, compare_snapshots

URL = Url("https://example.org/a.html")
PARAGRAPHS = [
    " ".join(f"{stem}{n}" for stem in ("river", "stone", "meadow", "falcon", "harbour", "barley"))
    + " and so on until the sentence ends."
    for n in range(12)
]


def page(
    paragraphs: list[str] = PARAGRAPHS,
    title: str = "A page",
    footer: str = "Imprint",
    extra: str = "",
    style: str = "post",
) -> Snapshot:
    text = "".join(f"<p>{paragraph}</p>" for paragraph in paragraphs)
    html = f"""<title>{title}</title><nav><a href=/>Home</a></nav><main class={style}>{text}
        {extra}</main><footer><p>{footer}</footer>"""
    return read_snapshot(html.encode(), URL)


def changed(new: Snapshot, old: Snapshot | None = None, **more: object) -> Change:
    change = compare_snapshots(old or page(), new, **more)  # type: ignore[arg-type]
    assert change is not None
    return change


def with_paragraph(at: int, text: str) -> list[str]:
    return [*PARAGRAPHS[:at], text, *PARAGRAPHS[at + 1 :]]


def test_nothing_differs() -> None:
    assert compare_snapshots(page(), page()) is None
    assert compare_bodies(b"<p>a", b"<p>a</p>  <!-- x -->") is None


def test_a_new_paragraph_is_content() -> None:
    change = changed(page([*PARAGRAPHS, "A wholly new paragraph about bees and their wax."]))
    assert change.kinds == ("content",)
    (edit,) = change.edits
    assert (edit.what, edit.path) == ("added", "main.post/p")
    assert edit.weight == pytest.approx(change.significance)
    assert 0.1 < change.significance < 0.4


def test_a_removed_paragraph_is_content() -> None:
    change = changed(page(PARAGRAPHS[1:]))
    assert change.kinds == ("content",)
    assert [(edit.what, edit.old) for edit in change.edits] == [("removed", PARAGRAPHS[0])]


def test_one_word_of_a_long_page_is_minor() -> None:
    change = changed(page(with_paragraph(3, PARAGRAPHS[3].replace("falcon3", "eagle"))))
    assert change.kinds == ("minor",)
    assert [edit.what for edit in change.edits] == ["changed"]
    assert change.significance < 0.15


def test_one_word_of_a_short_page_is_content() -> None:
    change = changed(page(["Sold out"]), page(["In stock"]))
    assert change.kinds == ("content",)


def test_a_footer_is_minor() -> None:
    change = changed(page(footer="Imprint and privacy, a rather long text, with many new words"))
    assert change.kinds == ("minor",)
    assert change.significance < 0.15


def test_a_rewritten_page_is_nearly_one() -> None:
    words = random.Random(1)
    rewritten = [" ".join(str(words.random()) for _ in range(9)) for _ in PARAGRAPHS]
    change = changed(page(rewritten))
    assert change.kinds == ("content",)
    assert change.significance > 0.95
    assert sum(edit.weight for edit in change.edits) == pytest.approx(change.significance)


def test_significance_grows_with_what_is_new() -> None:
    said = [
        changed(page([*PARAGRAPHS[:-n], *(f"New words {k} " * 9 for k in range(n))])).significance
        for n in range(1, len(PARAGRAPHS))
    ]
    assert said == sorted(said)


def test_a_title_counts() -> None:
    change = changed(page(title="Closed for good"))
    assert [edit.path for edit in change.edits] == ["title"]


def test_a_new_style_is_cosmetic() -> None:
    change = changed(page(style="entry"))
    assert change.kinds == ("cosmetic",)
    assert change.significance == 0.0
    assert {edit.what for edit in change.edits} == {"moved"}


def test_another_order_is_cosmetic() -> None:
    change = changed(page([*PARAGRAPHS[1:], PARAGRAPHS[0]]))
    assert change.kinds == ("cosmetic",)
    assert [(edit.what, edit.new) for edit in change.edits] == [("moved", PARAGRAPHS[0])]


def test_other_tags_within_lines_are_cosmetic() -> None:
    old, new = b"<p>one <b>two</b>", b"<p>one <i>two</i>"
    change = compare_bodies(old, new)
    assert change is not None
    assert change.kinds == ("cosmetic",)
    assert compare_bodies(old, new, masks=["shape:"]) is None


def test_the_same_text_in_other_elements_is_structure() -> None:
    change = compare_bodies(b"<div><p>one two</div>", b"<table><tr><td>one two</table>")
    assert change is not None
    assert change.kinds == ("structure",)


def test_links() -> None:
    old = page(extra="<a href=/x>see</a>")
    change = changed(page(extra="<a href=/y>see</a>"), old)
    assert change.kinds == ("links",)
    assert change.links_added == (Url("https://example.org/y"),)
    assert change.links_removed == (Url("https://example.org/x"),)
    assert (
        compare_snapshots(old, page(extra="<a href=/y>see</a>"), ["link:https://example.org/*"])
        is None
    )


def test_a_token_in_links_can_be_masked() -> None:
    old, new = (page(extra=f"<a href=/go?sid={sid}&a=b>see</a>") for sid in ("12ab", "34cd"))
    assert compare_snapshots(old, new, ["link:https://example.org/go?sid=#&a=b"]) is None
    other = page(extra="<a href=/went?sid=9>see</a>")
    assert compare_snapshots(old, other, ["link:https://example.org/go?sid=#&a=b"]) is not None


def priced(price: str, stock: str = "InStock") -> Snapshot:
    data = f'{{"name": "x", "offers": {{"price": "{price}", "availability": "{stock}"}}}}'
    return page(extra=f'<script type="application/ld+json">{data}</script>')


def test_a_price_is_data_and_counts() -> None:
    change = changed(priced("13.00"), priced("12.50"))
    assert change.kinds == ("data",)
    assert change.edits[0][:4] == ("data", "offers.price", "12.50", "13.00")
    assert change.significance > 0.25
    assert compare_snapshots(priced("1"), priced("2"), ["data:offers.price"]) is None


def test_relevance_of_what_changed_counts() -> None:
    new = page([*PARAGRAPHS, "Bees and their wax."])
    plain = changed(new).significance
    assert changed(new, relevance=lambda text: 0.0).significance == 0.0
    assert changed(new, relevance=lambda text: 1.0).significance == plain
    assert changed(new, relevance=lambda text: 7.0).significance == plain
    half = changed(new, relevance=lambda text: 0.5 if "Bees" in text else 1.0).significance
    assert 0 < half < plain


def test_masked_blocks_are_counted_and_not_shown() -> None:
    mask = "footer/p"
    assert compare_snapshots(page(), page(footer="Something else"), [mask]) is None
    new = page([*PARAGRAPHS, "Bees and their wax."], footer="Something else")
    change = changed(new, masks=[mask])
    assert change.masked == 1
    assert [edit.new for edit in change.edits] == ["Bees and their wax."]


def test_only_what_a_program_put_into_a_block_is_masked() -> None:
    old = page(footer="Made at 12:30:01 for you, 1 visitor")
    mask = soft_mask("footer/p", "Made at 12:30:01 for you, 1 visitor")
    assert (
        compare_snapshots(old, page(footer="Made at 09:01 for you, 4,711 visitors"), [mask]) is None
    )
    change = changed(page(footer="Made at 09:01 for us, 4,711 visitors"), old, masks=[mask])
    assert change.kinds == ("minor",)


def test_words_that_come_to_be_masked_are_shown_once() -> None:
    mask = soft_mask("footer/p", "Made at 12:30:01 for you")
    change = changed(
        page(footer="Made at 1 for you"), page(footer="Made at 2 for us"), masks=[mask]
    )
    assert change.kinds == ("minor",)


def test_a_masked_block_may_bring_its_own_tags() -> None:
    old, new = page(footer="<b>Buy</b> wax"), page(footer="<i>Sell</i> moths")
    assert compare_snapshots(old, new, ["footer/p"]) is None


def test_a_mask_behind_a_block_leaves_its_neighbours_alone() -> None:
    def table(views: int, votes: int) -> Snapshot:
        return page(extra=f"<table><tr><td>Views<td>{views}<tr><td>Votes<td>{votes}</table>")

    mask = anchored_mask(soft_mask("main.post/table/tbody/tr/td", "1"), BlockAnchor("Views"))
    assert compare_snapshots(table(1, 5), table(2, 5), [mask]) is None
    assert compare_snapshots(table(1, 5), table(1, 6), [mask]) is not None


def test_a_price_is_nothing_that_a_program_put_there() -> None:
    assert word_skeleton("Price: 12.50 €") != word_skeleton("Price: 13.00 €")
    assert word_skeleton("now $12") != word_skeleton("now $13")
    assert word_skeleton("Monday, 3 May 2026 12:30") == word_skeleton(
        "Tuesday, 11 June 2027 9:01:33 pm"
    )
    assert word_skeleton("The second day") != word_skeleton("The third day")
    assert word_skeleton("2 minutes ago") == word_skeleton("1 hour ago")
    assert word_skeleton("token 9f3ac21b") == word_skeleton("token deadbeef")


def blocks(*texts: str) -> list[Block]:
    return [Block("p", text) for text in texts]


def test_blocks_of_which_only_numbers_differ_belong_together() -> None:
    old, new = blocks("Views 1", "Votes 2"), blocks("Votes 3", "Views 4")
    assert match_blocks(old, new).pairs == [BlockPair(1, 0), BlockPair(0, 1)]


def test_an_edited_block_is_known_by_its_words() -> None:
    one = "the quick brown fox jumps over the lazy dog"
    old, new = blocks(one, "Gone"), blocks("Here instead", one.replace("fox", "wolf"))
    assert match_blocks(old, new).pairs == [BlockPair(1, 0), BlockPair(0, 1)]


def test_long_strangers_at_one_path_do_not_belong_together() -> None:
    old = blocks("one two three four five six seven eight nine ten")
    new = blocks("red green blue white black pink grey brown gold silver")
    assert match_blocks(old, new).pairs == [BlockPair(-1, 0), BlockPair(0, -1)]
    assert match_blocks(blocks("12"), blocks("15")).pairs == [BlockPair(0, 0)]


def many(text: Callable[[int], str]) -> Snapshot:
    return Snapshot(URL, blocks=tuple(Block("div/p", text(n)) for n in range(20_000)))


RNG = random.Random(7)
LETTERS = "abcdefghijklmnopqrstuvwxyz"
HOSTILE: dict[str, tuple[Callable[[int], str], Callable[[int], str]]] = {
    "all alike": (
        lambda n: f"item {n} of the very same list with a price of {n * 7}",
        lambda n: f"item {n + 20_000} of the very same list with a price of {n * 7 + 3}",
    ),
    "all different": (
        lambda n: " ".join(str(RNG.random()) for _ in range(5)),
        lambda n: " ".join(str(RNG.random()) for _ in range(5)),
    ),
    "letters": (
        lambda n: " ".join(RNG.choices(LETTERS, k=50)),
        lambda n: " ".join(RNG.choices(LETTERS, k=50)),
    ),
    "in fours": (
        lambda n: " ".join(f"{(n // 4 + k) % 5_000} {k}" for k in range(24)),
        lambda n: " ".join(f"{(n // 4 + k + 1) % 5_000} {k} z" for k in range(24)),
    ),
    "one word": (lambda n: "x", lambda n: "y"),
    "another order": (str, lambda n: str(19_999 - n)),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_pages_stay_near_linear(name: str) -> None:
    """A second at most on a quiet machine; what is quadratic would take minutes."""
    old, new = map(many, HOSTILE[name])
    begun = time.process_time()
    change = compare_snapshots(old, new, ["div/q", soft_mask("div/p", "x")])
    assert time.process_time() - begun < 4
    assert change is not None
    assert len(change.edits) <= 200
    assert 0 <= change.significance <= 1
