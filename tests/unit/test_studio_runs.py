"""Processes that the studio starts, with a small program in the crawler's place."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from honeyguide.errors import ConfigError, StoreError
from honeyguide.store.collection_files import CollectionLock
from honeyguide.studio.runs import RunState, StudioRuns, _report_summary

PROGRAM = """
import json, pathlib, signal, sys, time
folder = pathlib.Path(sys.argv[2])
behave = (folder / "behave").read_text()
print("argv", *sys.argv[3:], flush=True)
if behave == "fail":
    print("honeyguide: the disk is full \\x1b[31m", file=sys.stderr)
    sys.exit(8)
if behave == "chatty":
    for number in range(5000):
        print("line", number, "x" * 2000)
    sys.exit(3)
asked = []
def stop(*_):
    asked.append(1)
signal.signal(signal.SIGINT, stop)
(folder / "ready").touch()
while behave == "deaf" or not asked:
    time.sleep(0.01)
print(json.dumps({"visits": 7, "relevant": 3, "reason": "you asked for it"}))
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "birds").mkdir()
    return tmp_path / "birds"


@pytest.fixture
def runs(tmp_path: Path) -> Iterator[StudioRuns]:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    found = StudioRuns(tmp_path, (sys.executable, str(program)))
    yield found
    found.close(patience_s=0.0)


def started(runs: StudioRuns, folder: Path, behave: str = "", *arguments: str) -> RunState:
    (folder / "behave").write_text(behave)
    (folder / "ready").unlink(missing_ok=True)
    state = runs.start(folder, "crawl", arguments)
    if behave in ("", "deaf"):
        until(lambda: (folder / "ready").exists())
    return state


def until(true: Callable[[], bool], seconds: float = 20.0) -> None:
    """A process takes its time; nothing else here waits."""
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end
        time.sleep(0.01)


def ended(runs: StudioRuns, folder: Path) -> RunState:
    until(lambda: runs.run_state(folder).pid is None)
    return runs.run_state(folder)


def test_pause_is_a_clean_stop_and_resume_goes_on(runs: StudioRuns, folder: Path) -> None:
    assert runs.run_state(folder) == RunState("idle")
    state = started(runs, folder, "", "--pages=5")
    assert (state.state, state.kind, state.arguments) == ("running", "crawl", ("--pages=5",))
    assert runs.stop(folder, pause=True).state == "stopping"
    paused = ended(runs, folder)
    assert paused.state == "paused"
    assert paused.summary == "7 visits, 3 relevant"
    assert "argv --json --pages=5" in paused.said
    (folder / "ready").unlink()
    again = runs.resume(folder)
    assert (again.state, again.arguments) == ("running", ("--pages=5",))
    until(lambda: (folder / "ready").exists())
    runs.stop(folder)
    assert ended(runs, folder).state == "finished"


def test_a_second_pause_does_not_break_off_the_first(runs: StudioRuns, folder: Path) -> None:
    started(runs, folder)
    runs.stop(folder, pause=True)
    if runs.run_state(folder).state == "stopping":
        runs.stop(folder)
    assert ended(runs, folder).summary


def test_a_failure_is_told_in_the_process_own_words(runs: StudioRuns, folder: Path) -> None:
    started(runs, folder, "fail")
    failed = ended(runs, folder)
    assert failed.state == "failed"
    assert "the disk is full" in failed.said
    assert "\x1b" not in failed.said


def test_what_a_process_says_is_bounded(runs: StudioRuns, folder: Path) -> None:
    started(runs, folder, "chatty")
    said = ended(runs, folder).said
    assert "line 4999" in said
    assert len(said) < 50_000


def test_one_process_for_a_collection(runs: StudioRuns, folder: Path) -> None:
    started(runs, folder)
    with pytest.raises(StoreError, match="already"):
        runs.start(folder, "watch")
    assert runs.count_running() == 1


def test_one_that_does_not_listen_can_be_killed(runs: StudioRuns, folder: Path) -> None:
    started(runs, folder, "deaf")
    runs.stop(folder)
    assert runs.run_state(folder).state == "stopping"
    runs.stop(folder, force=True)
    assert ended(runs, folder).state == "finished"


def test_a_stranger_is_seen_and_left_alone(runs: StudioRuns, folder: Path) -> None:
    lock = CollectionLock(folder / "lock")
    try:
        assert runs.run_state(folder) == RunState("elsewhere", pid=os.getpid())
        with pytest.raises(StoreError, match=str(os.getpid())):
            runs.start(folder, "crawl")
        with pytest.raises(StoreError, match=str(os.getpid())):
            runs.stop(folder, force=True)
    finally:
        lock.close()
    with pytest.raises(StoreError, match="not running"):
        runs.stop(folder)


def test_only_so_many_at_once(runs: StudioRuns, tmp_path: Path) -> None:
    for number in range(8):
        folder = tmp_path / str(number)
        folder.mkdir()
        (folder / "behave").write_text("deaf")
        runs.start(folder, "crawl")
    (tmp_path / "more").mkdir()
    with pytest.raises(StoreError, match="pause one"):
        runs.start(tmp_path / "more", "crawl")


def test_the_end_of_the_studio_is_the_end_of_its_processes(runs: StudioRuns, folder: Path) -> None:
    pid = started(runs, folder).pid
    assert pid is not None
    runs.close()
    assert runs.count_running() == 0
    assert runs.run_state(folder).summary
    with pytest.raises(StoreError, match="ending"):
        runs.start(folder, "crawl")


def test_a_program_that_is_not_there_is_told(tmp_path: Path, folder: Path) -> None:
    with pytest.raises(ConfigError, match="could not be started"):
        StudioRuns(tmp_path, (str(tmp_path / "nothing"),)).start(folder, "crawl")


def test_control_c_on_the_terminal_reaches_the_studio_only(runs: StudioRuns, folder: Path) -> None:
    """A process in the studio's group would hear it twice, and break off."""
    pid = started(runs, folder).pid
    assert pid is not None
    assert os.getpgid(pid) != os.getpgid(0)


def test_the_real_program_ends_on_one_interrupt(tmp_path: Path) -> None:
    """What pausing sends is what ``honeyguide`` takes for Ctrl-C, also while it starts."""
    done = subprocess.Popen(
        [sys.executable, "-m", "honeyguide", "watch", str(tmp_path)], stderr=subprocess.DEVNULL
    )
    done.send_signal(signal.SIGINT)
    assert done.wait(20) != 0


def test_one_of_a_thing_is_no_more() -> None:
    assert _report_summary('{"visits": 1, "changes": 1}') == "1 visit, 1 change"
    assert (
        _report_summary('{"visits": 1, "relevant": 0, "reason": "so"}') == "1 visit, 0 relevant: so"
    )
    assert _report_summary('{"visits": 2, "changes": 0}') == "2 visits, 0 changes"
