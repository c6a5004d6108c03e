"""The composer takes any text and any weight, and asks nothing that cannot be asked."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from honeyguide.search.composer import QueryComposer
from honeyguide.search.query import parse_query
from honeyguide.types import Url

_TEXT = st.one_of(
    st.text(max_size=200),
    st.lists(st.sampled_from(["lupus flare", "rash", "红斑狼疮", "-x", '"', ".", "\n", "İ"]))
    .map(" ".join),
)  # fmt: skip
_PAGE = st.tuples(st.integers(0, 6), _TEXT, _TEXT, st.floats())


@settings(max_examples=60, deadline=None)
@given(st.lists(_PAGE, max_size=12), st.sampled_from(["en", "tr", "zh", "th", "xx", ""]), _TEXT)
def test_any_pages(pages: list[tuple[int, str, str, float]], language: str, said: str) -> None:
    composer = QueryComposer(language, said.split()[:5], said)
    for number, title, text, weight in pages:
        composer.add_page(Url(f"http://h{number % 4}.example/{number}"), title, text, weight)
        made = composer.propose_queries(20)
        assert len(made) <= 20
        assert len({p.query.key for p in made}) == len(made)
        for proposal in made:
            query = proposal.query
            assert 1 <= len(query.terms) <= 3
            assert all(term.strip() == term and term for term in query.terms)
            assert parse_query(str(query)).key == query.key
            assert proposal.score == proposal.score
