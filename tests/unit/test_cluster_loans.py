"""Hosts that are lent to another shard are asked by nobody else, and come back."""

from __future__ import annotations

from collections import deque

from honeyguide.cluster.loans import Loans
from honeyguide.cluster.messages import Borrow, Lent, Message, Returned
from honeyguide.frontier.frontier import LinkFrontier
from honeyguide.frontier.memory import MemoryLog
from honeyguide.frontier.order import make
from honeyguide.types import Candidate, Link, Url

HOST = "example.org"


def _shard(here: int) -> tuple[LinkFrontier, Loans, deque[Message]]:
    out: deque[Message] = deque()
    own = LinkFrontier(MemoryLog(), make("best", 1))
    return own, Loans(here, own, 60.0, out.append), out


def test_a_host_is_lent_when_it_is_rested_and_busy_until_it_is_back() -> None:
    own, lender, said = _shard(1)
    _, borrower, asked = _shard(0)
    own.push([Candidate(Link(Url(f"http://{HOST}/")), 0.5)])
    assert borrower.take(HOST, 1, 10.0) > 10.0
    wish = asked.popleft()
    assert wish == Borrow(0, 1, HOST)
    popped = own.pop(10.0)
    assert popped is not None
    lender.asked(wish, 10.0)
    assert not said, "it is being asked by its owner"
    own.finish(popped, 11.0, 5.0)
    lender.tick(12.0)
    assert not said, "it rests"
    own.push([Candidate(Link(Url(f"http://{HOST}/b")), 0.5)])
    lender.tick(16.5)
    lent = said.popleft()
    assert lent == Lent(1, 0, HOST)
    assert own.pop(17.0) is None, "it is lent"
    borrower.got(lent, 17.0)
    assert borrower.take(HOST, 1, 17.0) == 0.0
    assert borrower.take(HOST, 1, 17.0) > 17.0, "for one request"
    borrower.give_back(HOST, 2.0)
    back = asked.pop()
    assert back == Returned(0, 1, HOST, 2.0)
    lender.returned(back, 18.0)
    assert own.pop(19.0) is None, "it rests after that as well"
    assert own.pop(20.5) is not None


def test_what_is_not_used_goes_back_and_what_is_lost_is_taken_back() -> None:
    own, lender, said = _shard(1)
    _, borrower, asked = _shard(0)
    own.push([Candidate(Link(Url(f"http://{HOST}/")), 0.5)])
    lender.asked(Borrow(0, 1, HOST), 1.0)
    lender.asked(Borrow(0, 1, HOST), 2.0)
    lent = said.popleft()
    assert said.popleft() == lent, "told again: it may not have arrived"
    assert isinstance(lent, Lent)
    borrower.got(lent, 1.0)
    borrower.tick(30.0)
    assert asked.pop() == Returned(0, 1, HOST, 0.0)
    assert own.pop(100.0) is None, "that message was lost"
    lender.tick(100.0)
    assert own.pop(100.0) is None, "a request may still be under way"
    lender.tick(142.0)
    assert own.pop(142.0) is not None
