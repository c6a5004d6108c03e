"""The durable copy of a shard on storage that all machines share. Only one writer at a time is
accepted (fencing).

A shard's truth is one SQLite database and WARC files on one machine, which may die or be cut
off. The vault holds a log for each shard (:mod:`.log`): claims, and the pages of the database
that changed from one save to the next (:mod:`.pages`). From it any machine makes the database
as it was at the last save (:mod:`.rebuild`). :mod:`.keeper` is what a shard uses; :mod:`.place`
says what a storage must be able to do.
"""

import re
from pathlib import Path
from secrets import token_hex

from honeyguide.cluster.vault.object_store import FolderStore
from honeyguide.cluster.vault.object_store import ObjectStore as ObjectStore
from honeyguide.cluster.vault.replicator import ShardReplicator as ShardReplicator
from honeyguide.cluster.vault.replicator import rebuild_database as rebuild_database
from honeyguide.errors import ConfigError

_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*://")


def open_object_store(place: str) -> ObjectStore:
    """The vault at a folder (``/mnt/shared/crawl``) or in a bucket (``s3://bucket/prefix``)."""
    if place.startswith("s3://"):
        from honeyguide.cluster.vault.bucket import BucketStore

        return _check_exclusive(BucketStore(place), place)
    if _SCHEME.match(place):
        raise ConfigError(
            f"a vault is a folder that all machines see, or s3://bucket/prefix; not {place!r:.200}"
        )

    return _check_exclusive(FolderStore(Path(place)), place)


def _check_exclusive(vault: ObjectStore, place: str) -> ObjectStore:
    """Some storages accept the wish not to replace an object, and replace it."""
    name = f"probe/{token_hex(12)}"
    made = [vault.create(name, b"first"), vault.create(name, b"second")]
    stored = vault.read(name)
    vault.delete(name)
    if made != [True, False] or stored != b"first":
        raise ConfigError(
            f"{place} cannot hold a vault: it replaces what exists. Use a folder on a file system "
            "with hard links, or a storage that obeys If-None-Match"
        )
    return vault
