"""Shards in processes of this machine, each with a socket to the coordinator's process.

What shards say to each other passes through here unread. A shard whose process ends is lost, and
the crawl with it; nothing that it finished is, so the same command goes on.
"""

from __future__ import annotations

import asyncio
import contextlib
import signal
import socket
import sys
from collections.abc import Sequence
from functools import partial

import msgspec

from honeyguide.cluster import messages
from honeyguide.cluster.frames import Frames, frame, framed
from honeyguide.cluster.messages import COORDINATOR, Leave, ToCoordinator, ToShard
from honeyguide.cluster.runner import Hear, Lost
from honeyguide.cluster.shard import Plan

_PAUSE_S = 0.5
_GRACE_S = 15.0
"""How long a shard may take to leave."""


class _Wire(Frames):
    def __init__(self, runner: Processes, shard: int) -> None:
        super().__init__()
        self._runner = runner
        self._shard = shard

    def arrived(self, to: int, data: bytes) -> None:
        self._runner.carry(self._shard, to, data)


class Processes:
    """Implements :class:`honeyguide.cluster.runner.Runner`."""

    grace_s, silence_s = 30.0, 180.0

    def __init__(self) -> None:
        self._wires: list[_Wire] = []
        self._processes: list[asyncio.subprocess.Process] = []
        self._watching: list[asyncio.Task[None]] = []
        self._hear: Hear | None = None

    async def start(self, plans: Sequence[Plan], hear: Hear) -> None:
        self._hear = hear
        loop = asyncio.get_running_loop()
        for plan in plans:
            ours, theirs = socket.socketpair()
            ours.setblocking(False)
            with theirs:
                process = await asyncio.create_subprocess_exec(
                    sys.executable, "-P", "-m", "honeyguide.cluster.worker", str(theirs.fileno()),
                    stdin=asyncio.subprocess.DEVNULL, pass_fds=(theirs.fileno(),),
                    start_new_session=True,
                )  # fmt: skip
            _, wire = await loop.create_connection(partial(_Wire, self, plan.shard), sock=ours)
            self._processes.append(process)
            self._wires.append(wire)
            self._watching.append(asyncio.create_task(self._watch(plan.shard, process)))
        # Sent when all are there: what the first says may be for the last.
        for wire, plan in zip(self._wires, plans, strict=True):
            data = msgspec.msgpack.encode(plan)
            wire.send(frame(plan.shard, data))

    def carry(self, by: int, to: int, data: bytes) -> None:
        """What a shard said goes where it belongs."""
        if to == COORDINATOR:
            message = messages.decode(data)
            if self._hear is not None and isinstance(message, ToCoordinator):
                self._hear(message)
        elif 0 <= to < len(self._wires) and to != by:
            self._wires[to].send(frame(to, data))

    def send(self, shard: int, message: ToShard) -> None:
        self._wires[shard].send(framed(shard, message))

    async def pause(self) -> None:
        """Not for long: one that does not listen must not keep us from hearing the others."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_PAUSE_S):
                for wire in self._wires:
                    await wire.drained()

    async def aclose(self) -> None:
        for task in self._watching:
            task.cancel()
        await asyncio.gather(*self._watching, return_exceptions=True)
        for wire in self._wires:
            wire.send(framed(0, Leave()))
        await asyncio.gather(*map(_ended, self._processes))
        for wire in self._wires:
            wire.close()

    async def _watch(self, shard: int, process: asyncio.subprocess.Process) -> None:
        code = await process.wait()
        await asyncio.sleep(_PAUSE_S)  # what it said last may still be on its way
        why = f"was ended by {signal.Signals(-code).name}" if code < 0 else "ended by itself"
        if self._hear is not None:
            self._hear(Lost(shard, why))


async def _ended(process: asyncio.subprocess.Process) -> None:
    """It leaves by itself, or is ended."""
    try:
        async with asyncio.timeout(_GRACE_S):
            await process.wait()
    except TimeoutError:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()
