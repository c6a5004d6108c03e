"""What a long run changes in its process: how it is stopped, and less garbage collection."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import signal
from collections.abc import Callable, Coroutine, Iterator
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

T = TypeVar("T")

_GC_THRESHOLD = 20_000
"""Objects after which Python looks for garbage; its own default is 700."""


_gc_thresholds: list[tuple[int, int, int]] = []
"""What each run found when it began; several may run at once, each in a thread."""


@contextlib.contextmanager
def relaxed_gc() -> Iterator[None]:
    """Collect garbage seldom: a page makes thousands of objects and no reference cycle, and the
    collector goes over all that was loaded before the crawl as well."""
    _gc_thresholds.append(gc.get_threshold())
    gc.freeze()
    gc.set_threshold(_GC_THRESHOLD, *_gc_thresholds[0][1:])
    try:
        yield
    finally:
        before = _gc_thresholds.pop()
        if not _gc_thresholds:
            gc.set_threshold(*before)
            gc.unfreeze()


@dataclass
class StopRelay:
    """Carries the wish to stop from a thread that waits to the thread whose event loop works."""

    asked: int = 0
    """How often somebody asked."""
    _hooks: list[Callable[[], object]] = field(default_factory=list)

    def stop(self) -> None:
        """From any thread: the first time, ask what runs to finish; then cancel it."""
        self.asked += 1
        if self._hooks:
            self._hooks[-1 if self.asked == 1 else 0]()

    @contextlib.contextmanager
    def hooked_to(self, stop: Callable[[], object]) -> Iterator[None]:
        """Call ``stop`` in this thread's event loop when somebody asks, or asked already."""
        hook = partial(asyncio.get_running_loop().call_soon_threadsafe, stop)
        self._hooks.append(hook)
        if self.asked:
            hook()
        try:
            yield
        finally:
            self._hooks.remove(hook)


STOP_RELAY: ContextVar[StopRelay | None] = ContextVar("STOP_RELAY", default=None)
"""Set in a thread that works for another one; signals reach only the main thread."""


def run_in_loop(work: Coroutine[Any, Any, T]) -> T:
    """Run it in an event loop of its own, which must not be inside another one."""
    return asyncio.run(_cancel_on_relay(work))


async def _cancel_on_relay(work: Coroutine[Any, Any, T]) -> T:
    relay, task = STOP_RELAY.get(), asyncio.current_task()
    with relay.hooked_to(task.cancel) if relay and task else contextlib.nullcontext():
        return await work


@contextlib.contextmanager
def stop_on_signals(stop: Callable[[], bool | None]) -> Iterator[None]:
    """Ctrl-C asks what runs to finish. The next one is the ordinary KeyboardInterrupt, unless
    ``stop`` returned True: it takes that one, too.

    In a thread that works for another one, the relay asks instead of signals."""
    if (relay := STOP_RELAY.get()) is not None:
        with relay.hooked_to(stop):
            yield
        return
    loop = asyncio.get_running_loop()
    caught = (signal.SIGINT, signal.SIGTERM)

    def ask() -> None:
        if not stop():
            for number in caught:
                loop.remove_signal_handler(number)

    try:
        for number in caught:
            loop.add_signal_handler(number, ask)
    except (ValueError, RuntimeError):
        # Not in the main thread: whoever owns it handles signals.
        yield
        return
    try:
        yield
    finally:
        for number in caught:
            loop.remove_signal_handler(number)
