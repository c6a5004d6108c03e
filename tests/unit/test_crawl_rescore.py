"""What was judged too early, or is overruled by a person, in simulated time."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from honeyguide.config.loading import parse_settings
from honeyguide.crawl.rescore import overrule_verdicts, rescore_pages
from honeyguide.languages.gate import judge_page
from honeyguide.store.export import export_collection
from honeyguide.store.store import Store
from honeyguide.types import UNKNOWN_SCORE, Label, Url
from tests.unit.crawling import FakeWeb, crawl, rows
from tests.unit.test_training_feed import FINCH, SOUP, address, birds, html, is_finch

GOOD = [address(n) for n in (40, 42, 44)]
ALONE: dict[str, Any] = {
    "crawl": {"strategy": "honeyguide", "pages": 50, "concurrency": 1},
    "topic": {"keywords": [], "good": GOOD},
}


def agree(folder: Path) -> int:
    """Everybody who counts relevant pages says the same; how many there are."""
    with Store.open(folder, "read") as store:
        found = [row for row in store.visits.iter_visits() if row.relevant]
        counts = store.counter.read_counts()
        assert counts.relevant == len(found)
        assert sum(host.relevant for host in store.counter.top_hosts()) == len(found)
        assert sum(part.relevant for part in counts.generations.values()) == len(found)
        assert store.counter.harvest_curve()[-1][1] == len(found)
        so_far = 0
        for row, (_, relevant) in zip(
            store.visits.iter_visits(), store.counter.harvest_curve(10_000), strict=False
        ):
            so_far += row.relevant
            assert relevant == so_far
        assert json.loads(store.get_meta("coverage") or "[]")[1] == len(found)
        out = folder.parent / f"{folder.name}.jsonl"
        assert export_collection(store, out).rows == len(found)
    return len(found)


def test_pages_before_the_first_lesson_are_judged_by_it(tmp_path: Path) -> None:
    folder = tmp_path / "birds"
    report = crawl(folder, birds(), [address(0)], **ALONE)
    found = rows(folder)
    assert not [url for url, row in found.items() if row.verdict == UNKNOWN_SCORE]
    assert all(found[url].relevant for url in GOOD)
    early = list(found.values())[:12]
    assert sum(bool(row.relevant) == is_finch(row.url) for row in early) >= 0.9 * len(early)
    assert report.progress.relevant == report.estimate.found == agree(folder)


def test_a_resumed_crawl_judges_what_an_earlier_one_could_not(tmp_path: Path) -> None:
    folder = tmp_path / "birds"
    untaught = {"crawl": ALONE["crawl"] | {"pages": 12}, "topic": {"keywords": []}}
    web = birds()
    crawl(folder, web, [address(0)], **untaught)
    assert {row.verdict for row in rows(folder).values()} == {UNKNOWN_SCORE}
    with Store.open(folder, "write") as store, store.transaction():
        store.labels.add([Label(Url(url), float(is_finch(url))) for url in web.paths()[:6]])
    crawl(folder, web, [address(0)], **{**untaught, "crawl": ALONE["crawl"] | {"pages": 16}})
    found = rows(folder)
    assert UNKNOWN_SCORE not in {row.verdict for row in found.values()}
    assert all(bool(found[url].relevant) == is_finch(url) for url in web.paths()[:6])
    agree(folder)


@pytest.mark.parametrize("value", [1.0, 0.0])
def test_a_persons_word_goes_before_the_verdict(tmp_path: Path, value: float) -> None:
    """The page says the opposite; the label comes while the crawl runs."""
    folder, page = tmp_path / "birds", address(1 if value else 2)
    settings: dict[str, Any] = {
        "crawl": {"strategy": "honeyguide", "pages": 30, "concurrency": 1},
        "topic": {"keywords": ["finch", "plumage", "feather"]},
        "learn": {"teacher": "interactive"},
    }
    web, seeds = birds(), [address(0), address(1), address(2)]
    crawl(folder, web, seeds, **settings)
    before = agree(folder)
    assert bool(rows(folder)[page].relevant) != bool(value)
    with Store.open(folder, "write") as store, store.transaction():
        store.labels.add([Label(Url(page), value)])
    more = settings | {"crawl": settings["crawl"] | {"pages": 31}}
    report = crawl(folder, web, seeds, **more)
    assert bool(rows(folder)[page].relevant) == bool(value)
    assert agree(folder) == report.progress.relevant
    # The page itself, the one that was fetched since, and one near the cut.
    assert abs(agree(folder) - before) <= 3


def test_examples_count_as_what_they_are_given_for(tmp_path: Path) -> None:
    """A good page in words that the topic does not know, a bad one full of them."""
    folder = tmp_path / "birds"
    topic = {"keywords": ["finch"], "good": [address(41)], "bad": [address(42)]}
    crawl(folder, birds(), [address(0)], crawl=ALONE["crawl"], topic=topic)
    found = rows(folder)
    assert found[address(41)].relevant
    assert not found[address(42)].relevant
    agree(folder)


def test_marking_twice_changes_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "few"
    web = FakeWeb({address(0): html(0, 1, 2), address(1): html(1), address(2): html(2)})
    topic = {"keywords": [FINCH.split()[0], SOUP.split()[0]]}
    crawl(folder, web, [address(0)], crawl={"strategy": "keyword"}, topic=topic)
    with Store.open(folder, "write") as store:
        numbers = {row.id: not row.relevant for row in store.visits.iter_visits()}
        before = store.counter.read_counts().relevant
        with store.transaction():
            assert sum(store.counter.mark_relevant(numbers).values()) == len(numbers) - 2 * before
        with store.transaction():
            assert store.counter.mark_relevant(numbers) == {}
        assert store.counter.read_counts().relevant == len(numbers) - before


def test_people_go_first_after_all_was_judged_anew(tmp_path: Path) -> None:
    folder = tmp_path / "birds"
    topic = {"keywords": ["finch"], "good": [address(41)], "bad": [address(42)]}
    tables = {"crawl": ALONE["crawl"], "topic": {"seeds": [address(0)], **topic}}
    crawl(folder, birds(), [address(0)], **tables)
    settings = parse_settings(tables)
    given = {address(41), address(42)}
    page = max(url for url, row in rows(folder).items() if row.relevant and url not in given)
    with Store.open(folder, "write") as store, store.transaction():
        store.labels.add([Label(Url(page), 0.0)])
    rescore_pages(folder, settings)
    with Store.open(folder, "crawl") as store:
        assert overrule_verdicts(store, settings) == store.counter.read_counts().relevant
    found = rows(folder)
    assert found[address(41)].relevant
    assert not found[address(42)].relevant
    assert (found[page].verdict or 0.0) >= 0.5, "the verdict says otherwise"
    assert not found[page].relevant
    agree(folder)


def test_a_page_that_cannot_be_judged_again_keeps_its_verdict(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A bug of ours on one stored page must not end a crawl, now and on every resume."""
    folder = tmp_path / "birds"
    web = birds()
    crawl(folder, web, [address(0)], **ALONE)
    bad, before = web.paths()[20], rows(folder)[web.paths()[20]].verdict

    def judge(strategy: Any, page: Any, languages: Any) -> Any:
        if page.url == bad:
            raise ZeroDivisionError
        return judge_page(strategy, page, languages)

    monkeypatch.setattr("honeyguide.crawl.rescore.judge_page", judge)
    settings = parse_settings({**ALONE, "topic": ALONE["topic"] | {"seeds": [address(0)]}})
    result = rescore_pages(folder, settings)
    assert result.pages == len([row for row in rows(folder).values() if row.has_page]) - 1
    assert rows(folder)[bad].verdict == before
    monkeypatch.setattr("honeyguide.crawl.rescore.judge_page", None)  # it fails on all of them
    with pytest.raises(TypeError):
        rescore_pages(folder, settings)
