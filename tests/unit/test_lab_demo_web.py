"""The web that comes with the package."""

from __future__ import annotations

import subprocess
import sys
from http.client import HTTPConnection
from importlib.resources import files
from pathlib import Path

import pytest

from honeyguide.lab.web import RecordedWeb, load_demo_topics, load_demo_web

DEMO = Path(str(files("honeyguide.lab") / "demo_data"))


@pytest.fixture(scope="module")
def web() -> RecordedWeb:
    return load_demo_web()


def test_it_is_small_and_wide(web: RecordedWeb) -> None:
    assert 1000 < len(web) < 2500
    assert len({record.url.split("/")[2] for record in web}) >= 5
    assert sum(path.stat().st_size for path in DEMO.rglob("*") if path.is_file()) < 8e6


def test_every_topic_is_whole(web: RecordedWeb) -> None:
    assert set(load_demo_topics()) == {
        "full-text-search",
        "backup-and-replication",
        "authentication",
    }
    for name, topic in load_demo_topics().items():
        relevant = web.urls_labelled(name)
        assert 40 <= len(relevant) <= 150
        assert len({url.split("/")[2] for url in relevant}) >= 3
        assert 5 <= len(topic.keywords) <= 8
        assert len(topic.good) == 5
        assert all(name in web.labels_of(url) for url in topic.good)
        assert all(web.find(url) is not None for url in topic.seeds)
        assert not all(name in web.labels_of(url) for url in topic.seeds)
    known = {label for record in web for label in record.labels}
    assert known == set(load_demo_topics())


def test_every_manual_names_its_licence() -> None:
    text = (DEMO / "LICENSES.md").read_text()
    notices = {path.stem for path in (DEMO / "licenses").iterdir()}
    assert len(notices) >= 5
    for notice in notices:
        assert f"| {notice} " in text


def test_it_runs_as_a_process_that_leaves_with_its_parent() -> None:
    command = [sys.executable, "-m", "honeyguide.lab"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        address = process.stdout.readline().decode().strip().removeprefix("http://")
        connection = HTTPConnection(address, timeout=10)
        connection.request("GET", "http://docs.demo.example/")
        assert b"Manuals of free software" in connection.getresponse().read()
        connection.close()
        process.stdin.close()
        assert process.wait(10) == 0
