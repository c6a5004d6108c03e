"""Every interface of the house on one screen."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import ClassVar, Protocol, Self

from honeyguide import types

RankFunction = Callable[[Sequence[types.Link]], list[float]]


class Strategy(Protocol):
    """How one crawler decides. Pure, synchronous, a frozen dataclass, saved without pickle.

    A strategy takes what it needs of the topic by naming its fields so: ``keywords``,
    ``description``, ``language``, ``concepts``; every other field is a parameter with the
    paper's default.
    """

    traits: ClassVar[types.StrategyTraits]

    def judge(self, page: types.Page) -> types.Verdict:
        """How relevant is this page?"""

    def rank(self, links: Sequence[types.Link]) -> list[float]:
        """How promising is each link, 0..1, without seeing its target?"""

    def explain(self, link: types.Link) -> tuple[types.Reason, ...]:
        """Why :meth:`rank` says what it says of this link."""

    def learn(self, examples: Sequence[types.Example]) -> Self:
        """A new strategy that has learned; one that cannot learn returns itself."""


class Fetcher(Protocol):
    """Network in, response out."""

    async def fetch(self, request: types.Request) -> types.Response:
        """One request, one answer; redirects are answers. Raises FetchError."""

    async def aclose(self) -> None: ...


class Frontier(Protocol):
    """Waiting candidates and the hosts' rest. Synchronous; told the time."""

    def push(self, candidates: Iterable[types.Candidate]) -> int:
        """Take links in; a link known already counts as one more inlink. How many were new."""

    def still_wanted(self, urls: Sequence[types.Url]) -> list[bool]:
        """Which of these would still be visited: new, or waiting."""

    def pop(self, now: float) -> types.Candidate | None:
        """The best candidate among hosts that are rested; its host is busy until finish."""

    def finish(self, candidate: types.Candidate, now: float, rest: float) -> None:
        """It is done for good; its host rests for that many seconds."""

    def retry(self, candidate: types.Candidate, now: float, rest: float, at: float) -> None:
        """It was tried and goes back, not before ``at``; its host rests."""

    def defer(self, candidate: types.Candidate, now: float, rest: float, at: float) -> None:
        """The same for one that was not tried: its turn went to robots.txt, or it had none."""

    def claim_host(self, host: str, now: float) -> float:
        """Claim a host without a candidate: 0 when claimed, else when to ask again."""

    def release_host(self, host: str, now: float, rest: float) -> None:
        """Give a taken host back; it rests."""

    def park_host(self, host: str, until: float) -> None:
        """No request to this host before that time (infinity: until unparked by a new time)."""

    def rerank_all(self, rank: RankFunction) -> None:
        """Score what waits anew; may happen step by step as the ring turns."""

    def rerank_some(self, rank: RankFunction, urls: Sequence[types.Url], ahead: int) -> None:
        """Score these anew, as far as they wait, and about so many of those in front."""

    def wake_at(self) -> float | None:
        """When pop may next have something: a time, or None if nothing is waiting."""

    def flush(self) -> None:
        """Write what the log does not hold yet, inside the store's transaction: once in each.

        It is kept until :meth:`confirm_flush`. A flush that nobody confirms is settled by the next
        one, which asks the log whether it kept it and, if not, writes it again.
        """

    def confirm_flush(self) -> None:
        """The transaction is committed: what was flushed stays."""

    def __len__(self) -> int:
        """How many links wait."""


class FrontierLog(Protocol):
    """Where a frontier's truth lies: an append-only list of entries.

    Each entry has an index, scanned when a frontier opens, and a text, looked up one at a time.
    """

    def append(self, index: bytes, text: bytes) -> int:
        """The new entry's number; numbers grow."""

    def read_text(self, entry: int) -> bytes: ...

    def has_entry(self, entry: int) -> bool:
        """Whether this entry is there; not if its transaction failed."""

    def scan_entries(self) -> Iterator[tuple[int, bytes]]:
        """Every entry's number and index, in order."""


class FrontierOrder(Protocol):
    """Who goes first. Larger keys first; equal keys in order of arrival."""

    def sort_key(self, score: float, depth: int) -> float: ...

    def mark_served(self, key: float) -> None:
        """The candidate with this key was taken (proportional orders keep time by it)."""


class Teacher(Protocol):
    def example_from(self, visit: types.Visit) -> types.Example | None:
        """What can be learned from this visit, if anything."""
