"""A page of the watch list, as the rest of the house sees it."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, get_args, get_type_hints

from honeyguide.store import row_checks as sound
from honeyguide.store.codec import clean
from honeyguide.store.database import Row
from honeyguide.types import Url
from honeyguide.url import host

State = Literal["watched", "paused", "removed", "gone"]
"""A removed page stays in the list, so that the crawl does not enter it again."""
Source = Literal["crawl", "user", "import", "config"]

STATES: frozenset[str] = frozenset(get_args(State))
_SOURCES = frozenset(get_args(Source))
_LONG = 4096
"""Characters of a validator or a note."""
_MASKS = 200_000
"""Characters of a page's masks."""
_BLOB = 4096
"""Bytes of a digest or a posterior."""
_HEAVIEST = 1e6


class WatchedRow(NamedTuple):
    """A page of the list."""

    id: int
    url: Url
    edited: int
    """The number of the last word of people, or of the crawl, on it."""
    added: float
    by: Source
    weight: float
    """How much it matters beside the others."""
    state: State
    visited: float | None = None
    """Last attempt."""
    succeeded: float | None = None
    """Last answer that could be compared."""
    changed: float | None = None
    """Last change that counted."""
    due: float | None = None
    """When the schedule meant to come back; told to people, decided anew by the schedule."""
    etag: str = ""
    modified: str = ""
    """Validators as the server sent them."""
    digest: bytes = b""
    """Of the body as it was last seen."""
    rate: bytes = b""
    """What is known of its rate of change, packed by whoever estimates it."""
    visits: int = 0
    changes: int = 0
    failures: int = 0
    """In a row."""
    masks: str = ""
    """What differs on it at every visit, as JSON."""
    note: str = ""

    @property
    def host(self) -> str:
        return host(self.url)


def note_of(text: str) -> str:
    return clean(text)[:_LONG]


def validator_of(text: str) -> str:
    """Half a validator is none."""
    return clean(text) if len(text) <= _LONG else ""


def weighed(value: Any) -> float:
    """A weight from 0 to the heaviest; 1 for what is no number."""
    known = type(value) in (int, float) and value == value
    return float(min(max(value, 0.0), _HEAVIEST)) if known else 1.0


def _state(value: Any) -> str:
    # Whatever it means: we do not ask a site for it.
    return value if type(value) is str and value in STATES else "paused"


def _source(value: Any) -> str:
    return value if type(value) is str and value in _SOURCES else "import"


def _heft(value: Any) -> float:
    return value if type(value) is float and 0 <= value <= _HEAVIEST else weighed(value)


def blob_of(value: Any) -> bytes:
    return value if type(value) is bytes and len(value) <= _BLOB else b""


def masks_of(value: Any) -> str:
    return value if type(value) is str and len(value) <= _MASKS else ""


_BY_NAME: dict[str, sound.Check] = {
    "url": sound.anything,  # looked at before
    "by": _source,
    "weight": _heft,
    "state": _state,
    "masks": masks_of,
}
_BY_KIND: dict[Any, sound.Check] = {
    int: sound.whole,
    float: sound.number,
    float | None: sound.some_number,
    str: sound.text,
    bytes: blob_of,
}
_SIEVE = sound.Sieve(
    tuple(_BY_NAME.get(name) or _BY_KIND[kind] for name, kind in get_type_hints(WatchedRow).items())
)


def row_of(row: Row) -> WatchedRow | None:
    """None if it has no address."""
    return WatchedRow._make(_SIEVE(row)) if sound.is_address(row[1]) else None
