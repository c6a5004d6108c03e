"""Two topics in one crawl of the embedded web: one fetch a page, a score for each topic."""

from __future__ import annotations

import asyncio
import csv
import json
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest

from honeyguide import registry
from honeyguide.api.collection import Collection
from honeyguide.api.create import create
from honeyguide.config.settings import LearnSettings
from honeyguide.crawl.from_settings import build_strategy
from honeyguide.errors import ConfigError
from honeyguide.lab.responses import LabResponder
from honeyguide.lab.simulate import simulate_crawl
from honeyguide.lab.web import RecordedWeb, load_demo_topics, load_demo_web
from honeyguide.learning.generation_builder import LearningResult
from honeyguide.learning.topic_trainers import MultiTopicLearner
from honeyguide.learning.worker_process import WorkerProcessBackend
from honeyguide.multi_topic import MultiTopicStrategy
from honeyguide.store.generations import pack_strategy
from honeyguide.store.store import Store
from honeyguide.types import Example, Label
from tests.commands import Told
from tests.end_to_end.crawling import journal

SEARCH, ACCESS = "full-text-search", "authentication"
BOTH = (SEARCH, ACCESS)


@pytest.fixture(scope="module")
def web() -> RecordedWeb:
    return load_demo_web()


def made(folder: Path, **tables: Any) -> Collection:
    one, two = load_demo_topics()[SEARCH], load_demo_topics()[ACCESS]
    return create(
        folder,
        seeds=one.seeds,
        contact="tester@example.org",
        keywords=one.keywords,
        good=one.good[:3],
        topics=[{"name": ACCESS, "keywords": list(two.keywords), "good": list(two.good[:3])}],
        topic={"name": SEARCH},
        fetch={"lab": "http://127.0.0.1:1"} | tables.pop("fetch", {}),
        politeness={"loopback_delay_s": 0.0},
        **tables,
    )


def visits(collection: Collection, web: RecordedWeb, pages: int) -> Collection:
    """Go on in simulated time, where lessons are given at once."""
    limits = replace(collection.settings.crawl, pages=pages, concurrency=4)
    simulate_crawl(collection.folder, replace(collection.settings, crawl=limits), LabResponder(web))
    return Collection(collection.folder)


def live(collection: Collection) -> tuple[MultiTopicStrategy, dict[str, dict[str, float]]]:
    """The generation that decides, and what it says of each page for each topic."""
    with Store.open(collection.folder, "read") as store:
        number = store.generations.live_number()
        assert number is not None
        found = store.generations.load(number, registry.find_strategy)
        assert isinstance(found, MultiTopicStrategy)
        pages = [
            store.visits.rebuild_page(row)
            for row in store.visits.iter_visits(page=True)
            if row.verdict is not None
        ]
        return found, {
            page.url: {name: found.strategy_for(name).judge(page).score for name in BOTH}
            for page in pages
        }


def test_two_topics_in_one_crawl(tmp_path: Path, web: RecordedWeb, told: Told) -> None:
    manuals = tmp_path / "manuals"
    collection = visits(made(manuals, learn={"teacher": "interactive"}), web, 90)
    rows = [row for row in journal(manuals) if row.verdict is not None]
    fetched = [row.url for row in journal(manuals)]
    assert len(fetched) == len(set(fetched)), "each page once"
    for name in BOTH:
        truth = [name in web.labels_of(row.url) for row in rows]
        right = sum(
            (row.topic_scores[name] >= 0.5) == true for row, true in zip(rows, truth, strict=True)
        )
        assert right / len(rows) > 0.7, name
        wanted = [row.topic_scores[name] for row, true in zip(rows, truth, strict=True) if true]
        others = [row.topic_scores[name] for row, true in zip(rows, truth, strict=True) if not true]
        assert len(wanted) >= 3, name
        assert fmean(wanted) > fmean(others) + 0.3, name
    assert all(row.verdict == max(row.topic_scores.values()) for row in rows)

    found = collection.status()
    counted, cut = found.topics, found.kept.threshold if found.kept else 0.5
    assert counted == {name: sum(r.topic_scores[name] >= cut for r in rows) for name in BOTH}
    said = told("status", manuals).out
    assert f"{SEARCH} {counted[SEARCH]} · {ACCESS} {counted[ACCESS]}" in said
    page = max(rows, key=lambda row: row.topic_scores[ACCESS])
    said = told("explain", manuals, page.url).out
    assert f"{ACCESS} {page.topic_scores[ACCESS]:.2f}" in said
    assert f"{ACCESS}: " in said, "its reasons name the topic"

    # Labels of one topic: they are learned, by that topic only.
    before, thought = live(collection)
    judged = [(url, float(SEARCH in web.labels_of(url))) for url in list(thought)[:50]]
    collection.label_all(judged, topic=SEARCH)
    visits(collection, web, 95)
    after, thinks = live(collection)
    assert pack_strategy("it", after.strategy_for(ACCESS)) == pack_strategy(
        "it", before.strategy_for(ACCESS)
    )
    assert pack_strategy("it", after.strategy_for(SEARCH)) != pack_strategy(
        "it", before.strategy_for(SEARCH)
    )
    error = [
        sum((thoughts[url][SEARCH] - value) ** 2 for url, value in judged)
        for thoughts in (thought, thinks)
    ]
    assert error[1] < max(error[0], 1e-3)
    notes = [each.generation.note for each in collection.generations()]
    assert f"{SEARCH}: " in notes[-1]
    assert f"{ACCESS}: " not in notes[-1]


def test_a_page_good_for_one_topic_and_bad_for_the_other(
    tmp_path: Path, web: RecordedWeb, told: Told
) -> None:
    manuals = tmp_path / "manuals"
    collection = visits(made(manuals, crawl={"strategy": "keyword"}), web, 60)
    rows = [row for row in journal(manuals) if row.verdict is not None]
    page = next(row for row in rows if row.topic_scores[SEARCH] >= 0.5 > row.topic_scores[ACCESS])
    wrong = told("label", manuals, "--good", page.url)
    assert (wrong.code, f"{SEARCH} or {ACCESS}" in wrong.err) == (2, True)
    wrong = told("label", manuals, "--good", page.url, "--topic", "acess")
    assert (wrong.code, f"known: {SEARCH}, {ACCESS}" in wrong.err) == (2, True)
    for kind, topic in (("--bad", SEARCH), ("--good", ACCESS)):
        assert told("label", manuals, kind, page.url, "--topic", topic).code == 0
    assert {t: x.value for t, x in collection.labels(page.url).items()} == {SEARCH: 0, ACCESS: 1}
    assert json.loads(told("explain", manuals, page.url, "--json").out)["labels"] == {
        SEARCH: 0.0,
        ACCESS: 1.0,
    }
    assert "differ" not in told("status", manuals).out, "one person, two topics: no contradiction"

    found = {}
    for topic in ("", *BOTH):
        file = tmp_path / f"{topic or 'all'}.csv"
        assert told("export", manuals, "--to", file, "--topic", topic, "--no-text").code == 0
        with file.open(newline="") as lines:
            found[topic] = {row["url"]: row for row in csv.DictReader(lines)}
    assert page.url not in found[SEARCH]
    assert page.url in found[ACCESS]
    row = found[""][page.url]
    assert float(row[f"topic.{SEARCH}"]) == page.topic_scores[SEARCH]
    assert (row[f"label.{SEARCH}"], row[f"label.{ACCESS}"]) == ("0.0", "1.0")
    assert set(found[""]) == set(found[SEARCH]) | set(found[ACCESS])
    plain = tmp_path / "all.jsonl"
    collection.export(plain, text=False)
    assert f"topic.{ACCESS}" in json.loads(plain.read_text().splitlines()[0])
    assert told("export", manuals, "--to", plain, "--topic", "x").code == 2


def test_it_goes_on_where_it_was(tmp_path: Path, web: RecordedWeb) -> None:
    manuals = tmp_path / "manuals"
    collection = visits(made(manuals, crawl={"strategy": "hybrid_svm"}), web, 80)
    before = len(journal(manuals))
    learned, thought = live(collection)
    assert visits(collection, web, 80).status().generation is not None
    again, thinks = live(collection)
    assert thinks == thought, "opened again, it is the same generation"
    assert pack_strategy("it", again) == pack_strategy("it", learned)
    visits(collection, web, 120)
    urls = [row.url for row in journal(manuals)]
    assert len(urls) == len(set(urls)) > before

    # A topic more is a generation more; what was found before is judged again at the end.
    text = (manuals / "topic.toml").read_text()
    third = '\n[[topics]]\nname = "backup"\nkeywords = ["backup", "restore"]\n'
    (manuals / "topic.toml").write_text(text + third)
    collection = visits(Collection(manuals), web, 140)
    assert collection.topics == (*BOTH, "backup")
    rows = [row for row in journal(manuals) if row.verdict is not None]
    assert set(rows[0].topic_scores) == {*BOTH, "backup"}
    assert set(rows[-1].topic_scores) == {*BOTH, "backup"}
    assert set(collection.status().topics) == {*BOTH, "backup"}


def test_lessons_apart(tmp_path: Path, web: RecordedWeb) -> None:
    """In real time each topic learns in a process of its own; one that cannot keeps its part."""
    collection = visits(made(tmp_path / "manuals", crawl={"strategy": "hybrid_svm"}), web, 40)
    settings = replace(collection.settings, learn=LearnSettings(teacher="interactive"))
    made_of: Any = build_strategy(settings)
    with Store.open(collection.folder, "crawl") as store:
        rows = [row for row in store.visits.iter_visits(page=True) if row.verdict is not None]
        store.labels.add([Label(row.url, float(n % 2), topic=ACCESS) for n, row in enumerate(rows)])

        async def lesson() -> LearningResult:
            tutors = MultiTopicLearner(WorkerProcessBackend, store, settings)
            try:
                for row in rows:
                    tutors.offer(Example(row.link, store.visits.rebuild_page(row), 1.0, "user"))
                return await tutors.build_generation(made_of)
            finally:
                await tutors.aclose()

        done = asyncio.run(lesson())
    assert done.live
    learned: Any = done.strategy
    assert learned.strategy_for(SEARCH) is made_of.strategy_for(SEARCH), (
        "three good pages teach nothing"
    )
    assert learned.strategy_for(ACCESS) is not made_of.strategy_for(ACCESS)


def test_status_and_export_count_the_same_whatever_people_said(
    tmp_path: Path, web: RecordedWeb
) -> None:
    collection = visits(made(tmp_path / "c"), web, 60)

    def counts(topic: str = "") -> int:
        done = collection.export(tmp_path / "c.csv", topic=topic, text=False)
        return done.rows

    def agree() -> None:
        exported = counts()  # learns and judges first
        found = collection.status()
        assert found.relevant == exported
        assert found.topics == {name: counts(name) for name in BOTH}

    agree()
    good = [row.url for row in collection.pages(relevant=True)]
    bad = [row.url for row in collection.pages(relevant=False)]
    for name in BOTH:
        collection.label(good[0], 0.0, topic=name)  # bad for both
    collection.label(bad[0], 1.0, topic=ACCESS)
    agree()
    collection.label(bad[0], 0.0, topic=SEARCH)  # still good for the other
    agree()
    assert counts(ACCESS) >= 1
    collection.judge()
    agree()
    collection = visits(collection, web, 70)
    agree()


def test_a_topic_added_later_is_not_judged_by_a_generation_that_does_not_know_it(
    tmp_path: Path, web: RecordedWeb
) -> None:
    collection = visits(made(tmp_path / "c"), web, 30)
    with (collection.folder / "topic.toml").open("a") as file:
        file.write('\n[[topics]]\nname = "backup"\nkeywords = ["backup"]\n')
    with pytest.raises(ConfigError, match="other topics"):
        Collection(collection.folder).judge()
