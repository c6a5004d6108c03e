"""What a route of the studio is: a method, a path, and a plain function that answers.

An answer is synchronous and runs in a worker thread: ``answer(here)``, ``answer(here, query)``,
``answer(here, body)`` or ``answer(here, query, body)``, as the route has them. Placeholders of the
path beside ``{name}`` are fields of the query, by the same name (``/api/c/{name}/visits/{number}``
with ``number: int`` in the query's Struct). A list field of a query takes repeated parameters.

It returns a value of ``returns``, which becomes JSON; or :class:`Raw`, bytes of another kind; or
:class:`Stream`, which is sent as it comes. It refuses by raising: ConfigError is told as 400,
:class:`Missing` as 404, StoreError as 409, each with ``{"error": message}``; anything else is our
own bug, 500, whose traceback goes to the server's log only.

A store is opened for reading with ``with here.store() as store:``, anew for each request: that
takes some 8 ms, far less than a view may, and no connection is ever older than its collection. To
write, use ``crawl.existing.existing(here.place, "write")``. See :mod:`honeyguide.studio.context`.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

from honeyguide.errors import HoneyguideError
from honeyguide.studio.context import Here

__all__ = ["Here", "Missing", "Raw", "Route", "Stream"]


class Missing(HoneyguideError):
    """What the path names does not exist."""


@dataclass(frozen=True)
class Route:
    """One thing that may be asked of the studio, or done through it."""

    method: Literal["GET", "POST", "PUT", "DELETE"]
    path: str
    answer: Callable[..., Any]
    query: type | None = None
    """A msgspec.Struct: typed parameters with defaults and bounds."""
    body: type | None = None
    """A msgspec.Struct with ``forbid_unknown_fields=True``."""
    returns: Any = dict[str, Any]
    """A msgspec.Struct, or a list or dict of them; Raw or Stream where it is no JSON."""
    summary: str = ""
    most_bytes: int = 1_000_000
    """Of the body; at most ten million."""


@dataclass(frozen=True)
class Raw:
    """An answer that is no JSON. ``headers`` win over the studio's own, such as the policy of what
    a page may load."""

    body: bytes
    media: str = "text/plain; charset=utf-8"
    headers: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Stream:
    """An answer sent as it comes: an export, or events.

    A plain iterator runs in worker threads; one that waits for long should be asynchronous. Either
    is closed when the listener goes away.
    """

    chunks: Iterator[bytes] | AsyncIterator[bytes]
    media: str = "text/event-stream"
    headers: dict[str, str] = field(default_factory=dict)
