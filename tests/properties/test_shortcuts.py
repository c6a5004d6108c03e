"""Quicker ways to the same answers: each must say what the long way says."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from honeyguide.parse.decoded import DecodedResponse, PageDirectives
from honeyguide.parse.feeds_and_sitemaps import _with_end_tags
from honeyguide.parse.resolve import LinkResolver, is_unreadable
from honeyguide.parse.tree_limits import _tame_html, bound_html
from honeyguide.store.duplicates import _lower_bytes
from honeyguide.text.language import stems_of
from honeyguide.text.relevance import _ENDS
from honeyguide.types import Url
from honeyguide.url import canonical_url

_CLOSED = re.compile(
    r"<(script|style|title|textarea|iframe|noscript|template|div|p|a|span)\b([^<>]*)/>"
)
_BASE = Url("http://a.example/docs/guide/page.html?q=1")
_ENDINGS = """
    s es ed ing edly ingly ational tional ation ator ize izer ization able ability ably ibly al
    ality alism icate icity ical ful fulness ness less lessly ous ously ive ivity ence ency ent
    ently ement ism ist ity ion y ies ied ier ly ogy ying eed
"""


@given(
    st.lists(
        st.sampled_from(
            ["<", ">", "/", "/>", "<a", "<p", "<div ", "<script", "<br", "px", " ", "x='"]
        )
    ).map("".join)
)
def test_empty_elements_get_the_end_tags_that_a_search_would_give_them(text: str) -> None:
    assert _with_end_tags(text) == _CLOSED.sub(r"<\1\2></\1>", text)


@given(st.text())
def test_folding_bytes_is_folding_letters(text: str) -> None:
    assert _lower_bytes(text) == text.lower().encode("utf-8", "replace")


@given(
    st.lists(
        st.sampled_from(
            ["/", "a", "b-1", "..", ".", ".html", ".php", ".png", "?", "#", "http://b/"]
        ),
        min_size=1,
        max_size=8,
    ).map("".join)
)
def test_plain_paths_lead_where_the_standard_says(text: str) -> None:
    source = DecodedResponse(
        _BASE, "", "utf-8", "text/html", 0, PageDirectives(), strip_tracking=False
    )
    url = canonical_url(text.partition("#")[0], _BASE)
    expected = None if url is None or url == _BASE or is_unreadable(url) else url
    # Asked twice: the second answer comes from memory.
    assert [LinkResolver(source).resolve_target(text) for _ in range(2)] == [expected] * 2


@given(
    st.text("abcdefghijklmnopqrstuvwxyz", min_size=1, max_size=12),
    st.lists(st.sampled_from(_ENDINGS.split()), max_size=3),
)
def test_words_begin_with_their_stem_unless_its_end_says_otherwise(
    beginning: str, endings: list[str]
) -> None:
    word = "".join((beginning, *endings))
    stem = stems_of("en")[word]
    assert word.startswith(stem[:-2] if stem.endswith(_ENDS["en"]) else stem)


_PIECES = (
    "<b", "<B ", "<i", "<code", "<em a=1>", "<body", "<BODY ", "<html", "<p>", "</p>", " a=1",
    "\u00a0", ">", "<", "/", '"', "'", " x", "<s", "<strong", "\n", "ü", "\u0130", "word ", "<sm",
    "<col>", "\ud800",
)  # fmt: skip


@given(
    st.lists(st.sampled_from(_PIECES), min_size=1, max_size=40),
    st.integers(0, 4000),
    st.integers(500, 5000),
)
def test_a_glance_at_tags_lets_none_pass_that_would_be_tamed(
    pieces: list[str], different: int, times: int
) -> None:
    html = "".join(f"<b a{n}>" for n in range(different)) + "".join(pieces) * times
    tags = html.count("<")
    if len(html) > 48_000 or (len(html) > 24_000 and tags * tags > 8_000_000):
        assert bound_html(html) == _tame_html(html)
    else:
        assert bound_html(html) == html
