"""Which labels wait to be learned, and simulated training runs that take their time."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import pytest

from honeyguide.config.loading import parse_settings
from honeyguide.config.settings import Settings
from honeyguide.crawl.from_settings import build_strategy
from honeyguide.crawl.live_generation import choose_generation
from honeyguide.lab.simulate import TrainingCost
from honeyguide.learning.generation_builder import GateTrial, LearningResult
from honeyguide.learning.unlearned import UnlearnedLabels, find_unlearned
from honeyguide.learning.worker_process import InProcessBackend
from honeyguide.store.generations import TrainingMark
from honeyguide.store.store import Store
from honeyguide.types import Label, Url
from tests.unit.crawling import crawl, rows
from tests.unit.test_training_feed import LEARNING, address, birds, is_finch

TOPIC = {"keywords": [], "seeds": [address(0)]}


def stated(**tables: Any) -> Settings:
    return parse_settings({**LEARNING, "topic": TOPIC, **tables})


def give(folder: Path, urls: list[str]) -> None:
    with Store.open(folder, "write") as store, store.transaction():
        store.labels.add([Label(Url(url), float(is_finch(url))) for url in urls])


def found(folder: Path, **tables: Any) -> UnlearnedLabels:
    with Store.open(folder, "read") as store:
        return find_unlearned(store, stated(**tables))


def test_labels_wait_until_a_training_run_had_them(tmp_path: Path) -> None:
    web = birds()
    crawl(tmp_path, web, [address(0)], **LEARNING)
    assert found(tmp_path) == UnlearnedLabels()
    give(tmp_path, [*web.paths()[:10], address(110)])
    assert found(tmp_path) == UnlearnedLabels(waiting=10, unfetched=1)
    assert found(tmp_path, learn={"teacher": "automatic"}) == UnlearnedLabels(), "nobody listens"
    assert found(tmp_path, crawl={"strategy": "breadth"}) == UnlearnedLabels(), "it never learns"
    before = len(web.paths())
    crawl(tmp_path, web, [address(0)], **{**LEARNING, "crawl": LEARNING["crawl"] | {"pages": 41}})
    assert found(tmp_path).waiting == 0
    new = rows(tmp_path)[web.paths()[before]]
    assert new.generation > 0, "its first page was judged by what the labels taught"
    with Store.open(tmp_path, "write") as store:
        store.set_meta("strategy", "")  # the topic asks for another strategy now
        choose_generation(store, stated(), build_strategy(stated()), 0.0)
    assert found(tmp_path).waiting == 11, "what was learned went with the old generations"


def test_a_page_that_came_after_the_training_run_waits_with_its_label(tmp_path: Path) -> None:
    web = birds()
    crawl(tmp_path, web, [address(0)], **LEARNING)
    give(tmp_path, web.paths()[:10])
    with Store.open(tmp_path, "write") as store:
        store.set_meta("taught", "10")
        TrainingMark(label=10, visit=7).write_to(store)
    assert found(tmp_path).waiting == 3
    with Store.open(tmp_path, "write") as store:
        store.set_meta("lesson", "")  # as an earlier version left it
    assert found(tmp_path).waiting == 0


def test_the_last_visits_of_a_run_are_learned_once(tmp_path: Path) -> None:
    """They are not written yet when the last training run has them."""
    web = birds()
    several = {"crawl": LEARNING["crawl"] | {"concurrency": 4}}
    crawl(tmp_path, web, [address(0)], **{**LEARNING, **several})
    give(tmp_path, [*web.paths()[:6], address(110)])
    more = {"crawl": several["crawl"] | {"pages": 41}}
    crawl(tmp_path, web, [address(0)], **{**LEARNING, **more})
    assert web.paths()[-1] == address(110), "a page that somebody labelled is fetched next"
    assert found(tmp_path).waiting == 0


def test_what_a_run_had_too_little_for_is_told(tmp_path: Path) -> None:
    web = birds()
    learn = {"teacher": "interactive"}
    crawl(tmp_path, web, [address(0)], **LEARNING, learn=learn)
    give(tmp_path, [url for url in web.paths() if not is_finch(url)][:4])
    more = LEARNING["crawl"] | {"pages": 41}
    crawl(tmp_path, web, [address(0)], **{**LEARNING, "crawl": more}, learn=learn)
    left = found(tmp_path, learn=learn)
    assert (left.waiting, left.without_effect) == (0, 4)
    assert "good and bad ones are needed" in left.why


@pytest.mark.parametrize("seconds", [0.0, 8.0])
def test_a_simulated_training_run_takes_its_time(
    seconds: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The crawl goes on meanwhile, and its end awaits what is under way."""
    timed = partial(InProcessBackend, duration=lambda _result, _first: seconds)
    monkeypatch.setattr("honeyguide.crawl.build.InProcessBackend", timed)
    web = birds()
    topic = {
        "keywords": [],
        "good": [address(n) for n in (40, 42, 44)],
        "bad": [address(n) for n in (41, 43, 45)],
    }
    small = LEARNING["crawl"] | {"pages": 12}
    report = crawl(tmp_path, web, [address(0)], **{**LEARNING, "topic": topic, "crawl": small})
    dark = [row for row in rows(tmp_path).values() if row.generation == 0]
    assert report.progress.generation >= 1
    assert len(dark) == (7 if seconds == 0 else 12), "eight seconds are five more pages"
    assert found(tmp_path).waiting == 0


def test_what_a_training_run_costs() -> None:
    cost = TrainingCost(start=2.0, run=0.5, example=0.01, tried=0.02)
    plain = LearningResult(None, examples=100)
    tried = LearningResult(None, examples=100, trial=GateTrial(pages=5))
    assert cost.total_seconds(plain, True) == pytest.approx(3.5)
    assert cost.total_seconds(plain, False) == pytest.approx(1.5)
    assert cost.total_seconds(tried, False) == pytest.approx(3.5)
