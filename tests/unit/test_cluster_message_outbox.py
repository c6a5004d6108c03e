"""Letters between shards arrive once and in order, whatever is lost or comes twice."""

from __future__ import annotations

import random
from collections import deque
from pathlib import Path

import pytest

from honeyguide.cluster.messages import (
    BACKLOG_LIMIT,
    DROP_TOGETHER,
    IN_FLIGHT_WINDOW,
    RESEND_S,
    LinkBatch,
    LinkBatchAck,
    LinkOutbox,
)
from honeyguide.store.store import Store


class _End:
    """One shard's post over a real store, and what it has been told."""

    def __init__(self, here: int, folder: Path, out: deque[LinkBatch | LinkBatchAck]) -> None:
        self._here, self._folder, self._out = here, folder, out
        self.told: list[bytes] = []
        self._fresh: list[bytes] = []
        self.open()

    def open(self) -> None:
        self.store = Store.open(self._folder, "crawl")
        self.post = LinkOutbox(self._here, 2, self.store.shard_messages, self._out.append)

    def crash(self) -> None:
        """What was not committed is gone."""
        self.store.close()
        self._fresh.clear()
        self.open()

    def write(self, data: bytes | None, now: float) -> None:
        with self.store.transaction():
            if data is not None:
                self.post.queue_batch(1 - self._here, data)
            self.post.flush()
        self.post.confirm_flush(now)
        self.told += self._fresh
        self._fresh.clear()

    def hear(self, message: LinkBatch | LinkBatchAck, now: float) -> None:
        if isinstance(message, LinkBatchAck):
            self.post.record_ack(message.by, message.number, now)
        elif self.post.is_next_batch(message.by, message.number):
            self._fresh.append(message.data)
            self.post.mark_received(message.by, message.number)


@pytest.mark.parametrize("seed", range(12))
def test_every_letter_is_heard_once_and_in_order(tmp_path: Path, seed: int) -> None:
    dice = random.Random(seed)
    wires: list[deque[LinkBatch | LinkBatchAck]] = [deque(), deque()]
    ends = [_End(n, tmp_path / str(n), wires[n]) for n in range(2)]
    sent: list[list[bytes]] = [[], []]
    now = 0.0
    for step in range(400):
        now += dice.random() * 2
        n = dice.randrange(2)
        what = dice.random()
        if what < 0.3:
            sent[n].append(b"%d" % step)
            ends[n].write(sent[n][-1], now)
        elif what < 0.35:
            ends[n].crash()
        elif what < 0.45:
            ends[n].post.send_pending(now)
        elif wires[n]:
            message = wires[n].popleft()
            if dice.random() < 0.1:
                continue  # lost
            if dice.random() < 0.1:
                wires[n].append(message)  # it will come again, and late
            ends[1 - n].hear(message, now)
            if dice.random() < 0.5:
                ends[1 - n].write(None, now)
    for _ in range(400):
        now += RESEND_S
        for n in range(2):
            ends[n].post.send_pending(now)
            while wires[n]:
                ends[1 - n].hear(wires[n].popleft(), now)
            ends[1 - n].write(None, now)
    assert [ends[1].told, ends[0].told] == sent
    assert all(end.post.is_settled for end in ends)
    assert len(list(ends[0].store.shard_messages.iter_messages())) < DROP_TOGETHER, (
        "what was heard is not kept for long"
    )
    for end in ends:
        end.store.close()


def test_a_window_is_under_way_and_the_rest_waits(tmp_path: Path) -> None:
    out: deque[LinkBatch | LinkBatchAck] = deque()
    end = _End(0, tmp_path, out)
    for number in range(BACKLOG_LIMIT + 2):
        assert end.post.is_full == (number > BACKLOG_LIMIT)
        end.write(b"x", 1.0)
    assert [letter.number for letter in out] == list(range(1, IN_FLIGHT_WINDOW + 1))
    end.hear(LinkBatchAck(1, 0, 3), 2.0)
    assert [letter.number for letter in out][IN_FLIGHT_WINDOW:] == [
        IN_FLIGHT_WINDOW + 1,
        IN_FLIGHT_WINDOW + 2,
        IN_FLIGHT_WINDOW + 3,
    ]
    assert not end.post.is_full
    end.store.close()
