"""The Compare screen's routes: generations, and the lab's comparisons."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

import pytest

from honeyguide.lab.report import build_report, write_report
from honeyguide.lab.trials import TrialResult
from honeyguide.learning.generation_builder import GateTrial
from honeyguide.store.store import Store
from honeyguide.strategies.keyword import Keyword
from tests.unit.store_visits import good
from tests.unit.studio_client import Client

TOPIC = """
[topic]
keywords = ["honey"]
[crawl]
strategy = "keyword"
[fetch]
contact = "a@example.org"
"""
HERE = "/api/c/bees/generations"


@pytest.fixture
def client(tmp_path: Path) -> Iterator[Client]:
    folder = tmp_path / "bees"
    folder.mkdir()
    (folder / "topic.toml").write_text(TOPIC)
    with Store.open(folder, "crawl") as store:
        store.generations.save(0, "keyword", Keyword(keywords=("honey",)), "from topic.toml", 1.0)
        note = f"20 good and 9 bad examples; {GateTrial(6, 0.25, 0.125)}"
        store.generations.save(1, "keyword", Keyword(keywords=("honey", "bee")), note, 2.0)
        note = f"held back: 20 good and 9 bad examples; {GateTrial(6, 0.125, 0.5)}"
        store.generations.save(2, "keyword", Keyword(keywords=("wax",)), note, 3.0, live=False)
        with store.transaction():
            store.append_visits([good(n, score=n % 2) for n in range(20)])
    made = Client(tmp_path)
    yield made
    made.close()


def test_generations_with_their_trials_and_harvest(client: Client) -> None:
    found = client.get(HERE).json
    assert found["live"] == 1
    first, second, third = found["rows"]
    assert (second["error"], second["before"], second["tried_on"]) == (0.125, 0.25, 6)
    assert first["error"] is None
    assert third["held_back"] is True
    assert (second["visits"], second["relevant"]) == (10, 5)
    assert [row["live"] for row in found["rows"]] == [False, True, False]


def test_one_may_go_back_and_forward(client: Client) -> None:
    assert client.post(f"{HERE}/use", {"number": 0}).json == {"live": 0}
    assert client.get(HERE).json["live"] == 0
    assert client.post(f"{HERE}/use", {"number": 1}).json == {"live": 1}
    missing = client.post(f"{HERE}/use", {"number": 9})
    assert missing.status == 400
    assert "no generation 9" in missing.json["error"]


def test_two_generations_on_the_same_pages(client: Client) -> None:
    found = client.get(f"{HERE}/compare?one=0&other=1").json
    assert found["pages"] == 20
    assert len(found["moved"]) <= 10
    assert client.get(f"{HERE}/compare?one=0&other=77").status == 400


def results(topics: int = 2) -> list[TrialResult]:
    return [
        TrialResult(
            f"{topic} {strategy} {draw}", "demo", f"topic {topic}", strategy, draw, 10,
            tuple(min(5, (n + draw) // step) for n in range(1, 11)), 5, 4, 3, 1.0,
        )
        for topic in range(topics)
        for strategy, step in (("keyword", 1), ("breadth", 3))
        for draw in range(3)
    ]  # fmt: skip


def compared(folder: Path, found: list[TrialResult]) -> None:
    folder.mkdir(parents=True)
    lines = [json.dumps(asdict(result)) for result in found]
    (folder / "results.jsonl").write_text("\n".join([*lines, '{"half of a line', ""]))
    write_report(found, folder, build_report(found))


def test_the_labs_comparisons_are_found_and_drawn(client: Client) -> None:
    compared(client.root / "comparison", results())
    compared(client.root / "bees" / "own", results(1))
    assert {one["folder"] for one in client.get("/api/lab").json} == {"comparison", "bees/own"}
    found = client.get("/api/lab/comparison?folder=comparison").json
    assert [row["strategy"] for row in found["rows"]] == ["keyword", "breadth"], "the best first"
    assert found["crawls"] == 12
    assert (found["x"][0], found["x"][-1], found["over"]) == (0.0, 100.0, "topics")
    curve = found["curves"][0]
    assert curve["strategy"] == "keyword"
    assert curve["values"][0] == 0.0
    assert curve["values"][-1] == 1.0
    for low, value, high in zip(curve["low"], curve["values"], curve["high"], strict=True):
        assert low <= value + 1e-9
        assert value <= high + 1e-9
    topic = found["topics"][0]
    alone = client.get(f"/api/lab/comparison?folder=comparison&topic={topic}").json
    assert (alone["crawls"], alone["over"], alone["x"][-1]) == (6, "draws", 10.0)
    assert alone["curves"][0]["values"][-1] == 5.0
    own = client.get("/api/lab/comparison?folder=bees/own").json
    assert own["over"] == "draws"


@pytest.mark.parametrize(
    "folder", ["nowhere", "..", "../comparison", "/etc", "comparison/..", "link", "%00", "."]
)
def test_nothing_outside_is_read(client: Client, folder: str) -> None:
    compared(client.root.parent / f"{client.root.name}-outside", results(1))
    (client.root / "link").symlink_to(client.root.parent / f"{client.root.name}-outside")
    assert client.get(f"/api/lab/comparison?folder={folder}").status == 404
    assert client.get("/api/lab").json == []


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"baseline": 1}', "[" * 10_000, '{"all": NaN}', "\ud800"]
)
def test_a_strangers_summary_is_left_out(client: Client, text: str) -> None:
    compared(client.root / "odd", results(1))
    (client.root / "odd" / "summary.json").write_bytes(text.encode("utf-8", "surrogatepass"))
    assert client.get("/api/lab").json == []


@pytest.mark.parametrize(
    "line",
    [
        '{"web":"demo","topic":"topic 0","strategy":"x","draw":0,"found":[1e400],"relevant":1}',
        '{"web":"demo","topic":"topic 0","strategy":"x","draw":0,"found":[],"relevant":0}',
        '{"web":"demo","topic":"topic 0","strategy":"x","draw":0,"found":[-1],"relevant":-1}',
        "[" * 5_000,
    ],
)
def test_strange_results_do_no_harm(client: Client, line: str) -> None:
    compared(client.root / "odd", results(1))
    with (client.root / "odd" / "results.jsonl").open("a") as file:
        file.write(line + "\n")
    assert client.get("/api/lab/comparison?folder=odd").status == 200


def test_figures_without_their_crawls(client: Client) -> None:
    compared(client.root / "bare", results(1))
    (client.root / "bare" / "results.jsonl").unlink()
    found = client.get("/api/lab/comparison?folder=bare").json
    assert found["curves"] == []
    assert found["rows"]
