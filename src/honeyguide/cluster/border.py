"""A frontier with a border: links to other shards' hosts go out as letters, and theirs come in.

What lies inside is the ordinary frontier. A letter is written when the frontier is flushed, and so
in the transaction of the pages that its links stand on.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence

from honeyguide.cluster.loans import Loans
from honeyguide.cluster.messages import pack
from honeyguide.cluster.partition import Partition, shard_of
from honeyguide.cluster.post import Post
from honeyguide.frontier.frontier import LinkFrontier
from honeyguide.protocols import Rank
from honeyguide.types import Candidate, Link, Url
from honeyguide.url import fingerprint

_SIGHTINGS = 3
"""So often a link to another shard's host is told: where it stands again says little more."""
_REMEMBERED = 200_000
"""Links of which is known how often they were told."""
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
    ) -> None:
        self.own = own
        self.post = post
        self.loans = loans
        self._partition = partition
        self._clock = clock
        self._told: dict[int, int] = {}
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
        owns = self._partition.owns
        near = [url for url in urls if owns(url)]
        answers = self.own.wanted(near)
        if len(near) == len(urls):
            return answers
        found = dict(zip(near, answers, strict=True))
        told = self._told.get
        return [
            found[url] if url in found else told(fingerprint(url), 0) < _SIGHTINGS for url in urls
        ]

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

    def _tell(self, shard: int, candidate: Candidate) -> None:
        mark = fingerprint(candidate.link.url)
        times = self._told.get(mark, 0)
        if times < _SIGHTINGS:
            if len(self._told) >= _REMEMBERED:
                self._told.clear()
            self._told[mark] = times + 1
            link = candidate.link
            if link.yields is not None:
                link = link._replace(yields=None)
            self._out[shard].append((candidate.score, link))
            self.links += 1
