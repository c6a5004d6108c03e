"""What is kept of searches, as values; and how a row becomes one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from honeyguide.store import row_checks as sound
from honeyguide.store.database import Row
from honeyguide.types import Url

MOST = 1_000
"""Results that are kept of one page."""
QUERY, TITLE, SNIPPET, DETAIL, NAME = 2_000, 300, 1_000, 1_000, 200
"""Characters that are kept of each."""
DEAREST = 1e6
"""No request costs more …"""
_DEEPEST, _LATEST = 1_000, 1e11
"""… and no page of results and no time is beyond these."""


@dataclass(frozen=True, slots=True)
class Search:
    """One request to an engine."""

    at: float
    engine: str
    query: str
    """As people write it; ``seeds.query.parse`` reads it."""
    page: int = 1
    by: str = "composed"
    """``composed``, ``user``, or a person's name."""
    address: str = ""
    """The public address of the results page: no key, no format."""
    outcome: str = ""
    """'' if it answered, else what went wrong: ``down``, ``slow``, ``limited`` …"""
    detail: str = ""
    results: int = 0
    more: bool = True
    """Whether the engine says that there are further pages."""
    fresh: int = 0
    """Results that the crawl did not know; 0 until it has taken them."""
    promised: float = 0.0
    """Mean score of those before they were fetched."""
    price: float = 0.0
    id: int = 0
    """0 before it is kept."""


class Hit(NamedTuple):
    """A result as it is kept; ``seeds.engine.Result`` has the same fields."""

    url: Url
    title: str = ""
    snippet: str = ""


class Place(NamedTuple):
    """Where an address stood among the results."""

    search: Search
    place: int
    """1 is the first."""


class Worth(NamedTuple):
    """What came of a query's results so far."""

    fetched: int
    relevant: int
    mean: float
    """Their mean verdict; what brought no page of its own counts as 0."""


class Channels(NamedTuple):
    """Relevant pages by who found them."""

    links: int
    search: int
    both: int


@dataclass(frozen=True, slots=True)
class Sums:
    """What was asked so far."""

    asked: int = 0
    """Requests that left; what no budget allowed is none of them …"""
    failed: int = 0
    """… of which were not answered."""
    queries: int = 0
    """Different ones."""
    results: int = 0
    fresh: int = 0
    price: float = 0.0


COLUMNS = (
    f"id, at, substr(engine, 1, {NAME}), substr(query, 1, {QUERY}), page, substr(by, 1, {NAME}),"
    f" substr(address, 1, {sound.LONGEST + 1}), substr(outcome, 1, {NAME}), "
    f"substr(detail, 1, {DETAIL}), results, more, fresh, promised, price"
)
"""Bounded in SQL: what is larger is not even read."""


def search_of(row: Row) -> Search:
    """As it left the database, which may be a stranger's."""
    (number, at, engine, query, page, by, address, outcome, detail, results, more, fresh,
     promised, price) = row  # fmt: skip
    return Search(
        _within(at, _LATEST),
        sound.text(engine),
        sound.text(query),
        min(sound.whole(page), _DEEPEST),
        sound.text(by),
        sound.some_address(address) or "",
        sound.text(outcome),
        sound.text(detail),
        min(sound.whole(results), MOST),
        bool(sound.whole(more)),
        min(sound.whole(fresh), MOST),
        float(sound.chance(promised)),
        _within(price, DEAREST),
        sound.whole(number),
    )


def _within(value: object, most: float) -> float:
    """A number from 0 to that one; any other says nothing."""
    found = float(sound.number(value))
    return found if 0 <= found <= most else 0.0
