"""Crawls with two shards, in real processes, of a small made web that the lab serves."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import honeyguide
from honeyguide import Collection
from honeyguide.lab.synthetic.topology import parse_plan
from honeyguide.lab.synthetic.web import SyntheticWeb
from tests.golden.reading import Row, database, rows
from tests.lab_thread import serve_in_thread

_PLAN = (
    "seed=9,hosts=8,pages=80,topics=borg+sqlite,traps=0,errors=0,zipf=0.4,mirrors=0.1,"
    "near_copies=0.1"
)
COMPARED = ("url", "verdict", "status", "failure", "moved", "title",
         "language", "text_digest", "body_size", "reasons", "final", "media_type")  # fmt: skip
"""What does not follow from the order of the visits, for which two processes race; ``copy_of``
does follow from it: of two like pages the later one is the copy, and copies are not relevant."""


@cache
def _web() -> SyntheticWeb:
    return SyntheticWeb(parse_plan(_PLAN))


@contextmanager
def served() -> Iterator[str]:
    """The lab's address."""
    with serve_in_thread(_web()) as address:
        yield address


def create(folder: Path, strategy: str, **more: Any) -> Collection:
    web = _web()
    return honeyguide.create(
        folder,
        seeds=[f"http://{host}/" for host in sorted(web.hosts)],
        keywords=["borg", "backup", "archive", "repository", "prune"],
        contact="tester@example.org",
        strategy=strategy,
        pages=0,
        fetch={"lab": "http://127.0.0.1:1"},
        politeness={"loopback_delay_s": 0.0},
        **more,
    )


def moved(folder: Path, address: str) -> None:
    """From now on the lab listens there."""
    file = folder / "topic.toml"
    text = re.sub(r'(?m)^(lab = )"[^"]*"', rf'\1"{address}"', file.read_text("utf-8"))
    file.write_text(text, "utf-8")


def crawl(folder: Path, *words: object) -> str:
    """Crawl as a person would; what was printed."""
    with served() as address:
        moved(folder, address)
        done = subprocess.run(
            [sys.executable, "-m", "honeyguide", "crawl", str(folder), *map(str, words), "--json"],
            capture_output=True,
            text=True,
            timeout=60,
            stdin=subprocess.DEVNULL,
        )
    assert done.returncode == 0, done.stderr
    return done.stdout


def found(folder: Path) -> list[Row]:
    """The visits, by their addresses."""
    with database(folder) as db:
        return rows(db, "visits", COMPARED, "url, id")
