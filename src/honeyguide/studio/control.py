"""Starting, pausing and stopping a collection's crawl or watch."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from msgspec import Meta, Struct, structs

from honeyguide.config import load
from honeyguide.crawl import live_status as glimpse
from honeyguide.errors import ConfigError, StoreError
from honeyguide.studio.routes import Here, Route
from honeyguide.studio.runs import RunState

_PAGES = "--pages="

Share = Annotated[float, Meta(ge=0, le=1)]


class Order(Struct, forbid_unknown_fields=True):
    """What is to be done. Limits count for start only; none given: those of topic.toml."""

    do: Literal["start", "pause", "resume", "stop", "kill"]
    kind: Literal["crawl", "watch"] = "crawl"
    pages: Annotated[int, Meta(ge=0, le=1_000_000_000)] | None = None
    hours: Annotated[float, Meta(ge=0, le=10_000)] | None = None
    coverage: Share | None = None
    precision: Share | None = None
    once: bool = False
    """A watch visits every page once and ends."""


class Topic(Struct):
    """What the collection is after, as its topic.toml says."""

    description: str
    keywords: tuple[str, ...]
    seeds: tuple[str, ...]
    good: tuple[str, ...]
    bad: tuple[str, ...]
    language: tuple[str, ...]
    ontology: str
    concept: str
    topics: tuple[str, ...]
    """The names of further topics."""
    strategy: str
    learns: bool
    pages: int
    contact: str
    threshold: float


def topic(here: Here) -> Topic:
    """What it is after, and within which limits."""
    collection = here.collection()
    said, limits = collection.settings.topic, collection.settings.crawl
    return Topic(
        said.description,
        said.keywords,
        said.seeds,
        said.good + said.good_files,
        said.bad + said.bad_files,
        said.language,
        Path(said.ontology).name,
        said.concept,
        collection.topics[1:],
        limits.strategy,
        collection.learns,
        limits.pages,
        collection.settings.fetch.contact,
        said.threshold,
    )


def state(here: Here) -> RunState:
    """Whether it is being crawled or watched, and what became of the last run."""
    return _counted(here, here.runs.state(here.place))


def order(here: Here, body: Order) -> RunState:
    """Start, pause, resume or stop; kill: end it at once, which loses what is under way."""
    if body.do == "start":
        here.collection()  # a mistake in topic.toml is told here, and not by a process that ends
        run = here.runs.start(here.place, body.kind, _options(body))
    elif body.do == "resume":
        run = here.runs.resume(here.place)
    else:
        run = here.runs.stop(here.place, pause=body.do == "pause", force=body.do == "kill")
    return _counted(here, run)


def _counted(here: Here, run: RunState) -> RunState:
    """With what was visited so far, and where it stops."""
    try:
        with here.store() as store:
            visits = store.counts().visits
    except StoreError:  # not crawled yet, or told where somebody looks into it
        visits = 0
    return structs.replace(run, visits=visits, limit=_limit(here, run))


def _limit(here: Here, run: RunState) -> int:
    if run.pid is not None or run.state == "paused":  # going on is going on to the same limit
        for option in run.arguments:
            if option.startswith(_PAGES):
                return int(option.removeprefix(_PAGES))
    if run.pid is not None:
        seen = glimpse.read(here.place)
        if seen is not None and seen.pid == run.pid and seen.pages is not None:
            return seen.pages
    try:
        return load(here.place / "topic.toml").crawl.pages
    except ConfigError:  # told when it is started
        return 0


def _options(body: Order) -> list[str]:
    if body.kind == "watch":
        given: dict[str, float | None] = {"--hours": body.hours}
        flags = ["--once"] if body.once else []
    else:
        given = {
            "--pages": body.pages,
            "--hours": body.hours,
            "--until-coverage": body.coverage,
            "--min-precision": body.precision,
        }
        flags = []
    return [*flags, *(f"{key}={value}" for key, value in given.items() if value is not None)]


ROUTES = (
    Route("GET", "/api/c/{name}/topic", topic, returns=Topic),
    Route("GET", "/api/c/{name}/run", state, returns=RunState),
    Route("POST", "/api/c/{name}/run", order, body=Order, returns=RunState),
)
