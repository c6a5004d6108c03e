"""A person in the lab who is asked about pages that were visited already, as `honeyguide ask` does.

The answers go through the store, like everybody's labels.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from honeyguide.config import Settings
from honeyguide.crawl.label_queries import questions, unlabelled
from honeyguide.lab.variants import ONE_IN
from honeyguide.lab.web import without_scheme
from honeyguide.store.store import Store
from honeyguide.types import Example, Label, Url


class Interview(Mapping[Url, tuple[float, Any]]):
    """Says nothing of the page that comes by; after every fifth, one of those before is asked."""

    def __init__(
        self,
        folder: Path,
        settings: Settings,
        relevant: frozenset[str],
        answers: int,
        examples: Sequence[Example],
        dice: random.Random | None = None,
    ) -> None:
        """``dice`` choose in place of ``honeyguide ask``: for comparison."""
        self._folder = folder
        self._settings = settings
        self._relevant = relevant
        self._left = answers
        self._examples = examples
        self._dice = dice
        self._pages = 0

    def __getitem__(self, url: Url) -> tuple[float, Any]:
        self._pages += 1
        if self._left and not self._pages % ONE_IN:
            with Store.open(self._folder, "write") as store:
                if chosen := self._choose(store):
                    self._left -= 1
                    store.label([Label(chosen, float(without_scheme(chosen) in self._relevant))])
        raise KeyError(url)

    def _choose(self, store: Store) -> Url | None:
        if self._dice is None:
            found = questions(store, self._settings, 1, self._examples)
            return found[0].row.url if found else None
        rows = unlabelled(store, [label.url for _, label in store.labels()])
        return self._dice.choice(rows).url if rows else None

    def __iter__(self) -> Iterator[Url]:
        return iter(())

    def __len__(self) -> int:
        return 0
