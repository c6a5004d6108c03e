"""The store of a collection that has been crawled."""

from __future__ import annotations

import shlex
from pathlib import Path

from honeyguide.errors import StoreError
from honeyguide.store.database import OpenMode
from honeyguide.store.store import Store


def open_existing_store(folder: Path, mode: OpenMode) -> Store:
    """A StoreError that says what to do if there is none yet."""
    if not (folder / "collection.db").exists():
        place = shlex.quote(str(folder))
        name = folder.resolve().name
        raise StoreError(f"{name} is not crawled yet; run: honeyguide crawl {place}")
    return Store.open(folder, mode)
