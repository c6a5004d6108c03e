"""The bandit beside an oracle, on a made engine whose yields are known."""

from __future__ import annotations

from random import Random

from honeyguide.search.composer import QueryProposal
from honeyguide.search.query import Query
from honeyguide.search.query_bandit import QueryBandit

PULLS, SIZE = 100, 10


class MadeEngine:
    """Forty queries, most of them poor, each with 10 to 40 pages of results; a quarter of the
    results were found by other queries, too. Scores foretell yields, but badly."""

    def __init__(self, seed: int) -> None:
        random = Random(seed)
        self.results: dict[str, list[list[int]]] = {}
        self.good: list[bool] = []
        self.shares: dict[str, float] = {}
        self.proposals = []
        for n in range(40):
            share, found = random.betavariate(0.6, 1.8), []
            for _ in range(random.randint(10, 40) * SIZE):
                if self.good and random.random() < 0.25:
                    found.append(random.randrange(len(self.good)))
                else:
                    found.append(len(self.good))
                    self.good.append(random.random() < share)
            query = Query((f"word{n}",))
            self.shares[query.key] = share
            self.results[query.key] = [found[at : at + SIZE] for at in range(0, len(found), SIZE)]
            score = max(0.01, share + random.gauss(0, 0.6))
            self.proposals.append(QueryProposal(query, score, (), ""))

    def oracle(self) -> int:
        """Good addresses of one who knows each query's yield and how much of a page is new."""
        seen: set[int] = set()
        at = dict.fromkeys(self.results, 0)

        def new(key: str) -> set[int]:
            pages = self.results[key]
            return set(pages[at[key]]) - seen if at[key] < len(pages) else set()

        for _ in range(PULLS):
            best = max(self.results, key=lambda key: self.shares[key] * len(new(key)))
            seen |= new(best)
            at[best] += 1
        return sum(self.good[url] for url in seen)

    def bandit(self, seed: int, deaf: bool = False) -> int:
        """Good addresses of ours; ``deaf``: it never hears what its results turned out to be."""
        pulls, seen = QueryBandit(seed, 200), set[int]()
        pulls.set_proposals(self.proposals)
        for _ in range(PULLS):
            chosen = pulls.choose()
            assert chosen is not None
            query, page = chosen
            pages = self.results[query.key]
            fresh = set(pages[page - 1]) - seen
            seen |= fresh
            pulls.record_page(query, page, SIZE, len(fresh), 0.5, page < len(pages))
            for url in sorted(() if deaf else fresh):
                pulls.record_verdict(query, float(self.good[url]))
        return sum(self.good[url] for url in seen)


def test_it_finds_four_fifths_of_what_an_oracle_finds() -> None:
    engines = [MadeEngine(seed) for seed in range(10)]
    best = sum(engine.oracle() for engine in engines)
    ours = sum(engine.bandit(seed) for seed, engine in enumerate(engines))
    deaf = sum(engine.bandit(seed, deaf=True) for seed, engine in enumerate(engines))
    assert ours >= 0.8 * best
    assert deaf < 0.7 * best, "by scores alone it would not: it is hearing that helps"
