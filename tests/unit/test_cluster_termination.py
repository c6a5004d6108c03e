"""A crawl is over when nothing is left to do anywhere, and not while a letter is under way."""

from __future__ import annotations

from honeyguide.cluster.coordinator import TerminationDetector
from honeyguide.cluster.messages import ShardState


def _state(
    shard: int, idle: str = "nothing", letters: int = 0, heard: int = 0, round_: int = 0
) -> ShardState:
    return ShardState(shard=shard, letters=letters, heard=heard, idle=idle, round=round_)


def test_all_stand_still_twice() -> None:
    ending = TerminationDetector(2)
    states = {0: _state(0)}
    assert not ending.detect_end(states), "one was not heard of yet"
    states[1] = _state(1, idle="")
    assert not ending.detect_end(states)
    assert ending.round == 0
    states[1] = _state(1)
    assert not ending.detect_end(states)
    assert ending.round == 1, "asked once more"
    assert not ending.detect_end(states), "nobody answered yet"
    states = {n: _state(n, round_=1) for n in range(2)}
    assert ending.detect_end(states)


def test_a_letter_in_between_begins_anew() -> None:
    ending = TerminationDetector(2)
    assert not ending.detect_end({n: _state(n) for n in range(2)})
    late = {0: _state(0, letters=1, round_=1), 1: _state(1, heard=1, round_=1)}
    assert not ending.detect_end(late), "something happened between the two rounds"
    assert ending.round == 2
    again = {0: _state(0, letters=1, round_=2), 1: _state(1, heard=1, round_=2)}
    assert ending.detect_end(again)
