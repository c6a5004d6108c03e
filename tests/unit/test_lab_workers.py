"""Workers end with the program that started them, however it ended, and clear up."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest
import typer

from honeyguide.cli.lab import count_jobs
from honeyguide.lab.compare import run_in_processes

ROOT = Path(__file__).parents[2]
PROGRAM = """
import sys
from honeyguide.lab.compare import run_in_processes
from tests.unit.test_lab_workers import nap
list(run_in_processes(nap, [sys.argv[1]] * int(sys.argv[2]), 2))
"""


def nap(folder: str) -> None:
    """A crawl that would take a minute, in a folder that it clears away."""
    with tempfile.TemporaryDirectory(prefix="nap-", dir=folder):
        time.sleep(60)


def double(number: int) -> int:
    return 2 * number


def test_workers_end_with_their_parent(tmp_path: Path) -> None:
    parents: list[tuple[signal.Signals, Path, subprocess.Popen[bytes]]] = []
    try:
        for how in (signal.SIGKILL, signal.SIGTERM, signal.SIGINT):
            folder = tmp_path / how.name
            folder.mkdir()
            words = [sys.executable, "-c", PROGRAM, str(folder), "3"]
            environment = os.environ | {"PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'src'}"}
            parent = subprocess.Popen(words, stdout=subprocess.PIPE, env=environment)
            parents.append((how, folder, parent))
        deadline = time.monotonic() + 60
        for how, folder, parent in parents:
            while len(list(folder.iterdir())) < 2:
                assert time.monotonic() < deadline
                assert parent.poll() is None
                time.sleep(0.05)
            parent.send_signal(how)
        for _, folder, parent in parents:
            # The workers have this pipe as well: it ends when the last of them has ended.
            parent.communicate(timeout=30)
            assert list(folder.iterdir()) == []
    finally:
        for _, _, parent in parents:
            parent.kill()
            parent.wait()


def test_results_keep_the_order_of_the_jobs() -> None:
    assert list(run_in_processes(double, [1, 2, 3], 2)) == [2, 4, 6]
    assert list(run_in_processes(double, [4], 2)) == [8]
    assert list(run_in_processes(double, [], 2)) == []


def test_workers_take_no_modules_from_the_folder_they_start_in(tmp_path: Path) -> None:
    mark, here = tmp_path / "mark", tmp_path / "here"
    here.mkdir()
    (here / "multiprocessing.py").write_text(f"open({str(mark)!r}, 'w')")
    program = tmp_path / "program.py"  # as the console script: Python looks beside it, not here
    program.write_text(
        "from honeyguide.lab.compare import run_in_processes\n"
        "if __name__ == '__main__':\n    print(*run_in_processes(abs, [-1, 2, -3], 2))\n"
    )
    done = subprocess.run(
        [sys.executable, str(program)], cwd=here, capture_output=True, text=True, timeout=60
    )
    assert not mark.exists()
    assert done.stdout.split() == ["1", "2", "3"], done.stderr


def test_an_interrupted_study_says_what_is_kept(capsys: pytest.CaptureFixture[str]) -> None:
    def study() -> None:
        with count_jobs("crawls", Path("results")) as done:
            done(3, 24)
            raise KeyboardInterrupt

    with pytest.raises(typer.Exit) as ended:
        study()
    assert ended.value.exit_code == 130
    said = " ".join(capsys.readouterr().err.split())
    assert "interrupted; 3 of 24 crawls are kept in results" in said
