"""Collections whose shards live on a cluster: moving shards to the vault and back, and their
status.

While they are away, the vault has the truth of each shard; the collection has what was gathered.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from secrets import token_hex
from typing import Any, NamedTuple

from honeyguide.cluster.object_store import ObjectStore
from honeyguide.cluster.replicator import ShardReplicator, open_object_store, rebuild_database
from honeyguide.cluster.resharding import leftover_visits, open_shard
from honeyguide.cluster.shard_log import (
    VaultEntryHead,
    entry_number,
    list_vault_warcs,
    read_entry,
)
from honeyguide.cluster.shard_log import log_prefix as log_place
from honeyguide.errors import ClusterError, ConfigError
from honeyguide.store.shards import SPLIT_KEY, shard_folder
from honeyguide.store.store import Store

_AWAY_KEY, _VAULT_KEY, _ADDRESS_KEY = "away", "vault", "cluster"
Announce = Callable[[str], None]


class ClusterLocation(NamedTuple):
    """Which machines, and the storage that they share; as the user said it."""

    address: str
    vault: str


def known_cluster(store: Store) -> ClusterLocation:
    """Address and vault of the last crawl on a cluster; '' where there was none."""
    return ClusterLocation(store.get_meta(_ADDRESS_KEY) or "", store.get_meta(_VAULT_KEY) or "")


def is_away(store: Store) -> bool:
    return store.get_meta(_AWAY_KEY) == "1"


def refuse_if_away(store: Store) -> None:
    """Nobody crawls here what is out there."""
    if is_away(store):
        name, (address, _) = store.folder, known_cluster(store)
        raise ClusterError(
            f"the shards of {name} are on the cluster at {address}. Continue there: honeyguide "
            f"crawl {name} --cluster {address}; Ctrl-C brings them back. If that cluster no "
            f"longer exists: honeyguide cluster recall {name}"
        )


def vault_place(store: Store, place: str) -> str:
    """Where this collection's shards lie in the vault: a new place after each split."""
    return f"{place.rstrip('/')}/{store.get_meta(SPLIT_KEY)}"


def send_away(store: Store, where: ClusterLocation, announce: Announce) -> None:
    """Bring the shards to the vault, unless they are there."""
    if is_away(store):
        if known_cluster(store).vault != where.vault:
            raise ConfigError(
                f"the shards of {store.folder} are in the vault {known_cluster(store).vault}, "
                f"not in {where.vault}"
            )
        store.set_meta(_ADDRESS_KEY, where.address)
        return
    if "://" not in where.vault and Path(where.vault).is_dir():
        Path(vault_place(store, where.vault)).mkdir(exist_ok=True)
    place = open_object_store(vault_place(store, where.vault))
    announce(f"bringing {store.shard_count} shards to the vault")
    for shard in range(store.shard_count):
        keeper = ShardReplicator.claim(place, shard, "the coordinator")
        keeper.discard_saved()
        # Opened once, so that whatever a killed crawl left half done is tidied up.
        with open_shard(store, shard) as found:
            keeper.release_shard(found.database)
    with store.transaction():
        store.set_meta(_VAULT_KEY, where.vault)
        store.set_meta(_ADDRESS_KEY, where.address)
        store.set_meta(_AWAY_KEY, "1")


def bring_home(store: Store, announce: Announce) -> list[str]:
    """All shards have taken leave: what they are lies here again. Says what is missing."""
    place = open_object_store(vault_place(store, known_cluster(store).vault))
    ends = last_vault_entries(place, store.shard_count)
    if any(end is None or end.kind != "farewell" for end in ends):
        raise ClusterError(
            f"another process still has shards of {store.folder}: nothing was copied back. Run "
            "the same command again"
        )
    announce("copying the shards back")
    for shard in range(store.shard_count):
        rebuild_database(place, shard, shard_folder(store.folder, shard))
        _fetch_warc_files(place, shard, store.folder / "warc")
        with open_shard(store, shard) as found:
            for parcel in leftover_visits(found, store.shard_sync.synced_until(shard)):
                store.shard_sync.import_visits(shard, parcel)
    store.set_meta(_AWAY_KEY, "0")
    return missing_records(store)


def recall_shards(store: Store, announce: Announce) -> list[str]:
    """Bring home what is out there, whoever has it now: they are fenced, and stop by themselves."""
    if not is_away(store):
        raise ClusterError(f"the shards of {store.folder} are in the collection folder")
    place = open_object_store(vault_place(store, known_cluster(store).vault))
    keepers = [ShardReplicator.claim(place, shard, "recall") for shard in range(store.shard_count)]
    wait = max(keeper.owner.seconds_to_wait() for keeper in keepers)
    if wait:
        announce(f"waiting {wait:.0f} s until the previous owner has stopped for certain")
        time.sleep(wait)
    for keeper in keepers:
        keeper.release_shard()
    return bring_home(store, announce)


def missing_records(store: Store) -> list[str]:
    """What was lost with machines, though its visits are known."""
    found = store.database.fetch_all(
        "SELECT warcs.name, count(*) FROM visits JOIN warcs ON warcs.id = visits.warc GROUP BY 1"
    )
    lost = sum(many for name, many in found if not (store.folder / "warc" / name).is_file())
    if not lost:
        return []
    return [
        f"the WARC records of {lost} visits were lost with machines, in files that were not closed "
        "yet; the visits themselves are known"
    ]


def _fetch_warc_files(place: ObjectStore, shard: int, folder: Path) -> None:
    """WARC files that we lack, whole or not at all."""
    folder.mkdir(exist_ok=True)
    for name in list_vault_warcs(place, shard):
        if (folder / name).exists():
            continue
        half = folder / f".{name}.{token_hex(4)}"
        try:
            with half.open("xb") as file:
                for piece in place.read_chunks(f"shard-{shard:04}/warc/{name}") or ():
                    file.write(piece)
            half.rename(folder / name)
        finally:
            with suppress(FileNotFoundError):
                half.unlink()


def last_vault_entries(place: ObjectStore, shards: int) -> list[VaultEntryHead | None]:
    """What the vault alone says of each shard: its last owner, and when it wrote last."""
    heads: list[VaultEntryHead | None] = []
    for shard in range(shards):
        names = place.list_names(log_place(shard))
        entry = read_entry(place, shard, entry_number(names[-1])) if names else None
        heads.append(entry.head if entry else None)
    return heads


# -- Status of a crawl on a cluster --


@dataclass(frozen=True, slots=True)
class ShardStatusRow:
    shard: int
    machine: str | None = None
    epoch: int | None = None
    """How many owners it has had."""
    visits: int | None = None
    waiting: int | None = None
    letters: int | None = None
    """Under way to other shards."""
    saved_at: float | None = None
    """Seconds since 1970."""
    window_s: float | None = None
    """So much work is lost with a machine."""
    lost_records: int = 0
    answers: bool = False


@dataclass(frozen=True, slots=True)
class ClusterStatus:
    away: bool
    address: str
    vault: str
    visits: int
    """In the collection."""
    rows: tuple[ShardStatusRow, ...]
    trouble: str = ""
    """Why shards could not be asked."""

    @property
    def lost_records(self) -> int:
        return sum(row.lost_records for row in self.rows)

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


AskShards = Callable[[str, str, int], Sequence[Mapping[str, Any] | None]]
"""What shards say of themselves, by the cluster's address, its mark and their number."""


def read_cluster_status(folder: Path, ask_shards: AskShards, address: str = "") -> ClusterStatus:
    """How each shard stands; ``ask_shards`` raises ClusterError if the cluster does not answer."""
    with Store.open(folder, "read") as store:
        where = known_cluster(store)
        mark = store.get_meta(SPLIT_KEY) or ""
        shards = store.shard_count
        away, visits = is_away(store), store.counter.read_counts().visits
        place = vault_place(store, where.vault)
    if not where.vault:
        raise ConfigError(f"{folder} was never crawled on a cluster")
    address = address or where.address
    answers: Sequence[Mapping[str, Any] | None] = [None] * shards
    trouble = ""
    if away:
        try:
            answers = ask_shards(address, mark, shards)
        except ClusterError as error:
            trouble = str(error)
    written = last_vault_entries(open_object_store(place), shards)
    rows = tuple(_shard_status_row(n, answers[n], written[n]) for n in range(shards))
    return ClusterStatus(away, address, where.vault, visits, rows, trouble)


def _shard_status_row(
    shard: int, answer: Mapping[str, Any] | None, written: VaultEntryHead | None
) -> ShardStatusRow:
    if answer:  # of an actor that may be of another version
        names = [field.name for field in fields(ShardStatusRow) if field.name in answer]
        return ShardStatusRow(shard, **{name: answer[name] for name in names}, answers=True)
    if written is None:
        return ShardStatusRow(shard)
    return ShardStatusRow(shard, written.by, written.epoch, saved_at=written.at)
