"""Teachers, the trainer's schedule, the pool's caps, the gate, and the process that learns."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from dataclasses import dataclass, replace
from io import BytesIO
from itertools import pairwise
from pathlib import Path
from typing import Any, ClassVar, Self

import pytest

from honeyguide.errors import ModelError
from honeyguide.learning.generation_builder import (
    ExamplePool,
    GenerationBuilder,
    LabelHoldout,
    run_trial,
)
from honeyguide.learning.teachers import AllVisitsTeacher, make_teacher
from honeyguide.learning.training_feed import DriftAlarm, Trainer
from honeyguide.learning.worker_process import (
    _SIZE,
    InProcessBackend,
    LearningRequest,
    WorkerProcessBackend,
    _frame_message,
    _serve_requests,
)
from honeyguide.store.generations import pack_strategy, unpack_strategy
from honeyguide.types import (
    DuplicateOf,
    Example,
    Label,
    Link,
    Page,
    StrategyTraits,
    Url,
    Verdict,
    Visit,
)

URL = Url("http://e.org/")
PAGE = Page(URL, text="words")


def visit(score: float | None, page: Page | None = PAGE, **more: Any) -> Visit:
    verdict = None if score is None else Verdict(score)
    return Visit(Link(URL), 0.0, page=page, verdict=verdict, **more)


@pytest.mark.parametrize(
    ("score", "target"), [(0.8, 1.0), (0.95, 1.0), (0.79, None), (0.21, None), (0.2, 0.0)]
)
def test_the_automatic_teacher_believes_clear_verdicts(score: float, target: float | None) -> None:
    example = make_teacher("automatic", {}).example_from(visit(score))
    assert (example.target if example else None) == target


def test_a_person_goes_before_the_judge() -> None:
    both = make_teacher("both", {URL: (0.0, "user")}).example_from(visit(0.99))
    assert both is not None
    assert (both.target, both.by) == (0.0, "user")


def test_nothing_is_learned_from_failures_and_copies() -> None:
    for kind in ("automatic", "both", "interactive"):
        assert make_teacher(kind, {}).example_from(visit(None, None)) is None
    assert (
        make_teacher("automatic", {}).example_from(visit(0.9, duplicate=DuplicateOf(URL, True)))
        is None
    )


def test_a_copy_tells_that_its_link_brought_nothing() -> None:
    copied = AllVisitsTeacher().example_from(visit(0.9, duplicate=DuplicateOf(URL, True)))
    assert copied is not None
    assert (copied.target, copied.foreign) == (0.0, True)
    first = AllVisitsTeacher().example_from(visit(0.9))
    assert first is not None
    assert (first.target, first.foreign) == (0.9, False)


@dataclass(frozen=True)
class Rote:
    """Knows by heart what it was taught, and says so."""

    traits: ClassVar[StrategyTraits] = StrategyTraits(learns=True)
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
    trainer = Trainer(InProcessBackend(), every=3)
    for _ in range(3):
        trainer.count_page()
    assert not trainer.is_due()
    trainer.offer(example(by="visit"))
    assert not trainer.is_due(), "a mere visit is no news"
    trainer.offer(example())
    assert trainer.is_due()
    lesson = asyncio.run(trainer.learn(Rote()))
    assert isinstance(lesson.strategy, Rote)
    assert lesson.live
    assert not trainer.is_due()


def test_a_persons_word_is_learned_at_once_unless_told_otherwise() -> None:
    for eager in (True, False):
        trainer = Trainer(InProcessBackend(), every=14, eager=eager)
        trainer.offer(example(by="user"))
        assert trainer.is_due() is eager


def test_the_first_lesson_waits_for_the_topics_examples() -> None:
    trainer = Trainer(InProcessBackend(), every=14)
    trainer.expect_examples(2)
    trainer.offer(example(by="seed"))
    assert not trainer.is_due()
    trainer.expect_examples(0)
    assert trainer.is_due()


def test_growth_by_a_tenth() -> None:
    trainer = Trainer(InProcessBackend(), every=14, grows=True, eager=False)
    lessons = []
    for n in range(100):
        trainer.offer(example(n, by="visit"))
        if trainer.is_due():
            lessons.append(n + 1)
            asyncio.run(trainer.learn(Rote()))
    assert lessons[:4] == [5, 6, 7, 8]
    assert all(b >= 1.1 * a for a, b in pairwise(lessons))
    assert lessons[-1] >= 90


def test_lessons_that_fail_are_told_and_given_up() -> None:
    trainer = Trainer(Broken(), every=1)
    for _ in range(3):
        trainer.offer(example(by="user"))
        assert trainer.is_due()
        assert asyncio.run(trainer.learn(Rote())).strategy is None
    assert "broke" in trainer.trouble
    trainer.offer(example(by="user"))
    assert not trainer.is_due()


class Broken(InProcessBackend):
    async def build_generation(self, strategy: Any) -> Any:
        raise ModelError("it broke")


def test_a_person_replaces_the_judge_in_the_pool_and_never_the_other_way() -> None:
    pool = ExamplePool()
    pool.add(example(1, 1.0, "judge"))
    pool.add(example(1, 0.0, "user"))
    pool.add(example(1, 1.0, "judge"))
    assert [(e.target, e.by) for e in pool.labelled_examples()] == [(0.0, "user")]
    assert pool.recent_judged(pool.labelled_examples()) == []


def test_self_training_is_capped() -> None:
    pool = ExamplePool()
    for n in range(10):
        pool.add(example(n, float(n % 2), "user"))
    for n in range(100, 1100):
        pool.add(example(n, float(n % 2)))
    labelled = pool.labelled_examples()
    assert len(pool.recent_judged(labelled)) == 10, "as many as people gave, in the first lesson"
    pool.set_learned(10)
    assert len(pool.recent_judged(labelled)) == 20, "and as many more in each"
    pool.set_learned(5000)
    assert len(pool.recent_judged(labelled)) == 100, "at most ten times what people gave"


def test_neither_kind_outnumbers_the_other_three_times() -> None:
    pool = ExamplePool()
    for n in range(4):
        pool.add(example(n, float(n % 2), "user"))
    for n in range(100, 118):
        pool.add(example(n, 1.0))
    pool.set_learned(10)
    judged = pool.recent_judged(pool.labelled_examples())
    assert len(judged) == 4, "two bad, so six good, two of them people's"
    assert judged[-1].page.url.endswith("117"), "the newest stay"


def test_the_pool_forgets_old_visits_and_long_texts() -> None:
    pool = ExamplePool()
    for n in range(400):
        pool.add(example(n, 0.3, "visit", text="word " * 10_000))
    assert len(pool.unlabelled_visits()) == 300
    assert len(pool.unlabelled_visits()[0].page.text) == 20_000


def test_a_fifth_of_each_kind_is_held_back_always_the_same() -> None:
    many = [example(n, float(n % 4 == 0), "user") for n in range(200)]
    back = LabelHoldout()
    for one in (*many, *many):
        back.add_label(one)
    learning, held = back.split_examples(many)
    assert len(held) == 40
    assert sum(e.target for e in held) == 10, "a fifth of the fifty good ones"
    assert len(learning) + len(held) == 200
    assert back.split_examples(many[:24]) == (many[:24], [])


def test_which_fifth_is_held_back_cannot_be_foreseen() -> None:
    many = [example(n, float(n % 4 == 0), "user") for n in range(200)]
    found = []
    for key in (b"one", b"two", b"two", b""):
        back = LabelHoldout(key)
        for label in many:
            back.add_label(label)
        _, held = back.split_examples(many)
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
    school = GenerationBuilder()
    kinds = {0.0: "soup", 1.0: "birds"}
    for n in range(40):
        target = float(n % 2)
        school.offer(example(n, target, "user", kinds[target]))
    first = school.build_generation(Rote())
    assert first.live
    assert first.strategy is not None
    for n in range(100, 160):
        target = float(n % 2)
        school.offer(example(n, target, "user", kinds[1 - target]))
    bad = school.build_generation(first.strategy)
    assert bad.strategy is not None
    assert not bad.live
    assert "held back" in bad.note
    assert bad.trial is not None
    assert bad.trial.after > bad.trial.before
    for n in range(100, 160):
        target = float(n % 2)
        school.offer(example(n, 1 - target, "user", kinds[1 - target]))
    assert school.build_generation(first.strategy).live, "put right, it passes"


KINDS = {0.0: "soup", 1.0: "birds"}


def relabelled(school: GenerationBuilder, wrong: range, of: int = 100) -> None:
    for n in range(of):
        target = float(n % 2)
        school.offer(example(n, 1 - target if n in wrong else target, "user", KINDS[target]))


@pytest.mark.parametrize("resumed", [False, True])
def test_labels_that_were_changed_do_not_speak_for_themselves(resumed: bool) -> None:
    school = GenerationBuilder()
    relabelled(school, range(0))
    first = school.build_generation(Rote()).strategy
    assert isinstance(first, Rote)
    if resumed:
        school = GenerationBuilder()
        school.remember({example(n).page.url: float(n % 2) for n in range(100)})
    relabelled(school, range(100))
    for _ in range(2):
        inverted = school.build_generation(first)
        assert isinstance(inverted.strategy, Rote)
        assert not inverted.live
        assert inverted.note.startswith("held back")
        assert inverted.note.endswith("most labels were changed (20 of those to try it on)")
    school.offer(example(100, 0.0, "user", "birds"))
    insisted = school.build_generation(inverted.strategy)
    assert insisted.live, "somebody let it decide: the new labels are the known ones from now on"
    assert insisted.trial is not None
    assert insisted.trial.pages == 20


def test_what_was_put_right_is_no_reason_to_hold_back() -> None:
    school = GenerationBuilder()
    relabelled(school, range(20, 45))
    first = school.build_generation(Rote()).strategy
    assert first is not None
    relabelled(school, range(0))
    right = school.build_generation(first)
    assert right.live
    assert right.trial is not None
    assert right.trial.pages == 15, "those about which nobody changed their mind"


def test_a_generation_that_was_gone_back_to_stands_trial_itself() -> None:
    """With 40 labels eight are held back, with 80 sixteen; nobody knows their words."""
    school = GenerationBuilder()
    for n in range(40):
        school.offer(example(n, float(n % 2), "user"))
    first = school.build_generation(Rote())
    for n in range(40, 80):
        school.offer(example(n, float(n % 2), "user"))
    second = school.build_generation(first.strategy or Rote())
    assert isinstance(first.strategy, Rote)
    assert isinstance(second.strategy, Rote)
    assert second.live
    school.offer(example(80, 1.0, "user"))
    kept = unpack_strategy(pack_strategy("it", second.strategy), lambda _: Rote)
    known = school.build_generation(kept)
    assert known.trial is not None
    assert known.trial.pages == 16, "the live one, known again though it was saved and read"
    back = school.build_generation(
        unpack_strategy(pack_strategy("it", first.strategy), lambda _: Rote)
    )
    assert back.trial is not None
    assert back.trial.pages == 8, "what the chosen one was taught, not those after it"
    # One of an earlier run: its own doubt is in its double's verdicts, and no label held back.
    school.remember({example(n).page.url: float(n % 2) for n in range(40)})
    other = school.build_generation(replace(first.strategy, doubt=0.1))
    assert other.trial is not None
    assert other.trial.before == pytest.approx((0.1**2 + 0.9**2) / 2)


def test_own_verdicts_of_earlier_runs_are_in_the_double_too() -> None:
    """Ten words of either kind; of two of them it has taught itself the contrary."""

    def school() -> GenerationBuilder:
        made = GenerationBuilder()
        for n in range(100):
            made.offer(example(n, float(n % 2), "user", f"{KINDS[float(n % 2)]} {n // 10}"))
        for n in (100, 101):
            made.offer(example(n, 1 - float(n % 2), "judge", f"{KINDS[float(n % 2)]} 0"))
        return made

    first = school().build_generation(Rote())
    assert first.live
    assert first.strategy is not None
    assert first.trial is not None
    assert (first.trial.before, first.trial.after) == (0.25, 0.1)
    resumed = school()
    resumed.remember({example(n).page.url: float(n % 2) for n in range(100)})
    resumed.offer(example(102, 1.0, "user"))
    second = resumed.build_generation(first.strategy)
    assert second.trial is not None
    assert second.trial.before == 0.1, "as the live one was noted"
    assert second.live


def test_too_few_labels_prove_nothing() -> None:
    held = [example(n, 1.0, "user") for n in range(10)]
    trial = run_trial(Rote(), Rote(doubt=0.0), held, {})
    assert trial.pages == 0, "pages of one kind only"
    assert trial.passed


def test_good_pages_alone_are_set_against_visits_unlike_them() -> None:
    school = GenerationBuilder()
    for n in range(3):
        school.offer(example(n, 1.0, "seed", "finches migrate south with new plumage"))
    assert school.build_generation(Rote()).again, "one kind only: more pages would help"
    for n in range(10, 40):
        words = "boil the soup with salt" if n % 2 else "finches and plumage of migrating birds"
        school.offer(example(n, 0.5, "visit", words))
    lesson = school.build_generation(Rote())
    assert isinstance(lesson.strategy, Rote)
    assert "assumed to be bad" in lesson.note
    assert {t for t, value in lesson.strategy.known if value == 0.0} == {"boil the soup with salt"}


def test_a_school_apart_teaches_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    from tests.unit import test_learning as here  # by its full name, as the other process needs it

    # The other process does not look into the folder it is started from.
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[2]))

    async def both() -> None:
        apart = WorkerProcessBackend()
        try:
            for n in range(6):
                apart.offer(example(n, float(n % 2), "user"))
            lesson = await apart.build_generation(here.Rote())
            assert isinstance(lesson.strategy, here.Rote)
            assert len(lesson.strategy.known) == 6
            apart.offer(example(7, 1.0, "user"))
            lesson = await apart.build_generation(lesson.strategy)
            assert isinstance(lesson.strategy, here.Rote)
            assert len(lesson.strategy.known) == 7, "it remembers the first six"
            with pytest.raises(ModelError, match="ZeroDivisionError"):
                await apart.build_generation(here.Rote(fails=True))
            process = apart._process
            assert process is not None
            process.kill()
            await process.wait()
            with pytest.raises(ModelError, match="training process failed"):
                await apart.build_generation(here.Rote())
            lesson = await apart.build_generation(here.Rote())
            assert isinstance(lesson.strategy, here.Rote)
            assert len(lesson.strategy.known) == 7, "labels are told again to a new process"
        finally:
            await apart.aclose()

    asyncio.run(both())


def test_the_alarm_when_labels_and_verdicts_part() -> None:
    drift, sure = DriftAlarm(0.5), Rote(doubt=0.9)
    for _ in range(10):
        drift.add_label(PAGE, Label(URL, 1.0))
    drift.compare_verdicts(sure)
    assert not drift.warning
    for _ in range(12):
        drift.add_label(PAGE, Label(URL, 0.0))
    assert not drift.warning, "nobody has learned from them yet"
    drift.compare_verdicts(sure)
    assert "12 of the last 20" in drift.warning
    drift.compare_verdicts(Rote(doubt=0.1))
    assert "12 of the last 20" in drift.warning, "it says so though it has learned since"
    for _ in range(20):
        drift.add_label(PAGE, Label(URL, 1.0))
    drift.compare_verdicts(sure)
    assert not drift.warning


def test_one_site_cannot_teach_what_the_topic_is() -> None:
    pool = ExamplePool()
    for n in range(20):
        pool.add(example(n, float(n % 2), "user"))
    for n in range(300):
        url = Url(f"http://{n}.casino.org/")
        pool.add(Example(Link(url), Page(url, text="casino"), 1.0, "judge"))
    for n in range(400, 420):
        pool.add(example(n, 1.0))
    pool.set_learned(5000)
    judged = pool.recent_judged(pool.labelled_examples())
    assert sum("casino" in e.page.url for e in judged) <= 20


def test_the_process_that_learns_imports_nothing_from_where_it_is_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "numpy.py").write_text("open('ran', 'w').close(); raise SystemExit(3)")
    monkeypatch.chdir(tmp_path)

    async def lesson() -> None:
        apart = WorkerProcessBackend()
        try:
            with pytest.raises(ModelError, match="could not learn"):
                await apart.build_generation(Rote())  # it cannot find the class, and says so
        finally:
            await apart.aclose()

    asyncio.run(lesson())
    assert not (tmp_path / "ran").exists()


def test_the_pool_forgets_old_verdicts_of_its_own() -> None:
    pool = ExamplePool()
    for n in range(2_500):
        pool.add(example(n, 1.0))
    assert len(pool._judged) == 2_000


@pytest.mark.parametrize("given", [b"", b"\x01", _SIZE.pack(100) + b"part of it"])
def test_a_parent_that_dies_while_it_writes_is_the_end(given: bytes) -> None:
    answers = BytesIO()
    _serve_requests(False, BytesIO(given), answers)
    assert answers.getvalue() == b""


def test_a_parent_that_was_killed_is_told_no_traceback() -> None:
    """Whoever ends a crawl by force has its terminal still."""
    worker = [sys.executable, "-P", "-m", "honeyguide.learning.worker_process", "0"]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(worker, **pipes) as process:  # type: ignore[call-overload]
        process.stdout.close()
        process.stdin.write(_frame_message(LearningRequest({}, [], "none", "none", b"")))
        process.stdin.close()
        assert process.stderr.read() == b""
