"""A crawl is over when nothing is left to do anywhere, and not while a letter is under way."""

from __future__ import annotations

from honeyguide.cluster.messages import State
from honeyguide.cluster.termination import Ending


def _state(
    shard: int, idle: str = "nothing", letters: int = 0, heard: int = 0, round_: int = 0
) -> State:
    counts = (0,) * 11
    return State(shard, *counts, False, 0, letters, heard, idle, round_)


def test_all_stand_still_twice() -> None:
    ending = Ending(2)
    states = {0: _state(0)}
    assert not ending.look(states), "one was not heard of yet"
    states[1] = _state(1, idle="")
    assert not ending.look(states)
    assert ending.round == 0
    states[1] = _state(1)
    assert not ending.look(states)
    assert ending.round == 1, "asked once more"
    assert not ending.look(states), "nobody answered yet"
    states = {n: _state(n, round_=1) for n in range(2)}
    assert ending.look(states)


def test_a_letter_in_between_begins_anew() -> None:
    ending = Ending(2)
    assert not ending.look({n: _state(n) for n in range(2)})
    late = {0: _state(0, letters=1, round_=1), 1: _state(1, heard=1, round_=1)}
    assert not ending.look(late), "something happened between the two rounds"
    assert ending.round == 2
    again = {0: _state(0, letters=1, round_=2), 1: _state(1, heard=1, round_=2)}
    assert ending.look(again)
