"""What a crawl learns from, in simulated time: examples, labels, its own verdicts, resumes."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import apsw
import pytest

from honeyguide.api.labels import add_labels
from honeyguide.cli.status import status_lines
from honeyguide.config.loading import parse_settings
from honeyguide.crawl.from_settings import build_strategy, strategy_choices, suited_strategy
from honeyguide.crawl.loop import CrawlLoop
from honeyguide.crawl.rescore import current_judge, rescore_pages
from honeyguide.crawl.status import collection_status, missing_page_notes
from honeyguide.errors import ConfigError, ModelError
from honeyguide.learning.topics import example_labels, load_example_files
from honeyguide.learning.unlearned import find_unlearned
from honeyguide.search.query_planner import composer_pages
from honeyguide.store.searches import SearchRow
from honeyguide.store.store import Store
from honeyguide.types import Label, Url
from tests.unit.crawling import FakeWeb, crawl, rows

FINCH = "finch plumage migration nest feather seed beak wing song flock "
SOUP = "soup kettle onion salt boil pepper broth ladle carrot simmer "
PAGES = 120


def html(n: int, *targets: int) -> str:
    words = FINCH if n % 2 == 0 else SOUP
    links = " · ".join(
        f'<a href="/p{m}">{(FINCH if m % 2 == 0 else SOUP).split()[m % 10]} {m}</a>'
        for m in targets
    )
    # Words around a link count: keep those of the page away from the first one.
    rest = "Everything else that stands here leads to one of these further pages:"
    return f"<title>page {n}</title><p>{words * 6} number {n}<p>{rest} {links}"


def birds() -> FakeWeb:
    """Even pages are about finches, odd ones about soup; each links to the next eight."""
    pages: dict[str, Any] = {
        address(n): html(n, *range(n + 1, min(n + 9, PAGES))) for n in range(PAGES)
    }
    return FakeWeb(pages)


def address(n: int) -> str:
    return f"http://a.test/p{n}"


def is_finch(url: str) -> bool:
    return int(url.rpartition("p")[2]) % 2 == 0


LEARNING: dict[str, Any] = {
    "crawl": {"strategy": "hybrid_svm", "pages": 40, "concurrency": 1},
    "topic": {"keywords": []},
}


def test_examples_of_the_topic_are_fetched_first_and_learned_from(tmp_path: Path) -> None:
    web = birds()
    topic = {
        "keywords": [],
        "good": [address(n) for n in (40, 42, 44)],
        "bad": [address(n) for n in (41, 43, 45)],
    }
    report = crawl(tmp_path, web, [address(0)], **{**LEARNING, "topic": topic})
    assert set(web.paths()[:7]) == {address(n) for n in (0, *range(40, 46))}
    visited = [url for url in web.paths()[7:] if int(url.rpartition("p")[2]) not in range(40, 46)]
    assert visited
    assert all(map(is_finch, visited[:8])), "the first lesson came before the first choice"
    assert report.progress.generation >= 1
    found = rows(tmp_path)
    assert found[address(41)].channel == "example"
    sources = {row.source for row in found.values()}
    assert address(41) not in sources, "nobody wants what a bad example links to"


def test_files_are_examples_too(tmp_path: Path) -> None:
    (tmp_path / "good").mkdir()
    (tmp_path / "bad").mkdir()
    for n in range(4):
        (tmp_path / "good" / f"{n}.html").write_text(f"<p>{FINCH * 5} {n}")
        (tmp_path / "bad" / f"{n}.txt").write_text(f"{SOUP * 5} {n}")
    topic = {"keywords": [], "good_files": ["good/*.html"], "bad_files": ["bad/*.txt"]}
    web = birds()
    crawl(tmp_path, web, [address(0)], **{**LEARNING, "topic": topic})
    assert all(map(is_finch, web.paths()[:8]))
    gone = parse_settings({"topic": {"good_files": ["gone/*.html"]}})
    with pytest.raises(ConfigError, match="no file 'gone/"):
        load_example_files(tmp_path, gone)
    (tmp_path / "good" / "x.html").write_bytes(b"\x00\x01\x02" * 400)
    with pytest.raises(ConfigError, match="no text"):
        load_example_files(tmp_path, parse_settings({"topic": {"good_files": ["good/x.html"]}}))


@pytest.mark.parametrize(
    ("text", "told"), [("", "is empty"), (" \n\t", "is empty"), ("<p> <br>", "holds no words")]
)
def test_an_empty_file_is_no_example(tmp_path: Path, text: str, told: str) -> None:
    (tmp_path / "blank.html").write_text(text)
    with pytest.raises(ConfigError, match=rf"good_files: .*blank\.html {told}"):
        load_example_files(tmp_path, parse_settings({"topic": {"good_files": ["blank.html"]}}))


def test_an_example_that_cannot_be_had_is_named(tmp_path: Path) -> None:
    bad = [address(n) for n in range(300, 305)]
    topic = {"keywords": [], "good": [address(40), address(299)], "bad": [address(41), *bad]}
    crawl(tmp_path, birds(), [address(0)], **{**LEARNING, "topic": topic})
    settings = parse_settings({"topic": {"seeds": [address(0)], **topic}})
    with Store.open(tmp_path, "read") as store:
        good, *rest = missing_page_notes(store, settings)
        later = list(missing_page_notes(store, settings, since=time.time()))
        told = list(status_lines(collection_status(store, settings, 0)))
    assert good.startswith(f"the good example {address(299)} returned no page (status: ")
    assert "404" in good
    assert "topic.good_files" in good
    assert [text for text in rest if text.startswith("the bad example ")] == rest[:3]
    assert rest[3:] == ["so did 2 more of the bad examples"]
    assert later == [], "each run tells of its own"
    assert told[-5:] == [good, *rest]


@pytest.mark.parametrize(
    ("topic", "wanted"),
    [
        ({"bad": [address(41)]}, "add keywords or good pages"),
        ({"good": [address(40)]}, "add keywords or bad pages"),
        ({}, "add keywords or good and bad pages"),
    ],
)
def test_what_the_topic_lacks_is_named(tmp_path: Path, topic: dict[str, Any], wanted: str) -> None:
    settings = {"crawl": {"strategy": "hybrid_svm", "pages": 3}, "learn": {"teacher": "none"}}
    report = crawl(tmp_path, birds(), [address(0)], **settings, topic={"keywords": [], **topic})
    assert any(wanted in warning for warning in report.warnings), report.warnings


def test_a_bad_page_never_fetched_is_counted_apart(tmp_path: Path) -> None:
    crawl(tmp_path, birds(), [address(0)], **{**LEARNING, "topic": {"keywords": ["finch"]}})
    settings = parse_settings({"topic": {"seeds": [address(0)]}})
    pairs = [(address(300), 0.0), (address(301), 1.0), (address(0), 0.0)]
    done = add_labels(tmp_path, settings, pairs, "ada", None)
    assert (done.kept, done.unfetched, done.unseen_bad) == (3, 2, 1)


def test_bad_search_results_teach_without_being_fetched(tmp_path: Path) -> None:
    web = birds()
    crawl(tmp_path, web, [address(0)], **LEARNING)
    seen = len(web.asked)
    results = [f"http://b.test/{n}" for n in range(6)]
    settings = parse_settings({"topic": {"seeds": [address(0)]}, "crawl": LEARNING["crawl"]})
    with Store.open(tmp_path, "write") as store, store.transaction():
        hits = [(url, f"Soup of today {url[-1]}", f"{SOUP} {url[-1]}") for url in results]
        store.searches.add_search(SearchRow(1.0, "fake", "soup"), hits)
        finches = [url for url in web.paths() if is_finch(url)][:6]
    pairs = [(url, 1.0) for url in finches] + [(url, 0.0) for url in results]
    done = add_labels(tmp_path, settings, [*pairs, (address(300), 0.0)], "ada", "")
    assert (done.unfetched, done.unseen_bad, done.unseen_results) == (7, 7, 6)
    with Store.open(tmp_path, "read") as store:
        left = find_unlearned(store, settings)
        assert (left.waiting, left.unfetched) == (12, 1), "the other one teaches nothing"
        composed = {page.url: weight for page, weight in composer_pages(store, settings)}
    assert {composed[Url(url)] for url in results} == {-1.0}

    more = {**LEARNING, "crawl": LEARNING["crawl"] | {"pages": 60}}
    crawl(tmp_path, web, [address(0)], **more)
    later = [url for _, url in web.asked[seen:] if url.startswith("http://a.test/p")]
    assert not [url for _, url in web.asked if "b.test" in url], "none was fetched"
    assert sum(map(is_finch, later)) / len(later) > 0.8, "and all were learned from"
    with Store.open(tmp_path, "read") as store:
        notes = [row.note for row in store.generations.list_all()]
        assert find_unlearned(store, settings).waiting == 0
    assert any(note.startswith("6 good and 6 bad examples") for note in notes), notes


def test_bad_examples_that_cannot_be_had_teach_by_their_search_results(tmp_path: Path) -> None:
    web = birds()
    crawl(tmp_path, web, [address(0)], **LEARNING)
    gone = [address(n) for n in range(301, 311, 2)]
    with Store.open(tmp_path, "write") as store, store.transaction():
        hits = [(url, f"Soup of today {url[-1]}", f"{SOUP} {url[-1]}") for url in gone]
        store.searches.add_search(SearchRow(1.0, "fake", "soup"), hits)
    topic = {"keywords": [], "good": [address(n) for n in (2, 4, 6, 8)], "bad": gone}
    crawl(tmp_path, web, [address(0)], crawl=LEARNING["crawl"] | {"pages": 60}, topic=topic)
    assert set(gone) <= set(web.paths()), "they were asked for"
    with Store.open(tmp_path, "read") as store:
        notes = [row.note for row in store.generations.list_all()]
    assert any("4 good and 5 bad examples" in note for note in notes), notes


def test_labels_of_earlier_runs_and_of_pages_never_seen(tmp_path: Path) -> None:
    web = birds()
    crawl(tmp_path, web, [address(0)], **LEARNING)
    assert 0.3 < sum(map(is_finch, web.paths())) / 40 < 0.7, "untaught, it takes what comes"
    with Store.open(tmp_path, "write") as store, store.transaction():
        known = [Label(Url(url), float(is_finch(url))) for url in web.paths()[:20]]
        store.labels.add([*known, Label(Url(address(60)), 1.0), Label(Url(address(61)), 0.0)])
    before = len(web.paths())
    crawl(tmp_path, web, [address(0)], **{**LEARNING, "crawl": LEARNING["crawl"] | {"pages": 60}})
    later = web.paths()[before:]
    assert address(60) in later[:3], "a good page that was never seen is visited next"
    assert sum(map(is_finch, later)) / len(later) > 0.8


def test_a_generation_chosen_by_hand_is_taken_up(tmp_path: Path) -> None:
    web = birds()
    topic = {
        "keywords": [],
        "good": [address(n) for n in (40, 42, 44)],
        "bad": [address(n) for n in (41, 43, 45)],
    }
    crawl(tmp_path, web, [address(0)], **{**LEARNING, "topic": topic})
    with Store.open(tmp_path, "write") as store:
        assert (store.generations.live_number() or 0) >= 1
        store.generations.set_live(0)
        store.labels.add([Label(Url(u), float(is_finch(u))) for u in web.paths()[:20]])
        made = len(store.generations.list_all())

    def see(ring: CrawlLoop) -> None:
        assert ring.generation == 0

    more = LEARNING["crawl"] | {"pages": 60}
    settings: dict[str, Any] = {"learn": {"teacher": "none"}, "topic": topic, "crawl": more}
    crawl(tmp_path, web, [address(0)], meanwhile=see, **settings)
    with Store.open(tmp_path, "read") as store:
        assert store.generations.live_number() == 0, "without a teacher it stays"
        assert len(store.generations.list_all()) == made


def test_good_and_bad_at_once_is_a_mistake() -> None:
    with pytest.raises(ConfigError, match="both in"):
        example_labels(
            parse_settings({"topic": {"good": ["http://a.test/"], "bad": ["http://a.test/"]}})
        )
    with pytest.raises(ConfigError, match="good_files"):
        example_labels(parse_settings({"topic": {"good": ["examples/one.html"]}}))


@pytest.mark.parametrize(
    ("topic", "strategy"),
    [
        ({}, "breadth"),
        ({"keywords": ["finch"]}, "honeyguide"),
        ({"description": "finches"}, "honeyguide"),
        ({"good_files": ["*.html"]}, "honeyguide"),
        ({"bad": ["http://a.test/"]}, "breadth"),
        ({"ontology": "cell"}, "breadth"),
        ({"ontology": "cell", "concept": "cell"}, "honeyguide"),
    ],
)
def test_what_suits_a_topic(topic: dict[str, Any], strategy: str) -> None:
    assert suited_strategy(topic) == strategy
    assert not next(c for c in strategy_choices(topic) if c.name == strategy).missing


def test_what_a_topic_lacks() -> None:
    lacking = {choice.name: choice.missing for choice in strategy_choices({})}
    assert lacking["keyword"] == ("keywords", "description")
    assert lacking["breadth"] == ()


@pytest.mark.parametrize("damaged", [0, 1, 2])
def test_a_generation_that_cannot_be_read_gives_way_to_an_earlier_one(
    damaged: int, tmp_path: Path
) -> None:
    web = birds()
    topic = {"keywords": [], "good": [address(40), address(42)], "bad": [address(41), address(43)]}
    settings = {**LEARNING, "topic": topic}
    crawl(tmp_path, web, [address(0)], **settings)
    with apsw.Connection(str(tmp_path / "collection.db")) as db:
        db.execute("UPDATE generations SET data = x'00112233' WHERE number >= ?", (damaged,))
    with Store.open(tmp_path, "write") as store, store.transaction():
        labels = [Label(Url(u), float(is_finch(u))) for u in web.paths()[:20]]
        store.labels.add(labels)
        live, decides = (
            store.generations.live_number() or 0,
            damaged - 1 if damaged else store.generations.next_number(),
        )
    more = LEARNING["crawl"] | {"pages": 60}
    report = crawl(tmp_path, web, [address(0)], **{**settings, "crawl": more})
    (told,) = (warning for warning in report.warnings if "generation" in warning)
    assert f"generation {live} could not be read: a saved strategy is damaged; " in told
    assert f"generation {decides}" in told
    assert "unpack" not in told
    assert report.progress.visits == 60
    with Store.open(tmp_path, "read") as store:
        new = [g for g in store.generations.list_all() if g.number > max(live, decides)]
        good = sum(label.value >= 0.5 for label in labels)
        told = f"{good} good and {len(labels) - good} bad examples"
        assert told in new[0].note, "all labels are learned from again"
        assert store.generations.live_number() == report.progress.generation == new[-1].number


def test_judging_falls_back_from_a_damaged_generation(tmp_path: Path) -> None:
    topic = {"keywords": [], "good": [address(40), address(42)], "bad": [address(41), address(43)]}
    crawl(tmp_path, birds(), [address(0)], **{**LEARNING, "topic": topic})
    settings = parse_settings({**LEARNING, "topic": topic | {"seeds": [address(0)]}})
    assert rescore_pages(tmp_path, settings).warning == ""
    with Store.open(tmp_path, "read") as store:
        live = store.generations.live_number() or 0
    with apsw.Connection(str(tmp_path / "collection.db")) as db:
        db.execute("UPDATE generations SET data = x'' WHERE number = ?", (live,))
    assert current_judge(tmp_path, settings)[1] == live - 1
    done = rescore_pages(tmp_path, settings)
    assert done.generation == live - 1
    assert "only the note is left" in done.warning
    assert f"generation {live - 1} is active" in done.warning
    with Store.open(tmp_path, "read") as store:
        assert store.generations.live_number() == live - 1, "the list of generations stars it"
    with apsw.Connection(str(tmp_path / "collection.db")) as db:
        db.execute("UPDATE generations SET data = x'00'")
    with pytest.raises(ModelError, match="damaged"):
        rescore_pages(tmp_path, settings)


def test_pages_found_early_are_judged_anew(tmp_path: Path) -> None:
    web = birds()
    topic = {"keywords": [], "seeds": [address(0)]}
    crawl(tmp_path, web, [address(0)], **LEARNING)
    assert not any(row.relevant for row in rows(tmp_path).values()), "it knows nothing yet"
    with Store.open(tmp_path, "write") as store, store.transaction():
        store.labels.add([Label(Url(u), float(is_finch(u))) for u in web.paths()[:20]])
    crawl(tmp_path, web, [address(0)], **{**LEARNING, "crawl": LEARNING["crawl"] | {"pages": 41}})
    settings = parse_settings(
        {"topic": topic, **{k: v for k, v in LEARNING.items() if k != "topic"}}
    )
    done = rescore_pages(tmp_path, settings)
    found = rows(tmp_path)
    assert done.pages == 41
    assert done.after == sum(row.relevant for row in found.values()) > 15
    assert all(bool(row.relevant) == is_finch(url) for url, row in found.items())
    with Store.open(tmp_path, "read") as store:
        assert store.counter.read_counts().relevant == done.after


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -1.0])
def test_numbers_of_a_strategy_make_sense(value: float) -> None:
    topic = {"seeds": [address(0)]}
    settings = parse_settings(
        {"topic": topic, "crawl": {"strategy": "hybrid_svm"}, "strategy": {"page_weight": value}}
    )
    with pytest.raises(ConfigError, match=r"strategy\.page_weight"):
        build_strategy(settings)


def test_an_example_that_moved_teaches_where_it_moved_to(tmp_path: Path) -> None:
    web = birds()
    for n, target in ((200, 42), (201, 43)):
        web.answers[address(n)] = (301, {"Location": address(target)}, "")
    topic = {
        "keywords": [],
        "good": [address(40), address(200)],
        "bad": [address(41), address(201)],
    }
    crawl(tmp_path, web, [address(0)], **{**LEARNING, "topic": topic})
    with Store.open(tmp_path, "read") as store:
        notes = [generation.note for generation in store.generations.list_all()]
    assert any("2 good and 2 bad examples" in note for note in notes)


def test_files_outside_the_collection_are_not_read(tmp_path: Path) -> None:
    folder = tmp_path / "birds"
    folder.mkdir()
    (tmp_path / "secret.html").write_text("<p>hunter2")
    (folder / "link.html").symlink_to(tmp_path / "secret.html")
    for pattern in ("../secret.html", "link.html"):
        with pytest.raises(ConfigError, match="leads out"):
            load_example_files(folder, parse_settings({"topic": {"good_files": [pattern]}}))
    with pytest.raises(ConfigError):
        load_example_files(
            folder, parse_settings({"topic": {"good_files": [str(tmp_path / "secret.html")]}})
        )
