"""Changing a topic that exists: its description, keywords, seeds and limit."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Meta, Struct

from honeyguide.crawl import topic_edit
from honeyguide.studio import control
from honeyguide.studio.creating import Word, addresses
from honeyguide.studio.form_errors import Mistake, naming_keys
from honeyguide.studio.routes import Here, Route
from honeyguide.studio.seeds import Address


class Edit(Struct, forbid_unknown_fields=True):
    """What is to change; what is not given stays as it is."""

    description: Annotated[str, Meta(max_length=5_000)] | None = None
    keywords: Annotated[list[Word], Meta(max_length=500)] | None = None
    seeds: Annotated[list[Address], Meta(max_length=2_000)] | None = None
    pages: Annotated[int, Meta(ge=0, le=100_000_000)] | None = None


def edit(here: Here, body: Edit) -> control.Topic:
    """Change what the topic is after; it counts from the next start on.

    The rest of topic.toml stays as it is, comments included.
    """
    settings = here.collection().settings
    said: dict[str, Any] = {}
    if body.description is not None:
        said["description"] = body.description.strip()
    if body.keywords is not None:
        said["keywords"] = [word for each in body.keywords if (word := each.strip())]
    if body.seeds is not None:
        known, lab = settings.topic.seeds, bool(settings.fetch.lab)
        said["seeds"] = [
            whole
            for text in body.seeds
            for whole in ([text] if text in known else addresses("seeds", [text], lab))
        ]
        if not said["seeds"] and not settings.topic.good and not settings.search.engine:
            raise Mistake("seeds", "write at least one address to begin with")
    limits = {} if body.pages is None else {"pages": body.pages}
    with naming_keys():
        topic_edit.change(here.place, {"topic": said, "crawl": limits})
    return control.topic(here)


ROUTES = (
    Route(
        "PUT", "/api/c/{name}/topic", edit, body=Edit, returns=control.Topic, most_bytes=5_000_000
    ),
)
