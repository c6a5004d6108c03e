"""How a crawl on a cluster stands, shard by shard: what they say, or else what the vault says."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from honeyguide.cluster.remote_state import ends, is_away, known, room
from honeyguide.cluster.vault import vault
from honeyguide.errors import ClusterError, ConfigError
from honeyguide.store.shards import MARK
from honeyguide.store.store import Store


@dataclass(frozen=True, slots=True)
class Row:
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
class Standing:
    away: bool
    address: str
    vault: str
    visits: int
    """In the collection."""
    rows: tuple[Row, ...]
    trouble: str = ""
    """Why shards could not be asked."""

    @property
    def lost(self) -> int:
        return sum(row.lost_records for row in self.rows)

    def facts(self) -> dict[str, Any]:
        return asdict(self)


def look(folder: Path, address: str = "") -> Standing:
    with Store.open(folder, "read") as store:
        where, mark, shards = known(store), store.meta(MARK) or "", store.shards
        away, visits = is_away(store), store.counts().visits
        place = room(store, where.vault)
    if not where.vault:
        raise ConfigError(f"{folder} was never crawled on a cluster")
    address = address or where.address
    said: list[dict[str, Any] | None] = [None] * shards
    trouble = ""
    if away:
        try:
            said = _asked(address, mark, shards)
        except ClusterError as error:
            trouble = str(error)
    written = ends(vault(place), shards)
    rows = tuple(_row(n, said[n], written[n]) for n in range(shards))
    return Standing(away, address, where.vault, visits, rows, trouble)


def _asked(address: str, mark: str, shards: int) -> list[dict[str, Any] | None]:
    from honeyguide.cluster.on_ray import connect, standing

    ray = connect(address)
    try:
        return standing(ray, mark, shards)
    finally:
        ray.shutdown()


def _row(shard: int, said: dict[str, Any] | None, written: dict[str, Any]) -> Row:
    if not said:
        machine, epoch = written.get("machine"), written.get("epoch")
        return Row(shard, machine, epoch, saved_at=written.get("written_at"))
    return Row(
        shard,
        said.get("machine"),
        said.get("epoch"),
        said.get("visits"),
        said.get("waiting"),
        said.get("letters"),
        said.get("saved_at"),
        said.get("window_s"),
        int(said.get("lost_records") or 0),
        answers=True,
    )
