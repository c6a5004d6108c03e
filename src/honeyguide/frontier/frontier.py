"""The frontier: every link ever found, which ones wait, and which host is next.

Its truth is a log of events; arrays and heaps in memory are rebuilt from it when it opens. Links
that were out when a process died wait again; finished ones do not return.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from math import inf
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from honeyguide.frontier import replay
from honeyguide.frontier import rows as columns
from honeyguide.frontier.host_queues import HostHeap, HostLinkQueue, SiteLimits
from honeyguide.frontier.log import (
    MIN_LOGGED_PARK_S,
    REOPENED,
    FrontierLogWriter,
    LinkStore,
)
from honeyguide.frontier.log_codec import LogCodec
from honeyguide.frontier.order import BulkOrder
from honeyguide.frontier.rows import SeenUrls
from honeyguide.frontier.waiting_links import FRONT_LINKS, RerankSweep, WaitingLinks
from honeyguide.protocols import FrontierLog, RankFunction
from honeyguide.types import Candidate, Link, Url
from honeyguide.url import url_fingerprint

SCORE_BINS = 20
"""Bins of the histogram of scores from 0 to 1."""


class HostView(NamedTuple):
    """One host, for those who watch."""

    host: str
    waiting: int
    busy: bool
    rests_until: float
    parked: float
    """Until when; 0 if it is not."""


class FrontierOverview(NamedTuple):
    """A summary of what waits."""

    waiting: int
    scores: tuple[int, ...]
    """Waiting links by score, the lowest of :data:`SCORE_BINS` bins first."""
    hosts: int
    """Hosts with waiting links."""
    busy: int
    """Hosts with a request in progress."""
    resting: int
    """Hosts between two requests."""
    parked: int
    """Hosts that are left alone for longer."""
    fullest_hosts: tuple[HostView, ...]
    """Those with the most links."""
    best_links: tuple[tuple[Link, float], ...]
    """Links that would go first if all hosts were rested, with their scores."""


def overview_of(
    rows: columns.FrontierRows, choice: HostHeap, texts: LinkStore, now: float, hosts: int, top: int
) -> FrontierOverview:
    """One pass over the columns: some twenty milliseconds for a million links."""
    waiting = rows.waiting_rows()
    counts = np.bincount(rows.host[waiting], minlength=len(choice.hosts))
    steps = np.minimum(rows.score[waiting] * SCORE_BINS, SCORE_BINS - 1).astype(np.intp)
    busy = resting = parked = 0
    inhabited = np.flatnonzero(counts)
    for number in inhabited.tolist():
        host = choice.hosts[number]
        if host.busy:
            busy += 1
        elif host.parked > now:
            parked += 1
        elif host.rests > now:
            resting += 1
    order = np.argsort(-counts[inhabited], kind="stable")[:hosts]
    few = len(waiting) <= top
    first = np.sort(waiting if few else waiting[np.argpartition(rows.rank[waiting], top)[:top]])
    found = zip(texts.get_links(first), first.tolist(), strict=True)
    ranked = sorted(found, key=lambda pair: (int(rows.rank[pair[1]]), pair[1]))
    return FrontierOverview(
        len(waiting),
        tuple(np.bincount(steps, minlength=SCORE_BINS).tolist()),
        len(inhabited),
        busy,
        resting,
        parked,
        tuple(_host_view(choice.hosts[n], int(counts[n]), now) for n in inhabited[order].tolist()),
        tuple((link, float(rows.score[row])) for link, row in ranked),
    )


def _host_view(host: HostLinkQueue, waiting: int, now: float) -> HostView:
    parked = host.parked if host.parked > now else 0.0
    return HostView(host.name, waiting, host.busy, host.rests, parked)


# --- The frontier ---


MergeRule = Literal["max", "any"]
_LOWERED_AHEAD = 32
"""About so many of the best links are looked at first when scores are lowered."""


class LinkFrontier:
    """The :class:`~honeyguide.protocols.Frontier` over any log.

    ``merge`` is the score of a link that is found again: ``max``, the better of both scores;
    ``any``, the probability that at least one of them is right. The limits of a site (a registrable
    domain; 0: none) are its links, its hosts, and its hosts with a request in progress; seeds are
    always taken.
    """

    def __init__(
        self,
        log: FrontierLog,
        order: BulkOrder,
        merge: MergeRule = "max",
        now: float = 0.0,
        delay: float = 1.0,
        site_links: int = 0,
        site_hosts: int = 0,
        site_busy: int = 0,
    ) -> None:
        self._order = order
        self._merge = merge
        self._rows = rows = columns.FrontierRows()
        self._seen = SeenUrls()
        self._site_limits = SiteLimits(site_links, site_hosts, site_busy)
        self._heap = HostHeap(rows, now, self._site_limits)
        self._waiting = WaitingLinks(rows, self._heap, order)
        codec = LogCodec()
        self._links = LinkStore(log, codec)
        self._rerank = RerankSweep()
        self.dropped = 0
        """Links refused because their site was full; one that is found again counts again."""
        due = replay.replay_log(log, codec, rows, self._seen, self._heap, self._links)
        replay.count_site_links(rows, self._heap)
        self._log_writer = FrontierLogWriter(log, codec, self._links, rows, len(self._heap.hosts))
        self._parked = {host.number for host in self._heap.hosts if host.parked > now}
        """Hosts that are parked according to the log."""
        waiting = rows.waiting_rows()
        self._count = len(waiting)
        self._waiting.set_ranks(waiting)
        self._waiting.deferred = replay.defer_retries(rows, due, now)
        replay.delay_asked_hosts(rows, self._heap, now + delay)
        replay.fill_queues(rows, self._heap)

    def __len__(self) -> int:
        return self._count

    def push(self, candidates: Iterable[Candidate]) -> int:
        if len(due_rows := self._rerank.next_rows(self._rows)):
            self._rescore_rows(due_rows, self._links.get_links(due_rows), self._rerank.rank)
        batch = list(candidates)
        if not batch:
            return 0
        prints = [url_fingerprint(candidate.link.url) for candidate in batch]
        new: dict[int, Candidate] = {}
        again: list[tuple[int, float]] = []
        twice: list[tuple[int, float]] = []
        for candidate, mark, row in zip(batch, prints, self._seen.find_rows(prints), strict=True):
            if row >= 0:
                again.append((row, candidate.score))
            elif mark not in new:
                new[mark] = candidate
            else:
                twice.append((mark, candidate.score))
        hosts = self._admit_hosts(new)
        if new:
            first = self._rows.count
            self._enter_new(list(new), list(new.values()), hosts)
            if twice:
                rows = dict(zip(new, range(first, first + len(new)), strict=True))
                again += [(rows[mark], score) for mark, score in twice if mark in rows]
        if again:
            self._count_again(again)
        return len(new)

    def still_wanted(self, urls: Sequence[Url]) -> list[bool]:
        rows = self._seen.find_rows([url_fingerprint(url) for url in urls])
        state = self._rows.state.item
        wanted = [row < 0 or state(row) < columns.BUSY for row in rows]
        if self._site_limits.limited:
            for at, row in enumerate(rows):
                if row < 0 and not self._heap.has_room_for(urls[at]):
                    wanted[at] = False
                    self.dropped += 1
        return wanted

    def pop(self, now: float) -> Candidate | None:
        self._heap.now = now
        self._waiting.recall_due(now)
        code = self._heap.take_best(now)
        if code is None:
            return None
        row, rows = code & columns.ROW_MASK, self._rows
        rows.state[row] = columns.BUSY
        self._count -= 1
        self._order.mark_served(columns.key_from_rank(code >> 32))
        link = self._links.get_checked_link(row, self._heap.hosts[rows.host[row]].name)
        self._links.forget_row(row)
        inlinks = min(
            int(rows.inlinks[row]) + self._log_writer.changes.again.get(row, 0), columns.MAX_COUNT
        )
        if link.inlinks != inlinks:
            link = link.with_inlinks(inlinks)
        score, queued = float(rows.score[row]), float(rows.queued[row])
        return Candidate(link, score, queued, int(rows.tries[row]), row)

    def finish(self, candidate: Candidate, now: float, rest: float) -> None:
        row = self._popped_row(candidate)
        self._rows.state[row] = columns.DONE
        self._log_writer.changes.done.append(row)
        self._heap.free_host(self._heap.hosts[self._rows.host[row]], now, rest)

    def retry(self, candidate: Candidate, now: float, rest: float, at: float) -> None:
        row = self._popped_row(candidate)
        self._rows.tries[row] = min(int(self._rows.tries[row]) + 1, 255)
        self.defer(candidate, now, rest, at)

    def defer(self, candidate: Candidate, now: float, rest: float, at: float) -> None:
        row = self._popped_row(candidate)
        tries = int(self._rows.tries[row])
        self._log_writer.changes.tried[row] = tries, at
        self._waiting.defer_row(row, at)
        self._count += 1
        self._heap.free_host(self._heap.hosts[self._rows.host[row]], now, rest)

    def reopen(self, urls: Iterable[Url]) -> None:
        found = self._seen.find_rows([url_fingerprint(url) for url in urls])
        for row in (row for row in found if row >= 0 and self._rows.state[row] == columns.DONE):
            self._rows.tries[row] = 0
            self._log_writer.changes.tried[row] = 0, REOPENED
            self._waiting.defer_row(row, REOPENED)
            self._count += 1

    def claim_host(self, host: str, now: float) -> float:
        return self._heap.claim_host(self._heap.get_host(host), now)

    def release_host(self, host: str, now: float, rest: float) -> None:
        self._heap.free_host(self._heap.get_host(host), now, rest)

    def park_host(self, host: str, until: float) -> None:
        known, now = self._heap.get_host(host), self._heap.now
        known.parked = until if until > now else 0.0
        self._heap.place_host(known)
        if until > now + MIN_LOGGED_PARK_S:
            self._parked.add(known.number)
        elif known.number not in self._parked:
            return
        else:
            self._parked.discard(known.number)
        self._log_writer.changes.parked[known.number] = known.parked

    def put_back(self, candidate: Candidate, now: float) -> None:
        row = self._popped_row(candidate)
        self._waiting.defer_row(row, now)
        self._count += 1
        host = self._heap.hosts[self._rows.host[row]]
        host.held = True
        self._heap.free_host(host, now, 0.0)

    def free_held(self, host: str) -> None:
        known = self._heap.get_host(host)
        known.held = False
        self._heap.place_host(known)

    def rerank_all(self, rank: RankFunction) -> None:
        """Rank the best links now, the others step by step as links are pushed."""
        most = self._rerank.begin_sweep(rank, self._rows.count)
        if self._count > most:
            front = np.unique(np.array(self._heap.leading_rows(most), np.intp))
            front = front[self._rows.state[front] < columns.BUSY]
        else:
            front = self._rows.waiting_rows()
            self._rerank.end_sweep()
        self._rescore_rows(front, self._links.get_kept_links(front), rank)

    def rerank_some(self, rank: RankFunction, urls: Sequence[Url], ahead: int) -> None:
        rows = np.array(self._seen.find_rows([url_fingerprint(url) for url in urls]), np.intp)
        leading = np.array(self._heap.leading_rows(ahead), np.intp)
        chosen = np.unique(np.concatenate((rows, leading)))
        chosen = chosen[chosen >= 0]
        chosen = chosen[self._rows.state[chosen] < columns.BUSY]
        self._rescore_rows(chosen, self._links.get_kept_links(chosen), rank)

    def lower_scores(self, limit: RankFunction) -> None:
        ahead = _LOWERED_AHEAD
        while ahead <= FRONT_LINKS:
            rows = np.unique(np.array(self._heap.leading_rows(ahead), np.intp))
            rows = rows[self._rows.state[rows] < columns.BUSY]
            if not len(rows):
                return
            limits = _to_scores(limit(self._links.get_kept_links(rows)))
            lower = limits < self._rows.score[rows]
            if not lower.any():
                return
            self._waiting.rescore_rows(rows[lower], limits[lower])
            ahead *= 2

    def wake_at(self) -> float | None:
        """As the protocol says; infinity if all waiting links are parked for ever or their hosts
        busy."""
        if not self._count:
            return None
        free = self._heap.wake_at()
        due = self._waiting.deferred[0][0] if self._waiting.deferred else inf
        return due if free is None else min(free, due)

    def flush(self) -> None:
        self._log_writer.flush_changes(self._heap.hosts)

    def confirm_flush(self) -> None:
        self._log_writer.confirm_flush()

    def iter_hosts(self) -> Iterator[HostView]:
        """The state of every host."""
        rows = self._rows
        waiting = np.bincount(rows.host[rows.waiting_rows()], minlength=len(self._heap.hosts))
        for host, count in zip(self._heap.hosts, waiting.tolist(), strict=True):
            yield _host_view(host, count, self._heap.now)

    def get_overview(self, now: float, hosts: int, top: int) -> FrontierOverview:
        """A summary with so many hosts and links."""
        return overview_of(self._rows, self._heap, self._links, now, hosts, top)

    def _admit_hosts(self, new: dict[int, Candidate]) -> list[HostLinkQueue]:
        """The hosts of new links, after links without room at their site were dropped."""
        links = [candidate.link for candidate in new.values()]
        if not self._site_limits.limited:
            return self._heap.hosts_of_urls([link.url for link in links])
        found = self._heap.admit_links(links)
        if None in found:
            for mark, host in zip(list(new), found, strict=True):
                if host is None:
                    del new[mark]
                    self.dropped += 1
        return [host for host in found if host is not None]

    def _enter_new(
        self, prints: list[int], candidates: list[Candidate], hosts: list[HostLinkQueue]
    ) -> None:
        """Enter links that are new."""
        links = [candidate.link for candidate in candidates]
        new = self._rows.extend(
            np.array([host.number for host in hosts], np.uint32),
            _to_scores([candidate.score for candidate in candidates]),
            np.minimum(np.maximum([link.depth for link in links], 0), columns.MAX_COUNT).astype(
                np.uint16
            ),
            columns.HOT,
        )
        self._seen.add_rows(prints, new.start)
        self._log_writer.changes.prints += prints
        self._links.fresh += links
        self._count += len(links)
        for row, link in enumerate(links, new.start):
            if link.inlinks > 1:
                self._log_writer.changes.again[row] = link.inlinks - 1
        self._waiting.enter_rows(new.start, hosts)

    def _count_again(self, again: list[tuple[int, float]]) -> None:
        """Links that were found before: one more inlink, perhaps a better score."""
        rows = self._rows
        seen = self._log_writer.changes.again
        for row, _ in again:
            seen[row] = seen.get(row, 0) + 1
        known, best = rows.score.item, self._merge == "max"
        again = [(row, score) for row, score in again if score > (known(row) if best else 0.0)]
        scores = _to_scores([score for _, score in again]).tolist()
        for (row, _), score in zip(again, scores, strict=True):
            old = known(row)
            merged = max(old, score) if best else 1 - (1 - old) * (1 - score)
            if merged > old and rows.state[row] < columns.BUSY:
                self._log_writer.changes.raised[row] = merged
                self._waiting.raise_score(row, merged)

    def _rescore_rows(
        self, chosen: NDArray[np.intp], links: list[Link], rank: RankFunction
    ) -> None:
        """New scores for these waiting rows, from their links with present inlinks."""
        if not links:
            return
        again = self._log_writer.changes.again
        counts = self._rows.inlinks[chosen].tolist()
        if again:
            pairs = zip(counts, chosen.tolist(), strict=True)
            counts = [min(count + again.get(row, 0), columns.MAX_COUNT) for count, row in pairs]
        links = [
            link if link.inlinks == count else link.with_inlinks(count)
            for link, count in zip(links, counts, strict=True)
        ]
        self._waiting.rescore_rows(chosen, _to_scores(rank(links)))

    def _popped_row(self, candidate: Candidate) -> int:
        """The row of a candidate that was popped and not returned yet."""
        row = candidate.row
        if not (0 <= row < self._rows.count and self._rows.state[row] == columns.BUSY):
            raise ValueError(f"{candidate.link.url} is not out")
        return row


def _to_scores(scores: list[float]) -> NDArray[np.float32]:
    return columns.bounded_scores(np.array(scores, np.float64))
