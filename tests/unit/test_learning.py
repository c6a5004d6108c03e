from __future__ import annotations

import asyncio
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import pytest

from honeyguide.learning.teachers import teacher
from honeyguide.learning.trainer import Trainer
from honeyguide.types import Copy, Example, Habits, Link, Page, Url, Verdict, Visit

URL = Url("http://e.org/")
PAGE = Page(URL, text="words")


def visit(score: float | None, page: Page | None = PAGE, **more: Any) -> Visit:
    verdict = None if score is None else Verdict(score)
    return Visit(Link(URL), 0.0, page=page, verdict=verdict, **more)


@pytest.mark.parametrize(
    ("score", "target"), [(0.8, 1.0), (0.95, 1.0), (0.79, None), (0.21, None), (0.2, 0.0)]
)
def test_the_automatic_teacher_believes_clear_verdicts(score: float, target: float | None) -> None:
    example = teacher("automatic", {}).teach(visit(score))
    assert (example.target if example else None) == target


def test_a_person_goes_before_the_judge() -> None:
    both = teacher("both", {URL: 0.0}).teach(visit(0.99))
    assert both is not None
    assert (both.target, both.by) == (0.0, "user")


def test_nothing_is_learned_from_failures_and_copies() -> None:
    for kind in ("automatic", "both", "none", "interactive"):
        assert teacher(kind, {}).teach(visit(None, None)) is None  # type: ignore[arg-type]
    assert teacher("automatic", {}).teach(visit(0.9, copy=Copy(URL, True))) is None
    assert teacher("none", {URL: 1.0}).teach(visit(0.9)) is None


@dataclass(frozen=True)
class Learner:
    habits: ClassVar[Habits] = Habits(learns=True)
    lessons: tuple[Example, ...] = field(default=())

    def learn(self, examples: tuple[Example, ...]) -> Learner:
        return replace(self, lessons=tuple(examples))


def example(by: str = "judge") -> Example:
    return Example(Link(URL), PAGE, 1.0, by)  # type: ignore[arg-type]


def test_the_trainer_counts_pages_and_needs_an_example() -> None:
    trainer = Trainer(every=3)
    for _ in range(3):
        trainer.seen()
    assert not trainer.due()
    trainer.offer(example())
    assert trainer.due()
    learned: Any = asyncio.run(trainer.learn(Learner()))  # type: ignore[arg-type]
    assert len(learned.lessons) == 1
    assert not trainer.due()


def test_people_are_remembered_longest() -> None:
    trainer = Trainer(every=1, capacity=3)
    for by in ("user", "judge", "judge", "judge", "user"):
        trainer.offer(example(by))
    learned: Any = asyncio.run(trainer.learn(Learner()))  # type: ignore[arg-type]
    assert [e.by for e in learned.lessons] == ["user", "judge", "user"]
