"""A body as blocks: what is compared, and what nobody sees."""

from __future__ import annotations

import time

import pytest

from honeyguide.change import Snapshot
from honeyguide.parse.blocks import MAX_BLOCKS, MAX_LINKS, read_snapshot
from honeyguide.types import Url

URL = Url("https://example.org/shop/item.html")


def snapshot(html: str, content_type: str = "text/html; charset=utf-8") -> Snapshot:
    return read_snapshot(html.encode("utf-8", "replace"), URL, content_type)


def texts(html: str) -> list[str]:
    return [block.text for block in snapshot(html).blocks]


def test_blocks_are_what_stands_between_block_level_elements() -> None:
    html = "<div>one <b>two</b><p>three <a href=x>four</a></p>five<br>six</div><td>seven"
    assert texts(html) == ["one two", "three four", "five", "six", "seven"]


def test_paths_have_classes_and_nothing_generated() -> None:
    html = """<div class="active post post-4711 css-1q2w3e big"><ul id=list-17><li>x</div>
        <section id="part-2"><p>y"""
    paths = [block.path for block in snapshot(html).blocks]
    assert paths == ["div.post.post-#.css-#/ul#list-#/li", "section#part-#/p"]


def test_white_space_and_marks_without_width_do_not_matter() -> None:
    assert texts("<p> a\n\t b  c </p><p>d\xa0e</p><p>z\u200bw\xad") == ["a b c", "d e", "zw"]
    assert texts("<p>Cafe\u0301") == texts("<p>Caf\xe9")


def test_what_nobody_sees_is_no_block() -> None:
    html = """<title>T</title><script>a()</script><style>p{}</style><p hidden>x</p>
        <p style="display:none">y</p><noscript>n</noscript><template>t</template>
        <!-- c --><svg><text>s</text></svg><p>seen</p><input type=hidden value=token>"""
    assert texts(html) == ["seen"]
    assert snapshot(html).title == "T"


def test_menus_and_footers_count_little_and_the_main_part_fully() -> None:
    html = """<header><h2>Site</h2><nav><ul><li>Home</ul></nav></header>
        <main><header><h1>Title</h1></header><p>Body</p><div class="share-box">Share</div></main>
        <div class=extra>Beside</div><div role=contentinfo>Imprint</div><footer><p>End"""
    weights = {block.text: block.weight for block in snapshot(html).blocks}
    assert weights["Title"] == weights["Body"] == 1.0
    assert weights["Beside"] == 0.5
    assert {weights[name] for name in ("Site", "Home", "Share", "Imprint", "End")} == {0.1}


def test_a_page_without_parts_counts_fully() -> None:
    assert {block.weight for block in snapshot("<p>one<p>two").blocks} == {1.0}


def test_links_are_canonical_and_once_each_in_order() -> None:
    html = """<a href="b.html#x">1</a><a href="/a?utm_source=z">2</a><a href="b.html">3</a>
        <a href="#top">4</a><a href="mailto:x@y.z">5</a>"""
    assert snapshot(html).links == (
        Url("https://example.org/shop/b.html"),
        Url("https://example.org/a"),
    )


def test_the_base_counts_for_links() -> None:
    assert snapshot("<base href=/deep/><a href=x>1").links == (Url("https://example.org/deep/x"),)


def test_json_ld_is_flattened() -> None:
    html = """<script type="application/ld+json">{"@context": "https://schema.org",
        "@graph": [{"@type": "Product", "offers": [{"price": 12.5, "availability": "InStock"},
        {"price": 13, "new": true, "none": null}]}]}</script>
        <script type="application/ld+json">{broken</script>"""
    assert snapshot(html).data == (
        ("@type", "Product"),
        ("offers.price", "12.5"),
        ("offers.availability", "InStock"),
        ("offers.price", "13"),
        ("offers.new", "true"),
    )


def test_halves_of_characters_can_be_stored() -> None:
    html = '<script type="application/ld+json">{"a\\ud800": "b\\udfff"}</script>'
    ((name, value),) = snapshot(html).data
    (block,) = snapshot('{"a": "\\ud800"}', "application/json").blocks
    for text in (name, value, block.path, block.text):
        assert text.encode().decode() == text


def test_the_shape_is_that_of_the_tags() -> None:
    one = snapshot("<div class=a><p>x <b>y</b></div>")
    assert one.shape == snapshot("<div class=a ><p>other <b>words</b></p></div>").shape
    assert one.shape != snapshot("<div class=a><p>x <i>y</i></div>").shape
    assert one.shape != snapshot("<div class=c><p>x <b>y</b></div>").shape
    assert 0 <= one.shape < 2**63


def test_plain_text_is_its_lines() -> None:
    found = snapshot("one\n\n two  three\nhttp://x.y/ <b>", "text/plain").blocks
    assert [block.text for block in found] == ["one", "two three", "http://x.y/ <b>"]


def test_json_is_its_fields() -> None:
    found = snapshot('{"a": [{"b": 1}, {"b": 2}], "c": "x"}', "application/json").blocks
    assert [block[:2] for block in found] == [("a.b", "1"), ("a.b", "2"), ("c", "x")]
    assert [b.text for b in snapshot("[1, 2", "application/json").blocks] == ["[1, 2"]


def test_a_long_text_is_taken_apart() -> None:
    sentences = [f"This is sentence number {n} of a very long paragraph." for n in range(300)]
    before = snapshot(f"<p>{' '.join(sentences)}").blocks
    sentences[5] = "Another one."
    after = snapshot(f"<p>{' '.join(sentences)}").blocks
    assert len(set(before) ^ set(after)) == 2


def test_a_file_that_is_no_text_is_one_block() -> None:
    one, other = (
        read_snapshot(b"%PDF-1.7 " + tail, URL, "application/pdf") for tail in (b"a", b"b")
    )
    assert len(one.blocks) == 1
    assert one.blocks != other.blocks


def test_feeds_have_blocks_too() -> None:
    feed = """<?xml version="1.0"?><rss><channel><title>C</title><item><title>First</title>
        <description>Words</description></item></channel></rss>"""
    found = [b.text for b in read_snapshot(feed.encode(), URL, "application/rss+xml").blocks]
    assert "First" in found
    assert "Words" in found


HOSTILE = {
    "deep": "<div>" * 150_000 + "x",
    "inline": "<b><a href=x>" * 60_000,
    "many": "<p>x" * 100_000,
    "endless word": "x" * 9_000_000,
    "endless line": "x. " * 3_000_000,
    "classes": f'<div class="{"q9 " * 1_000}">x' * 3_000,
    "links": "".join(f"<a href=/{n}>x</a>" for n in range(50_000)),
    "nested tables": "<table><tr><td>" * 30_000,
    "json": f'<script type="application/ld+json">{"[" * 100_000}</script>',
    "wide json": f'<script type="application/ld+json">[{"1," * 100_000}1]</script>',
    "nul": "\0<p>\0x\ufffe",
    "path": f"<{'x' * 5_000} class={'y' * 5_000}>" * 300 + "z",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_pages_are_bounded(name: str) -> None:
    begun = time.process_time()
    found = snapshot(HOSTILE[name])
    assert time.process_time() - begun < 8
    assert len(found.blocks) <= MAX_BLOCKS
    assert len(found.links) <= MAX_LINKS
    assert len(found.data) <= 2_000
    assert all(len(b.path) <= 200 and 0 < len(b.text) <= 4_000 for b in found.blocks)


@pytest.mark.parametrize("text", ["[" * 100_000, "9" * 10_000, '{"a":' * 5_000, "NaN", ""])
def test_hostile_json_is_bounded(text: str) -> None:
    assert len(snapshot(text, "application/json").blocks) <= MAX_BLOCKS


def test_what_is_left_out_is_still_told_apart() -> None:
    def page(last: str) -> bytes:
        return f"<main>{'<p>.' * (MAX_BLOCKS + 10)}<p>{last}</main>".encode()

    one, other = (read_snapshot(page(last), URL) for last in ("safe", "deadly"))
    assert one != other
    assert one == read_snapshot(page("safe"), URL)
