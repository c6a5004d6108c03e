"""urlwatch, webchanges and changedetection.io from PyPI, and ours, on the same pages, as they ship.

Each keeps the pages as they are, then a tenth of them is edited, then it looks again; that second
round is measured: CPU seconds of the process and everything it started, start included. What the
start alone costs is told by the same round over a single page.
"""

from __future__ import annotations

import json
import os
import re
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from honeyguide.api.create import create
from honeyguide.store.store import Store
from honeyguide.types import Url

NAMES = ("urlwatch", "webchanges", "changedetection.io")
OURS = "honeyguide watch"
"""Everything on: robots.txt, politeness (but for the delay), masks, rates, versions, WARC, a feed."""
PAGES = {"webchanges": 200}
"""It takes a fifth of a second for a page: fewer will do."""
LIMIT_S = 900


def install(folder: Path) -> Path:
    """The peers in an environment of their own; where its programs are."""
    place = folder / "peers"
    if not all((place / "bin" / name).exists() for name in NAMES):
        subprocess.run([sys.executable, "-m", "venv", str(place)], check=True)
        uv = str(Path(sys.executable).parent / "uv")
        python = str(place / "bin" / "python")
        subprocess.run([uv, "pip", "install", "--quiet", "--python", python, *NAMES], check=True)
    return place / "bin"


def versions(programs: Path) -> dict[str, str]:
    code = "import sys, importlib.metadata as m; print(*map(m.version, sys.argv[1:]))"
    told = subprocess.run(
        [str(programs / "python"), "-c", code, *NAMES], check=True, capture_output=True, text=True
    )
    return dict(zip(NAMES, told.stdout.split(), strict=True))


def round_of(name: str, programs: Path, scratch: Path, urls: list[str], *, first: bool) -> set[str]:
    """One round over these pages; the ones it says have changed."""
    if name == OURS:
        return _ours(scratch / "watched", urls, scratch, first)
    command = str(programs / name)
    if name == "changedetection.io":
        store = scratch / "store"
        more = [word for url in urls for word in ("-u", url)] if first else ["-r", "all"]
        _run([command, "-d", str(store), "-C", "-l", "ERROR", "-h", "127.0.0.1",
              "-p", "18961", *more, "-b"], scratch)  # fmt: skip
        return set(_twice(store))
    jobs = scratch / "jobs.yaml"
    jobs.write_text("".join(f"---\nurl: {url}\nfilter:\n  - html2text\n" for url in urls))
    which = ("--urls", "--cache") if name == "urlwatch" else ("--jobs", "--database")
    said = _run([command, which[0], str(jobs), "--config", str(scratch / "config.yaml"),
                 which[1], str(scratch / "kept.db")], scratch)  # fmt: skip
    lines = [line for line in said.splitlines() if line.startswith("CHANGED: ")]
    return {match[0] for line in lines if (match := re.search(r"http://[^\s)]+", line))}


def measure(
    name: str, programs: Path, scratch: Path, urls: list[str], edit: Callable[[], None]
) -> tuple[float, float, set[str]]:
    """(CPU seconds, wall seconds, pages said to have changed) of the second round."""
    scratch.mkdir(parents=True)
    round_of(name, programs, scratch, urls, first=True)
    edit()
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    found = round_of(name, programs, scratch, urls, first=False)
    after, wall = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic() - began
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return cpu, wall, found


def _run(command: list[str], scratch: Path) -> str:
    env = os.environ | {
        "HOME": str(scratch), "ALLOW_IANA_RESTRICTED_ADDRESSES": "true", "PYTHONWARNINGS": "ignore",
    }  # fmt: skip
    env.pop("PYTHONDONTWRITEBYTECODE", None)
    told = subprocess.run(
        command, cwd=scratch, env=env, capture_output=True, text=True, timeout=LIMIT_S
    )
    return told.stdout


def _ours(folder: Path, urls: list[str], scratch: Path, first: bool) -> set[str]:
    if first:
        create(
            folder,
            seeds=urls[:1],
            keywords=["page", "paragraph"],
            contact="https://example.org/bench",
            fetch={"private_addresses": True},
            politeness={"loopback_delay_s": 0.0},
            watch={"second_look_s": 0.05},
            notify=[{"to": "atom"}],
        )
        with Store.open(folder, "crawl") as store:
            store.watched.add_pages(map(Url, urls), "user", time.time())
    _run([sys.executable, "-m", "honeyguide", "watch", str(folder), "--once", "--quiet"], scratch)
    with Store.open(folder, "read") as store:
        return {str(row.change.url) for row in store.changes.iter_newest()}


def _twice(store: Path) -> list[str]:
    """The watches of changedetection.io that have a second version."""
    return [
        json.loads((history.parent / "watch.json").read_text())["url"]
        for history in store.glob("*/history.txt")
        if len(history.read_text().splitlines()) > 1
    ]
