"""Which critic with which link model: docs/reference/combinations.md.

    python bench/combinations.py                    # the embedded web and a synthetic one
    python bench/combinations.py FOLDER             # subjects of an encyclopedia for schools
    python bench/combinations.py FOLDER --chosen hybrid_svm+honeyguide

FOLDER holds recorded webs (docs/how-to/compare.md). On schools, pairs are compared on the subjects to
choose by; with ``--chosen`` that pair is compared with what its halves are by themselves, and with the
default, on other subjects. Interrupted, it goes on where it ended. Tables go to the terminal.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import webs

from honeyguide import registry
from honeyguide.lab.compare import run_comparison
from honeyguide.lab.report import build_report, markdown_table
from honeyguide.lab.trials import CrawlTrial, WebSpec
from honeyguide.lab.variants import REFERENCE_STRATEGIES
from honeyguide.lab.web import load_demo_topics

CRITICS = {
    "keyword": "",
    "hybrid_svm": "",
    "adaptive_links": "",
    "user_utility": "",
    "honeyguide": "",
    "ontology_ann": ",critic.house=true",
}
"""With their parameters: as published, the last trains for many times as long."""
LINKS = ("hybrid_svm", "adaptive_links", "honeyguide")
PAIRS = tuple(
    f"{critic}+{links}:teacher=both{more}" for critic, more in CRITICS.items() for links in LINKS
)
CHOICE = ("Science.Biology.Mammals", "Geography.African_Geography")
REPORTED = (
    "Science.Biology.Birds",
    "Science.Physics.Space_Astronomy",
    "People.Writers_and_critics",
    "Design_and_Technology.Railway_transport",
)
"""Subjects to choose a pair by, and those that it is reported on; named before anything was run."""
MADE = WebSpec("made", made="seed=7,pages=3000")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--chosen", default="")
    parser.add_argument("--results", type=Path, default=Path("bench/results/combinations"))
    parser.add_argument("--topics", type=int, default=3, help="most of each web")
    parser.add_argument("--draws", type=int, default=2)
    parser.add_argument("--budget", type=int, default=150)
    parser.add_argument("--workers", type=int, default=0)
    chosen = parser.parse_args()
    names: Sequence[str] = PAIRS
    if chosen.chosen:
        halves = registry.halves_of(chosen.chosen)
        names = [
            f"{one}:teacher=both" for one in dict.fromkeys((chosen.chosen, *halves, "honeyguide"))
        ]
    trials = [
        CrawlTrial(web, topic, name, draw, chosen.budget)
        for web, topic in _topics(
            chosen.folder, REPORTED if chosen.chosen else CHOICE, chosen.topics
        )
        for draw in range(chosen.draws)
        for name in names
    ]
    results = run_comparison(trials, chosen.results, workers=chosen.workers, done=_tell)
    for web in dict.fromkeys(trial.web.name for trial in trials):
        found = build_report([r for r in results if r.web == web], tuple(REFERENCE_STRATEGIES))
        sys.stdout.write(f"\n{web}\n\n{markdown_table(found.all, found)}")


def _topics(
    folder: Path | None, subjects: Sequence[str], most: int
) -> Iterator[tuple[WebSpec, str]]:
    if folder is not None:
        schools = webs.schools(folder)
        yield from ((schools, subject) for subject in subjects)
        return
    yield from ((webs.demo(), topic) for topic in list(load_demo_topics())[:most])
    yield from ((MADE, topic) for topic in webs.frequent(MADE, most))


def _tell(number: int, total: int) -> None:
    sys.stderr.write(f"\r{number}/{total}")
    sys.stderr.flush()


if __name__ == "__main__":
    main()
