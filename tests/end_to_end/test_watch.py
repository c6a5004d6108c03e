"""``honeyguide watch``: a web that changes, visited again by real processes."""

from __future__ import annotations

import json
import time
from collections import Counter
from itertools import count
from pathlib import Path

import pytest
from warcio.archiveiterator import ArchiveIterator

from honeyguide.store.store import Store
from tests.commands import Told
from tests.end_to_end.crawling import collection, start
from tests.site.exchange import Exchange
from tests.site.server import Site

BEES = "The honey bee lives in a hive; every bee of the hive gathers honey. " * 6
PAGES = 6


def article(number: int, more: str = "") -> str:
    links = "".join(f"<li><a href='/p{n}'>hive {n}</a>" for n in range(PAGES))
    return (
        f"<html><head><title>Bees {number}</title></head><body><nav><ul>{links}</ul></nav>"
        f"<main><h1>Hive {number}</h1><p>{BEES}</p><p>Colony number {number}.</p>{more}</main>"
        "<footer><p>Visitor {tick} at 12:{tick}</p></footer></body></html>"
    )


class Web:
    """Pages whose footers differ at every visit."""

    def __init__(self, site: Site) -> None:
        self.site, self.host = site, site.addresses[0]
        self._ticks = count(10)
        self.bodies = {f"/p{n}": article(n) for n in range(PAGES)}
        for path in self.bodies:
            self._serve(path)

    def _serve(self, path: str) -> None:
        async def behave(exchange: Exchange) -> None:
            body = self.bodies.get(path)
            if body is None:
                await exchange.answer("<h1>Not found</h1>", status=404)
                return
            await exchange.answer(body.replace("{tick}", str(next(self._ticks))))

        self.site.route(self.host, path, behave)

    def add(self, path: str, body: str) -> None:
        self.bodies[path] = body
        self._serve(path)

    def url(self, path: str) -> str:
        return self.site.url(self.host, path)


@pytest.fixture
def web(site: Site) -> Web:
    return Web(site)


@pytest.fixture
def bees(web: Web, tmp_path: Path, told: Told) -> Path:
    folder = tmp_path / "bees"
    collection(
        folder,
        [web.url("/p0")],
        watch={"second_look_s": 0.05, "min_interval_s": 0.0, "requests_per_hour": 1e6},
        notify=[{"to": "stdout"}],
    )
    assert told("crawl", folder, "--json").code == 0
    return folder


def rounds(told: Told, folder: Path) -> tuple[dict[str, int], list[dict[str, object]]]:
    """A round of the watch; its tally, and the messages it sent."""
    done = told("watch", folder, "--once", "--json")
    assert done.code == 0, done.err
    *messages, tally = [json.loads(line) for line in done.out.splitlines()]
    return tally, messages


def test_relevant_pages_are_watched_and_edits_found(web: Web, bees: Path, told: Told) -> None:
    tally, messages = rounds(told, bees)
    assert (tally["watched"], tally["changes"], messages) == (PAGES, 0, [])
    tally, messages = rounds(told, bees)
    assert (tally["changes"], messages) == (0, []), "clocks and counters are no news"

    web.bodies["/p3"] = article(3, "<p>The queen was replaced in spring.</p>")
    tally, messages = rounds(told, bees)
    assert tally["changes"] == 1
    (message,) = messages
    assert "The queen was replaced in spring." in json.dumps(message)

    (change,) = map(json.loads, told("changes", bees, "--json").out.splitlines())
    assert change["url"] == web.url("/p3")
    assert change["kinds"][0] == "content"
    shown = told("diff", bees, web.url("/p3"))
    assert shown.code == 0, shown.err
    assert "queen was replaced" in shown.out
    kept = told("history", bees, web.url("/p3"), "--json").out.splitlines()
    assert len(kept) >= 2
    first = told("history", bees, web.url("/p3"), "--show", 1).out
    assert "Colony number 3" in first
    assert "queen" not in first
    assert rounds(told, bees)[1] == [], "told once"


def test_every_configuration_finds_the_edits_and_tells_its_time(
    web: Web, bees: Path, told: Told
) -> None:
    rounds(told, bees)
    queen = "<p>The queen was replaced in spring, in every hive of them.</p>"
    cases: list[tuple[str, str, tuple[int, ...]]] = [
        ("1", "", (1, 0, 1)),
        ("2", "8,2,3", (8, 2, 3)),
        ("3", "8,2", (8, 0, 2)),
        ("adaptive", "", ()),
    ]
    for number, (which, threads, made_of) in enumerate(cases):
        web.bodies[f"/p{number}"] = article(number, queen)
        more = ("--threads", threads) if threads else ()
        done = told("watch", bees, "--once", "--json", "--configuration", which, *more)
        assert done.code == 0, done.err
        tally = json.loads(done.out.splitlines()[-1])
        assert (tally["configuration"], tally["changes"], tally["failures"]) == (which, 1, 0)
        if made_of:
            assert (tally["fetchers"], tally["loaders"], tally["comparers"]) == made_of
        assert tally["longest_queue"] <= PAGES
        assert tally["effective_ms"] == pytest.approx(1000 * tally["seconds"] / tally["visits"])
        assert tally["effective_ms"] > 0
    shown = told("watch", bees, "--once", "--configuration", "3").err
    assert "Configuration 3: 78 threads to fetch, 11 to compare" in shown
    assert told("watch", bees, "--once", "--configuration", "4").code == 2
    wrong = told("watch", bees, "--once", "--configuration", "3", "--threads", "1,2,3")
    assert (wrong.code, "two numbers, N and M" in wrong.err) == (2, True)


def test_what_changed_since_the_crawl_is_found(web: Web, bees: Path, told: Told) -> None:
    web.bodies["/p5"] = article(5, "<p>Mites were found in the brood.</p>")
    tally, messages = rounds(told, bees)
    assert tally["changes"] == 1, "and no clock was told of"
    assert "Mites were found" in json.dumps(messages)
    shown = told("diff", bees, web.url("/p5"))
    assert "Mites were found" in shown.out
    assert "differ" not in shown.err


def test_a_round_follows_new_links(web: Web, bees: Path, told: Told) -> None:
    web.add("/fresh", article(99))
    web.bodies["/p2"] = article(2, "<p>See <a href='/fresh'>the new honey hive</a>.</p>")
    tally, messages = rounds(told, bees)
    assert tally["discovered"] == 1
    assert _watched(bees, web.url("/fresh"))
    assert '"new"' in json.dumps(messages)


def test_a_page_that_moved_is_followed_once_that_is_sure(web: Web, bees: Path, told: Told) -> None:
    rounds(told, bees)

    async def moved(exchange: Exchange) -> None:
        await exchange.answer(status=301, headers=[("Location", "/there")])

    web.add("/there", article(1))
    web.site.route(web.host, "/p1", moved)
    tally, _ = rounds(told, bees)
    assert tally["changes"] == 0, "a portal or a site that is being mended answers so, too"
    tally, messages = rounds(told, bees)
    assert "moved" in json.dumps(messages)
    states = [json.loads(line) for line in told("watch", bees, "list", "--json").out.splitlines()]
    by = {row["url"]: row["state"] for row in states}
    assert (by[web.url("/p1")], by[web.url("/there")]) == ("gone", "watched")
    assert "moved to" in told("watch", bees, "why", web.url("/p1")).out


def test_a_channel_in_trouble_is_seen_and_waits(web: Web, bees: Path, told: Told) -> None:
    topic = bees / "topic.toml"
    nobody = f"http://{web.host}:9/hook"
    topic.write_text(topic.read_text() + f'\n[[notify]]\nto = "{nobody}"\n')
    web.bodies["/p3"] = article(3, "<p>The queen was replaced in spring.</p>")
    tally, messages = rounds(told, bees)
    assert len(messages) == 1, "the others are told"
    assert "webhook could not be notified" in str(tally["trouble"])
    done = told("watch", bees, "channels")
    assert "stdout: 1 sent, 0 waiting" in done.out
    assert "webhook: 0 sent, 1 waiting" in done.out


def test_warc_files_hold_every_answer(web: Web, bees: Path, told: Told) -> None:
    web.bodies["/p1"] = article(1).replace("{tick}", "same")
    rounds(told, bees)
    rounds(told, bees)
    found: Counter[tuple[str, str]] = Counter()
    captured: dict[str, str] = {}
    for path in sorted((bees / "warc").glob("*.warc.gz")):
        with path.open("rb") as stream:
            for item in ArchiveIterator(stream):
                head = item.rec_headers
                if head.get_header("WARC-Target-URI") != web.url("/p1"):
                    continue
                found[item.rec_type, head.get_header("WARC-Profile") or ""] += 1
                if item.rec_type == "response":
                    captured[head.get_header("WARC-Date")] = "response"
                if item.rec_type == "revisit":
                    assert head.get_header("WARC-Refers-To-Date") in captured
    assert found["response", ""] == 2, "of the crawl, and the first version of the watch"
    assert sum(n for (kind, _), n in found.items() if kind == "revisit") >= 1


def test_pages_go_and_come_back(web: Web, bees: Path, told: Told) -> None:
    rounds(told, bees)
    gone = web.bodies.pop("/p4")
    tally, messages = rounds(told, bees)
    assert (tally["changes"], messages) == (0, []), "a site that is being mended answers so, too"
    tally, messages = rounds(told, bees)
    assert tally["changes"] == 1
    assert "gone" in json.dumps(messages)
    web.add("/p4", gone)
    tally, messages = rounds(told, bees)
    assert "back" in json.dumps(messages)
    del web.bodies["/p4"]
    for _ in range(3):
        rounds(told, bees)
    states = [json.loads(line) for line in told("watch", bees, "list", "--json").out.splitlines()]
    assert {row["url"]: row["state"] for row in states}[web.url("/p4")] == "gone"


def test_people_say_what_is_watched(web: Web, bees: Path, told: Told, tmp_path: Path) -> None:
    rounds(told, bees)
    web.add("/other", "<p>Soup with onions.</p>")
    assert told("watch", bees, "add", web.url("/other")).code == 0
    for action, weight in (("weight", 3.0), ("weigh", 2.0)):  # its name and its old one
        done = told("watch", bees, action, weight, web.url("/p1"), "--json")
        assert (done.code, json.loads(done.out)["action"]) == (0, "weight")
        rows = told("watch", bees, "list", "--json").out.splitlines()
        assert {json.loads(row)["weight"] for row in rows} == {1.0, weight}
    assert told("watch", bees, "pause", web.url("/p1")).code == 0
    assert rounds(told, bees)[0]["watched"] == PAGES
    done = told("watch", bees, "why", web.url("/other"))
    assert "it changes about every" in done.out
    assert told("watch", bees, "remove", web.url("/other")).code == 0
    done = told("watch", bees, "remove", web.url("/nowhere"))
    assert (done.code, "is not watched; add it with" in done.err) == (2, True)
    listed = tmp_path / "list.txt"
    listed.write_text(f"{web.url('/other')}\nno address\n")
    done = told("watch", bees, "import", listed)
    assert done.code == 0, done.err
    assert "line 2: no: this is not an http or https address" in done.err
    done = told("watch", bees, "ad", web.url("/other"))
    assert (done.code, "did you mean add?" in done.err) == (2, True)


def test_new_links_on_watched_pages_are_followed(web: Web, bees: Path, told: Told) -> None:
    rounds(told, bees)
    web.add("/fresh", article(99))
    web.bodies["/p2"] = article(2, "<p>See <a href='/fresh'>the new honey hive</a>.</p>")
    watching = start("watch", bees, "--quiet")
    try:
        deadline = time.monotonic() + 40
        while not _watched(bees, web.url("/fresh")):
            assert time.monotonic() < deadline, "it was not discovered"
            assert watching.poll() is None
            time.sleep(0.2)
    finally:
        watching.terminate()
        assert watching.wait(20) == 0
    kinds = [json.loads(line)["kinds"] for line in told("changes", bees, "--json").out.splitlines()]
    assert ["new"] in kinds


def test_kill_9_loses_no_version_and_tells_nothing_twice(web: Web, bees: Path, told: Told) -> None:
    rounds(told, bees)
    edits = 0
    for number in range(4):
        path = f"/p{number % PAGES}"
        web.bodies[path] = article(number, f"<p>Edit {number} of the beekeeper's diary.</p>")
        edits += 1
        watching = start("watch", bees, "--once", "--quiet")
        time.sleep(0.6 + 0.15 * number)
        watching.kill()
        watching.wait()
    rounds(told, bees)
    with Store.open(bees, "read") as store:
        rows = list(store.changes.iter_newest())
        assert {row.change.url for row in rows} == {web.url(f"/p{n}") for n in range(4)}
        assert len(rows) == edits
        for row in rows:
            assert row.new is not None
            assert b"diary" in store.versions.read_body(row.change.url, row.new)
        (tidings,) = store.outbox.channel_status()
        assert (tidings.waiting, tidings.sent) == (0, edits)


def _watched(folder: Path, url: str) -> bool:
    with Store.open(folder, "read") as store:
        return any(row.url == url for row in store.watched.iter_rows())


def test_a_page_is_watched_without_a_crawl(web: Web, told: Told, tmp_path: Path) -> None:
    folder = tmp_path / "new"
    watch = {"second_look_s": 0.05, "min_interval_s": 0.0}
    collection(folder, [web.url("/p0")], watch=watch, notify=[{"to": "stdout"}])
    done = told("watch", folder, "--once")
    assert (done.code, "Nothing is watched yet" in done.err) == (0, True)
    done = told("watch", folder, "add", web.url("/p1"))
    assert (done.code, "1 page added" in done.err) == (0, True), done.err
    assert rounds(told, folder)[0]["changes"] == 0
    web.bodies["/p1"] = article(1, "<p>The queen was replaced in spring.</p>")
    tally, messages = rounds(told, folder)
    assert (tally["changes"], len(messages)) == (1, 1)
