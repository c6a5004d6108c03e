"""What differs on a page at every visit and is not told, as people see it and change it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from honeyguide.errors import ConfigError
from honeyguide.store.store import Store
from honeyguide.types import Url
from honeyguide.watch.compare.mask_names import path_of
from honeyguide.watch.compare.volatile import Memory


class Masked(NamedTuple):
    mask: str
    where: str
    """For people to read; '': the whole page."""
    by: str
    """``person``, or ``habit``: it differs every time."""


class Masks(NamedTuple):
    url: Url
    masks: tuple[Masked, ...]
    opened: tuple[str, ...]
    """What people keep open, whatever is learned."""


def masks(store: Store, url: Url) -> Masks:
    return _told(url, _memory(store, url))


def mask(store: Store, url: Url, keys: Iterable[str]) -> Masks:
    """From now on whatever stands there is not told."""
    memory = _memory(store, url)
    for key in keys:
        memory = memory.mask(key)
    store.watched.alter(url, masks=memory.to_json())
    return _told(url, memory)


def unmask(store: Store, url: Url, keys: Iterable[str]) -> Masks:
    """From now on it is told again, whatever is learned."""
    memory = _memory(store, url)
    for key in keys:
        if key not in memory.masks():
            raise ConfigError(f"{key!r} is not masked; see: watch NAME masks {url}")
        memory = memory.open(key)
    store.watched.alter(url, masks=memory.to_json())
    return _told(url, memory)


def forget(store: Store, url: Url, keys: Iterable[str]) -> Masks:
    """Take back what people said of these: only what is learned counts again."""
    memory = _memory(store, url)
    for key in keys:
        memory = memory.forget(key)
    store.watched.alter(url, masks=memory.to_json())
    return _told(url, memory)


def _memory(store: Store, url: Url) -> Memory:
    row = store.watched.find(url)
    if row is None:
        raise ConfigError(f"{url} is not watched")
    return Memory.from_json(row.masks)


def _told(url: Url, memory: Memory) -> Masks:
    found = (
        Masked(key, path_of(key), "person" if key in memory.added else "habit")
        for key in sorted(memory.masks())
    )
    return Masks(url, tuple(found), tuple(sorted(memory.opened)))
