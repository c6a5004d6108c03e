"""Beside the questions of the Label screen: who labelled and how far they agree, what further
labels would buy, and which links go first now."""

from __future__ import annotations

import time

import msgspec

from honeyguide.crawl import annotators as people
from honeyguide.crawl import labels
from honeyguide.crawl import live_status as glimpse
from honeyguide.crawl.label_learning_curve import further
from honeyguide.studio.routes import Here, Route

NOBODY = "user"
"""Who labels where nobody said a name; as on the command line."""
_FRESH_S = 15.0
_PAIRS = 20
_TRIED = 200


class Person(msgspec.Struct, frozen=True):
    name: str
    good: int
    bad: int
    unsure: int
    skipped: int


class Pair(msgspec.Struct, frozen=True):
    one: str
    other: str
    pages: int
    agreed: float
    kappa: float | None


class People(msgspec.Struct, frozen=True):
    person: str
    people: list[Person]
    pairs: list[Pair]
    agreed: float | None
    kappa: float | None
    contested: int


class Tried(msgspec.Struct, frozen=True):
    generation: int
    labels: int
    error: float
    before: float
    pages: int


class Worth(msgspec.Struct, frozen=True):
    tried: list[Tried]
    per_ten: float | None
    unsure: float | None
    pages: int
    said: str


class Front(msgspec.Struct, frozen=True):
    url: str
    anchor: str
    score: float


class Top(msgspec.Struct, frozen=True):
    at: float | None
    fresh: bool
    """Whether a crawl is telling it now."""
    generation: int | None
    top: list[Front]


def everybody(here: Here) -> People:
    with here.store() as store:
        agreed = people.agreed(store)
        return People(
            here.person or NOBODY,
            [Person(*one) for one in people.people(store)[:_PAIRS]],
            [Pair(*pair) for pair in agreed.pairs[:_PAIRS]],
            agreed.agreed,
            agreed.kappa,
            labels.contested(here.place),
        )


def worth(here: Here) -> Worth:
    settings = here.collection().settings
    with here.store() as store:
        found = further(store, settings)
    tried = [Tried(*one) for one in found.tried[-_TRIED:]]
    return Worth(tried, found.per_ten, found.unsure, found.pages, found.said)


def top(here: Here) -> Top:
    seen = glimpse.read(here.place)
    if seen is None:
        return Top(None, False, None, [])
    fresh = not seen.ended and time.time() - seen.at < _FRESH_S
    front = [Front(one.url, one.anchor, one.score) for one in seen.frontier.top]
    return Top(seen.at, fresh, seen.generation, front)


_HERE = "/api/c/{name}/label"
ROUTES: tuple[Route, ...] = (
    Route(
        "GET", f"{_HERE}/people", everybody, returns=People,
        summary="Who labelled how much, and how far they agree",
    ),
    Route("GET", f"{_HERE}/worth", worth, returns=Worth, summary="What further labels would buy"),
    Route("GET", f"{_HERE}/top", top, returns=Top, summary="The links that go first now"),
)  # fmt: skip
