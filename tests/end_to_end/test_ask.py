"""``honeyguide ask``: on a terminal, without one, and while a crawl is running."""

from __future__ import annotations

import json
import os
import pty
import re
import select
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from honeyguide.api.collection import Collection
from honeyguide.api.create import create
from honeyguide.api.generations import GenerationSummary
from honeyguide.store.store import Store
from tests.commands import Told
from tests.end_to_end.crawling import COMMAND, collection, journal, start
from tests.end_to_end.test_learning import _until, _visits, newest, weave
from tests.site.server import Site
from tests.site.web import weave as bees_web

Reply = Callable[[str], bytes]


@pytest.fixture
def bees(site: Site, tmp_path: Path, told: Told) -> Path:
    """A small collection, crawled, with a budget of four labels."""
    bees_web(site, site.addresses[:3], pages=8)
    folder = tmp_path / "bees"
    collection(folder, [site.url(site.addresses[0], "/")], learn={"budget": 4})
    assert told("crawl", folder, "--json").code == 0
    return folder


def labels(folder: Path) -> dict[str, float]:
    with Store.open(folder, "read") as store:
        return {label.url: label.value for _, label in store.labels.effective_after()}


def interview(folder: Path, reply: Reply, *more: object, seconds: float = 60) -> tuple[str, int]:
    """Answer every question on a terminal: ``reply`` is told what was said since the last."""
    mine, theirs = pty.openpty()
    words = [*COMMAND, "ask", str(folder), *map(str, more)]
    environment = os.environ | {"COLUMNS": "200", "NO_COLOR": "1"}
    asked = subprocess.Popen(
        words, stdin=theirs, stdout=theirs, stderr=theirs, env=environment, start_new_session=True
    )
    os.close(theirs)
    said, answered, deadline, stopping = "", 0, time.monotonic() + seconds, False
    try:
        while time.monotonic() < deadline:
            if not select.select([mine], [], [], 0.5)[0]:
                if stopping:
                    # One that comes just before the terminal is read waits for the next key.
                    asked.send_signal(signal.SIGINT)
                continue
            try:
                some = os.read(mine, 65536)
            except OSError:
                break
            if not some:
                break
            said += some.decode("utf-8", "replace")
            if re.search(r"\[y/n/skip/quit\]:\s*$", said[answered:]):
                part, answered = said[answered:], len(said)
                word = reply(part)
                if word == b"\x03":
                    asked.send_signal(signal.SIGINT)
                    stopping = True
                else:
                    os.write(mine, word + b"\n")
        return said, asked.wait(20)
    finally:
        asked.kill()
        asked.wait()
        os.close(mine)


def test_without_a_terminal_it_lists_pages_and_how_to_answer(bees: Path, told: Told) -> None:
    done = told("ask", bees, "--count", 3)
    assert done.code == 0, done.err
    assert done.out.count("asked because ") == 3
    assert done.out.count("judged ") == 3
    assert f"honeyguide label {bees} --good URL" in done.err
    assert "4 of 4 labels" in done.err
    found = json.loads(told("ask", bees, "--json").out)
    assert found["left"] == 4
    assert len(found["questions"]) == 4, "no more than the budget"
    assert {"url", "title", "verdict", "relevant", "reasons", "why", "because"} == {
        *found["questions"][0]
    }
    first = found["questions"][0]["url"]
    told("label", bees, "--good", first)
    found = json.loads(told("ask", bees, "--json").out)
    assert found["left"] == 3
    assert first not in [question["url"] for question in found["questions"]]


def test_answers_are_kept_as_they_are_given(bees: Path, told: Told) -> None:
    words = iter((b"perhaps", b"y", b"s", b"n", b"\x03"))
    said, code = interview(bees, lambda _: next(words), "--by", "ada")
    assert code == 0, said
    assert "y: it is; n: it is not" in said
    assert "2 labels saved." in said
    assert sorted(labels(bees).values()) == [0.0, 1.0]
    assert "Traceback" not in said
    said, code = interview(bees, lambda _: b"y")
    assert "2 labels saved." in said
    done = told("ask", bees)
    assert "used up" in done.err
    assert done.out == ""
    found = json.loads(told("ask", bees, "--json").out)
    assert (found["left"], found["questions"]) == (0, [])
    assert found["gain"]["answers"] == 4


def test_a_collection_without_pages(tmp_path: Path, told: Told) -> None:
    folder = tmp_path / "new"
    collection(folder, ["http://127.0.0.1:9/"])
    done = told("ask", folder)
    assert (done.code, "is not crawled yet" in done.err) == (3, True)


def test_people_who_differ_are_told_so(bees: Path, told: Told) -> None:
    url = journal(bees)[1].url
    told("label", bees, "--good", url, "--by", "ada")
    assert "differ" not in told("status", bees).out
    done = told("label", bees, "--bad", url, "--by", "bob")
    assert f"ada called {url} relevant; now your label counts." in done.err
    assert "people disagree about 1 page; the newest label counts" in told("status", bees).out
    assert json.loads(told("status", bees, "--json").out)["contested"] == 1
    done = told("label", bees, "--good", url, "--by", "bob", "--json")
    assert json.loads(done.out)["contradicting"] == 0
    assert "differ" not in told("status", bees).out


def test_answers_in_the_middle_of_a_crawl_make_a_generation(site: Site, tmp_path: Path) -> None:
    kinds = weave(site)
    folder = tmp_path / "birds"
    create(
        folder,
        seeds=[next(iter(kinds))],
        contact="tester@example.org",
        strategy="hybrid_svm",
        pages=0,
        fetch={"private_addresses": True},
        politeness={"loopback_delay_s": 0.1},
        crawl={"concurrency": 4},
        learn={"teacher": "interactive"},
    )

    def truth(said: str) -> bytes:
        (url,) = {url for url in re.findall(r"http://\S+", said) if url in kinds}
        return b"y" if kinds[url] else b"n"

    crawl = start("crawl", folder, "--quiet")
    try:
        _until(crawl, lambda: _visits(folder) >= 40)
        assert Collection(folder).generations()[-1].generation.number == 0
        said, code = interview(folder, truth, "--count", 8)
        assert (code, "8 labels saved." in said) == (0, True), said
        _until(crawl, lambda: any(row.live and row.generation.number for row in _made(folder)))
        # A first lesson may have seen the first answers only; the next one sees them all.
        _until(crawl, lambda: newest(folder, kinds, 20) > 0.8)
    finally:
        crawl.kill()
        crawl.wait()
    assert all(value == kinds[url] for url, value in labels(folder).items())


def _made(folder: Path) -> list[GenerationSummary]:
    return Collection(folder).generations()
