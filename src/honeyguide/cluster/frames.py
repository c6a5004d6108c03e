"""Messages on a pipe: for whom, how long, and what; those for others are passed on unread."""

from __future__ import annotations

import asyncio
import struct
from abc import ABC, abstractmethod

from honeyguide.cluster import messages
from honeyguide.cluster.messages import Message
from honeyguide.errors import ClusterError

_HEAD = struct.Struct("<iI")
_MOST = 1 << 30


def frame(to: int, data: bytes) -> bytes:
    return _HEAD.pack(to, len(data)) + data


def framed(to: int, message: Message) -> bytes:
    return frame(to, messages.encode(message))


class Frames(asyncio.Protocol, ABC):
    """One end of a socket. Whatever arrives is handed on, a frame at a time."""

    def __init__(self) -> None:
        self._held = bytearray()
        self._transport: asyncio.Transport | None = None
        self._room = asyncio.Event()
        self._room.set()
        self.closed = asyncio.get_running_loop().create_future()

    @abstractmethod
    def arrived(self, to: int, data: bytes) -> None:
        """What came, and for whom."""

    def send(self, frame: bytes) -> None:
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(frame)

    async def drained(self) -> None:
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
        while len(held) - start >= _HEAD.size:
            to, size = _HEAD.unpack_from(held, start)
            if size > _MOST:
                raise ClusterError("what came from a shard is no message")
            stop = start + _HEAD.size + size
            if stop > len(held):
                break
            self.arrived(to, bytes(memoryview(held)[start + _HEAD.size : stop]))
            start = stop
        if start:
            del held[:start]

    def connection_lost(self, exc: Exception | None) -> None:
        self._room.set()
        if not self.closed.done():
            self.closed.set_result(exc)
