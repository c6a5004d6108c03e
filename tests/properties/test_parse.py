"""Whatever the bytes and headers: a page with canonical links, or a ParseError."""

from __future__ import annotations

from contextlib import suppress

from hypothesis import given, settings
from hypothesis import strategies as st

from honeyguide.errors import ParseError
from honeyguide.parse.decoded import DecodedResponse, PageDirectives
from honeyguide.parse.read import parse_page
from honeyguide.parse.resolve import LinkResolver
from honeyguide.types import Link, Page, Response, Url
from honeyguide.url import canonical_url

URL = Url("https://example.org/a/b?c=d")

PIECES = st.sampled_from(
    ["<a href='", "x.html", "'>", "</a>", "<p class=x1>", "<table><tr><td>", "<pre>", "<svg>",
     "<base href=", "http://", "https://EXAMPLE.org:443/", "//", "../", "?utm_source=x&a=b", "#f",
     "<link rel=canonical href=", "<link rel=alternate type=application/rss+xml href=/f>",
     "<meta name=robots content=", "nofollow", "<meta charset=", "utf-16", ">", "&#0;", "\ud7ff",
     "<rss>", "<item>", "<title>", "</title>", "<link>", "</link>", "<urlset>", "<loc>", "</loc>",
     "<![CDATA[", "]]>", "<!--", "-->", "<?xml version='1.0'?>", "<html lang=tr>", "\x00", " "]
)  # fmt: skip
MARKUP = st.lists(st.one_of(PIECES, st.text(max_size=8)), max_size=40).map("".join)
BODIES = st.one_of(
    st.binary(max_size=300),
    MARKUP.map(lambda text: text.encode("utf-8", "replace")),
    MARKUP.map(lambda text: text.encode("utf-16", "replace")),
)
TYPES = st.one_of(
    st.sampled_from(
        ["text/html", "text/html; charset=utf-16", "application/xml", "text/plain", ""]
    ),
    st.text(max_size=30).map("text/html; charset={}".format),
    st.text(max_size=20),
)
HEADERS = st.lists(
    st.tuples(
        st.sampled_from(["X-Robots-Tag", "Link", "Content-Language", "x-other"]),
        st.one_of(st.text(max_size=40), st.just('</c>; rel="canonical"')),
    ),
    max_size=4,
)


@settings(max_examples=300, deadline=None)
@given(BODIES, TYPES, HEADERS)
def test_a_page_or_a_parse_error(body: bytes, media_type: str, headers: list[tuple[str, str]]):
    sent = (("Content-Type", media_type), *headers)
    answer = Response(URL, 200, sent, body, body, b"", b"", "127.0.0.1", 0.0, 0.0)
    with suppress(ParseError):
        check(parse_page(answer, Link(URL, channel="sitemap")))


def check(page: Page) -> None:
    for link in page.links:
        assert link.url.startswith(("http://", "https://"))
        assert canonical_url(link.url) == link.url != page.url
        assert link.source == page.url
        assert len(link.before) <= 50
        assert len(link.after) <= 50
        assert len(link.anchor) <= 300
        assert len(link.tag_path) <= 120
    assert len({link.url for link in page.links}) == len(page.links)
    assert page.canonical is None or canonical_url(page.canonical) == page.canonical != page.url
    assert page.follow or not page.links
    "".join((page.title, page.description, page.text, *page.headings)).encode()


PATHS = st.lists(
    st.sampled_from(["a", "b1", ".", "..", "/", "../", "?", "%2e", "-", "~", "@", ":", "x.html",
                     " ", "https://example.org/", "http:", "é", ";", "\\", "'"]),
    max_size=7,
).map("".join)  # fmt: skip


@given(PATHS, st.sampled_from([URL, Url("https://example.org/"), Url("http://e.org:8/a//b/c")]))
def test_addresses_are_those_of_the_standard(text: str, base: Url):
    source = DecodedResponse(
        base, "", "utf-8", "text/html", 1, PageDirectives(), strip_tracking=False
    )
    assert LinkResolver(source).resolve_address(text) == canonical_url(text.strip(), base)
