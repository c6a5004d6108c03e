"""Revisits on the event loop, on a web made of a dictionary and in simulated time."""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from random import Random
from typing import Any

import pytest
from bench.watch.comparison_pool import CompareConcurrency, InPlaceLimit, PooledRevisitFlow
from hypothesis import given, settings
from hypothesis import strategies as st

from honeyguide.config.settings import PolitenessSettings
from honeyguide.errors import ConnectError, FetchTimeout, StoreError
from honeyguide.lab.simulate import run_simulated as simulate
from honeyguide.net.concurrency import FetchConcurrency
from honeyguide.net.politeness import HostDelayPolicy, PolitenessGate
from honeyguide.net.robots import CLOSED_TTL_S, RobotsCache
from honeyguide.store.versions import body_digest
from honeyguide.types import Failure, Request, Response, Url
from honeyguide.watch.revisit_flow import DuePage, RevisitFlow, RevisitOutcome
from tests.unit.crawling import Answer, FakeWeb

START = 1_700_000_000.0
Outcomes = list[RevisitOutcome[str]]


class Web(FakeWeb):
    """Answers 304 to whoever brings the ETag that it would send."""

    def __init__(self, answers: dict[str, Any]) -> None:
        super().__init__(answers)
        self.requests: list[Request] = []
        self.busy = self.most = 0

    async def fetch(self, request: Request) -> Response:
        self.requests.append(request)
        self.busy += 1
        self.most = max(self.most, self.busy)
        try:
            found = await super().fetch(request)
        finally:
            self.busy -= 1
        if request.etag and found.header("etag") == request.etag:
            return Response(found.url, 304, found.headers, b"", b"", b"", b"", "", found.started, 0)
        return found


def due(url: str, body: str = "old", key: int = 0, **more: Any) -> DuePage:
    return DuePage(Url(url), key, digest=body_digest(body.encode()), size=len(body), **more)


def flow(web: FakeWeb, **more: Any) -> RevisitFlow[str, str]:
    politeness = HostDelayPolicy(PolitenessSettings(), seed=1)
    settings: dict[str, Any] = {"random": Random(1), "audit": 0.0, **more}
    old = settings.pop("old", lambda page: f"old {page.key}")
    compare = settings.pop("compare", lambda old, _page, new: f"{old} → {new.body.decode()}")
    return RevisitFlow(
        web, PolitenessGate(settings.pop("robots", RobotsCache()), politeness), old, compare,
        clock=web.now, **settings,
    )  # fmt: skip


async def each(pages: Iterable[DuePage]) -> AsyncIterator[DuePage]:
    for page in pages:
        yield page


def outcomes(made: Callable[[], RevisitFlow[str, str]], pages: Iterable[DuePage]) -> Outcomes:
    async def collect() -> Outcomes:
        return [outcome async for outcome in made().run(each(pages))]

    return simulate(collect())


def open_robots(pattern: str, number: int) -> RobotsCache:
    """Nobody has a robots.txt, and it is known."""
    robots = RobotsCache()
    for n in range(number):
        robots.load_text(pattern.format(n), START, 404, "")
    return robots


def states(found: Outcomes) -> dict[str, str]:
    assert len({outcome.page.url for outcome in found}) == len(found)
    return {outcome.page.url: outcome.state for outcome in found}


def test_what_changed_is_compared_and_the_rest_told_at_once() -> None:
    web = Web({
        "http://a.org/same": "old",
        "http://a.org/new": "new",
        "http://a.org/tag": (200, {"ETag": '"1"'}, "whatever"),
        "http://b.org/late-tag": (200, {"ETag": '"2"', "Last-Modified": "then"}, "old"),
        "http://b.org/moved": (301, {"Location": "http://c.org/"}, "see there"),
        "http://c.org/away": ConnectError("http://c.org/away", "nobody"),
    })  # fmt: skip
    pages = [
        due("http://a.org/same"), due("http://a.org/new", key=7),
        due("http://a.org/tag", etag='"1"'), due("http://b.org/late-tag"),
        due("http://b.org/moved"), due("http://b.org/gone"), due("http://c.org/away"),
    ]  # fmt: skip
    found = outcomes(lambda: flow(web), pages)
    assert states(found) == {
        "http://a.org/same": "unchanged", "http://a.org/new": "changed",
        "http://a.org/tag": "unchanged", "http://b.org/late-tag": "unchanged",
        "http://b.org/moved": "aside", "http://b.org/gone": "aside",
        "http://c.org/away": "failed",
    }  # fmt: skip
    by = {outcome.page.url: outcome for outcome in found}
    new = by[Url("http://a.org/new")]
    assert new.found == "old 7 → new"
    assert new.response is not None
    assert new.response.body == b"new"
    assert new.digest == body_digest(b"new")
    assert by[Url("http://a.org/tag")].status == 304
    assert by[Url("http://a.org/tag")].response is not None
    late = by[Url("http://b.org/late-tag")]
    assert (late.etag, late.modified) == ('"2"', "then")
    moved = by[Url("http://b.org/moved")].response
    assert moved is not None
    assert moved.header("location") == "http://c.org/"
    failure = by[Url("http://c.org/away")].failure
    assert failure is not None
    assert failure.kind == "connect"


def test_a_host_is_asked_politely_and_for_its_robots_first() -> None:
    answers: dict[str, Answer] = {
        "http://a.org/robots.txt": "User-agent: *\nDisallow: /no\nCrawl-delay: 3",
        **{f"http://a.org/{n}": "old" for n in range(4)},
    }
    web = Web(answers)
    heard: list[Any] = []
    pages = [due("http://a.org/no"), *(due(f"http://a.org/{n}") for n in range(4))]
    found = outcomes(lambda: flow(web, on_robots=heard.append), pages)
    assert states(found)["http://a.org/no"] == "failed"
    assert web.asked[0][1] == "http://a.org/robots.txt"
    times = [at for at, _ in web.asked]
    assert len(times) == 5
    assert all(later - sooner >= 3 for sooner, later in pairwise(times))
    assert web.most == 1
    assert [entry[0] for entry in heard] == ["http://a.org"]


def test_hosts_are_asked_beside_each_other() -> None:
    web = Web({f"http://h{n}.org/": "old" for n in range(50)})
    found = outcomes(lambda: flow(web), [due(f"http://h{n}.org/") for n in range(50)])
    assert set(states(found).values()) == {"unchanged"}
    assert web.most == 50
    web = Web({f"http://h{n}.org/": "old" for n in range(50)})
    few = FetchConcurrency(5, start=5)
    outcomes(lambda: flow(web, fetchers=few), [due(f"http://h{n}.org/") for n in range(50)])
    assert web.most == 5


def test_a_long_way_is_filled_before_the_first_answer() -> None:
    web = Web({f"http://h{n}.org/": "old" for n in range(100)})
    web.latency = 1.0
    known = open_robots("http://h{}.org", 100)
    pages = [due(f"http://h{n}.org/") for n in range(100)]
    found = outcomes(
        lambda: flow(web, fetchers=FetchConcurrency(80, start=20), robots=known), pages
    )
    assert len(found) == 100
    steps = Counter(round(at / FetchConcurrency.PACE_S) for at, _ in web.asked)
    assert [steps[step] for step in range(4)] == [20] * 4
    assert web.most == 80


def test_robots_are_asked_for_once_though_many_wait() -> None:
    web = Web({f"http://a.org/{n}": "old" for n in range(20)})
    robots = RobotsCache()
    found = outcomes(
        lambda: flow(web, per_host=20, robots=robots), [due(f"http://a.org/{n}") for n in range(20)]
    )
    assert set(states(found).values()) == {"unchanged"}
    assert sum(url.endswith("robots.txt") for _, url in web.asked) == 1


def test_two_sites_whose_robots_point_at_each_other_do_not_wait_for_ever() -> None:
    """Each has its turn while the other is busy, so neither is free for the other's file."""
    sites = {"http://a.org": "http://b.org", "http://b.org": "http://a.org"}
    web = Web({f"{site}/": "old" for site in sites})
    for site, other in sites.items():
        web.answers[f"{site}/robots.txt"] = (301, {"Location": f"{other}/robots.txt"}, "")
    heard: list[Any] = []

    async def collect() -> Outcomes:
        async with asyncio.timeout(3600):
            made = flow(web, on_robots=heard.append)
            return [outcome async for outcome in made.run(each(due(f"{site}/") for site in sites))]

    first, second = simulate(collect())
    assert first.state == "later"
    assert first.failure == Failure("robots", "robots.txt could not be fetched", final=False)
    assert 60 <= first.at - START < 65
    assert first.retry_at == heard[0][1] + CLOSED_TTL_S
    assert second.state == "unchanged"  # the other host was free then, and the redirects ended
    assert len(web.asked) == 8


def test_a_tired_host_gives_its_pages_back() -> None:
    answers: dict[str, Answer] = {f"http://a.org/{n}": "old" for n in range(5)}
    answers["http://a.org/0"] = (429, {"Retry-After": "3600"}, "")
    web = Web(answers)
    found = outcomes(lambda: flow(web), [due(f"http://a.org/{n}") for n in range(5)])
    assert states(found)["http://a.org/0"] == "aside"
    late = [outcome for outcome in found if outcome.state == "later"]
    assert len(late) == 4
    assert all(outcome.retry_at >= START + 3600 for outcome in late)
    assert len(web.asked) == 2  # and robots.txt


def test_closed_robots_give_pages_back() -> None:
    web = Web({"http://a.org/robots.txt": (503, {}, ""), "http://a.org/": "old"})
    (outcome,) = outcomes(lambda: flow(web), [due("http://a.org/")])
    assert (outcome.state, outcome.failure is not None) == ("later", True)
    assert outcome.retry_at > START + 3000


def test_an_audit_finds_out_who_lies() -> None:
    """Asked with its validator it says 304; asked without, it turns out to have changed."""
    web = Web({
        "http://a.org/": (200, {"ETag": '"1"'}, "changed after all"),
        "http://b.org/": (200, {"ETag": '"2"'}, "changed, and says so"),
        "http://c.org/": (200, {"ETag": '"1"'}, "old"),
    })  # fmt: skip
    pages = [due(f"http://{name}.org/", etag='"1"') for name in "abc"]
    trusting = {o.page.url: o for o in outcomes(lambda: flow(web, audit=0.0), pages)}
    assert trusting[Url("http://a.org/")].state == "unchanged"
    assert not any(outcome.validator_lied for outcome in trusting.values())
    audited = {o.page.url: o for o in outcomes(lambda: flow(web, audit=1.0), pages)}
    assert [(o.state, o.validator_lied) for _, o in sorted(audited.items())] == [
        ("changed", True), ("changed", False), ("unchanged", False),
    ]  # fmt: skip
    assert all(o.status == 200 for o in audited.values())


def test_one_in_fifty_is_audited() -> None:
    web = Web({f"http://h{n}.org/": (200, {"ETag": '"1"'}, "old") for n in range(2000)})
    pages = [due(f"http://h{n}.org/", etag='"1"') for n in range(2000)]
    robots = open_robots("http://h{}.org", 2000)
    found = outcomes(lambda: flow(web, audit=1 / 50, robots=robots), pages)
    assert 20 <= sum(outcome.status == 200 for outcome in found) <= 65


def test_a_304_to_whoever_has_nothing_is_no_answer() -> None:
    web = Web({"http://a.org/": (304, {}, "")})
    (outcome,) = outcomes(lambda: flow(web), [DuePage(Url("http://a.org/"))])
    assert outcome.state == "aside"


def test_large_bodies_are_compared_elsewhere() -> None:
    web = Web({f"http://h{n}.org/": "x" * n * 1000 for n in range(1, 9)})
    places: list[tuple[int, bool]] = []
    loop: list[int] = []

    def compare(_old: str, _page: DuePage, response: Response) -> str:
        places.append((len(response.body), threading.get_ident() == loop[0]))
        return "done"

    async def collect(pool: ThreadPoolExecutor) -> Outcomes:
        loop.append(threading.get_ident())
        made: RevisitFlow[str, str] = PooledRevisitFlow(
            web,
            PolitenessGate(
                open_robots("http://h{}.org", 9), HostDelayPolicy(PolitenessSettings(), seed=1)
            ),
            lambda page: f"old {page.key}",
            compare,
            pool,
            CompareConcurrency(2),
            InPlaceLimit(4_500),
            clock=web.now,
        )
        made_of = [due(f"http://h{n}.org/") for n in range(1, 9)]
        return [outcome async for outcome in made.run(each(made_of))]

    web.latency = 0.001
    with ThreadPoolExecutor(2) as pool:
        found = asyncio.run(asyncio.wait_for(collect(pool), 20))
    assert {outcome.found for outcome in found} == {"done"}
    assert sorted(places) == [(n * 1000, n < 5) for n in range(1, 9)]


def test_a_page_that_never_comes_does_not_hold_its_host_up() -> None:
    class Stuck(Web):
        async def fetch(self, request: Request) -> Response:
            if request.url.endswith("/stuck"):
                await asyncio.Event().wait()
            return await super().fetch(request)

    web = Stuck({"http://a.org/next": "old"})
    pages = [due("http://a.org/stuck"), due("http://a.org/next")]
    found = outcomes(lambda: flow(web, deadline_s=30, patience_s=1000), pages)
    assert states(found) == {"http://a.org/stuck": "failed", "http://a.org/next": "unchanged"}
    assert found[0].failure is not None
    assert found[0].failure.kind == "timeout"


def test_bytes_are_bounded_while_nobody_takes_them() -> None:
    """Ten bodies fit; the other ninety wait for somebody to take the first."""
    web = Web({f"http://h{n}.org/": "x" * 10_000 for n in range(100)})
    robots = open_robots("http://h{}.org", 100)

    async def dawdle() -> tuple[int, int, int]:
        made = flow(web, held_mb=0.1, robots=robots)
        pages = [due(f"http://h{n}.org/")._replace(size=10_000) for n in range(100)]
        most = taken = 0
        early = 0
        async for _ in made.run(each(pages)):
            taken += 1
            await asyncio.sleep(1)
            most = max(most, made.held_bytes)
            early = early or len(web.asked)
        return taken, most, early

    taken, most, early = simulate(dawdle())
    assert taken == 100
    assert most <= 110_000
    assert early <= 11


def test_pages_may_come_one_by_one() -> None:
    web = Web({f"http://h{n}.org/": "new" for n in range(10)})

    async def slowly() -> AsyncIterator[DuePage]:
        for n in range(10):
            await asyncio.sleep(5)
            yield due(f"http://h{n}.org/", key=n)

    async def collect() -> list[tuple[float, int]]:
        return [(web.now() - START, o.page.key) async for o in flow(web).run(slowly())]

    found = simulate(collect())
    assert [key for _, key in found] == list(range(10))
    assert all(at < 5 * key + 8 for at, key in found)


def test_a_source_that_fails_ends_the_run() -> None:
    async def failing() -> AsyncIterator[DuePage]:
        yield due("http://a.org/")
        raise StoreError("the disk is gone")

    async def collect() -> Outcomes:
        return [outcome async for outcome in flow(Web({})).run(failing())]

    with pytest.raises(StoreError):
        simulate(collect())


def test_a_page_we_fail_on_is_told_and_the_tenth_in_a_row_ends_it() -> None:
    def compare(_old: str, page: DuePage, _new: Response) -> str:
        if page.key % 2:
            raise ZeroDivisionError("odd")
        return "even"

    web = Web({f"http://h{n}.org/": "new" for n in range(30)})
    pages = [due(f"http://h{n}.org/", key=n) for n in range(30)]
    one_by_one = FetchConcurrency(1, start=1)
    found = outcomes(lambda: flow(web, compare=compare, fetchers=one_by_one), pages)
    assert [o.page.key % 2 for o in found if o.failure is not None] == [1] * 15
    with pytest.raises(ZeroDivisionError):
        outcomes(lambda: flow(web, compare=compare), pages[1::2])


def test_a_broken_store_ends_the_run() -> None:
    def old(_page: DuePage) -> str:
        raise StoreError("no disk")

    with pytest.raises(StoreError):
        outcomes(lambda: flow(Web({"http://a.org/": "new"}), old=old), [due("http://a.org/")])


def test_it_stops_when_told_and_gives_up_when_closed() -> None:
    web = Web({f"http://h{n}.org/": "old" for n in range(100)})
    few = FetchConcurrency(4, start=4)

    async def stop() -> tuple[int, int]:
        made = flow(web, fetchers=few)
        taken = 0
        async for _ in made.run(each(due(f"http://h{n}.org/") for n in range(100))):
            taken += 1
            if taken == 3:
                made.stop()
        return taken, len(made.host_queues)

    taken, waiting = simulate(stop())
    assert 3 <= taken <= 8
    assert waiting == 0

    async def close() -> int:
        made = flow(web, fetchers=FetchConcurrency(4, start=4))
        results = made.run(each(due(f"http://h{n}.org/") for n in range(100)))
        async for _ in results:
            break
        await results.aclose()  # type: ignore[attr-defined]
        assert not made.under_way
        again = [outcome async for outcome in made.run(each([due("http://z.org/")]))]
        return len(again)

    assert simulate(close()) == 1


@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_every_page_comes_out_once_whatever_the_web_does(data: st.DataObject) -> None:
    kinds: list[Answer] = [
        "old",
        "new",
        (404, {}, ""),
        (503, {}, ""),
        (200, {"ETag": '"1"'}, "new"),
    ]
    hosts = data.draw(st.integers(1, 6))
    pages: list[DuePage] = []
    answers: dict[str, Answer] = {}
    for n in range(data.draw(st.integers(0, 40))):
        url = f"http://h{n % hosts}.org/{n}"
        kind = data.draw(st.integers(0, len(kinds) + 1))
        if kind < len(kinds):
            answers[url] = kinds[kind]
        else:
            answers[url] = FetchTimeout(url) if kind == len(kinds) else ConnectError(url)
        pages.append(due(url, key=n, etag=data.draw(st.sampled_from(["", '"1"']))))
    web = Web(answers)
    held = data.draw(st.sampled_from([0.00001, 1.0]))
    limit = data.draw(st.integers(1, 8))
    found = outcomes(
        lambda: flow(web, fetchers=FetchConcurrency(limit, start=limit), held_mb=held, audit=0.5),
        pages,
    )
    assert sorted(outcome.page.key for outcome in found) == list(range(len(pages)))
    for outcome in found:
        if outcome.state == "changed":
            assert outcome.found == f"old {outcome.page.key} → new"
            assert "new" in str(answers[outcome.page.url])
        if outcome.state == "unchanged" and outcome.status == 200:
            assert answers[outcome.page.url] == "old"
