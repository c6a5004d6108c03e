"""How well networks and a linear model sort Turkish texts: cross-validated, repeated, side by side.

    python bench/categories.py FOLDER_OR_JSONL [--readings …] [--kinds …] [--folds 5] [--repeats 5]

The texts are a JSONL file (gzipped or not) with ``text`` and ``label``, or a folder with
ttc3600.jsonl.gz. Duplicates are dropped before anything is split. Results go into
bench/results/categories.json, where an interrupted run goes on, and docs/reference/categories.md.

On a machine that has PyTorch but not our other libraries: ``--prepare FILE`` here writes the words of
all texts, ``--prepared FILE`` there trains on them (PYTHONPATH=src), ``--results FILE`` says where
to, and ``--merge FILE`` here adds what came back.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from honeyguide.models.deep.training import train_net
from honeyguide.models.deep.vocabulary import SEGMENT_WORDS

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "bench" / "results" / "categories.json"
PAGE = ROOT / "docs" / "reference" / "categories.md"
CORPUS = "ttc3600.jsonl.gz"
READINGS = {
    "stems": "lower case by Turkish rules, Snowball stems",
    "normalised": "the Turkish normaliser, then Snowball stems",
    "words": "lower case by Turkish rules",
    "stopped": "the normaliser without stop words, then Snowball stems",
}
KINDS = {
    "linear": "tf-idf and LinearSVC",
    "paper": "the paper's network, numpy, Adagrad",
    "paper_adam": "the paper's network, PyTorch, Adam",
    "conv": "the paper's network with convolutions, PyTorch",
    "one_layer": "One-layer (Kim 2014), PyTorch",
    "sensitivity": "SensitivityAnalysis (Zhang & Wallace 2015), PyTorch",
}


class Texts(NamedTuple):
    labels: list[int]
    categories: list[str]
    readings: dict[str, list[list[str]]]
    dropped: int


class Job(NamedTuple):
    reading: str
    kind: str
    repeat: int
    fold: int

    @property
    def key(self) -> str:
        return " ".join(map(str, self))


def prepared(path: Path, readings: Iterable[str]) -> Texts:
    """The words of all texts in each reading; of equal texts the first."""
    ways = _ways()
    rows: dict[str, str] = {}
    count = 0
    for text, label in _labelled(path):
        count += 1
        rows.setdefault(" ".join(ways["words"](text)), json.dumps([text, label]))
    kept = [json.loads(row) for row in rows.values()]
    categories = sorted({label for _, label in kept})
    words = {name: [ways[name](text) for text, _ in kept] for name in readings}
    labels = [categories.index(label) for _, label in kept]
    return Texts(labels, categories, words, count - len(kept))


def _ways() -> dict[str, Callable[[str], list[str]]]:
    from honeyguide.text.language import split_words, stems_of
    from honeyguide.text.turkish import Normaliser

    stems = stems_of("tr")

    def plain(text: str) -> list[str]:
        return split_words(text.replace("\u0307", ""), "tr")  # which str.lower() leaves of İ

    return {
        "words": plain,
        "stems": lambda text: [stems[word] for word in plain(text)],
        "normalised": Normaliser(stems=True).words,
        "stopped": Normaliser(stems=True, stops=True).words,
    }


def _labelled(path: Path) -> Iterator[tuple[str, str]]:
    path = path / CORPUS if path.is_dir() else path
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            row = json.loads(line)
            yield str(row["text"]), str(row["label"])


def fold_of(labels: np.ndarray[Any, Any], folds: int, repeat: int) -> np.ndarray[Any, Any]:
    """Which fold each text is in; each category is spread evenly."""
    dice = np.random.default_rng([7, repeat])
    found = np.empty(len(labels), np.int64)
    for label in np.unique(labels):
        places = dice.permutation(np.flatnonzero(labels == label))
        found[places] = np.arange(len(places)) % folds
    return found


def run(job: Job, texts: Texts, folds: int) -> dict[str, Any]:
    """One fold: its confusion matrix, the true category in the row, and seconds."""
    labels, words = np.array(texts.labels), texts.readings[job.reading]
    fold = fold_of(labels, folds, job.repeat)
    inside, outside = np.flatnonzero(fold != job.fold), np.flatnonzero(fold == job.fold)
    start = time.perf_counter()
    learned, asked = [words[n] for n in inside], [words[n] for n in outside]
    judge, epochs = (_linear if job.kind == "linear" else _deep)(
        job, learned, labels[inside], texts.categories
    )
    seconds = round(time.perf_counter() - start, 2)
    said = judge(asked)
    size = len(texts.categories)
    confusion = np.bincount(labels[outside] * size + said, minlength=size * size)
    table = confusion.reshape(size, size).tolist()
    return {"confusion": table, "epochs": epochs, "seconds": seconds}


def _linear(job: Job, words: Any, labels: Any, categories: Any) -> tuple[Any, int]:
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.svm import LinearSVC

    vectors = TfidfVectorizer(analyzer=list, sublinear_tf=True)
    machine = LinearSVC(random_state=1).fit(vectors.fit_transform(words), labels)
    return lambda asked: machine.predict(vectors.transform(asked)), 0


def _deep(job: Job, words: Any, labels: Any, categories: Any) -> tuple[Any, int]:
    kind: Any = job.kind.removesuffix("_adam")
    engine: Any = "numpy" if job.kind == "paper" else "torch"
    seed = 10 * job.repeat + job.fold
    model = train_net(kind, words, labels, categories, engine=engine, seed=seed)

    def judge(asked: list[list[str]]) -> Any:
        pages = [
            ([text[at : at + SEGMENT_WORDS] for at in range(0, len(text), SEGMENT_WORDS)], ())
            for text in asked
        ]
        return model.judge_many(pages).argmax(axis=1)

    return judge, len(model.card["epochs"])


_TEXTS: list[Texts] = []
"""A worker's own copy, read once."""


def _begin(path: str) -> None:
    with gzip.open(path, "rt") as file:
        labels, categories, readings, dropped = json.load(file)
    split = {
        name: [text.split(" ") if text else [] for text in texts]
        for name, texts in readings.items()
    }
    _TEXTS.append(Texts(labels, categories, split, dropped))


def _work(job: Job, folds: int) -> tuple[Job, dict[str, Any]]:
    return job, run(job, _TEXTS[0], folds)


def _written(texts: Texts, path: Path) -> None:
    joined = {name: [" ".join(words) for words in each] for name, each in texts.readings.items()}
    path.parent.mkdir(parents=True, exist_ok=True)
    with gzip.open(path, "wt") as file:
        json.dump((texts.labels, texts.categories, joined, texts.dropped), file)


def measure(
    jobs: list[Job], path: Path, results: Path, workers: int, folds: int, minutes: float
) -> None:
    """Do the jobs that have no result yet, until the time is over."""
    done = _read(results)
    left = [job for job in jobs if job.key not in done]
    end = time.monotonic() + 60 * minutes
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(name, "1")  # every worker has one core
    context = get_context("spawn")
    with ProcessPoolExecutor(workers, context, _begin, (str(path),)) as pool:
        futures = [pool.submit(_work, job, folds) for job in left]
        for number, future in enumerate(as_completed(futures), 1):
            job, result = future.result()
            done[job.key] = result
            _write(results, done)
            print(
                f"{number}/{len(left)} {job.key}: {_figures([result])[0]:.4f} {result['seconds']} s",
                flush=True,
            )
            if time.monotonic() > end:
                pool.shutdown(wait=False, cancel_futures=True)
                break


def _read(path: Path) -> dict[str, Any]:
    return json.loads(path.read_text()) if path.exists() else {}


def _write(path: Path, done: dict[str, Any]) -> None:
    """A line for each job."""
    lines = (f"{json.dumps(key)}: {json.dumps(done[key])}" for key in sorted(done))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n")


def _figures(results: list[dict[str, Any]]) -> tuple[float, float]:
    """Accuracy and macro-F1 of all their answers together."""
    confusion = np.sum([result["confusion"] for result in results], axis=0)
    right, both = np.diag(confusion), confusion.sum(axis=0) + confusion.sum(axis=1)
    return float(right.sum() / confusion.sum()), float(np.mean(2 * right / np.maximum(both, 1)))


def table(done: dict[str, Any], repeats: int, folds: int) -> list[str]:
    """A line for each reading and kind that is complete."""
    lines = ["| words | model | accuracy | macro-F1 | epochs |", "|---|---|---|---|---|"]
    found = []
    for reading in READINGS:
        for kind in KINDS:
            each = [
                [done.get(Job(reading, kind, r, f).key) for f in range(folds)]
                for r in range(repeats)
            ]
            if all(all(row) for row in each):
                found.append((reading, kind, each))
    best = max((np.mean([_figures(row)[0] for row in each]) for _, _, each in found), default=0)
    for reading, kind, each in found:
        right, macro = zip(*map(_figures, each), strict=True)
        epochs = np.mean([result["epochs"] for row in each for result in row])
        mean, other = (f"{np.mean(f):.4f} ± {np.std(f, ddof=1):.4f}" for f in (right, macro))
        mean = f"**{mean}**" if np.mean(right) == best else mean
        lines.append(f"| {reading} | {kind} | {mean} | {other} | {epochs:.1f} |")
    return lines


def page(lines: list[str]) -> None:
    """Put the table between the marks of the page, whose words are written by hand."""
    text = PAGE.read_text()
    head, _, rest = text.partition("<!-- table -->\n")
    _, _, tail = rest.partition("<!-- end -->")
    PAGE.write_text(f"{head}<!-- table -->\n" + "\n".join(lines) + f"\n<!-- end -->{tail}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("corpus", type=Path, nargs="?")
    parser.add_argument("--readings", nargs="+", default=list(READINGS), choices=READINGS)
    parser.add_argument("--kinds", nargs="+", default=list(KINDS), choices=KINDS)
    parser.add_argument("--folds", type=int, default=5)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--minutes", type=float, default=1e6)
    parser.add_argument("--prepare", type=Path)
    parser.add_argument("--prepared", type=Path)
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--merge", type=Path)
    options = parser.parse_args()
    ready = options.prepared or options.prepare or RESULTS.with_name("categories-words.json.gz")
    if options.corpus is not None:
        texts = prepared(options.corpus, READINGS)
        _written(texts, ready)
        print(
            f"{len(texts.labels)} texts of {len(texts.categories)} categories; {texts.dropped} duplicates dropped"
        )
    if options.merge is not None:
        _write(options.results, _read(options.results) | _read(options.merge))
    if (options.corpus is not None and options.prepare is None) or options.prepared is not None:
        jobs = [
            Job(reading, kind, repeat, fold)
            for reading in options.readings
            for kind in options.kinds
            for repeat in range(options.repeats)
            for fold in range(options.folds)
        ]
        measure(jobs, ready, options.results, options.workers, options.folds, options.minutes)
    lines = table(_read(options.results), options.repeats, options.folds)
    print("\n".join(lines))
    if options.results == RESULTS and PAGE.exists():
        page(lines)


if __name__ == "__main__":
    main()
