"""Collections as the code of the day made them that recorded them, and what they say."""

from __future__ import annotations

import os
import re
import tarfile
from pathlib import Path
from typing import Any

from honeyguide import Collection
from honeyguide.cluster.replicator import ShardReplicator, open_object_store, rebuild_database
from honeyguide.store.database import Database
from tests.golden import reading, sharding, watching
from tests.golden.keeping import OLD
from tests.golden.telling import told
from tests.golden.webs import Case, create, visit

CASES = {
    "plain": Case(
        "made", "honeyguide", tables={"crawl": {"pages": 30}, "store": {"keep_text": "all"}}
    ),
    "topics": Case(
        "demo",
        "hybrid_svm",
        tables={
            "topics": [{"name": "backup", "keywords": ["backup", "restore", "replication"]}],
            "crawl": {"pages": 25},
            "store": {"warc": False},
        },
    ),
}
"""Collections of one process that are crawled; ``plain`` was killed while it was crawled."""
_LATER = 20
_WATCHED_S = 4 * 3600.0


def make(place: Path) -> None:
    """All of them, in that folder."""
    for name, case in CASES.items():
        folder = place / name
        collection = create(case, folder)
        visit(case, folder, collection.settings)
        topic = {"topic": "backup"} if collection.topics else {}
        for number, row in enumerate(reading.visits(folder)[4:10]):
            collection.label(row[0], float(number % 2), by=("ann", "user")[number // 3], **topic)
    _killed(CASES["plain"], place / "plain")
    _watched(place / "watched")
    _sharded(place / "sharded")
    _vault(place / "vault", place / "sharded")


def _killed(case: Case, folder: Path) -> None:
    """Go on with it in another process that ends at once, in the middle of everything."""
    settings = Collection(folder).limited_settings(60, None)
    child = os.fork()
    if child:
        os.waitpid(child, 0)
        return
    asked = 0

    def kill(_: str) -> float:
        nonlocal asked
        asked += 1
        if asked > 15:
            os._exit(9)
        return 0.1

    try:
        visit(case, folder, settings, latency=kill)
    finally:
        os._exit(1)


def _watched(folder: Path) -> None:
    settings = watching.create(folder).settings
    watching.watch(folder, settings, 2.0)
    pages = [row[1] for row in watching.read(folder)["watched"][1:]]
    for words in (
        ("weigh", 5, pages[0]),
        ("pause", pages[1]),
        ("remove", pages[2]),
        ("mask", pages[3], "div.foot/p"),
        ("mask", pages[4], "shape:", "main/p~0123456789"),
        ("unmask", pages[4], "shape:"),
    ):
        code, _, err = told("watch", folder, *words)
        assert code == 0, err


def _sharded(folder: Path) -> None:
    sharding.create(folder, "keyword")
    sharding.crawl(folder, "--shards", 2, "-n", 60)
    sharding.moved(folder, "http://127.0.0.1:1")


def _vault(folder: Path, sharded: Path) -> None:
    folder.mkdir()
    for shard, home in enumerate(sorted((sharded / "shards").iterdir())):
        database = Database(home / "collection.db", "crawl")
        keeper = ShardReplicator.claim(open_object_store(str(folder)), shard, "the old one")
        keeper.save(database)
        database.execute("INSERT OR REPLACE INTO meta VALUES('golden', 'kept')")
        keeper.save(database)
        database.execute("DELETE FROM meta WHERE key = 'golden'")
        keeper.save(database)
        keeper.release_shard(database)
        database.close()


def pack(place: Path, into: Path = OLD) -> None:
    into.mkdir(exist_ok=True)
    for folder in sorted(place.iterdir()):
        with tarfile.open(into / f"{folder.name}.tar.xz", "w:xz", preset=9) as archive:
            for path in sorted(folder.rglob("*")):
                archive.add(path, str(path.relative_to(folder)), recursive=False, filter=_nobodys)


def _nobodys(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    entry.uid = entry.gid = 0
    entry.uname = entry.gname = ""
    entry.mtime = 0
    return entry


def unpack(name: str, folder: Path) -> Path:
    with tarfile.open(OLD / f"{name}.tar.xz") as archive:
        archive.extractall(folder, filter="data")
    return folder


def facts(name: str, place: Path) -> dict[str, Any]:
    """What today's code says of the old collection; every part has a copy of its own."""
    if name == "vault":
        return _of_vault(place)
    folder = unpack(name, place / name)
    found: dict[str, Any] = {"printed": _asked(name, folder), "export": _exports(folder)}
    found["printed again"] = _said(folder)
    if name in CASES:
        found["rows"] = _tables(folder)
        fresh = unpack(name, place / f"{name}-later")
        pages = len(reading.visits(fresh)) + _LATER
        visit(CASES[name], fresh, Collection(fresh).limited_settings(pages, None))
        found["crawled on"] = reading.visits(fresh)
    elif name == "watched":
        found["rows"] = watching.read(folder)
        fresh = unpack(name, place / "watched-later")
        found["watched on"] = watching.watch(fresh, Collection(fresh).settings, 1.0, _WATCHED_S)
    else:
        fresh = unpack(name, place / "sharded-later")
        sharding.crawl(fresh)
        found["crawled on"] = sharding.found(fresh)
    return found


def _said(folder: Path) -> dict[str, Any]:
    """What is asked of Python instead."""
    collection = Collection(folder)
    pages = list(collection.pages(relevant=None))
    return {
        "pages": [[row.url, row.verdict, bool(row.relevant), row.title] for row in pages],
        "texts": [reading.digest(collection.text(row)) for row in pages],
        "labels": {
            row.url: {topic: [label.value, label.by] for topic, label in labels.items()}
            for row in pages
            if (labels := collection.labels(row.url))
        },
        "topics": list(collection.topics),
        "learns": collection.learns,
        "shards": collection.shards,
    }


def _asked(name: str, folder: Path) -> dict[str, Any]:
    some = [row[0] for row in reading.visits(folder)][:3]
    questions: list[tuple[Any, ...]] = [
        ("status", folder, "--json"),
        ("generations", folder, "--json"),
        ("queries", "list", folder, "--json"),
        *(("explain", folder, url, "--json") for url in some),
        ("ask", folder, "--json"),
    ]
    if name == "plain":
        questions += [("generations", folder, "--compare", 0, 1, "--json")]
    if name == "watched":
        pages = [row[1] for row in watching.read(folder)["watched"][1:6]]
        changed = [row[1] for row in watching.read(folder)["changes"][1:4]]
        questions += [
            ("watch", folder, "list", "--json"),
            ("watch", folder, "channels", "--json"),
            ("changes", folder, "--json", "-n", 100),
            *(("watch", folder, "masks", url, "--json") for url in pages),
            *(("history", folder, url, "--json") for url in pages),
            *(("history", folder, url, "--json") for url in changed),
            *(("diff", folder, url) for url in changed),
        ]
    found = {}
    for words in questions:
        code, out, err = told(*words)
        said = [code, *(_steady(text, folder) for text in (out, err))]
        found[" ".join(map(str, words)).replace(str(folder), "FOLDER")] = said
    return found


_CHANGING = re.compile(r'"(?:rate|pid|crawler_pid|size|disk|now|seconds|bytes)": [^,}]+')


def _steady(text: str, folder: Path) -> str:
    """Without what another moment or another place changes."""
    return _CHANGING.sub("…", text.replace(str(folder), "FOLDER"))


def _exports(folder: Path) -> dict[str, Any]:
    """Every visit as a file: its lines, shortened."""
    found = {}
    for ending in ("jsonl", "csv"):
        file = folder.parent / f"{folder.name}.{ending}"
        Collection(folder).export(file, everything=True)
        found[ending] = [reading.digest(line) for line in file.read_text("utf-8").splitlines()]
    return found


def _tables(folder: Path) -> dict[str, Any]:
    with reading.database(folder) as db:
        return {
            "visits": reading.rows(db, "visits", reading.SHOWN, "id"),
            **{
                table: reading.rows(db, table, [*names], "1, 2")
                for table, names in {
                    "labels": ("id", "url", "value", "by", "topic", "replaced"),
                    "generations": ("number", "name", "note"),
                    "hosts": ("id", "name", "visits", "relevant", "failures"),
                    "counters": ("name", "part", "value"),
                }.items()
            },
        }


def _of_vault(place: Path) -> dict[str, Any]:
    """The databases as they are made from it, by who only looks and by who goes on."""
    folder = unpack("vault", place / "vault")
    found: dict[str, Any] = {}
    for shard in (0, 1):
        home = place / f"shard-{shard}"
        restored = rebuild_database(open_object_store(str(folder)), shard, home)
        with reading.database(home) as db:
            visits = reading.rows(db, "visits", ("url", "verdict", "status"), "id")
        keeper = ShardReplicator.claim(open_object_store(str(folder)), shard, "the new one")
        again = keeper.restore(place / f"again-{shard}")
        found[f"shard {shard}"] = {
            "entries": restored.entries,
            "visits": visits,
            "owners": keeper.owner.epoch,
            "read": again.entries,
        }
    return found


NAMES = (*CASES, "watched", "sharded", "vault")
