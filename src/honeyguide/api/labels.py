"""Labels of several annotators: recording, undoing, skipping, agreement."""

from __future__ import annotations

import time
from collections.abc import Hashable, Iterable, Mapping
from itertools import combinations
from pathlib import Path
from typing import NamedTuple, TypeVar

from honeyguide.api.check_values import check_labels
from honeyguide.api.user_urls import resolve_url
from honeyguide.config.settings import Settings
from honeyguide.crawl.rescore import apply_new_labels
from honeyguide.errors import ConfigError
from honeyguide.learning import topics
from honeyguide.learning.unlearned import teaches_unseen
from honeyguide.store.labels import PassReason, UndoneLabel, find_contradictions
from honeyguide.store.store import Store, open_existing_store
from honeyguide.types import Label, Url


class AnnotatorStats(NamedTuple):
    """What one person did so far."""

    name: str
    good: int
    bad: int
    unsure: int
    skipped: int


def undo_label(
    folder: Path,
    settings: Settings,
    text: str,
    by: str,
    topic: str | None = "",
    *,
    count: bool = True,
) -> UndoneLabel | None:
    """Take back a person's last word on a page, and count anew; None: there is none.

    A generation that has learned from it does not unlearn it, and a crawl that runs counts the page
    as the label said until it ends; another label corrects both.
    """
    with open_existing_store(folder, "write") as store:
        url = resolve_url(store, text)
        about = _label_topic(settings, store, text, topic)
        done = store.labels.undo_last(url, by, about)
    if count and done is not None and not isinstance(done.was, str):
        apply_new_labels(folder, settings, [url])
    return done


def record_skip(
    folder: Path, settings: Settings, text: str, by: str, word: PassReason, topic: str | None = ""
) -> None:
    """This person was asked about a page and gives no label: it is not asked about again."""
    with open_existing_store(folder, "write") as store:
        about = _label_topic(settings, store, text, topic)
        store.labels.pass_over(resolve_url(store, text), by, word, time.time(), about)


def annotator_stats(store: Store) -> list[AnnotatorStats]:
    """Everybody who said something, the busiest first."""
    counts: dict[str, list[int]] = {}
    for _, label in store.labels.everyone_after():
        counts.setdefault(label.by, [0, 0, 0, 0])[0 if label.value >= 0.5 else 1] += 1
    for _, by, word in store.labels.list_passes():
        counts.setdefault(by, [0, 0, 0, 0])[2 if word == "unsure" else 3] += 1
    found = [AnnotatorStats(name, *numbers) for name, numbers in counts.items()]
    return sorted(found, key=lambda person: -sum(person[1:]))


def _label_topic(settings: Settings, store: Store, text: str, topic: str | None) -> str:
    if topic is None:
        return topics.likeliest_topic(settings, store, resolve_url(store, text))
    return topics.resolve_topic(settings, topic)


# --------------------------------------------------------------------------------------------------
# People's labels on their way into the store.
# --------------------------------------------------------------------------------------------------


class LabelOutcome(NamedTuple):
    """What became of some labels."""

    kept: int
    unfetched: int
    """Of them, for pages that were not fetched (yet)."""
    overruled: int = 0
    """Of them, those that say the opposite of topic.good and topic.bad."""
    unseen_bad: int = 0
    """Of those for pages that were not fetched, the bad ones: nothing is fetched for them."""
    unseen_results: int = 0
    """Of the bad ones, search results: their headlines and snippets teach."""


class LabelConflict(NamedTuple):
    """A label that contradicts somebody else's."""

    mine: Label
    theirs: Label
    counts: bool
    """Whether the page is now what this one says."""


def add_labels(
    folder: Path,
    settings: Settings,
    judged: Iterable[tuple[str, float]],
    by: str,
    topic: str | None,
    *,
    count: bool = True,
) -> LabelOutcome:
    """Keep them, and count what they say at once; a running crawl counts by itself.

    ``topic`` None: each is about the one that its page was judged best for. Without ``count``
    whoever calls counts later (:func:`honeyguide.crawl.rescore.apply_new_labels`).
    """
    pairs = check_labels(judged)
    with open_existing_store(folder, "write") as store:
        done = _store_labels(store, settings, pairs, by, topic)
        urls = [resolve_url(store, text) for text, _ in pairs]
    if count:
        apply_new_labels(folder, settings, urls)
    return done


def label_with_conflicts(
    folder: Path,
    settings: Settings,
    judged: Iterable[tuple[str, float]],
    by: str,
    topic: str | None = None,
    *,
    count: bool = True,
) -> tuple[LabelOutcome, list[LabelConflict]]:
    """The same, and which of them contradict an earlier label of somebody else: what most say
    counts, and of a tie the newest, but not silently."""
    with open_existing_store(folder, "read") as store:
        newest = max((number for number, _ in store.labels.everyone_after()), default=0)
        done = add_labels(folder, settings, judged, by, topic, count=count)
        pairs = find_contradictions(store.labels.everyone_after(), newest)
        opposed = []
        for mine, theirs in pairs:
            if mine.by == by:
                found = store.labels.labels_by_topic(mine.url).get(mine.topic)
                counts = found is not None and (found.value >= 0.5) == (mine.value >= 0.5)
                opposed.append(LabelConflict(mine, theirs, counts))
    return done, opposed


def count_contested_pages(folder: Path) -> int:
    """Pages of which people say both (of one topic)."""
    with open_existing_store(folder, "read") as store:
        opposed = find_contradictions(store.labels.everyone_after())
    return len({(mine.url, mine.topic) for mine, _ in opposed})


def _store_labels(
    store: Store,
    settings: Settings,
    judged: Iterable[tuple[str, float]],
    by: str,
    topic: str | None,
) -> LabelOutcome:
    """All of them or none."""
    wanted = None if topic is None else topics.resolve_topic(settings, topic)
    labels: dict[Url, Label] = {}
    for text, value in judged:
        url = resolve_url(store, text)
        about = topics.likeliest_topic(settings, store, url) if wanted is None else wanted
        label = Label(url, value, by, time.time(), about)
        if labels.setdefault(url, label).value != label.value:
            raise ConfigError(f"{url} is labelled both ways; say which it is")
    with store.transaction():
        store.labels.add(labels.values())
    missing = [label for url, label in labels.items() if not store.visits.attempts_at(url)]
    opposed = sum(topics.opposes_examples(settings, labels.values()))
    bad = sum(label.value < 0.5 for label in missing)
    results = sum(teaches_unseen(store, label) for label in missing)
    return LabelOutcome(len(labels), len(missing), opposed, bad, results)


# --------------------------------------------------------------------------------------------------
# Agreement of annotators: labels of the same pages, two people at a time.
#
# Cohen 1960: kappa is the agreement beyond chance, given how often each of the two says yes,
# divided by the largest possible one. For more than two people Light 1971 takes the mean of the
# pairs; here each pair is weighted by the pages that both labelled, because few annotators label
# the same pages.
# --------------------------------------------------------------------------------------------------


PageKey = TypeVar("PageKey", bound=Hashable)


class AnnotatorPair(NamedTuple):
    """Two annotators on the pages that both labelled."""

    one: str
    other: str
    pages: int
    agreed: float
    """Share of these pages with equal labels."""
    kappa: float | None
    """1: they always agree; 0: no more than by chance; None: undefined, since one of them never
    varies."""


class AnnotatorAgreement(NamedTuple):
    """All pairs of annotators."""

    pairs: tuple[AnnotatorPair, ...]
    """Pairs with common pages, the most first."""
    agreed: float | None
    """Mean of all pairs, weighted by their pages; None without common pages."""
    kappa: float | None


def measure_agreement(labels: Mapping[str, Mapping[PageKey, bool]]) -> AnnotatorAgreement:
    """From annotator → page → whether it is relevant."""
    pairs = []
    for (one, ones), (other, others) in combinations(sorted(labels.items()), 2):
        both = [(ones[page], others[page]) for page in ones if page in others]
        if both:
            share = sum(a == b for a, b in both) / len(both)
            pairs.append(AnnotatorPair(one, other, len(both), share, cohen_kappa(both)))
    pairs.sort(key=lambda pair: -pair.pages)
    known = [(pair.kappa, pair.pages) for pair in pairs if pair.kappa is not None]
    agreed = _weighted_mean([(pair.agreed, pair.pages) for pair in pairs])
    return AnnotatorAgreement(tuple(pairs), agreed, _weighted_mean(known))


def cohen_kappa(both: list[tuple[bool, bool]]) -> float | None:
    """The kappa of two annotators from their pairs of labels."""
    count = len(both)
    if not count:
        return None
    one, other = sum(a for a, _ in both) / count, sum(b for _, b in both) / count
    chance = one * other + (1 - one) * (1 - other)
    if chance >= 1 - 1e-12:
        return None
    return (sum(a == b for a, b in both) / count - chance) / (1 - chance)


def _weighted_mean(values: list[tuple[float, int]]) -> float | None:
    weight = sum(pages for _, pages in values)
    return sum(value * pages for value, pages in values) / weight if weight else None


def annotator_agreement(store: Store) -> AnnotatorAgreement:
    """How far people agree where two of them labelled the same page for the same topic."""
    labels: dict[str, dict[tuple[Url, str], bool]] = {}
    for _, label in store.labels.everyone_after():
        labels.setdefault(label.by, {})[label.url, label.topic] = label.value >= 0.5
    return measure_agreement(labels)
