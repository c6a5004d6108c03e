"""Everything that can go wrong, drawn once.

The web failing is data and ends as a :class:`~honeyguide.types.Failure` in the journal; a
user's mistake is a message with a fix; our own failing is an exception.

    HoneyguideError
      ConfigError          before any I/O; names the key and the nearest right one
      FetchError           url, cause; the class says whether to retry and whom to blame
        DnsError           the name does not resolve
        ConnectError       nobody answers, or the connection broke
        TlsError           the certificate or the handshake is bad
        FetchTimeout       a phase took too long
        ProtocolError      what came is not HTTP, or does not decode
        TooLarge           the body passes its cap, or inflates beyond reason
        TooManyRedirects   more than the allowed hops
        Forbidden          robots.txt or a private address: we may not
        WrongType          a media type that we do not read
      ParseError           a response that cannot be read as a page
      ModelError           a strategy that cannot be built, loaded or saved
      StoreError           the collection on disk cannot be used
        CollectionLocked   another process is crawling it
        CollectionTooNew   made by a newer version
        CollectionCorrupt  the database or a WARC file is damaged
        DiskFull           no room left; nothing lost
      SearchError          a search engine that brought no results; kind, detail, wait
      ClusterError         shards, their machines, or the storage they share
        Unreached          the storage did not answer: perhaps it was done, perhaps not
        Fenced             another process owns this shard now; this one never again
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar, Literal


class HoneyguideError(Exception):
    """The root; ``exit_code`` is what the command line returns for it (docs/reference)."""

    exit_code: ClassVar[int] = 1


class ConfigError(HoneyguideError):
    exit_code = 2


class FetchError(HoneyguideError):
    """A fetch that brought no response. ``kind`` is the word the journal uses."""

    kind: ClassVar[str] = "fetch"
    exit_code = 6

    def __init__(self, url: str, detail: str = "") -> None:
        super().__init__(f"{url}: {detail}" if detail else url)
        self.url = url
        self.detail = detail


class DnsError(FetchError):
    kind = "dns"


class ConnectError(FetchError):
    kind = "connect"


class TlsError(FetchError):
    kind = "tls"


class FetchTimeout(FetchError):
    kind = "timeout"


class ProtocolError(FetchError):
    kind = "protocol"


class TooLarge(FetchError):
    kind = "too_large"


class TooManyRedirects(FetchError):
    kind = "too_many_redirects"


class Forbidden(FetchError):
    kind = "forbidden"


class WrongType(FetchError):
    kind = "wrong_type"


class ParseError(HoneyguideError):
    pass


class ModelError(HoneyguideError):
    exit_code = 7


class StoreError(HoneyguideError):
    exit_code = 3


class CollectionLocked(StoreError):
    exit_code = 4


class CollectionTooNew(StoreError):
    exit_code = 5


class CollectionCorrupt(StoreError):
    exit_code = 3


class DiskFull(StoreError):
    exit_code = 8


class ClusterError(HoneyguideError):
    exit_code = 10


class StorageUnreachable(ClusterError):
    pass


class ShardFenced(ClusterError):
    pass


SearchFailure = Literal["down", "slow", "limited", "refused", "garbage", "spent"]
"""Why a search engine brought no results: nobody answers, not in time, asked too often, it will
not (key, address, format), its answer is no list of results, or the month's budget is used up."""


class SearchError(HoneyguideError):
    """A question that a search engine did not answer. Never holds the user's key."""

    exit_code = 9

    def __init__(self, kind: SearchFailure, detail: str = "", wait: float = 0.0) -> None:
        super().__init__(
            f"the search engine is {_FAILURE_WORDS[kind]}" + (f": {detail}" if detail else "")
        )
        self.kind: SearchFailure = kind
        self.detail = detail
        self.wait = wait
        """Seconds before asking again makes sense; infinity: not in this run."""


_FAILURE_WORDS: dict[SearchFailure, str] = {
    "down": "down",
    "slow": "too slow",
    "limited": "asked too often",
    "refused": "refusing requests",
    "garbage": "sending invalid answers",
    "spent": "used as much as the budget allows",
}


_MAX_NAMES = 40
"""Names that a message lists."""


def suggest_name(name: str, known: Iterable[str], shown: str = "{!r}") -> str:
    """The end of a message about an unknown name: the nearest known one, or all of them."""
    from difflib import get_close_matches

    names = list(known)
    if near := get_close_matches(name, names, 1):
        return f"did you mean {shown.format(near[0])}?"
    return f"known: {', '.join(names[:_MAX_NAMES])}{', …' * (len(names) > _MAX_NAMES)}"
