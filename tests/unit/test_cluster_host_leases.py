"""Hosts that are lent to another shard are asked by nobody else, and come back."""

from __future__ import annotations

from collections import deque

from honeyguide.cluster.messages import (
    LeaseDeferral,
    LeaseGrant,
    LeaseRequest,
    LeaseReturn,
    Message,
)
from honeyguide.cluster.sharded_frontier import HostLeases
from honeyguide.frontier.frontier import LinkFrontier
from honeyguide.frontier.order import make_order
from honeyguide.types import Candidate, Link, Url
from tests.contracts.logs import MemoryFrontierLog

HOST = "example.org"


def _shard(here: int) -> tuple[LinkFrontier, HostLeases, deque[Message]]:
    out: deque[Message] = deque()
    own = LinkFrontier(MemoryFrontierLog(), make_order("best", 1))
    own.push([Candidate(Link(Url(f"http://{HOST}/")), 0.5)])
    return own, HostLeases(here, own, 60.0, out.append), out


def test_a_host_is_lent_when_it_is_rested_and_busy_until_it_is_back() -> None:
    own, lender, said = _shard(1)
    _, borrower, asked = _shard(0)
    assert borrower.borrow_host(HOST, 1, 10.0) > 10.0
    wish = asked.popleft()
    assert wish == LeaseRequest(0, 1, HOST, 10.0)
    popped = own.pop(10.0)
    assert popped is not None
    lender.handle_request(wish, 10.0)
    assert not said, "it is being asked by its owner"
    own.finish(popped, 11.0, 3.0)
    lender.tick(12.0)
    assert not said, "it rests"
    own.push([Candidate(Link(Url(f"http://{HOST}/b")), 0.5)])
    lender.lend_ready_hosts(14.5)
    lent = said.popleft()
    assert lent == LeaseGrant(1, 0, HOST, 10.0)
    assert isinstance(lent, LeaseGrant)
    assert own.pop(17.0) is None, "it is lent"
    borrower.handle_grant(lent)
    assert not borrower.is_settled
    assert borrower.borrow_host(HOST, 1, 17.0) == 0.0
    assert borrower.borrow_host(HOST, 1, 17.0) > 17.0, "for one request"
    borrower.give_back(HOST, 2.0)
    back = asked.pop()
    assert back == LeaseReturn(0, 1, HOST, 2.0)
    assert isinstance(back, LeaseReturn)
    lender.handle_return(back, 18.0)
    assert lender.is_settled
    assert own.pop(19.0) is None, "it rests after that as well"
    assert own.pop(20.5) is not None


def test_a_loan_is_answered_once() -> None:
    """A second wish that crosses the answer to the first must not lend it twice."""
    _, lender, said = _shard(1)
    _, borrower, asked = _shard(0)
    borrower.borrow_host(HOST, 1, 10.0)
    lender.handle_request(LeaseRequest(0, 1, HOST, 10.0), 10.0)
    borrower.borrow_host(HOST, 1, 21.0)  # no answer so far
    lender.handle_request(LeaseRequest(0, 1, HOST, 21.0), 21.0)
    assert [type(message) for message in said] == [LeaseGrant, LeaseGrant]
    for message in said:
        assert isinstance(message, LeaseGrant)
        borrower.handle_grant(message)
    assert borrower.borrow_host(HOST, 1, 22.0) == 0.0
    assert borrower.borrow_host(HOST, 1, 22.0) > 22.0
    assert not any(isinstance(message, LeaseReturn) for message in asked)


def test_what_is_not_used_goes_back_and_what_is_lost_is_taken_back() -> None:
    own, lender, said = _shard(1)
    _, borrower, asked = _shard(0)
    borrower.borrow_host(HOST, 1, 1.0)
    lender.handle_request(LeaseRequest(0, 1, HOST, 1.0), 1.0)
    lent = said.popleft()
    assert isinstance(lent, LeaseGrant)
    borrower.handle_grant(lent)
    assert borrower.borrow_host(HOST, 1, 40.0) > 40.0, "its owner may have it back by now"
    assert LeaseReturn(0, 1, HOST, 0.0) in asked
    assert own.pop(100.0) is None, "that message was lost"
    lender.tick(100.0)
    assert own.pop(100.0) is None, "a request may still be under way"
    lender.tick(142.0)
    assert own.pop(142.0) is not None


def test_who_wants_a_host_that_is_left_alone_is_told_until_when() -> None:
    own, lender, said = _shard(1)
    _, borrower, asked = _shard(0)
    own.pop(0.0)
    own.park_host(HOST, 3600.0)
    borrower.borrow_host(HOST, 1, 10.0)
    wish = asked.popleft()
    assert isinstance(wish, LeaseRequest)
    lender.handle_request(wish, 10.0)
    answer = said.popleft() if said else None
    if answer is None:  # it is busy: told when it is free and parked
        own.release_host(HOST, 11.0, 0.0)
        lender.tick(11.0)
        answer = said.popleft()
    assert answer == LeaseDeferral(1, 0, HOST, 3600.0, 10.0)
    assert isinstance(answer, LeaseDeferral)
    borrower.handle_deferral(answer)
    assert borrower.borrow_host(HOST, 1, 12.0) == 3600.0
    assert borrower.is_settled
    assert lender.is_settled
    assert borrower.borrow_host(HOST, 1, 3601.0) < 3610.0
    assert asked.pop() == LeaseRequest(0, 1, HOST, 3601.0)
