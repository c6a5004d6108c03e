"""One stage of the measurement, a process of its own: open the frontier, grow it, measure it.

CPU is user + system of this process, and making links is not counted. Memory is what the process
grew by since just before it opened the collection.
"""

from __future__ import annotations

import gc
import random
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from time import perf_counter, process_time

from links import A_PAGE, pages

from honeyguide.config.settings import Settings
from honeyguide.frontier.frontier import LinkFrontier
from honeyguide.frontier.order import make_order
from honeyguide.lab.synthetic.topology import SyntheticPlan
from honeyguide.store.store import Store
from honeyguide.strategies.keyword import Keyword
from honeyguide.types import Candidate, Link

Tell = Callable[[str, int, int], None]
"""Of the progress: what is done, how far, of how much."""

COMMIT = 32
"""Pages in one transaction, as in the ring."""
POPS = 20_000
RERANKED = 1_000_000
EVERY = 14
"""Pages between two generations of a strategy that learns."""
ROUNDS = 20
STRATEGY = Keyword(keywords=("backup", "restore", "write-ahead log", "encryption"))


class Stage:
    def __init__(
        self, folder: Path, plan: SyntheticPlan, first: int, links: int, tell: Tell
    ) -> None:
        self._pages = pages(plan, first)
        self._tell = tell
        next(self._pages)  # whatever getting a page needs is there now
        gc.collect()
        self._before = resident()
        settings = Settings()
        wall, cpu = perf_counter(), process_time()
        self._store = Store.open(folder, "crawl")
        opened = process_time() - cpu
        self._frontier = LinkFrontier(
            self._store.frontier_log,
            make_order("best", 1),
            now=0.0,
            site_links=settings.scope.links_per_domain,
            site_hosts=settings.scope.hosts_per_domain,
            site_busy=settings.politeness.concurrent_hosts_per_domain,
        )
        self.links = links
        """Distinct ones there ever were, whatever became of them."""
        self.opened = {
            "wall_s": perf_counter() - wall,
            "cpu_s": process_time() - cpu,
            "store_cpu_s": opened,
            "memory_bytes": resident() - self._before,
            "waiting": len(self._frontier),
        }

    def close(self) -> None:
        self._store.close()

    def grow(self, goal: int) -> dict[str, float]:
        """Push pages until there were so many distinct links."""
        frontier, begun = self._frontier, self.links
        pushing = flushing = 0.0
        pages = 0
        # A page at least: what the last stage pushed to learn may have passed this goal.
        while self.links < goal or self.links == begun:
            page = next(self._pages)
            pushing += self._push(page)
            pages += 1
            if pages % COMMIT == 0:
                flushing += self._commit()
                self._tell("push", self.links, goal)
        flushing += self._commit()
        pushed, new = pages * A_PAGE, self.links - begun
        return {
            "pages": pages,
            "new": new,
            "again_share": 1 - new / pushed,
            "dropped": frontier.dropped,
            "push_us": pushing / pushed * 1e6,
            "flush_us": flushing / pushed * 1e6,
            "per_new_us": (pushing + flushing) / new * 1e6,
            "memory_bytes": (resident() - self._before) / self.links,
            "disk_bytes": self._disk() / self.links,
            "hosts": sum(1 for _ in frontier.iter_hosts()),
        }

    def pop(self, now: float) -> dict[str, float]:
        """Pop and finish, one host after the other resting for a second."""
        spent = 0.0
        for done in range(POPS):
            start = process_time()
            now = self._turn(now)
            spent += process_time() - start
            if done % COMMIT == 0:
                self._commit()
                self._tell("pop", done, POPS)
        self._commit()
        return {"pop_us": spent / POPS * 1e6, "now": now}

    def learn(self, now: float) -> dict[str, float]:
        """What a strategy that learns every few pages costs the ring, with and without."""
        ranked = Timed(STRATEGY.rank)
        at_once = plain = learning = 0.0
        self._frontier.rerank_all(ranked)  # the first one reads what later ones find at hand
        for generation in range(ROUNDS):
            start = process_time()
            self._frontier.rerank_all(ranked)
            at_once += process_time() - start
            for page in self._some(EVERY):
                learning += self._push(page)
                now = self._turn(now)
            self._commit()
            self._tell("learn", generation, ROUNDS)
        self._frontier._rerank.end_sweep()
        for page in self._some(EVERY * ROUNDS):
            plain += self._push(page)
        self._commit()
        pages = EVERY * ROUNDS
        return {
            "rerank_call_ms": at_once / ROUNDS * 1e3,
            "learn_ms_a_page": (at_once + learning - plain) / pages * 1e3,
            "links_scored_a_page": ranked.links / pages,
        }

    def rerank(self) -> dict[str, float]:
        """A million links by a real strategy, and again with the strategy's part left out."""
        chance = random.Random(2).random
        real, fake = Timed(STRATEGY.rank), Timed(lambda links: [chance() for _ in links])
        whole, ours = self._sweep(real), self._sweep(fake) - fake.seconds
        return {
            "keyword_us": whole / real.links * 1e6,
            "keyword_own_us": real.seconds / real.links * 1e6,
            "rerank_us": ours / fake.links * 1e6,
            "reranked": fake.links,
        }

    def _sweep(self, rank: Timed) -> float:
        """Rerank a million links, the oldest first after those in front; the CPU it took."""
        frontier = self._frontier
        start = process_time()
        frontier.rerank_all(rank)
        while frontier._rerank and rank.links < RERANKED:
            frontier.push(())
            self._tell("rerank", rank.links, RERANKED)
        frontier._rerank.end_sweep()
        return process_time() - start

    def _turn(self, now: float) -> float:
        candidate = self._frontier.pop(now)
        while candidate is None:
            wake = self._frontier.wake_at()
            assert wake is not None
            now = max(now, wake)
            candidate = self._frontier.pop(now)
        self._frontier.finish(candidate, now, 1.0)
        return now + 0.005

    def _some(self, count: int) -> Iterator[list[Candidate]]:
        for _ in range(count):
            yield next(self._pages)

    def _push(self, page: list[Candidate]) -> float:
        start = process_time()
        self.links += self._frontier.push(page)
        return process_time() - start

    def _commit(self) -> float:
        start = process_time()
        with self._store.transaction():
            self._frontier.flush()
        self._frontier.confirm_flush()
        return process_time() - start

    def _disk(self) -> int:
        return sum(p.stat().st_size for p in self._store.folder.rglob("*") if p.is_file())


class Timed:
    """A ranking that knows how long it took and of how many links."""

    def __init__(self, rank: Callable[[Sequence[Link]], list[float]]) -> None:
        self._rank = rank
        self.seconds = 0.0
        self.links = 0

    def __call__(self, links: Sequence[Link]) -> list[float]:
        start = process_time()
        scores = self._rank(links)
        self.seconds += process_time() - start
        self.links += len(links)
        return scores


def resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096
