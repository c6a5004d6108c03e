"""Starting, pausing and stopping a run, and editing the topic of a collection."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct, structs

from honeyguide.api import topic_edit
from honeyguide.config.loading import load_settings
from honeyguide.crawl import live_status
from honeyguide.errors import ConfigError, StoreError
from honeyguide.studio.new_topic import Address, Word, complete_addresses
from honeyguide.studio.routes import FormError, RequestContext, Route, errors_by_key
from honeyguide.studio.runs import RunState

_PAGES_OPTION = "--pages="

Share = Annotated[float, Meta(ge=0, le=1)]


class RunOrder(Struct, forbid_unknown_fields=True):
    """What is to be done. Limits count for start only; none given: those of topic.toml."""

    do: Literal["start", "pause", "resume", "stop", "kill"]
    kind: Literal["crawl", "watch"] = "crawl"
    pages: Annotated[int, Meta(ge=0, le=1_000_000_000)] | None = None
    hours: Annotated[float, Meta(ge=0, le=10_000)] | None = None
    coverage: Share | None = None
    precision: Share | None = None
    once: bool = False
    """A watch visits every page once and ends."""


class TopicInfo(Struct):
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


def topic_info(context: RequestContext) -> TopicInfo:
    """What it is after, and within which limits."""
    collection = context.open_collection()
    topic, limits = collection.settings.topic, collection.settings.crawl
    return TopicInfo(
        topic.description,
        topic.keywords,
        topic.seeds,
        topic.good + topic.good_files,
        topic.bad + topic.bad_files,
        topic.language,
        Path(topic.ontology).name,
        topic.concept,
        collection.topics[1:],
        limits.strategy,
        collection.learns,
        limits.pages,
        collection.settings.fetch.contact,
        topic.threshold,
    )


def run_state(context: RequestContext) -> RunState:
    """Whether it is being crawled or watched, and what became of the last run."""
    return _with_counts(context, context.runs.run_state(context.collection_folder))


def order_run(context: RequestContext, body: RunOrder) -> RunState:
    """Start, pause, resume or stop; kill: end it at once, which loses what is under way."""
    if body.do == "start":
        context.open_collection()  # a mistake in topic.toml shows here already
        run = context.runs.start(context.collection_folder, body.kind, _run_options(body))
    elif body.do == "resume":
        run = context.runs.resume(context.collection_folder)
    else:
        run = context.runs.stop(
            context.collection_folder, pause=body.do == "pause", force=body.do == "kill"
        )
    return _with_counts(context, run)


def _with_counts(context: RequestContext, run: RunState) -> RunState:
    """With what was visited so far, and where it stops."""
    try:
        with context.read_store() as store:
            visits = store.counter.read_counts().visits
    except StoreError:  # not crawled yet, or told where somebody looks into it
        visits = 0
    return structs.replace(run, visits=visits, limit=_page_limit(context, run))


def _page_limit(context: RequestContext, run: RunState) -> int:
    if run.pid is not None or run.state == "paused":  # going on is going on to the same limit
        for option in run.arguments:
            if option.startswith(_PAGES_OPTION):
                return int(option.removeprefix(_PAGES_OPTION))
    if run.pid is not None:
        seen = live_status.read_live_status(context.collection_folder)
        if seen is not None and seen.pid == run.pid and seen.budget is not None:
            return seen.budget
    try:
        return load_settings(context.collection_folder / "topic.toml").crawl.pages
    except ConfigError:  # told when it is started
        return 0


def _run_options(body: RunOrder) -> list[str]:
    if body.kind == "watch":
        values: dict[str, float | None] = {"--hours": body.hours}
        flags = ["--once"] if body.once else []
    else:
        values = {
            "--pages": body.pages,
            "--hours": body.hours,
            "--until-coverage": body.coverage,
            "--min-precision": body.precision,
        }
        flags = []
    return [*flags, *(f"{key}={value}" for key, value in values.items() if value is not None)]


# -- Editing the topic --


class TopicEdit(Struct, forbid_unknown_fields=True):
    """What is to change; what is not given stays as it is."""

    description: Annotated[str, Meta(max_length=5_000)] | None = None
    keywords: Annotated[list[Word], Meta(max_length=500)] | None = None
    seeds: Annotated[list[Address], Meta(max_length=2_000)] | None = None
    pages: Annotated[int, Meta(ge=0, le=100_000_000)] | None = None


def edit_topic(context: RequestContext, body: TopicEdit) -> TopicInfo:
    """Change what the topic is after; it counts from the next start on.

    The rest of topic.toml stays as it is, comments included.
    """
    settings = context.open_collection().settings
    values: dict[str, Any] = {}
    if body.description is not None:
        values["description"] = body.description.strip()
    if body.keywords is not None:
        values["keywords"] = [word for each in body.keywords if (word := each.strip())]
    if body.seeds is not None:
        known, lab = settings.topic.seeds, bool(settings.fetch.lab)
        values["seeds"] = [
            whole
            for text in body.seeds
            for whole in ([text] if text in known else complete_addresses("seeds", [text], lab))
        ]
        if not values["seeds"] and not settings.topic.good and not settings.search.engine:
            raise FormError("seeds", "write at least one address to begin with")
    limits = {} if body.pages is None else {"pages": body.pages}
    with errors_by_key():
        topic_edit.change_topic_file(context.collection_folder, {"topic": values, "crawl": limits})
    return topic_info(context)


ROUTES = (
    Route("GET", "/api/c/{name}/topic", topic_info),
    Route("GET", "/api/c/{name}/run", run_state),
    Route("POST", "/api/c/{name}/run", order_run),
    Route("PUT", "/api/c/{name}/topic", edit_topic, most_bytes=5_000_000),
)
