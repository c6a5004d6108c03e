"""Builds the next generation of a strategy: the examples it learns from, training, and the gate.

The pool has one example for each page. With each training a strategy may use as many more of its
own verdicts as people gave examples, never more than ten times as many, thinned until neither kind
outnumbers the other more than three times. Strategies that state how many they believe get the most
certain ones; the others the newest. Chosen verdicts stay until a person labels the page.

A new generation does not go live if it is clearly worse than the present one. Shadow models of both
judge labelled pages that they have not learned from. A fifth of all labels is held out, good and
bad ones alike, always the same; without the key nobody can foresee which. A batch of bad labels
would confirm itself, so if there are enough, only pages count that were labelled before the present
generation was trained and whose label did not change. If most of them were changed and too few are
left, nothing is tested, and the new generation waits for a person.
"""

from __future__ import annotations

import hashlib
import re
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean, stdev

from honeyguide.learning.self_training import (
    PAGES_PER_ROUND,
    balance_kinds,
    newest_per_domain,
    sample_negatives,
    select_confident,
)
from honeyguide.protocols import Strategy, UnjudgedPageLearner
from honeyguide.store.generations import TrainingMark, pack_strategy
from honeyguide.types import Example, Page, Url

MAX_TEXT_CHARS = 20_000
"""Characters of a page that are stored."""
MAX_BACKGROUND = 300
"""Visits stored for a strategy that does not learn from every visit."""
MAX_VISITS = 3_000
_DEFAULT_BASIS = 20
"""Basis of self-training without examples of people."""
_OWN_PER_LABEL = 10
_MAX_JUDGED = 2_000
_MAX_HEADINGS = 20
MAX_LINKS = 100


class ExamplePool:
    """One example for each page: labels of people replace verdicts, never the other way."""

    def __init__(self, visits: bool = False) -> None:
        self._most = MAX_VISITS if visits else MAX_BACKGROUND
        self._links = MAX_LINKS if visits else 0
        self._labelled: dict[Url, Example] = {}
        self._judged: dict[Url, Example] = {}
        self._visits: dict[Url, Example] = {}
        self._learned = 0
        """Own verdicts in the last training."""
        self._seen = 0
        """Pages seen so far."""
        self._believed: dict[Url, Example] = {}
        """Own verdicts that were chosen as the most certain."""

    def add(self, example: Example) -> None:
        url = example.page.url
        if example.by in ("seed", "user"):
            self._labelled[url] = trim_example(example, self._links)
            self._judged.pop(url, None)
            self._believed.pop(url, None)
        elif example.by == "judge":
            if url not in self._labelled:
                self._add_newest(self._judged, example, _MAX_JUDGED)
        else:
            self._seen += 1
            self._add_newest(self._visits, example, self._most)

    def _add_newest(self, examples: dict[Url, Example], example: Example, most: int) -> None:
        examples.pop(example.page.url, None)  # the newest last
        examples[example.page.url] = trim_example(example, self._links)
        if len(examples) > most:
            del examples[next(iter(examples))]

    def labelled_examples(self) -> list[Example]:
        """Examples from people."""
        return list(self._labelled.values())

    def unlabelled_visits(self) -> list[Example]:
        """Visits without a label."""
        return [e for url, e in self._visits.items() if url not in self._labelled]

    def recent_judged(self, labelled: list[Example]) -> list[Example]:
        """Own verdicts within the limits for these labels; the newest are preferred."""
        basis = len(labelled) or _DEFAULT_BASIS
        room = min(_OWN_PER_LABEL * basis, self._learned + basis)
        chosen = newest_per_domain(list(self._judged.values()), room)
        return list(balance_kinds(chosen, labelled))

    def confident_judged(
        self, labelled: list[Example], score: Callable[[Page], float], good: int
    ) -> list[Example]:
        """The most certain own verdicts: ``good`` good ones for each fourteen pages."""
        most = _OWN_PER_LABEL * (len(labelled) or _DEFAULT_BASIS)
        believed = list(self._believed.values())
        allowed = good * (self._seen // PAGES_PER_ROUND)
        judged = list(self._judged.values())
        chosen = select_confident(judged, believed, labelled, score, allowed, most)
        return list(balance_kinds(chosen, labelled))

    def set_learned(self, judged: int) -> None:
        self._learned = judged

    def set_believed(self, judged: Iterable[Example]) -> None:
        """Keep these until a person labels them."""
        self._believed = {e.page.url: e for e in judged}


def trim_example(example: Example, links: int) -> Example:
    """The example with what is worth storing; few strategies read the links of a page."""
    page: Page = example.page
    text, headings = page.text[:MAX_TEXT_CHARS], page.headings[:_MAX_HEADINGS]
    if len(text) == len(page.text) and headings == page.headings and len(page.links) <= links:
        return example
    page = replace(page, text=text, links=page.links[:links], headings=headings)
    return replace(example, page=page)


# --- The gate ---


HOLDOUT_EVERY = 5
"""One label in so many is held out."""
_FIRST_HELD = 3
"""One of the first so many is held out, so that both kinds are soon tested."""
MIN_LABELS = 25
"""Labels without which nothing is held out: a smaller set is needed whole."""
_MIN_TRIAL_PAGES = 4
"""Fewer pages, or pages of one kind, prove nothing."""
ERROR_TOLERANCE = 0.02
"""Mean squared error that a new generation may lose; more only up to what chance explains."""
_CHANCE_ERRORS = 2.0
"""Standard errors of the difference that chance explains (95 %)."""

HELD_BACK_NOTE = "held back"
"""Beginning of the note of a generation that did not pass."""
_TRIAL_NOTE = re.compile(
    r"error (\d\.\d{3}), before (\d\.\d{3}), on (\d{1,9}) held-(?:out|back) labels$"
)


@dataclass(frozen=True, slots=True)
class GateTrial:
    """Mean squared errors of two generations on the same labelled pages."""

    pages: int
    before: float = 0.0
    after: float = 0.0
    chance: float = 0.0
    """Difference that chance explains."""
    changed: int = 0
    """Held-out labels that were changed, if these are too many for a test on the rest."""

    @property
    def passed(self) -> bool:
        if self.changed:
            return False
        return not self.pages or self.after - self.before <= max(ERROR_TOLERANCE, self.chance)

    def __str__(self) -> str:
        if self.changed:
            return f"most labels were changed ({self.changed} of those to try it on)"
        if not self.pages:
            return "untried"
        return f"error {self.after:.3f}, before {self.before:.3f}, on {self.pages} held-out labels"

    @classmethod
    def from_note(cls, note: str) -> GateTrial | None:
        """The trial in the note of a generation; None: there was none."""
        found = _TRIAL_NOTE.search(note)
        return found and cls(int(found[3]), before=float(found[2]), after=float(found[1]))


class LabelHoldout:
    """Which labels are held out: one in five of each kind, as they arrive.

    The key chooses which of the five. Without one, as in the lab, it is always the third.
    """

    def __init__(self, key: bytes = b"") -> None:
        self._key = key
        self._held: dict[Url, bool] = {}
        self._counts = {True: 0, False: 0}

    def add_label(self, example: Example) -> None:
        if (url := example.page.url) not in self._held:
            kind = example.target >= 0.5
            five, place = divmod(self._counts[kind], HOLDOUT_EVERY)
            self._counts[kind] += 1
            self._held[url] = place == self._held_place(kind, five)

    def _held_place(self, kind: bool, five: int) -> int:
        """Place of the label that is held out among these five."""
        if not self._key:
            return _FIRST_HELD - 1
        drawn = hashlib.blake2b(f"{kind} {five}".encode(), key=self._key, digest_size=8).digest()
        return int.from_bytes(drawn, "big") % (HOLDOUT_EVERY if five else _FIRST_HELD)

    def split_examples(self, labelled: Sequence[Example]) -> tuple[list[Example], list[Example]]:
        """Examples to learn from, and held-out ones; few labels are all learned from."""
        if len(labelled) < MIN_LABELS:
            return list(labelled), []
        held = [example for example in labelled if self._held.get(example.page.url)]
        return [example for example in labelled if not self._held.get(example.page.url)], held


def run_trial(
    old: Strategy, new: Strategy, held: Sequence[Example], known: Mapping[Url, float]
) -> GateTrial:
    """``known``: pages that the old generation could have learned from, with their targets."""
    earlier = [example for example in held if example.page.url in known]
    pages = [example for example in earlier if not _label_changed(example, known)]
    if not _has_both_kinds(pages):
        changed = len(earlier) - len(pages)
        if 2 * changed >= max(_MIN_TRIAL_PAGES, len(earlier)):
            return GateTrial(0, changed=changed)
        pages = [example for example in held if not _label_changed(example, known)]
    if not _has_both_kinds(pages):
        return GateTrial(0)
    before, after = squared_errors(old, pages), squared_errors(new, pages)
    differences = [b - a for a, b in zip(before, after, strict=True)]
    chance = _CHANCE_ERRORS * stdev(differences) / len(pages) ** 0.5
    return GateTrial(len(pages), fmean(before), fmean(after), chance)


def squared_errors(strategy: Strategy, examples: Sequence[Example]) -> list[float]:
    """Squared differences of verdict and label (Brier 1950)."""
    return [(strategy.judge(e.page).score - e.target) ** 2 for e in examples]


def _label_changed(example: Example, known: Mapping[Url, float]) -> bool:
    """Whether the page was learned as the opposite of its present label."""
    before = known.get(example.page.url, example.target)
    return (before >= 0.5) != (example.target >= 0.5)


def _has_both_kinds(examples: Sequence[Example]) -> bool:
    return len(examples) >= _MIN_TRIAL_PAGES and len({e.target >= 0.5 for e in examples}) == 2


# --- Generations ---


_ASSUMED_PER_GOOD = 3
"""Assumed negatives for each good example, without bad examples of people."""
_MIN_BACKGROUND = 10
_MAX_TAUGHT = 50
"""Generations whose training labels are stored."""


@dataclass(frozen=True, slots=True)
class LearningResult:
    """The result of a training."""

    strategy: Strategy | None
    """The new generation; None: nothing changed."""
    live: bool = True
    """False: the gate held it back."""
    note: str = ""
    """In words, for the list of generations."""
    trial: GateTrial | None = None
    again: bool = False
    """More pages would help without new examples: try again later."""
    examples: int = 0
    """Examples that it was trained with."""
    mark: TrainingMark | None = None
    """Which labels and visits it was given; None: the training failed."""


class GenerationBuilder:
    """Collects examples and trains generations. Independent of processes, stores and the crawl."""

    def __init__(self, visits: bool = False, key: bytes = b"") -> None:
        """``key``: a secret that decides which labels are held out."""
        self._visits = visits
        self._pool = ExamplePool(visits)
        self._held = LabelHoldout(key)
        self._known: dict[Url, float] = {}
        """Labels that generations of earlier runs were trained with."""
        self._taught: dict[int, dict[Url, float]] = {}
        """Those of each generation of this run: people may return to any of them."""
        self._double: tuple[int, Strategy | None] = (0, None)
        """The newest generation, and its shadow model, trained without held-out labels."""

    def offer(self, example: Example) -> None:
        if example.by in ("seed", "user"):
            self._held.add_label(example)
        self._pool.add(example)

    def remember(self, known: dict[Url, float]) -> None:
        self._known |= known

    def build_generation(self, strategy: Strategy) -> LearningResult:
        """The next generation of this strategy, tested at the gate."""
        labelled = self._pool.labelled_examples()
        believes: int = getattr(strategy, "believes", 0)
        judged = (
            self._pool.confident_judged(labelled, lambda page: strategy.judge(page).score, believes)
            if believes
            else self._pool.recent_judged(labelled)
        )
        own = {example.page.url for example in judged}
        assumed = [e for e in self._assumed_negatives(labelled) if e.page.url not in own]
        again = len({e.target >= 0.5 for e in (*labelled, *judged, *assumed)}) < 2
        background = self._pool.unlabelled_visits() if self._visits else []
        examples = (*labelled, *judged, *assumed, *background)
        if not examples:
            return LearningResult(None, note="no training examples yet")
        learned = strategy.learn(examples)
        note = _describe_examples(labelled, judged, assumed, background)
        if learned_note := getattr(learned, "note", ""):
            note = f"{note} ({learned_note})"
        if learned is strategy:
            missing = ": good and bad ones are needed" if again else ""
            note = f"no change after training on {note}{missing}"
            return LearningResult(None, note=note, again=again, examples=len(examples))
        trial, double = self._run_gate(strategy, labelled, (*judged, *assumed), background)
        mark = self._remember_taught(learned, labelled)
        if trial.passed:
            self._double = mark, double
            self._pool.set_learned(len(judged))
            self._pool.set_believed(judged if believes else ())
        note = f"{note}; {trial}" if trial.passed else f"{HELD_BACK_NOTE}: {note}; {trial}"
        return LearningResult(learned, trial.passed, note, trial, again, len(examples))

    def _run_gate(
        self,
        strategy: Strategy,
        labelled: Sequence[Example],
        others: Sequence[Example],
        visits: Sequence[Example],
    ) -> tuple[GateTrial, Strategy | None]:
        """Test at the gate. Every label is too valuable to be left out for good: a shadow model,
        trained without held-out labels, is tested instead of the new generation, against that of
        the old one. Held-out pages are not among the visits."""
        learning, held = self._held.split_examples(labelled)
        if not held:
            return GateTrial(0), None
        mark = _strategy_mark(strategy)
        known = self._taught.get(mark, self._known)
        newest, old = self._double
        if old is None or newest != mark:  # the first, or somebody chose another generation
            earlier = [example for example in learning if example.page.url in known]
            # Which of its own verdicts it believed is not known any more; most were these.
            old = _learn_verdicts(strategy, (*earlier, *others), visits) if earlier else strategy
        # From the old double, which knows already what it has learned from.
        new = _learn_verdicts(old, (*learning, *others), visits)
        return run_trial(old, new, held, known), new

    def _remember_taught(self, learned: Strategy, labelled: Sequence[Example]) -> int:
        """Store the labels of this generation; returns its mark."""
        mark = _strategy_mark(learned)
        self._taught.pop(mark, None)  # the newest last
        self._taught[mark] = {example.page.url: example.target for example in labelled}
        if len(self._taught) > _MAX_TAUGHT:
            del self._taught[next(iter(self._taught))]
        return mark

    def _assumed_negatives(self, labelled: Sequence[Example]) -> list[Example]:
        """Visited pages unlike the good ones, taken as bad, if people gave only good pages."""
        if not labelled or any(example.target < 0.5 for example in labelled):
            return []
        visits = self._pool.unlabelled_visits()
        if len(visits) < _MIN_BACKGROUND:
            return []
        most = min(len(visits) // 3, _ASSUMED_PER_GOOD * len(labelled))
        return sample_negatives(labelled, visits, most)


def _learn_verdicts(
    strategy: Strategy, examples: Sequence[Example], visits: Sequence[Example]
) -> Strategy:
    """The shadow model: visits count only where verdicts depend on them."""
    if isinstance(strategy, UnjudgedPageLearner):
        return strategy.learn_verdicts((*examples, *visits))
    return strategy.learn(examples)


def _strategy_mark(strategy: Strategy) -> int:
    """Identifies a generation, also after it was saved and loaded."""
    return zlib.crc32(pack_strategy("it", strategy))


def _describe_examples(
    labelled: Sequence[Example],
    judged: Sequence[Example],
    assumed: Sequence[Example],
    visits: Sequence[Example],
) -> str:
    good = sum(example.target >= 0.5 for example in labelled)
    parts = [f"{good} good and {len(labelled) - good} bad examples"]
    if judged:
        parts.append(f"{len(judged)} of its own verdicts")
    if assumed:
        parts.append(f"{len(assumed)} visited pages unlike the good ones, assumed to be bad")
    if visits:
        parts.append(f"{len(visits)} visits")
    return ", ".join(parts)
