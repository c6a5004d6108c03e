"""The Start screen: the list of collections, and choices for a new topic."""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from honeyguide import language_codes
from honeyguide.api.create import OWN_ONTOLOGIES
from honeyguide.config.settings import load_settings
from honeyguide.crawl.from_settings import strategy_choices
from honeyguide.errors import HoneyguideError
from honeyguide.store.store import open_existing_store
from honeyguide.studio import routes
from honeyguide.studio.routes import RequestContext, Route

_COLLECTIONS_COUNTED = 30
"""Collections whose stores are looked into for the list; others are only named."""
_COLLECTIONS_LISTED = 500


class CollectionItem(Struct):
    """A collection in the list."""

    name: str
    description: str = ""
    running: str = ""
    """crawl or watch; elsewhere: by another process; '': not running."""
    visits: int | None = None
    relevant: int | None = None
    last: float | None = None
    problem: str = ""


class StrategyItem(Struct):
    name: str
    about: str
    learns: bool
    needs: tuple[str, ...]
    """Any one of these must be given."""


class TopicChoices(Struct):
    """What a new topic can be made from."""

    strategies: list[StrategyItem]
    languages: dict[str, str]
    ontologies: list[str]
    contact: str
    """As it stands in the collection that was changed last."""


class CollectionItems:
    """What was last seen of each collection: looked into again only when its files changed."""

    def __init__(self, _: Path) -> None:
        self._seen: dict[Path, tuple[object, CollectionItem]] = {}

    def item_of(self, folder: Path, counted: bool) -> CollectionItem:
        stamp = (counted, routes.collection_stamp(folder))
        known = self._seen.get(folder)
        if known is None or known[0] != stamp:
            known = self._seen[folder] = (stamp, _read_item(folder, counted))
            while len(self._seen) > _COLLECTIONS_LISTED:
                self._seen.pop(next(iter(self._seen)), None)
        return known[1]


def _read_item(folder: Path, counted: bool) -> CollectionItem:
    row = CollectionItem(folder.name)
    try:
        row.description = load_settings(folder / "topic.toml").topic.description[:500]
        if counted and (folder / "collection.db").exists():
            with open_existing_store(folder, "read") as store:
                counts = store.counter.read_counts()
            row.visits, row.relevant, row.last = counts.visits, counts.relevant, counts.last
    except (HoneyguideError, OSError) as error:
        row.problem = str(error)
    return row


def list_collections(context: RequestContext) -> list[CollectionItem]:
    """The collections in the folder, the one that was changed last first."""
    shelf, rows = context.shared.get(context.root, CollectionItems), []
    for place, folder in enumerate(routes.find_collections(context.root)[:_COLLECTIONS_LISTED]):
        row = shelf.item_of(folder, place < _COLLECTIONS_COUNTED)
        try:
            state = context.runs.run_state(folder)
        except (HoneyguideError, OSError) as error:  # no lock of ours: told of it alone
            rows.append(replace(row, problem=row.problem or str(error)))
            continue
        going = state.state in ("running", "stopping", "elsewhere")
        rows.append(replace(row, running=state.kind or state.state if going else ""))
    return rows


def topic_choices(context: RequestContext) -> TopicChoices:
    """Strategies, languages and ontologies to choose from."""
    contact = ""
    for folder in routes.find_collections(context.root)[:5]:
        try:
            contact = contact or load_settings(folder / "topic.toml").fetch.contact
        except HoneyguideError:
            continue
    strategies = [
        StrategyItem(one.name, one.about, one.traits.learns, one.traits.needs)
        for one in strategy_choices({})
    ]
    return TopicChoices(strategies, _language_names(), list(OWN_ONTOLOGIES), contact)


def _language_names() -> dict[str, str]:
    from honeyguide.languages.detection import COMMON_LANGUAGES

    return dict(
        sorted(
            ((code, language_codes.language_name(code)) for code in COMMON_LANGUAGES),
            key=lambda one: one[1],
        )
    )


ROUTES = (
    Route("GET", "/api/collections", list_collections),
    Route("GET", "/api/choices", topic_choices),
)
