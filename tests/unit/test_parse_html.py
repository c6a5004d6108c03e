"""What a page says about itself: title, text, robots, canonical, language."""

from __future__ import annotations

import pytest

from tests.unit.parsing import URL, page

STORY = "The honeyguide leads people to the nests of wild bees and waits for its share. " * 6


def test_title_description_and_headings():
    got = page(
        "<title> The\n  greater honeyguide </title><meta name=Description content=' A  bird '>"
        "<body><h1>Birds <em>that</em> guide</h1><h3> </h3>"
        "<table><tr><td><h2>In a cell</h2></table><svg><title>drawing</title></svg>"
    )
    assert got.title == "The greater honeyguide"
    assert got.description == "A bird"
    assert got.headings == ("Birds that guide", "In a cell")


def test_a_drawing_has_a_title_but_the_page_has_none():
    assert page("<body><svg><title>arrow</title></svg>x").title == ""


def test_main_text_leaves_the_frame_out():
    got = page(
        f"<body><nav><ul><li><a href=/a>Imprint</a><li><a href=/b>Press</a></ul></nav>"
        f"<article><h1>Guides</h1><p>{STORY}</p><p>{STORY}</p></article>"
        f"<footer><a href=/c>Cookies</a></footer>"
    )
    assert "wild bees" in got.text
    assert "Imprint" not in got.text
    assert len(got.links) == 3


def test_a_short_page_keeps_all_its_text():
    got = page("<body><nav>Menu</nav><p>Just a line.</p>")
    assert "Menu" in got.text
    assert "Just a line." in got.text


def test_nothing_silent_is_text():
    got = page(
        "<body><script>var hidden</script><style>.hidden{}</style><noscript>hidden</noscript>"
        "<template>hidden</template><p>seen</p><!-- hidden -->"
    )
    assert got.text == "seen"


def test_text_is_bounded():
    assert len(page("<p>" + "word " * 100_000).text) <= 200_000


@pytest.mark.parametrize(
    ("content", "index", "follow"),
    [
        ("index, follow", True, True),
        ("noindex", False, True),
        ("NoFollow , noarchive", True, False),
        ("none", False, False),
        ("noindex nofollow", False, False),
        ("max-image-preview: none", True, True),
    ],
)
def test_meta_robots(content: str, index: bool, follow: bool):
    got = page(f"<meta name=robots content='{content}'><a href=/x>x</a>")
    assert (got.index, got.follow) == (index, follow)
    assert bool(got.links) is follow


def test_words_to_us_and_words_to_others():
    assert page("<meta name=HoneyGuide content=noindex>").index is False
    assert page("<meta name=otherbot content=noindex>").index is True


@pytest.mark.parametrize(
    ("value", "index", "follow"),
    [
        ("noindex", False, True),
        ("otherbot: noindex, nofollow", True, True),
        ("otherbot: noindex, honeyguide: nofollow", True, False),
        ("honeyguide: none", False, False),
        ("unavailable_after: 25 Jun 2030 15:00:00 PST, nofollow", True, False),
        ("max-snippet: 20", True, True),
    ],
)
def test_robots_header(value: str, index: bool, follow: bool):
    got = page("<a href=/x>x</a>", "text/html", ("X-Robots-Tag", value))
    assert (got.index, got.follow) == (index, follow)
    assert bool(got.links) is follow


def test_headers_add_up():
    got = page("x", "text/html", ("X-Robots-Tag", "noindex"), ("x-robots-tag", "nofollow"))
    assert (got.index, got.follow) == (False, False)


def test_canonical_from_the_page_or_the_header():
    assert page("<link rel='canonical' href='/Real#x'>").canonical == "https://example.org/Real"
    assert page(f"<link rel=canonical href={URL}>").canonical is None
    assert page("<link rel=canonical href='javascript:x'>").canonical is None
    header = ("Link", '</other>; rel="next", </real>; rel="canonical"')
    assert page("x", "text/html", header).canonical == "https://example.org/real"
    assert page("x", "text/html", ("Link", "</other>; rel=next")).canonical is None


@pytest.mark.parametrize(
    ("header", "found"),
    [
        ("</real>; rel=canonical", True), ("</real> ; REL = Canonical", True),
        ("</real>; title=x; rel='up canonical'", False), ('</real>; rel="up canonical"', True),
        ('</real>; rel="canonical", </b>; rel=next', True), ("</real>; rel=canonicals", False),
        ("</real>; nrel=canonical", False), ("</real>, <x>; rel=up", False),
        ("</real>" + " " * 3000 + ";rel=canonical", False),
    ],
)  # fmt: skip
def test_canonical_in_a_header(header: str, found: bool):
    got = page("x", "text/html", ("Link", header)).canonical
    assert got == ("https://example.org/real" if found else None)


def test_only_some_link_headers_are_looked_at():
    headers = [("Link", "</a>; rel=next")] * 10 + [("Link", "</real>; rel=canonical")]
    assert page("x", "text/html", *headers).canonical is None
    assert page("x", "text/html", *headers[1:]).canonical == "https://example.org/real"


@pytest.mark.parametrize(
    ("html", "header", "language"),
    [
        ("<html lang=tr_TR>", "en", "tr-tr"),
        ("<html xml:lang='de'>", "", "de"),
        ("<html>", "EN-gb, fr", "en-gb"),
        ("<html lang='{{ lang }}'>", "", ""),
        ("<html lang=en-x-verylong-private>", "", "en"),
    ],
)
def test_language(html: str, header: str, language: str):
    headers = (("Content-Language", header),) if header else ()
    assert page(html, "text/html", *headers).language == language


def test_xhtml_keeps_cdata_and_survives_closed_scripts():
    got = page(
        '<?xml version="1.0"?><!DOCTYPE html><html xmlns="http://www.w3.org/1999/xhtml">'
        '<head><title>X</title><script src="a.js"/></head>'
        "<body><p><![CDATA[a < b & c]]></p><a href='/x'>x</a></body></html>",
        "application/xhtml+xml",
    )
    assert "a < b & c" in got.text
    assert [link.anchor for link in got.links] == ["x"]
    assert got.media_type == "application/xhtml+xml"


@pytest.mark.parametrize("words", [True, False])
@pytest.mark.parametrize(
    "hidden",
    [
        "<script>{}</script>",
        "<style>{}</style>",
        "<noscript>{}</noscript>",
        "<template>{}</template>",
        "<svg><style>{}</style></svg>",
        "<svg><script>{}</script></svg><script>1</script>",
    ],
)
def test_what_nobody_sees_is_neither_text_nor_link(hidden: str, words: bool):
    inside = hidden.format("<a href=/unseen>unseen</a>")
    got = page(f"<p>seen <a href=/one>one</a>{inside}<a href=/two>two</a>", words=words)
    assert [link.anchor for link in got.links] == ["one", "two"]
    assert "unseen" not in got.text
