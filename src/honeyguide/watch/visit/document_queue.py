"""The queue of fetched documents between the threads of Meegahapola et al., corrected."""

from __future__ import annotations

from collections import deque
from threading import Condition, Lock
from typing import Generic, TypeVar

T = TypeVar("T")


class DocumentQueue(Generic[T]):
    """A bounded queue between threads: one mutex, two conditions.

    A producer reserves its place before it begins. The exact rule counts documents and reserved
    places; the paper's (``paper_rule``) sets one place aside for every producer, busy or not, so
    that a producer begins only while fewer than capacity − producers + 1 documents wait.
    """

    def __init__(self, capacity: int, producers: int, *, paper_rule: bool = False) -> None:
        if capacity < 1 or (paper_rule and capacity < producers):
            raise ValueError(f"{capacity} places are not enough for {producers} producers")
        self.fullest = 0
        self._documents: deque[T] = deque()
        self._capacity = capacity
        self._producers = producers
        self._usable = capacity - producers + 1 if paper_rule else 0
        self._reserved = 0
        self._stopped = False
        mutex = Lock()
        self._can_produce = Condition(mutex)
        self._can_consume = Condition(mutex)

    def reserve(self) -> bool:
        """Wait for a place; False: nobody wants more."""
        with self._can_produce:
            while not self._stopped and self._full():
                self._can_produce.wait()
            self._reserved += not self._stopped
            return not self._stopped

    def put(self, document: T) -> None:
        """Fill the reserved place."""
        with self._can_consume:
            self._reserved -= 1
            self._documents.append(document)
            self.fullest = max(self.fullest, len(self._documents))
            self._can_consume.notify()

    def release(self) -> None:
        """Give the reserved place back: no document came."""
        with self._can_produce:
            self._reserved -= 1
            self._can_produce.notify()

    def leave(self) -> None:
        """A producer is done; after the last one, consumers find the end."""
        with self._can_consume:
            self._producers -= 1
            if not self._producers:
                self._can_consume.notify_all()

    def take(self) -> T | None:
        """The next document; None: there will be none."""
        with self._can_consume:
            while not self._documents and self._producers and not self._stopped:
                self._can_consume.wait()
            if self._stopped or not self._documents:
                return None
            document = self._documents.popleft()
            # By the paper's rule one document less may be room for everybody.
            self._can_produce.notify(self._producers if self._usable else 1)
            return document

    def stop(self) -> None:
        """Let everybody go; what waits is left."""
        with self._can_produce:
            self._stopped = True
            self._can_produce.notify_all()
            self._can_consume.notify_all()

    def _full(self) -> bool:
        if self._usable:
            return len(self._documents) >= self._usable
        return len(self._documents) + self._reserved >= self._capacity
