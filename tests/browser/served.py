"""A studio on a folder of collections, and the folder it serves, made by short real crawls."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from honeyguide.api.collection import Collection
from honeyguide.api.create import create
from honeyguide.lab.web import load_demo_topics
from tests.browser.hostile import PAGES, PAYLOADS, HostileSite
from tests.end_to_end.crawling import collection, honeyguide

EVIL = "evil & 'quoted' 100% #1"
"""A name with every sign that has to be escaped somewhere."""
SEARCH = "search"
NEW = "new"
_PAGES = 120


class Studio(NamedTuple):
    """An open studio."""

    address: str
    """With the token of programs: it signs in as often as it is opened."""
    root: Path

    @property
    def origin(self) -> str:
        return self.address.partition("/#")[0]


@contextmanager
def studio(root: Path) -> Iterator[Studio]:
    """``honeyguide serve ROOT`` in a process of its own."""
    command = [sys.executable, "-m", "honeyguide", "serve", str(root), "--json"]
    log = (root / "studio.log").open("w+", encoding="utf-8")
    with (
        log,
        subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=log, stdin=subprocess.DEVNULL, text=True
        ) as process,
    ):
        assert process.stdout is not None
        try:
            line = process.stdout.readline()
            assert line, (root / "studio.log").read_text("utf-8")
            said = json.loads(line)
            yield Studio(f"http://127.0.0.1:{said['port']}/#token={said['token']}", root)
        finally:
            process.terminate()
            process.wait(30)
    said = (root / "studio.log").read_text("utf-8")
    assert "Traceback" not in said, said


def searching(folder: Path, lab: str, pages: int = _PAGES, **tables: Any) -> Collection:
    """A topic of the demo web."""
    topic = load_demo_topics()["full-text-search"]
    return create(
        folder,
        seeds=topic.seeds,
        contact="https://example.org/honeyguide-tests",
        keywords=topic.keywords,
        description=topic.description,
        pages=pages,
        fetch={"lab": lab},
        politeness={"loopback_delay_s": 0.0},
        crawl={"concurrency": 4},
        **tables,
    )


def fill(root: Path, lab: str, evil: HostileSite) -> None:
    """Three topics: one crawled well, one full of attacks and watched, one just made."""
    searching(root / NEW, lab)
    made = searching(root / SEARCH, lab)
    made.crawl()
    attacked(root / EVIL, evil)


def attacked(folder: Path, evil: HostileSite) -> None:
    made = collection(
        folder,
        [evil.url(0), evil.missing],
        watch={"second_look_s": 0.05, "min_interval_s": 0.0, "requests_per_hour": 1e6},
        description=" ".join(PAYLOADS[:5]),
        pages=PAGES,  # not for ever: evil.invalid is not found, and would be asked again
    )
    made.crawl()
    made.label_all([(evil.url(0), 1.0), (evil.url(1), 0.0)], by=f"Eve {PAYLOADS[1]}")
    for attack in (PAYLOADS[0] + PAYLOADS[1], PAYLOADS[2]):
        text = attack.replace("<", "&lt;")
        evil.write(2, f"<p>The queen {text} was replaced.</p><p>{attack} A whole new hive.</p>")
        done = honeyguide("watch", folder, "--once", "--json")
        assert done.returncode == 0, done.stderr
