"""How right the verdicts of a real crawl are, from every way to say what is wanted.

    python bench/verdicts.py FOLDER [--half choose|develop|report|…] [--starts …] [--strategies …]
                                    [--labels 0 30] [--pages 500] [--out FILE]
    python bench/verdicts.py FOLDER --half readme         the README's own example
    python bench/verdicts.py --results FILE [--write]     the tables of earlier crawls

Each crawl is one that a user would make: the default settings, its verdicts at its own cut. Only
time is simulated. Subjects of an encyclopedia for schools are in two halves: settings were chosen
on the first, the second is what docs report. Two kinds of pages of universities, a module of an
office suite's help in Turkish and a synthetic web of many hosts are beside them.

Of each crawl, without the pages that were given or labelled: precision, recall and F1 among the
visited pages at the crawl's own cut, average precision, the error of calibration, the regret of
the cut (1 - F1 ÷ the best F1 of any cut of the same scores), and how far the precision and the
recall that the crawl expects are from the true ones.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import webs

from honeyguide.config.loading import parse_settings
from honeyguide.lab.compare import run_in_processes
from honeyguide.lab.simulate import simulate_crawl
from honeyguide.lab.trials import OpenedWeb, WebSpec, open_web
from honeyguide.lab.variants import SimulatedInterview
from honeyguide.lab.web import without_scheme
from honeyguide.learning.relevance_cut import VerdictCalibration, decide_cut
from honeyguide.store.store import Store

STARTS = ("keywords", "keyword", "sentence", "one page", "three pages", "keywords+seed", "20+40")
PAGES = 500
ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "reference" / "verdicts.md"
MARK = "<!-- bench/verdicts.py writes what follows -->"
BINS = 10
_DRAWS = 1


class Statement(NamedTuple):
    """What a newcomer would say of a topic."""

    web: str
    label: str
    seed: str
    """The last part of the address of the page they would begin with; '': the web's own seeds."""
    keywords: tuple[str, str, str]
    """The first is what they would say if they said only one."""
    sentence: str


CHOOSE = (
    Statement("schools", "Science.Biology.Birds", "b/Bird.htm",
              ("bird", "plumage", "bird migration"),
              "Bird species: what they look like, where they live and breed, and what they eat"),
    Statement("schools", "Science.Biology.Health_and_medicine", "m/Medicine.htm",
              ("disease", "medicine", "symptoms"),
              "Diseases, their symptoms and treatment, medicine and public health"),
    Statement("schools", "Science.Chemistry.Chemical_elements", "c/Chemical_element.htm",
              ("chemical element", "atomic number", "isotope"),
              "The chemical elements: their properties, isotopes, discovery and use"),
    Statement("schools", "Design_and_Technology.Railway_transport", "r/Rail_transport.htm",
              ("railway", "locomotive", "train station"),
              "Railways: lines, stations, locomotives and the companies that run trains"),
    Statement("schools", "Everyday_life.Food_and_agriculture", "f/Food.htm",
              ("food", "cooking", "crop"),
              "Food and drink, how it is grown, prepared and eaten"),
    Statement("schools", "Science.Biology.Dinosaurs", "d/Dinosaur.htm",
              ("dinosaur", "fossil", "Cretaceous"),
              "Dinosaurs and other extinct reptiles known from fossils"),
)  # fmt: skip
REPORT = (
    Statement("schools", "Science.Biology.Mammals", "m/Mammal.htm",
              ("mammal", "fur", "carnivore"),
              "Mammals of all kinds: their bodies, behaviour, habitat and food"),
    Statement("schools", "Science.Biology.Plants", "p/Plant.htm",
              ("plant", "leaves", "flowering plant"),
              "Kinds of trees, flowers and other plants, how they look and where they grow"),
    Statement("schools", "Science.Physics.Space_Astronomy", "a/Astronomy.htm",
              ("astronomy", "planet", "star"),
              "Astronomy: stars, planets, moons, galaxies and how they are observed"),
    Statement("schools", "Science.Biology.Insects_Reptiles_and_Fish", "i/Insect.htm",
              ("insect", "reptile", "fish"),
              "Insects, reptiles, amphibians and fish: species and their way of life"),
    Statement("schools", "Mathematics", "m/Mathematics.htm",
              ("mathematics", "theorem", "geometry"),
              "Mathematics: numbers, geometry, algebra, proofs and famous theorems"),
    Statement("schools", "Language_and_literature.Languages", "l/Language.htm",
              ("language", "grammar", "alphabet"),
              "Languages of the world, their speakers, grammar, sounds and writing"),
)  # fmt: skip
FRESH = (
    Statement("schools", "Geography.African_Geography", "a/Africa.htm",
              ("Africa", "African country", "desert"),
              "The geography of Africa: its countries, cities, rivers, lakes and deserts"),
    Statement("schools", "Geography.Geology_and_geophysics", "g/Geology.htm",
              ("geology", "volcano", "rock"),
              "Geology: rocks and minerals, volcanoes, earthquakes and the history of the Earth"),
    Statement("schools", "History.Military_History_and_War", "w/War.htm",
              ("war", "battle", "army"),
              "Wars and battles in history, the armies that fought them, and their weapons"),
    Statement("schools", "Science.Physics.General_Physics", "p/Physics.htm",
              ("physics", "energy", "quantum"),
              "Physics: energy, forces, particles, light, and the laws that describe them"),
    Statement("schools", "Music.Musical_genres_styles_eras_and_events", "m/Music.htm",
              ("music", "genre", "jazz"),
              "Styles of music, where they come from, how they sound, and their festivals"),
    Statement("schools", "People.Writers_and_critics", "l/Literature.htm",
              ("writer", "novel", "poet"),
              "Writers, poets and critics: their lives and the books they wrote"),
)  # fmt: skip
DEVELOP = (
    Statement("schools", "Design_and_Technology.Engineering", "e/Engineering.htm",
              ("engineering", "machine", "bridge"),
              "Engineering: machines, engines, bridges, dams and how they are built"),
    Statement("schools", "Geography.North_American_Geography", "n/North_America.htm",
              ("North America", "state", "city"),
              "The geography of North America: its states, cities, rivers, lakes and parks"),
    Statement("schools", "History.Ancient_History_Classical_History_and_Mythology",
              "a/Ancient_history.htm", ("ancient", "Roman", "Greek mythology"),
              "Ancient history: Greece, Rome, Egypt, their rulers, wars, gods and myths"),
    Statement("schools", "Geography.European_Geography", "e/Europe.htm",
              ("Europe", "European country", "European city"),
              "The geography of Europe: its countries, cities, rivers, islands and mountains"),
    Statement("schools", "Design_and_Technology.Architecture", "a/Architecture.htm",
              ("architecture", "building", "castle"),
              "Architecture: famous buildings, towers, castles and churches, and styles of building"),
    Statement("schools", "Science.Biology.General_Biology", "b/Biology.htm",
              ("biology", "cell", "protein"),
              "Biology: cells, genes, proteins, organs, and how living things work"),
    Statement("schools", "People.Historical_figures", "h/History.htm",
              ("king", "emperor", "ruler"),
              "People of history: kings, queens, emperors, explorers and other leaders"),
    Statement("schools", "People.Political_People", "p/Politics.htm",
              ("politician", "prime minister", "president"),
              "Politicians, prime ministers, presidents and activists: their lives and careers"),
)  # fmt: skip
"""Broad subjects on which the page model was developed."""
UNSEEN = (
    Statement("schools", "Geography.Geography_of_Asia", "a/Asia.htm",
              ("Asia", "Asian country", "Asian city"),
              "The geography of Asia: its countries, cities, rivers, seas and mountains"),
    Statement("schools", "History.General_history", "h/History_of_the_world.htm",
              ("history", "empire", "revolution"),
              "World history: ages, empires, revolutions, treaties and what came of them"),
    Statement("schools", "Science.Chemistry.Chemical_compounds", "c/Chemistry.htm",
              ("chemical compound", "acid", "molecule"),
              "Chemical compounds: acids, salts, drugs and polymers, their structure and use"),
    Statement("schools", "People.Sports_and_games_people", "s/Sport.htm",
              ("sportsman", "player", "champion"),
              "Players, champions and other people of sports and games, and their careers"),
)  # fmt: skip
"""Stated before the page model was developed, crawled once after it."""
OTHER = (
    Statement("webkb", "course", "", ("course", "homework", "lecture notes"),
              "Home pages of university courses, with syllabus, lectures and homework"),
    Statement("webkb", "student", "", ("student", "my home page", "graduate student"),
              "Personal home pages of students at computer science departments"),
    Statement("help-tr", "scalc", "",
              ("hesap tablosu", "hücre", "formül"),
              "Hesap tablosu programının yardımı: hücreler, formüller, işlevler ve çalışma sayfaları"),
    Statement("made", "django", "", ("django", "web framework", "model field"),
              "Manual pages of the web framework Django: models, views, forms and templates"),
)  # fmt: skip
README = (
    Statement("schools", "Science.Biology.Birds", "b/Bird.htm",
              ("bird migration", "plumage", "flight feather"), ""),
)  # fmt: skip
"""The example of the README, word for word; 200 visits (--half readme)."""
HALVES = {"readme": README, "choose": CHOOSE, "develop": DEVELOP, "report": REPORT, "fresh": FRESH,
          "unseen": UNSEEN, "other": OTHER,
          "all": CHOOSE + REPORT + FRESH + OTHER}  # fmt: skip


@dataclass(frozen=True, slots=True)
class VerdictTrial:
    """One crawl to be made."""

    folder: str
    statement: Statement
    start: str
    labels: int
    strategy: str = "honeyguide"
    pages: int = PAGES
    draw: int = 0
    keep: str = ""
    """A folder where the collection stays; '': nowhere."""

    @property
    def name(self) -> str:
        return f"{self.statement.label}-{self.start}-{self.labels}-{self.strategy}-{self.draw}"


@dataclass(frozen=True, slots=True)
class VerdictScores:
    """What came of it; means of these are the table."""

    label: str
    start: str
    labels: int
    strategy: str
    draw: int
    visited: int
    relevant: int
    kept: int
    precision: float
    recall: float
    f1: float
    best_f1: float
    regret: float
    average_precision: float
    calibration: float
    seconds: float
    cut: float = 0.5
    expected_precision: float | None = None
    """As ``honeyguide status`` says it; None: not known."""
    expected_recall: float | None = None

    @property
    def precision_error(self) -> float | None:
        known = self.expected_precision
        return None if known is None else abs(known - self.precision)

    @property
    def recall_error(self) -> float | None:
        known = self.expected_recall
        return None if known is None else abs(known - self.recall)


@lru_cache(maxsize=1)
def named_web(name: str, folder: str) -> WebSpec:
    match name:
        case "schools":
            return webs.schools(Path(folder))
        case "webkb":
            return webs.webkb(Path(folder))
        case "help-tr":
            return webs.help_tr(Path(folder))
    return replace(webs.made_hosts(31), seeds=())


def run_trial(trial: VerdictTrial) -> tuple[VerdictScores, list[tuple[str, float, int]]]:
    """The crawl, and its pages: address, verdict, truth."""
    statement = trial.statement
    spec = named_web(statement.web, trial.folder)
    web = open_web(spec)
    truth = frozenset(
        without_scheme(url) for url in web.responder.web.urls_labelled(statement.label)
    )
    topic, given = stated_topic(trial, spec, web, sorted(truth))
    settings = parse_settings(
        {
            "topic": {"name": "it", "keyword_language": spec.language, **topic},
            "crawl": {
                "strategy": trial.strategy,
                "pages": trial.pages,
                "concurrency": 1,
                "random_seed": trial.draw + 1,
            },
            "scope": {"sitemaps": "never"},
            "fetch": {"contact": "https://example.org/lab", "lab": "http://127.0.0.1:1"},
            "politeness": {"loopback_delay_s": 0.0, "response_factor": 0.0},
            "store": {"warc": False, "min_free_mb": 0},
        },
        "the bench",
    )
    began = time.perf_counter()
    with ExitStack() as stack:
        if trial.keep:
            folder = Path(trial.keep, trial.name)
            folder.mkdir(parents=True)
        else:
            folder = Path(
                stack.enter_context(tempfile.TemporaryDirectory(prefix="verdicts-", dir="/dev/shm"))
            )
        people = None
        if trial.labels:
            people = SimulatedInterview(folder, settings, truth, trial.labels, ())
        simulate_crawl(folder, settings, web.responder, latency=lambda _: 1.0, people=people)
        pages: dict[str, tuple[str, float, int]] = {}
        with Store.open(folder, "read") as store:
            cut, calibration = decide_cut(store, settings)
            labelled = {without_scheme(label.url) for _, label in store.labels.effective_after()}
            for row in store.visits.iter_visits(page=True):
                key = without_scheme(row.url)
                if key not in given and key not in labelled and not row.copy_of:
                    pages[key] = (key, row.verdict or 0.0, int(key in truth))
    scores = score_pages(list(pages.values()), cut.threshold, calibration)
    return (
        VerdictScores(
            statement.label, trial.start, trial.labels, trial.strategy, trial.draw, **scores,
            cut=cut.threshold, expected_precision=cut.precision, expected_recall=cut.recall,
            seconds=round(time.perf_counter() - began, 2),
        ),
        list(pages.values()),
    )  # fmt: skip


def stated_topic(
    trial: VerdictTrial, spec: WebSpec, web: OpenedWeb, relevant: Sequence[str]
) -> tuple[dict[str, Any], set[str]]:
    """The topic's table as a user would write it, and the pages that it names."""
    statement, dice = trial.statement, random.Random(f"{trial.statement.label} {trial.draw}")
    every = sorted(map(without_scheme, web.graph.desk.web.page_urls()))
    others = [key for key in every if key not in set(relevant)]
    main = next((key for key in every if statement.seed and key.endswith(statement.seed)), "")
    good = [key for key in dice.sample(list(relevant), 23) if key != main]
    some = [f"http://{key}" for key in good]
    own = [main and f"http://{main}"] if main else list(spec.seeds) or some[-2:]
    topic: dict[str, Any]
    match trial.start:
        case "keywords":  # doors from which it must find the topic
            doors = list(spec.seeds) or [f"http://{key}" for key in dice.sample(others, 3)]
            topic = {"keywords": statement.keywords, "seeds": doors}
        case "keyword":
            topic = {"keywords": statement.keywords[:1], "seeds": own}
        case "keywords+seed":
            topic = {"keywords": statement.keywords, "seeds": own}
        case "sentence":
            topic = {"description": statement.sentence, "seeds": own}
        case "one page":
            topic = {"good": own if main else some[:1], "seeds": own}
        case "three pages":
            topic = {"good": some[:3], "seeds": some[:3] if main else own}
        case "20+40":
            bad = [f"http://{key}" for key in dice.sample(others, 40)]
            topic = {"good": some[:20], "bad": bad, "seeds": some[-2:] if main else own}
    named = {without_scheme(url) for key in ("good", "bad", "seeds") for url in topic.get(key, ())}
    return {key: list(value) if not isinstance(value, str) else value
            for key, value in topic.items()}, named  # fmt: skip


def score_pages(
    pages: Sequence[tuple[str, float, int]],
    threshold: float,
    calibration: VerdictCalibration | None = None,
) -> dict[str, Any]:
    """The measures of one crawl from (address, verdict, truth)."""
    relevant = sum(truth for _, _, truth in pages)
    kept = sum(score >= threshold for _, score, _ in pages)
    right = sum(truth for _, score, truth in pages if score >= threshold)
    precision, recall = right / kept if kept else 0.0, right / relevant if relevant else 0.0
    f1 = 2 * right / (kept + relevant) if kept + relevant else 0.0
    best, hits, gained = 0.0, 0, 0.0
    ranked = sorted(pages, key=lambda page: -page[1])
    for place, (_, score, truth) in enumerate(ranked, 1):
        hits += truth
        gained += truth * hits / place
        if place == len(ranked) or ranked[place][1] != score:
            best = max(best, 2 * hits / (place + relevant) if relevant else 0.0)
    bins: dict[int, list[tuple[float, int]]] = defaultdict(list)
    found = np.array([score for _, score, _ in pages])
    chances = found if calibration is None else calibration.chances(found)
    for chance, (_, _, truth) in zip(chances.tolist(), pages, strict=True):
        bins[min(int(chance * BINS), BINS - 1)].append((chance, truth))
    wrong = sum(
        abs(sum(score for score, _ in part) - sum(truth for _, truth in part))
        for part in bins.values()
    )
    return {
        "visited": len(pages), "relevant": relevant, "kept": kept,
        "precision": round(precision, 4), "recall": round(recall, 4), "f1": round(f1, 4),
        "best_f1": round(best, 4), "regret": round(1 - f1 / best, 4) if best else 0.0,
        "average_precision": round(gained / relevant, 4) if relevant else 0.0,
        "calibration": round(wrong / len(pages), 4) if pages else 0.0,
    }  # fmt: skip


MEASURES = ("precision", "recall", "f1", "best_f1", "regret", "average_precision", "calibration",
            "precision_error", "recall_error")  # fmt: skip


def table(results: Sequence[VerdictScores]) -> Iterator[str]:
    """Means by start, labels and strategy, with intervals of F1 by bootstrap over subjects."""
    groups: dict[tuple[str, int, str], list[VerdictScores]] = defaultdict(list)
    for one in results:
        groups[one.start, one.labels, one.strategy].append(one)
    yield "| strategy | told by | labels | crawls | " + " | ".join(MEASURES) + " |"
    yield "|---|---|--:|--:|" + "--:|" * len(MEASURES)
    order = {name: place for place, name in enumerate(STARTS)}
    for (start, labels, strategy), found in sorted(
        groups.items(), key=lambda item: (item[0][2], item[0][1], order[item[0][0]])
    ):
        cells = []
        for name in MEASURES:
            values = [value for one in found if (value := getattr(one, name)) is not None]
            mean = f"{statistics.fmean(values):.3f}" if values else "–"
            if name == "f1" and len(values) > 2:
                low, high = interval(values)
                mean += f" [{low:.2f}, {high:.2f}]"
            cells.append(mean)
        yield f"| {strategy} | {start} | {labels} | {len(found)} | " + " | ".join(cells) + " |"


def interval(values: Sequence[float], rounds: int = 2000) -> tuple[float, float]:
    dice = random.Random(1)
    means = sorted(statistics.fmean(dice.choices(values, k=len(values))) for _ in range(rounds))
    return means[int(0.025 * rounds)], means[int(0.975 * rounds)]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", nargs="?", default="", help="where the recorded webs are")
    parser.add_argument(
        "--results", type=Path, help="lines of JSON of earlier crawls, not new ones"
    )
    parser.add_argument("--write", action="store_true", help=f"write {PAGE.relative_to(ROOT)}")
    parser.add_argument("--half", choices=HALVES, default="report")
    parser.add_argument("--starts", nargs="+", choices=STARTS, default=list(STARTS))
    parser.add_argument("--labels", nargs="+", type=int, default=[0, 30])
    parser.add_argument("--strategies", nargs="+", default=["honeyguide"])
    parser.add_argument("--topics", nargs="+", default=[], help="parts of names of topics")
    parser.add_argument("--draws", type=int, default=_DRAWS)
    parser.add_argument("--pages", type=int, default=PAGES)
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--out", type=Path, help="a file for a line of JSON per crawl")
    parser.add_argument("--keep", default="", help="a folder where the collections stay")
    parser.add_argument("--dump", type=Path, help="a folder for the pages of each crawl")
    chosen = parser.parse_args()
    if chosen.results:
        lines = chosen.results.read_text("utf-8").splitlines()
        results = [VerdictScores(**json.loads(line)) for line in lines]
        write_tables(results, chosen.write)
        return
    if chosen.half == "readme":
        chosen.starts, chosen.labels, chosen.pages = ["keywords+seed"], [0], 200
    trials = [
        VerdictTrial(
            chosen.folder, statement, start, labels, strategy, chosen.pages, draw, chosen.keep
        )
        for statement in HALVES[chosen.half]
        if not chosen.topics or any(part in statement.label for part in chosen.topics)
        for start in chosen.starts
        for labels in chosen.labels
        for strategy in chosen.strategies
        for draw in range(chosen.draws)
    ]
    results = []
    for number, (scores, pages) in enumerate(
        run_in_processes(run_trial, trials, chosen.workers), 1
    ):
        results.append(scores)
        line = json.dumps(asdict(scores))
        if chosen.out:
            with chosen.out.open("a", encoding="utf-8") as file:
                file.write(line + "\n")
        if chosen.dump:
            chosen.dump.mkdir(parents=True, exist_ok=True)
            named = f"{scores.label}-{scores.start}-{scores.labels}-{scores.strategy}-{scores.draw}"
            (chosen.dump / f"{named}.json").write_text(json.dumps(pages))
        sys.stderr.write(f"{number}/{len(trials)} {scores.label} {scores.start} +{scores.labels} "
                         f"{scores.strategy}: P {scores.precision:.2f} R {scores.recall:.2f} "
                         f"F1 {scores.f1:.2f} of {scores.best_f1:.2f} {scores.seconds:.0f} s\n")  # fmt: skip
    write_tables(results, chosen.write)


HALF_OF = {
    one.label: half
    for half in ("choose", "develop", "report", "fresh", "unseen", "other")
    for one in HALVES[half]
}
"""The README's example is about a subject of the first half."""
WORDS_OF_HALVES = {
    "unseen": "Four subjects that were stated before the work and crawled once after it",
    "fresh": "Six subjects that were looked at once, at the end",
    "report": "Six subjects of the reporting half",
    "choose": "Six subjects on which settings were chosen",
    "develop": "Eight broad subjects on which the page model was developed",
    "other": "Other webs: universities, a help in Turkish, a synthetic web of many hosts",
}


def write_tables(results: Sequence[VerdictScores], into_docs: bool) -> None:
    lines = []
    for half, words in WORDS_OF_HALVES.items():
        found = [one for one in results if HALF_OF[one.label] == half]
        if found:
            lines += [f"## {words}", "", *table(found), ""]
            lines += ["F1 by subject, without labels and with them:", "", *subject_table(found), ""]
    text = "\n".join(lines)
    sys.stdout.write(text)
    if into_docs:
        head, mark, _ = PAGE.read_text("utf-8").partition(MARK)
        PAGE.write_text(f"{head}{mark}\n{text}", "utf-8")


def subject_table(results: Sequence[VerdictScores]) -> Iterator[str]:
    """F1 of each subject and start, by the default strategy."""
    own = [one for one in results if one.strategy == "honeyguide"]
    starts = [start for start in STARTS if any(one.start == start for one in own)]
    yield "| topic | " + " | ".join(starts) + " |"
    yield "|---|" + "--:|" * len(starts)
    for label in dict.fromkeys(one.label for one in own):
        cells = []
        for start in starts:
            found = sorted((one.labels, one.f1) for one in own
                           if one.label == label and one.start == start)  # fmt: skip
            cells.append(" → ".join(f"{f1:.2f}" for _, f1 in found))
        yield f"| {label.rpartition('.')[2].replace('_', ' ')} | " + " | ".join(cells) + " |"


if __name__ == "__main__":
    main()
