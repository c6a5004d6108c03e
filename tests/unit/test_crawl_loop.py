"""What the ring promises, in simulated time: each of these was once broken."""

from __future__ import annotations

import asyncio
from itertools import pairwise
from pathlib import Path

import pytest

from honeyguide.crawl.loop import CrawlLoop
from honeyguide.crawl.rescore import VerdictCorrector
from honeyguide.errors import ConnectError, StoreError, WrongType
from honeyguide.store.store import Store
from tests.unit.crawling import FakeWeb, crawl, rows

BEES = "<title>Bees</title><p>Honey bee, honey bee, honey bee."
NOBODY = "http://a.test/"


def links(*targets: str, text: str = BEES) -> str:
    return text + "".join(f'<p><a href="{target}">{target}</a>' for target in targets)


def test_wrong_types_do_not_make_a_host_a_failing_one(tmp_path: Path) -> None:
    pdfs = [f"http://a.test/{n}.x" for n in range(12)]
    web = FakeWeb({NOBODY: links(*pdfs, "http://a.test/busy", "http://a.test/end")})
    web.answers |= {url: WrongType(url, "application/pdf") for url in pdfs}
    web.answers["http://a.test/busy"] = lambda n: (503, {}, "") if n == 1 else BEES + "1"
    web.answers["http://a.test/end"] = BEES + "2"
    report = crawl(tmp_path, web, [NOBODY])
    assert web.asked[-1][0] < 600, "the host rested as if it had failed ten times"
    assert report.reason == "no link is left to follow"


def test_retry_after_outlives_the_process(tmp_path: Path) -> None:
    web = FakeWeb({NOBODY: links("http://a.test/1", "http://a.test/2")})
    web.answers["http://a.test/1"] = (503, {"Retry-After": "7200"}, "")
    web.answers["http://a.test/2"] = BEES
    crawl(tmp_path, web, [NOBODY])
    assert "http://a.test/2" not in web.paths()
    web.start -= 100_000.0 - 60  # the next run begins a minute later
    crawl(tmp_path, web, [NOBODY])
    assert "http://a.test/2" not in web.paths(), "it came back before the two hours were over"


def test_crawl_delay_outlives_the_process(tmp_path: Path) -> None:
    web = FakeWeb({NOBODY: links("http://a.test/1"), "http://a.test/1": BEES})
    web.answers["http://a.test/robots.txt"] = (200, {}, "User-agent: *\nCrawl-delay: 50\n")
    crawl(tmp_path, web, [NOBODY], crawl={"pages": 1})
    last = web.asked[-1][0]
    web.start -= 100_000.0
    crawl(tmp_path, web, [NOBODY])
    # Each run's loop begins at zero: the second page must not come before its fifty seconds.
    assert web.asked[-1][1] == "http://a.test/1"
    assert web.asked[-1][0] >= 50 > last - 60


def test_a_new_generation_holds_after_every_restart(tmp_path: Path) -> None:
    words = [f"http://a.test/honey{n}" for n in range(3)] + ["http://b.test/steam"]
    web = FakeWeb({NOBODY: links(*words)})
    other = {"topic": {"keywords": ["steam"]}}
    crawl(tmp_path, web, [NOBODY], crawl={"pages": 1, "concurrency": 1})
    crawl(tmp_path, web, [NOBODY], crawl={"pages": 1, "concurrency": 1}, **other)
    crawl(tmp_path, web, [NOBODY], crawl={"pages": 2, "concurrency": 1}, **other)
    assert web.paths()[1] == "http://b.test/steam"


def test_a_fence_that_was_moved_holds_for_what_waits(tmp_path: Path) -> None:
    web = FakeWeb({NOBODY: links("http://a.test/private/1", "http://a.test/2")})
    crawl(tmp_path, web, [NOBODY], crawl={"pages": 1})
    seeds = [NOBODY, "http://a.test/private/seed"]
    report = crawl(tmp_path, web, seeds, scope={"exclude": ["/private/"]})
    assert web.paths() == [NOBODY, "http://a.test/2"]
    assert rows(tmp_path)["http://a.test/private/1"].failure == "scope"
    assert report.progress.visits == 2, "what nobody was asked for is no visit"


def test_robots_txt_moved_to_a_busy_host_does_not_spin(tmp_path: Path) -> None:
    web = FakeWeb({"http://hub.test/robots.txt": ""})
    for n in range(20):
        place = f"http://h{n}.test"
        moved = {"Location": "http://hub.test/robots.txt"}
        web.answers[f"{place}/robots.txt"] = (301, moved, "")
        web.answers[f"{place}/"] = links(*(f"{place}/{k}" for k in range(30)))
    defers = 0

    def watch(ring: CrawlLoop) -> None:
        plain = ring.frontier.defer

        def counted(*words: object) -> None:
            nonlocal defers
            defers += 1
            plain(*words)  # type: ignore[arg-type]

        ring.frontier.defer = counted  # type: ignore[method-assign]

    crawl(tmp_path, web, [f"http://h{n}.test/" for n in range(20)], meanwhile=watch)
    assert len(web.paths()) == 20 * 31
    assert defers < 1000


def test_two_sites_whose_robots_point_at_each_other_are_left_alone(tmp_path: Path) -> None:
    """Each has its turn while the other is busy, so neither is ever free for the other's file."""
    sites = {"http://a.test": "http://b.test", "http://b.test": "http://a.test"}
    web = FakeWeb({f"{site}/": BEES for site in sites})
    for site, other in sites.items():
        web.answers[f"{site}/robots.txt"] = (301, {"Location": f"{other}/robots.txt"}, "")
    report = crawl(tmp_path, web, [f"{site}/" for site in sites], crawl={"patience_s": 100})
    assert web.paths() == []
    assert {row.detail for row in rows(tmp_path).values()} == {"robots.txt could not be fetched"}
    assert 60 <= report.seconds < 120


def test_a_site_that_asks_for_too_long_a_delay_is_left_alone(tmp_path: Path) -> None:
    web = FakeWeb({NOBODY: BEES})
    web.answers["http://a.test/robots.txt"] = (200, {}, "User-agent: *\nCrawl-delay: 600\n")
    report = crawl(tmp_path, web, [NOBODY])
    assert web.paths() == []
    assert rows(tmp_path)[NOBODY].detail == "robots.txt asks for 600 s between requests"
    assert report.seconds < 10


def test_a_store_that_fails_ends_the_run_and_burns_no_links(tmp_path: Path) -> None:
    web = FakeWeb({NOBODY: links("http://a.test/1"), "http://a.test/1": BEES + "1"})

    def break_it(ring: CrawlLoop) -> None:
        def broken(url: object, text: object) -> None:
            raise StoreError("the disk is on fire")

        object.__setattr__(ring.visit_runner.stages, "find_copy", broken)

    with pytest.raises(StoreError, match="on fire"):
        crawl(tmp_path, web, [NOBODY], meanwhile=break_it)
    crawl(tmp_path, web, [NOBODY])
    assert rows(tmp_path)["http://a.test/1"].has_page


def test_a_page_that_breaks_us_is_told_and_passed_by(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    web = FakeWeb({NOBODY: links("http://a.test/poison", "http://a.test/1")})
    web.answers["http://a.test/poison"] = BEES + "toxic"
    web.answers["http://a.test/1"] = BEES + "1"

    def break_it(ring: CrawlLoop) -> None:
        plain = ring.visit_runner.stages.find_copy

        def picky(url: str, text: str) -> object:
            if "toxic" in text:
                raise ZeroDivisionError("oops")
            return plain(url, text)  # type: ignore[arg-type]

        object.__setattr__(ring.visit_runner.stages, "find_copy", picky)

    crawl(tmp_path, web, [NOBODY], meanwhile=break_it)
    assert rows(tmp_path)["http://a.test/poison"].failure == "bug"
    assert "ZeroDivisionError" in rows(tmp_path)["http://a.test/poison"].detail
    assert rows(tmp_path)["http://a.test/1"].has_page
    assert "could not be processed" in caplog.text


def test_the_end_of_the_budget_is_waited_for_in_peace(tmp_path: Path) -> None:
    web = FakeWeb({f"http://h{n}.test/": BEES for n in range(5)}, latency=30.0)
    turns = 0

    def watch(ring: CrawlLoop) -> None:
        plain = ring.frontier.wake_at

        def counted() -> float | None:
            nonlocal turns
            turns += 1
            return plain()

        ring.frontier.wake_at = counted  # type: ignore[method-assign]

    crawl(tmp_path, web, list(web.answers), meanwhile=watch, crawl={"pages": 2})
    assert turns < 400, "it spun while the last answers were under way"


@pytest.mark.parametrize("twin", ["http://a.test", "https://a.test:8443"])
def test_a_broken_origin_does_not_close_its_twin(twin: str, tmp_path: Path) -> None:
    web = FakeWeb({"https://a.test/": links(f"{twin}/x", "https://a.test/1")})
    web.answers[f"{twin}/robots.txt"] = (500, {}, "")
    web.answers["https://a.test/1"] = BEES + "1"
    crawl(tmp_path, web, ["https://a.test/"])
    assert "https://a.test/1" in web.paths()
    assert f"{twin}/x" not in web.paths()


def test_a_seed_that_moves_keeps_its_trust(tmp_path: Path) -> None:
    plain = "<title>Index</title>"
    web = FakeWeb({"http://h.test/": (301, {"Location": "http://www.h.test/"}, "")})
    web.answers["http://www.h.test/"] = links("http://www.h.test/1", text=plain)
    web.answers["http://www.h.test/1"] = BEES
    crawl(tmp_path, web, ["http://h.test/"], scope={"rule": "host"})
    assert rows(tmp_path)["http://www.h.test/1"].parent == pytest.approx(0.7)


def test_utf8_in_location_is_read_as_such(tmp_path: Path) -> None:
    moved = "/köy".encode().decode("latin-1")
    web = FakeWeb({NOBODY: (302, {"Location": moved}, ""), "http://a.test/k%C3%B6y": BEES})
    crawl(tmp_path, web, [NOBODY])
    assert rows(tmp_path)["http://a.test/k%C3%B6y"].has_page


def test_names_with_a_final_dot_share_the_hosts_rest(tmp_path: Path) -> None:
    web = FakeWeb({NOBODY: links("http://a.test./1", "http://a.test/2")})
    web.answers |= {"http://a.test./1": BEES + "1", "http://a.test/2": BEES + "2"}
    crawl(tmp_path, web, [NOBODY])
    times = sorted(at for at, _ in web.asked)
    assert len(web.paths()) == 3
    assert all(b - a >= 1.0 for a, b in pairwise(times))


def test_unreachable_hosts_end_the_run_soon(tmp_path: Path) -> None:
    web = FakeWeb({"http://a.test/robots.txt": ConnectError("http://a.test/robots.txt", "no")})
    report = crawl(tmp_path, web, [NOBODY])
    assert report.failed
    assert report.seconds < 10


def test_another_threshold_counts_anew(tmp_path: Path) -> None:
    web = FakeWeb({NOBODY: links(*(f"http://a.test/{n}" for n in range(5)))})
    web.answers |= {
        f"http://a.test/{n}": "<title>x</title>" + "bee " * n + str(n) for n in range(5)
    }
    crawl(tmp_path, web, [NOBODY])
    kept = rows(tmp_path)
    verdicts = [row.verdict for row in kept.values() if row.verdict is not None]
    line = sorted(verdicts)[len(verdicts) // 2]
    report = crawl(tmp_path, web, [NOBODY], topic={"threshold": line})
    expected = sum(verdict >= line for verdict in verdicts)
    assert report.progress.relevant == expected
    assert sum(row.relevant for row in rows(tmp_path).values()) == expected
    with Store.open(tmp_path, "read") as store:
        counts = store.counter.read_counts()
        assert counts.relevant == expected
        assert store.counter.harvest_curve()[-1] == (counts.visits, expected)
        assert sum(row.relevant for row in store.counter.top_hosts()) == expected


def test_visits_that_wait_for_nothing_leave_the_loop_its_turns(tmp_path: Path) -> None:
    barred = [f"http://a.test/no/{n}" for n in range(300)]
    web = FakeWeb({NOBODY: links(*barred)})
    web.answers["http://a.test/robots.txt"] = (200, {}, "User-agent: *\nDisallow: /no/\n")
    at_once = [0]
    """Visits that ended in the same turn of the loop."""

    def watch(ring: CrawlLoop) -> None:
        plain, loop = ring.frontier.finish, asyncio.get_running_loop()

        def counted(*words: object) -> None:
            if not at_once[-1]:
                loop.call_soon(at_once.append, 0)
            at_once[-1] += 1
            plain(*words)  # type: ignore[arg-type]

        ring.frontier.finish = counted  # type: ignore[method-assign]

    crawl(tmp_path, web, [NOBODY], meanwhile=watch)
    assert sum(at_once) == len(barred) + 1
    assert max(at_once) < 50


def test_counts_that_the_end_corrects_are_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pages = [f"http://a.test/{n}" for n in range(12)]
    web = FakeWeb({NOBODY: links(*pages)} | {url: f"{BEES} {url}" for url in pages})
    settled = VerdictCorrector.settle_cut

    def settle(self: VerdictCorrector, *, now: bool = False) -> None:
        settled(self, now=now)
        self.tally.relevant -= 10 * now

    monkeypatch.setattr(VerdictCorrector, "settle_cut", settle)
    told = crawl(tmp_path / "a", web, [NOBODY]).warnings
    assert (
        "13 pages counted as relevant while it ran; judged by all that was learned, 3 are" in told
    )
    monkeypatch.undo()
    assert not crawl(tmp_path / "b", web, [NOBODY]).warnings
