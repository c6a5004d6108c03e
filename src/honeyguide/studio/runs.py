"""Crawls and watches that the studio started: each a ``honeyguide`` process of its own.

Pausing is stopping cleanly: everything that was fetched is kept, and going on is starting again.
What other processes do is seen by the collection's lock, and left alone.
"""

from __future__ import annotations

import contextlib
import signal
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path
from threading import Lock, RLock, Thread
from typing import IO, Annotated, Any, Literal, TypeVar, cast

import msgspec
from msgspec import Meta

from honeyguide.config.loading import load_settings
from honeyguide.crawl import live_status
from honeyguide.errors import ConfigError, StoreError
from honeyguide.store.collection_files import lock_holder
from honeyguide.studio.routes import RequestContext, Route

Kind = Literal["crawl", "watch"]
State = Literal["idle", "running", "stopping", "paused", "finished", "failed", "elsewhere"]

_LINES_KEPT = 200
"""Lines of a process's talk that are kept …"""
_LINE_CHARS = 8_000
"""… and characters of each."""
_LINES_SHOWN = 40
_MAX_PROCESSES = 8
"""Processes at once: each crawl is worth a core."""
_PATIENCE_S = 30.0
"""A process that was asked to stop has so long when the studio ends."""


class RunState(msgspec.Struct, frozen=True):
    """How it stands with a collection's crawl or watch."""

    state: State
    """``elsewhere``: another process than the studio's crawls or watches it."""
    kind: str = ""
    pid: int | None = None
    since: float | None = None
    """When it was started."""
    ended: float | None = None
    said: str = ""
    """The last lines of what it said, once it has ended …"""
    summary: str = ""
    """… and what it came to, if it ended well."""
    arguments: tuple[str, ...] = ()
    visits: int = 0
    """In the collection, by all its crawls …"""
    limit: int = 0
    """… and at how many a crawl stops: the one that runs or is paused, else the next; 0: never."""


class _RunProcess:
    """One process, and what became of it."""

    def __init__(self, command: Sequence[str], kind: Kind, arguments: Sequence[str]) -> None:
        self.kind, self.arguments = kind, tuple(arguments)
        self.since = time.time()
        self.ended: float | None = None
        self.asked: Literal["", "pause", "stop"] = ""
        self._lines: deque[str] = deque(maxlen=_LINES_KEPT)
        try:
            # A session of its own: Ctrl-C on the studio's terminal is the studio's to pass on.
            self.process = subprocess.Popen(  # noqa: S603 - our own program, no shell
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        except OSError as error:
            raise ConfigError(f"honeyguide could not be started: {error}") from error
        assert self.process.stdout is not None
        self._reader = Thread(target=self._read_output, args=(self.process.stdout,), daemon=True)
        self._reader.start()

    def _read_output(self, talk: IO[bytes]) -> None:
        with talk:
            while line := talk.readline(_LINE_CHARS):
                self._lines.append(line.decode("utf-8", "replace").rstrip())
        self.process.wait()
        self.ended = time.time()

    @property
    def is_alive(self) -> bool:
        return self.process.poll() is None

    def last_output(self) -> tuple[str, str]:
        """Its last lines, and a summary of the report that it ends with."""
        self._reader.join(0.5)
        talk, summary = [], ""
        for line in list(self._lines)[-_LINES_SHOWN:]:
            if report := _report_summary(line, asked=bool(self.asked)):
                summary = report
            else:
                talk.append("".join(c for c in line[:1_000] if c.isprintable()))
        return "\n".join(talk), summary

    def signal(self, number: signal.Signals) -> None:
        with contextlib.suppress(ProcessLookupError):
            self.process.send_signal(number)

    def end_state(self) -> State:
        """What its end means; called once it is dead."""
        if self.asked:
            return "paused" if self.asked == "pause" else "finished"
        return "finished" if self.process.returncode == 0 else "failed"


def _report_summary(line: str, *, asked: bool = False) -> str:
    """The report of a crawl or a watch, in words; '' if the line is none. Whoever asked it to end
    knows why it did."""
    if not line.startswith("{"):
        return ""
    try:
        facts = msgspec.json.decode(line, type=dict[str, Any])
        if "reason" in facts:
            visits = _count_noun(facts["visits"], "visit")
            found = f"{visits}, {facts['relevant']} relevant"
            return found if asked else f"{found}: {facts['reason']}"
        return f"{_count_noun(facts['visits'], 'visit')}, {_count_noun(facts['changes'], 'change')}"
    except (msgspec.DecodeError, KeyError):
        return ""


def _count_noun(number: Any, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


class StudioRuns:
    """At most one process for each collection; safe for threads."""

    def __init__(
        self, root: Path, command: Sequence[str] = (sys.executable, "-P", "-m", "honeyguide")
    ) -> None:
        self.root = root
        self._command = tuple(command)
        self._runs: dict[Path, _RunProcess] = {}
        self._lock = RLock()
        self._closed = False

    def run_state(self, folder: Path) -> RunState:
        """How it stands now."""
        with self._lock:
            run = self._runs.get(folder)
            if run is not None and run.is_alive:
                state: State = "stopping" if run.asked else "running"
                pid = run.process.pid
                return RunState(state, run.kind, pid, run.since, arguments=run.arguments)
        if (pid_ := lock_holder(folder / "lock")) is not None:
            return RunState("elsewhere", pid=pid_)
        if run is None:
            return RunState("idle")
        said, summary = run.last_output()  # first: it waits until all is heard
        return RunState(
            run.end_state(), run.kind, None, run.since, run.ended, said, summary, run.arguments
        )

    def start(self, folder: Path, kind: Kind, arguments: Sequence[str] = ()) -> RunState:
        """Start, or go on."""
        with self._lock:
            if self._closed:
                raise StoreError("the studio is ending")
            run = self._runs.get(folder)
            if run is not None and run.is_alive:
                doing = "being stopped" if run.asked else f"running ({run.kind})"
                raise StoreError(f"{folder.name} is {doing} already")
            if (pid := lock_holder(folder / "lock")) is not None:
                raise StoreError(
                    f"{folder.name} is in use by process {pid}, which this studio did not start"
                )
            if sum(run.is_alive for run in self._runs.values()) >= _MAX_PROCESSES:
                raise StoreError(
                    f"{_MAX_PROCESSES} crawls and watches run already; pause one of them first"
                )
            command = (*self._command, kind, str(folder), "--json", *arguments)
            self._runs[folder] = _RunProcess(command, kind, arguments)
        return self.run_state(folder)

    def resume(self, folder: Path) -> RunState:
        """Go on with what was paused, or ended."""
        with self._lock:
            run = self._runs.get(folder)
            return self.start(folder, run.kind if run else "crawl", run.arguments if run else ())

    def stop(self, folder: Path, *, pause: bool = False, force: bool = False) -> RunState:
        """Ask it to finish what is under way and end; by force, end it at once (nothing that was
        finished is lost by that)."""
        with self._lock:
            run = self._runs.get(folder)
            if run is None or not run.is_alive:
                if (pid := lock_holder(folder / "lock")) is not None:
                    raise StoreError(
                        f"process {pid} was not started by this studio; stop it where it runs"
                    )
                raise StoreError(f"{folder.name} is not running")
            if force:
                run.asked = run.asked or "stop"
                run.signal(signal.SIGKILL)
            elif not run.asked:
                # Once only: a second one would break off what the first asked to finish.
                run.asked = "pause" if pause else "stop"
                run.signal(signal.SIGINT)
        return self.run_state(folder)

    def count_running(self) -> int:
        with self._lock:
            return sum(run.is_alive for run in self._runs.values())

    def close(
        self, patience_s: float = _PATIENCE_S, wait: Callable[[float], None] = time.sleep
    ) -> None:
        """Ask all to stop, wait for them, and end those that do not."""
        with self._lock:
            self._closed = True
            alive = [run for run in self._runs.values() if run.is_alive]
            for run in alive:
                if not run.asked:
                    run.asked = "stop"
                    run.signal(signal.SIGINT)
        waited = 0.0
        while waited < patience_s and any(run.is_alive for run in alive):
            wait(0.05)
            waited += 0.05
        for run in alive:
            if run.is_alive:
                run.signal(signal.SIGKILL)
                run.process.wait()


# -- Objects that live as long as the studio: one of each kind for each collection --


T = TypeVar("T")


class SharedObjects:
    """Made when first asked for, closed in the end."""

    def __init__(self) -> None:
        self._things: dict[tuple[Path, Any], Any] = {}
        self._lock = Lock()

    def get(self, folder: Path, make: Callable[[Path], T]) -> T:
        with self._lock:
            key = (folder, make)
            if key not in self._things:
                self._things[key] = make(folder)
            return cast("T", self._things[key])

    def drop(self, folder: Path) -> None:
        """A collection went away."""
        with self._lock:
            gone = [key for key in self._things if key[0] == folder]
            things = [self._things.pop(key) for key in gone]
        _close_all(things)

    def close(self) -> None:
        with self._lock:
            things = list(self._things.values())
            self._things.clear()
        _close_all(things)


def _close_all(things: list[Any]) -> None:
    for thing in things:
        if close := getattr(thing, "close", None):
            # One that fails to close must not keep the others open.
            with contextlib.suppress(Exception):
                close()


# -- Orders of people --

_PAGES_OPTION = "--pages="

Share = Annotated[float, Meta(ge=0, le=1)]


class RunOrder(msgspec.Struct, forbid_unknown_fields=True):
    """What is to be done. Limits count for start only; none given: those of topic.toml."""

    do: Literal["start", "pause", "resume", "stop", "kill"]
    kind: Literal["crawl", "watch"] = "crawl"
    pages: Annotated[int, Meta(ge=0, le=1_000_000_000)] | None = None
    hours: Annotated[float, Meta(ge=0, le=10_000)] | None = None
    coverage: Share | None = None
    precision: Share | None = None
    once: bool = False
    """A watch visits every page once and ends."""


def run_state(context: RequestContext) -> RunState:
    """Whether it is being crawled or watched, and what became of the last run."""
    return _with_counts(context, context.runs.run_state(context.collection_folder))


def order_run(context: RequestContext, body: RunOrder) -> RunState:
    """Start, pause, resume or stop; kill: end it at once, which loses what is under way."""
    if body.do == "start":
        context.open_collection()  # a mistake in topic.toml shows here already
        run = context.runs.start(context.collection_folder, body.kind, _run_options(body))
    elif body.do == "resume":
        run = context.runs.resume(context.collection_folder)
    else:
        run = context.runs.stop(
            context.collection_folder, pause=body.do == "pause", force=body.do == "kill"
        )
    return _with_counts(context, run)


def _with_counts(context: RequestContext, run: RunState) -> RunState:
    """With what was visited so far, and where it stops."""
    try:
        with context.read_store() as store:
            visits = store.counter.read_counts().visits
    except StoreError:  # not crawled yet, or told where somebody looks into it
        visits = 0
    return msgspec.structs.replace(run, visits=visits, limit=_page_limit(context, run))


def _page_limit(context: RequestContext, run: RunState) -> int:
    if run.pid is not None or run.state == "paused":  # going on is going on to the same limit
        for option in run.arguments:
            if option.startswith(_PAGES_OPTION):
                return int(option.removeprefix(_PAGES_OPTION))
    if run.pid is not None:
        seen = live_status.read_live_status(context.collection_folder)
        if seen is not None and seen.pid == run.pid and seen.budget is not None:
            return seen.budget
    try:
        return load_settings(context.collection_folder / "topic.toml").crawl.pages
    except ConfigError:  # told when it is started
        return 0


def _run_options(body: RunOrder) -> list[str]:
    crawl, values = body.kind == "crawl", {"--hours": body.hours}
    if crawl:
        values = {"--pages": body.pages, **values}
        values |= {"--until-coverage": body.coverage, "--min-precision": body.precision}
    flags = ["--once"] if body.once and not crawl else []
    return [*flags, *(f"{key}={value}" for key, value in values.items() if value is not None)]


ROUTES = (
    Route("GET", "/api/c/{name}/run", run_state),
    Route("POST", "/api/c/{name}/run", order_run),
)
