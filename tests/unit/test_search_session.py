"""A crawl that asks a search engine: what it asks, what comes in, and what a crash costs."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

from honeyguide.crawl.loop import CommitBatch, CrawlLoop
from honeyguide.errors import ConfigError, SearchError
from honeyguide.store.searches import SearchRow
from honeyguide.store.store import Store
from honeyguide.types import Label, Url
from tests.unit.crawling import FakeWeb, rows
from tests.unit.searching import (
    BEES,
    STEAM,
    MadeEngine,
    asked,
    crawl,
    failing,
    results,
    scattered,
)

ALONE = {"mode": "search_only", "compose": False, "queries": ["honey bee"]}


def urls(count: int) -> list[str]:
    return [f"http://h{n}.test/" for n in range(count)]


def test_results_come_in_as_links_on_a_page_of_results(tmp_path: Path) -> None:
    web, engine = scattered(3), MadeEngine(urls(3))
    report = crawl(tmp_path, web, engine, search=ALONE)
    assert report.progress.relevant == 3
    row = rows(tmp_path)["http://h1.test/"]
    assert row.channel == "search"
    assert row.source == "https://made.example/search?q=honey+bee&p=1"
    assert (row.anchor, row.after, row.depth) == ("Honey bee 1", "All about the bee", 1)
    (search,) = asked(tmp_path)
    assert (search.query, search.by, search.results, search.fresh) == ("honey bee", "user", 3, 3)
    assert search.promised > 0
    assert search.address == row.source
    assert not any("made.example" in url for _, url in web.asked)


def test_search_only_follows_redirects_and_no_links(tmp_path: Path) -> None:
    web = scattered(2)
    web.answers["http://h0.test/"] = BEES + '<link rel=canonical href="/c"><a href="/next">bee</a>'
    web.answers["http://h1.test/"] = (301, {"Location": "http://there.test/"}, "")
    web.answers["http://there.test/"] = BEES + "there <a href='/more'>more bee</a>"
    report = crawl(tmp_path, web, MadeEngine(urls(2)), search=ALONE)
    assert sorted(web.paths()) == ["http://h0.test/", "http://h1.test/", "http://there.test/"]
    assert rows(tmp_path)["http://there.test/"].channel == "search"
    assert report.reason.startswith("no link is left to follow, and every query was asked")


def test_joint_follows_both(tmp_path: Path) -> None:
    web = scattered(2)
    web.answers["http://h0.test/"] = BEES + '<a href="/next">bee</a>'
    web.answers["http://h0.test/next"] = BEES + "next"
    web.answers["http://seed.test/"] = BEES + "seed"
    joint = {"queries": ["honey bee"], "compose": False}
    crawl(tmp_path, web, MadeEngine(urls(2)), search=joint, topic={"seeds": ["http://seed.test/"]})
    channels = {row.url: row.channel for row in rows(tmp_path).values()}
    assert channels == {
        "http://seed.test/": "seed",
        "http://h0.test/": "search",
        "http://h1.test/": "search",
        "http://h0.test/next": "link",
    }


def test_a_query_goes_on_until_it_brings_nothing_more(tmp_path: Path) -> None:
    engine = MadeEngine(urls(35))
    report = crawl(tmp_path, scattered(35), engine, search=ALONE)
    assert report.progress.relevant == 35
    assert engine.asked == [("honey bee", page) for page in (1, 2, 3, 4)]


def test_queries_are_composed_from_good_pages(tmp_path: Path) -> None:
    words = "The waggle dance tells where. Royal jelly feeds queens."
    web = scattered(12, BEES.replace("Bees", "Honey bee") + 3 * "<h2>Honey bee</h2>" + words)
    web.answers |= {f"http://s{n}.test/": f"{STEAM} {n}" for n in range(6)}
    hidden = FakeWeb({f"http://w{n}.test/": BEES + f"waggle dance {n}" for n in range(5)})
    web.answers |= hidden.answers
    steam = [f"http://s{n}.test/" for n in range(6)]

    def say(_: int, query: str, page: int) -> object:
        if page > 1:
            return results([], more=False)
        telling = "waggle" in query or "jelly" in query
        return results(list(hidden.answers) if telling else [*urls(12), *steam], more=False)

    engine = MadeEngine(say)  # type: ignore[arg-type]
    crawl(tmp_path, web, engine, search={"mode": "search_only"})
    assert any("waggle" in query or "jelly" in query for query, _ in engine.asked)
    assert set(hidden.answers) <= set(rows(tmp_path))
    assert {search.by for search in asked(tmp_path)} == {"composed"}


def test_duplicates_are_merged_and_counted_once(tmp_path: Path) -> None:
    engine = MadeEngine(lambda *_: results(urls(3), more=False))
    two = {**ALONE, "queries": ["honey bee", "bee hive"]}
    crawl(tmp_path, scattered(3), engine, search=two)
    assert [search.fresh for search in asked(tmp_path)] == [3, 0]
    assert {row.inlinks for row in rows(tmp_path).values()} == {1}


def test_nothing_outside_the_fence_comes_in(tmp_path: Path) -> None:
    engine = MadeEngine([*urls(2), "http://out.test/private/x"])
    crawl(tmp_path, scattered(2), engine, search=ALONE, scope={"exclude": ["/private/"]})
    assert set(rows(tmp_path)) == set(urls(2))


@pytest.mark.parametrize("kind", ["down", "slow", "limited", "garbage", "refused", "spent"])
def test_an_engine_that_fails_does_not_end_the_crawl(tmp_path: Path, kind: str) -> None:
    web = FakeWeb({"http://seed.test/": BEES + '<a href="/1">bee</a>', "http://seed.test/1": BEES})
    engine = MadeEngine(failing(kind))
    topic = {"seeds": ["http://seed.test/"]}
    report = crawl(tmp_path, web, engine, topic=topic)
    assert report.progress.relevant == 2
    assert "made" in report.warnings[-1]
    assert len([text for text in report.warnings if "search engine" in text]) == 1
    found = asked(tmp_path)
    assert {search.outcome for search in found} == {kind}
    assert found[0].detail == "it said so"
    assert len(found) <= 4
    if kind == "spent":
        assert len(found) == 1, "it was asked again"
        assert "this month" in report.reason


def test_what_an_engine_asks_for_is_kept_to(tmp_path: Path) -> None:
    times: list[float] = []
    web = scattered(1)

    def say(count: int, *_: object) -> object:
        times.append(web.now())
        return SearchError("limited", "", 77.0) if count == 1 else results(urls(1), more=False)

    crawl(tmp_path, web, MadeEngine(say), search=ALONE)  # type: ignore[arg-type]
    assert times[1] - times[0] >= 77


def test_never_again_in_this_run(tmp_path: Path) -> None:
    engine = MadeEngine(failing("limited", float("inf")))
    report = crawl(tmp_path, scattered(0), engine, search=ALONE)
    assert len(engine.asked) == 1
    assert "nothing more was asked in this run" in report.warnings[-1]


def test_an_engine_that_breaks_or_lies_is_an_outcome(tmp_path: Path) -> None:
    def say(count: int, *_: object) -> object:
        if count == 1:
            return ZeroDivisionError("oops sk-secret")
        if count == 2:
            return results(["not an address", "ftp://x.test/", "HTTP://H0.test:80", *urls(1)])
        return results([], more=False)

    crawl(tmp_path, scattered(1), MadeEngine(say), search=ALONE)  # type: ignore[arg-type]
    found = asked(tmp_path)
    assert (found[0].outcome, "secret" in found[0].detail) == ("garbage", False)
    assert (found[1].outcome, found[1].results, found[1].fresh) == ("", 1, 1)


def test_an_engine_that_hangs_is_left(tmp_path: Path) -> None:
    engine = MadeEngine(urls(1), latency=1e6)
    crawl(tmp_path, scattered(1), engine, search=ALONE)
    assert {search.outcome for search in asked(tmp_path)} == {"slow"}


def test_asking_keeps_its_pace(tmp_path: Path) -> None:
    times: list[float] = []
    web = scattered(60)

    def say(count: int, *_: object) -> object:
        times.append(web.now())
        return results(urls(60)[count * 6 - 6 : count * 6], more=count < 10)

    slow = {**ALONE, "per_minute": 2.0}
    crawl(tmp_path, web, MadeEngine(say), search=slow)  # type: ignore[arg-type]
    assert len(times) == 10
    assert min(b - a for a, b in pairwise(times)) >= 30


def test_a_resumed_crawl_asks_nothing_twice(tmp_path: Path) -> None:
    engine = MadeEngine(urls(35))
    crawl(tmp_path, scattered(35), engine, search=ALONE, crawl={"pages": 12})
    before = list(engine.asked)
    web = scattered(35)
    web.start += 200_000
    report = crawl(tmp_path, web, engine, search=ALONE)
    assert before == engine.asked[: len(before)]
    assert len(set(engine.asked)) == len(engine.asked), "a page of results was asked for twice"
    assert report.progress.visits == 35
    assert sum(search.fresh for search in asked(tmp_path)) == 35


class Killed(BaseException):
    """The process dies here."""


@pytest.mark.parametrize("instant", ["answered", "pushed", "kept"])
def test_a_crash_loses_no_answer_and_takes_none_twice(tmp_path: Path, instant: str) -> None:
    """Whatever was not committed when it dies is gone; the store is closed without a commit."""
    engine = MadeEngine(urls(3))

    def die(ring: CrawlLoop) -> None:
        def dead(*_: object) -> None:
            raise Killed

        assert ring.search is not None
        if instant == "answered":
            asked_for = engine.asked
            ring.search.take_results = lambda *_: dead() if asked_for else 0  # type: ignore
        elif instant == "pushed":
            ring.search.save_taken = dead  # type: ignore[method-assign]
        else:
            ring.search.confirm_saved = dead  # type: ignore[method-assign]
            ring._batch.search = ring.search

    def kill(ring: CrawlLoop) -> None:
        die(ring)
        plain = CommitBatch.write

        def write(batch: CommitBatch) -> object:
            if batch.search is not None and not batch.search._taken:
                return []  # nothing to lose yet
            return plain(batch)

        ring._batch.write = write.__get__(ring._batch)  # type: ignore[method-assign]

    with pytest.raises(Killed):
        crawl(tmp_path, scattered(3), engine, search=ALONE, meanwhile=kill)
    assert len(asked(tmp_path)) == 1
    web = scattered(3)
    web.start += 200_000
    report = crawl(tmp_path, web, engine, search=ALONE)
    assert report.progress.visits == 3
    assert [search.fresh for search in asked(tmp_path) if search.results] == [3]
    assert engine.asked[0] not in engine.asked[1:], "what was answered was asked again"


def test_what_another_process_asked_is_taken(tmp_path: Path) -> None:
    with Store.open(tmp_path, "crawl") as store:
        search = SearchRow(1.0, "made", "drone", by="ada", address="https://made.example/s?q=drone")
        store.searches.add_search(search, [(url, "Bee", "Honey") for url in urls(2)])
    crawl(tmp_path, scattered(2), MadeEngine(()), search={**ALONE, "queries": []})
    assert set(rows(tmp_path)) == set(urls(2))
    assert asked(tmp_path)[0].fresh == 2


def test_a_wish_from_another_process_is_asked_once(tmp_path: Path) -> None:
    engine = MadeEngine(lambda _, query, page: results(urls(2) if page == 1 else [], more=False))

    def wish(ring: CrawlLoop) -> None:
        with Store.open(tmp_path, "write") as store:
            store.searches.request_query("queen bee", "ada", 1.0)

    quiet = {**ALONE, "queries": []}
    crawl(tmp_path, scattered(2), engine, search=quiet, meanwhile=wish)
    assert engine.asked == [("queen bee", 1)]
    assert asked(tmp_path)[0].by == "ada"
    web = scattered(2)
    web.start += 200_000
    crawl(tmp_path, web, engine, search=quiet)
    assert engine.asked == [("queen bee", 1)]


def test_labels_teach_the_composer(tmp_path: Path) -> None:
    web = FakeWeb({f"http://h{n}.test/": f"{STEAM} {n} boiler gauge" for n in range(3)})
    engine = MadeEngine(
        lambda count, *_: results(urls(3) if count == 1 else [], more=False), latency=0.1
    )
    crawl(tmp_path, web, engine, search={"mode": "search_only"}, topic={"keywords": ["bee"]})
    first = {query for query, _ in engine.asked}
    assert not any("gauge" in query for query in first)
    with Store.open(tmp_path, "write") as store:
        store.labels.add([Label(Url(url), 1.0, "ada") for url in urls(3)])
    web.start += 200_000
    crawl(tmp_path, web, engine, search={"mode": "search_only"}, topic={"keywords": ["bee"]})
    later = {query for query, _ in engine.asked} - first
    assert any("gauge" in query or "boiler" in query for query in later)


def test_the_same_crawl_twice_is_the_same(tmp_path: Path) -> None:
    seen = []
    for name in ("one", "two"):
        web = scattered(40, BEES + "waggle dance. Royal jelly.")
        web.answers["http://seed.test/"] = BEES + "".join(
            f'<a href="http://l{n}.test/">bee {n}</a>' for n in range(30)
        )
        web.answers |= {f"http://l{n}.test/": f"{STEAM} {n}" for n in range(30)}

        def say(count: int, query: str, page: int) -> object:
            some = urls(40)[3 * count - 3 : 3 * count]
            return results(some, more=page < 3)

        engine = MadeEngine(say)  # type: ignore[arg-type]
        topic = {"seeds": ["http://seed.test/"]}
        crawl(tmp_path / name, web, engine, topic=topic, crawl={"strategy": "honeyguide"})
        seen.append((engine.asked, web.asked))
    assert seen[0] == seen[1]


def test_nothing_to_ask_is_told(tmp_path: Path) -> None:
    web = FakeWeb({"http://seed.test/": STEAM})
    topic = {"seeds": ["http://seed.test/"], "keywords": []}
    breadth = {"strategy": "breadth"}
    search = {"compose": False}
    report = crawl(tmp_path, web, MadeEngine(()), topic=topic, crawl=breadth, search=search)
    assert "the search engine was not asked" in report.warnings[-1]


def test_seeds_are_needed_unless_an_engine_is_asked(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no seeds"):
        crawl(tmp_path, scattered(1), None)
    with pytest.raises(ConfigError, match=r"scope\.rule"):
        crawl(tmp_path, scattered(1), MadeEngine(()), scope={"rule": "host"})


def test_an_unknown_engine_is_found_before_anything_is_opened(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="searxng"):
        crawl(tmp_path / "c", scattered(1), None, search={"engine": "searxgn"})
    assert not (tmp_path / "c").exists()
