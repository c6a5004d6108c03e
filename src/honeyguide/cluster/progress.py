"""How a crawl with shards stands: the sums of how they stand."""

from __future__ import annotations

from collections.abc import Iterable

from honeyguide.cluster.messages import State
from honeyguide.crawl.progress import Progress


def summed(
    states: Iterable[State], before: tuple[int, int, int, int], generation: int, stopping: bool
) -> Progress:
    """``before``: visits, pages, relevant ones and failures that no shard knows of."""
    found = list(states)
    ready = [state.next_at for state in found if state.next_at is not None]
    visits, pages, relevant, failures = before
    return Progress(
        visits + sum(state.visits for state in found),
        pages + sum(state.pages for state in found),
        relevant + sum(state.relevant for state in found),
        failures + sum(state.failures for state in found),
        waiting=sum(state.waiting for state in found),
        busy=sum(state.busy for state in found),
        sites=sum(state.sites for state in found),
        generation=generation,
        now=next((state.now for state in found if state.now), None),
        next_at=min(ready) if ready and not any(state.busy for state in found) else None,
        stopping=stopping,
        last_failure=next((state.last_failure for state in found if state.last_failure), ""),
    )
