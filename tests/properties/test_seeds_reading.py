"""Whatever an engine answers: results that are clean, or an error; never a crash."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from honeyguide.errors import SearchError
from honeyguide.search.credentials import ApiKey
from honeyguide.search.engine import (
    MAX_QUERY_CHARACTERS,
    MAX_SNIPPET,
    MAX_TITLE,
    ResultFields,
    clean_text,
    engine_query_text,
    parse_json_answer,
    parse_results,
)
from honeyguide.search.query import Query
from honeyguide.url import canonical_url

FIELDS = ResultFields("a.b", "url", "title", "content")
KEY = ApiKey("sEcret/k+y")
texts = st.text(st.characters() | st.sampled_from("<>&;/!#\0\u202e\ud800b \n"), max_size=60)
addresses = st.sampled_from(["http://a.test/", "https://b.test/x?y", "javascript:1", "http://[",
                             "http://a.test/sEcret%2Fk%2By"])  # fmt: skip
values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | texts
    | addresses,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=12,
)
entries = st.fixed_dictionaries(
    {}, optional={"url": addresses | values, "title": texts | values, "content": texts | values}
)


def is_clean(text: str, most: int) -> bool:
    tag = re.search(r"<[A-Za-z!?/]", text)
    return len(text) <= most and not tag and not re.search("[\0-\x1f\x7f-\x9f\u202e\ud800]", text)


@given(texts)
def test_clean_text(text: str) -> None:
    assert is_clean(clean_text(text, 20), 20)
    text.encode("utf-8", "surrogatepass")


@given(st.lists(entries | values, max_size=6) | values)
def test_any_answer(listed: Any) -> None:
    body = json.dumps({"a": {"b": listed}}).encode()
    try:
        got = parse_results(
            parse_json_answer(body), FIELDS, frozenset({"https://b.test"}), KEY.redact
        )
    except SearchError:
        assert not isinstance(listed, list)
        return
    for result in got.results:
        assert canonical_url(result.url) == result.url
        assert not result.url.startswith("https://b.test")
        assert KEY.redact(result.url) == result.url
        assert is_clean(result.title, MAX_TITLE)
        assert is_clean(result.snippet, MAX_SNIPPET)
        result.title.encode()
        result.snippet.encode()
    if isinstance(listed, list):
        assert len(got.results) + got.dropped == len(listed)


@given(st.binary(max_size=200))
def test_any_bytes(body: bytes) -> None:
    with pytest.raises(SearchError) as caught:
        parse_results(parse_json_answer(body), FIELDS, frozenset(), str)
    assert caught.value.kind == "garbage"


@given(texts, texts)
def test_the_key_is_in_no_text(before: str, after: str) -> None:
    line = clean_text(f"{before}sEcret/k+y{after}", MAX_SNIPPET, KEY.redact)
    assert "secret/k+y" not in line.lower()


@given(st.lists(texts, max_size=8), st.lists(texts, max_size=8))
def test_terms_give_no_orders(terms: list[str], without: list[str]) -> None:
    said = engine_query_text(Query(tuple(terms), tuple(without)), negatives=True)
    assert len(said) <= MAX_QUERY_CHARACTERS
    assert said.count('"') % 2 == 0
    said.encode()
    assert not re.search(r'(?:^| )"?[!:?+~@]', said)
    assert engine_query_text(Query((), tuple(without)), negatives=False) == ""
