"""Which generation decides when a crawl goes on: the old one, while the topic asks for the same."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import apsw
import pytest

from honeyguide.store.store import Store
from tests.unit.crawling import FakeWeb, crawl

SEED = "http://a.org/"


def go(folder: Path, name: str = "hybrid_svm", **tables: Any) -> int:
    """Crawl a page; how many generations were made from the topic until now."""
    web = FakeWeb({SEED: "<p>Honey of bees"})
    tables = {"topic": {"name": "bees"}, **tables}
    crawl(folder, web, [SEED], crawl={"strategy": name}, **tables)
    with Store.open(folder, "read") as store:
        return sum(one.note == "from topic.toml" for one in store.generations.list_all())


def wish(folder: Path, change: dict[str, Any]) -> None:
    """As another version would have stored it: with these parameters, or (None) without."""
    with Store.open(folder, "write") as store:
        name, wished = json.loads(store.get_meta("strategy") or "")
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


def test_other_topics_and_other_strategies_make_a_new_one(tmp_path: Path) -> None:
    wasps = [{"name": "wasps", "keywords": ["wasp"]}]
    assert go(tmp_path) == 1
    assert go(tmp_path, topics=wasps) == 2
    assert go(tmp_path, topics=[{"name": "ants", "keywords": ["wasp"]}]) == 3
    assert go(tmp_path, topics=[*wasps, {"name": "ants", "keywords": ["ant"]}]) == 4
    assert go(tmp_path) == 5
    assert go(tmp_path, "adaptive_links") == 6
    assert go(tmp_path, "adaptive_links", topics=wasps) == 7
    assert go(tmp_path, topics=wasps) == 8


@pytest.mark.parametrize("name", ["user_utility", "adaptive_links"])
def test_from_several_topics_back_to_one_is_another_wish(tmp_path: Path, name: str) -> None:
    """Without keywords nothing but the topics tells them apart."""
    bare = {"name": "bees", "keywords": [], "good": [SEED]}
    learn = {"teacher": "none"}
    first = go(tmp_path, name, topic=bare, learn=learn)
    topics = [{"name": "wasps", "good": [SEED]}]
    assert go(tmp_path, name, topic=bare, topics=topics, learn=learn) == first + 1
    assert go(tmp_path, name, topic=bare, learn=learn) == first + 2


DAMAGED = (
    "",
    "nonsense",
    "[]",
    '["hybrid_svm", 3]',
    '["hybrid_svm", {}]',
    '["hybrid_svm", {"parts": 1}]',
    '["hybrid_svm", {"names": ["bees", "wasps"], "parts": [3, 4]}]',
    "[" * 200_000,
)


@pytest.mark.parametrize("damage", DAMAGED, ids=lambda text: text[:40])
@pytest.mark.parametrize("several", [False, True])
def test_a_damaged_wish_makes_a_new_one(tmp_path: Path, damage: str, several: bool) -> None:
    tables = {"topics": [{"name": "wasps", "keywords": ["wasp"]}]} if several else {}
    assert go(tmp_path, **tables) == 1
    with Store.open(tmp_path, "write") as store:
        store.set_meta("strategy", damage)
    assert go(tmp_path, **tables) == 2
    assert go(tmp_path, **tables) == 2


def test_what_a_version_knows_besides_is_written_down(tmp_path: Path) -> None:
    """Or a default that changes later would be taken for what was asked for now."""
    assert go(tmp_path) == 1
    with Store.open(tmp_path, "read") as store:
        whole = store.get_meta("strategy")
    wish(tmp_path, {"neighbours": None})
    assert go(tmp_path) == 1
    with Store.open(tmp_path, "read") as store:
        assert store.get_meta("strategy") == whole


def test_a_damaged_generation_is_not_replaced_by_one_that_was_asked_for_otherwise(
    tmp_path: Path,
) -> None:
    assert go(tmp_path, "user_utility") == 1
    assert go(tmp_path, "user_utility", strategy={"house": True}) == 2
    with apsw.Connection(str(tmp_path / "collection.db")) as db:
        db.execute("UPDATE generations SET data = x'00' WHERE number = 1")
    assert go(tmp_path, "user_utility", strategy={"house": True}) == 3


@pytest.mark.parametrize("name", ["user_utility", "honeyguide", "adaptive_links"])
def test_several_topics_go_on_with_any_strategy(tmp_path: Path, name: str) -> None:
    topics = [{"name": "wasps", "keywords": ["wasp"]}]
    assert go(tmp_path, name, topics=topics) == 1
    assert go(tmp_path, name, topics=topics) == 1
