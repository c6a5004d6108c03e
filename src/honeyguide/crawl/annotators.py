"""Several people on one collection: what each of them said, took back, or would not say."""

from __future__ import annotations

import time
from pathlib import Path
from typing import NamedTuple

from honeyguide.config import Settings
from honeyguide.crawl import topics
from honeyguide.crawl.open_store import existing
from honeyguide.crawl.rescoring import count_labels
from honeyguide.crawl.user_urls import known
from honeyguide.learning.agreement import Agreement, agreement
from honeyguide.store.labels import Pass, Undone
from honeyguide.store.store import Store
from honeyguide.types import Url


class Person(NamedTuple):
    """What one person did so far."""

    name: str
    good: int
    bad: int
    unsure: int
    skipped: int


def undo(
    folder: Path,
    settings: Settings,
    text: str,
    by: str,
    topic: str | None = "",
    *,
    count: bool = True,
) -> Undone | None:
    """Take back a person's last word on a page, and count anew; None: there is none.

    A generation that has learned from it does not unlearn it, and a crawl that runs counts the page
    as the label said until it ends; another label corrects both.
    """
    with existing(folder, "write") as store:
        url = known(store, text)
        about = _about(settings, store, text, topic)
        done = store.people.undo(url, by, about)
    if count and done is not None and not isinstance(done.was, str):
        count_labels(folder, settings, [url])
    return done


def pass_over(
    folder: Path, settings: Settings, text: str, by: str, word: Pass, topic: str | None = ""
) -> None:
    """This person was asked about a page and gives no label: it is not asked about again."""
    with existing(folder, "write") as store:
        about = _about(settings, store, text, topic)
        store.people.pass_over(known(store, text), by, word, time.time(), about)


def people(store: Store) -> list[Person]:
    """Everybody who said something, the busiest first."""
    counts: dict[str, list[int]] = {}
    for _, label in store.labels(everyone=True):
        counts.setdefault(label.by, [0, 0, 0, 0])[0 if label.value >= 0.5 else 1] += 1
    for _, by, word in store.people.passes():
        counts.setdefault(by, [0, 0, 0, 0])[2 if word == "unsure" else 3] += 1
    found = [Person(name, *numbers) for name, numbers in counts.items()]
    return sorted(found, key=lambda person: -sum(person[1:]))


def agreed(store: Store) -> Agreement:
    """How far people agree where two of them labelled the same page for the same topic."""
    said: dict[str, dict[tuple[Url, str], bool]] = {}
    for _, label in store.labels(everyone=True):
        said.setdefault(label.by, {})[label.url, label.topic] = label.value >= 0.5
    return agreement(said)


def _about(settings: Settings, store: Store, text: str, topic: str | None) -> str:
    if topic is None:
        return topics.likeliest(settings, store, known(store, text))
    return topics.chosen(settings, topic)
