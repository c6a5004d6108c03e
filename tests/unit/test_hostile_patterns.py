"""Every search in what the web sends, against text made to be searched for ever.

Much of whatever a pattern could be tempted to try again; the bound is on CPU time and generous,
since what is not linear takes minutes. (By hand: the same holds with five million.)
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress

import pytest

from honeyguide.errors import FetchError, ParseError
from honeyguide.fetch import cookies, retry
from honeyguide.fetch import http_headers as heads
from honeyguide.fetch.curl_errors import printable, translate
from honeyguide.fetch.robots_rules import parse
from honeyguide.parse.charset import decode
from honeyguide.parse.decoded import Source
from honeyguide.parse.directives import Directives, from_headers
from honeyguide.parse.http_meta import language_tag, linked_canonical
from honeyguide.parse.resolve import Resolver, unreadable
from honeyguide.parse.tree_limits import bounded
from honeyguide.parse.xml_text import as_html, literal, plain, without_comments
from honeyguide.text.terms import Terms
from honeyguide.text.tokens import words
from honeyguide.types import Url
from tests.unit.parsing import URL, page

N = 100_000
BLANK, SIGNS, LETTERS, QUOTES = " " * N, "<" * N, "a" * N, "\"'" * (N // 2)
BITS = {
    "blanks": BLANK + "!",
    "lines": "\n\t\r" * (N // 3) + "!",
    "signs": SIGNS,
    "ends": ">" * N,
    "letters": LETTERS,
    "letters and colon": LETTERS + ":",
    "words": "a " * (N // 2),
    "equals": "a=" * (N // 2),
    "quotes": QUOTES,
    "attributes": "a='b\" " * (N // 6),
    "escapes": "%41" * (N // 3),
    "references": "&#x41" * (N // 5),
    "stars": "*" * N,
    "stars and letters": "*a" * (N // 2),
    "commas": ", ;" * (N // 3),
    "numbers": "9" * N,
    "sections": "<![CDATA[" * (N // 9),
    "section ends": "]]>" * (N // 3),
    "comments": "<!--" * (N // 4),
    "nuls": "\0" * N,
    "dots": "../" * (N // 3),
    "beyond": "é\u0130ß" * (N // 3),
}
TAGS = ("", "<", "<loc>", "<loc ", "<urlset><loc>", "<a:loc>", "<item><link ", "<rss><item><title>",
        "<feed><entry><link href='", "<meta charset=", "<meta ", "<?xml encoding=", "<html lang=",
        "<html ", "<!doctype ", "<b ", "<body a='", "<script ", "&", "<![CDATA[")  # fmt: skip
SOURCE = Source(URL, "", "utf-8", "text/html", 1, Directives())


def header(text: str) -> None:
    decode(b"\xe9", text)
    decode(b"\xe9", f"text/html; charset={text}")
    for said in (text, f"<x>{text}", f"<x>; rel={text}", f"<{text}", f"<x>;{text}rel=canonical"):
        linked_canonical([("Link", said)] * 100)
    for said in (text, f"otherbot:{text}", f"noindex{text}"):
        from_headers([("X-Robots-Tag", said)] * 100)
        Directives().and_also(said)
    language_tag(text)
    retry.seconds(text, 0.0)
    for said in (text, f"a={text}", f"a=b;{text}", f"a=b; max-age={text}", f"a=b; expires={text}"):
        cookies.read(said, "http://a.test/", "a.test", "a.test", 0.0)
    heads.sendable(text)
    translate("u", 60, text)
    printable(text)


def head(text: str) -> None:
    raw = text.encode("latin-1", "replace")
    for line in (raw, b"HTTP/" + raw, b"HTTP/1.1 " + raw, b"HTTP/1.1 200 OK\r\n " + raw):
        with suppress(FetchError):
            heads.read("u", [line, b"\r\n"])


def address(text: str) -> None:
    resolver = Resolver(SOURCE)
    for said in (text, f"http://{text}", f"/{text}", f"?{text}", f"http://a.test/x?{text}"):
        resolver.target(said)
    unreadable(Url(f"http://a.test/{text}"))


def robots(text: str) -> None:
    for said in (text, f"Disallow{text}", f"Disallow: /{text}", f"Crawl-delay: {text}",
                 f"user agent{text}", f"Sitemap: {text}"):  # fmt: skip
        file = f"User-agent: *\n{said}\nAllow: /x/index.html"
        parse(file, "honeyguide", "http://a.test").allows(Url(f"http://a.test/{'a' * 2000}"))


def vocabulary(text: str) -> None:
    words(text, "tr")
    Terms(("a", "b c")).count(text)
    Terms(("a", "b c")).count_all([text, text])


def markup(text: str) -> None:
    for tag in TAGS:
        said = f"{tag}{text}"
        bounded(said)
        as_html(said)
        literal(said)
        without_comments(said)
        plain(said[:10_000])


def charset(text: str) -> None:
    for tag in TAGS:
        decode(f"{tag}{text}".encode("latin-1", "replace") + b"\xe9")


def lists(text: str) -> None:
    for tag in TAGS:
        for root in ("<urlset>", "<rss>", ""):
            with suppress(ParseError):
                page(f"{root}{tag}{text}>", "text/xml", channel="sitemap")


def many(text: str) -> None:
    """The same in small pieces, each behind a tag of its own."""
    for size in (100, 5_000):
        piece = text[:size]
        for tag in ("<loc>", "<loc ", "<item><link ", "<item><title>", "<b ", "<body "):
            said = f"{tag}{piece}>" * (N // size)
            bounded(said)
            page(f"<rss>{said}", "text/xml", channel="feed")
            page(f"<urlset>{said}", "text/xml", channel="sitemap")


@pytest.mark.parametrize("bits", BITS)
@pytest.mark.parametrize(
    "search", [header, head, address, robots, vocabulary, markup, charset, lists, many]
)
def test_no_text_is_searched_for_ever(search: Callable[[str], None], bits: str) -> None:
    started = time.process_time()
    search(BITS[bits])
    assert time.process_time() - started < 3
