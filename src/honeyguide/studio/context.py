"""What an answer may use: where the collections are, which one is meant, and who asks."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeVar

if TYPE_CHECKING:
    from honeyguide.crawl.collection import Collection
    from honeyguide.store.store import Store
    from honeyguide.studio.runs import Runs
    from honeyguide.studio.shared_state import Kept

T = TypeVar("T")


class Here(NamedTuple):
    """Made for each request."""

    root: Path
    """The folder of the collections."""
    folder: Path | None
    """Of the collection named in the path, checked to exist."""
    person: str
    """Who asks, and labels; '': nobody said."""
    runs: Runs
    """The crawls and watches that this studio started."""
    shared: Kept
    """What lives longer than a request; see :meth:`kept`."""

    @property
    def place(self) -> Path:
        """The collection's folder, on paths that name one."""
        assert self.folder is not None
        return self.folder

    def store(self) -> Store:
        """Its store, to read: ``with here.store() as store:``."""
        from honeyguide.crawl.open_store import existing

        return existing(self.place, "read")

    def collection(self) -> Collection:
        """It, with its settings as they stand in topic.toml now."""
        from honeyguide.crawl.collection import Collection

        return Collection(self.place)

    def kept(self, make: Callable[[Path], T]) -> T:
        """One thing of this kind for each collection, shared by all requests: made with
        ``make(folder)`` when first asked for; its ``close()``, if it has one, is called when the
        studio ends. It must be safe for threads."""
        return self.shared.get(self.place, make)
