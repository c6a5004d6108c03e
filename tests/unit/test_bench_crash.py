"""The simulated disk of bench/crash forgets what was not synced, and nothing else."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest
from bench.crash import report
from bench.crash.disk import LOSSES, SECTOR, Disk, Loss
from bench.crash.trace import Event, events

ROOT = Path(__file__).parents[2]


def write(path: str, offset: int, data: bytes) -> Event:
    return Event(0.0, "write", path, offset, data)


def sync(path: str) -> Event:
    return Event(0.0, "sync", path)


def played(*events: Event) -> Disk:
    disk = Disk()
    for event in events:
        disk.play(event)
    return disk


def left(disk: Disk, target: Path, loss: Loss, seed: int = 1) -> dict[str, bytes]:
    disk.fail(target, loss, random.Random(seed))
    return {
        str(path.relative_to(target)): path.read_bytes()
        for path in target.rglob("*")
        if path.is_file()
    }


@pytest.mark.parametrize("loss", LOSSES)
def test_what_was_synced_is_kept(tmp_path: Path, loss: Loss) -> None:
    disk = played(
        Event(0.0, "create", "a"), write("a", 0, b"safe"), sync("a"), sync("")
    )  # fmt: skip
    assert left(disk, tmp_path, loss) == {"a": b"safe"}


def test_unsynced_writes_are_dropped(tmp_path: Path) -> None:
    disk = played(
        Event(0.0, "create", "a"), write("a", 0, b"safe"), sync("a"), sync(""),
        write("a", 4, b"gone"), Event(0.0, "truncate", "a", 2),
    )  # fmt: skip
    assert left(disk, tmp_path, "all") == {"a": b"safe"}


def test_a_name_needs_its_folder_synced(tmp_path: Path) -> None:
    disk = played(
        Event(0.0, "mkdir", "d"), Event(0.0, "create", "d/a"), write("d/a", 0, b"x"), sync("d/a")
    )
    assert left(disk, tmp_path / "1", "all") == {}
    disk.play(sync("d"))
    assert left(disk, tmp_path / "2", "all") == {}, "the folder's own name is not safe"
    disk.play(sync(""))
    assert left(disk, tmp_path / "3", "all") == {"d/a": b"x"}


def test_a_removed_file_comes_back_until_its_folder_is_synced(tmp_path: Path) -> None:
    disk = played(Event(0.0, "create", "a"), sync(""), Event(0.0, "unlink", "a"))
    assert left(disk, tmp_path / "1", "all") == {"a": b""}
    disk.play(sync(""))
    assert left(disk, tmp_path / "2", "all") == {}


def test_lengths_without_data_are_zeros(tmp_path: Path) -> None:
    disk = played(Event(0.0, "create", "a"), sync(""), write("a", 2, b"abc"))
    assert left(disk, tmp_path, "data") == {"a": bytes(5)}


def test_later_writes_are_lost_first_and_the_last_is_torn(tmp_path: Path) -> None:
    blocks = [bytes([n]) * (2 * SECTOR) for n in (1, 2, 3)]
    disk = played(
        Event(0.0, "create", "a"), sync(""),
        *(write("a", n * 2 * SECTOR, block) for n, block in enumerate(blocks)),
    )  # fmt: skip
    found = {left(disk, tmp_path / str(seed), "later", seed)["a"] for seed in range(60)}
    whole = b"".join(blocks)
    assert found == {whole[: n * SECTOR] for n in range(6)}


def test_some_writes_survive_without_those_before_them(tmp_path: Path) -> None:
    disk = played(
        Event(0.0, "create", "a"), sync(""), write("a", 0, b"1"), write("a", 1, b"2")
    )  # fmt: skip
    found = {left(disk, tmp_path / str(seed), "some", seed)["a"] for seed in range(60)}
    assert found == {b"", b"1", b"12", b"\0002"}


def test_a_recording_is_understood(tmp_path: Path) -> None:
    def hexed(text: object) -> str:
        return "".join(f"\\x{byte:02x}" for byte in str(text).encode())

    lines = [
        f'7 1.5 openat(AT_FDCWD<{hexed("/")}>, "{hexed(tmp_path / "a")}", O_RDWR|O_CREAT, 0644) '
        f"= 3<{hexed(tmp_path / 'a')}>",
        f'7 2.5 pwrite64(3<{hexed(tmp_path / "a")}>, "\\x01\\x02", 2, 40) = 2',
        f'7 2.6 pwrite64(4<{hexed("/elsewhere/a")}>, "\\x01\\x02", 2, 40) = 2',
        f"7 3.5 ftruncate(3<{hexed(tmp_path / 'a')}>, 9) = 0",
        f"7 4.5 fdatasync(3<{hexed(tmp_path / 'a')}>) = 0",
        f"7 5.5 fsync(4<{hexed(tmp_path)}>) = 0",
        f'7 6.5 unlink("{hexed(tmp_path / "a")}") = 0',
        f'7 7.5 unlink("{hexed(tmp_path / "b")}") = -1 ENOENT (No such file or directory)',
    ]
    recording = tmp_path / "recording"
    recording.write_text("\n".join(lines) + "\n")
    assert list(events(recording, tmp_path)) == [
        Event(1.5, "create", "a"),
        Event(2.5, "write", "a", 40, b"\x01\x02"),
        Event(3.5, "truncate", "a", 9),
        Event(4.5, "sync", "a"),
        Event(5.5, "sync", ""),
        Event(6.5, "unlink", "a"),
    ]
    recording.write_text(f'7 1.5 rename("{hexed(tmp_path / "a")}", "{hexed("b")}") = 0\n')
    with pytest.raises(SystemExit, match="does not know"):
        list(events(recording, tmp_path))


def test_the_page_tells_the_results() -> None:
    kept = ROOT / "bench" / "results" / "crash.json"
    if not kept.exists():
        pytest.skip("not measured here")
    page = (ROOT / "docs" / "reference" / "crash.md").read_text("utf-8")
    results = json.loads(kept.read_text("utf-8"))
    assert page == report.page(page, results)
    assert report.broken(results) == []
