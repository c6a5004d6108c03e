"""Owners that are killed at any instant: what they said was saved is there, and nothing else."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path
from random import Random

from honeyguide.cluster.replicator import open_object_store, rebuild_database
from honeyguide.store.database import Database

OWNER = """
import sys
from pathlib import Path
from honeyguide.cluster.replicator import ShardReplicator, open_object_store
from honeyguide.store.database import Database

place, folder = sys.argv[1:]
keeper = ShardReplicator.claim(open_object_store(place), 0, "owner")
keeper.restore(Path(folder))
Path(folder).mkdir(exist_ok=True)
database = Database(Path(folder) / "collection.db", "crawl")
number = database.fetch_one("SELECT count(*) FROM meta")[0]
while True:
    with database.transaction():
        for _ in range(10):
            row = f"{number:06}", "x" * (number % 5000)
            database.execute("INSERT INTO meta VALUES(?, ?)", row)
            number += 1
    keeper.save(database)
    print(number, flush=True)
"""


def test_what_was_said_to_be_saved_is_restored(tmp_path: Path) -> None:
    dice = Random(0)
    (tmp_path / "vault").mkdir()
    said = 0
    for turn in range(2):
        command = [sys.executable, "-c", OWNER, tmp_path / "vault", tmp_path / f"here{turn}"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as owner:
            assert owner.stdout is not None
            assert int(owner.stdout.readline()) == said + 10
            time.sleep(dice.uniform(0, 0.3))
            owner.kill()
            lines = owner.stdout.read().split()
        least = int(lines[-1]) if lines else said + 10
        rebuild_database(open_object_store(str(tmp_path / "vault")), 0, tmp_path / "look")
        database = Database(tmp_path / "look" / "collection.db", "read")
        database.check_integrity()
        rows = database.fetch_all("SELECT key, length(value) FROM meta ORDER BY key")
        database.close()
        # Saved, and killed before it could say so: one more.
        assert len(rows) in (least, least + 10)
        assert rows == [(f"{number:06}", number % 5000) for number in range(len(rows))]
        said = len(rows)
