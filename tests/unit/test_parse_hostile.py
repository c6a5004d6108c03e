"""What nobody honest would send: each must end soon, and without a crash."""

from __future__ import annotations

import gzip
import time
from collections.abc import Callable

import pytest

from honeyguide.errors import ParseError
from honeyguide.parse.tree_limits import bound_html
from honeyguide.types import Channel
from tests.unit.parsing import page

LAUGHS = (
    '<!DOCTYPE l [<!ENTITY a "ha">'
    + "".join(f'<!ENTITY {chr(98 + i)} "{f"&{chr(97 + i)};" * 10}">' for i in range(9))
    + "]>"
)


def formatting(count: int, value: str = "={i}") -> str:
    """Formatting tags that stay open, each different from the others (or three of a kind)."""
    kinds = ["b", "big", "code", "em", "font", "i", "s", "small", "strike", "strong", "tt", "u"]
    if not value:
        return "".join(f"<{kinds[i % 12]}>" for i in range(count))
    return "<p>" + "".join(f"<b a{i}{value.format(i=i)}>" for i in range(count))


HTML = {
    "nested": "<div>" * 200_000 + "<a href=/x>y</a>",
    "nested links": "<div><a href=/x>y</a>" * 50_000,
    "attributes": "<a " + " ".join(f"a{i}=1" for i in range(200_000)) + " href=/x>y</a>",
    "links": "".join(f"<a href=/p{i}>link {i}</a> and " for i in range(100_000)),
    "bare links": "".join(f"<a href=/p{i}></a>" for i in range(100_000)),
    "labels": "<a href=/x title=y></a>" * 50_000,
    "cells": "<table>" + "<tr><td><a href=/x>y</a>" * 50_000,
    "line": "word " * 2_000_000,
    "unclosed": "<b><i><table><tr><td><p><a href=/x>" * 10_000,
    "headings": "<h1>x" * 100_000,
    "nul": "\0<p>\0a\0" * 100_000,
    "drawings": "<svg><a href=/x>y</a>" * 20_000,
    "base": "<base href='javascript:alert(1)'>" * 10_000 + "<a href=x>y</a>",
    "metas": "<meta name=robots content='" + "noindex," * 500_000 + "'>",
    "comments": "<!--" * 500_000,
    "sections": "<?xml version='1.0'?><html>" + "<![CDATA[" * 300_000,
    "half tags": "<?xml version='1.0'?><html>" + "<a " * 500_000,
    "links in links": "<marquee><a href=/x>yyyyyyyyyyyyyyyyyyyyyyyyyyy" * 50_000,
    "bare links in links": "<object><a href=/x>" * 50_000,
    "open formatting": formatting(300) + "<p>x" * 30_000,
    "open formatting, capitals": formatting(300).upper() + "<P>x" * 30_000,
    "open formatting, slashes": formatting(300).replace(" ", "/") + "</p><p>x" * 30_000,
    "open formatting, bare": "<p>" + formatting(36, "") + "<p>x" * 300_000,
    "open formatting, unclean": formatting(300, "='>'") + "<p>x" * 30_000,
    "bodies": "".join(f"<body a{i}=1>" for i in range(20_000)),
    "heads": "".join(f"<HTML a{i}>" for i in range(20_000)),
    "two bodies": 2 * f"x<body a=x' b='> {' '.join(f'{i}a' for i in range(60_000))}>",
    "large body": f"<body {' '.join(f'a{i}' for i in range(300_000))}>"
    + "".join(f"<body b{i}>" for i in range(500)),
    "tables": "<table><tr><td>" * 660_000,
    "cells without rows": "<table><td>" * 900_000,
    "blank blocks": "<pre>\n\n\n" * 900_000,
    "classes": f"<p class='{'x ' * 4_900_000}'>w",
    "empty elements in links": "".join(f"<a href=/u{i}><object>" for i in range(500))
    + "<br>" * 2_000_000,
    "frames": "".join(f"<iframe src=/{i}></iframe>" for i in range(300_000)),
    "relations": "".join(f"<link rel=next href=/{i}>" for i in range(300_000)),
    "signs": "<" * 10_000_000,
    "empty": "",
    "blank": " \n" * 100_000,
}
XML = {
    "sitemap": "<urlset>"
    + "".join(f"<url><loc>https://e.org/{i}</loc></url>" for i in range(60_000)),
    "locations": "<urlset>" + "<loc>" * 500_000,
    "half locations": "<urlset>" + "<loc " * 500_000,
    "comments": "<urlset>" + "<!--" * 500_000,
    "index": "<sitemapindex>" + "<sitemap><loc>/s.xml</loc>" * 100_000,
    "nested index": "<sitemapindex><sitemap>" * 100_000 + "<loc>/s.xml</loc>",
    "laughing sitemap": LAUGHS + "<urlset><url><loc>https://e.org/&j;</loc></url></urlset>",
    "laughing feed": LAUGHS + "<rss><channel><title>&j;</title><item><title>&j;</title>"
    "<link>https://e.org/1</link></item></channel></rss>",
    "items": "<rss>" + "<item>" * 300_000,
    "titles": "<rss><item>" + "<title>" * 300_000,
    "item links": "<feed><entry>" + "<link rel=self href='x'" * 200_000,
    "attributes": "<feed><entry><link " + "a='b' " * 500_000 + ">",
}


@pytest.mark.parametrize("name", HTML)
def test_hostile_html(name: str):
    started = time.process_time()
    got = page(HTML[name])
    assert time.process_time() - started < 3  # generous: shared machines
    assert len(got.links) <= 500
    assert len(got.text) <= 200_000


@pytest.mark.parametrize("name", XML)
def test_hostile_xml(name: str):
    started = time.process_time()
    got = page(XML[name], "application/xml")
    assert time.process_time() - started < 3
    assert len(got.links) <= 50_000
    assert len(got.title) <= 300
    assert all(len(link.url) < 4_200 and len(link.anchor) <= 300 for link in got.links)


def test_a_bomb_stops_at_fifty_megabytes():
    bomb = gzip.compress(b"<urlset>" + b" " * 80_000_000, compresslevel=1)
    started = time.process_time()
    assert page(bomb, "application/gzip", channel="sitemap").links == ()
    assert time.process_time() - started < 4


MEMBER = gzip.compress(b"", mtime=0)


@pytest.mark.parametrize("channel", ["link", "sitemap"])
def test_a_file_of_files(channel: Channel):
    started = time.process_time()
    got = page(MEMBER * 200_000, "text/html", channel=channel)
    assert got.text == ""
    assert page(MEMBER * 63 + gzip.compress(b"<p>x"), "text/html").text == "x"
    assert page(MEMBER * 64 + gzip.compress(b"<p>x"), "text/html").text == ""
    assert time.process_time() - started < 3


def test_members_are_not_copied_again_and_again():
    members = b"".join(gzip.compress(b"x" * 40, 0) for _ in range(60))
    body = members + gzip.compress(bytes(20_000_000), 0)
    started = time.process_time()
    with pytest.raises(ParseError):
        page(b"\x1f\x8b" + body, "text/html")
    assert page(body, "text/html").text.startswith("x" * 2400)
    assert time.process_time() - started < 3


@pytest.mark.parametrize(
    "media_type", ["text/html", "application/xml", "application/xhtml+xml", ""]
)
@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_no_page_is_longer_than_pages_may_be(media_type: str, pack: Callable[[bytes], bytes]):
    html = b"<html><p>one</p>" + b" " * 2000 + b"<p>two</p>" + b" " * 2_000_000 + b"<p>three</p>"
    got = page(pack(html), media_type, html_limit=1_000_000)
    assert got.text.split() == ["one", "two"]
    assert page(pack(html), media_type, html_limit=3_000_000).text.split()[-1] == "three"
    assert page(pack(html), media_type, html_limit=100).text == "one"


def test_only_a_list_may_be_longer_than_a_page():
    sitemap = "<urlset>" + " " * 5000 + "<loc>/a</loc>"
    for body in (sitemap.encode(), gzip.compress(sitemap.encode())):
        assert len(page(body, "text/xml", html_limit=4000).links) == 1
        assert page(body, "text/html", html_limit=4000).links == ()


def test_a_large_honest_page_is_left_as_it_is():
    row = "<tr><td><a href=/{n}>cell <b>{n}</b> and <i>more</i></a><td>" + "word " * 20
    html = '<html lang="tr"><body class="x">' + "".join(row.format(n=n) for n in range(1500))
    html += "<code class=x>y</code>" * 100
    assert bound_html(html) == html


@pytest.mark.parametrize("letter", ["", "é", "ş", "🐦"])
def test_bytes_that_came_as_utf8_are_bounded_like_the_text(letter: str):
    honest = f"<html lang=tr><body class=x>{letter}" + "<p>one <i>two</i> " * 3000
    for html in (honest, formatting(3000) + honest, "<body a=1>" * 3000 + honest):
        assert bound_html(html, html.encode()) == bound_html(html)
        assert page(html.encode()).text == page(html.encode("utf-16")).text


def test_a_tame_page_keeps_its_words():
    comments = "<!--[if IE]><html class=old><![endif]-->" * 5
    html = f"{comments}<html lang=tr><body class=x>{formatting(3000)}" + "<p>one <I>two</I> " * 3000
    assert bound_html(html) != html
    got = page(html)
    assert got.language == "tr"
    assert got.text.split()[:4] == ["one", "two", "one", "two"]


def test_one_link_among_many_attributes_is_found():
    assert page(HTML["attributes"]).links[0].anchor == "y"


def test_an_empty_answer_is_an_empty_page():
    got = page(b"", "")
    assert (got.title, got.text, got.links) == ("", "", ())
