"""Jobs in processes of their own that never outlive the program that started them."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from functools import partial
from multiprocessing.connection import Connection
from typing import TypeVar

Job = TypeVar("Job")
Done = TypeVar("Done")

_GRACE_S = 2.0
"""How long an orphan may take to clear its folder away."""


def spread(perform: Callable[[Job], Done], jobs: Sequence[Job], workers: int) -> Iterator[Done]:
    """What came of every job, in their order; here, where one worker suffices."""
    if workers == 1 or len(jobs) < 2:
        yield from map(perform, jobs)
        return
    context = multiprocessing.get_context("spawn")
    near, far = context.Pipe(duplex=False)
    pooled = partial(ProcessPoolExecutor, workers, mp_context=context)
    with near, far, _safe_path(), pooled(initializer=_watch, initargs=(near,)) as pool:
        try:
            yield from pool.map(partial(_performed, perform), jobs)
        except BaseException:  # Ctrl-C, and a caller who wants no more, are no Exceptions
            far.close()  # nobody wants what the jobs under way would bring: do not wait for them
            raise


@contextmanager
def _safe_path() -> Iterator[None]:
    """Workers begin with ``python -c``, which would look for modules in this folder first: it may
    be one that a stranger filled."""
    before = os.environ.get("PYTHONSAFEPATH")
    os.environ["PYTHONSAFEPATH"] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ["PYTHONSAFEPATH"]
        else:
            os.environ["PYTHONSAFEPATH"] = before


def _performed(perform: Callable[[Job], Done], job: Job) -> Done:
    parent = multiprocessing.parent_process()
    if parent is None or not parent.is_alive():
        os._exit(1)  # jobs that were handed out already are nobody's any more
    try:
        return perform(job)
    except KeyboardInterrupt:
        os._exit(1)  # the pool would go on with the next job


def _watch(parent: Connection) -> None:
    """Ctrl-C reaches every process of a terminal, and the parent alone answers it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    threading.Thread(target=_leave_with, args=(parent,), daemon=True).start()


def _leave_with(parent: Connection) -> None:
    """The pipe ends when the parent wants no more, and when it was killed and could tell nobody:
    its workers would wait for jobs for ever."""
    parent.poll(None)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)  # nobody is left to read what an interrupted job would say
    if main := threading.main_thread().ident:
        signal.pthread_kill(main, signal.SIGTERM)
    time.sleep(_GRACE_S)
    os._exit(1)
