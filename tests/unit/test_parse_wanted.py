"""A page read by somebody who does not want all its links."""

from __future__ import annotations

from collections.abc import Collection

import pytest

from honeyguide.parse.read import parse_page
from honeyguide.types import Link, Response, Url

_HTML = b"""<html><body><div class="nav"><p>before one <a href="/one">One</a> after one</p>
<p>before two <a href="/two" rel="nofollow">no</a> <a href="/two">Two</a> after two</p>
<p><a href="/one">One again</a></p></div></body></html>"""
_ONE, _TWO = Url("http://a.example/one"), Url("http://a.example/two")


def _links(words: bool, *wanted: Url) -> tuple[dict[Url, Link], list[Url]]:
    asked: list[Url] = []

    def wants(urls: Collection[Url]) -> Collection[Url]:
        asked.extend(urls)
        return wanted

    url = Url("http://a.example/")
    headers = (("Content-Type", "text/html"),)
    response = Response(url, 200, headers, _HTML, _HTML, b"", b"", "", 0.0, 0.0)
    page = parse_page(response, Link(url), words=words, wanted=wants)
    return {link.url: link for link in page.links}, asked


def test_what_is_not_wanted_has_an_anchor_and_nothing_around_it() -> None:
    links, asked = _links(True, _TWO)
    assert asked == [_ONE, _TWO]
    assert links[_ONE] == Link(_ONE, Url("http://a.example/"), "One", depth=1)
    two = links[_TWO]
    assert (two.anchor, two.after, two.tag_path) == ("Two", "after two", "div.nav/p")


@pytest.mark.parametrize("wanted", [(), (_ONE,), (_ONE, _TWO)])
def test_without_words_it_is_left_out(wanted: tuple[Url, ...]) -> None:
    links, asked = _links(False, *wanted)
    assert asked == [_ONE, _TWO]
    assert tuple(links) == wanted


def test_the_first_link_with_words_and_without_nofollow_counts() -> None:
    links, _ = _links(False, _ONE, _TWO)
    assert [link.anchor for link in links.values()] == ["One", "Two"]


def test_anchors_with_fragments_are_one_address_and_outlinks_counts_addresses() -> None:
    html = b"""<a href="#top">up</a><a href="/a#x"></a><a href="/b">B</a><a href="/a#y">A</a>
    <a href="">self</a><a href="/c">C</a>"""
    url = Url("http://a.example/")
    headers = (("Content-Type", "text/html"),)
    response = Response(url, 200, headers, html, html, b"", b"", "", 0.0, 0.0)
    page = parse_page(response, Link(url), words=False, outlinks=2)
    assert [(link.url[-1], link.anchor) for link in page.links] == [("a", "A"), ("b", "B")]
