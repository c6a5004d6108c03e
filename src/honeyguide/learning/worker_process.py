"""Training in a process of its own, so that the crawl never waits for it.

Run as ``python -m honeyguide.learning.worker_process``: a program of its own rather than a fork,
which would run the script of the user again or inherit sockets. Typed values in msgpack pass
through two pipes, never pickles. Strategies pass in their saved form, so the other process gets
what they learned and not their caches.
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
from collections.abc import Callable
from dataclasses import fields, is_dataclass, replace
from importlib import import_module
from typing import Any, BinaryIO, NamedTuple

import msgspec

from honeyguide.errors import ModelError
from honeyguide.learning.generation_builder import (
    MAX_BACKGROUND,
    MAX_LINKS,
    MAX_VISITS,
    GateTrial,
    GenerationBuilder,
    LearningResult,
    trim_example,
)
from honeyguide.protocols import Strategy
from honeyguide.store.codec import replace_surrogates
from honeyguide.store.generations import pack_strategy, unpack_strategy
from honeyguide.types import Example, Url

_SIZE = struct.Struct("<Q")
_MAX_MESSAGE = 1 << 32
_LONGEST_S = 600.0
"""Longest training in seconds; then it and its process are ended."""
_NICE = 5
"""The crawl has priority where both share one processor."""


class LearningRequest(NamedTuple):
    """A request to the other process."""

    known: dict[Url, float]
    examples: list[Example]
    module: str
    name: str
    strategy: bytes


class LearningReply(NamedTuple):
    """The result of a training."""

    strategy: bytes = b""
    live: bool = True
    note: str = ""
    trial: GateTrial | None = None
    again: bool = False
    failure: str = ""
    """Why there is none."""


class WorkerProcessBackend:
    """Sends examples to the other process, and waits for results without blocking."""

    def __init__(self, visits: bool = False, outlinks: bool = False) -> None:
        """``visits``: all of them are learned from; ``outlinks``: also the links on pages."""
        self._visits = visits
        self._links = MAX_LINKS if outlinks else 0
        self._labels: list[Example] = []
        self._judged: deque[Example] = deque(maxlen=MAX_VISITS)
        self._seen: deque[Example] = deque(maxlen=MAX_VISITS if visits else MAX_BACKGROUND)
        """Examples for the next training."""
        self._sent: list[Example] = []
        """Labels only: what a new process must hear again if the old one died."""
        self._known: dict[Url, float] = {}
        self._process: asyncio.subprocess.Process | None = None

    def offer(self, example: Example) -> None:
        example = trim_example(example, self._links)
        if example.by in ("seed", "user"):
            self._labels.append(example)
        else:
            (self._seen if example.by == "visit" else self._judged).append(example)

    def remember(self, known: dict[Url, float]) -> None:
        self._known |= known

    async def build_generation(self, strategy: Strategy) -> LearningResult:
        """Raises ModelError if learning failed; the next training gets a new process then."""
        try:
            reader, writer = await self._open_pipes()
            examples = [*self._seen, *self._judged, *self._labels]
            kind = type(strategy)
            packed = pack_strategy("it", strategy)
            asked = LearningRequest(
                self._known, examples, kind.__module__, kind.__qualname__, packed
            )
            writer.write(_frame_message(asked))
            self._sent += self._labels
            self._labels = []
            self._judged.clear()
            self._seen.clear()
            await writer.drain()
            async with asyncio.timeout(_LONGEST_S):
                (size,) = _SIZE.unpack(await reader.readexactly(_SIZE.size))
                answer = _REPLY_DECODER.decode(await reader.readexactly(size))
        except TimeoutError as error:
            await self.aclose()
            raise ModelError(f"a training run took longer than {_LONGEST_S:g} s") from error
        except (OSError, EOFError, msgspec.MsgspecError) as error:
            await self.aclose()
            raise ModelError(f"the training process failed: {error!r}") from error
        except asyncio.CancelledError:
            await self.aclose()
            raise
        if answer.failure:
            raise ModelError(answer.failure)
        learned = _unpack_strategy(answer.strategy, kind) if answer.strategy else None
        return LearningResult(learned, answer.live, answer.note, answer.trial, answer.again)

    async def aclose(self) -> None:
        process, self._process = self._process, None
        self._labels = self._sent + self._labels
        self._sent = []
        if process is not None and process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()

    async def _open_pipes(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
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


class InProcessBackend:
    """A builder in this process, for simulated time, in which computing takes none; ``duration``
    says how long the other process would have taken for this result, and whether it had to be
    started."""

    def __init__(
        self,
        visits: bool = False,
        outlinks: bool = False,
        duration: Callable[[LearningResult, bool], float] | None = None,
    ) -> None:
        self._duration = duration
        self._started = False
        self._builder = GenerationBuilder(visits)
        self._links = MAX_LINKS if outlinks else 0

    def offer(self, example: Example) -> None:
        self._builder.offer(trim_example(example, self._links))

    def remember(self, known: dict[Url, float]) -> None:
        self._builder.remember(known)

    async def build_generation(self, strategy: Strategy) -> LearningResult:
        result = self._builder.build_generation(strategy)
        if self._duration is not None:
            await asyncio.sleep(self._duration(result, not self._started))
        self._started = True
        return result

    async def aclose(self) -> None:
        pass


_REQUEST_DECODER = msgspec.msgpack.Decoder(LearningRequest)
_REPLY_DECODER = msgspec.msgpack.Decoder(LearningReply)


def _frame_message(value: LearningRequest | LearningReply) -> bytes:
    try:
        data = msgspec.msgpack.encode(value)
    except UnicodeEncodeError:
        data = msgspec.msgpack.encode(_without_surrogates(value))
    return _SIZE.pack(len(data)) + data


def _without_surrogates(value: Any) -> Any:
    """The value without lone surrogates, which no encoding can express."""
    if isinstance(value, str):
        return replace_surrogates(value)
    if is_dataclass(value) and not isinstance(value, type):
        return replace(
            value, **{f.name: _without_surrogates(getattr(value, f.name)) for f in fields(value)}
        )
    if isinstance(value, tuple | list | set):
        parts = [_without_surrogates(part) for part in value]
        return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)
    return value


def _unpack_strategy(data: bytes, kind: type[Any]) -> Strategy:
    strategy: Strategy = unpack_strategy(data, lambda _: kind)
    return strategy


def _serve_requests(visits: bool, asked: BinaryIO, answers: BinaryIO) -> None:
    # Told to nobody and new in every run: whoever gives labels cannot know which will be tried on.
    school = GenerationBuilder(visits, secrets.token_bytes(16))
    while len(head := asked.read(_SIZE.size)) == _SIZE.size:
        (size,) = _SIZE.unpack(head)
        if size > _MAX_MESSAGE:
            return
        if len(data := asked.read(size)) < size:
            return  # the parent died while it wrote
        request = _REQUEST_DECODER.decode(data)
        try:
            school.remember(request.known)
            for example in request.examples:
                school.offer(example)
            kind = getattr(import_module(request.module), request.name)
            lesson = school.build_generation(_unpack_strategy(request.strategy, kind))
            learned = pack_strategy("it", lesson.strategy) if lesson.strategy is not None else b""
            answer = LearningReply(learned, lesson.live, lesson.note, lesson.trial, lesson.again)
        except Exception as error:  # noqa: BLE001 - told to the parent, which goes on crawling
            why = f"{request.name} could not learn: {type(error).__name__}: {error}"
            answer = LearningReply(failure=why)
        answers.write(_frame_message(answer))
        answers.flush()


def _exit_with_parent(parent: int) -> None:
    """End when the parent does, also during a training: it may have been killed."""
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
    threading.Thread(target=_exit_with_parent, args=(os.getppid(),), daemon=True).start()
    try:
        _serve_requests(sys.argv[1:] == ["1"], sys.stdin.buffer, pipe)
    except BrokenPipeError:
        os._exit(1)  # the parent was killed; nobody needs a traceback
