"""Random stories of processes that all want one shard, told step by step in simulated time.

Every clock has its own offset and rate. Time may pass between any two steps of a process: before
the vault does what it was asked, and before the answer is heard. Answers get lost, requests arrive
late or twice, processes die and come back. After each step the fence is checked.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

from honeyguide.cluster.shard_log import (
    CreateObject,
    ListObjects,
    ReadObject,
    ShardOwner,
    StoreCommand,
    StoreSteps,
    VaultEntryHead,
    entry_number,
    unpack_entry,
)
from honeyguide.errors import ClusterError, ShardFenced, StorageUnreachable

LEASE = 10.0
DRIFT = 0.02
SHARD = 0


class Broken(AssertionError):
    """What must never happen happened."""


class Memory:
    """A vault that says at every creation whether the log is still one log."""

    def __init__(self) -> None:
        self.objects: dict[str, bytes] = {}
        self._heads: dict[bytes, VaultEntryHead] = {}
        self.exclusive = True

    def create(self, name: str, data: bytes) -> bool:
        if name in self.objects and self.exclusive:
            return False
        self.objects[name] = data
        self._check(self.head(name))
        return True

    def head(self, name: str) -> VaultEntryHead:
        data = self.objects[name]
        if data not in self._heads:
            self._heads[data] = unpack_entry(data, name, SHARD, entry_number(name)).head
        return self._heads[data]

    def base(self) -> int:
        return self.head(max(self.objects)).base

    def _check(self, new: VaultEntryHead) -> None:
        if new.number < self.base():
            return  # in a part of the log that nobody reads any more
        before = f"shard-0000/log/{new.number - 1:010}"
        if before not in self.objects:
            if new.number > max(1, self.base()):
                raise Broken(f"entry {new.number} follows nothing")
            return
        old = self.head(before)
        if new.epoch != old.epoch + (new.kind == "claim"):
            raise Broken(f"a {new.kind} of epoch {new.epoch} was accepted after {old}")


class Process:
    """One that claims, looks, saves, compacts, leaves, dies and comes back."""

    def __init__(self, story: Story, kind: type[ShardOwner]) -> None:
        dice = story.dice
        self.story, self.kind = story, kind
        self.offset = dice.uniform(0, 1e6)
        self.rate = dice.uniform(1 - DRIFT, 1 + DRIFT)
        self.asleep = 0
        self.owner: ShardOwner | None = None
        """Set as soon as its claim is made: from then on it may act."""
        self._work: Iterator[Any] | None = None
        self._ask: StoreCommand | None = None
        self._answer: object = None

    def clock(self) -> float:
        return self.offset + self.rate * self.story.now

    def window(self) -> tuple[float, float]:
        """When it may act, in true time."""
        if self.owner is None:
            return float("inf"), float("-inf")
        begins, ends = self.owner.acting_window()
        return (begins - self.offset) / self.rate, (ends - self.offset) / self.rate

    def step(self) -> None:
        if self._work is None:
            self._work = self._choose()
            self._go(lambda: next(self._work))  # type: ignore[arg-type]
        elif self._ask is not None:
            self._answer = self.story.answer(self._ask)
            self._ask = None
        elif isinstance(error := self._answer, StorageUnreachable):
            self._go(lambda: self._work.throw(error))  # type: ignore[union-attr]
        else:
            self._go(lambda: self._work.send(self._answer))  # type: ignore[union-attr]

    def die(self) -> None:
        self.owner = self._work = self._ask = None

    def _go(self, resume: Callable[[], StoreCommand]) -> None:
        try:
            self._ask = resume()
        except StopIteration:
            self._work = None
        except StorageUnreachable:
            self._work = None
        except ShardFenced:
            self.die()
        except ClusterError:
            if self.story.strict:
                raise
            self.die()

    def _choose(self) -> Iterator[Any]:
        owner, dice = self.owner, self.story.dice
        if owner is None:
            return self._claim()
        chance = dice.random()
        if chance < 0.5:
            return owner.renew_steps()
        if chance < 0.6:
            return self._save(owner, owner.base)
        if chance < 0.93:
            return self._compact(owner)
        return self._leave(owner)

    def _claim(self) -> StoreSteps[None]:
        owner = self.kind(SHARD, "worker", LEASE, self.clock)
        yield from owner.claim_steps()
        self.owner = owner

    def _save(self, owner: ShardOwner, base: int | None) -> StoreSteps[VaultEntryHead]:
        yield from owner.settle_steps()
        base = owner.number + 1 if base is None else owner.base
        head = yield from owner.append_steps("segment", base=base, whole=base == owner.number + 1)
        vault = self.story.vault
        name = f"shard-0000/log/{head.number:010}"
        if head.number >= vault.base() and not (name in vault.objects and vault.head(name) == head):
            raise Broken(f"entry {head.number} was said to be written, and is not there")
        return head

    def _compact(self, owner: ShardOwner) -> StoreSteps[None]:
        head = yield from self._save(owner, None)
        quick = self.story.dice.random() < 0.7
        for name in (yield ListObjects("shard-0000/log/")):
            if entry_number(name) < head.base:
                if not quick:
                    yield ReadObject(name)  # time passes
                self.story.delete(name)

    def _leave(self, owner: ShardOwner) -> StoreSteps[None]:
        yield from owner.release_steps()
        if self.owner is owner and owner.over:
            self.owner = None


class Story:
    def __init__(self, seed: int, kind: type[ShardOwner] = ShardOwner) -> None:
        self.dice = random.Random(seed)
        self.now = 0.0
        self.vault = Memory()
        self.keep_claims = True
        self.processes = [Process(self, kind) for _ in range(3)]
        self.late: list[CreateObject] = []
        self.acted = 0
        self.strict = True
        self._haste = self.dice.choice([50.0, 5.0, 1.0])
        self._trouble = self.dice.choice([0.0, 0.1, 0.4])

    def tell(self, steps: int = 150) -> None:
        dice = self.dice
        for _ in range(steps):
            chance = dice.random()
            process = dice.choice(self.processes)
            if chance < 0.01:
                process.die()
            elif chance < 0.05:
                process.asleep = dice.randrange(60)
            elif chance < 0.08 and self.late:
                self.vault.create(*self.late.pop(dice.randrange(len(self.late))))
            elif process.asleep:
                process.asleep -= 1
                continue
            else:
                process.step()
            jump = chance > 0.96
            self._pass(dice.uniform(0, 1.5 * LEASE) if jump else dice.expovariate(self._haste))

    def answer(self, ask: StoreCommand) -> object:
        """What the vault does and what is heard of it."""
        trouble = self.dice.random() < self._trouble
        lost = StorageUnreachable("lost")
        match ask:
            case CreateObject(name, data):
                if not trouble:
                    return self.vault.create(name, data)
                match self.dice.randrange(4):
                    case 0:  # it was not done
                        return lost
                    case 1:  # it was
                        self.vault.create(name, data)
                        return lost
                    case 2:  # it will be
                        self.late.append(ask)
                        return lost
                    case _:  # it was done, and asked again by a layer below
                        self.vault.create(name, data)
                        return self.vault.create(name, data)
            case ReadObject(name):
                return lost if trouble else self.vault.objects.get(name)
            case ListObjects():
                return lost if trouble else sorted(self.vault.objects)

    def delete(self, name: str) -> None:
        if name in self.vault.objects and not (
            self.keep_claims and self.vault.head(name).kind == "claim"
        ):
            del self.vault.objects[name]

    def _pass(self, seconds: float) -> None:
        """Time goes on; within it, nobody may act together with another."""
        until = self.now + seconds
        spans = []
        for process in self.processes:
            begins, ends = process.window()
            begins, ends = max(begins, self.now), min(ends, until)
            if begins < ends:
                spans.append((begins, ends))
        spans.sort()
        self.acted += len(spans)
        for (_, ends), (begins, _) in pairwise(spans):
            if begins < ends:
                raise Broken(f"two processes may act at {begins:.2f}")
        self.now = until
