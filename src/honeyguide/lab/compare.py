"""Running comparison crawls in parallel processes, and collecting their results."""

from __future__ import annotations

import json
import multiprocessing
import os
import random
import shutil
import signal
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, replace
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TypeVar

from honeyguide.config.settings import Settings
from honeyguide.crawl.from_settings import build_strategy
from honeyguide.lab.graph import WebGraph
from honeyguide.lab.search_engine import LabSearchEngine
from honeyguide.lab.simulate import simulate_crawl
from honeyguide.lab.trials import (
    CrawlTrial,
    DrawnTopic,
    TrialResult,
    draw_topic,
    index_web,
    open_web,
    trial_examples,
    trial_settings,
)
from honeyguide.lab.variants import (
    REFERENCE_STRATEGIES,
    SimulatedInterview,
    SimulatedPerson,
    parse_variant,
)
from honeyguide.lab.web import without_scheme
from honeyguide.learning.training_feed import LabelAnswers
from honeyguide.protocols import Strategy
from honeyguide.store.store import Store
from honeyguide.types import UNREQUESTED, Example

Job = TypeVar("Job")
Done = TypeVar("Done")

_ORPHAN_GRACE_S = 2.0
"""How long an orphan may take to clear its folder away."""


def run_in_processes(
    perform: Callable[[Job], Done], jobs: Sequence[Job], workers: int
) -> Iterator[Done]:
    """What came of every job, in their order; here, where one worker suffices."""
    if workers == 1 or len(jobs) < 2:
        yield from map(perform, jobs)
        return
    context = multiprocessing.get_context("spawn")
    near, far = context.Pipe(duplex=False)
    pooled = partial(ProcessPoolExecutor, workers, mp_context=context)
    with near, far, _safe_path(), pooled(initializer=_start_worker, initargs=(near,)) as pool:
        try:
            yield from pool.map(partial(_run_in_worker, perform), jobs)
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


def _run_in_worker(perform: Callable[[Job], Done], job: Job) -> Done:
    parent = multiprocessing.parent_process()
    if parent is None or not parent.is_alive():
        os._exit(1)  # jobs that were handed out already are nobody's any more
    try:
        return perform(job)
    except KeyboardInterrupt:
        os._exit(1)  # the pool would go on with the next job


def _start_worker(parent: Connection) -> None:
    """Ctrl-C reaches every process of a terminal, and the parent alone answers it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    threading.Thread(target=_exit_with_parent, args=(parent,), daemon=True).start()


def _exit_with_parent(parent: Connection) -> None:
    """The pipe ends when the parent wants no more, and when it was killed and could tell nobody:
    its workers would wait for jobs for ever."""
    parent.poll(None)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)  # nobody is left to read what an interrupted job would say
    if main := threading.main_thread().ident:
        signal.pthread_kill(main, signal.SIGTERM)
    time.sleep(_ORPHAN_GRACE_S)
    os._exit(1)


# --------------------------------------------------------------------------------------------------
# One crawl of a comparison: a topic is drawn, crawled in simulated time, and judged.
# --------------------------------------------------------------------------------------------------


_MEMORY_FOLDER = "/dev/shm"  # noqa: S108 - the folder made in it has a name nobody can guess
_MIN_FREE_BYTES = 2 << 30


def run_trial(trial: CrawlTrial) -> TrialResult:
    """One crawl."""
    web = open_web(trial.web)
    topic = draw_topic(trial)
    with tempfile.TemporaryDirectory(prefix="honeyguide-lab-", dir=_scratch_folder()) as folder:
        began = time.process_time()
        settings, examples = trial_settings(trial, topic), trial_examples(trial, topic)
        originals = _find_originals(trial, topic, web.graph)
        people = _simulated_people(trial, topic, Path(folder), settings, examples)
        simulate_crawl(
            Path(folder),
            settings,
            web.responder.with_engine(_trial_engine(trial)),
            strategy=_special_strategy(trial, topic, settings, originals),
            latency=lambda _: trial.web.latency_s,
            examples=examples,
            people=people,
        )
        spent = time.process_time() - began
        return _judge_trial(trial, topic, originals, Path(folder), spent)


def _find_originals(trial: CrawlTrial, topic: DrawnTopic, graph: WebGraph) -> dict[str, str]:
    """Relevant pages in reach and those that were given, each with the page that it copies, or
    itself: copies of given pages are not to be found."""
    reach = graph.reachable_from((*topic.seeds, *_engine_urls(trial)))
    given = [without_scheme(url) for url in (*topic.seeds, *topic.examples)]
    relevant = set(topic.relevant)
    found = [key for key in dict.fromkeys(given) if key in relevant]
    return graph.find_originals([*found, *sorted(relevant & reach - set(given))])


def _scratch_folder() -> str | None:
    """Where a collection that is thrown away lies: in memory, if there is plenty of room."""
    try:
        return _MEMORY_FOLDER if shutil.disk_usage(_MEMORY_FOLDER).free > _MIN_FREE_BYTES else None
    except OSError:
        return None  # the system's own place for such things


def _simulated_people(
    trial: CrawlTrial,
    topic: DrawnTopic,
    folder: Path,
    settings: Settings,
    examples: Sequence[Example],
) -> LabelAnswers | None:
    """Who knows the truth about the topic, and how they are asked."""
    chosen, truth = parse_variant(trial.strategy), frozenset(topic.relevant)
    if not chosen.has_person:
        return None
    if chosen.asks == "passing":
        return SimulatedPerson(truth, chosen.answers, chosen.one_in)
    dice = random.Random(trial.draw) if chosen.asks == "random" else None
    return SimulatedInterview(folder, settings, truth, chosen.answers, examples, dice)


def _trial_engine(trial: CrawlTrial) -> LabSearchEngine | None:
    """The search engine at the crawler's side."""
    enquiry = parse_variant(trial.strategy).engine
    if enquiry is None:
        return None
    return LabSearchEngine(index_web(trial.web, enquiry.reach), latency_s=enquiry.latency_s)


def _special_strategy(
    trial: CrawlTrial, topic: DrawnTopic, settings: Settings, originals: dict[str, str]
) -> Strategy | None:
    """A reference, which no registry knows, or one that begins without keywords; else None."""
    if made := REFERENCE_STRATEGIES.get(trial.strategy):
        # A copy is not relevant: to references neither.
        return made(
            tuple(key for key in topic.relevant if originals.get(key, key) == key), trial.draw
        )
    if settings.topic.keywords or trial.start is None or not trial.start.good:
        return None
    # Its examples are handed over and lie in no files; it wants to know that there are some.
    named = replace(settings.topic, good_files=("given",))
    return build_strategy(replace(settings, topic=named))


def _engine_urls(trial: CrawlTrial) -> Iterable[str]:
    """What engines on this web know."""
    enquiry = parse_variant(trial.strategy).engine
    reach = max(trial.web.reach, enquiry.reach if enquiry else 0.0)
    return index_web(trial.web, reach).urls if reach else ()


def _judge_trial(
    trial: CrawlTrial, topic: DrawnTopic, originals: dict[str, str], folder: Path, spent: float
) -> TrialResult:
    truth = set(topic.relevant)
    given = {without_scheme(url) for url in (*topic.seeds, *topic.examples)}
    goal = set(originals.values()) - given
    found: list[int] = []
    running = judged = right = visits = 0
    with Store.open(folder, "read") as store:
        for row in store.visits.iter_visits():
            if row.status is None and row.failure in UNREQUESTED:
                continue
            visits += 1
            key = without_scheme(row.url)
            if row.relevant:
                judged += 1
                right += key in truth
            if key in given:
                continue
            if row.has_page and (original := originals.get(key)) in goal:
                goal.discard(original)
                running += 1
            found.append(running)
    return TrialResult(
        trial.key,
        trial.web.name,
        trial.topic,
        trial.strategy,
        trial.draw,
        visits,
        tuple(found),
        running + len(goal),
        judged,
        right,
        round(spent / max(1, visits) * 1000, 3),
    )


# --------------------------------------------------------------------------------------------------
# Run strategies on webs and topics, in simulated time and in parallel, and keep the results.
#
# Each crawl is one line of ``results.jsonl``; a comparison that was interrupted goes on where it
# ended, and one with more strategies adds only what is missing.
# --------------------------------------------------------------------------------------------------


def run_comparison(
    trials: Sequence[CrawlTrial],
    folder: Path,
    *,
    workers: int = 0,
    done: Callable[[int, int], None] = lambda _n, _of: None,
) -> list[TrialResult]:
    """Make every trial that has no result yet; all results, in the order of the trials."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "results.jsonl"
    known = {result.key: result for result in _read_results(path)}
    missing = [trial for trial in trials if trial.key not in known]
    done(len(trials) - len(missing), len(trials))
    with path.open("a", encoding="utf-8") as file:
        for number, result in enumerate(
            run_in_processes(run_trial, missing, workers or os.cpu_count() or 1), 1
        ):
            file.write(json.dumps(asdict(result), separators=(",", ":")) + "\n")
            file.flush()
            known[result.key] = result
            done(len(trials) - len(missing) + number, len(trials))
    return [known[trial.key] for trial in trials]


def _read_results(path: Path) -> Iterator[TrialResult]:
    if path.exists():
        for line in path.read_text("utf-8").splitlines():
            try:
                raw = json.loads(line)
                yield TrialResult(**raw | {"found": tuple(raw["found"])})
            except (ValueError, TypeError, KeyError):
                continue  # the last line of an interrupted run
