"""A collection as the studio's answers see it, without a server."""

from __future__ import annotations

from pathlib import Path

from honeyguide.config.settings import StoreSettings
from honeyguide.store.store import Store
from honeyguide.studio.routes import RequestContext
from honeyguide.studio.runs import SharedObjects, StudioRuns
from honeyguide.types import Visit

TOPIC = '[topic]\nkeywords = ["honey"]\nseeds = ["https://a.example/"]\n'


def keep(folder: Path, visits: list[Visit], warc: bool = False) -> Path:
    """Append visits to the collection in there, made if need be."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "topic.toml").write_text(TOPIC + '[fetch]\ncontact = "a@example.org"\n')
    settings = StoreSettings(warc=warc)
    with Store.open(folder, "crawl", settings) as store, store.transaction():
        store.append_visits(visits)
    return folder


def here(folder: Path) -> RequestContext:
    return RequestContext(folder.parent, folder, "ann", StudioRuns(folder.parent), SharedObjects())
