"""Real crawls for tests: collections on the local site, crawled in a process of their own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from honeyguide.api.collection import Collection
from honeyguide.api.create import create
from honeyguide.store.store import Store
from honeyguide.store.visits import VisitRow

COMMAND = [sys.executable, "-m", "honeyguide.cli.main"]


def collection(
    folder: Path, seeds: Sequence[str], strategy: str = "keyword", **tables: Any
) -> Collection:
    """A collection whose crawl may visit this machine, without delay unless said so."""
    fetch = {"private_addresses": True, "connect_s": 2, "read_s": 2, "total_s": 4}
    politeness = {"loopback_delay_s": 0.0}
    return create(
        folder,
        seeds=seeds,
        contact="tester@example.org",
        keywords=["honey", "bee", "hive"],
        strategy=strategy,
        fetch=fetch | tables.pop("fetch", {}),
        politeness=politeness | tables.pop("politeness", {}),
        **tables,
    )


def honeyguide(
    *words: object, timeout: float = 60, **more: Any
) -> subprocess.CompletedProcess[str]:
    """Run the command line to its end."""
    return subprocess.run(
        [*COMMAND, *map(str, words)],
        capture_output=True,
        text=True,
        timeout=timeout,
        stdin=subprocess.DEVNULL,
        env=os.environ | {"COLUMNS": "200", "NO_COLOR": "1"},
        **more,
    )


def start(*words: object) -> subprocess.Popen[bytes]:
    """Run it in the background."""
    return subprocess.Popen(
        [*COMMAND, *map(str, words)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def journal(folder: Path) -> list[VisitRow]:
    with Store.open(folder, "read") as store:
        return list(store.visits.iter_visits())
