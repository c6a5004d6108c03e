"""Which generation decides when a crawl goes on: the old one, while the topic asks for the same."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from honeyguide.store.store import Store
from tests.unit.crawling import FakeWeb, crawl

SEED = "http://a.org/"


def go(folder: Path, name: str = "hybrid_svm", **tables: Any) -> int:
    """Crawl a page; how many generations were made until now."""
    web = FakeWeb({SEED: "<p>Honey of bees"})
    crawl(folder, web, [SEED], crawl={"strategy": name}, topic={"name": "bees"}, **tables)
    with Store.open(folder, "read") as store:
        return len(list(store.generations()))


def wish(folder: Path, change: dict[str, Any]) -> None:
    """As another version would have stored it: with these parameters, or (None) without."""
    with Store.open(folder, "write") as store:
        name, wished = json.loads(store.meta("strategy") or "")
        store.set_meta("strategy", json.dumps([name, _changed(wished, change)]))


def _changed(wished: dict[str, Any], change: dict[str, Any]) -> dict[str, Any]:
    if "parts" in wished:
        return wished | {"parts": [_changed(part, change) for part in wished["parts"]]}
    return {key: value for key, value in (wished | change).items() if value is not None}


@pytest.mark.parametrize("several", [False, True])
@pytest.mark.parametrize(
    ("stored", "made"),
    [
        ({}, 1),
        ({"neighbours": None, "alone": None}, 1),
        ({"long_gone": 3}, 1),
        ({"neighbours": False}, 2),
        ({"threshold": 0.7}, 2),
    ],
    ids=["the same", "it was not known then", "it is not known now", "another", "another number"],
)
def test_a_generation_stays_until_the_topic_asks_for_another(
    tmp_path: Path, stored: dict[str, Any], made: int, several: bool
) -> None:
    tables = {"topics": [{"name": "wasps", "keywords": ["wasp"]}]} if several else {}
    assert go(tmp_path, **tables) == 1
    wish(tmp_path, stored)
    assert go(tmp_path, **tables) == made


def test_a_new_parameter_that_is_set_makes_a_new_generation(tmp_path: Path) -> None:
    assert go(tmp_path) == 1
    wish(tmp_path, {"neighbours": None})
    assert go(tmp_path, strategy={"neighbours": False}) == 2


def test_other_topics_and_damaged_wishes_make_a_new_one(tmp_path: Path) -> None:
    assert go(tmp_path) == 1
    assert go(tmp_path, topics=[{"name": "wasps", "keywords": ["wasp"]}]) == 2
    assert go(tmp_path, topics=[{"name": "ants", "keywords": ["wasp"]}]) == 3
    assert go(tmp_path) == 4
    for damage in ("", "nonsense", "[]", '["hybrid_svm", 3]', '["hybrid_svm", {"parts": 1}]'):
        with Store.open(tmp_path, "write") as store:
            store.set_meta("strategy", damage)
        before = go(tmp_path)
        assert before == go(tmp_path)


@pytest.mark.parametrize("strategy", ["user_utility", "honeyguide", "adaptive_links"])
def test_several_topics_go_on_with_any_strategy(tmp_path: Path, strategy: str) -> None:
    topics = [{"name": "wasps", "keywords": ["wasp"]}]
    assert go(tmp_path, strategy, topics=topics) == 1
    assert go(tmp_path, strategy, topics=topics) == 1
