"""What the studies share: jobs that are done once and kept, and tables to show."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from honeyguide import __version__
from honeyguide.errors import ConfigError
from honeyguide.lab.compare import run_in_processes
from honeyguide.lab.trials import WebSpec
from honeyguide.lab.web import demo_files

JobOutcome = dict[str, Any]
"""What came of a job, as JSON holds it."""
_ENCYCLOPEDIA = "wikipedia-schools-2007.jsonl.gz"
_ROBOTS = "User-agent: *\nDisallow: /wp/index/\n"


class StudyTable(NamedTuple):
    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""

    def to_markdown(self) -> str:
        lines = [f"### {self.title}", ""]
        lines += [f"| {' | '.join(row)} |" for row in (self.head, ("---",) * len(self.head))]
        lines += [f"| {' | '.join(row)} |" for row in self.rows]
        return "\n".join([*lines, "", *([self.note, ""] if self.note else [])])


class PaperStudy(Protocol):
    """A paper's experiment; each module of this package that is named after a paper is one."""

    @property
    def TITLE(self) -> str:  # noqa: N802 - a module's constant
        """Authors, year, and what it is about."""

    @property
    def ABOUT(self) -> str:  # noqa: N802 - likewise
        """What is done, and where it differs from what the paper did."""

    def list_jobs(self, folder: Path | None, draws: int) -> list[Any]:
        """What there is to do: frozen dataclasses. Without a folder, on the embedded web."""

    def run_job(self, job: Any) -> JobOutcome: ...

    def result_tables(self, outcomes: Sequence[JobOutcome]) -> list[StudyTable]:
        """Our figures beside the paper's."""


def find_study(paper: str) -> PaperStudy:
    """The study of a founding paper, by its number; its libraries are imported now."""
    match paper:
        case "000":
            from . import iliou_2017

            return iliou_2017
        case "001":
            from . import zheng_2008

            return zheng_2008
        case "004":
            from . import xu_2014

            return xu_2014
    raise ConfigError(f"there is no study of a paper {paper!r}; choose one of 000, 001, 004")


def study_markdown(chosen: PaperStudy, tables: Sequence[StudyTable]) -> str:
    """A study as a part of a page."""
    return "\n".join((f"## {chosen.TITLE}", "", chosen.ABOUT, *(t.to_markdown() for t in tables)))


def study_web(folder: Path | None) -> WebSpec:
    """The encyclopedia of that folder, its index closed and no subject printed; or the demo."""
    if folder is None:
        return WebSpec("demo", demo_files())
    path = folder / _ENCYCLOPEDIA
    if not path.exists():
        raise ConfigError(f"{folder} has no {_ENCYCLOPEDIA}; without a folder it is the demo web")
    return WebSpec("schools", (str(path),), robots=_ROBOTS, strip=("h3#siteSub",), closed=True)


def run_jobs(
    paper: str,
    jobs: Sequence[Any],
    folder: Path,
    *,
    perform: Callable[[Any], JobOutcome] | None = None,
    workers: int = 0,
    done: Callable[[int, int], None] = lambda _n, _of: None,
) -> list[JobOutcome]:
    """Do every job that has no outcome yet; all outcomes, in the order of the jobs. ``perform``:
    what is done, where it is no paper's own study.

    Each is a line of ``<paper>.jsonl``, so that an interrupted study goes on where it ended.
    """
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{paper}.jsonl"
    known = known_outcomes(paper, folder)
    missing = [job for job in jobs if job_key(job) not in known]
    before = len(jobs) - len(missing)
    done(before, len(jobs))
    with path.open("a", encoding="utf-8") as file:
        made = run_in_processes(
            perform or find_study(paper).run_job, missing, workers or os.cpu_count() or 1
        )
        for number, outcome in enumerate(made):
            key = job_key(missing[number])
            file.write(json.dumps([key, outcome], separators=(",", ":")) + "\n")
            file.flush()
            known[key] = outcome
            done(before + number + 1, len(jobs))
    return [known[job_key(job)] for job in jobs]


def job_key(job: Any) -> str:
    """Everything that an outcome depends on, but for our own code: its version is in it."""
    return f"{__version__} {job!r}"


def known_outcomes(paper: str, folder: Path) -> dict[str, JobOutcome]:
    """What was done so far, by the keys of jobs."""
    return dict(_read_outcomes(folder / f"{paper}.jsonl"))


def _read_outcomes(path: Path) -> Iterator[tuple[str, JobOutcome]]:
    if path.exists():
        for line in path.read_text("utf-8").splitlines():
            try:
                key, outcome = json.loads(line)
                yield str(key), dict(outcome)
            except (ValueError, TypeError):
                continue  # the last line of an interrupted run
