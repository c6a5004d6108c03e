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
from honeyguide.fetch import cookies, http_headers
from honeyguide.fetch.curl import translate_curl_error
from honeyguide.fetch.decode import to_printable
from honeyguide.net import politeness
from honeyguide.net.robots import parse_robots
from honeyguide.parse.charset import decode_body
from honeyguide.parse.decoded import (
    DecodedResponse,
    PageDirectives,
    header_canonical,
    header_directives,
    language_tag,
)
from honeyguide.parse.feeds_and_sitemaps import (
    literal_text,
    plain_text,
    strip_comments,
    xhtml_to_html,
)
from honeyguide.parse.resolve import LinkResolver, is_unreadable
from honeyguide.parse.tree_limits import bound_html
from honeyguide.text.language import split_words
from honeyguide.text.relevance import TermMatcher
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
SOURCE = DecodedResponse(URL, "", "utf-8", "text/html", 1, PageDirectives())


def header(text: str) -> None:
    decode_body(b"\xe9", text)
    decode_body(b"\xe9", f"text/html; charset={text}")
    for said in (text, f"<x>{text}", f"<x>; rel={text}", f"<{text}", f"<x>;{text}rel=canonical"):
        header_canonical([("Link", said)] * 100)
    for said in (text, f"otherbot:{text}", f"noindex{text}"):
        header_directives([("X-Robots-Tag", said)] * 100)
        PageDirectives().and_also(said)
    language_tag(text)
    politeness.parse_retry_after(text, 0.0)
    for said in (text, f"a={text}", f"a=b;{text}", f"a=b; max-age={text}", f"a=b; expires={text}"):
        cookies.parse_set_cookie(said, "http://a.test/", "a.test", "a.test", 0.0)
    http_headers.is_sendable(text)
    translate_curl_error("u", 60, text)
    to_printable(text)


def head(text: str) -> None:
    raw = text.encode("latin-1", "replace")
    for line in (raw, b"HTTP/" + raw, b"HTTP/1.1 " + raw, b"HTTP/1.1 200 OK\r\n " + raw):
        with suppress(FetchError):
            http_headers.parse_head("u", [line, b"\r\n"])


def address(text: str) -> None:
    resolver = LinkResolver(SOURCE)
    for said in (text, f"http://{text}", f"/{text}", f"?{text}", f"http://a.test/x?{text}"):
        resolver.resolve_target(said)
    is_unreadable(Url(f"http://a.test/{text}"))


def robots(text: str) -> None:
    for said in (text, f"Disallow{text}", f"Disallow: /{text}", f"Crawl-delay: {text}",
                 f"user agent{text}", f"Sitemap: {text}"):  # fmt: skip
        file = f"User-agent: *\n{said}\nAllow: /x/index.html"
        parse_robots(file, "honeyguide", "http://a.test").allows(Url(f"http://a.test/{'a' * 2000}"))


def vocabulary(text: str) -> None:
    split_words(text, "tr")
    TermMatcher(("a", "b c")).count_terms(text)
    TermMatcher(("a", "b c")).count_all([text, text])


def markup(text: str) -> None:
    for tag in TAGS:
        said = f"{tag}{text}"
        bound_html(said)
        xhtml_to_html(said)
        literal_text(said)
        strip_comments(said)
        plain_text(said[:10_000])


def charset(text: str) -> None:
    for tag in TAGS:
        decode_body(f"{tag}{text}".encode("latin-1", "replace") + b"\xe9")


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
            bound_html(said)
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
