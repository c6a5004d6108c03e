"""Quicker ways to the same answers: each must say what the long way says."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from honeyguide.parse.decoded import Source
from honeyguide.parse.directives import Directives
from honeyguide.parse.resolve import Resolver, unreadable
from honeyguide.parse.tree_limits import _tamed, bounded
from honeyguide.parse.xml_text import _with_end_tags
from honeyguide.store.minhash import _folded
from honeyguide.text.terms import _ENDS
from honeyguide.text.tokens import stems_of
from honeyguide.types import Url
from honeyguide.url import canonical

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
    assert _folded(text) == text.lower().encode("utf-8", "replace")


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
    source = Source(_BASE, "", "utf-8", "text/html", 0, Directives(), strip_tracking=False)
    url = canonical(text.partition("#")[0], _BASE)
    expected = None if url is None or url == _BASE or unreadable(url) else url
    # Asked twice: the second answer comes from memory.
    assert [Resolver(source).target(text) for _ in range(2)] == [expected] * 2


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
        assert bounded(html) == _tamed(html)
    else:
        assert bounded(html) == html
