"""One budget for all shards, whatever is under way between them and the coordinator."""

from __future__ import annotations

import random
from collections import deque

import pytest

from honeyguide.cluster.coordinator import CrawlBudget
from honeyguide.cluster.messages import ShardState, VisitGrant
from honeyguide.cluster.shard import ShardAllowance


class _Shard:
    """Makes visits as a ring does: it takes room for each, and counts it when it is done."""

    def __init__(self, number: int, before: int, dice: random.Random) -> None:
        self.number = number
        self.visits = before
        self.under_way = 0
        self.links = dice.choice((0, 5, 50, 10_000))
        self.limit = ShardAllowance(lambda: None)
        self.inbox: deque[VisitGrant] = deque()
        self.outbox: deque[ShardState] = deque()

    def step(self, dice: random.Random) -> None:
        what = dice.randrange(4)
        if what == 0 and self.inbox:
            message = self.inbox.popleft()
            over = dice.randrange(2)  # a visit may be counted, and not be off the list yet
            self.limit.set_allowance(
                message.visits, message.turn, self.visits + self.under_way + over
            )
            self.say()
        elif what == 1 and self.links and self.limit.has_room(self.visits + self.under_way):
            self.links -= 1
            self.under_way += 1
        elif what == 2 and self.under_way:
            self.under_way -= 1
            self.visits += dice.random() < 0.8  # the others were for robots.txt
        elif what == 3:
            self.say()

    def say(self) -> None:
        idle = "" if self.links or self.under_way else "no link is left"
        made = self.visits + self.under_way
        limit = self.limit
        self.outbox.append(
            ShardState(
                shard=self.number,
                visits=self.visits,
                waiting=self.links,
                busy=self.under_way,
                allotted=limit.allotted,
                turn=limit.turn,
                made=made,
                hungry=limit.wants,
                idle=idle,
            )
        )


@pytest.mark.parametrize("seed", range(200))
def test_it_is_never_exceeded_and_always_used_up(seed: int) -> None:
    dice = random.Random(seed)
    shards = [_Shard(n, dice.randrange(50), dice) for n in range(dice.randrange(1, 5))]
    before = {shard.number: shard.visits for shard in shards}
    total = dice.choice((0, 1, 7, 60, 700, 5000))
    reach = sum(shard.links for shard in shards)
    states: dict[int, ShardState] = {}
    for shard in shards:
        shard.say()
    budget = CrawlBudget(total, {shard.number: shard.outbox[0] for shard in shards})
    made = 0
    for _ in range(400_000):
        shard = dice.choice(shards)
        shard.step(dice)
        if shard.outbox and dice.random() < 0.5:
            state = shard.outbox.popleft()
            states[state.shard] = state
            budget.record_state(state)
        if len(states) == len(shards) and dice.random() < 0.1:
            for number, allot in budget.grants_due(states).items():
                shards[number].inbox.append(allot)
        made = sum(shard.visits for shard in shards) - sum(before.values())
        assert made <= total
        if made == total or not any(shard.links or shard.under_way for shard in shards):
            break
    assert made == total or made >= reach * 0.5


def test_without_a_limit_everybody_may_go_on() -> None:
    state = ShardState(shard=0, waiting=9, hungry=True)
    assert CrawlBudget(None, {0: state}).grants_due({0: state}) == {0: VisitGrant(-1)}
