"""A collection whose shards live on a cluster: on their way to the vault, and home again.

While they are away, the vault has the truth of each shard; the collection has what was gathered.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from secrets import token_hex
from typing import NamedTuple

from honeyguide.cluster.resharding import leftover, opened_shard
from honeyguide.cluster.shard_node import warc_files
from honeyguide.cluster.vault import Keeper, Vault, rebuild, vault
from honeyguide.cluster.vault.entry import unpack
from honeyguide.cluster.vault.log import number_of
from honeyguide.cluster.vault.log import place as log_place
from honeyguide.errors import ClusterError, ConfigError
from honeyguide.store.shards import MARK, count, folder_of
from honeyguide.store.store import Store

_AWAY, _PLACE, _ADDRESS = "away", "vault", "cluster"
Told = Callable[[str], None]


class Cluster(NamedTuple):
    """Which machines, and the storage that they share; as the user said it."""

    address: str
    vault: str


def known(store: Store) -> Cluster:
    """What the last crawl on a cluster was told; '' where there was none."""
    return Cluster(store.meta(_ADDRESS) or "", store.meta(_PLACE) or "")


def is_away(store: Store) -> bool:
    return store.meta(_AWAY) == "1"


def refuse(store: Store) -> None:
    """Nobody crawls here what is out there."""
    if is_away(store):
        name, (address, _) = store.folder, known(store)
        raise ClusterError(
            f"the shards of {name} are on the cluster at {address}. Go on there: honeyguide crawl "
            f"{name} --cluster {address}; Ctrl-C brings them home. If there is no such cluster any "
            f"more: honeyguide cluster recall {name}"
        )


def room(store: Store, place: str) -> str:
    """Where this collection's shards lie in the vault: each time that it was split, anew."""
    return f"{place.rstrip('/')}/{store.meta(MARK)}"


def send_away(store: Store, where: Cluster, told: Told) -> None:
    """Bring the shards to the vault, unless they are there."""
    if is_away(store):
        if known(store).vault != where.vault:
            raise ConfigError(
                f"the shards of {store.folder} are in the vault {known(store).vault}, not in "
                f"{where.vault}"
            )
        store.set_meta(_ADDRESS, where.address)
        return
    if "://" not in where.vault and Path(where.vault).is_dir():
        Path(room(store, where.vault)).mkdir(exist_ok=True)
    place = vault(room(store, where.vault))
    told(f"bringing {count(store)} shards to the vault")
    for shard in range(count(store)):
        keeper = Keeper.claim(place, shard, "the coordinator")
        keeper.begin_anew()
        # Opened once, so that whatever a killed crawl left half done is tidied up.
        with opened_shard(store, shard) as found:
            keeper.farewell(found.database)
    with store.transaction():
        store.set_meta(_PLACE, where.vault)
        store.set_meta(_ADDRESS, where.address)
        store.set_meta(_AWAY, "1")


def bring_home(store: Store, told: Told) -> list[str]:
    """All shards have taken leave: what they are lies here again. Says what is missing."""
    place = vault(room(store, known(store).vault))
    if any(end.get("kind") != "farewell" for end in ends(place, count(store))):
        raise ClusterError(
            f"somebody still has shards of {store.folder}: nothing was brought home. Run the same "
            "command again"
        )
    told("bringing the shards home")
    for shard in range(count(store)):
        rebuild(place, shard, folder_of(store.folder, shard))
        _fetch_files(place, shard, store.folder / "warc")
        with opened_shard(store, shard) as found:
            for parcel in leftover(found, store.gathered(shard)):
                store.take(shard, parcel)
    store.set_meta(_AWAY, "0")
    return missing_records(store)


def recall(store: Store, told: Told) -> list[str]:
    """Bring home what is out there, whoever has it now: they are fenced, and stop by themselves."""
    if not is_away(store):
        raise ClusterError(f"the shards of {store.folder} are at home")
    place = vault(room(store, known(store).vault))
    keepers = [Keeper.claim(place, shard, "recall") for shard in range(count(store))]
    wait = max(keeper.wait() for keeper in keepers)
    if wait:
        told(f"waiting {wait:.0f} s until whoever had them has stopped for certain")
        time.sleep(wait)
    for keeper in keepers:
        keeper.farewell()
    return bring_home(store, told)


def missing_records(store: Store) -> list[str]:
    """What was lost with machines, though its visits are known."""
    found = store.database.all(
        "SELECT warcs.name, count(*) FROM visits JOIN warcs ON warcs.id = visits.warc GROUP BY 1"
    )
    lost = sum(many for name, many in found if not (store.folder / "warc" / name).is_file())
    if not lost:
        return []
    return [
        f"the WARC records of {lost} visits were lost with machines, in files that were not closed "
        "yet; the visits themselves are known"
    ]


def _fetch_files(place: Vault, shard: int, folder: Path) -> None:
    """WARC files that we lack, whole or not at all."""
    folder.mkdir(exist_ok=True)
    for name in warc_files(place, shard):
        if (folder / name).exists():
            continue
        half = folder / f".{name}.{token_hex(4)}"
        try:
            with half.open("xb") as file:
                for piece in place.chunks(f"shard-{shard:04}/warc/{name}") or ():
                    file.write(piece)
            half.rename(folder / name)
        finally:
            with suppress(FileNotFoundError):
                half.unlink()


def ends(place: Vault, shards: int) -> list[dict[str, object]]:
    """What the vault alone says of each shard: its last owner, and when it wrote last."""
    told: list[dict[str, object]] = []
    for shard in range(shards):
        names = place.names(log_place(shard))
        data = place.read(names[-1]) if names else None
        if data is None:
            told.append({})
            continue
        head = unpack(data, names[-1], shard, number_of(names[-1])).head
        said = {"machine": head.by, "epoch": head.epoch, "written_at": head.at, "kind": head.kind}
        told.append(said)
    return told
