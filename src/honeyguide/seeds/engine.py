"""What a search engine is to us: a query and a page in, results out."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from honeyguide.errors import SearchError as SearchError
from honeyguide.types import Url

if TYPE_CHECKING:
    from honeyguide.seeds.query import Query

WORDS: Final = 32
"""Most words of a question, negatives included; engines ignore more, or refuse them."""
CHARACTERS: Final = 400
"""Most characters of a question."""

_UNFIT = re.compile(r'[\x00-\x1f\x7f-\x9f\ud800-\udfff"“”„«»]+')
"""What a phrase cannot hold: control characters, halves of characters, and quotation marks."""
_COMMANDS = "-+!:?~@ "
"""A word that begins so is an order to many an engine: leave out, other engine, language."""


class Result(NamedTuple):
    """One entry of a results page, cleaned: no markup, no control characters, bounded."""

    url: Url
    title: str = ""
    snippet: str = ""


class Found(NamedTuple):
    """One results page."""

    results: tuple[Result, ...]
    more: bool = True
    """Whether a further page may have something."""
    dropped: int = 0
    """Entries that were no use: no web address, twice the same, beyond the first hundred."""


class Engine(Protocol):
    """One search engine, with its limits kept: whoever asks need not know of keys or prices."""

    name: str
    negatives: bool
    """It understands -"phrase"."""
    price: float
    """Of one request, in the user's currency; 0: free."""

    def address(self, query: Query, page: int) -> Url:
        """The public address of that results page, without key or format."""

    async def search(self, query: Query, page: int) -> Found:
        """Results page 1, 2, …; raises SearchError."""


def spoken(query: Query, *, negatives: bool) -> str:
    """The query as an engine reads it: phrases of several words in quotation marks.

    A person's own words go out as typed, on one line. Terms were found on pages, so that nothing
    in them may be an order to the engine. What does not fit is left out, last things first.
    """
    if query.text:
        typed = " ".join(re.sub(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]+", " ", query.text).split())
        return typed[:CHARACTERS].rstrip()
    parts = [_phrase(term) for term in query.terms]
    if negatives:
        # Always in quotation marks: a leading dash without them is also how dashes begin.
        parts += [f"-{_quoted(words)}" for term in query.without if (words := _plain(term))]
    said: list[str] = []
    count = size = 0
    for part in filter(None, parts):
        count += part.count(" ") + 1
        size += len(part) + 1
        if count > WORDS or size > CHARACTERS:
            break
        said.append(part)
    return " ".join(said)


def _phrase(term: str) -> str:
    words = _plain(term)
    return _quoted(words) if " " in words else words


def _plain(term: str) -> str:
    words = (word.lstrip(_COMMANDS) for word in _UNFIT.sub(" ", term).split())
    return " ".join(word for word in words if word)


def _quoted(words: str) -> str:
    return f'"{words}"'
