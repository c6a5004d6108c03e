"""A decoded response, on its way to becoming a page."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass

from honeyguide.parse.directives import Directives
from honeyguide.types import Url

TEXT_LIMIT = 200_000
"""Most characters of text kept of one page."""

Wanted = Callable[[Collection[Url]], Collection[Url]]
"""Those of these addresses that would still be visited: on most pages few."""


def all_wanted(urls: Collection[Url]) -> Collection[Url]:
    return urls


@dataclass(frozen=True, slots=True)
class Source:
    """What every reader needs to know besides the text itself."""

    url: Url
    text: str
    charset: str
    media_type: str
    depth: int
    """Of the links that stand on it."""
    directives: Directives
    """What the headers ask; an HTML page may ask for more."""
    canonical: str = ""
    """The Link header's rel=canonical, as sent."""
    language: str = ""
    """As Content-Language says."""
    strip_tracking: bool = True
    outlinks: int = 500
    """Most links taken from it."""
    words: bool = True
    """False: only its links are wanted, with their anchors."""
    wanted: Wanted = all_wanted
    """Asked before more than its address is found out about a link."""
    utf8: bytes = b""
    """The text in UTF-8, where it came so; empty: nobody has it."""


def collapse(text: str) -> str:
    """The text with every run of whitespace as one space, none at the ends."""
    return " ".join(text.split())
