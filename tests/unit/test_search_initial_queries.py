"""Queries while little is known: what the topic states, and one good page."""

from __future__ import annotations

import pytest

from honeyguide.search.composer import QueryComposer, QueryProposal
from honeyguide.search.query import Query
from honeyguide.search.query_bandit import QueryBandit
from honeyguide.types import Url

TEXT = "Butterfly rash and joint pain. My butterfly rash came back, and the joint pain with it."


def first(composer: QueryComposer) -> Query:
    pulls = QueryBandit(1, 100)
    pulls.set_proposals(composer.propose_queries())
    chosen = pulls.choose()
    assert chosen is not None
    return chosen[0]


def read(composer: QueryComposer, number: int) -> None:
    for n in range(number):
        composer.add_page(Url(f"https://good{n}.example/"), "Diary", TEXT, 1.0)


@pytest.mark.parametrize(
    ("language", "description", "subject"),
    [
        ("en", "Personal stories of people living with lupus", {"lupus"}),
        ("en", "Stories that patients write of lupus and butterfly rash", {"lupus", "butterfly"}),
        ("de", "Persönliche Erfahrungsberichte von Patienten mit Schuppenflechte",
         {"schuppenflechte"}),
        ("tr", "Sedef hastalığı ile yaşayan hastaların hikayeleri", {"sedef"}),
    ],
)  # fmt: skip
def test_a_description_is_asked_by_the_words_that_name_its_subject(
    language: str, description: str, subject: set[str]
) -> None:
    composer = QueryComposer(language, (), description)
    query = first(composer)
    assert len(query.terms) in (2, 3)
    assert subject & set(query.terms)
    made = [one.query for one in composer.propose_queries()]
    assert not any(" " in term for one in made for term in one.terms), "nobody said it like that"
    assert {one.terms for one in made if len(one.terms) == 1} >= {(word,) for word in subject}
    assert not {("stories",), ("people",), ("hikayeleri",), ("patienten",)} & {
        one.terms for one in made
    }


def test_a_keyword_is_asked_alone_and_as_it_was_given() -> None:
    assert first(QueryComposer("en", ["patient story", "lupus"], "rash")).terms == (
        "patient story",
    )


def test_what_tells_no_subject_is_asked_if_there_is_nothing_else() -> None:
    assert set(first(QueryComposer("en", (), "Stories of people")).terms) == {"stories", "people"}
    assert first(QueryComposer("en", (), "Stories")).terms == ("stories",)


def test_one_good_page_makes_no_queries_of_the_crawls_own() -> None:
    composer = QueryComposer("en", ["lupus"])
    read(composer, 1)
    assert [str(one.query) for one in composer.propose_queries()] == ["lupus"]
    assert not QueryComposer("en").propose_queries()
    read(composer, 2)
    assert '"butterfly rash"' in [str(one.query) for one in composer.propose_queries()]


def test_a_person_may_see_what_one_page_suggests() -> None:
    composer = QueryComposer("en", ["lupus"], least=1)
    read(composer, 1)
    why = {str(one.query): one.why for one in composer.propose_queries()}
    assert why['"butterfly rash"'] == "on 1 of 1 good page (1 host)", "no bad page: none is told"


def pulls_of(*queries: Query) -> QueryBandit:
    pulls = QueryBandit(1, 100)
    pulls.set_proposals([QueryProposal(q, 10.0 - n, (), "why") for n, q in enumerate(queries)])
    return pulls


@pytest.mark.parametrize(
    ("urls", "fresh", "stopped"),
    [
        (4, 4, "few results"),
        (9, 9, "few results"),
        (10, 0, "a page without anything new"),
        (10, 1, ""),
        (0, 0, "no results"),
    ],
)
def test_when_no_second_page_is_asked_for(urls: int, fresh: int, stopped: str) -> None:
    pulls = pulls_of()
    for n in range(3):
        pulls.record_page(Query((f"before{n}",)), 1, 20, 20, 0.5, True)
    pulls.record_page(Query(("lupus",)), 1, urls, fresh, 0.5, True)
    assert pulls.arms()[-1].stopped == stopped


def test_an_empty_page_after_others_means_no_more_results() -> None:
    pulls = pulls_of()
    for page, urls in ((1, 10), (2, 0)):
        pulls.record_page(Query(("lupus",)), page, urls, urls, 0.5, True)
    assert pulls.arms()[0].stopped == "no more results"


def test_after_three_fruitless_queries_the_topic_is_asked_again() -> None:
    mined = [QueryProposal(Query((f"mined{n}",)), 10.0 - n, (), "pages") for n in range(6)]
    stated = QueryProposal(Query(("lupus",)), 0.1, (), "keywords", "keywords")
    pulls = QueryBandit(1, 100)
    pulls.set_proposals([*mined, stated])
    asked = []
    for _ in range(4):
        chosen = pulls.choose()
        assert chosen is not None
        asked.append(chosen[0].terms[0])
        pulls.record_page(chosen[0], 1, 10, 0, 0.5, True)
    assert asked == ["mined0", "mined1", "mined2", "lupus"]


def test_nothing_is_expected_before_anything_was_fetched() -> None:
    pulls = pulls_of(Query(("lupus",)), Query(("rash",)))
    assert [one.expected for one in pulls.suggestions()] == [None, None]
    pulls.record_page(Query(("lupus",)), 1, 10, 10, 0.5, True)
    assert [one.expected for one in pulls.suggestions()] == [None]
    pulls.record_verdict(Query(("lupus",)), 1.0)
    assert [one.expected is None for one in pulls.suggestions()] == [False]


def test_a_query_that_failed_may_be_suggested() -> None:
    pulls = pulls_of(Query(("lupus",)))
    pulls.record_failure(Query(("lupus",)), 1)
    assert [str(one.query) for one in pulls.suggestions()] == ["lupus"]
    pulls.record_page(Query(("lupus",)), 1, 10, 10, 0.5, True)
    assert pulls.suggestions() == []
