"""The benches' webs and trials, as far as they can be told without the recorded webs."""

from __future__ import annotations

import sys
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

from honeyguide.config.loading import parse_settings
from honeyguide.crawl.from_settings import build_strategy
from honeyguide.lab.report import build_report
from honeyguide.lab.trials import CrawlTrial, TrialResult, WebSpec, open_web
from honeyguide.lab.variants import REFERENCE_STRATEGIES, parse_variant, strategy_table

BENCH = Path(__file__).parents[2] / "bench"


@pytest.fixture
def house(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """As ``python bench/house.py`` would find its neighbours."""
    monkeypatch.syspath_prepend(str(BENCH))
    return import_module("house")


def test_no_bench_has_the_name_of_a_module_that_others_import() -> None:
    """A script's folder comes first: bench/honeyguide.py would be taken for the package."""
    files = {path.stem for path in BENCH.glob("*.py")}
    ours = {path.stem for path in (BENCH.parent / "src").iterdir()}
    assert not files & (set(sys.stdlib_module_names) | ours | {"numpy", "scipy", "sklearn"})


def test_whoever_can_start_from_little_does(house: ModuleType) -> None:
    web = WebSpec("w")
    trials = house.little([(web, "bees", 50)], 1)
    begun = {(trial.strategy.partition(":")[0], trial.start) for trial in trials}
    assert len(begun) == len(trials)
    for word, start in house.STARTS.items():
        names = {name for name, its in begun if its == start}
        assert "honeyguide" in names
        assert ("keyword" in names) == (word in ("all", "3 keywords"))
        assert "adaptive_links" in names
    whole = next(trial for trial in trials if trial.start is None)
    assert whole.key == CrawlTrial(web, "bees", whole.strategy, 0, 50, examples=20).key


def test_starts_are_told_apart_in_the_table_and_the_picture(house: ModuleType) -> None:
    trials = house.little([(WebSpec("w"), "bees", 50)], 2)
    some = TrialResult("", "w", "bees", "", 0, 3, (1, 2, 3), 5, 4, 3, 1.0)
    rows = [
        replace(some, strategy=trial.strategy, draw=trial.draw, found=(1, 2, 2 + (number % 3)))
        for number, trial in enumerate(trials)
    ]
    part = house.Part("little", "How little", trials, house.begun("honeyguide", "all"))
    named = house.named(part, rows)
    found = build_report(named, (), part.baseline)
    assert len(found.all) == len(trials) / 2
    picture = house.picture(part, named, found)
    assert picture.count("<polyline") == 8
    for start in house.STARTS:
        assert f"honeyguide, from {start}<" in picture
    table = house._by_topic(part, found, named)
    assert table.splitlines()[0] == f"| topic | {' | '.join(house.STARTS)} |"
    assert table.count(" / ") == 5


def test_every_adaptive_crawler_is_compared_with_its_own_static_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.syspath_prepend(str(BENCH))
    harvest = import_module("harvest")
    statics = [name for name in harvest.STRATEGIES if "teacher=none" in name]
    paired = {
        "hybrid_svm:teacher=both,neighbours=false": "hybrid_svm:teacher=none",
        "user_utility:teacher=both": "user_utility:teacher=none",
        "user_utility:teacher=both,house=true": "user_utility:teacher=none,house=true",
        "user_utility:teacher=both,house=true,neighbours=false": (
            "user_utility:teacher=none,house=true"
        ),
        "ontology_weights:teacher=both": "",
        "breadth": "",
    }
    for name, static in paired.items():
        assert name in harvest.STRATEGIES
        assert harvest._static(name, statics) == static


def test_parts_name_parameters_that_exist(house: ModuleType) -> None:
    from honeyguide import registry
    from honeyguide.config.validation import build_dataclass
    from honeyguide.lab.variants import parse_variant

    for name in (*house.PARTS, *house.RIVALS):
        chosen = parse_variant(name)
        kind = registry.find_strategy(chosen.name)
        made = build_dataclass(kind, dict(chosen.parameters), "the bench", "strategy.")
        assert type(made) is kind, name


def test_the_most_frequent_topics_of_a_made_web(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(BENCH))
    webs = import_module("webs")
    web = WebSpec("made", made="seed=5,pages=600,hosts=20")
    truth = open_web(web).responder.web
    sizes = {
        topic: sum(topic in truth.labels_of(url) for url in truth.page_urls())
        for topic in {label for url in truth.page_urls() for label in truth.labels_of(url)}
    }
    first = webs.frequent(web, 2)
    assert len(first) == 2
    assert sizes[first[0]] >= sizes[first[1]] >= max(sizes[t] for t in sizes if t not in first)
    assert sizes[first[1]] > min(sizes.values())


def test_every_strategy_that_a_bench_names_can_be_made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(BENCH))
    adaptation, harvest = import_module("adaptation"), import_module("harvest")
    gate, combinations = import_module("language_gate"), import_module("combinations")
    tables = (adaptation.CRAWLERS, adaptation.LONG, adaptation.MADE)
    names = {name for table in tables for group in table.values() for name in group}
    names |= {*harvest.STRATEGIES, *gate.STRATEGIES, *combinations.PAIRS}
    names |= {gate.gated(name, how) for name in gate.STRATEGIES for how in gate.GATES}
    for name in sorted(names - REFERENCE_STRATEGIES.keys()):
        chosen = parse_variant(name)
        topic = {"keywords": ["honey"], "seeds": ["http://e.org/"], "language": chosen.language}
        crawl = {"strategy": chosen.name}
        tables = {"topic": topic, "crawl": crawl, "strategy": strategy_table(chosen)}
        assert build_strategy(parse_settings(tables)).traits.order, name
