"""A collection's generations from outside: make one, list them, compare two, go back to one."""

from __future__ import annotations

import time
from bisect import bisect_right
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

from honeyguide import registry
from honeyguide.config.settings import Settings
from honeyguide.crawl.from_settings import build_strategy
from honeyguide.crawl.live_generation import choose_generation, count_labels, save_new_generation
from honeyguide.crawl.rescore import VerdictCorrector, settle_cut
from honeyguide.crawl.status import CrawlTally
from honeyguide.crawl.stopping import restore_coverage
from honeyguide.errors import CollectionLocked, ConfigError, ModelError
from honeyguide.learning import topics
from honeyguide.learning.generation_builder import (
    ERROR_TOLERANCE,
    HELD_BACK_NOTE,
    MIN_LABELS,
    GateTrial,
    squared_errors,
)
from honeyguide.net.politeness import DomainQuota
from honeyguide.protocols import Strategy
from honeyguide.store.generations import GenerationRow
from honeyguide.store.store import Store
from honeyguide.types import Example

_COMPARED_PAGES = 500
_MAX_CHANGES = 10


@dataclass(frozen=True, slots=True)
class GenerationSummary:
    generation: GenerationRow
    live: bool
    visits: int
    """Pages it decided about."""
    relevant: int


@dataclass(frozen=True, slots=True)
class VerdictChange:
    """A page that two generations judge differently."""

    url: str
    one: float
    other: float
    label: float | None


@dataclass(frozen=True, slots=True)
class GenerationComparison:
    """Two generations on the same pages: the labelled ones, and the newest visits."""

    one: int
    other: int
    labels: int
    errors: tuple[float, float] | None
    """Mean squared errors on labelled pages; None without labels."""
    pages: int
    changed: int
    """Pages that one calls relevant and the other does not."""
    moved: tuple[VerdictChange, ...]
    """Where they differ most."""


def list_generations(store: Store) -> list[GenerationSummary]:
    live, decided = store.generations.live_number(), store.visits.judged_by_generation()
    return [
        GenerationSummary(g, g.number == live, *decided.get(g.number, (0, 0)))
        for g in store.generations.list_all()
    ]


def generation_trial(generation: GenerationRow) -> GateTrial | None:
    """How it did on labels that were held back; None: it was not tried."""
    return GateTrial.from_note(generation.note)


def was_held_back(generation: GenerationRow) -> bool:
    """Whether the gate did not let it decide."""
    return generation.note.startswith(HELD_BACK_NOTE)


def compare_generations(store: Store, one: int, other: int) -> GenerationComparison:
    """Judge the same pages by two generations, here and now."""
    first, second = (_load_generation(store, number) for number in (one, other))
    threshold = store.threshold
    labels = {label.url: label.value for _, label in store.labels.effective_after()}
    labelled: list[Example] = []
    moved: list[VerdictChange] = []
    changed = pages = 0
    newest = store.counter.read_counts().visits
    rows = [row for url in labels for row in store.visits.attempts_at(url)[-1:] if row.has_page]
    rows += [
        row
        for row in store.visits.iter_visits(page=True, since=max(0, newest - _COMPARED_PAGES))
        if row.url not in labels
    ]
    for row in rows:
        page = store.visits.latest_page(row.url)
        label = labels.get(row.url)
        foreign = row.ungated is not None and label is None  # neither of the two decided
        if page is None or row.verdict is None or foreign:
            continue
        if label is not None:
            labelled.append(Example(row.link, page, label, "user"))
        a, b = first.judge(page).score, second.judge(page).score
        pages += 1
        changed += (a >= threshold) != (b >= threshold)
        moved.append(VerdictChange(row.url, a, b, label))
    moved.sort(key=lambda m: -abs(m.one - m.other))
    errors = (
        (fmean(squared_errors(first, labelled)), fmean(squared_errors(second, labelled)))
        if labelled
        else None
    )
    return GenerationComparison(
        one, other, len(labelled), errors, pages, changed, tuple(m for m in moved[:_MAX_CHANGES])
    )


def use_generation(store: Store, number: int, strategy: str) -> None:
    """Go back, or forward, to this generation; a crawl that runs takes it up at once."""
    _load_generation(store, number)
    chosen = next(g for g in store.generations.list_all() if g.number == number)
    if chosen.name != strategy:
        raise ConfigError(
            f"generation {number} is one of the strategy {chosen.name!r}, but this topic uses "
            f"{strategy!r}; set crawl.strategy in topic.toml to go back to it"
        )
    with store.transaction():
        store.generations.set_live(number)
        if was_held_back(chosen):  # who insists on it means what the labels say now
            store.set_meta(
                "taught", str(max((n for n, _ in store.labels.effective_after()), default=0))
            )


def _load_generation(store: Store, number: int) -> Strategy:
    known = [generation.number for generation in store.generations.list_all()]
    if number not in known:
        raise ConfigError(
            f"there is no generation {number}; known: {known[0]} to {known[-1]}"
            if known
            else "there are no generations yet; crawl first"
        )
    strategy: Strategy = store.generations.load(number, registry.find_strategy)
    return strategy


# --------------------------------------------------------------------------------------------------
# Learning outside a crawl: the same trainer, gate and generations as in one.
# --------------------------------------------------------------------------------------------------


class LearnOutcome(NamedTuple):
    """What came of learning; as a string, in words."""

    generation: int | None
    """The new generation's number; None: there is none."""
    live: bool
    """Whether it decides from now on; the gate holds back one that is worse."""
    note: str
    """What it learned from and how it did on labels that were held back, or why there is none."""
    labels: int = 0
    """Labels and examples that were new to it."""

    def __str__(self) -> str:
        labels = count_labels(self.labels)
        if self.generation is None:
            return f"Nothing learned from {labels}: {self.note}" if self.labels else self.note
        if self.live:
            return f"Generation {self.generation} is active; it learned from {self.note}"
        return f"Generation {self.generation} is not active; it learned from {labels}; {self.note}"


async def learn_generation(
    folder: Path, settings: Settings, observer: Callable[[str], None]
) -> LearnOutcome:
    """Learn now from all that no generation has learned from yet, labels first of all.

    Pages that nobody could judge before are judged by a new generation that decides; the others
    keep their verdicts until :func:`honeyguide.crawl.rescore.rescore_pages`, and the next crawl
    ranks the waiting links anew. Nobody may crawl meanwhile: a crawl learns by itself.
    """
    from honeyguide.cluster.remote_state import refuse_if_away
    from honeyguide.crawl.build import build_training_feed
    from honeyguide.languages.gate import build_language_gate

    made = build_strategy(settings)
    if not made.traits.learns:
        raise ConfigError(f"the strategy {settings.crawl.strategy!r} does not learn")
    files = topics.load_all_example_files(folder, settings)
    observer("reading pages and labels")
    with ExitStack() as closing:
        try:
            store = closing.enter_context(Store.open(folder, "crawl", settings.store))
        except CollectionLocked as error:
            raise CollectionLocked(f"{error}. A crawl learns from new labels by itself") from error
        refuse_if_away(store)
        store.visits.set_topics(topics.topic_names(settings))
        settle_cut(store, settings)
        strategy, parent, _, _ = choose_generation(store, settings, made, time.time())
        feed = build_training_feed(store, settings, strategy, examples=files)
        try:
            if not feed.has_news:
                return LearnOutcome(None, False, "There is nothing new to learn from: add labels")
            labels = feed.waiting
            observer(f"learning from {count_labels(labels)}" if labels else "learning")
            lesson = await feed.learn(strategy)
            if feed.trouble:
                raise ModelError(feed.trouble)
        finally:
            await feed.aclose()
        number = store.generations.next_number() if lesson.strategy is not None else None
        done = save_new_generation(store, settings, lesson, parent, time.time())
        if done is not None and lesson.strategy is not None:
            observer("judging pages that could not be judged before")
            tally = CrawlTally.from_counts(store.counter.read_counts(), store.threshold)
            counted = tally, restore_coverage(store), DomainQuota(0), None
            corrector = VerdictCorrector(store, settings, *counted, build_language_gate(settings))
            corrector.judge_again(lesson.strategy, None, feed.labels_of)
        return LearnOutcome(number, done is not None, lesson.note, labels)


# --------------------------------------------------------------------------------------------------
# What would further labels buy? What the generations' own trials say, and no more than that.
#
# Each new generation is tried on labels that were held back (:mod:`honeyguide.learning.gate`).
# Their errors, over the labels that were given until then, are a learning curve; where there is
# none yet, the share of pages that the strategy is unsure of says how much is left to ask, and
# nothing of what the answers would change.
# --------------------------------------------------------------------------------------------------


_TREND_TRIALS = 6
"""Trials that the trend is read from."""
_RECENT_VISITS = 1_000
_UNSURE_DISTANCE = 0.15
"""Verdicts so near to the threshold are unsure."""


class TrialPoint(NamedTuple):
    """A generation that stood trial."""

    generation: int
    labels: int
    """Labels in force that were given before it."""
    error: float
    """Mean squared error of its verdicts on held-back labels."""
    before: float
    """That of the generation before it, on the same labels."""
    pages: int


class LabelLearningCurve(NamedTuple):
    tried: tuple[TrialPoint, ...]
    """Oldest first."""
    per_ten: float | None
    """What ten labels changed in the error lately, less being better; None: not known."""
    unsure: float | None
    """Share of the newest pages whose verdict is near the threshold; None: there are none."""
    pages: int
    """How many these are."""
    needed: int
    """Labels still missing until generations can be tried; 0: none."""
    said: str
    """All of this in words."""


def label_learning_curve(store: Store) -> LabelLearningCurve:
    times = sorted(label.at for _, label in store.labels.effective_after())
    tried = []
    for generation in store.generations.list_all():
        trial = generation_trial(generation)
        if trial is not None:
            labels = bisect_right(times, generation.at)
            number = generation.number
            tried.append(TrialPoint(number, labels, trial.after, trial.before, trial.pages))
    pages, unsure = _unsure_share(store)
    per_ten = _error_trend(tried[-_TREND_TRIALS:])
    needed = max(0, MIN_LABELS - len(times)) if not tried else 0
    said = _describe_curve(tried[-_TREND_TRIALS:], per_ten, unsure, pages, needed)
    return LabelLearningCurve(tuple(tried), per_ten, unsure, pages, needed, said)


def _error_trend(tried: list[TrialPoint]) -> float | None:
    """The slope of error over labels, least squares, for ten labels."""
    if len(tried) < 2 or tried[-1].labels <= tried[0].labels:
        return None
    count = len(tried)
    mean = sum(one.labels for one in tried) / count
    level = sum(one.error for one in tried) / count
    spread = sum((one.labels - mean) ** 2 for one in tried)
    return 10 * sum((one.labels - mean) * (one.error - level) for one in tried) / spread


def _unsure_share(store: Store) -> tuple[int, float | None]:
    newest = store.counter.read_counts().visits
    rows = store.visits.iter_visits(page=True, since=max(0, newest - _RECENT_VISITS))
    verdicts = [row.verdict for row in rows if row.verdict is not None and row.ungated is None]
    if not verdicts:
        return 0, None
    threshold = store.threshold
    near = sum(abs(verdict - threshold) < _UNSURE_DISTANCE for verdict in verdicts)
    return len(verdicts), near / len(verdicts)


def _describe_curve(
    tried: list[TrialPoint], per_ten: float | None, unsure: float | None, pages: int, needed: int
) -> str:
    left = (
        ""
        if unsure is None
        else f"The strategy is unsure of {unsure:.0%} of the newest {pages} pages."
    )
    if per_ten is None:
        missing = (
            f"{needed} more labels are needed before generations can be tested on held-out labels."
            if needed
            else "Too few generations were tested on held-out labels to see a trend."
        )
        return f"The value of further labels is not known yet. {missing} {left}".strip()
    first, last = tried[0], tried[-1]
    change = (
        f"From {first.labels} to {last.labels} labels the error on held-out ones went from "
        f"{first.error:.3f} to {last.error:.3f}."
    )
    if per_ten > -ERROR_TOLERANCE / 10:
        verdict = "Further labels seem to improve little."
    else:
        verdict = f"Ten further ones may reduce it by about {-per_ten:.3f} if the trend continues."
    few = (
        f" These are tests on {last.pages} labels: differences under {ERROR_TOLERANCE:g} may be "
        "chance."
    )
    return f"{change} {verdict}{few} {left}".strip()
