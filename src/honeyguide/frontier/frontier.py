"""The frontier: every link ever seen, who waits, and whose turn it is.

Its truth is a log of what happened; the arrays and heaps in memory are rebuilt from it when it
opens. Links that were out when a process died wait again; nothing that was finished comes back.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from math import inf
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from honeyguide.frontier import replay
from honeyguide.frontier.changes import LONG
from honeyguide.frontier.codec import Codec
from honeyguide.frontier.domain_limits import Sites
from honeyguide.frontier.host_heap import Choice
from honeyguide.frontier.hosts import HostView
from honeyguide.frontier.link_texts import Texts
from honeyguide.frontier.log_writer import Scribe
from honeyguide.frontier.order import BulkOrder
from honeyguide.frontier.queue import Host
from honeyguide.frontier.rerank import Rerank
from honeyguide.frontier.rows import BUSY, DONE, HOT, MOST, ROW, Rows, bounded, key
from honeyguide.frontier.seen import Seen
from honeyguide.frontier.view import Glance, glance
from honeyguide.frontier.waiting_links import Waiting
from honeyguide.protocols import Log, Rank
from honeyguide.types import Candidate, Link, Url
from honeyguide.url import fingerprint

Merge = Literal["max", "any"]


class LinkFrontier:
    """The :class:`~honeyguide.protocols.Frontier` over any log.

    ``merge`` says what a link that is seen again is worth: ``max``, the better of both scores;
    ``any``, the chance that at least one of them is right. The limits of a site (a registrable
    domain; 0: none) are the most links that it may bring, hosts that it may have, and hosts of
    it that are asked at once; a seed is taken in all the same.
    """

    def __init__(
        self,
        log: Log,
        order: BulkOrder,
        merge: Merge = "max",
        now: float = 0.0,
        delay: float = 1.0,
        site_links: int = 0,
        site_hosts: int = 0,
        site_busy: int = 0,
    ) -> None:
        self._order = order
        self._merge = merge
        self._rows = rows = Rows()
        self._seen = Seen()
        self._sites = Sites(site_links, site_hosts, site_busy)
        self._choice = Choice(rows, now, self._sites)
        self._waiting = Waiting(rows, self._choice, order)
        codec = Codec()
        self._texts = Texts(log, codec)
        self._rerank = Rerank()
        self.dropped = 0
        """Links turned away because their site was full; one that comes again counts again."""
        due = replay.replay(log, codec, rows, self._seen, self._choice, self._texts)
        replay.count(rows, self._choice)
        self._scribe = Scribe(log, codec, self._texts, rows, len(self._choice.hosts))
        self._parked = {host.number for host in self._choice.hosts if host.parked > now}
        """Hosts that are parked as far as the log knows."""
        waiting = rows.waiting()
        self._count = len(waiting)
        self._waiting.set_ranks(waiting)
        self._waiting.deferred = replay.defer(rows, due, now)
        replay.rest(rows, self._choice, now + delay)
        replay.fill(rows, self._choice)

    def __len__(self) -> int:
        return self._count

    def push(self, candidates: Iterable[Candidate]) -> int:
        if len(some := self._rerank.next(self._rows)):
            self._rescore(some, self._texts.links(some), self._rerank.rank)
        batch = list(candidates)
        if not batch:
            return 0
        prints = [fingerprint(candidate.link.url) for candidate in batch]
        new: dict[int, Candidate] = {}
        again: list[tuple[int, float]] = []
        twice: list[tuple[int, float]] = []
        for candidate, mark, row in zip(batch, prints, self._seen.find(prints), strict=True):
            if row >= 0:
                again.append((row, candidate.score))
            elif mark not in new:
                new[mark] = candidate
            else:
                twice.append((mark, candidate.score))
        hosts = self._admit(new)
        if new:
            first = self._rows.count
            self._enter(list(new), list(new.values()), hosts)
            if twice:
                rows = dict(zip(new, range(first, first + len(new)), strict=True))
                again += [(rows[mark], score) for mark, score in twice if mark in rows]
        if again:
            self._meet(again)
        return len(new)

    def wanted(self, urls: Sequence[Url]) -> list[bool]:
        rows = self._seen.find([fingerprint(url) for url in urls])
        state = self._rows.state.item
        wanted = [row < 0 or state(row) < BUSY for row in rows]
        if self._sites.limited:
            for at, row in enumerate(rows):
                if row < 0 and not self._choice.room(urls[at]):
                    wanted[at] = False
                    self.dropped += 1
        return wanted

    def pop(self, now: float) -> Candidate | None:
        self._choice.now = now
        self._waiting.recall(now)
        code = self._choice.take(now)
        if code is None:
            return None
        row, rows = code & ROW, self._rows
        rows.state[row] = BUSY
        self._count -= 1
        self._order.served(key(code >> 32))
        link = self._texts.checked(row, self._choice.hosts[rows.host[row]].name)
        self._texts.forget(row)
        inlinks = min(int(rows.inlinks[row]) + self._scribe.changes.again.get(row, 0), MOST)
        if link.inlinks != inlinks:
            link = link.with_inlinks(inlinks)
        score, queued = float(rows.score[row]), float(rows.queued[row])
        return Candidate(link, score, queued, int(rows.tries[row]), row)

    def finish(self, candidate: Candidate, now: float, rest: float) -> None:
        row = self._out(candidate)
        self._rows.state[row] = DONE
        self._scribe.changes.done.append(row)
        self._choice.free(self._choice.hosts[self._rows.host[row]], now, rest)

    def retry(self, candidate: Candidate, now: float, rest: float, at: float) -> None:
        row = self._out(candidate)
        self._rows.tries[row] = min(int(self._rows.tries[row]) + 1, 255)
        self.defer(candidate, now, rest, at)

    def defer(self, candidate: Candidate, now: float, rest: float, at: float) -> None:
        row = self._out(candidate)
        tries = int(self._rows.tries[row])
        self._scribe.changes.tried[row] = tries, at
        self._waiting.defer(row, at)
        self._count += 1
        self._choice.free(self._choice.hosts[self._rows.host[row]], now, rest)

    def take(self, host: str, now: float) -> float:
        return self._choice.claim(self._choice.host(host), now)

    def release(self, host: str, now: float, rest: float) -> None:
        self._choice.free(self._choice.host(host), now, rest)

    def park(self, host: str, until: float) -> None:
        known, now = self._choice.host(host), self._choice.now
        known.parked = until if until > now else 0.0
        self._choice.place(known)
        if until > now + LONG:
            self._parked.add(known.number)
        elif known.number not in self._parked:
            return
        else:
            self._parked.discard(known.number)
        self._scribe.changes.parked[known.number] = known.parked

    def rerank(self, rank: Rank) -> None:
        """Some links in front now, the others step by step as links are pushed."""
        most = self._rerank.begin(rank, self._rows.count)
        if self._count > most:
            front = np.unique(np.array(self._choice.leading(most), np.intp))
            front = front[self._rows.state[front] < BUSY]
        else:
            front = self._rows.waiting()
            self._rerank.end()
        self._rescore(front, self._texts.keep(front), rank)

    def revise(self, rank: Rank, urls: Sequence[Url], ahead: int) -> None:
        rows = np.array(self._seen.find([fingerprint(url) for url in urls]), np.intp)
        some = np.unique(np.concatenate((rows, np.array(self._choice.leading(ahead), np.intp))))
        some = some[some >= 0]
        some = some[self._rows.state[some] < BUSY]
        self._rescore(some, self._texts.keep(some), rank)

    def wake_at(self) -> float | None:
        """As the protocol says; infinity if all that waits is parked for ever or its host busy."""
        if not self._count:
            return None
        free = self._choice.wake_at()
        due = self._waiting.deferred[0][0] if self._waiting.deferred else inf
        return due if free is None else min(free, due)

    def flush(self) -> None:
        self._scribe.flush(self._choice.hosts)

    def flushed(self) -> None:
        self._scribe.flushed()

    def hosts(self) -> Iterator[HostView]:
        """Every host as it stands."""
        rows = self._rows
        waiting = np.bincount(rows.host[rows.waiting()], minlength=len(self._choice.hosts))
        for host, count in zip(self._choice.hosts, waiting.tolist(), strict=True):
            parked = host.parked if host.parked > self._choice.now else 0.0
            yield HostView(host.name, count, host.busy, host.rests, parked)

    def glance(self, now: float, hosts: int, top: int) -> Glance:
        """What waits, in a few numbers, with so many hosts and links of it."""
        return glance(self._rows, self._choice, self._texts, now, hosts, top)

    def _admit(self, new: dict[int, Candidate]) -> list[Host]:
        """The hosts of new links, after those have left for whom their site has no room."""
        links = [candidate.link for candidate in new.values()]
        if not self._sites.limited:
            return self._choice.hosts_of([link.url for link in links])
        found = self._choice.admit(links)
        if None in found:
            for mark, host in zip(list(new), found, strict=True):
                if host is None:
                    del new[mark]
                    self.dropped += 1
        return [host for host in found if host is not None]

    def _enter(self, prints: list[int], candidates: list[Candidate], hosts: list[Host]) -> None:
        """Links never seen before."""
        links = [candidate.link for candidate in candidates]
        new = self._rows.extend(
            np.array([host.number for host in hosts], np.uint32),
            _clean([candidate.score for candidate in candidates]),
            np.minimum(np.maximum([link.depth for link in links], 0), MOST).astype(np.uint16),
            HOT,
        )
        self._seen.add(prints, new.start)
        self._scribe.changes.prints += prints
        self._texts.fresh += links
        self._count += len(links)
        for row, link in enumerate(links, new.start):
            if link.inlinks > 1:
                self._scribe.changes.again[row] = link.inlinks - 1
        self._waiting.enter(new.start, hosts)

    def _meet(self, again: list[tuple[int, float]]) -> None:
        """Links seen before: one more inlink, perhaps a better score."""
        rows = self._rows
        seen = self._scribe.changes.again
        for row, _ in again:
            seen[row] = seen.get(row, 0) + 1
        if self._merge == "max":
            known = rows.score.item
            again = [(row, score) for row, score in again if score > known(row)]
            if not again:
                return
        met = np.array([row for row, _ in again], np.intp)
        scores = _clean([score for _, score in again])
        better = scores > (rows.score[met] if self._merge == "max" else 0.0)
        for at in np.flatnonzero(better & (rows.state[met] < BUSY)).tolist():
            row, score, old = int(met[at]), float(scores[at]), float(rows.score[met[at]])
            merged = max(old, score) if self._merge == "max" else 1 - (1 - old) * (1 - score)
            if merged > old:
                self._scribe.changes.raised[row] = merged
                self._waiting.lift(row, merged)

    def _rescore(self, some: NDArray[np.intp], links: list[Link], rank: Rank) -> None:
        """New scores for these waiting rows, from their links as they stand now."""
        if not links:
            return
        again = self._scribe.changes.again
        counts = self._rows.inlinks[some].tolist()
        if again:
            pairs = zip(counts, some.tolist(), strict=True)
            counts = [min(count + again.get(row, 0), MOST) for count, row in pairs]
        links = [
            link if link.inlinks == count else link.with_inlinks(count)
            for link, count in zip(links, counts, strict=True)
        ]
        self._waiting.rescore(some, _clean(rank(links)))

    def _out(self, candidate: Candidate) -> int:
        """The row of a candidate that was popped and has not come back."""
        row = candidate.row
        if not (0 <= row < self._rows.count and self._rows.state[row] == BUSY):
            raise ValueError(f"{candidate.link.url} is not out")
        return row


def _clean(scores: list[float]) -> NDArray[np.float32]:
    return bounded(np.array(scores, np.float64))
