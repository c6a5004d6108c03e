"""What a process that runs for long asks of its system: signals, and less tidying."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import signal
from collections.abc import Callable, Iterator

_ALLOCATED = 20_000
"""Objects after which Python looks for garbage; its own default is 700."""


@contextlib.contextmanager
def seldom_tidied() -> Iterator[None]:
    """Python's search for unreachable rings of objects, put off: a page makes thousands of objects
    and no such ring, and the search goes over all that was loaded before the crawl as well."""
    before = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(_ALLOCATED, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()


@contextlib.contextmanager
def stoppable(stop: Callable[[], None]) -> Iterator[None]:
    """Ctrl-C asks what runs to finish; a second one is the ordinary KeyboardInterrupt."""
    loop = asyncio.get_running_loop()
    caught = (signal.SIGINT, signal.SIGTERM)

    def ask() -> None:
        stop()
        for number in caught:
            loop.remove_signal_handler(number)

    try:
        for number in caught:
            loop.add_signal_handler(number, ask)
    except (ValueError, RuntimeError):
        # Not in the main thread, as inside a notebook's worker: its owner handles signals.
        yield
        return
    try:
        yield
    finally:
        for number in caught:
            loop.remove_signal_handler(number)
