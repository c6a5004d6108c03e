"""Calls that take long: from scripts, notebooks and programs with an event loop, with progress.

A method that is :func:`blocking` works everywhere. Where this thread runs an event loop already, as
in a notebook, its work goes to a thread of its own, and Ctrl-C is passed on to it. Its
:func:`async_twin` is awaited instead, and leaves the caller's event loop free.
"""

from __future__ import annotations

import asyncio
import signal
import sys
import time
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import Future, wait
from contextlib import AbstractContextManager, contextmanager, suppress
from contextvars import copy_context
from functools import partial, wraps
from html import escape
from importlib import import_module
from threading import Thread, current_thread, main_thread
from typing import Any, Generic, ParamSpec, TypeVar

from honeyguide.crawl.signals import STOP_RELAY, StopRelay

T = TypeVar("T")
P = ParamSpec("P")

_LOG_INTERVAL_S = 10.0
"""How often a line is written where no bar can be drawn."""
_MAX_INTERRUPTS = 3
"""Ctrl-C: the first asks the work to finish, the second cancels it, this one leaves it behind."""


class _ThreadCall(Generic[T]):
    """A call in a thread of its own, which can be asked to stop."""

    def __init__(self, call: Callable[[], T]) -> None:
        self.relay = StopRelay()
        self.done: Future[T] = Future()
        # With the caller's context, so that a notebook knows which cell the output belongs to.
        target = partial(copy_context().run, self._run_call, call)
        Thread(target=target, name="honeyguide", daemon=True).start()

    def _run_call(self, call: Callable[[], T]) -> None:
        STOP_RELAY.set(self.relay)
        try:
            self.done.set_result(call())
        except BaseException as error:  # noqa: BLE001 - raised again in the thread that waits
            self.done.set_exception(error)

    def wait_for_result(self) -> T:
        with _interruptible_wait():
            while not self.done.done():
                try:
                    wait([self.done])
                except KeyboardInterrupt:
                    self.relay.stop()
                    if self.relay.asked >= _MAX_INTERRUPTS:
                        raise
        try:
            return self.done.result()
        except asyncio.CancelledError:
            raise KeyboardInterrupt from None


@contextmanager
def _interruptible_wait() -> Iterator[None]:
    """Ctrl-C raises KeyboardInterrupt in the main thread, which a running event loop prevents."""
    if current_thread() is not main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before or signal.SIG_DFL)


def blocking(call: Callable[P, T]) -> Callable[P, T]:
    """The call, which may run an event loop, also for a thread that runs one already."""

    @wraps(call)
    def run_anywhere(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            pass
        else:
            return _ThreadCall(partial(call, *args, **kwargs)).wait_for_result()
        # Out here, lest errors of the call be told as those of a missing event loop.
        return call(*args, **kwargs)

    return run_anywhere


def async_twin(call: Callable[P, T]) -> Callable[P, Coroutine[Any, Any, T]]:
    """The same call to be awaited: it works in a thread of its own.

    Whoever cancels it asks the work to finish, and waits until it has; a second time, cancels it.
    """

    @wraps(call)
    async def run_awaited(*args: P.args, **kwargs: P.kwargs) -> T:
        running = _ThreadCall(partial(call, *args, **kwargs))
        result = asyncio.wrap_future(running.done)
        try:
            return await asyncio.shield(result)
        except asyncio.CancelledError:
            while not result.done():
                running.relay.stop()
                with suppress(asyncio.CancelledError):
                    await asyncio.wait([result])
            if not result.cancelled():
                result.exception()  # whoever cancelled the call wants none
            raise

    run_awaited.__name__ = f"{call.__name__}_async"
    run_awaited.__qualname__ = f"{call.__qualname__}_async"
    run_awaited.__doc__ = f"``await`` it: {call.__name__}() in a thread of its own."
    return run_awaited


# --------------------------------------------------------------------------------------------------
# Progress: a bar in a terminal or a notebook, a line now and then elsewhere, or a function.
# --------------------------------------------------------------------------------------------------


ProgressOption = bool | Callable[[Any], object] | None
"""True: show it; False: do not; None: where somebody looks on; or call this with each value."""
_Draw = Callable[[str, float | None], object]
"""Takes a text, and which share is done, 0 to 1; None: nobody knows."""


@contextmanager
def show_progress(
    option: ProgressOption,
    title: str,
    describe: Callable[[T], tuple[str, float | None]],
    *,
    interruptible: bool = False,
) -> Iterator[Callable[[T], None]]:
    """A function that takes values of progress as they come, and shows them as ``describe`` says.

    ``interruptible``: it raises CancelledError once the work was asked to stop, for work that
    has no event loop and leaves things in order whenever it is broken off.
    """
    relay = STOP_RELAY.get() if interruptible else None

    def show_value(value: T, draw: Callable[[T], object]) -> None:
        if relay is not None and relay.asked:
            raise asyncio.CancelledError
        draw(value)

    if callable(option):
        yield partial(show_value, draw=option)
    elif not (option or (option is None and (_in_notebook() or sys.stderr.isatty()))):
        yield partial(show_value, draw=lambda _: None)
    else:
        with _open_bar(title) as bar:
            yield partial(show_value, draw=lambda value: _draw_clean(bar, *describe(value)))


def _draw_clean(bar: _Draw, text: str, share: float | None) -> None:
    """Text from the web must not steer a terminal."""
    bar("".join(c for c in " ".join(text.split()) if c.isprintable()), share)


def _in_notebook() -> bool:
    ipython: Any = sys.modules.get("IPython")
    return ipython is not None and hasattr(ipython.get_ipython(), "kernel")


def _open_bar(title: str) -> AbstractContextManager[_Draw]:
    if _in_notebook():
        return _notebook_bar(title)
    return _terminal_bar(title) if sys.stderr.isatty() else _log_lines(title)


@contextmanager
def _terminal_bar(title: str) -> Iterator[_Draw]:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    name = TextColumn("{task.description}", markup=False)
    text = TextColumn("{task.fields[text]}", markup=False)
    console = Console(stderr=True)
    with Progress(
        name, BarColumn(20), text, TimeElapsedColumn(), console=console, transient=True
    ) as bar:
        task = bar.add_task(title, total=None, text="starting")
        yield lambda text, share: bar.update(
            task, text=text, total=None if share is None else 1.0, completed=share or 0.0
        )


@contextmanager
def _notebook_bar(title: str) -> Iterator[_Draw]:
    display: Any = import_module("IPython.display").display
    shown = display({"text/html": escape(title)}, raw=True, display_id=True)

    def draw_bar(text: str, share: float | None) -> None:
        value = "" if share is None else f" value='{share:.3f}'"
        bar = f"{escape(title)} <progress{value}></progress> {escape(text)}"
        shown.update({"text/html": bar}, raw=True)

    yield draw_bar


@contextmanager
def _log_lines(title: str) -> Iterator[_Draw]:
    last = time.monotonic()

    def write_line(text: str, share: float | None) -> None:  # noqa: ARG001 - a line has no bar
        nonlocal last
        if time.monotonic() - last >= _LOG_INTERVAL_S:
            last = time.monotonic()
            print(f"{title}: {text}", file=sys.stderr)  # noqa: T201 - that is what it is for

    yield write_line
