"""What nobody honest would send: each must end soon, and without a crash."""

from __future__ import annotations

import gzip
import time

import pytest

from tests.unit.parsing import page

LAUGHS = (
    '<!DOCTYPE l [<!ENTITY a "ha">'
    + "".join(f'<!ENTITY {chr(98 + i)} "{f"&{chr(97 + i)};" * 10}">' for i in range(9))
    + "]>"
)
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
    assert page(bomb, "application/gzip").links == ()
    assert time.process_time() - started < 4


def test_one_link_among_many_attributes_is_found():
    assert page(HTML["attributes"]).links[0].anchor == "y"


def test_an_empty_answer_is_an_empty_page():
    got = page(b"", "")
    assert (got.title, got.text, got.links) == ("", "", ())
