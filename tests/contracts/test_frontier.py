"""What every frontier promises, whatever log its truth lies in."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from math import inf, nan
from pathlib import Path

import pytest

from honeyguide.frontier.frontier import LinkFrontier
from honeyguide.frontier.order import BestFirstOrder, make_order
from honeyguide.frontier.replay import find_logged_link
from honeyguide.protocols import Frontier, FrontierLog
from honeyguide.store.store import Store
from honeyguide.types import Candidate, Link, Url
from tests.contracts.logs import FileLog, MemoryFrontierLog

Reopen = Callable[[], FrontierLog]


@pytest.fixture(params=["memory", "file", "store"])
def reopen(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Reopen]:
    """Opens the same log again."""
    if request.param == "memory":
        log = MemoryFrontierLog()
        yield lambda: log
    elif request.param == "file":
        yield lambda: FileLog(tmp_path / "log")
    else:
        with ExitStack() as opened:

            def again() -> FrontierLog:
                opened.close()
                return opened.enter_context(Store.open(tmp_path, "crawl")).frontier_log

            yield again


@pytest.fixture
def frontier(reopen: Reopen) -> LinkFrontier:
    return LinkFrontier(reopen(), BestFirstOrder(), now=0.0)


def link(url: str, score: float = 0.5, **more: object) -> Candidate:
    return Candidate(Link(Url(url), **more), score)  # type: ignore[arg-type]


def drain(frontier: Frontier, now: float = 0.0, limit: int = 100_000) -> Iterator[Candidate]:
    """Pop and finish until nothing waits any more."""
    for _ in range(limit):
        wake = frontier.wake_at()
        if wake is None or wake == inf:
            return
        now = max(now, wake)
        candidate = frontier.pop(now)
        if candidate is not None:
            yield candidate
            frontier.finish(candidate, now, 1.0)
    raise AssertionError("the frontier never comes to an end")


def test_it_is_a_frontier(reopen: Reopen) -> None:
    frontier: Frontier = LinkFrontier(reopen(), BestFirstOrder())
    assert len(frontier) == 0
    assert frontier.pop(0.0) is None
    assert frontier.wake_at() is None


def test_a_link_comes_back_as_it_was(frontier: LinkFrontier) -> None:
    full = Link(
        Url("http://a.org/b?c=%C5%9F"), Url("http://a.org/"), "Ânchor", "before\n", "after\0",
        "div/p", "nofollow", "tr", "sitemap", 7, 2, 0.25, 3,
    )  # fmt: skip
    frontier.push([Candidate(full, 0.75)])
    frontier.push([link("http://b.org/", 0.5)])
    frontier.flush()
    frontier.confirm_flush()
    candidate = frontier.pop(0.0)
    assert candidate == Candidate(full, 0.75, 0.75, 0, 0)


def test_links_pop_before_and_after_they_are_written(frontier: LinkFrontier) -> None:
    frontier.push([link("http://a.org/", 0.1), link("http://b.org/", 0.9)])
    first = frontier.pop(0.0)
    frontier.flush()
    frontier.confirm_flush()
    second = frontier.pop(0.0)
    assert first is not None
    assert second is not None
    assert [first.link.url, second.link.url] == ["http://b.org/", "http://a.org/"]


def test_half_a_surrogate_pair_does_no_harm(frontier: LinkFrontier) -> None:
    frontier.push([link("http://a.org/", anchor="broken \ud800 text")])
    frontier.flush()
    frontier.confirm_flush()
    candidate = frontier.pop(0.0)
    assert candidate is not None
    assert candidate.link.anchor == "broken ? text"


def test_many_links_of_many_hosts_pop_once_each_best_first(frontier: LinkFrontier) -> None:
    urls = [f"http://h{n % 7}.org/{n}" for n in range(3000)]
    scores = {url: (n * 7919 % 997) / 1000 for n, url in enumerate(urls)}
    for at in range(0, 3000, 60):
        frontier.push(link(url, scores[url]) for url in urls[at : at + 60])
        if at % 240 == 0:
            frontier.flush()
            frontier.confirm_flush()
    popped = [candidate.link.url for candidate in drain(frontier)]
    assert sorted(popped) == sorted(urls)
    for host in range(7):
        mine = [url for url in popped if url.startswith(f"http://h{host}.")]
        assert mine == sorted(mine, key=lambda url: (-scores[url], int(url.rpartition("/")[2])))


def test_equal_scores_keep_the_order_of_arrival(frontier: LinkFrontier) -> None:
    urls = [f"http://a.org/{n}" for n in range(500)]
    frontier.push(link(url, 0.5) for url in urls)
    assert [candidate.link.url for candidate in drain(frontier)] == urls


def test_one_visit_per_host_at_a_time(frontier: LinkFrontier) -> None:
    frontier.push([link("http://a.org/1"), link("http://a.org:81/2"), link("http://u@a.org/3")])
    candidate = frontier.pop(0.0)
    assert candidate is not None
    assert frontier.pop(99.0) is None
    assert frontier.wake_at() == inf
    frontier.finish(candidate, 100.0, 2.5)
    assert frontier.wake_at() == 102.5
    assert frontier.pop(102.4) is None
    assert frontier.pop(102.5) is not None


def test_a_better_host_goes_first(frontier: LinkFrontier) -> None:
    frontier.push([link("http://a.org/", 0.2), link("http://b.org/", 0.4)])
    frontier.push([link("http://a.org/2", 0.6)])
    first, second = frontier.pop(0.0), frontier.pop(0.0)
    assert first is not None
    assert second is not None
    assert (first.link.url, second.link.url) == ("http://a.org/2", "http://b.org/")


def test_a_link_seen_again_counts_and_keeps_the_better_score(frontier: LinkFrontier) -> None:
    frontier.push([link("http://a.org/1", 0.5), link("http://a.org/2", 0.25, anchor="first")])
    frontier.flush()
    assert frontier.push([link("http://a.org/2", 0.75, anchor="second")]) == 0
    assert frontier.push([link("http://a.org/2", 0.125)] * 2) == 0
    candidate = frontier.pop(0.0)
    assert candidate is not None
    assert candidate.link == Link(Url("http://a.org/2"), anchor="first", inlinks=4)
    assert (candidate.score, candidate.initial_score) == (0.75, 0.25)


def test_twice_on_one_page_is_one_link(frontier: LinkFrontier) -> None:
    assert frontier.push([link("http://a.org/", 0.25), link("http://a.org/", 0.5)]) == 1
    candidate = frontier.pop(0.0)
    assert candidate is not None
    assert (candidate.score, candidate.initial_score, candidate.link.inlinks) == (0.5, 0.25, 2)


def test_noisy_or(reopen: Reopen) -> None:
    frontier = LinkFrontier(reopen(), BestFirstOrder(), merge="any")
    frontier.push([link("http://a.org/", 0.5), link("http://a.org/", 0.5)])
    frontier.push([link("http://a.org/", 0.5)])
    frontier.flush()
    before = frontier.pop(0.0)
    after = LinkFrontier(reopen(), BestFirstOrder(), merge="any").pop(0.0)
    for candidate in (before, after):
        assert candidate is not None
        assert candidate.score == 0.875


def test_what_is_done_or_out_is_only_counted(frontier: LinkFrontier) -> None:
    frontier.push([link("http://a.org/")])
    candidate = frontier.pop(0.0)
    assert candidate is not None
    assert frontier.still_wanted([Url("http://a.org/"), Url("http://b.org/")]) == [False, True]
    frontier.push([link("http://a.org/", 1.0)])
    assert frontier.wake_at() is None
    frontier.finish(candidate, 0.0, 0.0)
    frontier.push([link("http://a.org/", 1.0)])
    assert len(frontier) == 0
    assert frontier.pop(9.0) is None


def test_finishing_twice_is_a_mistake(frontier: LinkFrontier) -> None:
    frontier.push([link("http://a.org/")])
    candidate = frontier.pop(0.0)
    assert candidate is not None
    frontier.finish(candidate, 0.0, 0.0)
    with pytest.raises(ValueError, match="is not out"):
        frontier.finish(candidate, 0.0, 0.0)
    with pytest.raises(ValueError, match="is not out"):
        frontier.retry(link("http://b.org/"), 0.0, 0.0, 0.0)


def test_a_retry_waits_for_its_time(frontier: LinkFrontier) -> None:
    frontier.push([link("http://a.org/1", 0.9), link("http://a.org/2", 0.1)])
    candidate = frontier.pop(0.0)
    assert candidate is not None
    frontier.retry(candidate, 1.0, 5.0, 60.0)
    assert len(frontier) == 2
    assert frontier.still_wanted([candidate.link.url]) == [True]
    assert frontier.wake_at() == 6.0
    other = frontier.pop(6.0)
    assert other is not None
    assert other.link.url == "http://a.org/2"
    frontier.finish(other, 6.0, 1.0)
    assert frontier.wake_at() == 60.0
    assert frontier.pop(59.0) is None
    again = frontier.pop(60.0)
    assert again is not None
    assert (again.link, again.tries) == (candidate.link, 1)


def test_take_and_release(frontier: LinkFrontier) -> None:
    frontier.push([link("http://a.org/")])
    assert frontier.claim_host("a.org", 10.0) == 0.0
    assert frontier.claim_host("a.org", 10.0) > 10.0
    assert frontier.pop(10.0) is None
    frontier.release_host("a.org", 11.0, 2.0)
    assert frontier.claim_host("a.org", 12.0) == 13.0
    assert frontier.claim_host("new.org", 12.0) == 0.0
    assert frontier.pop(13.0) is not None


def test_parking(frontier: LinkFrontier) -> None:
    frontier.park_host("a.org", inf)
    frontier.push([link("http://a.org/"), link("http://b.org/", 0.1)])
    candidate = frontier.pop(1.0)
    assert candidate is not None
    assert candidate.link.url == "http://b.org/"
    assert frontier.pop(1e9) is None
    assert frontier.wake_at() == inf
    assert frontier.claim_host("a.org", 1e9) == inf
    frontier.park_host("a.org", 2e9)
    assert frontier.wake_at() == 2e9
    frontier.park_host("a.org", 0.0)
    assert frontier.wake_at() == 0.0
    assert frontier.pop(1e9) is not None


def test_nothing_is_written_when_nothing_changed(reopen: Reopen) -> None:
    frontier = LinkFrontier(reopen(), BestFirstOrder())
    frontier.flush()
    frontier.push([link("http://a.org/")])
    frontier.flush()
    frontier.flush()
    frontier.pop(0.0)
    frontier.rerank_all(lambda links: [0.9] * len(links))
    frontier.flush()
    assert len(list(reopen().scan_entries())) == 1


def test_reopening(reopen: Reopen) -> None:
    frontier = LinkFrontier(reopen(), BestFirstOrder())
    frontier.push(link(f"http://h{n}.org/", n / 8) for n in range(8))
    frontier.push([link("http://h0.org/2", 0.5), link("http://h2.org/", 0.0)])
    done, tried, _ = (frontier.pop(0.0) for _ in range(3))
    assert done is not None
    assert tried is not None
    frontier.finish(done, 0.0, 1.0)
    frontier.retry(tried, 0.0, 1.0, 500.0)
    frontier.park_host("h4.org", 1000.0)
    frontier.park_host("h3.org", 1000.0)
    frontier.flush()
    frontier.park_host("h3.org", 0.0)
    frontier.push([link("http://h1.org/", 0.9)])
    frontier.flush()

    again = LinkFrontier(reopen(), BestFirstOrder(), now=100.0, delay=2.0)
    assert len(again) == 8
    assert again.still_wanted([done.link.url, tried.link.url]) == [False, True]
    popped = [c.link.url for _ in range(9) if (c := again.pop(100.0))]
    assert popped == [f"http://h{n}.org/" for n in (1, 5)] + ["http://h0.org/2"] + [
        f"http://h{n}.org/" for n in (3, 2)
    ]
    assert again.wake_at() == 500.0
    candidate = again.pop(500.0)
    assert candidate is not None
    assert candidate.tries == 1
    views = {view.host: view for view in again.iter_hosts()}
    assert views["h7.org"].rests_until == 102.0
    assert views["h4.org"].parked == 1000.0
    assert views["h4.org"].waiting == 1
    assert views["h5.org"].busy


def test_what_was_out_at_a_crash_waits_again(reopen: Reopen) -> None:
    frontier = LinkFrontier(reopen(), BestFirstOrder())
    frontier.push(link(f"http://a.org/{n}") for n in range(300))
    frontier.pop(0.0)
    frontier = LinkFrontier(reopen(), BestFirstOrder())
    assert len(frontier) == 0, "nothing was flushed"
    frontier.push(link(f"http://a.org/{n}") for n in range(300))
    for count, _ in enumerate(drain(frontier)):
        if count == 98:
            break  # this one is out, and the one before it finished after the flush
        if count == 97:
            frontier.flush()
    again = LinkFrontier(reopen(), BestFirstOrder())
    left = [candidate.link.url for candidate in drain(again)]
    assert left == [f"http://a.org/{n}" for n in range(97, 300)]


def test_a_large_flush_makes_several_entries(reopen: Reopen) -> None:
    frontier = LinkFrontier(reopen(), BestFirstOrder())
    frontier.push(link(f"http://h{n % 5}.org/{n}", n / 10_000) for n in range(9000))
    frontier.flush()
    popped = [frontier.pop(0.0) for _ in range(6)]
    assert len(list(reopen().scan_entries())) == 18
    again = LinkFrontier(reopen(), BestFirstOrder())
    assert [again.pop(0.0) for _ in range(6)] == popped


def test_rerank_at_once(frontier: LinkFrontier) -> None:
    frontier.push(link(f"http://h{n % 3}.org/{n}", n / 1000) for n in range(600))
    frontier.flush()
    frontier.push([link("http://h0.org/0")] * 3)
    met: list[Link] = []

    def rank(links: Sequence[Link]) -> list[float]:
        met.extend(links)
        return [1 - int(one.url.rpartition("/")[2]) / 1000 for one in links]

    frontier.rerank_all(rank)
    assert len(met) == 600
    assert met[0].inlinks == 4
    popped = [int(candidate.link.url.rpartition("/")[2]) for candidate in drain(frontier)]
    assert popped == sorted(popped)


def test_rerank_step_by_step(frontier: LinkFrontier, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frontier._rerank, "_earned", 100)
    monkeypatch.setattr("honeyguide.frontier.waiting_links.SLICE_LINKS", 1024)
    frontier.push(link(f"http://h{n % 10}.org/{n}", n / 3000) for n in range(3000))
    frontier.flush()
    first: set[Url] = set()
    second: set[Url] = set()

    def rank(met: set[Url], value: float) -> Callable[[Sequence[Link]], list[float]]:
        def scores(links: Sequence[Link]) -> list[float]:
            met.update(one.url for one in links)
            return [value] * len(links)

        return scores

    frontier.rerank_all(rank(first, 1.0))
    head = frontier.pop(0.0)
    assert head is not None
    assert head.score == 1.0, "the leading links are reranked at once"
    assert 0 < len(first) < 3000
    frontier.rerank_all(rank(second, 0.75))
    for _ in range(20):
        frontier.push(())
    assert len(second) == 2999
    assert {candidate.score for candidate in drain(frontier)} == {0.75}


def test_a_new_rerank_goes_on_where_the_last_one_was(
    frontier: LinkFrontier, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However often the strategy learns, every link has its turn."""
    monkeypatch.setattr(frontier._rerank, "_earned", 100)
    monkeypatch.setattr("honeyguide.frontier.waiting_links.SLICE_LINKS", 1024)
    frontier.push(link(f"http://h{n % 10}.org/{n}", n / 3000) for n in range(3000))
    met: set[Url] = set()

    def rank(links: Sequence[Link]) -> list[float]:
        met.update(one.url for one in links)
        return [0.5] * len(links)

    for _ in range(15):
        frontier.rerank_all(rank)
        frontier.push(())
    assert len(met) == 3000


def test_a_clock_that_runs_back_loses_nothing(frontier: LinkFrontier) -> None:
    frontier.push([link("http://a.org/1"), link("http://a.org/2")])
    candidate = frontier.pop(100.0)
    assert candidate is not None
    frontier.finish(candidate, 100.0, 5.0)
    frontier.push([link("http://b.org/", 0.9)])
    assert frontier.pop(106.0) is not None
    assert frontier.pop(103.0) is None
    assert frontier.wake_at() == 105.0
    assert frontier.pop(105.0) is not None


def test_scores_of_a_rerank_are_not_written(reopen: Reopen) -> None:
    frontier = LinkFrontier(reopen(), BestFirstOrder())
    frontier.push([link("http://a.org/", 0.5), link("http://b.org/", 0.25)])
    frontier.flush()
    frontier.rerank_all(lambda links: [0.125 * (n + 1) for n in range(len(links))])
    frontier.flush()
    candidate = LinkFrontier(reopen(), BestFirstOrder()).pop(0.0)
    assert candidate is not None
    assert (candidate.link.url, candidate.score) == ("http://a.org/", 0.5)


@pytest.mark.parametrize("score", [nan, inf, -inf, -1.0, 1e300])
def test_odd_scores_stay_in_bounds(frontier: LinkFrontier, score: float) -> None:
    frontier.push([link("http://a.org/", score)])
    candidate = frontier.pop(0.0)
    assert candidate is not None
    assert 0.0 <= candidate.score <= 1.0


@pytest.mark.parametrize("order", ["best", "breadth", "proportional"])
def test_same_seed_same_pops(order: str) -> None:
    def run() -> list[Url]:
        frontier = LinkFrontier(MemoryFrontierLog(), make_order(order, 7))
        frontier.push(link(f"http://h{n % 4}.org/{n}", n % 9 / 9, depth=n % 5) for n in range(400))
        return [candidate.link.url for candidate in drain(frontier)]

    assert run() == run()


def test_find(reopen: Reopen) -> None:
    frontier = LinkFrontier(reopen(), BestFirstOrder())
    for page in range(5):
        frontier.push(link(f"http://h{n}.org/{page}", n / 512, anchor="x") for n in range(200))
        frontier.flush()
    frontier.push([link("http://h150.org/2", 1.0)])
    candidate = frontier.pop(0.0)
    other = frontier.pop(0.0)
    assert candidate is not None
    assert other is not None
    frontier.finish(candidate, 0.0, 1.0)
    frontier.retry(other, 0.0, 1.0, 99.0)
    frontier.flush()
    found = find_logged_link(reopen(), Url("http://h150.org/2"))
    assert found is not None
    assert found.link == Link(Url("http://h150.org/2"), anchor="x", inlinks=2)
    assert (found.queued, found.state, found.tries) == (150 / 512, "done", 0)
    retried = find_logged_link(reopen(), other.link.url)
    assert retried is not None
    assert (retried.link, retried.state, retried.tries) == (other.link, "waiting", 1)
    assert find_logged_link(reopen(), Url("http://nowhere.org/")) is None


def test_deferring_counts_no_try(frontier: LinkFrontier) -> None:
    frontier.push([link("http://a.org/")])
    first = frontier.pop(0.0)
    assert first is not None
    frontier.defer(first, 0.0, 2.0, 0.0)
    assert frontier.pop(1.0) is None, "the host rests all the same"
    second = frontier.pop(2.0)
    assert second is not None
    assert second.tries == 0
    frontier.retry(second, 2.0, 0.0, 2.0)
    third = frontier.pop(2.0)
    assert third is not None
    assert third.tries == 1


def test_a_held_host_gives_nothing_until_it_is_freed(reopen: Reopen) -> None:
    frontier = LinkFrontier(reopen(), BestFirstOrder(), now=0.0)
    frontier.push([link("http://a.example/1", 0.9), link("http://a.example/2", 0.8)])
    frontier.push([link("http://b.example/1", 0.1)])
    first = frontier.pop(0.0)
    assert first is not None
    frontier.put_back(first, 0.0)
    assert [candidate.link.url for candidate in drain(frontier)] == ["http://b.example/1"]
    assert len(frontier) == 2
    assert frontier.wake_at() == inf
    frontier.free_held("a.example")
    found = [(candidate.link.url, candidate.tries) for candidate in drain(frontier, 9.0)]
    assert found == [("http://a.example/1", 0), ("http://a.example/2", 0)]
