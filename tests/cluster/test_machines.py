"""The ground that the cluster is tested on: machines die, are cut off, and come back."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from tests.cluster.machines import Machine, Machines, end, missing
from tests.cluster.nodes import address, environment, start_head, start_node


@pytest.fixture(scope="module", autouse=True)
def _possible() -> None:
    if why := missing():
        pytest.skip(why)


def test_a_machine_reaches_its_neighbours_and_nobody_else() -> None:
    with Machines("a", "b") as (a, b):
        server = b.start(sys.executable, "-c", SERVER.format(b.address), stdout=subprocess.PIPE)
        assert server.stdout is not None
        assert server.stdout.readline() == "ready\n"
        reach = [sys.executable, "-c", REACH, b.address]
        assert a.run(*reach).stdout == "reached\n"
        b.cut()
        assert a.run(*reach).stdout == "unreached\n"
        b.reconnect()
        assert a.run(*reach).stdout == "reached\n"
        assert a.run("ip", "route", "show", "default").stdout == ""
        nobody = a.run(sys.executable, "-c", REACH, "203.0.113.1")  # for documentation, too
        assert nobody.stdout == "no way\n"
        end(server)


def test_a_killed_machine_leaves_nothing_running() -> None:
    with Machines("a") as (a,):
        family = a.start("bash", "-c", "sleep 600 & setsid sleep 600 & echo ready; wait",
                         stdout=subprocess.PIPE)  # fmt: skip
        assert family.stdout is not None
        assert family.stdout.readline() == "ready\n"
        running = a.pids()
        assert len(running) >= 3
        a.kill()
        assert family.wait(5) == -9
        family.stdout.close()
        assert not [pid for pid in running if Path(f"/proc/{pid}/stat").exists()]
        assert a.pids() == []
        with pytest.raises(RuntimeError, match="off"):
            a.start("true")
        a.boot()
        assert a.run("hostname").stdout == "a\n"


def test_machines_go_away_with_whoever_made_them() -> None:
    code = (
        "import sys, time; from tests.cluster.machines import Machines\n"
        "with Machines('a') as (a,):\n"
        "    a.start('sleep', '600'); time.sleep(0.3)\n"
        "    print(a.folder.parent, *a.pids(), flush=True)\n"
        "    time.sleep(600)\n"
    )
    maker = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert maker.stdout is not None
    folder, *pids = maker.stdout.readline().split()
    assert pids
    maker.kill()
    maker.wait()
    maker.stdout.close()
    assert until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in pids), 10)
    assert until(lambda: not Path(folder).exists(), 10)


@pytest.mark.slow
@pytest.mark.skipif(not find_spec("ray"), reason="needs Ray: honeyguide[cluster]")
def test_counters_come_back_on_other_machines() -> None:
    with Machines("a", "b", "c") as (a, b, c):
        start_head(a, cpus=2)
        start_node(b, a)
        start_node(c, a)
        assert [line[0] for line in told(a, "place", "a", "b", "c")] == ["a", "b", "c"]
        [(_, _, second)] = told(a, "ask", "b")
        assert second == 2  # a new driver found the counter that the first one left

        c.kill()
        [(where, _, count)] = told(a, "ask", "c", "--away", "c")
        assert where in {"a", "b"}
        assert count == 1  # a new life: Ray keeps the name, and not what the actor knew

        before = {
            pid for pid in b.pids() if b"Counter" in Path(f"/proc/{pid}/cmdline").read_bytes()
        }
        b.cut()
        assert told(a, "ask", "b", "c", "--away", "b")[0][0] == "a"
        assert before <= set(b.pids())  # what was cut off runs on: Ray does not fence
        b.reconnect()
        assert until(lambda: not b.pids(), 60)  # told that it is dead, the node ends itself
        start_node(b, a)
        assert told(a, "nodes") == [[a.address, b.address]]


SERVER = """
import socket
with socket.create_server(("{}", 99)) as server:
    print("ready", flush=True)
    while True:
        server.accept()[0].close()
"""
REACH = """
import socket, sys
try:
    socket.create_connection((sys.argv[1], 99), timeout=2).close()
    print("reached")
except OSError as error:
    print("no way" if error.errno == 101 else "unreached")
"""


def told(machine: Machine, *words: str) -> list[Any]:
    """What a driver on this machine says to a question, a value a line."""
    command = [sys.executable, "-m", "tests.cluster.counter", address(machine), *words]
    done = machine.run(*command, env=environment(machine), timeout=90)
    assert done.returncode == 0, done.stdout
    lines = done.stdout.splitlines()
    return [json.loads(line) for line in lines if line.startswith("[") and line.endswith("]")]


def until(holds: Any, patience_s: float) -> bool:
    deadline = time.monotonic() + patience_s
    while not holds():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.1)
    return True
