"""The bandit over queries, whatever it is told."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from honeyguide.search.composer import QueryProposal
from honeyguide.search.query import Query
from honeyguide.search.query_bandit import QueryBandit

WORDS = [
    Query(terms) for terms in (("a",), ("b",), ("c",), ("a", "b"), ("b", "c"), ("a", "b", "c"))
]
_ANSWER = st.tuples(
    st.integers(-1, 20),
    st.integers(-1, 20),
    st.floats(),
    st.booleans(),
    st.lists(st.floats(), max_size=3),
)
_STEP = st.one_of(st.just("fail"), st.sampled_from(WORDS), _ANSWER)


def told(steps: list[object], most: int) -> tuple[QueryBandit, list[tuple[Query, int]]]:
    pulls, asked = QueryBandit(3, most), []
    pulls.set_proposals([QueryProposal(query, float(n), (), "") for n, query in enumerate(WORDS)])
    for step in steps:
        if isinstance(step, Query):
            pulls.request_query(step)
            continue
        if (chosen := pulls.choose()) is None:
            assert pulls.idle
            continue
        asked.append(chosen)
        if step == "fail":
            pulls.record_failure(*chosen)
        elif isinstance(step, tuple):
            urls, fresh, promised, more, verdicts = step
            pulls.record_page(*chosen, urls, fresh, promised, more)
            for verdict in verdicts:
                pulls.record_verdict(chosen[0], verdict)
    return pulls, asked


@settings(max_examples=80, deadline=None)
@given(st.lists(_STEP, max_size=40), st.integers(0, 6))
def test_it_is_bounded_repeatable_and_asks_no_page_twice(steps: list[object], most: int) -> None:
    pulls, asked = told(steps, most)
    failed = steps.count("fail")
    assert len(asked) - len(set(asked)) <= failed
    people = len({step.key for step in steps if isinstance(step, Query)})
    assert len(pulls.arms()) <= most + people
    for arm in pulls.arms():
        assert 0 <= arm.mean <= 1
        assert 0 <= arm.fresh <= arm.urls
    assert told(steps, most)[1] == asked
    assert all(0 <= (one.expected or 0) <= 1 for one in pulls.suggestions())
