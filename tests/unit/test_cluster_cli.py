"""What the command line says where there is no cluster, or no Ray."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from honeyguide.api.create import create
from honeyguide.cluster.remote_state import ClusterLocation, is_away, recall_shards, send_away
from honeyguide.cluster.resharding import prepare_shards
from honeyguide.errors import ConfigError
from honeyguide.store.store import Store
from tests.end_to_end.crawling import honeyguide

WITHOUT = "import sys; sys.modules['ray'] = None; from honeyguide.cli.main import run; run()"


@pytest.fixture
def bees(tmp_path: Path) -> Path:
    folder = tmp_path / "bees"
    create(folder, seeds=["http://127.0.0.1:1/"], contact="tester@example.org", strategy="breadth")
    return folder


def test_without_the_extra_it_says_what_to_install(bees: Path) -> None:
    words = ["crawl", str(bees), "--cluster", "127.0.0.1:1", "--vault", str(bees.parent)]
    done = subprocess.run([sys.executable, "-c", WITHOUT, *words], capture_output=True, text=True)
    assert done.returncode == 10
    assert "pip install 'honeyguide[cluster]'" in done.stderr
    other = subprocess.run(
        [sys.executable, "-c", WITHOUT, "strategies"], capture_output=True, text=True
    )
    assert other.returncode == 0, other.stderr


def test_an_address_where_nobody_answers_is_told_at_once(bees: Path) -> None:
    pytest.importorskip("ray")
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    began = time.monotonic()
    done = honeyguide(
        "crawl", bees, "--cluster", f"127.0.0.1:{port}", "--vault", bees.parent, timeout=60
    )
    assert done.returncode == 10
    assert f"there is no answer from 127.0.0.1:{port}" in done.stderr
    assert time.monotonic() - began < 30
    for wrong in ("here", "ray://127.0.0.1:10001", "127.0.0.1:port"):
        done = honeyguide("crawl", bees, "--cluster", wrong, "--vault", bees.parent)
        assert done.returncode == 2, done.stderr
        assert "HOST:PORT" in done.stderr


def test_what_is_missing_is_told(bees: Path) -> None:
    done = honeyguide("crawl", bees, "--vault", bees.parent)
    assert done.returncode == 2
    assert "--cluster" in done.stderr
    done = honeyguide("crawl", bees, "--cluster", "127.0.0.1:1")
    assert done.returncode == 2
    assert "--vault" in done.stderr


def test_shards_that_are_away_are_not_crawled_here_until_recalled(bees: Path) -> None:
    place = bees.parent / "vault"
    place.mkdir()
    with Store.open(bees, "crawl") as store:
        prepare_shards(store, 2, lambda _: None)
        send_away(store, ClusterLocation("127.0.0.1:1", str(place)), lambda _: None)
        with pytest.raises(ConfigError, match="not in /elsewhere"):
            send_away(store, ClusterLocation("127.0.0.1:1", "/elsewhere"), lambda _: None)
    for words in ((), ("--shards", "1"), ("--shards", "2")):
        done = honeyguide("crawl", bees, *words)
        assert done.returncode == 10, done.stderr
        assert "cluster recall" in done.stderr
    told = honeyguide("cluster", "status", bees)
    assert told.returncode == 0, told.stderr
    assert "the coordinator" in told.stdout, "the vault knows who had it last"
    done = honeyguide("cluster", "recall", bees)
    assert done.returncode == 0, done.stderr
    with Store.open(bees, "crawl") as store:
        assert not is_away(store)
        with pytest.raises(Exception, match="in the collection folder"):
            recall_shards(store, lambda _: None)
