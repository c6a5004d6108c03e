"""Properties of queries, for any text."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from honeyguide.search.query import Query, parse_query

_WORD = st.text(st.characters(categories=["Ll", "Lo", "Nd"]), min_size=1, max_size=12)
_PHRASE = st.lists(_WORD, min_size=1, max_size=4).map(" ".join)
_PHRASES = st.lists(_PHRASE, min_size=1, max_size=4).map(tuple)


@given(st.text(max_size=300))
def test_any_text_is_read_and_written_the_same(text: str) -> None:
    query = parse_query(text)
    assert parse_query(str(query)) == query
    assert parse_query(str(query)).key == query.key == Query(text=text).key
    str(query).encode()


@given(st.text(alphabet='ab "-:OR\t', max_size=40))
def test_also_where_it_is_full_of_signs(text: str) -> None:
    query = parse_query(text)
    assert str(query) == " ".join(text.split())
    assert parse_query(str(query)) == query


@given(_PHRASES, st.lists(_PHRASE, max_size=3).map(tuple))
def test_composed_queries_come_back(terms: tuple[str, ...], without: tuple[str, ...]) -> None:
    query = Query(terms, without)
    assert parse_query(str(query)) == query


@given(_PHRASES, st.randoms(use_true_random=False))
def test_the_order_of_terms_does_not_matter(terms: tuple[str, ...], random: object) -> None:
    shuffled = list(terms)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert Query(tuple(shuffled)).key == Query(terms).key
