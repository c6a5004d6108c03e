"""A frontier with a border: links to other shards' hosts go out as letters, and theirs come in.

What lies inside is the ordinary frontier. A letter is written when the frontier is flushed, and so
in the transaction of the pages that its links stand on.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence

from honeyguide.cluster.host_leases import Loans
from honeyguide.cluster.message_outbox import Post
from honeyguide.cluster.messages import pack
from honeyguide.cluster.partition import Partition, shard_of
from honeyguide.crawl.scope_cache import LONG
from honeyguide.frontier.frontier import LinkFrontier
from honeyguide.protocols import Rank
from honeyguide.types import Candidate, Link, Url
from honeyguide.url import fingerprint

SIGHTINGS = 3
"""So often a link to another shard's host is told: where it stands again says little more."""
_REMEMBERED = 200_000
"""Links of which is known how often they were told."""
_MEMO = 50_000
"""Addresses of those that were told often enough: found without looking whose they are."""
_LETTER = 2_000
"""Most links of one letter."""
_PAUSE_S = 0.1


class BorderFrontier:
    """Implements :class:`honeyguide.protocols.Frontier`."""

    def __init__(
        self,
        own: LinkFrontier,
        partition: Partition,
        post: Post,
        loans: Loans,
        clock: Callable[[], float],
        sightings: int = SIGHTINGS,
    ) -> None:
        """``sightings``: how often a link to another shard's host is told; once is enough where
        links are served in the order in which they were found."""
        self.own = own
        self.post = post
        self.loans = loans
        self._partition = partition
        self._clock = clock
        self._sightings = sightings
        self._told: dict[int, int] = {}
        self._known: set[Url] = set()
        """Links that were told often enough, as far as remembered: most links of most pages."""
        self.links = 0
        """Links of this run that others were told of."""
        self._out: defaultdict[int, list[tuple[float, Link]]] = defaultdict(list)

    def __len__(self) -> int:
        return len(self.own)

    @property
    def settled(self) -> bool:
        """Nothing is under way between us and others."""
        return not self._out and self.post.settled and self.loans.settled

    def push(self, candidates: Iterable[Candidate]) -> int:
        near = []
        of, here = self._partition.of, self._partition.here
        for candidate in candidates:
            shard = of(candidate.link.url)
            if shard == here:
                near.append(candidate)
            else:
                self._tell(shard, candidate)
        return self.own.push(near)

    def wanted(self, urls: Sequence[Url]) -> list[bool]:
        known, of, here = self._known, self._partition.of, self._partition.here
        unsure = [url for url in urls if url not in known]
        near = {url for url in unsure if of(url) == here}
        answers = self.own.wanted([url for url in unsure if url in near])
        if len(near) == len(urls):
            return answers
        rest = iter(answers)
        return [next(rest) if url in near else self._open(url) for url in urls]

    def pop(self, now: float) -> Candidate | None:
        self.loans.lend(now)
        return None if self.post.full else self.own.pop(now)

    def finish(self, candidate: Candidate, now: float, rest: float) -> None:
        self.own.finish(candidate, now, rest)

    def retry(self, candidate: Candidate, now: float, rest: float, at: float) -> None:
        self.own.retry(candidate, now, rest, at)

    def defer(self, candidate: Candidate, now: float, rest: float, at: float) -> None:
        self.own.defer(candidate, now, rest, at)

    def take(self, host: str, now: float) -> float:
        owner = shard_of(host, self._partition.shards)
        if owner == self._partition.here:
            return self.own.take(host, now)
        return self.loans.take(host, owner, now)

    def release(self, host: str, now: float, rest: float) -> None:
        if shard_of(host, self._partition.shards) == self._partition.here:
            self.own.release(host, now, rest)
        else:
            self.loans.give_back(host, rest)

    def park(self, host: str, until: float) -> None:
        self.own.park(host, until)

    def rerank(self, rank: Rank) -> None:
        self.own.rerank(rank)

    def revise(self, rank: Rank, urls: Sequence[Url], ahead: int) -> None:
        self.own.revise(rank, urls, ahead)

    def wake_at(self) -> float | None:
        at = self.own.wake_at()
        # Whoever does not keep up with us is given time.
        return max(at, self._clock() + _PAUSE_S) if at is not None and self.post.full else at

    def flush(self) -> None:
        for shard, links in self._out.items():
            for start in range(0, len(links), _LETTER):
                self.post.put(shard, pack(links[start : start + _LETTER]))
        self._out.clear()
        self.post.flush()
        self.own.flush()

    def flushed(self) -> None:
        self.own.flushed()
        self.post.flushed(self._clock())

    def _open(self, url: Url) -> bool:
        """Whether another shard is to hear of this link of its own."""
        if url in self._known:
            return False
        if self._told.get(fingerprint(url), 0) < self._sightings:
            return True
        if len(url) <= LONG:
            if len(self._known) >= _MEMO:
                self._known.clear()
            self._known.add(url)
        return False

    def _tell(self, shard: int, candidate: Candidate) -> None:
        mark = fingerprint(candidate.link.url)
        times = self._told.get(mark, 0)
        if times < self._sightings:
            if len(self._told) >= _REMEMBERED:
                self._told.clear()
                self._known.clear()
            self._told[mark] = times + 1
            link = candidate.link
            if link.yields is not None:
                link = link._replace(yields=None)
            self._out[shard].append((candidate.score, link))
            self.links += 1
