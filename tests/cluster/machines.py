"""Machines for tests: namespaces of this one, on a network that leads nowhere else.

Every machine has its own network, processes, host name, ``/dev/shm`` and temporary folder;
files are shared, as on a network drive. A bridge, in a network namespace of its own, joins
them; there is no route out of it, and nothing in the root namespace has an address there.
A namespace lives as long as its first process, and that one reads from a pipe that we hold:
whatever ends these tests, ``kill -9`` included, ends the machines and what runs on them.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import IO

NETWORK = "198.51.100"  # addresses set apart for documentation: they are nobody's anywhere

# The first process: mounts, wakes the loopback interface, says so, and waits for our end.
# Bash, because the first process inherits every orphan and has to bury it.
FIRST = """
set -e
mount --make-rprivate /
mount -t tmpfs tmpfs /dev/shm
mount --bind "$1" "$2"
hostname "$3"
ip link set lo up
echo up
read -r _ || true
"""

# The switch's, which outlives whoever is killed: nobody else is left to sweep up.
LAST = """
ip link set lo up && echo up
read -r _ || { sleep 1; rm -rf -- "$1"; }
"""


class Machine:
    """One machine: on when made, off for good after ``kill`` until ``boot``."""

    def __init__(self, name: str, address: str, switch: Switch, folder: Path) -> None:
        self.name, self.address = name, address
        self.folder = folder / name  # what stands in ``temporary``, seen from outside
        self.temporary = folder / "t"  # the same short path on every machine, each its own
        self.folder.mkdir()
        self.temporary.mkdir(exist_ok=True)
        self._switch = switch
        self._shell: subprocess.Popen[str] | None = None
        self._first = self._port = 0

    def boot(self) -> None:
        """Switch the machine on and plug it in; its temporary folder is what it was."""
        self._shell = begin(FIRST, str(self.folder), str(self.temporary), self.name)
        self._first = child(self._shell.pid)
        self._port = self._switch.plug(self._first)
        inside = ["nsenter", f"--target={self._first}", "--net", "ip"]
        must(*inside, "address", "add", f"{self.address}/24", "dev", "eth0")
        must(*inside, "link", "set", "eth0", "up")

    def start(
        self,
        *command: str,
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
        stdout: IO[str] | int | None = None,
        stderr: IO[str] | int | None = None,
    ) -> subprocess.Popen[str]:
        """A process on this machine. ``end`` ends it: this one's id is its usher's."""
        if not self._first:
            raise RuntimeError(f"{self.name} is off")
        usher = ["nsenter", f"--target={self._first}", "--net", "--mount", "--pid", "--uts"]
        where = ["env", f"--chdir={cwd or Path.cwd()}", f"TMPDIR={self.temporary}"]
        return subprocess.Popen(
            [*usher, *where, *command],
            env={**os.environ, **(env or {})},
            stdin=subprocess.DEVNULL,
            stdout=stdout,
            stderr=stderr,
            text=True,
        )

    def run(
        self, *command: str, env: Mapping[str, str] | None = None, timeout: float = 60
    ) -> subprocess.CompletedProcess[str]:
        """Run a command to its end; what it said, both streams in one, is in ``stdout``."""
        process = self.start(*command, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        try:
            said, _ = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            end(process)
            raise
        return subprocess.CompletedProcess(command, process.returncode, said)

    def pids(self) -> list[int]:
        """The ids, as we know them, of all that runs here but the first process."""
        if not self._first:
            return []
        here = namespace(self._first)
        everyone = (int(name) for name in os.listdir("/proc") if name.isdigit())
        return [pid for pid in everyone if pid != self._first and namespace(pid) == here]

    def cut(self) -> None:
        """Pull the network cable. What runs here runs on."""
        self._switch.set(self._port, "down")

    def reconnect(self) -> None:
        self._switch.set(self._port, "up")

    def kill(self) -> None:
        """Pull the mains plug: the kernel kills -9 everything here along with the first process."""
        if self._shell is not None:
            end(self._shell)
            self._shell, self._first = None, 0


class Switch:
    """What joins the machines: a bridge in a network namespace of its own."""

    def __init__(self, folder: Path) -> None:
        self._shell = begin(LAST, str(folder))
        self._first = child(self._shell.pid)
        self._ports = 0
        self._ip("link", "add", "switch", "type", "bridge")
        self._ip("link", "set", "switch", "up")

    def plug(self, first: int) -> int:
        """A new cable to the namespace of process ``first``, where it is called eth0."""
        self._ports += 1
        port = f"port{self._ports}"
        peer = ["peer", "name", "eth0", "netns", str(first)]
        self._ip("link", "add", port, "type", "veth", *peer)
        self._ip("link", "set", port, "master", "switch", "up")
        return self._ports

    def set(self, port: int, state: str) -> None:
        self._ip("link", "set", f"port{port}", state)

    def close(self) -> None:
        end(self._shell)

    def _ip(self, *words: str) -> None:
        must("nsenter", f"--target={self._first}", "--net", "ip", *words)


class Machines:
    """Some machines on one switch: ``with Machines("a", "b", "c") as (a, b, c)``."""

    def __init__(self, *names: str) -> None:
        # A short path, because a Unix socket's name may have some hundred bytes only.
        self.folder = Path(tempfile.mkdtemp(prefix="hg-", dir="/tmp"))
        try:
            self.switch = Switch(self.folder)
        except BaseException:
            shutil.rmtree(self.folder)
            raise
        self.all = [
            Machine(name, f"{NETWORK}.{number}", self.switch, self.folder)
            for number, name in enumerate(names, 1)
        ]

    def __enter__(self) -> list[Machine]:
        try:
            for machine in self.all:
                machine.boot()
        except BaseException:
            self.close()
            raise
        return self.all

    def __exit__(
        self, kind: type[BaseException] | None, why: BaseException | None, at: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        for machine in self.all:
            machine.kill()
        self.switch.close()
        shutil.rmtree(self.folder, ignore_errors=True)


def missing() -> str:
    """Why there can be no machines here, or nothing."""
    if sys.platform != "linux" or os.geteuid() != 0:
        return "needs root on Linux, for network namespaces"
    if lacking := [tool for tool in ("ip", "unshare", "nsenter") if not shutil.which(tool)]:
        return f"needs {' and '.join(lacking)} (iproute2, util-linux)"
    try:
        Machines().close()
    except (OSError, RuntimeError, subprocess.CalledProcessError) as error:
        return f"no network namespace can be made here: {error}"
    return ""


def begin(script: str, *words: str) -> subprocess.Popen[str]:
    """The first process of new namespaces; they end with it, and it with us."""
    shell = subprocess.Popen(
        ["unshare", "--net", "--pid", "--mount", "--uts", "--fork", "--kill-child",
         "--mount-proc", "bash", "-c", script, "first", *words],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert shell.stdout is not None
    assert shell.stderr is not None
    if shell.stdout.readline() != "up\n":
        why = shell.stderr.read().strip()
        end(shell)
        raise RuntimeError(why or "unshare failed")
    return shell


def end(process: subprocess.Popen[str]) -> None:
    """Kill -9 what an usher (nsenter, unshare) brought in; the usher leaves after it.

    The first process of a machine is gone only when everything else there is.
    """
    with contextlib.suppress(ProcessLookupError, FileNotFoundError):
        os.kill(child(process.pid, 0.5), signal.SIGKILL)
    try:
        process.wait(10)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    for stream in (process.stdin, process.stdout, process.stderr):
        if stream is not None:
            stream.close()


def child(usher: int, patience_s: float = 5.0) -> int:
    """The process that an usher forked: namespaces of processes begin with a child."""
    deadline = time.monotonic() + patience_s
    while True:
        if found := Path(f"/proc/{usher}/task/{usher}/children").read_text().split():
            return int(found[0])
        if time.monotonic() > deadline:
            raise ProcessLookupError(usher)
        time.sleep(0.01)


def namespace(pid: int) -> int:
    """Whose process this is: its namespace of processes, 0 where it is gone."""
    try:
        return os.stat(f"/proc/{pid}/ns/pid").st_ino
    except OSError:
        return 0


def must(*command: str) -> None:
    subprocess.run(command, check=True, capture_output=True, text=True)
