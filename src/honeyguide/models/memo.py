"""What is asked again and again, and only a new generation changes."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import TypeVar

K = TypeVar("K", bound=Hashable)
T = TypeVar("T")
V = TypeVar("V")


def remembered(
    memo: dict[K, V],
    keys: Sequence[K],
    things: Sequence[T],
    make: Callable[[list[T]], Sequence[V]],
    most: int,
) -> list[V]:
    """What ``make`` says of each thing, by its key; only of new ones it is asked. More than so many
    are never remembered: then it begins anew."""
    if len(things) > most:
        return list(make(list(things)))
    new = {key: thing for key, thing in zip(keys, things, strict=True) if key not in memo}
    if len(memo) + len(new) > most:
        memo.clear()
        new = dict(zip(keys, things, strict=True))
    if new:
        memo.update(zip(new, make(list(new.values())), strict=True))
    return [memo[key] for key in keys]
