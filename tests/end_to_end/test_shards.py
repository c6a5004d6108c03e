"""Crawls with shards: real processes on this machine, one collection."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from honeyguide.api.collection import Collection
from honeyguide.api.create import create
from honeyguide.cluster.sharded_frontier import shard_of
from honeyguide.errors import StoreError
from honeyguide.url import host_of
from tests.end_to_end.crawling import collection, honeyguide, journal, start
from tests.end_to_end.politeness_probe import assert_one_at_a_time, shortest_rest
from tests.site.exchange import text
from tests.site.redirects import redirect
from tests.site.server import Site
from tests.site.web import weave

HOSTS = 10
DELAY = 0.03


def _bees(site: Site, folder: Path, pages: int = 40, **crawl: object) -> set[str]:
    hosts = site.addresses[:HOSTS]
    web = weave(site, hosts, pages=pages)
    collection(
        folder,
        [site.url(hosts[0], "/")],
        crawl={"pages": 0, "strategy": "keyword"} | crawl,
        politeness={"loopback_delay_s": DELAY},
    )
    return set(web.urls)


@pytest.mark.parametrize("strategy", ["breadth", "keyword", "honeyguide"])
def test_two_shards_find_what_one_finds(site: Site, tmp_path: Path, strategy: str) -> None:
    wanted = _bees(site, tmp_path / "bees", strategy=strategy)
    done = honeyguide("crawl", tmp_path / "bees", "--shards", 2, "--json")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["reason"] == "no link is left to follow"
    rows = journal(tmp_path / "bees")
    visits = Counter(row.url for row in rows)
    assert set(visits) == wanted
    assert max(visits.values()) == 1, "a page was visited twice"
    assert told["visits"] == len(rows) == Collection(tmp_path / "bees").status().visits
    assert_one_at_a_time(site.log)
    assert shortest_rest(site.log) >= DELAY
    assert {row.warc for row in rows} == {f.name for f in (tmp_path / "bees/warc").iterdir()}


def test_a_budget_is_used_up_exactly(site: Site, tmp_path: Path) -> None:
    _bees(site, tmp_path / "bees", pages=40)
    for budget in (57, 131):
        done = honeyguide("crawl", tmp_path / "bees", "--shards", 3, "-n", budget, "--json")
        assert done.returncode == 0, done.stderr
        told = json.loads(done.stdout)
        assert told["visits"] == budget
        assert "budget" in told["reason"]
        asked = [hit for hit in site.log if not hit.path.endswith("robots.txt")]
        assert len(asked) == budget == len(journal(tmp_path / "bees"))


def test_shards_are_split_and_put_together_again(site: Site, tmp_path: Path) -> None:
    folder = tmp_path / "bees"
    wanted = _bees(site, folder, pages=40, strategy="honeyguide")
    pages = 0
    for shards in (None, 2, 3, None, 1, 2):
        pages += 60
        option = () if shards is None else ("--shards", shards)
        done = honeyguide("crawl", folder, *option, "-n", pages, "--json")
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)["visits"] == pages
        assert (folder / "shards").is_dir() == (shards != 1 and pages > 60)
        assert Collection(folder).status().waiting, "what waits is not lost"
    done = honeyguide("crawl", folder, "-n", 0, "--shards", 1, "--json")
    assert done.returncode == 0, done.stderr
    visits = Counter(row.url for row in journal(folder))
    assert set(visits) == wanted
    assert max(visits.values()) == 1, "a page was visited twice"
    assert_one_at_a_time(site.log)
    text = honeyguide("export", folder, "--to", tmp_path / "all.jsonl", "--all")
    assert text.returncode == 0, text.stderr
    told = [json.loads(line) for line in (tmp_path / "all.jsonl").read_text().splitlines()]
    assert all(row["text"] for row in told if row["status"] == 200)


def test_kills_of_shards_and_of_their_coordinator(site: Site, tmp_path: Path) -> None:
    folder = tmp_path / "bees"
    wanted = _bees(site, folder, pages=60, concurrency=8)
    dice = random.Random(5)
    kept: set[tuple[int, str, float]] = set()
    for turn in range(6):
        before = len(site.log)
        crawl = start("crawl", folder, "--shards", 2, "--quiet")
        deadline = time.monotonic() + 30
        while len(site.log) < before + dice.randrange(20, 80) and time.monotonic() < deadline:
            time.sleep(0.005)
        workers = _children(crawl.pid)
        victim = crawl.pid if turn % 2 else dice.choice(workers or [crawl.pid])
        os.kill(victim, signal.SIGKILL)
        if victim != crawl.pid:
            assert crawl.wait(60) == 10, "a lost shard is told, with its exit code"
        crawl.wait()
        now = _visits(folder)
        assert kept <= now, "a finished page was lost"
        kept = now
    done = honeyguide("crawl", folder, "--quiet", timeout=120)
    assert done.returncode == 0, done.stderr
    visits = Counter(row.url for row in journal(folder))
    assert set(visits) == wanted, "a page was not visited"
    assert max(visits.values()) == 1, "a page was visited twice"
    assert_one_at_a_time(site.log)
    assert shortest_rest(site.log) >= DELAY


def test_a_budget_is_used_up_after_a_kill(site: Site, tmp_path: Path) -> None:
    """Visits of the run that was killed are gathered by the next, and count in its budget."""
    folder = tmp_path / "bees"
    _bees(site, folder, pages=40)
    crawl = start("crawl", folder, "--shards", 2, "-n", 150, "--quiet")
    _until(lambda: len(site.log) >= 90 + HOSTS)
    crawl.kill()
    crawl.wait()
    assert len(journal(folder)) < 90, "some were not gathered"
    done = honeyguide("crawl", folder, "--shards", 2, "-n", 150, "--json", timeout=60)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["visits"] == 150 == len(journal(folder))


def test_a_robots_file_that_moved_to_another_shard(site: Site, tmp_path: Path) -> None:
    folder = tmp_path / "bees"
    wanted = _bees(site, folder, pages=12)
    one = site.addresses[0]
    for other in site.addresses[1:HOSTS]:
        site.route(other, "/robots.txt", redirect(site.url(one, "/robots.txt")))
    site.route(one, "/robots.txt", text("User-agent: *\nDisallow: /nowhere\n"))
    done = honeyguide("crawl", folder, "--shards", 2, "--json")
    assert done.returncode == 0, done.stderr
    assert {row.url for row in journal(folder) if row.status == 200} == wanted
    asked = [hit for hit in site.log if hit.host == one and hit.path == "/robots.txt"]
    assert len(asked) == HOSTS, "for each host once"
    assert_one_at_a_time(site.log)
    assert shortest_rest(site.log) >= DELAY


def _apart(site: Site) -> tuple[str, str]:
    """Two hosts that live in different shards of two."""
    one = site.addresses[0]
    return one, next(other for other in site.addresses if shard_of(other, 2) != shard_of(one, 2))


def _linked(site: Site, folder: Path, pages: int) -> set[str]:
    """A seed on one host, and pages on another that link to the next; the seed's robots.txt has
    moved to the other host."""
    a, b = _apart(site)
    urls = [site.url(b, f"/{n}") for n in range(pages)]
    for n in range(pages):
        links = "".join(f"<a href='{urls[m]}'>on</a>" for m in range(n + 1, min(n + 4, pages)))
        site.pages(b, {f"/{n}": f"<p>a page about honey, number {n} {links}"})
    site.pages(a, {"/": f"<p>a list <a href='{urls[0]}'>of pages</a>"})
    site.route(a, "/robots.txt", redirect(site.url(b, "/robots.txt")))
    collection(
        folder,
        [site.url(a, "/"), urls[0]],
        crawl={"pages": 0, "strategy": "breadth"},
        politeness={"loopback_delay_s": DELAY},
    )
    return {site.url(a, "/"), *urls}


def test_while_a_host_is_lent_the_crawl_goes_on(site: Site, tmp_path: Path) -> None:
    wanted = _linked(site, tmp_path / "bees", 60)
    site.route(_apart(site)[1], "/robots.txt", text("User-agent: *\nDisallow: /no\n"))
    done = honeyguide("crawl", tmp_path / "bees", "--shards", 2, "--json")
    assert done.returncode == 0, done.stderr
    assert {row.url for row in journal(tmp_path / "bees")} == wanted
    assert_one_at_a_time(site.log)


def test_a_borrowed_host_that_is_out_of_order_ends_the_crawl(site: Site, tmp_path: Path) -> None:
    _linked(site, tmp_path / "bees", 3)
    site.route(_apart(site)[1], "/robots.txt", text("not now", 503))
    done = honeyguide("crawl", tmp_path / "bees", "--shards", 2, timeout=50)
    assert "no host is ready" in done.stdout, done.stderr


def test_labels_reach_all_shards(site: Site, tmp_path: Path) -> None:
    """What a person says while it runs becomes a generation that decides in every shard."""
    folder = tmp_path / "bees"
    hosts = site.addresses[:HOSTS]
    web = weave(site, hosts, pages=100)
    create(
        folder,
        seeds=[site.url(hosts[0], "/")],
        contact="tester@example.org",
        strategy="hybrid_svm",
        pages=0,
        fetch={"private_addresses": True},
        politeness={"loopback_delay_s": 0.3},
        learn={"teacher": "interactive"},
    )
    crawl = start("crawl", folder, "--shards", 2, "--quiet")
    try:
        _until(lambda: len(_visits(folder)) > 60)
        for row in journal(folder)[:30]:
            Collection(folder).label(row.url, float(row.url in web.relevant))
        _until(lambda: any(row.generation > 0 for row in journal(folder)))
        _until(lambda: len({_shard(r.url) for r in journal(folder) if r.generation > 0}) == 2)
        assert Collection(folder).generations()[-1].live
        assert Collection(folder).status().crawler_pid == crawl.pid
    finally:
        crawl.send_signal(signal.SIGINT)
        assert crawl.wait(60) == 0, "Ctrl-C stops cleanly"
    assert {row.warc for row in journal(folder) if row.warc}


def test_shards_count_what_came_of_neighbours(site: Site, tmp_path: Path) -> None:
    """Files that are given as examples lie with the collection, not with its shards."""
    folder, hosts = tmp_path / "bees", site.addresses[:HOSTS]
    weave(site, hosts, pages=40)
    (tmp_path / "good.html").write_text("<title>hives</title><p>" + "honey bee hive comb " * 20)
    create(
        folder,
        seeds=[site.url(hosts[0], "/")],
        contact="tester@example.org",
        keywords=["honey", "bee", "hive"],
        good_files=[str(tmp_path / "good.html")],
        strategy="honeyguide",
        pages=150,
        fetch={"private_addresses": True},
        politeness={"loopback_delay_s": 0.0},
    )
    for pages in (100, 150):
        done = honeyguide("crawl", folder, "--shards", 2, "-n", pages, "--json")
        assert done.returncode == 0, done.stderr
    told = {}
    for row in journal(folder):
        if row.link.yields is not None:
            told.setdefault(_shard(row.url), []).append(row.link.yields.beside)
    assert set(told) == {0, 1}
    # How the pages fall to the two follows from time; unknown is one value.
    assert all(len(set(beside)) > 1 for beside in told.values()), "it is known in both"


def test_explain_finds_what_waits_in_a_shard(site: Site, tmp_path: Path) -> None:
    folder = tmp_path / "bees"
    wanted = _bees(site, folder)
    assert honeyguide("crawl", folder, "--shards", 2, "-n", 40, "-q").returncode == 0
    visited = {row.url for row in journal(folder)}
    answers = [Collection(folder).explain(url) for url in sorted(wanted - visited)]
    waiting = [answer for answer in answers if answer.waiting is not None]
    assert len(waiting) == Collection(folder).status().waiting
    assert {_shard(answer.url) for answer in waiting} == {0, 1}


def test_mistakes_are_told(site: Site, tmp_path: Path) -> None:
    folder = tmp_path / "bees"
    _bees(site, folder)
    for shards, why in (("0", "1 or more"), ("-1", "1 or more"), ("500", "make sense here")):
        done = honeyguide("crawl", folder, f"--shards={shards}")
        assert done.returncode == 2, done.stderr
        assert why in done.stderr
    assert honeyguide("crawl", folder, "--shards", 2, "-n", 5, "-q").returncode == 0
    assert Collection(folder).crawl(pages=6).progress.visits >= 6, "with as many shards as it has"
    one, other = folder / "shards" / "001", tmp_path / "other"
    shutil.copytree(folder, other)
    assert honeyguide("crawl", folder, "-n", 20, "-q").returncode == 0
    shutil.rmtree(one)
    shutil.copytree(other / "shards" / "001", one)
    done = honeyguide("crawl", folder, "-n", 30)
    assert done.returncode == 3, "from a backup"
    assert "older state of this one" in done.stderr
    shutil.rmtree(one)
    done = honeyguide("crawl", folder, "-n", 30)
    assert done.returncode == 3
    assert "shards/001 is missing" in done.stderr
    done = honeyguide("crawl", folder, "-n", 30, "--without-lost-shards", "--json")
    assert done.returncode == 0, done.stderr
    visits = Counter(row.url for row in journal(folder))
    again = {url for url, times in visits.items() if times > 1}
    assert again <= set(Collection(folder).settings.topic.seeds), "a page was visited twice"
    assert len(visits) == 30 - len(again)
    assert Collection(folder).status().shards == 2


def test_what_is_not_ours_is_left_alone(site: Site, tmp_path: Path) -> None:
    folder = tmp_path / "bees"
    _bees(site, folder)
    mine = folder / "shards" / "thesis.txt"
    mine.parent.mkdir()
    mine.write_text("mine")
    done = honeyguide("crawl", folder, "--shards", 2, "-n", 5)
    assert done.returncode == 3
    assert "was not created by Honeyguide" in done.stderr
    assert mine.read_text() == "mine"


def _shard(url: str) -> int:
    return shard_of(host_of(url), 2)


def _visits(folder: Path) -> set[tuple[int, str, float]]:
    try:
        return {(row.id, row.url, row.at) for row in journal(folder)}
    except StoreError:
        return set()


def _until(true: Callable[[], bool], seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.1)


def _children(pid: int) -> list[int]:
    path = Path(f"/proc/{pid}/task/{pid}/children")
    return [
        int(child)
        for child in path.read_text().split()
        if b"cluster.shard" in Path(f"/proc/{child}/cmdline").read_bytes()
    ]
