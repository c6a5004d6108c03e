"""Teachers, the trainer's schedule, the pool's caps, the gate, and the process that learns."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any, ClassVar, Self

import pytest

from honeyguide.errors import ModelError
from honeyguide.learning.drift import Drift
from honeyguide.learning.gate import HeldBack, tried
from honeyguide.learning.pool import Pool
from honeyguide.learning.teach import School
from honeyguide.learning.teachers import Everything, teacher
from honeyguide.learning.trainer import Trainer
from honeyguide.learning.worker_process import Apart, Here
from honeyguide.store.generations import pack, unpack
from honeyguide.types import Copy, Example, Habits, Label, Link, Page, Url, Verdict, Visit

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
    both = teacher("both", {URL: (0.0, "user")}).teach(visit(0.99))
    assert both is not None
    assert (both.target, both.by) == (0.0, "user")


def test_nothing_is_learned_from_failures_and_copies() -> None:
    for kind in ("automatic", "both", "none", "interactive"):
        assert teacher(kind, {}).teach(visit(None, None)) is None
    assert teacher("automatic", {}).teach(visit(0.9, copy=Copy(URL, True))) is None
    assert teacher("none", {URL: (1.0, "user")}).teach(visit(0.9)) is None


def test_a_copy_tells_that_its_link_brought_nothing() -> None:
    copied = Everything().teach(visit(0.9, copy=Copy(URL, True)))
    assert copied is not None
    assert (copied.target, copied.foreign) == (0.0, True)
    first = Everything().teach(visit(0.9))
    assert first is not None
    assert (first.target, first.foreign) == (0.9, False)


@dataclass(frozen=True)
class Rote:
    """Knows by heart what it was taught, and says so."""

    habits: ClassVar[Habits] = Habits(learns=True)
    known: tuple[tuple[str, float], ...] = ()
    doubt: float = 0.5
    fails: bool = False

    def judge(self, page: Page) -> Verdict:
        return Verdict(dict(self.known).get(page.text, self.doubt))

    def rank(self, links: Any) -> list[float]:
        return [0.5 for _ in links]

    def explain(self, link: Link) -> tuple[()]:
        return ()

    def learn(self, examples: Any) -> Self:
        if self.fails:
            raise ZeroDivisionError("no")
        if not examples:
            return self
        return replace(self, known=tuple((e.page.text, e.target) for e in examples))


def example(n: int = 0, target: float = 1.0, by: Any = "judge", text: str = "") -> Example:
    url = Url(f"http://e{n}.org/{n}")
    return Example(Link(url), Page(url, text=text or f"page {n}"), target, by)


def test_the_trainer_counts_pages_and_needs_an_example() -> None:
    trainer = Trainer(Here(), every=3)
    for _ in range(3):
        trainer.seen()
    assert not trainer.due()
    trainer.offer(example(by="visit"))
    assert not trainer.due(), "a mere visit is no news"
    trainer.offer(example())
    assert trainer.due()
    lesson = asyncio.run(trainer.learn(Rote()))
    assert isinstance(lesson.strategy, Rote)
    assert lesson.live
    assert not trainer.due()


def test_a_persons_word_is_learned_at_once_unless_told_otherwise() -> None:
    for eager in (True, False):
        trainer = Trainer(Here(), every=14, eager=eager)
        trainer.offer(example(by="user"))
        assert trainer.due() is eager


def test_the_first_lesson_waits_for_the_topics_examples() -> None:
    trainer = Trainer(Here(), every=14)
    trainer.expect(2)
    trainer.offer(example(by="seed"))
    assert not trainer.due()
    trainer.expect(0)
    assert trainer.due()


def test_growth_by_a_tenth() -> None:
    trainer = Trainer(Here(), every=14, grows=True, eager=False)
    lessons = []
    for n in range(100):
        trainer.offer(example(n, by="visit"))
        if trainer.due():
            lessons.append(n + 1)
            asyncio.run(trainer.learn(Rote()))
    assert lessons[:4] == [5, 6, 7, 8]
    assert all(b >= 1.1 * a for a, b in pairwise(lessons))
    assert lessons[-1] >= 90


def test_lessons_that_fail_are_told_and_given_up() -> None:
    trainer = Trainer(Broken(), every=1)
    for _ in range(3):
        trainer.offer(example(by="user"))
        assert trainer.due()
        assert asyncio.run(trainer.learn(Rote())).strategy is None
    assert "broke" in trainer.trouble
    trainer.offer(example(by="user"))
    assert not trainer.due()


class Broken(Here):
    async def lesson(self, strategy: Any) -> Any:
        raise ModelError("it broke")


def test_a_person_replaces_the_judge_in_the_pool_and_never_the_other_way() -> None:
    pool = Pool()
    pool.add(example(1, 1.0, "judge"))
    pool.add(example(1, 0.0, "user"))
    pool.add(example(1, 1.0, "judge"))
    assert [(e.target, e.by) for e in pool.labelled()] == [(0.0, "user")]
    assert pool.judged(pool.labelled()) == []


def test_self_training_is_capped() -> None:
    pool = Pool()
    for n in range(10):
        pool.add(example(n, float(n % 2), "user"))
    for n in range(100, 1100):
        pool.add(example(n, float(n % 2)))
    labelled = pool.labelled()
    assert len(pool.judged(labelled)) == 10, "as many as people gave, in the first lesson"
    pool.learned(10)
    assert len(pool.judged(labelled)) == 20, "and as many more in each"
    pool.learned(5000)
    assert len(pool.judged(labelled)) == 100, "at most ten times what people gave"


def test_neither_kind_outnumbers_the_other_three_times() -> None:
    pool = Pool()
    for n in range(4):
        pool.add(example(n, float(n % 2), "user"))
    for n in range(100, 118):
        pool.add(example(n, 1.0))
    pool.learned(10)
    judged = pool.judged(pool.labelled())
    assert len(judged) == 4, "two bad, so six good, two of them people's"
    assert judged[-1].page.url.endswith("117"), "the newest stay"


def test_the_pool_forgets_old_visits_and_long_texts() -> None:
    pool = Pool()
    for n in range(400):
        pool.add(example(n, 0.3, "visit", text="word " * 10_000))
    assert len(pool.visits()) == 300
    assert len(pool.visits()[0].page.text) == 20_000


def test_a_fifth_of_each_kind_is_held_back_always_the_same() -> None:
    many = [example(n, float(n % 4 == 0), "user") for n in range(200)]
    back = HeldBack()
    for one in (*many, *many):
        back.hear(one)
    learning, held = back.split(many)
    assert len(held) == 40
    assert sum(e.target for e in held) == 10, "a fifth of the fifty good ones"
    assert len(learning) + len(held) == 200
    assert back.split(many[:24]) == (many[:24], [])


def test_which_fifth_is_held_back_cannot_be_foreseen() -> None:
    many = [example(n, float(n % 4 == 0), "user") for n in range(200)]
    found = []
    for key in (b"one", b"two", b"two", b""):
        back = HeldBack(key)
        for label in many:
            back.hear(label)
        _, held = back.split(many)
        found.append([many.index(e) for e in held])
        for kind in (0.0, 1.0):
            places = [n for n, e in enumerate(e for e in many if e.target == kind) if e in held]
            assert [n // 5 for n in places] == list(range(len(places))), "one of every five"
            assert places[0] < 3, "both kinds from few labels on"
            assert (len({n % 5 for n in places}) > 1) is bool(key)
    one, two, again, plain = found
    assert one != two == again
    assert len(one) == len(two) == len(plain) == 40


def test_the_gate_stops_a_bad_batch_and_lets_a_good_one_pass() -> None:
    """Forty right labels, then forty wrong ones for other pages with the same words."""
    school = School()
    kinds = {0.0: "soup", 1.0: "birds"}
    for n in range(40):
        target = float(n % 2)
        school.offer(example(n, target, "user", kinds[target]))
    first = school.lesson(Rote())
    assert first.live
    assert first.strategy is not None
    for n in range(100, 160):
        target = float(n % 2)
        school.offer(example(n, target, "user", kinds[1 - target]))
    bad = school.lesson(first.strategy)
    assert bad.strategy is not None
    assert not bad.live
    assert "held back" in bad.note
    assert bad.trial is not None
    assert bad.trial.after > bad.trial.before
    for n in range(100, 160):
        target = float(n % 2)
        school.offer(example(n, 1 - target, "user", kinds[1 - target]))
    assert school.lesson(first.strategy).live, "put right, it passes"


KINDS = {0.0: "soup", 1.0: "birds"}


def relabelled(school: School, wrong: range, of: int = 100) -> None:
    for n in range(of):
        target = float(n % 2)
        school.offer(example(n, 1 - target if n in wrong else target, "user", KINDS[target]))


@pytest.mark.parametrize("resumed", [False, True])
def test_labels_that_were_changed_do_not_speak_for_themselves(resumed: bool) -> None:
    school = School()
    relabelled(school, range(0))
    first = school.lesson(Rote()).strategy
    assert isinstance(first, Rote)
    if resumed:
        school = School()
        school.remember({example(n).page.url: float(n % 2) for n in range(100)})
    relabelled(school, range(100))
    for _ in range(2):
        inverted = school.lesson(first)
        assert isinstance(inverted.strategy, Rote)
        assert not inverted.live
        assert inverted.note.startswith("held back")
        assert inverted.note.endswith("most labels were changed (20 of those to try it on)")
    school.offer(example(100, 0.0, "user", "birds"))
    insisted = school.lesson(inverted.strategy)
    assert insisted.live, "somebody let it decide: the new labels are the known ones from now on"
    assert insisted.trial is not None
    assert insisted.trial.pages == 20


def test_what_was_put_right_is_no_reason_to_hold_back() -> None:
    school = School()
    relabelled(school, range(20, 45))
    first = school.lesson(Rote()).strategy
    assert first is not None
    relabelled(school, range(0))
    right = school.lesson(first)
    assert right.live
    assert right.trial is not None
    assert right.trial.pages == 15, "those about which nobody changed their mind"


def test_a_generation_that_was_gone_back_to_stands_trial_itself() -> None:
    """With 40 labels eight are held back, with 80 sixteen; nobody knows their words."""
    school = School()
    for n in range(40):
        school.offer(example(n, float(n % 2), "user"))
    first = school.lesson(Rote())
    for n in range(40, 80):
        school.offer(example(n, float(n % 2), "user"))
    second = school.lesson(first.strategy or Rote())
    assert isinstance(first.strategy, Rote)
    assert isinstance(second.strategy, Rote)
    assert second.live
    school.offer(example(80, 1.0, "user"))
    kept = unpack(pack("it", second.strategy), lambda _: Rote)
    known = school.lesson(kept)
    assert known.trial is not None
    assert known.trial.pages == 16, "the live one, known again though it was saved and read"
    back = school.lesson(unpack(pack("it", first.strategy), lambda _: Rote))
    assert back.trial is not None
    assert back.trial.pages == 8, "what the chosen one was taught, not those after it"
    # One of an earlier run: its own doubt is in its double's verdicts, and no label held back.
    school.remember({example(n).page.url: float(n % 2) for n in range(40)})
    other = school.lesson(replace(first.strategy, doubt=0.1))
    assert other.trial is not None
    assert other.trial.before == pytest.approx((0.1**2 + 0.9**2) / 2)


def test_own_verdicts_of_earlier_runs_are_in_the_double_too() -> None:
    """Ten words of either kind; of two of them it has taught itself the contrary."""

    def school() -> School:
        made = School()
        for n in range(100):
            made.offer(example(n, float(n % 2), "user", f"{KINDS[float(n % 2)]} {n // 10}"))
        for n in (100, 101):
            made.offer(example(n, 1 - float(n % 2), "judge", f"{KINDS[float(n % 2)]} 0"))
        return made

    first = school().lesson(Rote())
    assert first.live
    assert first.strategy is not None
    assert first.trial is not None
    assert (first.trial.before, first.trial.after) == (0.25, 0.1)
    resumed = school()
    resumed.remember({example(n).page.url: float(n % 2) for n in range(100)})
    resumed.offer(example(102, 1.0, "user"))
    second = resumed.lesson(first.strategy)
    assert second.trial is not None
    assert second.trial.before == 0.1, "as the live one was noted"
    assert second.live


def test_too_few_labels_prove_nothing() -> None:
    held = [example(n, 1.0, "user") for n in range(10)]
    trial = tried(Rote(), Rote(doubt=0.0), held, {})
    assert trial.pages == 0, "pages of one kind only"
    assert trial.passed


def test_good_pages_alone_are_set_against_visits_unlike_them() -> None:
    school = School()
    for n in range(3):
        school.offer(example(n, 1.0, "seed", "finches migrate south with new plumage"))
    assert school.lesson(Rote()).again, "one kind only: more pages would help"
    for n in range(10, 40):
        words = "boil the soup with salt" if n % 2 else "finches and plumage of migrating birds"
        school.offer(example(n, 0.5, "visit", words))
    lesson = school.lesson(Rote())
    assert isinstance(lesson.strategy, Rote)
    assert "taken for bad" in lesson.note
    assert {t for t, value in lesson.strategy.known if value == 0.0} == {"boil the soup with salt"}


def test_a_school_apart_teaches_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    from tests.unit import test_learning as here  # by its full name, as the other process needs it

    # The other process does not look into the folder it is started from.
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[2]))

    async def both() -> None:
        apart = Apart()
        try:
            for n in range(6):
                apart.offer(example(n, float(n % 2), "user"))
            lesson = await apart.lesson(here.Rote())
            assert isinstance(lesson.strategy, here.Rote)
            assert len(lesson.strategy.known) == 6
            apart.offer(example(7, 1.0, "user"))
            lesson = await apart.lesson(lesson.strategy)
            assert isinstance(lesson.strategy, here.Rote)
            assert len(lesson.strategy.known) == 7, "it remembers the first six"
            with pytest.raises(ModelError, match="ZeroDivisionError"):
                await apart.lesson(here.Rote(fails=True))
            process = apart._process
            assert process is not None
            process.kill()
            await process.wait()
            with pytest.raises(ModelError, match="broke down"):
                await apart.lesson(here.Rote())
            lesson = await apart.lesson(here.Rote())
            assert isinstance(lesson.strategy, here.Rote)
            assert len(lesson.strategy.known) == 7, "labels are told again to a new process"
        finally:
            await apart.aclose()

    asyncio.run(both())


def test_the_alarm_when_labels_and_verdicts_part() -> None:
    drift, sure = Drift(0.5), Rote(doubt=0.9)
    for _ in range(10):
        drift.heard(PAGE, Label(URL, 1.0))
    drift.judge(sure)
    assert not drift.alarm
    for _ in range(12):
        drift.heard(PAGE, Label(URL, 0.0))
    assert not drift.alarm, "nobody has learned from them yet"
    drift.judge(sure)
    assert "12 of the last 20" in drift.alarm
    drift.judge(Rote(doubt=0.1))
    assert "12 of the last 20" in drift.alarm, "it says so though it has learned since"
    for _ in range(20):
        drift.heard(PAGE, Label(URL, 1.0))
    drift.judge(sure)
    assert not drift.alarm


def test_one_site_cannot_teach_what_the_topic_is() -> None:
    pool = Pool()
    for n in range(20):
        pool.add(example(n, float(n % 2), "user"))
    for n in range(300):
        url = Url(f"http://{n}.casino.org/")
        pool.add(Example(Link(url), Page(url, text="casino"), 1.0, "judge"))
    for n in range(400, 420):
        pool.add(example(n, 1.0))
    pool.learned(5000)
    judged = pool.judged(pool.labelled())
    assert sum("casino" in e.page.url for e in judged) <= 20


def test_the_process_that_learns_imports_nothing_from_where_it_is_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "numpy.py").write_text("open('ran', 'w').close(); raise SystemExit(3)")
    monkeypatch.chdir(tmp_path)

    async def lesson() -> None:
        apart = Apart()
        try:
            with pytest.raises(ModelError, match="could not learn"):
                await apart.lesson(Rote())  # it cannot find the class, and says so
        finally:
            await apart.aclose()

    asyncio.run(lesson())
    assert not (tmp_path / "ran").exists()


def test_the_pool_forgets_old_verdicts_of_its_own() -> None:
    pool = Pool()
    for n in range(2_500):
        pool.add(example(n, 1.0))
    assert len(pool._judged) == 2_000
