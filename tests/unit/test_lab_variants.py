"""Strategies as a comparison names them, and the person who answers in it."""

from __future__ import annotations

import pytest

from honeyguide.errors import ConfigError
from honeyguide.lab.variants import SimulatedPerson, parse_variant, strategy_table
from honeyguide.types import Url

URLS = [Url(f"http://e.org/{number}") for number in range(200)]
GOOD = frozenset({"e.org/3", "e.org/4"})


def test_how_often_a_person_speaks_is_said_in_the_name() -> None:
    chosen = parse_variant("hybrid_svm:teacher=labels,one_in=1,answers=7,alone=true")
    assert (chosen.one_in, chosen.answers, chosen.has_person) == (1, 7, True)
    assert chosen.parameters == (("alone", True),)
    assert parse_variant("hybrid_svm:teacher=labels").one_in == 5


@pytest.mark.parametrize("value", ["0", "-1", "often", "0.5"])
def test_one_in_no_page_is_refused(value: str) -> None:
    with pytest.raises(ConfigError, match="one_in is a whole number from 1 on"):
        parse_variant(f"hybrid_svm:teacher=labels,one_in={value}")


@pytest.mark.parametrize("said", ["every=-1", "every=often", "answers=-1", "answers=x"])
def test_counts_of_a_variant_are_counts(said: str) -> None:
    key = said.partition("=")[0]
    with pytest.raises(ConfigError, match=f"{key} is a whole number from 0 on"):
        parse_variant(f"hybrid_svm:teacher=labels,{said}")
    assert parse_variant("hybrid_svm:every=0,answers=0").every == 0


def test_one_in_five_or_each_of_the_first() -> None:
    seldom, always = SimulatedPerson(GOOD, 1_000), SimulatedPerson(GOOD, 7, one_in=1)
    assert 20 < sum(url in seldom for url in URLS) < 60
    assert [url for url in URLS if url in always] == URLS[:7]
    assert [always[url][0] for url in URLS[:7]] == [0, 0, 0, 1, 1, 0, 0]


def test_a_pair_is_named_by_its_name_or_in_words() -> None:
    pair = parse_variant("topic_cnn+honeyguide:teacher=both,order=best")
    assert parse_variant("critic=topic_cnn,links=honeyguide,order=best,teacher=both") == pair
    assert (pair.name, pair.order, pair.teacher) == ("topic_cnn+honeyguide", "best", "both")
    halves = parse_variant("topic_cnn+honeyguide:critic.threshold=0.3,links.explore=1")
    assert strategy_table(halves) == {"critic": {"threshold": 0.3}, "links": {"explore": 1}}
    with pytest.raises(ConfigError, match=r"both critic=… and links=…"):
        parse_variant("critic=topic_cnn,teacher=both")
    with pytest.raises(ConfigError, match="order is one of strategy, best"):
        parse_variant("keyword:order=worst")


def test_parameters_that_are_lists() -> None:
    assert strategy_table(parse_variant("adaptive_links:fields=url")) == {"fields": ["url"]}
    learners = parse_variant("user_utility:learners=ridge+bagging,share=0.5")
    assert strategy_table(learners) == {"learners": ["ridge", "bagging"], "share": 0.5}
    pair = parse_variant("user_utility+adaptive_links:links.fields=url+anchor")
    assert strategy_table(pair) == {"links": {"fields": ["url", "anchor"]}}


def test_gate_is_the_strategys_and_language_the_topics() -> None:
    strict = parse_variant("hybrid_svm:gate=true")
    assert (strict.language, strategy_table(strict)) == ((), {"gate": True})
    assert parse_variant("breadth:gate=tr+az") == parse_variant("breadth:language=tr+az")
    assert parse_variant("breadth:language=tr+az").language == ("tr", "az")
