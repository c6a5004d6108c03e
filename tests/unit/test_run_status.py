"""One value says how a run stands: shards add up to it, and the live file holds it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import honeyguide
from honeyguide.cluster.messages import ShardState, decode_message, encode_message
from honeyguide.crawl.live_status import LIVE_FILE, LiveStatusWriter, read_live_status
from honeyguide.run_status import RunStatus, harvest_rate, sum_statuses, visit_rate
from honeyguide.types import Candidate, Link, Url

URL = Url("https://example.org/\ud800")
ABC = "abcdefghijk"
"""Enough for more codes than there are languages."""


def test_shards_add_up() -> None:
    one = RunStatus(10, 9, 5, 1, waiting=7, sites=2, next_at=30.0, last_failure="dns")
    two = RunStatus(30, 20, 5, 2, waiting=3, sites=4, next_at=20.0, now=URL)
    both = sum_statuses([one, two], generation=3, stopping=True)
    assert (both.visits, both.pages, both.relevant, both.failures) == (40, 29, 10, 3)
    assert (both.waiting, both.sites, both.generation, both.stopping) == (10, 6, 3, True)
    assert (both.now, both.next_at, both.last_failure) == (URL, 20.0, "dns")
    assert both.harvest == 0.25
    assert sum_statuses([one, RunStatus(busy=1)]).next_at is None, "something is under way"
    assert sum_statuses([]) == RunStatus()


def test_rates_of_nothing_are_none() -> None:
    assert (harvest_rate(0, 0), harvest_rate(1, 4)) == (0.0, 0.25)
    assert (visit_rate(5, 0.0), visit_rate(5, -1.0), visit_rate(5, 2.0)) == (0.0, 0.0, 2.5)


def test_a_shard_says_it_with_what_the_protocol_needs() -> None:
    state = ShardState(shard=1, visits=7, waiting=2, next_at=4.0, allotted=9, idle="nothing left")
    assert decode_message(encode_message(state)) == state
    assert isinstance(state, honeyguide.Progress)


class _Crawl:
    def progress(self) -> RunStatus:
        return RunStatus(7, 6, 5, 1, now=URL, last_failure="x" * 10_000, foreign={"de": 2})

    def under_way(self) -> list[Candidate]:
        return [Candidate(Link(URL), 0.5)]


def test_the_live_file_holds_it(tmp_path: Path) -> None:
    LiveStatusWriter(tmp_path, lambda: 50.0, budget=100).write_status(_Crawl(), "budget")
    told = read_live_status(tmp_path)
    assert told is not None
    assert (told.visits, told.pages, told.relevant, told.foreign) == (7, 6, 5, {"de": 2})
    assert (told.at, told.budget, told.ended, told.rate) == (50.0, 100, "budget", 0.0)
    assert told.now == "https://example.org/?"
    assert len(told.last_failure) == 500


def test_a_live_file_of_an_earlier_version_is_read(tmp_path: Path) -> None:
    before = {
        "at": 5.0, "pid": 1, "began": 0.0, "pages": 300, "visits": 9, "relevant": 3, "rate": 1.5,
        "sites": 2, "generation": 4, "stopping": False, "ended": "budget", "fetching": [],
        "frontier": {"waiting": 8},
    }  # fmt: skip
    (tmp_path / LIVE_FILE).write_text(json.dumps(before))
    told = read_live_status(tmp_path)
    assert told is not None
    assert (told.visits, told.relevant, told.rate, told.ended) == (9, 3, 1.5, "budget")
    assert (told.budget, told.frontier.waiting) == (None, 8)


@pytest.mark.parametrize(
    "wrong",
    [
        {"visits": -1},
        {"waiting": 2**60},
        {"foreign": {"de": -1}},
        {"foreign": {"d\x1b[2J": 1}},
        {"foreign": {"de\n": 1}},
        {"foreign": {f"{a}{b}{c}": 1 for a in ABC for b in ABC for c in ABC}},
        {"frontier": {"waiting": -1}},
        {"frontier": {"scores": [-1]}},
    ],
)
def test_a_live_file_with_impossible_numbers_is_not_read(
    tmp_path: Path, wrong: dict[str, object]
) -> None:
    right: dict[str, object] = {"at": 5.0, "pid": 1, "began": 0.0, "foreign": {"de": 1, "pt-BR": 2}}
    (tmp_path / LIVE_FILE).write_text(json.dumps(right))
    assert read_live_status(tmp_path) is not None
    (tmp_path / LIVE_FILE).write_text(json.dumps(right | wrong))
    assert read_live_status(tmp_path) is None
