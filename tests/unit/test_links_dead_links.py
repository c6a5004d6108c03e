"""Links that lead to no page: outcomes by address pattern and place, in units and in crawls."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from honeyguide.api.explain import explain_url
from honeyguide.config.loading import parse_settings
from honeyguide.links import dead_links as module
from honeyguide.links.dead_links import DEAD_CHANCE, DeadLinks, address_patterns
from honeyguide.store.store import Store
from honeyguide.types import (
    DuplicateOf,
    Failure,
    Link,
    Page,
    Response,
    Url,
    Verdict,
    Visit,
)
from tests.unit.crawling import FakeWeb, crawl, rows

HOME = Url("http://a.test/")
HONEY = "honey bee hive comb nectar pollen wax swarm queen drone brood apiary keeper smoke"


def link(path: str, place: str = "div/ul/li", source: Url = HOME) -> Link:
    return Link(Url(f"http://a.test{path}"), source=source, tag_path=place, depth=1)


def visit(one: Link, status: int = 404, kind: Any = "status", *, final: bool = True) -> Visit:
    answer = Response(one.url, status, (), b"", b"", b"", b"", "", 0.0, 0.0) if status else None
    return Visit(one, 0.0, response=answer, failure=Failure(kind, "", final))


def page(one: Link, text: str = HONEY, copy: str = "") -> Visit:
    again = DuplicateOf(Url(copy), exact=True) if copy else None
    return Visit(one, 0.0, page=Page(one.url, text=text), verdict=Verdict(0.9), duplicate=again)


def test_patterns_go_from_the_domain_to_the_folder() -> None:
    assert address_patterns("http://www.a.test:8080/img/17/b.JPG.htm?s=1&a=2") == (
        "a.test",
        "www.a.test:8080",
        "www.a.test:8080/…/*.jpg.htm?a&s",
        "www.a.test:8080/img/…/*.jpg.htm?a&s",
        "www.a.test:8080/img/#/*.jpg.htm?a&s",
    )
    assert address_patterns("http://a.test/wiki/Talk:Bees")[-1] == "a.test/wiki/Talk:*"


def test_a_pattern_that_always_fails_loses_its_chance_and_others_keep_theirs() -> None:
    dead = DeadLinks()
    for n in range(20):
        assert dead.record_visit(visit(link(f"/images/{n}.jpg.htm", "p/a")))
        dead.record_visit(page(link(f"/wp/{n}.htm", "p/a")))
    image, article = link("/images/99.jpg.htm", "p/a"), link("/wp/99.htm", "p/a")
    assert dead.page_chance(image) < 0.05
    assert dead.page_chance(article) > 0.8
    lost, kept = dead.weigh_scores([image, article], [0.9, 0.1])
    assert lost < kept
    (reason,) = dead.explain_chance(image)
    assert reason.what.startswith("links like a.test/images/*.jpg.htm failed 20 of 20 times")
    assert dead.explain_chance(article) == ()


def test_without_failures_scores_stay_bit_for_bit() -> None:
    dead = DeadLinks()
    for n in range(9):
        dead.record_visit(page(link(f"/{n}")))
    assert dead.weigh_scores([link("/a"), link("/b")], [0.3, 0.0]) == [0.3, 0.0]


@pytest.mark.parametrize(
    ("status", "kind", "final"),
    [(500, "status", True), (503, "status", True), (429, "status", True), (0, "timeout", True),
     (0, "dns", True), (0, "robots", True), (404, "status", False), (0, "scope", True),
     (200, "noindex", True)],
)  # fmt: skip
def test_what_may_pass_says_nothing(status: int, kind: str, final: bool) -> None:
    dead = DeadLinks()
    for n in range(30):
        assert not dead.record_visit(visit(link(f"/x/{n}.htm"), status, kind, final=final))
    assert dead.page_chance(link("/x/99.htm")) == 1.0


def test_copies_empty_pages_types_and_ways_home_are_failures() -> None:
    def home(n: int) -> Visit:
        return Visit(link(f"/h/{n}"), 0.0, moved=HOME)

    for outcome in (
        lambda n: page(link(f"/h/{n}"), copy="http://a.test/other"),
        lambda n: page(link(f"/h/{n}"), text=" "),
        lambda n: visit(link(f"/h/{n}"), 0, "wrong_type"),
        home,
    ):
        dead = DeadLinks()
        assert all(dead.record_visit(outcome(n)) for n in range(9))
        assert dead.page_chance(link("/h/99")) < DEAD_CHANCE
    # Crawls that read no words know no empty pages; who names another address of itself is there.
    assert not DeadLinks(reads_words=False).record_visit(page(link("/h/1"), text=""))
    assert not DeadLinks().record_visit(page(link("/h/1"), copy=HOME))


def test_dead_links_at_one_place_lead_to_many_hosts() -> None:
    dead = DeadLinks()
    for n in range(12):
        away = link("/", "div.friends/a")._replace(url=Url(f"http://gone{n}.test/blog"))
        dead.record_visit(visit(away))
        dead.record_visit(page(link(f"/{n}", "p/a")._replace(url=Url(f"http://w{n}.test/"))))
    friend = link("/", "div.friends/a")._replace(url=Url("http://friend.test/"))
    assert dead.page_chance(friend) < DEAD_CHANCE < dead.page_chance(friend._replace(tag_path="p"))


def test_a_site_that_recovers_is_noticed() -> None:
    dead = DeadLinks()
    for n in range(40):
        dead.record_visit(visit(link(f"/x/{n}.htm")))
    for n in range(60):
        dead.record_visit(page(link(f"/y/{n}")))
    waiting = [link(f"/x/{n}.htm") for n in range(100, 110)]
    scores = dead.weigh_scores(waiting, [n / 20 for n in range(10)])
    assert [n for n, score in enumerate(scores) if score > 0.1] == [9], "the best one is tried"
    assert dead.limit_scores(waiting)[9] == 1.0
    for n in range(3):
        dead.record_visit(page(waiting[n]))
    assert dead.page_chance(waiting[5]) > 0.4


def test_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_PATTERNS", 50)
    dead = DeadLinks()
    for n in range(500):
        letters = "".join(chr(97 + int(d)) for d in str(n))
        dead.record_visit(visit(link(f"/{letters}/{'x' * 5000}.{letters}")))
        dead.record_visit(Visit(link(f"/r{n}"), 0.0, moved=Url(f"http://a.test/t{n}")))
    assert len(dead._tallies) <= 50
    assert len(dead._targets) <= 50
    assert max(map(len, dead._tallies)) < 1000


# --- Whole crawls ---

PAGES = 150


def gallery() -> FakeWeb:
    """Every page links to six images, which promise more than the six next pages and are gone."""

    def html(n: int) -> str:
        words = " ".join(f"{word} {word}{n}" for word in HONEY.split())
        dead = " ".join(f'<a href="/images/{n}-{m}.jpg.htm">honey bee</a>' for m in range(6))
        more = " ".join(f'<a href="/wp/{m}.htm">page {m}</a>' for m in range(n + 1, n + 7))
        return f"<title>honey bee {n}</title><p>{words}<p>{dead}<p>{more}"

    return FakeWeb({f"http://a.test/wp/{n}.htm": html(n) for n in range(PAGES)})


@pytest.mark.parametrize("strategy", ["honeyguide", "hybrid_svm", "keyword", "ontology_weights"])
def test_a_crawl_leaves_dead_patterns(tmp_path: Path, strategy: str) -> None:
    web, folder = gallery(), tmp_path / "bees"
    tables = {"crawl": {"strategy": strategy, "pages": 120, "concurrency": 1}}
    crawl(folder, web, ["http://a.test/wp/0.htm"], **tables)
    dead = ["/images/" in url for url in rows(folder)]
    before = len(dead)
    assert sum(dead) <= 20 + 0.08 * before
    # A new run knows it from the journal.
    more = {"crawl": tables["crawl"] | {"pages": 140}}
    crawl(folder, web, ["http://a.test/wp/0.htm"], **more)
    assert sum("/images/" in url for url in list(rows(folder))[before:]) <= 2
    gone = next(url for url in rows(folder) if "/images/" in url)
    topic = {"keywords": ["honey"], "seeds": ["http://a.test/wp/0.htm"]}
    settings = parse_settings({"topic": topic, "fetch": {"contact": "t@example.org"}, **tables})
    told = explain_url(folder, settings, gone, 0.0)
    assert any("/images/*.jpg.htm failed" in reason.what for reason in told.reasons)


def test_copies_are_never_relevant(tmp_path: Path) -> None:
    words = " ".join(f"{word} {word}{n}" for n in range(9) for word in HONEY.split())
    links = " ".join(f'<a href="/sorted/{n}">honey {n}</a>' for n in range(20))
    pages: dict[str, Any] = {f"http://a.test/sorted/{n}": f"<p>{words}" for n in range(20)}
    web = FakeWeb(pages | {HOME: f"<title>bees</title><p>honey {links}"})
    folder = tmp_path / "bees"
    tables = {"crawl": {"strategy": "keyword"}}
    report = crawl(folder, web, [HOME], **tables)
    assert report.progress.copies == 19
    assert "19 copies" in repr(report)
    assert report.progress.relevant == report.estimate.found <= 2
    copies = [row for row in rows(folder).values() if row.copy_of]
    assert not any(row.relevant for row in copies)
    # A collection of an earlier version counted them: it is counted anew, with what people said.
    with Store.open(folder, "crawl") as store, store.transaction():
        store.counter.mark_relevant(dict.fromkeys((row.id for row in copies), True))
        store.database.execute("DELETE FROM meta WHERE key = 'copies'")
        assert store.counter.read_counts().relevant == report.progress.relevant + 19
    again = crawl(folder, web, [HOME], **tables)
    assert again.progress.relevant == again.estimate.found == report.progress.relevant
    with Store.open(folder, "read") as store:
        assert store.counter.read_counts().relevant == report.progress.relevant
        assert store.counter.harvest_curve()[-1][1] == report.progress.relevant


def test_a_refused_seed_is_visited_once_its_setting_changes(tmp_path: Path) -> None:
    seed, folder = "http://a.test/wp/0.htm", tmp_path / "bees"
    web, seeds = gallery(), [HOME, seed]
    narrow: dict[str, Any] = {
        "crawl": {"strategy": "keyword", "pages": 5},
        "scope": {"exclude": ["/wp/"]},
    }
    report = crawl(folder, web, seeds, **narrow)
    assert seed not in web.paths()
    assert rows(folder)[seed].detail == "excluded by the pattern '/wp/' (scope.exclude)"
    crawl(folder, web, seeds, **narrow)
    assert seed not in web.paths(), "nothing has changed"
    report = crawl(folder, web, seeds, **(narrow | {"scope": {}}))
    assert seed in web.paths()
    assert report.progress.relevant > 0
    count = len(web.paths())
    crawl(folder, web, seeds, **(narrow | {"scope": {}}))
    assert web.paths().count(seed) == 1, "reopened once, also after another start"
    assert len(web.paths()) == count


def test_a_seed_in_another_language_is_visited_once_that_is_wanted(tmp_path: Path) -> None:
    folder, seed = tmp_path / "bees", "http://a.test/en"
    text = "The bee makes honey and the keeper of the hive takes what is left of it. " * 9
    web = FakeWeb({seed: f"<title>honey bee</title><p>{text}"})
    for number, language in enumerate(["tr", "tr", "en"]):
        topic = {"language": [language], "keyword_language": "en"}
        report = crawl(folder, web, [seed], topic=topic, crawl={"strategy": "keyword"})
        assert (len(web.paths()), report.progress.relevant) == ((2, 1) if number == 2 else (1, 0))
        if number == 0:
            assert "(topic.language)" in rows(folder)[seed].verdict_reasons[0].what


def test_a_seed_beyond_a_limit_is_visited_once_the_limit_changes(tmp_path: Path) -> None:
    folder, seed = tmp_path / "bees", "http://a.test/old"
    web = FakeWeb({seed: (301, {"Location": "/new"}, ""), "http://a.test/new": f"<p>{HONEY}"})
    strict: dict[str, Any] = {"crawl": {"strategy": "keyword"}, "fetch": {"redirects": 0}}
    crawl(folder, web, [seed], **strict)
    assert rows(folder)[seed].failure == "too_many_redirects"
    crawl(folder, web, [seed], **strict)
    assert web.paths() == [seed]
    crawl(folder, web, [seed], **(strict | {"fetch": {"redirects": 5}}))
    assert web.paths() == [seed, seed, "http://a.test/new"]
