"""Which labels and examples no training run has had yet.

Every training run that ends leaves a mark: the newest label and the newest visit it was given. A
label is learned if it is not newer than that label and its page not newer than that visit. So what
a crash, a short run or Ctrl-C kept from being learned is found again, and counted.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import dataclass

from honeyguide import registry
from honeyguide.config.settings import Settings
from honeyguide.errors import HoneyguideError
from honeyguide.learning import topics
from honeyguide.store.generations import TrainingMark
from honeyguide.store.row_checks import parse_decimal
from honeyguide.store.store import Store
from honeyguide.types import Label, Url


@dataclass(frozen=True, slots=True)
class UnlearnedLabels:
    """How many labels and examples are not in force, and why."""

    waiting: int = 0
    """No training run had them yet."""
    unfetched: int = 0
    """Their pages were not fetched yet."""
    without_effect: int = 0
    """The last training run had them, but its generation does not decide."""
    why: str = ""
    """Why it does not."""

    def describe_labels(self, store: Store) -> Iterator[str]:
        """In sentences, with the command that helps."""
        name = shlex.quote(str(store.folder))
        if self.waiting:
            yield f"{_count_labels(self.waiting)} not learned yet: honeyguide learn {name}"
        if self.without_effect:
            yield f"{_count_labels(self.without_effect)} without effect so far: {self.why}"
        if self.unfetched:
            yield (
                f"{_count_labels(self.unfetched)} for pages that were not fetched, so nothing is "
                "learned from them yet"
            )


def _count_labels(number: int) -> str:
    return "1 label is" if number == 1 else f"{number} labels are"


def waiting_labels(store: Store, settings: Settings, mark: TrainingMark) -> dict[Url, bool]:
    """Pages here whose label or example was not learned; whether a person labelled them."""
    found = {
        url: False
        for url in topics.best_example_labels(settings)
        if store.visits.first_page_id(url) > mark.visit
    }
    for number, label in _labels_to_learn(store, settings):
        page = store.visits.first_page_id(label.url)
        if number > mark.label and teaches_unseen(store, label):
            found[label.url] = True
        if page and (number > mark.label or page > mark.visit):
            found[label.url] = True
    return found


def teaches_unseen(store: Store, label: Label) -> bool:
    """Whether it is of a bad search result, which teaches without being fetched."""
    return label.value < 0.5 and store.searches.find_result(label.url) is not None


def find_unlearned(store: Store, settings: Settings) -> UnlearnedLabels:
    """What the next training run will learn from, and what it cannot."""
    try:
        mark, labels = TrainingMark.from_store(store), _labels_to_learn(store, settings)
        waiting = waiting_labels(store, settings, mark)
        pages = {label.url: store.visits.first_page_id(label.url) for _, label in labels}
        taught = parse_decimal(store.get_meta("taught") or "") or 0
        idle = sum(
            number > taught and label.url not in waiting and pages[label.url] > 0
            for number, label in labels
        )
        found = UnlearnedLabels(
            len(waiting),
            sum(not pages[label.url] and not teaches_unseen(store, label) for _, label in labels),
            idle if mark.why else 0,
            mark.why if idle else "",
        )
        # A strategy is loaded only if there is something that it could learn.
        name = settings.crawl.strategy
        learns = found != UnlearnedLabels() and registry.find_strategy(name).traits.learns
    except HoneyguideError:
        return UnlearnedLabels()  # the topic is not complete: a crawl says so
    return found if learns else UnlearnedLabels()


def _labels_to_learn(store: Store, settings: Settings) -> list[tuple[int, Label]]:
    people = settings.learn.teacher in ("interactive", "both")
    return store.labels.effective_after() if people else []
