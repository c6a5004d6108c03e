"""Finished visits that wait to be written together."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from honeyguide.crawl import stopping as exhausted
from honeyguide.crawl.visit import RobotsEntry
from honeyguide.learning.coverage import Coverage
from honeyguide.protocols import Frontier
from honeyguide.store.store import Store
from honeyguide.types import Visit

if TYPE_CHECKING:
    from honeyguide.crawl.search_session import Searches


@dataclass
class Batch:
    store: Store
    frontier: Frontier
    coverage: Coverage
    threshold: float
    searches: Searches | None = None
    visits: list[Visit] = field(default_factory=list)
    robots: list[RobotsEntry] = field(default_factory=list)
    """What robots.txt files said meanwhile."""

    def __len__(self) -> int:
        return len(self.visits)

    def write(self) -> list[Visit]:
        """One transaction: finished visits, their links, and what robots.txt files said; which
        visits these were."""
        visits, self.visits = self.visits, []
        robots, self.robots = self.robots, []
        with self.store.transaction():
            self.store.append(visits, self.threshold)
            self.frontier.flush()
            for entry in robots:
                self.store.save_robots(*entry)
            self.store.set_meta("waiting", str(len(self.frontier)))
            exhausted.keep(self.store, self.coverage)
            if self.searches is not None:
                self.searches.keep()
        self.frontier.flushed()
        if self.searches is not None:
            self.searches.kept()
        return visits
