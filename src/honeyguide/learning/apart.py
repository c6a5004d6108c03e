"""A school in a process of its own, so that the ring never waits for a lesson.

Run as ``python -m honeyguide.learning.apart``: a program of its own rather than a fork of ours,
which would run the user's script a second time or inherit our sockets. What goes through the two
pipes was made by us at either end, so pickle is safe there. Strategies go as they are saved, so
that the other process has what they learned and not what they happen to remember.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import pickle
import signal
import struct
import sys
import threading
import time
from collections import deque
from dataclasses import replace
from importlib import import_module
from typing import Any, BinaryIO

from honeyguide.errors import ModelError
from honeyguide.learning.pool import BACKGROUND, LINKS, VISITS, small
from honeyguide.learning.school import Lesson, School
from honeyguide.protocols import Strategy
from honeyguide.store.generations import pack, unpack
from honeyguide.types import Example, Url

_SIZE = struct.Struct("<Q")
_MOST = 1 << 32
_LONGEST_S = 600.0
"""A lesson that takes longer is given up, and its process with it."""
_NICE = 5
"""The ring goes first where there is one processor for both."""


class Apart:
    """Sends examples to the other process as they come, and waits for lessons without blocking."""

    def __init__(self, visits: bool = False) -> None:
        self._visits = visits
        self._labels: list[Example] = []
        self._judged: deque[Example] = deque(maxlen=VISITS)
        self._seen: deque[Example] = deque(maxlen=VISITS if visits else BACKGROUND)
        """What waits for the next lesson; it may be long in coming."""
        self._sent: list[Example] = []
        """Labels only: what a new process must hear again if the old one died."""
        self._known: set[Url] = set()
        self._process: asyncio.subprocess.Process | None = None

    def offer(self, example: Example) -> None:
        example = small(example, LINKS if self._visits else 0)
        if example.by in ("seed", "user"):
            self._labels.append(example)
        else:
            (self._seen if example.by == "visit" else self._judged).append(example)

    def remember(self, known: set[Url]) -> None:
        self._known |= known

    async def lesson(self, strategy: Strategy) -> Lesson:
        """Raises ModelError if learning failed; the next lesson gets a new process then."""
        try:
            reader, writer = await self._pipes()
            examples = [*self._seen, *self._judged, *self._labels]
            kind = type(strategy)
            writer.write(
                _packed(
                    (
                        self._known,
                        examples,
                        kind.__module__,
                        kind.__qualname__,
                        pack("it", strategy),
                    )
                )
            )
            self._sent += self._labels
            self._labels = []
            self._judged.clear()
            self._seen.clear()
            await writer.drain()
            async with asyncio.timeout(_LONGEST_S):
                (size,) = _SIZE.unpack(await reader.readexactly(_SIZE.size))
                answer = pickle.loads(await reader.readexactly(size))  # noqa: S301 - our own
        except TimeoutError as error:
            await self.aclose()
            raise ModelError(f"a lesson took longer than {_LONGEST_S:g} s") from error
        except (OSError, EOFError, pickle.PicklingError, AttributeError, TypeError) as error:
            await self.aclose()
            raise ModelError(f"the process that learns broke down: {error!r}") from error
        except asyncio.CancelledError:
            await self.aclose()
            raise
        if isinstance(answer, str):
            raise ModelError(answer)
        lesson, packed = answer
        assert isinstance(lesson, Lesson)
        learned = _unpacked(packed, kind) if packed else None
        return replace(lesson, strategy=learned)

    async def aclose(self) -> None:
        process, self._process = self._process, None
        self._labels = self._sent + self._labels
        self._sent = []
        if process is not None and process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()

    async def _pipes(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        if self._process is None:
            self._process = await asyncio.create_subprocess_exec(
                sys.executable, "-P", "-m", __name__, str(int(self._visits)),
                stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, limit=1 << 20,
                start_new_session=True,
            )  # fmt: skip
        process = self._process
        assert process.stdout is not None
        assert process.stdin is not None
        return process.stdout, process.stdin


class Here:
    """A school in this process, for the lab: in simulated time a lesson takes none."""

    def __init__(self, visits: bool = False) -> None:
        self._school = School(visits)

    def offer(self, example: Example) -> None:
        self._school.offer(example)

    def remember(self, known: set[Url]) -> None:
        self._school.remember(known)

    async def lesson(self, strategy: Strategy) -> Lesson:
        return self._school.lesson(strategy)

    async def aclose(self) -> None:
        pass


def _packed(value: Any) -> bytes:
    data = pickle.dumps(value, pickle.HIGHEST_PROTOCOL)
    return _SIZE.pack(len(data)) + data


def _unpacked(data: bytes, kind: type[Any]) -> Strategy:
    strategy: Strategy = unpack(data, lambda _: kind)
    return strategy


def _main(visits: bool, asked: BinaryIO, answers: BinaryIO) -> None:
    school = School(visits)
    while len(head := asked.read(_SIZE.size)) == _SIZE.size:
        (size,) = _SIZE.unpack(head)
        if size > _MOST:
            return
        # From our own parent: pickle is safe.
        known, examples, module, name, packed = pickle.loads(asked.read(size))  # noqa: S301
        answer: tuple[Lesson, bytes] | str
        try:
            school.remember(known)
            for example in examples:
                school.offer(example)
            kind = getattr(import_module(module), name)
            lesson = school.lesson(_unpacked(packed, kind))
            learned = pack("it", lesson.strategy) if lesson.strategy is not None else b""
            answer = replace(lesson, strategy=None), learned
        except Exception as error:  # noqa: BLE001 - told to the parent, which goes on crawling
            answer = f"{name} could not learn: {type(error).__name__}: {error}"
        answers.write(_packed(answer))
        answers.flush()


def _leave_with(parent: int) -> None:
    """End when the parent does, also in the middle of a lesson: it may have been killed."""
    while os.getppid() == parent:
        time.sleep(1.0)
    os._exit(1)


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent
    with contextlib.suppress(OSError):
        os.nice(_NICE)
    # What a library prints must not end up among the answers.
    pipe = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    threading.Thread(target=_leave_with, args=(os.getppid(),), daemon=True).start()
    _main(sys.argv[1:] == ["1"], sys.stdin.buffer, pipe)
