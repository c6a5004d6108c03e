"""The durable copy of a shard on storage that all machines share: one writer, fenced.

A shard's truth is one SQLite database and WARC files on one machine, which may die or be cut
off. The vault holds a log for each shard (:mod:`.log`): claims, and the pages of the database
that changed from one save to the next (:mod:`.pages`). From it any machine makes the database
as it was at the last save (:mod:`.rebuild`). :mod:`.keeper` is what a shard uses; :mod:`.place`
says what a storage must be able to do.
"""

from honeyguide.cluster.vault.object_store import ObjectStore, open_object_store
from honeyguide.cluster.vault.replicator import (
    RestoreReport,
    SaveReport,
    ShardReplicator,
    rebuild_database,
)

__all__ = [
    "ObjectStore",
    "RestoreReport",
    "SaveReport",
    "ShardReplicator",
    "open_object_store",
    "rebuild_database",
]
