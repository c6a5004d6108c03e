"""Links: where they lead, what they are called, what stands around them."""

from __future__ import annotations

import pytest

from honeyguide.parse.decoded import DecodedResponse, PageDirectives
from honeyguide.parse.links import align_anchors, window_after, window_before
from honeyguide.parse.resolve import LinkResolver, is_unreadable
from honeyguide.types import Link, Url
from honeyguide.url import canonical_url
from tests.unit.parsing import URL, page


def links(body: str, **options: int | bool) -> dict[str, Link]:
    return {link.url: link for link in page(body, **options).links}  # type: ignore[arg-type]


def only(body: str) -> Link:
    (link,) = page(body).links
    return link


def test_a_link_whole():
    assert only(
        "<body><div id=top12 class='nav main'><ul><li>Read about "
        "<a href='b.html?utm_source=x&q=1#f' rel='UGC external' hreflang=tr>"
        "the  <b>bees</b></a> at once.</ul></div>"
    ) == Link(
        url=Url("https://example.org/docs/guide/b.html?q=1"),
        source=URL,
        anchor="the bees",
        before="Read about",
        after="at once.",
        tag_path="div.nav/ul/li",
        rel="ugc external",
        hreflang="tr",
        channel="link",
        depth=1,
    )


def test_depth_grows_and_tracking_may_stay():
    assert page("<a href=/x>x</a>", depth=4).links[0].depth == 5
    assert page("<a href='/x?utm_id=1'>x</a>", strip_tracking=False).links[0].url.endswith("=1")


@pytest.mark.parametrize(
    "href",
    ["", "#top", "javascript:go()", " JavaScript:go()", "mailto:a@b.org", "tel:1", "data:,x",
     "ftp://example.org/", "http://", "index.html", "index.html#x", "/a.png", "/a.ZIP?x=1",
     "x" * 5000],
)  # fmt: skip
def test_what_leads_nowhere(href: str):
    assert page(f"<a href='{href}'>x</a>").links == ()


def test_endings_are_those_of_files():
    assert is_unreadable(Url("https://example.org/a/b.JPG"))
    assert not is_unreadable(Url("https://example.zip/"))
    assert not is_unreadable(Url("https://example.org/view?file=a.png"))
    assert not is_unreadable(Url("https://example.org/sitemap.xml.gz"))
    assert not is_unreadable(Url("https://example.org/paper.pdf"))


def test_nofollow_is_obeyed():
    assert links(
        "<a rel='noopener NOFOLLOW' href=/a>a</a><a rel=sponsored href=/b>b</a>"
    ).keys() == {"https://example.org/b"}


def test_base():
    assert only("<base target=x><base href='/other/'><base href=/no/><a href=x>x</a>").url == (
        "https://example.org/other/x"
    )
    assert only("<base href='javascript:x'><a href=y>y</a>").url == (
        "https://example.org/docs/guide/y"
    )


def test_words_of_a_link_without_text():
    found = links(
        "<body><p>Look: <a href=1><img src=i alt=' The  logo '></a> so</p><a href=2 title=Two></a>"
        "<a href=3 aria-label=Three><i></i></a><a href=4> </a>"
        "<map><area href=5 alt=Five></map>"
    )
    assert [link.anchor for link in found.values()] == ["The logo", "Two", "Three", "", "Five"]
    assert found["https://example.org/docs/guide/1"].before == "Look:"
    assert found["https://example.org/docs/guide/1"].after == "so"


def test_windows_stop_at_neighbours_and_at_words():
    found = page(
        "<body><p>Alpha <a href=1>one</a> between them <a href=2>two</a> and then a rather long "
        "sentence that goes on for more than fifty characters in all</p>"
    ).links
    assert (found[0].before, found[0].after) == ("Alpha", "between them")
    assert found[1].before == "between them"
    assert found[1].after == "and then a rather long sentence that goes on for"


@pytest.mark.parametrize("wrap", ["<pre>{}</pre>", "<table><tr><td>{}<td>c</table>", "<dl><dd>{}"])
def test_windows_in_cells_and_code(wrap: str):
    link = only("<body>" + wrap.format("left <a href=1>middle</a> right"))
    assert (link.before, link.anchor) == ("left", "middle")
    assert link.after.startswith("right")


def test_a_window_without_spaces_is_cut_hard():
    assert window_before("x" * 80, 0, 80) == "x" * 50
    assert window_after("x" * 80, 0, 80) == "x" * 50


def test_windows_are_whole_words():
    text = "zero " + "wordy " * 30 + "ANCHOR" + " wordy" * 30
    start = text.index("ANCHOR")
    before = window_before(text, 0, start)
    after = window_after(text, start + 6, len(text))
    assert before == after == " ".join(["wordy"] * 8)


def test_anchors_and_text_that_disagree():
    text = "aa bb dd"
    assert align_anchors(["aa", "xx", "bb", "dd"], text, [(0, 2), (3, 5), (6, 8)]) == [0, -1, 1, 2]


def test_a_link_in_a_drawing_does_not_shift_the_others():
    found = page("<p>u <a href=1>one</a> v</p><svg><a href=2><text>two</text></a></svg>"
                 "<p>w <a href=3>three</a> x</p>").links  # fmt: skip
    assert [(link.anchor, link.after) for link in found] == [
        ("one", "v two w"),
        ("", ""),
        ("three", "x"),
    ]


def test_duplicates_keep_the_first_that_has_words():
    found = links(
        "<a href=/x></a><a href=/x>words</a><a href=/x>more words</a><a href='/x#y'>z</a>"
    )
    assert [link.anchor for link in found.values()] == ["words"]


def test_most():
    body = "".join(f"<a href=/{i}>{i}</a>" for i in range(50))
    assert [link.anchor for link in page(body, outlinks=3).links] == ["0", "1", "2"]


def test_head_links_and_frames():
    found = page(
        "<link rel=alternate type=application/rss+xml href=/rss title=News>"
        "<link rel=alternate hreflang=tr href=/tr><link rel=alternate hreflang=x-default href=/en>"
        "<link rel=next href=/2>"
        "<link rel=stylesheet href=/c><link rel=alternate type=text/x href=/no>"
        "<body><iframe src=/frame title=F></iframe>"
    ).links
    assert [(link.url.rpartition("/")[2], link.channel, link.anchor) for link in found] == [
        ("rss", "feed", "News"),
        ("tr", "link", ""),
        ("en", "link", ""),
        ("2", "link", ""),
        ("frame", "link", "F"),
    ]
    assert found[1].hreflang == "tr"


def test_tag_path_is_short_and_numberless():
    deep = "<div class='item-42 x'>" * 20 + "<a href=/x>x</a>"
    assert only("<body>" + deep).tag_path == "/".join(["div.item-##"] * 8)
    assert only(f"<body><div class='{'c' * 500}'><p id=n7><a href=/x>x</a>").tag_path.endswith(
        "p#n#"
    )
    assert (
        len(only(f"<body>{'<div class=' + 'c' * 500 + '>'}" * 1 + "<a href=/x>x</a>").tag_path)
        <= 120
    )


@pytest.mark.parametrize(
    "text",
    ["a", "../a", "../../../../a/b.html", "/a//b", "./a", "a/./b", "a/../b", "?q=1", "a?b=c/../d",
     "//h/x", "a.", ".a", "a b", "%41"],
)  # fmt: skip
@pytest.mark.parametrize(
    "base", ["https://e.org/", "https://e.org/a/b/?c=/d/e", "http://e.org:81/a//b"]
)
def test_the_short_way_agrees_with_the_standard(base: str, text: str):
    source = DecodedResponse(
        Url(base), "", "utf-8", "text/html", 1, PageDirectives(), strip_tracking=False
    )
    assert LinkResolver(source).resolve_address(text) == canonical_url(text, Url(base))
