"""Runs shards: the interface that the coordinator uses, and its implementation with one process
for each shard.
"""

from __future__ import annotations

import asyncio
import contextlib
import signal
import socket
import struct
import sys
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Protocol

import msgspec

from honeyguide.cluster import messages
from honeyguide.errors import ClusterError


class ShardLost(Exception):
    """A shard is gone, and nobody brings it back."""

    def __init__(self, shard: int, why: str) -> None:
        super().__init__(f"shard {shard} {why}")
        self.shard = shard


MessageHandler = Callable[[messages.ToCoordinator | ShardLost], None]


class ShardRunner(Protocol):
    """Starts shards, and carries what they and the coordinator say; among themselves as well."""

    grace_s: float
    """Seconds that shards may take to stop."""
    silence_s: float
    """Seconds without a message after which a shard counts as lost."""

    async def start(self, plans: Sequence[messages.ShardPlan], hear: MessageHandler) -> None:
        """Start all shards; ``hear`` is called with their messages from now on."""

    def send(self, shard: int, message: messages.ToShard) -> None: ...

    def wait_until_sent(self) -> Awaitable[None]:
        """Wait until what was sent is on its way."""

    async def aclose(self) -> None:
        """All of them leave; those that do not are ended."""


# -- Frames on a socket --


_FRAME_HEAD = struct.Struct("<iI")
_MAX_FRAME = 1 << 30


def encode_frame(to: int, data: bytes) -> bytes:
    return _FRAME_HEAD.pack(to, len(data)) + data


def frame_message(to: int, message: messages.Message) -> bytes:
    return encode_frame(to, messages.encode_message(message))


class FrameProtocol(asyncio.Protocol, ABC):
    """One end of a socket. Whatever arrives is handed on, a frame at a time."""

    def __init__(self) -> None:
        self._held = bytearray()
        self._transport: asyncio.Transport | None = None
        self._room = asyncio.Event()
        self._room.set()
        self.closed = asyncio.get_running_loop().create_future()

    @abstractmethod
    def frame_received(self, to: int, data: bytes) -> None:
        """What came, and for whom."""

    def send(self, frame: bytes) -> None:
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(frame)

    async def wait_drained(self) -> None:
        """Until the other end has taken most of what was sent."""
        await self._room.wait()

    def close(self) -> None:
        if self._transport is not None:
            self._transport.close()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        transport.set_write_buffer_limits(high=8 << 20)

    def pause_writing(self) -> None:
        self._room.clear()

    def resume_writing(self) -> None:
        self._room.set()

    def data_received(self, data: bytes) -> None:
        held = self._held
        held += data
        start = 0
        while len(held) - start >= _FRAME_HEAD.size:
            to, size = _FRAME_HEAD.unpack_from(held, start)
            if size > _MAX_FRAME:
                raise ClusterError("a shard sent something that is not a message")
            stop = start + _FRAME_HEAD.size + size
            if stop > len(held):
                break
            self.frame_received(to, bytes(memoryview(held)[start + _FRAME_HEAD.size : stop]))
            start = stop
        if start:
            del held[:start]

    def connection_lost(self, exc: Exception | None) -> None:
        self._room.set()
        if not self.closed.done():
            self.closed.set_result(exc)


# -- Shards in processes of this machine --
#
# What shards say to each other passes through here unread. A shard whose process ends is lost, and
# the crawl with it; nothing that it finished is, so the same command goes on.


_DRAIN_S = 0.5
_GRACE_S = 15.0
"""How long a shard may take to leave."""


class _ShardPipe(FrameProtocol):
    def __init__(self, runner: ProcessRunner, shard: int) -> None:
        super().__init__()
        self._runner = runner
        self._shard = shard

    def frame_received(self, to: int, data: bytes) -> None:
        self._runner.route_message(self._shard, to, data)


class ProcessRunner:
    """Implements :class:`honeyguide.cluster.runner.ShardRunner`."""

    grace_s, silence_s = 30.0, 180.0

    def __init__(self) -> None:
        self._wires: list[_ShardPipe] = []
        self._processes: list[asyncio.subprocess.Process] = []
        self._watching: list[asyncio.Task[None]] = []
        self._hear: MessageHandler | None = None

    async def start(self, plans: Sequence[messages.ShardPlan], hear: MessageHandler) -> None:
        self._hear = hear
        loop = asyncio.get_running_loop()
        for plan in plans:
            ours, theirs = socket.socketpair()
            ours.setblocking(False)
            with theirs:
                process = await asyncio.create_subprocess_exec(
                    sys.executable, "-P", "-m", "honeyguide.cluster.shard", str(theirs.fileno()),
                    stdin=asyncio.subprocess.DEVNULL, pass_fds=(theirs.fileno(),),
                    start_new_session=True,
                )  # fmt: skip
            _, wire = await loop.create_connection(partial(_ShardPipe, self, plan.shard), sock=ours)
            self._processes.append(process)
            self._wires.append(wire)
            self._watching.append(asyncio.create_task(self._watch_process(plan.shard, process)))
        # Sent when all are there: what the first says may be for the last.
        for wire, plan in zip(self._wires, plans, strict=True):
            data = msgspec.msgpack.encode(plan)
            wire.send(encode_frame(plan.shard, data))

    def route_message(self, by: int, to: int, data: bytes) -> None:
        """What a shard said goes where it belongs."""
        if to == messages.COORDINATOR:
            message = messages.decode_message(data)
            if self._hear is not None and isinstance(message, messages.ToCoordinator):
                self._hear(message)
        elif 0 <= to < len(self._wires) and to != by:
            self._wires[to].send(encode_frame(to, data))

    def send(self, shard: int, message: messages.ToShard) -> None:
        self._wires[shard].send(frame_message(shard, message))

    async def wait_until_sent(self) -> None:
        """Not for long: one that does not listen must not keep us from hearing the others."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_DRAIN_S):
                for wire in self._wires:
                    await wire.wait_drained()

    async def aclose(self) -> None:
        for task in self._watching:
            task.cancel()
        await asyncio.gather(*self._watching, return_exceptions=True)
        for wire in self._wires:
            wire.send(frame_message(0, messages.ExitRequest()))
        await asyncio.gather(*map(_wait_or_kill, self._processes))
        for wire in self._wires:
            wire.close()

    async def _watch_process(self, shard: int, process: asyncio.subprocess.Process) -> None:
        code = await process.wait()
        await asyncio.sleep(_DRAIN_S)  # what it said last may still be on its way
        why = f"was ended by {signal.Signals(-code).name}" if code < 0 else "ended by itself"
        if self._hear is not None:
            self._hear(ShardLost(shard, why))


async def _wait_or_kill(process: asyncio.subprocess.Process) -> None:
    """It leaves by itself, or is ended."""
    try:
        async with asyncio.timeout(_GRACE_S):
            await process.wait()
    except TimeoutError:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()
