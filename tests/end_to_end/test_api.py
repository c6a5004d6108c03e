"""Honeyguide from Python, as a notebook would use it."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

import honeyguide
from honeyguide.errors import ConfigError, StoreError
from tests.end_to_end.crawling import collection
from tests.site.exchange import Exchange
from tests.site.server import Site
from tests.site.web import weave


def test_a_whole_life(site: Site, tmp_path: Path) -> None:
    weave(site, site.addresses[:2], pages=6)
    seed = site.url(site.addresses[0], "/")

    async def gone(exchange: Exchange) -> None:
        await exchange.answer("gone", status=410)

    site.route(site.addresses[3], "/", gone)
    lost = site.url(site.addresses[3], "/")
    bees = collection(tmp_path / "bees", [seed, lost])
    assert repr(bees) == f"Collection('{tmp_path}/bees')"
    with pytest.raises(StoreError, match="not crawled yet; run: honeyguide crawl"):
        bees.status()
    report = bees.crawl()
    assert any(lost in warning for warning in report.warnings)
    assert bees.crawl().warnings == (), "an old seed's failure is old news"

    status = bees.status(hosts=1)
    assert (status.visits, status.budget, status.waiting) == (13, 1000, 0)
    assert status.statuses == {410: 1}
    assert len(status.per_host) == 1
    assert status.rate is None, "the last run visited nothing"

    page = next(row for row in bees.pages(relevant=True) if row.source)
    bare = page.url.removeprefix("http://")
    assert bees.explain(bare).url == page.url
    assert "never seen" in bees.explain("else.example/x").answer
    assert bees.explain("else.example/x").url == "https://else.example/x"
    assert bees.label(bare, 0.0, by="ada") == (1, 0, 0, 0, 0)
    assert bees.label("else.example/x", True) == (1, 1, 0, 0, 0)
    assert bees.explain(page.url).label == 0.0
    assert bees.status().labels == 2
    with pytest.raises(ConfigError, match="both ways"):
        bees.label_all([(page.url, 1), (bare, 0)])
    with pytest.raises(ConfigError, match="between 0 and 1"):
        bees.label(page.url, 5)

    done = bees.export(tmp_path / "bees.csv", text=False)
    assert done.rows == status.relevant - 1, "the label overrules the verdict"
    with done.path.open(newline="") as file:
        assert page.url not in {row["url"] for row in csv.DictReader(file)}
    everything = bees.export(str(tmp_path / "all.jsonl"), everything=True)
    rows = [json.loads(line) for line in everything.path.read_text().splitlines()]
    assert len(rows) == everything.rows == 13
    assert {row["failure"] for row in rows} == {None, "status"}


def test_a_collection_is_found_by_other_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    collection(tmp_path / "bees", ["http://e.org/"])
    monkeypatch.chdir(tmp_path)
    assert honeyguide.Collection("bees/topic.toml").folder == Path("bees")
    monkeypatch.chdir("bees")
    for name in (".", "bees", "topic.toml"):
        found = honeyguide.Collection(name)
        assert (found.folder, found.name) == (Path(), "bees")
    with pytest.raises(StoreError, match="honeyguide new wasps"):
        honeyguide.Collection("wasps")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"keyword": ["bee"]}, "no 'keyword'; did you mean keywords"),
        ({"scoop": {"rule": "host"}}, "no 'scoop'; did you mean scope"),
        ({"zzz": 1}, "known: seeds, contact, keywords"),
        ({"scope": "host"}, "scope must be a table"),
        ({"scope": {"rules": "host"}}, "did you mean scope.rule"),
        ({"seeds": 5}, "topic.seeds must be a list"),
        ({"seeds": [5]}, "topic.seeds"),
        ({"keywords": [None]}, "topic.keywords"),
        ({"pages": -1}, "crawl.pages"),
        ({"contact": ""}, "fetch.contact"),
    ],
)
def test_mistakes_are_named(given: dict[str, Any], message: str, tmp_path: Path) -> None:
    right: dict[str, Any] = {"seeds": ["http://e.org/"], "contact": "me@e.org", "keywords": ["bee"]}
    with pytest.raises(ConfigError) as caught:
        honeyguide.create(tmp_path / "bees", **(right | given))
    assert message in str(caught.value)
    assert not (tmp_path / "bees").exists()


def test_one_text_is_a_list_of_one(tmp_path: Path) -> None:
    bees = honeyguide.create(
        tmp_path / "bees", seeds=" http://e.org/ ", keywords="honey bee", contact="me@e.org"
    )
    assert bees.settings.topic.seeds == ("http://e.org/",)
    assert bees.settings.topic.keywords == ("honey bee",)
    with pytest.raises(ConfigError, match=r'honeyguide\.Collection\(".*bees"\)'):
        honeyguide.create(tmp_path / "bees", seeds=["http://e.org/"], contact="me@e.org")


def test_a_folder_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match="cannot be written"):
        honeyguide.create(tmp_path / "file" / "x", seeds="http://e.org/", contact="me@e.org")


@pytest.mark.parametrize(
    "limits",
    [
        {"pages": -1},
        {"pages": 70.5},
        {"pages": "a"},
        {"pages": True},
        {"hours": -1},
        {"hours": float("nan")},
        {"hours": "2h"},
    ],
)
def test_impossible_limits(limits: dict[str, Any], tmp_path: Path) -> None:
    bees = collection(tmp_path / "bees", ["http://e.org/"])
    with pytest.raises(ConfigError, match="no limit"):
        bees.crawl(**limits)
    assert not (tmp_path / "bees" / "collection.db").exists()


@pytest.mark.parametrize("shards", [0, -1, "2", 1.5, True])
def test_impossible_shards(shards: Any, tmp_path: Path) -> None:
    bees = collection(tmp_path / "bees", ["http://e.org/"])
    with pytest.raises(ConfigError, match="a number of processes, 1 or more: ") as caught:
        bees.crawl(shards=shards)
    assert str(caught.value).endswith(repr(shards))


@pytest.mark.parametrize("hours", [-1, float("nan"), "2h", None])
def test_impossible_hours_of_a_watch(hours: Any, tmp_path: Path) -> None:
    bees = collection(tmp_path / "bees", ["http://e.org/"])
    with pytest.raises(ConfigError, match="hours must be a number of hours"):
        bees.watch(hours=hours)


@pytest.mark.parametrize("once", [True, False])
def test_a_watch_of_nothing_says_what_to_do(once: bool, tmp_path: Path) -> None:
    bees = collection(tmp_path / "bees", ["http://e.org/"])
    with pytest.raises(ConfigError, match=r"crawl\(\) first, or .* watch_list\.add\(URL\)"):
        bees.watch(once=once)


def test_an_unknown_action_of_the_watch_list(tmp_path: Path) -> None:
    bees = collection(tmp_path / "bees", ["http://e.org/"])
    bees.watch_list.add("http://e.org/a")
    unknown: Any = "foo"
    with pytest.raises(ConfigError, match="no action 'foo'; known: add, remove, pause, resume, w"):
        bees.watch_list.edit(unknown, ["http://e.org/a"])


@pytest.mark.parametrize("value", ["good", "1", None, b"1", [1], float("nan"), 2])
def test_labels_of_a_wrong_kind(value: Any, tmp_path: Path) -> None:
    bees = collection(tmp_path / "bees", ["http://e.org/"])
    with pytest.raises(ConfigError, match="a label is a number between 0 and 1, not ") as caught:
        bees.label("http://e.org/", value)
    assert str(caught.value).endswith(repr(value))
    with pytest.raises(ConfigError, match="a label is a number between 0"):
        bees.label_all([("http://e.org/", value)])


@pytest.mark.parametrize("pair", ["http://e.org/", ("http://e.org/",), (1, 1), None])
def test_labels_are_pairs(pair: Any, tmp_path: Path) -> None:
    bees = collection(tmp_path / "bees", ["http://e.org/"])
    with pytest.raises(ConfigError, match="labels are pairs of an address and a number"):
        bees.label_all([pair])


def test_impossible_questions(tmp_path: Path) -> None:
    bees = collection(tmp_path / "bees", ["http://e.org/"])
    choice: Any = "foo"
    with pytest.raises(ConfigError, match=r"choice must be one of mixed, .*, agreement: 'foo'"):
        bees.ask(choice=choice)
    with pytest.raises(ConfigError, match="count must be a number of pages: -1"):
        bees.ask(-1)
