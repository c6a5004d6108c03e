"""The rest of the ladder, for another body: what changed, and is it still the page?"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

from honeyguide.change import Change, Snapshot
from honeyguide.parse.blocks import read_snapshot
from honeyguide.types import Response, Url
from honeyguide.watch.compare.detect import compare
from honeyguide.watch.compare.health import Finding, examine
from honeyguide.watch.compare.volatile import Memory, early, observe, started
from honeyguide.watch.visit.due import Due

_MUCH = 4_000
"""Letters."""
_SMALL, _LATEST = 65_536, 256
"""Bytes of a body, and bodies: some 60 MB at most. Two for each page that waits for a second look:
with half as many, a round of a thousand pages read every fourth body twice."""

Relevance = Callable[[str], float]


class Known(NamedTuple):
    """The version before, and what is known of the page's restlessness."""

    body: bytes | None = None
    """None: this is the first."""
    content_type: str = "text/html"
    at: float = 0.0
    """When that version was last seen."""
    memory: Memory = Memory()
    template: frozenset[str] = frozenset()
    """What is masked on most pages of its host."""
    second: bool = False
    """It was fetched a moment ago, and only to see what differs at every visit."""
    hold: bool = False
    """It will be fetched again in a moment, and compared only then."""


class Seen(NamedTuple):
    """What a comparison came to."""

    change: Change | None = None
    memory: Memory = Memory()
    finding: Finding | None = None
    """What came is not the page."""


def look(known: Known, page: Due, response: Response, relevance: Relevance | None = None) -> Seen:
    """Compare a body with the one before; depends on nothing else."""
    new = read(response.body, page.url, response.header("content-type"))
    if known.body is None or (known.hold and _is_page(new)):
        return Seen(memory=known.memory, finding=examine(response, new))
    old = read(known.body, page.url, known.content_type)
    if finding := examine(response, new, old):
        return Seen(memory=known.memory, finding=finding)
    if known.second:
        return Seen(memory=started(early(old, new)))
    masks = known.memory.masks(known.template)
    change = compare(old, new, masks, relevance, at=response.started, since=known.at)
    return Seen(change, observe(known.memory, old, new, response.started - known.at))


def _is_page(snapshot: Snapshot) -> bool:
    """Whether it says too much to be an apology."""
    return sum(len(block.text) for block in snapshot.blocks) > _MUCH


def read(body: bytes, url: Url, content_type: str) -> Snapshot:
    """Its blocks. Those of small bodies are remembered for a while: a page that has changed is
    looked at again in a moment."""
    reading = _remembered if len(body) <= _SMALL else read_snapshot
    return reading(body, url, content_type or "text/html")


_remembered = lru_cache(maxsize=_LATEST)(read_snapshot)
