"""The collection on disk: one SQLite database and WARC files, kept in step.

``store`` is the door; behind it each file owns a noun: ``database`` (SQLite and its errors),
``schema``, ``files`` (which we dare to open), ``lock``, ``visits`` (the journal), ``rows`` (of it),
``sound`` (values that may be a stranger's), ``counts``, ``log`` (the frontier's), ``labels``,
``generations``, ``robots``, ``sketch`` and ``copies`` (texts seen before), ``warc`` (records),
``archive`` (files of them), ``export``, ``said`` (by people and verdicts), ``extract`` and
``parquet``.
"""

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
