"""What labels add to a category model: docs/reference/combinations.md has the table.

    python bench/given_model.py FOLDER [--subjects tuning]

FOLDER holds the encyclopedia for schools (docs/how-to/compare.md). A linear model learns half of the
articles: once their ten widest subjects (``wide``: the topic is one narrow subject of the category,
so labels must correct the model), once the subject itself against all others (``own``: the model is
right, and labels must not harm it). Then pages are labelled, half of them good; of the bad ones every
second is a page that the model calls good. Everything is measured on the other half.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import chain, zip_longest
from pathlib import Path
from statistics import fmean

import numpy as np
import webs
from sklearn.metrics import f1_score, roc_auc_score

from honeyguide.lab.trials import open_web
from honeyguide.lab.web import without_scheme
from honeyguide.models.categories import save_category_model
from honeyguide.parse.read import parse_body
from honeyguide.strategies.hybrid_svm import HybridSvm
from honeyguide.strategies.topic_cnn import TopicCnn
from honeyguide.text.segments import TextTokenizer
from honeyguide.training.corpus import Corpus
from honeyguide.training.train import TrainingOptions, train_model
from honeyguide.types import Example, Link, Page, Url

SUBJECTS = {
    "tuning": (
        "Science.Chemistry.Chemical_elements",
        "Geography.African_Geography",
        "People.Historical_figures",
    ),
    "reported": (
        "Science.Biology.Birds",
        "Science.Physics.Space_Astronomy",
        "Everyday_life.Food_and_agriculture",
        "People.Writers_and_critics",
        "Design_and_Technology.Railway_transport",
        "Science.Biology.Mammals",
    ),
}
"""The correction's firmness was chosen on the first ones; those reported were looked at once."""
LABELS = (0, 4, 10, 20, 40)
DRAWS, TESTED, READ = 2, 200, 1_600
Figures = list[tuple[float, float]]
"""Area under the ROC curve and F1 of each of the three."""


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--subjects", choices=SUBJECTS, default="reported")
    chosen = parser.parse_args()
    sys.stdout.write("| model | labels | model alone | corrected | labels alone |\n")
    sys.stdout.write("|---|--:|---|---|---|\n")
    desk = open_web(webs.schools(chosen.folder)).graph.desk
    told = {u: ",".join(desk.web.labels_of(u)) for u in sorted(desk.web.page_urls())}
    wanted = [u for u, t in told.items() if any(s in t for s in SUBJECTS[chosen.subjects])]
    others = [u for u, t in told.items() if "." in t and u not in set(wanted)]
    articles = wanted + random.Random(7).sample(others, READ - len(wanted))
    random.Random(8).shuffle(articles)
    pages = {u: parse_body(desk.respond(without_scheme(u)).body, Link(u)) for u in articles}
    first, second = articles[: READ // 2], articles[READ // 2 :]
    for kind in ("wide", "own"):
        rows: defaultdict[int, list[Figures]] = defaultdict(list)
        for subject in SUBJECTS[chosen.subjects]:
            good = {u for u in articles if subject in told[u]}
            category = subject.partition(".")[0] if kind == "wide" else "topic"
            names = {u: t.partition(".")[0] for u, t in told.items()}
            if kind == "own":
                names = {u: "topic" if u in good else "rest" for u in articles}
            with tempfile.TemporaryDirectory() as folder:
                _train_model([pages[u] for u in first], [names[u] for u in first], Path(folder))
                given = TopicCnn(model=folder, categories=(category,))
                for draw in range(DRAWS):
                    for count, figures in _measure(given, pages, second, good, draw):
                        rows[count].append(figures)
        for count, found in rows.items():
            means = [
                (fmean(a for a, _ in one), fmean(f for _, f in one))
                for one in zip(*found, strict=True)
            ]
            said = " | ".join(f"{auc:.3f} / {f1:.2f}" for auc, f1 in means)
            sys.stdout.write(f"| {kind} | {count} | {said} |\n")
            sys.stdout.flush()


def _measure(
    given: TopicCnn, pages: dict[Url, Page], second: Sequence[Url], good: set[Url], draw: int
) -> Iterator[tuple[int, Figures]]:
    """For each number of labels."""
    drawn = random.Random(draw).sample(second, len(second))
    right, wrong = [u for u in drawn if u in good], [u for u in drawn if u not in good]
    most = max(LABELS) // 2
    called = [u for u in wrong if given.judge(pages[u]).score >= 0.5][:most]
    bad = list(dict.fromkeys(chain(*zip_longest(called, wrong[:most]))))
    bad = [u for u in bad if u is not None]
    tested = [*right[most:], *[u for u in wrong if u not in bad][:TESTED]]
    truth = [u in good for u in tested]
    for count in LABELS:
        labels = [(u, 1.0) for u in right[: count // 2]] + [(u, 0.0) for u in bad[: count // 2]]
        examples = [Example(Link(u, u), pages[u], target, "user") for u, target in labels]
        figures = []
        for judge in (given, given.learn(examples), HybridSvm(kernel="linear").learn(examples)):
            scores = np.array([judge.judge(pages[u]).score for u in tested])
            figures.append(
                (float(roc_auc_score(truth, scores)), float(f1_score(truth, scores >= 0.5)))
            )
        yield count, figures


def _train_model(pages: Sequence[Page], names: Sequence[str], folder: Path) -> None:
    reading, known = TextTokenizer("en"), sorted(set(names))
    segments = [reading.page_segments(page) for page in pages]
    corpus = Corpus(segments, [known.index(name) for name in names], tuple(known), reading)
    save_category_model(train_model("linear", corpus, TrainingOptions()), folder)


if __name__ == "__main__":
    main()
