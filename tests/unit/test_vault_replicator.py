from __future__ import annotations

import os
from pathlib import Path

import pytest

from honeyguide.cluster import database_changes, replicator
from honeyguide.cluster.replicator import ShardReplicator, rebuild_database
from honeyguide.cluster.shard_log import unpack_entry
from honeyguide.errors import ClusterError, ConfigError, ShardFenced, StorageUnreachable
from tests.unit.vaults import Clock, Shaky, dump, opened, put, saved


@pytest.fixture
def vault(tmp_path: Path) -> Shaky:
    return Shaky(tmp_path / "vault")


def test_another_machine_goes_on_where_the_first_stopped(vault: Shaky, tmp_path: Path) -> None:
    first = ShardReplicator.claim(vault, 3, "first")
    assert first.restore(tmp_path / "a").entries == 0
    assert not (tmp_path / "a").exists()
    with opened(tmp_path / "a") as database:
        assert first.save(database).whole
        put(database, "x", 100)
        done = first.save(database)
        assert not done.whole
        assert 0 < done.pages < 5
        assert first.save(database).pages == 0
        first.release_shard(database)
        told = dump(database)
    second = ShardReplicator.claim(vault, 3, "second")
    assert second.owner.epoch == 2
    assert second.owner.seconds_left()
    restored = second.restore(tmp_path / "b")
    assert restored.entries == 2
    assert saved(tmp_path / "b") == told
    with opened(tmp_path / "b") as database:
        put(database, "y", 50_000)
        done = second.save(database)
        assert not done.whole  # it knows that its file is what the log says
        told = dump(database)
    assert rebuild_database(vault, 3, tmp_path / "c").entries == 3
    assert saved(tmp_path / "c") == told
    assert sorted(os.listdir(tmp_path / "c")) == ["collection.db"]


def test_a_claim_waits_for_the_owner_before(vault: Shaky) -> None:
    clock = Clock()
    first = ShardReplicator.claim(vault, 0, "first", 10.0, clock)
    assert first.owner.seconds_left()
    clock.now += 9
    assert first.owner.seconds_left() == pytest.approx(1)
    first.renew_lease()
    clock.now += 9
    assert first.owner.seconds_left()
    second = ShardReplicator.claim(vault, 0, "second", 10.0, clock)
    assert not second.owner.seconds_left()
    clock.now += 1
    assert not first.owner.seconds_left()
    with pytest.raises(ShardFenced, match="'second'"):
        first.renew_lease()
    clock.now += second.owner.seconds_to_wait() - 0.001
    second.renew_lease()
    assert not second.owner.seconds_left()
    clock.now += 0.002
    assert second.owner.seconds_left()
    assert second.owner.seconds_left() == pytest.approx(10, abs=0.01)


def test_the_fenced_write_nothing(vault: Shaky, tmp_path: Path) -> None:
    first = ShardReplicator.claim(vault, 0, "first")
    warc = tmp_path / "a.warc.gz"
    warc.write_bytes(b"x" * 1000)
    with opened(tmp_path / "a") as database:
        first.save(database)
        ShardReplicator.claim(vault, 0, "second")
        put(database, "late", 1)
        before = vault.list_names("shard-0000/")
        for _ in range(2):
            with pytest.raises(ShardFenced):
                first.save(database)
        with pytest.raises(ShardFenced):
            first.upload_warc(warc)
        first.release_shard()
    assert vault.list_names("shard-0000/") == before


def test_what_was_saved_is_not_replaced_by_what_never_was_restored(
    vault: Shaky, tmp_path: Path
) -> None:
    with opened(tmp_path / "a") as database:
        ShardReplicator.claim(vault, 0, "first").save(database)
        with pytest.raises(ClusterError, match="restore it"):
            ShardReplicator.claim(vault, 0, "second").save(database)


@pytest.mark.parametrize("lost", ["lose_before", "lose_after"])
@pytest.mark.parametrize("times", [1, 2, 5])
def test_lost_answers_lose_nothing(vault: Shaky, tmp_path: Path, lost: str, times: int) -> None:
    owner = ShardReplicator.claim(vault, 0, "first")
    with opened(tmp_path / "a") as database:
        for key in "abcd":
            put(database, key, 20_000)
            setattr(vault, lost, times)
            try:
                owner.save(database)
            except StorageUnreachable:
                assert times == 5
            else:
                assert times < 5
        vault.lose_before = vault.lose_after = 0
        put(database, "e", 3)
        owner.save(database)
        told = dump(database)
    rebuild_database(vault, 0, tmp_path / "b")
    assert saved(tmp_path / "b") == told


def test_large_segments_are_split_and_count_only_when_complete(
    vault: Shaky, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database_changes, "PART", 40_000)
    owner = ShardReplicator.claim(vault, 0, "first")
    with opened(tmp_path / "a") as database:
        assert owner.save(database).entries > 3
        put(database, "a", 300_000)
        assert owner.save(database).entries > 3
        told = dump(database)
        put(database, "b", 300_000)
        real = vault.create
        sent = []

        def create(name: str, data: bytes) -> bool:
            sent.append(name)
            if len(sent) > 3:
                raise StorageUnreachable("lost")
            return real(name, data)

        monkeypatch.setattr(vault, "create", create)
        with pytest.raises(StorageUnreachable):
            owner.save(database)
        monkeypatch.setattr(vault, "create", real)
        rebuild_database(vault, 0, tmp_path / "b")
        assert saved(tmp_path / "b") == told
        owner.save(database)
        told = dump(database)
    second = ShardReplicator.claim(vault, 0, "second")
    second.restore(tmp_path / "c")
    assert saved(tmp_path / "c") == told


def test_the_log_is_written_anew_before_it_grows_without_end(
    vault: Shaky, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(replicator, "_SMALL", 5000)
    ShardReplicator.claim(vault, 0, "before")
    owner = ShardReplicator.claim(vault, 0, "first")
    with opened(tmp_path / "a") as database:
        wholes = 0
        for number in range(60):
            put(database, f"k{number % 7}", 1000 + number)
            wholes += owner.save(database).whole
        told = dump(database)
    assert 3 <= wholes < 20
    names = vault.list_names("shard-0000/log/")
    assert len(names) < 40
    assert [int(name[-10:]) for name in names[:2]] == [1, 2]  # the claims
    last = ShardReplicator.claim(vault, 0, "second")
    last.restore(tmp_path / "b")
    assert saved(tmp_path / "b") == told
    with opened(tmp_path / "b") as database:
        for number in range(30):
            put(database, f"k{number % 7}", 1000 + number)
            last.save(database)
        told = dump(database)
    kinds = [
        unpack_entry(vault.read(name) or b"", name, 0, int(name[-10:])).head.kind
        for name in vault.list_names("shard-0000/log/")
    ]
    assert kinds.count("claim") == 3
    rebuild_database(vault, 0, tmp_path / "c")
    assert saved(tmp_path / "c") == told


def test_who_reads_while_the_log_is_written_anew_starts_again(
    vault: Shaky, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    owner = ShardReplicator.claim(vault, 0, "first")
    with opened(tmp_path / "a") as database:
        for key in "abc":
            put(database, key, 1000)
            owner.save(database)
        real = vault.read
        reads = []

        def read(name: str) -> bytes | None:
            reads.append(name)
            if len(reads) == 3:
                monkeypatch.setattr(replicator, "_GROWTH", 0)
                monkeypatch.setattr(replicator, "_SMALL", 0)
                put(database, "d", 1000)
                assert owner.save(database).whole
            return real(name)

        monkeypatch.setattr(vault, "read", read)
        rebuild_database(vault, 0, tmp_path / "b")
        assert saved(tmp_path / "b") == dump(database)
    assert len(reads) > 4


@pytest.mark.parametrize("harm", ["cut", "flip", "missing", "swap", "foreign", "empty"])
def test_a_damaged_log_gives_an_error_and_no_database(
    vault: Shaky, tmp_path: Path, harm: str
) -> None:
    for shard in (0, 1):
        owner = ShardReplicator.claim(vault, shard, "first")
        with opened(tmp_path / f"a{shard}") as database:
            for key in "abcdef":
                put(database, key, 1000)
                owner.save(database)
    names = vault.list_names("shard-0000/log/")
    other = vault.path / names[-2]
    for name in names[1:-1]:
        file = vault.path / name
        data = file.read_bytes()
        match harm:
            case "cut":
                file.write_bytes(data[: len(data) // 2])
            case "flip":
                file.write_bytes(data[:-9] + bytes([data[-9] ^ 1]) + data[-8:])
            case "missing":
                file.unlink()
            case "swap" if file != other:
                file.write_bytes(other.read_bytes())
            case "foreign":
                file.write_bytes((vault.path / name.replace("0000/", "0001/", 1)).read_bytes())
            case "empty":
                file.write_bytes(b"")
        if file.exists() and file.read_bytes() == data:
            continue
        with pytest.raises(ClusterError, match=f"{name} .*(damaged|missing)"):
            rebuild_database(vault, 0, tmp_path / "b")
        assert not list((tmp_path / "b").iterdir())
        file.write_bytes(data)
    rebuild_database(vault, 0, tmp_path / "b")


def test_a_stranger_in_the_log_is_named(vault: Shaky, tmp_path: Path) -> None:
    ShardReplicator.claim(vault, 0, "first")
    (vault.path / "shard-0000" / "log" / "notes.txt").write_text("?")
    with pytest.raises(
        ClusterError, match=r"notes\.txt in the vault was not written by Honeyguide"
    ):
        ShardReplicator.claim(vault, 0, "second")


def test_restoring_replaces_an_old_database_and_its_log(vault: Shaky, tmp_path: Path) -> None:
    owner = ShardReplicator.claim(vault, 0, "first")
    with opened(tmp_path / "a") as database:
        put(database, "new", 5000)
        owner.save(database)
        told = dump(database)
    with opened(tmp_path / "b") as database:
        database.disable_checkpoints()
        put(database, "old", 9000)
        for end in ("", "-wal", "-shm"):
            file = tmp_path / "b" / f"collection.db{end}"
            (tmp_path / f"kept{end}").write_bytes(file.read_bytes())
    for end in ("", "-wal", "-shm"):  # as a crash leaves them
        (tmp_path / "b" / f"collection.db{end}").write_bytes((tmp_path / f"kept{end}").read_bytes())
    rebuild_database(vault, 0, tmp_path / "b")
    assert saved(tmp_path / "b") == told


def test_warc_files_are_kept_once(vault: Shaky, tmp_path: Path) -> None:
    owner = ShardReplicator.claim(vault, 4, "first")
    path = tmp_path / "honeyguide-20260101000000-00001.warc.gz"
    path.write_bytes(b"x" * 3_000_000)
    assert owner.upload_warc(path)
    assert not owner.upload_warc(path)
    assert vault.read(f"shard-0004/warc/{path.name}") == path.read_bytes()
    for other in (b"x" * 2_999_999, b"x" * 3_000_001, b"y" * 3_000_000):
        path.write_bytes(other)
        with pytest.raises(ClusterError, match="differs"):
            owner.upload_warc(path)


def test_saving_is_refused_within_a_transaction(vault: Shaky, tmp_path: Path) -> None:
    owner = ShardReplicator.claim(vault, 0, "first")
    with (
        opened(tmp_path / "a") as database,
        database.transaction(),
        pytest.raises(ClusterError, match="between transactions"),
    ):
        owner.save(database)


def test_the_database_is_used_while_what_was_taken_is_sent(vault: Shaky, tmp_path: Path) -> None:
    owner = ShardReplicator.claim(vault, 0, "first")
    with opened(tmp_path / "a") as database:
        put(database, "a", 50_000)
        taken = owner.take_snapshot(database)
        told = dump(database)
        put(database, "b", 50_000)
        owner.send_snapshot(taken)
        rebuild_database(vault, 0, tmp_path / "b")
        assert saved(tmp_path / "b") == told
        first = owner.take_snapshot(database)
        put(database, "a", 10)
        second = owner.take_snapshot(database)
        for old in (first, taken):  # it would overwrite newer pages with older ones
            with pytest.raises(ClusterError, match="taken last"):
                owner.send_snapshot(old)
        assert owner.send_snapshot(second).pages >= len(first.numbers)
        told = dump(database)
    rebuild_database(vault, 0, tmp_path / "b")
    assert saved(tmp_path / "b") == told


def test_what_is_taken_while_something_is_sent_is_not_forgotten(
    vault: Shaky, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    owner = ShardReplicator.claim(vault, 0, "first")
    with opened(tmp_path / "a") as database:
        owner.save(database)
        put(database, "a", 50_000)
        real = vault.create

        def create(name: str, data: bytes) -> bool:
            put(database, "b", 50_000)
            meanwhile.append(owner.take_snapshot(database))
            return real(name, data)

        meanwhile: list[database_changes.DatabaseSnapshot] = []
        monkeypatch.setattr(vault, "create", create)
        owner.save(database)
        monkeypatch.setattr(vault, "create", real)
        vault.lose_before = 3
        with pytest.raises(StorageUnreachable):
            owner.send_snapshot(meanwhile[0])
        put(database, "c", 1)
        owner.save(database)
        told = dump(database)
    rebuild_database(vault, 0, tmp_path / "b")
    assert saved(tmp_path / "b") == told


def test_many_small_saves_are_gathered(
    vault: Shaky, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(replicator, "_MOST", 5)
    owner = ShardReplicator.claim(vault, 0, "first")
    with opened(tmp_path / "a") as database:
        wholes = []
        for number in range(14):
            put(database, "x", number)
            wholes.append(owner.save(database).whole)
    assert wholes.count(True) == 2
    assert wholes[0]
    assert len(vault.list_names("shard-0000/log/")) < 10


@pytest.mark.parametrize("lease_s", [0, -1, float("nan"), float("inf")])
def test_a_lease_is_a_time(vault: Shaky, lease_s: float) -> None:
    with pytest.raises(ConfigError, match="lease"):
        ShardReplicator.claim(vault, 0, "first", lease_s)


def test_a_page_count_beyond_reason_is_no_segment() -> None:
    with pytest.raises(ValueError, match="claims"):
        list(database_changes.unpack_pages(b"\x28\xb5\x2f\xfd\xe0" + b"\xff" * 8, 4096, 10))
