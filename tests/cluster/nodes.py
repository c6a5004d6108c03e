"""Ray on the machines: a head and nodes that keep to their network and hear of a death soon."""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path

from tests.cluster.machines import Machine

PORT = 6379
STORE_MB = 80  # of memory for Ray's objects; it takes no less than 75
HEALTH = {  # a node that does not answer for some seconds is dead; by default, for some 65
    "health_check_initial_delay_ms": 1000,
    "health_check_period_ms": 500,
    "health_check_timeout_ms": 1000,
    "health_check_failure_threshold": 4,
}


def address(head: Machine) -> str:
    return f"{head.address}:{PORT}"


def environment(machine: Machine) -> dict[str, str]:
    """What every process of Ray is told: where it lives, and not to call out.

    The machines' network leads nowhere. Yet Ray would try: even with its statistics off, a head
    reports that they are off, and asks the metadata services of three clouds which one it is
    in, unless a launcher's file says so.
    """
    (machine.folder / "ray_bootstrap_config.yaml").write_text("provider: {type: local}\n")
    return {
        "HOME": str(machine.temporary),
        "RAY_USAGE_STATS_ENABLED": "0",
        "RAY_USAGE_STATS_REPORT_URL": "http://127.0.0.1:9/",  # nobody listens there
        "RAY_TMPDIR": str(machine.temporary),
        "RAY_DEDUP_LOGS": "0",
        "PYTHONPATH": str(Path.cwd()),
    }


def start_head(machine: Machine, *, cpus: int = 0) -> None:
    """Ray's head: with no processors it only keeps the books, and no actor is put there."""
    health = f"--system-config={json.dumps(HEALTH)}"
    _start(machine, cpus, "--head", f"--port={PORT}", "--include-dashboard=false", health)


def start_node(machine: Machine, head: Machine, *, cpus: int = 2) -> None:
    _start(machine, cpus, f"--address={address(head)}")


def _start(machine: Machine, cpus: int, *words: str, tries: int = 3) -> None:
    """``ray start``, again when it fails: on a busy machine it gives up waiting for itself."""
    command = [
        str(Path(sys.executable).with_name("ray")), "start", *words,
        f"--node-ip-address={machine.address}",
        f"--num-cpus={cpus}",
        f"--resources={json.dumps({machine.name: 100})}",
        f"--object-store-memory={STORE_MB << 20}",
        f"--temp-dir={machine.temporary}",
        "--include-log-monitor=false",
        "--disable-usage-stats",
    ]  # fmt: skip
    for left in reversed(range(tries)):
        done = machine.run(*command, env=environment(machine), timeout=90)
        if done.returncode == 0:
            return
        if not left:
            raise RuntimeError(f"Ray does not start on {machine.name}: {done.stdout}")
        for pid in machine.pids():  # what a failed start leaves would stand in the way
            os.kill(pid, 9)
        time.sleep(1)
