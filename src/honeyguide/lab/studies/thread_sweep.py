"""Meegahapola et al., tables II and III: how many threads, and which configuration, watch fastest?

A local server answers after a latency; a tenth of its pages changes. Every configuration comes back
to the same pages: one thread (1), N that crawl, M that bring old versions and K that compare (2), N
and M that bring and compare (3), and ours.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import shutil
import signal
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection
from pathlib import Path
from statistics import mean, stdev

from honeyguide.api.chart import svg_chart
from honeyguide.api.collection import Collection
from honeyguide.api.create import create
from honeyguide.config.settings import WatchConfiguration
from honeyguide.errors import ConfigError
from honeyguide.lab.responses import LabResponder, LabResponse, ServingOptions
from honeyguide.lab.server import LabServer
from honeyguide.lab.studies.study import JobOutcome, StudyTable
from honeyguide.lab.trials import WebSpec, open_web
from honeyguide.lab.web import RecordedResponse, gzip_bytes, without_scheme
from honeyguide.watch.configurations import PUBLISHED_THREADS

TITLE = "Meegahapola et al.: threads that watch pages"
ABOUT = """\
As in the paper: effective time is (end − start) ÷ pages; M and K are at most a quarter of N and at
most 15; rounds are repeated and their standard deviation is told. Its best were 911.05 ms with one
thread, 60.05 ms with N = 78, M = K = 6 (configuration 2) and 59.19 ms with N = 78, M = 11
(configuration 3): 93.51 % less than one thread, and 1.43 % less than configuration 2. The best M
was the best K for 73 % of all N, and configuration 3 was faster for 96 % of them.

Differs: pages come from a server on this machine that waits before each answer, so that latency is
the same for everybody; a tenth of them changed, and what each configuration reports is checked.
Hosts are asked by one at a time. *adaptive* is ours.
"""
DEMO_PLAN = "seed=7,pages=150,hosts=60"
_MOST_COMPARERS = 15
_EDIT = b"<p>This paragraph is new here: seven herons stood in the shallow water at dawn.</p>"


@dataclass(frozen=True, slots=True)
class ThreadJob:
    """One configuration with its numbers of threads, all rounds."""

    web: WebSpec
    pages: int
    configuration: WatchConfiguration
    threads: tuple[int, ...]
    """N, M and K as far as there are; () for ours."""
    rounds: int
    latency_s: float


def plan_jobs(
    web: WebSpec,
    pages: int,
    fetchers: Sequence[int],
    comparers: Sequence[int],
    rounds: int,
    latency_s: float,
) -> list[ThreadJob]:
    """One thread, ours, and for every N each M (and K) that the paper's limits admit."""
    cells: list[tuple[WatchConfiguration, tuple[int, ...]]] = [("1", (1,)), ("adaptive", ())]
    for n in fetchers:
        admitted = [m for m in comparers if m <= min(_MOST_COMPARERS, max(1, n // 4))]
        cells += [("2", (n, m, k)) for m in admitted for k in admitted]
        cells += [("3", (n, m)) for m in admitted]
    return [ThreadJob(web, pages, which, some, rounds, latency_s) for which, some in cells]


def run_job(job: ThreadJob) -> JobOutcome:
    keys = _page_keys(job.web, job.pages)
    edited = frozenset(keys[::10])
    rounds = []
    with tempfile.TemporaryDirectory(prefix="honeyguide-lab-") as folder:
        base = Path(folder) / "base"
        with _edited_server(job, frozenset()) as address:
            made = create(
                base,
                seeds=[f"http://{keys[0]}"],
                contact="https://example.org/lab",
                fetch={"lab": address},
                politeness={"loopback_delay_s": 0.0, "response_factor": 0.0},
                store={"warc": False, "min_free_mb": 0},
                watch={"second_look_s": 0},
            )
            made.watch_list.add(*(f"http://{key}" for key in keys))
            made.watch(once=True, progress=False)
        with _edited_server(job, edited) as address:
            for number in range(job.rounds):
                folder_now = Path(folder) / str(number)
                shutil.copytree(base, folder_now)
                rounds.append(_watch_once(job, folder_now, address, edited))
    return {
        "configuration": job.configuration,
        "threads": list(job.threads),
        "pages": len(keys),
        "latency_ms": 1000 * job.latency_s,
        "rounds": rounds,
    }


def _watch_once(
    job: ThreadJob, folder: Path, address: str, edited: frozenset[str]
) -> dict[str, float]:
    topic = folder / "topic.toml"
    lab = next(line for line in topic.read_text("utf-8").splitlines() if line.startswith("lab ="))
    topic.write_text(topic.read_text("utf-8").replace(lab, f'lab = "{address}"'), "utf-8")
    watched = Collection(folder)
    went = watched.watch(
        once=True,
        configuration=job.configuration,
        threads=() if job.configuration in ("1", "adaptive") else job.threads,
        progress=False,
    )
    told = {
        without_scheme(row.change.url) for row in watched.changes() if "new" not in row.change.kinds
    }
    return {
        "effective_ms": went.effective_ms,
        "longest_queue": went.longest_queue,
        "fetchers": went.fetchers,
        "visits": went.visits,
        "missed": len(edited - told),
        "invented": len(told - edited),
    }


# --------------------------------------------------------------------------------------------------
# A server of pages that change, in a process of its own.
# --------------------------------------------------------------------------------------------------


class EditedResponder(LabResponder):
    """The lab's answers, with a new paragraph on some pages."""

    edited: frozenset[str] = frozenset()
    """Addresses without scheme."""

    def _prepare_response(self, record: RecordedResponse) -> LabResponse:
        if without_scheme(record.url) in self.edited:
            before, end, after = record.body.partition(b"</body>")
            record = record._replace(packed=gzip_bytes(before + _EDIT + end + after))
        return super()._prepare_response(record)


def _page_keys(web: WebSpec, pages: int) -> list[str]:
    """Pages that can be watched, in an order in which hosts take turns."""
    found: dict[str, list[str]] = {}
    for record in open_web(web).responder.web:
        key = without_scheme(record.url)
        if record.status == 200 and "html" in (record.header("content-type") or "html"):
            found.setdefault(key.partition("/")[0], []).append(key)
    turns = [
        (turn, host, key)
        for host, keys in sorted(found.items())
        for turn, key in enumerate(sorted(keys))
    ]
    if not turns:
        raise ConfigError(f"{web.name} has no pages that could be watched")
    return [key for _, _, key in sorted(turns)][:pages]


@contextmanager
def _edited_server(job: ThreadJob, edited: frozenset[str]) -> Iterator[str]:
    """Its address while the block lasts."""
    context = multiprocessing.get_context("spawn")
    near, far = context.Pipe()
    process = context.Process(target=_run_server, args=(job, edited, far), daemon=True)
    process.start()
    far.close()
    try:
        yield near.recv()
    except EOFError as error:
        raise ConfigError("the study's server did not start") from error
    finally:
        near.close()
        process.terminate()
        process.join()


def _run_server(job: ThreadJob, edited: frozenset[str], parent: Connection) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent ends it

    async def serve_pages() -> None:
        web, serving = open_web(job.web).responder.web, ServingOptions(latency_s=job.latency_s)
        async with LabServer(web, serving=replace(serving, robots="")) as server:
            desk = EditedResponder(web, server.desk.serving)
            desk.edited = edited
            server.desk = desk
            for key in _page_keys(job.web, job.pages):
                desk.respond(key)  # made now, not while somebody waits
            parent.send(server.address)
            await asyncio.to_thread(parent.poll, None)  # ends with the parent

    asyncio.run(serve_pages())


# --------------------------------------------------------------------------------------------------
# Tables and pictures.
# --------------------------------------------------------------------------------------------------


def result_tables(outcomes: Sequence[JobOutcome]) -> list[StudyTable]:
    return [_configuration_table(outcomes), _sweep_table(outcomes)]


def draw_pictures(outcomes: Sequence[JobOutcome]) -> dict[str, str]:
    """Effective time over N, with the best M (and K)."""
    curves = {
        f"configuration {which}": [
            (float(n), _mean_effective(best))
            for n, best in _best_by_fetchers(outcomes, which).items()
        ]
        for which in ("2", "3")
    }
    picture = svg_chart("Effective time per page", "N", "ms", curves)
    return {"effective-time": picture} if any(curves.values()) else {}


def _mean_effective(outcome: JobOutcome) -> float:
    return float(mean(one["effective_ms"] for one in outcome["rounds"]))


def _tell_effective(outcome: JobOutcome) -> str:
    times = [one["effective_ms"] for one in outcome["rounds"]]
    return f"{mean(times):.2f}" + (f" ± {stdev(times):.2f}" if len(times) > 1 else "")


def _best_by_fetchers(outcomes: Sequence[JobOutcome], which: str) -> dict[int, JobOutcome]:
    best: dict[int, JobOutcome] = {}
    for one in outcomes:
        if one["configuration"] == which:
            n = one["threads"][0]
            best[n] = min(best.get(n, one), one, key=_mean_effective)
    return dict(sorted(best.items()))


def _configuration_table(outcomes: Sequence[JobOutcome]) -> StudyTable:
    paper = {"1": "911.05", "2": "60.05", "3": "59.19"}
    best: dict[str, JobOutcome] = {}
    for one in outcomes:
        which = one["configuration"]
        best[which] = min(best.get(which, one), one, key=_mean_effective)
    rows = []
    for which, one in best.items():
        less = 1 - _mean_effective(one) / _mean_effective(best["1"])
        rows.append(
            (
                which,
                "/".join(map(str, one["threads"])) or str(int(one["rounds"][0]["fetchers"])),
                _tell_effective(one),
                "–" if which == "1" else f"{less:.2%}",
                *(str(int(max(r[k] for r in one["rounds"]))) for k in ("longest_queue",)),
                *(str(int(sum(r[k] for r in one["rounds"]))) for k in ("missed", "invented")),
                paper.get(which, ""),
                "/".join(map(str, PUBLISHED_THREADS.get(which, ()))),
            )
        )
    first = outcomes[0]
    note = (
        f"{first['pages']} pages, {first['latency_ms']:.0f} ms latency, the mean of "
        f"{len(first['rounds'])} rounds and its standard deviation. Of each configuration the "
        "fastest numbers of threads; missed and invented changes of all its rounds."
    )
    head = ("configuration", "N/M/K", "ms per page", "less than one thread", "longest queue",
            "missed", "invented", "paper: ms", "paper: N/M/K")  # fmt: skip
    return StudyTable("The best of each configuration", head, tuple(rows), note)


def _sweep_table(outcomes: Sequence[JobOutcome]) -> StudyTable:
    two, three = (_best_by_fetchers(outcomes, which) for which in ("2", "3"))
    rows = []
    for n in two:
        _, m, k = two[n]["threads"]
        less = 1 - _mean_effective(three[n]) / _mean_effective(two[n])
        rows.append(
            (str(n), f"{m}, {k}", _tell_effective(two[n]), str(three[n]["threads"][1]),
             _tell_effective(three[n]), f"{less:.2%}")
        )  # fmt: skip
    equal = sum(one["threads"][1] == one["threads"][2] for one in two.values())
    faster = sum(_mean_effective(three[n]) < _mean_effective(two[n]) for n in two)
    note = (
        f"The best M was the best K for {equal} of {len(two)} N (paper: 73 %), and configuration 3 "
        f"was faster for {faster} of them (paper: 96 %; 0.17 % less time over all N)."
    )
    head = ("N", "2: best M, K", "2: ms", "3: best M", "3: ms", "3 takes less by")
    return StudyTable("For every N", head, tuple(rows), note)
