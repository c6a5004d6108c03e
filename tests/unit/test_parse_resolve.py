"""Addresses are remembered by folder: no page may change what another one's links mean."""

from __future__ import annotations

import pytest

from honeyguide.parse.read import parse_page
from honeyguide.parse.resolve import _UrlFolder
from honeyguide.types import Link, Page, Response, Url


def page(url: str, html: str) -> Page:
    body = html.encode()
    headers = (("Content-Type", "text/html; charset=utf-8"),)
    return parse_page(
        Response(Url(url), 200, headers, body, body, b"", b"", "", 0, 0), Link(Url(url))
    )


@pytest.mark.parametrize("odd", ["https:", "https:?page=2", "\x01?page=2", "?page=2"])
def test_what_depends_on_the_page_is_not_remembered(odd: str) -> None:
    html = f'<a href="{odd}">on</a>'
    alone = [link.url for link in page("https://victim.org/quiet/article", html).links]
    base = '<base href="https://victim.org/loud/OTHER?x=1">'
    page("https://evil.example/", base + html)
    after = [link.url for link in page("https://victim.org/loud/article", html).links]
    assert [url.replace("/loud/", "/quiet/") for url in after] == alone


def test_an_endless_base_counts_for_nothing() -> None:
    base = f'<base href="https://e.org/{"x" * 3000}/">'
    (link,) = page("https://e.org/d/", base + '<a href="on.html">on</a>').links
    assert link.url == "https://e.org/d/on.html"


@pytest.mark.parametrize("words", [True, False])
def test_not_every_text_of_a_giant_is_resolved(
    words: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    resolve = _UrlFolder.resolve_address

    def address(self: _UrlFolder, text: str, base: Url) -> Url | None:
        asked.append(text)
        return resolve(self, text, base)

    monkeypatch.setattr(_UrlFolder, "resolve_address", address)
    body = b"".join(b'<a href="mailto:%d@e.org">x</a>' % n for n in range(5_000))
    body += b'<a href="http://late.example/">x</a>'
    url = Url("http://giant.example/")
    answer = Response(url, 200, (("Content-Type", "text/html"),), body, body, b"", b"", "", 0, 0)
    assert parse_page(answer, Link(url), outlinks=10, words=words).links == ()
    assert len(asked) == 200
    assert len(parse_page(answer, Link(url), outlinks=500, words=words).links) == 1
