"""The Start screen's routes: which collections there are, and what a new one can be made from."""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from honeyguide import language_codes as tongues
from honeyguide.config import load
from honeyguide.crawl.ontologies import OURS
from honeyguide.crawl.open_store import existing
from honeyguide.crawl.strategy_choice import choices
from honeyguide.errors import HoneyguideError
from honeyguide.studio import creating, editing, seeds, uploads
from honeyguide.studio import name_checks as names
from honeyguide.studio.routes import Here, Route

_COUNTED = 30
"""Collections whose stores are looked into for the list; others are only named."""
_LISTED = 500


class Listed(Struct):
    """A collection in the list."""

    name: str
    description: str = ""
    running: str = ""
    """crawl or watch; elsewhere: by another process; '': not running."""
    visits: int | None = None
    relevant: int | None = None
    last: float | None = None
    problem: str = ""


class Strategy(Struct):
    name: str
    about: str
    learns: bool
    needs: tuple[str, ...]
    """Any one of these must be given."""


class Choices(Struct):
    """What a new topic can be made from."""

    strategies: list[Strategy]
    languages: dict[str, str]
    ontologies: list[str]
    contact: str
    """As it stands in the collection that was changed last."""


class Shelf:
    """What was last seen of each collection: looked into again only when its files changed."""

    def __init__(self, _: Path) -> None:
        self._seen: dict[Path, tuple[object, Listed]] = {}

    def look(self, folder: Path, counted: bool) -> Listed:
        stamp = (counted, names.stamp(folder))
        known = self._seen.get(folder)
        if known is None or known[0] != stamp:
            known = self._seen[folder] = (stamp, _looked(folder, counted))
            while len(self._seen) > _LISTED:
                self._seen.pop(next(iter(self._seen)), None)
        return known[1]


def _looked(folder: Path, counted: bool) -> Listed:
    row = Listed(folder.name)
    try:
        row.description = load(folder / "topic.toml").topic.description[:500]
        if counted and (folder / "collection.db").exists():
            with existing(folder, "read") as store:
                counts = store.counts()
            row.visits, row.relevant, row.last = counts.visits, counts.relevant, counts.last
    except (HoneyguideError, OSError) as error:
        row.problem = str(error)
    return row


def listed(here: Here) -> list[Listed]:
    """The collections in the folder, the one that was changed last first."""
    shelf, rows = here.shared.get(here.root, Shelf), []
    for place, folder in enumerate(names.collections(here.root)[:_LISTED]):
        row = shelf.look(folder, place < _COUNTED)
        try:
            state = here.runs.state(folder)
        except (HoneyguideError, OSError) as error:  # no lock of ours: told of it alone
            rows.append(replace(row, problem=row.problem or str(error)))
            continue
        going = state.state in ("running", "stopping", "elsewhere")
        rows.append(replace(row, running=state.kind or state.state if going else ""))
    return rows


def possible(here: Here) -> Choices:
    """Strategies, languages and ontologies to choose from."""
    contact = ""
    for folder in names.collections(here.root)[:5]:
        try:
            contact = contact or load(folder / "topic.toml").fetch.contact
        except HoneyguideError:
            continue
    strategies = [
        Strategy(one.name, one.about, one.habits.learns, one.habits.needs) for one in choices({})
    ]
    return Choices(strategies, _languages(), list(OURS), contact)


def _languages() -> dict[str, str]:
    from honeyguide.text.language_priors import COMMON

    return dict(sorted(((code, tongues.named(code)) for code in COMMON), key=lambda one: one[1]))


ROUTES = (
    Route("GET", "/api/collections", listed, returns=list[Listed]),
    Route(
        "POST",
        "/api/collections",
        creating.make,
        body=creating.NewTopic,
        returns=creating.Made,
        most_bytes=15_000_000,
    ),
    Route("GET", "/api/choices", possible, returns=Choices),
    *editing.ROUTES,
    *seeds.ROUTES,
    *uploads.ROUTES,
)
