"""The command line as a person and as a script would use it, mistakes included."""

from __future__ import annotations

import csv
import json
import os
import pty
import signal
import sqlite3
import subprocess
import time
from pathlib import Path

import pytest

from honeyguide.cli.formatting import COMMAND_NAMES
from tests.commands import Told
from tests.end_to_end.crawling import COMMAND, collection, honeyguide, journal, start
from tests.site.exchange import Exchange
from tests.site.server import Site
from tests.site.web import weave


@pytest.fixture
def bees(site: Site, tmp_path: Path, told: Told) -> Path:
    """A small collection, crawled."""
    weave(site, site.addresses[:3], pages=8)
    folder = tmp_path / "bees"
    collection(folder, [site.url(site.addresses[0], "/")])
    done = told("crawl", folder, "--json")
    assert done.code == 0, done.err
    assert json.loads(done.out)["visits"] == 24
    return folder


def test_status_explain_label_and_exports(bees: Path, tmp_path: Path, told: Told) -> None:
    status = json.loads(told("status", bees, "--json").out)
    assert status["visits"] == 24
    assert status["crawler_pid"] is None
    good = next(row for row in journal(bees) if row.relevant and row.source)
    found = json.loads(told("explain", bees, good.url, "--json").out)
    assert "judged relevant" in found["answer"]
    assert found["way"]
    assert found["reasons"]
    text = told("explain", bees, good.url).out
    assert "The way from a seed" in text
    assert "never seen" in told("explain", bees, "http://else.example/").out
    labels = tmp_path / "labels.csv"
    labels.write_text(f"url,label\n{good.url},yes\nhttp://else.example/,0\n")
    done = told("label", bees, labels)
    assert "2 labels saved" in done.out
    assert "1 of them" in done.err
    for name, form in (("a.csv", "csv"), ("a.jsonl", "jsonl"), ("a.parquet", "parquet")):
        made = json.loads(told("export", bees, "--to", tmp_path / name, "--json").out)
        assert (made["format"], made["rows"]) == (form, status["relevant"])
    with (tmp_path / "a.csv").open(newline="") as file:
        rows = {row["url"]: row for row in csv.DictReader(file)}
    assert float(rows[good.url]["label"]) == 1.0
    assert rows[good.url]["warc"].endswith(".warc.gz")
    done = told("export", bees, "--to", tmp_path / "a.warc.gz")
    assert done.code == 0, done.err
    assert subprocess.run(["warcio", "check", tmp_path / "a.warc.gz"], env=_path()).returncode == 0


def test_crawl_goes_on_where_it_ended(site: Site, tmp_path: Path, told: Told) -> None:
    weave(site, site.addresses[:2], pages=10)
    folder = tmp_path / "bees"
    collection(folder, [site.url(site.addresses[0], "/")])
    for pages in (5, 12, 100):
        done = told("crawl", folder, "--pages", pages, "--json")
        assert done.code == 0, done.err
    facts = json.loads(done.out)
    assert facts["visits"] == 20
    assert "no link is left" in facts["reason"]
    assert len({row.url for row in journal(folder)}) == 20


def test_ctrl_c_finishes_cleanly_within_seconds(site: Site, tmp_path: Path) -> None:
    weave(site, site.addresses[:3], pages=60)

    async def slow(exchange: Exchange) -> None:
        await exchange.wait(90)

    site.route(site.addresses[4], "/", slow)
    folder = tmp_path / "bees"
    seeds = [site.url(site.addresses[0], "/"), site.url(site.addresses[4], "/")]
    collection(
        folder, seeds, fetch={"total_s": 120, "read_s": 120}, politeness={"loopback_delay_s": 0.1}
    )
    crawl = subprocess.Popen(
        [*COMMAND, "crawl", folder, "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    while len(site.log) < 20:
        time.sleep(0.01)
    began = time.monotonic()
    crawl.send_signal(signal.SIGINT)
    out, errors = crawl.communicate(timeout=60)
    assert time.monotonic() - began < 40, "it did not wait for the slow answer"
    assert crawl.returncode == 0, errors
    facts = json.loads(out)
    assert facts["reason"] == "you asked for it"
    assert facts["visits"] == len(journal(folder))


def test_a_second_crawl_of_one_collection_is_refused(site: Site, tmp_path: Path) -> None:
    async def slow(exchange: Exchange) -> None:
        await exchange.wait(10)

    site.route(None, "/*", slow)
    folder = tmp_path / "bees"
    collection(folder, [site.url(site.addresses[0], "/")], fetch={"total_s": 30, "read_s": 30})
    first = start("crawl", folder, "--quiet")
    try:
        while not site.log:
            time.sleep(0.01)
        second = honeyguide("crawl", folder)
        assert second.returncode == 4
        assert f"process {first.pid}" in second.stderr
        assert json.loads(honeyguide("status", folder, "--json").stdout)["crawler_pid"] == first.pid
    finally:
        first.kill()
        first.wait()


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["crawl", "nowhere"], 3, "honeyguide new nowhere"),
        (["new", "x", "-k", "bee", "-s", "http://e.org/"], 2, "--contact"),
        (["new", "x", "-k", "bee", "-c", "me@e.org"], 2, "no seeds"),
        (["new", "x", "-k", "bee", "-c", "nobody", "-s", "e.org"], 2, "contact"),
        (["new", "x", "-s", "ftp://e.org/", "-c", "me@e.org"], 2, "not an http or https address"),
        (["new", "x", "-s", "e.org", "-c", "me@e.org", "--strategy", "kyword", "-k", "b"], 2,
         "did you mean 'keyword'"),
        (["new", "x", "-s", "e.org", "-c", "me@e.org", "--seeds", "none.txt"], 2, "cannot be read"),
    ],
)  # fmt: skip
def test_mistakes_get_a_message_and_a_code(
    words: list[str],
    code: int,
    message: str,
    tmp_path: Path,
    told: Told,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    done = told(*words)
    assert (done.code, message in done.err) == (code, True), done.err
    assert not (tmp_path / "x").exists(), "nothing is left behind"


def test_mistakes_inside_a_collection(bees: Path, tmp_path: Path, told: Told) -> None:
    before = len(journal(bees))
    topic = bees / "topic.toml"
    good = topic.read_text()
    topic.write_text(good.replace("pages = ", "page = "))
    done = told("crawl", bees)
    assert done.code == 2
    assert "did you mean crawl.pages?" in done.err
    topic.write_text(good.replace("tester@example.org", ""))
    done = told("crawl", bees)
    assert done.code == 2
    assert "fetch.contact" in done.err
    topic.write_text(good)
    bad = tmp_path / "bad.csv"
    bad.write_text("http://e.org/,perhaps\n")
    assert "'perhaps' is neither yes nor no" in told("label", bees, bad).err
    done = told("export", bees, "--to", tmp_path / "x.docx")
    assert done.code == 2
    assert len(journal(bees)) == before


def test_labels_and_what_they_are_good_for(bees: Path, told: Told) -> None:
    url = journal(bees)[1].url
    done = told("label", bees, "--good", url)
    assert done.out == "1 label saved.\n"
    assert "The strategy 'keyword' does not learn" in done.err
    assert "not fetched" not in done.err
    assert " · 1 label · " in told("status", bees).out
    done = told("label", bees, "--good", url, "--bad", url.removeprefix("http://"))
    assert (done.code, "both ways" in done.err) == (2, True)


def test_exports_say_what_was_written(bees: Path, tmp_path: Path, told: Told) -> None:
    (tmp_path / "out").mkdir()
    done = told("export", bees, "--to", tmp_path / "out", "--format", "csv", "--all", "--no-text")
    assert done.out == f"24 rows written to {tmp_path}/out/bees.csv.\n"
    for file in (bees / "warc").iterdir():
        file.unlink()
    done = told("export", bees, "--to", tmp_path / "a.warc.gz", "--all")
    assert (done.code, done.err.count("24 answers")) == (3, 1)
    assert not (tmp_path / "a.warc.gz").exists()


def test_hints_after_a_crawl(site: Site, tmp_path: Path, told: Told) -> None:
    weave(site, site.addresses[:2], pages=10)
    folder = tmp_path / "my bees"
    collection(folder, [site.url(site.addresses[0], "/")])
    assert told("status", folder).err == (
        f"honeyguide: my bees is not crawled yet; run: honeyguide crawl '{folder}'\n"
    )
    assert told("status", folder).code == 3
    assert f"honeyguide crawl '{folder}' --pages 10" in told("crawl", folder, "--pages", "5").err
    assert "5 of 1000 visits" in told("status", folder).out
    assert "visits/s in the last run" in told("status", folder).out
    done = told("crawl", folder)
    assert "--pages" not in done.err
    assert "honeyguide export" in done.err
    assert told("crawl", folder, "--pages", "-1").code == 2


def test_the_web_cannot_steer_the_terminal(site: Site, tmp_path: Path, told: Told) -> None:
    sly = "\x1b]0;owned\x07\u202e\x9b2J[bold]bee honey hive[/bold]"
    place = site.addresses[0]
    site.pages(place, {"/": f"<title>{sly}</title><a href='/b'>{sly}</a>", "/b": f"<title>{sly}"})
    folder = tmp_path / "bees"
    collection(folder, [site.url(place, "/")])
    for words in (
        ["crawl", folder],
        ["status", folder],
        ["explain", folder, site.url(place, "/b")],
        ["explain", folder, site.url(place, "/b"), "--json"],
    ):
        done = told(*words)
        assert done.code == 0, done.err
        assert not {*done.out + done.err} & {*"\x1b\x07\u202e\x9b"}, words
    assert "[bold]bee honey hive[/bold]" in told("explain", folder, site.url(place, "/b")).out


def test_a_collection_from_the_future_is_left_alone(bees: Path, told: Told) -> None:
    with sqlite3.connect(bees / "collection.db") as db:
        db.execute("PRAGMA user_version = 999")
    db.close()
    for words in (("crawl", bees), ("status", bees)):
        done = told(*words)
        assert done.code == 5
        assert "newer" in done.err


def test_a_corrupt_database_is_named_and_the_warc_survives(bees: Path) -> None:
    db = bees / "collection.db"
    data = bytearray(db.read_bytes())
    data[4096:40960] = os.urandom(40960 - 4096)
    db.write_bytes(data)
    done = honeyguide("crawl", bees)
    assert done.returncode == 3, done.stderr
    assert "Traceback" not in done.stderr
    (file,) = (bees / "warc").glob("*.warc.gz")
    assert subprocess.run(["warcio", "check", file], env=_path()).returncode == 0


def test_unreachable_seeds_say_so(tmp_path: Path) -> None:
    folder = tmp_path / "bees"
    collection(folder, ["http://127.0.0.1:9/", "http://no-such-name.invalid/"])
    done = honeyguide("crawl", folder)
    assert done.returncode == 6
    assert "no page could be fetched" in done.stderr
    assert "are you online?" in done.stderr
    assert "Traceback" not in done.stderr


def test_new_asks_on_a_terminal_and_again(tmp_path: Path) -> None:
    mine, theirs = pty.openpty()
    asked = subprocess.Popen(
        [*COMMAND, "new", "birds"], cwd=tmp_path, stdin=theirs, stdout=theirs, stderr=theirs
    )
    os.close(theirs)
    try:
        seeds = ("", "no address", "example.org/birds", "")
        for answer in ("bird migration, plumage", *seeds, "nobody", "", "me@example.org", "n"):
            time.sleep(0.05)
            os.write(mine, answer.encode() + b"\n")
        said = b""
        while True:
            try:
                some = os.read(mine, 4096)
            except OSError:
                break
            if not some:
                break
            said += some
    finally:
        asked.wait(20)
        os.close(mine)
    assert asked.returncode == 0, said.decode()
    made = (tmp_path / "birds" / "topic.toml").read_text()
    assert '"bird migration"' in made
    assert b"'no address' is not an http" in said
    assert b"'nobody' is neither" in said
    assert b"start at  https://example.org/birds" in said
    assert "https://example.org/birds" in made


def test_every_command_helps_with_an_example(told: Told) -> None:
    for words in (["lab", "serve"], *([name] for name in COMMAND_NAMES if name != "lab")):
        done = told(*words, "--help")
        assert done.code == 0
        assert f"honeyguide {' '.join(words)}" in done.out
        assert "Example" in done.out


def _path() -> dict[str, str]:
    """Where the environment's own scripts are."""
    import sys

    return os.environ | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}


def test_strategies_are_compared_from_the_command_line(tmp_path: Path) -> None:
    words = ("lab", "compare", "-t", "full-text-search", "--draws", 1, "-n", 40, "--json")
    done = honeyguide(*words, "-s", "keyword", "-s", "random", "--workers", 1, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    lines = json.loads(done.stdout)["all"]
    assert lines["keyword"]["area"]["mean"] > lines["random"]["area"]["mean"]
    assert (tmp_path / "comparison" / "report.md").exists()
    done = honeyguide("lab", "compare", "-s", "kyword", cwd=tmp_path)
    assert done.returncode == 2
    assert "did you mean 'keyword'" in done.stderr
