"""What the studies share: jobs that are done once and kept, and tables to show."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from honeyguide import __version__
from honeyguide.errors import ConfigError
from honeyguide.lab.demo_web import demo_files
from honeyguide.lab.trials import WebSpec
from honeyguide.lab.workers import spread

Outcome = dict[str, Any]
"""What came of a job, as JSON holds it."""
_ENCYCLOPEDIA = "wikipedia-schools-2007.jsonl.gz"
_ROBOTS = "User-agent: *\nDisallow: /wp/index/\n"


class Table(NamedTuple):
    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""

    def markdown(self) -> str:
        lines = [f"### {self.title}", ""]
        lines += [f"| {' | '.join(row)} |" for row in (self.head, ("---",) * len(self.head))]
        lines += [f"| {' | '.join(row)} |" for row in self.rows]
        return "\n".join([*lines, "", *([self.note, ""] if self.note else [])])


class Study(Protocol):
    """A paper's experiment; each module of this package that is named after a paper is one."""

    @property
    def TITLE(self) -> str:  # noqa: N802 - a module's constant
        """Authors, year, and what it is about."""

    @property
    def ABOUT(self) -> str:  # noqa: N802 - likewise
        """What is done, and where it differs from what the paper did."""

    def jobs(self, folder: Path | None, draws: int) -> list[Any]:
        """What there is to do: frozen dataclasses. Without a folder, on the embedded web."""

    def perform(self, job: Any) -> Outcome: ...

    def tables(self, outcomes: Sequence[Outcome]) -> list[Table]:
        """Our figures beside the paper's."""


def study(paper: str) -> Study:
    """The study of a founding paper, by its number; its libraries are imported now."""
    match paper:
        case "000":
            from honeyguide.lab.papers import iliou_2017

            return iliou_2017
        case "001":
            from honeyguide.lab.papers import zheng_2008

            return zheng_2008
        case "004":
            from honeyguide.lab.papers import xu_2014

            return xu_2014
    raise ConfigError(f"there is no study of a paper {paper!r}; choose one of 000, 001, 004")


def markdown(chosen: Study, tables: Sequence[Table]) -> str:
    """A study as a part of a page."""
    return "\n".join((f"## {chosen.TITLE}", "", chosen.ABOUT, *(t.markdown() for t in tables)))


def web(folder: Path | None) -> WebSpec:
    """The encyclopedia of that folder, its index closed and no subject printed; or the demo."""
    if folder is None:
        return WebSpec("demo", demo_files())
    path = folder / _ENCYCLOPEDIA
    if not path.exists():
        raise ConfigError(f"{folder} has no {_ENCYCLOPEDIA}; without a folder it is the demo web")
    return WebSpec("schools", (str(path),), robots=_ROBOTS, strip=("h3#siteSub",))


def carry_out(
    paper: str,
    jobs: Sequence[Any],
    folder: Path,
    *,
    perform: Callable[[Any], Outcome] | None = None,
    workers: int = 0,
    done: Callable[[int, int], None] = lambda _n, _of: None,
) -> list[Outcome]:
    """Do every job that has no outcome yet; all outcomes, in the order of the jobs. ``perform``:
    what is done, where it is no paper's own study.

    Each is a line of ``<paper>.jsonl``, so that an interrupted study goes on where it ended.
    """
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{paper}.jsonl"
    known = dict(_read(path))
    missing = [job for job in jobs if _key(job) not in known]
    before = len(jobs) - len(missing)
    done(before, len(jobs))
    with path.open("a", encoding="utf-8") as file:
        made = spread(perform or study(paper).perform, missing, workers or os.cpu_count() or 1)
        for number, outcome in enumerate(made):
            key = _key(missing[number])
            file.write(json.dumps([key, outcome], separators=(",", ":")) + "\n")
            file.flush()
            known[key] = outcome
            done(before + number + 1, len(jobs))
    return [known[_key(job)] for job in jobs]


def _key(job: Any) -> str:
    """Everything that an outcome depends on, but for our own code: its version is in it."""
    return f"{__version__} {job!r}"


def _read(path: Path) -> Iterator[tuple[str, Outcome]]:
    if path.exists():
        for line in path.read_text("utf-8").splitlines():
            try:
                key, outcome = json.loads(line)
                yield str(key), dict(outcome)
            except (ValueError, TypeError):
                continue  # the last line of an interrupted run
