"""What the studies share: webs of one's own, jobs done once and kept, tables and pictures."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol, cast

import numpy as np
from xxhash import xxh3_64_hexdigest

from honeyguide import __version__
from honeyguide.api.collection import Collection
from honeyguide.errors import ConfigError
from honeyguide.lab.compare import run_in_processes
from honeyguide.lab.metrics import BootstrapEstimate
from honeyguide.lab.trials import WebSpec
from honeyguide.lab.web import demo_files
from honeyguide.store.store import Store
from honeyguide.types import MODEL_LABELLER

JobOutcome = dict[str, Any]
"""What came of a job, as JSON holds it."""
OWN_TOPIC = "relevant"
"""The topic of a web whose pages the user judged himself; its other judged pages are ``other``."""
_STUDIES = MappingProxyType(
    {
        "000": "hyperlink_selection",
        "001": "ontology_harvest",
        "002": "thread_sweep",
        "003": "category_transfer",
        "004": "utility_volumes",
    }
)
"""Paper → the file with its experiment."""


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
    """A paper's experiment: a module of this package."""

    @property
    def TITLE(self) -> str:  # noqa: N802 - a module's constant
        """Authors, year, and what it is about."""

    @property
    def ABOUT(self) -> str:  # noqa: N802 - likewise
        """What is done, and where it differs from what the paper did."""

    def run_job(self, job: Any) -> JobOutcome:
        """One topic, one draw: a frozen dataclass in, what JSON holds out."""

    def result_tables(self, outcomes: Sequence[JobOutcome]) -> list[StudyTable]:
        """Our figures beside the paper's."""

    def draw_pictures(self, outcomes: Sequence[JobOutcome]) -> Mapping[str, str]:
        """Name → SVG."""


@dataclass(frozen=True, slots=True)
class StudyReport:
    """A study's result, for people and machines."""

    title: str
    about: str
    tables: tuple[StudyTable, ...]
    pictures: Mapping[str, str]

    def to_markdown(self, *, pictures: bool = True) -> str:
        drawn = [f"![]({name}.svg)\n" for name in self.pictures] if pictures else []
        shown = (table.to_markdown() for table in self.tables)
        return "\n".join((f"## {self.title}", "", self.about, *drawn, *shown))

    def to_json(self) -> dict[str, Any]:
        return {"title": self.title, "tables": [table._asdict() for table in self.tables]}

    def write_files(self, folder: Path) -> None:
        """report.md, summary.json and the pictures."""
        for name, picture in self.pictures.items():
            (folder / f"{name}.svg").write_text(picture, "utf-8")
        (folder / "report.md").write_text(self.to_markdown(), "utf-8")
        (folder / "summary.json").write_text(json.dumps(self.to_json(), indent=1) + "\n", "utf-8")


def find_study(paper: str) -> PaperStudy:
    """The study of a founding paper, by its number; its libraries are imported now."""
    if paper not in _STUDIES:
        known = ", ".join(_STUDIES)
        raise ConfigError(f"there is no study of a paper {paper!r}; choose one of {known}")
    return cast(PaperStudy, import_module(f"honeyguide.lab.studies.{_STUDIES[paper]}"))


def run_study(
    paper: str,
    jobs: Sequence[Any],
    folder: Path,
    *,
    workers: int = 0,
    done: Callable[[int, int], None] = lambda _n, _of: None,
) -> StudyReport:
    """Do the jobs that have no outcome yet; write the report into the folder and return it."""
    study = find_study(paper)
    outcomes = run_jobs(study.run_job, jobs, folder, name=paper, workers=workers, done=done)
    report = StudyReport(
        study.TITLE,
        study.ABOUT,
        tuple(study.result_tables(outcomes)),
        study.draw_pictures(outcomes),
    )
    report.write_files(folder)
    return report


# --------------------------------------------------------------------------------------------------
# A user's own web: recorded pages as they are, a file of labels beside them, or a collection.
# --------------------------------------------------------------------------------------------------


def study_web(
    sources: Sequence[Path], labels: Mapping[str, str], folder: Path, serving: WebSpec
) -> WebSpec:
    """The web of a study: WARC files, JSON lines, collections' folders; none: the embedded demo.

    ``labels`` (address → topic) replace what the pages are labelled with; of a collection, the
    labels of its user are taken. Either way they are written into ``folder``. ``serving`` says how
    the web is served.
    """
    if not sources:
        return replace(serving, name="demo", files=demo_files())
    found, files = dict(labels), []
    for source in sources:
        if (source / "topic.toml").exists():
            collection = Collection(source)
            # Neither a pipe, at which we would wait, nor what a link of a stranger's leads to.
            found_files = sorted(source.glob("**/*.warc.gz"))
            files += [one for one in found_files if one.is_file() and not one.is_symlink()]
            found |= _collection_labels(collection)
        elif source.is_file():
            files.append(source)
        else:
            raise ConfigError(
                f"{source} is neither a recorded web (.warc.gz, .jsonl.gz) nor a collection"
            )
    if not files:
        raise ConfigError(f"{sources[0]} holds no WARC files: nothing was recorded (store.warc)")
    name = sources[0].name.split(".")[0]
    if found:
        folder.mkdir(parents=True, exist_ok=True)
        # Named by what is in it: other labels are another web, whose results are not these.
        lines = [json.dumps({"url": url, "labels": [found[url]]}) + "\n" for url in sorted(found)]
        path = folder / f"{xxh3_64_hexdigest(''.join(lines).encode())}.labels.jsonl"
        path.write_text("".join(lines), "utf-8")
        files.append(path)
    return replace(serving, name=name, files=tuple(map(str, files)))


def _collection_labels(collection: Collection) -> dict[str, str]:
    with Store.open(collection.folder, "read") as store:
        given = [label for _, label in store.labels.effective_after()]
    return {
        str(one.url): OWN_TOPIC if one.value >= 0.5 else "other"
        for one in given
        if not one.by.startswith(MODEL_LABELLER)
    }


# --------------------------------------------------------------------------------------------------
# Jobs that are done once: an interrupted study goes on where it ended.
# --------------------------------------------------------------------------------------------------


def run_jobs(
    perform: Callable[[Any], JobOutcome],
    jobs: Sequence[Any],
    folder: Path,
    *,
    name: str = "results",
    workers: int = 0,
    done: Callable[[int, int], None] = lambda _n, _of: None,
) -> list[JobOutcome]:
    """Do every job that has no outcome yet; all outcomes, in the order of the jobs. Each is a line
    of ``<name>.jsonl``."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.jsonl"
    known = dict(_read_outcomes(path))
    missing = [job for job in jobs if _job_key(job) not in known]
    before = len(jobs) - len(missing)
    done(before, len(jobs))
    with path.open("a", encoding="utf-8") as file:
        for number, outcome in enumerate(
            run_in_processes(perform, missing, workers or os.cpu_count() or 1)
        ):
            key = _job_key(missing[number])
            file.write(json.dumps([key, outcome], separators=(",", ":")) + "\n")
            file.flush()
            known[key] = outcome
            done(before + number + 1, len(jobs))
    return [known[_job_key(job)] for job in jobs]


def finished_jobs(jobs: Sequence[Any], folder: Path, *, name: str = "results") -> list[Any]:
    """Those that have an outcome."""
    known = dict(_read_outcomes(folder / f"{name}.jsonl"))
    return [job for job in jobs if _job_key(job) in known]


def _job_key(job: Any) -> str:
    """Everything that an outcome depends on, but for our own code: its version is in it."""
    return f"{__version__} {job!r}"


def _read_outcomes(path: Path) -> Iterator[tuple[str, JobOutcome]]:
    if path.exists():
        for line in path.read_text("utf-8").splitlines():
            try:
                key, outcome = json.loads(line)
                yield str(key), dict(outcome)
            except (ValueError, TypeError):
                continue  # the last line of an interrupted run


# --------------------------------------------------------------------------------------------------
# Arithmetic that several studies need.
# --------------------------------------------------------------------------------------------------


_DRAWS = 10_000
_FILE_CHARS = 50
"""Labels of pages may be long; names of files are not."""


def by_topic(outcomes: Iterable[JobOutcome]) -> list[list[JobOutcome]]:
    """The draws of each topic, topics in the order in which they come."""
    groups: dict[str, list[JobOutcome]] = {}
    for outcome in outcomes:
        groups.setdefault(outcome["topic"], []).append(outcome)
    return list(groups.values())


def file_name(topic: str) -> str:
    """A topic as a part of a picture's name."""
    return re.sub(r"[^\w.=-]+", "-", topic)[:_FILE_CHARS]


def relative_gain(ours: Sequence[float], theirs: Sequence[float]) -> BootstrapEstimate:
    """How much more, as a share: the ratio of the means less one, and its 95 % interval.

    Draws are paired, and drawn with replacement for the interval. Infinite, where they have none.
    """
    a, b = np.asarray(ours, float), np.asarray(theirs, float)
    chosen = np.random.default_rng(1).integers(0, len(a), (_DRAWS, len(a)))
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = a[chosen].mean(axis=1) / b[chosen].mean(axis=1) - 1
        mean = a.mean() / b.mean() - 1
    # Nothing is interpolated, because infinite ratios have no middle.
    low, high = np.quantile(ratios, (0.025, 0.975), method="nearest")
    return BootstrapEstimate(float(mean), float(low), float(high))
