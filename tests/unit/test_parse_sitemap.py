"""Sitemaps, feeds and plain text, and telling them apart."""

from __future__ import annotations

import gzip

import pytest

from honeyguide.errors import ParseError
from honeyguide.parse.read import parse_page
from honeyguide.types import Channel, Link
from tests.unit.parsing import page, response

NAMESPACE = "http://www.sitemaps.org/schemas/sitemap/0.9"
SITEMAP = f"""<?xml version="1.0" encoding="UTF-8"?>
<urlset xmlns="{NAMESPACE}" xmlns:image="http://www.google.com/schemas/sitemap-image/1.1">
 <url><loc> https://example.org/a?x=1&amp;y=2 </loc><lastmod>2026-01-01</lastmod>
  <image:image><image:loc>https://example.org/not-a-page</image:loc></image:image>
  <xhtml:link rel="alternate" hreflang="tr" href="https://example.org/tr"/></url>
 <!-- <url><loc>https://example.org/gone</loc></url> -->
 <url><loc><![CDATA[https://example.org/b]]></loc></url>
 <url><loc>https://example.org/b</loc></url><url><loc>javascript:x</loc></url>
 <url><loc>https://example.org/c"""
RSS = """<?xml version="1.0"?><rss version="2.0"><channel><title>Bees &amp; birds</title>
<link>https://example.org/</link><language>tr-TR</language><description>All of them</description>
<item><title><![CDATA[The <b>first</b> item]]></title><link>https://example.org/1</link>
<description>&lt;p&gt;A summary of some length that needs a cut somewhere.&lt;/p&gt;
</description></item>
<item><media:title>no</media:title><title>Second</title>
<guid isPermaLink="true">https://example.org/2</guid></item>
<item><title>Nowhere</title></item><item><title>Broken & unclosed</title><link>/3</link>"""
ATOM = """<feed xmlns="http://www.w3.org/2005/Atom" xml:lang="de"><title>Atom</title>
<link rel="self" href="https://example.org/feed"/>
<entry><title type="html">One &lt;i&gt;entry&lt;/i&gt;</title>
<link rel="replies" href="/replies"/><link href='/one?a=1&amp;b=2' rel='alternate'/>
<summary>Short.</summary></entry></feed>"""
RDF = """<rdf:RDF xmlns="http://purl.org/rss/1.0/"><channel rdf:about="x"><title>Old</title>
<items><rdf:Seq/></items></channel><item rdf:about="y"><title>T</title>
<link>/t</link></item></rdf:RDF>"""


def urls(links: tuple[Link, ...]) -> list[str]:
    return [link.url.removeprefix("https://example.org/") for link in links]


@pytest.mark.parametrize(
    ("media_type", "channel", "rel"),
    [("application/xml", "link", ""), ("text/xml", "seed", ""), ("text/plain", "sitemap", ""),
     ("text/html", "sitemap", "sitemap"), ("text/html", "redirect", "sitemap"), ("", "feed", "")],
)  # fmt: skip
def test_sitemap_under_any_name(media_type: str, channel: Channel, rel: str):
    got = page(SITEMAP, media_type, channel=channel, rel=rel)
    assert got.media_type == "application/x-sitemap"
    assert urls(got.links) == ["a?x=1&y=2", "b", "c"]
    assert got.text == ""
    assert {(link.channel, link.rel, link.depth) for link in got.links} == {("sitemap", "", 1)}


@pytest.mark.parametrize("media_type", ["text/html", "application/xhtml+xml", "text/plain", ""])
@pytest.mark.parametrize("body", [SITEMAP, RSS, ATOM, RDF])
def test_no_list_where_a_page_was_expected(media_type: str, body: str):
    got = page(body, media_type)
    assert got.media_type in ("text/html", "text/plain")
    assert {link.channel for link in got.links} <= {"link"}


def test_only_announced_lists_may_be_long():
    sitemap = "<urlset>" + "".join(f"<loc>/{n}</loc>" for n in range(700))
    feed = "<rss>" + "".join(f"<item><link>/{n}</link></item>" for n in range(700))
    for body in (sitemap, feed):
        assert len(page(body, "text/xml").links) == 500
        assert len(page(body, "text/xml", outlinks=20).links) == 20
        assert len(page(body, "text/xml", rel="sitemap").links) == 500
        for channel in ("sitemap", "feed"):
            assert len(page(body, "text/xml", channel=channel).links) == 700
    lines = "".join(f"https://example.org/{n}\n" for n in range(700))
    assert len(page(lines, "text/plain", channel="sitemap").links) == 700


def test_a_site_speaks_for_itself_alone():
    places = ("https://example.org/a", "http://www.example.org:8/b", "https://victim.test/c",
              "https://example.org.victim.test/d", "/e", "//victim.test/f")  # fmt: skip
    own = ["https://example.org/a", "http://www.example.org:8/b", "https://example.org/e"]
    for root in ("urlset", "sitemapindex"):
        text = f"<{root}>" + "".join(f"<loc>{place}</loc>" for place in places)
        assert [link.url for link in page(text, "text/xml").links] == own
    got = page("\n".join(places[:4]), "text/plain", channel="sitemap")
    assert [link.url for link in got.links] == own[:2]


@pytest.mark.parametrize(
    ("inside", "found"),
    [("  /a  ", "a"), ("<![CDATA[/a]]>", "a"), (" \n <![CDATA[ /a ]]> ", "a"), ("/a]]", "a"),
     ("/a<b>", "a"), ("<b>/a</b>", None), ("/a>b", None), ("", None), (" " * 5000 + "/a", None)],
)  # fmt: skip
def test_locations(inside: str, found: str | None):
    got = page(f"<urlset><url><loc>{inside}</loc></url>", "text/xml")
    assert urls(got.links) == ([found] if found else [])


def test_sitemap_with_a_prefix():
    text = f"<sm:urlset xmlns:sm='{NAMESPACE}'><sm:url><sm:loc>/p</sm:loc><loc>/q</loc>"
    assert urls(page(text, "text/xml").links) == ["p"]


def test_index_and_gzip():
    index = f"<sitemapindex xmlns='{NAMESPACE}'><sitemap><loc>https://example.org/s1.xml.gz</loc>"
    got = page(gzip.compress(index.encode()), "application/x-gzip", channel="sitemap")
    assert [(link.url, link.rel) for link in got.links] == [
        ("https://example.org/s1.xml.gz", "sitemap")
    ]


def test_gzip_in_pieces_and_gzip_cut_short():
    whole = gzip.compress(SITEMAP[:300].encode()) + gzip.compress(SITEMAP[300:].encode())
    got = page(whole + b"rubbish", "application/gzip", channel="sitemap")
    assert urls(got.links) == ["a?x=1&y=2", "b", "c"]
    got = page(whole[:-40], "application/gzip", channel="sitemap")
    assert got.media_type == "application/x-sitemap"


def test_sitemap_of_plain_text():
    got = page("https://example.org/a\r\nhttps://example.org/b\n", "text/plain", channel="sitemap")
    assert urls(got.links) == ["a", "b"]
    assert page("https://example.org/a", "text/plain").links == ()


def test_rss():
    got = page(RSS, "application/rss+xml")
    assert (got.title, got.description, got.language) == ("Bees & birds", "All of them", "tr-tr")
    assert got.media_type == "application/x-feed"
    assert urls(got.links) == ["1", "2", "3"]
    assert [link.anchor for link in got.links] == ["The first item", "Second", "Broken & unclosed"]
    assert got.links[0].after == "A summary of some length that needs a cut"
    assert got.text == "The first item\nSecond\nBroken & unclosed"
    assert {link.channel for link in got.links} == {"feed"}


def test_atom_and_rdf():
    got = page(ATOM, "text/html", channel="feed")
    assert (got.title, got.language) == ("Atom", "de")
    assert [(link.anchor, link.after) for link in got.links] == [("One entry", "Short.")]
    assert urls(got.links) == ["one?a=1&b=2"]
    assert urls(page(RDF, "application/rdf+xml").links) == ["t"]


def test_nofollow_holds_for_feeds_too():
    assert page(RSS, "text/xml", ("X-Robots-Tag", "nofollow")).links == ()


def test_plain_text_is_text():
    got = page("just words, 5 < 6", "text/plain", ("Content-Language", "en"))
    assert (got.text, got.media_type, got.language) == ("just words, 5 < 6", "text/plain", "en")


def test_html_under_another_name():
    assert page("<!DOCTYPE html><title>T</title>", "text/plain").title == "T"
    assert page("\n <html><title>T</title>", "").title == "T"
    assert page("<p>no root", "").media_type == "text/html"


@pytest.mark.parametrize(
    "body",
    [b"%PDF-1.7 ...", b"\x89PNG\r\n\x1a\n", b"PK\x03\x04", bytes(range(256)) * 4, b"\x1f\x8bxx",
     gzip.compress(b"\0\1\2\3" * 99, mtime=0)],
)  # fmt: skip
@pytest.mark.parametrize("media_type", ["text/html", "application/octet-stream", ""])
def test_binary_is_no_page(body: bytes, media_type: str):
    with pytest.raises(ParseError):
        parse_page(response(body, media_type), Link(response(b"").url))
