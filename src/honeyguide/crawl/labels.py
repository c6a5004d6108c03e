"""People's labels on their way into the store."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import NamedTuple

from honeyguide.config import Settings
from honeyguide.crawl import topics
from honeyguide.crawl.addresses import known
from honeyguide.errors import ConfigError
from honeyguide.store.store import Store
from honeyguide.types import Label, Url


class Labelled(NamedTuple):
    """What became of some labels."""

    kept: int
    unfetched: int
    """Of them, for pages that were not fetched (yet)."""
    overruled: int = 0
    """Of them, those that say the opposite of topic.good and topic.bad."""


def keep(
    store: Store,
    settings: Settings,
    judged: Iterable[tuple[str, float]],
    by: str,
    topic: str | None,
) -> Labelled:
    """All of them or none; ``topic`` None: each about the one its page was judged best for."""
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
    missing = sum(not store.visit(url) for url in labels)
    return Labelled(len(labels), missing, sum(topics.opposed(settings, labels.values())))
