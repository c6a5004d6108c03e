"""How a watch stands, for those who look on."""

from __future__ import annotations

from typing import Any, NamedTuple

from honeyguide.types import Url
from honeyguide.watch.record import Record
from honeyguide.watch.visit.due import Outcome

RUNNING = ("watch", "process")
"""The fact under which a watch keeps its process's number."""


class Tally(NamedTuple):
    """Of one run."""

    watched: int = 0
    visits: int = 0
    unchanged: int = 0
    changes: int = 0
    """That were told of as such, of any kind."""
    failures: int = 0
    discovered: int = 0
    """Relevant pages that were not watched before."""
    told: int = 0
    """Messages sent."""
    next_at: float | None = None
    now: Url | None = None
    trouble: str = ""

    def after(self, outcome: Outcome[Any], made: Record, watched: int) -> Tally:
        """Once a page came back."""
        lost = outcome.state in ("failed", "aside") and made.change is None
        looked = outcome.state in ("unchanged", "changed") and outcome.page.digest != b""
        why = outcome.failure.detail or outcome.failure.kind if outcome.failure else ""
        return self._replace(
            watched=watched,
            visits=self.visits + (outcome.state != "later"),
            unchanged=self.unchanged + (looked and made.change is None and made.held is None),
            changes=self.changes + (made.change is not None),
            failures=self.failures + lost,
            now=outcome.page.url,
            trouble=f"{outcome.page.url}: {why or outcome.status}" if lost else self.trouble,
        )
