"""The interfaces of the package."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import ClassVar, Protocol, Self, runtime_checkable

from honeyguide import types

RankFunction = Callable[[Sequence[types.Link]], list[float]]


class Strategy(Protocol):
    """How one crawler decides. Pure, synchronous, a frozen dataclass, saved without pickle.

    A strategy gets facts about the topic by the names of its fields: ``keywords``, ``description``,
    ``language``, ``concepts``. All other fields are parameters with the default of the paper.
    """

    traits: ClassVar[types.StrategyTraits]

    def judge(self, page: types.Page) -> types.Verdict:
        """How relevant is this page?"""

    def rank(self, links: Sequence[types.Link]) -> list[float]:
        """How promising is each link, 0..1, without seeing its target?"""

    def explain(self, link: types.Link) -> tuple[types.Reason, ...]:
        """The reasons for the score of :meth:`rank`."""

    def learn(self, examples: Sequence[types.Example]) -> Self:
        """A new, trained strategy; one that cannot learn returns itself."""


@runtime_checkable
class UnjudgedPageLearner(Protocol):
    """A strategy whose verdicts also depend on visited pages that nobody judged."""

    def learn_verdicts(self, examples: Sequence[types.Example]) -> Self:
        """Like :meth:`Strategy.learn`, for verdicts only: links are ranked as before."""


@runtime_checkable
class LinkLearner(Protocol):
    """A strategy whose links can learn from the verdicts of another one.

    Others learn links from :meth:`Strategy.learn`, by labels and certain verdicts alone.
    """

    def learn_links(self, examples: Sequence[types.Example]) -> Self:
        """Like :meth:`Strategy.learn`, for links only; the target of a visit is the other's
        present verdict, and is to be believed."""


class Fetcher(Protocol):
    """Sends requests."""

    async def fetch(self, request: types.Request) -> types.Response:
        """One response for one request; redirects are not followed. Raises FetchError."""

    async def aclose(self) -> None: ...


class Frontier(Protocol):
    """Waiting candidates and the rests of hosts. Synchronous; the caller gives the time."""

    def push(self, candidates: Iterable[types.Candidate]) -> int:
        """Add links; a known link gets one more inlink. Returns how many were new."""

    def still_wanted(self, urls: Sequence[types.Url]) -> list[bool]:
        """Whether each address would still be visited: new, or waiting."""

    def pop(self, now: float) -> types.Candidate | None:
        """The best candidate of a rested host, which is busy until finish."""

    def finish(self, candidate: types.Candidate, now: float, rest: float) -> None:
        """The candidate is done; its host rests for that many seconds."""

    def retry(self, candidate: types.Candidate, now: float, rest: float, at: float) -> None:
        """The candidate failed and waits until ``at``; its host rests."""

    def defer(self, candidate: types.Candidate, now: float, rest: float, at: float) -> None:
        """The same for one that was not tried: the request was for robots.txt, or there was
        none."""

    def reopen(self, urls: Iterable[types.Url]) -> None:
        """Finished links wait again, as if they had never been tried."""

    def claim_host(self, host: str, now: float) -> float:
        """Claim a host without a candidate: 0 when claimed, else when to ask again."""

    def release_host(self, host: str, now: float, rest: float) -> None:
        """Release a claimed host; it rests."""

    def park_host(self, host: str, until: float) -> None:
        """No request to this host before that time (infinity: until a new time is set)."""

    def put_back(self, candidate: types.Candidate, now: float) -> None:
        """The candidate was not tried and waits as before; its host gives none until freed."""

    def free_held(self, host: str) -> None:
        """This host gives candidates again."""

    def rerank_all(self, rank: RankFunction) -> None:
        """Score all waiting links again, perhaps step by step."""

    def rerank_some(self, rank: RankFunction, urls: Sequence[types.Url], ahead: int) -> None:
        """Score these links again if they wait, and about so many of the best ones."""

    def lower_scores(self, limit: RankFunction) -> None:
        """Lower the scores of the best waiting links to these limits, until the best ones need
        no change."""

    def wake_at(self) -> float | None:
        """When pop may next return something: a time, or None if nothing waits."""

    def flush(self) -> None:
        """Write what is not in the log yet, inside the transaction of the store: once in each.

        It is kept until :meth:`confirm_flush`. Without confirmation the next flush asks the log
        whether it contains it, and writes it again if not.
        """

    def confirm_flush(self) -> None:
        """The transaction is committed."""

    def __len__(self) -> int:
        """Number of waiting links."""


class FrontierLog(Protocol):
    """The truth of a frontier: an append-only list of entries.

    Each entry has an index, scanned when a frontier opens, and a text, read one at a time.
    """

    def append(self, index: bytes, text: bytes) -> int:
        """Returns the number of the new entry; numbers grow."""

    def read_text(self, entry: int) -> bytes: ...

    def has_entry(self, entry: int) -> bool:
        """Whether this entry exists; not if its transaction failed."""

    def scan_entries(self) -> Iterator[tuple[int, bytes]]:
        """Number and index of every entry, in order."""


class FrontierOrder(Protocol):
    """Which link goes first: larger keys first, equal keys in order of arrival."""

    def sort_key(self, score: float, depth: int) -> float: ...

    def mark_served(self, key: float) -> None:
        """The candidate with this key was taken (proportional orders need it)."""


class Teacher(Protocol):
    """Makes training examples."""

    def example_from(self, visit: types.Visit) -> types.Example | None:
        """What can be learned from this visit, if anything."""
