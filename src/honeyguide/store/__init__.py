"""The collection on disk: one SQLite database and WARC files, kept in step; opened as a Store."""

from honeyguide.store.counters import CollectionCounts, GenerationCount, HostRow
from honeyguide.store.generations import GenerationRow, pack_strategy, unpack_strategy
from honeyguide.store.store import Store
from honeyguide.store.visits import VisitRow

__all__ = [
    "CollectionCounts",
    "GenerationCount",
    "GenerationRow",
    "HostRow",
    "Store",
    "VisitRow",
    "pack_strategy",
    "unpack_strategy",
]
