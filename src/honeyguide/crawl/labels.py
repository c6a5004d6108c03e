"""People's labels on their way into the store."""

from __future__ import annotations

import time
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from honeyguide.config import Settings
from honeyguide.crawl import topics
from honeyguide.crawl.open_store import existing
from honeyguide.crawl.rescoring import count_labels
from honeyguide.crawl.user_urls import known
from honeyguide.errors import ConfigError
from honeyguide.store.labels import contradictions
from honeyguide.store.store import Store
from honeyguide.types import Label, Url


class Labelled(NamedTuple):
    """What became of some labels."""

    kept: int
    unfetched: int
    """Of them, for pages that were not fetched (yet)."""
    overruled: int = 0
    """Of them, those that say the opposite of topic.good and topic.bad."""
    unseen_bad: int = 0
    """Of those for pages that were not fetched, the bad ones: nothing is fetched for them."""


class Opposed(NamedTuple):
    """A label that contradicts somebody else's."""

    mine: Label
    theirs: Label
    counts: bool
    """Whether the page is now what this one says."""


def label(
    folder: Path,
    settings: Settings,
    judged: Iterable[tuple[str, float]],
    by: str,
    topic: str | None,
    *,
    count: bool = True,
) -> Labelled:
    """Keep them, and count what they say at once; a running crawl counts by itself.

    ``topic`` None: each is about the one that its page was judged best for. Without ``count``
    whoever calls counts later (:func:`honeyguide.crawl.rescoring.count_labels`).
    """
    pairs = list(judged)
    with existing(folder, "write") as store:
        done = _keep(store, settings, pairs, by, topic)
        urls = [known(store, text) for text, _ in pairs]
    if count:
        count_labels(folder, settings, urls)
    return done


def label_openly(
    folder: Path,
    settings: Settings,
    judged: Iterable[tuple[str, float]],
    by: str,
    topic: str | None = None,
    *,
    count: bool = True,
) -> tuple[Labelled, list[Opposed]]:
    """The same, and which of them contradict an earlier label of somebody else: what most say
    counts, and of a tie the newest, but not silently."""
    with existing(folder, "read") as store:
        newest = max((number for number, _ in store.labels(everyone=True)), default=0)
        done = label(folder, settings, judged, by, topic, count=count)
        pairs = contradictions(store.labels(everyone=True), newest)
        opposed = []
        for mine, theirs in pairs:
            if mine.by == by:
                found = store.labels_about(mine.url).get(mine.topic)
                counts = found is not None and (found.value >= 0.5) == (mine.value >= 0.5)
                opposed.append(Opposed(mine, theirs, counts))
    return done, opposed


def contested(folder: Path) -> int:
    """Pages of which people say both (of one topic)."""
    with existing(folder, "read") as store:
        said = contradictions(store.labels(everyone=True))
    return len({(mine.url, mine.topic) for mine, _ in said})


def _keep(
    store: Store,
    settings: Settings,
    judged: Iterable[tuple[str, float]],
    by: str,
    topic: str | None,
) -> Labelled:
    """All of them or none."""
    wanted = None if topic is None else topics.chosen(settings, topic)
    labels: dict[Url, Label] = {}
    for text, value in judged:
        if not 0 <= value <= 1:
            raise ConfigError(f"{text}: a label lies between 0 and 1, not at {value}")
        url = known(store, text)
        about = topics.likeliest(settings, store, url) if wanted is None else wanted
        label = Label(url, float(value), by, time.time(), about)
        if labels.setdefault(url, label).value != label.value:
            raise ConfigError(f"{url} is labelled both ways; say which it is")
    with store.transaction():
        store.label(labels.values())
    missing = [label for url, label in labels.items() if not store.visit(url)]
    opposed = sum(topics.opposed(settings, labels.values()))
    bad = sum(label.value < 0.5 for label in missing)
    return Labelled(len(labels), len(missing), opposed, bad)
