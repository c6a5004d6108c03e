"""Labels are in force before the next page is judged, whatever happened to the run before."""

from __future__ import annotations

import csv
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from honeyguide.api.collection import Collection
from honeyguide.api.create import create
from honeyguide.cli.main import run
from tests.end_to_end.crawling import COMMAND, journal
from tests.end_to_end.test_learning import weave
from tests.site.server import Site

SLOW_S = 240
"""What a busy machine may take for anything."""
LABELS = 20


@pytest.fixture
def finches(site: Site, tmp_path: Path) -> dict[str, bool]:
    """Address → is it a finch? Thirty pages are crawled, and nothing is known of them."""
    kinds = weave(site)
    create(
        tmp_path / "birds",
        seeds=[next(iter(kinds))],
        contact="tester@example.org",
        strategy="hybrid_svm",
        pages=30,
        fetch={"private_addresses": True},
        politeness={"loopback_delay_s": 0.0},
        learn={"teacher": "interactive"},
    )
    assert told("crawl", tmp_path / "birds").returncode == 0
    return kinds


def told(*words: object) -> subprocess.CompletedProcess[str]:
    """The command line in this process, which has read its modules already."""
    out, errors, code = StringIO(), StringIO(), 0
    with (
        mock.patch.object(sys, "argv", ["honeyguide", *map(str, words)]),
        mock.patch.dict(os.environ, COLUMNS="200", NO_COLOR="1"),
        redirect_stdout(out),
        redirect_stderr(errors),
    ):
        try:
            run()
        except SystemExit as ended:
            code = int(ended.code or 0)
    return subprocess.CompletedProcess(words, code, out.getvalue(), errors.getvalue())


def label(folder: Path, kinds: dict[str, bool], wanted: Sequence[bool] = (True, False)) -> None:
    rows = [row for row in journal(folder) if kinds[row.url] in wanted][:LABELS]
    Collection(folder).label_all([(row.url, float(kinds[row.url])) for row in rows])


def facts(*words: object) -> Any:
    done = told(*words, "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def unlearned(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = facts("status", folder)["unlearned"]
    return found


@contextmanager
def running(*words: object) -> Iterator[subprocess.Popen[str]]:
    """A command whose stderr is read line by line; it is killed at the end."""
    command = [*COMMAND, *map(str, words)]
    environment = os.environ | {"COLUMNS": "200", "NO_COLOR": "1"}
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment) as process:
        try:
            yield process
        finally:
            process.kill()


def read_until(process: subprocess.Popen[str], words: str) -> str:
    assert process.stderr is not None
    read = ""
    while words not in read:
        line = process.stderr.readline()
        assert line, f"it ended without {words!r}: {read}"
        read += line
    return read


def test_waiting_labels_judge_the_first_page_of_a_run_on_a_busy_machine(
    finches: dict[str, bool], tmp_path: Path
) -> None:
    folder = tmp_path / "birds"
    label(folder, finches)
    assert unlearned(folder)["waiting"] == LABELS
    burners = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(2)]
    try:
        done = told("crawl", folder, "-n", 45)
    finally:
        for burner in burners:
            burner.kill()
            burner.wait()
    assert done.returncode == 0, done.stderr
    assert f"learning from {LABELS} labels first" in done.stderr
    later = journal(folder)[30:]
    assert len(later) == 15
    assert all(row.generation > 0 for row in later)
    assert all((row.verdict or 0.0) != 0.0 for row in later), "nothing was judged in the dark"
    assert unlearned(folder)["waiting"] == 0


def test_a_run_killed_while_it_learned_learns_when_it_is_started_again(
    finches: dict[str, bool], tmp_path: Path
) -> None:
    folder = tmp_path / "birds"
    label(folder, finches)
    with running("crawl", folder, "-n", 45) as crawl:
        read_until(crawl, f"learning from {LABELS} labels first")
        crawl.kill()
    assert len(journal(folder)) == 30, "no page was visited before the labels were learned"
    assert unlearned(folder)["waiting"] == LABELS
    done = told("crawl", folder, "-n", 45)
    assert f"learning from {LABELS} labels first" in done.stderr
    assert all(row.generation > 0 for row in journal(folder)[30:])
    assert unlearned(folder)["waiting"] == 0


def test_the_end_of_a_run_learns_unless_ctrl_c_drops_it(
    finches: dict[str, bool], tmp_path: Path
) -> None:
    folder = tmp_path / "birds"
    topic = folder / "topic.toml"
    topic.write_text(topic.read_text().replace("loopback_delay_s = 0.0", "loopback_delay_s = 0.2"))
    with running("crawl", folder, "-n", 3000) as crawl:
        while len(journal(folder)) < 33:
            assert crawl.poll() is None
        label(folder, finches)
        crawl.send_signal(signal.SIGINT)
        read_until(crawl, f"learning from {LABELS} labels … (Ctrl-C drops it)")
        crawl.send_signal(signal.SIGINT)
        said = read_until(crawl, "not learned yet")
        assert crawl.wait(SLOW_S) == 0, "the crawl itself ended cleanly"
    assert f"{LABELS} labels are not learned yet: " in said
    assert "honeyguide learn" in said or "-m honeyguide.cli.main learn" in said
    assert unlearned(folder)["waiting"] == LABELS

    with running("crawl", folder, "-n", 3000) as crawl:
        read_until(crawl, "learning from")
        crawl.send_signal(signal.SIGINT)
        assert crawl.wait(SLOW_S) == 0
    assert unlearned(folder)["waiting"] == 0, "one Ctrl-C lets the last lesson end"
    assert any(
        summary.live and summary.generation.number for summary in Collection(folder).generations()
    )


def test_learn_says_what_was_learned_and_export_goes_by_it(
    finches: dict[str, bool], tmp_path: Path
) -> None:
    folder = tmp_path / "birds"
    nothing = facts("learn", folder)
    assert (nothing["generation"], nothing["labels"]) == (None, 0)
    label(folder, finches)

    as_is = told("export", folder, "--to", tmp_path / "a.csv", "--all", "--no-text", "--as-is")
    assert as_is.returncode == 0, as_is.stderr
    assert separation(tmp_path / "a.csv", finches) == 0.0

    done = told("export", folder, "--to", tmp_path / "b.csv", "--all", "--no-text")
    assert f"learning from {LABELS} labels" in done.stderr
    assert separation(tmp_path / "b.csv", finches) > 0.5, "also pages that nobody labelled"
    again = told("export", folder, "--to", tmp_path / "b.csv", "--all", "--no-text")
    assert "learning" not in again.stderr
    assert "again" not in again.stderr

    rows = journal(folder)[LABELS:24]
    Collection(folder).label_all([(row.url, float(finches[row.url])) for row in rows])
    learned = told("learn", folder)
    assert learned.returncode == 0
    assert "is active; it learned from 12 good and 12 bad examples" in learned.stdout
    assert re.search(r"Since your 20 answers: \d+ of \d+ other pages came in", learned.stdout)
    judged = facts("judge", folder)
    assert judged["learned"] is None, "it was learned before"
    assert separation_of(journal(folder), finches) > 0.5


def separation(file: Path, kinds: dict[str, bool]) -> float:
    with file.open(newline="") as lines:
        rows = [row for row in csv.DictReader(lines) if row["verdict"]]
    return gap([(kinds[row["url"]], float(row["verdict"])) for row in rows])


def separation_of(rows: Sequence[Any], kinds: dict[str, bool]) -> float:
    return gap([(kinds[row.url], row.verdict or 0.0) for row in rows])


def gap(judged: Sequence[tuple[bool, float]]) -> float:
    """How much higher the lowest finch is judged than the highest other page."""
    return min(v for finch, v in judged if finch) - max(v for finch, v in judged if not finch)


def test_what_cannot_be_learned_yet_is_told(finches: dict[str, bool], tmp_path: Path) -> None:
    folder = tmp_path / "birds"
    label(folder, finches, wanted=[False])
    count = sum(not finches[row.url] for row in journal(folder))
    done = told("learn", folder)
    assert done.returncode == 0
    assert f"Nothing learned from {count} labels" in done.stdout
    assert "good and bad ones are needed" in done.stdout
    waits = unlearned(folder)
    assert (waits["waiting"], waits["without_effect"]) == (0, count)
    assert f"{count} labels are without effect so far" in told("status", folder).stdout
    row = next(row for row in journal(folder) if finches[row.url])
    Collection(folder).label_all([(row.url, 1.0), ("http://127.0.0.1/never", 0.0)])
    assert facts("learn", folder)["live"]
    waits = unlearned(folder)
    assert (waits["waiting"], waits["without_effect"], waits["unfetched"]) == (0, 0, 1)


def test_who_learns_beside_a_crawl_is_told_that_it_learns_itself(
    finches: dict[str, bool], tmp_path: Path
) -> None:
    folder = tmp_path / "birds"
    topic = folder / "topic.toml"
    topic.write_text(topic.read_text().replace("loopback_delay_s = 0.0", "loopback_delay_s = 0.2"))
    with running("crawl", folder, "-n", 3000, "-q") as crawl:
        while len(journal(folder)) < 31:
            assert crawl.poll() is None
        refused = told("learn", folder)
        assert refused.returncode == 4
        assert "learns from new labels by itself" in refused.stderr
        done = told("export", folder, "--to", tmp_path / "a.csv")
        assert done.returncode == 0, done.stderr


def test_waiting_labels_judge_the_first_pages_of_shards(
    finches: dict[str, bool], tmp_path: Path
) -> None:
    folder = tmp_path / "birds"
    label(folder, finches)
    done = told("crawl", folder, "-n", 45, "--shards", 2)
    assert done.returncode == 0, done.stderr
    assert f"learning from {LABELS} labels first" in done.stderr
    later = [row.generation for row in journal(folder)[30:]]
    assert later
    assert min(later) > 0
