"""What a ring tells of itself: while it turns, and when it ends."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import TYPE_CHECKING, TypedDict

from honeyguide.crawl import stopping as exhausted
from honeyguide.crawl.languages import wanted_of
from honeyguide.crawl.progress import Progress, Report

if TYPE_CHECKING:
    from honeyguide.crawl.ring import Ring


class _Asking(TypedDict, total=False):
    asked: int
    unanswered: str
    ask_at: float


def progress(ring: Ring) -> Progress:
    """How it stands now."""
    out, tally, wake = ring.under_way(), ring.tally, ring.frontier.wake_at()
    return Progress(
        tally.visits,
        tally.pages,
        tally.relevant,
        tally.failures,
        waiting=len(ring.frontier),
        busy=len(out),
        sites=ring.manners.quota.domains(),
        generation=ring.generation,
        now=out[-1].link.url if out else None,
        next_at=wake if wake is not None and ring.clock() < wake < inf else None,
        stopping=ring.enough.asked,
        last_failure=tally.last_failure(),
        foreign=tally.foreign(wanted_of(ring.settings)),
        **_asking(ring),
    )


def _asking(ring: Ring) -> _Asking:
    """How it stands with the search engine."""
    if ring.searches is None:
        return {}
    questions = ring.searches.questions
    told: _Asking = {"asked": questions.asked, "unanswered": questions.unanswered}
    if questions.unanswered and not questions.stopped:
        told["ask_at"] = questions.ready
    return told


def report(ring: Ring, reason: str, began: float, warnings: Sequence[str]) -> Report:
    """How it ended; what was warned of besides comes after it."""
    now = progress(ring)
    asked = ring.searches.warnings if ring.searches is not None else ()
    return Report(
        now,
        reason,
        ring.clock() - began,
        now.next_at,
        ring.tally.trouble(),
        (*ring.store.warnings, *ring.lessons.warnings, *warnings, *asked),
        exhausted.beside(ring.coverage.estimate(len(ring.frontier)), ring.store),
    )
