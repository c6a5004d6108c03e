"""Every registered strategy keeps the same promises; a new one is checked by being registered."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import fields, is_dataclass

import pytest

from honeyguide import registry
from honeyguide.config.loading import parse_settings
from honeyguide.crawl.from_settings import build_strategy
from honeyguide.protocols import Strategy
from honeyguide.store.generations import pack_strategy, unpack_strategy
from honeyguide.types import Example, Link, Page, Reason, StrategyTraits, Url

TOPIC = {
    "keywords": ["bird migration", "plumage"],
    "description": "How birds travel and what they wear",
    "seeds": ["http://e.org/"],
    "good": ["http://e.org/finch"],
}
BIRDS = Page(
    Url("http://e.org/finch"),
    title="Bird migration",
    headings=("Plumage", "Routes"),
    text="Bird migration follows routes. The plumage of migrating birds changes. " * 5,
    language="en",
)
COOKING = Page(Url("http://e.org/cook"), title="Soup", text="Boil water and add salt. " * 20)
EMPTY = Page(Url("http://e.org/empty"))
TURKISH = Page(Url("http://e.org/kus"), title="Kuşlar", text="Göçmen kuşlar güneye uçar. " * 9)
LINKS = (
    Link(Url("http://e.org/a"), Url("http://e.org/"), anchor="Bird migration", parent=0.9),
    Link(Url("http://e.org/b"), Url("http://e.org/"), anchor="Soup", parent=0.1, depth=3),
    Link(Url("http://e.org/"), channel="seed"),
    Link(Url("http://e.org/%F0%9F%90%A6?x=" + "y" * 2000), anchor="\u202e\x00" * 50, inlinks=9999),
)
EXAMPLES = (
    Example(LINKS[0], BIRDS, 1.0, "user"),
    Example(LINKS[1], COOKING, 0.0, "user"),
    Example(LINKS[1], EMPTY, 0.0, "judge"),
)


@pytest.fixture(params=registry.strategy_names())
def strategy(request: pytest.FixtureRequest) -> Strategy:
    return build_strategy(parse_settings({"topic": TOPIC, "crawl": {"strategy": request.param}}))


def test_is_a_frozen_dataclass_with_habits(strategy: Strategy) -> None:
    assert is_dataclass(strategy)
    assert isinstance(strategy.traits, StrategyTraits)
    with pytest.raises(AttributeError):
        setattr(strategy, fields(strategy)[0].name, "changed")
    assert type(strategy).__doc__, "say what it is for"


@pytest.mark.parametrize("page", [BIRDS, COOKING, EMPTY, TURKISH], ids=lambda p: p.url)
def test_judges_within_bounds_and_with_reasons(strategy: Strategy, page: Page) -> None:
    verdict = strategy.judge(page)
    assert 0 <= verdict.score <= 1
    assert all(isinstance(reason, Reason) and reason.what for reason in verdict.reasons)
    assert strategy.judge(page) == verdict, "judging changes nothing"


def test_ranks_each_link_within_bounds(strategy: Strategy) -> None:
    scores = strategy.rank(LINKS)
    assert len(scores) == len(LINKS)
    assert all(0 <= score <= 1 for score in scores)
    assert strategy.rank(LINKS) == scores, "ranking changes nothing"
    assert strategy.rank(LINKS[:1]) == scores[:1], "a link's score is its own"
    assert strategy.rank(()) == []


def test_explains_what_it_ranks(strategy: Strategy) -> None:
    for link in LINKS:
        assert all(isinstance(reason, Reason) and reason.what for reason in strategy.explain(link))
    assert strategy.explain(LINKS[0]), "a good link has a reason"


def test_learning_leaves_the_old_one_untouched(strategy: Strategy) -> None:
    before = copy.deepcopy(strategy)
    verdict, scores = strategy.judge(BIRDS), strategy.rank(LINKS)
    learned = strategy.learn(EXAMPLES)
    assert strategy == before
    assert (strategy.judge(BIRDS), strategy.rank(LINKS)) == (verdict, scores)
    assert (learned is strategy) or strategy.traits.learns
    assert 0 <= learned.judge(BIRDS).score <= 1
    assert strategy.learn(()).judge(BIRDS) == verdict, "nothing to learn, nothing changed"


def test_survives_saving_and_loading(strategy: Strategy) -> None:
    for version in (strategy, strategy.learn(EXAMPLES)):
        again = unpack_strategy(pack_strategy("it", version), registry_of(version))
        assert again.judge(BIRDS) == version.judge(BIRDS)
        assert again.rank(LINKS) == version.rank(LINKS)


def registry_of(strategy: Strategy) -> Callable[[str], type]:
    return lambda _: type(strategy)


def test_same_topic_same_answers(strategy: Strategy) -> None:
    twin = type(strategy)(**{f.name: getattr(strategy, f.name) for f in fields(strategy)})
    assert twin.rank(LINKS) == strategy.rank(LINKS)
