"""Who teaches which topic what: examples in, one lesson out."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from honeyguide.config.loading import parse_settings
from honeyguide.errors import ModelError
from honeyguide.learning.generation_builder import LearningResult
from honeyguide.learning.topic_trainers import MultiTopicLearner
from honeyguide.multi_topic import MultiTopicStrategy
from honeyguide.store.store import Store
from honeyguide.strategies.keyword import Keyword
from honeyguide.types import Example, Label, Link, Page, Url, Visit

SETTINGS = parse_settings(
    {
        "topic": {
            "name": "birds",
            "keywords": ["owl"],
            "good": ["http://e.org/owl"],
            "bad": ["http://e.org/both"],
        },
        "topics": [{"name": "bats", "keywords": ["bat"], "good": ["http://e.org/both"]}],
    }
)
BOTH: Any = MultiTopicStrategy("keyword", ("birds", "bats"), (Keyword(("owl",)), Keyword(("bat",))))
NEW = Keyword(("new",))


class Heard:
    """A learner that remembers what it was told, and answers as it is bidden."""

    def __init__(self) -> None:
        self.examples: list[Example] = []
        self.answer: LearningResult | ModelError = LearningResult(None, note="nothing")
        self.lessons = 0

    def offer(self, example: Example) -> None:
        self.examples.append(example)

    def remember(self, known: dict[Url, float]) -> None:
        self.known = known

    async def build_generation(self, strategy: Any) -> LearningResult:
        self.lessons += 1
        if isinstance(self.answer, ModelError):
            raise self.answer
        return self.answer

    async def aclose(self) -> None:
        self.closed = True

    def said(self) -> list[tuple[str, str, float]]:
        return [(e.page.url.rpartition("/")[2], e.by, e.target) for e in self.examples]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path, "crawl") as store:
        store.visits.set_topics(("birds", "bats"))
        yield store


def tutors(store: Store, settings: Any = SETTINGS) -> tuple[MultiTopicLearner, Heard, Heard]:
    made: list[Heard] = []

    def make() -> Heard:
        made.append(Heard())
        return made[-1]

    return MultiTopicLearner(make, store, settings), *made  # type: ignore[return-value]


def example(name: str, by: Any = "user", target: float = 1.0, **more: Any) -> Example:
    url = Url(f"http://e.org/{name}")
    return Example(more.pop("link", Link(url)), Page(url), target, by, **more)


def taught(one: MultiTopicLearner) -> LearningResult:
    return asyncio.run(one.build_generation(BOTH))


def test_people_speak_of_topics(store: Store) -> None:
    one, birds, bats = tutors(store)
    store.labels.add(
        [
            Label(Url("http://e.org/owl"), 0.0),
            Label(Url("http://e.org/pipistrelle"), 1.0, topic="bats"),
            Label(Url("http://e.org/pipistrelle"), 0.0, "bob"),
        ]
    )
    for name in ("owl", "both", "pipistrelle", "unheard"):
        one.offer(example(name))
    one.offer(example("file", topic="bats"))
    assert birds.said() == [
        ("owl", "user", 0.0),
        ("both", "seed", 0.0),
        ("pipistrelle", "user", 0.0),
        ("unheard", "user", 1.0),
    ]
    assert bats.said() == [
        ("both", "seed", 1.0),
        ("pipistrelle", "user", 1.0),
        ("file", "user", 1.0),
    ]
    assert {e.topic for e in birds.examples} == {"birds"}


def test_what_was_said_of_an_address_holds_for_where_it_leads(store: Store) -> None:
    one, birds, bats = tutors(store)
    middle = Link(Url("http://e.org/middle"), source=Url("http://e.org/both"), hops=1)
    with store.transaction():
        store.append_visits([Visit(middle, 0.0, moved=Url("http://e.org/end"))])
    one.offer(example("end", link=Link(Url("http://e.org/end"), source=middle.url, hops=2)))
    assert bats.said() == [("end", "seed", 1.0)]
    assert birds.said() == [("end", "seed", 0.0)]


def test_visits_count_for_each_topic_as_it_judged_them(store: Store) -> None:
    one, birds, bats = tutors(store)
    one.offer(example("a", "visit", 0.9, topics=(0.9, 0.5)))
    one.offer(example("a", "judge", 1.0))
    one.offer(example("unknown", "visit", 0.7))
    assert birds.said() == [("a", "judge", 1.0), ("a", "visit", 0.9)]
    assert bats.said() == [("a", "visit", 0.5)]
    people = parse_settings(
        {
            "topic": {"name": "birds", "keywords": ["owl"]},
            "topics": [{"name": "bats", "keywords": ["bat"]}],
            "learn": {"teacher": "interactive"},
        }
    )
    one, birds, bats = tutors(store, people)
    one.offer(example("a", "visit", 0.9, topics=(0.9, 0.1)))
    assert birds.said() == [("a", "visit", 0.9)], "its own word is not asked for"


def test_only_those_who_were_spoken_of_learn(store: Store) -> None:
    one, birds, bats = tutors(store)
    for n in range(30):
        one.offer(example(f"v{n}", "visit", 0.5, topics=(0.5, 0.5)))
    assert taught(one).strategy is None
    assert (birds.lessons, bats.lessons) == (1, 1), "it was time for all of them"
    one.offer(example("file", topic="bats"))
    taught(one)
    assert (birds.lessons, bats.lessons) == (1, 2)
    one.offer(example("owl"))
    taught(one)
    one.offer(example("owl"))
    taught(one)
    assert (birds.lessons, bats.lessons) == (3, 3), "said twice is no occasion of its own"


def test_a_part_that_is_held_back_does_not_hold_back_the_others(store: Store) -> None:
    one, birds, bats = tutors(store)
    birds.answer, bats.answer = (
        LearningResult(NEW, True, "better"),
        LearningResult(NEW, False, "worse"),
    )
    done = taught(one)
    assert (done.live, done.note) == (True, "birds: better; bats: worse")
    assert done.strategy is not None
    assert done.strategy.parts == (NEW, BOTH.parts[1])  # type: ignore[attr-defined]
    birds.answer = LearningResult(None, note="nothing", again=True)
    done = taught(one)
    assert (done.live, done.again) == (False, True)
    assert done.strategy.parts == (BOTH.parts[0], NEW)  # type: ignore[union-attr]


def test_one_failure_is_told_and_two_are_raised(store: Store) -> None:
    one, birds, bats = tutors(store)
    birds.answer, bats.answer = ModelError("broke down"), LearningResult(NEW, True, "better")
    done = taught(one)
    assert (done.live, done.note) == (True, "birds: broke down; bats: better")
    bats.answer = ModelError("as well")
    with pytest.raises(ModelError, match="broke down"):
        taught(one)
    asyncio.run(one.aclose())
    assert birds.closed
    assert bats.closed


def test_what_an_earlier_run_learned_is_no_occasion(store: Store) -> None:
    store.labels.add(
        [Label(Url("http://e.org/x"), 1.0, topic="bats"), Label(Url("http://e.org/y"), 1.0)]
    )
    store.set_meta("taught", "1")
    one, birds, bats = tutors(store)
    for n in range(30):
        one.offer(example(f"v{n}", "visit", 0.5, topics=(0.5, 0.5)))
    one.remember({})
    assert (birds.known, bats.known) == ({}, {"http://e.org/x": 1.0})
    one.offer(example("x"))
    one.offer(example("y"))
    taught(one)
    assert (birds.lessons, bats.lessons) == (1, 0)
