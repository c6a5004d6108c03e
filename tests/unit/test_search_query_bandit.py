"""The bandit over queries: what it asks next, when it stops, and that a restart changes nothing."""

from __future__ import annotations

from collections.abc import Callable
from math import inf, nan
from operator import methodcaller

import pytest

from honeyguide.search.composer import QueryProposal
from honeyguide.search.query import Query
from honeyguide.search.query_bandit import QueryBandit
from honeyguide.types import Url

PAGES = (Url("http://good.example/"),)
LUPUS, RASH, PAIR = Query(("lupus",)), Query(("rash",)), Query(("lupus", "rash"))


def offered(*queries: Query, most: int = 200, seed: int = 1) -> QueryBandit:
    """The earlier, the better the score."""
    pulls = QueryBandit(seed, most)
    pulls.set_proposals([QueryProposal(q, 10.0 - n, PAGES, "why") for n, q in enumerate(queries)])
    return pulls


def ask(
    pulls: QueryBandit, fresh: int = 10, verdicts: float | None = None, more: bool = True
) -> Query:
    """One pull: ten results, of which so many are new, and what came of those."""
    chosen = pulls.choose()
    assert chosen is not None
    query, page = chosen
    pulls.record_page(query, page, 10, fresh, 0.5, more)
    if verdicts is not None:
        for _ in range(fresh):
            pulls.record_verdict(query, verdicts)
    return query


def test_there_is_nothing_to_ask_without_anything_to_ask() -> None:
    pulls = QueryBandit(1, 10)
    assert pulls.choose() is None
    assert "no keywords" in pulls.idle


def test_the_best_goes_first_and_the_choice_stays_until_it_was_asked() -> None:
    pulls = offered(LUPUS, RASH)
    assert pulls.choose() == pulls.choose() == (LUPUS, 1)
    pulls.record_page(LUPUS, 1, 10, 10, 0.5, True)
    assert pulls.choose() in [(LUPUS, 2), (RASH, 1)]


def test_people_go_first_in_their_order_and_once() -> None:
    pulls = offered(LUPUS)
    mine, other = Query(text="site:example.org lupus"), Query(text="wolf OR lupus")
    for _ in range(2):
        pulls.request_query(mine)
        pulls.request_query(other)
    assert [ask(pulls), ask(pulls), ask(pulls)][:2] == [mine, other]
    pulls.request_query(mine)
    assert {arm.query: arm.by for arm in pulls.arms()}[mine] == "user"
    pulls.request_query(Query(text=" "))
    assert len(pulls.arms()) <= 3, "an empty query is none"


def test_told_before_or_after_its_history_a_persons_query_is_not_asked_again() -> None:
    before, after = offered(LUPUS), offered(LUPUS)
    before.request_query(RASH)
    for pulls in (before, after):
        pulls.record_page(RASH, 1, 10, 10, 0.5, False)
    after.request_query(RASH)
    assert before.choose() == after.choose() == (LUPUS, 1)
    assert before.arms() == after.arms()


def test_again_means_the_next_page_or_the_first_where_there_is_no_more() -> None:
    pulls = QueryBandit(1, 10)
    pulls.request_query(LUPUS)
    ask(pulls)
    pulls.request_query(LUPUS, again=True)
    assert pulls.choose() == (LUPUS, 2)
    ask(pulls, more=False)
    assert pulls.choose() is None
    pulls.request_query(LUPUS, again=True)
    assert pulls.choose() == (LUPUS, 1)


def test_yield_is_the_posterior_mean() -> None:
    pulls = offered(LUPUS)
    assert pulls.expected_yield(LUPUS) == 0.5
    pulls.record_page(LUPUS, 1, 10, 3, nan, True)
    for verdict in (1.0, 0.8, 0.3):
        pulls.record_verdict(LUPUS, verdict)
    assert pulls.expected_yield(LUPUS) == pytest.approx((1 + 2.1) / (2 + 3))


def test_what_is_promised_counts_until_it_is_fetched_and_less() -> None:
    high, low = offered(LUPUS), offered(LUPUS)
    high.record_page(LUPUS, 1, 10, 10, 0.9, True)
    low.record_page(LUPUS, 1, 10, 10, 0.1, True)
    assert low.expected_yield(LUPUS) < 0.5 < high.expected_yield(LUPUS)
    for _ in range(10):
        high.record_verdict(LUPUS, 0.0)
    assert high.expected_yield(LUPUS) == pytest.approx(1 / 12)


def test_old_rewards_fade() -> None:
    pulls = offered(LUPUS, RASH)
    pulls.record_page(LUPUS, 1, 10, 10, nan, True)
    for _ in range(10):
        pulls.record_verdict(LUPUS, 1.0)
    before = pulls.expected_yield(LUPUS)
    for page in range(1, 101):
        pulls.record_page(RASH, page, 10, 10, nan, True)
    faded = 10 * 0.99**100
    assert pulls.expected_yield(LUPUS) == pytest.approx((1 + faded) / (2 + faded))
    assert pulls.expected_yield(LUPUS) < before


def test_two_pages_in_a_row_without_news_stop_a_query() -> None:
    pulls = offered(LUPUS)
    for fresh in (20, 1, 4, 1):
        pulls.record_page(LUPUS, 1, 20, fresh, 0.5, True)
        assert not pulls.arms()[0].stopped
    pulls.record_page(LUPUS, 5, 20, 1, 0.5, True)
    assert pulls.arms()[0].stopped == "two pages in a row: hardly anything new"
    assert pulls.choose() is None
    assert pulls.idle == "every query was asked to its end"


def test_so_do_two_pages_below_the_median_of_what_waits() -> None:
    pulls = offered(LUPUS)
    pulls.record_page(LUPUS, 1, 10, 10, 0.2, True)
    pulls.median = 0.3
    pulls.record_page(LUPUS, 2, 10, 10, 0.2, True)
    assert not pulls.arms()[0].stopped, "the median was not known before"
    pulls.record_page(LUPUS, 3, 10, 10, 0.2, True)
    assert pulls.arms()[0].stopped == "two pages in a row: less promising than what waits"


def test_the_end_of_the_results_stops_a_query() -> None:
    pulls = offered(LUPUS, RASH)
    pulls.record_page(LUPUS, 1, 10, 10, 0.5, False)
    pulls.record_page(RASH, 1, 0, 0, nan, True)
    assert [arm.stopped for arm in pulls.arms()] == ["no more results", "no results"]


def test_an_engine_without_end_is_not_asked_without_end() -> None:
    pulls = offered(LUPUS)
    asked = 0
    while pulls.choose() is not None:
        ask(pulls)
        asked += 1
    assert asked == 50


def test_no_more_different_queries_than_allowed() -> None:
    pulls = offered(*(Query((f"word{n}",)) for n in range(20)), most=5)
    while pulls.choose() is not None:
        ask(pulls, more=False)
    assert len(pulls.arms()) == 5
    assert pulls.idle == "the limit of 5 queries is reached, and each was asked to its end"
    pulls.request_query(RASH)
    assert pulls.choose() == (RASH, 1), "a person may go beyond"


@pytest.mark.parametrize(
    ("fresh", "verdict", "length"), [(10, 0.0, 3), (10, 1.0, 2), (2, 1.0, 1), (2, 0.0, 3)]
)
def test_the_length_of_the_next_query(fresh: int, verdict: float, length: int) -> None:
    """A poor yield: one term more; a good one without news: one less (SeedFinder)."""
    pulls = offered(PAIR)
    ask(pulls, fresh, verdict, more=False)
    words = [Query((f"a{n}", f"b{n}", f"c{n}")[:size]) for n in range(3) for size in (1, 2, 3)]
    pulls.set_proposals([QueryProposal(query, 1.0, PAGES, "") for query in words])
    assert len(ask(pulls).terms) == length


def test_a_new_query_has_a_term_that_was_not_asked_yet() -> None:
    pulls = QueryBandit(1, 200)
    for query, verdict in ((RASH, 1.0), (LUPUS, 0.0)):
        pulls.record_page(query, 1, 10, 10, 0.5, False)
        for _ in range(10):
            pulls.record_verdict(query, verdict)
    new = Query(("lupus", "fatigue"))
    pulls.set_proposals([QueryProposal(PAIR, 9.0, PAGES, ""), QueryProposal(new, 8.0, PAGES, "")])
    assert [one.query for one in pulls.suggestions()] == [PAIR, new]
    assert pulls.choose() == (new, 1)


def test_of_two_equal_yields_the_one_with_news_is_asked() -> None:
    chosen = []
    for seed in range(20):
        pulls = QueryBandit(seed, 200)
        for query, fresh in ((LUPUS, 10), (RASH, 2)):
            pulls.record_page(query, 1, 10, fresh, nan, True)
            for _ in range(10):
                pulls.record_verdict(query, 0.8)
        chosen.append(pulls.choose())
    assert chosen == [(LUPUS, 2)] * 20


def test_where_new_queries_find_nothing_new_those_that_do_go_on() -> None:
    def begun(fresh: int) -> int:
        times = 0
        for seed in range(20):
            pulls = offered(Query(("fatigue",)), seed=seed)
            for n in range(10):
                pulls.record_page(Query((f"word{n}",)), 1, 10, fresh, nan, False)
            pulls.record_page(LUPUS, 1, 10, 10, nan, True)
            for _ in range(10):
                pulls.record_verdict(LUPUS, 0.4)
            times += pulls.choose() == (Query(("fatigue",)), 1)
        return times

    assert begun(fresh=10) >= 10
    assert begun(fresh=1) <= 5


def test_a_failed_query_waits_and_comes_back() -> None:
    pulls = offered(LUPUS, RASH)
    pulls.record_failure(LUPUS, 1)
    assert pulls.choose() == (RASH, 1)
    pulls.record_failure(RASH, 1)
    asked = set()
    for _ in range(6):
        asked.add(ask(pulls))
    assert asked == {LUPUS, RASH}
    alone = offered(LUPUS)
    for _ in range(100):
        assert alone.choose() == (LUPUS, 1)
        alone.record_failure(LUPUS, 1)
    assert not alone.arms()[0].stopped, "it is the engine's fault"


def test_an_engine_that_is_down_does_not_use_up_the_queries() -> None:
    pulls = offered(*(Query((f"word{n}",)) for n in range(60)), most=10)
    for _ in range(200):
        chosen = pulls.choose()
        assert chosen is not None
        pulls.record_failure(*chosen)
    assert len(pulls.arms()) == 5
    for _ in range(30):
        ask(pulls, more=False) if pulls.choose() else None
    assert sum(arm.pages > 0 for arm in pulls.arms()) == 10


def test_suggestions_were_not_asked_and_say_why() -> None:
    pulls = offered(LUPUS, PAIR, RASH, Query(("tax",)))
    ask(pulls, verdicts=1.0)
    first, *others = pulls.suggestions()
    assert first.query == PAIR, "it shares a term with what was good"
    assert first.expected > max(one.expected for one in others)
    assert (first.pages, first.why) == (PAGES, "why")
    assert LUPUS not in [one.query for one in others]
    assert len(pulls.suggestions(1)) == 1


def test_an_arm_tells_what_came_of_it() -> None:
    pulls = offered(LUPUS)
    pulls.record_page(LUPUS, 1, 10, 8, 0.5, True)
    pulls.record_page(LUPUS, 2, 10, 4, 0.5, True)
    pulls.record_verdict(LUPUS, 1.0)
    pulls.record_verdict(RASH, 1.0)
    (arm,) = pulls.arms()
    assert (arm.query, arm.by, arm.pages, arm.urls, arm.fresh, arm.fetched, arm.stopped) == (
        LUPUS, "composed", 2, 20, 12, 1, "",
    )  # fmt: skip
    assert arm.mean == pulls.expected_yield(LUPUS)


def test_nonsense_does_no_harm() -> None:
    pulls = offered(LUPUS)
    pulls.record_page(LUPUS, 1, -5, 10**9, inf, True)
    pulls.record_page(LUPUS, 2, 10, 10**9, -inf, True)
    for verdict in (nan, inf, -7.0):
        pulls.record_verdict(LUPUS, verdict)
    assert 0 <= pulls.expected_yield(LUPUS) <= 1
    pulls.choose()


def test_told_the_same_again_it_is_the_same() -> None:
    words = [Query((f"word{n}",)) for n in range(12)]
    live = offered(*words)
    live.request_query(RASH)
    history: list[Callable[[QueryBandit], None]] = []

    def tell(event: Callable[[QueryBandit], None]) -> None:
        history.append(event)
        event(live)

    for step in range(60):
        if (chosen := live.choose()) is None:
            break
        query, page = chosen
        if step % 7 == 3:
            tell(methodcaller("record_failure", query, page))
            continue
        fresh = (step * 7) % 11
        tell(methodcaller("record_page", query, page, 10, fresh, 0.4, step % 9 != 8))
        for n in range(fresh // 2):
            tell(methodcaller("record_verdict", query, (step + n) % 3 / 2))
    again = offered(*words)
    again.request_query(RASH)
    for event in history:
        event(again)
    assert len(history) > 60
    assert again.arms() == live.arms()
    assert again.choose() == live.choose()
    assert again.suggestions() == live.suggestions()
