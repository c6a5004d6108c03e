"""What accepting the advice of `honeyguide advise` brings, in crawls from few words.

    python bench/advice.py FOLDER [--half choose|report|fresh] [--starts keyword keywords+seed …]
                           [--ways "as advised" labels words both] [--pages 250] [--keep FOLDER]

From each start of bench/verdicts.py a real crawl is made. Where there is advice that a key accepts,
the crawl goes on for as many visits from the same state, once as it is and once with the advice
answered truthfully: a question page by page, words if most of the named pages are wanted. Scores
are of all pages visited by then but for the named ones, at the crawl's own cut; differences have 95 %
intervals (bootstrap over crawls). ``--ways`` tries other answers to a question: labels alone, words
alone that tell the wanted pages from the others, or both. Only time is simulated. ``--keep``: where
the first crawls stay, to be gone on with another time. Interrupted, it goes on where it ended.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import verdicts

from honeyguide.api.advice import Advice, CrawlEvidence, find_advice, find_signs
from honeyguide.config.loading import parse_settings
from honeyguide.config.settings import Settings
from honeyguide.lab.simulate import simulate_crawl
from honeyguide.lab.studies.study import run_jobs
from honeyguide.lab.trials import open_web
from honeyguide.lab.web import without_scheme
from honeyguide.store.store import Store
from honeyguide.types import Label, Url

ROOT = Path(__file__).parents[1]
WAYS = ("as advised", "labels", "words", "both")
MEASURES = ("precision", "recall", "f1")


@dataclass(frozen=True, slots=True)
class AdviceTrial:
    """One start of a topic; the crawl stops after so many visits, and goes on for as many."""

    folder: str
    statement: verdicts.Statement
    start: str
    pages: int
    ways: tuple[str, ...]
    keep: str


def run_trial(trial: AdviceTrial) -> dict[str, Any]:
    """Scores of the first half, the advice, and scores with it and without it."""
    statement = trial.statement
    spec = verdicts.named_web(statement.web, trial.folder)
    web = open_web(spec)
    urls = web.responder.web.urls_labelled(statement.label)
    truth = frozenset(without_scheme(url) for url in urls)
    told = verdicts.VerdictTrial(trial.folder, statement, trial.start, 0)
    topic, given = verdicts.stated_topic(told, spec, web, sorted(truth))
    stated = {"name": "it", "keyword_language": spec.language, **topic}

    def crawl(folder: Path, pages: int, **changed: Any) -> None:
        settings = parse_settings(tables(pages) | {"topic": stated | changed}, "the bench")
        simulate_crawl(folder, settings, web.responder, latency=lambda _: 1.0)

    def scores(folder: Path, named: Sequence[Url] = ()) -> dict[str, float]:
        out = given | set(map(without_scheme, named))
        with Store.open(folder, "read") as store:
            found = {
                without_scheme(row.url): row.verdict or 0.0
                for row in store.visits.iter_visits(page=True)
                if not row.copy_of
            }
            pages = [(key, v, int(key in truth)) for key, v in found.items() if key not in out]
            made = verdicts.score_pages(pages, store.threshold)
        return {key: made[key] for key in MEASURES}

    with tempfile.TemporaryDirectory(prefix="advice-", dir="/dev/shm") as temporary:
        last = statement.label.rpartition(".")[2]
        folder = Path(trial.keep or temporary, f"{last}-{trial.start}".replace(" ", "_"))
        if not (folder / "collection.db").exists():
            folder.mkdir(parents=True)
            crawl(folder, trial.pages)
        settings = parse_settings(tables(trial.pages) | {"topic": stated}, "the bench")
        base = Path(shutil.copytree(folder, Path(temporary, "base")))
        found = find_advice(base, settings)
        result: dict[str, Any] = {"topic": last, "start": trial.start, "first": scores(base)}
        result["advice"] = [f"{one.kind}: {one}" for one in found]
        one = next((one for one in found if one.question or "topic" in one.changes), None)
        if one is None:
            return result
        named = [without_scheme(url) in truth for url in one.pages]
        wanted = result["wanted"] = 2 * sum(named) > len(named)
        for way in ("as it is", *(trial.ways if one.question else trial.ways[:1])):
            other = Path(shutil.copytree(folder, Path(temporary, way)))
            changed: dict[str, Any] = {}
            if one.question and way in ("as advised", "labels", "both"):
                with Store.open(other, "write") as store:
                    values = zip(one.pages, named, strict=True)
                    store.labels.add([Label(Url(url), float(good)) for url, good in values])
            if one.question and way in ("words", "both"):
                changed = more_keywords(base, settings, one, wanted=wanted)
            elif way == "as advised" and wanted:
                changed = dict(one.changes.get("topic", {}))
            crawl(other, 2 * trial.pages, **changed)
            result[way] = scores(other, [Url(url) for url in one.pages])
    return result


def more_keywords(
    folder: Path, settings: Settings, one: Advice, *, wanted: bool
) -> dict[str, list[str]]:
    """Words of the pages that are kept, if the question's are wanted; else of the others."""
    with Store.open(folder, "read") as store:
        seen = CrawlEvidence(store, settings)
        likely = {
            page.url
            for kept, page in seen.pages
            if kept and (wanted or (page.url not in one.pages and seen.keyword_density(page) >= 1))
        }
        good = [phrases for _, phrases in seen.phrases if phrases.url in likely]
        rest = [phrases for _, phrases in seen.phrases if phrases.url not in likely]
        return dict(seen.add_keywords(find_signs(good, rest, settings))[1].get("topic", {}))


def tables(pages: int) -> dict[str, Any]:
    return {
        "crawl": {"pages": pages, "concurrency": 1, "random_seed": 1},
        "scope": {"sitemaps": "never"},
        "fetch": {"contact": "https://example.org/lab", "lab": "http://127.0.0.1:1"},
        "politeness": {"loopback_delay_s": 0.0, "response_factor": 0.0},
        "store": {"warc": False, "min_free_mb": 0},
    }


def table(results: Sequence[dict[str, Any]], ways: Sequence[str], pages: int) -> Iterator[str]:
    """Every crawl that got advice, and the mean differences."""
    advised = [one for one in results if "as it is" in one]
    yield f"{len(results)} crawls, {len(advised)} with advice that a key answers. F1:"
    yield ""
    heads = [f"after {pages}", f"after {2 * pages}", *(f"… {way}" for way in ways)]
    yield "| topic | told by | advice | answer | " + " | ".join(heads) + " |"
    yield "|---|---|---|---|" + "--:|" * len(heads)
    for one in advised:
        kind = next(text for text in one["advice"]).partition(":")[0]
        cells = [
            one["topic"].replace("_", " "),
            one["start"],
            kind,
            "yes" if one["wanted"] else "no",
        ]
        cells += [f"{one['first']['f1']:.2f}", f"{one['as it is']['f1']:.2f}"]
        cells += [f"{one[way]['f1']:.2f}" if way in one else "–" for way in ways]
        yield "| " + " | ".join(cells) + " |"
    yield ""
    yield "| answered by | crawls | precision | recall | F1 |"
    yield "|---|--:|--:|--:|--:|"
    for way in ways:
        pairs = [(one[way], one["as it is"]) for one in advised if way in one]
        cells = []
        for name in MEASURES:
            gains = [after[name] - before[name] for after, before in pairs]
            low, high = verdicts.interval(gains) if gains else (0.0, 0.0)
            mean = statistics.fmean(gains) if gains else 0.0
            cells.append(f"{mean:+.3f} [{low:+.3f}, {high:+.3f}]")
        yield f"| {way} | {len(pairs)} | " + " | ".join(cells) + " |"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", help="where the recorded webs are")
    parser.add_argument("--half", choices=verdicts.HALVES, default="fresh")
    starts = ["keyword", "keywords+seed"]
    parser.add_argument("--starts", nargs="+", choices=verdicts.STARTS, default=starts)
    parser.add_argument("--ways", nargs="+", default=list(WAYS[:1]), choices=WAYS)
    parser.add_argument("--topics", nargs="+", default=[""], help="parts of names of topics")
    parser.add_argument("--pages", type=int, default=250)
    parser.add_argument("--keep", default="", help="a folder where the first crawls stay")
    parser.add_argument("--results", type=Path, default=ROOT / "bench" / "results" / "advice")
    parser.add_argument("--workers", type=int, default=1)
    chosen = parser.parse_args()
    trials = [
        AdviceTrial(
            chosen.folder, statement, start, chosen.pages, tuple(chosen.ways), chosen.keep
        )
        for statement in verdicts.HALVES[chosen.half]
        if any(part in statement.label for part in chosen.topics)
        for start in chosen.starts
    ]  # fmt: skip
    results = run_jobs(run_trial, trials, chosen.results, name=chosen.half, workers=chosen.workers)
    for line in table(results, chosen.ways, chosen.pages):
        sys.stdout.write(f"{line}\n")


if __name__ == "__main__":
    main()
