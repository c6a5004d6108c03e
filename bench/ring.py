"""What a page costs at each station of the ring, and with each strategy: CPU milliseconds.

    python bench/ring.py [--pages 240] [--rounds 3]

On pages of the embedded web, after learning from examples and visits. Fetching is not measured here
(see bench/throughput). Writes bench/results/ring.json and docs/reference/ring-cost.md.
"""

from __future__ import annotations

import argparse
import atexit
import gc
import json
import platform
import shutil
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from time import process_time
from typing import Any, NamedTuple

from honeyguide.config.loading import parse_settings
from honeyguide.config.settings import Settings
from honeyguide.crawl.from_settings import build_strategy
from honeyguide.errors import ParseError
from honeyguide.frontier.frontier import LinkFrontier
from honeyguide.frontier.order import make_order
from honeyguide.lab.responses import LabResponder
from honeyguide.lab.trials import WebSpec, open_web
from honeyguide.lab.web import demo_files, load_demo_topics, without_scheme
from honeyguide.links.dead_links import DeadLinks
from honeyguide.links.history import LinkHistory
from honeyguide.links.parent_pages import BestParent, MeanParent, ParentPlaces
from honeyguide.links.ranking import LinkKnowledge, rerank_changed
from honeyguide.links.ranking import rank_links as rank_links
from honeyguide.models.categories import save_category_model
from honeyguide.parse.read import parse_page
from honeyguide.protocols import Strategy
from honeyguide.store.store import Store
from honeyguide.text.segments import TextTokenizer
from honeyguide.training.corpus import Corpus
from honeyguide.training.train import TrainingOptions, parse_kinds, train_model
from honeyguide.types import (
    Candidate,
    Example,
    Failure,
    Link,
    LinkStats,
    Page,
    Response,
    Url,
    Verdict,
    Visit,
)

ROOT = Path(__file__).parents[1]
RESULT = ROOT / "bench" / "results" / "ring.json"
PAGE = ROOT / "docs" / "reference" / "ring-cost.md"
TOPIC = "backup-and-replication"
LINKS = 60
ONTOLOGY = ROOT / "src" / "honeyguide" / "lab" / "studies" / "backup.csv"
COMMIT = 32
LINEAR, OTHERS, HOUSE = 1.5, 3.0, 2.0
"""Goals for judging a page and ranking 60 links, in milliseconds."""
STRATEGIES: dict[str, tuple[str, dict[str, Any], float]] = {
    "breadth": ("breadth", {}, LINEAR),
    "backlinks": ("backlinks", {}, LINEAR),
    "keyword": ("keyword", {}, LINEAR),
    "hybrid_svm, linear": ("hybrid_svm", {"kernel": "linear"}, LINEAR),
    "hybrid_svm, rbf": ("hybrid_svm", {}, OTHERS),
    "adaptive_links": ("adaptive_links", {}, LINEAR),
    "adaptive_links, levels": ("adaptive_links", {"classes": "levels"}, LINEAR),
    "ontology_weights": ("ontology_weights", {}, LINEAR),
    "ontology_ann": ("ontology_ann", {}, OTHERS),
    "ontology_ann, house": ("ontology_ann", {"house": True}, OTHERS),
    "topic_cnn, linear model": ("topic_cnn", {"model": "linear"}, OTHERS),
    "topic_cnn, paper's network": ("topic_cnn", {"model": "paper"}, OTHERS),
    "topic_cnn, taught by labels": ("topic_cnn", {}, OTHERS),
    "honeyguide": ("honeyguide", {}, HOUSE),
    "user_utility": ("user_utility", {"warmup": 100}, OTHERS),
    "user_utility, share = 1": ("user_utility", {"warmup": 100, "share": 1.0}, OTHERS),
    "user_utility, house": ("user_utility", {"house": True}, OTHERS),
}


class Answered(NamedTuple):
    response: Response
    page: Page
    links: tuple[Link, ...]
    """Exactly 60: the page's own, and others' where it has fewer."""
    good: bool
    label: str
    """The topic of the embedded web that it is about, or none of them."""


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--pages", type=int, default=240)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", nargs="*", default=list(STRATEGIES))
    parser.add_argument("--dry", action="store_true", help="write nothing")
    chosen = parser.parse_args()
    asked, taught = pages(chosen.pages)
    found: dict[str, Any] = {
        "python": platform.python_version(),
        "pages": len(asked),
        "words": round(sum(len(a.page.text.split()) for a in asked) / len(asked)),
        "kilobytes": round(sum(len(a.response.body) for a in asked) / len(asked) / 1000, 1),
        "stations": stations(asked, chosen.rounds),
        "strategies": {name: cost(name, taught, asked, chosen.rounds) for name in chosen.only},
    }
    text = page(found)
    sys.stdout.write(text)
    if not chosen.dry:
        RESULT.write_text(json.dumps(found, indent=1) + "\n", "utf-8")
        PAGE.write_text(text, "utf-8")


def pages(count: int) -> tuple[list[Answered], list[Answered]]:
    """Pages of the embedded web, spread over all its manuals; as many others to learn from.

    A quarter of those are about the topic.
    """
    desk = open_web(WebSpec("demo", demo_files())).responder
    urls = sorted(desk.web.page_urls())
    asked = urls[:: max(1, len(urls) // count)][:count]
    others = [url for url in urls if url not in set(asked)]
    good = [url for url in others if TOPIC in desk.web.labels_of(url)][: count // 4]
    bad = [url for url in others if TOPIC not in desk.web.labels_of(url)]
    taught = [*good, *bad[:: max(1, len(bad) // (count - len(good)))]]
    return answered(desk, asked), answered(desk, taught)


def answered(desk: LabResponder, urls: Sequence[str]) -> list[Answered]:
    found: list[tuple[Response, Page, set[str]]] = []
    for url in urls:
        body, headers = desk.respond(without_scheme(url)).body, (("Content-Type", "text/html"),)
        name = Url("http://" + without_scheme(url))
        response = Response(name, 200, headers, body, body, b"", b"", "", 0.0, 0.1)
        try:
            page = parse_page(response, Link(name))
        except ParseError:
            continue
        found.append((response, page, set(desk.web.labels_of(url))))
    spare = [link for _, one, _ in found for link in one.links]
    return [
        Answered(
            response,
            one,
            (*one.links, *spare[n * 7 :], *spare)[:LINKS],
            TOPIC in labels,
            min(labels, default="none"),
        )
        for n, (response, one, labels) in enumerate(found)
    ]


def clocked(work: Callable[[], object], rounds: int, per: int) -> float:
    """The quickest of some rounds, in CPU milliseconds for one of so many."""
    best = float("inf")
    for _ in range(rounds):
        gc.collect()
        began = process_time()
        work()
        best = min(best, process_time() - began)
    return round(best / per * 1000, 3)


def stations(asked: Sequence[Answered], rounds: int) -> dict[str, float]:
    """What does not depend on the strategy."""

    def reading(words: bool) -> Callable[[], object]:
        return lambda: [parse_page(a.response, Link(a.response.url), words=words) for a in asked]

    each = len(asked)
    found = {
        "read, with words": clocked(reading(True), rounds, each),
        "read, links only": clocked(reading(False), rounds, each),
    }
    for name, warc in (("store", True), ("store, no WARC", False)):
        each_round = [_kept(asked, warc) for _ in range(rounds)]
        found["frontier: push 60 links"] = min(r[0] for r in each_round)
        found["frontier: flush"] = min(r[1] for r in each_round)
        found[name] = min(r[2] for r in each_round)
    return found


def _kept(asked: Sequence[Answered], warc: bool) -> tuple[float, float, float]:
    """Push, flush and journal of each page, in a collection of its own; milliseconds."""
    settings = replace(Settings().store, warc=warc)
    spent = [0.0, 0.0, 0.0]
    with tempfile.TemporaryDirectory() as folder, Store.open(Path(folder), "crawl", settings) as at:
        frontier = LinkFrontier(at.frontier_log, make_order("best", 1), now=0.0)
        for first in range(0, len(asked), COMMIT):
            some = asked[first : first + COMMIT]
            marks = [process_time()]
            for one in some:
                frontier.push([Candidate(link, 0.5, 0.5) for link in one.links])
            marks.append(process_time())
            with at.transaction():
                frontier.flush()
                marks.append(process_time())
                at.append_visits([_visit(one, at) for one in some])
            frontier.confirm_flush()
            marks.append(process_time())
            for n in range(3):
                spent[n] += marks[n + 1] - marks[n]
    push, flush, kept = (round(s / len(asked) * 1000, 3) for s in spent)
    return push, flush, kept


def _visit(one: Answered, store: Store) -> Visit:
    copy = store.duplicates.find_duplicate(one.page.url, one.page.text)
    link = Link(one.page.url)
    return Visit(
        link, 0.0, response=one.response, page=one.page, verdict=Verdict(0.5), duplicate=copy
    )


def cost(
    name: str, taught: Sequence[Answered], asked: Sequence[Answered], rounds: int
) -> dict[str, float]:
    made, parameters, goal = STRATEGIES[name]
    strategy = learned(made, parameters, taught)
    for one in asked[:20]:  # what is loaded and built once
        strategy.judge(one.page)
        strategy.rank(one.links)
    each = len(asked)
    judge = clocked(lambda: [strategy.judge(one.page) for one in asked], rounds, each)
    if strategy.traits.uses_link_stats or strategy.traits.parent_score != "first":
        several = [_told(strategy, asked) for _ in range(rounds)]
        rank, again = (round(min(times) / each * 1000, 3) for times in zip(*several, strict=True))
    else:
        rank = min(clocked(_ranking(strategy, asked), 1, each) for _ in range(rounds))
        again = 0.0
    both = round(judge + rank + again, 3)
    sys.stderr.write(f"{name}: judge {judge}, rank {rank}, again {again} ms\n")
    return {"judge": judge, "rank": rank, "again": again, "both": both, "goal": goal}


def _ranking(strategy: Strategy, asked: Sequence[Answered]) -> Callable[[], object]:
    """From a fresh start, since what was ranked before is remembered; with what is built once."""
    fresh = replace(strategy)  # type: ignore[type-var]
    fresh.rank(asked[0].links)
    return lambda: [fresh.rank(one.links) for one in asked]


def _told(strategy: Strategy, asked: Sequence[Answered]) -> tuple[float, float]:
    """Seconds for ranking all links, told what is known of them, and for ranking some of them
    again as visits are made; from a fresh start, since what was ranked before is remembered."""
    habits = strategy.traits
    ledger: LinkKnowledge = LinkHistory(0.5)
    if not habits.uses_link_stats:
        kinds = {"all": MeanParent, "each": ParentPlaces}
        made = kinds.get(habits.parent_score)
        ledger = BestParent() if made is None else made(neighbours=habits.uses_neighbours)
    fresh, ranking, again = replace(strategy), 0.0, 0.0  # type: ignore[type-var]
    dead_links, gone = DeadLinks(), Failure("too_large")
    fresh.rank(asked[0].links)
    with tempfile.TemporaryDirectory() as folder, Store.open(Path(folder), "crawl") as store:
        frontier = LinkFrontier(store.frontier_log, make_order("best", 1), now=0.0)
        for number, one in enumerate(asked, 1):
            began = process_time()
            ledger.record_page(Link(one.page.url, one.page.url), 0.5, one.links)
            scores = rank_links(fresh, ledger, one.links, dead_links=dead_links)
            ranking += process_time() - began
            frontier.push(map(Candidate, one.links, scores, scores))
            if number % COMMIT == 0:
                with store.transaction():
                    frontier.flush()
                frontier.confirm_flush()
            if (candidate := frontier.pop(float(number))) is None:
                continue
            began = process_time()
            (link,) = ledger.annotate_links((candidate.link,))
            visit = Visit(link, 0.0, verdict=Verdict(0.6))
            visit = visit if number % 4 else Visit(link, 0.0, failure=gone)
            ledger.record_visit(visit)
            dead_links.record_visit(visit)
            rerank_changed(fresh, ledger, frontier, dead_links=dead_links)
            again += process_time() - began
            frontier.finish(candidate, float(number), 0.0)
    return ranking, again


def learned(name: str, parameters: dict[str, Any], taught: Sequence[Answered]) -> Strategy:
    """A strategy that was given the pages as people's labels, and some of them as visits."""
    topic = load_demo_topics()[TOPIC]
    stated: dict[str, Any] = {}
    if "model" in parameters:
        folder = category_model(parameters["model"], taught)
        stated, parameters = {"model": str(folder), "categories": [TOPIC]}, {}
    settings = parse_settings(
        {
            "topic": {
                "seeds": list(topic.seeds),
                "keywords": list(topic.keywords),
                "ontology": str(ONTOLOGY),
                "concept": "backup",
                **stated,
            },
            "crawl": {"strategy": name},
            "strategy": parameters,
        },
        "the benchmark",
    )
    strategy = build_strategy(settings)
    links = {link.url: link for one in taught for link in one.links}
    examples = []
    for one in taught:
        # Its title stands for an anchor, where nobody in the sample links to it.
        known = Link(one.page.url, Url("http://docs.demo.example/"), anchor=one.page.title)
        link = links.get(one.page.url, known)
        examples.append(Example(link, one.page, float(one.good), "user"))
        seen = link._replace(
            yields=LinkStats(0.2, 5, 0.2, 5, 0.2, link.parent, link.parent, 1, 1, 50)
        )
        examples.append(Example(seen, one.page, 0.9 if one.good else 0.1, "visit"))
    return strategy.learn(examples)


def category_model(kind: str, taught: Sequence[Answered]) -> Path:
    """A model of the embedded web's topics, trained from these pages, in a folder."""
    reading = TextTokenizer()
    names = sorted({one.label for one in taught})
    segments = [reading.page_segments(one.page) for one in taught]
    labels = [names.index(one.label) for one in taught]
    corpus = Corpus(segments, labels, tuple(names), reading)
    folder = Path(tempfile.mkdtemp(prefix="honeyguide-bench-"))
    save_category_model(train_model(parse_kinds(kind)[0], corpus, TrainingOptions()), folder)
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def page(found: dict[str, Any]) -> str:
    out = [
        "# What a page costs",
        "",
        "CPU milliseconds for a page, by station of the ring and by strategy. Made by",
        "`python bench/ring.py` (`make bench-ring`) from pages of the embedded web: "
        f"{found['pages']} pages",
        f"with {found['words']} words and {found['kilobytes']} kB on average, exactly {LINKS} links "
        "each where links are",
        "ranked or pushed. Strategies have learned from as many other pages. Fetching is not in it: see",
        "`bench/throughput/README.md`. The quickest of several rounds counts; the machine was shared with",
        f"other work. Python {found['python']}.",
        "",
        "## Stations",
        "",
        "| station | ms a page |",
        "|---|--:|",
        *(f"| {name} | {ms:.2f} |" for name, ms in found["stations"].items()),
        "",
        "`read, links only` is for strategies that look at no words (`breadth`, `backlinks`). The store",
        f"looks for copies and writes texts and journal, {COMMIT} visits in a transaction; the frontier's",
        "flush writes the links into the same transaction.",
        "",
        "## Strategies",
        "",
        f"Goals: judging a page and ranking {LINKS} links in {LINEAR} ms for linear methods and {OTHERS} ms",
        "for others.",
        "",
        "`honeyguide` is told what came of similar links, and ranks some that wait again (*again*); its",
        f"goal is {HOUSE} ms.",
        "",
        "| strategy | judge | rank | again | all | goal | |",
        "|---|--:|--:|--:|--:|--:|---|",
    ]
    for name, ms in found["strategies"].items():
        met = "met" if ms["both"] <= ms["goal"] else "**missed**"
        figures = " | ".join(f"{ms[key]:.2f}" for key in ("judge", "rank", "again", "both"))
        out.append(f"| {name} | {figures} | {ms['goal']} | {met} |")
    return "\n".join([*out, ""])


if __name__ == "__main__":
    main()
