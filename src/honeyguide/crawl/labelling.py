"""Labels and what others said of the same pages: the newest counts, but not silently."""

from __future__ import annotations

import shlex
from collections.abc import Iterable

from honeyguide.crawl.collection import Collection, Labelled
from honeyguide.errors import StoreError
from honeyguide.store.labels import contradictions
from honeyguide.store.store import Store
from honeyguide.types import Label


def reading(collection: Collection) -> Store:
    """Its store, to read; a StoreError that says what to do if there is none yet."""
    if not (collection.folder / "collection.db").exists():
        place = shlex.quote(str(collection.folder))
        raise StoreError(f"{collection.name} is not crawled yet; run: honeyguide crawl {place}")
    return Store.open(collection.folder, "read")


def label(
    collection: Collection, judged: Iterable[tuple[str, float]], by: str, topic: str | None = None
) -> tuple[Labelled, list[tuple[Label, Label]]]:
    """Keep them; and which of them contradict an earlier label of somebody else.

    Without a topic, of several, each is about the one that its page was judged best for.
    """
    with reading(collection) as store:
        newest = max((number for number, _ in store.labels()), default=0)
        done = collection.label_all(judged, by=by, topic=topic)
        pairs = contradictions(store.labels(), newest)
    return done, [(mine, theirs) for mine, theirs in pairs if mine.by == by]


def contested(collection: Collection) -> int:
    """Pages of which people say both (of one topic)."""
    with reading(collection) as store:
        return len({(mine.url, mine.topic) for mine, _ in contradictions(store.labels())})
