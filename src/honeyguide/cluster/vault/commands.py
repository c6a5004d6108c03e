"""What a log asks of its vault, as values: decisions stay apart from storage.

The rules of :mod:`.log` are generators that yield what they want done. :func:`perform` does it;
the tests do it too, with pauses, lost answers and several owners in any order.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any, NamedTuple, TypeVar

from honeyguide.cluster.vault.object_store import Vault
from honeyguide.errors import Unreached

T = TypeVar("T")


class Create(NamedTuple):
    name: str
    data: bytes


class Read(NamedTuple):
    name: str


class Names(NamedTuple):
    prefix: str


Ask = Create | Read | Names
Steps = Generator[Ask, Any, T]


def perform(vault: Vault, steps: Steps[T]) -> T:
    """Do what is asked, one after the other, and say what came of it."""
    try:
        ask = next(steps)
        while True:
            try:
                answer = do(vault, ask)
            except Unreached as error:
                ask = steps.throw(error)
            else:
                ask = steps.send(answer)
    except StopIteration as end:
        result: T = end.value
        return result


def do(vault: Vault, ask: Ask) -> object:
    match ask:
        case Create(name, data):
            return vault.create(name, data)
        case Read(name):
            return vault.read(name)
        case Names(prefix):
            return vault.names(prefix)
