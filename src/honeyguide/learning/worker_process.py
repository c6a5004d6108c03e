"""A school in a process of its own, so that the ring never waits for a lesson.

Run as ``python -m honeyguide.learning.worker_process``: a program of its own rather than a fork of
ours, which would run the user's script a second time or inherit our sockets. What goes through the
two pipes are typed values in msgpack, never pickles. Strategies go as they are saved, so that the
other process has what they learned and not what they happen to remember.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
import signal
import struct
import sys
import threading
import time
from collections import deque
from dataclasses import fields, is_dataclass, replace
from importlib import import_module
from typing import Any, BinaryIO, NamedTuple

import msgspec

from honeyguide.errors import ModelError
from honeyguide.learning.gate import Trial
from honeyguide.learning.pool import BACKGROUND, LINKS, VISITS, small
from honeyguide.learning.teach import Lesson, School
from honeyguide.protocols import Strategy
from honeyguide.store.codec import clean
from honeyguide.store.generations import pack, unpack
from honeyguide.types import Example, Url

_SIZE = struct.Struct("<Q")
_MOST = 1 << 32
_LONGEST_S = 600.0
"""A lesson that takes longer is given up, and its process with it."""
_NICE = 5
"""The ring goes first where there is one processor for both."""


class Asked(NamedTuple):
    """What the other process is to learn, and from what."""

    known: dict[Url, float]
    examples: list[Example]
    module: str
    name: str
    strategy: bytes


class Answer(NamedTuple):
    """A lesson on its way back."""

    strategy: bytes = b""
    live: bool = True
    note: str = ""
    trial: Trial | None = None
    again: bool = False
    failure: str = ""
    """Why there is none."""


class Apart:
    """Sends examples to the other process as they come, and waits for lessons without blocking."""

    def __init__(self, visits: bool = False, outlinks: bool = False) -> None:
        """``visits``: all of them are learned from; ``outlinks``: also the links on pages."""
        self._visits = visits
        self._links = LINKS if outlinks else 0
        self._labels: list[Example] = []
        self._judged: deque[Example] = deque(maxlen=VISITS)
        self._seen: deque[Example] = deque(maxlen=VISITS if visits else BACKGROUND)
        """What waits for the next lesson; it may be long in coming."""
        self._sent: list[Example] = []
        """Labels only: what a new process must hear again if the old one died."""
        self._known: dict[Url, float] = {}
        self._process: asyncio.subprocess.Process | None = None

    def offer(self, example: Example) -> None:
        example = small(example, self._links)
        if example.by in ("seed", "user"):
            self._labels.append(example)
        else:
            (self._seen if example.by == "visit" else self._judged).append(example)

    def remember(self, known: dict[Url, float]) -> None:
        self._known |= known

    async def lesson(self, strategy: Strategy) -> Lesson:
        """Raises ModelError if learning failed; the next lesson gets a new process then."""
        try:
            reader, writer = await self._pipes()
            examples = [*self._seen, *self._judged, *self._labels]
            kind = type(strategy)
            packed = pack("it", strategy)
            asked = Asked(self._known, examples, kind.__module__, kind.__qualname__, packed)
            writer.write(_framed(asked))
            self._sent += self._labels
            self._labels = []
            self._judged.clear()
            self._seen.clear()
            await writer.drain()
            async with asyncio.timeout(_LONGEST_S):
                (size,) = _SIZE.unpack(await reader.readexactly(_SIZE.size))
                answer = _ANSWER.decode(await reader.readexactly(size))
        except TimeoutError as error:
            await self.aclose()
            raise ModelError(f"a lesson took longer than {_LONGEST_S:g} s") from error
        except (OSError, EOFError, msgspec.MsgspecError) as error:
            await self.aclose()
            raise ModelError(f"the process that learns broke down: {error!r}") from error
        except asyncio.CancelledError:
            await self.aclose()
            raise
        if answer.failure:
            raise ModelError(answer.failure)
        learned = _unpacked(answer.strategy, kind) if answer.strategy else None
        return Lesson(learned, answer.live, answer.note, answer.trial, answer.again)

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

    def __init__(self, visits: bool = False, outlinks: bool = False) -> None:
        self._school = School(visits)
        self._links = LINKS if outlinks else 0

    def offer(self, example: Example) -> None:
        self._school.offer(small(example, self._links))

    def remember(self, known: dict[Url, float]) -> None:
        self._school.remember(known)

    async def lesson(self, strategy: Strategy) -> Lesson:
        return self._school.lesson(strategy)

    async def aclose(self) -> None:
        pass


_ASKED = msgspec.msgpack.Decoder(Asked)
_ANSWER = msgspec.msgpack.Decoder(Answer)


def _framed(value: Asked | Answer) -> bytes:
    try:
        data = msgspec.msgpack.encode(value)
    except UnicodeEncodeError:
        data = msgspec.msgpack.encode(_clean(value))
    return _SIZE.pack(len(data)) + data


def _clean(value: Any) -> Any:
    """The same without lone surrogates, which no encoding knows."""
    if isinstance(value, str):
        return clean(value)
    if is_dataclass(value) and not isinstance(value, type):
        return replace(value, **{f.name: _clean(getattr(value, f.name)) for f in fields(value)})
    if isinstance(value, tuple | list | set):
        parts = [_clean(part) for part in value]
        return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)
    return value


def _unpacked(data: bytes, kind: type[Any]) -> Strategy:
    strategy: Strategy = unpack(data, lambda _: kind)
    return strategy


def _main(visits: bool, asked: BinaryIO, answers: BinaryIO) -> None:
    # Told to nobody and new in every run: whoever gives labels cannot know which will be tried on.
    school = School(visits, secrets.token_bytes(16))
    while len(head := asked.read(_SIZE.size)) == _SIZE.size:
        (size,) = _SIZE.unpack(head)
        if size > _MOST:
            return
        request = _ASKED.decode(asked.read(size))
        try:
            school.remember(request.known)
            for example in request.examples:
                school.offer(example)
            kind = getattr(import_module(request.module), request.name)
            lesson = school.lesson(_unpacked(request.strategy, kind))
            learned = pack("it", lesson.strategy) if lesson.strategy is not None else b""
            answer = Answer(learned, lesson.live, lesson.note, lesson.trial, lesson.again)
        except Exception as error:  # noqa: BLE001 - told to the parent, which goes on crawling
            why = f"{request.name} could not learn: {type(error).__name__}: {error}"
            answer = Answer(failure=why)
        answers.write(_framed(answer))
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
