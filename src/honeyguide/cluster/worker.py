"""A process that runs one shard: ``python -m honeyguide.cluster.worker FD``.

It talks through the socket that it was started with, and ends when that closes.
"""

from __future__ import annotations

import asyncio
import logging
import signal
import socket
import sys

import msgspec

from honeyguide.cluster import messages
from honeyguide.cluster.messages import Message, ShardPlan
from honeyguide.cluster.runner import FrameProtocol, frame_message
from honeyguide.cluster.shard import Shard
from honeyguide.crawl.signals import relaxed_gc

_PLAN_DECODER = msgspec.msgpack.Decoder(ShardPlan)


class _CoordinatorPipe(FrameProtocol):
    """The first frame is the plan, all others are messages."""

    def __init__(self) -> None:
        super().__init__()
        self.plan: asyncio.Future[ShardPlan] = asyncio.get_running_loop().create_future()
        self.shard: Shard | None = None

    def frame_received(self, to: int, data: bytes) -> None:  # noqa: ARG002 - all of it is for us
        if self.shard is None:
            self.plan.set_result(_PLAN_DECODER.decode(data))
            self.shard = Shard(self.plan.result(), self._send_message)
        else:
            self.shard.receive(messages.decode_message(data))

    def _send_message(self, message: Message) -> None:
        self.send(frame_message(messages.message_recipient(message), message))


async def _run_shard(fd: int) -> None:
    loop = asyncio.get_running_loop()
    _, wire = await loop.create_connection(_CoordinatorPipe, sock=socket.socket(fileno=fd))
    gone = asyncio.ensure_future(wire.closed)
    await asyncio.wait((gone, wire.plan), return_when=asyncio.FIRST_COMPLETED)
    if wire.shard is None:
        return
    shard = wire.shard
    gone.add_done_callback(lambda _: shard.leave())
    with relaxed_gc():
        await shard.run()
    wire.close()
    await gone


if __name__ == "__main__":
    # Ctrl-C is for the coordinator, which asks us to stop.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    logging.basicConfig(level=logging.WARNING, stream=sys.stderr)
    asyncio.run(_run_shard(int(sys.argv[1])))
