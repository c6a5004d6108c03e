"""What a shard holds of its vault: the claim to itself, and the saving of its database.

    keeper = Keeper.claim(vault("/mnt/shared/birds"), shard=3, by="worker-7")
    keeper.restore(folder)
    …                                     # open the database; wait until keeper.may_act()
    keeper.save(database)                 # now and then, between transactions
    keeper.farewell(database)             # at the end, so that the next need not wait

Everything here raises Fenced once another process has claimed the shard: stop at once then.
"""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from honeyguide.cluster.vault.commands import perform
from honeyguide.cluster.vault.compaction import Tidy
from honeyguide.cluster.vault.log import Clock, Owner, steady
from honeyguide.cluster.vault.object_store import Vault
from honeyguide.cluster.vault.pages import PART, Pages, Stamp, Taken
from honeyguide.cluster.vault.rebuild import Restored, rebuild
from honeyguide.errors import ClusterError, ConfigError
from honeyguide.store.database import Database

_GROWTH = 3.0
"""The log is written anew when what came after the whole copy is so many times larger than it."""
_SMALL = 4_000_000
"""Bytes below which nothing is worth writing anew."""
_MOST = 1000
"""Entries after the whole copy: each is one request more for who restores it."""


@dataclass(frozen=True, slots=True)
class Saved:
    """What went to the vault: nothing, if nothing had changed."""

    pages: int = 0
    bytes: int = 0
    entries: int = 0
    whole: bool = False


class Keeper:
    """One claim to one shard. For one thread at a time, but for :meth:`may_act` and its like,
    and for :meth:`take` and :meth:`send`, of which each may have a thread of its own."""

    def __init__(self, vault: Vault, owner: Owner) -> None:
        self._vault = vault
        self._owner = owner
        self._pages: Pages | None = None
        self._taken: Taken | None = None
        self._known: Stamp | None = None
        self._behind = owner.base != 0
        """Whether the log holds a database that is not restored yet."""
        self._tidy = Tidy(vault, owner.shard, owner.number)
        self._base_bytes = 0
        self._later_bytes = 0
        self._base_entries = 0

    @classmethod
    def claim(
        cls, vault: Vault, shard: int, by: str, lease_s: float = 30.0, clock: Clock = steady
    ) -> Self:
        """Become the shard's owner; whoever was it is fenced from now on."""
        if not 0 < lease_s < float("inf"):
            raise ConfigError(f"a lease is a number of seconds above 0, not {lease_s}")
        owner = Owner(shard, by, lease_s, clock)
        perform(vault, owner.claiming())
        return cls(vault, owner)

    @property
    def epoch(self) -> int:
        """How many owners the shard has had, this one included."""
        return self._owner.epoch

    def may_act(self) -> bool:
        """Whether pages may be fetched at this instant. Asks the clock, not the vault."""
        return self._owner.may_act()

    def left(self) -> float:
        """For how many seconds more, without another :meth:`renew` or :meth:`save`."""
        return self._owner.left()

    def wait(self) -> float:
        """Seconds until the owners before us have stopped for certain."""
        return self._owner.wait()

    def renew(self) -> None:
        """Look whether the shard is still ours: one small read. Saving does it as well."""
        perform(self._vault, self._owner.renewing())

    def restore(self, folder: Path, *, check: bool = False) -> Restored:
        """Make ``folder/collection.db`` what was saved last; what is there is replaced. Nothing
        is made if nothing was ever saved."""
        restored = rebuild(self._vault, self._owner.shard, folder, check=check)
        self._pages, self._behind, self._known = None, False, restored.known
        self._base_bytes, self._later_bytes = restored.sizes
        self._tidy.know(restored.seen)
        return restored

    def begin_anew(self) -> None:
        """Whatever was saved before is not wanted: what is saved next stands for itself."""
        self._pages, self._behind, self._known = None, False, None

    def save(self, database: Database) -> Saved:
        """Send what was committed since the last time."""
        return self.send(self.take(database))

    def take(self, database: Database) -> Taken:
        """The first half of :meth:`save`: copies what changed, quickly, and asks nobody. The
        database may be used again while :meth:`send` runs in another thread."""
        self._taken = self._watched(database).take(whole=self._swollen())
        return self._taken

    def send(self, taken: Taken) -> Saved:
        """The second half. If it fails, the next :meth:`take` takes all of it again."""
        with closing(taken):
            if taken is not self._taken or self._pages is None:
                raise ClusterError("only what was taken last can be sent, and only once")
            self._taken = None
            if not taken.numbers:
                self.renew()
                return Saved()
            done = self._send(taken)
        self._pages.saved(taken)
        return done

    def farewell(self, database: Database | None = None) -> None:
        """Save a last time, never act again, and let the next owner act at once. Before: end
        every fetch."""
        if database is not None:
            self.save(database)
        perform(self._vault, self._owner.leaving())

    def upload_warc(self, path: Path) -> bool:
        """Copy a closed WARC file into the vault; False: it is there already."""
        name = f"shard-{self._owner.shard:04}/warc/{path.name}"
        self.renew()  # who is fenced writes nothing any more
        if self._vault.upload(name, path):
            return True
        if not _equal(self._vault, name, path):
            raise ClusterError(f"{name} in the vault differs from {path}; both were left alone")
        return False

    def _watched(self, database: Database) -> Pages:
        if self._pages is None or self._pages.database is not database:
            if self._behind:
                raise ClusterError(
                    f"shard {self._owner.shard} has a saved database: restore it before saving"
                )
            self._pages, self._known = Pages(database, self._known), None
        return self._pages

    def _swollen(self) -> bool:
        large = self._later_bytes > max(_SMALL, _GROWTH * self._base_bytes)
        return large or self._owner.number - self._owner.base > _MOST + self._base_entries

    def _send(self, taken: Taken) -> Saved:
        owner = self._owner
        perform(self._vault, owner.settling())
        first = owner.number + 1
        size = entries = 0
        for part, (body, last) in enumerate(taken.parts(PART)):
            steps = owner.appending(
                "segment",
                body,
                part=part,
                last=last,
                whole=taken.whole,
                page_size=taken.page_size,
                pages=taken.pages,
                base=first if taken.whole and last else owner.base,
            )
            perform(self._vault, steps)
            size, entries = size + len(body), entries + 1
        if taken.whole:
            self._base_bytes, self._later_bytes, self._base_entries = size, 0, entries
            self._tidy.before(first)
        else:
            self._later_bytes += size
        self._tidy.some()
        return Saved(len(taken.numbers), size, entries, taken.whole)


def _equal(vault: Vault, name: str, path: Path) -> bool:
    with path.open("rb") as file:
        for piece in vault.chunks(name) or ():
            if file.read(len(piece)) != piece:
                return False
        return not file.read(1)
