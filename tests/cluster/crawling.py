"""A crawl on the machines: its web, its collection, its vault, and what may be asked of them."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from honeyguide.api.create import create
from honeyguide.cluster.remote_state import last_vault_entries
from honeyguide.cluster.replicator import open_object_store
from honeyguide.cluster.shard_log import entry_number, unpack_entry
from tests.cluster import web
from tests.cluster.machines import Machine, end
from tests.cluster.nodes import address, environment

COMMAND = [sys.executable, "-m", "honeyguide.cli.main"]
LEASE_S, SAVE_S = 6.0, 1.0


class Crawl:
    """``head`` is the machine that the web and the command live on."""

    def __init__(self, head: Machine, folder: Path, rest_s: float, *words: str) -> None:
        self.head, self.rest_s = head, rest_s
        self.folder, self.vault, self.log = folder / "bees", folder / "vault", folder / "log.jsonl"
        self.said = folder / "said.txt"
        self.vault.mkdir()
        self.server = _served(head, head.address, str(self.log), *words)
        self.relays = [_served(head, "--relay", head.address)]

    def reach(self, machine: Machine) -> None:
        """Let a crawler on that machine find the web."""
        self.relays.append(_served(machine, "--relay", self.head.address))

    def close(self) -> None:
        for process in (self.server, *self.relays):
            end(process)

    def make(self, seed: str, **tables: Any) -> None:
        cluster = {"lease_s": LEASE_S, "save_s": SAVE_S, "warc_s": 5.0}
        create(
            self.folder,
            seeds=[seed],
            contact="tester@example.org",
            keywords=["honey"],
            strategy="breadth",
            pages=0,
            fetch={"lab": f"http://127.0.0.1:{web.PORT}", "total_s": 5},
            politeness={"loopback_delay_s": self.rest_s, "response_factor": 0.0},
            **({"cluster": cluster} | tables),
        )

    def start(self, *words: str) -> subprocess.Popen[str]:
        with self.said.open("a") as said:
            return self.head.start(
                *COMMAND, "crawl", str(self.folder), "--cluster", address(self.head),
                "--vault", str(self.vault), "--json", *words,
                env=environment(self.head), stdout=said, stderr=said,
            )  # fmt: skip

    def status(self) -> dict[str, Any]:
        command = [*COMMAND, "cluster", "status", str(self.folder), "--json"]
        done = self.head.run(*command, env=environment(self.head), timeout=90)
        assert done.returncode == 0, done.stdout
        found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
        return found

    def moved(self, machine: str) -> bool:
        """Whether nobody there owns a shard any more, and all owners have saved."""
        [room] = self.vault.iterdir()
        found = last_vault_entries(
            open_object_store(str(room)), sum(1 for _ in room.glob("shard-*"))
        )
        return all(end and end.by != machine and end.kind == "segment" for end in found)

    def asked(self) -> list[web.Asked]:
        return web.read(self.log)

    def report(self) -> dict[str, Any]:
        """What the command said at its end."""
        lines = [line for line in self.said.read_text().splitlines() if line.startswith("{")]
        found: dict[str, Any] = json.loads(lines[-1])
        return found

    def heads(self) -> dict[int, list[Any]]:
        """All entries that lie in the vault, shard by shard, in order."""
        found: dict[int, list[Any]] = {}
        for path in sorted(self.vault.glob("*/shard-*/log/[0-9]*")):
            shard = int(path.parent.parent.name.removeprefix("shard-"))
            entry = unpack_entry(path.read_bytes(), path.name, shard, entry_number(path.name))
            found.setdefault(shard, []).append(entry.head)
        return found


def _served(machine: Machine, *words: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "tests.cluster.web", *words]
    process = machine.start(*command, env=environment(machine), stdout=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return process


def one_writer(heads: list[Any]) -> bool:
    """Whether each entry belongs to the claim before it: nobody wrote after its successor came."""
    epoch, nobody = 0, True
    for head in heads:
        if head.kind == "claim":
            if head.epoch <= epoch:
                return False
            epoch, nobody = head.epoch, False
        elif head.epoch != epoch or nobody:
            return False
        nobody = nobody or head.kind == "farewell"
    return True


def until(holds: Callable[[], bool], patience_s: float, why: str) -> float:
    """Seconds that it took."""
    began = time.monotonic()
    while not holds():
        assert time.monotonic() - began < patience_s, why
        time.sleep(0.2)
    return time.monotonic() - began
