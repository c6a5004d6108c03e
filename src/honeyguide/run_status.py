"""How a run stands: one value for the loop, shards and their sum, the live file and displays."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from honeyguide.types import Url

_SUMMED = ("visits", "pages", "relevant", "failures", "copies", "waiting", "busy", "sites")


Count = Annotated[int, Meta(ge=0, le=2**53)]
_LanguageCode = Annotated[
    str, Meta(pattern=r"\A[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*\Z", max_length=35)
]
_MAX_LANGUAGES = 1_000
"""Languages that are read: a status may come from a stranger's file."""


class RunStatus(msgspec.Struct, frozen=True):
    """How a crawl stands at one moment; its counts are those of the whole collection."""

    visits: Count = 0
    pages: Count = 0
    relevant: Count = 0
    failures: Count = 0
    waiting: Count = 0
    busy: Count = 0
    sites: Count = 0
    generation: Count = 0
    now: Url | None = None
    """The newest address under way."""
    next_at: float | None = None
    """When the next host is ready, if links wait."""
    doing: str = ""
    """What goes on, where it is not visits."""
    stopping: bool = False
    last_failure: str = ""
    foreign: Annotated[dict[_LanguageCode, Count], Meta(max_length=_MAX_LANGUAGES)] = {}
    """Pages in languages that are not wanted, by language."""
    asked: Count = 0
    """Requests to a search engine in this run."""
    unanswered: str = ""
    """Why the last of these requests were not answered; '': the last one was."""
    unlearned: Count = 0
    """Labels and examples that no training run had yet."""
    ask_at: float | None = None
    """When the engine is asked again; None: not in this run."""
    copies: Count = 0
    """Pages that repeat another; they are never relevant."""

    @property
    def harvest(self) -> float:
        return harvest_rate(self.relevant, self.visits)


Progress = RunStatus
"""Its public name."""
StatusObserver = Callable[[RunStatus], None]


def sum_statuses(shards: Iterable[RunStatus], **other: Any) -> RunStatus:
    """The status of a crawl from those of its shards; ``other`` fields are set as given."""
    found = list(shards)
    ready = [shard.next_at for shard in found if shard.next_at is not None]
    total = {name: sum(getattr(shard, name) for shard in found) for name in _SUMMED}
    total |= {
        "now": next((shard.now for shard in found if shard.now), None),
        "next_at": min(ready) if ready and not total["busy"] else None,
        "last_failure": next((shard.last_failure for shard in found if shard.last_failure), ""),
    }
    return RunStatus(**(total | other))


def harvest_rate(relevant: int, visits: int) -> float:
    """Relevant visits ÷ visits; 0 before the first visit."""
    return relevant / visits if visits else 0.0


def visit_rate(visits: float, seconds: float) -> float:
    """Visits per second; 0 where no time has passed."""
    return visits / seconds if seconds > 0 else 0.0
