"""Whatever is written, and whenever it is saved: what is restored is what was saved last."""

from __future__ import annotations

from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import pytest

from honeyguide.cluster import database_changes, replicator
from honeyguide.cluster.replicator import ShardReplicator, rebuild_database
from honeyguide.errors import StorageUnreachable
from honeyguide.store.database import Database
from tests.unit.vaults import Shaky, dump, opened, saved


@pytest.mark.parametrize("seed", range(12))
def test_restored_is_what_was_saved(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    dice = Random(seed)
    monkeypatch.setattr(database_changes, "PART", dice.choice([30_000, 32_000_000]))
    monkeypatch.setattr(replicator, "_SMALL", dice.choice([10_000, 4_000_000]))
    with TemporaryDirectory() as name:
        folder = Path(name)
        vault = Shaky(folder / "vault")
        told: list[object] | None = None
        for owner_number in range(3):
            owner = ShardReplicator.claim(vault, 0, f"owner {owner_number}")
            here = folder / f"owner{owner_number}"
            owner.restore(here)
            if told is not None:
                assert saved(here) == told
            with opened(here) as database:
                told = live(dice, vault, owner, database, told)
            if told is not None:
                rebuild_database(vault, 0, folder / "look")
                assert saved(folder / "look") == told


def live(
    dice: Random,
    vault: Shaky,
    owner: ShardReplicator,
    database: Database,
    told: list[object] | None,
) -> list[object] | None:
    """One owner's life; says what it saved last."""
    for _ in range(dice.randrange(12)):
        for _ in range(dice.randrange(4)):
            write(dice, database)
        vault.lose_before = dice.choice([0, 0, 0, 1, 4])
        vault.lose_after = dice.choice([0, 0, 0, 1, 4])
        try:
            owner.save(database)
            told = dump(database)
        except StorageUnreachable:
            pass
        finally:
            vault.lose_before = vault.lose_after = 0
    if dice.random() < 0.5:
        owner.release_shard(database)
        told = dump(database)
    else:
        # What could not be told may have arrived all the same: ask, to know what to expect.
        owner.save(database)
        told = dump(database)
        write(dice, database)
    return told


def write(dice: Random, database: Database) -> None:
    chance = dice.random()
    if chance < 0.03:
        database.execute("VACUUM")
        return
    try:
        with database.transaction():
            for _ in range(dice.randrange(1, 5)):
                key = f"k{dice.randrange(30)}"
                if dice.random() < 0.3:
                    database.execute("DELETE FROM meta WHERE key >= ?", (key,))
                else:
                    text = dice.choice("abc") * dice.choice([1, 100, 9000, 70_000])
                    database.execute("INSERT OR REPLACE INTO meta VALUES(?, ?)", (key, text))
            if chance > 0.9:
                raise ZeroDivisionError
    except ZeroDivisionError:
        pass
