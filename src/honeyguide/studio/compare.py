"""The Compare screen: the generations of a collection."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from honeyguide.crawl.generations import Comparison, held_back, trial_of
from honeyguide.store.generations import Generation
from honeyguide.studio import comparisons
from honeyguide.studio.routes import Here, Route

_MOST = 500
"""Newest generations that are told."""

Number = Annotated[int, Meta(ge=0, le=(1 << 63) - 1)]


class Learned(msgspec.Struct, frozen=True):
    number: int
    strategy: str
    note: str
    at: float
    live: bool
    whole: bool
    """Whether one can go back to it; of very old ones only the note is kept."""
    held_back: bool
    """The gate did not let it decide."""
    visits: int
    relevant: int
    error: float | None
    """Mean squared error on held-back labels; None: it was not tried."""
    before: float | None
    """That of the one before it, on the same labels."""
    tried_on: int


class Generations(msgspec.Struct, frozen=True):
    live: int | None
    learns: bool
    left_out: int
    """Older ones that are not told."""
    rows: list[Learned]


class Choice(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    number: Number


class Live(msgspec.Struct, frozen=True):
    live: int


class Two(msgspec.Struct, frozen=True):
    one: Number
    other: Number


def generations(here: Here) -> Generations:
    learns = here.collection().learns
    with here.store() as store:
        known, live, counts = store.generations(), store.live(), store.counts().generations
    rows = [
        _row(one, one.number == live, *counts.get(one.number, (0, 0))) for one in known[-_MOST:]
    ]
    return Generations(live, learns, max(0, len(known) - _MOST), rows)


def _row(one: Generation, live: bool, visits: int, relevant: int) -> Learned:
    trial = trial_of(one)
    return Learned(
        one.number,
        one.name,
        one.note,
        one.at,
        live,
        one.size > 0,
        held_back(one),
        visits,
        relevant,
        trial.after if trial else None,
        trial.before if trial else None,
        trial.pages if trial else 0,
    )


def use(here: Here, body: Choice) -> Live:
    here.collection().use(body.number)
    return Live(body.number)


def compare(here: Here, query: Two) -> Comparison:
    return here.collection().compare(query.one, query.other)


_HERE = "/api/c/{name}/generations"
ROUTES: tuple[Route, ...] = (
    Route("GET", _HERE, generations, returns=Generations, summary="What the strategy learned"),
    Route(
        "POST", f"{_HERE}/use", use, body=Choice, returns=Live,
        summary="Go back, or forward, to a generation",
    ),
    Route(
        "GET", f"{_HERE}/compare", compare, query=Two, returns=Comparison,
        summary="Two generations on the same pages",
    ),
    *comparisons.ROUTES,
)  # fmt: skip
