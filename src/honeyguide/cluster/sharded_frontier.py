"""The frontier of a shard: which shard owns a host, leases of hosts between shards, and links
that are sent to other shards.

All hosts of a domain live together, so that politeness, robots.txt, quotas and copies within a site
are one shard's business. How many shards there are is fixed while they live; a machine that comes
or goes moves whole shards.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from honeyguide.cluster.messages import (
    LeaseDeferral,
    LeaseGrant,
    LeaseRequest,
    LeaseReturn,
    LinkOutbox,
    pack_links,
)
from honeyguide.crawl.process_page import MAX_CACHED_URL
from honeyguide.frontier.frontier import LinkFrontier
from honeyguide.protocols import RankFunction
from honeyguide.store.shards import shard_of as shard_of
from honeyguide.types import Candidate, Link, Url
from honeyguide.url import host_of, url_fingerprint

MAX_SHARDS = 999
"""Shards that a collection can have: their number is part of the names of WARC files."""
_HOST_MEMO = 100_000


class ShardPartition:
    """Whose an address is, remembered by what stands between its slashes."""

    def __init__(self, here: int, shards: int) -> None:
        self.here = here
        self.shards = shards
        self._known: dict[str, int] = {}

    def shard_of_url(self, url: Url) -> int:
        place = url.split("/", 3)[2]
        shard = self._known.get(place)
        if shard is None:
            if len(self._known) >= _HOST_MEMO:
                self._known.clear()
            shard = self._known[place] = shard_of(host_of(url), self.shards)
        return shard

    def owns_url(self, url: Url) -> bool:
        return self.shard_of_url(url) == self.here


# -- Host leases --
#
# Whoever wants it asks its owner, who lends it when it is rested and leaves it alone meanwhile; so
# no host is ever asked by two at once. A loan that does not come back is taken back after a time in
# which every request is long over.


_RETRY_S = 0.25
"""When to come again for a host that was asked for."""
_UNUSED_S = 20.0
"""A host that was lent and not wanted any more goes back."""
_SOON_S = 5.0
"""Requests for hosts that are not ready within these seconds get the time when they will be."""
_ANSWER_TIMEOUT_S = 10.0
"""An owner that did not answer is asked again."""


@dataclass
class HostLeases:
    here: int
    own: LinkFrontier
    longest_s: float
    """No request takes longer."""
    send: Callable[[LeaseRequest | LeaseGrant | LeaseDeferral | LeaseReturn], None]
    note: Callable[[list[str]], None] = lambda _: None
    """On a cluster: writes down which hosts are lent, for who comes after us."""
    lend: Callable[[LeaseGrant], None] | None = None
    """On a cluster: says that a host is lent once that is safe."""

    def __post_init__(self) -> None:
        self._lost_s = 2 * self.longest_s + _UNUSED_S
        self._tell = self.lend or self.send
        self._asked: dict[str, float] = {}
        self._later: dict[str, float] = {}
        """Hosts that are not to be had before a time."""
        self._have: dict[str, tuple[int, float]] = {}
        """Hosts that we may ask, whose they are, and since when."""
        self._used: dict[str, int] = {}
        self._wanted: dict[str, dict[int, float]] = {}
        """Hosts of ours that others wait for, and their tickets."""
        self._lent: dict[str, tuple[int, float]] = {}

    @property
    def is_settled(self) -> bool:
        """Nothing is lent or borrowed, and nobody waits for an answer."""
        return not (self._asked or self._have or self._used or self._wanted or self._lent)

    # -- who borrows -------------------------------------------------------------------------

    def borrow_host(self, host: str, owner: int, now: float) -> float:
        """0 when the host is ours for one request, else when to ask again."""
        if host in self._have:
            by, since = self._have.pop(host)
            if now - since <= _UNUSED_S:
                self._used[host] = by
                return 0.0
            self.send(LeaseReturn(self.here, by, host, 0.0))  # its owner may have it back by now
        if (until := self._later.get(host, 0.0)) > now:
            return until
        self._later.pop(host, None)
        if now - self._asked.get(host, float("-inf")) > _ANSWER_TIMEOUT_S:
            self._asked[host] = now
            self.send(LeaseRequest(self.here, owner, host, now))
        return now + _RETRY_S

    def handle_grant(self, message: LeaseGrant) -> None:
        if self._asked.get(message.host) != message.ticket:
            # It answers what we, or one before us, asked long ago: who knows whose it is by now.
            if not any(message.host in known for known in (self._asked, self._have, self._used)):
                self.send(LeaseReturn(self.here, message.by, message.host, 0.0))
            return
        del self._asked[message.host]
        self._have[message.host] = message.by, message.ticket

    def handle_deferral(self, message: LeaseDeferral) -> None:
        if self._asked.get(message.host) == message.ticket:
            del self._asked[message.host]
            self._later[message.host] = message.until

    def give_back(self, host: str, rest: float) -> None:
        owner = self._used.pop(host, None)
        if owner is not None:
            self.send(LeaseReturn(self.here, owner, host, rest))

    def restore_lent_hosts(self, hosts: list[str], now: float) -> None:
        """Hosts that one before us had lent: they are left alone until whoever has them is done."""
        for host in hosts:
            self.own.park_host(host, now + self._lost_s)

    # -- who lends ---------------------------------------------------------------------------

    def handle_request(self, message: LeaseRequest, now: float) -> None:
        lent = self._lent.get(message.host)
        if lent is not None and lent[0] == message.by:
            self._lent[message.host] = message.by, now
            self._tell(
                LeaseGrant(self.here, message.by, message.host, message.ticket)
            )  # it was lost
            return
        self._wanted.setdefault(message.host, {})[message.by] = message.ticket
        self._lend_host(message.host, now)

    def handle_return(self, message: LeaseReturn, now: float) -> None:
        lent = self._lent.get(message.host)
        if lent is not None and lent[0] == message.by:
            del self._lent[message.host]
            self.note(list(self._lent))
            self.own.release_host(message.host, now, message.rest)

    def lend_ready_hosts(self, now: float) -> None:
        """Lend what is rested by now: who waits for a host goes before our own links."""
        for host in list(self._wanted):
            self._lend_host(host, now)

    def tick(self, now: float) -> None:
        """Lend what is rested by now; take back, and give back, what nobody needs."""
        self.lend_ready_hosts(now)
        for host, (_, since) in list(self._lent.items()):
            if now - since > self._lost_s:
                del self._lent[host]
                self.own.release_host(host, now, 0.0)
        for host, at in list(self._asked.items()):
            if now - at > self._lost_s:
                del self._asked[host]  # nobody answered, and nobody here asked again
        for host, (owner, since) in list(self._have.items()):
            if now - since > _UNUSED_S:
                del self._have[host]
                self.send(LeaseReturn(self.here, owner, host, 0.0))

    def _lend_host(self, host: str, now: float) -> None:
        if host in self._lent:
            return
        if at := self.own.claim_host(host, now):
            if at - now > _SOON_S:
                for to, ticket in self._wanted.pop(host).items():
                    self.send(LeaseDeferral(self.here, to, host, at, ticket))
            return
        to = next(iter(self._wanted[host]))
        ticket = self._wanted[host].pop(to)
        if not self._wanted[host]:
            del self._wanted[host]
        self._lent[host] = to, now
        self.note(list(self._lent))
        self._tell(LeaseGrant(self.here, to, host, ticket))


# -- The frontier --
#
# What lies inside is the ordinary frontier. A letter is written when the frontier is flushed, and
# so in the transaction of the pages that its links stand on.


SIGHTINGS = 3
"""Times that a link to another shard's host is sent; further sightings say little more."""
_COUNTED_LINKS = 200_000
"""Links whose number of sightings is remembered."""
_KNOWN_MEMO = 50_000
"""Addresses remembered as sent often enough."""
_LINKS_PER_BATCH = 2_000
"""Most links of one batch."""
_PAUSE_S = 0.1


@dataclass
class ShardedFrontier:
    """Implements :class:`honeyguide.protocols.Frontier`."""

    own: LinkFrontier
    partition: ShardPartition
    post: LinkOutbox
    loans: HostLeases
    clock: Callable[[], float]
    sightings: int = SIGHTINGS
    """How often a link to another shard's host is told; once is enough where links are served in
    the order in which they were found."""
    links: int = 0
    """Links of this run that were sent to other shards."""
    _told: dict[int, int] = field(default_factory=dict)
    _known: set[Url] = field(default_factory=set)
    """Links that were sent often enough, as far as remembered."""
    _out: dict[int, list[tuple[float, Link]]] = field(default_factory=lambda: defaultdict(list))

    def __len__(self) -> int:
        return len(self.own)

    @property
    def is_settled(self) -> bool:
        """Nothing is under way between us and others."""
        return not self._out and self.post.is_settled and self.loans.is_settled

    def push(self, candidates: Iterable[Candidate]) -> int:
        near = []
        of, here = self.partition.shard_of_url, self.partition.here
        for candidate in candidates:
            shard = of(candidate.link.url)
            if shard == here:
                near.append(candidate)
            else:
                self._queue_foreign_link(shard, candidate)
        return self.own.push(near)

    def still_wanted(self, urls: Sequence[Url]) -> list[bool]:
        known, of, here = self._known, self.partition.shard_of_url, self.partition.here
        unsure = [url for url in urls if url not in known]
        near = {url for url in unsure if of(url) == here}
        answers = self.own.still_wanted([url for url in unsure if url in near])
        if len(near) == len(urls):
            return answers
        rest = iter(answers)
        return [next(rest) if url in near else self._is_untold(url) for url in urls]

    def pop(self, now: float) -> Candidate | None:
        self.loans.lend_ready_hosts(now)
        return None if self.post.is_full else self.own.pop(now)

    def finish(self, candidate: Candidate, now: float, rest: float) -> None:
        self.own.finish(candidate, now, rest)

    def retry(self, candidate: Candidate, now: float, rest: float, at: float) -> None:
        self.own.retry(candidate, now, rest, at)

    def defer(self, candidate: Candidate, now: float, rest: float, at: float) -> None:
        self.own.defer(candidate, now, rest, at)

    def reopen(self, urls: Iterable[Url]) -> None:
        self.own.reopen(urls)

    def claim_host(self, host: str, now: float) -> float:
        owner = shard_of(host, self.partition.shards)
        if owner == self.partition.here:
            return self.own.claim_host(host, now)
        return self.loans.borrow_host(host, owner, now)

    def release_host(self, host: str, now: float, rest: float) -> None:
        if shard_of(host, self.partition.shards) == self.partition.here:
            self.own.release_host(host, now, rest)
        else:
            self.loans.give_back(host, rest)

    def park_host(self, host: str, until: float) -> None:
        self.own.park_host(host, until)

    def put_back(self, candidate: Candidate, now: float) -> None:
        self.own.put_back(candidate, now)

    def free_held(self, host: str) -> None:
        self.own.free_held(host)

    def rerank_all(self, rank: RankFunction) -> None:
        self.own.rerank_all(rank)

    def rerank_some(self, rank: RankFunction, urls: Sequence[Url], ahead: int) -> None:
        self.own.rerank_some(rank, urls, ahead)

    def lower_scores(self, limit: RankFunction) -> None:
        self.own.lower_scores(limit)

    def wake_at(self) -> float | None:
        at = self.own.wake_at()
        # Whoever does not keep up with us is given time.
        return max(at, self.clock() + _PAUSE_S) if at is not None and self.post.is_full else at

    def flush(self) -> None:
        for shard, links in self._out.items():
            for start in range(0, len(links), _LINKS_PER_BATCH):
                self.post.queue_batch(shard, pack_links(links[start : start + _LINKS_PER_BATCH]))
        self._out.clear()
        self.post.flush()
        self.own.flush()

    def confirm_flush(self) -> None:
        self.own.confirm_flush()
        self.post.confirm_flush(self.clock())

    def _is_untold(self, url: Url) -> bool:
        """Whether this link should be sent to its shard."""
        if url in self._known:
            return False
        if self._told.get(url_fingerprint(url), 0) < self.sightings:
            return True
        if len(url) <= MAX_CACHED_URL:
            if len(self._known) >= _KNOWN_MEMO:
                self._known.clear()
            self._known.add(url)
        return False

    def _queue_foreign_link(self, shard: int, candidate: Candidate) -> None:
        mark = url_fingerprint(candidate.link.url)
        times = self._told.get(mark, 0)
        if times < self.sightings:
            if len(self._told) >= _COUNTED_LINKS:
                self._told.clear()
                self._known.clear()
            self._told[mark] = times + 1
            link = candidate.link
            if link.yields is not None:
                link = link._replace(yields=None)
            self._out[shard].append((candidate.score, link))
            self.links += 1
